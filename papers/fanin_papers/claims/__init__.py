"""What the papers claim, claim by claim, beside what was measured here.

The facts of a claim (where it stands, what it says, when it counts as holding) are in a file for each paper; rows that
experiments measured are in `measured`, a file for each experiment, which `make papers` renews, and rows that tests in
Rust measured in `tested.json`, which `make tested` gathers from the last `make test-rust`.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from typing import Any, Literal, get_args

Verdict = Literal["holds", "close", "differs", "calibrated", "not run"]
"""`holds` by the claim's criterion; `close` by the rule of margins; `calibrated` if a free parameter was fitted."""

VERDICTS: tuple[Verdict, ...] = get_args(Verdict)

PAPERS = {"dart": "Dart", "dctcp": "DCTCP", "hpcc": "HPCC", "rcc": "RCC"}
"""The papers by the names that ids begin with."""

FOLDER = Path(__file__).parent

MEASURED = FOLDER / "measured"
"""The records of experiments that ran in full, a file each."""

_ORDER: tuple[Verdict, ...] = ("holds", "close", "calibrated", "differs")
"""From the best to the worst."""


@dataclass(frozen=True)
class Row:
    """A measured part of a claim."""

    experiment: str
    """The experiment that measured it; empty for a test's."""
    setting: str
    """The reading of the paper or the variant that it was measured under; empty without a choice."""
    what: str
    paper: str
    ours: str
    accept: str
    """When it counts as holding."""
    verdict: Verdict
    judged: bool
    """Whether it decides the claim's verdict."""
    test: str = ""
    """The test that measured it, as `path::name`; empty for an experiment's."""


@dataclass(frozen=True)
class Claim:
    """A single checkable statement of a paper."""

    id: str
    paper: str
    where: str
    """Its place in the paper."""
    kind: str
    """number, ordering, shape, equation or mechanism."""
    says: str
    accept: str
    """When it counts as holding."""
    number: str
    """The paper's number, if it has one; `says` otherwise."""
    ours: str
    """Our number in short; of an experiment's rows if it has any."""
    verdict: Verdict
    cause: str
    """Why it differs, if that is known."""
    proven: bool
    """Whether an experiment or a test of the tree switches the cause on and off; asserted otherwise."""
    tests: tuple[str, ...]
    """Tests that show it, as `path::name`."""
    experiments: tuple[str, ...]
    """Experiments that measure it."""
    version: str
    """The version that measured it; empty if it has not run."""
    rows: tuple[Row, ...]

    @property
    def commands(self) -> list[str]:
        """The commands that show it."""
        ran = [f"fanin paper {name}" for name in self.experiments]
        return [*ran, *map(command_of, self.tests)]


def command_of(test: str) -> str:
    """The command that runs a test named as `path::name`."""
    path, _, name = test.partition("::")
    parts = path.split("/")
    if parts[0] != "crates":
        return f"pytest {test}"
    return f"cargo test -p fanin-{parts[1]} {name}"


@cache
def measured() -> Mapping[str, Mapping[str, Any]]:
    """What each experiment measured when it last ran in full, by its id: its `rows`, `packet_hops`, `version`."""
    records = (json.loads(path.read_text(encoding="utf-8")) for path in sorted(MEASURED.glob("*.json")))
    return {record["experiment"]: record for record in records}


@cache
def tested() -> Mapping[str, Any]:
    """What tests in Rust measured: their `rows`, and the `version`."""
    found: dict[str, Any] = json.loads((FOLDER / "tested.json").read_text(encoding="utf-8"))
    return found


@cache
def claims() -> tuple[Claim, ...]:
    """All claims, paper by paper, in the order of their files."""
    return claims_of(measured())


def claims_of(recorded: Mapping[str, Mapping[str, Any]]) -> tuple[Claim, ...]:
    """The same with other records of experiments than those of the package."""
    rows = _rows_by_claim({**recorded, "": tested()})
    versions = {name: record.get("version", "") for name, record in {**recorded, "": tested()}.items()}
    return tuple(
        _claim(id_, file.stem, facts, rows.get(id_, ()), versions)
        for file in sorted(FOLDER.glob("*.toml"))
        for id_, facts in tomllib.loads(file.read_text(encoding="utf-8")).items()
    )


