"""DCTCP section 4.3: the runs of its benchmark, a rack of 45 servers with queries and background flows.

The paper's benchmark runs for 10 minutes, here for 10 s after 1 s, scaled up for 3 s, with the same rates. Its
distributions of sizes and of times between flows are plots only; what is assumed is in the spec. The paper does not say
whether a connection that idled between two queries, for 140 ms on average, keeps its window: both readings are run.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import polars as pl

from fanin import Result
from fanin import measures as of
from fanin_papers.common import seeds
from fanin_papers.dctcp import SCHEMES, under
from fanin_papers.experiment import Change, Key, Measured

Sizes = Sequence[tuple[float, float]]
"""Points of a cumulative distribution: bytes, and per cent of the flows up to this size."""

SERVERS = 45
WORKERS = SERVERS - 1
FLOWS_PER_S = 200_000 / 600
QUERIES_PER_S = 188_000 / 600
ANSWER = 2000
LARGE = 1_000_000
"""Flows above this are ten times as large in the scaled benchmark."""

SIZES: Sizes = (
    (1e3, 0), (10e3, 16), (20e3, 21), (30e3, 32), (50e3, 43), (80e3, 57), (200e3, 64), (1e6, 75),
    (2e6, 92), (5e6, 98.8), (10e6, 99.8), (50e6, 100),
)  # fmt: skip
"""Those of the spec."""

WEB_SEARCH: Sizes = (
    (0, 0), (10e3, 15), (20e3, 20), (30e3, 30), (50e3, 40), (80e3, 53), (200e3, 60), (1e6, 70),
    (2e6, 80), (5e6, 90), (10e6, 97), (30e6, 100),
)  # fmt: skip
"""The web-search distribution as it is, as `WebSearch` in a spec."""

SHARES = {"within": (0.8, SERVERS * 1e9), "out": (0.1, 10e9), "in": (0.1, SERVERS * 1e9)}
"""Of each background traffic its share of the flows, and the rate of its receivers in bit/s."""

TRAFFICS = ("queries", *SHARES)

NAMES = "[" + ", ".join(f'"h{server}"' for server in range(SERVERS)) + "]"
_PAIRED = f'{{ kind = "incast", degree = 2, size_per_sender = true, senders = {NAMES}, receivers = {NAMES} }}'

ANEW, KEPT = "windows anew after idling", "windows kept"
READINGS: dict[str, tuple[str, ...]] = {ANEW: (), KEPT: ("traffic.queries.scheme.restart_after=0 ps",)}
"""What a connection does after an idle smallest timeout: as RFC 5681 section 4.1 says, or nothing."""

SINGLE, PAIRS = "one by one", "in pairs"
ARRIVALS: dict[str, tuple[str, ...]] = {SINGLE: (), PAIRS: (f"traffic.within.pattern={_PAIRED}",)}
"""How background flows within the rack arrive: as a Poisson process, or from two servers to a third at once, as if it
polled its peers, so that half of the gaps are 0."""


def scaled(sizes: Sizes, by: float) -> Sizes:
    """The sizes above 1 MB are so many times as large."""
    small = [point for point in sizes if point[0] <= LARGE]
    return (*small, *((size * by, share) for size, share in sizes if size >= LARGE)) if by != 1 else sizes


def mean_size(sizes: Sizes) -> float:
    """In bytes."""
    return sum((b[1] - a[1]) / 100 * (a[0] + b[0]) / 2 for a, b in pairwise(sizes))


def background(sizes: Sizes, by: float) -> tuple[str, ...]:
    """The same number of background flows a second, with these sizes."""
    found = scaled(sizes, by)
    points = ", ".join(f"[{size:.0f}, {share:g}]" for size, share in found)
    return tuple(
        change
        for name, (share, rate) in SHARES.items()
        for change in (
            f"traffic.{name}.size={{ cdf_points = [{points}] }}",
            f"traffic.{name}.load.share={share * FLOWS_PER_S * mean_size(found) * 8 / rate:.6g}",
        )
    )


def queries(total_kb: int) -> tuple[str, ...]:
    """The same number of queries a second; the paper's 100 KB are answers of 2 KB."""
    answer = ANSWER if total_kb == 100 else total_kb * 1000 // WORKERS
    load = QUERIES_PER_S * WORKERS * answer * 8 / (SERVERS * 1e9)
    return (f'traffic.queries.size={{ fixed = "{answer} B" }}', f"traffic.queries.load.share={load:.6g}")


