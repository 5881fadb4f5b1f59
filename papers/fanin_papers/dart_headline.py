"""Dart section VI-C: Fig. 14's bars under several readings of section VI-A, and the causes of the differences."""

from __future__ import annotations

from itertools import pairwise
from textwrap import fill

import numpy as np
import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, NullFormatter, NullLocator

from fanin import Result
from fanin.plot import label_axes, set_axis
from fanin.style import style_of
from fanin_papers.common import SEEDS
from fanin_papers.dart_mix import LOADS, SHORT_SHARE, TABLE_1, TABLE_2, at
from fanin_papers.dart_readings import (
    BARS,
    CONNECTIONS,
    DART,
    DASR,
    DASR_LA,
    DCQCN,
    FULL,
    HOST_LINKS,
    IOFD,
    ONE_LANE,
    PRIQ,
    SINGLE,
    SMALL,
    TEXT,
    TIMELY,
    WHOLE,
    sweep,
)
from fanin_papers.experiment import Experiment, Key, Measured, Measures, Row, band, gain_band, order, strict

PAPER = {20: {IOFD: 0.69, DASR_LA: 0.21, DART: 0.16}, 60: {IOFD: 0.21, DASR_LA: 0.23, DART: 0.07}}
"""Fig. 14, p99 over DCQCN's, as far as section VI-C prints it. Pri-Q, it says, does not improve at low loads."""

LABELS = {
    DCQCN: "DCQCN",
    TIMELY: "TIMELY",
    PRIQ: "Pri-Q",
    IOFD: "IOFD-only",
    DASR: "DASR w/o LA",
    DASR_LA: "DASR-only",
    DART: "Dart",
}
"""The schemes as Fig. 14 calls them."""

HEADER = 40
"""Bytes of all headers of a data packet, as in the spec."""
PAYLOAD = 1460


def measure(result: Result) -> Measured:
    """Completion of 8 KB messages; marks before and after suppression; loads carried; detours by bytes."""
    flows = result.flows().with_columns((pl.col("traffic") == "long").alias("long"))
    short = flows.filter(~pl.col("long"))
    timed = short.filter(pl.col("measured") & (pl.col("bytes") == 8000))
    done_us = timed["completion_ps"].drop_nulls().to_numpy() / 1e6
    network = result.summary()["network"]
    traffics = result.summary()["traffics"]
    tiers = dict(result.ports().group_by("tier").agg(pl.col("utilisation").mean()).iter_rows())
    measured = {
        "p50_us": float(np.percentile(done_us, 50)) if done_us.size else None,
        "p99_us": float(np.percentile(done_us, 99)) if done_us.size else None,
        "messages": len(timed),
        "unfinished": timed["completion_ps"].null_count(),
        "short_gbps": sum(t["goodput_gbps"] or 0.0 for t in traffics if t["traffic"] != "long"),
        "long_gbps": sum(t["goodput_gbps"] or 0.0 for t in traffics if t["traffic"] == "long"),
        "paused_ms": network["paused_us"] / 1e3,
        "resent": network["nacks"],
        **marks(result, flows),
        **detours(result, short),
        **{f"{tier}_used": value for tier, value in tiers.items()},
    }
    return {name: [float("nan") if value is None else float(value)] for name, value in measured.items()}


def marks(result: Result, flows: pl.DataFrame) -> dict[str, float]:
    """Per cent of the packets of short messages that arrived with a mark, and the least and most of them that the
    receiver can have passed on to DCQCN: it counts the marks of long messages too."""
    short, long = flows.filter(~pl.col("long")), flows.filter(pl.col("long"))
    arrived, marked, others = (
        int(which[name].sum())
        for which, name in ((short, "packets_arrived"), (short, "packets_marked"), (long, "packets_marked"))
    )
    # Traffics with the same scheme share their counters.
    actions = result.summary()["traffics"][0]["actions"]
    passed = actions["marks_passed"] if actions["marks_suppressed"] else marked + others
    most = min(passed, marked)
    least = max(0, passed - others)
    return {
        "marked": 100 * marked / max(arrived, 1),
        "passed_least": 100 * least / max(arrived, 1),
        "passed_most": 100 * most / max(arrived, 1),
    }


