"""RCC sections 6.2 and 6.3.1: figures 8 and 9, a datacenter of 1,000 hosts by offered load, under both readings of the
load. With the load as traffic there are twenty seeds, with that of the authors' code five."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from fanin.plot import label_axes, scheme_line
from fanin.style import MORE_COLOURS, style_of
from fanin_papers.common import log_ticks, mean, picture, points, pooled, quantile
from fanin_papers.experiment import Change, Experiment, Key, Measures, Row, band, judge, order, strict
from fanin_papers.rcc_datacenter_runs import (
    ADVERTISED,
    CHANGED,
    CODE,
    ONE_CHANGE,
    SCALED,
    SLOW_ROOT,
    UNIFORM,
    WITHOUT,
    measure,
    sweep_coded,
    sweep_traffic,
)
from fanin_papers.rcc_incast import OTHERS, SCHEMES, lowest_row

AS_TRAFFIC, AS_CODED = "load as traffic", "load as in the authors' code"


def sweep_five(quick: bool) -> dict[Key, Change]:
    """The reading of the authors' code with five seeds."""
    return {key: change for key, change in sweep_coded(quick).items() if int(key[-1]) <= 5}


def short(measures: Measures, name: str, load: int, share: float) -> float:
    """A quantile of the completion times of all seeds' short flows, in ms."""
    return quantile(pooled(measures, (name, load), "short_ms"), share)


def long(measures: Measures, name: str, load: int) -> tuple[float, float, float]:
    """The lowest, median and highest goodput of the five long flows in Mb/s, each averaged over the seeds."""
    runs = [run["long_mbps"] for key, run in measures.items() if key[:2] == (name, load)]
    low, middle, high = (mean([run[at] for run in runs]) for at in (0, 2, 4))
    return low, middle, high


def drops(measures: Measures, name: str, load: int, where: str) -> float:
    """Per receiver, over all seeds."""
    return mean(pooled(measures, (name, load), where))


# Pictures


def curve(name: str) -> dict[str, Any]:
    """The line of a scheme; a variant of RCC has a colour of its own."""
    scheme = name.partition(",")[0]
    shown = scheme_line(scheme) | {"linestyle": "-", "marker": style_of(scheme).marker_for_matplotlib()}
    if name in (WITHOUT, CODE):
        shown["color"] = MORE_COLOURS[3 if name == WITHOUT else 0]
    return shown | {"markersize": 4}


def draw_drops(axes: Axes, measures: Measures, where: str) -> None:
    """One curve over the load for each scheme."""
    for name in SCHEMES:
        found = points(measures, name)
        axes.plot(found, [drops(measures, name, load, where) for load in found], label=name, **curve(name))
    axes.set_yscale("symlog", linthresh=1)
    axes.set_ylim(-0.2, 3000)


def draw_times(axes: Axes, measures: Measures, names: Sequence[str]) -> None:
    """From the 1st to the 99th percentile of short flows, with dots at the 50th and 95th, side by side."""
    for place, name in enumerate(names):
        for load in points(measures, name):
            at = load + (place - (len(names) - 1) / 2) * 1.6
            low, middle, tail, high = (short(measures, name, load, share) for share in (0.01, 0.5, 0.95, 0.99))
            shown = curve(name)
            label = name if load == points(measures, name)[0] else None
            axes.vlines(at, low, high, color=shown["color"], linewidth=1.6)
            axes.plot([at], [middle], color=shown["color"], marker=shown["marker"], markersize=4, label=label)
            axes.plot([at], [tail], color=shown["color"], marker="_", markersize=7)
    axes.set_yscale("log")
    log_ticks(axes)


def draw_throughput(axes: Axes, measures: Measures, names: Sequence[str]) -> None:
    """The median of the five long flows, with bars from the lowest to the highest."""
    for place, name in enumerate(names):
        found = points(measures, name)
        bars = [long(measures, name, load) for load in found]
        middle = [bar[1] for bar in bars]
        shown = curve(name)
        axes.errorbar(
            [load + (place - (len(names) - 1) / 2) * 1.2 for load in found],
            middle,
            yerr=([bar[1] - bar[0] for bar in bars], [bar[2] - bar[1] for bar in bars]),
            color=shown["color"],
            marker=shown["marker"],
            markersize=4,
            linewidth=1.2,
            capsize=2,
            label=name,
        )
    axes.set_ylim(bottom=0)


