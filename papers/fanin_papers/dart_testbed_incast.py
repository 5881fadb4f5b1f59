"""Dart Fig. 10: completion times of incasts on the testbed of section V-B, with DASR and with InfiniBand, simulated.

The paper tells neither its InfiniBand's parameters nor its degrees. Here marks begin when a queue holds a round trip's
bytes, every packet is marked, each mark is a step up in a linear table, and a step down takes 150 times 1.024 us; other
settings stand beside it. Of DASR the testbed's CPU time and an ACK of the application for each 64 KiB are simulated;
senders are paced packet by packet at C/n, and not by delays of whole messages.
"""

from __future__ import annotations

from itertools import pairwise

import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import PercentFormatter

from fanin import Result
from fanin.measures import completion_us
from fanin.plot import label_axes, scheme_line
from fanin_papers.common import cdf, log_ticks, over_seeds, percentile, picture, points, pooled, seeds
from fanin_papers.experiment import (
    Change,
    Experiment,
    Key,
    Measured,
    Measures,
    Row,
    Verdict,
    gain_band,
    judge,
    order,
    strict,
)

DEGREES = (2, 4, 8, 12, 16)
MOST = 16
DASR, INFINIBAND = "dart-dasr", "infiniband"
PROPOSED = 'id = "infiniband-gran", becn = "cnp", buffer = "1032 KB"'
"""The threshold is a sixteenth of the buffer: 64.5 KB, what 43 Gb/s carry in a round trip of 12 us."""
STEP_2, STEP_4, TENTH, FAST = "steps of 2", "steps of 4", "one packet in 10 marked", "timer of 15.4 us"
SETTINGS = {
    DASR: 'id = "dart-dasr"',
    INFINIBAND: PROPOSED,
    STEP_2: f"{PROPOSED}, ccti_increase = 2",
    STEP_4: f"{PROPOSED}, ccti_increase = 4",
    TENTH: f"{PROPOSED}, marking_rate = 10",
    FAST: f"{PROPOSED}, ccti_timer = 15",
}
OTHERS = (STEP_2, STEP_4, TENTH, FAST)
TRAFFICS = ("background", "incast")
LONG = ", every 100 ms"
"""Behind the name of a case: rounds as far apart as the paper's, for the throughput of the long flow. Those for the
completion times are 25 ms apart, in which the table's 127 steps down (19.5 ms) fit."""
SHARES = {"p1": 0.01, "median": 0.5, "p99": 0.99}


def sweep(quick: bool) -> dict[Key, Change]:
    """Both schemes at every degree, other settings of InfiniBand at some, and rounds 100 ms apart at the highest."""
    runs: dict[Key, Change] = {}

    def add(case: str, name: str, degree: int, every: str, window: str) -> None:
        changes = [f"traffic.{traffic}.scheme={{ {SETTINGS[case]} }}" for traffic in TRAFFICS]
        if case != DASR:
            # The NIC answers.
            changes += [f"traffic.{traffic}.rdma={{ ack_chunk = '64 KiB' }}" for traffic in TRAFFICS]
        pattern = (f"traffic.incast.pattern.degree={degree}", f"traffic.incast.pattern.every={every}")
        for seed in seeds(quick):
            runs[name, degree, seed] = Change(None, (*changes, *pattern, f"measure.window={window}"))

    for case in SETTINGS:
        degrees = DEGREES if case in (DASR, INFINIBAND) else (2, 8, 16)
        for degree in (2, 8, 16) if quick else degrees:
            add(case, case, degree, "25 ms", "40 ms" if quick else "1676 ms")
        add(case, case + LONG, MOST, "100 ms", "60 ms" if quick else "1001 ms")
    return runs


def measure(result: Result) -> Measured:
    """Completion times in microseconds, and the long flow's throughput in Gb/s."""
    traffics = {traffic["traffic"]: traffic for traffic in result.summary()["traffics"]}
    flows = result.flows().filter(pl.col("traffic") == "incast")
    return {"us": completion_us(flows).tolist(), "long_gbps": [traffics["background"]["long_goodput_gbps"] or 0.0]}


