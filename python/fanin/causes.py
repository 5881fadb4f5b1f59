"""Why a message was slow: runs its spec again with the message's packets traced, and breaks its FCT down."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, cast

import polars as pl

from fanin import _core, own_schemes
from fanin.delay_breakdown import HOST_CAUSES, LABELS, Breakdown, breakdown, by_cause, by_port, headline, hop_delays
from fanin.hpcc import HpccJob
from fanin.over_time import message_number
from fanin.result import Result, load
from fanin.run_folder import RunError
from fanin.runs import Job, Watcher, run_one
from fanin.spec import section

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from rich.console import RenderableType


@dataclass(frozen=True)
class Why:
    """One message of a run, traced packet by packet."""

    run: Result
    """The repeated run, with the packets of the message in `run.hops()`."""
    message: str
    """As specs name it: `queries:17`."""
    repeated: bool | None
    """Whether its event hash equals that of the original run; None if the original run was cancelled and has none to
    compare."""

    @cached_property
    def steps(self) -> pl.DataFrame:
        """Every packet at every node: see `fanin.delay_breakdown.hop_delays`."""
        return hop_delays(self.run, self.message)

    @cached_property
    def breakdown(self) -> Breakdown:
        """The parts of its FCT."""
        return breakdown(self.run, self.message, self.steps)

    def plot(self, path: str | os.PathLike[str] | None = None) -> Figure:
        """Draws the timeline of every packet, to a file if a path is given."""
        from fanin import plot

        return plot.timeline(self.run, self.message, path)

    def headline(self) -> str:
        """The message, its FCT, and the largest cause of delay."""
        return headline(self.run, self.breakdown)

    def rows(self) -> list[Row]:
        """The share of the FCT that each place on the path took, in order."""
        return rows_of(self.breakdown, by_port(self.steps))

    def note(self) -> str:
        """Whether the repeated run is the same as the original."""
        if self.repeated is None:
            return "the original run was cancelled, so there is no event hash to compare with"
        if self.repeated:
            return f"repeated with the same event hash ({self.run.manifest['event_hash']}): this is the same run"
        return (
            "repeated with ANOTHER event hash: this is not the same run. Was the original made by another version, or "
            "have its files changed since?"
        )

    def text(self) -> RenderableType:
        """The answer for a terminal: a sentence or two, and a row per place on the path."""
        from rich.console import Group
        from rich.text import Text

        from fanin.table import number, plain

        def shown(value: float | None) -> str:
            return "" if value is None else number(value)

        heads = ("where", "packets", "mean wait (us)", "longest (us)", "of the FCT (us)", "share")
        body = [
            [
                row.where,
                "" if row.packets is None else f"{row.packets:,}",
                shown(row.mean_wait_us),
                shown(row.max_wait_us),
                number(row.took_us),
                f"{row.share:.1%}",
            ]
            for row in self.rows()
        ]
        style = "bold red" if self.repeated is False else ""
        title = Text(self.headline(), style="bold")
        return Group(title, plain(heads, body, heads[1:]), Text(self.note(), style=style))

    def to_json(self) -> dict[str, object]:
        """The answer as one document, snake_case keys with units."""
        known = self.breakdown
        return {
            "message": self.message,
            "flow_id": known.flow["flow_id"],
            "headline": self.headline(),
            "repeated": self.repeated,
            "completion_us": None if known.completion_ps is None else known.completion_ps / 1e6,
            "ideal_us": None if known.ideal_ps is None else known.ideal_ps / 1e6,
            "packets": known.packets,
            "packets_resent": known.resent,
            "packets_lost": known.lost,
            "places": [asdict(row) for row in self.rows()],
        }


@dataclass(frozen=True)
class Row:
    """A place on the path of a message, or a cause of waiting at its host."""

    what: str
    """As in `fanin.delay_breakdown.Part`."""
    where: str
    """In words."""
    packets: int | None
    """Packets of the message that left there, or at the host those that waited for this cause; None where nothing
    waits."""
    mean_wait_us: float | None
    """Over those packets."""
    max_wait_us: float | None
    took_us: float
    """Its part of the FCT: of all packets at the host, then of the packet that arrived last. The parts of all rows add
    up to the FCT."""
    share: float
    """The same as a share of the FCT."""


def why(
    result: Result | str | os.PathLike[str],
    flow: int | str | None = None,
    *,
    flows: object | None = None,
    progress: bool | Watcher = True,
) -> Why:
    """Finds out why a message of a run was slow.

    `result` is a run or its folder. `flow` is the message: its `flow_id` in the table of flows, or its name, such as
    `"queries:17"`; by default the measured message with the largest slowdown. The run's spec is run again with the
    message's packets traced: runs repeat bit for bit, and `Why.repeated` says whether this one did. `flows` is the
    table of flows that the run was given, by default the one that is kept with it; `progress` is that of `fanin.run`.

    A configuration of the ns-3 HPCC simulator that ran as it is runs once more from its files, which must still be
    there. Its network has no causes of waiting at a host.

    Raises `RunError` for an unknown message and for a run that cannot be repeated.
    """
    asked = result if isinstance(result, Result) else load(result)
    row = choose(asked, flow)
    name = f"{row['traffic']}:{row['number']}"
    if asked.exact and not asked.of_ns3:
        raise RunError(f"{asked.label}: why follows no packets on the network of uet-htsim; its uec.txt has its lines")
    if asked.of_ns3:
        stop_s = asked.manifest["simulated_ps"] / 1e12 if asked.cancelled else None
        once_more = run_one(configuration(asked, int(str(row["flow_id"]))), progress=until(stop_s, progress))
    else:
        once_more = repeat(asked, [name], flows, progress)
    if once_more.hops().is_empty():
        raise RunError(f"{asked.label}: {name} sent nothing before the run stopped at {once_more.simulated_ms:.3f} ms")
    same = None if asked.cancelled else once_more.manifest["event_hash"] == asked.manifest["event_hash"]
    return Why(once_more, name, same)


def repeat(asked: Result, names: Sequence[str], flows: object | None, progress: bool | Watcher) -> Result:
    """Runs the spec of a run again up to where it stopped, with the packets of some messages traced."""
    own_schemes.need_loaded(asked.spec, asked.label)
    given = asked.given_flows if flows is None else flows
    traced = "measure.trace=[" + ", ".join(f"'{name}'" for name in names) + "]"
    job = replace(Job.of(again(asked), [traced]), name=f"{asked.label}/spec.resolved.toml").using(None, None)
    stop_s = asked.manifest["simulated_ps"] / 1e12 if asked.cancelled else None
    return run_one(job.within().on(None), flows=given, progress=until(stop_s, progress))


def choose(result: Result, flow: int | str | None) -> dict[str, object]:
    """The row of a message in the table of flows, with its `number`. Raises `RunError` where there is no such
    message."""
    table = result.flows()
    table = table.with_columns(message_number(table), pl.col("traffic").cast(pl.String))
    if flow is None:
        measured = table.filter("measured")
        if measured.is_empty():
            raise RunError(
                f"{result.label}: no message was measured; choose one of the {table.height} flows by its flow_id"
            )
        # Unfinished messages have no slowdown; they are chosen only where there are no others.
        worst = measured.sort("slowdown", descending=True, nulls_last=True, maintain_order=True)
        return worst.row(0, named=True)
    text = str(flow)
    if text.isdecimal():
        if int(text) >= table.height:
            raise RunError(f"{result.label}: no flow {text}; it has {table.height}, from 0 to {table.height - 1}")
        return table.row(int(text), named=True)
    traffic, _, number = text.rpartition(":")
    traffics = {
        str(name): int(most)
        for name, most in table.group_by("traffic", maintain_order=True).agg(pl.col("number").max()).iter_rows()
    }
    if traffic not in traffics or not number.isdecimal():
        first = next(iter(traffics), "queries")
        raise RunError(
            f'{result.label}: no message {text!r}; give a flow_id, or a name like "{first}:0" '
            f"(traffics: {', '.join(traffics)})"
        )
    found = table.filter((pl.col("traffic") == traffic) & (pl.col("number") == int(number)))
    if found.is_empty():
        raise RunError(
            f"{result.label}: no message {text!r} was posted; those of {traffic} end with {traffic}:{traffics[traffic]}"
        )
    return found.row(0, named=True)


def configuration(result: Result, flow: int) -> HpccJob:
    """The run of a configuration of the ns-3 HPCC simulator once more, with the packets of a flow."""
    if "hpcc_file" not in result.spec:
        raise RunError(f"{result.label}: made by an earlier version, which kept no path of its files; run it again")
    spec = result.spec
    return HpccJob(
        str(spec["hpcc_file"]),
        str(spec["hpcc_folder"]),
        acks_first=bool(spec["acks_first"]),
        # Versions before dialects have none of these.
        dialect=str(spec.get("hpcc_dialect", "")) or None,
        topology=str(spec.get("hpcc_topology", "")) or None,
        skip_unknown_keys=bool(spec.get("skip_unknown_keys", False)),
        follow=flow,
    )


def again(result: Result) -> dict[str, object]:
    """The spec of a run without its series and traces, to repeat it for one message."""
    measure = {
        key: value for key, value in section(result.spec, "measure").items() if key not in ("capture", "perfetto")
    }
    return {**result.spec, "measure": {**measure, "series": []}}


def until(stop_s: float | None, progress: bool | Watcher) -> bool | Watcher:
    """A watcher that stops a run at the time at which another one was stopped."""
    if stop_s is None:
        return progress

    def watch(state: _core.Progress) -> bool:
        go_on = progress(state) if callable(progress) else True
        return go_on and state.simulated_s < stop_s

    return watch


def rows_of(known: Breakdown, ports: pl.DataFrame) -> list[Row]:
    """See `Why.rows`."""
    total = max(1, known.total_ps)
    rows: list[Row] = []

    def add(what: str, place: str, ps: int, seen: Mapping[str, object] | None) -> None:
        waited = (None, None, None) if seen is None else (seen["packets"], seen["mean_wait_us"], seen["max_wait_us"])
        where = LABELS[what].format(where=place)
        rows.append(
            Row(what, where, *cast("tuple[int | None, float | None, float | None]", waited), ps / 1e6, ps / total)
        )

    at_host = {str(seen["what"]): seen for seen in by_cause(known.pieces).iter_rows(named=True)}
    for part in known.parts:
        if part.what in HOST_CAUSES or part.what == "send":
            add(part.what, part.where, part.ps, at_host.get(part.what))
    for seen in ports.filter(pl.col("hop") > 0).iter_rows(named=True):
        port = str(seen["port"])
        add("wait", port, sum(part.ps for part in known.parts if (part.what, part.where) == ("wait", port)), seen)
    for part in known.parts:
        if part.what in ("wire", "after"):
            add(part.what, part.where, part.ps, None)
    return rows
