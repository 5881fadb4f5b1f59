"""Shared by HPCC's experiments with production traffic: percentiles of slowdowns by size, over all seeds."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator
from numpy.typing import NDArray

from fanin_papers.common import pooled
from fanin_papers.experiment import Key, Measures

WEB_SEARCH_KB = (0, 3, 10, 20, 30, 50, 80, 200, 1000, 2000, 5000, 30_000)
FB_HADOOP_KB = (0, 0.35, 0.5, 0.7, 1, 2, 7, 30, 50, 80, 120, 300, 1000, 10_000)
"""Edges of bins of message sizes: those of the distributions, so that each has 5 to 20 % of the messages."""

ENOUGH = 20
"""Fewest messages of a bin of which a 95th percentile is shown."""


def by_size(measures: Measures, key: Key, edges: Sequence[float], share: float) -> NDArray[np.float64]:
    """A percentile of slowdowns in each bin of sizes, over all seeds; NaN where a bin has too few messages."""
    kb, slowdown = (np.array(pooled(measures, key, name)) for name in ("kb", "slowdown"))
    inside = [(kb > low) & (kb <= high) for low, high in itertools.pairwise(edges)]
    return np.array([np.percentile(slowdown[one], share) if one.sum() >= ENOUGH else np.nan for one in inside])


def between(measures: Measures, key: Key, low_kb: float, high_kb: float, name: str = "slowdown") -> NDArray[np.float64]:
    """The slowdowns of messages above one size and up to another, over all seeds."""
    kb, slowdown = (np.array(pooled(measures, key, one)) for one in ("kb", name))
    return slowdown[(kb > low_kb) & (kb <= high_kb)]


def percentile(values: Sequence[float] | NDArray[np.float64], share: float) -> float:
    """NaN without values."""
    return float(np.percentile(values, share)) if len(values) else float("nan")


def smaller(edges: Sequence[float], kb: float) -> int:
    """The number of bins up to a size."""
    return sum(edge <= kb for edge in edges[1:])


def size_axis(axes: Axes, edges: Sequence[float]) -> None:
    """Names the bins by their upper edges."""
    names = [f"{high * 1000:g}" if high < 1 else f"{high:g}K" if high < 1000 else f"{high / 1000:g}M" for high in edges]
    axes.set_xticks(range(len(edges) - 1), names[1:], rotation=45, ha="right")


def slowdown_axis(axes: Axes, most: float) -> None:
    """A logarithmic axis from 1 upwards."""
    axes.set_yscale("log")
    axes.set_ylim(0.95, most)
    axes.yaxis.set_major_locator(FixedLocator([tick for tick in (1, 2, 5, 10, 20, 50, 100, 200, 500) if tick <= most]))
    axes.yaxis.set_minor_locator(NullLocator())
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))


def queue_percentiles(
    measures: Measures, key: Key, ports: str, shares: Sequence[float], *, busy: bool = False
) -> list[float]:
    """Percentiles of a queue in KB over all samples of all seeds, or over those of a queue that is not empty: each the
    middle of its bin."""
    kb, count = histogram(measures, key, ports, busy=busy)
    if not kb.size:
        return [float("nan")] * len(shares)
    reached = np.cumsum(count) / count.sum()
    return [float(kb[np.searchsorted(reached, share / 100)]) for share in shares]


def histogram(
    measures: Measures, key: Key, ports: str, *, busy: bool = False
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The lengths of queues in KB, in order, and how often each was found."""
    low, high, count = (np.array(pooled(measures, key, f"{ports}: {name}")) for name in ("from", "below", "count"))
    middle = np.where(low > 0, (low + high - 1) / 2e3, 0.0)
    kb, place = np.unique(middle, return_inverse=True)
    found = np.bincount(place, weights=count, minlength=kb.size).astype(np.float64)
    return (kb[kb > 0], found[kb > 0]) if busy else (kb, found)
