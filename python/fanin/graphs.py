"""Graphs of work of many ranks: GOAL schedules and Chakra traces, checked, timed without packets, and run."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from fanin import _core
from fanin.runs import Job, SpecLike
from fanin.spec import read_toml


def is_one(path: str | os.PathLike[str]) -> bool:
    """Whether a file is a schedule or a trace, by its name."""
    return Path(path).name.lower().endswith((".goal", ".bin", ".et", ".et.gz"))


def spec(path: str | os.PathLike[str], network: str | os.PathLike[str], *, scheme: str = "none") -> dict[str, object]:
    """The spec that runs a schedule or traces on a network, with one rank on each host in order.

    `network` is a `.toml` or `.json` file with the table network, such as any spec; its other tables count for nothing.
    A seed in it is kept. The run ends with the last node.
    """
    graph, place = Path(path), Path(network)
    if not is_one(graph):
        raise _core.SpecError(f"{graph}: no GOAL schedule (.goal, .bin) and no Chakra trace (.et)")
    if not graph.is_file():
        raise _core.SpecError(f"{graph}: there is no such file")
    if place.suffix not in (".toml", ".json") or not place.is_file():
        raise _core.SpecError(f"{place}: no .toml or .json file with the table network")
    text = place.read_text(encoding="utf-8")
    try:
        document = json.loads(text) if place.suffix == ".json" else read_toml(text)
    except ValueError as error:
        raise _core.SpecError(f"{place}: {error}") from None
    given = document.get("network") if isinstance(document, dict) else None
    if not isinstance(given, dict):
        raise _core.SpecError(f"{place}: it has no table network; give a spec, or a file with [network]")
    topology = given.get("topology")
    if isinstance(topology, dict) and isinstance(topology.get("file"), str):
        # It is relative to the folder of the network, and a spec in memory has none.
        beside = {key: str((place.parent / topology[key]).resolve()) for key in ("file", "nodes") if key in topology}
        given = {**given, "topology": {**topology, **beside}}
    name = graph.name.removesuffix(".gz").rsplit(".", 1)[0]
    kind = "chakra" if ".et" in graph.suffixes else "goal"
    return {
        "spec_version": 1,
        "name": name.rsplit(".", 1)[0] if kind == "chakra" else name,
        **({"seed": document["seed"]} if "seed" in document else {}),
        "network": given,
        "traffic": [{"name": "job", "scheme": scheme, "pattern": {"kind": kind, "file": str(graph.resolve())}}],
        "measure": {"window": LONGEST, "stop_when_done": True},
    }


def write(
    given: SpecLike,
    out: str | os.PathLike[str],
    *,
    traffic: str | None = None,
    set: Sequence[str] = (),  # noqa: A002
) -> list[Path]:
    """Writes the job of a spec, of a GOAL schedule or of Chakra traces, with collectives as their messages.

    The format follows from `out`: a GOAL schedule where it ends in `.goal` (text) or `.bin`, otherwise Chakra traces
    `OUT.RANK.et`. Of a spec it is the job of a `traffic`, by default of the first that has one; `set` changes single
    keys. Returns the files. Raises `SpecError`, also for a node that the format cannot express.
    """
    if not isinstance(given, Mapping) and is_one(given):
        return _core.graphs_write(os.fspath(given), os.fspath(out))
    return _core.job_write(Job.of(given, set), os.fspath(out), traffic)


LONGEST = "100 s"
"""The window of a run that ends with its job."""


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
