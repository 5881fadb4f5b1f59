"""The equations of DCTCP as its paper claims them, and the experiments that draw its figures."""

from collections.abc import Iterable
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from conftest import Studied, study_of
from fanin_papers import SPECS
from fanin_papers.catalogue import EXPERIMENTS
from fanin_papers.experiment import Change, Experiment, Key, Row, Study


@pytest.fixture(scope="module")
def sawtooth(studied: Studied) -> Study:
    """Long flows through one port on four paths."""
    return studied("dctcp-eq", quick=False)


def claim(rows: Iterable[Row], name: str) -> list[Row]:
    """The rows of one claim; there are some."""
    found = [row for row in rows if row.claim == name]
    assert found
    return found


def test_dctcp_eq3_qmax(sawtooth: Study) -> None:
    differing = [row.what for row in claim(sawtooth.rows(), "dctcp-eq3-qmax") if row.verdict != "holds"]
    # C x RTT + K is 28 packets there: windows of two packets and fewer, which no mark cuts, make no sawtooth.
    assert differing == ["1 Gb/s, 100 us, N = 40: highest queue"]


def test_dctcp_eq4_amplitude(sawtooth: Study) -> None:
    for row in claim(sawtooth.rows(), "dctcp-eq4-amplitude"):
        flows = int(row.what.rpartition("N = ")[2])
        # The paper: the analysis is right mostly for N < 10.
        if flows <= 10 and row.what.startswith("10 Gb/s"):
            assert row.verdict == "holds", row
        assert row.verdict != "differs" or row.what.startswith("1 Gb/s, 100 us"), row


def test_dctcp_eq5_period(sawtooth: Study) -> None:
    rows = {row.what: row for row in claim(sawtooth.rows(), "dctcp-eq5-period")}
    # A round trip without growth, which the analysis leaves out, weighs little where periods are long ...
    for what in ("10 Gb/s, 100 us, N = 1, RTTs", "10 Gb/s, 100 us, N = 2, RTTs", "10 Gb/s, 500 us, N = 4, RTTs"):
        assert rows[what].verdict == "holds", rows[what]
    # ... and without it the equation holds for longer.
    for flows in (1, 2, 4, 8):
        row = rows[f"10 Gb/s, 100 us, growing when marked, N = {flows}, RTTs"]
        assert row.verdict == "holds", row


def test_dctcp_eq6_kbound(studied: Studied) -> None:
    study = studied("dctcp-eq6", quick=False)
    used = {(int(k), int(n)): run["utilisation"][0] for (k, n, _), run in study.measures.items()}
    # Above C x RTT / 7 = 59.5 packets no queue runs empty, as long as windows are many packets.
    assert min(used[80, n] for n in (1, 2, 5, 10, 20, 40)) >= 0.995
    assert min(share for (k, _), share in used.items() if k == 20) < 0.99
    assert claim(study.rows(), "dctcp-eq6-kbound")[1].verdict == "holds"


def test_dctcp_fig18_multihop(studied: Studied) -> None:
    study = studied("dctcp-fig18")
    assert sum(study.measures[("dctcp", 0, 1)]["timeouts"]) == 0
    # Rates have not converged in the short version, so only these properties hold: both bottlenecks are full, to 1,460
    # B of
    # 1,538 on the wire, and who crosses both gets less than who crosses one.
    s1, s2, s3 = (study.measures[("dctcp", 0, 1)][group][0] for group in ("s1", "s2", "s3"))
    assert 10 * s1 + 10 * s3 == pytest.approx(1_000 * 1460 / 1538, rel=0.005)
    assert 10 * s1 + 20 * s2 == pytest.approx(10_000 * 1460 / 1538, rel=0.005)
    assert s1 < s3


def test_dctcp_fig20_dynamic(studied: Studied) -> None:
    rows = studied("dctcp-fig20").rows()
    assert rows[0].verdict == "holds", rows


@pytest.mark.parametrize("name", list(EXPERIMENTS))
def test_each_experiment_draws_and_writes(name: str, studied: Studied, tmp_path: Path) -> None:
    one = EXPERIMENTS[name]
    # The wire has the results of the simulator (test_on_wire.py), but takes a hundred times longer.
    simulated = replace(one, sweep=partial(without_wire, one))
    study = study_of(simulated, SPECS, quick=True) if one.on_wire else studied(name)
    picture, table = study.save(tmp_path)
    assert picture.stat().st_size > 10_000
    assert table.read_text(encoding="utf-8").startswith("{")
    assert study.rows()


def without_wire(one: Experiment, quick: bool) -> dict[Key, Change]:
    """The runs of an experiment, all in the simulator."""
    return {key: replace(change, wire=False) for key, change in one.sweep(quick).items()}
