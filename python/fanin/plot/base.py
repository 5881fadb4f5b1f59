"""What all pictures share: which runs, whose colours, titles, axes and legends."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from matplotlib.colors import to_hex, to_rgb
from matplotlib.figure import Figure

from fanin import spec
from fanin.looks import COLOURS, look
from fanin.looks import DASHES as DASH_NAMES
from fanin.measures import by_scheme
from fanin.result import Result

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from numpy.typing import NDArray

    from fanin.comparison import Comparison

    Runs: TypeAlias = Result | Comparison | Sequence[Result]
    Path: TypeAlias = str | os.PathLike[str]

POINTS = 2000
"""Most points that one curve is drawn with."""

DASHES = ("-", "--", "-.", ":")

LEGEND_LINES = 10
"""Curves that a legend names one by one; of more, it says how many there are."""


def as_results(runs: Runs) -> list[Result]:
    """One run, a comparison or several runs, as a list that is not empty."""
    if isinstance(runs, Result):
        return [runs]
    results = list(runs if isinstance(runs, Sequence) else runs.results)
    if not results:
        raise ValueError("there is no run to draw")
    return results


def one_of_each(results: Sequence[Result]) -> dict[str, Result]:
    """The first run of each scheme, for pictures over time, in which several seeds have no mean. The name says that there are more."""
    groups = by_scheme(results)
    return {
        scheme if len(runs) == 1 else f"{scheme} (first of {len(runs)} runs)": runs[0]
        for scheme, runs in groups.items()
    }


def stroke(scheme: str) -> dict[str, Any]:
    """Keyword arguments of the curve of a scheme."""
    return {**look(scheme.split(" (")[0]).for_matplotlib(), "linewidth": 1.8}


HATCHES = dict(zip(DASH_NAMES, ("", "///", "...", "xxx", "\\\\\\", "+++"), strict=True))
"""How bars tell the members of a family apart, as dashes tell their curves."""


def fill(scheme: str) -> dict[str, Any]:
    """Keyword arguments of a scheme's bars."""
    shown = look(scheme)
    return {"facecolor": shown.colour, "hatch": HATCHES[shown.dash], "edgecolor": "white", "linewidth": 0.0}


def nth(index: int) -> dict[str, Any]:
    """Keyword arguments of the curve with this index, where curves are of no scheme."""
    return {"color": COLOURS[index % len(COLOURS)], "linestyle": DASHES[index % len(DASHES)], "linewidth": 1.8}


def shades(colour: str, count: int) -> list[str]:
    """So many shades of a colour, from itself to pale, for the messages of one scheme."""
    red, green, blue = to_rgb(colour)
    paler = [0.65 * number / max(1, count - 1) for number in range(count)]
    return [to_hex((red + (1 - red) * p, green + (1 - green) * p, blue + (1 - blue) * p)) for p in paler]


def finish(figure: Figure, results: Sequence[Result], path: Path | None) -> Figure:
    """Adds the title and writes the file."""
    first = results[0]
    stopped = [result for result in results if result.cancelled]
    note = "; " + ", ".join(f"{run.label} cancelled at {run.simulated_ms:.2f} ms" for run in stopped) if stopped else ""
    described = spec.describe(first.spec)
    figure.suptitle(f"{first.name}: {described}{note}", fontsize=11, wrap=True)
    if path is not None:
        figure.savefig(path, dpi=160)
    return figure


def dress(axes: Axes, title: str, x: str, y: str) -> None:
    """Titles, labels, grid and legend."""
    axes.set_title(title, fontsize=12)
    axes.set_xlabel(x, fontsize=11)
    axes.set_ylabel(y, fontsize=11)
    axes.tick_params(labelsize=10)
    axes.grid(visible=True, which="major", color="#dddddd", linewidth=0.7)
    axes.set_axisbelow(True)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    if axes.get_legend_handles_labels()[0]:
        axes.legend(frameon=False, fontsize=10)


def say(axes: Axes, text: str) -> None:
    """Words where there is nothing to draw."""
    axes.text(
        0.5, 0.5, text, ha="center", va="center", fontsize=11, color="#555555", transform=axes.transAxes, wrap=True
    )


def thin(count: int) -> NDArray[np.intp]:
    """Which of so many sorted points to draw: evenly many, the last always, the last hundredth densely."""
    body = np.linspace(0, count - 1, min(count, POINTS))
    tail = np.arange(max(0, count - max(POINTS // 10, 1)), count)
    return np.unique(np.concatenate([body, tail]).astype(np.intp))


def steps(begin: Iterable[float], end: Iterable[float], values: Iterable[float]) -> tuple[list[float], list[float]]:
    """The outline of values that hold from `begin` to `end` each; a stretch without values is left open."""
    across: list[float] = []
    up: list[float] = []
    for first, last, value in zip(begin, end, values, strict=True):
        if across and first > across[-1] * (1 + 1e-12):
            across.append(first)
            up.append(float("nan"))
        across += [first, last]
        up += [value, value]
    return across, up


def peaks(
    times: NDArray[np.float64], values: NDArray[np.float64], most: int = POINTS
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """At most so many points: of each stretch of samples its largest, so that no peak is lost."""
    if times.size <= most:
        return times, values
    starts = np.unique(np.linspace(0, times.size, most, endpoint=False).astype(np.intp))
    return times[starts], np.maximum.reduceat(values, starts)
