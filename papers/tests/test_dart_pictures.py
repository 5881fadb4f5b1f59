"""The pictures of Dart's mechanisms: numbers and curves of their short versions."""

import warnings
from pathlib import Path

import pytest

from conftest import Studied
from fanin_papers import dart_fig3, dart_fig6, dart_links
from fanin_papers.experiment import Study


@pytest.fixture(scope="module")
def incast(studied: Studied) -> Study:
    return studied("dart-fig3")


@pytest.fixture(scope="module")
def around(studied: Studied) -> Study:
    return studied("dart-fig6")


def verdicts(study: Study, claim: str) -> list[str]:
    return [row.verdict for row in study.rows() if row.claim == claim]


# Fig. 3


def test_n_counts_the_incast_and_the_long_flow(incast: Study) -> None:
    assert verdicts(incast, "dart-fig3-kplus1") == ["holds"] * 3


def test_the_long_flow_is_held_as_long_as_the_incast_lasts(incast: Study) -> None:
    rows = [row for row in incast.rows() if row.claim == "dart-fig3-shortlived"]
    # The claim holds for all its schemes; with two lanes the long flow shares the line with the incast for longer.
    assert [row.verdict for row in rows if not row.what.startswith("dart:")] == ["holds"] * 6
    assert [row.verdict for row in rows if row.what.startswith("dart:")] == ["close"] * 2


def test_of_one_incast_the_long_flow_is_back_while_dcqcn_stays_down(incast: Study) -> None:
    told, back, _, lost = (row.verdict for row in incast.rows() if row.claim.endswith("(one incast)"))
    assert (told, back, lost) == ("holds", "holds", "holds")
    dcqcn, dart = (incast.measures[scheme, 16, 1] for scheme in ("dcqcn", "dart"))
    assert dart["rate_gbps"][-1] == 10
    held = [rate for us, rate in zip(dart["rate_us"], dart["rate_gbps"], strict=True) if 30 <= us <= 150]
    assert held == pytest.approx([10 / 17] * len(held))
    assert dcqcn["rate_gbps"][-1] < 3
    assert "n_max" not in dcqcn


def test_a_picture_of_an_incast_has_all_its_messages(incast: Study) -> None:
    for scheme in dart_fig3.INCAST:
        run = incast.measures[scheme, 16, 1]
        assert len(run["start_us"]) == len(run["finish_us"]) == 16
        assert min(run["start_us"]) == 0
        # The jitter of the spec.
        assert max(run["start_us"]) <= 1.2
        # All of their payload is in the bins of arrivals.
        bits = sum(run["arriving_gbps"]) * dart_fig3.BIN_US * 1e3
        assert bits == pytest.approx(16 * 8000 * 8)
        assert max(run["arriving_gbps"]) <= dart_links.GOODPUT_GBPS * 1.1
        assert run["queue_us"][0] < -dart_fig3.BEFORE_US
        assert run["queue_us"][-1] > dart_fig3.AFTER_US


# Fig. 6


def test_a_message_goes_around_the_hot_link(around: Study) -> None:
    found = {row.what: row.verdict for row in around.rows()}
    deflected = ("links crossed with one misroute", "packets out of order", "the decision")
    assert [found[what] for what in deflected] == ["holds"] * 3
    assert found["completion, deflected and queued"] == "holds"
    once = [verdict for what, verdict in found.items() if "one misroute:" in what]
    assert once == ["holds"] * 2


def test_every_packet_takes_the_way_of_the_first(around: Study) -> None:
    run = around.measures[dart_fig6.DEFLECTED, dart_fig6.SHOWN_SEED]
    ways = dart_fig6.packets(run)
    assert len(ways) == 6
    for way in ways:
        assert [node for node, _, _ in way] == ["S2", "tor1", "agg0", "core1", "agg1", "tor2", "D2"]
        for _, at, leave in way:
            assert leave >= at - 1e-6
    assert dart_fig6.turned_at(run) == ["agg0"] * 6
    assert dart_fig6.deflected_to(run) == "core1"
    assert ways[-1][-1][1] == pytest.approx(run["completion_us"][0])


def test_what_queues_waits_at_the_hot_link_for_what_is_ahead(around: Study) -> None:
    run = around.measures[dart_fig6.QUEUED, dart_fig6.SHOWN_SEED]
    name, first, met, lowest = dart_fig6.hot(run)
    way = dart_fig6.packets(run)[0]
    assert name == way[2][0] == "agg0"
    assert first == way[2][1]
    assert lowest > dart_fig6.THRESHOLD_KB
    # A sample is up to a microsecond old, in which the queue changes by a packet or two.
    assert way[2][2] - first == pytest.approx(dart_links.wire_us(int(met * 1000)), abs=2.5)
    assert dart_fig6.turned_at(run) == []


def test_with_two_lanes_it_passes_without_a_detour(around: Study) -> None:
    run, deflected = (around.measures[key, dart_fig6.SHOWN_SEED] for key in (dart_fig6.TWO_LANES, dart_fig6.DEFLECTED))
    assert run["deflections"] == [0]
    assert run["completion_us"][0] < deflected["completion_us"][0]


# Pictures


def test_pictures_are_drawn_without_a_warning(incast: Study, around: Study, tmp_path: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for study in (incast, around):
            picture, table = study.save(tmp_path)
            assert picture.read_bytes().startswith(b"\x89PNG")
            assert table.stat().st_size > 0
