"""Shared by all pictures: their runs, styles, titles, axes and legends."""

from __future__ import annotations

import os
import textwrap
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from matplotlib.colors import to_hex, to_rgb

from fanin import spec
from fanin.measures import by_scheme
from fanin.plot.axes import across_figure
from fanin.style import COLOURS, Style, style_of, styles_of
from fanin.table import stopped_note

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

    from fanin.run_tables import HasResults, RunTables

    Runs: TypeAlias = RunTables | HasResults | Sequence[RunTables]
    Path: TypeAlias = str | os.PathLike[str]


POINTS = 2000
"""Most points that one curve is drawn with."""

DASHES = ("-", "--", "-.", ":")

LEGEND_LINES = 10
"""The most curves that a legend names; of more, it gives the number."""


def as_results(runs: Runs) -> list[RunTables]:
    """One run, a comparison, a sweep whose runs were kept, or several runs, as a list that is not empty."""
    results: list[RunTables] = list(runs) if isinstance(runs, Sequence) else getattr(runs, "results", [runs])
    if not results:
        raise ValueError("there is no run to draw")
    return results


@dataclass(frozen=True)
class Group:
    """Runs that differ in their seeds alone, and how they are drawn."""

    name: str
    runs: list[RunTables]
    style: Style

    @property
    def line(self) -> dict[str, Any]:
        """Keyword arguments of its curve."""
        return {**self.style.for_matplotlib(), "linewidth": 1.8}


def groups_of(results: Sequence[RunTables]) -> list[Group]:
    """The groups of `measures.by_scheme`, each with a style of its own."""
    groups = by_scheme(results)
    styles = styles_of(list(groups))
    return [Group(name, runs, styles[name]) for name, runs in groups.items()]


def scheme_line(scheme: str) -> dict[str, Any]:
    """Keyword arguments of the curve of a scheme."""
    return {**style_of(scheme).for_matplotlib(), "linewidth": 1.8}


def indexed_line(index: int) -> dict[str, Any]:
    """Keyword arguments of the curve with this index, for curves that do not belong to a scheme."""
    return {"color": COLOURS[index % len(COLOURS)], "linestyle": DASHES[index % len(DASHES)], "linewidth": 1.8}


def shades(colour: str, count: int) -> list[str]:
    """So many shades of a colour, from full to pale, for the messages of one scheme."""
    red, green, blue = to_rgb(colour)
    paler = [0.65 * number / max(1, count - 1) for number in range(count)]
    return [to_hex((red + (1 - red) * p, green + (1 - green) * p, blue + (1 - blue) * p)) for p in paler]


def finish(figure: Figure, results: Sequence[RunTables], path: Path | None, *notes: str, heading: str = "") -> Figure:
    """Adds the title, with the number of seeds and notes on how to read the picture, and writes the file.

    `heading` is the subject of the picture, where no panel has it as its title.
    """
    names = dict.fromkeys(result.name for result in results)
    described = dict.fromkeys(spec.describe(result.spec) for result in results)
    title = f"{' and '.join(names)}: {next(iter(described)) if len(described) == 1 else 'several specs'}"
    seeds = sorted({len(group.runs) for group in groups_of(results)})
    count = f"{seeds[0]} to {seeds[-1]}" if len(seeds) > 1 else f"{seeds[0]}"
    stopped = [stopped_note(run) for run in results if run.cancelled]
    shown = dict.fromkeys(filter(None, notes))
    headed = [] if heading in {axes.get_title() for axes in figure.axes} else [heading]
    said = [*filter(None, headed), f"{count} seeds" if seeds[-1] > 1 else "one seed", *shown, *stopped]
    width = across_figure(figure, 11)
    lines = [line for text in (title, "; ".join(said)) for line in textwrap.wrap(text, width, break_on_hyphens=False)]
    figure.suptitle("\n".join(lines), fontsize=11)
    if path is not None:
        figure.savefig(path, dpi=160)
    return figure


