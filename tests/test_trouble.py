"""Errors of the machine, not of the spec: a message each, never a traceback, no incomplete files."""

import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

import fanin
from conftest import Command
from fanin import cli
from fanin.run_folder import check_target


def fanin_process(
    cwd: Path, *arguments: str | Path, before: Callable[[], None] | None = None, env: dict[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    line = [sys.executable, "-m", "fanin", *map(str, arguments)]
    return subprocess.run(
        line,
        cwd=cwd,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
        preexec_fn=before,
        env={**os.environ, **(env or {})},
    )


def small_files() -> None:
    # What a full disk is to a program, without a disk: no file may grow beyond this.
    resource.setrlimit(resource.RLIMIT_FSIZE, (3000, 3000))


@pytest.mark.parametrize("tables", [(), ("--parquet",)])
@pytest.mark.parametrize("command_name", ["run", "compare"])
def test_a_full_disk_is_an_error_and_leaves_nothing(
    tiny: Path, tmp_path: Path, command_name: str, tables: tuple[str, ...]
) -> None:
    done = fanin_process(tmp_path, command_name, tiny, "--out", "kept", *tables, before=small_files)
    assert done.returncode == 1, done.stderr
    assert "Traceback" not in done.stderr
    (error,) = [line for line in done.stderr.splitlines() if line.startswith("error: ")]
    assert "File too large" in error
    assert "flows." in error or "spec.resolved" in error, "it names the file"
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


def test_a_folder_that_cannot_be_written_is_an_error(command: Command, tiny: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("not a folder")
    for out in ("file/below", "/proc/fanin", "/dev/null/below"):
        done = command("run", tiny, "--out", out)
        assert done.returncode in (1, 2), done.stderr
        assert "Traceback" not in done.stderr
        (error,) = [line for line in done.stderr.splitlines() if line.startswith("error: ")]
        assert "/".join(out.split("/")[:2]) in error
        if out.endswith("/below"):
            assert error.startswith(f"error: {out}: ")
            assert "running" not in done.stderr, "it is told before anything has run"


def test_a_read_only_folder_is_an_error(tiny: Path, tmp_path: Path) -> None:
    if os.geteuid() == 0:
        pytest.skip("the superuser may write into any folder")
    (tmp_path / "sealed").mkdir(mode=0o555)
    done = fanin_process(tmp_path, "run", tiny, "--out", "sealed/run")
    assert done.returncode in (1, 2)
    assert "Traceback" not in done.stderr
    assert "sealed" in done.stderr


def test_a_folder_that_may_not_be_written_is_told_before_a_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Also where the tests run as the superuser, who may write anywhere.
    monkeypatch.setattr(os, "access", lambda *_: False)
    with pytest.raises(PermissionError, match="you may not write into") as told:
        check_target(tmp_path / "new" / "run", force=False)
    assert told.value.filename == str(tmp_path / "new" / "run")


def children(pid: int) -> list[int]:
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="finds the worker in /proc")
def test_a_killed_worker_is_an_error(tmp_path: Path) -> None:
    line = [sys.executable, "-m", "fanin", "bench", "--case", "a", "--scale", "50"]
    with subprocess.Popen(line, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        for _ in range(200):
            workers = children(process.pid)
            if workers:
                os.kill(workers[0], signal.SIGKILL)
                break
            time.sleep(0.05)
        _, err = process.communicate(timeout=60)
    assert process.returncode == 1
    assert "Traceback" not in err
    assert "error: case a: its process was killed by SIGKILL" in err


def test_a_reader_that_has_seen_enough_is_no_error(tmp_path: Path) -> None:
    done = subprocess.run(
        f"{sys.executable} -m fanin explain dart | head -1",
        shell=True,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.stdout.startswith("#")
    assert done.stderr == ""


def test_errors_are_red_on_a_terminal(tiny: Path, tmp_path: Path) -> None:
    starved = ("--set", 'network.buffer.headroom="0 B"', "--set", 'network.buffer.per_port="6 KB"')
    done = fanin_process(tmp_path, "run", tiny, "--scheme", "none", *starved, env={"FORCE_COLOR": "1"})
    assert done.returncode == 1
    red = [line for line in done.stderr.splitlines() if line.startswith("\x1b[1;31merror:")]
    assert len(red) == 1
    assert "lossless" in red[0]


def test_a_comparison_is_one_only_when_all_of_it_is_written(
    tmp_path: Path, compared: fanin.Comparison, monkeypatch: pytest.MonkeyPatch
) -> None:
    compared.save(tmp_path / "both")
    assert fanin.load_comparison(tmp_path / "both").rows == compared.rows

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(fanin.Comparison, "plot", full)
    with pytest.raises(OSError, match="No space"):
        compared.save(tmp_path / "both", force=True)
    with pytest.raises(fanin.RunError, match="not a comparison; the runs in it are dcqcn, none"):
        fanin.load_comparison(tmp_path / "both")


class PanicException(BaseException):
    """Named like the exception of the native module for a bug in itself."""


@pytest.mark.parametrize(
    ("fault", "code", "says"),
    [
        (PanicException("index out of bounds"), 1, "a fault in the simulator: index out of bounds"),
        (MemoryError(), 1, "not enough memory"),
        (OSError(28, "No space left on device", "x/flows.arrow"), 1, "x/flows.arrow"),
        (PermissionError(13, "Permission denied", "sealed"), 2, "sealed: you may not read or write it"),
    ],
)
def test_every_fault_is_one_line(monkeypatch: pytest.MonkeyPatch, fault: BaseException, code: int, says: str) -> None:
    def fails(**_: object) -> None:
        raise fault

    monkeypatch.setattr(cli, "app", fails)
    failure = cli._failure()
    assert failure is not None
    assert failure.code == code
    assert says in str(failure)
    assert "\n" not in str(failure)
