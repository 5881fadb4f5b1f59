"""What fails in a run, as vertical lines with their names in pictures over time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from matplotlib.patheffects import withStroke

from fanin.over_time import MOST_MARKS, failures
from fanin.style import MARK_COLOUR

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from fanin.run_tables import RunTables


def mark_failures(
    axes: Axes, runs: Sequence[RunTables], *, named: bool = True, unit_ps: float = 1e9, origin_ps: int = 0
) -> None:
    """Marks the failures of these runs that lie within a panel, to be called when its curves are there. Its x axis has
    times since `origin_ps` in units of `unit_ps`, by default milliseconds; of several panels over the same time, one is
    enough to be `named`."""
    first, last = axes.get_xlim()
    placed = (((time_ps - origin_ps) / unit_ps, said) for time_ps, said in failures(runs))
    shown = [(at, said) for at, said in placed if first <= at <= last]
    for at, said in shown[:MOST_MARKS]:
        axes.axvline(at, color=MARK_COLOUR, linewidth=0.9, linestyle=(0, (4, 2)), zorder=1.5)
        if named:
            _write(axes, at, said)
    if named and len(shown) > MOST_MARKS:
        axes.annotate(
            f"and {len(shown) - MOST_MARKS:,} failures more: see the table events",
            (0.99, 0.02),
            xycoords="axes fraction",
            ha="right",
            va="bottom",
            fontsize=8,
            color=MARK_COLOUR,
        )


def _write(axes: Axes, at: float, text: str) -> None:
    """Beside the line, upwards; on its left at the right edge of the panel, so that it stays inside."""
    first, last = axes.get_xlim()
    left = at > last - 0.05 * (last - first)
    axes.annotate(
        text,
        (at, 0.98),
        xycoords=("data", "axes fraction"),
        xytext=(-2 if left else 2, 0),
        textcoords="offset points",
        rotation=90,
        ha="right" if left else "left",
        va="top",
        fontsize=8,
        color=MARK_COLOUR,
        path_effects=[withStroke(linewidth=2.5, foreground="white")],
    )
