"""The table of claims: facts, verdicts, and the command that shows and checks them."""

import importlib
import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from conftest import Command
from fanin import SpecError
from fanin.jobs import Job
from fanin_papers import SPECS, claims, tables
from fanin_papers.catalogue import EXPERIMENTS
from fanin_papers.claims import Claim, Reading, Row, Verdict, changes, split_label, totals, verdict_of
from fanin_papers.experiment import job, read_as

ALL = {claim.id: claim for claim in claims.claims()}


READINGS = claims.readings()


def row(
    verdict: Verdict,
    setting: str = "",
    *,
    judged: bool = True,
    reading: str = "",
    accept: str = "1",
    experiment: str = "x-fig1",
) -> Row:
    return Row(experiment, setting, "what", "1", "2", accept, verdict, judged, reading=reading)


# Verdicts


@pytest.mark.parametrize(
    ("verdicts", "found"),
    [
        ([], "not run"),
        (["holds"], "holds"),
        (["holds", "close"], "close"),
        (["holds", "differs", "close"], "differs"),
        (["calibrated"], "calibrated"),
        (["calibrated", "differs"], "differs"),
        (["holds", "calibrated"], "calibrated"),
    ],
)
def test_the_worst_row_of_a_claim_decides(verdicts: list[Verdict], found: Verdict) -> None:
    assert verdict_of([row(verdict) for verdict in verdicts]) == found


def test_all_parts_must_hold_under_one_setting() -> None:
    halves = [row("holds", "a"), row("differs", "a"), row("differs", "b"), row("holds", "b")]
    assert verdict_of(halves, ["a", "b"]) == "differs"
    assert verdict_of([*halves, row("holds", "c")], ["a", "b", "c"]) == "holds"
    # A pattern that fits several settings makes them parts of one statement.
    assert verdict_of([row("holds", "n = 2"), row("close", "n = 20")], ["n = *"]) == "close"


def test_rows_that_are_only_shown_decide_nothing() -> None:
    assert verdict_of([row("holds"), row("differs", judged=False), row("differs", "variant")]) == "holds"


# Readings


def under(*verdicts: Verdict, accept: str = "1") -> list[Row]:
    """Rows under a reading."""
    return [row(verdict, reading="PFC by rate", accept=accept) for verdict in verdicts]


@pytest.mark.parametrize(
    ("rows", "depends"),
    [
        ([row("holds"), row("differs"), *under("holds", "holds")], True),
        # Not all of it holds; not all of it was measured; measured by another criterion.
        ([row("holds"), row("differs"), *under("holds", "close")], False),
        ([row("holds"), row("differs"), *under("holds")], False),
        ([row("differs"), *under("holds", accept="2")], False),
        # A part of an experiment in which there is nothing to change, and of one that nobody says this of.
        ([row("holds", experiment="hpcc-note5-star"), row("differs"), *under("holds")], True),
        ([row("differs", experiment="hpcc-note5-star"), row("differs"), *under("holds")], False),
        ([row("holds", experiment="hpcc-fig14"), row("differs"), *under("holds")], False),
    ],
)
def test_a_claim_depends_on_a_reading_under_which_all_of_it_holds(rows: list[Row], depends: bool) -> None:
    found = claims.depends_on(rows, ("",))
    assert found == (READINGS["PFC by rate"] if depends else None)


def test_a_row_under_a_reading_keeps_its_setting() -> None:
    for label in ("hpcc-x", "hpcc-x (n = 2)"):
        claim, setting = split_label(claims.under("PFC by rate", label))
        name, rest = claims.split_reading(setting)
        assert (claim, name, rest) == ("hpcc-x", "PFC by rate", split_label(label)[1])
    assert claims.split_reading("E15: 10 MB") == ("", "E15: 10 MB")
    halves = [row("holds", "a"), row("differs", "b"), row("holds", "b", reading="PFC by rate")]
    assert claims.whole_under(halves, READINGS["PFC by rate"], ["a", "b"]) == "holds"
    assert claims.whole_under(halves, READINGS["PFC by rate"], ["a"]) is None


