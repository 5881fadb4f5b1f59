"""Dart section VI-D: how many round trips ExpressPass needs until flows have fair shares."""

from __future__ import annotations

import math

import numpy as np
import polars as pl
from matplotlib.figure import Figure

from fanin import Result
from fanin.plot import indexed_line, label_axes
from fanin_papers.common import picture, pooled
from fanin_papers.experiment import Change, Experiment, Key, Measured, Measures, Row, band, strict

SLOW = "initial_rate = 0.0625, w_init = 0.0625"
SCHEMES = {
    "expresspass": "'expresspass'",
    "expresspass, 1/16": f"{{ id = 'expresspass', {SLOW} }}",
    "expresspass-ns2": "'expresspass-ns2'",
    "expresspass-ns2, 1/16": f"{{ id = 'expresspass-ns2', {SLOW} }}",
    "dart-dasr": "'dart-dasr'",
}
"""By name, as in a spec. 1/16 is the first rate and weight of the authors' script for large networks."""
NETWORKS = ("dumbbell", "fat tree")
DUMBBELL = (
    "network.topology={ kind = 'dumbbell', left = 2, right = 2, link = '10 Gbps', delay = '5 us' }",
    "traffic.first.pattern={ kind = 'long', count = 1, senders = ['h0'], receivers = ['h2'] }",
    "traffic.others.pattern={ kind = 'long', count = 1, senders = ['h1'], receivers = ['h3'] }",
    "measure.series=[{ what = 'flow', where = ['first:0', 'others:0'], every = '34 us' }]",
)
JOIN_US = 4000.0
MEAN_OF = 5
"""Round trips over which goodput is averaged, from each one on."""
FAIR = 0.95
"""Jain's index from which shares are called fair: flows are a quarter off on average."""


def sweep(quick: bool) -> dict[Key, Change]:
    """Each scheme in each network."""
    runs: dict[Key, Change] = {}
    for seed in range(1, 2 if quick else 11):
        for name, scheme in SCHEMES.items():
            both = tuple(f"traffic.{traffic}.scheme={scheme}" for traffic in ("first", "others"))
            for network in NETWORKS:
                runs[name, network, seed] = Change(None, (*both, *(DUMBBELL if network == "dumbbell" else ())))
    return runs


def measure(result: Result) -> Measured:
    """Jain's index by round trip since the join.

    Also the first round trip from which it is fair, and from which it is as high as it stays on average; NaN for never.
    """
    watched = result.watch().filter(pl.col("name") == "delivered_bytes").sort("time_ps")
    columns = [part.select("time_ps", "value") for part in watched.partition_by("where")]
    times = np.unique(watched["time_ps"].to_numpy())
    # What a flow that is not open yet has delivered is 0.
    rows = [np.interp(times, part["time_ps"].to_numpy(), part["value"].to_numpy(), left=0.0) for part in columns]
    since = times >= JOIN_US * 1e6
    delivered = np.array(rows)[:, since]
    got = delivered[:, MEAN_OF:] - delivered[:, :-MEAN_OF]
    index = got.sum(axis=0) ** 2 / (len(got) * (got**2).sum(axis=0))
    found: Measured = {"jain": index.tolist(), "stays": [float(index[len(index) // 2 :].mean())]}
    for reading, least in (("fair", FAIR), ("settled", found["stays"][0])):
        reached = np.flatnonzero(index >= least)
        found[reading] = [float(reached[0]) if len(reached) else float("nan")]
    return found


def draw(measures: Measures) -> Figure:
    """Jain's index after the join, a panel per network."""
    figure = picture(10, 4.2, "Dart VI-D: fair shares after flows join")
    for axes, network in zip(figure.subplots(1, 2, sharey=True), NETWORKS, strict=True):
        for number, name in enumerate(SCHEMES):
            runs = [found["jain"] for key, found in measures.items() if key[:2] == (name, network)]
            if runs:
                length = min(len(run) for run in runs)
                curve = np.mean([run[:length] for run in runs], axis=0)[:80]
                axes.plot(range(len(curve)), curve, label=name, **indexed_line(number))
        axes.axhline(FAIR, color="#888888", linewidth=0.8)
        flows = "two flows, dumbbell" if network == "dumbbell" else "ten flows into one host, fat tree"
        label_axes(axes, flows, "round trips since the join", "Jain's index of goodput", legend=network == "fat tree")
    return figure


def typical(measures: Measures, name: str, network: str, reading: str) -> float:
    """The median over the seeds, where never is the longest."""
    values = [value if value == value else math.inf for value in pooled(measures, (name, network), reading)]
    return sorted(values)[len(values) // 2]


def told(round_trips: float) -> str:
    """As a table shows it."""
    return "never" if math.isinf(round_trips) else f"{round_trips:.0f}"


def rows(measures: Measures) -> list[Row]:
    """Claim `dart-sec6d-expresspass`."""
    found = []
    for name in SCHEMES:
        for reading, until in (("fair", f"Jain's index is {FAIR}"), ("settled", "it is as high as it stays")):
            claim, what = f"dart-sec6d-expresspass ({name}, {reading})", f"round trips until {until}"
            small, large = (typical(measures, name, network, reading) for network in NETWORKS)
            if name == "dart-dasr":
                verdict = band(large, 0, 2)
                found.append(Row.of(claim, f"{what}, fat tree | 1 | {told(large)} | at most 2 | {verdict}"))
                continue
            most = strict(large > 2 * small)
            over = f"{told(large)} to {told(small)}"
            found += Row.table(f"""
                {claim}
                {what}, dumbbell | 4 | {told(small)} | at most 8 | {band(small, 0, 8)}
                {what}, fat tree | 20 | {told(large)} | 8 to 40 | {band(large, 8, 40)}
                {what}: fat tree to dumbbell | 20 to 4 | {over} | more than twice | {most}
            """)
    return found


EXPERIMENTS = (
    Experiment(
        "dart-sec6d-expresspass", "ExpressPass's convergence", "dart/sec6d-expresspass.toml", sweep, measure, draw, rows
    ),
)
