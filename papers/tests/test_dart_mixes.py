"""Dart's Fig. 11 to 13, its tables and its sensitivity: how rows judge made-up measurements."""

from collections.abc import Iterable, Mapping
from math import isfinite

import pytest

from conftest import Studied
from fanin_papers import dart_fig11_rows, dart_sensitivity
from fanin_papers.dart_mixes import (
    CARRIED,
    DILATION,
    HEAVY,
    INCREASE,
    LIGHT,
    MARKED,
    SHORT,
    STEADY,
    TEXT,
    TYPICAL,
    View,
    offered_gbps,
)
from fanin_papers.experiment import Key, Measured, Row

LOADS = (20, 40, 60, 80)

TAIL = {"dart": 100.0, "dcqcn": 480.0, "timely-dart": 500.0, "dctcp": 800.0, "dctcp without the 300 us": 500.0}
MEDIAN = {"dart": 60.0, "dcqcn": 85.0, "timely-dart": 90.0, "dctcp": 390.0, "dctcp without the 300 us": 90.0}
SHARE = {"dart": 1.0, "dcqcn": 0.6, "timely-dart": 0.55, "dctcp": 0.4, "dctcp without the 300 us": 0.4}
"""Of the offered load of long flows."""


def as_in_the_paper() -> dict[Key, Measured]:
    """Measurements with the orders and sizes of Fig. 11 to 13 and the tables, with three seeds."""
    made: dict[Key, Measured] = {}
    for mix in SHORT:
        for at, percent in enumerate(LOADS):
            for scheme in TAIL:
                if scheme == "dctcp without the 300 us" and (mix != TYPICAL or percent > 40):
                    continue
                values = point(scheme, mix, percent, at)
                for seed in (1, 2, 3):
                    made[STEADY, scheme, mix, percent, seed] = {name: [value] for name, value in values.items()}
    return made


def point(scheme: str, mix: str, percent: int, at: int) -> dict[str, float]:
    """One point; baselines saturate at 60 % in the typical mix, at 80 in the light and at 40 in the heavy one."""
    full = percent >= {LIGHT: 80, TYPICAL: 60, HEAVY: 40}[mix]
    slow = (2.0 if mix == HEAVY else 6.0) if full and scheme != "dart" else 1.0
    late = mix == HEAVY and percent >= 80
    tail = TAIL[scheme] if mix != LIGHT or scheme == "dctcp" else 100.0
    share = 1.0 if scheme != "dctcp" and not full and mix == LIGHT else SHARE[scheme]
    if mix == HEAVY and scheme in ("dcqcn", "timely-dart"):
        share = 0.35
    marked, dilation, increase = (
        table.get(mix, ())[at] if at < len(table.get(mix, ())) else 50.0
        for table in (MARKED.get(scheme, {}), DILATION, INCREASE)
    )
    return {
        "p50_us": MEDIAN[scheme],
        "p99_us": tail * slow,
        "long_gbps": (0.9 if late else share) * offered_gbps(mix, percent),
        "marked": float(marked),
        "passed_least": 0.0,
        "passed_most": 1.0,
        "dilation": float(dilation),
        "load_increase": float(increase),
    }


def verdicts(rows: Iterable[Row]) -> dict[str, set[str]]:
    """The judged verdicts by claim."""
    found: dict[str, set[str]] = {}
    for row in rows:
        if row.judged:
            found.setdefault(row.claim, set()).add(row.verdict)
    return found


def test_numbers_as_in_the_paper_hold() -> None:
    found = verdicts(dart_fig11_rows.rows(as_in_the_paper()))
    for claim in (
        "dart-fig11-dctcp-os",
        "dart-fig11-dcqcn-timely",
        "dart-fig11b-light",
        "dart-fig11c-heavy",
        "dart-fig11-satorder",
        "dart-fig12bc-median",
        "dart-fig13b-order",
        "dart-fig13c-heavy173",
        "dart-table1-4x",
        "dart-table1-values",
        "dart-table2-values",
        "dart-fig11a-lowest",
        "dart-fig11a-rdma79",
        "dart-fig11a-saturation",
    ):
        assert found[claim] == {"holds"}, claim


