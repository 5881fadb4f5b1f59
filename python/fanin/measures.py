"""The numbers that tables and plots show, taken from runs.

```python
import fanin
from fanin import measures

run = fanin.run("tests/data/tiny.toml", progress=False)
times_us = measures.completion_us(measures.reported(run))
print(measures.percentile(times_us, 990), measures.jain(times_us))
```
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from fanin import spec
from fanin.over_seeds import Estimate, estimate
from fanin.run_folder import RunError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fanin.run_tables import RunTables

__all__ = [
    "Estimate",
    "bin_texts",
    "by_scheme",
    "completion_cdf",
    "completion_us",
    "estimate",
    "group_names",
    "jain",
    "least_count",
    "messages",
    "nearest_rank",
    "of_sizes",
    "percentile",
    "queries",
    "queue_place",
    "queue_tail",
    "ran_on",
    "reported",
    "scheme_name",
    "seeds_of",
    "size_bins",
    "size_text",
    "sizes",
    "sizes_text",
    "slowdown_by_size",
    "span_us",
    "unfinished_gbps",
    "utilisation_by_tier",
    "window_ps",
]


def scheme_name(result: RunTables) -> str:
    """The scheme of a run, or the schemes of its traffics joined by `+`."""
    return "+".join(dict.fromkeys(traffic["scheme"] for traffic in result.summary()["traffics"]))


def by_scheme(results: Sequence[RunTables]) -> dict[str, list[RunTables]]:
    """The runs that differ in their seeds alone, by the name of their scheme, in order.

    Runs of one scheme under several specs form several groups, with names such as "dart (per_port=100 KB)".
    """
    groups: dict[str, list[RunTables]] = {}
    for name, result in zip(group_names(results), results, strict=True):
        groups.setdefault(name, []).append(result)
    return groups


def ran_on(result: RunTables) -> str:
    """Where it ran: simulator or wire."""
    return "wire" if result.manifest.get("wire") else "simulator"


def group_names(results: Sequence[RunTables]) -> list[str]:
    """For each run the name of its group of `by_scheme`."""
    schemes = [scheme_name(result) for result in results]
    names = list(schemes)
    for scheme in dict.fromkeys(schemes):
        mine = [place for place, name in enumerate(schemes) if name == scheme]
        if len(mine) == 1:
            continue
        specs = {place: ({**results[place].spec, "seed": None}, ran_on(results[place])) for place in mine}
        distinct: list[tuple[dict[str, object], str]] = []
        for one in specs.values():
            if one not in distinct:
                distinct.append(one)
        if len(distinct) > 1:
            told = _told_apart([{**_settings(spec), "on": on} for spec, on in distinct])
            for place, one in specs.items():
                names[place] = f"{scheme} ({told[distinct.index(one)]})"
    return names


MOST_TOLD = 2
"""The most settings in the name of a group; specs that differ in more are numbered."""


def _told_apart(distinct: Sequence[dict[str, str]]) -> list[str]:
    """Short names for specs that differ: their titles, or the keys in which they differ."""
    titles = [one.get("name", "") for one in distinct]
    if len(set(titles)) == len(titles):
        return titles
    keys = [key for key in dict.fromkeys(k for one in distinct for k in one) if len({o.get(key) for o in distinct}) > 1]
    if len(keys) > MOST_TOLD:
        return [f"spec {number}" for number in range(1, len(distinct) + 1)]
    return [", ".join(f"{key.split('.')[-1]}={one.get(key, 'none')}" for key in keys) for one in distinct]


def _settings(spec: object, path: str = "") -> dict[str, str]:
    """Every key of a spec but the seed, with its whole path, and its value as text."""
    if isinstance(spec, Mapping):
        entries = [(str(key), value) for key, value in spec.items() if path or key != "seed"]
    elif isinstance(spec, list) and any(isinstance(value, Mapping) for value in spec):
        entries = [(str(number), value) for number, value in enumerate(spec)]
    else:
        return {path: spec if isinstance(spec, str) else json.dumps(spec, default=str)}
    found: dict[str, str] = {}
    for key, value in entries:
        found |= _settings(value, f"{path}.{key}" if path else key)
    return found


def seeds_of(results: Sequence[RunTables]) -> int:
    """The largest number of runs, that is of seeds, in a group."""
    return max(len(runs) for runs in by_scheme(results).values())


def window_ps(result: RunTables) -> tuple[int, int]:
    """The measured window in picoseconds, its end excluded. It ends earlier if no message is left to post."""
    return spec.window_ps(result.spec)


def span_us(result: RunTables) -> float:
    """The length of the measured window, which ends with the run if that ended within it."""
    begin, end = window_ps(result)
    return max(0, min(end, result.manifest["simulated_ps"]) - begin) / 1e6


def messages(result: RunTables) -> pl.DataFrame:
    """The measured messages; endless flows are never among them."""
    return result.flows().filter(pl.col("measured"))


def reported(result: RunTables) -> pl.DataFrame:
    """The measured and finished messages of the reported sizes; percentiles are over these."""
    return messages(result).filter(of_sizes(result), pl.col("completion_ps").is_not_null())


def of_sizes(result: RunTables) -> pl.Expr:
    """Whether a message is of the reported sizes."""
    smallest, largest = sizes(result)
    large_enough = pl.col("bytes") >= smallest
    return large_enough if largest is None else large_enough & (pl.col("bytes") <= largest)


def unfinished_gbps(result: RunTables) -> pl.DataFrame:
    """The measured messages that had not arrived when the run stopped, with the column `gbps`: the payload of each that
    arrived in order, over the time since its post."""
    stopped = result.manifest["simulated_ps"]
    still = pl.col("completion_ps").is_null() & (pl.col("start_ps") < stopped)
    gbps = pl.col("delivered_bytes") * 8e3 / (stopped - pl.col("start_ps"))
    return messages(result).filter(still).with_columns(gbps.alias("gbps"))


def queries(result: RunTables) -> pl.DataFrame:
    """One row per query whose first request was posted in the measured window, as in the summary's queries, and one per
    incast or other group without requests of which at least one message is measured.

    `completion_ps` runs from the first post of the group to the last byte of its last message; null if some message did
    not arrive, or some answer was never posted. `timeouts` are those of all its messages.
    """
    begun = pl.col("start_ps").min()
    end = pl.col("start_ps") + pl.col("completion_ps")
    requests, answers = pl.col("request"), pl.col("request").not_()
    # An answer that its server had not posted when the run stopped is not in the table.
    whole = (end.null_count() == 0) & (answers.sum() >= requests.sum())
    in_window = begun.is_between(*window_ps(result), closed="left")
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
    """FCTs of finished flows, in microseconds."""
    # Divided by NumPy, which rounds as the native module does; Polars multiplies by the reciprocal.
    return flows["completion_ps"].to_numpy() / 1e6


def sizes(result: RunTables) -> tuple[int, int | None]:
    """The range of reported payload sizes in bytes; None is no largest one."""
    for traffic in result.summary()["traffics"]:
        largest = traffic["sizes"]["max"]
        # Earlier versions wrote the largest number that there is.
        return traffic["sizes"]["min"], None if largest == 2**64 - 1 else largest
    return 0, None


def sizes_text(result: RunTables) -> str:
    """The reported sizes as text, to stand before the word "messages"; empty for all sizes."""
    smallest, largest = sizes(result)
    if largest is None:
        return "" if smallest == 0 else f"{size_text(smallest)} and longer"
    return size_text(smallest) if smallest == largest else f"{size_text(smallest)} to {size_text(largest)}"


def size_text(size_bytes: float) -> str:
    """For example "8 KB"."""
    for unit, scale in (("GB", 10**9), ("MB", 10**6), ("KB", 10**3)):
        if size_bytes >= scale:
            return f"{size_bytes / scale:g} {unit}"
    return f"{size_bytes:g} B"


def least_count(per_mille: int) -> int:
    """The number of values that a percentile needs, so that at least one of them lies above it: 20 for p95, 100 for
    p99, 1,000 for p99.9. A median needs 1: that of a single value is this value."""
    return 1 if per_mille in (500, 1000) else -(-1000 // (1000 - per_mille))


def percentile(values: NDArray[np.float64], per_mille: int) -> float | None:
    """The percentile by `nearest_rank`; None of fewer values than `least_count`, where it would be the largest
    value."""
    return nearest_rank(values, per_mille) if values.size >= least_count(per_mille) else None


def nearest_rank(values: NDArray[np.float64], per_mille: int) -> float | None:
    """The smallest value that at least this share of all values does not exceed; None without values."""
    if values.size == 0:
        return None
    rank = max(1, -(-values.size * per_mille // 1000))
    return float(np.partition(values, rank - 1)[rank - 1])


def queue_place(result: RunTables) -> str | None:
    """Where the first series of queues was sampled, as the spec names it; None if no queue was sampled."""
    places = result.histograms().filter(pl.col("what") == "queue")["where"]
    return None if places.is_empty() else str(places[0])


def queue_tail(results: Sequence[RunTables], place: str) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Queue lengths in bytes, rising, and for each the share of the samples at this place that are at least as long."""
    here = (pl.col("what") == "queue") & (pl.col("where") == place)
    table = pl.concat([result.histograms().filter(here) for result in results])
    bins = table.group_by("lower_bytes", "upper_bytes").agg(pl.col("count").sum()).sort("lower_bytes")
    counts = bins["count"].to_numpy().astype(np.float64)
    total = counts.sum()
    if total == 0:
        return np.zeros(0), np.zeros(0)
    # Summed from the longest: 1 - (a sum near 1) would round the rarest lengths away.
    at_least = np.append(np.cumsum(counts[::-1])[::-1], 0.0) / total
    edges = np.append(bins["lower_bytes"].to_numpy(), bins["upper_bytes"].to_numpy()[-1]).astype(np.float64)
    return edges, at_least


