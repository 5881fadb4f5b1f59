"""DCTCP section 4.1 on a port under two long flows: figures 1, 15 and 16."""

from __future__ import annotations

from itertools import pairwise
from math import inf

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import PercentFormatter

from fanin import Result
from fanin.plot import label_axes, scheme_line
from fanin_papers.common import cdf, mean, over_seeds, picture, points, pooled, quantile, seeds
from fanin_papers.dctcp import PACKET_BYTES, SCHEMES, under
from fanin_papers.experiment import Change, Experiment, Key, Measured, Measures, Row, band, judge, order, strict

PAYLOAD_SHARE = 1460 / PACKET_BYTES
"""The payload that a full link carries, as a share of its rate."""


def goodput_gbps(result: Result) -> float:
    """The goodput of all long flows together."""
    return float(sum(traffic["long_goodput_gbps"] for traffic in result.summary()["traffics"]))


# Fig. 1: the queue over time

SHOWN_S = 4.0
"""The part of a run that is drawn."""


def sweep_1(quick: bool) -> dict[Key, Change]:
    """Each scheme for 10 s."""
    window = "0.5 s" if quick else "10 s"
    return {
        (scheme, 2, seed): Change(None, (*under(scheme, "long"), f"measure.window={window}"))
        for scheme in SCHEMES
        for seed in seeds(quick)
    }


def measure_1(result: Result) -> Measured:
    """The queue at the receiver's port in KB, each ms, and the goodput of both flows."""
    queue = result.series()["queue_bytes"].to_numpy() / 1e3
    return {"queue_kb": queue.tolist(), "goodput_gbps": [goodput_gbps(result)]}


def draw_1(measures: Measures) -> Figure:
    """The queue over time, as the paper draws it."""
    figure = picture(8, 4.8)
    axes = figure.subplots()
    for scheme in SCHEMES:
        queue = np.asarray(measures[(scheme, 2, 1)]["queue_kb"])
        time_s = np.arange(queue.size) / 1e3
        shown = time_s <= SHOWN_S
        goodput = mean(pooled(measures, (scheme, 2), "goodput_gbps"))
        axes.plot(time_s[shown], queue[shown], label=f"{scheme} ({goodput:.3f} Gb/s)", **scheme_line(scheme))
    axes.set_xlim(0, SHOWN_S)
    axes.set_ylim(0, 900)
    axes.axhline(700, color="#888888", linewidth=1, linestyle=":", label="the paper: up to 700 KB for one port")
    label_axes(axes, "DCTCP Fig. 1: queue under two long flows, 1 Gb/s", "time (s)", "queue (KB)", legend=False)
    axes.legend(frameon=False, fontsize=10, loc="upper center", ncols=2)
    return figure


def rows_1(measures: Measures) -> list[Row]:
    """Claim `dctcp-fig1-queue`."""
    claim = "dctcp-fig1-queue"
    queue = {scheme: pooled(measures, (scheme, 2), "queue_kb") for scheme in SCHEMES}
    highest, lowest = max(queue["newreno"]), min(queue["newreno"])
    packets = max(queue["dctcp"]) * 1e3 / PACKET_BYTES
    return [
        *Row.table(f"""
            {claim}
            newreno: highest queue, KB | about 700 | {judge("band", highest, ".0f", "600 to 720")}
            newreno: lowest queue as a share of the highest | a sawtooth | {lowest / highest:.2f} | below 0.8
                | {strict(lowest < 0.8 * highest)}
            dctcp: highest queue, packets | small and flat | {packets:.0f} | at most K + N + 5 = 27
                | {band(packets, 0, 27)}
        """),
        *(
            Row.of(
                claim,
                f"{scheme}: goodput, Gb/s | 0.95 | {over_seeds(measures, (scheme, 2), 'goodput_gbps'):.3f} "
                f"| at least 0.94 | {band(over_seeds(measures, (scheme, 2), 'goodput_gbps'), 0.94, inf)}",
            )
            for scheme in SCHEMES
        ),
    ]


