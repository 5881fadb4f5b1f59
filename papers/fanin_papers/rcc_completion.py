"""RCC section 6.1: figure 7, completion times of heavy incast."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import PercentFormatter

from fanin import Result
from fanin.plot import label_axes, scheme_line
from fanin.style import style_of
from fanin_papers.common import cdf, over_seeds, percentile, picture, points, pooled, quantile
from fanin_papers.experiment import (
    Change,
    Experiment,
    Key,
    Measured,
    Measures,
    Row,
    band,
    gain_band,
    judge,
    order,
    strict,
)
from fanin_papers.rcc_incast import (
    OTHERS,
    PACKET_BYTES,
    SCHEMES,
    SENDERS,
    incast,
    lowest_is_rcc,
    lowest_row,
    many_seeds,
    over_senders,
)

SIZES_KB = range(10, 101, 10)
FEW_SENDERS = 30
MODES_SENDERS = 90

PRIORITIES = {
    "rcc": ("rcc", "-"),
    "rcc, remaining size": ('{ id = "rcc", priority = "remaining", newreno = { initial_window = 1 } }', "--"),
    "rcc, no priority": ('{ id = "rcc", priority = "none", newreno = { initial_window = 1 } }', ":"),
    "rcc-ns3": ('"rcc-ns3"', "-."),
}
"""What a flow's priority is: its size, what is left of it, nothing, and as the authors' code has it; lines of pictures.
"""


def sized(name: str) -> str:
    """The runs with 30 senders, whose second number is the size in KB."""
    return f"{name}, {FEW_SENDERS} senders"


def sweep_7(quick: bool) -> dict[Key, Change]:
    """Each number of senders, each size with 30 senders, and the priorities of RCC where the paper has groups."""
    runs = over_senders(quick)
    for seed in many_seeds(quick):
        for kilobytes in SIZES_KB:
            size = f'traffic.senders.size={{ fixed = "{kilobytes} KB" }}'
            for name, scheme in SCHEMES.items():
                runs[sized(name), kilobytes, seed] = incast(scheme, FEW_SENDERS, size)
        for name, (scheme, _) in list(PRIORITIES.items())[1:]:
            runs[name, FEW_SENDERS, seed] = incast(scheme, FEW_SENDERS)
            runs[name, MODES_SENDERS, seed] = incast(scheme, MODES_SENDERS)
            runs[sized(name), SIZES_KB[-1], seed] = incast(scheme, FEW_SENDERS, size)
    return runs


def measure_7(result: Result) -> Measured:
    """Completion times in milliseconds, handshake included."""
    return {"fct_ms": (result.flows()["completion_ps"].to_numpy() / 1e9).tolist()}


def percentiles(measures: Measures, name: str, point: int) -> tuple[float, float, float]:
    """The 1st, 50th and 99th percentile over the flows of all seeds, in milliseconds."""
    low, middle, high = (
        over_seeds(measures, (name, point), "fct_ms", percentile(share)) for share in (0.01, 0.5, 0.99)
    )
    return low, middle, high


# The modes of a distribution

BANDWIDTH_MS = 2.0
STEP_MS = 0.05


def groups(times_ms: Sequence[float]) -> tuple[list[float], float]:
    """The modes, and the share of the flows up to the least density after the first one.

    A mode is a highest point of the density by a Gaussian kernel of 2 ms that is at least 1 % of the highest.
    """
    grid = np.arange(0, max(times_ms) + 4 * BANDWIDTH_MS, STEP_MS)
    values, counts = np.unique(np.round(times_ms, 3), return_counts=True)
    distance = (grid[:, None] - values) / BANDWIDTH_MS
    density = np.exp(-(distance**2) / 2) @ counts
    inner = density[1:-1]
    peaks = np.flatnonzero((inner > density[:-2]) & (inner >= density[2:]) & (inner >= 0.01 * density.max())) + 1
    if peaks.size < 2:
        return grid[peaks].tolist(), 1.0
    border = grid[peaks[0] + int(np.argmin(density[peaks[0] : peaks[1]]))]
    return grid[peaks].tolist(), float(np.mean(np.asarray(times_ms) <= border))


# Drawing


def draw_spread(axes: Axes, measures: Measures, names: Mapping[str, str], gap: float) -> None:
    """Medians with bars from the 1st to the 99th percentile, side by side."""
    for place, (name, scheme) in enumerate(names.items()):
        found = points(measures, name)
        low, middle, high = np.asarray([percentiles(measures, name, point) for point in found]).T
        across = np.asarray(found) + (place - 1.5) * gap
        style = style_of(scheme)
        axes.errorbar(
            across,
            middle,
            yerr=(middle - low, high - middle),
            fmt=style.marker_for_matplotlib(),
            markersize=4,
            color=style.colour,
            elinewidth=1.2,
            capsize=2,
            label=scheme,
        )
    axes.set_ylim(bottom=0)


def draw_groups(axes: Axes, measures: Measures, names: Mapping[str, tuple[str, int]]) -> None:
    """Cumulative distributions: by label the runs and their point."""
    for label, key in names.items():
        shown = scheme_line(label.partition(",")[0])
        if label in PRIORITIES:
            shown["linestyle"] = PRIORITIES[label][1]
        cdf(axes, pooled(measures, key, "fct_ms"), label=label, **shown)
    axes.set_xlim(left=0)
    axes.yaxis.set_major_formatter(PercentFormatter(xmax=1.0))


def draw_7(measures: Measures) -> Figure:
    """The paper's four panels, with other priorities of RCC in the lower ones."""
    figure = picture(12, 9.5, "RCC Fig. 7: flow completion times of an incast, 1 Gb/s, 80 packets of buffer, K = 40")
    (left, right), (low_left, low_right) = figure.subplots(2, 2)
    draw_spread(left, measures, {scheme: scheme for scheme in SCHEMES}, 1.6)
    label_axes(left, "(a) 32 KB: 1st, 50th, 99th percentile", "senders", "FCT (ms)")
    draw_spread(right, measures, {sized(scheme): scheme for scheme in SCHEMES}, 1.6)
    label_axes(right, f"(b) {FEW_SENDERS} senders: 1st, 50th, 99th percentile", "size (KB)", "FCT (ms)")
    shown = [*OTHERS, *PRIORITIES]
    draw_groups(low_left, measures, {name: (name, MODES_SENDERS) for name in shown})
    label_axes(low_left, f"(c) {MODES_SENDERS} senders, 32 KB", "FCT (ms)", "share of flows")
    draw_groups(low_right, measures, {name: (sized(name), SIZES_KB[-1]) for name in shown})
    label_axes(low_right, f"(d) {FEW_SENDERS} senders, {SIZES_KB[-1]} KB", "FCT (ms)", "share of flows")
    return figure


