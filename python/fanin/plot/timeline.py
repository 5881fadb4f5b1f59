"""The timeline of one message: the place of each of its packets, and the causes of its delays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import polars as pl
from matplotlib.collections import PolyCollection
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from matplotlib.ticker import MaxNLocator

from fanin.delay_breakdown import LABELS, Breakdown, breakdown, by_cause, by_port, headline, hop_delays, pick
from fanin.plot.base import label_axes, write_note
from fanin.plot.marks import mark_failures
from fanin.style import BLUE, GREEN, ORANGE, PURPLE, SKY, VERMILLION
from fanin.table import time

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from numpy.typing import NDArray

    from fanin.plot.base import Path
    from fanin.run_tables import RunTables

SENT = "#333333"
TRAVELLED = "#dcdcdc"
PAINT = {
    "overhead": "#e8dcc8",
    "handshake": "#8fcca8",
    "earlier": "#bba7d9",
    "link": "#8f8f8f",
    "pfc": "#a50f15",
    "credits": "#67000d",
    "window": "#ecc94b",
    "pacing": "#86b9e0",
    "nic": "#b9b2a3",
    "acks": "#f1ead9",
    "host": "#b9b2a3",
    "retransmission": "#6a3d6a",
    "send": SENT,
    "wire": TRAVELLED,
    "after": "#f2f2f2",
}
"""The colour of each part of an FCT except the waits at switches."""
PORTS = (VERMILLION, BLUE, ORANGE, GREEN, PURPLE, SKY, "#8c564b", "#7a6f00")
"""The colours of the switches' ports in the order of the path, repeated if there are more ports."""

ROWS = 120
"""The most packets that are drawn with gaps between them."""


def timeline(
    run: RunTables,
    message: str | None = None,
    path: Path | None = None,
    *,
    between: tuple[float, float] | None = None,
) -> Figure:
    """Draws every packet of a traced message in a row: its waits by node, its serialisation, its propagation.

    Above, the FCT in the parts that add up to it. `message` is its name in the spec's `measure.trace`; it may be left
    out where only one was traced. `between` shows only what happened from one time to another, in microseconds since
    the message was posted. Raises `RunError` where the message was not traced.
    """
    name = pick(run, message)
    steps = hop_delays(run, name)
    parts = breakdown(run, name, steps)
    count = parts.packets
    height = min(max(2.4, 0.16 * count), 7.0)
    figure = Figure(figsize=(11, 2.6 + height), layout="constrained")
    top, axes = figure.subplots(2, 1, sharex=True, height_ratios=[0.55, height])
    ports = by_port(steps).filter(pl.col("hop") > 0)["port"].to_list()
    colours = {port: PORTS[number % len(PORTS)] for number, port in enumerate(ports)}
    draw_parts(top, parts, colours)
    draw_packets(axes, steps, parts.pieces, int(str(parts.flow["start_ps"])), colours)
    mark_ends(axes, parts)
    start_ps = int(str(parts.flow["start_ps"]))
    if between is not None:
        zoom(axes, steps, start_ps, between)
    mark_failures(axes, [run], unit_ps=1e6, origin_ps=start_ps)
    legend(figure, axes, parts, colours)
    figure.suptitle(headline(run, parts), fontsize=11, x=0.01, ha="left")
    if path is not None:
        figure.savefig(path, dpi=160)
    return figure


def draw_parts(axes: Axes, parts: Breakdown, colours: dict[str, str]) -> None:
    """The FCT as one bar."""
    left = 0.0
    total = max(1, parts.total_ps)
    for part in parts.parts:
        colour = colours.get(part.where, "#999999") if part.what == "wait" else PAINT[part.what]
        us = part.ps / 1e6
        axes.barh(0, us, left=left, color=colour, height=0.8, edgecolor="white", linewidth=0.6)
        text = f"{LABELS[part.what].format(where=part.where)}\n{time(us)} ({part.ps / total:.0%})"
        # Labelled only if the text fits: the packets below show the same.
        if part.ps / total > 0.0085 * max(map(len, text.split("\n"))):
            red, green, blue = to_rgb(colour)
            ink = "black" if 0.3 * red + 0.6 * green + 0.1 * blue > 0.5 else "white"
            axes.text(left + us / 2, 0, text, ha="center", va="center", fontsize=9, color=ink)
        left += us
    axes.set_yticks([])
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)
    axes.tick_params(labelsize=9, labelbottom=False, length=0)
    done = "What its FCT is made of" if parts.completion_ps is not None else "Parts of the time to its last arrival"
    last = (
        f" (the path is that of packet {parts.last}, which arrived last)"
        if parts.packets > 1 and parts.last >= 0
        else ""
    )
    axes.set_title(f"{done}{last}", fontsize=10, loc="left")
    if not parts.parts:
        write_note(axes, "no packet arrived")


