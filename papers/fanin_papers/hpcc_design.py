"""HPCC's design choices: rates from what is sent (Fig. 6), reactions (Fig. 13), and the additive increase (Fig. 14)."""

from __future__ import annotations

import itertools

import numpy as np
from matplotlib.figure import Figure

from fanin import Result
from fanin.measures import jain
from fanin.plot import indexed_line, label_axes, scheme_line, shades
from fanin_papers.common import cdf, picture
from fanin_papers.experiment import Change, Experiment, Key, Measured, Measures, Row, band, judge, order
from fanin_papers.hpcc_runs import HPCC_PACKET, longest_queue, paused_and_dropped, queued, watched

LINE_GBPS = 100.0

# Fig. 6: the rate of a link from what it sent or from what arrived

RATES = {"hpcc": "txRate", "hpcc-rxrate": "rxRate"}
LOW = 2000
"""A queue of at most so many bytes counts as drained."""


def sweep_6(quick: bool) -> dict[Key, Change]:
    """Both kinds of rate. Nothing is random."""
    del quick  # it takes a second
    return {(scheme, 1): Change(scheme) for scheme in RATES}


def measure_6(result: Result) -> Measured:
    """The queue over time; how often it is above 2 KB again after it was first drained; and when for the last time."""
    time_us, queue = queued(result)
    after = queue[int(np.argmax(queue > LOW)) :]
    high = after[int(np.argmax(after <= LOW)) :] > LOW
    peaks = int((high[1:] & ~high[:-1]).sum())
    settled = time_us[np.flatnonzero(queue > LOW)[-1]]
    return {
        "time_us": time_us.tolist(),
        "queue_kb": (queue / 1e3).tolist(),
        "peaks": [float(peaks)],
        "settled_us": [float(settled)],
    }


def draw_6(measures: Measures) -> Figure:
    """The queue over time."""
    figure = picture(8, 4.6, "HPCC Fig. 6: two flows into one port at 100 Gb/s, 1 us per link")
    axes = figure.subplots()
    for scheme, said in RATES.items():
        run = measures[scheme, 1]
        axes.plot(
            run["time_us"], run["queue_kb"], label=f"{said} ({scheme})", **{**scheme_line(scheme), "linewidth": 1.4}
        )
    axes.set_xlim(95, 140)
    axes.set_ylim(0, None)
    label_axes(axes, "the queue after the second flow joins at 100 us", "time (us)", "KB")
    return figure


def rows_6(measures: Measures) -> list[Row]:
    """Claim `hpcc-fig6-txrate`."""
    claim = "hpcc-fig6-txrate"
    (tx, rx), (early, late) = ([measures[scheme, 1][name][0] for scheme in RATES] for name in ("peaks", "settled_us"))
    what = "times that the queue is above 2 KB again after it first drained"
    return Row.table(f"""
        {claim}
        {what}: txRate | no oscillation | {judge("strict", tx, ".0f", "at most 1")}
        {what}: rxRate | oscillates | {judge("strict", rx, ".0f", "at least 2")}
        last time that the queue is above 2 KB, us: txRate; rxRate | txRate converges earlier
            | {early:.1f}; {late:.1f} | txRate before rxRate | {order([early < late])}
    """)


# Fig. 13: reactions to every ACK, once per round trip, and both with a reference window

REACTIONS = {"hpcc-per-ack": "per-ACK", "hpcc-per-rtt": "per-RTT", "hpcc": "HPCC"}
BIN_US = 5.0


def sweep_13(quick: bool) -> dict[Key, Change]:
    """The three reactions. All flows start together, so nothing is random."""
    del quick  # it takes a second
    return {(name, 1): Change(None, (f"traffic.senders.scheme.id={name}",)) for name in REACTIONS}


