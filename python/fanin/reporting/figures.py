"""Plotly figures as plain dictionaries: curves in the look of their scheme, axes with units, panels, thinning."""

from __future__ import annotations

import html
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from fanin.looks import look

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

Json = dict[str, object]

FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', sans-serif"
GRID, RULE, INK = "#e6e8eb", "#8b939c", "#1b2026"

PATTERNS = {"solid": "", "dash": "/", "dashdot": "\\", "dot": ".", "longdash": "x", "longdashdot": "-"}
"""How bars are filled, by the dash of the scheme's curves: members of a family share a colour."""


LEGEND_ROW = 19
"""Height of a row of a legend, in pixels."""


def rows_of_legend(schemes: int) -> int:
    """About how many rows a legend takes."""
    return -(-schemes // 5)


@dataclass(frozen=True)
class Panel:
    """One pair of axes of a figure, and what is drawn in it."""

    traces: Sequence[Json]
    y: Json
    title: str = ""


def curve(
    scheme: str,
    x: ArrayLike,
    y: ArrayLike,
    *,
    hover: str,
    name: str | None = None,
    shape: str = "linear",
    more: Json | None = None,
) -> Json:
    """One curve in the look of its scheme. Its texts are escaped: Plotly reads markup in them."""
    style = look(scheme)
    return {
        "type": "scatter",
        "mode": "lines",
        "x": numbers(x),
        "y": numbers(y),
        "line": {"color": style.colour, "dash": style.dash, "width": 2, "shape": shape},
        **_of(scheme, name, hover),
        **(more or {}),
    }


def points(scheme: str, labels: Sequence[str], y: ArrayLike, *, hover: str, customdata: object) -> Json:
    """A curve over named places, each of its points shown."""
    style = look(scheme)
    marker = {"symbol": style.marker, "size": 8, "color": style.colour}
    more = {"mode": "lines+markers", "marker": marker, "x": texts(labels), "customdata": customdata}
    return curve(scheme, [], y, hover=hover, more=more)


def bars(scheme: str, labels: Sequence[str], y: ArrayLike, *, hover: str, **more: object) -> Json:
    """A bar per name."""
    style = look(scheme)
    marker = {"color": style.colour, "pattern": {"shape": PATTERNS[style.dash], "fgcolor": "#ffffff", "size": 6}}
    return {"type": "bar", "x": texts(labels), "y": numbers(y), "marker": marker, **_of(scheme, None, hover), **more}


def _of(scheme: str, name: str | None, hover: str) -> Json:
    return {
        "name": text(name or scheme),
        "legendgroup": scheme,
        "meta": {"scheme": scheme},
        "hovertemplate": f"{hover}<extra>{text(scheme)}</extra>",
    }


def text(words: str) -> str:
    """Words as Plotly shows them: it reads some markup and its own placeholders."""
    return html.escape(words, quote=False).replace("%{", "%&#123;")


def texts(words: Sequence[str]) -> list[str]:
    """Several of them."""
    return [text(word) for word in words]


def axis(title: str, kind: str = "linear", **more: object) -> Json:
    """One axis, its unit in its title."""
    return {
        "title": {"text": text(title), "standoff": 8},
        "type": kind,
        "gridcolor": GRID,
        "zerolinecolor": GRID,
        "linecolor": RULE,
        "showline": True,
        "ticks": "outside",
        "tickcolor": RULE,
        "ticklen": 4,
        "automargin": True,
        **more,
    }


def log_axis(title: str, values: ArrayLike) -> Json:
    """A logarithmic axis for these values, with numbers between powers of ten where there is room for them."""
    known = np.asarray(values, float)
    known = known[known > 0]
    decades = math.log10(known.max() / known.min()) if known.size else 0.0
    return axis(title, "log", tickformat=",~r", dtick="D2" if decades < 2.5 else 1)


def figure(panels: Sequence[Panel], x: Json, *, columns: int = 1, share_y: bool = False, **more: object) -> Json:
    """Panels in a grid of so many columns, row by row, over one kind of x axis that zooms in all of them together.

    With `share_y`, y axes zoom together too, and only the first column has titles. `more` goes into the layout.
    """
    columns = min(columns, len(panels))
    rows = math.ceil(len(panels) / columns)
    gap_x, gap_y = (0.05 if share_y else 0.08), min(0.3 / rows, 0.16)
    width, height = (1 - gap_x * (columns - 1)) / columns, (1 - gap_y * (rows - 1)) / rows
    data: list[Json] = []
    axes: Json = {}
    notes: list[Json] = []
    named: set[object] = set()
    for index, panel in enumerate(panels):
        row, column = divmod(index, columns)
        left, top = column * (width + gap_x), 1 - row * (height + gap_y)
        number = str(index + 1) if index else ""
        lowest = index + columns >= len(panels)
        ends = {"domain": [left, left + width], "anchor": f"y{number}"}
        own_x = x | ends | ({} if lowest else {"title": {"text": ""}})
        own_y = panel.y | {"domain": [max(0.0, top - height), top], "anchor": f"x{number}"}
        if index:
            own_x["matches"] = "x"
        if index and share_y:
            own_y["matches"] = "y"
        if column and share_y:
            own_y["title"] = {"text": ""}
        axes[f"xaxis{number}"], axes[f"yaxis{number}"] = own_x, own_y
        for trace in panel.traces:
            # A scheme stands in the legend once, whatever it is drawn in.
            first = trace["legendgroup"] not in named
            named.add(trace["legendgroup"])
            data.append({**trace, "xaxis": f"x{number}", "yaxis": f"y{number}", "showlegend": first})
        if panel.title:
            notes.append(
                {
                    "text": f"<b>{text(panel.title)}</b>",
                    "showarrow": False,
                    "xref": "paper",
                    "yref": "paper",
                    "x": left,
                    "y": top,
                    "xanchor": "left",
                    "yanchor": "bottom",
                    "font": {"size": 13},
                }
            )
    layout = {
        **axes,
        "annotations": notes,
        "font": {"family": FONT, "size": 12.5, "color": INK},
        "paper_bgcolor": "#ffffff",
        "plot_bgcolor": "#ffffff",
        "margin": {"l": 64, "r": 16, "t": 12 + LEGEND_ROW * rows_of_legend(len(named)) + (18 if notes else 0), "b": 48},
        "legend": {
            "orientation": "h",
            "x": 0,
            "y": 1,
            "yref": "container",
            "xanchor": "left",
            "yanchor": "top",
            "tracegroupgap": 0,
        },
        "hovermode": "closest",
        "hoverlabel": {"namelength": -1, "font": {"family": FONT, "size": 12.5}},
        "dragmode": "zoom",
        "showlegend": True,
    }
    return {"data": data, "layout": layout | more}


def numbers(values: ArrayLike) -> list[float | None]:
    """As JSON holds them: six significant digits, null for a gap."""
    return [float(f"{value:.6g}") if math.isfinite(value) else None for value in np.asarray(values, float).tolist()]


def thin_sorted(count: int, most: int) -> NDArray[np.intp]:
    """Which of so many sorted points to draw: evenly many, the last always, the last hundredth densely."""
    if count <= most:
        return np.arange(count)
    body = np.linspace(0, count - 1, most)
    tail = np.arange(count - min(most // 4, count // 100), count)
    return np.unique(np.concatenate([body, tail]).astype(np.intp))


def thin_series(y: NDArray[np.float64], most: int) -> NDArray[np.intp]:
    """Which points of a series to draw: the lowest and the highest of each of `most / 2` equal stretches, and both ends."""
    if y.size <= most:
        return np.arange(y.size)
    kept = [0, y.size - 1]
    for stretch in np.array_split(np.arange(y.size), most // 2):
        part = y[stretch]
        if np.isnan(part).all():
            kept.append(int(stretch[0]))
            continue
        kept += [int(stretch[np.nanargmin(part)]), int(stretch[np.nanargmax(part)])]
        kept += stretch[np.isnan(part)][:1].tolist()  # a gap stays a gap
    return np.unique(np.array(kept, np.intp))


def steps(
    begin: NDArray[np.float64], end: NDArray[np.float64], value: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Values of intervals, rising in time, as the corners of a curve of shape `hv`; a gap where none adjoins."""
    if begin.size == 0:
        return begin, value
    x: list[float] = []
    y: list[float] = []
    for index in range(begin.size):
        x.append(float(begin[index]))
        y.append(float(value[index]))
        last = index + 1 == begin.size
        if last or not math.isclose(float(begin[index + 1]), float(end[index]), rel_tol=1e-9, abs_tol=1e-6):
            x += [float(end[index]), float(end[index])]
            y += [float(value[index]), math.nan]
    return np.array(x[:-1]), np.array(y[:-1])
