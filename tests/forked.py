"""Commands in processes of their own that start in milliseconds: children of one that has imported Fanin already.

`serve` is that process: it reads a request per line, runs the command in a child, and answers with a line. It starts no
thread, so that it may fork.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

LONGEST = 300.0
"""Seconds after which a command is killed."""


class Forked:
    """Runs commands in children of a process that lives as long as this object."""

    def __init__(self, folder: Path) -> None:
        self._out, self._err = folder / "out", folder / "err"
        self._server = subprocess.Popen(
            [sys.executable, "-c", "from forked import serve; serve()"],
            cwd=Path(__file__).parent,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def run(self, arguments: list[str], folder: Path, **environment: str) -> subprocess.CompletedProcess[str]:
        """Runs `fanin ARGUMENTS` in a folder. Raises `TimeoutExpired` after five minutes."""
        assert self._server.stdin is not None
        assert self._server.stdout is not None
        request = {
            "arguments": arguments,
            "folder": str(folder),
            "environment": {**os.environ, **environment},
            "out": str(self._out),
            "err": str(self._err),
        }
        self._server.stdin.write(json.dumps(request) + "\n")
        self._server.stdin.flush()
        status = json.loads(self._server.stdout.readline())
        if status is None:
            raise subprocess.TimeoutExpired(["fanin", *arguments], LONGEST)
        out, err = (path.read_text(encoding="utf-8") for path in (self._out, self._err))
        return subprocess.CompletedProcess(["fanin", *arguments], status, out, err)

    def close(self) -> None:
        """Ends the process."""
        assert self._server.stdin is not None
        assert self._server.stdout is not None
        self._server.stdin.close()
        self._server.stdout.close()
        self._server.wait()


def serve() -> None:
    """Answers requests until its input ends."""
    import fanin.__main__
    from fanin import cli, comparing, plot
    from fanin.cli import results, runs, sweeps

    assert all((cli, comparing, plot, results, runs, sweeps))
    answers = os.fdopen(os.dup(1), "w")
    for line in sys.stdin:
        request = json.loads(line)
        child = os.fork()
        if child == 0:
            _child(request, fanin.__main__.__file__)
        answers.write(json.dumps(status_of(child)) + "\n")
        answers.flush()


def _child(request: dict[str, object], program: str) -> None:
    """Becomes the command, and ends."""
    status = 70
    try:
        files = [os.open("/dev/null", os.O_RDONLY)]
        files += [os.open(str(request[key]), os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644) for key in ("out", "err")]
        for at, file in enumerate(files):
            os.dup2(file, at)
        os.environ.clear()
        os.environ.update(request["environment"])  # type: ignore[call-overload]
        os.chdir(str(request["folder"]))
        sys.argv = [program, *request["arguments"]]  # type: ignore[misc]
        from fanin.__main__ import main

        main()
        status = 0
    except SystemExit as left:
        status = left.code if isinstance(left.code, int) else 0 if left.code is None else 1
        if isinstance(left.code, str):
            sys.stderr.write(f"{left.code}\n")
    except BaseException:
        sys.excepthook(*sys.exc_info())
        status = 1
    finally:
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
        os._exit(status)


def status_of(child: int) -> int | None:
    """The status of a child that has ended, minus the signal if one ended it; None for one that had to be killed."""
    end = time.monotonic() + LONGEST
    while time.monotonic() < end:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.002)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return None
