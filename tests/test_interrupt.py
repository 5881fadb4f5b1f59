"""Runs that are stopped by Ctrl-C or SIGTERM keep their results up to there."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import fanin
from fanin import table
from fanin.runs import run_one

ENDLESS = ("--set", "measure.window=100 s")
OF_ENDLESS = "measure.window=100s"
"""Its part of the names of folders."""

CODES = {signal.SIGINT: 130, signal.SIGTERM: 143}
EITHER = pytest.mark.parametrize("number", CODES)


def interrupted(
    cwd: Path, *arguments: str | Path, number: signal.Signals = signal.SIGINT, whole_group: bool = False
) -> tuple[int, str, str]:
    """Starts the command, sends it a signal soon after its runs began, and returns exit code, stdout and stderr.

    A terminal, and what ends jobs on a cluster, send to the whole group; the latter may send to the process besides.
    """
    line = [sys.executable, "-m", "fanin", *map(str, arguments)]
    with subprocess.Popen(
        line,
        cwd=cwd,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        restore_signals=True,
        start_new_session=whole_group,
    ) as process:
        assert process.stderr is not None
        assert process.stdout is not None
        try:
            assert process.stderr.readline().startswith("running ")
            time.sleep(0.7)
            process.send_signal(number)
            if whole_group:
                os.killpg(process.pid, number)
            out, err = process.communicate(timeout=60)
        finally:
            process.kill()
    return process.returncode, out, err


@EITHER
def test_a_run_stops_and_keeps_what_it_has(tiny: Path, tmp_path: Path, number: signal.Signals) -> None:
    code, out, err = interrupted(tmp_path, "run", tiny, *ENDLESS, number=number)
    assert code == CODES[number], err
    assert "Traceback" not in err
    assert f"as-written-{OF_ENDLESS} cancelled at " in out
    folder = tmp_path / "runs" / "tiny-incast" / f"as-written-{OF_ENDLESS}"
    assert (folder / "INCOMPLETE").is_file()
    kept = fanin.load(folder)
    assert kept.cancelled
    assert 0 < kept.simulated_ms < 1e6
    assert kept.flows().height > 0
    assert f"cancelled at {table.time(kept.simulated_ms * 1e3)}" in out


@EITHER
def test_a_comparison_stops_and_still_draws(tiny: Path, tmp_path: Path, number: signal.Signals) -> None:
    code, out, err = interrupted(tmp_path, "compare", tiny, "--workers", "2", *ENDLESS, number=number)
    assert code == CODES[number], err
    assert "Traceback" not in err
    assert "dcqcn cancelled at " in out
    assert "none cancelled at " in out
    folder = tmp_path / "runs" / f"tiny-incast-{OF_ENDLESS}"
    assert (folder / "compare.png").stat().st_size > 10_000
    assert not json.loads((folder / "compare.json").read_text())["complete"]


def test_what_sends_sigterm_twice_loses_nothing(tiny: Path, tmp_path: Path) -> None:
    # As GNU timeout does: to the process and to its group.
    code, _, err = interrupted(tmp_path, "compare", tiny, *ENDLESS, number=signal.SIGTERM, whole_group=True)
    assert code == 143, err
    assert fanin.load_comparison(tmp_path / "runs" / f"tiny-incast-{OF_ENDLESS}").cancelled


@EITHER
def test_a_pool_of_processes_stops_and_goes_on_later(tiny: Path, tmp_path: Path, number: signal.Signals) -> None:
    vary = ("--vary", "measure.window=1 ms,100 s", "--schemes", "none", "--jobs", "2", "--out", "out")
    began = ["sweep", tiny, *vary, "--max-time", "100 h"]
    line = [sys.executable, "-m", "fanin", *map(str, began)]
    with subprocess.Popen(
        line, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    ) as process:
        try:
            deadline = time.monotonic() + 60
            while not list((tmp_path / "out" / "parts").glob("*.json")):
                assert time.monotonic() < deadline
                time.sleep(0.05)
            os.killpg(process.pid, number)
            _, err = process.communicate(timeout=60)
        finally:
            process.kill()
    assert process.returncode == CODES[number], err
    assert "Traceback" not in err
    assert "the same command continues" in err
    assert [run.status for run in fanin.load_sweep(tmp_path / "out").runs] == ["done", "waiting"]


@pytest.mark.parametrize("after_s", [0.1, 0.3])
def test_workers_that_still_load_say_nothing(tiny: Path, tmp_path: Path, after_s: float) -> None:
    line = ["sweep", tiny, "--vary", "measure.window=90 s,100 s", "--jobs", "2", "--max-time", "100 h"]
    with subprocess.Popen(
        [sys.executable, "-m", "fanin", *map(str, line)],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        assert process.stderr is not None
        try:
            assert process.stderr.readline().startswith("running ")
            time.sleep(after_s)
            os.killpg(process.pid, signal.SIGINT)
            _, err = process.communicate(timeout=60)
        finally:
            process.kill()
    assert process.returncode == 130, err
    assert "Traceback" not in err
    assert "KeyboardInterrupt" not in err


SIGNAL_IN_IMPORT = """
import os, sys
number, module = int(sys.argv[1]), sys.argv[2]
class Finder:
    def find_spec(self, name, path=None, target=None):
        if name == module:
            os.kill(os.getpid(), number)
        return None
