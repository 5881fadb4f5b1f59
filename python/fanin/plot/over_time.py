"""Quantities over time: means over seeds, with a band."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import polars as pl
from matplotlib.figure import Figure

from fanin import over_time as measured
from fanin.measures import seeds_of
from fanin.over_seeds import band_text, band_text_of_messages
from fanin.plot.axes import set_axis
from fanin.plot.base import (
    DASHES,
    LEGEND_LINES,
    Group,
    as_results,
    finish,
    groups_of,
    label_axes,
    legend_below,
    legend_beside,
    peaks,
    shades,
    steps,
    write_note,
)
from fanin.plot.marks import mark_failures
from fanin.quantities import rate_unit
from fanin.style import styles_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from fanin.plot.base import Path, Runs

PANEL = 2.3
"""Height of one of several panels, in inches."""

LOW_PANEL = 1.75
"""The same where there are more than four, one below the other."""

FEW_POINTS = 4
"""Curves of fewer points have markers."""

TOGETHER = 3
"""The most schemes whose curves over time share a panel; more would hide one another."""


def queue_over_time(runs: Runs, path: Path | None = None, *, port: str | None = None) -> Figure:
    """The longest of the sampled queues over time, or that of one port."""
    results = as_results(runs)
    groups = groups_of(results)
    figure, panels = panels_for(groups)
    longest = 0
    for group, axes in zip(groups, panels, strict=True):
        table = measured.queue_curve(group.runs, port)
        longest = max(longest, table.height)
        keep = peaks(table["mean"].to_numpy())
        # Python's slices do not take arrays.
        draw_mean(axes, table[keep.tolist()], 1e3, **(group.line | {"linewidth": 1.1, "label": group.name}))
    mark_panels(panels, groups)
    title = f"Queue of {port}" if port else "Longest of the sampled queues"
    close_panels(figure, panels, groups, title, "queue (KB)")
    thinned = "each stretch of samples as its highest" if longest > peaks(np.zeros(longest)).size else ""
    return finish(figure, results, path, band_text(seeds_of(results)), thinned, heading=title)


def draw_mean(axes: Axes, table: pl.DataFrame, scale: float, **line: Any) -> None:
    """A curve of `over_seeds.mean_curve`, divided by `scale`, over milliseconds, with its band where it has one."""
    whole = table.with_columns(pl.col("mean", "low", "high") / scale)
    columns = [whole[name].cast(float).to_numpy() for name in ("mean", "low", "high")]
    if "begin_us" in whole.columns:
        begin, end = whole["begin_us"] / 1e3, whole["end_us"] / 1e3
        outlines = [steps(begin, end, column) for column in columns]
        across, (up, low, high) = outlines[0][0], (outline[1] for outline in outlines)
    else:
        across, (up, low, high) = (whole["time_us"] / 1e3).to_list(), (column.tolist() for column in columns)
    step: Literal["post"] | None = "post" if line.get("drawstyle") == "steps-post" else None
    if np.isfinite(columns[0]).sum() < FEW_POINTS:
        line = {**line, "marker": ".", "markersize": 7}  # a line through one or two points is hardly visible
    axes.plot(across, up, **line)
    if np.isfinite(np.asarray(low, float)).any():
        axes.fill_between(across, low, high, step=step, color=line["color"], alpha=0.2, linewidth=0)


def mark_panels(panels: Sequence[Axes], groups: Sequence[Group]) -> None:
    """Marks what failed in the runs of each panel, once their curves are there."""
    for axes in dict.fromkeys(panels):
        runs = [run for group, its in zip(groups, panels, strict=True) if its is axes for run in group.runs]
        mark_failures(axes, runs)


def panels_for(groups: Sequence[Group]) -> tuple[Figure, list[Axes]]:
    """One panel for all schemes, or one for each where they are many."""
    if len(groups) <= TOGETHER:
        figure = Figure(figsize=(10.5, 4.6), layout="constrained")
        return figure, [figure.subplots()] * len(groups)
    rows = -(-len(groups) // 2)
    figure = Figure(figsize=(12, 0.9 + (PANEL if rows <= 4 else LOW_PANEL) * rows), layout="constrained")
    panels = figure.subplots(rows, 2, sharex=True, sharey=True, squeeze=False).flatten().tolist()
    for spare in panels[len(groups) :]:
        spare.remove()
    return figure, panels[: len(groups)]


def close_panels(figure: Figure, panels: Sequence[Axes], groups: Sequence[Group], title: str, y: str) -> None:
    """Labels, and the names of the schemes: in a legend, or above the panel of each."""
    together = len(groups) <= TOGETHER
    for number, (axes, group) in enumerate(zip(panels, groups, strict=True)):
        lowest = together or number >= len(groups) - 2
        left = together or number % 2 == 0
        label_axes(axes, title if together else "", "time (ms)" if lowest else "", y if left else "", legend=False)
        axes.tick_params(labelbottom=lowest)
        if not together:
            axes.set_title(group.name, fontsize=11, loc="left")
        axes.set_ylim(bottom=0)
    if together:
        legend_below(figure, panels[0])


def goodput(runs: Runs, path: Path | None = None) -> Figure:
    """Goodput over time, a row per scheme: of traffics, of messages, and Jain's index of fairness over these
    messages."""
    results = as_results(runs)
    groups = groups_of(results)
    tables = [measured.goodput_curve(group.runs) for group in groups]
    kinds = [what for what in ("traffic", "flow") if any(what in set(table["what"]) for table in tables)] or ["flow"]
    names = {what: watched([table.filter(pl.col("what") == what) for table in tables]) for what in kinds}
    fair = "flow" in kinds
    unit, scale = rate_unit(value for table in tables for value in table["mean"].drop_nulls())
    columns = len(kinds) + fair
    height = PANEL if len(groups) <= 4 else LOW_PANEL
    size = (max(9.0, 6.0 * columns), 0.9 + max(height * len(groups), 3.0))
    figure = Figure(figsize=size, layout="constrained")
    grid = figure.subplots(len(groups), columns, sharex=True, sharey="col", squeeze=False)
    for row, group, table in zip(grid, groups, tables, strict=True):
        for axes, what in zip(row, kinds, strict=False):
            several(axes, table.filter(pl.col("what") == what), group, scale, names[what])
            of = "whole traffics" if what == "traffic" else "messages"
            dress_panel(axes, f"{group.name}: {of}", f"goodput ({unit})")
        if fair:
            draw_mean(row[-1], measured.fairness_curve(group.runs), 1.0, label=group.name, **group.line)
            label_axes(row[-1], "", "", "Jain's index", legend=False)
            row[-1].set_title(f"{group.name}: fairness over these messages", fontsize=11, loc="left")
            row[-1].set_ylim(0, 1.03)
    for row, group in zip(grid, groups, strict=True):
        for number, axes in enumerate(row):
            mark_failures(axes, group.runs, named=number == 0)
    for axes in grid[-1]:
        axes.set_xlabel("time (ms)", fontsize=11)
    for axes in grid[-1][: len(kinds)]:
        axes.set_ylim(bottom=0)  # only now: it fixes the axes of the whole column
    return finish(figure, results, path, (band_text_of_messages if fair else band_text)(seeds_of(results)))


def watched(tables: Sequence[pl.DataFrame]) -> list[tuple[str, str]]:
    """The messages or traffics of these tables, and the traffic of each, in the order of their names."""
    names = {
        (str(where), str(traffic)) for table in tables for where, traffic in table.select("where", "traffic").rows()
    }

    def number(name: tuple[str, str]) -> tuple[str, int]:
        last = name[0].rpartition(":")[2]
        return name[1], int(last) if last.isdigit() else 0

    return sorted(names, key=number)


def several(axes: Axes, table: pl.DataFrame, group: Group, scale: float, names: Sequence[tuple[str, str]]) -> None:
    """A curve per watched message or traffic, in shades of their schemes' colours; the shades are of all `names`, so
    that each has its own in the panel of every scheme."""
    schemes = {traffic["traffic"]: traffic["scheme"] for traffic in group.runs[0].summary()["traffics"]}
    alone = len(set(schemes.values())) <= 1
    styles = styles_of([*schemes.values(), group.name])
    of_scheme: dict[str, list[str]] = {}
    for where, traffic in names:
        of_scheme.setdefault(schemes.get(traffic, group.name), []).append(where)
    parts = table.partition_by("where", "traffic", as_dict=True)
    many = len(names) > LEGEND_LINES
    told: set[str] = set()
    for where, traffic in names:
        part = parts.get((where, traffic))
        if part is None:
            continue
        scheme = schemes.get(traffic, group.name)
        alike = of_scheme[scheme]
        number = alike.index(where)
        label = where if not many else f"{len(alike)} of {scheme}" if scheme not in told else None
        told.add(scheme)
        colour = group.style.colour if alone else styles[scheme].colour
        shown: dict[str, Any] = {
            "color": shades(colour, len(alike))[number],
            "linestyle": "-" if many else DASHES[number % len(DASHES)],
            "linewidth": 0.8 if many else 1.5,
        }
        if "begin_us" not in part.columns:
            shown["drawstyle"] = "steps-post"
        draw_mean(axes, part, scale, label=label, **shown)
    if not parts:
        write_note(axes, "none of what was watched was open in the measured window")


def rates(runs: Runs, path: Path | None = None) -> Figure:
    """Rates of the watched messages over time, and their windows where they have any; a row per scheme."""
    results = as_results(runs)
    groups = groups_of(results)
    speeds = [measured.rates_curve(group.runs, "rate_bps") for group in groups]
    windows = [measured.rates_curve(group.runs, "window_bytes") for group in groups]
    unit, scale = rate_unit(value / 1e9 for table in speeds for value in table["mean"].drop_nulls())
    names = watched([*speeds, *windows])
    with_window = any(table.height for table in windows)
    columns = 2 if with_window else 1
    height = PANEL if len(groups) <= 4 else LOW_PANEL
    figure = Figure(
        figsize=(6.5 * columns if with_window else 9, 0.9 + max(height * len(groups), 3.0)), layout="constrained"
    )
    grid = figure.subplots(len(groups), columns, sharex=True, sharey="col", squeeze=False)
    for row, group, speed, window in zip(grid, groups, speeds, windows, strict=True):
        several(row[0], speed, group, scale * 1e9, names)
        dress_panel(row[0], group.name, f"rate ({unit})")
        if with_window:
            if window.is_empty():
                write_note(row[1], "no window")
            else:
                several(row[1], window, group, 1e3, names)
            dress_panel(row[1], group.name, "window (KB)")
    for row, group in zip(grid, groups, strict=True):
        for number, axes in enumerate(row):
            mark_failures(axes, group.runs, named=number == 0)
    for axes in grid[-1]:
        axes.set_xlabel("time (ms)", fontsize=11)
    # Only now: it fixes the axes of the whole column.
    grid[-1][0].set_ylim(bottom=0)
    if with_window:
        sizes = np.concatenate([window[name].to_numpy() / 1e3 for window in windows for name in ("mean", "high")])
        if set_axis(grid[-1][1], "y", sizes, most=4):
            for axes in grid[:, 1]:
                axes.set_ylabel("window (KB, log)", fontsize=11)
        else:
            grid[-1][1].set_ylim(bottom=0)
    return finish(figure, results, path, band_text_of_messages(seeds_of(results)))


def pauses(runs: Runs, path: Path | None = None) -> Figure:
    """PFC over time: the number of paused queues, or, if ports were not watched, the number of pauses that began."""
    results = as_results(runs)
    groups = groups_of(results)
    found = measured.pauses_of({group.name: group.runs for group in groups})
    figure, panels = panels_for(groups)
    for group, axes in zip(groups, panels, strict=True):
        draw_mean(axes, found.curves[group.name], 1.0, label=group.name, **(group.line | {"linewidth": 1.2}))
    mark_panels(panels, groups)
    if found.counted:
        title, y, none = "Pauses (PFC) as they begin", "pauses in 1 % of the run", "PFC paused nothing"
    else:
        title, y = "Queues paused by PFC (watched ports)", "queues paused at once"
        none = measured.none_of_watched(results)
    close_panels(figure, panels, groups, title, y)
    if all(axes.dataLim.ymax <= 0 for axes in panels):
        panels[0].set_ylim(-0.02, 1)
        for axes in dict.fromkeys(panels):
            write_note(axes, none)
    stopped = [f"{name}: {left:,} later pauses were not recorded" for name, left in found.left_out.items()]
    if stopped:
        place: Any = {"xycoords": "axes fraction", "va": "top", "fontsize": 9, "color": "#aa0000"}
        panels[0].annotate("\n".join(stopped), (0.01, 0.98), **place)
    return finish(figure, results, path, band_text(seeds_of(results)), heading=title)


def dress_panel(axes: Axes, title: str, y: str) -> None:
    """Labels one of several panels, with the legend beside it."""
    label_axes(axes, "", "", y, legend=False)
    axes.set_title(title, fontsize=11, loc="left")
    legend_beside(axes)
