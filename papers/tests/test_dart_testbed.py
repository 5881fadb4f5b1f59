"""The parts of a convergence time on Dart's testbed, and its throughput by groups of messages."""

from types import SimpleNamespace
from typing import cast

import numpy as np
import polars as pl
import pytest

from fanin.result import Result
from fanin_papers import dart_testbed as testbed

R, LFS, SFS = testbed.R, testbed.LFS, testbed.SFS
HOP = testbed.PACKET_US + testbed.LINK_US


def packets(*rows: tuple[str, float, int, int, int, int | None]) -> pl.DataFrame:
    """Port, microseconds, sender, receiver, number, and n on an ACK."""
    columns = ("port", "time_ps", "sender", "receiver", "psn", "of")
    made = [(port, round(us * 1e6), *rest) for port, us, *rest in rows]
    frame = pl.DataFrame(made, schema=columns, orient="row")
    return frame.with_columns(parts=pl.when(pl.col("of").is_not_null()).then(1).cast(pl.Int64))


def test_the_parts_of_a_convergence_time_are_those_of_the_first_ack_with_both_senders() -> None:
    """The burst begins at 100 us and is at R at 107; packet 5 of the long flow comes at 109, its ACK leaves 4 us after,
    and is back 5.5 us later; the sender's next packet arrives 9 us after that."""
    first, answered, marked = 107 - HOP, 109 - HOP, 127.5 - HOP
    found = testbed.convergence(
        packets(
            ("sw>r", 95 - HOP, LFS, R, 4, None),
            ("r>sw", 99.0, R, LFS, 3, 2),
            ("sw>lfs", 102.0, R, LFS, 3, 2),
            ("sw>r", first, SFS, R, 0, None),
            ("r>sw", 108.0, R, LFS, 4, 1),
            ("sw>lfs", 110.5, R, LFS, 4, 1),
            ("sw>r", answered, LFS, R, 5, None),
            ("r>sw", 112.0, R, SFS, 0, 2),
            ("r>sw", 113.0, R, LFS, 5, 2),
            ("sw>lfs", 118.5 - testbed.ACK_US - testbed.LINK_US, R, LFS, 5, 2),
            ("lfs>sw", 118.0, LFS, R, 20, None),
            ("lfs>sw", 118.6, LFS, R, 21, None),
            ("sw>r", marked - 1, LFS, R, 20, None),
            ("sw>r", marked, LFS, R, 21, None),
        ),
        np.array([100.0]),
    )
    expected = {"t_f": 7.0, "wait": 2.0, "t_cpu": 4.0, "t_b": 5.5, "true": 18.5, "single": 20.5}
    assert {part: [pytest.approx(us, abs=1e-5)] for part, us in expected.items()} == found


def test_groups_of_messages_are_inside_a_burst_outside_or_neither() -> None:
    """At 43 Gb/s a group takes 12.5 ms; half of that rate holds from 20 ms to 80 ms."""
    rate = 43e9 / 8
    at_us = np.arange(0, 160_001, 20)
    slow_us = np.clip(at_us - 20_000, 0, 60_000)
    delivered = rate * (at_us - slow_us / 2) / 1e6
    count = at_us.size
    watch = pl.DataFrame({"name": ["delivered_bytes"] * count, "time_ps": at_us * 10**6, "value": delivered})
    bursts = {"traffic": ["sfs"], "start_ps": [20 * 10**9], "completion_ps": [60 * 10**9]}
    result = SimpleNamespace(watch=lambda: watch, flows=lambda: pl.DataFrame(bursts))
    found = testbed.measure_throughput(cast(Result, result))
    group_ms = 1024 * 65536 / rate * 1e3
    # Of group 1, 20 - 12.5 ms are before the burst, so it ends at 20 + 2 (25 - 20) ms.
    second = 20 + 2 * (2 * group_ms - 20)
    edges = [0, group_ms, second, second + 2 * group_ms, second + 4 * group_ms]
    assert found["edge_ms"][:5] == pytest.approx(edges, abs=0.05)
    # The last of these is 79.88 ms, so that the next group is in the burst for 0.12 ms.
    assert found["place"][:6] == [0, 2, 1, 1, 2, 0]
    assert (found["after"], found["burst_ms"]) == ([5.0], [20.0, 80.0])
    assert [found["gbps"][0], found["gbps"][2]] == pytest.approx([43, 21.5], rel=0.001)
