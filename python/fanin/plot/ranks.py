"""What the ranks of jobs do over time."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from matplotlib.ticker import MaxNLocator

from fanin.measures import rank_times
from fanin.plot.base import as_results, finish, groups_of, label_axes, write_note
from fanin.plot.timeline import bars
from fanin.run_folder import RunError
from fanin.style import BLUE, GREEN

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from fanin.plot.base import Path, Runs
    from fanin.run_tables import RunTables

IDLE = "#eeeeee"
MOST = 6
"""The most runs that are drawn below each other."""


def ranks(runs: Runs, path: Path | None = None) -> Figure:
    """The ranks of jobs over time: when each computes, when it waits for communication, and when it is idle.

    A row is a rank, and a panel a run; of several seeds of a scheme, the first. Needs a traffic that is a collective, a
    GOAL schedule or Chakra traces.
    """
    results = as_results(runs)
    firsts = {group.name: group.runs[0] for group in groups_of(results)}
    shown = {name: run for name, run in firsts.items() if not run.ranks().is_empty()}
    if not shown:
        raise RunError('no run has ranks; a traffic with pattern = { kind = "all-reduce", size = "64 MB" } has some')
    figure = Figure(figsize=(11, 1.2 + 2.6 * min(len(shown), MOST)), layout="constrained")
    panels = figure.subplots(min(len(shown), MOST), 1, squeeze=False, sharex=True)[:, 0]
    for axes, (name, run) in zip(panels, list(shown.items())[:MOST], strict=True):
        draw_run(axes, name, run)
    parts = (("computes", GREEN), ("waits for communication", BLUE), ("idle", IDLE))
    handles = [Patch(color=colour, label=name) for name, colour in parts]
    figure.legend(handles=handles, loc="outside lower center", ncols=3, frameon=False)
    return finish(figure, results, path, "of several seeds the first")


def draw_run(axes: Axes, name: str, run: RunTables) -> None:
    """A row for each rank, the jobs of several traffics below each other."""
    table, computing, communicating = rank_times(run)
    since = int(table["start_ps"].to_numpy().min())
    rows = np.arange(table.height, dtype=np.int64)
    begin, end = ((table[name].to_numpy().astype(np.float64) - since) / 1e6 for name in ("start_ps", "finish_ps"))
    bars(axes, rows, begin, end - begin, IDLE, 0.8)
    for of, colour in ((communicating, BLUE), (computing, GREEN)):
        left, right = ((of[name].to_numpy().astype(np.float64) - since) / 1e6 for name in ("start_ps", "end_ps"))
        bars(axes, of["row"].to_numpy().astype(np.int64), left, right - left, colour, 0.8)
    axes.set_xlim(0, float(end.max()) * 1.02 or 1.0)
    axes.set_ylim(table.height - 0.5, -0.5)
    axes.yaxis.set_major_locator(MaxNLocator(integer=True))
    label_axes(axes, name, "time (us)", "rank", legend=False)
    if computing.is_empty() and communicating.is_empty():
        write_note(axes, "no node ended")
