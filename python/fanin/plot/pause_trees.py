"""Trees of pauses: how deep they are, and the capacity that they suppress."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator, PercentFormatter

from fanin import pause_trees as measured
from fanin.plot.base import as_results, finish, groups_of, label_axes, legend_below, steps, write_note
from fanin.style import COLOURS

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from fanin.plot.base import Group, Path, Runs
    from fanin.run_tables import RunTables

ROWS = 60
"""The most ports of a tree that are drawn."""


def pause_trees(runs: Runs, path: Path | None = None) -> Figure:
    """Trees of pauses by PFC: their depth, the capacity that they suppress, and the largest tree of all runs.

    Needs `measure.pauses = true`. The trees of all seeds of a scheme count together; the capacity over time is the mean
    over its seeds.
    """
    results = as_results(runs)
    groups = groups_of(results)
    found = {group.name: pl.concat([measured.trees(run) for run in group.runs]) for group in groups}
    figure = Figure(figsize=(11, 9.4), layout="constrained")
    grid = figure.add_gridspec(3, 2, height_ratios=[1, 1, 1.5])
    draw_depths(figure.add_subplot(grid[0, 0]), groups, found)
    draw_peaks(figure.add_subplot(grid[0, 1]), groups, found)
    over_time = figure.add_subplot(grid[1, :])
    for group in groups:
        draw_over_time(over_time, group)
    over_time.yaxis.set_major_formatter(PercentFormatter(xmax=1.0, symbol=" %"))
    over_time.set_ylim(bottom=0)
    label_axes(over_time, "Capacity suppressed", "time (ms)", "share of all links", legend=False)
    legend_below(figure, over_time)
    largest = figure.add_subplot(grid[2, :])
    with_trees = [run for run in results if not measured.trees(run).is_empty()]
    if with_trees:
        draw_largest(largest, max(with_trees, key=_size_of_largest))
    else:
        write_note(largest, "PFC paused nothing")
    return finish(figure, results, path, "a tree: the pauses that follow from one congested queue or faulty host")


def draw_depths(axes: Axes, groups: list[Group], found: dict[str, pl.DataFrame]) -> None:
    """The share of trees of each depth, as in HPCC Fig. 1a."""
    deepest = max((int(table["depth"].to_numpy().max()) for table in found.values() if table.height), default=1)
    width = 0.8 / len(groups)
    for number, group in enumerate(groups):
        depth = found[group.name]["depth"].to_numpy()
        share = [float((depth == d).mean()) if depth.size else 0.0 for d in range(1, deepest + 1)]
        places = np.arange(1, deepest + 1) + (number - (len(groups) - 1) / 2) * width
        axes.bar(places, share, width * 0.92, color=group.style.colour)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.yaxis.set_major_formatter(PercentFormatter(xmax=1.0, symbol=" %"))
    label_axes(axes, "Depth of trees", "hops from the origin", "share of trees", legend=False)


def draw_peaks(axes: Axes, groups: list[Group], found: dict[str, pl.DataFrame]) -> None:
    """The share of trees that suppress more than a share of capacity, as in HPCC Fig. 1b."""
    for group in groups:
        peak = np.sort(found[group.name]["capacity"].to_numpy())
        if peak.size:
            above = 1 - np.arange(peak.size + 1) / peak.size
            axes.step(np.concatenate([[0.0], peak]), above, where="post", **group.line)
    for formatted in (axes.xaxis, axes.yaxis):
        formatted.set_major_formatter(PercentFormatter(xmax=1.0, symbol=" %"))
    axes.set_xlim(left=0)
    axes.set_ylim(0, 1.02)
    label_axes(
        axes,
        "Trees by the capacity suppressed at once",
        "more than this share of all links",
        "share of trees",
        legend=False,
    )


def draw_over_time(axes: Axes, group: Group) -> None:
    """The share of capacity suppressed over time, the mean over the runs of a group."""
    tables = [measured.suppressed(run) for run in group.runs]
    time_ms = np.unique(np.concatenate([table["time_us"].to_numpy() for table in tables])) / 1e3
    mean = np.zeros(time_ms.size)
    for table in tables:
        # Each value holds until the next one of its run.
        last = np.searchsorted(table["time_us"].to_numpy() / 1e3, time_ms, side="right") - 1
        values = np.append(table["capacity"].to_numpy(), 0.0)
        mean += values[last] / len(tables)
    ends = np.append(time_ms[1:], max(run.simulated_ms for run in group.runs)) if time_ms.size else time_ms
    across, up = steps(time_ms, ends, mean)
    axes.plot([0.0, *across[:1], *across], [0.0, *([0.0] if across else []), *up], label=group.name, **group.line)


def _size_of_largest(run: RunTables) -> tuple[int, int, str]:
    """Ports and pauses of a run's largest tree; its name decides between equals."""
    tree = _largest(run)
    return int(tree["ports"]), int(tree["pauses"]), run.label


def _largest(run: RunTables) -> dict[str, Any]:
    """The tree with the most ports, of those the one with the most pauses."""
    return measured.trees(run).sort("ports", "pauses", descending=True, maintain_order=True).row(0, named=True)


def draw_largest(axes: Axes, run: RunTables) -> None:
    """The tree with the most ports: a row per port, by depth, a bar per pause, and a line from each cause."""
    tree = _largest(run)
    pauses = measured.pauses_of(run).filter(pl.col("tree") == tree["tree"])
    order = pauses.group_by("port", maintain_order=True).agg(pl.col("depth").min(), pl.col("begin_ps").min())
    ports = order.sort("depth", "begin_ps")["port"].to_list()
    row_of = {port: row for row, port in enumerate(ports[:ROWS])}
    drawn = pauses.filter(pl.col("port").is_in(list(row_of)))
    at = {pause["pause"]: pause for pause in drawn.iter_rows(named=True)}
    for depth in sorted(set(drawn["depth"].to_list())):
        some = drawn.filter(pl.col("depth") == depth)
        begin, end = some["begin_ps"].to_numpy() / 1e9, some["end_ps"].to_numpy() / 1e9
        rows = [row_of[port] for port in some["port"]]
        colour = COLOURS[(depth - 1) % len(COLOURS)]
        axes.barh(
            rows, end - begin, left=begin, height=0.72, color=colour, label=f"{depth} hops" if depth > 1 else "1 hop"
        )
    for pause in at.values():
        parent = at.get(pause["parent"])
        if parent is not None:
            across = [pause["begin_ps"] / 1e9] * 2
            axes.plot(across, [row_of[parent["port"]], row_of[pause["port"]]], color="#555555", linewidth=0.5)
    axes.set_yticks(range(len(row_of)), list(row_of), fontsize=8 if len(row_of) <= 25 else 5)
    axes.invert_yaxis()
    left = f"; {len(ports) - ROWS} more ports" if len(ports) > ROWS else ""
    title = f"Largest tree: {tree['cause']} at {tree['origin']}, {tree['ports']} ports{left} ({run.label})"
    label_axes(axes, title, "time (ms)", "", legend=False)
    axes.tick_params(axis="y", labelsize=8 if len(row_of) <= 25 else 5)
    axes.legend(frameon=False, fontsize=9, loc="upper left", bbox_to_anchor=(1.0, 1.0))
