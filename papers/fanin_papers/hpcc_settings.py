"""HPCC section 5.3, other traffic than that of Fig. 11, and note 5, other parameters.

Runs are 1.5 ms of arrivals, of which the first half millisecond does not count, on the network of Fig. 11 with three
seeds; those on the star of section 5.4, where nothing is random, 3 ms.
"""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import polars as pl
from matplotlib.figure import Figure

from fanin import Result
from fanin.plot import indexed_line, label_axes, scheme_line
from fanin_papers.common import cdf, log_ticks, mean, picture, pooled, seeds
from fanin_papers.experiment import Change, Experiment, Key, Measured, Measures, Row, band, order, strict
from fanin_papers.hpcc_measures import measure
from fanin_papers.hpcc_runs import queued, watched
from fanin_papers.hpcc_scale import (
    DCQCN,
    DCTCP,
    HPCC,
    INCAST,
    RUN_12,
    SHORT_KB,
    SHORT_RUN,
    SPEC,
    TITLES,
    TRAFFICS,
    Traffic,
    under,
)
from fanin_papers.hpcc_sizes import between, percentile, queue_percentiles

COMPARED = (HPCC, DCQCN, DCTCP)
CASES = {
    "10 % + incasts": Traffic(load=0.1),
    "70 %": Traffic(load=0.7, degree=0),
    "30 to 1": Traffic(degree=30, every_us=187.5),
    "120 to 1": Traffic(degree=120, every_us=750),
    "100 KB each": Traffic(incast_kb=100, every_us=75),
    "1 MB each": Traffic(incast_kb=1000, every_us=750),
    "WebSearch, 30 % + incasts": Traffic(cdf="WebSearch"),
}
"""What differs from FB_Hadoop at 30 % with incasts of 60 to 1, 500 KB each. All incasts take 2 % of host links."""
FULL, MANY = "70 %", "120 to 1"
"""More senders than those up to which the claim excludes pauses."""


WIDE = "PFC above the whole free buffer"
LATE = ("network.buffer.pfc_alpha=1.0",)
"""Pauses only where a port holds as much as is free."""


def sweep_53(quick: bool) -> dict[Key, Change]:
    """Three schemes under each traffic; under incasts HPCC with PFC that acts later, under the largest DCTCP too."""
    span = SHORT_RUN if quick else RUN_12
    runs: dict[Key, Change] = {}
    for (name, traffic), scheme, seed in itertools.product(CASES.items(), COMPARED, seeds(quick)):
        runs[scheme, name, seed] = Change(None, (*under(scheme, traffic), *span))
        if traffic.degree and (scheme == HPCC or (scheme, name) == (DCTCP, MANY)):
            runs[scheme, name, WIDE, seed] = Change(None, (*under(scheme, traffic), *LATE, *span))
    return runs


def tails(measures: Measures, *key: str) -> float:
    """The 95th percentile of slowdowns of short messages."""
    return percentile(between(measures, key, 0, SHORT_KB), 95)


def bar_text(value: float) -> str:
    """A number short enough for a narrow bar."""
    if 0 < value < 0.01:
        return "<0.01"
    return f"{value:.3g}" if value >= 1 else f"{value:.2g}"


def draw_53(measures: Measures) -> Figure:
    """Slowdowns of short messages, and pauses, as bars."""
    figure = Figure(figsize=(12, 7.6), layout="constrained")
    first, second = figure.subplots(2, 1, sharex=True)
    for number, scheme in enumerate(COMPARED):
        places = np.arange(len(CASES)) + (number - 1) * 0.27
        colour = str(scheme_line(scheme)["color"])
        late = [tails(measures, scheme, name) for name in CASES]
        paused = [mean(pooled(measures, (scheme, name), "paused")) for name in CASES]
        for axes, values in ((first, late), (second, paused)):
            bars = axes.bar(places, values, 0.25, color=colour, label=TITLES[scheme])
            axes.bar_label(bars, [bar_text(value) for value in values], fontsize=9)
    first.set_yscale("log")
    log_ticks(first)
    first.set_ylim(0.9, 1000)
    second.set_xticks(range(len(CASES)), [name.replace(", ", "\n") for name in CASES])
    second.margins(y=0.14)
    second.set_ylim(bottom=0)
    label_axes(first, "messages up to 120 KB", "", "p95 of the slowdown", legend=False)
    label_axes(second, "PFC", "", "time that ports are paused (%)", legend=False)
    handles, labels = first.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=3, frameon=False, fontsize=10)
    figure.suptitle(
        "HPCC 5.3: other traffic than 30 % FB_Hadoop with incasts of 60 to 1 and 500 KB, 3 seeds of 1 ms", fontsize=12
    )
    return figure