def at(measures: Measures, case: str, degree: int, share: str) -> float:
    """A percentile of completion times of all seeds."""
    return over_seeds(measures, (case, degree), "us", percentile(SHARES[share]))


def ratio(measures: Measures, case: str, degree: int, share: str) -> float:
    """Of a setting of InfiniBand to DASR."""
    return at(measures, case, degree, share) / at(measures, DASR, degree, share)


def spread(measures: Measures, case: str) -> float:
    """p99 - p1 at the highest degree."""
    return at(measures, case, MOST, "p99") - at(measures, case, MOST, "p1")


def deviation(measures: Measures, case: str) -> float:
    """How far the long flow's throughput under DASR is from that under a setting of InfiniBand."""
    long = {one: over_seeds(measures, (one + LONG, MOST), "long_gbps") for one in (DASR, case)}
    return abs(1 - long[DASR] / long[case])


def draw(measures: Measures) -> Figure:
    """Fig. 10(a) and 10(b)."""
    figure = picture(12, 4.8, "Dart Fig. 10: incasts beside a long flow on the testbed's network")
    left, right = figure.subplots(1, 2)
    for case, share, dashes in ((c, s, d) for c in (DASR, INFINIBAND) for s, d in (("median", "-"), ("p99", "--"))):
        degrees = points(measures, case)
        shown = scheme_line(case) | {"linestyle": dashes, "marker": "o", "markersize": 4}
        left.plot(degrees, [at(measures, case, n, share) for n in degrees], label=f"{case}, {share}", **shown)
    draw_other(left, measures)
    left.set_yscale("log")
    log_ticks(left)
    left.set_ylim(80, 6000)
    left.set_xticks(DEGREES)
    label_axes(left, "(a) completion time of 256 KB", "incast degree", "time (us, log scale)", legend=False)
    left.legend(frameon=False, fontsize=9, ncols=2, loc="upper left", handlelength=3.5)
    for case in (DASR, INFINIBAND, STEP_2):
        shown = scheme_line(INFINIBAND if case == STEP_2 else case) | {"linestyle": ":" if case == STEP_2 else "-"}
        label = f"{INFINIBAND}, {case}" if case == STEP_2 else case
        cdf(right, pooled(measures, (case, MOST), "us"), label=label, **shown)
    right.set_xlim(left=0)
    right.yaxis.set_major_formatter(PercentFormatter(xmax=1.0))
    label_axes(right, "(b) distribution at degree 16", "completion time (us)", "share of flows", legend=False)
    right.legend(frameon=False, fontsize=9, loc="upper left")
    return figure


def draw_other(axes: Axes, measures: Measures) -> None:
    """The setting with steps of 2."""
    degrees = points(measures, STEP_2)
    shown = scheme_line(INFINIBAND) | {"linestyle": ":", "marker": "s", "markersize": 4}
    medians = [at(measures, STEP_2, n, "median") for n in degrees]
    axes.plot(degrees, medians, label=f"{INFINIBAND}, {STEP_2}, median", **shown)


def rows(measures: Measures) -> list[Row]:
    """Claims `dart-fig10-reduction`, `dart-fig10-shape` and `dart-fig10-longtput`."""
    return [*rows_reduction(measures), *rows_shape(measures), *rows_long(measures), *rows_others(measures)]


def rows_reduction(measures: Measures) -> list[Row]:
    """How much shorter DASR's completion times are."""
    claim = "dart-fig10-reduction"
    found = []
    degrees = points(measures, INFINIBAND)
    for degree in (n for n in degrees if n >= 8):
        for share in ("median", "p99"):
            ours = ratio(measures, INFINIBAND, degree, share)
            what = f"{share} at degree {degree}, infiniband / dart-dasr"
            found += Row.table(f"""
                {claim}
                {what} | 2.5 to 3.3 | {judge("band", ours, ".2f", "1.8 to 4.0")}
            """)
    least = min(ratio(measures, INFINIBAND, degree, share) for degree in degrees for share in ("median", "p99"))
    what = "least of these ratios at any degree"
    found += Row.table(f"""
        {claim}
        {what} | 2.5 | {judge("strict", least, ".2f", "above 1")}
    """)
    tails = [at(measures, INFINIBAND, n, "p99") / at(measures, INFINIBAND, n, "median") for n in degrees]
    for degree, tail in zip(degrees, tails, strict=True):
        what = f"p99 / median at degree {degree}, infiniband"
        found += Row.table(f"""
            {claim}
            {what} | about 1.2 | {judge("band", tail, ".2f", "1.05 to 1.5")}
        """)
    return found


