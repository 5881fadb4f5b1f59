"""Why a collective was slow: its critical path, and the packets of the messages on it that waited longest."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, cast

import polars as pl

from fanin.causes import repeat
from fanin.delay_breakdown import LABELS, Breakdown, breakdown
from fanin.measures import size_text
from fanin.over_time import message_number
from fanin.result import Result, load
from fanin.run_folder import RunError
from fanin.shown import time

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from rich.console import RenderableType

    from fanin.runs import Watcher

__all__ = ["MOST", "Delayed", "Place", "WhyCollective", "why_collective"]

MOST = 8
"""The most messages of a path whose packets are traced: those that waited longest."""


@dataclass(frozen=True)
class Delayed:
    """A message on the critical path of a collective."""

    message: str
    """As specs name it: `job:17`."""
    sender: str
    """The rank that sends it, with its host: `rank 3 (h12)`."""
    receiver: str
    """The rank that receives it."""
    took_us: float
    """Its FCT."""
    delay_us: float
    """How much longer that is than in an empty network."""
    where: str | None
    """What took the largest part of the delay, in words; None if its packets were not traced."""


@dataclass(frozen=True)
class Place:
    """A port, or a cause at a host, that delayed messages on the critical path of a collective."""

    where: str
    """In words."""
    messages: int
    """Traced messages that it delayed."""
    delay_us: float
    """How long, over all of them."""


@dataclass(frozen=True)
class WhyCollective:
    """The critical path of one collective of a run."""

    run: Result
    """The run."""
    collective: dict[str, object]
    """Its row in the table `collectives`."""
    path: pl.DataFrame
    """The rows of its path in the table `critical`."""
    traced: Result | None
    """The repeated run with the packets of some messages of the path in `traced.hops()`; None where no message waited,
    or one rank alone made the collective slow."""
    repeated: bool | None
    """Whether its event hash equals that of the run; None if it was not repeated."""
    names: dict[int, str]
    """The messages that were traced, by their row in the table of flows."""

    @cached_property
    def parts_us(self) -> dict[str, float]:
        """What the time of the collective was spent on; the parts add up to it.

        `late` is the time until the rank from which the path begins had entered, `slot` waiting for slots of ranks, and
        the others are those of the columns of `critical`.
        """
        of = {name: float(self.path[f"{name}_ps"].sum()) / 1e6 for name in PARTS}
        kinds = self.path.with_columns(pl.col("kind").cast(pl.String))
        waits = dict(kinds.group_by("kind").agg(pl.col("waiting_ps").sum()).iter_rows())
        return {"late": waits.get("late", 0) / 1e6, **of, "slot": waits.get("slot", 0) / 1e6}

    @cached_property
    def breakdowns(self) -> dict[int, Breakdown]:
        """The parts of the FCT of each traced message."""
        return {} if self.traced is None else {flow: breakdown(self.traced, name) for flow, name in self.names.items()}

    def messages(self) -> list[Delayed]:
        """The messages on the path that took longer than in an empty network, the slowest first."""
        slow = delayed(self.path)
        names = names_of(self.run, slow["flow_id"].to_list())
        found = []
        for row in slow.iter_rows(named=True):
            parts = self.breakdowns.get(row["flow_id"])
            worst = None if parts is None else parts.worst()
            where = None if worst is None or worst.ps == 0 else LABELS[worst.what].format(where=worst.where)
            ends = (self.rank(row["rank"]), self.rank(row["peer"]))
            took_us = (row["end_ps"] - row["start_ps"]) / 1e6
            found.append(Delayed(names[row["flow_id"]], *ends, took_us, row["queueing_ps"] / 1e6, where))
        return found

    def places(self) -> list[Place]:
        """The ports and causes that delayed the traced messages, the worst first."""
        sums: dict[str, list[int]] = {}
        for parts in self.breakdowns.values():
            for part in parts.parts:
                if part.what not in ("send", "wire") and part.ps > 0:
                    sums.setdefault(LABELS[part.what].format(where=part.where), []).append(part.ps)
        found = [Place(where, len(of), sum(of) / 1e6) for where, of in sums.items()]
        return sorted(found, key=lambda place: -place.delay_us)

    def rank(self, number: int) -> str:
        """A rank with its host."""
        of = self.run.ranks().filter(
            (pl.col("traffic").cast(pl.String) == str(self.collective["traffic"])) & (pl.col("rank") == number)
        )
        return f"rank {number} ({of['host'].cast(pl.String)[0]})"

    def headline(self) -> str:
        """The collective with its time, and the rank, message or port that made it slow."""
        of = self.collective
        size = size_text(int(str(of["bytes"])))
        what = (
            f"{of['operation']} {of['collective']} of {of['traffic']} ({of['algorithm']}, {of['ranks']} ranks, {size})"
        )
        total = float(str(of["time_ps"])) / 1e6
        return f"{self.run.name}: {what} took {time(total)}.\n{self.verdict(total)}"

    def verdict(self, total_us: float) -> str:
        """What made it slow, as a sentence."""
        parts = self.parts_us
        if parts["late"] > 0 and parts["late"] >= parts["queueing"]:
            late = self.path.row(0, named=True)
            return (
                f"Slow: {self.rank(late['rank'])}, which entered {time(parts['late'])} "
                f"({parts['late'] / total_us:.0%}) after the first rank."
            )
        if not parts["queueing"]:
            return "Nothing on its critical path waited: it is as fast as its algorithm is in an empty network."
        delay = f"{time(parts['queueing'])} ({parts['queueing'] / total_us:.0%}) more than in an empty network"
        slowest, places = self.messages()[0], self.places()
        of = f"{slowest.message} from {slowest.sender} to {slowest.receiver}"
        told = f"The messages on its critical path took {delay}; the slowest was {of}: {time(slowest.delay_us)}."
        if places:
            worst = places[0]
            told_of = "its delay" if len(self.names) == 1 else f"the delay of the {len(self.names)} slowest"
            told += f"\nMost of {told_of}: {worst.where}, {time(worst.delay_us)}."
        return told

    def note(self) -> str:
        """Whether the repeated run is the same as the original; empty if it was not repeated."""
        if self.traced is None:
            return ""
        if self.repeated:
            return f"repeated with the same event hash ({self.traced.manifest['event_hash']}): this is the same run"
        return "repeated with ANOTHER event hash: this is not the same run"

    def plot(self, path: str | os.PathLike[str] | None = None) -> Figure:
        """Draws the packets of the slowest traced message over time, or the ranks where none was traced."""
        from fanin import plot

        if self.traced is None:
            return plot.ranks(self.run, path)
        return plot.timeline(self.traced, next(iter(self.names.values())), path)

    def text(self) -> RenderableType:
        """The answer for a terminal: sentences, the parts of the time, and the slowest messages."""
        from rich.console import Group
        from rich.text import Text

        from fanin.table import plain

        total = sum(self.parts_us.values())
        first = self.rank(int(self.path["rank"][0]))
        parts = [
            [TEXTS[name].format(rank=first), time(us), f"{us / total:.1%}"]
            for name, us in self.parts_us.items()
            if us > 0
        ]
        shown: list[RenderableType] = [
            Text(self.headline(), style="bold"),
            plain(("on the critical path", "time", "share"), parts, ("time", "share")),
        ]
        slowest = [
            [one.message, one.sender, one.receiver, time(one.took_us), time(one.delay_us), one.where or ""]
            for one in self.messages()[:MOST]
        ]
        if slowest:
            heads = ("message", "from", "to", "took", "delayed by", "most of it")
            shown.append(plain(heads, slowest, ("took", "delayed by")))
        places = [[place.where, str(place.messages), time(place.delay_us)] for place in self.places()[:MOST]]
        if places:
            shown.append(plain(("where these messages waited", "messages", "time"), places, ("messages", "time")))
        if self.note():
            shown.append(Text(self.note(), style="bold red" if self.repeated is False else ""))
        return Group(*shown)

    def to_json(self) -> dict[str, object]:
        """The answer as one document, snake_case keys with units."""
        of = self.collective
        return {
            "traffic": of["traffic"],
            "collective": of["collective"],
            "operation": of["operation"],
            "headline": self.headline(),
            "repeated": self.repeated,
            "time_us": float(str(of["time_ps"])) / 1e6,
            "first_on_path": self.rank(int(self.path["rank"][0])),
            "parts_us": self.parts_us,
            "messages": [vars(one) for one in self.messages()],
            "places": [vars(place) for place in self.places()],
        }


PARTS = ("compute", "serialisation", "propagation", "queueing")
TEXTS = {
    "late": "until {rank} had entered",
    "compute": "computation",
    "serialisation": "serialisation",
    "propagation": "propagation",
    "queueing": "queueing and other delays of messages",
    "slot": "waiting for slots",
}


def why_collective(
    result: Result | str | os.PathLike[str],
    collective: int | str,
    *,
    flows: object | None = None,
    progress: bool | Watcher = True,
) -> WhyCollective:
    """Finds out why a collective of a run was slow: the rank that came late, or the messages and ports that took long.

    `result` is a run or its folder. `collective` is its number in the table `collectives`, or where several traffics
    have jobs, its traffic and number as `"job:0"`. Its critical path leads from its last end back to the rank for which
    the others waited. Where messages on it took longer than in an empty network, the spec is run again with the packets
    of the slowest of them traced, at most eight; `flows` and `progress` are those of `fanin.why`.

    Raises `RunError` for a collective that is not there or did not end, and for a run that cannot be repeated.
    """
    asked = result if isinstance(result, Result) else load(result)
    row = chosen(asked, collective)
    table = asked.critical().with_columns(pl.col("traffic").cast(pl.String))
    path = table.filter((pl.col("traffic") == row["traffic"]) & (pl.col("path_of") == row["collective"]))
    if path.is_empty():
        raise RunError(f"{asked.label}: its folder is of an earlier version, without critical paths; run it again")
    slow = delayed(path)
    late = int(path["waiting_ps"].sum())
    if slow.is_empty() or late >= int(path["queueing_ps"].sum()):
        return WhyCollective(asked, row, path, None, None, {})
    names = names_of(asked, slow["flow_id"].to_list()[:MOST])
    once_more = repeat(asked, list(names.values()), flows, progress)
    same = None if asked.cancelled else once_more.manifest["event_hash"] == asked.manifest["event_hash"]
    return WhyCollective(asked, row, path, once_more, same, names)


def delayed(path: pl.DataFrame) -> pl.DataFrame:
    """The messages of a path that took longer than in an empty network, the slowest first."""
    messages = path.filter((pl.col("kind").cast(pl.String) == "message") & (pl.col("queueing_ps") > 0))
    return messages.drop_nulls("flow_id").sort("queueing_ps", descending=True, maintain_order=True)


def names_of(result: Result, flows: Sequence[int]) -> dict[int, str]:
    """The names of messages, by their rows in the table of flows."""
    table = result.flows()
    table = table.select(pl.concat_str("traffic", pl.lit(":"), message_number(table)).alias("name"))
    return {flow: str(table["name"][flow]) for flow in flows}


def chosen(result: Result, collective: int | str) -> dict[str, object]:
    """The row of a collective that has ended. Raises `RunError` where there is none."""
    table = result.collectives().with_columns(pl.col("traffic", "operation", "algorithm").cast(pl.String))
    if table.is_empty():
        raise RunError(f"{result.label}: no traffic of it has collectives; fanin why --flow is for single messages")
    traffic, _, number = str(collective).rpartition(":")
    of = table.filter(pl.col("traffic") == traffic) if traffic else table
    traffics = table["traffic"].unique(maintain_order=True).to_list()
    if of.is_empty() or not number.isdecimal():
        raise RunError(
            f'{result.label}: no collective {str(collective)!r}; give its number, or "{traffics[0]}:0" '
            f"(traffics with collectives: {', '.join(traffics)})"
        )
    found = of.filter(pl.col("collective") == int(number))
    if found.height > 1:
        several = ", ".join(f'"{name}:{number}"' for name in found["traffic"])
        raise RunError(f"{result.label}: several traffics have a collective {number}; give one of {several}")
    if found.is_empty():
        raise RunError(
            f"{result.label}: no collective {number}; there are {of.height}, from 0 to {max(of['collective'])}"
        )
    row = cast("dict[str, object]", found.row(0, named=True))
    if row["time_ps"] is None:
        raise RunError(f"{result.label}: collective {number} did not end before the run stopped")
    return row
