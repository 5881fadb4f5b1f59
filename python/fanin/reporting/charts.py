"""The charts of a report, each with its measurements, or with the line of the spec that would measure them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import polars as pl

from fanin import over_time
from fanin.measures import (
    SLOWDOWNS,
    bin_texts,
    by_scheme,
    completion_cdf,
    completion_us,
    least_count,
    percentile,
    queue_place,
    queue_tail,
    reported,
    size_bins,
    sizes_text,
    slowdown_by_size,
    span_us,
    utilisation_by_tier,
)
from fanin.over_seeds import band_text, band_text_of_messages, estimate
from fanin.over_time import INTERVAL
from fanin.quantities import rate_unit
from fanin.reporting import figures
from fanin.reporting.figures import Json, Panel, axis, bars, curve, figure, points
from fanin.reporting.job_parts import ranks_over_time
from fanin.run_folder import RunError
from fanin.run_tables import RunTables
from fanin.style import Style, styles_of
from fanin.table import estimated, ideal_of, time

if TYPE_CHECKING:
    from numpy.typing import NDArray

MOST_POINTS = 1200
FEWEST_POINTS = 200
ALL_POINTS = 120_000
"""The most points of one curve, and of all together, approximately: so that the file opens quickly."""

CURVES = 25
"""The approximate number of curves of one scheme in all charts."""

MOST_PANELS = 6
"""More watched messages or traffics than this are not drawn."""


@dataclass(frozen=True)
class Chart:
    """One chart, or the reason for its absence."""

    id: str
    title: str
    figure: Json | None
    note: str = ""
    """Below the chart: how to read it; without a figure, the line to add to the spec."""
    height: int = 380
    wide: bool = False


@dataclass
class Runs:
    """The runs of a report, by scheme, and the settings of all their charts."""

    groups: dict[str, list[RunTables]]
    styles: dict[str, Style]
    unit: str = ""
    """Of time axes."""
    per_us: float = 1.0
    """That unit in microseconds."""
    points: int = MOST_POINTS
    longest: int = field(default=0)
    """The most points of a curve of the current chart before thinning."""

    @staticmethod
    def of(results: Sequence[RunTables]) -> Runs:
        """Groups them."""
        groups = by_scheme(results)
        unit, per_us = ("ms", 1e3) if max(result.simulated_ms for result in results) >= 10 else ("us", 1.0)
        most = max(FEWEST_POINTS, min(MOST_POINTS, ALL_POINTS // (CURVES * len(groups))))
        return Runs(groups, styles_of(list(groups)), unit, per_us, most)

    @property
    def any(self) -> RunTables:
        """One of them, for what their specs share."""
        return next(iter(self.groups.values()))[0]

    @property
    def every(self) -> list[RunTables]:
        """All of them, in order."""
        return [result for results in self.groups.values() for result in results]

    @property
    def seeds(self) -> int:
        """The most runs of a scheme."""
        return max(len(runs) for runs in self.groups.values())

    def figure(self, panels: Sequence[Panel], **more: Any) -> Json:
        """Panels over simulated time, with what failed meanwhile."""
        times = np.concatenate([np.asarray(trace["x"], float) for panel in panels for trace in panel.traces])
        placed = ((time_ps / 1e6 / self.per_us, said) for time_ps, said in over_time.failures(self.every))
        shown = [(at, said) for at, said in placed if np.nanmin(times) <= at <= np.nanmax(times)]
        across = axis(f"time ({self.unit})", tickformat=",~r")
        return figure(panels, across, marks=shown[: over_time.MOST_MARKS], **more)

    def over_time(self, scheme: str, table: pl.DataFrame, scale: float, of: str, shape: str = "linear") -> list[Json]:
        """A curve of `over_seeds.mean_curve`, divided by `scale`, and its band where it has one, thinned."""
        columns = [table[name].cast(pl.Float64).to_numpy() / scale for name in ("mean", "low", "high")]
        if "begin_us" in table.columns:
            begin, end = (table[name].to_numpy().astype(np.float64) for name in INTERVAL)
            time_us, *columns = figures.steps(begin, end, *columns)
            shape = "hv"
        else:
            time_us = table["time_us"].to_numpy()
        mean, low, high = columns
        self.longest = max(self.longest, mean.size)
        keep = figures.thin_series(mean, self.points)
        across = time_us[keep] / self.per_us
        hover = f"%{{y:,.4~r}}{of} at %{{x:,.6~r}} {self.unit}"
        drawn = [curve(scheme, across, mean[keep], self.styles[scheme], hover=hover, shape=shape)]
        opacity = 0.2 if len(self.groups) <= 3 else 0.1
        colour = self.styles[scheme].colour
        under = figures.band(scheme, across, low[keep], high[keep], colour, shape=shape, opacity=opacity)
        return drawn if under is None else [*drawn, under]

    def notes(self, *said: str, seeds: str = "") -> str:
        """A note on the chart that was just made; `seeds` says how several seeds are combined."""
        parts = [*said]
        if self.seeds > 1 and seeds:
            parts.append(f"{self.seeds} seeds: {seeds}.")
        if self.longest > self.points:
            parts.append(
                f"Thinned from up to {self.longest:,} points a curve to the lowest and highest of "
                f"{self.points // 2:,} equal stretches."
            )
        self.longest = 0
        return " ".join(filter(None, parts))


POOLED = "the messages of all are pooled"


def charts(results: Sequence[RunTables]) -> list[Chart]:
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
        rates(runs, "rates", "Rates of watched messages", "rate_bps", 1e9, "rate", "Gb/s"),
        rates(runs, "windows", "Windows of watched messages", "window_bytes", 1e3, "window", "KB"),
    ]
    return [*of_jobs(runs), *(replace(chart, height=chart.height + legend) for chart in made)]


def of_jobs(runs: Runs) -> list[Chart]:
    """The ranks of jobs over time; nothing where no run has a job."""
    made = ranks_over_time(runs.groups, MOST_PANELS, runs.unit, runs.per_us)
    if made is None:
        return []
    drawn = sum(name.startswith("yaxis") for name in cast("Json", made["layout"]))
    left_out = f"The first {drawn} of {len(runs.groups)} schemes." if drawn < len(runs.groups) else ""
    note = runs.notes(left_out, seeds="the first of each scheme")
    return [Chart("ranks", "Ranks over time", made, note, height=110 + 270 * drawn, wide=True)]


def measured(runs: Runs, measure: Callable[[list[RunTables]], pl.DataFrame]) -> tuple[dict[str, pl.DataFrame], str]:
    """The measurements of the runs of each scheme, and the reason if there are none in any."""
    found: dict[str, pl.DataFrame] = {}
    why = ""
    for scheme, results in runs.groups.items():
        try:
            found[scheme] = measure(results)
        except RunError as error:
            why = why or str(error).removeprefix(f"{results[0].label}: ")
    return found, why


def completion(runs: Runs) -> Chart:
    """The distribution of FCTs."""
    what = f"{sizes_text(runs.any)} messages".lstrip()
    title = f"FCT of {what}"
    curves = []
    seen: list[NDArray[np.float64]] = []
    few = len(runs.groups) <= 6  # a long legend leaves no room for curves
    for scheme, results in runs.groups.items():
        times_us, shares = completion_cdf(results)
        seen.append(times_us)
        keep = figures.thin_sorted(times_us.size, runs.points)
        p99 = estimate([percentile(completion_us(reported(run)), 990) for run in results])
        told = f" (p99 {estimated(p99, time)})" if p99.mean is not None else ""
        told = told if times_us.size else " (none finished)"
        curves.append(
            curve(
                scheme,
                times_us[keep] if keep.size else [np.nan],
                shares[keep] * 100 if keep.size else [np.nan],
                runs.styles[scheme],
                hover="%{y:.4~r} % within %{x:,.4~r} us",
                name=scheme + (told if few or not times_us.size else ""),
                shape="hv",
            )
        )
    most = max(times_us.size for times_us in seen)
    if most == 0:
        return Chart("completion", title, None, f"none of the measured {what} finished")
    x = figures.value_axis("FCT", np.concatenate(seen), "us")
    y = axis(f"share of {what} (%)", range=[0, 101])
    thinned = f"Thinned from up to {most:,} points a curve, the longest hundredth least." if most > runs.points else ""
    said = POOLED + ("; each p99 is the mean over the seeds with half of its 95 % interval" if few else "")
    return Chart("completion", title, figure([Panel(curves, y)], x), runs.notes(thinned, seeds=said))


def queue_lengths(runs: Runs) -> Chart:
    """The share of samples at which queues were at least so long."""
    place = queue_place(runs.any)
    if place is None:
        line = '{ what = "queue", where = "switch-ports", every = "10 us" }'
        how = over_time.how_to_measure(runs.any, line)
        return Chart("queue-lengths", "Queue lengths", None, f"no queue was sampled; {how}")
    curves = []
    for scheme, results in runs.groups.items():
        lengths, tail = queue_tail(results, place)
        seen = tail > 0
        hover = "%{y:.3~r} % of samples at least %{x:,.4~r} KB"
        curves.append(curve(scheme, lengths[seen] / 1e3, tail[seen] * 100, runs.styles[scheme], hover=hover))
    y = axis("samples at least as long (%, log scale)", "log", tickformat="~r", dtick=1)
    made = figure([Panel(curves, y)], axis("queue length (KB)", rangemode="tozero", tickformat=",~r"))
    note = runs.notes(seeds="the samples of all are pooled")
    return Chart("queue-lengths", f"Queue lengths of {place}", made, note)


def slowdowns(runs: Runs) -> Chart:
    """Percentiles of the slowdown by size."""
    title = "Slowdown by message size"
    bins = size_bins(runs.every)
    tables = {scheme: slowdown_by_size(results, bins) for scheme, results in runs.groups.items()}
    values = np.concatenate([table[name].drop_nulls().to_numpy() for table in tables.values() for name in SLOWDOWNS])
    if values.size == 0:
        return Chart("slowdown", title, None, "too few measured messages of a known ideal finished")
    labels, ranges = bin_texts(bins)
    ends = [table[name] + table[f"{name}_ci95"].fill_null(0.0) for table in tables.values() for name in SLOWDOWNS]
    y = figures.value_axis("slowdown", np.concatenate([values, *(end.drop_nulls().to_numpy() for end in ends)]))
    counts = [sum(int(table["count"][place]) for table in tables.values()) for place in range(len(bins))]
    each = sum(len(results) for results in runs.groups.values())
    upright = len(labels) < 5
    apart = "<br>" if upright else ", "  # a second line of a slanted label covers its neighbour
    places = [
        f"{label}{apart}n={count / each:,.0f}" for label, count in zip(figures.texts(labels), counts, strict=True)
    ]
    panels = []
    for name in SLOWDOWNS:
        traces = []
        for scheme, table in tables.items():
            told = [[size, *row] for size, row in zip(ranges, table.select("count", "unfinished").rows(), strict=True)]
            hover = f"%{{customdata[0]}}: {name} %{{y:,.4~r}} times the ideal"
            hover += "<br>%{customdata[1]:,} finished, %{customdata[2]:,} not"
            half = table[f"{name}_ci95"].cast(pl.Float64).to_numpy()
            values = table[name].cast(pl.Float64).to_numpy()
            trace = points(scheme, [], values, runs.styles[scheme], half, hover=hover, customdata=told)
            traces.append({**trace, "x": places})
        panels.append(Panel(traces, y, name))
    unfinished = sum(int(table["unfinished"].sum()) for table in tables.values())
    ideal = f"FCT over its ideal, {ideal_of(runs.every)}; n: messages that finished, on average over the runs."
    left = f"{unfinished:,} unfinished messages have none." if unfinished else ""
    lacking = any(
        ((table["count"] > 0) & table[name].is_null()).any() for table in tables.values() for name in SLOWDOWNS
    )
    needs = ", ".join(f"{name} {least_count(per_mille)}" for name, per_mille in SLOWDOWNS.items())
    rule = f"Points of fewer messages than a percentile needs in each run ({needs}) are left out." if lacking else ""
    title_x = "message size" if labels == ranges else "message size, up to"
    x = axis(title_x, "category", tickangle=0 if upright else -45)
    made = figure(panels, x, columns=3, share_y=True)
    note = runs.notes(ideal, left, rule, seeds="means of each run's percentile, with 95 % intervals")
    return Chart("slowdown", title, made, note, wide=True, height=420)


def queues(runs: Runs) -> Chart:
    """The longest queue and all queues together, over time."""
    title = "Queues over time"
    panels = []
    for column, name in (("longest_bytes", "longest"), ("total_bytes", "all together")):
        found, why = measured(runs, partial(over_time.queue_curve, column=column))
        if not found:
            return Chart("queues", title, None, why)
        traces = [trace for scheme, table in found.items() for trace in runs.over_time(scheme, table, 1e3, " KB")]
        panels.append(Panel(traces, axis("queue (KB)", rangemode="tozero", tickformat=",~r"), name))
    place = queue_place(runs.any)
    said = f"Sampled at {place}." if place else ""
    note = runs.notes(said, seeds=band_text(runs.seeds))
    return Chart("queues", title, runs.figure(panels), note, height=480)


def pauses(runs: Runs) -> Chart:
    """The number of paused queues, or if that was not sampled, the number of pauses that began."""
    title = "Pauses over time"
    if not any(result.summary()["network"]["pauses"] for result in runs.every):
        return Chart("pauses", title, None, "no port was paused")
    found = over_time.pauses_of(runs.groups)
    y, of, said = "queues paused at once", " paused", ""
    if not found.counted and not any(table["mean"].sum() for table in found.curves.values()):
        return Chart("pauses", title, None, over_time.none_of_watched(runs.every))
    if found.counted:
        y, of = "pauses begun, per hundredth of the run", " pauses began"
        line = '{ what = "port", where = "switch-ports", every = "10 us" }'
        said = f"How long they lasted was not sampled; {over_time.how_to_measure(runs.any, line)}."
        if left_out := sum(found.left_out.values()):
            said += f" {left_out:,} later pauses are not in the table of events."
    traces = [trace for scheme, table in found.curves.items() for trace in runs.over_time(scheme, table, 1.0, of)]
    made = runs.figure([Panel(traces, axis(y, rangemode="tozero", tickformat=",~r"))])
    return Chart("pauses", title, made, runs.notes(said, seeds=band_text(runs.seeds)), height=480)


def goodput(runs: Runs, what: str, key: str, title: str) -> Chart:
    """Payload that arrived, of each watched traffic or message."""
    wanted = pl.col("what") == what
    found, why = measured(runs, lambda results: over_time.goodput_curve(results).filter(wanted))
    names = _in_order(found)
    if not names:
        return Chart(key, title, None, why or f"no {what} is watched; add one to measure.series")
    panels = []
    unit, gbps = rate_unit(value for table in found.values() for value in table["mean"].drop_nulls())
    for name in names[:MOST_PANELS]:
        traces = [
            trace
            for scheme, table in found.items()
            if (part := table.filter(pl.col("where") == name).sort("begin_us")).height
            for trace in runs.over_time(scheme, part, gbps, f" {unit}")
        ]
        panels.append(Panel(traces, axis(f"goodput ({unit})", rangemode="tozero"), name))
    of_messages = what == "flow"
    said = band_text_of_messages(runs.seeds) if of_messages else band_text(runs.seeds)
    return _panels(runs, key, title, panels, len(names), said)


def fairness(runs: Runs) -> Chart:
    """Jain's index over the watched messages."""
    title = "Fairness over time"
    found, why = measured(runs, over_time.fairness_curve)
    if not found:
        return Chart("fairness", title, None, why)
    traces = [trace for scheme, table in found.items() for trace in runs.over_time(scheme, table, 1.0, " Jain's index")]
    made = runs.figure([Panel(traces, axis("Jain's index", range=[0, 1.03]))])
    said = "Over the goodput of the watched messages: 1 where all are equal, 1/n where one of n has everything."
    return Chart("fairness", title, made, runs.notes(said, seeds=band_text(runs.seeds)))


