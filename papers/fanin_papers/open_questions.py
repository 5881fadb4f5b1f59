"""A picture of a paper's claims under each reading of what it leaves open."""

from __future__ import annotations

from textwrap import fill

from matplotlib.colors import ListedColormap
from matplotlib.figure import Figure

from fanin_papers import claims
from fanin_papers.claims import PAPERS, Verdict

COLOURS: dict[Verdict, str] = {"holds": "#5aa469", "close": "#f0d56b", "calibrated": "#b8b8b8", "differs": "#d9795d"}
"""Of a cell; its word stands in it, so that nobody has to tell colours apart."""
USED = "as used elsewhere"


def verdicts(paper: str) -> dict[str, dict[str, Verdict]]:
    """By claim, its verdict under the reading used elsewhere, and under each that it is measured whole under."""
    found: dict[str, dict[str, Verdict]] = {}
    for reading in claims.readings().values():
        if reading.paper == paper:
            for id_, (used, its) in claims.under_reading(reading).items():
                found.setdefault(id_, {USED: used})[reading.name] = its
    order = [claim.id for claim in claims.claims()]
    return {id_: found[id_] for id_ in sorted(found, key=order.index)}


def draw(paper: str) -> Figure:
    """Claims down, readings across. A white cell: no run of this claim changes under the reading."""
    found = verdicts(paper)
    columns = [USED, *(name for name, reading in claims.readings().items() if reading.paper == paper)]
    figure = Figure(figsize=(3.6 + 1.9 * len(columns), 1.5 + 0.27 * len(found)), layout="constrained")
    axes = figure.subplots()
    kinds = list(COLOURS)
    cells = [[kinds.index(its[name]) if name in its else float("nan") for name in columns] for its in found.values()]
    axes.imshow(cells, cmap=ListedColormap(list(COLOURS.values())), vmin=0, vmax=len(kinds) - 1, aspect="auto")
    for row, its in enumerate(found.values()):
        for column, name in enumerate(columns):
            if name in its:
                weight = "bold" if its[name] != its[USED] else "normal"
                axes.text(column, row, its[name], ha="center", va="center", fontsize=9, fontweight=weight)
    held = [sum(its.get(name, its[USED]) == "holds" for its in found.values()) for name in columns]
    labels = [f"{fill(name, 24)}\n{count} hold" for name, count in zip(columns, held, strict=True)]
    axes.set_xticks(range(len(columns)), labels)
    axes.xaxis.tick_top()
    axes.set_yticks(range(len(found)), list(found))
    axes.set_xticks([column + 0.5 for column in range(len(columns) - 1)], minor=True)
    axes.set_yticks([row + 0.5 for row in range(len(found) - 1)], minor=True)
    axes.grid(which="minor", color="white", linewidth=2)
    axes.tick_params(which="both", length=0, labelsize=9)
    for spine in axes.spines.values():
        spine.set_visible(False)
    figure.suptitle(f"{PAPERS[paper]}: claims under readings of what the paper leaves open")
    return figure
