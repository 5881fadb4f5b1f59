"""RCC section 6.3.2: a burst beside a long flow (Fig. 10)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl
from matplotlib.figure import Figure

from fanin import Result
from fanin.plot import label_axes, scheme_line
from fanin.style import COLOURS, MORE_COLOURS
from fanin_papers.common import mean, over_seeds, percentile, picture, pooled, quantile
from fanin_papers.experiment import Change, Experiment, Key, Measured, Measures, Row, judge, order, strict

SCHEMES = ("newreno", "dctcp", "ictcp", "rcc")
OTHERS = SCHEMES[:-1]
REMAINING = "rcc, remaining"
"""RCC with the priority that its authors' code has."""
CHOICES = {
    "newreno": '{ id = "newreno", initial_window = 1 }',
    "dctcp": '{ id = "dctcp", initial_window = 1 }',
    "ictcp": '{ id = "ictcp", newreno = { initial_window = 1 } }',
    "rcc": '{ id = "rcc", sender = "advertised" }',
    REMAINING: '{ id = "rcc", sender = "advertised", priority = "remaining" }',
}
SEEDS = range(1, 11)
PACKET_BYTES = 1500


def under(scheme: str, *traffics: str) -> tuple[str, ...]:
    """These traffics of a spec under a scheme; a window of TCP begins at one segment."""
    return tuple(f"traffic.{traffic}.scheme={CHOICES[scheme]}" for traffic in traffics)


def ten_seeds(quick: bool) -> Sequence[int]:
    """The seeds; a short version has two."""
    return SEEDS[:2] if quick else SEEDS


def line(name: str) -> dict[str, Any]:
    """The curve of a scheme or of a variant of it."""
    if name == "rcc":
        return scheme_line(name) | {"linestyle": "-", "color": COLOURS[3]}
    return scheme_line("rcc") | {"linestyle": "--", "color": MORE_COLOURS[3]} if "," in name else scheme_line(name)


# Fig. 10: a burst beside a long flow

ALONE = ", alone"
"""Marks the runs in which the short flows begin when the long one is over."""
BURST_MS = 10.0
NAMES_10 = (*SCHEMES, REMAINING)


def sweep_10(quick: bool) -> dict[Key, Change]:
    """Each scheme with the burst, and with the long flow alone."""
    runs: dict[Key, Change] = {}
    for name in NAMES_10:
        for seed in ten_seeds(quick):
            runs[name, 60, seed] = Change(None, under(name, "long", "short"))
        runs[f"{name}{ALONE}", 0, 1] = Change(None, (*under(name, "long", "short"), "traffic.short.start=400 ms"))
    return runs


def measure_10(result: Result) -> Measured:
    """The long flow's rate in each ms and its goodput, the queue during the burst, drops, and short completions."""
    flows = result.flows()
    long, short = (flows.filter(pl.col("traffic") == name) for name in ("long", "short"))
    last_ms = (short["start_ps"] + short["completion_ps"]).to_numpy().max() / 1e9
    watch = result.watch().filter(pl.col("name") == "delivered_bytes")
    series = result.series()
    time_ms, queue = series["time_ps"].to_numpy() / 1e9, series["queue_bytes"].to_numpy() / PACKET_BYTES
    burst = (time_ms >= BURST_MS) & (time_ms <= last_ms)
    shown = time_ms <= 60
    return {
        "rate_ms": (watch["time_ps"].to_numpy()[:-1] / 1e9).tolist(),
        "mbps": (np.diff(watch["value"].to_numpy()) * 8 / 1e3).tolist(),
        "long_mbps": [long["bytes"][0] * 8e6 / long["completion_ps"][0]],
        "short_ms": (short["completion_ps"].to_numpy() / 1e9).tolist(),
        "last_ms": [float(last_ms)],
        "burst_queue": [float(queue[burst].mean())],
        "highest": [float(queue.max())],
        "drops": [float(result.summary()["network"]["drops"]["total"])],
        "time_ms": time_ms[shown][::4].tolist(),
        "queue": queue[shown][::4].tolist(),
    }


