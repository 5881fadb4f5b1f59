"""The numbers of a sweep along one of its columns."""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, NullLocator

from fanin.plot.axes import across_figure, name_ticks, plain_number, set_axis
from fanin.plot.base import draw_points, label_axes, legend_below
from fanin.quantities import scaled, spans_decades
from fanin.style import styles_of
from fanin.sweeps.means import Lines, lines, value_text

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from fanin.plot.base import Path
    from fanin.sweeps.columns import Value
    from fanin.sweeps.means import OfSweep

APART = 0.07
"""Labels of ticks that are closer than this share of the axis would overlap."""


def along(swept: OfSweep, x: str | None = None, y: str | None = None, path: Path | None = None) -> Figure:
    """A number along a column of the grid, a line per scheme and per combination of the other columns."""
    found = lines(swept, x, y)
    figure = Figure(figsize=(7.2, 5.4), layout="constrained")
    axes = figure.subplots()
    shifted = _places(axes, found)
    known = [one for line in found.lines.values() for one in line.values() if one.mean is not None]
    reached = [one.mean or 0.0 for one in known] + [(one.mean or 0.0) + (one.half or 0.0) for one in known]
    log = spans_decades(one.mean or 0.0 for one in known)
    scale, title = scaled(found.y, reached, *(["log scale"] if log else []))
    styles = styles_of(list(found.lines))
    for number, (name, line) in enumerate(found.lines.items()):
        values = [value for value in found.values if value in line and line[value].mean is not None]
        half = [(line[value].half or 0.0) / scale for value in values]
        # Shifted, so that the intervals at one place are distinct.
        alone = all(len(line) == 1 for line in found.lines.values())
        aside = 0.0 if alone else (number - (len(found.lines) - 1) / 2) * min(0.012, 0.06 / len(found.lines))
        means = [(line[value].mean or 0.0) / scale for value in values]
        draw_points(axes, [shifted(value, aside) for value in values], means, half, styles[name], name)
    if log:
        set_axis(axes, "y", np.array(reached) / scale)
    else:
        axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: plain_number(value)))
        axes.set_ylim(0, 1.06 * max(reached, default=0.0) / scale or 1.0)  # with room for the highest marker
    label_axes(axes, "", found.x, title, legend=False)
    legend_below(figure, axes)
    over = f"mean over {found.seeds} seeds, bars: 95 % intervals" if found.seeds > 1 else "one seed"
    width = across_figure(figure, 11)
    headed = [line for text in (swept.name, "; ".join([over, *found.notes])) for line in textwrap.wrap(text, width)]
    figure.suptitle("\n".join(headed), fontsize=11)
    if path is not None:
        figure.savefig(path, dpi=160)
    return figure


def _places(axes: Axes, found: Lines) -> Callable[[Value | None, float], float]:
    """The place of a value on the x axis, shifted by a share of the axis: to scale if all are numbers, and else evenly
    spaced."""
    texts = [value_text(found.x, value) for value in found.values]
    if not found.numeric:
        name_ticks(axes, texts, inches=6.0, fontsize=10)
        count = len(found.values)
        axes.set_xlim(-0.4, count - 0.6)
        return lambda value, aside: found.values.index(value) + aside * count
    at = np.array([float(str(value)) for value in found.values])
    log = spans_decades(at.tolist())
    if log:
        axes.set_xscale("log")
    on_axis = np.log10(at) if log else at
    span = float(on_axis[-1] - on_axis[0]) or 1.0
    if (np.diff(on_axis) >= APART * span).all():
        axes.set_xticks(at, labels=texts)
        axes.xaxis.set_minor_locator(NullLocator())
    else:
        set_axis(axes, "x", at, lambda value: value_text(found.x, value))

    def shifted(value: Value | None, aside: float) -> float:
        number = float(str(value))
        return float(10 ** (np.log10(number) + aside * span)) if log else number + aside * span

    return shifted
