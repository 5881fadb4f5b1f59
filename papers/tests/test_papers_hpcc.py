"""The analysis in HPCC's experiments."""

from types import SimpleNamespace
from typing import cast

import numpy as np
import polars as pl
import pytest

from fanin.result import Result
from fanin_papers import hpcc_theory, hpcc_trade_offs
from fanin_papers.hpcc_starts import after_bursts


@pytest.mark.parametrize("level", [0.0, 0.25, 0.9])
def test_work_of_one_source_decays_from_a_packet_to_none(level: float) -> None:
    # A packet in each period of 1/0.8 service times.
    assert hpcc_theory.work_above(level, 0.8, sources=1) == pytest.approx((1 - level) * 0.8)


@pytest.mark.parametrize(("level", "share"), [(0.0, 0.8), (1.0, 0.16)])
def test_work_of_two_sources_is_that_of_all_their_phases(level: float, share: float) -> None:
    # Period 2.5: there is more than one packet's work only while the two overlap.
    found = []
    for phase in np.linspace(0, 2.5, 100, endpoint=False) + 2.5 / 200:
        at = np.linspace(0, 5, 1000, endpoint=False)
        work = np.zeros_like(at)
        left, before = 0.0, 0.0
        arrivals = sorted([0.0, 2.5, 5.0, phase, phase + 2.5])
        for number, now in enumerate(at):
            came = sum(before <= arrival < now + 1e-12 for arrival in arrivals)
            left = max(0.0, left - (at[1] if number else 0.0)) + came
            work[number], before = left, now + 1e-12
        found.append((work[500:] > level).mean())
    assert np.mean(found) == pytest.approx(share, abs=0.01)
    assert hpcc_theory.work_above(level, 0.8, sources=2) == pytest.approx(share, abs=0.01)


def test_rates_as_a_fluid_rest_where_the_appendix_says() -> None:
    off, ordered = hpcc_theory.fluid(np.ones((4, 1)), [0.1, 0.2, 0.3, 0.4], 0.002)
    assert off < 1e-9
    assert ordered
    # A flow over a link that is less busy has the larger rate.
    off, ordered = hpcc_theory.fluid(np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]]), [0.5, 0.1, 0.3], 0.002)
    assert off < 1e-9
    assert ordered


Hop = tuple[int, str, str, str | None]


def hops(rows: list[Hop]) -> pl.DataFrame:
    """The table of hops: time, message, node and port."""
    names = ["time_ps", "message", "node", "port"]
    return pl.DataFrame(
        rows, schema=dict(zip(names, (pl.Int64, pl.String, pl.String, pl.String), strict=True)), orient="row"
    )


def test_bytes_in_flight_are_those_sent_and_not_arrived() -> None:
    # Two messages of one incast: the first has three packets under way at once, the second one at another time.
    rows: list[Hop] = [(at, "incasts:0", "h1", "h1>sw0") for at in (0, 1, 2)]
    rows += [(5, "incasts:1", "h2", "h2>sw0")]
    rows += [(3, "incasts:0", "sw0", "sw0>h0"), (4, "incasts:0", "h0", None), (6, "incasts:0", "h0", None)]
    result = cast("Result", SimpleNamespace(hops=lambda: hops(sorted(rows, key=lambda row: row[0]))))
    found = hpcc_trade_offs.in_flight(result)
    assert found == {"mean_kb": [3 / hpcc_trade_offs.DEGREE], "most_kb": [3.0]}


def test_the_window_after_a_burst_is_that_after_the_ack_of_what_was_sent_before_the_first_ack() -> None:
    us = 1_000_000
    rows: list[Hop] = [(at * us, "s:0", "h1", "h1>sw0") for at in (0, 1, 2, 6, 9)]
    rows += [(at * us, "s:0", "h0", None) for at in (4, 6, 8, 10)]
    watch = pl.DataFrame(
        {
            "name": ["window_bytes"] * 12,
            "where": ["s:0"] * 12,
            "time_ps": [at * us for at in range(12)],
            "value": [float(at) for at in range(12)],
        }
    )
    result = cast(
        "Result", SimpleNamespace(hops=lambda: hops(sorted(rows, key=lambda row: row[0])), watch=lambda: watch)
    )
    # The first ACK comes at 5: the burst is of three packets, whose last ACK comes at 9; one packet left in between.
    windows, between = after_bursts(result, back_us=1.0)
    assert windows == [10.0]
    assert between == [1.0]
