"""HPCC section 5.3: 320 hosts at 100 Gb/s, six schemes (Fig. 11) and three ways to treat losses (Fig. 12).

What is shorter than the paper's runs, of which it gives no length: 3 ms of arrivals, the first of which does not count
(1.5 ms and half of one in Fig. 12), with three seeds. What had to be assumed is in the spec.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from fanin.plot import label_axes, scheme_line
from fanin.style import style_of
from fanin_papers.common import mean, picture, pooled, seeds
from fanin_papers.experiment import Change, Experiment, Key, Measures, Row, band, order, strict
from fanin_papers.hpcc_measures import measure
from fanin_papers.hpcc_sizes import FB_HADOOP_KB, between, by_size, percentile, size_axis, slowdown_axis, smaller

HPCC, DCQCN, TIMELY, DCTCP = "hpcc", "dcqcn-vendor", "timely-hpcc", "dctcp-rate"
DCQCN_WIN, TIMELY_WIN = "dcqcn-vendor-win", "timely-win"
SCHEMES = (HPCC, DCQCN, TIMELY, DCQCN_WIN, TIMELY_WIN, DCTCP)
OTHERS = SCHEMES[1:]
TITLES = {
    HPCC: "HPCC",
    DCQCN: "DCQCN",
    TIMELY: "TIMELY",
    DCQCN_WIN: "DCQCN+win",
    TIMELY_WIN: "TIMELY+win",
    DCTCP: "DCTCP",
}
SHORT_KB, LONG_KB = 120, 1000
"""The paper's short messages, 90 % of FB_Hadoop's, and the claim's long ones."""

HPCC_T = "13 us"
STEP = tuple(f'{{ kind = "step", above = "{kb} KB" }}' for kb in (300, 1200))
"""DCTCP's marks: 30 KB at 10 Gb/s, in proportion to the rate (5.1)."""


@dataclass(frozen=True)
class Traffic:
    """What hosts send: a load of messages, and incasts, if any."""

    load: float = 0.3
    cdf: str = "FB_Hadoop"
    degree: int = 60
    """Senders of an incast; 0 is no incasts."""
    incast_kb: int = 500
    every_us: float = 375
    """Time between incasts: those of 60 senders and 500 KB are 2 % of the hosts' links."""
    jitter_us: float = 0
    """Each sender of an incast starts after a random delay up to this."""

    def keys(self, scheme: str, more: str = "") -> str:
        """The traffics of the spec under a scheme, with further keys for each."""
        entries = [
            f'{{ name = "load", {scheme}, pattern = {{ kind = "poisson" }}, size = {{ cdf = "{self.cdf}" }}, '
            f'load = {{ share = {self.load}, of = "host-links" }}{more} }}'
        ]
        if self.degree:
            jitter = f', jitter = "{self.jitter_us:g} us"' if self.jitter_us else ""
            entries.append(
                f'{{ name = "incasts", {scheme}, size = {{ fixed = "{self.incast_kb} KB" }}, '
                f'pattern = {{ kind = "incast", degree = {self.degree}, '
                f'every = "{self.every_us:g} us"{jitter} }}{more} }}'
            )
        return f"traffic=[{', '.join(entries)}]"


def said(scheme: str, keys: str = "") -> str:
    """The scheme of a traffic: HPCC's T is 13 us (5.1), and further keys."""
    own = f', base_rtt = "{HPCC_T}"' if scheme == HPCC and "base_rtt" not in keys else ""
    return f'scheme = {{ id = "{scheme}"{own}{keys} }}'


def under(scheme: str, traffic: Traffic, keys: str = "", more: str = "") -> tuple[str, ...]:
    """The changes to the spec for a scheme: its traffics, and the marks of DCTCP."""
    changes = [traffic.keys(said(scheme, keys), more)]
    if scheme == DCTCP:
        changes.append(f"network.marking={STEP[0]}")
        changes.append(f'network.marking_by_rate=[{{ rate = "400 Gbps", marking = {STEP[1]} }}]')
    return tuple(changes)


SHORT_RUN = ("measure.warm_up=50 us", "measure.window=100 us", "measure.drain_limit=4 ms")
"""Of the short version."""