def detours(result: Result, short: pl.DataFrame) -> dict[str, float]:
    """Table II in per cent: path dilation as a mean over messages and over bytes, the load increase, and the share of
    short messages in the bytes on links without detours."""
    network = result.summary()["network"]
    first = short.filter(pl.col("links") > 0)
    hops, links = first["hops"].to_numpy().astype(float), first["links"].to_numpy().astype(float)
    bytes_ = first["bytes"].to_numpy().astype(float)
    wire = bytes_ + HEADER * np.ceil(bytes_ / PAYLOAD)
    straight = network["link_bytes"] - network["detour_bytes"]
    return {
        "dilation": 100 * float((links / hops - 1).mean()) if hops.size else float("nan"),
        "dilation_by_bytes": 100 * float((wire * (links - hops)).sum() / (wire * hops).sum()),
        "load_increase": 100 * network["detour_bytes"] / straight,
        "short_share": 100 * float((wire * hops).sum()) / straight,
    }


def tail(measures: Measures, name: str, scheme: str, percent: int) -> float:
    """The mean over seeds of the p99 of 8 KB messages in microseconds."""
    return at(measures, (name, scheme, percent), "p99_us")


def cut(measures: Measures, name: str, scheme: str, percent: int) -> float:
    """How much lower the p99 is than DCQCN's, as a share of it."""
    return 1 - tail(measures, name, scheme, percent) / tail(measures, name, DCQCN, percent)


def loads(measures: Measures, name: str) -> list[int]:
    """The loads of a reading that were run."""
    return sorted({int(key[2]) for key in measures if key[0] == name})


# The picture


