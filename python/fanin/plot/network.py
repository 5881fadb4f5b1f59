"""How busy the network was."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import PercentFormatter

from fanin.looks import look
from fanin.measures import utilisation_by_tier
from fanin.plot.base import as_results, dress, finish, one_of_each

if TYPE_CHECKING:
    from fanin.plot.base import Path, Runs


def utilisation(runs: Runs, path: Path | None = None) -> Figure:
    """How busy links were over the whole run: every port as a dot, by tier, with the mean as a bar across them."""
    results = as_results(runs)
    each = one_of_each(results)
    tables = {name: utilisation_by_tier(run) for name, run in each.items()}
    tiers = list(dict.fromkeys(tier for table in tables.values() for tier in table["tier"]))
    figure = Figure(figsize=(max(6.4, 1.2 + 1.5 * len(tiers)), 4.6), layout="constrained")
    axes = figure.subplots()
    width = 0.8 / len(each)
    for number, (name, table) in enumerate(tables.items()):
        shown = look(name.split(" (")[0])
        for row in table.iter_rows(named=True):
            middle = tiers.index(row["tier"]) + (number - (len(each) - 1) / 2) * width
            values = np.sort(np.asarray(row["utilisation"]))
            across = middle + np.linspace(-0.32, 0.32, values.size) * width if values.size > 1 else [middle]
            axes.scatter(
                across, values, s=5, color=shown.colour, alpha=0.35, linewidths=0, rasterized=values.size > 2000
            )
            axes.plot(
                [middle - 0.42 * width, middle + 0.42 * width], [row["mean"]] * 2, color=shown.colour, linewidth=2.4
            )
        marker = shown.marker_for_matplotlib()
        axes.plot([], [], color=shown.colour, linewidth=2.4, marker=marker, markersize=4, label=name)
    axes.set_xticks(range(len(tiers)), labels=tiers)
    axes.set_ylim(0, 1.02)
    axes.yaxis.set_major_formatter(PercentFormatter(xmax=1.0))
    dress(axes, "Utilisation of links over the whole run (dots: ports, in order; bar: mean)", "", "share of the rate")
    axes.grid(visible=False, axis="x")
    return finish(figure, results, path)