def measure_13(result: Result) -> Measured:
    """Throughput in bins of 5 us and the queue over time; the peak in KB, when the queue is below a tenth of it, and
    the least throughput from the next bin on."""
    time_us, queue = queued(result)
    at_us, sent = watched(result, "sent_bytes", "sw0>h0")
    used = np.diff(sent) * 8e-3 / np.diff(at_us) / LINE_GBPS
    peak = longest_queue(result, "sw0>h0")
    top = int(np.argmax(queue))
    gone_us = time_us[top + int(np.argmax(queue[top:] < peak / 10))]
    return {
        "time_us": time_us.tolist(),
        "queue_kb": (queue / 1e3).tolist(),
        "bin_us": at_us[:-1].tolist(),
        "used": used.tolist(),
        "peak_kb": [peak / 1e3],
        "drained_us": [float(gone_us)],
        "least": [float(used[int(gone_us / BIN_US) + 1 :].min())],
        "pauses and drops": paused_and_dropped(result),
    }


def draw_13(measures: Measures) -> Figure:
    """Throughput and queue over time, as in the paper."""
    figure = picture(11, 4.6, "HPCC Fig. 13: 16 flows start together into one port, 100 Gb/s, T = 4 us")
    left, right = figure.subplots(1, 2)
    for name, said in REACTIONS.items():
        run, line = measures[name, 1], {**scheme_line(name), "linewidth": 1.5}
        left.step(run["bin_us"], 100 * np.array(run["used"]), where="post", label=said, **line)
        right.plot(run["time_us"], run["queue_kb"], label=said, **line)
    left.set_ylim(0, 105)
    right.set_ylim(0, None)
    for axes in (left, right):
        axes.set_xlim(0, 300)
    label_axes(left, "(a) throughput in bins of 5 us", "time (us)", "share of the link (%)", legend=False)
    label_axes(right, "(b) queue", "time (us)", "KB")
    return figure


def rows_13(measures: Measures) -> list[Row]:
    """Claim `hpcc-fig13-overreaction`."""
    blind, late, hpcc = (measures[name, 1] for name in REACTIONS)
    peak, drained = hpcc["peak_kb"][0], hpcc["drained_us"][0]
    at_line = peak * 8 / LINE_GBPS
    slow = late["drained_us"][0]
    least = "least throughput in 5 us once the first queue has drained, of the link"
    gone = "time until the queue is below a tenth of its peak, us"
    payload = peak * 1000 / HPCC_PACKET
    return Row.table(f"""
        hpcc-fig13-overreaction
        {least}: per-ACK | almost 0 | {blind["least"][0]:.2f} | below 0.3 | {order([blind["least"][0] < 0.3])}
        {least}: HPCC | no overreaction | {hpcc["least"][0]:.2f} | above 0.7 | {order([hpcc["least"][0] > 0.7])}
        {gone}: HPCC; per-RTT | HPCC drains fast, per-RTT has it for long | {drained:.1f}; {slow:.1f}
            | HPCC at most 0.8 of per-RTT | {order([drained <= 0.8 * slow])}
        {gone}: HPCC, over what the line takes for the peak | as fast as it can | {drained / at_line:.2f} | at most 1.3
            | {order([drained <= 1.3 * at_line])}
        highest queue under HPCC, KB on the wire | 16 windows of 50 KB, less what leaves | {peak:.0f} | 500 to 800
            | {band(peak, 500, 800)}
        the same in KB of payload, as windows count | 16 windows of 50 KB, less what leaves | {payload:.0f} | 500 to 800
            | ({band(payload, 500, 800)})
    """)


# Fig. 14: the additive increase

INCREASES = (25, 50, 100, 150, 300)
WITHIN = 150
"""The largest additive increase that 16 flows sustain: W_init (1 - eta)/16 = 156 B (3.3)."""


def sweep_14(quick: bool) -> dict[Key, Change]:
    """Each additive increase. All flows start together, so nothing is random."""
    short = ("measure.window=3 ms",) if quick else ()
    return {
        ("hpcc", size, 1): Change(None, (f"traffic.senders.scheme.additive_increase={size} B", *short))
        for size in INCREASES
    }


