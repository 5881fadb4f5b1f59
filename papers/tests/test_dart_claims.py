"""Dart's experiments at scale, in short versions: properties that hold for any numbers."""

import pytest

from conftest import Studied
from fanin_papers import dart_mix
from fanin_papers.experiment import Study


@pytest.fixture(scope="module")
def typical(studied: Studied) -> Study:
    """The typical mix for 2 ms."""
    return studied("dart-fig11a")


def test_the_calibration_is_shown_and_not_scored(studied: Studied) -> None:
    """DCQCN's row of Table I: fewer marks when senders are apart, a picture, and no verdict."""
    study = studied("dart-table1-calibration")
    assert {row.verdict for row in study.rows()} == {"calibrated"}
    for percent in dart_mix.LOADS:
        together, apart = (
            dart_mix.at(study.measures, (dart_mix.STEP, dart_mix.SNAPSHOT, us, percent), "marked")
            for us in (0, dart_mix.CALIBRATED_US)
        )
        assert 100 > together > apart > 0
    assert len(study.picture().axes) == 9


def test_only_dart_makes_detours(typical: Study) -> None:
    """Both measures of Table II."""
    for percent in dart_mix.LOADS:
        for scheme in ("dart", "dart-lasthop"):
            dilation = dart_mix.at(typical.measures, (scheme, percent), "dilation")
            increase = dart_mix.at(typical.measures, (scheme, percent), "load_increase")
            assert 0 < dilation < 100
            assert 0 < increase < 100
        for scheme in ("dcqcn", "dctcp"):
            assert dart_mix.at(typical.measures, (scheme, percent), "dilation") == 0
            assert dart_mix.at(typical.measures, (scheme, percent), "load_increase") == 0


def test_every_message_with_an_end_arrives(typical: Study) -> None:
    """A network that waits in a circle would keep some for ever."""
    for percent in dart_mix.LOADS:
        for scheme in ("dart", "dart-lasthop", "dart with a window"):
            assert dart_mix.at(typical.measures, (scheme, percent), "messages") > 1000
            assert dart_mix.at(typical.measures, (scheme, percent), "unfinished") == 0


def test_the_variant_deflects_more_and_marks_less(typical: Study) -> None:
    """Deflection at the last hop sees the queue that incasts make."""
    for percent in dart_mix.LOADS:
        few, many = (dart_mix.at(typical.measures, (s, percent), "deflected") for s in ("dart", "dart-lasthop"))
        assert many > 2 * few > 0
        more, less = (dart_mix.at(typical.measures, (s, percent), "marked") for s in ("dart", "dart-lasthop"))
        assert less < more


def test_every_claim_has_a_row_for_each_dart(typical: Study) -> None:
    """Claims without TIMELY, which is not there yet."""
    rows = typical.rows()
    for name in ("dart-fig11a-lowest", "dart-fig11a-rdma79", "dart-fig13a-throughput", "dart-table2-values"):
        for suffix in ("", " (dart-lasthop)", " (dart with a window)"):
            assert any(row.claim == name + suffix for row in rows), name + suffix
    assert all("nan" not in row.ours for row in rows)
    assert len(typical.experiment.draw(typical.measures).axes) == 6


def test_what_the_headline_depends_on_is_a_row_each(studied: Studied) -> None:
    """One thing changed at a time."""
    study = studied("dart-fig11a-causes")
    ratios = [row for row in study.rows() if row.claim.startswith("dart-fig11a-rdma79")]
    assert len(ratios) == 2
    assert all(row.verdict in ("holds", "close", "differs") for row in study.rows())