DEEP, RED = "newreno, deep buffer", "newreno, RED"
SWITCHES: dict[str, tuple[str, tuple[str, ...]]] = {
    "dctcp": ("dctcp", ()),
    "newreno": ("newreno", ()),
    DEEP: ("newreno", ("network.buffer.pool=16 MB", "network.buffer.alpha=1.0")),
    RED: (
        "newreno-ecn",
        (
            'network.marking={ kind = "red-average", min = "30.76 KB", max = "92.28 KB", weight = 0.001953125 }',
            "network.marking_by_rate=[]",
        ),
    ),
}
"""Scheme and switch. CAT4948 has 16 MB without ECN; that one port may take half of it is assumed. RED from 20 to 60
packets, with weight 2^-9 and the other parameters of its authors' advice ([7] in the paper)."""


def run(name: str, reading: str, quick: bool, *changes: str) -> Change:
    """One run of the benchmark."""
    scheme, switch = SWITCHES[name]
    short = ("measure.window=0.5 s", "measure.warm_up=0.5 s") if quick else ()
    return Change(None, (*under(scheme, *TRAFFICS), *switch, *READINGS[reading], *changes, *short))


def key(name: str, reading: str) -> str:
    """The name of a run's scheme and reading."""
    return f"{name}, {reading}"


def sweep_production(quick: bool) -> dict[Key, Change]:
    """TCP with the benchmark as it is, for what section 2 measured in production; both arrivals."""
    return {
        (key("newreno", arrivals), 1, seed): run("newreno", ANEW, quick, *changes)
        for arrivals, changes in ARRIVALS.items()
        for seed in seeds(quick)
    }


def sweep_baseline(quick: bool) -> dict[Key, Change]:
    """Both schemes with the benchmark as it is, under both readings; and with flows in pairs."""
    cases = [(key(scheme, reading), scheme, reading, ARRIVALS[SINGLE]) for reading in READINGS for scheme in SCHEMES]
    cases += [(key(scheme, PAIRS), scheme, ANEW, ARRIVALS[PAIRS]) for scheme in SCHEMES]
    return {
        (name, 1, seed): run(scheme, reading, quick, *changes)
        for name, scheme, reading, changes in cases
        for seed in seeds(quick)
    }


TENFOLD = (*background(SIZES, 10), *queries(1000), "measure.window=3 s")
AT_ONCE, TAIL, DEEPER = "answers at once", "web-search sizes", "a port may take 4/5"
SENSITIVITY: dict[str, tuple[str, ...]] = {
    AT_ONCE: ("traffic.queries.pattern.jitter=0 ps",),
    TAIL: background(WEB_SEARCH, 10),
    PAIRS: ARRIVALS[PAIRS],
}
"""What is changed, one thing at a time, in the benchmark with ten times the traffic and windows that are kept."""


def sweep_tenfold(quick: bool) -> dict[Key, Change]:
    """Ten times the sizes of updates and of answers: both schemes, deep buffers and RED; DCTCP without the factor; and
    one change at a time."""
    runs: dict[Key, Change] = {}
    shorter = ("measure.window=2 s",)
    for seed in seeds(quick):
        for reading in READINGS:
            runs[key("dctcp", reading), 1, seed] = run("dctcp", reading, quick)
            for name in SWITCHES:
                runs[key(name, reading), 10, seed] = run(name, reading, quick, *TENFOLD)
        for what, changes in SENSITIVITY.items():
            for scheme in SCHEMES:
                runs[key(scheme, what), 10, seed] = run(scheme, KEPT, quick, *TENFOLD, *changes, *shorter)
        deeper = ("network.buffer.alpha=4.0", *shorter)
        runs[key(DEEP, DEEPER), 10, seed] = run(DEEP, KEPT, quick, *TENFOLD, *deeper)
    return runs


FACTORS = (1, 2, 5, 10)
TOTALS_KB = (100, 200, 400, 800, 1000)
BACKGROUND, QUERY = "background", "query"


def sweep_one_of_two(quick: bool) -> dict[Key, Change]:
    """Only the background grows, or only the answers, these under both readings: an answer of 2 KB is two segments."""
    runs: dict[Key, Change] = {}
    for scheme in SCHEMES:
        for seed in seeds(quick):
            for factor in FACTORS[:: 3 if quick else 1]:
                changes = (*background(SIZES, factor), "measure.window=3 s")
                runs[key(scheme, BACKGROUND), factor, seed] = run(scheme, ANEW, quick, *changes)
            for reading in READINGS:
                for total in TOTALS_KB[:: 4 if quick else 1]:
                    changes = (*queries(total), "measure.window=4 s")
                    runs[f"{key(scheme, reading)}, {QUERY}", total, seed] = run(scheme, reading, quick, *changes)
    return runs


