"""Runs a program and measures its resources."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

LOOK_S = 0.02
"""Time between two samples of a program's memory."""


@dataclass(frozen=True)
class Used:
    """The resources and the output of a program."""

    user_s: float
    """User CPU of the whole program, seconds."""
    peak_rss_bytes: int
    said: str
    """Its standard output."""
    failure: str | None
    """A short description of its failure; None if it succeeded."""


def run(command: Sequence[str | Path], folder: Path) -> Used:
    """Runs a program in `folder`, its output in files there. Raises `OSError` where it cannot be started."""
    out, err = folder / "stdout.txt", folder / "stderr.txt"
    with out.open("wb") as stdout, err.open("wb") as stderr:
        child = subprocess.Popen(command, cwd=folder, stdin=subprocess.DEVNULL, stdout=stdout, stderr=stderr)
        peak = 0
        try:
            while True:
                pid, status, usage = os.wait4(child.pid, os.WNOHANG)
                if pid:
                    break
                peak = max(peak, _high_water(child.pid))
                time.sleep(LOOK_S)
        except BaseException:
            child.kill()
            child.wait()
            raise
        child.returncode = os.waitstatus_to_exitcode(status)
    said = out.read_text(encoding="utf-8", errors="replace")
    failure = None
    if child.returncode < 0:
        failure = f"killed by {signal.Signals(-child.returncode).name}"
    elif child.returncode > 0:
        failure = f"exit code {child.returncode}"
    if failure:
        last = (err.read_text(encoding="utf-8", errors="replace").strip() or said.strip()).splitlines()[-1:]
        failure += "".join(f": {line}" for line in last)
    # Linux includes the memory of the parent in ru_maxrss, so it is the last resort.
    return Used(usage.ru_utime, peak or usage.ru_maxrss * 1024, said, failure)


def _high_water(pid: int) -> int:
    """Peak memory of a running program; 0 if it is not known."""
    try:
        status = Path(f"/proc/{pid}/status").read_text(encoding="ascii")
    except OSError:
        return 0
    sizes = [line.split()[1] for line in status.splitlines() if line.startswith("VmHWM:")]
    return int(sizes[0]) * 1024 if sizes else 0


@dataclass(frozen=True)
class Measured:
    """The cost of a case for a simulator."""

    user_s: float
    """User CPU of its event loop, seconds."""
    setup_s: float
    """User CPU of its set-up, seconds; not included in the above."""
    peak_rss_bytes: int
    completions_us: list[float]
    """Of each finished flow, until its last ACK, in microseconds."""
    packet_hops: int | None = None
    """Packets sent over one link each; None if it does not report it."""
    events: int | None = None
    """Events taken from its queue; None if it does not report it."""
