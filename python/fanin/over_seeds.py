"""Numbers and curves over several seeds: their mean, and how far it is to be trusted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from math import sqrt
from statistics import fmean, stdev

import polars as pl

FEW = 5
"""With fewer seeds, the band of a curve reaches from their smallest to their largest value: an interval of the mean of so
few would cover the picture."""


@dataclass(frozen=True)
class Estimate:
    """A number of several runs."""

    mean: float | None
    """Over all runs; None where some run lacks it, since a mean over the others would leave out the worst."""
    half: float | None
    """Half the width of its 95 % confidence interval; None of one run."""

    def apart(self, other: Estimate) -> bool:
        """Whether both have intervals and these do not overlap."""
        if self.mean is None or other.mean is None or self.half is None or other.half is None:
            return False
        return abs(self.mean - other.mean) > self.half + other.half


def estimate(values: Sequence[float | None]) -> Estimate:
    """The mean of a number over runs with its interval."""
    known = [value for value in values if value is not None]
    if not known or len(known) < len(values):
        return Estimate(None, None)
    return Estimate(fmean(known), half_width(known)) if len(known) > 1 else Estimate(known[0], None)


def half_width(values: Sequence[float]) -> float:
    """Half the width of the 95 % confidence interval of the mean of at least two values, by Student's t."""
    return _t(len(values)) * stdev(values) / sqrt(len(values))


@cache
def _t(count: int) -> float:
    from scipy.special import stdtrit

    return float(stdtrit(count - 1, 0.975))


def mean_curve(frames: Sequence[pl.DataFrame], at: Sequence[str], value: str) -> pl.DataFrame:
    """A quantity over time as the mean over runs, one row for each set of values of the columns `at` that some run has.

    Columns: those of `at`, `mean`, `low` and `high` (the band that `band_text` describes; null where only one run has a
    value), `runs` (how many have one). What is null in a run is none of its values.
    """
    number = pl.col(value)
    table = pl.concat([frame.select(*at, number.cast(pl.Float64)) for frame in frames]).drop_nulls(value)
    found = table.group_by(*at, maintain_order=True).agg(
        number.mean().alias("mean"),
        number.std().alias("std"),
        number.min().alias("low"),
        number.max().alias("high"),
        pl.len().alias("runs"),
    )
    if len(frames) < FEW:
        several = pl.col("runs") > 1
        low, high = (pl.when(several).then(name).alias(name) for name in ("low", "high"))
    else:
        widths = {count: _t(count) / sqrt(count) for count in range(2, len(frames) + 1)}
        half = pl.col("std") * pl.col("runs").replace_strict(widths, default=None, return_dtype=pl.Float64)
        # No quantity here goes below zero.
        low = (pl.col("mean") - half).clip(lower_bound=pl.min_horizontal(pl.col("low"), 0.0)).alias("low")
        high = (pl.col("mean") + half).alias("high")
    return found.select(*at, "mean", low, high, "runs").sort(at[0], maintain_order=True)


def band_text(seeds: int) -> str:
    """What the band of a curve over so many seeds is; empty for one, which has none."""
    if seeds < 2:
        return ""
    if seeds < FEW:
        return f"mean over {seeds} seeds, band from the smallest to the largest of them"
    return f"mean over {seeds} seeds, band: 95 % interval"