@pytest.mark.parametrize("reading", READINGS.values(), ids=READINGS)
def test_a_reading_changes_what_it_names(reading: Reading) -> None:
    """Some runs of each of its experiments, and nothing that can run elsewhere; its claims are measured under it."""

    def changed(name: str) -> bool:
        one = EXPERIMENTS[name]
        jobs = (job(Job.of(SPECS / one.spec), key, change) for key, change in one.sweep(True).items())
        return any(run.resolve() != read_as(run, reading.of(name)).resolve() for run in jobs)

    assert reading.words
    assert claims.under_reading(reading)
    if reading.instead_of is not None:
        return
    assert reading.keys
    for name in reading.experiments:
        assert changed(name), name
        assert set(claims.measured()[name]["readings"]) >= {reading.name}, f"fanin paper {name} again"
    tests = {test for claim in ALL.values() for test in claim.tests}
    assert set(reading.unchanged) <= tests | set(EXPERIMENTS)
    for name in set(reading.unchanged) & set(EXPERIMENTS):
        with pytest.raises(SpecError):
            changed(name)


def test_a_claim_that_depends_shows_both_results_and_the_papers_words(command: Command) -> None:
    depending = [claim for claim in ALL.values() if claim.verdict == "depends"]
    assert depending
    for claim in depending:
        assert claim.depends is not None
        assert f"; under {claim.depends.name}: " in tables.ours_of(claim)
    shown = " ".join(command("claims", depending[0].id).stdout.split())
    assert depending[0].depends is not None
    assert depending[0].depends.question in shown
    found = json.loads(command("claims", "--reading", depending[0].depends.name, "--json").stdout)
    assert found["claims"][depending[0].id]["under"] == "holds"


@pytest.mark.parametrize(
    ("label", "parts"),
    [
        ("dctcp-fig13-pi", ("dctcp-fig13-pi", "")),
        ("dctcp-fig14-queue (n = 2)", ("dctcp-fig14-queue", "n = 2")),
        ("dart-x (E15: 10 MB (long))", ("dart-x", "E15: 10 MB (long)")),
    ],
)
def test_a_label_is_the_claim_and_its_setting(label: str, parts: tuple[str, str]) -> None:
    assert split_label(label) == parts


def test_a_changed_verdict_is_found_in_either_direction() -> None:
    def record(**verdicts: str) -> Mapping[str, Any]:
        return {"rows": [{"claim": "x", "what": what, "verdict": is_, "ours": "1"} for what, is_ in verdicts.items()]}

    assert changes(record(a="holds", b="close"), record(a="holds", b="close")) == []
    found = changes(record(a="holds", b="close", c="holds"), record(a="differs", b="holds", d="holds"))
    assert [(one["what"], one["before"], one["now"]) for one in found] == [
        ("a", "holds", "differs"),
        ("b", "close", "holds"),
        ("c", "holds", "no row"),
        ("d", "no row", "holds"),
    ]


def test_no_row_hides_another() -> None:
    row = {"claim": "x", "what": "a", "verdict": "holds", "ours": "1"}
    with pytest.raises(ValueError, match="two rows are x, a"):
        changes({"rows": [row]}, {"rows": [row, {**row, "verdict": "differs"}]})


@pytest.mark.parametrize("name", claims.measured())
def test_rows_of_a_record_have_names_of_their_own(name: str) -> None:
    assert claims.named(claims.measured()[name]["rows"])


# The facts


def test_every_claim_of_the_four_papers_is_there() -> None:
    counts = {paper: sum(claim.paper == paper for claim in ALL.values()) for paper in claims.PAPERS}
    assert counts == {"dart": 74, "dctcp": 39, "hpcc": 48, "rcc": 44}
    assert totals(list(ALL.values()))["all"] == {
        verdict: sum(claim.verdict == verdict for claim in ALL.values()) for verdict in claims.VERDICTS
    }


@pytest.mark.parametrize("claim", ALL.values(), ids=ALL)
def test_the_facts_of_a_claim_fit_together(claim: Claim, root: Path) -> None:
    assert claim.id.startswith(f"{claim.paper}-")
    assert claim.where
    assert claim.says.endswith((".", ".)"))
    assert claim.accept
    assert claim.kind in ("number", "ordering", "shape", "equation", "mechanism")
    shown = bool(claim.tests or claim.experiments)
    assert shown == (claim.verdict != "not run")
    if not claim.experiments:
        assert bool(claim.rows) == shown
    assert not (claim.verdict == "differs" and not claim.cause)
    for test in claim.tests:
        path, _, name = test.partition("::")
        text = (root / path).read_text(encoding="utf-8")
        assert re.search(rf"\b(?:fn|def) {name}\(", text), f"{path} has no test {name}"