def rows_53(measures: Measures) -> list[Row]:
    """Claim `hpcc-other-loads`."""
    rows = []
    for name in CASES:
        late = {scheme: tails(measures, scheme, name) for scheme in COMPARED}
        none = sum(pooled(measures, (HPCC, name), "pauses"))
        rows += [
            *Row.table(f"""
                hpcc-other-loads
                95th percentile of the slowdown up to 120 KB, {name} | lowest under HPCC
                    | {"; ".join(f"{TITLES[scheme]} {value:.2f}" for scheme, value in late.items())}
                    | lowest under HPCC | {order([late[HPCC] < late[other] for other in COMPARED[1:]])}
            """),
            Row.of(
                "hpcc-other-loads",
                f"pauses under HPCC, {name} | none | {none:.0f} | none up to 60 senders | {strict(not none)}",
                name != MANY,
            ),
        ]
    return [*rows, *rows_later(measures)]


def rows_later(measures: Measures) -> list[Row]:
    """What remains with PFC that acts later; the latency of Fig. 11 at a higher load."""
    incasts = [name for name, traffic in CASES.items() if traffic.degree]
    none = {name: sum(pooled(measures, (HPCC, name, WIDE), "pauses")) for name in incasts}
    short = {scheme: tails(measures, scheme, MANY, WIDE) for scheme in (HPCC, DCTCP)}
    late = {scheme: percentile(pooled(measures, (scheme, FULL), "packet_us"), 95) for scheme in COMPARED}
    return [
        *Row.table(f"""
            hpcc-other-loads
            pauses under HPCC with {WIDE}: {"; ".join(incasts)} | none
                | {"; ".join(f"{value:.0f}" for value in none.values())} | none | ({strict(not any(none.values()))})
            95th percentile of the slowdown up to 120 KB, {MANY}, with {WIDE} | lowest under HPCC
                | {"; ".join(f"{TITLES[scheme]} {value:.2f}" for scheme, value in short.items())} | lowest under HPCC
                | ({order([short[HPCC] < short[DCTCP]])})
        """),
        Row.of(
            "hpcc-fig11-dctcp",
            f"95th percentile of the round trip of messages of one packet, us, {FULL} instead of 50 % "
            "| HPCC less than half of DCTCP (at 50 %) "
            f"| {'; '.join(f'{TITLES[scheme]} {value:.1f}' for scheme, value in late.items())}: DCTCP "
            f"{late[DCTCP] / late[HPCC]:.2f} of HPCC | more than 2 "
            f"| ({band(late[DCTCP] / late[HPCC], 2, np.inf)})",
        ),
    ]


# Note 5: other parameters

BASE = "maxStage 5, eta 0.95"
SETTINGS = {
    BASE: ", max_stage = 5, eta = 0.95",
    "maxStage 0, eta 0.95": ", max_stage = 0, eta = 0.95",
    "maxStage 2, eta 0.95": ", max_stage = 2, eta = 0.95",
    "maxStage 5, eta 0.965": ", max_stage = 5, eta = 0.965",
    "maxStage 5, eta 0.98": ", max_stage = 5, eta = 0.98",
    "maxStage 0, eta 0.98": ", max_stage = 0, eta = 0.98",
}
"""Note 5 says that other values of eta from 95 to 98 % and of maxStage from 0 to 5 give similar results."""
ETAS = (BASE, "maxStage 5, eta 0.965", "maxStage 5, eta 0.98")
OPEN = {
    "pauses above 12.5 % of the free buffer": ("", ("network.buffer.pfc_alpha=0.125",), TRAFFICS[INCAST]),
    "pauses above 25 % of the free buffer": ("", ("network.buffer.pfc_alpha=0.25",), TRAFFICS[INCAST]),
    "T of 12 us": (', base_rtt = "12 us"', (), TRAFFICS[INCAST]),
    "T of 26 us": (', base_rtt = "26 us"', (), TRAFFICS[INCAST]),
    "T of 12 us, pauses above 12.5 %": (', base_rtt = "12 us"', ("network.buffer.pfc_alpha=0.125",), TRAFFICS[INCAST]),
    "W_AI of 800 B": (', additive_increase = "800 B"', (), TRAFFICS[INCAST]),
    "an incast's senders start within 20 us": ("", (), replace(TRAFFICS[INCAST], jitter_us=20)),
    "an incast's senders start within 100 us": ("", (), replace(TRAFFICS[INCAST], jitter_us=100)),
}
"""What the paper leaves open, or what it sets, changed one at a time."""