INCAST, HALF = "30 % + incast", "50 %"
TRAFFICS = {INCAST: Traffic(), HALF: Traffic(load=0.5, degree=0), "30 %": Traffic(degree=0)}
"""The paper's two, and the load of the first alone, for the long flows of which the second has more."""


def sweep_11(quick: bool) -> dict[Key, Change]:
    """The six schemes under both traffics; HPCC and DCTCP under 30 % without incasts too."""
    short = SHORT_RUN if quick else ()
    return {
        (scheme, name, seed): Change(None, (*under(scheme, traffic), *short))
        for (name, traffic), scheme, seed in itertools.product(TRAFFICS.items(), SCHEMES, seeds(quick))
        if name in (INCAST, HALF) or scheme in (HPCC, DCTCP)
    }


# Pictures


def draw_11(measures: Measures) -> Figure:
    """The paper's panels: slowdowns by size, and pauses beside the latency of packets."""
    figure = picture(13.5, 8.2, "HPCC Fig. 11: FB_Hadoop on 320 hosts at 100 Gb/s, 3 seeds of 2 ms")
    grid = figure.add_gridspec(2, 3, width_ratios=(2.2, 1, 1))
    for row, (name, letters) in enumerate(((INCAST, "ab"), (HALF, "cd"))):
        axes = figure.add_subplot(grid[row, 0])
        for scheme in SCHEMES:
            values = by_size(measures, (scheme, name), FB_HADOOP_KB, 95)
            style = style_of(scheme)
            marker = style.marker_for_matplotlib()
            line = {"marker": marker, "markersize": 4, **style.for_matplotlib()}
            axes.plot(range(values.size), values, label=TITLES[scheme], **line)
        size_axis(axes, FB_HADOOP_KB)
        slowdown_axis(axes, 500)
        label_axes(axes, f"({letters[0]}) {name}", "message size up to (B)", "p95 of the slowdown", legend=False)
        for place, what in ((1, "paused"), (2, "packet_us")):
            panel = figure.add_subplot(grid[row, place])
            found = [pooled(measures, (scheme, name), what) for scheme in SCHEMES]
            draw_bars(panel, [mean(one) if what == "paused" else percentile(one, 95) for one in found])
            title, unit = ("PFC", "time paused (%)") if what == "paused" else ("p95 of the latency", "us")
            label_axes(panel, f"({letters[1]}) {title}", "", unit, legend=False)
    handles, labels = figure.axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=6, frameon=False, fontsize=10)
    return figure


def draw_bars(axes: Axes, values: Sequence[float]) -> None:
    """A bar for each of the six schemes."""
    colours = [str(scheme_line(scheme)["color"]) for scheme in SCHEMES]
    bars = axes.bar(range(len(values)), values, 0.7, color=colours)
    axes.bar_label(bars, [f"{value:,.0f}" if value >= 100 else f"{value:.3g}" for value in values], fontsize=9)
    axes.set_xticks(range(len(values)), [TITLES[scheme] for scheme in SCHEMES], rotation=45, ha="right")
    axes.margins(y=0.12)
    if not any(values):
        axes.set_ylim(0, 1)


# Rows of Fig. 11


def rows_11(measures: Measures) -> list[Row]:
    """The claims of Fig. 11."""
    return [
        *rows_short(measures),
        *rows_latency(measures),
        *rows_dctcp(measures),
        *rows_long(measures),
        *rows_pauses(measures),
    ]


def p95_by_size(measures: Measures, key: Key) -> list[float]:
    """In the bins of short messages."""
    return [float(value) for value in by_size(measures, key, FB_HADOOP_KB, 95)[: smaller(FB_HADOOP_KB, SHORT_KB)]]


