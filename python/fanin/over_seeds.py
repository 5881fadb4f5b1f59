"""Numbers and curves over several seeds: their mean and its confidence interval."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from math import atan, cos, pi, sin, sqrt
from statistics import fmean, stdev

import polars as pl

FEW = 5
"""With fewer values, the band of a curve is from the smallest to the largest: a confidence interval of so few would
cover the picture."""


@dataclass(frozen=True)
class Estimate:
    """A number of several runs."""

    mean: float | None
    """Over all runs; None if some run lacks it, since a mean over the others would leave out the worst."""
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
    """The 97.5 % quantile of Student's t of `count` values, which is where it is in -t..t with probability 0.95."""
    low, high = 1.0, 13.0
    while (middle := (low + high) / 2) not in (low, high):
        low, high = (middle, high) if _within(middle, count - 1) < 0.95 else (low, middle)
    return middle


def _within(t: float, degrees: int) -> float:
    """The probability that Student's t lies in -t..t (Abramowitz and Stegun, 26.7.3 and 26.7.4)."""
    angle = atan(t / sqrt(degrees))
    odd = degrees % 2
    term = cos(angle) if odd else 1.0
    total = 0.0
    for k in range(2 + odd, degrees + 1, 2):
        total += term
        term *= cos(angle) ** 2 * (k - 1) / k
    return 2 / pi * (angle + sin(angle) * total) if odd else sin(angle) * total


def mean_curve(frames: Sequence[pl.DataFrame], at: Sequence[str], value: str, *, whole: bool = False) -> pl.DataFrame:
    """A quantity over time as the mean over runs, one row for each set of values of the columns `at` that some run has,
    or, if `whole`, that all have.

    Columns: those of `at`, `mean`, `low` and `high` (the band that `band_text` describes; null where only one run has a
    value), `runs` (how many have one). Nulls are not values.
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
    count, smallest, largest = pl.col("runs"), pl.col("low"), pl.col("high")
    widths = {size: _t(size) / sqrt(size) for size in range(2, len(frames) + 1)}
    half = pl.col("std") * count.replace_strict(widths, default=None, return_dtype=pl.Float64)
    # Where no value is below zero, neither is the band.
    lower = pl.max_horizontal(pl.col("mean") - half, pl.min_horizontal(smallest, 0.0))
    low = pl.when(count >= FEW).then(lower).when(count > 1).then(smallest).alias("low")
    high = pl.when(count >= FEW).then(pl.col("mean") + half).when(count > 1).then(largest).alias("high")
    curve = found.select(*at, "mean", low, high, "runs").sort(at[0], maintain_order=True)
    return curve.filter(pl.col("runs") == len(frames)) if whole else curve


STRETCHES = 150
"""The most intervals of time for means over seeds of quantities that change from sample to sample."""


def coarser(frames: Sequence[pl.DataFrame], at: Sequence[str], value: str, most: int = STRETCHES) -> list[pl.DataFrame]:
    """The same quantity of several runs, averaged over at most so many equal intervals of time, the same in all of
    them.

    The first of the columns `at` is the time; with `end_us` among them, values are weighted with how long they hold.
    """
    begin, *others = at
    times = pl.concat([frame.select(begin) for frame in frames])[begin].unique().sort()
    if times.len() <= most:
        return list(frames)
    first, last, apart = float(times[0]), float(times[-1]), float(times.diff().min())  # type: ignore[arg-type]
    width = apart * max(1, -(-(last - first + apart) // (most * apart)))
    stretch = first + ((pl.col(begin) - first + apart / 2) / width).floor() * width
    weight = pl.col("end_us") - pl.col(begin) if "end_us" in others else pl.lit(1.0)
    names = [name for name in others if name != "end_us"]
    made = []
    for frame in frames:
        known = frame.drop_nulls(value).with_columns(weight.alias("weight"), (pl.col(value) * weight).alias("product"))
        sums = known.group_by(stretch.alias("stretch"), *names, maintain_order=True).agg(
            pl.col("product").sum(), pl.col("weight").sum()
        )
        ends = [(pl.col("stretch") + width).alias("end_us")] if "end_us" in others else []
        mean = (pl.col("product") / pl.col("weight")).alias(value)
        made.append(sums.select(pl.col("stretch").alias(begin), *ends, *names, mean))
    return made


def band_text(seeds: int) -> str:
    """A description of the band of a curve over so many seeds; empty for one, which has none."""
    if seeds < 2:
        return ""
    if seeds < FEW:
        return "mean over seeds, band from the smallest to the largest of them"
    return "mean over seeds, band: 95 % interval"


def band_text_of_messages(seeds: int) -> str:
    """The same for curves of single messages, which are not active in all seeds at the same time."""
    if seeds < 2:
        return ""
    few = f" (of fewer than {FEW}: from the smallest to the largest)" if seeds >= FEW else ""
    return f"{band_text(seeds)}{few}; a message: over the seeds in which it is open"