def sweep_note(quick: bool) -> dict[Key, Change]:
    """HPCC with each pair of parameters, and with each open choice, under 30 % and incasts."""
    span = SHORT_RUN if quick else RUN_12
    cases = {name: (keys, (), TRAFFICS[INCAST]) for name, keys in SETTINGS.items()} | OPEN
    return {
        (name, seed): Change(None, (*under(HPCC, traffic, keys), *changes, *span))
        for (name, (keys, changes, traffic)), seed in itertools.product(cases.items(), seeds(quick))
    }


LABELS = {
    "slowdown": "p95 of the slowdown,\nup to 120 KB",
    "queue": "p99 of queues,\nwhere not empty (KB)",
    "used": "payload to a receiver\nduring an incast (Gb/s)",
    "pauses": "pauses",
}


def found(measures: Measures, name: str) -> dict[str, float]:
    """The numbers of one setting."""
    return {
        "slowdown": percentile(between(measures, (name,), 0, SHORT_KB), 95),
        "queue": queue_percentiles(measures, (name,), "all ports", [99], busy=True)[0],
        "used": mean(pooled(measures, (name,), "incast_gbps")),
        "pauses": sum(pooled(measures, (name,), "pauses")),
    }


def draw_note(measures: Measures) -> Figure:
    """Each number by setting."""
    figure = Figure(figsize=(14, 5.6), layout="constrained")
    names = [*SETTINGS, *OPEN]
    numbers = {name: found(measures, name) for name in names}
    panels = figure.subplots(1, 4, sharey=True)
    for axes, what in zip(panels, numbers[BASE], strict=True):
        values = [numbers[name][what] for name in names]
        colours = [str(scheme_line(HPCC)["color"])] * len(SETTINGS) + ["#999999"] * len(OPEN)
        bars = axes.barh(range(len(names)), values, 0.7, color=colours)
        axes.bar_label(bars, [f"{value:.4g}" for value in values], fontsize=9, padding=2)
        if what == "slowdown":
            axes.set_xscale("log")
            axes.set_xlim(1, 200)
        elif what == "pauses":
            axes.set_xscale("symlog", linthresh=10)
            axes.set_xlim(0, 20_000)
        axes.margins(x=0.2)
        label_axes(axes, "", LABELS[what], "", legend=False)
    panels[0].set_yticks(range(len(names)), names)
    panels[0].invert_yaxis()
    figure.suptitle(
        "HPCC note 5: other parameters (green), and what the paper sets or leaves open, changed one at a time (grey), "
        "30 % + incast, 3 seeds of 1 ms",
        fontsize=12,
    )
    return figure


def rows_note(measures: Measures) -> list[Row]:
    """Claim `hpcc-params-insensitive`; how far the headline of Fig. 11, no pauses, depends on open choices."""
    numbers = {name: found(measures, name) for name in (*SETTINGS, *OPEN)}
    late = [numbers[name]["slowdown"] for name in SETTINGS]
    pauses = {name: numbers[name]["pauses"] for name in SETTINGS}
    used = [numbers[name]["used"] for name in ETAS]
    rows = Row.table(f"""
        hpcc-params-insensitive
        95th percentile of the slowdown up to 120 KB, largest over smallest of {len(SETTINGS)} settings | similar
            | {max(late) / min(late):.3f} ({"; ".join(f"{value:.2f}" for value in late)}) | at most 1.15
            | {band(max(late) / min(late), 1, 1.15)}
        pauses: {"; ".join(SETTINGS)} | none | {"; ".join(f"{value:.0f}" for value in pauses.values())} | none
            | {strict(not any(pauses.values()))}
        payload to a receiver during an incast, Gb/s, eta 0.95; 0.965; 0.98 | rises with eta
            | {"; ".join(f"{value:.2f}" for value in used)} | rises
            | {order([low < high for low, high in itertools.pairwise(used)])}
    """)
    for name in (BASE, *OPEN):
        numbers_of = numbers[name]
        rows += Row.table(f"""
            hpcc-fig11b-pfc
            pauses under HPCC, 30 % + incast, 1.5 ms: {"as in Fig. 11" if name == BASE else name} | none
                | {numbers_of["pauses"]:.0f} (p95 of the slowdown up to 120 KB {numbers_of["slowdown"]:.2f}) | none
                | ({strict(not numbers_of["pauses"])})
        """)
    return rows


