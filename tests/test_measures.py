"""The numbers behind tables and plots, against their definitions."""

import os
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fanin
from fanin import table
from fanin.measures import by_scheme, least_count, nearest_rank, percentile, queue_tail, size_text
from fanin.over_seeds import Estimate, coarser, estimate, mean_curve
from fanin.plot import thin
from fanin.progress import at_pace_s

cases = settings(max_examples=int(os.environ.get("FANIN_CASES", "64")), deadline=None)


@cases
@given(st.lists(st.integers(0, 50), min_size=1, max_size=200), st.integers(1, 1000))
def test_nearest_rank_is_the_smallest_value_with_enough_at_or_below(values: list[int], per_mille: int) -> None:
    enough = [v for v in values if Fraction(sum(w <= v for w in values), len(values)) >= Fraction(per_mille, 1000)]
    assert nearest_rank(np.array(values, dtype=np.float64), per_mille) == min(enough)


def test_nearest_rank_of_nothing_is_none() -> None:
    assert nearest_rank(np.zeros(0), 990) is None


@pytest.mark.parametrize(("per_mille", "needed"), [(950, 20), (990, 100), (999, 1000)])
def test_a_percentile_needs_a_value_above_it(per_mille: int, needed: int) -> None:
    values = np.arange(1.0, needed + 1)
    assert percentile(values, per_mille) == needed - 1 == nearest_rank(values, per_mille)
    assert percentile(values[:-1], per_mille) is None, "it would be the largest, whatever its name"
    assert least_count(per_mille) == needed


def test_the_median_of_one_value_is_this_value() -> None:
    assert percentile(np.array([87.091]), 500) == 87.091
    assert percentile(np.zeros(0), 500) is None


def test_runs_are_seeds_of_one_another_only_under_one_spec(tiny: Path) -> None:
    def ran(*changes: str, seed: int = 1) -> fanin.Result:
        return fanin.run(tiny, scheme="none", seed=seed, set=["measure.window=100 us", *changes], progress=False)

    first, second = ran(), ran(seed=2)
    assert by_scheme([first, second]) == {"none": [first, second]}
    small = ran("network.buffer.per_port=100 KB")
    assert list(by_scheme([first, small, second])) == ["none (per_port=225 KB)", "none (per_port=100 KB)"]
    assert by_scheme([first, small, second])["none (per_port=225 KB)"] == [first, second]
    other = ran("name='other'", "network.buffer.per_port=100 KB")
    assert list(by_scheme([first, other])) == ["none (tiny incast)", "none (other)"]


def test_a_mean_over_seeds_has_an_interval_and_none_where_one_lacks_it() -> None:
    assert estimate([3.0]) == Estimate(3.0, None)
    # Student's t for two degrees of freedom, from a printed table.
    three = estimate([1.0, 2.0, 3.0])
    assert three.mean == 2.0
    assert three.half == pytest.approx(4.303 / 3**0.5, rel=1e-3)
    assert estimate([1.0, None, 3.0]) == Estimate(None, None)
    assert estimate([]) == Estimate(None, None)
    assert Estimate(1.0, 0.4).apart(Estimate(2.0, 0.5))
    assert not Estimate(1.0, 0.6).apart(Estimate(2.0, 0.5))
    assert not Estimate(1.0, None).apart(Estimate(2.0, 0.5)), "one run has no interval"


def test_curves_are_means_with_a_band() -> None:
    def frames(*columns: Sequence[float | None]) -> list[pl.DataFrame]:
        schema = {"time_us": pl.Float64, "value": pl.Float64}
        return [pl.DataFrame({"time_us": [10.0, 20.0], "value": list(one)}, schema=schema) for one in columns]

    few = mean_curve(frames([1.0, 4.0], [3.0, 8.0]), ["time_us"], "value")
    assert few.rows() == [(10.0, 2.0, 1.0, 3.0, 2), (20.0, 6.0, 4.0, 8.0, 2)]
    assert mean_curve(frames([1.0, None]), ["time_us"], "value").rows() == [(10.0, 1.0, None, None, 1)]
    five = mean_curve(frames(*([float(v), 0.0] for v in (1, 2, 3, 4, 5))), ["time_us"], "value")
    half = 2.776 * (2.5 / 5) ** 0.5
    assert five.row(0)[1:] == (3.0, pytest.approx(3 - half, rel=1e-3), pytest.approx(3 + half, rel=1e-3), 5)
    rare = mean_curve(frames(*([float(v), 0.0] for v in (0, 0, 0, 0, 5))), ["time_us"], "value")
    assert rare["low"][0] == 0.0, "what is never below zero has no band there"
    gap = mean_curve(frames([1.0, 4.0], [3.0, None]), ["time_us"], "value")
    assert gap.rows()[1] == (20.0, 4.0, None, None, 1)
    assert mean_curve(frames([1.0, 4.0], [3.0, None]), ["time_us"], "value", whole=True).height == 1


def test_longer_stretches_keep_the_mean() -> None:
    begin = np.arange(0.0, 1000.0, 10.0)
    rng = np.random.default_rng(1)
    frame = pl.DataFrame({"begin_us": begin, "end_us": begin + 10, "gbps": rng.random(begin.size)})
    (coarse,) = coarser([frame], ["begin_us", "end_us"], "gbps", most=30)
    assert coarse["begin_us"].to_list() == [40.0 * k for k in range(25)]
    assert (coarse["end_us"] - coarse["begin_us"]).to_list() == [40.0] * 25
    assert coarse["gbps"][0] == pytest.approx(frame["gbps"][:4].mean())
    assert coarser([frame], ["begin_us", "end_us"], "gbps", most=100) == [frame]


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
    assert at_pace_s(1.0, 4.0, 10.0) == 30.0
    assert at_pace_s(4.0, 4.0, 10.0) == 0.0
    assert at_pace_s(0.0, 4.0, 10.0) is None