def rows_shape(measures: Measures) -> list[Row]:
    """Times grow with the degree, and DASR's distribution is narrower and to the left."""
    found = []
    for case in (DASR, INFINIBAND):
        for share in ("median", "p99"):
            times = [at(measures, case, n, share) for n in points(measures, case)]
            rising = order([late >= early for early, late in pairwise(times)])
            said = ", ".join(f"{us:.0f}" for us in times)
            what = f"{share} of {case} by degree, us"
            found.append(Row.of("dart-fig10-shape", f"{what} | grows | {said} | non-decreasing | {rising}"))
    pairs = {share: [at(measures, case, MOST, share) for case in (DASR, INFINIBAND)] for share in SHARES}
    for share, (ours, other) in pairs.items():
        what, said = f"{share} at degree 16, dart-dasr and infiniband, us", f"{ours:.0f}, {other:.0f}"
        found.append(Row.of("dart-fig10-shape", f"{what} | lower | {said} | dart-dasr below | {order([ours < other])}"))
    width = [spread(measures, case) for case in (DASR, INFINIBAND)]
    what = "p99 - p1 at degree 16, dart-dasr and infiniband, us"
    said = f"{width[0]:.0f}, {width[1]:.0f}"
    return [
        *found,
        Row.of("dart-fig10-shape", f"{what} | narrower | {said} | dart-dasr below | {order([width[0] < width[1]])}"),
    ]


def rows_long(measures: Measures) -> list[Row]:
    """The long flow beside incasts of the highest degree."""
    ours = deviation(measures, INFINIBAND)
    told = {one: over_seeds(measures, (one + LONG, MOST), "long_gbps") for one in (DASR, INFINIBAND)}
    return Row.table(f"""
        dart-fig10-longtput
        long flow's throughput, dart-dasr and infiniband, Gb/s; difference | within 0.5 %
            | {told[DASR]:.2f}, {told[INFINIBAND]:.2f}; {100 * ours:.1f} % | at most 1 % | {gain_band(ours, 0.0, 0.01)}
    """)


def rows_others(measures: Measures) -> list[Row]:
    """What other settings of InfiniBand give: none of it is judged, since the paper names no setting."""
    found = []
    for case in OTHERS:
        ratios = [ratio(measures, case, n, share) for n in (8, 16) for share in ("median", "p99")]
        worst: Verdict = strict(all(1.8 <= one <= 4.0 for one in ratios))
        verdict: Verdict = "calibrated" if worst == "holds" else worst
        what = f"InfiniBand with {case}: median and p99 at degree 8, then 16, infiniband / dart-dasr"
        said = ", ".join(f"{one:.2f}" for one in ratios)
        claim = "dart-fig10-reduction"
        found.append(Row.of(claim, f"{what} | 2.5 to 3.3 | {said} | 1.8 to 4.0 | ({verdict})"))
        width = [spread(measures, one) for one in (DASR, case)]
        what = f"InfiniBand with {case}: p99 - p1 at degree 16, dart-dasr and infiniband, us"
        said, narrower = f"{width[0]:.0f}, {width[1]:.0f}", order([width[0] < width[1]])
        found.append(Row.of("dart-fig10-shape", f"{what} | narrower | {said} | dart-dasr below | ({narrower})"))
        off = deviation(measures, case)
        what = f"InfiniBand with {case}: difference of the long flow's throughput"
        within = strict(off <= 0.01)
        long = "dart-fig10-longtput"
        found.append(Row.of(long, f"{what} | within 0.5 % | {100 * off:.1f} % | at most 1 % | ({within})"))
    return found


EXPERIMENTS = (
    Experiment(
        "dart-fig10",
        "Dart Fig. 10: incasts on the testbed with DASR and InfiniBand",
        "dart/fig10-testbed.toml",
        sweep,
        measure,
        draw,
        rows,
    ),
)