@pytest.mark.parametrize(
    ("claim", "scheme", "mix", "name", "factor"),
    [
        ("dart-fig11-dctcp-os", "dctcp", TYPICAL, "p50_us", 0.1),
        ("dart-fig11-dcqcn-timely", "timely-dart", TYPICAL, "p99_us", 3.0),
        ("dart-fig11b-light", "dart", LIGHT, "p99_us", 4.0),
        ("dart-fig11c-heavy", "dart", HEAVY, "p99_us", 4.0),
        ("dart-fig11-satorder", "dcqcn", LIGHT, "long_gbps", 0.9),
        ("dart-fig12bc-median", "dart", LIGHT, "p50_us", 2.0),
        ("dart-fig13b-order", "dctcp", TYPICAL, "long_gbps", 2.0),
        ("dart-fig13c-heavy173", "dcqcn", HEAVY, "long_gbps", 9.0),
        ("dart-table1-4x", "dart", LIGHT, "marked", 0.4),
        ("dart-table2-values", "dart", HEAVY, "dilation", 2.5),
    ],
)
def test_one_number_beyond_its_bounds_does_not(claim: str, scheme: str, mix: str, name: str, factor: float) -> None:
    made = as_in_the_paper()
    for key, values in made.items():
        if key[1:3] == (scheme, mix):
            values[name] = [factor * values[name][0]]
    assert "differs" in verdicts(dart_fig11_rows.rows(made))[claim]


def test_saturation_is_the_lowest_load_that_fails_either_test() -> None:
    view = View(as_in_the_paper(), STEADY)
    assert dart_fig11_rows.saturation(view, "dcqcn", LIGHT) == 80
    assert dart_fig11_rows.saturation(view, "dart", TYPICAL) > 80
    assert dart_fig11_rows.saturation(view, "dart", HEAVY) == 80


def sensitivity(tails: Mapping[str, float]) -> dict[Key, Measured]:
    """Measurements of all cases: DCQCN's tail is 100 us per sixteen senders, the others' are given."""
    made: dict[Key, Measured] = {}
    for key in dart_sensitivity.sweep(quick=False):
        case, percent = str(key[1]), int(key[3])
        tail = tails.get(case, tails["dart"])
        if percent == 60 and "degree 26" in case:
            tail = 300.0
        values = {
            **dict.fromkeys(("p99_us", "p99_2kb_us", "p99_4kb_us"), tail),
            "deflected": 1.0 if "20 KB" in case else 10.0,
            "refused": 0.0,
            "messages": 100.0,
            "entries": 0.05,
            "peak": 9.0,
            "long_gbps": 100.0,
        }
        made[key] = {name: [value] for name, value in values.items()}
    return made


def test_sensitivity_as_in_the_paper_holds_and_beside_it_nothing_is_judged() -> None:
    tails = {
        "dcqcn": 100.0,
        "dcqcn, degree 6": 40.0,
        "dcqcn, degree 26": 200.0,
        "dart": 50.0,
        "dart, degree 6": 30.0,
        "dart, degree 26": 60.0,
        "dart-iofd": 60.0,
        "dart-iofd, 5 KB": 58.0,
        "dart-iofd, 20 KB": 98.0,
        "dart, 0 tokens": 90.0,
        "dart, 1 tokens": 70.0,
        "dart, 2 tokens": 60.0,
        "dart, 7 tokens": 49.0,
    }
    rows = dart_sensitivity.rows(sensitivity(tails))
    assert set.union(*verdicts(rows).values()) == {"holds"}
    assert len(verdicts(rows)) == 5
    others = [row for row in rows if row.what.startswith((TEXT, CARRIED))]
    assert others
    assert not any(row.judged for row in others)
    for case, tail, claim in (
        ("dart-iofd, 20 KB", 55.0, "dart-sens-threshold"),
        ("dart, degree 26", 250.0, "dart-sens-degree"),
        ("dart, 7 tokens", 40.0, "dart-sens-tokens"),
    ):
        assert "differs" in verdicts(dart_sensitivity.rows(sensitivity({**tails, case: tail})))[claim]


def test_a_table_that_is_often_full_is_too_small() -> None:
    made = sensitivity({"dart": 50.0})
    for values in made.values():
        values["entries"] = [0.2]
    assert verdicts(dart_sensitivity.rows(made))["dart-iofd-dft-occupancy"] == {"holds", "differs"}


@pytest.mark.parametrize("name", ["dart-fig11", "dart-fig11-readings", "dart-sensitivity"])
def test_short_versions_run_and_are_drawn(studied: Studied, name: str) -> None:
    """Every message of the window arrives, and only Dart's tables have entries."""
    study = studied(name)
    for (_, scheme, *_), measured in study.measures.items():
        assert measured["unfinished"] == [0.0]
        assert measured["messages"][0] > 100
        assert isfinite(measured["entries"][0]) == str(scheme).startswith("dart"), scheme
    assert study.rows()
    assert study.picture().axes
