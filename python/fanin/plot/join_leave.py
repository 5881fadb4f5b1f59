"""What a scheme does as flows join and leave: everything that limits its senders, and its own state, over time."""

from __future__ import annotations

import textwrap
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import polars as pl
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from fanin import over_time as measured
from fanin.measures import seeds_of
from fanin.over_seeds import band_text_of_messages
from fanin.plot.base import Group, as_results, finish, groups_of, indexed_line, label_axes, write_note
from fanin.plot.flows import RECEIVERS
from fanin.plot.over_time import draw_mean
from fanin.run_folder import RunError

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from fanin.plot.base import Path, Runs

HEIGHT = 1.6
"""Of a row of panels, in inches."""

TITLE_WIDTH = 16
"""Characters of a line of a panel's title that fit beside it."""

NOTE_WIDTH = 50
"""Characters of a line of text that fit below a column."""

MOST_CHANGES = 20
"""Of the starts and ends of messages that are marked."""

GOODPUT, WINDOW, RATE, QUEUE = "goodput (Gb/s)", "window (KB)", "rate (Gb/s)", "queue (KB)"
COMMON = (GOODPUT, WINDOW, RATE, QUEUE)
"""The panels of every scheme."""

AT_RECEIVER = "at the receiver"
"""Stands in titles of its values."""

NOTHING = {
    GOODPUT: "not sampled",
    WINDOW: "no window that changes",
    RATE: "always the same rate",
    QUEUE: "not sampled",
}
"""What stands in a panel that only other schemes have a curve for."""

UNITS = {"_bps": ("Gb/s", 1e9), "_bytes": ("KB", 1e3), "_us": ("us", 1.0)}
"""How names of values end that have a unit, with the unit in which they are drawn, and its size."""


def join_leave(runs: Runs, path: Path | None = None) -> Figure:
    """Watched messages under each scheme, a column per scheme: goodput, window, rate and queue, and below them all that
    the scheme itself watches at senders, at receivers and at the switch with the bottleneck, as far as it was
    sampled. A value of these that never changes has no panel: it is told below its column."""
    results = as_results(runs)
    groups = groups_of(results)
    columns = [_Column(group) for group in groups]
    common = [title for title in COMMON if any(title in column.common for column in columns)]
    rows = len(common) + max(len(column.own) for column in columns)
    figure = Figure(figsize=(1.2 + 4.6 * max(len(columns), 1.5), 1.3 + HEIGHT * rows), layout="constrained")
    grid = figure.subplots(rows, len(columns), sharex=True, squeeze=False)
    for number in range(len(common)):
        for axes in grid[number, 1:]:
            axes.sharey(grid[number, 0])
    names = list(dict.fromkeys(name for column in columns for name in column.messages))
    for at, column in enumerate(columns):
        panels = {title: column.common.get(title) for title in common} | column.own
        for number, axes in enumerate(grid[:, at]):
            if number >= len(panels):
                axes.remove()
                continue
            title, curve = list(panels.items())[number]
            if curve is None:
                write_note(axes, NOTHING[title])
            else:
                _draw(axes, curve, names)
            for change_ms in column.changes_ms:
                axes.axvline(change_ms, color="#555555", linewidth=0.9, linestyle=":", zorder=1)
            last = number == len(panels) - 1
            named = at == 0 or title not in common
            below = "\n".join(["time (ms)", *column.same]) if last else ""
            label_axes(axes, "", below, title if named else "", legend=False)
            axes.tick_params(labelbottom=last, labelleft=named)
            axes.yaxis.label.set_size(10)
    for axes in figure.axes:
        if axes.dataLim.ymin >= 0:
            axes.set_ylim(bottom=0)
        axes.set_xlim(left=0)
    for axes, column in zip(grid[0], columns, strict=True):
        axes.set_title(column.group.name, fontsize=12)
    figure.align_ylabels()
    handles = [Line2D([], [], **_line(number), label=name) for number, name in enumerate(names)]
    figure.legend(handles=handles, loc="outside lower center", ncols=6, frameon=False, fontsize=10)
    changes = "dotted: a message starts or ends" if any(column.changes_ms for column in columns) else ""
    return finish(figure, results, path, band_text_of_messages(seeds_of(results)), changes)


