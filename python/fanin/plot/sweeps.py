"""The numbers of a sweep along one of its columns."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.colors import LogNorm, Normalize
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, NullLocator

from fanin.over_seeds import Estimate
from fanin.plot.axes import across_figure, name_ticks, plain_number, set_axis
from fanin.plot.base import draw_points, label_axes, legend_below
from fanin.quantities import BYTES_OF, fitting, quantity, scaled, spans_decades
from fanin.shown import SHOWN, estimated
from fanin.shown import number as shown_number
from fanin.style import styles_of
from fanin.sweeps.means import Lines, amount, lines, over_two, value_text

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
        across = [shifted(value, aside) for value in values]
        draw_points(axes, across, means, half, styles[name], name, joined=found.numeric)
    if log:
        set_axis(axes, "y", np.array(reached) / scale)
    else:
        axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: plain_number(value)))
        axes.set_ylim(*_ends(known, scale))
    label_axes(axes, "", f"{found.x} (log scale)" if axes.get_xscale() == "log" else found.x, title, legend=False)
    legend_below(figure, axes)
    over = f"mean over {found.seeds} seeds, bars: 95 % intervals" if found.seeds > 1 else "one seed"
    return headed(figure, swept.name, [over, *found.notes], path)


def _ends(known: Sequence[Estimate], scale: float) -> tuple[float, float]:
    """The ends of an axis with room for the markers: from zero, unless that left half of the picture empty."""
    low = min([(one.mean or 0.0) - (one.half or 0.0) for one in known], default=0.0) / scale
    high = max([(one.mean or 0.0) + (one.half or 0.0) for one in known], default=0.0) / scale
    return 0.94 * low if low >= 0.5 * high else 0.0, 1.06 * high or 1.0


def headed(figure: Figure, name: str, notes: Sequence[str], path: Path | None) -> Figure:
    """Adds the title and the notes on how to read the picture, and writes the file."""
    width = across_figure(figure, 11)
    lines = [line for text in (name, "; ".join(notes)) for line in textwrap.wrap(text, width)]
    figure.suptitle("\n".join(lines), fontsize=11)
    if path is not None:
        figure.savefig(path, dpi=160)
    return figure


WIDEST = 15.0
"""The most inches of maps beside each other."""


def map_of(swept: OfSweep, x: str | None, y: str, number: str | None = None, path: Path | None = None) -> Figure:
    """A number over two columns of the grid as a map, one per scheme and per combination of the other columns: colours
    and texts are means over the seeds, with half of their 95 % interval."""
    found = over_two(swept, x, y, number)
    wide = 1.1 + 0.95 * len(found.across)
    columns = max(1, min(int(WIDEST / wide), len(found.panels)))
    rows = -(-len(found.panels) // columns)
    high = 1.0 + 0.5 * len(found.up)
    figure = Figure(figsize=(max(7.2, columns * wide + 1.5), max(3.6, rows * high + 1.4)), layout="constrained")
    panels = figure.subplots(rows, columns, squeeze=False).flatten().tolist()
    known = [one.mean for panel in found.panels.values() for one in panel.values() if one.mean is not None]
    log = spans_decades(known)
    scale, title = scaled(found.number, known, *(["log scale"] if log else []))
    norm = (LogNorm if log else Normalize)(min(known) / scale, max(known) / scale)
    image = None
    for axes, (name, panel) in zip(panels, found.panels.items(), strict=False):
        grid = np.full((len(found.up), len(found.across)), np.nan)
        for (across, up), one in panel.items():
            row, column = found.up.index(up), found.across.index(across)
            grid[row, column] = np.nan if one.mean is None else one.mean / scale
            text = estimated(Estimate(one.mean, None), SHOWN[quantity(found.number).unit])
            half = f"\n\u00b1 {shown_number(one.half / scale)}" if one.half and one.mean is not None else ""
            dark = one.mean is not None and norm(one.mean / scale) < 0.55
            axes.text(column, row, text + half, ha="center", va="center", fontsize=8, color="w" if dark else "k")
        image = axes.imshow(grid, cmap="viridis", norm=norm, origin="lower", aspect="auto")
        axes.set_title(name if len(found.panels) > 1 else "", fontsize=11)
        axes.set_xticks(range(len(found.across)), labels=[value_text(found.x, value) for value in found.across])
        axes.set_yticks(range(len(found.up)), labels=[value_text(found.y, value) for value in found.up])
        axes.set_xlabel(found.x, fontsize=11)
        axes.set_ylabel(found.y, fontsize=11)
    for axes in panels[len(found.panels) :]:
        axes.remove()
    if image is not None:
        bar = figure.colorbar(image, ax=panels[: len(found.panels)], label=title)
        bar.ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: plain_number(value)))
        bar.ax.yaxis.set_minor_formatter(FuncFormatter(lambda value, _: plain_number(value)))
    over = f"mean over {found.seeds} seeds \u00b1 half of its 95 % interval" if found.seeds > 1 else "one seed"
    return headed(figure, swept.name, [over, *found.notes], path)


def _places(axes: Axes, found: Lines) -> Callable[[Value | None, float], float]:
    """The place of a value on the x axis, shifted by a share of the axis: to scale if all are numbers, and else evenly
    spaced."""
    texts = [value_text(found.x, value) for value in found.values]
    if not found.numeric:
        name_ticks(axes, texts, inches=6.0, fontsize=10)
        count = len(found.values)
        axes.set_xlim(-0.4, count - 0.6)
        return lambda value, aside: found.values.index(value) + aside * count
    at = np.array([amount(value) for value in found.values], float)
    log = spans_decades(at.tolist())
    if log:
        axes.set_xscale("log")
    on_axis = np.log10(at) if log else at
    span = float(on_axis[-1] - on_axis[0]) or 1.0
    if (np.diff(on_axis) >= APART * span).all():
        axes.set_xticks(at, labels=texts)
        axes.xaxis.set_minor_locator(NullLocator())
    else:
        unit = _unit(found.values)
        set_axis(axes, "x", at, lambda value: unit(value) if unit else value_text(found.x, value))

    def shifted(value: Value | None, aside: float) -> float:
        number = amount(value) or 0.0
        return float(10 ** (np.log10(number) + aside * span)) if log else number + aside * span

    return shifted


def _unit(values: Sequence[Value | None]) -> Callable[[float], str] | None:
    """How amounts in between are written, where these have a unit."""
    text = next((value for value in values if isinstance(value, str)), None)
    if text is None:
        return None
    units = (
        BYTES_OF if text.endswith("B") else GBPS if text.endswith("bps") else SECONDS if text.endswith("s") else {"": 1}
    )

    def written(value: float) -> str:
        unit, scale = fitting(value, units)
        return f"{value / scale:.4g} {unit}".strip()

    return written


GBPS = {"Tbps": 1e12, "Gbps": 1e9, "Mbps": 1e6, "Kbps": 1e3, "bps": 1.0}
SECONDS = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9, "ps": 1e-12}
