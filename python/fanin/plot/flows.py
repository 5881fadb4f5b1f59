"""Single flows over time under several schemes, as they join and leave."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl
from matplotlib.figure import Figure

from fanin import over_time as measured
from fanin.measures import seeds_of
from fanin.over_seeds import band_text_of_messages
from fanin.plot.base import Group, as_results, finish, groups_of, indexed_line, label_axes, write_note
from fanin.plot.marks import mark_failures
from fanin.plot.over_time import draw_mean, watched
from fanin.quantities import rate_unit
from fanin.run_folder import RunError

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from fanin.plot.base import Path, Runs

ACROSS = 3
"""The most schemes side by side; more have rows of panels of their own."""

MOST = 1.2
"""The most goodput that is shown, as a multiple of the fastest link."""

RECEIVERS = {
    "flight_wins": "windows in flight\n(segments)",
    "acks_waiting": "ACKs held",
    "quota": "spare share\nof the link",
    "n": "senders\nas told (n)",
    "credit_rate_share": "credits, of what\na link lets through",
}
"""What receivers of schemes watch, by the names of its values, as titles of axes."""


def flows(runs: Runs, path: Path | None = None) -> Figure:
    """Watched messages as they join and leave: their goodput, the window or rate that limits each, the queue, and what
    the scheme of their receiver watches, if all this was sampled; a column per scheme."""
    results = as_results(runs)
    groups = groups_of(results)
    columns = [Column(group) for group in groups]
    unit, scale = rate_unit(value for column in columns for value in column.goodput["mean"].drop_nulls())
    for column in columns:
        column.show_rates_in(unit, scale)
    blocks = [columns[at : at + ACROSS] for at in range(0, len(columns), ACROSS)]
    heights = [max(len(column.panels) for column in block) for block in blocks]
    wide = min(len(columns), ACROSS)
    figure = Figure(figsize=(1.0 + 4.4 * wide if wide > 1 else 8.0, 1.2 + 1.9 * sum(heights)), layout="constrained")
    grid = figure.subplots(sum(heights), wide, sharex=True, squeeze=False)
    names = list(dict.fromkeys(name for column in columns for name in column.names))
    first = 0
    for block, height in zip(blocks, heights, strict=True):
        for at in range(wide):
            stack = grid[first : first + height, at].tolist()
            if at < len(block):
                block[at].draw(stack, names)
            for axes in stack[len(block[at].panels) if at < len(block) else 0 :]:
                axes.remove()
        for row in range(height):
            of_row = [(column, grid[first + row, at]) for at, column in enumerate(block) if row < len(column.panels)]
            _share_y([axes for column, axes in of_row if column.panels[row] == of_row[0][0].panels[row]])
        first += height
    handles: dict[str, Any] = {}
    for axes in figure.axes:
        handles |= dict(zip(*reversed(axes.get_legend_handles_labels()), strict=True))
    figure.legend(handles.values(), handles, loc="outside lower center", ncols=6, frameon=False, fontsize=10)
    return finish(figure, results, path, band_text_of_messages(seeds_of(results)))


def _share_y(panels: list[Axes]) -> None:
    """Gives panels of one quantity the same axis, from 0 on."""
    top = max(axes.get_ylim()[1] for axes in panels)
    for axes in panels:
        axes.set_ylim(0, top)


class Column:
    """The panels of one scheme."""

    def __init__(self, group: Group) -> None:
        """Measures them."""
        self.group = group
        goodput = measured.goodput_curve(group.runs)
        self.goodput = goodput.filter(pl.col("what") == "flow")
        window = measured.rates_curve(group.runs, "window_bytes")
        self.limit = window if window.height else measured.rates_curve(group.runs, "rate_bps")
        self.names = watched([self.goodput, self.limit])
        self.gbps = 1.0
        self.panels = ["goodput"]
        # A sender that waits for credits has a window of 0 between them, and one that leaves gaps has the rate of the
        # line: neither says anything.
        often = 2 * self.limit.filter(pl.col("mean") > 0).height > self.limit.height
        if often and self.limit["mean"].n_unique() > 1:
            self.panels.append("window (KB)" if window.height else "rate")
        self.others: list[tuple[pl.DataFrame, float]] = []
        try:
            self.others.append((measured.queue_curve(group.runs), 1e3))
            self.panels.append("queue (KB)")
        except RunError:
            pass  # it was not sampled
        for name, title in RECEIVERS.items():
            curve = measured.receiver_curve(group.runs, name)
            if (curve["mean"] > 0).any():
                self.others.append((curve, 1.0))
                self.panels.append(title)

    def show_rates_in(self, unit: str, scale: float) -> None:
        """Sets the unit of its rates, and what those in Gb/s are divided by: the same in all columns."""
        self.gbps = scale
        self.panels = [f"{title} ({unit})" if title in ("goodput", "rate") else title for title in self.panels]

    def draw(self, panels: list[Axes], names: list[tuple[str, str]]) -> None:
        """Draws them below each other; `names` are the messages in the order of their colours."""
        schemes = {traffic["traffic"]: traffic["scheme"] for traffic in self.group.runs[0].summary()["traffics"]}
        mixed = len(set(schemes.values())) > 1
        curves = [(self.goodput, self.gbps)]
        if self.panels[1:2] == ["window (KB)"]:
            curves.append((self.limit, 1e3))
        elif self.panels[1:] and self.panels[1].startswith("rate ("):
            curves.append((self.limit, self.gbps * 1e9))
        for axes, (table, unit) in zip(panels, curves, strict=False):
            parts = table.partition_by("where", "traffic", as_dict=True)
            for number, name in enumerate(names):
                if name in parts:
                    label = f"{name[0]} ({schemes[name[1]]})" if mixed else name[0]
                    draw_mean(
                        axes,
                        parts[name],
                        unit,
                        **{**indexed_line(number), "linestyle": "-", "linewidth": 1.3},
                        label=label,
                    )
            if not parts:
                write_note(axes, "none of what was watched was open in the measured window")
        for axes, (curve, unit) in zip(panels[len(curves) :], self.others, strict=False):
            draw_mean(axes, curve, unit, color="#555555", linewidth=1.0)
        for number, axes in enumerate(panels[: len(self.panels)]):
            mark_failures(axes, self.group.runs, named=number == 0)
        for axes in panels[1 : len(self.panels)]:
            axes.set_ylim(bottom=0)
        last = len(self.panels) - 1
        for number, (axes, title) in enumerate(zip(panels, self.panels, strict=False)):
            label_axes(axes, "", "time (ms)" if number == last else "", title, legend=False)
            axes.tick_params(labelbottom=number == last)
        panels[0].set_title(self.group.name, fontsize=12)
        # Where a lost packet is repaired, all that waited behind it arrives in order at once.
        fastest = max(float(run.ports()["rate_bps"].to_numpy().max()) for run in self.group.runs) / 1e9 / self.gbps
        panels[0].set_ylim(0, min(panels[0].get_ylim()[1], MOST * fastest))
