"""DCTCP section 4.1: flows that come and go (Fig. 17)."""

from __future__ import annotations

from itertools import pairwise
from math import inf

import numpy as np
import polars as pl
from matplotlib.figure import Figure
from numpy.typing import NDArray

from fanin import Result
from fanin import measures as of
from fanin.plot import indexed_line, label_axes
from fanin_papers.common import mean, over_seeds, picture, seeds
from fanin_papers.dctcp import SCHEMES, under
from fanin_papers.experiment import Change, Experiment, Key, Measured, Measures, Row, band, judge, strict

FLOWS = ("s1", "s2", "s3", "s4", "s5")
CROWD = 90
SETTLED_S = 2
"""Bins that begin sooner after a flow came or left do not count."""


def crowd(scheme: str) -> tuple[str, ...]:
    """90 long flows instead of the five, over 10 s."""
    traffic = (
        f'{{ name = "crowd", scheme = {{ id = "{scheme}", initial_window = 2, restart_after = "10 ms" }}, '
        f'pattern = {{ kind = "long", count = {CROWD}, receivers = ["h0"], spread = "10 ms" }}, '
        'tcp = { min_rto = "10 ms", ack_every = 2 } }'
    )
    hosts = f"network.topology.hosts={CROWD + 1}"
    return (f"traffic=[{traffic}]", hosts, "measure.series=[]", "measure.window=10 s")


def hastened() -> tuple[str, ...]:
    """Steps of 5 s instead of 10, and half of the bytes."""
    sizes_mb = (761, 613, 613, 761)
    flows = enumerate(zip(FLOWS[1:], sizes_mb, strict=True), start=1)
    changes = ((f"traffic.{flow}.start={5 * n} s", f"traffic.{flow}.size.fixed={mb} MB") for n, (flow, mb) in flows)
    return (*(change for pair in changes for change in pair), "measure.window=45 s")


def sweep(quick: bool) -> dict[Key, Change]:
    """Five flows that come and go, and 90 together."""
    runs: dict[Key, Change] = {}
    for scheme in SCHEMES:
        for seed in seeds(quick):
            short = hastened() if quick else ()
            runs[scheme, len(FLOWS), seed] = Change(None, (*under(scheme, *FLOWS), *short))
            runs[scheme, CROWD, seed] = Change(None, (*crowd(scheme), *(("measure.window=1 s",) if quick else ())))
    return runs


def measure(result: Result) -> Measured:
    """The payload of each flow in each second in Mb/s, and when flows came and left; or the index of 90 flows."""
    flows = result.flows()
    if flows.height > len(FLOWS):
        return {"jain": [of.jain(flows["delivered_bytes"].to_list()) or 0.0]}
    arrived = result.watch().filter(pl.col("name") == "delivered_bytes")
    last_s = round(arrived["time_ps"].cast(pl.Int64).to_numpy().max() / 1e12)
    found: Measured = {"begins_s": [], "ends_s": []}
    for flow in FLOWS:
        mine = arrived.filter(pl.col("where") == f"{flow}:0")
        received = np.zeros(last_s + 1)
        at = np.round(mine["time_ps"].to_numpy() / 1e12).astype(np.intp)
        received[at] = mine["value"].to_numpy()
        # A flow has no samples before it begins and after it ends.
        rates = np.clip(np.diff(np.maximum.accumulate(received)), 0, None) * 8 / 1e6
        found[flow] = rates.tolist()
    times = {
        name: (begin, length) for name, begin, length in flows.select("traffic", "start_ps", "completion_ps").rows()
    }
    for flow in FLOWS:
        begin, length = times.get(flow, (inf, None))
        found["begins_s"].append(begin / 1e12)
        found["ends_s"].append(inf if length is None else (begin + length) / 1e12)
    return found