# Note 5 on the star of section 5.4

STAR = {
    (stage, eta): (f"traffic.senders.scheme.max_stage={stage}", f"traffic.senders.scheme.eta={eta}")
    for stage, eta in ((0, 0.95), (2, 0.95), (5, 0.95), (5, 0.965), (5, 0.98), (0, 0.98))
}


def sweep_star(quick: bool) -> dict[Key, Change]:
    """Each pair of parameters; nothing is random."""
    span = "measure.window=1500 us" if quick else "measure.window=3 ms"
    return {(stage, str(eta), 1): Change(None, (*changes, span)) for (stage, eta), changes in STAR.items()}


def measure_star(result: Result) -> Measured:
    """The use of the receiver's link and the queue in KB, from 1 ms on; pauses."""
    time_us, sent = watched(result, "sent_bytes", "sw0>h0")
    after = time_us >= 1000
    used = (sent[after][-1] - sent[after][0]) * 8e-3 / (time_us[after][-1] - time_us[after][0])
    at_us, queue = queued(result)
    return {
        "used": [float(used)],
        "queue_kb": (queue[at_us >= 1000] / 1e3).tolist(),
        "pauses": [float(result.classes().select(pl.col("pauses").sum()).item())],
    }


def draw_star(measures: Measures) -> Figure:
    """The use of the link, and the distribution of the queue."""
    figure = picture(11, 4.6, "HPCC note 5: other parameters for 16 flows into one port, 100 Gb/s")
    left, right = figure.subplots(1, 2)
    for number, (stage, eta) in enumerate(STAR):
        run = measures[stage, str(eta), 1]
        name = f"maxStage {stage}, eta {eta}"
        line = indexed_line(number)
        bars = left.bar(number, run["used"][0], 0.7, color=line["color"])
        left.bar_label(bars, [f"{run['used'][0]:.1f}"], fontsize=10)
        cdf(right, run["queue_kb"], label=name, **line)
    left.set_xticks(range(len(STAR)), [f"{stage}\n{eta}" for stage, eta in STAR])
    left.set_ylim(0, 110)
    right.set_ylim(0, 1.02)
    label_axes(left, "receiver's link from 1 ms on", "maxStage and eta", "Gb/s on the wire, of 100", legend=False)
    label_axes(right, "queue from 1 ms on", "KB", "share of samples")
    return figure


def rows_star(measures: Measures) -> list[Row]:
    """Claim `hpcc-params-insensitive` on the star."""
    used = [measures[5, str(eta), 1]["used"][0] for eta in (0.95, 0.965, 0.98)]
    queue = [percentile(measures[stage, str(eta), 1]["queue_kb"], 99) for stage, eta in STAR]
    pauses = sum(run["pauses"][0] for run in measures.values())
    return Row.table(f"""
        hpcc-params-insensitive
        rate of the saturated link, Gb/s on the wire, 16 flows, eta 0.95; 0.965; 0.98 | rises with eta
            | {"; ".join(f"{value:.1f}" for value in used)} | rises
            | {order([low < high for low, high in itertools.pairwise(used)])}
        pauses on the star | none | {pauses:.0f} | none | {strict(not pauses)}
        99th percentile of the queue, KB, maxStage, eta = {"; ".join(f"{stage}, {eta}" for stage, eta in STAR)}
            | similar | {"; ".join(f"{value:.1f}" for value in queue)} | none | (calibrated)
    """)


EXPERIMENTS = (
    Experiment("hpcc-sec53", "other loads, incasts and sizes", SPEC, sweep_53, measure, draw_53, rows_53),
    Experiment("hpcc-note5", "other parameters", SPEC, sweep_note, measure, draw_note, rows_note),
    Experiment(
        "hpcc-note5-star",
        "other parameters, 16 flows into one port",
        "hpcc/fig14-additive-increase.toml",
        sweep_star,
        measure_star,
        draw_star,
        rows_star,
    ),
)
"""In the order of the paper."""