# Fig. 15: throughput over the threshold

THRESHOLDS = {1: (5, 10, 20, 40), 10: (5, 10, 20, 30, 40, 50, 65, 80, 100, 120)}
"""Packets, by the rate of the link in Gb/s."""
SINGLE, BURSTS = "packet by packet", "bursts of up to 35 packets"
SENDING = {SINGLE: (), BURSTS: (f"traffic.long.tcp.offload={35 * 1460} B",)}
"""How hosts send: as the ACK of each second packet allows, or up to 35 packets back to back by segmentation offload, as
section 3.5 says of hosts at 10 Gb/s."""


def threshold_name(scheme: str, gbps: int, sending: str) -> str:
    """Names the runs of one curve."""
    return f"{scheme}, {gbps} Gb/s, {sending}"


def sweep_15(quick: bool) -> dict[Key, Change]:
    """Each threshold at 10 Gb/s with both ways of sending, and at 1 Gb/s."""
    short = ("measure.warm_up=50 ms", "measure.window=50 ms") if quick else ()
    runs: dict[Key, Change] = {}
    for gbps, sending in ((1, SINGLE), (10, SINGLE), (10, BURSTS)):
        for scheme in SCHEMES:
            for k in THRESHOLDS[gbps] if scheme == "dctcp" else (0,):
                marking = (f"network.marking.above={k * PACKET_BYTES} B",) if k else ()
                changes = (f"network.topology.link={gbps} Gbps", *under(scheme, "long"), *SENDING[sending], *marking)
                for seed in seeds(quick):
                    runs[threshold_name(scheme, gbps, sending), k, seed] = Change(None, (*changes, *short))
    return runs


def measure_15(result: Result) -> Measured:
    """The goodput of both flows."""
    return {"goodput_gbps": [goodput_gbps(result)]}


def throughput(measures: Measures, scheme: str, gbps: int, sending: str) -> dict[int, float]:
    """Mean goodput in Gb/s by threshold; TCP's is at 0."""
    name = threshold_name(scheme, gbps, sending)
    return {k: over_seeds(measures, (name, k), "goodput_gbps") for k in points(measures, name)}


def draw_15(measures: Measures) -> Figure:
    """Throughput over the threshold at both rates."""
    figure = picture(11, 4.8, "DCTCP Fig. 15: two long flows, RTT 100 us")
    for axes, gbps in zip(figure.subplots(1, 2), (1, 10), strict=True):
        for sending, line in ((SINGLE, "-"), (BURSTS, "--")):
            found = throughput(measures, "dctcp", gbps, sending)
            if not found:
                continue
            tcp = throughput(measures, "newreno", gbps, sending)[0]
            below = scheme_line("newreno") | {"linestyle": line, "linewidth": 3.5}
            axes.axhline(tcp, label=f"newreno, {sending}", **below)
            shown = scheme_line("dctcp") | {"linestyle": line}
            axes.plot(list(found), list(found.values()), marker="o", markersize=4, label=f"dctcp, {sending}", **shown)
        axes.set_xlim(left=0)
        axes.set_ylim(0, 1.09 * gbps)
        label_axes(axes, f"{gbps} Gb/s", "marking threshold K (packets)", "goodput (Gb/s)", legend=False)
        axes.legend(frameon=False, fontsize=10, loc="lower right")
    return figure


def rows_15(measures: Measures) -> list[Row]:
    """Claims `dctcp-fig15-k10g`, `dctcp-sec35-burst-k` and `dctcp-fig14-k-insensitive`."""
    slow = throughput(measures, "dctcp", 1, SINGLE)
    worst = min(slow.values()) / slow[40]
    return [
        *Row.table(f"""
            dctcp-fig14-k-insensitive
            1 Gb/s: least goodput at K = 5, 10, 20 over that at K = 40 | insensitive | {worst:.4f} | at least 0.98
                | {band(worst, 0.98, inf)}
        """),
        *(row for sending in SENDING for row in rows_15_fig(measures, sending)),
        *rows_15_bursts(measures),
    ]


