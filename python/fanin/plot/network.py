"""The utilisation of links."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import PercentFormatter

from fanin.measures import seeds_of, utilisation_by_tier
from fanin.plot.axes import name_ticks
from fanin.plot.base import as_results, finish, groups_of, label_axes, legend_below

if TYPE_CHECKING:
    from fanin.plot.base import Path, Runs


def utilisation(runs: Runs, path: Path | None = None) -> Figure:
    """Utilisation of links in the measured window, by tier: every port as a dot, their mean as a marker."""
    results = as_results(runs)
    groups = groups_of(results)
    tables = [utilisation_by_tier(group.runs) for group in groups]
    tiers = list(dict.fromkeys(tier for table in tables for tier in table["tier"]))
    inches = max(6.8, 1.2 + len(tiers) * max(1.5, 0.32 * len(groups)))
    figure = Figure(figsize=(inches, 5.0), layout="constrained")
    axes = figure.subplots()
    width = 0.84 / len(groups)
    for number, (group, table) in enumerate(zip(groups, tables, strict=True)):
        aside = (number - (len(groups) - 1) / 2) * width
        places = np.array([tiers.index(tier) for tier in table["tier"]]) + aside
        for place, shares in zip(places, table["utilisation"], strict=True):
            values = np.sort(np.asarray(shares))
            across = place + np.linspace(-0.36, 0.36, values.size) * width if values.size > 1 else [place]
            axes.scatter(
                across, values, s=7, color=group.style.colour, alpha=0.4, linewidths=0, rasterized=values.size > 2000
            )
        half = np.nan_to_num(table["ci95"].cast(float).to_numpy())
        marker = group.style.marker_for_matplotlib()
        shown: dict[str, Any] = {"markersize": 8, "markeredgecolor": "white", "markeredgewidth": 0.8, "zorder": 3}
        means = table["mean"].to_numpy()
        axes.plot(places, means, marker, color=group.style.colour, label=group.name, **shown)
        if half.any():
            axes.errorbar(places, means, half, fmt="none", ecolor=group.style.colour, elinewidth=1.4, capsize=3)
    for edge in range(1, len(tiers)):
        axes.axvline(edge - 0.5, color="#dddddd", linewidth=0.7)
    name_ticks(axes, tiers, inches=inches * 0.85, fontsize=10)
    axes.set_xlim(-0.5, len(tiers) - 0.5)
    highest = max((float(max(shares)) for table in tables for shares in table["utilisation"]), default=1.0)
    axes.set_ylim(0, min(1.02, 1.3 * highest) or 1.0)
    axes.yaxis.set_major_formatter(PercentFormatter(xmax=1.0, symbol=" %"))
    label_axes(
        axes,
        "Utilisation of links in the measured window",
        "tier of links, from sender to receiver",
        "share of the rate",
        legend=False,
    )
    axes.grid(visible=False, axis="x")
    legend_below(figure, axes)
    several = seeds_of(results) > 1
    dots = "dots: ports in order, mean over seeds" if several else "dots: ports in order"
    return finish(figure, results, path, dots, "markers: mean, with its 95 % interval" if several else "markers: mean")