# Claims


def rows_7(measures: Measures) -> list[Row]:
    """Claims `rcc-fig7a-p99`, `rcc-fig7a-spread`, `rcc-fig7c-modes`, `rcc-fig7b-sizes` and `rcc-fig7d-n30`."""
    return [
        *rows_p99(measures),
        *rows_spread(measures),
        *rows_modes(measures),
        *rows_sizes(measures),
        *rows_n30(measures),
    ]


def rows_p99(measures: Measures) -> list[Row]:
    """Claim `rcc-fig7a-p99`."""
    claim = "rcc-fig7a-p99"
    p99 = {s: {n: percentiles(measures, s, n)[2] for n in SENDERS} for s in SCHEMES}
    paper = {"newreno": (51.2, 30, 75), "dctcp": (16.4, 3, 50), "ictcp": (11.7, 3, 50)}
    rows = []
    for scheme, (told, low, high) in paper.items():
        cut = 100 * sum(1 - p99["rcc"][n] / p99[scheme][n] for n in SENDERS) / len(SENDERS)
        what = f"99th percentile of rcc below that of {scheme}, mean over N"
        verdict = gain_band(cut, low, high)
        rows.append(Row.of(claim, f"{what} | {told} % | {cut:.1f} % | {low} to {high} % | {verdict}"))
    kept = {n: lowest_is_rcc({s: p99[s][n] for s in SCHEMES}) for n in SENDERS if n >= 40}
    return [*rows, lowest_row(claim, "99th percentile of rcc lowest, N >= 40", kept)]


def rows_spread(measures: Measures) -> list[Row]:
    """Claim `rcc-fig7a-spread`, and why 30 senders are an exception."""
    claim = "rcc-fig7a-spread"
    found = {s: {n: percentiles(measures, s, n) for n in SENDERS} for s in SCHEMES}
    gaps = {s: {n: high - low for n, (low, _, high) in found[s].items()} for s in SCHEMES}
    kept = {n: lowest_is_rcc({s: gaps[s][n] for s in SCHEMES}) for n in SENDERS}
    rising = lowest_row(claim, "", kept)
    medians = {s: [found[s][n][1] for n in SENDERS] for s in SCHEMES}
    steps = [b >= 0.95 * a for line in medians.values() for a, b in pairwise(line)]
    low, _, high = percentiles(measures, "rcc, no priority", FEW_SENDERS)
    return Row.table(f"""
        {claim}
        99th less 1st percentile: rcc has the smallest | all N but 30 | {rising.ours} | at least 7 of 10
            | {strict(sum(kept.values()) >= 7)}
        medians do not fall with N, by more than 5 % | always | {sum(steps)} of {len(steps)} | always | {order(steps)}
        {claim} (no priority)
        99th less 1st percentile of rcc with {FEW_SENDERS} senders, by size and without priority, ms | not the smallest
            | {gaps["rcc"][FEW_SENDERS]:.2f} and {high - low:.2f} (ictcp {gaps["ictcp"][FEW_SENDERS]:.2f})
            | larger by size | {strict(gaps["rcc"][FEW_SENDERS] > high - low)}
    """)