def rows_short(measures: Measures) -> list[Row]:
    """Claim `hpcc-fig11ac-short`."""
    rows = []
    for name, other in itertools.product((INCAST, HALF), OTHERS):
        pairs = list(zip(p95_by_size(measures, (HPCC, name)), p95_by_size(measures, (other, name)), strict=True))
        rows += Row.table(f"""
            hpcc-fig11ac-short
            95th percentile of the slowdown in bins up to 120 KB, HPCC and {TITLES[other]}, {name}
                | much lower under HPCC | {"; ".join(f"{mine:.2f} and {its:.2f}" for mine, its in pairs)}
                | lower in each bin | {strict(all((mine < its for mine, its in pairs)))}
        """)
    kb = np.array([value for name in (INCAST, HALF) for value in pooled(measures, (HPCC, name), "kb")])
    share = float((kb <= SHORT_KB).mean())
    return [
        *rows,
        *Row.table(f"""
            hpcc-fig11ac-short
            share of messages up to 120 KB, of {kb.size:,} | 90 % | {100 * share:.1f} % | 88 to 92 %
                | {band(share, 0.88, 0.92)}
        """),
    ]


def latencies(measures: Measures, name: str) -> dict[str, float]:
    """The 95th percentile of the latency of messages of a packet, by scheme, in us."""
    return {scheme: percentile(pooled(measures, (scheme, name), "packet_us"), 95) for scheme in SCHEMES}


def listed(values: dict[str, float], form: str = ".1f") -> str:
    """Numbers by scheme as text."""
    return "; ".join(f"{TITLES[scheme]} {value:{form}}" for scheme, value in values.items())


def rows_latency(measures: Measures) -> list[Row]:
    """Claim `hpcc-fig11bd-latency`."""
    rows = []
    for name, paper in ((INCAST, "below 20"), (HALF, "19.8")):
        found = latencies(measures, name)
        rows += Row.table(f"""
            hpcc-fig11bd-latency
            95th percentile of the round trip of messages of one packet, us, {name}: HPCC | {paper} | {found[HPCC]:.1f}
                | 12 to 24 | {band(found[HPCC], 12, 24)}
            the same of all schemes, {name} | lowest under HPCC | {listed(found)} | lowest under HPCC
                | {order([found[HPCC] < found[other] for other in OTHERS])}
        """)
    return rows


def rows_dctcp(measures: Measures) -> list[Row]:
    """Claim `hpcc-fig11-dctcp`; beside it the slowdowns of short messages."""
    rows = []
    for name in (INCAST, HALF):
        found = latencies(measures, name)
        short = {
            scheme: percentile(between(measures, (scheme, name), 0, SHORT_KB), 95)
            for scheme in (HPCC, DCTCP, DCQCN, TIMELY)
        }
        for what, values, judged in (
            ("round trip of messages of one packet, us", {key: found[key] for key in short}, True),
            ("slowdown up to 120 KB", short, False),
        ):
            kept = [values[HPCC] < values[DCTCP], values[DCTCP] < values[DCQCN], values[DCTCP] < values[TIMELY]]
            rows.append(
                Row.of(
                    "hpcc-fig11-dctcp",
                    f"95th percentile of the {what}, {name} | HPCC below DCTCP below DCQCN and TIMELY "
                    f"| {listed(values, '.2f' if not judged else '.1f')} | in this order | {order(kept)}",
                    judged,
                )
            )
        ratio = found[DCTCP] / found[HPCC]
        rows += Row.table(f"""
            hpcc-fig11-dctcp
            95th percentile of that round trip, DCTCP over HPCC, {name} | more than 2 | {ratio:.2f} | more than 2
                | {band(ratio, 2, np.inf)}
        """)
    return rows


def rows_long(measures: Measures) -> list[Row]:
    """Claim `hpcc-fig11-longflows`."""
    ratio = {}
    for name in (HALF, "30 %", INCAST):
        slow = {scheme: float(np.mean(between(measures, (scheme, name), LONG_KB, np.inf))) for scheme in (HPCC, DCTCP)}
        ratio[name] = (slow[HPCC] / slow[DCTCP], slow)
    shown = {name: f"{value:.2f} ({slow[HPCC]:.2f} and {slow[DCTCP]:.2f})" for name, (value, slow) in ratio.items()}
    return Row.table(f"""
        hpcc-fig11-longflows
        0.446/0.361 | 1.24 | {0.446 / 0.361:.3f} | 1.235 | {strict(round(0.446 / 0.361, 3) == 1.235)}
        mean slowdown above 1 MB, HPCC over DCTCP, {HALF} | 1.24 | {shown[HALF]} | 1.05 to 1.5
            | {band(ratio[HALF][0], 1.05, 1.5)}
        the same at 50 %, and at 30 % without incasts | more at 50 % | {shown[HALF]}; {shown["30 %"]} | more at 50 %
            | {strict(ratio[HALF][0] > ratio["30 %"][0])}
        the same at 50 %, and at 30 % with incasts | more at 50 % | {shown[HALF]}; {shown[INCAST]} | more at 50 %
            | ({strict(ratio[HALF][0] > ratio[INCAST][0])})
    """)


