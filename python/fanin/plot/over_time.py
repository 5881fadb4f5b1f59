"""What changed in the course of a run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from matplotlib.figure import Figure

from fanin import over_time as measured
from fanin.looks import look
from fanin.plot.base import (
    DASHES,
    LEGEND_LINES,
    as_results,
    dress,
    finish,
    one_of_each,
    peaks,
    say,
    shades,
    steps,
    stroke,
)
from fanin.result import RunError

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from fanin.plot.base import Path, Runs
    from fanin.result import Result

PANEL = 2.3
"""Height of one of several panels, in inches."""


def queue_over_time(runs: Runs, path: Path | None = None, *, port: str | None = None) -> Figure:
    """The longest of the sampled queues over time, or that of one port."""
    results = as_results(runs)
    figure = Figure(figsize=(10.5, 4.4), layout="constrained")
    axes = figure.subplots()
    for name, run in one_of_each(results).items():
        table = measured.queue_over_time(run, port)
        times, lengths = peaks(table["time_us"].to_numpy(), table["longest_bytes"].to_numpy().astype(np.float64))
        axes.plot(times / 1e3, lengths / 1e3, label=name, **(stroke(name) | {"linewidth": 1.1}))
    axes.set_ylim(bottom=0)
    dress(axes, f"Queue of {port}" if port else "Longest of the sampled queues", "time (ms)", "queue (KB)")
    legend_beside(axes)
    return finish(figure, results, path)


def goodput(runs: Runs, path: Path | None = None) -> Figure:
    """Goodput over time, a row per scheme: traffics on the left, messages on the right; below, Jain's index over the messages."""
    results = as_results(runs)
    each = one_of_each(results)
    tables = {name: measured.goodput_over_time(run) for name, run in each.items()}
    kinds = [what for what in ("traffic", "flow") if any(what in set(table["what"]) for table in tables.values())] or [
        "flow"
    ]
    fair = {name: measured.fairness_over_time(run) for name, run in each.items()} if "flow" in kinds else {}
    rows = len(each) + bool(fair)
    figure = Figure(figsize=(9 if len(kinds) == 1 else 14, 0.9 + max(PANEL * rows, 3.0)), layout="constrained")
    grid = figure.subplots(rows, len(kinds), sharex=True, sharey="col" if not fair else False, squeeze=False)
    for column, what in enumerate(kinds):
        top = 0.0
        for axes, (name, table) in zip(grid[:, column], tables.items(), strict=False):
            several(axes, table.filter(pl.col("what") == what), each[name], "gbps", name)
            top = max(top, axes.dataLim.ymax if axes.lines else 0.0)
            dress_panel(axes, f"{name}: {'whole traffics' if what == 'traffic' else 'messages'}", "goodput (Gb/s)")
        for axes in grid[: len(each), column]:
            axes.set_ylim(0, top * 1.05 or 1)
    if fair:
        axes = grid[-1, kinds.index("flow")]
        for name, table in fair.items():
            across, up = steps(table["begin_us"] / 1e3, table["end_us"] / 1e3, table["jain"].fill_null(float("nan")))
            axes.plot(across, up, label=name, **stroke(name))
        axes.set_ylim(0, 1.03)
        dress_panel(axes, "Jain's index of fairness over the messages that are open", "index")
        if len(kinds) == 2:
            grid[-1, 0].remove()
            grid[-2, 0].tick_params(labelbottom=True)
            grid[-2, 0].set_xlabel("time (ms)", fontsize=11)
    grid[-1, -1].set_xlabel("time (ms)", fontsize=11)
    return finish(figure, results, path)


def several(axes: Axes, table: pl.DataFrame, run: Result, value: str, scheme: str) -> None:
    """A curve per watched message or traffic, in shades of their schemes' colours."""
    schemes = {traffic["traffic"]: traffic["scheme"] for traffic in run.summary()["traffics"]}
    groups = table.partition_by("where", "traffic", as_dict=True, maintain_order=True)
    of_scheme: dict[str, list[str]] = {}
    for where, traffic in groups:
        of_scheme.setdefault(schemes.get(str(traffic), scheme), []).append(str(where))
    many = len(groups) > LEGEND_LINES
    for (where, traffic), part in groups.items():
        scheme = schemes.get(str(traffic), scheme)
        alike = of_scheme[scheme]
        number = alike.index(str(where))
        label = str(where) if not many else f"{len(alike)} of {scheme}" if number == 0 else None
        shown: dict[str, Any] = {
            "color": shades(look(scheme).colour, len(alike))[number],
            "linestyle": "-" if many else DASHES[number % len(DASHES)],
            "linewidth": 0.8 if many else 1.5,
        }
        if "begin_us" in part.columns:
            across, up = steps(part["begin_us"] / 1e3, part["end_us"] / 1e3, part[value])
            axes.plot(across, up, label=label, **shown)
        else:
            axes.plot(
                part["time_us"].to_numpy() / 1e3, part[value].to_numpy(), label=label, drawstyle="steps-post", **shown
            )
    if not groups:
        say(axes, "none of what was watched was open in the measured window")