def rows_15_fig(measures: Measures, sending: str) -> list[Row]:
    """Claim `dctcp-fig15-k10g` with one way of sending."""
    claim, judged = "dctcp-fig15-k10g", sending == BURSTS
    found = throughput(measures, "dctcp", 10, sending)
    tcp = throughput(measures, "newreno", 10, sending)[0]
    high = min(rate for k, rate in found.items() if k >= 65) / tcp
    low = max(rate for k, rate in found.items() if k <= 10) / tcp
    rates = list(found.values())
    rising = [after >= 0.99 * before for before, after in pairwise(rates)]
    return Row.table(
        f"""
        {claim}
        {sending}: K from 65 on, least goodput dctcp / newreno | 1 | {high:.4f} | at least 0.99
            | {band(high, 0.99, inf)}
        {sending}: K up to 10, largest goodput dctcp / newreno | below 1 | {low:.4f} (K = 5: {found[5] / tcp:.4f})
            | at most 0.97 | {strict(low <= 0.97)}
        {sending}: goodput grows with K, within 1 % | always | {sum(rising)} of {len(rising)} steps | always
            | {order(rising)}
        """,
        judged,
    )


def rows_15_bursts(measures: Measures) -> list[Row]:
    """Claim `dctcp-sec35-burst-k`."""
    claim = "dctcp-sec35-burst-k"
    full = 10 * PAYLOAD_SHARE
    lost = {
        sending: {
            k: max(0.0, 100 * (1 - rate / full)) for k, rate in throughput(measures, "dctcp", 10, sending).items()
        }
        for sending in SENDING
    }
    single, burst = lost[SINGLE][20], lost[BURSTS][20]
    high = max(loss for k, loss in lost[BURSTS].items() if k >= 65)
    wait_us = [10 * 1500 * 8 / (gbps * 1e3) for gbps in (1, 10)]
    return Row.table(f"""
        {claim}
        {SINGLE}: goodput lost at K = 20, % | none | {judge("strict", single, ".2f", "below 1")}
        {BURSTS}: goodput lost at K = 20, % | some: K above 60 is needed
            | {burst:.2f} (K = 5, 10: {lost[BURSTS][5]:.1f}, {lost[BURSTS][10]:.1f}) | above 2 | {strict(burst > 2)}
        {BURSTS}: most goodput lost from K = 65 on, % | none | {judge("strict", high, ".2f", "below 1")}
        10 packets of 1,500 B at 1 and 10 Gb/s, us | 120, 12 | {wait_us[0]:.0f}, {wait_us[1]:.0f} | equal
            | {strict(wait_us == [120, 12])}
    """)


# Fig. 16: RED


def red(low: int, high: int) -> str:
    """RED with these thresholds in packets, as its paper has it: no gentle part, p / (1 - count p)."""
    return (
        f'network.marking={{ kind = "red-average", min = "{low * PACKET_BYTES} B", max = "{high * PACKET_BYTES} B", '
        f"probability = 0.1, weight = {2**-9}, gentle = false, wait = false }}"
    )


RED_A, RED_B = "newreno-ecn, RED 50 to 150", "newreno-ecn, RED 150 to 450"
MARKERS = {"dctcp": ("dctcp", ()), RED_A: ("newreno-ecn", (red(50, 150),)), RED_B: ("newreno-ecn", (red(150, 450),))}
"""Scheme and marking by the names of curves."""


def sweep_16(quick: bool) -> dict[Key, Change]:
    """DCTCP and both settings of RED, with both ways of sending."""
    short = ("measure.warm_up=50 ms", "measure.window=100 ms") if quick else ()
    return {
        (name, sending, seed): Change(None, (*under(scheme, "long"), *marking, *changes, *short))
        for name, (scheme, marking) in MARKERS.items()
        for sending, changes in SENDING.items()
        for seed in seeds(quick)
    }


