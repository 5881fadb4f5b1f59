"""RCC's equations (4) to (23) as its paper prints them, and what the simulation has beyond the verdicts of its rows."""

import pytest
from test_dctcp_claims import claim

from conftest import Studied
from fanin import oitcp
from fanin_papers.experiment import Study
from fanin_papers.rcc_equations import PAPER, alpha, alpha_exact, amplitude, k_bound, period_rtts, q_max
from fanin_papers.rcc_scheduler import MOST_WAITING, acks_waiting, loaded_rtt_us, queue_packets

# The numbers that follow from the paper's: 1 Gb/s, 160 us, K = queue_maxsize = 40


@pytest.mark.parametrize(
    ("n", "alpha_r", "a_r", "t_c", "highest"),
    [(1, 0.137, 3.7, 3.7, 40.5), (2, 0.194, 5.2, 2.6, 41), (4, 0.274, 7.3, 1.8, 42), (10, 0.433, 11.5, 1.2, 45)],
)
def test_eqs_11_to_16(n: int, alpha_r: float, a_r: float, t_c: float, highest: float) -> None:
    assert alpha(PAPER, n) == pytest.approx(alpha_r, abs=5e-4)
    assert amplitude(PAPER, n) == pytest.approx(a_r, abs=0.06)
    assert period_rtts(PAPER, n) == pytest.approx(t_c, abs=0.06)
    assert q_max(PAPER, n) == highest
    assert alpha_exact(PAPER, n) == pytest.approx(alpha(PAPER, n), rel=0.02)


def test_eqs_4_to_7() -> None:
    assert queue_packets(160) == pytest.approx(26.7, abs=0.05)
    assert loaded_rtt_us(160) == pytest.approx(480)
    assert [acks_waiting(n) for n in (20, 40, 45, 1000)] == [0, 0, 5, 960]
    assert pytest.approx(833, abs=0.5) == MOST_WAITING


@pytest.mark.parametrize("bdp", [13.3, 133.3])
def test_eq_18_by_numbers(bdp: float) -> None:
    k, n = k_bound(bdp)
    assert k == pytest.approx(bdp / 7, rel=1e-9)
    assert n == pytest.approx((bdp + k) / 4, rel=1e-9)


def test_eqs_19_to_23() -> None:
    # 32 KB are 21.9 packets, and a flow waits for N of them at each: the paper's 10.7 ms at 40 flows, 23.9 at 90.
    for n, ms in ((40, 10.78), (90, 23.93)):
        assert oitcp.rcc_completion_s(n, 32_000, 40) * 1e3 == pytest.approx(ms, abs=0.01)
        assert oitcp.completion_s(n, 32_000, n) == pytest.approx(oitcp.rcc_completion_s(n, 32_000, 40))
        assert oitcp.completion_s(n, 32_000, 10 * n) == pytest.approx(oitcp.completion_s(n, 32_000, n))
    assert oitcp.window_bytes(80, 100) == pytest.approx(1825)
    assert oitcp.windows(80, 36_500, 100) == pytest.approx(20)
    assert oitcp.rcc_queueing_s(90, 40) == pytest.approx(90 * 12e-6)
    with pytest.raises(ValueError, match="41 flows exceed a queue of 40 packets"):
        oitcp.completion_s(41, 32_000, 40)


# The simulation


@pytest.fixture(scope="module")
def scheduler(studied: Studied) -> Study:
    """Long flows into one host, without ECN."""
    return studied("rcc-eq4")


def test_the_queue_is_shorter_where_the_round_trip_is_longer(scheduler: Study) -> None:
    # With the transmission of packets on top of four links of 40 us the round trip is longer and the queue shorter.
    queue = scheduler.measures[("40 us per link", 60, 1)]["queue"][0]
    assert queue == pytest.approx(queue_packets(4 * 40 + 2 * (12 + 0.32)) + 1, abs=1)


def test_the_state_of_the_receiver_over_time(scheduler: Study) -> None:
    start = scheduler.measures[("start", 60, 1)]
    assert start["acks_waiting over time"][-1] == 19
    assert start["flight_wins over time"][-1] == 41
    assert max(start["flight_wins over time"]) <= 41
    assert start["assigned_windows over time"][-1] == 60


def test_rcc_eq18_kbound(studied: Studied) -> None:
    rows = studied("rcc-eq18").rows()
    assert {row.verdict for row in claim(rows, "rcc-eq18-kbound")} == {"holds"}
    assert {row.verdict for row in claim(rows, "rcc-eq18-kbound (mean)")} == {"holds"}
    printed = [row.verdict for row in claim(rows, "rcc-eq18-kbound (as printed)")]
    assert printed == ["differs", "holds", "differs", "holds"]


def test_either_priority_ends_at_the_same_time(studied: Studied) -> None:
    study = studied("rcc-eq23")
    # The last flow takes as long with either priority; the first one does not.
    by_size, by_rest = (study.measures[(f"by {what}", 90, 1)] for what in ("size", "what remains"))
    assert by_rest["last_ms"][0] == pytest.approx(by_size["last_ms"][0], rel=0.01)
    assert by_rest["first_ms"][0] < 0.5 * by_size["first_ms"][0]
