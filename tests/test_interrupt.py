"""Stopping early keeps what there is."""

import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import fanin

ENDLESS = ("--set", "measure.window=100 s")


def interrupted(cwd: Path, *arguments: str | Path) -> tuple[int, str, str]:
    """Starts the command, sends it Ctrl-C soon after its runs began, and returns exit code, stdout and stderr."""
    line = [sys.executable, "-m", "fanin", *map(str, arguments)]
    with subprocess.Popen(
        line, cwd=cwd, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, restore_signals=True
    ) as process:
        assert process.stderr is not None
        assert process.stdout is not None
        try:
            assert process.stderr.readline().startswith("running ")
            time.sleep(0.7)
            process.send_signal(signal.SIGINT)
            out, err = process.communicate(timeout=60)
        finally:
            process.kill()
    return process.returncode, out, err


def test_ctrl_c_stops_a_run_and_keeps_what_it_has(tiny: Path, tmp_path: Path) -> None:
    code, out, err = interrupted(tmp_path, "run", tiny, *ENDLESS)
    assert code == 130, err
    assert "Traceback" not in err
    assert "as-written cancelled at " in out
    kept = fanin.load(tmp_path / "runs" / "tiny-incast" / "as-written")
    assert kept.cancelled
    assert 0 < kept.simulated_ms < 1e6
    assert kept.flows().height > 0
    assert f"cancelled at {kept.simulated_ms:.2f} ms" in out


def test_ctrl_c_stops_a_comparison_and_still_draws(tiny: Path, tmp_path: Path) -> None:
    code, out, err = interrupted(tmp_path, "compare", tiny, "--workers", "2", *ENDLESS)
    assert code == 130, err
    assert "Traceback" not in err
    assert "dcqcn cancelled at " in out
    assert "none cancelled at " in out
    assert (tmp_path / "runs" / "tiny-incast" / "compare.png").stat().st_size > 10_000


def test_runs_that_had_not_begun_are_left_out(tiny: Path, tmp_path: Path) -> None:
    code, out, _ = interrupted(tmp_path, "compare", tiny, "--workers", "1", *ENDLESS)
    assert code == 130
    assert "dcqcn cancelled at " in out
    assert not (tmp_path / "runs" / "tiny-incast" / "none").exists()


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
