"""HPCC Fig. 9: four small experiments on the testbed, HPCC beside DCQCN."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure

from fanin import Result
from fanin.measures import jain
from fanin.plot import indexed_line, label_axes, scheme_line, shades
from fanin.style import styles_of
from fanin_papers.common import cdf, mean, over_seeds, picture, pooled
from fanin_papers.experiment import Change, Experiment, Key, Measured, Measures, Row, band, judge, order
from fanin_papers.hpcc_runs import (
    DCQCN,
    FIVE,
    HPCC,
    OWN,
    TITLES,
    paused_and_dropped,
    queued,
    spread,
    sweep_testbed,
    watched,
)

LINE_GBPS = 25.0
BOTH = (HPCC, DCQCN)

# Fig. 9(a,b): a long flow, and a short one that joins it

BIN = 2
"""Samples of 5 us in the 10 us over which a rate is measured."""
SOLO_US = (500.0, 1000.0)
"""When the long flow is alone and has settled."""


def sweep_ab(quick: bool) -> dict[Key, Change]:
    """Both schemes."""
    return sweep_testbed(quick, BOTH, "long", "short")


def measure_ab(result: Result) -> Measured:
    """The rates of both senders in Gb/s on the wire, the end of the short flow, and when the long flow is back at 95 %
    of its rate alone.

    The rates are those at which senders send: at the receiver what the queue still holds of the long flow keeps it at
    line rate for a while, whatever its sender does.
    """
    time_us, sent = watched(result, "sent_bytes", "h1>sw0")
    rate = (sent[BIN:] - sent[:-BIN]) * 8e-3 / (time_us[BIN:] - time_us[:-BIN])
    begin_us = time_us[:-BIN]
    short = watched(result, "sent_bytes", "h2>sw0")[1]
    alone = [float(np.interp(at, time_us, sent)) for at in SOLO_US]
    solo = (alone[1] - alone[0]) * 8e-3 / (SOLO_US[1] - SOLO_US[0])
    flow = result.flows().filter(result.flows()["traffic"] == "short").row(0, named=True)
    end_us = (flow["start_ps"] + flow["completion_ps"]) / 1e6
    back = np.flatnonzero((begin_us >= end_us) & (rate >= 0.95 * solo))
    # Not within the run: at least the rest of it.
    recovered = begin_us[back[0]] + 10.0 - end_us if back.size else time_us[-1] - end_us
    return {
        "time_us": begin_us.tolist(),
        "long": rate.tolist(),
        "short": ((short[BIN:] - short[:-BIN]) * 8e-3 / 10.0).tolist(),
        "end_us": [end_us],
        "solo": [solo / LINE_GBPS],
        "recovered_us": [float(recovered)],
    }


def draw_ab(measures: Measures) -> Figure:
    """The rates of both senders over time."""
    figure = picture(11, 4.6, "HPCC Fig. 9(a,b): a flow of 1 MB joins a long flow on a link of 25 Gb/s")
    for axes, scheme, letter in zip(figure.subplots(1, 2, sharey=True), BOTH, "ab", strict=True):
        run = measures[scheme, 1]
        colours = shades(str(scheme_line(scheme)["color"]), 2)[::-1]
        for name, colour, label in zip(("short", "long"), colours, ("flow of 1 MB", "long flow"), strict=True):
            # The mean over 50 us, at its middle.
            smooth = np.convolve(run[name], np.ones(9) / 9, mode="valid")
            time_ms = np.array(run["time_us"][4:-4]) / 1e3 + 0.005
            axes.plot(time_ms, smooth, color=colour, linewidth=1.4, label=label)
        axes.axvline(run["end_us"][0] / 1e3, color="#888888", linewidth=1, linestyle=":", label="end of the short flow")
        axes.set_ylim(0, 28)
        axes.set_xlim(0, 8)
        recovered = mean(pooled(measures, (scheme,), "recovered_us"))
        title = f"({letter}) {TITLES[scheme]}: back after {recovered:,.0f} us"
        label_axes(axes, title, "time (ms)", "sent in 50 us (Gb/s)", legend=False)
        axes.legend(frameon=False, fontsize=10, loc="lower right")
    return figure


def rows_ab(measures: Measures) -> list[Row]:
    """Claim `hpcc-fig9ab-longshort`."""
    hpcc, dcqcn = (pooled(measures, (scheme,), "recovered_us") for scheme in BOTH)
    solo = pooled(measures, (HPCC,), "solo")
    what = "time from the end of the short flow until the long flow sends at 95 % of its rate alone, us"
    return Row.table(f"""
        hpcc-fig9ab-longshort
        {what}: HPCC | at once | {spread(hpcc)} | at most 110 (20 RTT) | {band(mean(hpcc), 0, 110)}
        {what}: DCQCN | not in 2,000 | {spread(dcqcn, ",.0f")} | above 2,000 in the mean over seeds
            | {band(mean(dcqcn), 2000, np.inf)}
        rate of HPCC's long flow alone, of the capacity | full line rate (eta = 0.95) | {spread(solo, ".3f")}
            | 0.92 to 0.96 | {band(mean(solo), 0.92, 0.96)}
    """)


# Fig. 9(c,d): an incast


def sweep_cd(quick: bool) -> dict[Key, Change]:
    """Both schemes."""
    return sweep_testbed(quick, BOTH, "long", "incast")


def measure_cd(result: Result) -> Measured:
    """The queue over time, its peak in KB, and the time from there until it is below 10 KB."""
    time_us, queue = queued(result)
    # The latest of several equal peaks.
    top = queue.size - 1 - int(np.argmax(queue[::-1]))
    gone = np.flatnonzero(queue[top:] < 10_000)
    return {
        "time_us": time_us.tolist(),
        "queue_kb": (queue / 1e3).tolist(),
        "peak_kb": [float(queue[top]) / 1e3],
        "drained_us": [float(time_us[top + gone[0]] - time_us[top]) if gone.size else float("inf")],
        "pauses and drops": paused_and_dropped(result),
    }


def draw_cd(measures: Measures) -> Figure:
    """The queue over time."""
    figure = picture(11, 4.6, "HPCC Fig. 9(c,d): seven flows of 500 KB join a long flow at once, 25 Gb/s, seed 1")
    whole, begin = figure.subplots(1, 2)
    for axes, until in ((whole, 3.5), (begin, 0.8)):
        for scheme in BOTH:
            run = measures[scheme, 1]
            line = {**scheme_line(scheme), "linestyle": "-", "linewidth": 1.3}
            axes.plot(np.array(run["time_us"]) / 1e3, run["queue_kb"], label=TITLES[scheme], **line)
        axes.axhline(550, color="#888888", linewidth=1, linestyle=":", label="the paper's highest of DCQCN, 550 KB")
        axes.set_xlim(0.4 if axes is begin else 0, until)
        axes.set_ylim(0, None)
    label_axes(whole, "the queue at the receiver's port", "time (ms)", "KB", legend=False)
    label_axes(begin, "the same, the beginning", "time (ms)", "KB", legend=False)
    begin.legend(frameon=False, fontsize=9.5, loc="upper right")
    return figure


def rows_cd(measures: Measures) -> list[Row]:
    """Claim `hpcc-fig9cd-incast`."""
    hpcc, dcqcn = (pooled(measures, (scheme,), "peak_kb") for scheme in BOTH)
    drained = pooled(measures, (HPCC,), "drained_us")
    return Row.table(f"""
        hpcc-fig9cd-incast
        highest queue, KB: HPCC | low | {spread(hpcc)} | at most 230 | {band(mean(hpcc), 0, 230)}
        time from the peak until the queue is below 10 KB, us: HPCC | quickly | {spread(drained)} | at most 108 (20 RTT)
            | {band(mean(drained), 0, 108)}
        highest queue, KB: DCQCN | 550 | {spread(dcqcn)} | 300 to 900 | {band(mean(dcqcn), 300, 900)}
        highest queue: HPCC below DCQCN, each seed | lower | {mean(hpcc) / mean(dcqcn):.2f} of it | below
            | {order([max(hpcc) < peak for peak in dcqcn])}
    """)


# Fig. 9(e,f): mice beside two elephants

MICE = (HPCC, DCQCN, FIVE, OWN)


def sweep_ef(quick: bool) -> dict[Key, Change]:
    """Both schemes, DCQCN with F = 5, and DCQCN with its paper's parameters; mice every 100 us."""
    short = ("measure.window=5 ms",) if quick else ()
    return sweep_testbed(quick, MICE, "elephants", "mice", more=short)


