"""Holds the capture of a run against laws of networks, by a second program that knows nothing of the simulator."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from fanin import _core
from fanin.result import load
from fanin.run_folder import RunError

_FIRST_QUEUE_PAIR = 256
"""The queue pair of the first connection in a capture: docs/traces.md."""


@dataclass(frozen=True)
class Violation:
    """A place where a law does not hold."""

    time_ps: int
    place: str
    """The port or link."""
    what: str
    """What is, and what should be."""


@dataclass(frozen=True)
class Law:
    """A law, and what was found of it."""

    law: str
    """Its name."""
    says: str
    """What it says."""
    checked: int
    """How often it was applied."""
    violations: int
    """How often it did not hold."""
    first: tuple[Violation, ...]
    """The first 20 of those."""
    not_checked: str | None
    """Why it could not be checked, if it could not."""


@dataclass(frozen=True)
class Certificate:
    """What `certify` has found."""

    source: str
    """The file that was read."""
    packets: int
    """Packets on links in it."""
    end_ps: int
    """The time of its end."""
    laws: tuple[Law, ...]
    notes: tuple[str, ...]
    """What limits the result, like packets that the capture left out."""

    @property
    def ok(self) -> bool:
        """Whether every law that was checked holds."""
        return not self.violations

    @property
    def violations(self) -> int:
        """The violations of all laws."""
        return sum(law.violations for law in self.laws)


def certify(path: str | os.PathLike[str], *, config: str | os.PathLike[str] | None = None) -> Certificate:
    """Checks the capture of a run folder against its spec, its tables and the laws of `docs/certify.md`.

    The spec of the run needs `measure.capture`, best with `links = "all"`: what a capture of some links cannot tell is
    not checked, and the result says so. Instead of a folder, `path` may be a trace (`.tr`) of the ns-3 HPCC simulator,
    and `config` is then the configuration of its run. Raises `RunError` if there is no capture, or one that cannot be
    read.
    """
    try:
        if config is not None:
            told = json.loads(_core.certify_trace(os.fspath(path), os.fspath(config)))
        else:
            told = json.loads(_core.certify(os.fspath(path), json.dumps(_facts(Path(path)))))
    except _core.SpecError as error:
        raise RunError(str(error)) from None
    laws = tuple(
        Law(**{**law, "first": tuple(Violation(**violation) for violation in law["first"])}) for law in told["laws"]
    )
    return Certificate(told["source"], told["packets"], told["end_ps"], laws, tuple(told["notes"]))


def _facts(root: Path) -> dict[str, object]:
    """What the tables of a run say."""
    result = load(root)
    if result.exact:
        raise RunError(
            f"{root}: a run of the ns-3 simulator's network; give its trace.tr, and --config with its configuration"
        )
    return {"ports": _ports(result.ports()), "messages": _messages(result.flows(), result.spec)}


def _ports(ports: pl.DataFrame) -> dict[str, list[int]]:
    """Of each port the packets and bytes that it has sent, and those of its packets that it marked and dropped."""
    counted = ports.select("port", "packets", "bytes", "marked_packets", "dropped_packets")
    return {str(port): numbers for port, *numbers in counted.iter_rows()}


def _messages(flows: pl.DataFrame, spec: Mapping[str, object]) -> dict[int, list[int]]:
    """By queue pair the bytes and the end of each message that has a connection of its own over RoCEv2."""
    traffics = spec["traffic"]
    assert isinstance(traffics, list)
    alone = [
        traffic["name"]
        for traffic in traffics
        if traffic["transport"] == "rdma"
        and not traffic["rdma"]["persistent"]
        and traffic["rdma"]["restart"] == "never"
    ]
    if len(alone) < len(traffics):
        return {}
    ended = flows.filter(pl.col("completion_ps").is_not_null() & (pl.col("bytes") > 0))
    rows = ended.select("flow_id", "bytes", pl.col("start_ps") + pl.col("completion_ps")).iter_rows()
    return {_FIRST_QUEUE_PAIR + number: [size, end] for number, size, end in rows}


__all__ = ["Certificate", "Law", "Violation", "certify"]