def test_every_setting_that_counts_has_rows() -> None:
    for claim in ALL.values():
        if claim.rows:
            assert any(row.judged for row in claim.rows), claim.id


def test_experiments_that_ran_in_full_measure_claims_that_there_are() -> None:
    for name, record in claims.measured().items():
        assert not record["quick"], name
        assert name in EXPERIMENTS
        assert {split_label(row["claim"])[0] for row in record["rows"]} <= set(ALL), name
    assert set(claims.measured()) == {path.stem for path in claims.MEASURED.glob("*.json")}


def test_rows_of_tests_name_a_test_of_their_claim() -> None:
    """And a claim that only tests show has rows of each of them: nothing is written by hand."""
    for row in claims.tested()["rows"]:
        assert row["test"] in ALL[split_label(row["claim"])[0]].tests, row
    for claim in ALL.values():
        if claim.tests and not claim.experiments:
            reported = {row.test for row in claim.rows}
            assert reported == set(claim.tests), claim.id
            assert not claim.ours, claim.id


def test_rows_of_tests_are_compared_with_the_recorded_ones(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another number, a row that is gone and a new one are found, whatever the order of the files."""
    monkeypatch.syspath_prepend(str(Path(__file__).parents[2] / "tools"))
    tested = importlib.import_module("pages.tested")
    rows = [dict(row) for row in claims.tested()["rows"]]
    for at, row in enumerate(reversed(rows)):
        (tmp_path / f"{at:04}.jsonl").write_text(json.dumps(row) + "\n", encoding="utf-8")
    assert tested.differences(rows, sorted(tested.gathered(tmp_path), key=rows.index)) == []
    first, second = rows[0], {**rows[1], "ours": "another", "verdict": "differs"}
    found = tested.differences(rows, [second, {**first, "what": "new"}, *rows[2:]])
    assert len(found) == 3
    assert found[0].endswith("did not report it")
    assert "now another (differs;" in found[1]
    assert found[2].endswith("is not recorded")


def test_commands_name_the_crate_and_the_test() -> None:
    commands = {test: claims.command_of(test) for claim in ALL.values() for test in claim.tests}
    assert commands["crates/cc/tests/theory/hpcc_lemma.rs::hpcc_lemma_i_ii_on_the_senders"] == (
        "cargo test -p fanin-cc hpcc_lemma_i_ii_on_the_senders"
    )
    assert commands["papers/tests/test_dctcp_claims.py::test_dctcp_eq3_qmax"] == (
        "pytest papers/tests/test_dctcp_claims.py::test_dctcp_eq3_qmax"
    )


# The command


def test_the_table_has_every_claim_and_totals(command: Command) -> None:
    found = json.loads(command("claims", "--json").stdout)
    assert [claim["id"] for claim in found] == list(ALL)
    assert all(claim["verdict"] == ALL[claim["id"]].verdict for claim in found)
    shown = command("claims", "--paper", "rcc", "--verdict", "holds")
    assert shown.returncode == 0
    assert "rcc-skiptime" in shown.stdout
    assert "dart-" not in shown.stdout


def test_one_claim_shows_all_that_is_known_of_it(command: Command) -> None:
    shown = command("claims", "dctcp-fig13-pi").stdout
    for text in ("DCTCP, Fig. 13", "fanin paper dctcp-fig13", "holds"):
        assert text in shown


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["dctcp-fig13"], 'dctcp-fig13: there is no such claim; did you mean "dctcp-fig13-pi"?'),
        (["--paper", "pfabric"], "--paper pfabric: there is no such paper; there are dart, dctcp, hpcc, rcc"),
        (["--verdict", "good"], "--verdict good: there is no such verdict; there are holds, depends, close, differs"),
        (["--check", "some"], "--check some: quick or all"),
        (["--reading", "PFC by rat"], '--reading PFC by rat: there is no such reading; did you mean "PFC by rate"?'),
    ],
)
def test_what_is_not_there_is_an_error(words: list[str], message: str, command: Command) -> None:
    failed = command("claims", *words)
    assert failed.returncode == 2
    assert failed.stderr.startswith(f"error: {message}")


def test_many_rows_are_counted_and_those_that_fail_are_shown() -> None:
    claim = ALL["dctcp-eq3-qmax"]
    assert re.match(r"\d+ of \d+ rows hold; differs: 1 Gb/s, 100 us", tables.ours_of(claim))
