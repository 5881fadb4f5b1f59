"""What fails in a run, as vertical lines with their names in pictures over time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import polars as pl
from matplotlib.patheffects import withStroke

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from fanin.result import Result

TEXTS = {
    "link_down": "{where} down",
    "link_up": "{where} up",
    "reroute": "new routes",
    "fault": "{where}: {detail}",
    "storm": "watchdog at {where}",
}
"""The kinds of events that are marked, and what is written beside their lines."""

MOST = 8
"""The most lines in a panel; there may be thousands of events."""

COLOUR = "#aa0000"


def mark_failures(
    axes: Axes, runs: Sequence[Result], *, named: bool = True, unit_ps: float = 1e9, origin_ps: int = 0
) -> None:
    """Marks the failures of these runs that lie within a panel, to be called when its curves are there. Its x axis has
    times since `origin_ps` in units of `unit_ps`, by default milliseconds; of several panels over the same time, one is
    enough to be `named`."""
    wanted = pl.col("kind").is_in(list(TEXTS))
    found = pl.concat([run.events().filter(wanted).select("time_ps", "kind", "where", "detail") for run in runs])
    texts: dict[float, dict[str, None]] = {}
    first, last = axes.get_xlim()
    for time_ps, kind, where, detail in found.unique(maintain_order=True).sort("time_ps", maintain_order=True).rows():
        at = (time_ps - origin_ps) / unit_ps
        if first <= at <= last:
            texts.setdefault(at, {})[TEXTS[kind].format(where=where, detail=detail)] = None
    shown = list(texts.items())
    for at, said in shown[:MOST]:
        axes.axvline(at, color=COLOUR, linewidth=0.9, linestyle=(0, (4, 2)), zorder=1.5)
        if named:
            _write(axes, at, few(list(said)))
    if named and len(shown) > MOST:
        axes.annotate(
            f"and {len(shown) - MOST:,} failures more: see the table events",
            (0.99, 0.02),
            xycoords="axes fraction",
            ha="right",
            va="bottom",
            fontsize=8,
            color=COLOUR,
        )


def few(texts: Sequence[str]) -> str:
    """What happened at one time, the first of it."""
    return ", ".join(texts[:3]) + (f" and {len(texts) - 3:,} more" if len(texts) > 3 else "")


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
        color=COLOUR,
        path_effects=[withStroke(linewidth=2.5, foreground="white")],
    )
