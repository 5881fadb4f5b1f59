"""What the papers claim, claim by claim, beside what was measured here.

The facts of a claim (where it stands, what it says, when it counts as holding) are in a file for each paper; rows that
experiments measured are in `measured`, a file for each experiment, which `make papers` renews, and rows that tests in
Rust measured in `tested.json`, which `make tested` gathers from the last `make test-rust`.

What a paper leaves open is in a file for each paper in `questions`: a question has the reading that is used elsewhere
and others, under which the experiments that it names run again in full, with the same seeds and criteria.
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

Verdict = Literal["holds", "depends", "close", "differs", "calibrated", "not run"]
"""`holds` by the claim's criterion; `depends` if it holds whole under one reading of something that the paper leaves
open, and not under the one used elsewhere; `close` by the rule of margins; `calibrated` if a free parameter was
fitted."""

VERDICTS: tuple[Verdict, ...] = get_args(Verdict)

PAPERS = {"dart": "Dart", "dctcp": "DCTCP", "hpcc": "HPCC", "rcc": "RCC"}
"""The papers by the names that ids begin with."""

FOLDER = Path(__file__).parent

MEASURED = FOLDER / "measured"
"""The records of experiments that ran in full, a file each."""

_ORDER: tuple[Verdict, ...] = ("holds", "close", "calibrated", "differs")
"""Of rows, from the best to the worst."""


@dataclass(frozen=True)
class Reading:
    """An answer to something that a paper leaves open, or says in two ways, other than the one used elsewhere; or a
    profile, which gives several such answers at once."""

    name: str
    question: str
    """What the paper leaves open."""
    paper: str
    where: str
    """The places in the text."""
    words: str
    """The paper's words there, or `silent`."""
    used: str
    """The answer used elsewhere."""
    says: str
    """What this one is, and why it is one."""
    set: tuple[str, ...]
    """Changes to specs, as `key=value`."""
    of_scheme: Mapping[str, tuple[str, ...]]
    """Changes to the schemes of these ids, as `key=value`, wherever a traffic has them."""
    experiments: tuple[str, ...]
    """Those that run again under it; with `instead_of` those that have rows with the reading's name as a setting."""
    instead_of: str | None
    """The setting in whose place these rows are; None where experiments run again."""
    unchanged: tuple[str, ...]
    """Experiments, and tests as `path::name`, in which there is nothing that it changes, so that their rows are what
    they would be under it."""
    profile_of: tuple[str, ...] = ()
    """The readings whose answers a profile gives; empty for a single reading."""

    def of(self, experiment: str) -> Reading:
        """What of it changes an experiment: of a profile those of its readings that name this one."""
        if not self.profile_of:
            return self
        single = (readings()[name] for name in self.profile_of)
        return profile(self.name, [one for one in single if experiment in (*one.experiments, *one.unchanged)])

    @property
    def keys(self) -> list[str]:
        """Its changes to a spec, as they are shown."""
        own = [f"{change} of {scheme}" for scheme, changes in self.of_scheme.items() for change in changes]
        return [*self.set, *own]


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
    """Whether it decides the claim's verdict, under its reading."""
    test: str = ""
    """The test that measured it, as `path::name`; empty for an experiment's."""
    reading: str = ""
    """The reading that its experiment ran again under; empty for the one used elsewhere."""


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
    """Why it differs, if that is known or suspected."""
    proven: bool
    """Whether an experiment or a test of the tree switches the cause on and off; only suspected otherwise."""
    tests: tuple[str, ...]
    """Tests that show it, as `path::name`."""
    experiments: tuple[str, ...]
    """Experiments that measure it."""
    version: str
    """The version that measured it; empty if it has not run."""
    rows: tuple[Row, ...]
    depends: Reading | None = None
    """The reading under which it holds whole, of a claim that depends."""

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
def readings() -> Mapping[str, Reading]:
    """All readings by name, paper by paper."""
    found: dict[str, Reading] = {}
    for file in sorted((FOLDER / "questions").glob("*.toml")):
        questions = tomllib.loads(file.read_text(encoding="utf-8"))
        profiles = questions.pop("profiles", {})
        for facts in questions.values():
            question = {key: facts[key] for key in ("question", "where", "words", "used")}
            for name, answer in facts["readings"].items():
                found[name] = Reading(
                    name=name,
                    paper=file.stem,
                    **question,
                    says=answer["says"],
                    set=tuple(answer.get("set", ())),
                    of_scheme={scheme: tuple(keys) for scheme, keys in answer.get("of_scheme", {}).items()},
                    experiments=tuple(answer["experiments"]),
                    instead_of=answer.get("instead_of"),
                    unchanged=tuple(answer.get("unchanged", ())),
                )
        found |= {name: profile(name, [found[one] for one in of]) for name, of in profiles.items()}
    return found