def _rows_by_claim(of: Mapping[str, Mapping[str, Any]]) -> dict[str, list[Row]]:
    found: dict[str, list[Row]] = {}
    for name, record in of.items():
        for row in record["rows"]:
            claim, setting = split_label(row["claim"])
            parts = {key: row[key] for key in ("what", "paper", "ours", "accept", "verdict")}
            judged, test = row.get("judged", True), row.get("test", "")
            found.setdefault(claim, []).append(Row(name, setting, **parts, judged=judged, test=test))
    return found


def split_label(label: str) -> tuple[str, str]:
    """A row's label is the claim's id, and in parentheses the setting if it is one of several."""
    claim, _, setting = label.partition(" (")
    return claim, setting.removesuffix(")")


def _claim(id_: str, paper: str, facts: Mapping[str, Any], rows: Sequence[Row], versions: Mapping[str, str]) -> Claim:
    tests = tuple(facts.get("tests", ()))
    settings = tuple(facts.get("settings", ("",)))
    verdict = facts.get("verdict") or verdict_of(rows, settings)
    sources = dict.fromkeys(row.experiment for row in rows)
    return Claim(
        id=id_,
        paper=paper,
        where=facts["where"],
        kind=facts["kind"],
        says=facts["says"],
        accept=facts["accept"],
        number=facts.get("number", ""),
        ours=facts.get("ours", ""),
        verdict=verdict,
        cause=facts.get("cause", ""),
        proven=facts.get("proven", False),
        tests=tests,
        experiments=tuple(filter(None, sources)),
        version=max((versions[name] for name in sources), default=facts.get("version", "")),
        rows=tuple(decides(row, settings) for row in rows),
    )


def decides(row: Row, settings: Sequence[str]) -> Row:
    """The row, judged only if its setting is one of those that count."""
    counts = row.judged and any(fnmatchcase(row.setting, pattern) for pattern in settings)
    return Row(**{**vars(row), "judged": counts})


def verdict_of(rows: Iterable[Row], settings: Sequence[str] = ("",)) -> Verdict:
    """A claim holds only if all its rows hold under one setting: the worst row of the best setting decides.

    `settings` are patterns: rows of all settings that one of them fits are parts of one statement.
    """
    of_setting = []
    for pattern in settings:
        verdicts = [row.verdict for row in rows if row.judged and fnmatchcase(row.setting, pattern)]
        if verdicts:
            of_setting.append(max(verdicts, key=_ORDER.index))
    return min(of_setting, key=_ORDER.index, default="not run")


def totals(of: Sequence[Claim]) -> dict[str, dict[Verdict, int]]:
    """The number of claims of each verdict by paper, and of `all`."""
    papers = list(dict.fromkeys(claim.paper for claim in of))
    chosen = {paper: [claim for claim in of if claim.paper == paper] for paper in papers} | {"all": list(of)}
    return {
        paper: {verdict: sum(claim.verdict == verdict for claim in some) for verdict in VERDICTS}
        for paper, some in chosen.items()
    }


def named(rows: Iterable[Mapping[str, Any]]) -> dict[tuple[str, str], Mapping[str, Any]]:
    """Rows by claim and what they measure; no two are alike in both, or one would hide the other."""
    found: dict[tuple[str, str], Mapping[str, Any]] = {}
    for row in rows:
        name = (row["claim"], row["what"])
        if name in found:
            raise ValueError(f"two rows are {', '.join(name)}; say what each of them measures")
        found[name] = row
    return found


def changes(recorded: Mapping[str, Any], now: Mapping[str, Any]) -> list[dict[str, str]]:
    """The rows of an experiment whose verdict is not the recorded one, and those that are new or gone."""
    before, after = (named(record["rows"]) for record in (recorded, now))
    found = []
    for claim, what in dict.fromkeys([*before, *after]):
        old, new = (side.get((claim, what), {"verdict": "no row", "ours": "-"}) for side in (before, after))
        if old["verdict"] != new["verdict"]:
            found.append(
                {
                    "claim": claim,
                    "what": what,
                    "before": old["verdict"],
                    "ours_before": old["ours"],
                    "now": new["verdict"],
                    "ours": new["ours"],
                }
            )
    return found
