"""The picture that users of the ns-3 HPCC simulator draw of their results: slowdown by the size of flows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Literal

from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from fanin.plot import label_axes
from fanin.style import colours

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.axes import Axes

STYLES: dict[int, Literal[":", "--", "-"]] = {50: ":", 95: "--", 99: "-"}
"""The line of each percentile; the colour says whose it is."""


def slowdown(flows: Mapping[str, int], cuts: Sequence[pl.DataFrame], ax: Axes | None = None) -> Axes:
    """The slowdowns of each curve, as `fanin.hpcc.slowdown_by_size` returns them; `flows` is the number of flows by
    name."""
    if ax is None:
        ax = Figure(figsize=(9.6, 4.8), layout="constrained").subplots()
    largest = 1.0
    colour_of = colours(list(flows))
    for index, cut in enumerate(cuts):
        if cut.is_empty():
            continue
        # A curve below an equal one is drawn wider, so that both are visible.
        covered = any(cut.equals(later) for later in cuts[index + 1 :])
        for percent in STYLES:
            slowdowns = cut[f"p{percent}"].to_numpy()
            ax.plot(
                cut["largest_bytes"].to_numpy(),
                slowdowns,
                color=colour_of[index],
                linestyle=STYLES[percent],
                linewidth=5.0 if covered else 1.7,
                alpha=0.5 if covered else 1.0,
                marker="o",
                markersize=3.0,
            )
            largest = max(largest, float(slowdowns.max()))
    ax.set_xscale("log")
    ax.xaxis.set_major_formatter(FuncFormatter(lambda size, _: bytes_text(size)))
    ax.xaxis.set_minor_formatter(NullFormatter())
    ax.set_yscale("log")
    ax.set_ylim(0.93, largest * 1.15)
    ax.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    ax.yaxis.set_minor_formatter(NullFormatter())
    ax.margins(x=0.02)
    label_axes(ax, "Slowdown by flow size", "flow size: largest of its bin (log scale)", "slowdown (log scale)")
    shown = [
        Line2D([], [], color=colour_of[index], linewidth=3, label=f"{name} ({count} flows)")
        for index, (name, count) in enumerate(flows.items())
    ]
    how = [Line2D([], [], color="#444444", linestyle=STYLES[p], linewidth=1.6, label=f"p{p}") for p in STYLES]
    ax.legend(handles=shown + how[::-1], frameon=False, fontsize=10, loc="upper left", bbox_to_anchor=(1.0, 1.0))
    return ax


def bytes_text(size: float) -> str:
    """A size in the largest unit that it has one of: `300 B`, `1 KB`, `10 MB`."""
    for unit, scale in (("GB", 1e9), ("MB", 1e6), ("KB", 1e3)):
        if size >= scale:
            return f"{size / scale:g} {unit}"
    return f"{size:g} B"
