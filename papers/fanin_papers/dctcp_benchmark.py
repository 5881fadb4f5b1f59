"""DCTCP sections 2.2, 2.3.3 and 4.3: figures 3 to 5, 9 and 23 to 27, the workload and the benchmark of a rack."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import PercentFormatter

from fanin.plot import indexed_line, label_axes, scheme_line
from fanin.style import MORE_COLOURS, style_of
from fanin_papers.common import cdf, log_ticks, mean, picture, points, pooled, quantile, seeds
from fanin_papers.dctcp import SCHEMES
from fanin_papers.dctcp_benchmark_runs import (
    ANEW,
    ARRIVALS,
    BACKGROUND,
    BINS,
    DEEP,
    DEEPER,
    FACTORS,
    KEPT,
    LARGE,
    PAIRS,
    QUERY,
    READINGS,
    RED,
    SENSITIVITY,
    SHORT,
    SINGLE,
    SWITCHES,
    TOTALS_KB,
    key,
    measure,
    measure_waits,
    measure_workload,
    run,
    sweep_baseline,
    sweep_one_of_two,
    sweep_production,
    sweep_tenfold,
)
from fanin_papers.experiment import Change, Experiment, Key, Measures, Row, band, gain_band, judge, order, strict

SPEC = "dctcp/fig23-benchmark.toml"
PORT_BYTES = 4e6 * 0.21 / 1.21
"""What a lone busy port may take of the memory."""
LIMIT_MS = PORT_BYTES * 8 / 1e6
"""The time that this takes at 1 Gb/s."""


def late(measures: Measures, name: str, point: int) -> float:
    """The share of queries with a timeout in per cent, over all seeds."""
    return 100 * mean(pooled(measures, (name, point), "timed_out"))


def p95(measures: Measures, name: str, point: int, what: str) -> float:
    """The 95th percentile over all seeds, in ms."""
    return quantile(pooled(measures, (name, point), what), 0.95)


def draw_workload(measures: Measures) -> Figure:
    """Gaps between background flows, their sizes, and flows at once, as the paper draws them."""
    figure = picture(14, 4.8, "DCTCP Figs. 3 to 5: the benchmark's traffic, 3 x 10 s of 45 servers")
    gaps, sizes, at_once = figure.subplots(1, 3)
    names = {arrivals: (key("newreno", arrivals), 1) for arrivals in ARRIVALS}
    for place, (arrivals, name) in enumerate(names.items()):
        line = indexed_line(place) | {"linestyle": "-"}
        cdf(gaps, pooled(measures, name, "gaps_ms"), label=f"flows {arrivals}", **line)
        for what, dashes in (("at_once", "-"), ("large_at_once", "--")):
            label = f"{'all' if what == 'at_once' else 'above 1 MB'}, {arrivals}"
            cdf(at_once, pooled(measures, name, what), label=label, **(line | {"linestyle": dashes}))
    found = np.asarray(pooled(measures, names[SINGLE], "bytes"))
    edges = np.logspace(3, 8, 26)
    middles = np.sqrt(edges[1:] * edges[:-1])
    for place, (label, weights) in enumerate((("flows", None), ("bytes", found))):
        density = np.histogram(found, edges, weights=weights)[0]
        sizes.plot(middles, density / density.sum(), label=label, **indexed_line(place))
    sizes.set_xscale("log")
    at_once.set_xscale("symlog", linthresh=1)
    at_once.set_xlim(-0.1, 400)
    gaps.set_xlim(-5, 800)
    for axes in (gaps, at_once):
        axes.yaxis.set_major_formatter(PercentFormatter(xmax=1.0))
    label_axes(gaps, "3(b) gaps between background flows to a server", "gap (ms)", "share of gaps")
    label_axes(sizes, "4 background flows", "size (bytes, log scale)", "share per fifth of a decade")
    label_axes(at_once, "5 flows of a server in 50 ms", "flows (log scale above 1)", "share of windows")
    at_once.legend(frameon=False, fontsize=10, loc="upper center", bbox_to_anchor=(0.5, -0.13), ncols=2)
    return figure


def rows_workload(measures: Measures) -> list[Row]:
    """Claim `dctcp-sec22-workload`, with both arrivals of background flows."""
    return [row for arrivals in ARRIVALS for row in rows_arrivals(measures, arrivals)]


def rows_arrivals(measures: Measures, arrivals: str) -> list[Row]:
    """Claim `dctcp-sec22-workload` with one kind of arrivals."""
    claim, name = f"dctcp-sec22-workload (flows {arrivals})", (key("newreno", arrivals), 1)
    answers = sorted(set(pooled(measures, name, "answers")))
    sizes = np.asarray(pooled(measures, name, "bytes"))
    small, heavy = float((sizes < 1e5).mean()), float(sizes[sizes > LARGE].sum() / sizes.sum())
    at_once, large = pooled(measures, name, "at_once"), pooled(measures, name, "large_at_once")
    zero = mean([float(gap == 0) for gap in pooled(measures, name, "gaps_ms")])
    middle, high = quantile(large, 0.5), quantile(large, 0.75)
    return Row.table(f"""
        {claim}
        sizes of answers | 1.6 to 2 KB | {", ".join(f"{size:,.0f} B" for size in answers)} | 2,000 B
            | {strict(answers == [2000])}
        flows below 100 KB | most | {small:.1%} | above half | {strict(small > 0.5)}
        bytes in flows above 1 MB | most | {heavy:.1%} | above half | {strict(heavy > 0.5)}
        flows of a server at once, median | 36 | {judge("band", quantile(at_once, 0.5), ".0f", "25 to 50")}
        of these above 1 MB, median | 1 | {judge("band", middle, ".0f", "0 to 2")}
        of these above 1 MB, 75th percentile | 2 | {judge("band", high, ".0f", "1 to 3")}
        gaps of 0 | half | {judge("band", zero, ".1%", "at least 40 %")}
        flows of a server at once, 99.99th percentile | above 1,600 | {float(np.quantile(at_once, 0.9999)):.0f}
            | above 1,600 | ({strict(float(np.quantile(at_once, 0.9999)) > 1600)})
    """)


# Fig. 9: queueing of answers


def draw_waits(measures: Measures) -> Figure:
    """The cumulative distribution of the time that answers wait, as the paper draws it."""
    figure = picture(7, 4.8)
    axes = figure.subplots()
    for place, arrivals in enumerate(ARRIVALS):
        line = indexed_line(place)
        cdf(axes, pooled(measures, (key("newreno", arrivals), 1), "waits_ms"), label=f"flows {arrivals}", **line)
    axes.axvline(LIMIT_MS, color="#888888", linewidth=1, linestyle=":", label="most that a port holds")
    axes.set_xlim(-0.1, 7)
    axes.set_ylim(0.5, 1.005)
    axes.yaxis.set_major_formatter(PercentFormatter(xmax=1.0))
    label_axes(axes, "DCTCP Fig. 9: answers to an aggregator, TCP", "wait beyond the fastest (ms)", "share of answers")
    return figure


def rows_waits(measures: Measures) -> list[Row]:
    """Claim `dctcp-fig9-rtt-cdf`, with both arrivals of background flows."""
    found = []
    for arrivals in ARRIVALS:
        claim, name = f"dctcp-fig9-rtt-cdf (flows {arrivals})", (key("newreno", arrivals), 1)
        below, longest = mean(pooled(measures, name, "below_1_ms")), max(pooled(measures, name, "longest_ms"))
        found += Row.table(f"""
            {claim}
            answers that wait less than 1 ms | 90 % | {below:.1%} of {sum(pooled(measures, name, "answers")):,.0f}
                | 80 to 97 % | {band(below, 0.8, 0.97)}
            longest wait without a loss, ms | 14, all of the buffer | {longest:.2f}
                | at most {LIMIT_MS:.2f}, all of the buffer | {strict(longest <= LIMIT_MS)}
        """)
    return found


# Figs. 23 and 24: the benchmark as it is

BASELINE = (*READINGS, PAIRS)
PERCENTILES = (0.5, 0.95, 0.99, 0.999)


def draw_baseline(measures: Measures) -> Figure:
    """Mean and 95th percentile by size, and percentiles of queries; with flows in pairs pale."""
    figure = picture(14, 4.8, "DCTCP Figs. 23 and 24: the benchmark, 3 x 10 s instead of 10 minutes")
    panels = figure.subplots(1, 3)
    for reading, strength in ((ANEW, 1.0), (PAIRS, 0.4)):
        for side, scheme in enumerate(SCHEMES):
            name = key(scheme, reading)
            times = {what: pooled(measures, (name, 1), what) for what in (*BINS, "query_ms")}
            shown = {
                "color": scheme_line(scheme)["color"],
                "marker": style_of(scheme).marker_for_matplotlib(),
                "markersize": 7,
                "linestyle": "none",
                "alpha": strength,
                "label": scheme if reading == ANEW else f"{scheme}, flows in pairs",
            }
            across = [place + (side - 0.5) * 0.3 + (0 if reading == ANEW else 0.12) for place in range(len(BINS))]
            panels[0].plot(across, [mean(times[what]) for what in BINS], **shown)
            panels[1].plot(across, [quantile(times[what], 0.95) for what in BINS], **shown)
            panels[2].plot(
                across[: len(PERCENTILES)], [quantile(times["query_ms"], share) for share in PERCENTILES], **shown
            )
    for axes, title in zip(
        panels, ("23(a) mean of background flows", "23(b) their 95th percentile", "24 queries"), strict=True
    ):
        axes.set_yscale("log")
        if axes is panels[2]:
            axes.set_xticks(range(len(PERCENTILES)), ["50th", "95th", "99th", "99.9th\npercentile"])
            log_ticks(axes)
        else:
            axes.set_xticks(range(len(BINS)), [name.replace(" to ", "\nto ") for name in BINS])
        label_axes(axes, title, "", "completion (ms, log scale)")
    return figure


def rows_baseline(measures: Measures) -> list[Row]:
    """Claims `dctcp-fig23-background` and `dctcp-fig24-query`, under each reading."""
    return [
        row for reading in BASELINE for row in (*rows_background(measures, reading), *rows_query(measures, reading))
    ]


def rows_background(measures: Measures, reading: str) -> list[Row]:
    """Claim `dctcp-fig23-background`."""
    names = {scheme: (key(scheme, reading), 1) for scheme in SCHEMES}
    means = {s: {b: mean(pooled(measures, names[s], b)) for b in BINS} for s in SCHEMES}
    tails = {s: {b: quantile(pooled(measures, names[s], b), 0.95) for b in BINS} for s in SCHEMES}
    gains = {
        "mean": (means["newreno"][SHORT] - means["dctcp"][SHORT], means, "3", 0.5, 8),
        "95th percentile": (tails["newreno"][SHORT] - tails["dctcp"][SHORT], tails, "9", 2, 20),
    }
    kept = [
        found["dctcp"][b] <= found["newreno"][b] * (1.1 if b == BINS[-1] else 1)
        for found in (means, tails)
        for b in BINS
        if pooled(measures, names["dctcp"], b)
    ]
    timeouts = {s: sum(pooled(measures, names[s], "late_flows")) for s in SCHEMES}
    flows = sum(pooled(measures, names["dctcp"], "flows"))
    return [
        *(
            Row.of(
                f"dctcp-fig23-background ({reading})",
                f"{SHORT}: gain of dctcp in the {what}, ms | {paper} "
                f"| {gain:.2f} ({found['newreno'][SHORT]:.2f} to {found['dctcp'][SHORT]:.2f}) | {low:g} to {high:g} "
                f"| {gain_band(gain, low, high)}",
            )
            for what, (gain, found, paper, low, high) in gains.items()
        ),
        *Row.table(f"""
            dctcp-fig23-background ({reading})
            dctcp at most newreno in mean and 95th percentile, by bins of size, 10 % slack above 10 MB | always
                | {sum(kept)} of {len(kept)} | always | {order(kept)}
            of {flows:,.0f} background flows with a timeout: newreno, dctcp | none
                | {", ".join(f"{timeouts[s]:.0f}" for s in SCHEMES)} | 0 | ({strict(sum(timeouts.values()) == 0)})
        """),
    ]


def rows_query(measures: Measures, reading: str) -> list[Row]:
    """Claim `dctcp-fig24-query`."""
    share = {s: late(measures, key(s, reading), 1) for s in SCHEMES}
    times = {s: pooled(measures, (key(s, reading), 1), "query_ms") for s in SCHEMES}
    tail = {s: [quantile(times[s], part) for part in PERCENTILES[1:]] for s in SCHEMES}
    return Row.table(f"""
        dctcp-fig24-query ({reading})
        newreno: queries with a timeout | 1.15 % | {share["newreno"]:.2f} % of {len(times["newreno"]):,} | 0.2 to 4 %
            | {band(share["newreno"], 0.2, 4)}
        dctcp: queries with a timeout | none | {share["dctcp"]:.2f} % of {len(times["dctcp"]):,} | at most 0.01 %
            | {strict(share["dctcp"] <= 0.01)}
        95th, 99th, 99.9th percentile in ms: newreno, dctcp | dctcp below
            | {"; ".join(", ".join(f"{value:.2f}" for value in tail[s]) for s in SCHEMES)} | dctcp below
            | {order([a > b for a, b in zip(tail["newreno"], tail["dctcp"], strict=True)])}
    """)


# Fig. 25: ten times the traffic


def colour(name: str) -> str:
    """Of a scheme, or of newreno at another switch."""
    own = {DEEP: MORE_COLOURS[0], RED: MORE_COLOURS[3]}
    return own.get(name) or str(scheme_line(name)["color"])


def draw_tenfold(measures: Measures) -> Figure:
    """Bars as in the paper, for both readings, and queries with a timeout."""
    figure = picture(14, 4.8, "DCTCP Fig. 25: updates and answers ten times as large, 3 x 3 s instead of 10 minutes")
    panels = figure.subplots(1, 3)
    for place, reading in enumerate(READINGS):
        for side, name in enumerate(SWITCHES):
            at = place + (side - 1.5) * 0.2
            values = (
                p95(measures, key(name, reading), 10, SHORT),
                p95(measures, key(name, reading), 10, "query_ms"),
                late(measures, key(name, reading), 10),
            )
            for axes, value in zip(panels, values, strict=True):
                axes.bar(at, value, width=0.18, color=colour(name), label=name if place == 0 else None)
                shown = f"{value:.3g}" if value >= 1 else f"{value:.2f}"
                axes.annotate(shown, (at, value), (0, 3), textcoords="offset points", ha="center", fontsize=9)
    for axes, title, y in zip(
        panels,
        (f"{SHORT}: 95th percentile", "queries: 95th percentile", "queries with a timeout"),
        ("completion (ms)", "completion (ms)", "queries with a timeout (%)"),
        strict=True,
    ):
        axes.set_xticks(range(len(READINGS)), list(READINGS))
        label_axes(axes, title, "", y, legend=False)
        axes.margins(y=0.12)
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=4, frameon=False, fontsize=10)
    return figure


def rows_tenfold(measures: Measures) -> list[Row]:
    """Claims `dctcp-fig25-scaled` and `dctcp-fig25-deep-red`, under both readings, and after one change."""
    found = [
        row for reading in READINGS for row in (*rows_scaled(measures, reading), *rows_switches(measures, reading))
    ]
    return [*found, *rows_changed(measures)]


def rows_scaled(measures: Measures, reading: str) -> list[Row]:
    """Claim `dctcp-fig25-scaled`."""
    claim = f"dctcp-fig25-scaled ({reading})"
    names = {s: key(s, reading) for s in SCHEMES}
    share = {s: late(measures, names[s], 10) for s in SCHEMES}
    tails = {what: {s: p95(measures, names[s], 10, what) for s in SCHEMES} for what in ("query_ms", SHORT)}
    gain = {what: found["newreno"] - found["dctcp"] for what, found in tails.items()}
    said = {what: f"{found['newreno']:.1f} to {found['dctcp']:.1f}" for what, found in tails.items()}
    unscaled = p95(measures, names["dctcp"], 1, SHORT)
    ratio = tails[SHORT]["dctcp"] / unscaled
    return Row.table(f"""
        {claim}
        newreno: queries with a timeout | 92 % | {judge("band", share["newreno"], ".1f %", "60 to 100 %")}
        dctcp: queries with a timeout | 0.3 % | {judge("band", share["dctcp"], ".2f %", "at most 2 %")}
        queries: gain of dctcp at the 95th percentile, ms | 136 | {gain["query_ms"]:.1f} ({said["query_ms"]})
            | at least 50 | {band(gain["query_ms"], 50, np.inf)}
        {SHORT}: gain of dctcp at the 95th percentile, ms | 14 | {gain[SHORT]:.1f} ({said[SHORT]}) | at least 5
            | {band(gain[SHORT], 5, np.inf)}
        {SHORT}: 95th percentile of dctcp over that without the factor | unchanged
            | {tails[SHORT]["dctcp"]:.1f} / {unscaled:.1f} ms, {ratio:.2f} | 0.7 to 1.3 | {band(ratio, 0.7, 1.3)}
    """)


def rows_switches(measures: Measures, reading: str) -> list[Row]:
    """Claim `dctcp-fig25-deep-red`."""
    claim = f"dctcp-fig25-deep-red ({reading})"
    tail = {name: p95(measures, key(name, reading), 10, SHORT) for name in SWITCHES}
    share = {name: late(measures, key(name, reading), 10) for name in SWITCHES}
    shallow = ("newreno", RED)
    kept = [tail["dctcp"] < tail[name] for name in shallow] + [tail[name] < tail[DEEP] for name in shallow]
    paper = {"dctcp": "0.3 %", DEEP: "below 1 %", "newreno": "92 %", RED: "95 %"}
    return [
        *Row.table(f"""
            {claim}
            {SHORT}, 95th percentile in ms: {", ".join(f"{name} {value:.1f}" for name, value in tail.items())}
                | dctcp least, deep buffer most | {sum(kept)} of {len(kept)} orders | always | {order(kept)}
        """),
        *(
            Row.of(
                claim,
                f"{name}: queries with a timeout | {paper[name]} | {share[name]:.2f} % "
                f"| {'above 50 %' if name in shallow else 'below 2 %'} "
                f"| {band(share[name], 50, 100) if name in shallow else band(share[name], 0, 2)}",
            )
            for name in paper
        ),
        Row.of(
            claim, f"{DEEP}: 95th percentile of {SHORT}, ms | above 80 | {judge('band', tail[DEEP], '.1f', 'above 50')}"
        ),
    ]


def rows_changed(measures: Measures) -> list[Row]:
    """Beside `dctcp-fig25-scaled`: one change at a time of the benchmark with windows that are kept."""
    found = []
    for what in SENSITIVITY:
        names = {s: key(s, what) for s in SCHEMES}
        share = {s: late(measures, names[s], 10) for s in SCHEMES}
        tails = {s: [p95(measures, names[s], 10, one) for one in ("query_ms", SHORT)] for s in SCHEMES}
        found += Row.table(f"""
            dctcp-fig25-scaled ({KEPT})
            {what}: queries with a timeout; 95th percentile of queries, of {SHORT}, ms: newreno, dctcp
                | 92 and 0.3 %; 136 and 14 ms less with dctcp
                | {"; ".join(f"{share[s]:.2f} %, {tails[s][0]:.1f}, {tails[s][1]:.1f}" for s in SCHEMES)}
                | 60 to 100 %, at most 2 % | ({order([share["newreno"] >= 60, share["dctcp"] <= 2])})
        """)
    name = key(DEEP, DEEPER)
    found += Row.table(f"""
        dctcp-fig25-deep-red ({KEPT})
        {DEEP}, {DEEPER}: queries with a timeout; 95th percentile of {SHORT}, ms | below 1 %; above 80
            | {late(measures, name, 10):.2f} %; {p95(measures, name, 10, SHORT):.1f} | below 2 %; above 50
            | ({order([late(measures, name, 10) < 2, p95(measures, name, 10, SHORT) > 50])})
    """)
    return found


# Figs. 26 and 27: more background, or larger answers


def sweep_longer(quick: bool) -> dict[Key, Change]:
    """With all 10 s where nothing grows, because timeouts are rare there."""
    longer = {(key(s, BACKGROUND), 1, seed): run(s, ANEW, quick) for s in SCHEMES for seed in seeds(quick)}
    return sweep_one_of_two(quick) | longer


def draw_one_of_two(measures: Measures) -> Figure:
    """The paper's panels; the other reading of queries dashed."""
    figure = Figure(figsize=(12, 9), layout="constrained")
    (short_a, query_b), (late_a, late_b) = figure.subplots(2, 2)
    for scheme in SCHEMES:
        shown = scheme_line(scheme) | {"marker": style_of(scheme).marker_for_matplotlib(), "markersize": 5}
        back = key(scheme, BACKGROUND)
        for what, label, line in ((SHORT, "short messages", "-"), ("query_ms", "queries", "--")):
            values = [p95(measures, back, factor, what) for factor in points(measures, back)]
            short_a.plot(points(measures, back), values, label=f"{scheme}, {label}", **(shown | {"linestyle": line}))
        values = [late(measures, back, factor) for factor in points(measures, back)]
        late_a.plot(points(measures, back), values, label=scheme, **(shown | {"linestyle": "-"}))
        for reading, line in zip(READINGS, ("--", "-"), strict=True):
            name = f"{key(scheme, reading)}, {QUERY}"
            found, style = points(measures, name), shown | {"linestyle": line}
            tails = [p95(measures, name, total, "query_ms") for total in found]
            query_b.plot(found, tails, label=f"{scheme}, {reading}", **style)
            late_b.plot(found, [late(measures, name, total) for total in found], label=f"{scheme}, {reading}", **style)
    for axes, title, x, y in (
        (short_a, "26(a) 95th percentile", "background, times", "completion (ms, log scale)"),
        (query_b, "26(b) queries: 95th percentile", "all answers to a query (KB)", "completion (ms)"),
        (late_a, "27(a)", "background, times", "queries with a timeout (%)"),
        (late_b, "27(b)", "all answers to a query (KB)", "queries with a timeout (%)"),
    ):
        if axes is short_a:
            axes.set_yscale("log")
            axes.set_ylim(0.8, 300)
            log_ticks(axes)
        else:
            axes.set_ylim(bottom=0)
        label_axes(axes, title, x, y)
    short_a.legend(frameon=False, fontsize=10, ncols=2, loc="upper left")
    figure.suptitle(
        "DCTCP Figs. 26 and 27: only updates or only answers grow, 3 x 3 and 3 x 4 s (3 x 10 s without growth)",
        fontsize=11,
    )
    return figure