def measure_ef(result: Result) -> Measured:
    """The times of mice in us, from the post to the ACK at the sender, and the queue in KB from 100 ms on."""
    flows = result.flows()
    took = flows.filter((flows["traffic"] == "mice") & flows["acked_ps"].is_not_null())["acked_ps"].to_numpy() / 1e6
    time_us, queue = queued(result)
    return {"took_us": took.tolist(), "queue_kb": (queue[time_us >= 100_000] / 1e3).tolist()}


def draw_ef(measures: Measures) -> Figure:
    """The distributions of latency and of the queue."""
    figure = picture(11, 4.6, "HPCC Fig. 9(e,f): mice of 1 KB through a link that two elephants saturate, 25 Gb/s")
    left, right = figure.subplots(1, 2, sharey=True)
    for axes, name in ((left, "took_us"), (right, "queue_kb")):
        for scheme, style in styles_of(MICE).items():
            shown = {"label": TITLES[scheme], "linewidth": 1.8, **style.for_matplotlib()}
            cdf(axes, pooled(measures, (scheme,), name), **shown)
        axes.set_ylim(0, 1.02)
        axes.set_xlim(0, None)
    left.axvline(5.4, color="#888888", linewidth=1, linestyle=":", label="the paper: HPCC close to 5.4 us")
    left.axvline(35, color="#888888", linewidth=1, linestyle="-.", label="DCQCN always above 35 us")
    label_axes(left, "(e) latency of mice", "us", "share of mice at most so long", legend=False)
    left.legend(
        *[part[-2:] for part in left.get_legend_handles_labels()], frameon=False, fontsize=10, loc="lower right"
    )
    label_axes(right, "(f) queue", "KB", "share of time")
    return figure