def draw(measures: Measures) -> Figure:
    """Fig. 14's bars per reading; then one thing changed at a time."""
    ran = [name for name in FULL if loads(measures, name)]
    single = [name for name in SINGLE if loads(measures, name)]
    short = not single
    size = "short version on 128 hosts, one seed: its numbers prove nothing" if short else "1,024 hosts"
    figure = Figure(figsize=(13, 5) if short else (14, 19), layout="constrained")
    parts = figure.subfigures(1 if short else 3, 1, squeeze=False, height_ratios=None if short else (3, 1, 1.4))[:, 0]
    parts[0].suptitle(
        f"Dart Fig. 14, {size}\np99 of 8 KB messages over DCQCN's, log scale; black lines: the paper's; "
        "below the loads: DCQCN's p99",
        fontsize=12,
    )
    panels = parts[0].subplots((len(ran) + 1) // 2, 2, squeeze=False).flatten()
    for axes in panels[len(ran) :]:
        axes.set_visible(False)
    for name, axes in zip(ran, panels, strict=False):
        bars(axes, [(f"{percent} %", name, percent) for percent in loads(measures, name)], measures)
        label_axes(
            axes, f"Reading {name}" if name[0].isdigit() else name[0].upper() + name[1:], "load", "p99 / DCQCN's"
        )
        axes.legend().remove()
    parts[0].legend(*panels[0].get_legend_handles_labels(), frameon=False, ncols=6, loc="outside lower center")
    if not short:
        axes = parts[1].subplots()
        bars(axes, [(wrapped(name), name, 40) for name in single], measures)
        label_axes(axes, "Other readings, at 40 %", "", "p99 / DCQCN's")
        axes.legend().remove()
        for axes, base in zip(parts[2].subplots(1, 2), (TEXT, CONNECTIONS), strict=True):
            draw_switches(axes, measures, base)
    return figure


def wrapped(name: str) -> str:
    """A reading's name below its bars."""
    return fill(name, 26)


def bars(axes: Axes, points: list[tuple[str, str, int]], measures: Measures) -> None:
    """A group of bars for each reading and load, from DCQCN's tail up or down."""
    shown = BARS[1:]
    width = 0.84 / len(shown)
    for place, scheme in enumerate(shown):
        across = [group + (place - (len(shown) - 1) / 2) * width for group in range(len(points))]
        high = [1 - cut(measures, name, scheme, percent) for _, name, percent in points]
        axes.bar(
            across,
            [h - 1 for h in high],
            width * 0.9,
            bottom=1,
            color=style_of(scheme).colour,
            hatch="///" if scheme == IOFD else None,
            edgecolor="white",
            linewidth=0,
            label=LABELS[scheme],
        )
        for x, (_, name, percent) in zip(across, points, strict=True):
            paper = PAPER.get(percent, {}).get(scheme) if name in FULL else None
            if paper is not None:
                axes.plot([x - width * 0.45, x + width * 0.45], [paper] * 2, color="black", linewidth=2, zorder=3)
    axes.axhline(1, color="black", linewidth=0.8)
    axes.set_yscale("log")
    axes.set_ylim(0.05, 12)
    axes.yaxis.set_major_locator(FixedLocator([0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10]))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.yaxis.set_minor_locator(NullLocator())
    axes.yaxis.set_minor_formatter(NullFormatter())
    labels = [f"{label}\n{tail(measures, name, DCQCN, percent):,.0f} us" for label, name, percent in points]
    axes.set_xticks(range(len(points)), labels)
    axes.grid(visible=False, axis="x")


def once(measures: Measures, name: str, scheme: str) -> float:
    """The p99 at 40 % of the first seed, the only one of switches."""
    return measures[name, scheme, 40, SEEDS[0]]["p99_us"][0]


def switches(measures: Measures, base: str) -> list[str]:
    """What is switched under a reading, in the order of the sweep."""
    return list(dict.fromkeys(str(key[0]) for key in measures if str(key[0]).startswith(f"{base} | ")))


def draw_switches(axes: Axes, measures: Measures, base: str) -> None:
    """The tails of DCQCN and Dart with one thing changed."""
    rows = [base, *switches(measures, base)]
    names = ["as it is", *(row.split(" | ")[1] for row in rows[1:])]
    for scheme in (DCQCN, DART, IOFD):
        found = [
            (once(measures, row, scheme), place)
            for place, row in enumerate(rows)
            if (scheme != IOFD or place > 0) and any(key[:2] == (row, scheme) for key in measures)
        ]
        if found:
            style = style_of(scheme)
            marker = style.marker_for_matplotlib()
            label = "DCQCN in two lanes" if scheme == IOFD else LABELS[scheme]
            axes.plot(*zip(*found, strict=True), marker, color=style.colour, markersize=8, label=label)
    axes.set_yticks(range(len(rows)), [fill(name, 34) for name in names])
    axes.invert_yaxis()
    set_axis(axes, "x", [x for line in axes.get_lines() for x in np.asarray(line.get_xdata(), float)])
    title = "The text's reading" if base == TEXT else f"Reading {base.split(':')[0]}, static groups"
    scale = ", log scale" if axes.get_xscale() == "log" else ""
    label_axes(axes, f"{title} at 40 %, one thing changed", f"p99 of 8 KB messages (us{scale})", "")
    axes.legend(frameon=False, fontsize=9, loc="upper center", bbox_to_anchor=(0.5, -0.1), ncols=3)


# The rows


def rows(measures: Measures) -> list[Row]:
    """The claims of Fig. 14 under the text's reading, and beside them what each reading gives."""
    found = [*judged(measures), *identity(measures)]
    for name in (*FULL, *SINGLE):
        for percent in loads(measures, name):
            found += [beside(measures, name, percent), carried(measures, name, percent)]
        if loads(measures, name):
            found.append(headline(measures, name))
    found += tables(measures)
    for base in (TEXT, CONNECTIONS):
        found += [switched(measures, base, what) for what in switches(measures, base)]
    return found


def runs_of(measures: Measures, percent: int) -> list[dict[str, dict[str, float]]]:
    """The text's reading at a load: a dictionary by scheme for each seed."""
    seeds = sorted({int(key[3]) for key in measures if key[0] == TEXT and key[2] == percent})
    return [
        {
            scheme: {name: values[0] for name, values in measures[TEXT, scheme, percent, seed].items()}
            for scheme in BARS
            if (TEXT, scheme, percent, seed) in measures
        }
        for seed in seeds
    ]


def judged(measures: Measures) -> list[Row]:
    """The four claims of Fig. 14 and that of look-ahead, under the text's reading."""
    if loads(measures, TEXT) != list(LOADS):
        return []
    return [*priority(measures), *low_load(measures), *middle(measures), *high_load(measures), *look_ahead(measures)]


def priority(measures: Measures) -> list[Row]:
    """Claim `dart-fig14-priq`."""
    claim = "dart-fig14-priq"
    ratio = {p: 1 - cut(measures, TEXT, PRIQ, p) for p in LOADS}
    each = {p: runs_of(measures, p) for p in LOADS}
    falls = [
        high[PRIQ]["p99_us"] / high[DCQCN]["p99_us"] < low[PRIQ]["p99_us"] / low[DCQCN]["p99_us"]
        for low, high in zip(each[20], each[60], strict=True)
    ]
    found = Row.table(f"""
        {claim}
        p99 of Pri-Q over DCQCN's at 20 % ({TEXT}) | no improvement | {ratio[20]:.2f} | 0.85 to 1.1
            | {band(ratio[20], 0.85, 1.1)}
        p99 of Pri-Q over DCQCN's, 20 and 60 % ({TEXT}) | lower at 60 % | {ratio[20]:.2f}, {ratio[60]:.2f}
            | in each seed | {order(falls)}
    """)
    for scheme in (IOFD, DASR_LA):
        worse = [run[PRIQ]["p99_us"] > run[scheme]["p99_us"] for p in (40, 60) for run in each[p]]
        tails = (f"{tail(measures, TEXT, PRIQ, p):.0f} and {tail(measures, TEXT, scheme, p):.0f}" for p in (40, 60))
        found += Row.table(f"""
            {claim}
            p99 at 40 and 60 %, us: Pri-Q and {LABELS[scheme]} ({TEXT}) | Pri-Q is higher | {"; ".join(tails)}
                | in each seed | {order(worse)}
        """)
    return found


def cuts(measures: Measures, percent: int, bands: dict[str, tuple[float, float]], paper: dict[str, str]) -> list[Row]:
    """Cuts of DCQCN's tail at a load against bands."""
    return [
        Row.of(
            f"dart-fig14-load{percent}",
            f"cut of DCQCN's p99 at {percent} % by {LABELS[scheme]} ({TEXT}) | {paper[scheme]} "
            f"| {100 * cut(measures, TEXT, scheme, percent):.0f} % | {100 * low:.0f} to {100 * high:.0f} % "
            f"| {gain_band(cut(measures, TEXT, scheme, percent), low, high)}",
        )
        for scheme, (low, high) in bands.items()
    ]


def ordered(measures: Measures, percent: int, chain: tuple[str, ...], paper: str, accept: str, *, ties: bool) -> Row:
    """Whether tails fall along a chain of schemes."""
    pairs = [
        run[first]["p99_us"] >= run[second]["p99_us"] if ties else run[first]["p99_us"] > run[second]["p99_us"]
        for run in runs_of(measures, percent)
        for first, second in pairwise(chain)
    ]
    ours = ", ".join(f"{LABELS[scheme]} {tail(measures, TEXT, scheme, percent):.0f}" for scheme in chain)
    return Row.of(
        f"dart-fig14-load{percent}", f"p99 at {percent} %, us ({TEXT}) | {paper} | {ours} | {accept} | {order(pairs)}"
    )


def low_load(measures: Measures) -> list[Row]:
    """Claim `dart-fig14-load20`."""
    bands = {DART: (0.65, 0.95), DASR_LA: (0.55, 0.92), IOFD: (0.10, 0.55)}
    paper = {DART: "84 %", DASR_LA: "79 %", IOFD: "31 %"}
    chain = (IOFD, DASR_LA, DART)
    return [
        *cuts(measures, 20, bands, paper),
        ordered(
            measures, 20, chain, "Dart cuts most, then DASR-only, then IOFD-only", "each step, each seed", ties=True
        ),
    ]


def middle(measures: Measures) -> list[Row]:
    """Claim `dart-fig14-load40`."""
    fewer = [run[IOFD]["marked"] < run[DCQCN]["marked"] for run in runs_of(measures, 40)]
    shares = " and ".join(f"{at(measures, (TEXT, scheme, 40), 'marked'):.1f} %" for scheme in (IOFD, DCQCN))
    chain = (DCQCN, IOFD, DASR_LA, DART)
    return [
        ordered(measures, 40, chain, "falls along this order", "each step, each seed", ties=False),
        *Row.table(f"""
            dart-fig14-load40
            marked packets of short messages at 40 %: IOFD-only and DCQCN ({TEXT}) | IOFD-only has fewer | {shares}
                | in each seed | {order(fewer)}
        """),
    ]


def high_load(measures: Measures) -> list[Row]:
    """Claim `dart-fig14-load60`."""
    bands = {DART: (0.75, 0.98), IOFD: (0.5, 0.9), DASR_LA: (0.5, 0.9)}
    paper = {DART: "93 %", IOFD: "79 %", DASR_LA: "77 %"}
    lowest = [
        run[DART]["p99_us"] < run[scheme]["p99_us"]
        for run in runs_of(measures, 60)
        for scheme in (DCQCN, IOFD, DASR_LA)
    ]
    ours = ", ".join(f"{LABELS[s]} {tail(measures, TEXT, s, 60):.0f}" for s in (DCQCN, IOFD, DASR_LA, DART))
    return [
        *cuts(measures, 60, bands, paper),
        Row.of(
            "dart-fig14-load60",
            f"p99 of all four at 60 %, us ({TEXT}) | Dart is lowest | {ours} | in each seed | {order(lowest)}",
        ),
        ordered(measures, 60, (DASR_LA, IOFD), "IOFD-only at most DASR-only", "in each seed", ties=True),
    ]


def look_ahead(measures: Measures) -> list[Row]:
    """Claim `dart-fig14-lookahead`."""
    claim = "dart-fig14-lookahead"
    each = runs_of(measures, 20)
    helped = [run[DASR_LA]["p99_us"] <= 0.95 * run[DASR]["p99_us"] for run in each]
    chain = (DCQCN, DASR_LA, DART)
    medians = [
        run[first]["p50_us"] >= run[second]["p50_us"]
        for p in LOADS
        for run in runs_of(measures, p)
        for first, second in pairwise(chain)
    ]
    middle = [", ".join(f"{at(measures, (TEXT, scheme, p), 'p50_us'):.0f}" for scheme in chain) for p in LOADS]
    return Row.table(f"""
        {claim}
        p99 at 20 %, us: DASR-only and DASR without look-ahead ({TEXT}) | a sizable difference
            | {tail(measures, TEXT, DASR_LA, 20):.0f} and {tail(measures, TEXT, DASR, 20):.0f}
            | at most 0.95 of it, in each seed | {order(helped)}
        medians at 20 / 40 / 60 %, us: DCQCN, DASR-only, Dart ({TEXT}) | as the tails: falls along this order
            | {" / ".join(middle)} | each step, load and seed | {order(medians)}
    """)


def identity(measures: Measures) -> list[Row]:
    """Claim `dart-table2-identity` by bytes: the load increase is the dilation times the share of short messages, both
    of the bytes on links."""
    parts = [
        (percent, at(measures, (TEXT, DART, percent), "load_increase"), expected(measures, TEXT, percent))
        for percent in loads(measures, TEXT)
    ]
    return Row.table(f"""
        dart-table2-identity
        load increase / (path dilation by bytes x measured share of short bytes), {TEXT}
            | 1: only short messages are deflected
            | {", ".join(f"{got / product:.3f} at {percent} %" for percent, got, product in parts)}
            | within 3 %, by the arithmetic of our own counters
            | {"calibrated" if all((abs(got / product - 1) <= 0.03 for _, got, product in parts)) else "differs"}
    """)


def expected(measures: Measures, name: str, percent: int) -> float:
    """Path dilation by bytes times the share of short messages in per cent."""
    run: Key = (name, DART, percent)
    return at(measures, run, "dilation_by_bytes") * at(measures, run, "short_share") / 100


def point(name: str, percents: list[int]) -> str:
    """A reading with its loads, of which one reading has its own."""
    loaded = " and ".join(f"{percent} %" for percent in percents)
    return f"reading {name}" if name == HOST_LINKS else f"reading {name}, {loaded}"


def beside(measures: Measures, name: str, percent: int) -> Row:
    """Fig. 14's order and sizes under a reading."""
    cut_by = {scheme: cut(measures, name, scheme, percent) for scheme in BARS[1:]}
    paper = {20: "DASR-only 79 %, IOFD-only 31 %, Dart 84 %", 60: "IOFD-only 79 %, DASR-only 77 %, Dart 93 %"}
    chain = (DCQCN, IOFD, DASR_LA, DART)
    falls = [
        tail(measures, name, first, percent) >= tail(measures, name, second, percent)
        for first, second in pairwise(chain)
    ]
    unfinished = at(measures, (name, DART, percent), "unfinished")
    return Row(
        "dart-fig14-load40" if percent == 40 else f"dart-fig14-load{percent}",
        f"{point(name, [percent])}: p99 of DCQCN, and by how much the others cut it",
        paper.get(percent, "DCQCN > IOFD-only > DASR-only > Dart"),
        f"{tail(measures, name, DCQCN, percent):.0f} us; "
        + ", ".join(f"{LABELS[scheme]} {100 * value:z.0f} %" for scheme, value in cut_by.items())
        + (f"; {unfinished:.0f} of Dart's unfinished" if unfinished > 0 else ""),
        "DCQCN > IOFD-only > DASR-only > Dart, means of seeds",
        order(falls),
        judged=False,
    )


def headline(measures: Measures, name: str) -> Row:
    """The headline's ratio under a reading."""
    ran = [percent for percent in loads(measures, name) if percent < 60]
    ratios = {
        scheme: [tail(measures, name, scheme, p) / tail(measures, name, DART, p) for p in ran]
        for scheme in (DCQCN, TIMELY)
    }
    mean = float(np.mean([value for values in ratios.values() for value in values]))
    shown = "; ".join(f"{LABELS[s]} {', '.join(f'{value:.2f}' for value in values)}" for s, values in ratios.items())
    holds = min(value for values in ratios.values() for value in values) >= 2
    return Row.of(
        "dart-fig11a-rdma79",
        f"{point(name, ran)}: p99 over Dart's | 4.8 | {mean:.2f} ({shown}) | 3 to 7, each at least 2 "
        f"| ({band(mean, 3, 7) if holds else 'differs'})",
    )


def carried(measures: Measures, name: str, percent: int) -> Row:
    """What was offered and what was carried."""
    size = WHOLE if loads(measures, TEXT) == list(LOADS) else SMALL
    offered = (80 if name == HOST_LINKS else percent) / 100 * size.uplinks_bps / 1e9
    short, long = SHORT_SHARE * offered, (1 - SHORT_SHARE) * offered
    got = "; ".join(
        f"{LABELS[scheme]} {at(measures, (name, scheme, percent), 'short_gbps'):.0f} and "
        f"{at(measures, (name, scheme, percent), 'long_gbps'):.0f}, uplinks "
        f"{100 * at(measures, (name, scheme, percent), 'tor-uplink_used'):.0f} %"
        for scheme in (DCQCN, TIMELY, DART)
    )
    return Row.of(
        "dart-fig13a-throughput",
        f"{point(name, [percent])}: Gb/s of payload offered ({short:.0f} short, {long:.0f} long) and carried "
        f"| not told | {got} | none: shown beside | (calibrated)",
    )


def tables(measures: Measures) -> list[Row]:
    """Tables I and II under each reading with all loads: marks before and after suppression, and detours."""
    found = []
    for name in (*FULL, ONE_LANE):
        if loads(measures, name) != list(LOADS):
            continue

        def at_loads(scheme: str, what: str, name: str = name) -> list[float]:
            return [at(measures, (name, scheme, percent), what) for percent in LOADS]

        before, least, most = (at_loads(DART, what) for what in ("marked", "passed_least", "passed_most"))
        baseline = [at(measures, (name.split(" | ")[0], DCQCN, percent), "marked") for percent in LOADS]
        near = [
            low <= 2 * paper and high >= paper / 2
            for low, high, paper in zip(least, most, TABLE_1["dart"], strict=True)
        ]
        passed = " / ".join(f"{low:.1f} to {high:.1f}" for low, high in zip(least, most, strict=True))
        # The name of a point has a column's mark in it.
        found.append(
            Row(
                "dart-table1-values",
                f"reading {name}: marked packets of short messages at 20 / 40 / 60 %: set by switches, and "
                "passed on to DCQCN (between these bounds)",
                "DCQCN 17 / 41 / 67 %, Dart 6 / 11 / 14 %",
                f"DCQCN {spell(baseline)}; Dart {spell(before)} set, {passed} passed on",
                "Dart's passed on within a factor 2",
                strict(all(near)),
                judged=False,
            )
        )
        dilation, increase = at_loads(DART, "dilation"), at_loads(DART, "load_increase")
        close = [
            paper / 2 <= value <= paper * 2
            for values, papers in ((dilation, TABLE_2["path dilation"]), (increase, TABLE_2["load increase"]))
            for value, paper in zip(values, papers, strict=True)
        ]
        found.append(
            Row(
                "dart-table2-values",
                f"reading {name}: path dilation and load increase at 20 / 40 / 60 %",
                "8 / 15 / 23 and 3 / 6 / 9 %",
                f"{spell(dilation)} and {spell(increase)}",
                "each within a factor 2",
                strict(all(close)),
                judged=False,
            )
        )
    return found


def spell(values: list[float]) -> str:
    """Per cent at the three loads."""
    return " / ".join(f"{value:.1f}" for value in values) + " %"


def switched(measures: Measures, base: str, what: str) -> Row:
    """The tails with one thing changed, of one seed."""
    ran = [scheme for scheme in (DCQCN, IOFD, DART) if any(key[:2] == (what, scheme) for key in measures)]
    got = ", ".join(
        f"{LABELS[scheme]} {once(measures, what, scheme):.0f} us (as it is {once(measures, base, scheme):.0f})"
        for scheme in ran
    )
    pair = DCQCN in ran and DART in ran
    ratio = once(measures, what, DCQCN) / once(measures, what, DART) if pair else float("nan")
    return Row.of(
        "dart-fig11a-rdma79",
        f"reading {base.split(':')[0]}, 40 %: {what.split(' | ')[1]}: p99 | 4.8 times Dart's "
        f"| {got + (f'; ratio {ratio:.2f}' if pair else '')} | none: switches a cause | (calibrated)",
    )


EXPERIMENTS = (
    Experiment(
        "dart-headline",
        "Fig. 14 under several readings of the paper",
        "dart/fig14-headline.toml",
        sweep,
        measure,
        draw,
        rows,
    ),
)