def measure_14(result: Result) -> Measured:
    """The queue in KB from 1 ms on, the rates of flows in Gb/s, and Jain's index of all that they delivered."""
    time_us, queue = queued(result)
    arrived = [watched(result, "delivered_bytes", f"senders:{number}") for number in range(16)]
    bins = [np.diff(values, prepend=0.0) * 8e-3 / np.diff(at, prepend=0.0) for at, values in arrived]
    return {
        "queue_kb": (queue[time_us > 1000] / 1e3).tolist(),
        "time_ms": (arrived[0][0] / 1e3).tolist(),
        **{f"rate {number}": rate.tolist() for number, rate in enumerate(bins)},
        "jain": [jain(values[-1] for _, values in arrived) or 0.0],
    }


def draw_14(measures: Measures) -> Figure:
    """The rates of the flows with the smallest and largest increase that are within bounds, and queues."""
    figure = picture(14, 4.6, "HPCC Fig. 14: 16 flows into one port, 100 Gb/s, T = 4 us")
    first, second, third = figure.subplots(1, 3)
    for axes, size in ((first, INCREASES[0]), (second, WITHIN)):
        run = measures["hpcc", size, 1]
        for number, colour in enumerate(shades(str(scheme_line("hpcc")["color"]), 16)):
            axes.plot(run["time_ms"], run[f"rate {number}"], color=colour, linewidth=0.9)
        axes.set_ylim(0, 12)
        title = f"(a) flows with W_AI = {size} B: Jain {run['jain'][0]:.4f}"
        label_axes(axes, title, "time (ms)", "payload in 100 us (Gb/s)")
    for number, size in enumerate(INCREASES):
        cdf(third, measures["hpcc", size, 1]["queue_kb"], label=f"{size} B", **indexed_line(number))
    third.axhline(0.95, color="#888888", linewidth=1, linestyle=":")
    third.set_ylim(0, 1.02)
    third.set_xlim(0, None)
    label_axes(third, "(b) queue, each 1 us from 1 ms on", "KB", "share of time")
    return figure


def rows_14(measures: Measures) -> list[Row]:
    """Claim `hpcc-fig14-wai`."""
    claim = "hpcc-fig14-wai"
    queue = {size: float(np.percentile(measures["hpcc", size, 1]["queue_kb"], 95)) for size in INCREASES}
    within = [size for size in INCREASES if size <= WITHIN]
    even = [measures["hpcc", size, 1]["jain"][0] for size in within]
    highest = max(queue[size] for size in within)
    return Row.table(f"""
        {claim}
        {"95th percentile of the queue, KB, W_AI = " + ", ".join(map(str, within)) + " B"} | at most 4
            | {", ".join(f"{queue[size]:.1f}" for size in within)} | at most 5 each | {band(highest, 0, 5)}
        the same, W_AI = 300 B | 13 | {judge("band", queue[300], ".1f", "6 to 25")}
        Jain's index of 10 ms, W_AI = {", ".join(map(str, within))} B | larger is fairer
            | {", ".join(f"{value:.5f}" for value in even)} | rises
            | {order([low < high for low, high in itertools.pairwise(even)])}
    """)


EXPERIMENTS = (
    Experiment("hpcc-fig6", "txRate and rxRate", "hpcc/fig6-txrate.toml", sweep_6, measure_6, draw_6, rows_6),
    Experiment(
        "hpcc-fig13",
        "reactions per ACK, per round trip, and HPCC's",
        "hpcc/fig13-reactions.toml",
        sweep_13,
        measure_13,
        draw_13,
        rows_13,
    ),
    Experiment(
        "hpcc-fig14",
        "the additive increase",
        "hpcc/fig14-additive-increase.toml",
        sweep_14,
        measure_14,
        draw_14,
        rows_14,
    ),
)
"""In the order of the paper."""
