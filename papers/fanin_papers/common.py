"""Shared by the papers' experiments."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter
from numpy.typing import ArrayLike

from fanin.measures import nearest_rank
from fanin.plot import thin
from fanin_papers.experiment import Key, Measures

SEEDS = (1, 2, 3)


def seeds(quick: bool) -> Sequence[int]:
    """The seeds; a short version has one."""
    return SEEDS[:1] if quick else SEEDS


def mean(values: Sequence[float]) -> float:
    """NaN without values."""
    return float(np.mean(values)) if values else float("nan")


def quantile(values: Sequence[float], share: float) -> float:
    """By nearest rank, as in all of Fanin."""
    found = nearest_rank(np.asarray(values, dtype=np.float64), round(share * 1000))
    return float("nan") if found is None else found


def percentile(share: float) -> Callable[[Sequence[float]], float]:
    """The quantile as a statistic for `over_seeds`."""
    return lambda values: quantile(values, share)


class OverSeeds(float):
    """A number over seeds. Formatted, the range of the seeds follows it, as `3.2 (3.1 to 3.4)`, if its digits show one.

    The four operations with plain numbers, and with others of the same seeds, keep the seeds apart.
    """

    by_seed: Mapping[int, float]

    def __new__(cls, value: float, by_seed: Mapping[int, float]) -> OverSeeds:
        """A number, and what it is with each seed."""
        made = super().__new__(cls, value)
        made.by_seed = by_seed
        return made

    def __format__(self, form: str, /) -> str:
        shown = format(float(self), form)
        if not self.by_seed:
            return shown
        least, most = (format(end, form) for end in (min(self.by_seed.values()), max(self.by_seed.values())))
        return shown if least == most else f"{shown} ({least} to {most})"

    def _with(self, other: float, of: Callable[[float, float], float]) -> OverSeeds:
        alike = not isinstance(other, OverSeeds) or self.by_seed.keys() == other.by_seed.keys()
        theirs = other.by_seed if isinstance(other, OverSeeds) else dict.fromkeys(self.by_seed, other)
        try:
            by_seed = {seed: of(mine, theirs[seed]) for seed, mine in self.by_seed.items()} if alike else {}
        except ZeroDivisionError:
            by_seed = {}
        return OverSeeds(of(float(self), float(other)), by_seed)

    def __mul__(self, other: float, /) -> OverSeeds:
        return self._with(other, operator.mul)

    __rmul__ = __mul__

    def __truediv__(self, other: float, /) -> OverSeeds:
        return self._with(other, operator.truediv)

    def __add__(self, other: float, /) -> OverSeeds:
        return self._with(other, operator.add)

    __radd__ = __add__

    def __sub__(self, other: float, /) -> OverSeeds:
        return self._with(other, operator.sub)

    def __rsub__(self, other: float, /) -> OverSeeds:
        return self._with(other, lambda mine, theirs: theirs - mine)


def pooled(measures: Measures, key: Key, name: str) -> list[float]:
    """The measurements of all seeds of a point of the sweep, concatenated; `key` is without the seed."""
    return [value for run, measured in measures.items() if run[:-1] == key for value in measured[name]]


def over_seeds(measures: Measures, key: Key, name: str, statistic: Callable[[Sequence[float]], float] = mean) -> float:
    """A statistic of a point of the sweep, of the measurements of all seeds together; formatted, the range of those of
    each seed follows it. `key` is without the seed."""
    runs = {int(run[-1]): measured[name] for run, measured in measures.items() if run[:-1] == key}
    by_seed = {seed: statistic(values) for seed, values in runs.items() if values}
    known = {seed: value for seed, value in by_seed.items() if value == value}
    return OverSeeds(statistic(pooled(measures, key, name)), known)


def points(measures: Measures, scheme: str) -> list[int]:
    """The second parts of the keys of a scheme, in order."""
    return sorted({int(key[1]) for key in measures if key[0] == scheme})


def picture(width: float, height: float, title: str = "") -> Figure:
    """An empty figure of this size in inches."""
    figure = Figure(figsize=(width, height), layout="constrained")
    if title:
        figure.suptitle(title, fontsize=11)
    return figure


def cdf(axes: Axes, values: ArrayLike, **shown: Any) -> None:
    """The share of the values up to each of them, as a curve."""
    rising = np.sort(np.asarray(values))
    at = thin(rising.size)
    axes.step(rising[at], (at + 1) / max(rising.size, 1), where="post", **shown)


def log_ticks(axes: Axes, which: str = "y") -> None:
    """A logarithmic axis, x or y, with ticks at 10, 20, 50, 100, or at powers of ten if it has more than two."""
    axis = axes.xaxis if which == "x" else axes.yaxis
    low, high = axes.get_xlim() if which == "x" else (1.0, 1.0)
    axis.set_major_locator(LogLocator(subs=(1.0,) if high > 100 * low else (1.0, 2.0, 5.0)))
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axis.set_minor_formatter(NullFormatter())
