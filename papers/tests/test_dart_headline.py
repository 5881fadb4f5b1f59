"""Dart's headline: its static groups, the bounds of marks that were passed on, Table II by bytes, the verdicts."""

import tomllib
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import polars as pl
import pytest

from fanin.result import Result
from fanin.runs import Job
from fanin_papers import dart_headline, dart_readings
from fanin_papers.dart_headline import EXPERIMENTS, judged, marks, measure
from fanin_papers.dart_mix import LOADS
from fanin_papers.dart_readings import (
    BARS,
    DART,
    DASR,
    DASR_LA,
    DCQCN,
    IOFD,
    PRIQ,
    SMALL,
    STEADY_MS,
    TEXT,
    TIMELY,
    WHOLE,
    groups,
    reading,
)
from fanin_papers.experiment import Change, Key, Measured, job


@pytest.mark.parametrize("anywhere", [False, True])
def test_each_group_has_its_own_senders_in_other_racks(anywhere: bool) -> None:
    (change,) = groups(SMALL, 40, 1, anywhere=anywhere)
    *short, long = tomllib.loads(change)["traffic"]
    assert len(short) == 8
    receivers = [int(traffic["pattern"]["receivers"][0][1:]) for traffic in short]
    assert len({host // 16 for host in receivers}) == 8 or anywhere
    for receiver, traffic in zip(receivers, short, strict=True):
        senders = {int(name[1:]) for name in traffic["pattern"]["senders"]}
        assert len(senders) == traffic["pattern"]["degree"] == 16
        assert receiver // 16 not in {host // 16 for host in senders}
        assert traffic["rdma"] == {"persistent": True}
    assert sum(traffic["load"]["share"] for traffic in short) == pytest.approx(0.16)
    assert long["load"]["share"] == pytest.approx(0.24)
    assert groups(SMALL, 40, 2, anywhere=anywhere) != (change,)


@pytest.mark.parametrize(
    ("passed", "suppressed", "least", "most"), [(0, 30, 0, 0), (8, 22, 0, 16), (15, 15, 10, 30), (30, 0, 40, 40)]
)
def test_marks_passed_on_lie_between_bounds(passed: int, suppressed: int, least: float, most: float) -> None:
    # Of 50 packets of short messages 20 have a mark, of long ones 10.
    flows = pl.DataFrame({"long": [False, True], "packets_arrived": [50, 100], "packets_marked": [20, 10]})
    actions = {"marks_passed": passed, "marks_suppressed": suppressed}
    result = SimpleNamespace(summary=lambda: {"traffics": [{"actions": actions}]})
    found = marks(cast("Result", result), flows)
    assert found == {"marked": 40, "passed_least": least, "passed_most": most}


def test_detours_by_bytes_make_the_load_increase(root: Path) -> None:
    base = Job.of(root / "papers" / "specs" / EXPERIMENTS[0].spec)
    changes = (*reading(TEXT, SMALL, 40, 1), "measure.window=2 ms", "measure.drain_limit=10 ms")
    found = measure(job(base, (TEXT, DART, 40, 1), Change(DART, changes)).run(None, None))
    (dilation,), (share,) = found["dilation_by_bytes"], found["short_share"]
    assert found["load_increase"][0] == pytest.approx(dilation * share / 100, rel=0.03)
    assert found["load_increase"][0] > 0.2
    assert found["unfinished"] == [0]
    # 51.2 Gb/s are offered.
    assert 30 < found["short_gbps"][0] < 60


PAPER = {
    20: {TIMELY: 1.0, PRIQ: 0.99, IOFD: 0.69, DASR: 0.4, DASR_LA: 0.21, DART: 0.16},
    40: {TIMELY: 1.0, PRIQ: 0.8, IOFD: 0.5, DASR: 0.4, DASR_LA: 0.25, DART: 0.2},
    60: {TIMELY: 1.0, PRIQ: 0.7, IOFD: 0.21, DASR: 0.3, DASR_LA: 0.23, DART: 0.07},
}
"""Tails over DCQCN's as Fig. 14 has them or could have them."""


def as_in_the_paper() -> dict[Key, Measured]:
    """Measurements that agree with all of section VI-C."""
    measures: dict[Key, Measured] = {}
    for percent in LOADS:
        for scheme in BARS:
            tail = 1000 * PAPER[percent].get(scheme, 1.0)
            for seed in (1, 2, 3):
                marked = 30.0 if scheme == IOFD else 40.0
                measures[TEXT, scheme, percent, seed] = {"p99_us": [tail], "p50_us": [tail / 10], "marked": [marked]}
    return measures


def test_the_papers_own_numbers_hold() -> None:
    rows = judged(as_in_the_paper())
    assert {row.claim.removeprefix("dart-fig14-") for row in rows} == {
        "priq",
        "load20",
        "load40",
        "load60",
        "lookahead",
    }
    assert [row.verdict for row in rows] == ["holds"] * len(rows)
    assert all(row.judged for row in rows)


@pytest.mark.parametrize(
    ("scheme", "percent", "factor", "claims"),
    [
        (PRIQ, 20, 0.5, {"priq"}),
        (PRIQ, 60, 0.2, {"priq"}),
        (DASR_LA, 20, 4.0, {"load20", "lookahead"}),
        (DASR_LA, 40, 5.0, {"load40", "lookahead"}),
        (DASR_LA, 60, 0.2, {"load60"}),
        (DART, 60, 5.0, {"load60", "lookahead"}),
    ],
)
def test_an_order_that_is_broken_differs(scheme: str, percent: int, factor: float, claims: set[str]) -> None:
    measures = as_in_the_paper()
    for seed in (1, 2, 3):
        point = measures[TEXT, scheme, percent, seed]
        measures[TEXT, scheme, percent, seed] = point | {
            name: [factor * point[name][0]] for name in ("p99_us", "p50_us")
        }
    found = {row.claim.removeprefix("dart-fig14-") for row in judged(measures) if row.verdict == "differs"}
    assert found >= claims


def test_without_all_loads_nothing_is_judged() -> None:
    measures = {key: value for key, value in as_in_the_paper().items() if key[2] == 40}
    assert judged(measures) == []
    assert dart_readings.sweep(True).keys() <= {
        (name, scheme, 40, 1) for name in (TEXT, dart_readings.CONNECTIONS) for scheme in BARS
    }
    assert dart_headline.cut(measures, TEXT, DART, 40) == pytest.approx(0.8)
    assert DCQCN in BARS


def test_the_spec_of_reading_1_is_what_the_experiment_runs(root: Path) -> None:
    written = tomllib.loads((root / "papers" / "specs" / "dart" / "fig14-groups.toml").read_text(encoding="utf-8"))
    (change,) = groups(WHOLE, 40, 1)
    assert written["traffic"] == tomllib.loads(change)["traffic"]
    base = tomllib.loads((root / "papers" / "specs" / EXPERIMENTS[0].spec).read_text(encoding="utf-8"))
    assert written["network"] == base["network"]
    window = {key: value for key, value in written["measure"].items() if key in ("warm_up", "window")}
    assert tuple(f"measure.{key}={value}" for key, value in window.items()) == STEADY_MS
