"""The charts of a report: each from what was measured, or a line on what to measure for it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from fanin import over_time
from fanin.measures import (
    by_scheme,
    completion_cdf,
    percentile,
    queue_place,
    queue_tail,
    size_bins,
    size_text,
    sizes_text,
    slowdown_by_size,
    utilisation_by_tier,
)
from fanin.reporting import figures
from fanin.reporting.figures import Json, Panel, axis, bars, curve, figure, points
from fanin.result import Result, RunError
from fanin.table import time

if TYPE_CHECKING:
    from numpy.typing import NDArray

MOST_POINTS = 1200
FEWEST_POINTS = 200
ALL_POINTS = 120_000
"""About how many points one curve is drawn with at most, and all of them together: a file stays quick to open."""

CURVES = 25
"""About how many curves all charts draw of one scheme."""

MOST_PANELS = 6
"""More watched messages or traffics than this are not drawn."""


@dataclass(frozen=True)
class Chart:
    """One chart, or why it is not there."""

    id: str
    title: str
    figure: Json | None
    note: str = ""
    """Below the chart: how to read it; without a figure, what to add to the spec to get one."""
    height: int = 380
    wide: bool = False


@dataclass
class Runs:
    """The runs of a report, by scheme, and how all charts of them are drawn."""

    groups: dict[str, list[Result]]
    unit: str = ""
    """Of time axes."""
    per_us: float = 1.0
    """That unit in microseconds."""
    points: int = MOST_POINTS
    longest: int = field(default=0)
    """The most points that a curve of the chart under way has before thinning."""

    @staticmethod
    def of(results: Sequence[Result]) -> Runs:
        """Groups them."""
        groups = by_scheme(results)
        unit, per_us = ("ms", 1e3) if max(result.simulated_ms for result in results) >= 10 else ("us", 1.0)
        return Runs(groups, unit, per_us, max(FEWEST_POINTS, min(MOST_POINTS, ALL_POINTS // (CURVES * len(groups)))))

    @property
    def any(self) -> Result:
        """One of them, for what their specs share."""
        return next(iter(self.groups.values()))[0]

    @property
    def firsts(self) -> dict[str, Result]:
        """One run of each scheme: what is drawn over time."""
        return {scheme: runs[0] for scheme, runs in self.groups.items()}

    def time_axis(self) -> Json:
        """Simulated time."""
        return axis(f"time ({self.unit})", tickformat=",~r")

    def over_time(
        self, scheme: str, time_us: NDArray[np.float64], y: NDArray[np.float64], of: str, shape: str = "linear"
    ) -> Json:
        """A curve over time, thinned."""
        self.longest = max(self.longest, y.size)
        keep = figures.thin_series(y, self.points)
        hover = f"%{{y:,.4~r}}{of} at %{{x:,.6~r}} {self.unit}"
        return curve(scheme, time_us[keep] / self.per_us, y[keep], hover=hover, shape=shape)

    def steps(self, scheme: str, table: pl.DataFrame, column: str, of: str) -> Json:
        """A curve of values over intervals."""
        begin, end, value = (table[name].to_numpy().astype(np.float64) for name in ("begin_us", "end_us", column))
        time_us, corners = figures.steps(begin, end, value)
        return self.over_time(scheme, time_us, corners, of, "hv")

    def notes(self, *said: str, of_one: bool = False) -> str:
        """What must be known of the chart that was just made."""
        parts = [*said]
        first = self.any
        if of_one and any(len(runs) > 1 for runs in self.groups.values()):
            parts.append(f"Of one run per scheme, seed {first.manifest['seed']}.")
        if self.longest > self.points:
            parts.append(
                f"Thinned from up to {self.longest:,} points a curve to the lowest and highest of "
                f"{self.points // 2:,} equal stretches."
            )
        self.longest = 0
        return " ".join(filter(None, parts))


def charts(results: Sequence[Result]) -> list[Chart]:
    """All charts, in the order of the page."""
    runs = Runs.of(results)
    legend = figures.LEGEND_ROW * (figures.rows_of_legend(len(runs.groups)) - 1)
    made = [
        completion(runs),
        queue_lengths(runs),
        slowdowns(runs),
        queues(runs),
        pauses(runs),
        goodput(runs, "traffic", "goodput", "Goodput of watched traffics"),
        goodput(runs, "flow", "message-goodput", "Goodput of watched messages"),
        fairness(runs),
        utilisation(runs),
        rates(runs, "rates", "Rates of watched messages", "rate_bps", 1e9, "rate (Gb/s)", " Gb/s"),
        rates(runs, "windows", "Windows of watched messages", "window_bytes", 1e3, "window (KB)", " KB"),
    ]
    return [replace(chart, height=chart.height + legend) for chart in made]


def measured(runs: Runs, measure: Callable[[Result], pl.DataFrame]) -> tuple[dict[str, pl.DataFrame], str]:
    """What a measure finds in one run of each scheme, and why where it finds nothing in any."""
    found: dict[str, pl.DataFrame] = {}
    why = ""
    for scheme, result in runs.firsts.items():
        try:
            found[scheme] = measure(result)
        except RunError as error:
            why = why or str(error).removeprefix(f"{result.label}: ")
    return found, why


def completion(runs: Runs) -> Chart:
    """The distribution of completion times."""
    what = f"{sizes_text(runs.any)} messages".lstrip()
    title = f"Completion time of {what}"
    curves = []
    seen: list[NDArray[np.float64]] = []
    few = len(runs.groups) <= 6  # a long legend leaves no room for curves
    for scheme, results in runs.groups.items():
        times_us, shares = completion_cdf(results)
        seen.append(times_us)
        keep = figures.thin_sorted(times_us.size, runs.points)
        told = f" (p99 {time(percentile(times_us, 990))})" if times_us.size else " (none finished)"
        curves.append(
            curve(
                scheme,
                times_us[keep] if keep.size else [np.nan],
                shares[keep] * 100 if keep.size else [np.nan],
                hover="%{y:.4~r} % within %{x:,.4~r} us",
                name=scheme + (told if few or not times_us.size else ""),
                shape="hv",
            )
        )
    most = max(times_us.size for times_us in seen)
    if most == 0:
        return Chart("completion", title, None, f"none of the measured {what} finished")
    x = figures.log_axis("completion time (us, log scale)", np.concatenate(seen))
    y = axis(f"share of {what} (%)", range=[0, 101])
    thinned = f"Thinned from up to {most:,} points a curve, the longest hundredth least." if most > runs.points else ""
    return Chart("completion", title, figure([Panel(curves, y)], x), thinned)


def queue_lengths(runs: Runs) -> Chart:
    """How often queues were at least so long."""
    place = queue_place(runs.any)
    if place is None:
        line = '{ what = "queue", where = "switch-ports", every = "10 us" }'
        return Chart("queue-lengths", "Queue lengths", None, f"no queue was sampled; add to measure.series: {line}")
    curves = []
    for scheme, results in runs.groups.items():
        lengths, tail = queue_tail(results, place)
        seen = tail > 0
        hover = "%{y:.3~r} % of samples at least %{x:,.4~r} KB"
        curves.append(curve(scheme, lengths[seen] / 1e3, tail[seen] * 100, hover=hover))
    y = axis("samples at least as long (%, log scale)", "log", tickformat="~r", dtick=1)
    made = figure([Panel(curves, y)], axis("queue length (KB)", rangemode="tozero", tickformat=",~r"))
    return Chart("queue-lengths", f"Queue lengths of {place}", made)


def slowdowns(runs: Runs) -> Chart:
    """Percentiles of the slowdown by size."""
    title = "Slowdown by message size"
    bins = size_bins([result for results in runs.groups.values() for result in results])
    tables = {scheme: slowdown_by_size(results, bins) for scheme, results in runs.groups.items()}
    values = np.concatenate([table[name].drop_nulls().to_numpy() for table in tables.values() for name in SLOWDOWNS])
    if values.size == 0:
        return Chart("slowdown", title, None, "no measured message of a known ideal finished")
    labels, ranges = _of_sizes(bins)
    wide = values.max() > 30 * values.min()
    y = figures.log_axis("slowdown (log scale)", values) if wide else axis("slowdown")
    panels = []
    for name in SLOWDOWNS:
        traces = []
        for scheme, table in tables.items():
            told = [
                [size, *counts] for size, counts in zip(ranges, table.select("count", "unfinished").rows(), strict=True)
            ]
            hover = f"%{{customdata[0]}}: {name} %{{y:,.4~r}} times the ideal"
            hover += "<br>%{customdata[1]:,} finished, %{customdata[2]:,} not"
            traces.append(points(scheme, labels, table[name].to_numpy(), hover=hover, customdata=told))
        panels.append(Panel(traces, y, name))
    unfinished = sum(int(table["unfinished"].sum()) for table in tables.values())
    ideal = f"Completion time over its ideal, {runs.any.slowdown_ideal}."
    left = f"{unfinished:,} unfinished messages have none." if unfinished else ""
    title_x = "message size" if labels == ranges else "message size, up to"
    x = axis(title_x, "category", tickangle=0 if len(labels) < 5 else -45)
    made = figure(panels, x, columns=3, share_y=True)
    return Chart("slowdown", title, made, runs.notes(ideal, left), wide=True, height=400)


def _of_sizes(bins: Sequence[tuple[int, int]]) -> tuple[list[str], list[str]]:
    """Of ranges of sizes, what an axis has room for, and the whole."""
    ranges = [
        size_text(lower) if lower == upper else f"{size_text(lower)} to {size_text(upper)}" for lower, upper in bins
    ]
    if all(lower == upper for lower, upper in bins):
        return ranges, ranges
    short = [size_text(int(float(f"{upper:.3g}"))) for _, upper in bins]
    return (short, ranges) if len(set(short)) == len(short) else (ranges, ranges)


SLOWDOWNS = ("p50", "p95", "p99")


def queues(runs: Runs) -> Chart:
    """The longest queue and all queues together, over time."""
    title = "Queues over time"
    found, why = measured(runs, over_time.queue_over_time)
    if not found:
        return Chart("queues", title, None, why)
    panels = []
    for column, name in (("longest_bytes", "longest"), ("total_bytes", "all together")):
        traces = [
            runs.over_time(scheme, table["time_us"].to_numpy(), table[column].to_numpy() / 1e3, " KB")
            for scheme, table in found.items()
        ]
        panels.append(Panel(traces, axis("queue (KB)", rangemode="tozero", tickformat=",~r"), name))
    place = queue_place(runs.any)
    said = f"Sampled at {place}." if place else ""
    return Chart("queues", title, figure(panels, runs.time_axis()), runs.notes(said, of_one=True), height=480)


def pauses(runs: Runs) -> Chart:
    """How many queues were held paused, or where that was not sampled, how many pauses began."""
    title = "Pauses over time"
    if not any(result.summary()["network"]["pauses"] for result in runs.firsts.values()):
        return Chart("pauses", title, None, "no port was paused")
    found, why = measured(runs, over_time.pauses_over_time)
    column, y, of, said = "paused", "queues paused at once", " paused", ""
    if not any(table["paused"].sum() for table in found.values()):
        said = f"How long they lasted was not sampled: {why or 'no watched port was paused'}."
        found, _ = measured(runs, over_time.pause_counts)
        column, y, of = "pauses", "pauses begun, per hundredth of the run", " pauses began"
        if left_out := sum(over_time.pauses_left_out(result) for result in runs.firsts.values()):
            said += f" {left_out:,} later pauses are not in the table of events."
    traces = [runs.steps(scheme, table, column, of) for scheme, table in found.items()]
    made = figure([Panel(traces, axis(y, rangemode="tozero", tickformat=",~r"))], runs.time_axis())
    return Chart("pauses", title, made, runs.notes(said, of_one=True), height=480)


def goodput(runs: Runs, what: str, key: str, title: str) -> Chart:
    """Payload that arrived, of each watched traffic or message."""
    wanted = pl.col("what") == what
    found, why = measured(runs, lambda result: over_time.goodput_over_time(result).filter(wanted))
    names = _in_order(found)
    if not names:
        return Chart(key, title, None, why or f"no {what} is watched; add one to measure.series")
    panels = []
    for name in names[:MOST_PANELS]:
        traces = [
            runs.steps(scheme, part, "gbps", " Gb/s")
            for scheme, table in found.items()
            if (part := table.filter(pl.col("where") == name).sort("begin_us")).height
        ]
        panels.append(Panel(traces, axis("goodput (Gb/s)", rangemode="tozero"), name))
    return _panels(runs, key, title, panels, len(names))


def fairness(runs: Runs) -> Chart:
    """Jain's index over the watched messages."""
    title = "Fairness over time"
    found, why = measured(runs, over_time.fairness_over_time)
    if not found:
        return Chart("fairness", title, None, why)
    traces = [runs.steps(scheme, table, "jain", " Jain's index") for scheme, table in found.items()]
    made = figure([Panel(traces, axis("Jain's index", range=[0, 1.03]))], runs.time_axis())
    said = "Over the goodput of the watched messages: 1 where all are equal, 1/n where one of n has everything."
    return Chart("fairness", title, made, runs.notes(said, of_one=True))


