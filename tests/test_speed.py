"""`python -m bench speed`: the control decides which pairs of runs count, never our own times."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from bench import quiet, speed
from fanin import bench
from fanin.run_folder import RunError


class Looks(quiet.Control):
    """A control with the given times, and then those of a quiet machine."""

    def __init__(self, *looks: float) -> None:
        super().__init__(1)
        self._looks = list(looks)

    def measure(self) -> float:
        """The next of them."""
        seconds = self._looks.pop(0) if self._looks else 1.0
        self.least = min(self.least, seconds)
        return seconds


def measured(
    monkeypatch: pytest.MonkeyPatch, control: quiet.Control, *, patience: float, hashes: Sequence[str] = ("x",) * 99
) -> speed.Speeds:
    """A case of a million packet-hops whose runs take 1, 2, 3, ... seconds."""
    runs = iter(enumerate(hashes, 1))

    def run(names: Sequence[str], *, threads: int, scale: float) -> Iterator[bench.Record]:
        assert (list(names), threads in (1, 2), scale) == (["a"], True, 0.5)
        seconds, event_hash = next(runs)
        yield {"seconds": float(seconds), "event_hash": event_hash, "packet_hops": 1_000_000}

    monkeypatch.setattr(bench, "measure", run)
    said: list[str] = []
    speeds = speed.measure(["a"], threads=2, scale=0.5, repeat=3, patience=patience, say=said.append, control=control)
    assert said[-1].startswith("a: ")
    return speeds


def test_without_patience_all_pairs_count(monkeypatch: pytest.MonkeyPatch) -> None:
    (case,) = measured(monkeypatch, Looks(9, 1, 1, 1, 9), patience=0)["cases"]
    assert [pair["control_s"] for pair in case["pairs"]] == [9, 9, 1]
    assert [pair["one_s"] for pair in case["pairs"]] == [1, 3, 5]
    pairs = speed.quietest(case, 3)
    assert speed.speed(case, pairs) == pytest.approx(1 / 3)
    assert speed.ratio(pairs) == pytest.approx(3 / 4)


def test_with_patience_the_undisturbed_pairs_count_however_slow_they_were(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    # Disturbed before, between and after; hardly; and not at all, after that.
    control = Looks(2, 1, 1, 1, 2, 1, 1, 1, 2, 1.1, 1, 1)
    speeds = measured(monkeypatch, control, patience=60)
    (case,) = speeds["cases"]
    assert [pair["control_s"] for pair in case["pairs"]] == [2, 2, 2, 1.1, 1, 1]
    pairs = speed.quietest(case, 3)
    assert sorted(pair["one_s"] for pair in pairs) == [7, 9, 11]
    (tmp_path / "speed.json").write_text(json.dumps(speeds), encoding="utf-8")
    row = speed.section(tmp_path / "speed.json").splitlines()[-1]
    # On one thread 9 s, at best 1; on two 10.
    assert [cell.strip() for cell in row.split("|")][3:-1] == ["0.11", "1.00", "0.10", "0.90", "6 (1.10)"]


def test_a_busy_machine_ends_the_wait_when_patience_is_over(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter(range(1000))
    monkeypatch.setattr("bench.speed.time.monotonic", lambda: next(clock))
    # Quiet only once.
    (case,) = measured(monkeypatch, Looks(1, *[2] * 90), patience=8)["cases"]
    assert 3 < len(case["pairs"]) < 12
    assert speed.undisturbed(case, 1) == 0


def test_runs_that_differ_are_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(RunError, match="case a: 2 threads gave another event hash"):
        measured(monkeypatch, Looks(), patience=0, hashes="xy")


def test_the_control_is_the_slowest_core_and_leaves_this_thread_where_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    before = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else None
    assert quiet.Control(2).measure() > 0
    assert before is None or os.sched_getaffinity(0) == before
    # Begins and ends: the work takes 2 s, and 5 s the next time.
    clock = iter([0.0, 2.0, 10.0, 15.0])
    monkeypatch.setattr("bench.quiet.time.perf_counter", lambda: next(clock))
    control = quiet.Control(1)
    assert (control.measure(), control.measure(), control.least) == (2, 5, 2)