def measure_16(result: Result) -> Measured:
    """The queue in packets, and the goodput of both flows."""
    queue = result.series()["queue_bytes"].to_numpy() / PACKET_BYTES
    return {"queue_packets": queue.tolist(), "goodput_gbps": [goodput_gbps(result)]}


def draw_16(measures: Measures) -> Figure:
    """Cumulative distribution of the queue, as the paper draws it, for each way of sending."""
    figure = picture(11, 4.8, "DCTCP Fig. 16: queue at a 10 Gb/s port under two long flows")
    for axes, sending in zip(figure.subplots(1, 2), SENDING, strict=True):
        draw_16_panel(axes, measures, sending)
    return figure


def draw_16_panel(axes: Axes, measures: Measures, sending: str) -> None:
    """One way of sending."""
    for name, (scheme, _) in MARKERS.items():
        goodput = mean(pooled(measures, (name, sending), "goodput_gbps"))
        label = f"{'dctcp, K = 65' if scheme == 'dctcp' else name} ({goodput:.2f} Gb/s)"
        queue = pooled(measures, (name, sending), "queue_packets")
        dotted = {"linestyle": ":"} if name == RED_A else {}
        cdf(axes, queue, label=label, **(scheme_line(scheme) | dotted))
    axes.set_xlim(0, 300)
    axes.set_ylim(0, 1.02)
    axes.yaxis.set_major_formatter(PercentFormatter(xmax=1.0))
    label_axes(axes, sending, "queue (packets)", "share of samples", legend=False)
    axes.legend(frameon=False, fontsize=9, loc="lower right")


def rows_16(measures: Measures) -> list[Row]:
    """Claim `dctcp-fig16-red` with bursts, as section 3.5 has the hosts; packet by packet beside it."""
    rows = []
    for sending in SENDING:
        judged = sending == BURSTS
        goodput = {name: over_seeds(measures, (name, sending), "goodput_gbps") for name in MARKERS}
        queue = {name: pooled(measures, (name, sending), "queue_packets") for name in MARKERS}
        shown = [goodput[name] for name in (RED_A, RED_B, "dctcp")]
        a, b, dctcp = (round(one, 3) for one in shown)
        tail = quantile(queue[RED_B], 0.95) / quantile(queue["dctcp"], 0.95)
        spread = float(np.std(queue[RED_B]) / np.std(queue["dctcp"]))
        what = Row.table(
            f"""
            dctcp-fig16-red
            {sending}: goodput of RED 50 to 150, Gb/s | 7.8 | {shown[0]:.2f} | 6.5 to 9 | {band(a, 6.5, 9)}
            {sending}: goodput of RED 50 to 150, RED 150 to 450, dctcp, Gb/s | 7.8, 9.2, 9.2
                | {", ".join(f"{one:.3f}" for one in shown)}
                | the first below the second, which is not above the third | {order([a < b, b <= dctcp])}
            {sending}: p95 queue of RED 150 to 450 / dctcp | often 2 | {tail:.2f} | at least 1.6
                | {band(tail, 1.6, inf)}
            {sending}: standard deviation of the queue, RED 150 to 450 / dctcp | wide oscillations | {spread:.1f}
                | above 2 | {strict(spread > 2)}
            """,
            judged,
        )
        rows += what
    return rows


EXPERIMENTS = (
    Experiment(
        "dctcp-fig1", "queue over time under long flows", "dctcp/fig14-queue.toml", sweep_1, measure_1, draw_1, rows_1
    ),
    Experiment(
        "dctcp-fig15",
        "throughput over the marking threshold",
        "dctcp/fig15-threshold.toml",
        sweep_15,
        measure_15,
        draw_15,
        rows_15,
    ),
    Experiment("dctcp-fig16", "RED beside DCTCP", "dctcp/fig16-red.toml", sweep_16, measure_16, draw_16, rows_16),
)
