"""The trade-off of a search: its goal against what it keeps."""

from __future__ import annotations

from typing import TYPE_CHECKING

from matplotlib.figure import Figure

from fanin.plot.axes import set_axis
from fanin.plot.base import label_axes, legend_below
from fanin.plot.sweeps import headed
from fanin.quantities import scaled, spans_decades
from fanin.style import BLACK, BLUE, GREY, VERMILLION
from fanin.tuned_text import heading, settings_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fanin.over_seeds import Estimate
    from fanin.plot.base import Path
    from fanin.sweeps.goals import Tried
    from fanin.tuned_text import Search


def trade_off(found: Search, path: Path | None = None) -> Figure:
    """The goal of every point of a search against the first number that it keeps, with 95 % intervals, the limit and
    the side on which it is missed; without a limit, in the order of the goals."""
    figure = Figure(figsize=(7.2, 5.4), layout="constrained")
    axes = figure.subplots()
    points = [point for point in found.points if point.goal_estimate.mean is not None]
    kept = [point for point in points if point.kept]
    missed = [point for point in points if not point.kept]
    every = [*points, found.own]
    keep = found.keeps[0] if found.keeps else None
    order = sorted(points, key=lambda point: point.goal_estimate.mean or 0.0)

    def across(point: Tried) -> float:
        if keep is None:
            return float(order.index(point) + 1) if point in order else 0.0
        return point.limit_estimates()[0].mean or 0.0

    up_scale, up_title = _scaled(found.goal.name, [point.goal_estimate for point in every])
    right_scale, right_title = 1.0, "points, by their goal"
    if keep is not None:
        right_scale, right_title = _scaled(keep.name, [point.limit_estimates()[0] for point in every])

    def draw(some: Sequence[Tried], colour: str, marker: str, label: str, size: float) -> None:
        if not some:
            return
        x = [across(point) / right_scale for point in some]
        y = [(point.goal_estimate.mean or 0.0) / up_scale for point in some]
        yerr = [(point.goal_estimate.half or 0.0) / up_scale for point in some]
        xerr = [0.0 if keep is None else (point.limit_estimates()[0].half or 0.0) / right_scale for point in some]
        if any(yerr) or any(xerr):
            axes.errorbar(x, y, yerr=yerr, xerr=xerr, fmt="none", ecolor=colour, elinewidth=0.8, alpha=0.45)
        axes.plot(x, y, linestyle="none", marker=marker, markersize=size, label=label, zorder=3, mfc=colour, mec="w")

    draw(missed, GREY, "X", "misses a limit", 7)
    draw(kept, BLUE, "o", "keeps the limits" if found.keeps else "tried", 6)
    draw([found.own], BLACK, "s", "the spec as it is", 8)
    if found.best is not None:
        draw([found.best], VERMILLION, "*", "chosen", 15)
    # By the means: a wide interval leaves the picture, instead of making all else small.
    up = [(point.goal_estimate.mean or 0.0) / up_scale for point in every]
    right = [across(point) / right_scale for point in every]
    limit = None if keep is None else keep.limit(found.own.limit_estimates()[0].mean or 0.0) / right_scale
    if not set_axis(axes, "y", up):
        axes.set_ylim(*_around(up))
    if not set_axis(axes, "x", right if limit is None or limit <= 0 else [*right, limit]):
        axes.set_xlim(*_around(right if limit is None else [*right, limit]))
    if keep is not None and limit is not None:
        low, high = axes.get_xlim()
        axes.axvspan(
            *((low, limit) if keep.least else (limit, high)), color="#eeeeee", zorder=0, label="beyond the limit"
        )
        axes.axvline(limit, color="#666666", linewidth=1.2)
        axes.set_xlim(low, high)
    label_axes(axes, "", right_title, up_title, legend=False)
    legend_below(figure, axes)
    several = len(found.seeds) > 1
    notes = [f"mean over {len(found.seeds)} seeds, bars: 95 % intervals" if several else "one seed"]
    if found.best is not None:
        notes.append(f"chosen: {settings_text(found.best.settings)}")
    others = len(found.keeps) - 1
    if others > 0:
        notes.append(f"{others} further limit{'s' * (others > 1)} in the colours alone")
    return headed(figure, f"{found.name}: {heading(found)}", notes, path)


def _around(values: Sequence[float]) -> tuple[float, float]:
    """The ends of an axis with room for the markers at its ends."""
    low, high = min(values), max(values)
    room = 0.08 * (high - low) or 0.08 * abs(high) or 1.0
    return (max(0.0, low - room) if low >= 0 else low - room), high + room


def _scaled(name: str, values: Sequence[Estimate]) -> tuple[float, str]:
    means = [one.mean for one in values if one.mean is not None]
    log = spans_decades(means)
    return scaled(name, means, *(["log scale"] if log else []))