def rows_pauses(measures: Measures) -> list[Row]:
    """Claim `hpcc-fig11b-pfc`; 50 % beside it."""
    rows = []
    for name in (INCAST, HALF):
        judged = name == INCAST
        paused = {scheme: mean(pooled(measures, (scheme, name), "paused")) for scheme in SCHEMES}
        none = sum(pooled(measures, (HPCC, name), "pauses"))
        rows.append(
            Row.of(
                "hpcc-fig11b-pfc", f"pauses under HPCC, {name} | none | {none:.0f} | none | {strict(not none)}", judged
            )
        )
        both = [paused[DCQCN] > 0, paused[TIMELY] > 0]
        rows.append(
            Row.of(
                "hpcc-fig11b-pfc",
                f"time that ports are paused, %, {name} | only under DCQCN and TIMELY on a large scale "
                f"| {listed(paused, '.3g')} | some under both | {order(both)}",
                judged,
            )
        )
        for scheme, windowed in ((DCQCN, DCQCN_WIN), (TIMELY, TIMELY_WIN)):
            rows.append(
                Row.of(
                    "hpcc-fig11b-pfc",
                    f"time paused, {TITLES[windowed]} of {TITLES[scheme]}'s, {name} | almost zero "
                    f"| {f'{paused[windowed] / paused[scheme]:.3g}' if paused[scheme] else '0 of 0'} | at most 0.1 "
                    f"| {order([paused[windowed] <= 0.1 * paused[scheme]])}",
                    judged,
                )
            )
    return rows


# Fig. 12

PFC, GBN, IRN, WIDE = "PFC", "go-back-N", "IRN", "PFC above 25 % of the free buffer"
LOSSY = 'network.buffer={ policy = "lossy", pool = "32 MB", alpha = 1.0 }'
"""Without PFC a port may take as much as is free: half of the buffer (note 6)."""
WAYS = {
    PFC: ("", ()),
    GBN: (', rdma = { recovery = "go-back-n" }', (LOSSY,)),
    IRN: (', rdma = { recovery = "irn" }', (LOSSY,)),
}
DASHES = {PFC: "-", GBN: "--", IRN: ":"}
BOTH = (HPCC, DCQCN)
RUN_12 = ("measure.warm_up=500 us", "measure.window=1 ms")


def sweep_12(quick: bool) -> dict[Key, Change]:
    """HPCC and DCQCN with each way to treat losses, under both traffics; HPCC with PFC that does not act."""
    span = SHORT_RUN if quick else RUN_12
    wide = ("network.buffer.pfc_alpha=0.25",)
    runs: dict[Key, Change] = {}
    for seed in seeds(quick):
        for name, scheme, (way, (keys, buffer)) in itertools.product((INCAST, HALF), BOTH, WAYS.items()):
            runs[scheme, way, name, seed] = Change(None, (*under(scheme, TRAFFICS[name], more=keys), *buffer, *span))
        runs[HPCC, WIDE, INCAST, seed] = Change(None, (*under(HPCC, TRAFFICS[INCAST]), *wide, *span))
    return runs