def rates(runs: Runs, path: Path | None = None) -> Figure:
    """Rates of the watched messages over time, and their windows where they have any; a row per scheme."""
    results = as_results(runs)
    each = one_of_each(results)
    tables = {name: measured.rates_over_time(run) for name, run in each.items()}
    with_window = any(table["window_bytes"].count() for table in tables.values())
    columns = 2 if with_window else 1
    figure = Figure(
        figsize=(6.5 * columns if with_window else 9, 0.9 + max(PANEL * len(each), 3.0)), layout="constrained"
    )
    grid = figure.subplots(len(each), columns, sharex=True, sharey="col", squeeze=False)
    for row, (name, table) in zip(grid, tables.items(), strict=True):
        scaled = table.with_columns(pl.col("rate_bps") / 1e9, pl.col("window_bytes") / 1e3)
        several(row[0], scaled, each[name], "rate_bps", name)
        dress_panel(row[0], name, "rate (Gb/s)")
        if with_window:
            limited = scaled.drop_nulls("window_bytes")
            if limited.is_empty():
                say(row[1], "no window")
            else:
                several(row[1], limited, each[name], "window_bytes", name)
            dress_panel(row[1], name, "window (KB)")
    for axes in grid[-1]:
        axes.set_xlabel("time (ms)", fontsize=11)
        # Only now: it fixes the axes of the whole column.
        axes.set_ylim(bottom=0)
    return finish(figure, results, path)


def pauses(runs: Runs, path: Path | None = None) -> Figure:
    """PFC over time: how many queues were held paused at once, or, where ports were not watched, how many pauses began."""
    results = as_results(runs)
    figure = Figure(figsize=(10.5, 4.4), layout="constrained")
    axes = figure.subplots()
    each = one_of_each(results)
    held = {name: _held(run) for name, run in each.items()}
    known = {name: table for name, table in held.items() if table is not None}
    watched = len(known) == len(each)
    stopped: list[str] = []
    for name, run in each.items():
        table = known[name] if watched else measured.pause_counts(run)
        values = table["paused" if watched else "pauses"].cast(pl.Float64)
        across, up = steps(table["begin_us"] / 1e3, table["end_us"] / 1e3, values)
        axes.plot(across, up, label=name, **(stroke(name) | {"linewidth": 1.2}))
        if not watched and (left := measured.pauses_left_out(run)):
            stopped.append(f"{name}: {left:,} later pauses were not kept")
    if axes.dataLim.ymax > 0:
        axes.set_ylim(bottom=0)
    else:
        axes.set_ylim(-0.02, 1)
        say(axes, "PFC paused none of the watched ports" if watched else "PFC paused nothing")
    title = "Queues held by PFC (watched ports)" if watched else "Pauses (PFC) as they begin"
    dress(axes, title, "time (ms)", "queues paused at once" if watched else "pauses in 1 % of the run")
    legend_beside(axes)
    if stopped:
        axes.annotate("\n".join(stopped), (0.01, 0.98), xycoords="axes fraction", va="top", fontsize=9, color="#aa0000")
    return finish(figure, results, path)


def _held(run: Result) -> pl.DataFrame | None:
    """What was watched of pauses, if it was."""
    try:
        return measured.pauses_over_time(run)
    except RunError:
        return None


def dress_panel(axes: Axes, title: str, y: str) -> None:
    """Dresses one of several panels, with the legend beside it."""
    dress(axes, "", "", y)
    axes.set_title(title, fontsize=11, loc="left")
    legend_beside(axes)


def legend_beside(axes: Axes) -> None:
    """Curves over time fill their panel, so that no place inside it is free."""
    if axes.get_legend_handles_labels()[0]:
        axes.legend(frameon=False, fontsize=9, loc="upper left", bbox_to_anchor=(1.0, 1.0))
