"""How completion times, slowdowns and queues are spread."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, LogLocator, NullFormatter, NullLocator, PercentFormatter

from fanin.looks import look
from fanin.measures import (
    by_scheme,
    completion_cdf,
    percentile,
    queue_place,
    queue_tail,
    size_bins,
    size_text,
    sizes_text,
)
from fanin.measures import (
    slowdown_by_size as binned,
)
from fanin.over_time import missing
from fanin.plot.base import as_results, dress, finish, say, stroke, thin
from fanin.table import time

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from fanin.plot.base import Path, Runs
    from fanin.result import Result

PERCENTILES = ("p50", "p95", "p99")


def comparison(runs: Runs, path: Path | None = None) -> Figure:
    """Completion times on the left, queues on the right."""
    results = as_results(runs)
    figure = Figure(figsize=(11, 4.8), layout="constrained")
    left, right = figure.subplots(1, 2)
    draw_completion(left, results)
    if queue_place(results[0]) is None:
        right.set_axis_off()
        say(right, "no queue was sampled: measure.series is empty")
    else:
        draw_queues(right, results)
    return finish(figure, results, path)


def completion(runs: Runs, path: Path | None = None) -> Figure:
    """The distribution of message completion times."""
    results = as_results(runs)
    figure = Figure(figsize=(6.4, 4.8), layout="constrained")
    draw_completion(figure.subplots(), results)
    return finish(figure, results, path)


def queues(runs: Runs, path: Path | None = None) -> Figure:
    """How often switch queues were longer than a given length. Raises `RunError` where none was sampled."""
    results = as_results(runs)
    figure = Figure(figsize=(6.4, 4.8), layout="constrained")
    draw_queues(figure.subplots(), results)
    return finish(figure, results, path)


def slowdown_by_size(runs: Runs, path: Path | None = None) -> Figure:
    """Slowdown (p50, p95, p99) by message size, in bins of about equally many messages; the same bins for all runs."""
    results = as_results(runs)
    figure = Figure(figsize=(11, 4.4), layout="constrained")
    panels = figure.subplots(1, 3, sharex=True, sharey=True)
    bins = size_bins(results)
    single = all(lower == upper for lower, upper in bins)
    places = np.arange(len(bins))
    for scheme, of_scheme in by_scheme(results).items():
        table = binned(of_scheme, bins)
        unfinished = int(table["unfinished"].sum())
        label = scheme + (f" ({unfinished:,} unfinished)" if unfinished else "")
        for axes, name in zip(panels, PERCENTILES, strict=True):
            marker = look(scheme).marker_for_matplotlib()
            axes.plot(
                places, table[name].cast(float).to_numpy(), marker=marker, markersize=5, label=label, **stroke(scheme)
            )
    for axes, name in zip(panels, PERCENTILES, strict=True):
        axes.set_yscale("log")
        axes.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0), numticks=12))
        axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        axes.yaxis.set_minor_locator(NullLocator())
        # One place per bin, so that each holds as many messages as it is wide.
        shown = [size_text(upper) for _, upper in bins]
        axes.xaxis.set_major_locator(FixedLocator(list(places)))
        axes.set_xticks(places, labels=shown, rotation=0 if len(bins) <= 4 else 45)
        what = "message size" if single else "message size: largest of its bin"
        dress(axes, f"Slowdown {name}", what, "slowdown (log scale)" if axes is panels[0] else "")
        if not bins:
            say(axes, "no message was measured")
        elif not np.isfinite(np.concatenate([np.asarray(curve.get_ydata()) for curve in axes.lines])).any():
            say(axes, "none finished")
        if axes is not panels[0] and (legend := axes.get_legend()) is not None:
            legend.remove()
    return finish(figure, results, path)


def draw_completion(axes: Axes, results: Sequence[Result]) -> None:
    """One cumulative curve per scheme, its p99 in the legend."""
    for scheme, runs in by_scheme(results).items():
        times_us, shares = completion_cdf(runs)
        if times_us.size == 0:
            axes.plot([], [], label=f"{scheme} (none finished)", **stroke(scheme))
            continue
        keep = thin(times_us.size)
        axes.step(
            times_us[keep],
            shares[keep],
            where="post",
            label=f"{scheme} (p99 {time(percentile(times_us, 990))})",
            **stroke(scheme),
        )
    axes.set_xscale("log")
    axes.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0), numticks=12))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda us, _: time(us)))
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.yaxis.set_major_formatter(PercentFormatter(xmax=1.0))
    axes.set_ylim(0, 1.01)
    what = f"{sizes_text(results[0])} messages".lstrip()
    dress(axes, f"Completion time of {what}", "completion time (log scale)", f"share of {what}")


def draw_queues(axes: Axes, results: Sequence[Result]) -> None:
    """One complementary cumulative curve per scheme."""
    place = queue_place(results[0])
    if place is None:
        raise missing(results[0], "queues were", '{ what = "queue", where = "switch-ports", every = "10 us" }')
    for scheme, runs in by_scheme(results).items():
        lengths, tail = queue_tail(runs, place)
        axes.plot(lengths / 1e3, tail, label=scheme, **stroke(scheme))
    axes.set_yscale("log")
    axes.yaxis.set_major_formatter(FuncFormatter(lambda share, _: f"{share * 100:g} %"))
    axes.yaxis.set_major_locator(LogLocator(numticks=12))
    axes.yaxis.set_minor_formatter(NullFormatter())
    axes.set_xlim(left=0)
    dress(axes, f"Queues of {place}", "queue length (KB)", "share of samples at least as long (log scale)")
