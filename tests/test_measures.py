"""The numbers behind tables and plots, against their definitions."""

import os
from fractions import Fraction

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fanin
from fanin import table
from fanin.measures import percentile, queue_tail, size_text
from fanin.plot import thin
from fanin.progress import time_left_s

cases = settings(max_examples=int(os.environ.get("FANIN_CASES", "64")), deadline=None)


@cases
@given(st.lists(st.integers(0, 50), min_size=1, max_size=200), st.integers(1, 1000))
def test_percentile_is_the_smallest_value_with_enough_at_or_below(values: list[int], per_mille: int) -> None:
    enough = [v for v in values if Fraction(sum(w <= v for w in values), len(values)) >= Fraction(per_mille, 1000)]
    assert percentile(np.array(values, dtype=np.float64), per_mille) == min(enough)


def test_percentile_of_nothing_is_none() -> None:
    assert percentile(np.zeros(0), 990) is None


@cases
@given(st.integers(1, 50_000))
def test_thinning_keeps_both_ends(count: int) -> None:
    kept = thin(count)
    assert kept[0] == 0
    assert kept[-1] == count - 1
    assert len(kept) == len(set(kept)) <= 2300


def test_queue_tail_counts_from_the_far_end(result: fanin.Result) -> None:
    lengths, at_least = queue_tail([result, result], "switch-ports")
    bins = result.histograms().filter(pl.col("where") == "switch-ports")
    assert at_least[0] == 1
    assert at_least[-1] == 0
    assert (np.diff(lengths) > 0).all()
    assert (np.diff(at_least) <= 0).all()
    for length, share in zip(lengths, at_least, strict=True):
        longer = bins.filter(pl.col("lower_bytes") >= int(length))["count"].sum()
        assert share == pytest.approx(int(longer) / int(bins["count"].sum()))


@pytest.mark.parametrize(
    ("us", "text"), [(None, "-"), (0, "0"), (0.5, "0.50 us"), (99.96, "100.0 us"), (1500, "1.50 ms"), (2.5e6, "2.50 s")]
)
def test_times_read_well(us: float | None, text: str) -> None:
    assert table.time(us) == text


@pytest.mark.parametrize(("size", "text"), [(999, "999 B"), (8000, "8 KB"), (22_500, "22.5 KB"), (10**9, "1 GB")])
def test_sizes_read_well(size: int, text: str) -> None:
    assert size_text(size) == text


def test_time_left_follows_the_pace() -> None:
    assert time_left_s(1.0, 4.0, 10.0) == 30.0
    assert time_left_s(4.0, 4.0, 10.0) == 0.0
    assert time_left_s(0.0, 4.0, 10.0) is None