def rows_ef(measures: Measures) -> list[Row]:
    """Claim `hpcc-fig9ef-mice`; beside it DCQCN with F = 5 and with its paper's parameters."""
    took = {scheme: np.array(pooled(measures, (scheme,), "took_us")) for scheme in MICE}
    rows = [
        Row.of(
            "hpcc-fig9ef-mice",
            f"latency of mice, us, {said}: HPCC | close to 5.4 | {np.percentile(took[HPCC], share):.1f} "
            f"| at most {most} | {band(float(np.percentile(took[HPCC], share)), 0, most)}",
        )
        for said, share, most in (("median", 50, 7), ("99th percentile", 99, 10))
    ]
    for scheme in MICE[1:]:
        low, middle = np.percentile(took[scheme], [5, 50])
        judged = scheme == DCQCN
        rows += Row.table(
            f"""
            hpcc-fig9ef-mice
            latency of mice, us, 5th percentile: {TITLES[scheme]} | always above 35 | {low:.1f} | above 25
                | {band(float(low), 25, np.inf)}
            latency of mice, us, median: {TITLES[scheme]} | above 35 | {middle:.1f} | 30 to 80
                | {band(float(middle), 30, 80)}
            """,
            judged,
        )
    return rows


# Fig. 9(g,h): fairness of flows that join and leave

FLOWS = ("f1", "f2", "f3", "f4")
EVEN = 0.95
"""Jain's index from which a window counts as fair."""
SETTLED = 0.1
"""Windows count from so much of a step after each change on: 100 ms of the paper's second."""


def sweep_gh(quick: bool) -> dict[Key, Change]:
    """Both schemes, HPCC with the paper's steps of one second, or of 50 ms in the short version."""
    if not quick:
        return sweep_testbed(quick, BOTH, *FLOWS)
    sizes = ("280.1 MB", "190.475 MB", "190.475 MB", "280.1 MB")
    short = [f"traffic.{flow}.size.fixed={size}" for flow, size in zip(FLOWS, sizes, strict=True)]
    begin = [f"traffic.{flow}.start={50 * number} ms" for number, flow in enumerate(FLOWS)]
    return sweep_testbed(quick, BOTH, *FLOWS, more=(*short, *begin, "measure.window=600 ms"))


