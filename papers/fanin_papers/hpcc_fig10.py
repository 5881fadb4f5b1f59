"""HPCC Fig. 10: WebSearch on the testbed, 32 servers with two links each.

The paper does not say of what 30 and 50 % are a share: of the host links, as this project's claims take it, or of the
ToRs' uplinks, the busiest links of a pod that is four times oversubscribed. Both are run; a claim is judged under the
first, and the second stands beside it. A run is 110 ms of arrivals, the first 10 ms of which do not count, with three
seeds; the paper does not say how long it measured.
"""

from __future__ import annotations

import itertools

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from fanin.plot import label_axes, scheme_line
from fanin_papers.common import picture, pooled, seeds
from fanin_papers.experiment import Change, Experiment, Key, Measures, Row, band, gain_band, order, strict
from fanin_papers.hpcc_measures import measure
from fanin_papers.hpcc_runs import DCQCN, FIVE, HPCC, OWN, TITLES, under
from fanin_papers.hpcc_sizes import (
    FB_HADOOP_KB,
    WEB_SEARCH_KB,
    between,
    by_size,
    histogram,
    percentile,
    queue_percentiles,
    size_axis,
    slowdown_axis,
    smaller,
)

BOTH = (HPCC, DCQCN)
HOSTS, UPLINKS, HADOOP = "host-links", "tor-uplinks", "FB_Hadoop"
SAID = {HOSTS: "load of host links", UPLINKS: "load of ToR uplinks", HADOOP: "FB_Hadoop, load of host links"}
LOADS = (30, 50)
SMALLEST_KB = 3
POINTS = [(HOSTS, 30), (HOSTS, 50), (UPLINKS, 30), (UPLINKS, 50), (HADOOP, 50)]

SLOW_T = "hpcc (T = 18 us)"
CHANGED = {
    FIVE: ("DCQCN with F = 5", under(FIVE, "load")),
    OWN: ("DCQCN with its paper's parameters", under(OWN, "load")),
    SLOW_T: ("HPCC with T = 18 us", ('traffic.load.scheme={ id = "hpcc", base_rtt = "18 us" }',)),
}
"""What the paper leaves open or sets, changed one at a time, at 50 % of host links, for the cut of 95 %."""
SHORT_RUN = ("measure.warm_up=0 ms", "measure.window=2 ms", "measure.drain_limit=10 ms")
"""Of the short version."""


def sweep(quick: bool) -> dict[Key, Change]:
    """Both schemes at both loads, under both readings of a load; FB_Hadoop at one."""
    runs: dict[Key, Change] = {}
    for (traffic, load), scheme, seed in itertools.product(POINTS, BOTH, seeds(quick)):
        changes = [*under(scheme, "load"), f"traffic.load.load.share={load / 100}"]
        changes.append(f"traffic.load.load.of={UPLINKS if traffic == UPLINKS else HOSTS}")
        if traffic == HADOOP:
            # It has 14 times as many messages as WebSearch.
            changes += ["traffic.load.size.cdf=FB_Hadoop", "measure.window=20 ms"]
        runs[scheme, traffic, load, seed] = Change(None, (*changes, *(SHORT_RUN if quick else ())))
    for (name, (_, keys)), seed in itertools.product(CHANGED.items(), seeds(quick)):
        runs[name, HOSTS, 50, seed] = Change(
            None, (*keys, "traffic.load.load.share=0.5", *(SHORT_RUN if quick else ()))
        )
    return runs


# The picture


def draw(measures: Measures) -> Figure:
    """The paper's panels: slowdowns by size and queues, at both loads; below them the other reading of a load."""
    figure = picture(14, 8.4, "HPCC Fig. 10: WebSearch on the testbed, 3 seeds of 100 ms")
    for traffic, line in zip((HOSTS, UPLINKS), figure.subplots(2, 4), strict=True):
        for axes, load, letter in zip(line[::2], LOADS, "ac", strict=True):
            draw_slowdowns(axes, measures, traffic, load)
            title = f"({letter}) {load} % {SAID[traffic].removeprefix('load ')}"
            label_axes(axes, title, "message size up to (B)", "slowdown" if axes is line[0] else "", legend=False)
        for axes, load, letter in zip(line[1::2], LOADS, "bd", strict=True):
            draw_queues(axes, measures, traffic, load)
            label_axes(
                axes, f"({letter}) queues, {load} %", "KB (dashed: where not empty)", "share of samples", legend=False
            )
    handles, labels = figure.axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=6, frameon=False, fontsize=10)
    return figure


