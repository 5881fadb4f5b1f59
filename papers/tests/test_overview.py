"""The overview: every scheme in the same scenarios."""

import re
from pathlib import Path

import pytest

import fanin
from fanin_papers import overview
from fanin_papers.overview import SCENARIOS


def named(scenario: str) -> overview.Scenario:
    return next(one for one in SCENARIOS if one.id == scenario)


@pytest.fixture(scope="module")
def join(root: Path) -> overview.Part:
    part = overview.run_part(named("join"), root / "papers" / "specs", quick=True, progress=False)
    assert part is not None
    return part


def test_three_flows_share_the_link_and_the_table_says_how(join: overview.Part) -> None:
    # Switches that trim are in none of these specs.
    assert [*join.unfit] == ["ndp"]
    rates = {scheme: found["goodput_gbps"] for scheme, found in join.of_scheme.items()}
    # Payload of 1,460 of 1,522 bytes on the wire at 10 Gb/s.
    assert rates["none"] == pytest.approx(10 * 1460 / 1522, rel=0.01)
    assert all(rate is not None and 0 < rate <= 9.6 for rate in rates.values())
    even = {scheme: found["jain"] for scheme, found in join.of_scheme.items()}
    assert all(index is not None and 1 / 3 <= index <= 1 for index in even.values())
    assert even["rcp"] == pytest.approx(1, abs=0.01)
    queue = {scheme: found["queue_p99"] or 0 for scheme, found in join.of_scheme.items()}
    assert queue["rcp"] < queue["dctcp"] < queue["none"]


def test_its_page_links_every_scheme_to_its_manual(join: overview.Part, root: Path) -> None:
    links = re.findall(r"\| \[(.+?)\]\((.+?)\)", overview.page([join]))
    assert [scheme for scheme, _ in links] == list(join.of_scheme)
    assert all((root / "docs" / page).is_file() for _, page in links)


@pytest.mark.parametrize("scenario", [one.id for one in SCENARIOS])
def test_every_scenario_suits_every_scheme(scenario: str, root: Path) -> None:
    one = named(scenario)
    suits, unfit = fanin.every_scheme(root / "papers" / "specs" / one.spec, set=one.set)
    assert [*unfit] == ["ndp"], "switches that trim are in none of these specs"
    assert {"none", "dcqcn", "dart", "hpcc", "timely", "rcp", "rcc"} <= set(suits)


def test_the_committed_page_has_every_scenario_and_scheme(root: Path) -> None:
    page = (root / "docs" / "overview.md").read_text(encoding="utf-8")
    parts = page.split("\n## ")[1:]
    assert [part.splitlines()[0] for part in parts] == [one.title for one in SCENARIOS]
    for one, part in zip(SCENARIOS, parts, strict=True):
        suits, _ = fanin.every_scheme(root / "papers" / "specs" / one.spec, set=one.set)
        assert re.findall(r"^\| \[(.+?)\]", part, re.M) == suits, one.id
