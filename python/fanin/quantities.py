"""Names and units of the numbers of runs, the same in tables, pictures and reports."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Literal

Unit = Literal["us", "Gb/s", "B", "share", "count", "ratio"]


@dataclass(frozen=True)
class Quantity:
    """One number of a run."""

    row: str
    """Its name as a row or a column of a table."""
    title: str
    """Its name as the title of an axis."""
    unit: Unit
    better: Literal["low", "high"] | None = None
    """Which values are good; None where neither is."""
    of_finished: bool = False
    """It is over finished messages only, which favours a scheme that left messages unfinished."""


LEVELS = {"p50": "Median", "p99": "99th percentile", "p999": "99.9th percentile"}


def _percentiles(
    of: str, title: str, unit: Unit, prefix: str, levels: Iterable[str] = tuple(LEVELS)
) -> dict[str, Quantity]:
    return {
        f"{prefix}_{level}{'_us' if unit == 'us' else ''}": Quantity(
            f"{of} {'p99.9' if level == 'p999' else level}", f"{LEVELS[level]} {title}", unit, "low", of_finished=True
        )
        for level in levels
    }


QUANTITIES: dict[str, Quantity] = {
    "started": Quantity("messages started", "Messages started", "count"),
    "finished": Quantity("messages finished", "Messages finished", "count"),
    "unfinished": Quantity("messages unfinished", "Messages unfinished", "count", "low"),
    "reported": Quantity("finished", "Finished messages of the reported sizes", "count"),
    **_percentiles("FCT", "FCT", "us", "fct"),
    **_percentiles("slowdown", "slowdown", "ratio", "slowdown"),
    "queries": Quantity("queries: finished", "Queries finished", "count"),
    **_percentiles("queries: completion time", "query completion time", "us", "query", ("p50", "p99")),
    "query_timeout_share": Quantity("queries: with a timeout", "Queries with a timeout", "share", "low"),
    "ranks": Quantity("job: ranks", "Ranks", "count"),
    "job_us": Quantity("job: time", "Job time", "us", "low"),
    "exposed_us": Quantity("job: exposed communication", "Exposed communication, mean over ranks", "us", "low"),
    "algbw_gbytes": Quantity("collectives: algbw (GB/s)", "algbw (GB/s)", "ratio", "high"),
    "busbw_gbytes": Quantity("collectives: busbw (GB/s)", "busbw (GB/s)", "ratio", "high"),
    "late_us": Quantity("collectives: last rank late by", "Lateness of the last rank, mean", "us", "low"),
    "critical_compute_us": Quantity("critical path: computation", "Computation on the critical path", "us"),
    "critical_serialisation_us": Quantity("critical path: serialisation", "Serialisation on the critical path", "us"),
    "critical_propagation_us": Quantity("critical path: propagation", "Propagation on the critical path", "us"),
    "critical_queueing_us": Quantity("critical path: queueing", "Queueing on the critical path", "us", "low"),
    "critical_waiting_us": Quantity("critical path: slots", "Waiting for slots on the critical path", "us", "low"),
    "endless": Quantity("long flows", "Long flows", "count"),
    "long_goodput_gbps": Quantity("long-flow goodput, sum", "Goodput of long flows, sum", "Gb/s", "high"),
    "unfinished_goodput_gbps": Quantity(
        "goodput of unfinished messages, mean", "Goodput of unfinished messages, mean", "Gb/s", "high"
    ),
    "marked_share": Quantity("ECN-marked packets of messages", "ECN-marked packets of messages", "share"),
    "trimmed": Quantity("trimmed packets", "Trimmed packets", "count", "low"),
    "timeouts": Quantity("retransmission timeouts", "Retransmission timeouts", "count", "low"),
    "given_up": Quantity("connections given up", "connections and queue pairs given up", "count", "low"),
    "drops": Quantity("drops", "Dropped packets", "count", "low"),
    "pauses": Quantity("PFC pauses", "PFC pauses", "count", "low"),
    "paused_us": Quantity("PFC pause time", "PFC pause time, summed over ports", "us", "low"),
    "credit_wait_us": Quantity("time without credits", "Time without credits, summed over ports", "us", "low"),
    "cnps": Quantity("CNPs", "CNPs", "count"),
    "cnps_in_acks": Quantity("CNPs in ACKs", "CNPs in ACKs", "count"),
    "simulated_us": Quantity("simulated time", "Simulated time", "us"),
    "packet_hops": Quantity("packet-hops", "Packet-hops", "count"),
    "goodput_gbps": Quantity("goodput", "Goodput", "Gb/s", "high"),
    "goodput_share": Quantity("share of all goodput", "Share of all goodput", "share"),
    "marked_packets": Quantity("ECN-marked packets", "ECN-marked packets", "share"),
    "reordered_packets": Quantity("reordered packets", "Reordered packets", "share", "low"),
    "packets_resent": Quantity("packets retransmitted", "Packets retransmitted", "count", "low"),
    "message_timeouts": Quantity("retransmission timeouts", "Retransmission timeouts", "count", "low"),
    "fct_max_us": Quantity("slowest FCT", "Slowest FCT", "us", "low", of_finished=True),
    "slowdown_max": Quantity("largest slowdown", "Largest slowdown", "ratio", "low", of_finished=True),
    "packets_dropped": Quantity("drops", "Dropped packets", "count", "low"),
    "queue_p50_bytes": Quantity("queue p50", "Median queue of a port", "B", "low"),
    "queue_p99_bytes": Quantity("queue p99", "99th percentile of queues", "B", "low"),
    "queue_max_bytes": Quantity("longest queue", "Longest queue", "B", "low"),
    "utilisation": Quantity("utilisation", "Utilisation, mean over links", "share"),
    "seconds": Quantity("wall time (s)", "Wall time (s)", "ratio"),
}
"""By their keys in JSON and in the table of a sweep."""

OF = " of "
"""Between the key of a number and the part of a run that it is of: `slowdown_p99 of short`."""


def quantity(name: str) -> Quantity:
    """The number of this name, of a whole run or of a part of it."""
    base, of, part = name.partition(OF)
    found = QUANTITIES[base]
    return replace(found, row=f"{found.row} of {part}", title=f"{found.title} of {part}") if of else found


def without_unit(name: str) -> str:
    """A name without the unit of its number: `goodput of long` for `goodput_gbps of long`."""
    base, of, part = name.partition(OF)
    return re.sub(r"_(us|gbps|bytes|gbytes)$", "", base) + of + part


GBPS_OF = {"Gb/s": 1.0, "Mb/s": 1e-3, "Kb/s": 1e-6, "b/s": 1e-9}
"""The units of rates, in Gb/s."""

BYTES_OF = {"GB": 1e9, "MB": 1e6, "KB": 1e3, "B": 1.0}
"""The units of sizes, in bytes."""


def fitting(value: float, units: Mapping[str, float]) -> tuple[str, float]:
    """The largest of these units, which are given from large to small, that the value is at least one of, and its
    size."""
    return next(((unit, scale) for unit, scale in units.items() if abs(value) >= scale), list(units.items())[-1])


def rate_unit(values_gbps: Iterable[float]) -> tuple[str, float]:
    """The unit in which rates are drawn, and what those in Gb/s are to be divided by: the unit of the largest."""
    known = [abs(value) for value in values_gbps if value == value]  # without those that are not a number
    largest = max(known, default=0.0)
    return fitting(largest, GBPS_OF) if largest else ("Gb/s", 1.0)


def scale_of(name: str, values: Iterable[float]) -> tuple[float, str]:
    """What a number is to be divided by where these values are drawn, and its unit then."""
    unit = quantity(name).unit
    largest = max((abs(value) for value in values), default=0.0)
    if unit == "Gb/s":
        named, scale = rate_unit([largest])
        return scale, named
    if unit == "B":
        named, scale = fitting(largest, BYTES_OF)
        return scale, named
    if unit == "us":
        return next(((s, u) for u, s in (("s", 1e6), ("ms", 1e3)) if largest >= 10 * s), (1.0, "us"))
    return (0.01, "%") if unit == "share" else (1.0, "")


def scaled(name: str, values: Iterable[float], *also: str) -> tuple[float, str]:
    """What a number is to be divided by where these values are drawn, and the title of their axis with its unit and
    what else is to stand in the brackets."""
    scale, unit = scale_of(name, values)
    told = ", ".join(filter(None, [unit, *also]))
    title = quantity(name).title
    return scale, f"{title} ({told})" if told else title


DECADES = 20.0
"""Values with this ratio of largest to smallest are drawn over a logarithmic axis."""


def spans_decades(values: Iterable[float]) -> bool:
    """Whether values are all above zero and so far apart that their axis should be logarithmic."""
    known = list(values)
    return bool(known) and min(known) > 0 and max(known) >= DECADES * min(known)