def rows_one_of_two(measures: Measures) -> list[Row]:
    """Claims `dctcp-fig26a-27a-background` and `dctcp-fig26b-27b-query`."""
    found = rows_more_background(measures)
    return [*found, *(row for reading in READINGS for row in rows_larger_answers(measures, reading))]


def listed(values: Mapping[str, Sequence[float]], digits: int) -> str:
    """Values of each scheme."""
    return "; ".join(f"{name} " + ", ".join(f"{v:.{digits}f}" for v in some) for name, some in values.items())


def rows_more_background(measures: Measures) -> list[Row]:
    """Claim `dctcp-fig26a-27a-background`."""
    ran = [factor for factor in FACTORS if factor in points(measures, key("dctcp", BACKGROUND))]
    names = {s: key(s, BACKGROUND) for s in SCHEMES}
    found = []
    for what, label in ((SHORT, "short messages"), ("query_ms", "queries")):
        tails = {s: [p95(measures, names[s], factor, what) for factor in ran] for s in SCHEMES}
        found += Row.table(f"""
            dctcp-fig26a-27a-background
            {label}, 95th percentile, ms | rises with the background | {listed(tails, 2)} | never falls
                | {order([a <= b for line in tails.values() for a, b in pairwise(line)])}
            {label}, 95th percentile: dctcp below newreno, background x {", ".join(map(str, ran))} | always
                | {", ".join(f"{b:.2f} < {a:.2f}" for a, b in zip(*tails.values(), strict=True))} | always
                | {order([b < a for a, b in zip(*tails.values(), strict=True)])}
        """)
    share = {s: [late(measures, names[s], factor) for factor in ran] for s in SCHEMES}
    kept = [a > b for a, b in zip(*share.values(), strict=True)]
    ours = listed(share, 2)
    return [
        *found,
        Row.of(
            "dctcp-fig26a-27a-background",
            f"queries with a timeout, % | newreno above dctcp | {ours} | always | {order(kept)}",
        ),
    ]


