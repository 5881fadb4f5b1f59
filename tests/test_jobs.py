"""Many runs of which only what is measured is kept: `fanin.jobs`."""

import signal
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace

import pytest

import fanin
from fanin.jobs import Job, Measured, Measurement, Outcome, run_all
from fanin.run_folder import RunError


def seed_of(result: fanin.Result) -> Measured:
    return {"seed": [float(result.manifest["seed"])]}


def fails_at_2(result: fanin.Result) -> Measured:
    if result.manifest["seed"] == 2:
        raise ValueError("no such column")
    return seed_of(result)


@pytest.fixture
def runs(tiny: Path, tmp_path: Path) -> dict[str, Measurement]:
    """The tiny spec with three seeds, whose outcomes are kept."""
    jobs = {f"s{seed}": Job.of(tiny, [f"seed={seed}"]) for seed in (1, 2, 3)}
    return {name: Measurement(job, seed_of, tmp_path / "kept") for name, job in jobs.items()}


def in_a_thread(runs: dict[str, Measurement]) -> tuple[dict[str, Outcome], bool]:
    """The outcomes in the order in which they were handed over, and whether all runs have one."""
    found: dict[str, Outcome] = {}
    with ThreadPoolExecutor(1) as one:
        return found, run_all(runs, found.__setitem__, executor=one, progress=False)


def test_the_longest_run_begins_first(tiny: Path) -> None:
    runs = {f"{cost}": Measurement(Job.of(tiny), seed_of, seconds=cost) for cost in (2, 3, 1)}
    found, whole = in_a_thread(runs)
    assert whole
    assert list(found) == ["3", "2", "1"]
    assert all(outcome.packet_hops > 1000 for outcome in found.values())


def test_after_ctrl_c_the_same_call_goes_on(runs: dict[str, Measurement]) -> None:
    found: dict[str, Outcome] = {}

    def take(name: str, outcome: Outcome) -> None:
        found[name] = outcome
        signal.raise_signal(signal.SIGINT)

    with ThreadPoolExecutor(1) as one:
        assert not run_all(runs, take, executor=one, progress=False)
    assert 1 <= len(found) < 3
    before = {name: runs[name].kept() for name in runs}
    assert {name: outcome for name, outcome in before.items() if outcome is not None} == found
    again, whole = in_a_thread(runs)
    assert whole
    assert list(again)[: len(found)] == list(found), "what was kept comes first"
    assert {name: outcome.measured for name, outcome in again.items()} == {
        f"s{seed}": {"seed": [seed]} for seed in (1, 2, 3)
    }


def test_a_run_that_fails_is_named_at_the_end(runs: dict[str, Measurement]) -> None:
    runs = {name: Measurement(one.job, fails_at_2) for name, one in runs.items()}
    found: dict[str, Outcome] = {}
    with ThreadPoolExecutor(1) as one, pytest.raises(RunError, match=r"^s2: ValueError: no such column$"):
        run_all(runs, found.__setitem__, executor=one, progress=False)
    assert list(found) == ["s1", "s3"]


def test_what_a_function_without_a_file_measures_cannot_be_kept(runs: dict[str, Measurement], tmp_path: Path) -> None:
    nowhere = SimpleNamespace(__module__="builtins")
    with pytest.raises(ValueError, match="builtins has no file: what a function of it measures cannot be kept"):
        Measurement(runs["s1"].job, nowhere, tmp_path).kept()  # type: ignore[arg-type]