def utilisation(runs: Runs) -> Chart:
    """How busy links were."""
    title = "Link utilisation by tier"
    found, why = measured(runs, utilisation_by_tier)
    if not found:
        return Chart("utilisation", title, None, why)
    traces = []
    for scheme, table in found.items():
        mean, most = table["mean"].to_numpy() * 100, table["max"].to_numpy() * 100
        traces.append(
            bars(
                scheme,
                table["tier"].to_list(),
                mean,
                hover="%{x}: mean %{y:.3~r} %, busiest %{customdata[0]:.3~r} %, %{customdata[1]:,} ports",
                customdata=[[float(f"{m:.6g}"), ports] for m, ports in zip(most, table["ports"], strict=True)],
                error_y={
                    "type": "data",
                    "array": figures.numbers(most - mean),
                    "arrayminus": [0] * mean.size,
                    "thickness": 1,
                    "width": 3,
                    "color": "#59626d",
                },
            )
        )
    x = axis("tier of links, from sender to receiver", "category", tickfont={"size": 11})
    made = figure([Panel(traces, axis("utilisation (%)", rangemode="tozero"))], x, barmode="group", bargap=0.25)
    said = "Of the whole run. Bars are means over ports, whiskers reach to the busiest port."
    return Chart("utilisation", title, made, runs.notes(said, of_one=True))


