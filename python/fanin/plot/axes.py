"""Axes whose labels never overlap: ticks and their labels."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import ceil, floor, log10
from typing import TYPE_CHECKING, Literal

import numpy as np
from matplotlib.ticker import FixedLocator, FuncFormatter, MaxNLocator, NullLocator

from fanin.quantities import spans_decades

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from numpy.typing import ArrayLike

Text = Callable[[float], str]
"""The label of a tick."""


def across_figure(figure: Figure, fontsize: float) -> int:
    """About how many letters fit beside each other."""
    return int(figure.get_figwidth() * 72 / (0.53 * fontsize))


def log_ticks(low: float, high: float, most: int) -> list[float]:
    """At most so many round numbers between two ends, evenly apart on a logarithmic axis."""
    first, last = floor(log10(low)), ceil(log10(high))
    for apart, steps in ((1, (1, 2, 5)), (1, (1, 3)), *((apart, (1,)) for apart in range(1, last - first + 2))):
        ticks = [step * 10.0**power for power in range(first, last + 1, apart) for step in steps]
        within = [tick for tick in ticks if low * (1 - 1e-9) <= tick <= high * (1 + 1e-9)]
        if len(within) <= most:
            return within
    return []


def set_axis(axes: Axes, which: Literal["x", "y"], values: ArrayLike, text: Text | None = None, most: int = 7) -> bool:
    """Makes an axis fit for these values: logarithmic, and True, where they span decades.

    `text` makes the labels of ticks, by default plain numbers.
    """
    known = np.asarray(values, float)
    known = known[np.isfinite(known)]
    axis = axes.xaxis if which == "x" else axes.yaxis
    shown = text or plain_number
    axis.set_major_formatter(FuncFormatter(lambda value, _: shown(value)))
    if not spans_decades(known.tolist()):
        axis.set_major_locator(MaxNLocator(most, steps=[1, 2, 2.5, 5, 10]))
        return False
    low, high = float(known.min()) * 0.9, float(known.max()) * 1.1
    if which == "x":
        axes.set_xscale("log")
        axes.set_xlim(low, high)
    else:
        axes.set_yscale("log", nonpositive="clip")
        axes.set_ylim(low, high)
    axis.set_major_locator(FixedLocator(log_ticks(low, high, most)))
    axis.set_major_formatter(FuncFormatter(lambda value, _: shown(value)))
    axis.set_minor_locator(NullLocator())
    return True


def plain_number(value: float) -> str:
    """For example "0.5", "20" and "10,000"; thousands are separated, without exponents."""
    return f"{value:,.10g}" if abs(value) < 1e15 else f"{value:g}"


UNITS = (("s", 1e6), ("ms", 1e3), ("us", 1.0))


def time_text(us: float) -> str:
    """A round time with its unit: "10 us", "2 ms"."""
    unit, scale = next(((unit, scale) for unit, scale in UNITS if us >= scale), ("us", 1.0))
    return f"{us / scale:g} {unit}"


def time_axis(axes: Axes, values_us: ArrayLike, title: str) -> str:
    """Makes the x axis fit for times in microseconds, and returns its title with the unit or the scale."""
    known = np.asarray(values_us, float)
    largest = float(known.max()) if known.size else 1.0
    unit, scale = next(((unit, scale) for unit, scale in UNITS if largest >= 2 * scale), ("us", 1.0))
    if set_axis(axes, "x", known, time_text):
        return f"{title} (log scale)"
    axes.xaxis.set_major_formatter(FuncFormatter(lambda us, _: plain_number(us / scale)))
    return f"{title} ({unit})"


def name_ticks(axes: Axes, names: Sequence[str], *, inches: float, fontsize: float = 9) -> None:
    """Names at the places 0, 1, ... of the x axis, slanted where they are too long to stand beside each other."""
    room = inches * 72 / (0.6 * fontsize) / max(1, len(names))
    aslant = max((len(line) for name in names for line in name.split("\n")), default=0) + 1 > room
    axes.set_xticks(range(len(names)), labels=list(names), fontsize=fontsize)
    if aslant:
        axes.tick_params(axis="x", rotation=45)
        for label in axes.get_xticklabels():
            label.set(ha="right", rotation_mode="anchor")
