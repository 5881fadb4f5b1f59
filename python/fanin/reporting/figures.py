"""Plotly figures as plain dictionaries: curves in the style of their scheme, axes with units, panels, thinning."""

from __future__ import annotations

import html
import math
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from fanin.quantities import spans_decades
from fanin.style import MARK_COLOUR, Style

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

Json = dict[str, object]

FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', sans-serif"
GRID, RULE, INK = "#e6e8eb", "#8b939c", "#1b2026"

PATTERNS = {"solid": "", "dash": "/", "dashdot": "\\", "dot": ".", "longdash": "x", "longdashdot": "-"}
"""The fill pattern of bars, by the dash of the scheme's curves: members of a family share a colour."""


LEGEND_ROW = 19
"""Height of a row of a legend, in pixels."""


def rows_of_legend(schemes: int) -> int:
    """The approximate number of rows of a legend."""
    return -(-schemes // 5)


@dataclass(frozen=True)
class Panel:
    """One pair of axes of a figure with its curves."""

    traces: Sequence[Json]
    y: Json
    title: str = ""


def curve(
    scheme: str,
    x: ArrayLike,
    y: ArrayLike,
    style: Style,
    *,
    hover: str,
    name: str | None = None,
    shape: str = "linear",
    more: Json | None = None,
) -> Json:
    """One curve. Its texts are escaped: Plotly reads markup in them."""
    return {
        "type": "scatter",
        "mode": "lines",
        "x": numbers(x),
        "y": numbers(y),
        "line": {"color": style.colour, "dash": style.dash, "width": 2, "shape": shape},
        **_of(scheme, name, hover),
        **(more or {}),
    }


def band(
    scheme: str, x: ArrayLike, low: ArrayLike, high: ArrayLike, colour: str, *, shape: str, opacity: float
) -> Json | None:
    """The area between two curves; None if there is none. A gap in both curves is a gap of
    the area."""
    across, below, above = (np.asarray(values, float) for values in (x, low, high))
    known = np.isfinite(below) & np.isfinite(above)
    edges = np.flatnonzero(np.diff(np.concatenate([[False], known, [False]])))
    xs: list[float] = []
    ys: list[float] = []
    for begin, end in zip(edges[::2], edges[1::2], strict=True):
        one, upper, lower = across[begin:end], above[begin:end], below[begin:end]
        if shape == "hv":
            one, upper = _stairs(one, upper)
            _, lower = _stairs(across[begin:end], lower)
        xs += [*one, *one[::-1], math.nan]
        ys += [*upper, *lower[::-1], math.nan]
    if not xs:
        return None
    red, green, blue = (int(colour[at : at + 2], 16) for at in (1, 3, 5))
    return {
        "type": "scatter",
        "mode": "lines",
        "x": numbers(xs[:-1]),
        "y": numbers(ys[:-1]),
        "fill": "toself",
        "fillcolor": f"rgba({red},{green},{blue},{opacity:g})",
        "line": {"color": colour, "width": 0},
        "hoverinfo": "skip",
        "name": text(scheme),
        "legendgroup": scheme,
        "meta": {"scheme": scheme, "band": True},
    }


def _stairs(x: NDArray[np.float64], y: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The corners of a curve that holds each value until the next."""
    return np.repeat(x, 2)[1:], np.repeat(y, 2)[:-1]


def points(
    scheme: str,
    x: Sequence[str] | ArrayLike,
    y: ArrayLike,
    style: Style,
    half: ArrayLike | None = None,
    *,
    hover: str,
    customdata: object = None,
) -> Json:
    """A curve over places or numbers, each of its points shown, with half the width of its interval where it has
    one."""
    marker = {"symbol": style.marker, "size": 8, "color": style.colour}
    places = texts(x) if isinstance(x, list) and x and isinstance(x[0], str) else x
    more: Json = {"mode": "lines+markers", "marker": marker, "x": places}
    if customdata is not None:
        more["customdata"] = customdata
    if half is not None and np.nan_to_num(np.asarray(half, float)).any():
        more["error_y"] = interval(y, half)
    return curve(scheme, [], y, style, hover=hover, more=more)


def interval(y: ArrayLike, half: ArrayLike) -> Json:
    """Error bars of half these widths; no quantity here goes below zero, so neither do they."""
    widths = np.nan_to_num(np.asarray(half, float))
    below = np.minimum(widths, np.nan_to_num(np.asarray(y, float)))
    ends: Json = {"array": numbers(widths), "arrayminus": numbers(below)}
    return {"type": "data", "symmetric": False, **ends, "thickness": 1.2, "width": 4}


def bars(scheme: str, labels: Sequence[str], y: ArrayLike, style: Style, *, hover: str, **more: object) -> Json:
    """A bar per name."""
    pattern = {"shape": PATTERNS[style.dash], "fgcolor": "#ffffff", "size": 6, "fillmode": "overlay"}
    marker = {"color": style.colour, "pattern": pattern}
    return {"type": "bar", "x": texts(labels), "y": numbers(y), "marker": marker, **_of(scheme, None, hover), **more}


def _of(scheme: str, name: str | None, hover: str) -> Json:
    return {
        "name": text(name or scheme),
        "legendgroup": scheme,
        "meta": {"scheme": scheme},
        "hovertemplate": f"{hover}<extra>{text(scheme)}</extra>",
    }


def text(words: str) -> str:
    """Text escaped for Plotly, which interprets some markup and its own placeholders."""
    return html.escape(words, quote=False).replace("%{", "%&#123;")


def texts(words: Sequence[str]) -> list[str]:
    """Several of them."""
    return [text(word) for word in words]


def axis(title: str, kind: str = "linear", **more: object) -> Json:
    """One axis, its unit in its title, which may have several lines."""
    return {
        "title": {"text": text(title).replace("\n", "<br>"), "standoff": 8},
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


LETTERS = 32
"""The longest line of a title beside an axis: a chart is not high enough for more."""


def value_axis(title: str, values: ArrayLike, unit: str = "") -> Json:
    """An axis for these values: logarithmic where they span decades, with numbers between powers of ten where there is
    room for them, and else from zero."""
    known = np.asarray(values, float)
    known = known[np.isfinite(known)]
    told = ", ".join(filter(None, [unit, "log scale" if spans_decades(known.tolist()) else ""]))
    named = textwrap.fill(f"{title} ({told})" if told else title, LETTERS)
    if not spans_decades(known.tolist()):
        return axis(named, rangemode="tozero", tickformat=",~r")
    low, high = math.log10(known.min()), math.log10(known.max())
    # The ends are set, since a band or an interval may reach down to 0, which a logarithmic axis does not have.
    ends = [low - 0.04 * (high - low), high + 0.04 * (high - low)]
    return axis(named, "log", tickformat=",~r", dtick="D2" if high - low < 2.5 else 1, range=ends)


def figure(
    panels: Sequence[Panel],
    x: Json,
    *,
    columns: int = 1,
    share_y: bool = False,
    marks: Sequence[tuple[float, str]] = (),
    **more: object,
) -> Json:
    """Panels in a grid of so many columns, row by row, over one kind of x axis that zooms in all of them together.

    With `share_y`, y axes zoom together too, and only the first column has titles. `marks` are vertical lines in every
    panel: where, and what is written beside them in the first one. `more` goes into the layout.
    """
    columns = min(columns, len(panels))
    rows = math.ceil(len(panels) / columns)
    gap_x, gap_y = (0.05 if share_y else 0.08), min(0.3 / rows, 0.16)
    width, height = (1 - gap_x * (columns - 1)) / columns, (1 - gap_y * (rows - 1)) / rows
    data: list[Json] = []
    axes: Json = {}
    notes: list[Json] = []
    lines: list[Json] = []
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
            # A scheme is in the legend once.
            group, meta = trace["legendgroup"], trace["meta"]
            first = group not in named and not (isinstance(meta, dict) and meta.get("band"))
            if first:
                named.add(group)
            data.append({**trace, "xaxis": f"x{number}", "yaxis": f"y{number}", "showlegend": first})
        for at, said in marks:
            place: Json = {"xref": f"x{number}", "yref": f"y{number} domain"}
            dashed = {"color": MARK_COLOUR, "width": 1, "dash": "dash"}
            lines.append(
                {"type": "line", "x0": at, "x1": at, "y0": 0, "y1": 1, "layer": "below", "line": dashed, **place}
            )
            if index == 0:
                beside = {"textangle": -90, "xanchor": "left", "yanchor": "top", "bgcolor": "rgba(255,255,255,0.7)"}
                font = {"size": 10.5, "color": MARK_COLOUR}
                notes.append({"text": text(said), "showarrow": False, "x": at, "y": 1, "font": font, **beside, **place})
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
        "shapes": lines,
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
    """Which points of a series to draw: the lowest and the highest of each of `most / 2` equal stretches, and both
    ends."""
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
    begin: NDArray[np.float64], end: NDArray[np.float64], *values: NDArray[np.float64]
) -> tuple[NDArray[np.float64], ...]:
    """Values of intervals, rising in time, as the corners of curves of shape `hv`; a gap where none adjoins. First the
    times, then the corners of each."""
    if begin.size == 0:
        return (begin, *values)
    x: list[float] = []
    corners: list[list[float]] = [[] for _ in values]
    for index in range(begin.size):
        x.append(float(begin[index]))
        last = index + 1 == begin.size
        alone = last or not math.isclose(float(begin[index + 1]), float(end[index]), rel_tol=1e-9, abs_tol=1e-6)
        if alone:
            x += [float(end[index]), float(end[index])]
        for y, value in zip(corners, values, strict=True):
            y += [float(value[index])] * (2 if alone else 1) + ([math.nan] if alone else [])
    return (np.array(x[:-1]), *(np.array(y[:-1]) for y in corners))
