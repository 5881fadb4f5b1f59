"""RCC's figures 2 to 7 as its paper claims them, by short versions of the experiments that draw them."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from fanin import Result, papers
from fanin.papers.captured import tcp_packets
from fanin.papers.experiment import Change, Row, Study, run_experiment
from fanin.papers.rcc_completion import groups
from fanin.papers.rcc_incast import most_packets, second_round
from fanin.papers.rcc_motivation import GAIN, estimate

Rows = Callable[[str], dict[str, Row]]


def rows_of(root: Path, name: str) -> Rows:
    """The rows of a claim in the short version of an experiment, by what they measure."""
    study = run_experiment(papers.EXPERIMENTS[name], root / "papers", quick=True, workers=2, progress=False)
    assert study.complete
    rows = study.rows()

    def of(claim: str) -> dict[str, Row]:
        found = {row.what: row for row in rows if row.claim == claim}
        assert found
        return found

    return of


@pytest.fixture(scope="module")
def fig5(root: Path) -> Rows:
    return rows_of(root, "rcc-fig5")


@pytest.fixture(scope="module")
def fig6(root: Path) -> Rows:
    return rows_of(root, "rcc-fig6")


@pytest.fixture(scope="module")
def fig7(root: Path) -> Rows:
    return rows_of(root, "rcc-fig7")


def verdicts(rows: dict[str, Row]) -> list[str]:
    return [row.verdict for row in rows.values()]


# Figs. 2 and 3


def test_rcc_fig2_oscillation(root: Path) -> None:
    of = rows_of(root, "rcc-fig2")
    # As the paper has them the starts are too few for a full queue; twice as dense they are not.
    said, denser = (of(f"rcc-fig2-oscillation (mean start {ms} ms)") for ms in ("15", "7.5"))
    assert said["longest queue of newreno, 80 senders"].verdict == "differs"
    assert denser["longest queue of newreno, 80 senders"].verdict == "calibrated"
    for rows in (said, denser):
        assert rows["dropped packets, 50 and 80 senders"].verdict != "differs"
        assert rows["standard deviation of the queue, packets, 50 and 80 senders"].verdict != "differs"


def test_rcc_fig3_alpha(root: Path) -> None:
    of = rows_of(root, "rcc-fig3")
    for counted in ("bytes that ACKs cover", "ACKs"):
        rows = of(f"rcc-fig3-alpha (sender counts {counted})")
        assert rows["RCC's reading: mean difference, ACKs of 1 and 3 packets"].verdict == "holds"
    # An ACK for each packet tells the exact marks, if the packet that changes the state is not among those before it.
    assert rows["exact reading, ACKs of 1 packet: largest difference"].verdict == "holds"


# Fig. 5


def test_rcc_fig5a_mean(fig5: Rows) -> None:
    assert verdicts(fig5("rcc-fig5a-mean (while packets wait)")) == ["holds"] * 4
    # Idle until a timeout DCTCP has no queue.
    assert verdicts(fig5("rcc-fig5a-mean (first SYN to last byte)")) == ["holds"] * 3 + ["differs"]


def test_rcc_fig5a_stable(fig5: Rows) -> None:
    assert verdicts(fig5("rcc-fig5a-stable")) == ["holds"] * 3


def test_rcc_fig5bc_n100(fig5: Rows) -> None:
    assert verdicts(fig5("rcc-fig5bc-n100")) == ["holds"] * 4
    # A queue of 40 packets, as section 5.1 reads the figure, would be marked.
    assert verdicts(fig5("rcc-fig5bc-n100 (Q1 of 40 packets)")) == ["differs"]


# Fig. 6


def test_rcc_fig6a_goodput(fig6: Rows) -> None:
    assert "differs" not in verdicts(fig6("rcc-fig6a-goodput"))
    # With twice the timeout the line is idle for longer than the others need, and the collapse is plain.
    assert verdicts(fig6("rcc-fig6a-goodput (RTO of 20 ms)")) == ["holds"] * 5


def test_rcc_fig6_nodrops(fig6: Rows) -> None:
    assert verdicts(fig6("rcc-fig6-nodrops")) == ["holds"] * 3


def test_rcc_fig6c_nomarks(fig6: Rows) -> None:
    assert verdicts(fig6("rcc-fig6c-nomarks")) == ["holds"] * 4


def test_rcc_fig6_dctcp20(fig6: Rows) -> None:
    assert verdicts(fig6("rcc-fig6-dctcp20")) == ["holds"]


def test_rcc_fig6_ictcp50(fig6: Rows) -> None:
    arrivals, goodput = fig6("rcc-fig6-ictcp50").values()
    assert (arrivals.verdict, arrivals.ours) == ("holds", "100")
    assert goodput.verdict == "differs"
    assert verdicts(fig6("rcc-fig6-ictcp50 (RTO of 20 ms)")) == ["holds"]


# Fig. 7


def test_rcc_fig7a_p99(fig7: Rows) -> None:
    rows = fig7("rcc-fig7a-p99")
    assert rows["99th percentile of rcc lowest, N >= 40"].verdict == "holds"
    assert "differs" not in verdicts(rows)


def test_rcc_fig7a_spread(fig7: Rows) -> None:
    assert "differs" not in verdicts(fig7("rcc-fig7a-spread"))
    # The windows that Algorithm 1 deals out last make 30 senders the exception.
    assert verdicts(fig7("rcc-fig7a-spread (no priority)")) == ["holds"]


def test_rcc_fig7c_modes(fig7: Rows) -> None:
    # Flows of one size and hence of one priority take turns; by what is left of them the first ones stay first.
    assert fig7("rcc-fig7c-modes")["modes of rcc, ms"].verdict == "differs"
    assert verdicts(fig7("rcc-fig7c-modes (rcc, remaining size)")) == ["holds"] * 3
    assert verdicts(fig7("rcc-fig7c-modes (rcc-ns3)")) == ["holds"] * 3


def test_rcc_fig7b_sizes(fig7: Rows) -> None:
    rows = fig7("rcc-fig7b-sizes")
    assert rows["99th percentile of rcc lowest, 5 % slack to dctcp and ictcp, by size"].verdict == "holds"


def test_rcc_fig7d_n30(fig7: Rows) -> None:
    assert verdicts(fig7("rcc-fig7d-n30")) == ["holds"] * 4
    assert verdicts(fig7("rcc-fig7d-n30 (no priority)")) == ["holds"]


# What they measure with


def test_a_capture_tells_what_the_results_tell(root: Path) -> None:
    def compared(result: Result) -> dict[str, list[float]]:
        packets = tcp_packets(result)
        data = packets.filter(pl.col("payload") > 0, port="sw0>h0")
        by_sender = data.group_by("sender").agg(pl.len(), pl.col("marked").sum()).sort("sender")
        flows = result.flows().sort("src")
        assert by_sender["sender"].to_list() == flows["src"].to_list()
        # What has arrived has been sent; a few packets are on the line at the end.
        for name, column in (("len", "packets_arrived"), ("marked", "packets_marked")):
            missing = by_sender[name].to_numpy().astype(int) - flows[column].to_numpy().astype(int)
            assert (missing >= 0).all()
            assert missing.sum() <= 5
        acks = packets.filter(port="sw0>h1")
        first = flows.filter(pl.col("src_name") == "h1")["delivered_bytes"].item()
        # The SYN counts as a byte.
        assert 0 <= first - (acks["ack"].to_numpy().max() - 1) <= 20 * 1460
        assert acks["time_ps"].is_sorted()
        assert acks["payload"].to_numpy().max() == 0
        assert data["seq"].to_numpy().min() == 1
        assert acks.filter(pl.col("ack") > 1)["echo"].sum() == pytest.approx(
            by_sender.filter(sender=1)["marked"].item(), abs=5
        )
        return {"marked": [float(data["marked"].sum())]}

    short = replace(
        papers.EXPERIMENTS["rcc-fig3"],
        sweep=lambda _: {("exact", 1, 1): Change(None, ('measure.window="20 ms"',))},
        measure=compared,
    )
    study: Study = run_experiment(short, root / "papers", progress=False)
    assert study.measures["exact", 1, 1]["marked"][0] > 100


def test_the_share_of_marks_is_estimated_once_per_period() -> None:
    time_us = np.asarray([10.0, 150.0, 190.0, 199.0, 250.0, 610.0])
    marked = np.asarray([True, False, False, False, True, False])
    found = estimate(time_us, np.asarray([1.0, 1.0, 1.0, 1.0, 3.0, 1.0]), marked, 800)
    first = GAIN * 0.25
    second = (1 - GAIN) * first + GAIN
    assert found == pytest.approx([first, second, second, (1 - GAIN) * second])


@pytest.mark.parametrize(
    ("centres", "modes", "share"),
    [((20,), 1, 1.0), ((11, 22), 2, 0.4), ((11, 22, 33), 3, 0.4), ((20, 22), 1, 1.0)],
)
def test_groups_of_completion_times_are_modes(centres: tuple[float, ...], modes: int, share: float) -> None:
    sizes = [40] + [60] * (len(centres) - 1)
    times = [c + 0.01 * place for c, size in zip(centres, sizes, strict=True) for place in range(-size // 2, size // 2)]
    found, first = groups(times)
    assert len(found) == modes
    assert first == pytest.approx(share if modes < 3 else 40 / 160)
    if modes > 1:
        assert found == pytest.approx(list(centres), abs=0.2)


def test_the_second_round_trip_begins_with_the_second_packet() -> None:
    sent = {0: [0, 300, 301, 460, 461], 1: [10, 700, 859, 860]}
    hops = pl.DataFrame(
        [(t * 1_000_000, flow, node, port) for flow, times in sent.items() for t in times for node, port in NODES],
        schema={"time_ps": pl.UInt64, "flow_id": pl.UInt64, "node": pl.String, "port": pl.String},
        orient="row",
    )
    assert second_round(hops) == 2 + 2


NODES = (("h1", "h1>sw0"), ("sw0", "sw0>h0"), ("h0", None))


def test_packets_wait_from_their_last_bit_until_they_leave() -> None:
    # Two full packets whose last bits arrive at 52 us and a SYN at 52.1 us; they leave one after another.
    packets = pl.DataFrame(
        {
            "port": ["h1>sw0", "h2>sw0", "h3>sw0", "sw0>h0", "sw0>h0", "sw0>h0"],
            "time_ps": [0, 0, 11_780_000, 52_000_000, 64_000_000, 76_000_000],
            "payload": [1460, 1460, 0, 1460, 1460, 0],
        }
    )
    assert most_packets(packets) == 2
