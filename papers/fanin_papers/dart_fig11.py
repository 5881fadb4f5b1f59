"""Dart section VI-B: the pictures of Fig. 11, 12 and 13 and Tables I and II, for all mixes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure, FigureBase
from matplotlib.ticker import LogLocator

from fanin.plot import label_axes, scheme_line
from fanin_papers.common import log_ticks, picture
from fanin_papers.dart_fig11_rows import rows, rows_readings
from fanin_papers.dart_mixes import (
    ALL_LOADS,
    CARRIED,
    DART,
    DILATION,
    INCREASE,
    MARKED,
    PAPER_LOADS,
    SCHEMES,
    SHORT,
    STEADY,
    TEXT,
    TIMELY,
    View,
    measure,
    sweep,
    sweep_readings,
)
from fanin_papers.experiment import Experiment, Measures

PANELS = (
    ("p99_us", "Fig. 11", "99th percentile of\n8 KB messages (us)"),
    ("p50_us", "Fig. 12", "median of\n8 KB messages (us)"),
    ("long_gbps", "Fig. 13", "goodput of\nlong flows (Gb/s)"),
    ("marked", "Table I", "marked packets of\nshort messages (%)"),
    ("dilation", "Table II", "path dilation (%)"),
    ("load_increase", "Table II", "load increase (%)"),
)

PRINTED: dict[str, Mapping[str, Mapping[str, Sequence[float]]]] = {
    "marked": MARKED,
    "dilation": {DART: DILATION},
    "load_increase": {DART: INCREASE},
}


def draw(measures: Measures) -> Figure:
    """The figures and tables in rows, the mixes in columns."""
    told = "endless long flows after 5 ms; three seeds, one at loads that the paper omits"
    return draw_reading(View(measures, STEADY), told)


def draw_readings(measures: Measures) -> Figure:
    """Fig. 11, 12 and 13 under the two other readings, one below the other."""
    figure = picture(13, 20)
    told = {TEXT: "A long flow from every server, first 10 ms", CARRIED: "Long flows of 100 KB that carry their load"}
    parts = figure.subfigures(2, 1, squeeze=False)[:, 0]
    for part, name in zip(parts, (TEXT, CARRIED), strict=True):
        fill(part, View(measures, name), PANELS[:3])
        part.suptitle(f"{told[name]} (1,024 hosts, 10 Gb/s; one seed)", fontsize=12)
    legend(figure)
    return figure


def draw_reading(view: View, told: str) -> Figure:
    """One reading: the mixes in columns."""
    figure = Figure(figsize=(13, 19), layout="constrained")
    fill(figure, view, PANELS)
    legend(figure)
    shares = ", ".join(f"{mix} {100 * share:.0f} %" for mix, share in SHORT.items())
    figure.suptitle(
        f"Dart VI-B on 1,024 hosts, 10 Gb/s; {told}\nshort messages' part of the bytes: {shares}; "
        "dotted: the paper's tables",
        fontsize=11,
    )
    return figure


def legend(figure: Figure) -> None:
    """One for all panels."""
    handles, labels = figure.axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, frameon=False, ncols=len(labels), loc="outside lower center")


def fill(figure: FigureBase, view: View, panels: Sequence[tuple[str, str, str]]) -> None:
    """Quantities in rows, each with one scale, and mixes in columns."""
    grid = figure.subplots(len(panels), len(SHORT), sharex=True, sharey="row", squeeze=False)
    for row, (name, title, label) in zip(grid, panels, strict=True):
        for axes, mix in zip(row, SHORT, strict=True):
            draw_panel(axes, view, mix, name)
            label_axes(axes, f"{title}, {mix} mix", "load (% of ToR uplinks)", label, legend=False)
            axes.tick_params(labelbottom=True, labelleft=True)
        if name.endswith("_us"):
            row[0].set_yscale("log")
            log_ticks(row[0])
            low, high = row[0].get_ylim()
            if high < 10 * low:
                row[0].yaxis.set_major_locator(LogLocator(subs=(1.0, 1.5, 2.0, 3.0, 5.0, 7.0)))
        else:
            row[0].set_ylim(bottom=0)
    grid[0, 0].set_xticks(ALL_LOADS)
    grid[0, 0].set_xlim(15, 85)


def draw_panel(axes: Axes, view: View, mix: str, name: str) -> None:
    """The curves of all schemes, and the paper's values where it prints them."""
    for scheme in SCHEMES:
        loads = view.loads(mix, scheme)
        detours = name in ("dilation", "load_increase")
        silent = (detours and scheme != DART) or (name == "marked" and scheme == TIMELY)
        values = [float("nan") if silent else view.at(scheme, mix, percent, name) for percent in loads]
        axes.plot(loads, values, marker="o", label=scheme, **scheme_line(scheme))
    for scheme, papers in PRINTED.get(name, {}).items():
        paper = papers[mix]
        line = scheme_line(scheme) | {"linestyle": ":", "linewidth": 1.2}
        axes.plot(PAPER_LOADS[mix], paper, marker="x", **line)


EXPERIMENTS = (
    Experiment(
        "dart-fig11",
        "tails, medians and throughput in three mixes",
        "dart/fig11-typical.toml",
        sweep,
        measure,
        draw,
        rows,
        figures=("11", "12", "13"),
    ),
    Experiment(
        "dart-fig11-readings",
        "the three mixes under other readings of the paper",
        "dart/fig11-typical.toml",
        sweep_readings,
        measure,
        draw_readings,
        rows_readings,
    ),
)
