"""The analysis of RCC's Fig. 11 and 12; `fanin claims --check quick` holds the verdicts."""

import numpy as np
import pytest

from conftest import Studied
from fanin_papers.experiment import Measured
from fanin_papers.rcc_fairness import fairness, windows
from fanin_papers.rcc_flows import REMAINING
from fanin_papers.rcc_multihop import AVERAGED, CALM, PORTS


def test_packets_above_k_are_those_that_switches_mark(studied: Studied) -> None:
    multihop = studied("rcc-fig11")
    for seed in (1, 2):
        run = multihop.measures[("dctcp", 10, seed)]
        for port in PORTS:
            assert run[f"above {port}"][0] == pytest.approx(run[f"marks {port}"][0], rel=0.05)
        for name in ("rcc", CALM, AVERAGED):
            assert multihop.measures[(name, 10, seed)]["above tor2>r1"] == [0]


def test_by_what_remains_flows_are_served_in_the_order_of_their_start(studied: Studied) -> None:
    study = studied("rcc-fig12ab")
    shares = windows(study.measures[(REMAINING, 5, 1)])[120]
    assert (np.diff(shares) <= 5).all()
    assert shares[0] > 1.5 * shares[4]


def test_rates_are_of_flows_that_were_open_all_the_time() -> None:
    run: Measured = {f"f{n}": [float(n)] * 200 for n in range(1, 6)}
    run["ends_ms"] = [70, 130, 140, 150, 160]
    found = {begin: rates.tolist() for begin, rates in windows(run).items()}
    # The first flow ends at 70 ms, before the fifth begins, so five are never open together.
    assert found == {
        0: [1],
        20: [1, 2],
        40: [1, 2, 3],
        60: [2, 3, 4],
        80: [2, 3, 4, 5],
        100: [2, 3, 4, 5],
        120: [3, 4, 5],
    }
    assert fairness(run) == []
    run["ends_ms"] = [160] * 5
    assert fairness(run) == pytest.approx([15**2 / (5 * 55)] * 3)