def profile(name: str, of: Sequence[Reading]) -> Reading:
    """Several readings of a paper at once."""
    schemes = dict.fromkeys(scheme for one in of for scheme in one.of_scheme)
    experiments = dict.fromkeys(id_ for one in of for id_ in one.experiments)
    return Reading(
        name=name,
        question="All of these at once.",
        paper=of[0].paper,
        where=", ".join(dict.fromkeys(one.where for one in of)),
        words="as for each",
        used="as for each",
        says=" and ".join(one.name for one in of),
        set=tuple(change for one in of for change in one.set),
        of_scheme={scheme: tuple(key for one in of for key in one.of_scheme.get(scheme, ())) for scheme in schemes},
        experiments=tuple(experiments),
        instead_of=None,
        unchanged=tuple(id_ for one in of for id_ in one.unchanged if id_ not in experiments),
        profile_of=tuple(one.name for one in of),
    )


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
            reading, setting = split_reading(setting)
            if reading and not setting:
                setting = readings()[reading].instead_of or ""
            parts = {key: row[key] for key in ("what", "paper", "ours", "accept", "verdict")}
            judged, test = row.get("judged", True), row.get("test", "")
            found.setdefault(claim, []).append(Row(name, setting, **parts, judged=judged, test=test, reading=reading))
    return found


def split_label(label: str) -> tuple[str, str]:
    """A row's label is the claim's id, and in parentheses the setting if it is one of several."""
    claim, _, setting = label.partition(" (")
    return claim, setting.removesuffix(")")


def split_reading(setting: str) -> tuple[str, str]:
    """The setting of a row under a reading is the reading's name, and after a colon its setting if it has one."""
    name, _, rest = setting.partition(": ")
    return (name, rest) if name in readings() else ("", setting)


def under(reading: str, label: str) -> str:
    """The label of a row under a reading."""
    claim, setting = split_label(label)
    return f"{claim} ({reading}: {setting})" if setting else f"{claim} ({reading})"


def settings_of(facts: Mapping[str, Any]) -> tuple[str, ...]:
    """The settings that count, of a claim's facts."""
    return tuple(facts.get("settings", ("",)))


@cache
def counting() -> Mapping[str, tuple[str, ...]]:
    """The settings that count, by claim."""
    files = (tomllib.loads(file.read_text(encoding="utf-8")) for file in sorted(FOLDER.glob("*.toml")))
    return {id_: settings_of(facts) for file in files for id_, facts in file.items()}


def _claim(id_: str, paper: str, facts: Mapping[str, Any], rows: Sequence[Row], versions: Mapping[str, str]) -> Claim:
    tests = tuple(facts.get("tests", ()))
    settings = settings_of(facts)
    used = [row for row in rows if not row.reading]
    verdict = facts.get("verdict") or verdict_of(used, settings)
    depends = depends_on(rows, settings) if verdict in ("close", "differs") else None
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
        verdict=verdict if depends is None else "depends",
        cause=facts.get("cause", ""),
        proven=facts.get("proven", False),
        tests=tests,
        experiments=tuple(filter(None, sources)),
        version=max((versions[name] for name in sources), default=facts.get("version", "")),
        rows=tuple(decides(row, settings) for row in rows),
        depends=depends,
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


def depends_on(rows: Sequence[Row], settings: Sequence[str]) -> Reading | None:
    """The first single reading under which the claim holds whole."""
    named = [readings()[name] for name in dict.fromkeys(row.reading for row in rows if row.reading)]
    single = (one for one in named if not one.profile_of)
    return next((one for one in single if whole_under(rows, one, settings) == "holds"), None)


def whole_under(rows: Sequence[Row], reading: Reading, settings: Sequence[str]) -> Verdict | None:
    """The verdict under a reading, if the claim is measured there with all parts that it has under the one used
    elsewhere, by the same criteria; None otherwise."""
    used = [row for row in rows if not row.reading]
    alike = [row for row in used if {row.experiment, row.test} & set(reading.unchanged)]
    its = [*alike, *(row for row in rows if row.reading == reading.name)]
    whole = [pattern for pattern in settings if parts_of(its, pattern) == parts_of(used, pattern)]
    return verdict_of(its, whole) if whole else None


def under_reading(reading: Reading) -> dict[str, tuple[Verdict, Verdict]]:
    """The claims that are measured whole under a reading, by id: their verdict under the one used elsewhere, and under
    this one."""
    found: dict[str, tuple[Verdict, Verdict]] = {}
    for claim in claims():
        if claim.paper == reading.paper and any(row.reading == reading.name for row in claim.rows):
            settings = counting()[claim.id]
            used = verdict_of([row for row in claim.rows if not row.reading], settings)
            if verdict := whole_under(claim.rows, reading, settings):
                found[claim.id] = used, verdict
    return found


def parts_of(rows: Iterable[Row], pattern: str) -> list[tuple[str, str]]:
    """What decides under a setting, without the numbers: the test, if it is one's, and the criterion."""
    its = (row for row in rows if row.judged and fnmatchcase(row.setting, pattern))
    return sorted((row.test, row.accept) for row in its)


def totals(of: Sequence[Claim]) -> dict[str, dict[Verdict, int]]:
    """The number of claims of each verdict by paper, and of `all`."""
    papers = list(dict.fromkeys(claim.paper for claim in of))
    chosen = {paper: [claim for claim in of if claim.paper == paper] for paper in papers} | {"all": list(of)}
    return {
        paper: {verdict: sum(claim.verdict == verdict for claim in some) for verdict in VERDICTS}
        for paper, some in chosen.items()
    }


def without_readings(record: Mapping[str, Any]) -> Mapping[str, Any]:
    """The record of an experiment without the rows of readings under which it runs again."""
    again = record.get("readings", {})
    rows = [row for row in record["rows"] if split_reading(split_label(row["claim"])[1])[0] not in again]
    return {**record, "rows": rows}


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