def utilisation(runs: Runs) -> Chart:
    """Utilisation of links."""
    title = "Link utilisation by tier"
    found, why = measured(runs, utilisation_by_tier)
    if not found:
        return Chart("utilisation", title, None, why)
    traces = []
    for scheme, table in found.items():
        mean, most = table["mean"].to_numpy() * 100, table["max"].to_numpy() * 100
        half = table["ci95"].cast(pl.Float64).to_numpy() * 100
        tiers = figures.texts(table["tier"].to_list())
        of = [[float(f"{m:.6g}"), ports] for m, ports in zip(most, table["ports"], strict=True)]
        hover = "%{x}: mean %{y:.3~r} %, busiest %{customdata[0]:.3~r} %, %{customdata[1]:,} ports"
        bar = bars(scheme, tiers, mean, runs.styles[scheme], hover=hover, customdata=of, offsetgroup=scheme)
        if np.isfinite(half).any():
            bar["error_y"] = figures.interval(mean, half) | {"color": "#59626d"}
        busiest = points(scheme, [], most, runs.styles[scheme], hover="%{x}: busiest port %{y:.3~r} %")
        marker = {"symbol": "line-ew-open", "size": 9, "color": runs.styles[scheme].colour, "line": {"width": 2}}
        traces += [bar, {**busiest, "x": tiers, "mode": "markers", "marker": marker, "offsetgroup": scheme}]
    x = axis("tier of links, from sender to receiver", "category", tickfont={"size": 11})
    panel = Panel(traces, axis("utilisation (%)", rangemode="tozero"))
    made = figure([panel], x, barmode="group", bargap=0.25, scattermode="group", scattergap=0.25)
    said = f"Of the measured window{_spans(runs)}. Bars: means over ports. Dashes: the busiest port."
    return Chart("utilisation", title, made, runs.notes(said, seeds="means, with 95 % intervals"))


