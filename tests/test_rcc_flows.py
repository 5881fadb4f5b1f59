"""RCC's Fig. 10 to 12 as its paper claims them."""

from pathlib import Path

import numpy as np
import pytest

from fanin.papers.experiment import Measured, Study
from fanin.papers.rcc_fairness import fairness, windows
from fanin.papers.rcc_flows import REMAINING
from fanin.papers.rcc_multihop import AVERAGED, CALM, PORTS
from test_dctcp_claims import claim, studied

SIZE, REST = "(priority by size)", "(priority by what remains)"


def differing(study: Study, name: str) -> list[str]:
    """What does not hold of a claim."""
    return [row.what for row in claim(study.rows(), name) if row.verdict != "holds"]


@pytest.fixture(scope="module")
def burst(root: Path) -> Study:
    """60 short flows beside a long one: all seeds, over which the median of ICTCP varies."""
    return studied(root, "rcc-fig10")


@pytest.fixture(scope="module")
def multihop(root: Path) -> Study:
    """Two bottlenecks."""
    return studied(root, "rcc-fig11", quick=True)


def test_rcc_fig10a_burst(burst: Study) -> None:
    assert differing(burst, f"rcc-fig10a-burst {SIZE}") == []
    assert differing(burst, f"rcc-fig10a-burst {REST}") == []


def test_rcc_fig10c_fct(burst: Study) -> None:
    # Flows of the same size end together; the paper's median is that of priority by what remains, its p1 that by size.
    each = "newreno, dctcp, ictcp, rcc"
    assert differing(burst, f"rcc-fig10c-fct {SIZE}") == ["p50, ms", f"p50, ms: {each}"]
    assert differing(burst, f"rcc-fig10c-fct {REST}") == [f"p1, ms: {each}"]


def test_rcc_fig10d_goodput(burst: Study) -> None:
    assert differing(burst, "rcc-fig10d-goodput") == []


def test_rcc_fig11b_throughput(multihop: Study) -> None:
    assert differing(multihop, "rcc-fig11b-throughput (10 Gb/s, mean alpha)") == []
    assert differing(multihop, "rcc-fig11b-throughput (10 Gb/s between switches)") == [
        "S2, p99; p50: newreno, dctcp, ictcp, rcc"
    ]
    at_1g = claim(multihop.rows(), "rcc-fig11b-throughput (1 Gb/s between switches)")
    assert at_1g[0].verdict == "differs"


def test_rcc_fig11cd_drops(multihop: Study) -> None:
    # RCC loses more than DCTCP, in its slow start, and nothing if that ends early.
    assert differing(multihop, "rcc-fig11cd-drops (rcc)") == ["drops: newreno, dctcp, ictcp, rcc"]
    assert differing(multihop, f"rcc-fig11cd-drops ({CALM})") == []
    for seed in (1, 2):
        # What dctcp's packets above K are counted to be is what switches marked.
        run = multihop.measures[("dctcp", 10, seed)]
        for port in PORTS:
            assert run[f"above {port}"][0] == pytest.approx(run[f"marks {port}"][0], rel=0.05)
        for name in ("rcc", CALM, AVERAGED):
            assert multihop.measures[(name, 10, seed)]["above tor2>r1"] == [0]


def test_rcc_fig12a_fairness(root: Path) -> None:
    study = studied(root, "rcc-fig12ab", quick=True)
    assert differing(study, f"rcc-fig12a-fairness {SIZE}") == ["Jain's index with five flows"]
    assert differing(study, f"rcc-fig12a-fairness {REST}") == []
    # By what remains the flow that began first is served first, and the others in the order of their start.
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


def test_rcc_fig12d_coexist(root: Path) -> None:
    study = studied(root, "rcc-fig12cd", quick=True)
    assert differing(study, "rcc-fig12d-coexist (K = 60 packets)") == []
    assert differing(study, "rcc-fig12d-coexist (no ECN)") == []
    # With a mean of alpha, which grows slowly, RCC takes more than its share from a TCP that halves at each mark.
    assert differing(study, "rcc-fig12d-coexist (mean alpha)") == ["mean window of rcc / newreno-ecn"]
    assert "mean window of rcc / newreno-ecn" not in differing(study, "rcc-fig12d-coexist (K = 40 packets)")
