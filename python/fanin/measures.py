"""The numbers that tables and plots show, taken from runs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from fanin import spec
from fanin.result import Result, RunError

if TYPE_CHECKING:
    from numpy.typing import NDArray


ALL_SIZES = 2**64 - 1
"""The largest size where all sizes are reported."""


def scheme_name(result: Result) -> str:
    """The scheme of a run, or the schemes of its traffics joined by `+`."""
    return "+".join(dict.fromkeys(traffic["scheme"] for traffic in result.summary()["traffics"]))


def by_scheme(results: Sequence[Result]) -> dict[str, list[Result]]:
    """The runs of each scheme, in order."""
    groups: dict[str, list[Result]] = {}
    for result in results:
        groups.setdefault(scheme_name(result), []).append(result)
    return groups


def messages(result: Result) -> pl.DataFrame:
    """The flows that are measured; those meant to last as long as the run never are."""
    return result.flows().filter(pl.col("measured"))


def reported(result: Result) -> pl.DataFrame:
    """The finished messages that percentiles are over: measured, and of the reported sizes."""
    smallest, largest = sizes(result)
    wanted = pl.col("bytes").is_between(smallest, largest) & pl.col("completion_ps").is_not_null()
    return messages(result).filter(wanted)


def queries(result: Result) -> pl.DataFrame:
    """One row per query whose first request was posted in the measured window, as in the summary's queries, and one per
    incast or other group without requests of which at least one message is measured.

    `completion_ps` runs from the first post of the group to the last byte of its last message; null if some message did
    not arrive, or some answer was never posted. `timeouts` are those of all its messages.
    """
    begun = pl.col("start_ps").min()
    end = pl.col("start_ps") + pl.col("completion_ps")
    requests, answers = pl.col("request"), pl.col("request").not_()
    # An answer that its server still thinks about when the run stops is not in the table.
    whole = (end.null_count() == 0) & (answers.sum() >= requests.sum())
    in_window = begun.is_between(*spec.window_ps(result.spec), closed="left")
    groups = (
        result.flows().filter(pl.col("group").is_not_null()).group_by("traffic", "scheme", "group", maintain_order=True)
    )
    table = groups.agg(
        begun,
        answers.sum().cast(pl.UInt32).alias("messages"),
        pl.col("bytes").filter(answers).sum(),
        pl.when(whole).then(end.max() - begun).alias("completion_ps"),
        pl.col("timeouts").sum(),
        pl.when(requests.any()).then(in_window).otherwise(pl.col("measured").any()).alias("measured"),
    )
    return table.filter(pl.col("measured")).drop("measured")


def completion_us(flows: pl.DataFrame) -> NDArray[np.float64]:
    """Completion times of finished flows, in microseconds."""
    # Divided by NumPy, which rounds as the native module does; Polars multiplies by the reciprocal.
    return flows["completion_ps"].to_numpy() / 1e6


def sizes(result: Result) -> tuple[int, int]:
    """Smallest and largest payload in bytes of the messages that percentiles are over."""
    for traffic in result.summary()["traffics"]:
        return traffic["sizes"]["min"], traffic["sizes"]["max"]
    return 0, ALL_SIZES


def sizes_text(result: Result) -> str:
    """The reported sizes as they go before the word "messages"; empty for all sizes."""
    smallest, largest = sizes(result)
    if largest == ALL_SIZES:
        return "" if smallest == 0 else f"{size_text(smallest)} and longer"
    return size_text(smallest) if smallest == largest else f"{size_text(smallest)} to {size_text(largest)}"


def size_text(size_bytes: int) -> str:
    """For example "8 KB"."""
    for unit, scale in (("GB", 10**9), ("MB", 10**6), ("KB", 10**3)):
        if size_bytes >= scale:
            return f"{size_bytes / scale:g} {unit}"
    return f"{size_bytes} B"


def percentile(values: NDArray[np.float64], per_mille: int) -> float | None:
    """By nearest rank: the smallest value that at least this share of all values does not exceed."""
    if values.size == 0:
        return None
    rank = max(1, -(-values.size * per_mille // 1000))
    return float(np.partition(values, rank - 1)[rank - 1])


def queue_place(result: Result) -> str | None:
    """Where the first series of queues was sampled, as the spec names it; None if no queue was sampled."""
    places = result.histograms().filter(pl.col("what") == "queue")["where"]
    return None if places.is_empty() else str(places[0])


def queue_tail(results: Sequence[Result], place: str) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Queue lengths in bytes, rising, and for each the share of the samples at this place that are at least as long."""
    here = (pl.col("what") == "queue") & (pl.col("where") == place)
    table = pl.concat([result.histograms().filter(here) for result in results])
    bins = table.group_by("lower_bytes", "upper_bytes").agg(pl.col("count").sum()).sort("lower_bytes")
    counts = bins["count"].to_numpy().astype(np.float64)
    total = counts.sum()
    if total == 0:
        return np.zeros(0), np.zeros(0)
    # Summed from the far end: the rarest lengths would drown in the rounding of 1 - (a sum near 1).
    at_least = np.append(np.cumsum(counts[::-1])[::-1], 0.0) / total
    edges = np.append(bins["lower_bytes"].to_numpy(), bins["upper_bytes"].to_numpy()[-1]).astype(np.float64)
    return edges, at_least