def draw_slowdowns(axes: Axes, measures: Measures, traffic: str, load: int) -> None:
    """Median, 95th and 99th percentile by size."""
    for scheme in BOTH:
        line = {**scheme_line(scheme)}
        for share, dash in ((50, ":"), (95, "--"), (99, "-")):
            values = by_size(measures, (scheme, traffic, load), WEB_SEARCH_KB, share)
            label = f"{TITLES[scheme]}: {'median' if share == 50 else f'p{share}'}"
            axes.plot(range(values.size), values, **{**line, "linestyle": dash}, label=label)
    size_axis(axes, WEB_SEARCH_KB)
    slowdown_axis(axes, 200)


def draw_queues(axes: Axes, measures: Measures, traffic: str, load: int) -> None:
    """The distribution of queues: of all ports, solid, and of those that are not empty, dashed."""
    for scheme in BOTH:
        for busy, dash in ((False, "-"), (True, "--")):
            kb, count = histogram(measures, (scheme, traffic, load), "all ports", busy=busy)
            share = np.cumsum(count) / max(count.sum(), 1)
            line = {**scheme_line(scheme), "linestyle": dash, "linewidth": 1.5}
            axes.step(np.maximum(kb, 0.5), share, where="post", **line)
    axes.set_xscale("log")
    axes.set_xlim(0.5, 4000)
    axes.set_ylim(0, 1.02)


# The rows


def claim_under(claim: str, traffic: str) -> str:
    """The claim's id, with the reading of the load if it is not the claim's."""
    return claim if traffic == HOSTS else f"{claim} ({SAID[traffic]})"


def rows(measures: Measures) -> list[Row]:
    """The claims of Fig. 10, and that of the simulator's fidelity."""
    rows = []
    for traffic in (HOSTS, UPLINKS):
        rows += [
            *rows_fct(measures, traffic, 30, (1.5, 3.6), (5, 25), 65, ("2.38", "11.2", "79 %")),
            *rows_fct(measures, traffic, 50, (1.7, 4.0), (15, np.inf), 85, ("2.70", "53.9", "95 %")),
            *rows_median(measures, traffic),
            *rows_queue(measures, traffic),
            *rows_pauses(measures, traffic),
        ]
    return [*rows, *rows_changed(measures), *rows_fidelity(measures)]


def rows_fct(
    measures: Measures,
    traffic: str,
    load: int,
    hpcc: tuple[float, float],
    dcqcn: tuple[float, float],
    cut: float,
    paper: tuple[str, str, str],
) -> list[Row]:
    """Claims `hpcc-fig10-fct30` and `hpcc-fig10-fct50`."""
    ours = {scheme: between(measures, (scheme, traffic, load), 0, SMALLEST_KB) for scheme in BOTH}
    tail = {scheme: percentile(ours[scheme], 99) for scheme in BOTH}
    what = f"99th percentile of the slowdown up to 3 KB, at {load} % {SAID[traffic]}"
    gain = 100 * (1 - tail[HPCC] / tail[DCQCN])
    one_way = [percentile(between(measures, (scheme, traffic, load), 0, SMALLEST_KB, "one_way"), 99) for scheme in BOTH]
    return [
        *Row.table(
            f"""
            {claim_under(f"hpcc-fig10-fct{load}", traffic)}
            {what}: HPCC, {ours[HPCC].size} messages | {paper[0]} | {tail[HPCC]:.2f} | {hpcc[0]} to {hpcc[1]}
                | {band(tail[HPCC], *hpcc)}
            {what}: DCQCN | {paper[1]} | {tail[DCQCN]:.1f}
                | {f"{dcqcn[0]} to {dcqcn[1]}" if dcqcn[1] < np.inf else f"at least {dcqcn[0]}"}
                | {band(tail[DCQCN], *dcqcn)}
            {what}: cut by HPCC | {paper[2]} | {gain:.0f} % | at least {cut} % | {gain_band(gain, cut, 100)}
            """
        ),
        *Row.table(f"""
            {claim_under(f"hpcc-fig10-fct{load}", traffic)}
            the same until the last byte has arrived, without the ACK, at {load} % {SAID[traffic]}: HPCC; DCQCN
                | measured at senders: 16.9 us are 2.38 times a round trip of 7.1
                | {"; ".join(f"{value:.2f}" for value in one_way)} | none | (calibrated)
        """),
    ]


