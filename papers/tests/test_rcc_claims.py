"""What RCC's figures 2 to 7 are measured with; `fanin claims --check quick` holds their verdicts."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from conftest import study_of
from fanin import Result
from fanin_papers.catalogue import EXPERIMENTS
from fanin_papers.experiment import Change
from fanin_papers.rcc_completion import groups
from fanin_papers.rcc_incast import most_packets, second_round
from fanin_papers.rcc_motivation import GAIN, estimate


def test_a_capture_tells_what_the_results_tell(root: Path) -> None:
    def compared(result: Result) -> dict[str, list[float]]:
        packets = result.packets()
        data = packets.filter(pl.col("payload_bytes") > 0, port="sw0>h0")
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
        assert acks["payload_bytes"].to_numpy().max() == 0
        assert data["seq"].to_numpy().min() == 1
        assert acks.filter(pl.col("ack") > 1)["echo"].sum() == pytest.approx(
            by_sender.filter(sender=1)["marked"].item(), abs=5
        )
        return {"marked": [float(data["marked"].sum())]}

    short = replace(
        EXPERIMENTS["rcc-fig3"],
        sweep=lambda _: {("exact", 1, 1): Change(None, ('measure.window="20 ms"',))},
        measure=compared,
    )
    study = study_of(short, root / "papers" / "specs")
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
            "payload_bytes": [1460, 1460, 0, 1460, 1460, 0],
        }
    )
    assert most_packets(packets) == 2
