"""HPCC Fig. 1: how far pauses by PFC spread, and the share of capacity that they suppress."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import PercentFormatter

from fanin import Result
from fanin.plot import indexed_line, label_axes
from fanin_papers.common import picture, pooled, seeds
from fanin_papers.experiment import Change, Experiment, Key, Measured, Measures, Row, judge, strict

INCASTS, STORM, WATCHED = "incasts", "storm", "storm, watchdog"
CASES = (INCASTS, STORM, WATCHED)

FAULT = 'network.faults=[{ kind = "pause-storm", hosts = ["h0"], from = "6 ms", to = "14 ms" }]'
WATCHDOG = 'network.pfc.watchdog={ detect = "1 ms", restore = "1 ms" }'
"""Microsoft's switches take hundreds of milliseconds; the storm here lasts 8 ms, and the times are in proportion."""

HOPS, CAPACITY, WORST = 3, 0.03, 0.25
"""The paper: about 10 % of PFC events propagate three hops, more than 10 % of pauses suppress more than 3 % of the
capacity, and the worst 25 %."""


def sweep(quick: bool) -> dict[Key, Change]:
    """Incasts alone, with a storm of one host, and with a storm watchdog too."""
    short = ("measure.window=8 ms",) if quick else ()
    changes = {INCASTS: (), STORM: (FAULT,), WATCHED: (FAULT, WATCHDOG)}
    return {(case, seed): Change(None, (*changes[case], *short)) for case in CASES for seed in seeds(quick)}


def measure(result: Result) -> Measured:
    """Depth and largest suppressed share of each tree; the share suppressed over time; what was dropped."""
    trees = result.pause_trees()
    over_time = result.suppressed()
    summary = result.summary()
    network = summary["network"]
    time_us, capacity = (over_time[name].to_numpy() for name in ("time_us", "capacity"))
    span_us = network["stopped_us"]
    held = np.diff(time_us, append=span_us) if time_us.size else time_us
    return {
        "depth": trees["depth"].cast(float).to_list(),
        "capacity": trees["capacity"].to_list(),
        "senders": trees["senders"].to_list(),
        "time_us": time_us.tolist(),
        "suppressed": capacity.tolist(),
        "mean": [float((held * capacity).sum() / span_us)],
        "dropped": [float(network["drops"]["watchdog"])],
        "storms": [float(network["storms"])],
        "delivered_gbps": [sum(traffic["goodput_gbps"] or 0.0 for traffic in summary["traffics"])],
    }


def draw(measures: Measures) -> Figure:
    """The paper's panels, and the capacity suppressed over time."""
    figure = picture(11, 7.6, "In the manner of HPCC Fig. 1: trees of pauses in a pod of 128 hosts under DCQCN")
    grid = figure.add_gridspec(2, 2)
    draw_depths(figure.add_subplot(grid[0, 0]), measures)
    draw_peaks(figure.add_subplot(grid[0, 1]), measures)
    axes = figure.add_subplot(grid[1, :])
    for number, case in enumerate(CASES):
        run = measures[case, 1]
        axes.step(np.array(run["time_us"]) / 1e3, run["suppressed"], where="post", label=case, **thin_line(number))
    axes.yaxis.set_major_formatter(PercentFormatter(xmax=1.0, symbol=" %"))
    axes.set_ylim(bottom=0)
    label_axes(axes, "capacity suppressed over time, seed 1 (storm from 6 to 14 ms)", "time (ms)", "share of all links")
    return figure


def thin_line(number: int) -> dict[str, Any]:
    """The style of a case's curve."""
    return indexed_line(number) | {"linewidth": 1.2}


