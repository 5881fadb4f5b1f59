"""The traffics of a run side by side: for runs in which several share the network."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import polars as pl

from fanin.measures import completion_us, percentile, reported
from fanin.over_seeds import Estimate, estimate

if TYPE_CHECKING:
    from fanin.result import Result


@dataclass(frozen=True)
class Traffic:
    """One traffic. With several seeds each number is the mean over the runs."""

    name: str
    """Its name in the spec."""
    scheme: str
    """The id of its scheme."""
    transport: str
    """`tcp` or `rdma`."""
    class_name: str
    """The class of its data packets."""
    counted_with: list[str]
    """Other traffics with the same scheme and parameters: they share its drops and its actions."""
    numbers: dict[str, Estimate]
    """By the names of `NUMBERS` and `DROPPED`."""
    actions: dict[str, Estimate]
    """The numbers of its scheme's actions over the whole run, those that ever occurred."""


NUMBERS = (
    ("started", "unfinished", "endless"),
    ("goodput_gbps", "goodput_share"),
    ("fct_p50_us", "fct_p99_us", "slowdown_p50", "slowdown_p99"),
    ("marked_packets", "reordered_packets", "packets_resent", "message_timeouts"),
)
"""The numbers of a traffic, by their names in `quantities`. Messages, FCTs, slowdowns and goodputs are those of the
measured window; marks, reordering, retransmissions and timeouts are of all messages over the whole run, long flows
included."""

DROPPED = "packets_dropped"


def by_traffic(results: Sequence[Result]) -> list[Traffic]:
    """The traffics of runs that differ in their seeds alone, in the order of the spec."""
    runs = [_numbers(result) for result in results]
    found = []
    for number, traffic in enumerate(results[0].summary()["traffics"]):
        each = [run[number] for run in runs]
        acted = [result.summary()["traffics"][number]["actions"] for result in results]
        names = [name for name in acted[0] if any(actions[name] for actions in acted)]
        found.append(
            Traffic(
                traffic["traffic"],
                traffic["scheme"],
                traffic["transport"],
                traffic["class_name"],
                traffic["counted_with"],
                {name: estimate([run[name] for run in each]) for name in each[0]},
                {name: estimate([actions[name] for actions in acted]) for name in names},
            )
        )
    return found


def _numbers(result: Result) -> list[dict[str, float | None]]:
    """The numbers of each traffic of one run."""
    flows, sample = result.flows(), reported(result)
    traffics = result.summary()["traffics"]
    total = sum(traffic["goodput_gbps"] or 0 for traffic in traffics)
    found: list[dict[str, float | None]] = []
    for traffic in traffics:
        of = pl.col("traffic") == traffic["traffic"]
        columns = ("packets_arrived", "packets_marked", "reordered", "packets_resent", "timeouts")
        arrived, marked, reordered, resent, timeouts = flows.filter(of).select(pl.col(*columns).sum()).row(0)
        times_us = completion_us(sample.filter(of))
        slowdown = sample.filter(of)["slowdown"].drop_nulls().to_numpy()
        goodput = traffic["goodput_gbps"]
        found.append(
            {
                "started": traffic["started"],
                "unfinished": traffic["unfinished"],
                "endless": traffic["endless"],
                "goodput_gbps": goodput,
                "goodput_share": goodput / total if goodput is not None and total > 0 else None,
                "fct_p50_us": percentile(times_us, 500),
                "fct_p99_us": percentile(times_us, 990),
                "slowdown_p50": percentile(slowdown, 500),
                "slowdown_p99": percentile(slowdown, 990),
                "marked_packets": marked / arrived if arrived else None,
                "reordered_packets": reordered / arrived if arrived else None,
                "packets_resent": resent,
                "message_timeouts": timeouts,
                DROPPED: traffic["packets_dropped"],
            }
        )
    return found


def busiest_port(results: Sequence[Result]) -> tuple[str, float] | None:
    """The port with the largest utilisation in the measured window, and this utilisation, as means over the runs. None
    where a run stopped before its window."""
    ports = pl.concat([result.ports().select(pl.col("port").cast(pl.String), "utilisation") for result in results])
    means = ports.group_by("port", maintain_order=True).agg(pl.col("utilisation").mean())
    most = means.drop_nulls().sort("utilisation", descending=True, maintain_order=True).head(1)
    return most.row(0) if most.height else None