def settled(rates: NDArray[np.floating], begins_s: list[float], ends_s: list[float]) -> list[NDArray[np.floating]]:
    """By each time between two changes of the flows with at least two flows: the rates of these flows (rows) in each
    second (columns) that begins 2 s or more after the change.

    `rates` has a row per flow and a column per second; a flow that never ends has its end at infinity.
    """
    last = rates.shape[1]
    changes = sorted({at for at in (*begins_s, *ends_s) if at < last} | {float(last)})
    parts = []
    for begin, end in pairwise(changes):
        first, after = int(np.ceil(begin + SETTLED_S)), int(np.floor(end))
        open_then = [flow for flow, (b, e) in enumerate(zip(begins_s, ends_s, strict=True)) if b <= begin and e >= end]
        if len(open_then) >= 2 and after - first >= 2:
            parts.append(rates[open_then, first:after])
    return parts


def parts_of(run: Measured) -> list[NDArray[np.floating]]:
    """The settled rates of a run."""
    rates = np.asarray([run[flow] for flow in FLOWS])
    return settled(rates, run["begins_s"], run["ends_s"])


def fairness(run: Measured) -> list[float]:
    """Jain's index in each settled second."""
    return [of.jain(second.tolist()) or 0.0 for part in parts_of(run) for second in part.T]


def variation(run: Measured) -> float:
    """The mean over flows and times between changes of the standard deviation of a flow's rate over its mean."""
    return float(np.mean([np.std(flow) / np.mean(flow) for part in parts_of(run) for flow in part]))


def draw(measures: Measures) -> Figure:
    """The rates of the flows over time, as the paper draws them."""
    figure = picture(11, 8, "DCTCP Fig. 17: flows come and go each 10 s, 1 Gb/s, K = 20, bins of 1 s")
    for axes, scheme in zip(figure.subplots(2, 1, sharex=True), reversed(SCHEMES), strict=True):
        run = measures[(scheme, len(FLOWS), 1)]
        for number, flow in enumerate(FLOWS):
            rates = np.asarray(run[flow])
            shown = np.where(rates > 0, rates, np.nan)
            line = indexed_line(number) | {"linewidth": 1.3, "linestyle": "-"}
            axes.plot(np.arange(rates.size) + 0.5, shown, label=f"flow {number + 1}", **line)
        axes.set_xlim(0, 90)
        axes.set_ylim(0, 1150)
        index = np.mean(fairness(run)) if parts_of(run) else float("nan")
        title = f"{scheme}: Jain's index {index:.4f} in seconds of at least two flows"
        label_axes(axes, title, "time (s)" if scheme == SCHEMES[0] else "", "goodput (Mb/s)", legend=False)
        axes.legend(frameon=False, fontsize=10, ncols=len(FLOWS), loc="upper center")
    return figure


def rows(measures: Measures) -> list[Row]:
    """Claim `dctcp-fig17-convergence`."""
    claim = "dctcp-fig17-convergence"
    runs = {scheme: [run for key, run in measures.items() if key[:2] == (scheme, len(FLOWS))] for scheme in SCHEMES}
    jain = {scheme: [index for run in runs[scheme] for index in fairness(run)] for scheme in SCHEMES}
    varies = {scheme: mean([variation(run) for run in runs[scheme]]) for scheme in SCHEMES}
    many = {scheme: over_seeds(measures, (scheme, CROWD), "jain") for scheme in SCHEMES}
    ratio = varies["dctcp"] / varies["newreno"]
    index = mean(jain["dctcp"])
    return Row.table(f"""
        {claim}
        dctcp: mean of Jain's index in seconds of 2 to 5 flows, from 2 s after each change on | 0.99
            | {index:.4f} (least {min(jain["dctcp"], default=0):.3f}; newreno {mean(jain["newreno"]):.4f})
            | at least 0.99 | {band(index, 0.99, 1)}
        variation of a flow's rate over seconds, dctcp / newreno | far below 1
            | {ratio:.2f} ({varies["dctcp"]:.3f} and {varies["newreno"]:.3f}) | at most 0.5 | {band(ratio, 0, 0.5)}
        dctcp: Jain's index of 90 flows over 10 s | 0.99 | {judge("band", many["dctcp"], ".4f", "at least 0.98")}
        newreno: Jain's index of 90 flows over 10 s | not told | {many["newreno"]:.4f} | below dctcp's
            | ({strict(many["newreno"] < many["dctcp"])})
    """)


EXPERIMENTS = (
    Experiment("dctcp-fig17", "flows that come and go", "dctcp/fig17-convergence.toml", sweep, measure, draw, rows),
)
