"""Shared by the papers' experiments."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SEEDS = (1, 2, 3)


def seeds(quick: bool) -> Sequence[int]:
    """The seeds; a short version has one."""
    return SEEDS[:1] if quick else SEEDS


def mean(values: Sequence[float]) -> float:
    """NaN without values."""
    return float(np.mean(values)) if values else float("nan")


def log_ticks(axes: Axes) -> None:
    """A logarithmic axis with ticks at 10, 20, 50, 100."""
    axes.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.yaxis.set_minor_formatter(NullFormatter())
