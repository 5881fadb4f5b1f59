"""The report of a sweep: its numbers along the first column that varies, and a table of all its points."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from fanin import spec, table
from fanin.quantities import quantity, scale_of
from fanin.reporting import figures
from fanin.reporting.charts import Chart
from fanin.reporting.figures import Json, Panel, axis, figure, points, rows_of_legend
from fanin.reporting.page import STROKES, Scheme
from fanin.run_folder import RunError
from fanin.style import styles_of
from fanin.sweeps.means import Lines, line_names, lines, value_text, varying
from fanin.sweeps.means import points as points_of
from fanin.sweeps.store import read_record

if TYPE_CHECKING:
    from fanin.sweeps.sweeping import Sweep

SHOWN = (
    "fct_p50_us",
    "fct_p99_us",
    "fct_p999_us",
    "slowdown_p50",
    "slowdown_p99",
    "query_p50_us",
    "query_p99_us",
    "query_timeout_share",
    "long_goodput_gbps",
    "marked_share",
    "reordered_packets",
    "packets_resent",
    "timeouts",
    "pauses",
    "paused_us",
    "credit_wait_us",
    "drops",
    "unfinished",
)
"""The numbers of the report; those that are zero in all runs, or that none has, are left out."""


@dataclass(frozen=True)
class SweepPage:
    """Everything but the charts."""

    title: str
    kind: str
    facts: list[tuple[str, str]]
    errors: list[str]
    cautions: list[str]
    schemes: list[Scheme]
    """The lines of the charts."""
    head: list[str]
    texts: int
    """The number of columns of words, from the left."""
    rows: list[tuple[str, list[str]]]
    """Line and cells of each point."""
    caption: list[str]
    runs_head: list[str]
    runs_texts: int
    runs: list[tuple[str, list[str]]]
    """Line and cells of each run."""


def page(sweep: Sweep) -> SweepPage:
    """Collects it."""
    found = points_of(sweep)
    columns = varying(found)
    names = line_names(found, columns[0] if columns else "scheme")
    styles = styles_of(names)
    head, rows, numbers = table.grid_table(sweep, _known(sweep))
    keys = list(dict.fromkeys(column for run in sweep.runs for column in run.settings))
    line_of = {id(run): name for point, name in zip(found, names, strict=True) for run in point.runs}
    waiting = sum(not run.numbers for run in sweep.runs)
    return SweepPage(
        title=sweep.name,
        kind="Sweep",
        facts=_facts(sweep),
        errors=sweep.errors,
        cautions=[f"{waiting} of {len(sweep.runs)} runs have no result"] if waiting else [],
        schemes=[Scheme(name, one.colour, STROKES[one.dash]) for name, one in styles.items()],
        head=head,
        texts=len(head) - len(numbers),
        rows=list(zip(names, rows, strict=True)),
        caption=table.grid_notes(sweep, _known(sweep)),
        runs_head=[*keys, "status", "wall time", "event hash"],
        runs_texts=len(keys) + 1,
        runs=[
            (
                line_of[id(run)],
                [
                    *(value_text(key, run.settings.get(key)) for key in keys),
                    run.status,
                    f"{run.numbers['seconds']:.2f} s" if "seconds" in run.numbers else table.NONE,
                    str(run.numbers.get("event_hash", table.NONE)),
                ],
            )
            for run in sweep.runs
        ],
    )


def _known(sweep: Sweep) -> list[str]:
    """The numbers that some point has and that are not zero everywhere."""
    found = points_of(sweep)
    return [name for name in SHOWN if any(name in point.numbers and point.numbers[name].mean for point in found)]


def _facts(sweep: Sweep) -> list[tuple[str, str]]:
    base = read_record(sweep.folder)["base"]
    measure = spec.section(base, "measure")
    columns = list(dict.fromkeys(column for run in sweep.runs for column in run.settings))
    values = {
        column: dict.fromkeys(value_text(column, run.settings.get(column)) for run in sweep.runs) for column in columns
    }
    return [
        ("Network", spec.describe_topology(spec.section(base, "network").get("topology"))),
        ("Measured", f"{measure['window']} after {measure['warm_up']} of warm-up"),
        ("Runs", f"{len(sweep.runs)}"),
        *((column, ", ".join(texts)) for column, texts in values.items()),
    ]


def charts(sweep: Sweep) -> list[Chart]:
    """A chart per number, along the first column that varies."""
    made = []
    for name in _known(sweep):
        try:
            found = lines(sweep, y=name)
        except RunError:
            continue  # nothing varies, or no run has enough messages
        made.append(_chart(found))
    return made


def _chart(found: Lines) -> Chart:
    known = [one for line in found.lines.values() for one in line.values() if one.mean is not None]
    means = [one.mean or 0.0 for one in known]
    ends = [mean + (one.half or 0.0) for mean, one in zip(means, known, strict=True)]
    scale, unit = scale_of(found.y, ends)
    # Amounts with a unit are evenly spaced, under their names.
    numeric = all(isinstance(value, int | float) and not isinstance(value, bool) for value in found.values)
    title = quantity(found.y).title
    y = figures.value_axis(title, [value / scale for value in (*means, *ends)], unit)
    styles = styles_of(list(found.lines))
    texts = [value_text(found.x, value) for value in found.values]
    traces: list[Json] = []
    for name, line in found.lines.items():
        values = [value for value in found.values if value in line and line[value].mean is not None]
        traces.append(
            points(
                name,
                [float(str(value)) for value in values] if numeric else [value_text(found.x, v) for v in values],
                [(line[value].mean or 0.0) / scale for value in values],
                styles[name],
                [(line[value].half or 0.0) / scale for value in values],
                hover=f"%{{y:,.4~r}} {unit} at %{{x}}",
            )
        )
    if numeric:
        at = [float(str(value)) for value in found.values]
        x = figures.value_axis(found.x, at)
        if len(at) <= 8:
            x |= {"tickmode": "array", "tickvals": at, "ticktext": figures.texts(texts), "rangemode": "normal"}
    else:
        order = {"categoryorder": "array", "categoryarray": figures.texts(texts)}
        x = axis(found.x, "category", **order)
    seeds = f"Means over {found.seeds} seeds, with 95 % intervals." if found.seeds > 1 else "One seed."
    note = " ".join([seeds, *(f"{text[0].upper()}{text[1:]}." for text in found.notes)])
    chart = Chart(found.y.replace("_", "-"), title, figure([Panel(traces, y)], x), note)
    rows = rows_of_legend(len(found.lines) * (1 + max(map(len, found.lines)) // 14))
    return replace(chart, height=chart.height + figures.LEGEND_ROW * (rows - 1))