def draw_10(measures: Measures) -> Figure:
    """The paper's panels: the long flow's rate, the queue, short completions, and the long flow's goodput."""
    figure = picture(12, 8.8, "RCC Fig. 10: 60 flows of 50 KB beside one of 10 MB, 1 Gb/s")
    (rate, queue), (fct, goodput) = figure.subplots(2, 2)
    for name in NAMES_10:
        run = measures[(name, 60, 1)]
        rate.plot(np.asarray(run["rate_ms"]) + 0.5, run["mbps"], label=name, **(line(name) | {"linewidth": 1.4}))
        if name != REMAINING:
            queue.plot(run["time_ms"], run["queue"], label=name, **(line(name) | {"linewidth": 0.8}))
    rate.set_xlim(0, 70)
    queue.set_xlim(0, 60)
    queue.set_ylim(0, 100)
    label_axes(rate, "(a) long flow in each ms (seed 1)", "time (ms)", "Mb/s")
    label_axes(queue, "(b) queue at the receiver's port (seed 1)", "time (ms)", "packets", legend=False)
    queue.legend(frameon=False, fontsize=10, ncols=4, loc="upper right")
    for place, name in enumerate(NAMES_10):
        short = pooled(measures, (name, 60), "short_ms")
        low, middle, high = (quantile(short, share) for share in (0.01, 0.5, 0.99))
        colour = str(line(name)["color"])
        fct.vlines(place, low, high, color=colour, linewidth=2)
        for value, marker in ((low, "_"), (middle, "o"), (high, "_")):
            fct.plot(place, value, marker=marker, color=colour, markersize=9)
        told = (low, middle, high) if high - low > 2 else ()
        for value in told:
            fct.annotate(f"{value:.1f}", (place, value), (9, -3), textcoords="offset points", fontsize=9)
        if not told:
            text = f"{low:.1f} to {high:.1f}"
            fct.annotate(text, (place, high), (0, 9), textcoords="offset points", fontsize=9, ha="center")
        with_burst = mean(pooled(measures, (name, 60), "long_mbps"))
        alone = mean(pooled(measures, (f"{name}{ALONE}", 0), "long_mbps"))
        for side, height, strength in ((-0.2, alone, 0.45), (0.2, with_burst, 1.0)):
            goodput.bar(place + side, height, width=0.38, color=colour, alpha=strength)
            goodput.annotate(
                f"{height:.0f}", (place + side, height), (0, 3), textcoords="offset points", ha="center", fontsize=9
            )
    drops = [mean(pooled(measures, (name, 60), "drops")) for name in NAMES_10]
    names = [name.replace(", ", ",\n") for name in NAMES_10]
    fct.set_xticks(range(len(names)), [f"{name}\n({drop:.0f} drops)" for name, drop in zip(names, drops, strict=True)])
    fct.set_xlim(-0.5, len(names) - 0.3)
    fct.set_ylim(0, 45)
    label_axes(fct, "(c) short flows: 1st, 50th, 99th percentile", "", "completion (ms)")
    goodput.set_xticks(range(len(names)), names)
    goodput.set_ylim(0, 1100)
    label_axes(goodput, "(d) long flow: alone (pale) and with the burst", "", "goodput (Mb/s)")
    return figure


def rows_10(measures: Measures) -> list[Row]:
    """Claims `rcc-fig10a-burst`, `rcc-fig10c-fct` and `rcc-fig10d-goodput`."""
    return [
        row for name in ("rcc", REMAINING) for row in (*rows_10a(measures, name), *rows_10c(measures, name))
    ] + rows_10d(measures)


def label(claim: str, name: str) -> str:
    """A claim with the priority that it was judged with."""
    return f"{claim} (priority by {'what remains' if name == REMAINING else 'size'})"


def fall_and_rise(measures: Measures, name: str) -> tuple[float, float]:
    """At its worst over all seeds: the long flow's least rate in a ms that begins within 2 ms of the burst, and its
    largest in one that begins within 3 ms of the last short completion, as shares of its mean rate in 5 ms before."""
    fallen, risen = [], []
    for key, run in measures.items():
        if key[:2] == (name, 60):
            rate, begin, last = np.asarray(run["mbps"]), np.asarray(run["rate_ms"]), run["last_ms"][0]
            before = rate[(begin >= BURST_MS - 5) & (begin < BURST_MS)].mean()
            fallen.append(rate[(begin >= BURST_MS) & (begin < BURST_MS + 2)].min() / before)
            risen.append(rate[(begin >= last) & (begin < last + 3)].max() / before)
    return max(fallen), min(risen)