def _spans(runs: Runs) -> str:
    """The lengths of the measured windows, where they differ by more than a hundredth: shares of them do not compare
    with each other."""
    spans_us = {scheme: span_us(results[0]) for scheme, results in runs.groups.items()}
    if max(spans_us.values()) <= 1.01 * min(spans_us.values()):
        return ""
    told = ", ".join(f"{time(span)} ({scheme})" for scheme, span in spans_us.items())
    return f", whose length differs: {told}"


def rates(runs: Runs, key: str, title: str, column: str, scale: float, what: str, unit: str) -> Chart:
    """Rate and window of each watched message."""
    found, why = measured(runs, lambda results: over_time.rates_curve(results, column))
    names = _in_order(found)
    if not names:
        return Chart(key, title, None, why or "no watched message had one")
    if unit == "Gb/s":
        unit, gbps = rate_unit(value / scale for table in found.values() for value in table["mean"].drop_nulls())
        scale *= gbps
    panels = []
    shown = pl.concat(list(found.values())).filter(pl.col("where").is_in(names[:MOST_PANELS]))
    y = figures.value_axis(what, pl.concat([shown["mean"], shown["high"].drop_nulls()]) / scale, unit)
    for name in names[:MOST_PANELS]:
        traces = []
        for scheme, table in found.items():
            part = table.filter(pl.col("where") == name).sort("time_us")
            if part.height:
                traces += runs.over_time(scheme, part, scale, f" {unit}", "hv")
        panels.append(Panel(traces, y, name))
    return _panels(runs, key, title, panels, len(names), band_text_of_messages(runs.seeds))


def _in_order(found: dict[str, pl.DataFrame]) -> list[str]:
    """The names of what is watched, each once."""
    return list(
        dict.fromkeys(str(name) for table in found.values() for name in table["where"].unique(maintain_order=True))
    )


def _panels(runs: Runs, key: str, title: str, panels: list[Panel], of: int, seeds: str) -> Chart:
    left_out = f"The first {len(panels)} of {of} that are watched." if of > len(panels) else ""
    columns = 1 if len(panels) == 1 else 2 if len(panels) in (2, 4) else 3
    rows = -(-len(panels) // columns)
    made = runs.figure(panels, columns=columns, share_y=True)
    note = runs.notes(left_out, seeds=seeds)
    return Chart(key, title, made, note, wide=True, height=110 + 270 * rows)
