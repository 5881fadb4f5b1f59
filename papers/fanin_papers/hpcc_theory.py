"""HPCC's appendix: queues of paced flows (A.1), the fixed points (A.3) in packets and as a fluid."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from math import comb, pi, sqrt

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from fanin import Result
from fanin.plot import indexed_line, label_axes, scheme_line
from fanin_papers.common import mean, picture, pooled
from fanin_papers.experiment import Change, Experiment, Key, Measured, Measures, Row, band, judge, strict
from fanin_papers.hpcc_runs import queued, watched

# A.1: a queue of periodic sources

SOURCES = 50
PACKET = 1062
LOADS = {95: "1900 Mbps", 100: "2 Gbps"}
"""The rate of a source's own link, by the load of the port in percent."""
PHASES = 200
"""Runs, each with other times at which the first packets leave."""


def sweep_1(quick: bool) -> dict[Key, Change]:
    """Both loads, many times."""
    return {
        ("none", load, seed): Change(None, (f"network.topology.link={link}",))
        for load, link in LOADS.items()
        for seed in range(1, (3 if quick else PHASES) + 1)
    }


def measure_1(result: Result) -> Measured:
    """The mean of the packets that wait behind the one in service, once all sources send, and the shares of time by
    their number."""
    time_us, queue = queued(result)
    waiting = np.round(queue[time_us > 150] / PACKET).astype(np.int64)
    return {"mean": [float(waiting.mean())], "share": (np.bincount(waiting, minlength=60) / waiting.size).tolist()}


def work_above(level: float, load: float, sources: int = SOURCES) -> float:
    """P(work > level), in service times of a packet, of a queue of periodic sources (sum-D/D/1): sum over
    level < n <= N of C(N, n) p^n (1 - p)^(N - n) (D - N + level)/(D - n + level) with D = N/load and p = (n - level)/D
    (Roberts and Virtamo; the paper cites its asymptotic form)."""
    period = sources / load
    total = 0.0
    for n in range(int(np.floor(level)) + 1, sources + 1):
        p = (n - level) / period
        if p < 1:
            total += (
                comb(sources, n) * p**n * (1 - p) ** (sources - n) * (period - sources + level) / (period - n + level)
            )
    return total


def mean_work(load: float) -> float:
    """The mean work in service times: the integral of P(work > x)."""
    levels = np.linspace(0, SOURCES, 20_001)
    above = [work_above(float(level), load) for level in levels[:-1]]
    return float((np.sum(above) - above[0] / 2) * (levels[1] - levels[0]))


def draw_1(measures: Measures) -> Figure:
    """How often more packets wait than a number, in packets and by the exact formula."""
    figure = picture(8, 4.8, "HPCC A.1: the queue of 50 paced flows at one port")
    axes = figure.subplots()
    for number, load in enumerate(LOADS):
        line = indexed_line(number)
        shares = np.mean([run["share"] for key, run in measures.items() if key[1] == load], axis=0)
        above = 1 - np.cumsum(shares)
        levels = np.flatnonzero(above > 1e-7)
        # More than n packets wait when more than n + 1 are there, and that is when there is work for more than n + 1.
        label = f"{load} % load: packets there; {mean(pooled(measures, ('none', load), 'mean')):.2f} wait on average"
        axes.plot(levels + 1, above[levels], "o", color=line["color"], markersize=4, label=label)
        across = np.linspace(0.1, 24, 200)
        exact = [work_above(float(level), load / 100) for level in across]
        label = f"{load} % load: work, exact, mean {mean_work(load / 100):.2f}"
        axes.plot(across, exact, color=line["color"], linewidth=1.4, linestyle=line["linestyle"], label=label)
    axes.set_yscale("log")
    axes.set_ylim(1e-11, 2)
    axes.set_xlim(0, 24)
    axes.axvline(20, color="#888888", linewidth=1, linestyle=":")
    label_axes(axes, "", "packets, or work in packets", "share of time with more", legend=False)
    axes.legend(frameon=False, fontsize=9.5, loc="lower left")
    return figure


def rows_1(measures: Measures) -> list[Row]:
    """Claim `hpcc-a1-sumdd1`."""
    claim = "hpcc-a1-sumdd1"
    rows = []
    for load, low, high, said in ((95, 2.5, 4.0, "about 3"), (100, 3.3, 5.0, "about 4.43")):
        ours, exact = pooled(measures, ("none", load), "mean"), mean_work(load / 100)
        error = float(np.std(ours) / sqrt(len(ours)))
        allowed = f"{low} to {high}"
        rows += Row.table(f"""
            {claim}
            mean queue at {load} % load, packets: exact | {said} | {exact:.2f} | {allowed} | {band(exact, low, high)}
            mean queue at {load} % load, packets that wait, of {len(ours)} runs | {said}
                | {mean(ours):.2f} (standard error {error:.2f}) | {allowed} | {band(mean(ours), low, high)}
        """)
    tail = work_above(20, 0.95)
    root = sqrt(pi * SOURCES / 8)
    return [
        *rows,
        *Row.table(f"""
            {claim}
            P(queue > 20 packets) at 95 % load, exact | about 1e-9 | {judge("band", tail, ".1e", "1e-10 to 2e-8")}
            (pi N/8)^0.5 | 4.43 | {root:.3f} | 4.431 | {strict(abs(root - 4.431) < 0.0005)}
        """),
    ]