def rows_larger_answers(measures: Measures, reading: str) -> list[Row]:
    """Claim `dctcp-fig26b-27b-query`."""
    claim = f"dctcp-fig26b-27b-query ({reading})"
    names = {s: f"{key(s, reading)}, {QUERY}" for s in SCHEMES}
    ran = [total for total in TOTALS_KB if total in points(measures, names["dctcp"])]
    share = {s: [late(measures, names[s], total) for total in ran] for s in SCHEMES}
    ideal_ms = {total: total * 8 / 1e3 + 1 for total in ran}
    worst = max(p95(measures, names["dctcp"], total, "query_ms") / ideal_ms[total] for total in ran)
    last = share["newreno"][-1]
    tails = listed({s: [p95(measures, names[s], total, "query_ms") for total in ran] for s in SCHEMES}, 1)
    return Row.table(f"""
        {claim}
        newreno, 1 MB: queries with a timeout | almost all | {judge("band", last, ".1f %", "above 60 %")}
        newreno, {", ".join(map(str, ran))} KB: queries with a timeout, % | rises
            | {", ".join(f"{value:.2f}" for value in share["newreno"])} | rises
            | {order([a <= b for a, b in pairwise(share["newreno"])])}
        dctcp: queries with a timeout, at worst | hardly any | {max(share["dctcp"]):.2f} % | at most 2 %
            | {band(max(share["dctcp"]), 0, 2)}
        dctcp: 95th percentile over size / 1 Gb/s + 1 ms, at worst | little affected | {worst:.2f} ({tails} ms)
            | at most 2 | {band(worst, 0, 2)}
    """)


EXPERIMENTS = (
    Experiment(
        "dctcp-fig5",
        "the benchmark's traffic",
        SPEC,
        sweep_production,
        measure_workload,
        draw_workload,
        rows_workload,
        ("3b", "4", "5"),
    ),
    Experiment("dctcp-fig9", "queueing of answers", SPEC, sweep_production, measure_waits, draw_waits, rows_waits),
    Experiment(
        "dctcp-fig23",
        "the benchmark of a rack",
        SPEC,
        sweep_baseline,
        measure,
        draw_baseline,
        rows_baseline,
        ("23ab", "24"),
    ),
    Experiment(
        "dctcp-fig25",
        "the benchmark with ten times the sizes",
        SPEC,
        sweep_tenfold,
        measure,
        draw_tenfold,
        rows_tenfold,
    ),
    Experiment(
        "dctcp-fig26",
        "more background, or larger answers",
        SPEC,
        sweep_longer,
        measure,
        draw_one_of_two,
        rows_one_of_two,
        ("26ab", "27ab"),
    ),
)