def rows_10a(measures: Measures, name: str) -> list[Row]:
    """Claim `rcc-fig10a-burst`."""
    claim = label("rcc-fig10a-burst", name)
    fallen, risen = fall_and_rise(measures, name)
    highest = max(pooled(measures, (name, 60), "highest"))
    queues = {other: over_seeds(measures, (other, 60), "burst_queue") for other in (*OTHERS, name)}
    return Row.table(f"""
        {claim}
        long flow within 2 ms of the burst, share of before | steps down at once | {fallen:.2f} | at most 0.30
            | {strict(fallen <= 0.3)}
        long flow within 3 ms of the last short one | full rate again | {risen:.2f} | at least 0.90
            | {strict(risen >= 0.9)}
        highest queue, packets | below the others | {judge("strict", highest, ".0f", "below 80")}
        mean queue during the burst: newreno, dctcp, ictcp, rcc | rcc lowest
            | {", ".join(f"{value:.1f}" for value in queues.values())} | rcc lowest
            | {order([queues[name] < queues[other] for other in OTHERS])}
    """)


def rows_10c(measures: Measures, name: str) -> list[Row]:
    """Claim `rcc-fig10c-fct`."""
    claim, schemes = label("rcc-fig10c-fct", name), (*OTHERS, name)
    drops = {scheme: sum(pooled(measures, (scheme, 60), "drops")) for scheme in schemes}
    low, middle, high = (
        {s: over_seeds(measures, (s, 60), "short_ms", percentile(share)) for s in schemes}
        for share in (0.01, 0.5, 0.99)
    )

    def ordered(what: str, paper: str, found: dict[str, float], kept: list[bool], digits: int = 1) -> Row:
        ours = ", ".join(f"{value:.{digits}f}" for value in found.values())
        return Row.of(claim, f"{what}: newreno, dctcp, ictcp, rcc | {paper} | {ours} | {paper} | {order(kept)}")

    return [
        *Row.table(f"""
            {claim}
            drops of rcc, all seeds | 0 | {judge("strict", drops[name], ".0f", "0")}
            p50, ms | 19 | {judge("band", middle[name], ".1f", "12 to 24")}
            p99, ms | 27 | {judge("band", high[name], ".1f", "24 to 30")}
        """),
        ordered("p50, ms", "rcc lowest", middle, [middle[name] < middle[other] for other in OTHERS]),
        ordered("p99, ms", "rcc lowest", high, [high[name] < high[other] for other in OTHERS]),
        ordered("p1, ms", "rcc highest", low, [low[name] > low[other] for other in OTHERS]),
        ordered("drops", "newreno most", drops, [drops["newreno"] > drops[s] for s in schemes[1:]], digits=0),
    ]


def rows_10d(measures: Measures) -> list[Row]:
    """Claim `rcc-fig10d-goodput`."""
    claim = "rcc-fig10d-goodput"
    burst = {s: over_seeds(measures, (s, 60), "long_mbps") for s in SCHEMES}
    alone = {s: over_seeds(measures, (f"{s}{ALONE}", 0), "long_mbps") for s in SCHEMES}
    return Row.table(f"""
        {claim}
        rcc with the burst, Mb/s | 737 | {judge("band", burst["rcc"], ".0f", "700 to 755")}
        with the burst, Mb/s: newreno, dctcp, ictcp, rcc | rcc highest
            | {", ".join(f"{value:.1f}" for value in burst.values())} | rcc highest
            | {order([burst["rcc"] > burst[other] for other in OTHERS])}
        alone, Mb/s: newreno, dctcp, ictcp, rcc | ictcp lowest
            | {", ".join(f"{value:.1f}" for value in alone.values())} | ictcp lowest
            | {order([alone["ictcp"] < alone[other] for other in SCHEMES if other != "ictcp"])}
        lower with the burst than alone | all | {sum(burst[s] < alone[s] for s in SCHEMES)} of {len(SCHEMES)}
            | all | {order([burst[s] < alone[s] for s in SCHEMES])}
    """)


EXPERIMENTS = (
    Experiment(
        "rcc-fig10", "a burst beside a long flow", "rcc/fig10-burst.toml", sweep_10, measure_10, draw_10, rows_10
    ),
)