def draw(measures: Measures, reading: str) -> Figure:
    """The four panels of Fig. 8 and the two of Fig. 9."""
    figure = picture(13, 14, f"RCC Figs. 8 and 9: 1,000 hosts, five receivers; {reading}")
    panels = figure.subplots(3, 2)
    schemes = tuple(SCHEMES)
    both = [name for name in ("rcc", WITHOUT, CODE) if points(measures, name)]
    draw_times(panels[0, 0], measures, schemes)
    what = "short flows: 1st to 99th percentile, marks at the 50th and 95th"
    label_axes(panels[0, 0], f"8(a) {what}", "offered load (%)", "FCT (ms, log scale)", legend=False)
    draw_throughput(panels[0, 1], measures, schemes)
    label_axes(panels[0, 1], "8(b) long flows: lowest, median, highest", "offered load (%)", "goodput (Mb/s)")
    for axes, where, title in (
        (panels[1, 0], "tor_drops", "8(c) drops at a receiver's port"),
        (panels[1, 1], "root_drops", "8(d) drops at the root's port to its rack"),
    ):
        draw_drops(axes, measures, where)
        label_axes(axes, title, "offered load (%)", "packets (log scale above 1)", legend=False)
    draw_times(panels[2, 0], measures, both)
    label_axes(panels[2, 0], f"9(a) {what}", "offered load (%)", "FCT (ms, log scale)", legend=False)
    draw_throughput(panels[2, 1], measures, both)
    label_axes(panels[2, 1], "9(b) long flows: lowest, median, highest", "offered load (%)", "goodput (Mb/s)")
    for axes in panels.ravel():
        axes.set_xlim(3, 97)
    return figure


# Claims


def rows(measures: Measures, reading: str) -> list[Row]:
    """Claims `rcc-fig8a-fct`, `rcc-fig8b-throughput`, `rcc-fig8c-torDrops`, `rcc-fig8d-rootDrops` and
    `rcc-fig9-nopriority` under a reading of the load."""
    return [
        *rows_times(measures, f"rcc-fig8a-fct ({reading})"),
        *rows_throughput(measures, f"rcc-fig8b-throughput ({reading})"),
        *rows_drops(measures, f"rcc-fig8c-torDrops ({reading})"),
        *rows_drops_scaled(measures, f"rcc-fig8c-torDrops ({reading})"),
        *rows_root(measures, f"rcc-fig8d-rootDrops ({reading})"),
        *rows_priority(measures, f"rcc-fig9-nopriority ({reading})"),
    ]


def rows_times(measures: Measures, claim: str) -> list[Row]:
    """Claim `rcc-fig8a-fct`; beside it the tail after one change."""
    loads = points(measures, "rcc")
    tail = {(s, load): short(measures, s, load, 0.99) for s in SCHEMES for load in loads}
    lowest = {
        share: {
            load: all(short(measures, "rcc", load, share) <= short(measures, s, load, share) for s in OTHERS)
            for load in loads
        }
        for share in (0.95, 0.99)
    }
    heavy = {load: tail["rcc", load] / min(tail[s, load] for s in OTHERS) for load in loads if load >= 60}
    found = [
        Row.of(
            claim,
            f"{share:.0%} of short flows: rcc lowest | all loads but one | {lowest_row(claim, '', kept).ours} "
            f"| at 80 % of the loads | {strict(sum(kept.values()) >= 0.8 * len(kept))}",
        )
        for share, kept in lowest.items()
    ]
    found += Row.table(f"""
        {claim}
        99th percentile of rcc over the least of the others, from 60 % on | low
            | {", ".join(f"{ratio:.2f}" for ratio in heavy.values())} | at most 0.7
            | {order([ratio <= 0.7 for ratio in heavy.values()])}
    """)
    for what in (SCALED, UNIFORM, SLOW_ROOT):
        if points(measures, f"rcc, {what}"):
            p99 = [{s: short(measures, f"{s}, {what}", load, 0.99) for s in CHANGED} for load in ONE_CHANGE]
            ours = "; ".join(", ".join(f"{value:.1f}" for value in each.values()) for each in p99)
            first = order([all(each["rcc"] <= each[s] for s in OTHERS) for each in p99])
            at = ", ".join(f"{load} %" for load in ONE_CHANGE)
            found += Row.table(f"""
                {claim}
                {what}, 99th percentile in ms at {at}: {", ".join(CHANGED)} | | {ours} | rcc lowest | ({first})
            """)
    for name in (ADVERTISED, CODE):
        if points(measures, name):
            some = [load for load in ONE_CHANGE if load in loads]
            ratios = [short(measures, name, load, 0.99) / tail["rcc", load] for load in some]
            found += Row.table(f"""
                {claim}
                {name}: 99th percentile over that of rcc at {", ".join(f"{load} %" for load in some)} |
                    | {", ".join(f"{ratio:.2f}" for ratio in ratios)} | 0.9 to 1.1
                    | ({order([0.9 <= ratio <= 1.1 for ratio in ratios])})
            """)
    return found