def draw_packets(axes: Axes, steps: pl.DataFrame, pieces: pl.DataFrame, start_ps: int, colours: dict[str, str]) -> None:
    """A row per packet."""
    rows = steps["packet"].to_numpy()
    begin = (steps["begin_ps"].to_numpy() - start_ps) / 1e6
    wait = steps["wait_ps"].fill_null(0).to_numpy() / 1e6
    sending = steps["serialisation_ps"].to_numpy() / 1e6
    flying = steps["propagation_ps"].to_numpy() / 1e6
    port, hop, known = steps["port"].to_numpy(), steps["hop"].to_numpy(), steps["end_ps"].is_not_null().to_numpy()
    count = int(rows.max()) + 1 if rows.size else 0
    height = 0.8 if count <= ROWS else 1.0
    left = begin + wait
    # A packet that did not arrive at the next node is not known to have left a switch.
    gone = known | (hop == 0)
    # Thinner than the delays in the network, but always visible.
    thin = max(0.5 * height, count / 250)
    for (what,), of in pieces.group_by("what", maintain_order=True):
        since, until_us = ((of[end].to_numpy() - start_ps) / 1e6 for end in ("begin_ps", "end_ps"))
        bars(axes, of["packet"].to_numpy(), since, until_us - since, PAINT[str(what)], thin)
    for name, colour in colours.items():
        here = (port == name) & (hop > 0)
        bars(axes, rows[here], begin[here], wait[here], colour, height)
    bars(axes, rows[gone], left[gone], sending[gone], SENT, height)
    bars(axes, rows[gone], (left + sending)[gone], flying[gone], TRAVELLED, height)
    again, lost = (hop == 0) & (steps["copy"].to_numpy() > 0), ~known
    size = min(1.0, ROWS / max(1, count))
    marks: dict[str, Any] = {"linestyle": "none", "color": "#aa0000"}
    if again.any():
        axes.plot(left[again], rows[again], marker="<", markersize=1 + 3 * size, label="sent again", **marks)
    if lost.any():
        seen = (left + np.where(hop == 0, sending, 0))[lost]
        axes.plot(seen, rows[lost], marker="x", markersize=1.5 + 3.5 * size, label="not seen again", **marks)
    axes.set_ylim(max(count, 1) - 0.4, -0.6)
    until = np.where(gone, left + sending + flying, left)
    axes.set_xlim(0, max(float(until.max()) if until.size else 0.0, 1e-9) * 1.005)
    axes.yaxis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))
    label_axes(axes, "", "time since the message was posted (us)", "packet, in the order of leaving")
    axes.grid(visible=False, axis="y")


def zoom(axes: Axes, steps: pl.DataFrame, start_ps: int, between: tuple[float, float]) -> None:
    """Limits the picture to an interval of time, and to the packets in flight then."""
    first, last = (start_ps + us * 1e6 for us in between)
    left = pl.col("begin_ps") + pl.when(pl.col("hop") == 0).then("wait_ps").otherwise(0)
    shown = steps.filter((left <= last) & (pl.col("end_ps").fill_null(pl.col("begin_ps")) >= first))["packet"]
    axes.set_xlim(*between)
    if not shown.is_empty():
        axes.set_ylim(int(cast("int", shown.max())) + 0.6, int(cast("int", shown.min())) - 0.6)


def bars(
    axes: Axes,
    rows: NDArray[np.int64],
    left: NDArray[np.float64],
    width: NDArray[np.float64],
    colour: str,
    height: float,
) -> None:
    """Rectangles in the rows of packets, all of one colour."""
    drawn = width > 0
    x0, x1, y = left[drawn], (left + width)[drawn], rows[drawn].astype(np.float64)
    corners = [(x0, y - height / 2), (x1, y - height / 2), (x1, y + height / 2), (x0, y + height / 2)]
    shapes = np.stack([np.stack(corner, axis=-1) for corner in corners], axis=1)
    axes.add_collection(
        PolyCollection(list(shapes), facecolors=colour, edgecolors="none", rasterized=len(shapes) > 5000)
    )


def mark_ends(axes: Axes, parts: Breakdown) -> None:
    """Lines at the ideal FCT and at the FCT."""
    ends: Sequence[tuple[int | None, str, str]] = (
        (parts.ideal_ps, "empty network", ":"),
        (parts.completion_ps, "complete", "-"),
    )
    for at, text, style in ends:
        if at is not None:
            axes.axvline(at / 1e6, color="black", linewidth=1.0, linestyle=style, label=f"{text}: {time(at / 1e6)}")


def legend(figure: Figure, axes: Axes, parts: Breakdown, colours: dict[str, str]) -> None:
    """The meaning of each colour, below the packets."""
    if (own := axes.get_legend()) is not None:
        own.remove()
    host = parts.host
    waited = by_cause(parts.pieces)["what"].to_list()
    shown = [Patch(color=PAINT[what], label=LABELS[what].format(where=host)) for what in waited]
    ports = list(colours.items())[: 2 * len(PORTS)]
    shown += [Patch(color=colour, label=LABELS["wait"].format(where=port)) for port, colour in ports]
    shown += [Patch(color=PAINT[what], label=LABELS[what]) for what in ("send", "wire")]
    lines = [
        line
        for line in axes.get_lines()
        if not str(line.get_label()).startswith("_") and len(np.atleast_1d(line.get_xdata()))
    ]
    figure.legend(handles=[*shown, *lines], frameon=False, fontsize=9, ncols=5, loc="outside lower left")
