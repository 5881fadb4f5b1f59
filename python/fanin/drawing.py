"""A network as a drawing: kinds of nodes, and the links between them."""

from __future__ import annotations

import os

from matplotlib.figure import Figure

from fanin.explanation import Explanation, Lengths, NodeKind, duration, equal_paths, percent, rate
from fanin.style import COLOURS

WIDE, APART, BELOW, ABOVE, LINE = 2.8, 1.25, 0.65, 0.95, 0.2
"""Inches from box to box, from level to level, from the lowest level to the text, above the highest, and for a line."""
LENGTHS = 4
"""The most lengths of paths that are named."""


def draw(explanation: Explanation, path: str | os.PathLike[str] | None = None) -> Figure:
    """The network of an explanation (`fanin.explain`): a box for each kind of nodes, hosts below the switches that lead
    further and above those that join hosts alone; a line for the links between two kinds, with their number, rate and
    delay; and below, how many pairs of hosts are how many links apart, and by how many equal paths. Written to `path`,
    where one is given."""
    kinds = explanation["network"]["kinds"]
    levels = sorted({kind["level"] for kind in kinds})
    rows = [[number for number, kind in enumerate(kinds) if kind["level"] == level] for level in levels]
    across = max(5.6, WIDE * max(len(row) for row in rows))
    lengths = _lengths(explanation)
    below = BELOW + LINE * (len(lengths) + 1)
    up = below + APART * (len(rows) - 1) + ABOVE
    figure = Figure(figsize=(across, up))
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set_xlim(0, across)
    axes.set_ylim(0, up)
    axes.axis("off")
    places = {
        number: ((column + 0.5) * across / len(row), below + APART * height)
        for height, row in enumerate(rows)
        for column, number in enumerate(row)
    }
    white = {"boxstyle": "round,pad=0.2", "facecolor": "white", "edgecolor": "none"}
    for (a, b), said in _said(explanation).items():
        (x, y), (to_x, to_y) = places[a], places[b]
        if a == b:
            axes.text(x + 0.6, y, f"among them\n{said}", ha="left", va="center", fontsize=9, zorder=4)
            continue
        axes.plot([x, to_x], [y, to_y], color="0.6", linewidth=1.8, zorder=1)
        axes.text((x + to_x) / 2, (y + to_y) / 2, said, ha="center", va="center", fontsize=9, bbox=white, zorder=2)
    for number, (x, y) in places.items():
        kind = kinds[number]
        box = {"boxstyle": "round,pad=0.5", "facecolor": _colour(kind), "edgecolor": "none"}
        name = f"{kind['nodes']:,} {kind['name']}"
        axes.text(x, y, name, ha="center", va="center", fontsize=11, color="white", bbox=box, zorder=3)
    axes.text(across / 2, up - 0.3, explanation["name"], ha="center", va="center", fontsize=12)
    axes.text(across / 2, LINE, "\n".join(lengths), ha="center", va="bottom", fontsize=9, color="0.3")
    if path is not None:
        figure.savefig(path, dpi=150)
    return figure


def _colour(kind: NodeKind) -> str:
    return COLOURS[0] if kind["level"] == 0 else COLOURS[1] if kind["level"] < 0 else COLOURS[2]


def _said(explanation: Explanation) -> dict[tuple[int, int], str]:
    """The links between each two kinds, in words."""
    said: dict[tuple[int, int], str] = {}
    for links in explanation["network"]["between"]:
        a, b = links["between"]
        number = f"{links['links']:,} link{'s' if links['links'] > 1 else ''}"
        text = f"{number}\n{rate(links['rate_bps'])}, {duration(links['delay_ps'] / 1e12)}"
        said[a, b] = f"{said[a, b]}\n{text}" if (a, b) in said else text
    return said


def _lengths(explanation: Explanation) -> list[str]:
    lengths = explanation["network"]["paths"]["lengths"]
    some = [f"{percent(of['share'])} of pairs are {of['links']} links apart{_ways(of)}" for of in lengths[:LENGTHS]]
    return [*some, "…"] if len(lengths) > LENGTHS else some


def _ways(of: Lengths) -> str:
    return f", by {equal_paths(of)} paths" if of["paths_max"] > 1 else ""