def rows_throughput(measures: Measures, claim: str) -> list[Row]:
    """Claim `rcc-fig8b-throughput`."""
    loads = points(measures, "rcc")
    bars = {(s, load): long(measures, s, load) for s in SCHEMES for load in loads}
    spread = {place: (high - low) / middle for place, (low, middle, high) in bars.items()}
    kept = {load: all(spread["rcc", load] <= spread[s, load] for s in OTHERS) for load in loads}
    fall = {s: bars[s, 60][1] / bars[s, 50][1] for s in ("rcc", "newreno")}
    above = {load: bars["newreno", load][1] >= bars["rcc", load][1] for load in loads}
    return [
        *Row.table(f"""
            {claim}
            largest less smallest over the median: rcc has the least | all loads | {lowest_row(claim, "", kept).ours}
                | most loads | {strict(2 * sum(kept.values()) > len(kept))}
            median at 60 % over that at 50 %: rcc, newreno | rcc falls sharply
                | {fall["rcc"]:.3f}, {fall["newreno"]:.3f} | rcc less | {order([fall["rcc"] < fall["newreno"]])}
        """),
        lowest_row(claim, "median of newreno at least that of rcc", above),
    ]


def rows_drops(measures: Measures, claim: str) -> list[Row]:
    """Claim `rcc-fig8c-torDrops`."""
    loads = points(measures, "rcc")
    lost = {(s, load): drops(measures, s, load, "tor_drops") for s in SCHEMES for load in loads}
    light = sum(lost["rcc", load] for load in loads if load <= 50)
    rcc = [lost["rcc", load] for load in loads]
    heavy = [load for load in loads if load >= 60]
    kept = [lost["rcc", load] < lost["dctcp", load] for load in heavy]
    kept += [lost["dctcp", load] < min(lost["newreno", load], lost["ictcp", load]) for load in heavy]
    said = {s: ", ".join(f"{lost[s, load]:.1f}" for load in heavy) for s in SCHEMES}
    return Row.table(f"""
        {claim}
        rcc, up to 50 % | 0 | {judge("strict", light, ".1f", "0")}
        rcc at 90 % | 64 | {judge("band", rcc[-1], ".1f", "at most 150")}
        rcc, {", ".join(f"{load} %" for load in heavy)} | 1, 8, 27, 64 | {said["rcc"]} | does not fall
            | {order([a <= b for a, b in pairwise(rcc)])}
        rcc below dctcp below newreno and ictcp, from 60 % on | always
            | {sum(kept)} of {len(kept)}; {"; ".join(f"{s} {said[s]}" for s in ("dctcp", "newreno", "ictcp"))}
            | always | {order(kept)}
    """)


def rows_drops_scaled(measures: Measures, claim: str) -> list[Row]:
    """Beside `rcc-fig8c-torDrops`: drops with window scaling, which lets a long flow fill the queue alone."""
    if not points(measures, f"rcc, {SCALED}"):
        return []
    lost = {s: [drops(measures, f"{s}, {SCALED}", load, "tor_drops") for load in ONE_CHANGE] for s in CHANGED}
    kept = [a < b for a, b in zip(lost["rcc"], lost["dctcp"], strict=True)]
    kept += [a < min(b, c) for a, b, c in zip(lost["dctcp"], lost["newreno"], lost["ictcp"], strict=True)]
    return Row.table(f"""
        {claim}
        {SCALED}, {", ".join(f"{load} %" for load in ONE_CHANGE)} | rcc below dctcp below newreno and ictcp
            | {"; ".join(f"{s} " + ", ".join(f"{value:.1f}" for value in lost[s]) for s in CHANGED)} | always
            | ({order(kept)})
    """)