def completion_cdf(results: Sequence[Result]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Completion times of the `reported` messages in microseconds, rising, and the share that finished within each."""
    times_us = np.sort(np.concatenate([completion_us(reported(run)) for run in results]))
    return times_us, np.arange(1, times_us.size + 1) / max(1, times_us.size)


def size_bins(results: Sequence[Result], bins: int = 10) -> list[tuple[int, int]]:
    """Ranges of payload sizes, both ends included, that hold about equally many measured messages of all these runs.

    One for each size where there are no more sizes than `bins`. Messages of one size are never parted, so a size that many
    messages have may take the place of several bins.
    """
    posted = np.sort(np.concatenate([messages(run)["bytes"].to_numpy() for run in results]))
    distinct = np.unique(posted)
    if distinct.size <= bins:
        return [(int(size), int(size)) for size in distinct]
    ranks = -(-posted.size * np.arange(1, bins + 1) // bins) - 1
    uppers = np.unique(posted[ranks])
    lowers = np.append(distinct[0], distinct[np.searchsorted(distinct, uppers[:-1]) + 1])
    return [(int(lower), int(upper)) for lower, upper in zip(lowers, uppers, strict=True)]


def slowdown_by_size(results: Sequence[Result], bins: int | Sequence[tuple[int, int]] = 10) -> pl.DataFrame:
    """Slowdowns of the measured messages by their size: one row per bin, from small to large.

    `bins` is how many to make by `size_bins`, or what that returned; schemes side by side need the same bins. Columns:
    `lower_bytes` and `upper_bytes` (both included), `count` (finished), `unfinished`, and the nearest-rank percentiles
    `p50`, `p95`, `p99`, null where none finished. A message without a known ideal counts as finished and is in no percentile.
    """
    wanted = size_bins(results, bins) if isinstance(bins, int) else bins
    posted = pl.concat([messages(run).select("bytes", "completion_ps", "slowdown") for run in results])
    rows = []
    for lower, upper in wanted:
        part = posted.filter(pl.col("bytes").is_between(lower, upper))
        values = part["slowdown"].drop_nulls().to_numpy()
        finished = part["completion_ps"].count()
        ends = (lower, upper, finished, part.height - finished)
        rows.append((*ends, *(percentile(values, per_mille) for per_mille in (500, 950, 990))))
    names = ("lower_bytes", "upper_bytes", "count", "unfinished")
    schema = dict.fromkeys(names, pl.Int64) | dict.fromkeys(("p50", "p95", "p99"), pl.Float64)
    return pl.DataFrame(rows, schema=schema, orient="row")


def jain(values: Iterable[float]) -> float | None:
    """Jain's index of fairness, (sum x)^2 / (n sum x^2): 1 where all are equal, 1/n where one has everything.

    None where there are no values or all are zero.
    """
    shares = np.fromiter(values, dtype=np.float64)
    squares = float(shares.size * np.square(shares).sum())
    return float(shares.sum() ** 2 / squares) if squares > 0 else None


TIERS = (
    "host-uplink",
    "tor-uplink",
    "tor-across",
    "agg-uplink",
    "agg-across",
    "agg-downlink",
    "tor-downlink",
    "last-hop",
)
"""Tiers of links in the order in which a packet passes them; those of taller networks stand in the middle."""


def utilisation_by_tier(result: Result) -> pl.DataFrame:
    """How busy links were over the whole run, by tier, in the order in which a packet passes them.

    Columns: `tier`, `ports`, `mean` and `max` (shares of the rate, 0 to 1), `utilisation` (that of each port, as a list in
    the order of the table of ports).
    """
    ports = result.ports()
    if "tier" not in ports.columns:
        raise RunError(f"{result.label}: its table of ports has no tiers; run it again with this version")
    used = ports.filter(pl.col("utilisation").is_not_null()).with_columns(pl.col("tier").cast(pl.String))
    value = pl.col("utilisation")
    tiers = used.group_by("tier", maintain_order=True).agg(
        pl.len().alias("ports"), value.mean().alias("mean"), value.max().alias("max"), value
    )
    middle = TIERS.index("agg-downlink")
    order = {tier: number + (number >= middle) for number, tier in enumerate(TIERS)}
    place = pl.col("tier").replace_strict(order, default=middle, return_dtype=pl.Int64)
    return tiers.sort(place, "tier", maintain_order=True)