def rows_changed(measures: Measures) -> list[Row]:
    """The cut at 50 % with one choice changed."""
    tail = {name: percentile(between(measures, (name, HOSTS, 50), 0, SMALLEST_KB), 99) for name in (*BOTH, *CHANGED)}
    rows = []
    for name, (what, _) in CHANGED.items():
        mine, other = (tail[name], tail[DCQCN]) if name == SLOW_T else (tail[HPCC], tail[name])
        gain = 100 * (1 - mine / other)
        rows += Row.table(f"""
            hpcc-fig10-fct50
            the cut at 50 % {SAID[HOSTS]} with one change: {what} | 95 % | {gain:.0f} % ({mine:.2f} and {other:.1f})
                | at least 85 % | ({gain_band(gain, 85, 100)})
        """)
    return rows


def rows_median(measures: Measures, traffic: str) -> list[Row]:
    """Claim `hpcc-fig10-median`; FB_Hadoop beside it."""
    claim = claim_under("hpcc-fig10-median", traffic)
    rows = []
    for load in LOADS:
        half, late = (
            {scheme: by_size(measures, (scheme, traffic, load), WEB_SEARCH_KB, share) for scheme in BOTH}
            for share in (50, 95)
        )
        ratio = (half[HPCC] / half[DCQCN])[: smaller(WEB_SEARCH_KB, 80)]
        ratio = ratio[np.isfinite(ratio)]
        worst = max([1.0, *ratio.tolist()], key=lambda value: max(value, 1 / value))
        rows += [
            Row.of(
                claim,
                f"median slowdown, HPCC over DCQCN, in bins up to 80 KB at {load} % {SAID[traffic]} | similar "
                f"| {'; '.join(f'{value:.2f}' for value in ratio)} | 0.7 to 1.3 in each | {band(worst, 0.7, 1.3)}",
            ),
            order_row(claim, late, WEB_SEARCH_KB, f"at {load} % {SAID[traffic]}", judged=True),
        ]
    if traffic == HOSTS:
        late = {scheme: by_size(measures, (scheme, HADOOP, 50), FB_HADOOP_KB, 95) for scheme in BOTH}
        rows.append(order_row(claim, late, FB_HADOOP_KB, "under FB_Hadoop at 50 % load of host links", judged=False))
    return rows


def order_row(
    claim: str, late: dict[str, NDArray[np.float64]], edges: tuple[float, ...], where: str, *, judged: bool
) -> Row:
    """HPCC's 95th percentile below DCQCN's up to 30 KB."""
    bins = smaller(edges, 30)
    pairs = [
        (mine, other)
        for mine, other in zip(late[HPCC][:bins], late[DCQCN][:bins], strict=True)
        if np.isfinite([mine, other]).all()
    ]
    return Row.of(
        claim,
        f"95th percentile of the slowdown in bins up to 30 KB, HPCC and DCQCN, {where} | much lower under HPCC "
        f"| {'; '.join(f'{mine:.2f} and {other:.2f}' for mine, other in pairs)} | lower in each "
        f"| {order([mine < other for mine, other in pairs])}",
        judged,
    )


def rows_queue(measures: Measures, traffic: str) -> list[Row]:
    """Claim `hpcc-fig10-queue`, over all samples; beside it those of queues that are not empty, and uplinks."""
    claim = claim_under("hpcc-fig10-queue", traffic)
    us = 22.9e3 * 8 / 25e3
    rows = [Row.of(claim, f"22.9 KB at 25 Gb/s, us | 7.3 | {us:.2f} | 7.33 | {strict(abs(us - 7.33) < 0.005)}")]
    medians = [
        queue_percentiles(measures, (scheme, traffic, load), "all ports", [50])[0] for scheme in BOTH for load in LOADS
    ]
    rows.append(
        Row.of(
            claim,
            f"median queue of switch ports, KB: HPCC and DCQCN, at 30 and 50 % {SAID[traffic]} | 0 "
            f"| {'; '.join(f'{value:g}' for value in medians)} | 0 | {strict(not any(medians))}",
        )
    )
    kinds = (
        ("all ports", False, "all switch ports"),
        ("all ports", True, "switch ports, where not empty"),
        ("uplinks", False, "links between ToRs and the aggregation switch"),
    )
    for ports, busy, what in kinds if traffic == HOSTS else kinds[:1]:
        judged = ports == "all ports" and not busy
        rows += rows_tails(measures, claim, traffic, ports, busy, f"{what}, at 50 % {SAID[traffic]}", judged)
    return rows


