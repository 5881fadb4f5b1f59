"""The numbers of a sweep along one of its columns."""

from __future__ import annotations

from statistics import fmean
from typing import TYPE_CHECKING

from matplotlib.figure import Figure

from fanin.comparison import half_width
from fanin.looks import look
from fanin.plot.base import DASHES, dress
from fanin.result import RunError

if TYPE_CHECKING:
    from fanin.plot.base import Path
    from fanin.sweeps.sweeping import Sweep


MOST_TICKS = 8
"""Values of a column that all stand at its axis."""


def along(swept: Sweep, x: str | None = None, y: str = "fct_p99_us", path: Path | None = None) -> Figure:
    """A number along a column of the grid, a line per scheme and per combination of the other columns; bars are 95 % intervals."""
    table = swept.table()
    if y not in table.columns or not table[y].dtype.is_numeric():
        raise RunError(f"{y}: no number of a sweep; choose a column of its table, like fct_p99_us or slowdown_p99")
    columns = [column for column in table.columns[: table.columns.index("status")] if table[column].n_unique() > 1]
    others = [column for column in columns if column not in ("scheme", "seed")]
    x = x or next(iter(others), None)
    if x is None or x not in columns:
        raise RunError(
            f"{x or 'this grid'}: nothing to draw along; the columns that vary are {', '.join(columns) or 'none'}"
        )
    others = [column for column in others if column != x]
    known = table.drop_nulls(y)
    values = table[x].unique(maintain_order=True).to_list()
    numeric = table[x].dtype.is_numeric()
    figure = Figure(figsize=(7.2, 4.8), layout="constrained")
    axes = figure.subplots()
    lines = known.select("scheme", *others).unique(maintain_order=True).rows()
    kinds = list(dict.fromkeys(line[1:] for line in lines))
    for scheme, *rest in lines:
        mine = known.filter(
            *[
                known[column].eq_missing(value)
                for column, value in zip(["scheme", *others], [scheme, *rest], strict=True)
            ]
        )
        at = [value for value in (sorted(values) if numeric else values) if value in set(mine[x])]
        samples = [mine.filter(mine[x] == value)[y].to_list() for value in at]
        shown = look(str(scheme))
        style = shown.for_matplotlib() | ({"linestyle": DASHES[kinds.index(tuple(rest)) % len(DASHES)]} if rest else {})
        axes.errorbar(
            at if numeric else [values.index(value) for value in at],
            [fmean(sample) for sample in samples],
            yerr=[half_width(sample) if len(sample) > 1 else 0.0 for sample in samples],
            marker=shown.marker_for_matplotlib(),
            markersize=5,
            linewidth=1.8,
            elinewidth=1.0,
            capsize=3,
            label=" ".join([str(scheme), *(f"{c.split('.')[-1]}={v}" for c, v in zip(others, rest, strict=True))]),
            **style,
        )
    if numeric and len(values) <= MOST_TICKS:
        axes.set_xticks(sorted(values), labels=[f"{value:g}" for value in sorted(values)])
    if not numeric:
        axes.set_xticks(range(len(values)), labels=[str(value) for value in values])
    axes.set_ylim(bottom=0)
    seeds = known["seed"].n_unique()
    over = f", mean over {seeds} seeds with 95 % intervals" if seeds > 1 and x != "seed" else ""
    dress(axes, f"{swept.name}{over}", x, y)
    legend = axes.get_legend()
    if legend is not None:
        legend.remove()  # intervals reach anywhere, so there is no free place among them
        figure.legend(loc="outside lower center", ncols=2, frameon=False, fontsize=10)
    if path is not None:
        figure.savefig(path, dpi=160)
    return figure
