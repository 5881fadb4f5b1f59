"""Graphs of work of many ranks: GOAL schedules and Chakra traces, checked and timed without packets."""

from __future__ import annotations

import os
from pathlib import Path

from fanin import _core


def is_one(path: str | os.PathLike[str]) -> bool:
    """Whether a file is a schedule or a trace, by its name."""
    return Path(path).name.lower().endswith((".goal", ".bin", ".et", ".et.gz"))


def check(path: str | os.PathLike[str]) -> tuple[int, list[str]]:
    """Checks a schedule (`.goal`, `.bin`), or the traces `PREFIX.RANK.et` of all ranks by the one of any.

    Returns how many ranks there are, and warnings about sends that nobody receives. Raises `SpecError` for broken
    files and for what could not run, such as nodes that wait for each other and receives without a send, with file,
    rank, node, and line or byte.
    """
    return _core.graphs_check(os.fspath(path))


def finish(path: str | os.PathLike[str], loggp: str) -> list[int]:
    """When each rank has finished by LogGOPS, in ns, equal to LogGOPSim.

    `loggp` has the parameters, as "L=1000,o=0,g=0,G=1,O=0,S=65535": latency, overhead, gap, gap and overhead of each
    byte after the first in ns, and the largest message in bytes that is sent before its receive is posted. Raises
    `SpecError`, also for a node that does not end, such as a collective.
    """
    return _core.graphs_finish(os.fspath(path), loggp)
