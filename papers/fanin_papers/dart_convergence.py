"""Dart Fig. 1 and 15: how many round trips two flows of one receiver need to share its link evenly."""

from __future__ import annotations

import numpy as np
import polars as pl
from matplotlib.figure import Figure
from numpy.typing import NDArray

from fanin import Result
from fanin.plot import indexed_line, label_axes
from fanin_papers.common import picture
from fanin_papers.dart_links import GOODPUT_GBPS, LINE_BPS, PAYLOAD, wire_us
from fanin_papers.experiment import Change, Experiment, Key, Measured, Measures, Row, band, judge, strict

RTT_US = 20.0
"""Without queues and the time to send a packet, as the paper counts it."""
JOIN_RTT = 15
"""When the second flow joins."""
FLOWS = ("first:0", "second:0")
FAIR_GBPS = LINE_BPS / 2 / 1e9
RATES = ("cap_bps", "paced_rate_bps", "rate_bps")
"""What limits a flow, by the first of these values that its scheme has: Dart's share, TIMELY's R, the pacer."""

SLOW_RTTS, FAST_RTTS = 2000, 150
"""How long schemes are watched that need long, and the others."""
GAINS = "rcp, gains 0.1 and 1"
LONG_PATH = "timely, RTT 1 ms"
SCHEMES = ("dart-dasr", "rcp", GAINS, "dcqcn", "timely", "timely-patched", LONG_PATH, "hpcc")
ITERATIVE = ("rcp", "dcqcn", "timely")
"""Of Fig. 1, those that this project has."""


def rtt_us(name: str) -> float:
    """The round trip of a run's network."""
    return 1000.0 if name == LONG_PATH else RTT_US


def sweep(quick: bool) -> dict[Key, Change]:
    """Each scheme once: nothing is random."""
    runs: dict[Key, Change] = {}
    for name in SCHEMES:
        short = quick or name in ("dart-dasr", "rcp", GAINS)
        us = rtt_us(name)
        changes = [
            f"measure.window={us * (FAST_RTTS if short else SLOW_RTTS):.0f} us",
            f"traffic.second.start={us * JOIN_RTT:.0f} us",
            f"network.topology.delay={us / 4:.0f} us",
            f"measure.series=[{{ what = 'flow', where = ['first:0', 'second:0'], every = '{us / 20:g} us' }}]",
        ]
        if name == GAINS:
            both = ("first", "second")
            changes += [f'traffic.{flow}.scheme={{ id = "rcp", alpha = 0.1, beta = 1.0 }}' for flow in both]
        if name == LONG_PATH:
            # The headroom of so long a link is 630 KB.
            changes.append("network.buffer.per_port=2 MB")
        runs[name, 2, 1] = Change(None if name == GAINS else name.split(",")[0], tuple(changes))
    return runs


def measure(result: Result) -> Measured:
    """The two rates and the delivered payload, 20 times in each round trip."""
    watch = result.watch()
    has = set(watch["name"].unique())
    rate = next(name for name in RATES if name in has)
    found: Measured = {}
    for number, flow in enumerate(FLOWS):
        here = watch.filter(pl.col("where") == flow)
        seen = here.filter(pl.col("name") == rate)
        found[f"rate{number}"] = (seen["value"].clip(0, LINE_BPS) / 1e9).to_list()
        found[f"time{number}"] = (seen["time_ps"] / 1e6).to_list()
        arrived = here.filter(pl.col("name") == "delivered_bytes")
        found[f"arrived{number}"] = arrived["value"].to_list()
        found[f"arrived_at{number}"] = (arrived["time_ps"] / 1e6).to_list()
    return found


def rates(run: Measured, name: str) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Round trips since the second flow joined, and from then on both rates in Gb/s."""
    first = dict(zip(run["time0"], run["rate0"], strict=True))
    times = [time for time in run["time1"] if time in first]
    second = dict(zip(run["time1"], run["rate1"], strict=True))
    since = np.asarray(times) / rtt_us(name) - JOIN_RTT
    return since, np.asarray([first[time] for time in times]), np.asarray([second[time] for time in times])


def settled(run: Measured, name: str, tolerance: float) -> float:
    """Round trips from the join until both rates stay within `tolerance` of half the line; infinite if never."""
    since, one, other = rates(run, name)
    far = np.maximum(np.abs(one - FAIR_GBPS), np.abs(other - FAIR_GBPS)) > tolerance * FAIR_GBPS
    if far.size == 0 or far[-1]:
        return float("inf")
    return float(since[np.flatnonzero(far)[-1] + 1]) if far.any() else float(since[0])


def swings(run: Measured, name: str, tolerance: float) -> bool:
    """Whether the first flow's rate falls below its share, or one of the two leaves it once it was there."""
    _, one, other = rates(run, name)
    off = (rate - FAIR_GBPS for rate in (one, other))
    one_off, other_off = (rate / FAIR_GBPS for rate in off)
    left = [
        bool(np.any(np.abs(rate[there[0] :]) > tolerance))
        for rate in (one_off, other_off)
        if (there := np.flatnonzero(np.abs(rate) <= tolerance)).size
    ]
    return bool(np.any(one_off < -tolerance)) or any(left)


def told(rtts: float) -> str:
    """A number of round trips."""
    return f"{rtts:.1f}" if np.isfinite(rtts) else "not within the run"


