"""Pictures of runs: completion times and queues, colour-blind safe, for screen and paper."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter, PercentFormatter

from fanin import spec
from fanin.measures import by_scheme, completion_us, percentile, queue_place, queue_tail, reported, sizes_text
from fanin.table import time

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from numpy.typing import NDArray

    from fanin.result import Result

# The palette of Okabe and Ito, told apart under every common colour blindness; the line style tells twice.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
STYLES = ("-", "--", "-.", ":")

POINTS = 2000
"""Most points that one curve is drawn with."""


def comparison(results: Sequence[Result], path: str | os.PathLike[str] | None = None) -> Figure:
    """Completion times on the left, queues on the right."""
    figure = Figure(figsize=(11, 4.8), layout="constrained")
    left, right = figure.subplots(1, 2)
    draw_completion(left, results)
    draw_queues(right, results)
    return finish(figure, results, path)


def completion(results: Sequence[Result], path: str | os.PathLike[str] | None = None) -> Figure:
    """The distribution of message completion times."""
    figure = Figure(figsize=(6.4, 4.8), layout="constrained")
    draw_completion(figure.subplots(), results)
    return finish(figure, results, path)


def queues(results: Sequence[Result], path: str | os.PathLike[str] | None = None) -> Figure:
    """How often switch queues were longer than a given length."""
    figure = Figure(figsize=(6.4, 4.8), layout="constrained")
    draw_queues(figure.subplots(), results)
    return finish(figure, results, path)


def finish(figure: Figure, results: Sequence[Result], path: str | os.PathLike[str] | None) -> Figure:
    """Adds the title and writes the file."""
    first = results[0]
    stopped = [result for result in results if result.cancelled]
    note = "; " + ", ".join(f"{run.label} cancelled at {run.simulated_ms:.2f} ms" for run in stopped) if stopped else ""
    figure.suptitle(f"{first.name}: {spec.describe(first.spec)}{note}", fontsize=11, wrap=True)
    if path is not None:
        figure.savefig(path, dpi=160)
    return figure


def draw_completion(axes: Axes, results: Sequence[Result]) -> None:
    """One cumulative curve per scheme, its p99 in the legend."""
    for index, (scheme, runs) in enumerate(by_scheme(results).items()):
        times_us = np.sort(np.concatenate([completion_us(reported(run)) for run in runs]))
        if times_us.size == 0:
            axes.plot([], [], label=f"{scheme} (none finished)", **look(index))
            continue
        shares = np.arange(1, times_us.size + 1) / times_us.size
        keep = thin(times_us.size)
        axes.step(
            times_us[keep],
            shares[keep],
            where="post",
            label=f"{scheme} (p99 {time(percentile(times_us, 990))})",
            **look(index),
        )
    axes.set_xscale("log")
    axes.xaxis.set_major_formatter(FuncFormatter(lambda us, _: time(us)))
    axes.yaxis.set_major_formatter(PercentFormatter(xmax=1.0))
    axes.set_ylim(0, 1.01)
    what = f"{sizes_text(results[0])} messages".lstrip()
    dress(axes, f"Completion time of {what}", "completion time (log scale)", f"share of {what}")


def draw_queues(axes: Axes, results: Sequence[Result]) -> None:
    """One complementary cumulative curve per scheme."""
    place = queue_place(results[0])
    if place is None:
        axes.set_axis_off()
        axes.text(0.5, 0.5, "no queue was sampled: measure.series is empty", ha="center", transform=axes.transAxes)
        return
    for index, (scheme, runs) in enumerate(by_scheme(results).items()):
        lengths, tail = queue_tail(runs, place)
        axes.plot(lengths / 1e3, tail, label=scheme, **look(index))
    axes.set_yscale("log")
    axes.yaxis.set_major_formatter(FuncFormatter(lambda share, _: f"{share * 100:g} %"))
    axes.yaxis.set_major_locator(LogLocator(numticks=12))
    axes.yaxis.set_minor_formatter(NullFormatter())
    axes.set_xlim(left=0)
    dress(axes, f"Queues of {place}", "queue length (KB)", "share of samples at least as long (log scale)")


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


def look(index: int) -> dict[str, Any]:
    """Colour and line style of the curve with this index."""
    return {"color": COLOURS[index % len(COLOURS)], "linestyle": STYLES[index % len(STYLES)], "linewidth": 1.8}


def thin(count: int) -> NDArray[np.intp]:
    """Which of so many sorted points to draw: evenly many, the last always, the last hundredth densely."""
    body = np.linspace(0, count - 1, min(count, POINTS))
    tail = np.arange(max(0, count - max(POINTS // 10, 1)), count)
    return np.unique(np.concatenate([body, tail]).astype(np.intp))