def measure_gh(result: Result) -> Measured:
    """The rate of each flow in each 10 ms in Gb/s of payload; Jain's index and the share of the link that is used in
    the windows that count."""
    flows = result.flows().sort("start_ps")
    begin_s = flows["start_ps"].to_numpy() / 1e12
    took_s = flows["completion_ps"].cast(float).fill_null(np.inf).to_numpy() / 1e12
    end_s = begin_s + took_s
    time_us, sent = watched(result, "sent_bytes", "sw0>h0")
    rates = np.array([np.diff(watched(result, "delivered_bytes", flow)[1]) * 8e-9 / 0.01 for flow in FLOWS])
    used = np.diff(sent) * 8e-9 / 0.01 / LINE_GBPS
    at_s = time_us[:-1] / 1e6
    changes = np.sort(np.concatenate([begin_s, end_s[np.isfinite(end_s)]]))
    fair, full = [], []
    for window, at in enumerate(at_s[: rates.shape[1]]):
        active = (begin_s <= at) & (end_s >= at + 0.01)
        past = changes[changes < at + 0.01]
        if active.any() and past.size and at >= past[-1] + SETTLED * begin_s[1]:
            fair.append(jain(rates[active, window]) or 0.0)
            full.append(float(used[window]))
    found = {flow: rates[number].tolist() for number, flow in enumerate(FLOWS)}
    return {**found, "time_s": at_s[: rates.shape[1]].tolist(), "jain": fair, "used": full}


def draw_gh(measures: Measures) -> Figure:
    """The rates of the four flows over time."""
    figure = picture(11, 4.8, "HPCC Fig. 9(g,h): four flows join and leave a link of 25 Gb/s one by one, seed 1")
    for axes, scheme, letter in zip(figure.subplots(1, 2, sharey=True), BOTH, "gh", strict=True):
        run = measures[scheme, 1]
        for number, flow in enumerate(FLOWS):
            line = {**indexed_line(number), "linestyle": "-", "linewidth": 0.9}
            axes.plot(run["time_s"], run[flow], label=f"flow {number + 1}", **line)
        even = 100 * float(np.mean(np.array(pooled(measures, (scheme,), "jain")) >= EVEN))
        axes.set_ylim(0, 26)
        axes.set_xlim(0, None)
        title = f"({letter}) {TITLES[scheme]}: Jain at least {EVEN} in {even:.0f} %"
        label_axes(axes, title, "time (s)", "payload in 10 ms (Gb/s)", legend=scheme == HPCC)
    return figure


def rows_gh(measures: Measures) -> list[Row]:
    """Claim `hpcc-fig9gh-fairness`, with DCQCN, of which the claim says nothing, beside it."""
    claim = "hpcc-fig9gh-fairness"
    rows = []
    for scheme in BOTH:
        fair = 100 * (np.array(pooled(measures, (scheme,), "jain")) >= EVEN)
        used = over_seeds(measures, (scheme,), "used")
        judged = scheme == HPCC
        rows += Row.table(
            f"""
            {claim}
            windows of 10 ms with Jain's index of at least {EVEN}, of {fair.size}: {TITLES[scheme]}
                | {"fair even in a short time" if judged else "shown"} | {fair.mean():.1f} %
                | at least 95 % of windows from 100 ms after each change | {band(float(fair.mean()), 95, 100)}
            use of the link: {TITLES[scheme]} | full | {judge("band", used, ".3f", "at least 0.9")}
            """,
            judged,
        )
    return rows


EXPERIMENTS = (
    Experiment(
        "hpcc-fig9ab",
        "a short flow joins a long one",
        "hpcc/fig9ab-longshort.toml",
        sweep_ab,
        measure_ab,
        draw_ab,
        rows_ab,
    ),
    Experiment(
        "hpcc-fig9cd", "an incast beside a long flow", "hpcc/fig9cd-incast.toml", sweep_cd, measure_cd, draw_cd, rows_cd
    ),
    Experiment(
        "hpcc-fig9ef", "mice beside two elephants", "hpcc/fig9ef-mice.toml", sweep_ef, measure_ef, draw_ef, rows_ef
    ),
    Experiment(
        "hpcc-fig9gh", "four flows join and leave", "hpcc/fig9gh-fairness.toml", sweep_gh, measure_gh, draw_gh, rows_gh
    ),
)
"""In the order of the paper."""