BINS = ("up to 10 KB", "10 to 100 KB", "100 KB to 1 MB", "1 to 10 MB", "above 10 MB")
"""The bins of Fig. 23."""
SHORT = BINS[2]
_EDGES = (0, 10_000, 100_000, 1_000_000, 10_000_000, 2**63)


def measure(result: Result) -> Measured:
    """Completion times in ms of queries and, by bins of size, of background flows; whether a query had a timeout, and
    how many background flows had one."""
    table = of.queries(result).filter(pl.col("traffic") == "queries")
    whole = table.drop_nulls("completion_ps")
    flows = of.messages(result).filter(pl.col("traffic") != "queries")
    done = flows.drop_nulls("completion_ps")
    times = done["completion_ps"].to_numpy() / 1e9
    place = np.searchsorted(_EDGES, done["bytes"].to_numpy(), side="left") - 1
    return {
        "query_ms": (whole["completion_ps"].to_numpy() / 1e9).tolist(),
        "timed_out": (table["timeouts"] > 0).cast(pl.Float64).to_list(),
        "unfinished": [float(table.height - whole.height), float(flows.height - done.height)],
        "late_flows": [float((flows["timeouts"] > 0).sum())],
        "flows": [float(flows.height)],
        **{name: times[place == index].tolist() for index, name in enumerate(BINS)},
    }


def measure_waits(result: Result) -> Measured:
    """How much longer an answer took than the fastest, in ms: a thousand quantiles and the longest, and the share below
    1 ms. Answers that lost a packet are left out."""
    answers = of.messages(result).filter(pl.col("traffic") == "queries").drop_nulls("completion_ps")
    times = answers.filter(pl.col("packets_resent") == 0)["completion_ps"].to_numpy() / 1e9
    waits = np.sort(times - times.min())
    return {
        "waits_ms": waits[:: max(1, waits.size // 1000)].tolist(),
        "longest_ms": [float(waits[-1])],
        "below_1_ms": [float((waits < 1).mean())],
        "answers": [float(waits.size)],
    }


WINDOW_PS = 50e9
"""In such a window a flow counts as active (2.2)."""


def concurrent(flows: pl.DataFrame, windows: int, begin_ps: float) -> list[float]:
    """For each server and each window of 50 ms, the flows that it takes part in."""
    ends = flows["start_ps"] + flows["completion_ps"].fill_null(2**62)
    first = np.floor((flows["start_ps"].to_numpy() - begin_ps) / WINDOW_PS).clip(0, windows).astype(np.int64)
    last = np.floor((ends.to_numpy() - begin_ps) / WINDOW_PS).clip(-1, windows - 1).astype(np.int64)
    found = np.zeros((SERVERS, windows + 1), dtype=np.int64)
    names = {f"h{server}": server for server in range(SERVERS)}
    for side in ("src_name", "dst_name"):
        for name, begin, end in zip(flows[side].cast(pl.String), first, last, strict=True):
            if name in names and begin <= end:
                found[names[name], begin] += 1
                found[names[name], end + 1] -= 1
    return found.cumsum(axis=1)[:, :windows].ravel().astype(float).tolist()


def measure_workload(result: Result) -> Measured:
    """Sizes of answers and of background flows in bytes; gaps between background flows to the same server in ms; and
    the flows of a server at once, all and those above 1 MB."""
    flows = result.flows()
    back = of.messages(result).filter(pl.col("traffic") != "queries")
    gaps = back.sort("start_ps").with_columns(gap=pl.col("start_ps").cast(pl.Int64).diff().over("dst_name"))
    begin_ps, end_ps = of.window_ps(result)
    windows = int((end_ps - begin_ps) // WINDOW_PS)
    return {
        "answers": sorted(set(flows.filter(pl.col("traffic") == "queries")["bytes"].cast(pl.Float64).to_list())),
        "bytes": back["bytes"].cast(pl.Float64).to_list(),
        "gaps_ms": (gaps.filter(pl.col("dst_name").cast(pl.String) != "rest")["gap"].drop_nulls() / 1e9).to_list(),
        "at_once": concurrent(flows, windows, begin_ps),
        "large_at_once": concurrent(flows.filter(pl.col("bytes") > LARGE), windows, begin_ps),
    }