def rows_root(measures: Measures, claim: str) -> list[Row]:
    """Claim `rcc-fig8d-rootDrops`; beside it those of the others, and with slow links of the root."""
    loads = points(measures, "rcc")
    lost = {s: {load: drops(measures, s, load, "root_drops") for load in loads} for s in SCHEMES}
    worst = max(lost["rcc"], key=lambda load: lost["rcc"][load])
    first = next((load for load in loads if lost["rcc"][load] > 0), None)
    same = [abs(lost["newreno"][load] - lost["dctcp"][load]) <= 0.1 * lost["newreno"][load] for load in loads]
    both = [f"{lost['newreno'][load]:.1f} and {lost['dctcp'][load]:.1f} at {load} %" for load in (50, 90)]
    found = [
        *Row.table(f"""
            {claim}
            rcc, all loads | 0 | {f"{lost['rcc'][worst]:.1f} at {worst} %, none below {first} %" if first else "0"} | 0
                | {strict(first is None)}
            newreno and dctcp, within 10 % | the same | {", ".join(both)} | all loads | ({order(same)})
        """)
    ]
    if points(measures, f"rcc, {SLOW_ROOT}"):
        slow = {s: [drops(measures, f"{s}, {SLOW_ROOT}", load, "root_drops") for load in ONE_CHANGE] for s in CHANGED}
        found += Row.table(f"""
            {claim}
            {SLOW_ROOT}, at {", ".join(f"{load} %" for load in ONE_CHANGE)}: ictcp, rcc | hundreds, 0
                | {"; ".join(", ".join(f"{value:.1f}" for value in slow[s]) for s in ("ictcp", "rcc"))}
                | ictcp above 100 | ({order([value > 100 for value in slow["ictcp"]])})
        """)
    return found


def rows_priority(measures: Measures, claim: str) -> list[Row]:
    """Claim `rcc-fig9-nopriority`."""
    loads = points(measures, "rcc")
    heavy = [load for load in loads if load >= 40]
    times = {
        (name, load, share): short(measures, name, load, share)
        for name in ("rcc", WITHOUT)
        for load in loads
        for share in (0.5, 0.99)
    }
    tail = {load: times[WITHOUT, load, 0.99] <= times["rcc", load, 0.99] for load in heavy}
    middle = {load: times[WITHOUT, load, 0.5] >= times["rcc", load, 0.5] for load in heavy}
    apart = {load: long(measures, WITHOUT, load)[1] - long(measures, "rcc", load)[1] for load in loads}
    worst = max(apart, key=lambda load: abs(apart[load]))
    return [
        lowest_row(claim, "99th percentile without priority at most that with it, from 40 % on", tail),
        lowest_row(claim, "median without priority at least that with it, from 40 % on", middle),
        *Row.table(f"""
            {claim}
            median of long flows without priority less that with it, Mb/s | at most 10 | {apart[worst]:.1f} at {worst} %
                | at most 20 | {band(abs(apart[worst]), 0, 20)}
        """),
    ]


EXPERIMENTS = (
    Experiment(
        "rcc-fig8",
        "a datacenter by offered load",
        "rcc/fig8-datacenter.toml",
        sweep_traffic,
        measure,
        lambda measures: draw(measures, AS_TRAFFIC),
        lambda measures: rows(measures, AS_TRAFFIC),
        ("8abcd", "9ab"),
    ),
    Experiment(
        "rcc-fig8-as-coded",
        "the same with the load of the authors' code",
        "rcc/fig8-as-coded.toml",
        sweep_five,
        measure,
        lambda measures: draw(measures, AS_CODED),
        lambda measures: rows(measures, AS_CODED),
        ("8abcd", "9ab"),
    ),
)