# A.3: fixed points

ETA = 0.95
INCREASES = (25, 50, 100, 150, 300)
FLOWS = 4
PER_US = 12_500.0
"""Bytes that 100 Gb/s carry in a us."""
T_US = 4.0


def sweep_3(quick: bool) -> dict[Key, Change]:
    """Each additive increase. All flows start together, so nothing is random."""
    short = ("measure.window=2 ms",) if quick else ()
    return {
        ("hpcc", size, 1): Change(None, (f"traffic.senders.scheme.additive_increase={size} B", *short))
        for size in INCREASES
    }


def measure_3(result: Result) -> Measured:
    """The share of the link that is used in the second half of the run."""
    time_us, sent = watched(result, "sent_bytes", "sw0>h0")
    half = time_us.size // 2
    return {"used": [float((sent[-1] - sent[half]) / PER_US / (time_us[-1] - time_us[half]))]}


def expected(size: float) -> float:
    """The use of a link at the fixed point: R = a/(1 - eta/U) with a = `size`/T and R = U B/N."""
    return ETA + FLOWS * size / T_US / PER_US


def draw_3(measures: Measures) -> Figure:
    """The use of the link by the additive increase, and the formula."""
    figure = picture(7, 4.6, "HPCC A.3: four flows at rest, 100 Gb/s, T = 4 us")
    axes = figure.subplots()
    used = [measures["hpcc", size, 1]["used"][0] for size in INCREASES]
    axes.plot(INCREASES, used, marker="o", label="packets", **scheme_line("hpcc"))
    sizes = [0, *INCREASES]
    axes.plot(
        sizes, [expected(size) for size in sizes], color="#555555", linestyle="--", label="U = eta + N a/B, a = W_AI/T"
    )
    axes.set_xlim(0, None)
    axes.set_ylim(0.94, 0.98)
    label_axes(axes, "", "W_AI (B)", "share of the link that is used")
    return figure


def fluid(paths: NDArray[np.float64], start: Sequence[float], increase: float) -> tuple[float, bool]:
    """A.3: R <- R U_t/U + a for flows over links of rate 1, with U that of a flow's busiest link, until it rests.

    `paths` has a row for each flow, with 1 for its links. Gives the largest relative difference between R and
    a/(1 - U_t/U), and whether flows over busier links have smaller rates.
    """
    rates = np.array(start)
    for _ in range(20_000):
        busiest = (paths * (paths.T @ rates)).max(axis=1)
        rates = rates * ETA / busiest + increase
    busiest = (paths * (paths.T @ rates)).max(axis=1)
    point = increase / (1 - ETA / busiest)
    ranked = rates[np.argsort(busiest, kind="stable")]
    return float(np.abs(rates / point - 1).max()), bool((np.diff(ranked) <= 1e-9).all())


NETWORKS: dict[str, tuple[list[list[int]], list[float]]] = {
    "one link": ([[1]] * FLOWS, [0.1, 0.2, 0.3, 0.4]),
    "two links": ([[1, 1], [1, 0], [0, 1], [0, 1]], [0.5, 0.1, 0.3, 0.9]),
}
"""Paths of flows, and the rates that they begin with."""


def rows_3(measures: Measures) -> list[Row]:
    """Claim `hpcc-a3-equilibrium`."""
    row = partial(Row, "hpcc-a3-equilibrium")
    used = [measures["hpcc", size, 1]["used"][0] for size in INCREASES]
    wanted = [expected(size) for size in INCREASES]
    rows = []
    for name, (paths, start) in NETWORKS.items():
        off, ordered = fluid(np.array(paths, dtype=np.float64), start, 0.002)
        rows.append(
            row(
                f"fluid, {name}: R and a/(1 - eta/U) differ by; the busiest link has the smallest rates",
                "equal; yes",
                f"{off:.0e}; {'yes' if ordered else 'no'}",
                "at most 1e-6; yes",
                strict(off <= 1e-6 and ordered),
            )
        )
    worst = max(abs(ours - want) for ours, want in zip(used, wanted, strict=True))
    # Least squares through all five.
    slope, wanted_slope = (np.polyfit(INCREASES, values, 1)[0] for values in (used, wanted))
    return [
        *rows,
        *Row.table(f"""
            hpcc-a3-equilibrium
            {"use of the link in packets, W_AI = " + ", ".join(map(str, INCREASES)) + " B"}
                | {", ".join(f"{want:.3f}" for want in wanted)} | {", ".join(f"{ours:.3f}" for ours in used)}
                | each within 0.02 | {band(worst, 0, 0.02)}
            rise of the use with W_AI, over that of the formula | 1 | {slope / wanted_slope:.2f} | 0.8 to 1.25
                | ({band(slope / wanted_slope, 0.8, 1.25)})
        """),
    ]


EXPERIMENTS = (
    Experiment("hpcc-a1", "the queue of paced flows", "hpcc/a1-sumdd1.toml", sweep_1, measure_1, draw_1, rows_1),
    Experiment("hpcc-a3", "fixed points of rates", "hpcc/a3-equilibrium.toml", sweep_3, measure_3, draw_3, rows_3),
)
"""In the order of the paper."""