def rows_modes(measures: Measures) -> list[Row]:
    """Claim `rcc-fig7c-modes`, for each priority."""
    rows = []
    for name in ("rcc", "rcc, remaining size", "rcc-ns3"):
        claim = "rcc-fig7c-modes" if name == "rcc" else f"rcc-fig7c-modes ({name})"
        times = pooled(measures, (name, MODES_SENDERS), "fct_ms")
        modes, share = groups(times)
        at = ", ".join(f"{mode:.1f}" for mode in modes)
        placed = band(modes[0], 15, 25), band(modes[-1], 24.75, 41.25)
        rows += Row.table(f"""
            {claim}
            modes of rcc, ms | 2, at 20 and 33 | {len(modes)}, at {at} | 2 or 3 | {strict(2 <= len(modes) <= 3)}
            where the first and the last mode of rcc are, ms | 20; 33 | {modes[0]:.1f}; {modes[-1]:.1f} | within 25 %
                | {max(placed, key=("holds", "close", "differs").index)}
            flows of the first mode | 40 of 90, 44 % | {judge("band", 100 * share, ".0f %", "35 to 60 %")}
            last completion, ms | 33 | {judge("band", max(times), ".1f", "23 to 36")}
        """)
    paper = {"rcc": 2, "ictcp": 3, "dctcp": 4, "newreno": 5}
    number = {s: len(groups(pooled(measures, (s, MODES_SENDERS), "fct_ms"))[0]) for s in paper}
    said, ours = (", ".join(f"{scheme} {count}" for scheme, count in some.items()) for some in (paper, number))
    kept = [number["rcc"] < number["ictcp"], number["ictcp"] <= number["dctcp"], number["dctcp"] <= number["newreno"]]
    return [*rows, Row.of("rcc-fig7c-modes", f"number of modes | {said} | {ours} | in this order | {order(kept)}")]


def rows_sizes(measures: Measures) -> list[Row]:
    """Claim `rcc-fig7b-sizes`."""
    claim = "rcc-fig7b-sizes"
    found = {s: {size: percentiles(measures, sized(s), size) for size in SIZES_KB} for s in SCHEMES}
    lowest = {
        size: lowest_is_rcc({s: found[s][size][2] for s in ("rcc", "dctcp", "ictcp")}, slack=0.05)
        and found["rcc"][size][2] <= found["newreno"][size][2]
        for size in SIZES_KB
    }
    first = {size: all(found["newreno"][size][0] <= found[s][size][0] for s in SCHEMES) for size in SIZES_KB}
    second = {size: sum(found[s][size][0] < found["rcc"][size][0] for s in OTHERS) == 1 for size in SIZES_KB}
    last = {size: all(found["newreno"][size][2] >= found[s][size][2] for s in SCHEMES) for size in SIZES_KB}
    return [
        lowest_row(claim, "99th percentile of rcc lowest, 5 % slack to dctcp and ictcp, by size", lowest),
        lowest_row(claim, "1st percentile of newreno lowest, by size", first),
        lowest_row(claim, "99th percentile of newreno highest, by size", last),
        lowest_row(claim, "1st percentile of rcc second lowest, by size", second),
    ]


def rows_n30(measures: Measures) -> list[Row]:
    """Claim `rcc-fig7d-n30`, and what makes the two groups."""
    claim, size = "rcc-fig7d-n30", SIZES_KB[-1]
    times = {name: pooled(measures, (sized(name), size), "fct_ms") for name in (*SCHEMES, "rcc, no priority")}
    median = {name: quantile(found, 0.5) for name, found in times.items()}
    line_ms = FEW_SENDERS * size * 8 / 1e3 * PACKET_BYTES / 1460
    last = max(times["rcc"])
    modes = {name: groups(times[name])[0] for name in ("rcc", "rcc, no priority")}
    said = {name: ", ".join(f"{mode:.1f}" for mode in found) for name, found in modes.items()}
    return [
        *(
            Row.of(
                claim,
                f"median of {scheme} over that of rcc | comparable "
                f"| {median[scheme]:.1f} / {median['rcc']:.1f} ms, {median[scheme] / median['rcc']:.2f} "
                f"| 0.7 to 1.3 | {band(median[scheme] / median['rcc'], 0.7, 1.3)}",
            )
            for scheme in ("dctcp", "ictcp")
        ),
        *Row.table(f"""
            {claim}
            last completion of rcc, ms | {line_ms:.1f} on the wire | {last:.1f} | within 10 %
                | {band(last / line_ms, 0.9, 1.1)}
            groups of rcc, ms | 2 | {len(modes["rcc"])}, at {said["rcc"]} | 2 | {strict(len(modes["rcc"]) == 2)}
            {claim} (no priority)
            groups of rcc without the windows that Algorithm 1 deals out last |
                | {len(modes["rcc, no priority"])}, at {said["rcc, no priority"]} | 1
                | {strict(len(modes["rcc, no priority"]) == 1)}
        """),
    ]


EXPERIMENTS = (
    Experiment("rcc-fig7", "completion times of an incast", "rcc/fig5-incast.toml", sweep_7, measure_7, draw_7, rows_7),
)