def draw_depths(axes: Axes, measures: Measures) -> None:
    """Fig. 1a: the share of trees by their depth."""
    width = 0.8 / len(CASES)
    for number, case in enumerate(CASES):
        depth = np.array(pooled(measures, (case,), "depth"))
        places = np.arange(1, 5)
        share = [float((depth == d).mean()) if depth.size else 0.0 for d in places]
        axes.bar(places + (number - 1) * width, share, width * 0.92, color=indexed_line(number)["color"], label=case)
    axes.set_xticks(range(1, 5))
    axes.yaxis.set_major_formatter(PercentFormatter(xmax=1.0, symbol=" %"))
    label_axes(axes, "(a) depth of trees", "hops from the origin", "share of trees")


def draw_peaks(axes: Axes, measures: Measures) -> None:
    """Fig. 1b: the share of trees that suppress more than a share of the capacity."""
    for number, case in enumerate(CASES):
        peak = np.sort(pooled(measures, (case,), "capacity"))
        if peak.size:
            above = 1 - np.arange(peak.size + 1) / peak.size
            axes.step(np.concatenate([[0.0], peak]), above, where="post", label=case, **indexed_line(number))
    axes.plot([CAPACITY], [0.1], "k+", markersize=11, label="paper: more than 10 % above 3 %")
    for formatted in (axes.xaxis, axes.yaxis):
        formatted.set_major_formatter(PercentFormatter(xmax=1.0, symbol=" %"))
    axes.set_ylim(0, 1.02)
    label_axes(axes, "(b) suppressed capacity of trees", "more than this share of all links at once", "share of trees")


def share(values: list[float], above: float) -> float:
    """The share of values above a bound, in percent."""
    return 100 * sum(value > above for value in values) / max(len(values), 1)


def rows(measures: Measures) -> list[Row]:
    """Claim `hpcc-fig1-pfc-impact`, under incasts alone; and what a storm and the watchdog change."""
    claim = "hpcc-fig1-pfc-impact"
    depth, capacity = (pooled(measures, (INCASTS,), name) for name in ("depth", "capacity"))
    far, wide = share(depth, HOPS - 1), share(capacity, CAPACITY)
    single = share([-d for d in depth], -1.5)
    worst = 100 * max(capacity, default=0.0)
    return [
        *Row.table(f"""
            {claim}
            trees of pauses that reach three hops, of {len(depth)} | about 10 % | {far:.1f} % | above 0.5 %
                | {strict(far > 0.5)}
            trees that stop at one hop | most | {judge("strict", single, ".1f %", "above 50 %")}
            trees that suppress more than 3 % of all links at once | more than 10 % of pauses | {wide:.1f} %
                | above 10 % | ({strict(wide > 10)})
            most that a tree suppresses at once, of all links; of the links from hosts | 25 %
                | {worst:.1f} %; {100 * max(pooled(measures, (INCASTS,), "senders"), default=0.0):.1f} %
                | none: production traffic is unknown | (calibrated)
        """),
        *(storm_row(measures, case) for case in (STORM, WATCHED)),
    ]


def storm_row(measures: Measures, case: str) -> Row:
    """What the storm of one host does to the whole network."""
    name = (case,)
    held = 100 * float(np.mean(pooled(measures, name, "mean")))
    alone = 100 * float(np.mean(pooled(measures, (INCASTS,), "mean")))
    dropped = sum(pooled(measures, name, "dropped"))
    deepest = max(pooled(measures, name, "depth"), default=0.0)
    found = sum(pooled(measures, name, "storms"))
    before = 100 * float(np.mean(pooled(measures, (STORM,), "mean")))
    holds = held > alone if case == STORM else held < before
    return Row.of(
        "hpcc-fig1-pfc-impact",
        f"{case}: share of all links suppressed on average, with the storm of one host from 6 to 14 ms; deepest "
        "tree | a storm can silence a lot of senders "
        f"| {held:.2f} % (without storm {alone:.2f} %); {deepest:.0f} hops; {found:.0f} storms found, {dropped:.0f} "
        f"drops | {'above that without storm' if case == STORM else 'below that without watchdog'} "
        f"| ({strict(holds)})",
    )


EXPERIMENTS = (Experiment("hpcc-fig1", "trees of pauses by PFC", "hpcc/fig1-pauses.toml", sweep, measure, draw, rows),)