def rows_tails(
    measures: Measures, claim: str, traffic: str, ports: str, busy: bool, where: str, judged: bool
) -> list[Row]:
    """The 95th and 99th percentiles of queues at 50 %, of a kind of ports."""
    tails = {scheme: queue_percentiles(measures, (scheme, traffic, 50), ports, [95, 99], busy=busy) for scheme in BOTH}
    ratio = tails[DCQCN][1] / tails[HPCC][1] if tails[HPCC][1] else np.inf
    bounds = (
        (HPCC, 0, (5, 50), "19.7"),
        (HPCC, 1, (8, 60), "22.9"),
        (DCQCN, 0, (300, np.inf), "1,100"),
        (DCQCN, 1, (600, np.inf), "2,100"),
    )
    rows = [
        Row.of(
            claim,
            f"{95 if number == 0 else 99}th percentile of queues, KB, {where}: "
            f"{'HPCC' if scheme == HPCC else 'DCQCN'} | {paper} | {tails[scheme][number]:.1f} "
            f"| {f'{low} to {high}' if high < np.inf else f'at least {low}'} "
            f"| {band(tails[scheme][number], low, high)}",
            judged,
        )
        for scheme, number, (low, high), paper in bounds
    ]
    return [
        *rows,
        Row.of(
            claim,
            f"99th percentile of queues, DCQCN over HPCC, {where} | 92 | {ratio:.0f} | at least 20 "
            f"| {band(float(ratio), 20, np.inf)}",
            judged,
        ),
    ]


def rows_pauses(measures: Measures, traffic: str) -> list[Row]:
    """Claim `hpcc-fig10-nopfc`; DCQCN's pauses beside it."""
    rows = []
    for scheme in BOTH:
        found = {
            load: [sum(pooled(measures, (scheme, traffic, load), name)) for name in ("pauses", "drops")]
            for load in LOADS
        }
        rows.append(
            Row.of(
                claim_under("hpcc-fig10-nopfc", traffic),
                f"pauses and drops at 30; 50 % {SAID[traffic]}: {'HPCC' if scheme == HPCC else 'DCQCN'} "
                f"| {'none' if scheme == HPCC else 'not said'} "
                f"| {'; '.join(f'{pauses:.0f} and {drops:.0f}' for pauses, drops in found.values())} | none "
                f"| {strict(not any(itertools.chain(*found.values())))}",
                scheme == HPCC,
            )
        )
    return rows


def rows_fidelity(measures: Measures) -> list[Row]:
    """Claim `hpcc-sim-fidelity`: the numbers that the paper prints of its testbed, beside ours. A real transport on a
    network that can also be simulated would be the comparison that the claim wants; this project has none."""
    claim = "hpcc-sim-fidelity"
    rows = []
    for traffic in (HOSTS, UPLINKS):
        for scheme, load, paper in ((HPCC, 30, 2.38), (DCQCN, 30, 11.2), (HPCC, 50, 2.70), (DCQCN, 50, 53.9)):
            ours = percentile(between(measures, (scheme, traffic, load), 0, SMALLEST_KB), 99)
            rows.append(
                Row.of(
                    claim_under(claim, traffic),
                    f"99th percentile of the slowdown up to 3 KB, {'HPCC' if scheme == HPCC else 'DCQCN'} at {load} "
                    f"% {SAID[traffic]}, over that of the paper's testbed | matches well | {ours / paper:.2f} "
                    f"| 0.85 to 1.15 | {band(ours / paper, 0.85, 1.15)}",
                )
            )
    return rows


EXPERIMENTS = (
    Experiment("hpcc-fig10", "WebSearch on the testbed", "hpcc/fig10-testbed.toml", sweep, measure, draw, rows),
)
"""Section 5.2, end-to-end performance."""