class _Column:
    """The curves of one scheme by the titles of their panels."""

    def __init__(self, group: Group) -> None:
        self.group = group
        goodput = measured.goodput_curve(group.runs).filter(pl.col("what") == "flow")
        self.messages: list[str] = goodput["where"].unique(maintain_order=True).to_list()
        self.common = {GOODPUT: _scaled(goodput, 1.0)}
        for name, title, unit in (("window_bytes", WINDOW, 1e3), ("rate_bps", RATE, 1e9)):
            curve = measured.rates_curve(group.runs, name)
            if curve["mean"].n_unique() > 1:
                self.common[title] = _scaled(curve, unit)
        with suppress(RunError):  # it was not sampled
            self.common[QUEUE] = _scaled(measured.queue_curve(group.runs), 1e3)
        self.own: dict[str, pl.DataFrame] = {}
        self.same: list[str] = []  # lines about values that never change
        switch = measured.bottleneck_switch(group.runs)
        for what, where, curve_of in (
            ("flow", "", measured.sender_curve),
            ("receiver", AT_RECEIVER, measured.receiver_curve),
            ("switch", f"at {switch}", measured.switch_curve),
        ):
            for name in measured.own_values(group.runs, what):
                self._add(name, where, curve_of(group.runs, name))

    def _add(self, name: str, where: str, curve: pl.DataFrame) -> None:
        """A value of the scheme's own: its curve, or a line of text."""
        unit, size = _unit(name)
        values = (curve["mean"] / size).unique()
        if len(values) == 1:
            what = f"{_words(name)} {where}".rstrip()
            self.same += textwrap.wrap(f"{what}: always {values[0]:g} {unit}", NOTE_WIDTH)
        elif len(values) > 1:
            words = textwrap.fill(f"{_words(name)} ({unit})" if unit else _words(name), TITLE_WIDTH)
            title = f"{words},\n{where}" if where else words
            known = RECEIVERS if where == AT_RECEIVER else {}
            self.own[known.get(name, title)] = _scaled(curve, size)

    @property
    def changes_ms(self) -> list[float]:
        """When a message starts or ends within the run, of the first seed."""
        run = self.group.runs[0]
        flows = run.flows()
        start = flows["start_ps"].to_list()
        ends = (flows["start_ps"] + flows["completion_ps"]).drop_nulls().to_list()
        return sorted({at / 1e9 for at in (*start, *ends) if 0 < at < run.manifest["simulated_ps"]})[:MOST_CHANGES]


def _scaled(curve: pl.DataFrame, unit: float) -> pl.DataFrame:
    return curve.with_columns(pl.col("mean", "low", "high") / unit)


def _unit(name: str) -> tuple[str, float]:
    return next((unit for end, unit in UNITS.items() if name.endswith(end)), ("", 1.0))


def _words(name: str) -> str:
    """A value's name without its unit."""
    stem = name.rpartition("_")[0] if _unit(name)[0] else name
    return stem.replace("_", " ")


def _line(number: int) -> dict[str, Any]:
    """Later curves are thinner, so that those below them are seen where both are equal."""
    return {**indexed_line(number), "linestyle": "-", "linewidth": max(1.0, 2.6 - 1.4 * number)}


def _draw(axes: Axes, curve: pl.DataFrame, names: list[str]) -> None:
    """One panel: a curve per message, or one for all."""
    if "where" not in curve.columns:
        draw_mean(axes, curve, 1.0, color="#444444", linewidth=1.1)
        return
    for number, name in enumerate(names):
        own = curve.filter(pl.col("where") == name)
        if own.height:
            draw_mean(axes, own, 1.0, **_line(number))
    if curve.is_empty():
        write_note(axes, "no watched message was sampled")