def draw(measures: Measures) -> Figure:
    """The rates of both flows over time, as in Fig. 15, for each scheme."""
    figure = picture(13, 8.5, "Dart Fig. 1 and 15: the second flow joins after 15 RTT")
    shown = ("dart-dasr", "rcp", GAINS, "dcqcn", "timely", "timely-patched")
    for axes, name in zip(figure.subplots(2, 3).flat, shown, strict=True):
        run = measures[(name, 2, 1)]
        for number, label in enumerate(("first flow", "second flow")):
            at = np.asarray(run[f"time{number}"]) / rtt_us(name)
            axes.plot(at, run[f"rate{number}"], label=label, **(indexed_line(number) | {"linewidth": 1.3}))
        axes.axhline(FAIR_GBPS, color="#888888", linewidth=0.8, linestyle=":")
        axes.set_xlim(0, max(run["time0"]) / rtt_us(name))
        axes.set_ylim(0, 10.5)
        said = settled(run, name, 0.1)
        title = f"{name}: 10 % after {told(said)} RTT" if np.isfinite(said) else f"{name}: not within the run"
        label_axes(axes, title, "time (RTT of 20 us)", "rate (Gb/s)", legend=name == "dart-dasr")
    return figure


def rows(measures: Measures) -> list[Row]:
    """Claims `dart-fig15-rcp`, `dart-fig15-dart` and `dart-fig1-iterations`."""
    return [*_rows_of_rcp(measures), *_rows_of_dart(measures), *_rows_of_iterations(measures)]


def _rows_of_rcp(measures: Measures) -> list[Row]:
    dart = settled(measures["dart-dasr", 2, 1], "dart-dasr", 0.05)
    found = []
    for name in ("rcp", GAINS):
        ours = settled(measures[name, 2, 1], name, 0.05)
        claim = f"dart-fig15-rcp ({name})"
        what = "RTT from the join until both rates are within 5 % of 5 Gb/s"
        found.append(Row.of(claim, f"{what} | about 60 | {told(ours)} | 10 to 90 | {band(ours, 10, 90)}"))
        ratio = ours / dart
        found += Row.table(f"""
            {claim}
            times Dart's | 60 | {judge("strict", ratio, ".0f", "at least 8")}
        """)
    return found


def _rows_of_dart(measures: Measures) -> list[Row]:
    claim = "dart-fig15-dart"
    run = measures["dart-dasr", 2, 1]
    since, one, other = rates(run, "dart-dasr")
    # Two links and two transmissions after the second flow's start its first packet has arrived.
    arrives = (2 * RTT_US / 4 + 2 * wire_us(1500)) / RTT_US
    limit = 1 + 2 * wire_us(1500) / RTT_US
    both = (one == FAIR_GBPS) & (other == FAIR_GBPS)
    first = float(since[np.flatnonzero(both)[0]]) if both.any() else float("inf")
    after = first - arrives
    stay = since >= first
    worst = max(float(np.abs(rate[stay] - FAIR_GBPS).max()) / FAIR_GBPS for rate in (one, other)) if both.any() else 1
    # Three round trips are 50 packets; in one of them 16 or 17 end.
    total = np.asarray(run["arrived0"][-len(run["arrived1"]) :]) + np.asarray(run["arrived1"])
    at = np.asarray(run["arrived_at1"]) / RTT_US - JOIN_RTT
    total, step = total[at >= 2], 3 * 20
    got = (total[step:] - total[:-step]) * 8 / (3 * RTT_US) / 1e3
    off = float(np.abs(got / GOODPUT_GBPS - 1).max())
    return Row.table(f"""
        {claim}
        RTT from the second flow's first packet at the receiver until both shares are 5 Gb/s | 1 | {told(after)}
            | at most {limit:.2f} | {strict(after <= limit)}
        largest change of a share after that | none | {judge("strict", worst, ".1%", "at most 2 %")}
        payload of 3 RTT ({3 * RTT_US / wire_us(1500):.0f} packets of {PAYLOAD} B), farthest from the line | full
            | {off:.1%} | at most 3 % | {strict(off <= 0.03)}
    """)


def _rows_of_iterations(measures: Measures) -> list[Row]:
    need = {name: settled(measures[name, 2, 1], name, 0.1) for name in SCHEMES}
    what = "RTT until both rates are within 10 % of half the line"
    dart = need["dart-dasr"]
    papers = {"rcp": "60", "dcqcn": "many", "timely": "50", LONG_PATH: "50"}
    found = [Row.of("dart-fig1-iterations", f"dart-dasr: {what} | 1 | {told(dart)} | at most 2 | {strict(dart <= 2)}")]
    for name, paper in papers.items():
        least = 20 if name.startswith("timely") else 2
        accept = f"above {least}" if least == 2 else f"at least {least}"
        found += Row.table(f"""
            dart-fig1-iterations
            {name}: {what} | {paper} | {told(need[name])} | {accept} | {strict(need[name] >= least)}
        """)
    for name in ITERATIVE:
        off = swings(measures[name, 2, 1], name, 0.1)
        found += Row.table(f"""
            dart-fig1-iterations
            {name} over- or undershoots | yes | {"yes" if off else "no"} | yes | {strict(off)}
        """)
    off = swings(measures["dart-dasr", 2, 1], "dart-dasr", 0.1)
    found += Row.table(f"""
        dart-fig1-iterations
        dart-dasr over- or undershoots | no | {"yes" if off else "no"} | no | {strict(not off)}
    """)
    return found


EXPERIMENTS = [
    Experiment(
        "dart-fig15",
        "Dart Fig. 1 and 15: round trips until two flows share a link evenly",
        "dart/fig15-convergence.toml",
        sweep,
        measure,
        draw,
        rows,
        figures=("15", "1"),
    )
]
