"""Distributions of FCTs, slowdowns and queues."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter, PercentFormatter

from fanin.measures import (
    SLOWDOWNS,
    bin_texts,
    completion_cdf,
    completion_us,
    least_count,
    messages,
    percentile,
    queue_place,
    queue_tail,
    reported,
    seeds_of,
    size_bins,
    sizes_text,
)
from fanin.measures import (
    slowdown_by_size as binned,
)
from fanin.over_seeds import estimate
from fanin.over_time import missing
from fanin.plot.axes import name_ticks, plain_number, set_axis, time_axis
from fanin.plot.base import as_results, draw_points, finish, groups_of, label_axes, legend_below, thin, write_note
from fanin.table import estimated, time

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from fanin.plot.base import Path, Runs
    from fanin.run_tables import RunTables

INTERVAL = "bars: 95 % intervals of the mean over seeds"


def comparison(runs: Runs, path: Path | None = None) -> Figure:
    """FCTs (flow completion times) on the left, queues on the right. Where no message has finished, or no queue was
    sampled, the other alone."""
    results = as_results(runs)
    sampled = queue_place(results[0]) is not None
    finished = any(reported(run).height for run in results)
    if not sampled or not finished:
        figure = Figure(figsize=(6.8, 5.2), layout="constrained")
        axes = figure.subplots()
        note = draw_queues(axes, results) if sampled else draw_completion(axes, results)
        lacks = "no message finished" if sampled else "no queue was sampled: measure.series is empty"
        legend_below(figure, axes)
        return finish(figure, results, path, note, lacks)
    figure = Figure(figsize=(11, 5.2), layout="constrained")
    left, right = figure.subplots(1, 2)
    note = draw_completion(left, results)
    draw_queues(right, results)
    legend_below(figure, left)
    return finish(figure, results, path, note)


def completion(runs: Runs, path: Path | None = None) -> Figure:
    """The distribution of flow completion times (FCT), with their p99."""
    results = as_results(runs)
    figure = Figure(figsize=(6.8, 5.2), layout="constrained")
    axes = figure.subplots()
    note = draw_completion(axes, results)
    legend_below(figure, axes)
    return finish(figure, results, path, note)


def queues(runs: Runs, path: Path | None = None) -> Figure:
    """The share of time in which switch queues were longer than a given length.

    Raises `RunError` if none was sampled.
    """
    results = as_results(runs)
    figure = Figure(figsize=(6.8, 5.2), layout="constrained")
    axes = figure.subplots()
    note = draw_queues(axes, results)
    legend_below(figure, axes)
    return finish(figure, results, path, note)


def slowdown_by_size(runs: Runs, path: Path | None = None) -> Figure:
    """Slowdown (p50, p95, p99) by message size, in bins of about equally many messages; the same bins for all runs."""
    results = as_results(runs)
    groups = groups_of(results)
    width = 12.0
    figure = Figure(figsize=(width, 5.6), layout="constrained")
    grid = figure.subplots(2, len(SLOWDOWNS), sharex=True, sharey="row", height_ratios=[1.0, 0.2])
    panels, below = grid[0], grid[1]
    bins = size_bins(results)
    places = np.arange(len(bins))
    seen: list[float] = []
    left_out = False
    for number, group in enumerate(groups):
        table = binned(group.runs, bins)
        unfinished = int(table["unfinished"].sum())
        label = group.name + (f" ({unfinished:,} unfinished)" if unfinished else "")
        aside = (number - (len(groups) - 1) / 2) * min(0.08, 0.6 / len(groups))
        for axes, name in zip(panels, SLOWDOWNS, strict=True):
            means = table[name].cast(float).to_numpy()
            half = np.nan_to_num(table[f"{name}_ci95"].cast(float).to_numpy())
            seen += [*means.tolist(), *(means + half).tolist()]
            left_out |= bool((np.isnan(means) & (table["count"].to_numpy() > 0)).any())
            draw_points(axes, (places + aside).tolist(), means.tolist(), half.tolist(), group.style, label)
    log = set_axis(panels[0], "y", seen)
    for axes, (name, per_mille) in zip(panels, SLOWDOWNS.items(), strict=True):
        label_axes(axes, f"Slowdown {name}", "", "", legend=False)
        axes.tick_params(labelbottom=False)
        if not bins:
            write_note(axes, "no message was measured")
        elif not any(np.isfinite(np.asarray(curve.get_ydata(), float)).any() for curve in axes.lines):
            few = f"too few messages in each bin:\n{name} needs {least_count(per_mille)} in a run"
            write_note(axes, few if left_out else "none finished")
    panels[0].set_ylabel(f"slowdown: FCT over its ideal{' (log scale)' if log else ''}", fontsize=10)
    short, whole = bin_texts(bins)
    posted = np.concatenate([messages(run)["bytes"].to_numpy() for run in results])
    counts = [int(((posted >= low) & (posted <= high)).sum()) / len(results) for low, high in bins]
    for axes in below:
        bars = axes.bar(places, counts, width=0.7, color="#b9c0c7")
        axes.bar_label(bars, [f"{count:,.0f}" for count in counts], fontsize=8, padding=1)
        label_axes(axes, "", "message size" if short == whole else "message size: largest of its bin", "", legend=False)
        axes.grid(visible=False)
        axes.set_ylim(0, (max(counts, default=0) or 1) * 1.6)  # with room for the numbers
        axes.set_yticks([])
        axes.spines["left"].set_visible(False)
        name_ticks(axes, short, inches=width / 3 * 0.85)
    below[0].set_ylabel("messages\nin a run", fontsize=10)
    legend_below(figure, panels[0])
    rules = ", ".join(f"{name} {least_count(per_mille)}" for name, per_mille in SLOWDOWNS.items())
    return finish(
        figure,
        results,
        path,
        INTERVAL if seeds_of(results) > 1 else "",
        f"points of fewer messages than a percentile needs ({rules}) are left out" if left_out else "",
    )


def draw_completion(axes: Axes, results: Sequence[RunTables]) -> str:
    """One cumulative curve per scheme, its p99 in the legend; returns a note on how to read them."""
    seen = []
    several = means = False
    for group in groups_of(results):
        times_us, shares = completion_cdf(group.runs)
        seen.append(times_us)
        if times_us.size == 0:
            axes.plot([], [], label=f"{group.name} (none finished)", **group.line)
            continue
        p99 = estimate([percentile(completion_us(reported(run)), 990) for run in group.runs])
        several |= len(group.runs) > 1
        means |= p99.mean is not None and len(group.runs) > 1
        said = f"p99 {estimated(p99, time)}" if p99.mean is not None else f"{times_us.size:,} messages"
        keep = thin(times_us.size)
        axes.step(times_us[keep], shares[keep], where="post", label=f"{group.name} ({said})", **group.line)
    x = time_axis(axes, np.concatenate(seen), "FCT")
    axes.yaxis.set_major_formatter(PercentFormatter(xmax=1.0, symbol=" %"))
    axes.set_ylim(0, 1.01)
    told = dict.fromkeys(sizes_text(result) for result in results)
    what = f"{next(iter(told)) if len(told) == 1 else 'reported'} messages".lstrip()
    label_axes(axes, f"FCT of {what}", x, f"share of {what}", legend=False)
    if not any(times.size for times in seen):
        write_note(axes, "none finished")
    pooled = "distributions: all seeds pooled" if several else ""
    return f"{pooled}; p99: mean over seeds with half of its 95 % interval" if means else pooled


def draw_queues(axes: Axes, results: Sequence[RunTables]) -> str:
    """One complementary cumulative curve per scheme; returns a note on how to read them."""
    place = queue_place(results[0])
    if place is None:
        raise missing(results[0], "queues were", '{ what = "queue", where = "switch-ports", every = "10 us" }')
    for group in groups_of(results):
        lengths, tail = queue_tail(group.runs, place)
        axes.plot(lengths / 1e3, tail, label=group.name, **group.line)
    axes.set_yscale("log")
    axes.yaxis.set_major_formatter(FuncFormatter(lambda share, _: f"{share * 100:.10g} %"))
    axes.yaxis.set_major_locator(LogLocator(numticks=8))
    axes.yaxis.set_minor_formatter(NullFormatter())
    axes.xaxis.set_major_formatter(FuncFormatter(lambda kb, _: plain_number(kb)))
    axes.set_xlim(left=0)
    label_axes(
        axes, f"Queues of {place}", "queue length (KB)", "share of samples at least as long (log scale)", legend=False
    )
    return "distributions: all seeds pooled" if seeds_of(results) > 1 else ""