def label_axes(axes: Axes, title: str, x: str, y: str, *, legend: bool = True) -> None:
    """Titles, labels, grid and legend."""
    axes.set_title(title, fontsize=12)
    axes.set_xlabel(x, fontsize=11)
    axes.set_ylabel(y, fontsize=11)
    axes.tick_params(labelsize=10)
    axes.grid(visible=True, which="major", color="#dddddd", linewidth=0.7)
    axes.set_axisbelow(True)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    if legend and axes.get_legend_handles_labels()[0]:
        axes.legend(frameon=False, fontsize=10)


def draw_points(
    axes: Axes,
    across: Sequence[float],
    means: Sequence[float],
    half: Sequence[float],
    shown: Style,
    label: str,
    *,
    joined: bool = True,
) -> None:
    """Means, each with its marker, and with its interval if any is wider than 0; joined by a line, which says that
    there are values in between."""
    line = {**shown.for_matplotlib(), "linewidth": 1.6}
    if not joined:
        line["linestyle"] = "none"
    axes.plot(across, means, marker=shown.marker_for_matplotlib(), markersize=5, label=label, **line)
    if any(half):
        axes.errorbar(across, means, yerr=half, fmt="none", ecolor=shown.colour, elinewidth=1.0, capsize=2.5)


def legend_below(figure: Figure, axes: Axes, *, fontsize: float = 10) -> None:
    """One legend for the whole figure, below all axes, in as many columns as there is room for; a long legend makes the
    figure taller."""
    handles, labels = axes.get_legend_handles_labels()
    if not handles:
        return
    # A sample of the line, long enough for its dashes, and the gaps take about as much room as eleven letters.
    columns = max(1, across_figure(figure, fontsize) // (max(map(len, labels)) + 11))
    rows = -(-len(labels) // columns)
    columns = -(-len(labels) // rows)  # rows of equal length
    figure.set_figheight(figure.get_figheight() + max(0, rows - 2) * 1.7 * fontsize / 72)
    shown = {"ncols": columns, "frameon": False, "fontsize": fontsize, "handlelength": 3.2}
    figure.legend(handles, labels, loc="outside lower center", **shown)


def legend_beside(axes: Axes) -> None:
    """Puts the legend beside a panel, which curves over time fill."""
    if axes.get_legend_handles_labels()[0]:
        axes.legend(frameon=False, fontsize=9, loc="upper left", bbox_to_anchor=(1.0, 1.0))


def write_note(axes: Axes, text: str) -> None:
    """Text in an empty panel."""
    axes.text(
        0.5, 0.5, text, ha="center", va="center", fontsize=11, color="#555555", transform=axes.transAxes, wrap=True
    )


def thin(count: int) -> NDArray[np.intp]:
    """Which of so many sorted points to draw: evenly many, the last always, the last hundredth densely."""
    body = np.linspace(0, count - 1, min(count, POINTS))
    tail = np.arange(max(0, count - max(POINTS // 10, 1)), count)
    return np.unique(np.concatenate([body, tail]).astype(np.intp))


def steps(begin: Iterable[float], end: Iterable[float], values: Iterable[float]) -> tuple[list[float], list[float]]:
    """The outline of values each of which holds from `begin` to `end`, with gaps where there is no value."""
    across: list[float] = []
    up: list[float] = []
    for first, last, value in zip(begin, end, values, strict=True):
        if across and first > across[-1] * (1 + 1e-12):
            across.append(first)
            up.append(float("nan"))
        across += [first, last]
        up += [value, value]
    return across, up


def peaks(values: NDArray[np.float64], most: int = POINTS) -> NDArray[np.intp]:
    """Which points to draw, at most so many: the largest of each interval of samples, so that no peak is lost."""
    if values.size <= most:
        return np.arange(values.size)
    parts = np.array_split(np.arange(values.size), most)
    return np.array([part[np.argmax(values[part])] for part in parts], np.intp)