def draw_12(measures: Measures) -> Figure:
    """The paper's panels: slowdowns by size under both traffics."""
    figure = picture(13, 5.2, "HPCC Fig. 12: ways to treat losses, FB_Hadoop on 320 hosts, 3 seeds of 1 ms")
    for axes, name, letter in zip(figure.subplots(1, 2, sharey=True), (INCAST, HALF), "ab", strict=True):
        for scheme, (way, dash) in itertools.product(BOTH, DASHES.items()):
            line = {**scheme_line(scheme), "linestyle": dash}
            values = by_size(measures, (scheme, way, name), FB_HADOOP_KB, 95)
            axes.plot(range(values.size), values, label=f"{TITLES[scheme]}, {way}", **line)
        size_axis(axes, FB_HADOOP_KB)
        slowdown_axis(axes, 500)
        label_axes(
            axes,
            f"({letter}) {name}",
            "message size up to (B)",
            "p95 of the slowdown" if name == INCAST else "",
            legend=False,
        )
    handles, labels = figure.axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=6, frameon=False, fontsize=10)
    return figure


def rows_12(measures: Measures) -> list[Row]:
    """Claim `hpcc-fig12-flowcontrol`; beside it HPCC's ways with PFC that does not act."""
    claim = "hpcc-fig12-flowcontrol"
    rows = [row_apart(measures, claim, INCAST, (WIDE, GBN, IRN), judged=False)]
    for name in (INCAST, HALF):
        late = {
            (scheme, way): by_size(measures, (scheme, way, name), FB_HADOOP_KB, 95) for scheme in BOTH for way in WAYS
        }
        rows.append(row_apart(measures, claim, name, tuple(WAYS), judged=True))
        for other in (GBN, PFC):
            pairs = list(zip(late[DCQCN, IRN].tolist(), late[DCQCN, other].tolist(), strict=True))
            pairs = [pair for pair in pairs if np.isfinite(pair).all()]
            drops = [sum(pooled(measures, (DCQCN, way, name), "drops")) for way in (IRN, other)]
            rows.append(
                Row.of(
                    claim,
                    f"95th percentile of the slowdown, DCQCN with IRN and with {other}, by bin, {name} | IRN best "
                    f"| {'; '.join(f'{irn:.2f} and {its:.2f}' for irn, its in pairs)} (drops {drops[0]:,.0f} and "
                    f"{drops[1]:,.0f}) | IRN at most the other in each bin "
                    f"| {order([irn <= its for irn, its in pairs])}",
                )
            )
        short = smaller(FB_HADOOP_KB, SHORT_KB)
        best = np.min([late[DCQCN, way] for way in WAYS], axis=0)[:short].tolist()
        worst = np.max([late[HPCC, way] for way in WAYS], axis=0)[:short].tolist()
        rows += Row.table(f"""
            {claim}
            95th percentile of the slowdown up to 120 KB, the best of DCQCN and the worst of HPCC, {name}
                | DCQCN never reaches HPCC
                | {"; ".join(f"{its:.2f} and {own:.2f}" for its, own in zip(best, worst, strict=True))}
                | HPCC lower in each bin | {order([own < its for its, own in zip(best, worst, strict=True)])}
        """)
    return rows


def row_apart(measures: Measures, claim: str, name: str, ways: tuple[str, ...], *, judged: bool) -> Row:
    """How far the ways to treat losses are apart under HPCC."""
    late = np.array([by_size(measures, (HPCC, way, name), FB_HADOOP_KB, 95) for way in ways])
    apart = float(np.nanmax(late.max(axis=0) / late.min(axis=0)))
    lost = [sum(pooled(measures, (HPCC, way, name), "drops")) for way in ways]
    pauses = sum(pooled(measures, (HPCC, ways[0], name), "pauses"))
    return Row.of(
        claim,
        f"95th percentile of the slowdown under HPCC, largest over smallest, worst bin, {name}: {', '.join(ways)} "
        "| no difference "
        f"| {apart:.3f} (drops {', '.join(f'{value:.0f}' for value in lost)}; pauses {pauses:.0f}) "
        f"| at most 1.05 in each bin | {band(apart, 1, 1.05)}",
        judged,
    )


SPEC = "hpcc/fig11-fattree.toml"

EXPERIMENTS = (
    Experiment("hpcc-fig11", "six schemes on 320 hosts", SPEC, sweep_11, measure, draw_11, rows_11),
    Experiment("hpcc-fig12", "ways to treat losses", SPEC, sweep_12, measure, draw_12, rows_12),
)
"""In the order of the paper."""