sys.meta_path.insert(0, Finder())
sys.argv = ["fanin", "compare", *sys.argv[3:]]
from fanin.__main__ import main
main()
"""


@EITHER
@pytest.mark.parametrize("module", ["fanin.cli", "typer", "fanin.comparison", "polars", "numpy", "matplotlib.figure"])
def test_a_signal_while_modules_load_ends_it_without_a_word(
    tiny: Path, tmp_path: Path, number: signal.Signals, module: str
) -> None:
    line = [sys.executable, "-c", SIGNAL_IN_IMPORT, str(int(number)), module, str(tiny), "--out", "out"]
    done = subprocess.run(line, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == CODES[number], done.stderr
    if module == "matplotlib.figure":  # the picture of a comparison that has run: all is written first
        assert fanin.load_comparison(tmp_path / "out").rows
        assert "Traceback" not in done.stderr
    else:
        assert done.stderr == ""
        assert list(tmp_path.iterdir()) == []


def test_runs_that_had_not_begun_are_left_out(tiny: Path, tmp_path: Path) -> None:
    code, out, _ = interrupted(tmp_path, "compare", tiny, "--workers", "1", *ENDLESS)
    assert code == 130
    assert "dcqcn cancelled at " in out
    assert [path.name for path in (tmp_path / "runs" / f"tiny-incast-{OF_ENDLESS}").glob("*/")] == ["dcqcn"]


def test_ctrl_c_while_runs_are_handed_over_stops_them(tiny: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    submit = ThreadPoolExecutor.submit

    def interrupted(*arguments: Any) -> None:
        submit(*arguments)
        raise KeyboardInterrupt

    monkeypatch.setattr(ThreadPoolExecutor, "submit", interrupted)
    looks: list[float] = []

    def watch(state: fanin._core.Progress) -> bool:
        looks.append(state.simulated_s)
        return len(looks) < 20

    with pytest.raises(KeyboardInterrupt):
        fanin.run(tiny, set=["measure.window=100 s"], progress=watch)
    assert len(looks) < 20, "it went on with nobody to stop it"


def test_what_no_run_has_is_not_promised(capsys: pytest.CaptureFixture[str]) -> None:
    ended = threading.Event()

    class Stuck:
        """A run whose first hook does not return."""

        label = "stuck"

        def resolve(self) -> object:
            return None

        def run(self, *_: object) -> fanin.Result:
            os.kill(os.getpid(), signal.SIGINT)
            ended.wait(30)
            raise AssertionError

    try:
        with pytest.raises(KeyboardInterrupt):
            run_one(Stuck())
    finally:
        ended.set()
    assert "stopping: no run has a result yet, so nothing is kept" in capsys.readouterr().err


def test_a_progress_function_sees_the_run_and_can_stop_it(tiny: Path) -> None:
    seen: list[tuple[float, int, float]] = []

    def watch(state: fanin._core.Progress) -> bool:
        seen.append((state.simulated_s, state.packet_hops, state.wall_s))
        assert state.started >= state.finished
        assert state.end_s >= 100
        return len(seen) < 3

    result = fanin.run(tiny, set=["measure.window=100 s"], progress=watch)
    assert result.cancelled
    assert len(seen) == 3
    assert seen == sorted(seen)
    assert result.manifest["simulated_ps"] >= round(seen[-1][0] * 1e12)