def completion_cdf(results: Sequence[RunTables]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """FCTs of the `reported` messages in microseconds, rising, and the share that finished within each."""
    times_us = np.sort(np.concatenate([completion_us(reported(run)) for run in results]))
    return times_us, np.arange(1, times_us.size + 1) / max(1, times_us.size)


FEWEST_BINS, MOST_BINS = 3, 10
"""The default number of bins by size."""


def size_bins(results: Sequence[RunTables], bins: int | None = None) -> list[tuple[int, int]]:
    """Ranges of payload sizes, both ends included, that hold about equally many measured messages of all these runs.

    Without `bins`, at most 10, each with the 100 messages of every run that a p99 needs; where that leaves fewer than
    3, with the 20 that a p95 needs, or with 2. One for each size where there are no more sizes than bins.
    Messages of one size are never split, so a very common size may replace several bins.
    """
    posted = [np.unique(messages(run)["bytes"].to_numpy(), return_counts=True) for run in results]
    distinct = np.unique(np.concatenate([sizes for sizes, _ in posted]))
    if distinct.size <= (bins or MOST_BINS):
        return [(int(size), int(size)) for size in distinct]
    counts = np.zeros((len(results), distinct.size), np.int64)
    for row, (sizes, count) in zip(counts, posted, strict=True):
        row[np.searchsorted(distinct, sizes)] = count
    if bins is not None:
        return _cut(distinct, counts.sum(axis=0, keepdims=True), -(-int(counts.sum()) // bins))
    found: list[tuple[int, int]] = []
    for per_mille in (990, 950, 500):
        each = max(2, least_count(per_mille), -(-int(counts.sum(axis=1).min()) // MOST_BINS))
        found = _cut(distinct, counts, each)
        if len(found) >= FEWEST_BINS:
            break
    return found


def _cut(distinct: NDArray[np.uint64], counts: NDArray[np.int64], each: int) -> list[tuple[int, int]]:
    """Ranges of sizes in order; a range ends as soon as every row of counts has enough, and the remainder joins the
    last one."""
    found: list[tuple[int, int]] = []
    begin = 0
    held = np.zeros(counts.shape[0], np.int64)
    for place in range(distinct.size):
        held += counts[:, place]
        if held.min() >= each:
            found.append((int(distinct[begin]), int(distinct[place])))
            begin, held = place + 1, np.zeros_like(held)
    if begin < distinct.size:
        first = found.pop()[0] if found else int(distinct[0])
        found.append((first, int(distinct[-1])))
    return found


def bin_texts(bins: Sequence[tuple[int, int]]) -> tuple[list[str], list[str]]:
    """For ranges of sizes the short labels of an axis (the largest size, with three digits), and the full texts."""
    whole = [size_text(low) if low == high else f"{size_text(low)} to {size_text(high)}" for low, high in bins]
    if all(low == high for low, high in bins):
        return whole, whole
    short = [size_text(int(float(f"{high:.3g}"))) for _, high in bins]
    return (short, whole) if len(set(short)) == len(short) else (whole, whole)


SLOWDOWNS = {"p50": 500, "p95": 950, "p99": 990}
"""The percentiles of slowdowns by size, in thousandths."""


def slowdown_by_size(results: Sequence[RunTables], bins: int | Sequence[tuple[int, int]] | None = None) -> pl.DataFrame:
    """Slowdowns of the measured messages by their size: one row per bin, from small to large.

    `bins` is their number for `size_bins`, or its result; for schemes side by side the bins must be the same. Columns:
    `lower_bytes` and `upper_bytes` (both included), `count` (finished) and `unfinished` of all these runs, and `p50`,
    `p95`, `p99`: the mean over the runs of each run's `percentile`, null where some run has too few messages for it.
    `p50_ci95` and so on are half the widths of their 95 % intervals, null of one run. A message without a known ideal
    counts as finished and is in no percentile.
    """
    wanted = bins if isinstance(bins, Sequence) else size_bins(results, bins)
    posted = [messages(run).select("bytes", "completion_ps", "slowdown") for run in results]
    rows: list[dict[str, float | None]] = []
    for lower, upper in wanted:
        parts = [table.filter(pl.col("bytes").is_between(lower, upper)) for table in posted]
        finished = sum(int(part["completion_ps"].count()) for part in parts)
        unfinished = sum(part.height for part in parts) - finished
        row: dict[str, float | None] = {"count": finished, "unfinished": unfinished}
        slowdowns = [part["slowdown"].drop_nulls().to_numpy() for part in parts]
        for name, per_mille in SLOWDOWNS.items():
            found = estimate([percentile(values, per_mille) for values in slowdowns])
            row |= {name: found.mean, f"{name}_ci95": found.half}
        rows.append({"lower_bytes": lower, "upper_bytes": upper, **row})
    schema: dict[str, type[pl.DataType]] = dict.fromkeys(
        ("lower_bytes", "upper_bytes", "count", "unfinished"), pl.Int64
    )
    schema |= dict.fromkeys((f"{name}{end}" for end in ("", "_ci95") for name in SLOWDOWNS), pl.Float64)
    return pl.DataFrame(rows, schema=schema)


def jain(values: Iterable[float]) -> float | None:
    """Jain's index of fairness, (sum x)^2 / (n sum x^2): 1 if all are equal, 1/n if one has everything.

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
"""Tiers of links in the order in which a packet passes them; further tiers of taller networks are in the middle."""


def utilisation_by_tier(runs: RunTables | Sequence[RunTables]) -> pl.DataFrame:
    """Utilisation of links in the measured window by tier, in the order in which a packet passes them; the average over
    several runs of one network.

    Columns: `tier`, `ports`, `mean` (share of the rate, 0 to 1, over ports and runs), `ci95` (half the width of its 95
    % interval over the runs, null of one), `max` (the busiest port), `utilisation` (each port's mean over the runs, as
    a list in the order of the table of ports).
    """
    tables = [_tiers(run) for run in (runs if isinstance(runs, Sequence) else [runs])]
    rows = []
    for number, (tier, ports) in enumerate(tables[0].select("tier", "ports").rows()):
        shares = np.array([table["utilisation"][number].to_list() for table in tables])
        found = estimate([float(mean) for mean in shares.mean(axis=1)])
        each = shares.mean(axis=0)
        rows.append((tier, ports, found.mean, found.half, float(each.max()), each.tolist()))
    schema = {"tier": pl.String, "ports": pl.Int64, "mean": pl.Float64, "ci95": pl.Float64, "max": pl.Float64}
    return pl.DataFrame(rows, schema=schema | {"utilisation": pl.List(pl.Float64)}, orient="row")


def _tiers(result: RunTables) -> pl.DataFrame:
    ports = result.ports()
    if "tier" not in ports.columns:
        raise RunError(f"{result.label}: its table of ports has no tiers; run it again with this version")
    used = ports.filter(pl.col("utilisation").is_not_null()).with_columns(pl.col("tier").cast(pl.String))
    tiers = used.group_by("tier", maintain_order=True).agg(pl.len().alias("ports"), "utilisation")
    middle = TIERS.index("agg-downlink")
    order = {tier: number + (number >= middle) for number, tier in enumerate(TIERS)}
    place = pl.col("tier").replace_strict(order, default=middle, return_dtype=pl.Int64)
    return tiers.sort(place, "tier", maintain_order=True)


def rank_times(run: RunTables, parts: int = 0) -> tuple[pl.DataFrame, pl.DataFrame, pl.DataFrame]:
    """The ranks of a run's jobs, by traffic and number, when they compute, and when they communicate.

    The latter are intervals with the columns `row` (of the rank), `start_ps` and `end_ps`. Of a run in so many `parts`,
    intervals of a rank that are closer than a part are one.
    """
    table = run.ranks().with_columns(pl.col("traffic").cast(pl.String)).sort("traffic", "rank")
    nodes = run.nodes().with_columns(pl.col("traffic", "kind").cast(pl.String))
    nodes = nodes.join(table.select("traffic", "rank").with_row_index("row"), on=["traffic", "rank"], how="left")
    span_ps = int(table["finish_ps"].to_numpy().max()) - int(table["start_ps"].to_numpy().min())
    short_ps = span_ps // parts if parts else 0
    computes = pl.col("kind") == "compute"
    return table, united(nodes.filter(computes), short_ps), united(nodes.filter(~computes), short_ps)


def united(nodes: pl.DataFrame, short_ps: int = 0) -> pl.DataFrame:
    """The times with a node under way, as intervals of each row that are further apart than a time."""
    ordered = nodes.sort("row", "start_ps")
    before = pl.col("end_ps").cum_max().shift(1).over("row")
    apart = (pl.col("start_ps") > before + short_ps) | before.is_null()
    parts = ordered.with_columns(new=apart.cast(pl.Int64).cum_sum())
    return parts.group_by("row", "new").agg(pl.col("start_ps").min(), pl.col("end_ps").max()).sort("row", "start_ps")
