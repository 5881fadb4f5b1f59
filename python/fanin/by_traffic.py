"""The traffics of a run side by side: for runs in which several share the network."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from fanin.measures import percentile, reported, unfinished_gbps
from fanin.over_seeds import Estimate, estimate

if TYPE_CHECKING:
    from fanin.run_folder import TrafficSummary
    from fanin.run_tables import RunTables

__all__ = [
    "Traffic",
    "busiest_port",
    "by_traffic",
    "counted_at",
    "numbers_of_traffics",
    "slowest",
]


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
    """Other traffics with the same scheme and parameters, the first eight: they share its drops and its actions."""
    counted_at: str
    """The first of all these, which may be itself."""
    numbers: dict[str, Estimate]
    """By the names of `NUMBERS`, `LARGEST` and `DROPPED`."""
    actions: dict[str, Estimate]
    """The numbers of its scheme's actions over the whole run, those that ever occurred."""


NUMBERS = (
    ("started", "unfinished", "endless"),
    ("goodput_gbps", "goodput_share", "unfinished_goodput_gbps"),
    ("fct_p50_us", "fct_p99_us", "slowdown_p50", "slowdown_p99"),
    ("marked_packets", "reordered_packets", "packets_resent", "message_timeouts"),
)
"""The numbers of a traffic, by their names in `quantities`. Messages, FCTs, slowdowns and goodputs are those of the
measured window; marks, reordering, retransmissions and timeouts are of all messages over the whole run, long flows
included."""

LARGEST = ("fct_max_us", "slowdown_max")
"""Those of its slowest finished message."""

DROPPED = "packets_dropped"


def by_traffic(results: Sequence[RunTables]) -> list[Traffic]:
    """The traffics of runs that differ in their seeds alone, in the order of the spec."""
    runs = [numbers_of_traffics(result) for result in results]
    summaries = [result.summary()["traffics"] for result in results]
    found = []
    places = counted_at(summaries[0])
    for number, traffic in enumerate(summaries[0]):
        each = [run[number] for run in runs]
        acted = [summary[number]["actions"] for summary in summaries]
        names = [name for name in acted[0] if any(actions[name] for actions in acted)]
        found.append(
            Traffic(
                traffic["traffic"],
                traffic["scheme"],
                traffic["transport"],
                traffic["class_name"],
                traffic["counted_with"],
                summaries[0][places[number]]["traffic"],
                {name: estimate([run[name] for run in each]) for name in each[0]},
                {name: estimate([actions[name] for actions in acted]) for name in names},
            )
        )
    return found


def counted_at(traffics: Sequence[TrafficSummary]) -> list[int]:
    """For each traffic the place of the one with which its drops and actions are counted: the first with the same
    scheme and parameters."""
    place = {one["traffic"]: at for at, one in enumerate(traffics)}
    return [min([at, *(place[other] for other in one["counted_with"])]) for at, one in enumerate(traffics)]


def slowest(traffics: Sequence[Traffic], most: int) -> list[Traffic]:
    """The traffics that suffered most, at most so many: those with unfinished messages first, by the share of these,
    then by the slowdown of their slowest message, or its FCT where it has no ideal."""

    def suffered(one: Traffic) -> tuple[float, float, float]:
        started, unfinished = one.numbers["started"].mean or 0.0, one.numbers["unfinished"].mean or 0.0
        largest = [one.numbers[name].mean or 0.0 for name in ("slowdown_max", "fct_max_us")]
        return (unfinished / started if started else 0.0, largest[0], largest[1])

    return sorted(traffics, key=suffered, reverse=True)[:most]


_COUNTED = ("packets_arrived", "packets_marked", "reordered", "packets_resent", "timeouts")


def numbers_of_traffics(result: RunTables) -> list[dict[str, float | None]]:
    """The numbers of each traffic of one run, in the order of the spec, by the names of `NUMBERS`, `LARGEST` and
    `DROPPED`."""
    name = pl.col("traffic").cast(pl.String)
    flows = result.flows().with_columns(name)
    counted = {row[0]: row[1:] for row in flows.group_by("traffic").agg(pl.col(*_COUNTED).sum()).iter_rows()}
    sample = reported(result).with_columns(name).group_by("traffic")
    times = {
        row[0]: row[1:] for row in sample.agg(pl.col("completion_ps"), pl.col("slowdown").drop_nulls()).iter_rows()
    }
    rates = unfinished_gbps(result).with_columns(name).group_by("traffic").agg(pl.col("gbps").mean())
    since_start = dict(rates.iter_rows())
    traffics = result.summary()["traffics"]
    total = sum(traffic["goodput_gbps"] or 0 for traffic in traffics)
    found: list[dict[str, float | None]] = []
    for traffic in traffics:
        arrived, marked, reordered, resent, timeouts = counted.get(traffic["traffic"], (0,) * len(_COUNTED))
        completion_ps, slowdowns = times.get(traffic["traffic"], ((), ()))
        # Divided by NumPy, as in `measures.completion_us`.
        times_us = np.asarray(completion_ps, np.float64) / 1e6
        slowdown = np.asarray(slowdowns, np.float64)
        goodput = traffic["goodput_gbps"]
        found.append(
            {
                "started": traffic["started"],
                "unfinished": traffic["unfinished"],
                "endless": traffic["endless"],
                "goodput_gbps": goodput,
                "goodput_share": goodput / total if goodput is not None and total > 0 else None,
                "unfinished_goodput_gbps": since_start.get(traffic["traffic"]),
                "fct_p50_us": percentile(times_us, 500),
                "fct_p99_us": percentile(times_us, 990),
                "fct_max_us": percentile(times_us, 1000),
                "slowdown_p50": percentile(slowdown, 500),
                "slowdown_p99": percentile(slowdown, 990),
                "slowdown_max": percentile(slowdown, 1000),
                "marked_packets": marked / arrived if arrived else None,
                "reordered_packets": reordered / arrived if arrived else None,
                "packets_resent": resent,
                "message_timeouts": None if result.of_ns3 else timeouts,  # that simulator has none
                DROPPED: traffic["packets_dropped"],
            }
        )
    return found


def busiest_port(results: Sequence[RunTables]) -> tuple[str, float] | None:
    """The port with the largest utilisation in the measured window, and this utilisation, as means over the runs. None
    where a run stopped before its window."""
    ports = pl.concat([result.ports().select(pl.col("port").cast(pl.String), "utilisation") for result in results])
    means = ports.group_by("port", maintain_order=True).agg(pl.col("utilisation").mean())
    most = means.drop_nulls().sort("utilisation", descending=True, maintain_order=True).head(1)
    return most.row(0) if most.height else None