def rates(runs: Runs, key: str, title: str, column: str, scale: float, y: str, of: str) -> Chart:
    """What senders were allowed, of each watched message."""
    found, why = measured(runs, over_time.rates_over_time)
    found = {scheme: table.drop_nulls(column) for scheme, table in found.items()}
    names = _in_order(found)
    if not names:
        return Chart(key, title, None, why or "no watched message had one")
    panels = []
    for name in names[:MOST_PANELS]:
        traces = []
        for scheme, table in found.items():
            part = table.filter(pl.col("where") == name).sort("time_us")
            if part.height:
                values = part[column].to_numpy() / scale
                traces.append(runs.over_time(scheme, part["time_us"].to_numpy(), values, of, "hv"))
        panels.append(Panel(traces, axis(y, rangemode="tozero", tickformat=",~r"), name))
    return _panels(runs, key, title, panels, len(names))


def _in_order(found: dict[str, pl.DataFrame]) -> list[str]:
    """The names of what is watched, each once."""
    return list(
        dict.fromkeys(str(name) for table in found.values() for name in table["where"].unique(maintain_order=True))
    )


def _panels(runs: Runs, key: str, title: str, panels: list[Panel], of: int) -> Chart:
    left_out = f"The first {len(panels)} of {of} that are watched." if of > len(panels) else ""
    columns = 1 if len(panels) == 1 else 2 if len(panels) in (2, 4) else 3
    rows = -(-len(panels) // columns)
    made = figure(panels, runs.time_axis(), columns=columns, share_y=True)
    note = runs.notes(left_out, of_one=True)
    return Chart(key, title, made, note, wide=True, height=110 + 270 * rows)
