"""Graphs of work of many ranks: GOAL schedules, Chakra traces, workloads of SimAI, algorithms of MSCCL and flow tables
of SimCCL, checked, timed without packets, and run."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TypedDict

from fanin import _core
from fanin.runs import Job, SpecLike


def is_one(path: str | os.PathLike[str]) -> bool:
    """Whether a file is a schedule, a trace or an algorithm, by its name, or a workload of SimAI or a flow table of
    SimCCL, by its first words."""
    return _core.graphs_kind(os.fspath(path)) is not None


def spec(
    path: str | os.PathLike[str],
    network: str | os.PathLike[str],
    *,
    scheme: str = "none",
    groups: str | os.PathLike[str] | None = None,
) -> dict[str, object]:
    """The spec that runs a schedule, traces or an algorithm on a network, with one rank on each host in order.

    `network` is a `.toml` or `.json` file with the table network, such as any spec; its other tables count for nothing.
    A seed in it is kept. Any other file is a topology, of SimAI, ASTRA-sim, ns-3 or htsim or a table of links, whose
    switches have buffers without limit. The run ends with the last node. `groups` is a file of process groups, as for
    `check`.
    """
    graph = Path(path)
    kind = _core.graphs_kind(os.fspath(graph))
    if kind is None:
        names = "no GOAL schedule (.goal, .bin), no Chakra trace (.et), no algorithm of MSCCL (.xml)"
        others = "no workload of SimAI, which begins with a policy, no flow table of SimCCL, which has flow_id"
        raise _core.SpecError(f"{graph}: {names}, {others}")
    if not graph.is_file():
        raise _core.SpecError(f"{graph}: there is no such file")
    around = json.loads(_core.network_of(os.fspath(network)))
    name = graph.name.removesuffix(".gz").rsplit(".", 1)[0]
    pattern: dict[str, object] = {"kind": kind, "file": str(graph.resolve())}
    if groups is not None:
        if kind != "chakra":
            what = f"process groups go with Chakra traces, and {graph} is {OTHERS[kind]}"
            raise _core.SpecError(f"{groups}: {what}")
        pattern["groups"] = str(Path(groups).resolve())
    return {
        "spec_version": 1,
        "name": name.rsplit(".", 1)[0] if kind == "chakra" else name,
        **around,
        "traffic": [{"name": "job", "scheme": scheme, "pattern": pattern}],
        "measure": {"window": LONGEST, "stop_when_done": True},
    }


def write(
    given: SpecLike,
    out: str | os.PathLike[str],
    *,
    traffic: str | None = None,
    set: Sequence[str] = (),  # noqa: A002 - the word that the command line uses
    groups: str | os.PathLike[str] | None = None,
) -> list[Path]:
    """Writes the job of a spec, of a GOAL schedule or of Chakra traces, with collectives as their messages.

    The format follows from `out`: a GOAL schedule where it ends in `.goal` (text) or `.bin`, otherwise Chakra traces
    `OUT.RANK.et`. Of a spec it is the job of a `traffic`, by default of the first that has one; `set` changes single
    keys. `groups` is a file of process groups beside traces, as for `check`. Returns the files. Raises `SpecError`,
    also for a node that the format cannot express.
    """
    if not isinstance(given, Mapping) and is_one(given):
        return _core.graphs_write(os.fspath(given), os.fspath(out), _name(groups))
    return _core.job_write(Job.of(given, set), os.fspath(out), traffic)


LONGEST = "100 s"
"""The window of a run that ends with its job."""

OTHERS = {
    "goal": "a GOAL schedule",
    "simai": "a workload of SimAI",
    "msccl": "an algorithm of MSCCL",
    "simccl": "a flow table of SimCCL",
}
"""What files of graphs other than traces are called."""


def _name(path: str | os.PathLike[str] | None) -> str | None:
    return None if path is None else os.fspath(path)


def check(path: str | os.PathLike[str], groups: str | os.PathLike[str] | None = None) -> tuple[int, list[str]]:
    """Checks a schedule (`.goal`, `.bin`), or the traces `PREFIX.RANK.et` of all ranks by the one of any.

    `groups` is a JSON file of process groups that the traces name and do not define, as ASTRA-sim reads it:
    `{"1": [0, 1], "2": [2, 3]}`. Returns how many ranks there are, and warnings about sends that nobody receives.
    Raises `SpecError` for broken files and for what could not run, such as nodes that wait for each other and receives
    without a send, with file, rank, node, and line or byte.
    """
    return _core.graphs_check(os.fspath(path), _name(groups))


class Collectives(TypedDict):
    """Collectives of one operation among the same ranks."""

    ranks: list[int]
    operation: str
    algorithm: str
    collectives: int
    bytes: int


class CriticalPath(TypedDict):
    """The longest way through a job where every message travels alone and no node waits for a slot."""

    ns: int
    computing_ns: int
    messages: int
    bytes: int


class Overview(TypedDict):
    """What the ranks of a schedule or of traces do, with collectives as messages of their default algorithms.

    `groups` has the collectives by their ranks and operation. `critical_path` is `None` where a node never
    ends. `memory_bytes` is about what a run takes for messages and nodes.
    """

    ranks: int
    nodes: int
    messages: int
    bytes: int
    computations: int
    computing_ns: int
    groups: list[Collectives]
    critical_path: CriticalPath | None
    memory_bytes: int


def overview(
    path: str | os.PathLike[str], loggp: str | None = None, groups: str | os.PathLike[str] | None = None
) -> Overview:
    """What a schedule or traces do before they run: ranks, messages, bytes, groups and the critical path.

    A message alone takes 2 o + L and for each byte after the first the larger of G and O, with `loggp` as for `finish`;
    without it, it takes no time. `groups` is a file of process groups, as for `check`. Raises `SpecError`.
    """
    found: Overview = json.loads(_core.graphs_overview(os.fspath(path), loggp, _name(groups)))
    return found


def finish(path: str | os.PathLike[str], loggp: str) -> list[int]:
    """When each rank has finished by LogGOPS, in ns, equal to LogGOPSim.

    `loggp` has the parameters, as "L=1000,o=0,g=0,G=1,O=0,S=65535": latency, overhead, gap, gap and overhead of each
    byte after the first in ns, and the largest message in bytes that is sent before its receive is posted. Raises
    `SpecError`, also for a node that does not end, such as a collective.
    """
    return _core.graphs_finish(os.fspath(path), loggp)
