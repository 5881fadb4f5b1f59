"""The points of a sweep: runs that differ in their seeds alone, their numbers as means with intervals."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Protocol

from fanin.over_seeds import Estimate, estimate
from fanin.quantities import quantity, without_unit
from fanin.run_folder import RunError
from fanin.sweeps.columns import SCHEME, SEED, Value


class OfRun(Protocol):
    """What a sweep has of a run."""

    @property
    def settings(self) -> dict[str, Value]:
        """Its place in the grid."""

    @property
    def status(self) -> str:
        """As of `SweepRun`."""

    @property
    def numbers(self) -> dict[str, float | str | int | None]:
        """By the names of the table's columns; empty without a result."""

    @property
    def errors(self) -> list[str]:
        """What went wrong."""


class OfSweep(Protocol):
    """What tables and pictures use of a sweep."""

    @property
    def folder(self) -> Path:
        """Where it lies."""

    @property
    def name(self) -> str:
        """The spec's name."""

    @property
    def runs(self) -> Sequence[OfRun]:
        """In the order of the grid."""

    @property
    def failed(self) -> Sequence[OfRun]:
        """The runs that have no result because of an error."""


@dataclass(frozen=True)
class Point:
    """The runs at one place of the grid."""

    settings: dict[str, Value]
    """The grid's columns; without the seed if there are several."""
    runs: list[OfRun]
    """One per seed."""
    numbers: dict[str, Estimate]
    """Over the runs that have a result; empty where none has."""

    @property
    def seeds(self) -> int:
        """The number of its runs."""
        return len(self.runs)

    @property
    def done(self) -> int:
        """The number of its runs that have a result."""
        return sum(bool(run.numbers) for run in self.runs)


def points(sweep: OfSweep) -> list[Point]:
    """In the order of the grid."""
    groups: dict[tuple[tuple[str, Value], ...], list[OfRun]] = {}
    for run in sweep.runs:
        place = tuple((column, value) for column, value in run.settings.items() if column != SEED)
        groups.setdefault(place, []).append(run)
    several = any(len(runs) > 1 for runs in groups.values())
    found = []
    for place, runs in groups.items():
        known = [run.numbers for run in runs if run.numbers]
        # A run in which no message was of a class of sizes has no numbers of that class.
        names = [name for name in dict.fromkeys(name for one in known for name in one) if name != "event_hash"]
        numbers = {name: estimate([_real(one.get(name)) for one in known]) for name in names}
        found.append(Point(dict(place) if several else dict(runs[0].settings), runs, numbers))
    return found


def varying(found: Sequence[Point]) -> list[str]:
    """The columns in which points differ, without the scheme."""
    columns = dict.fromkeys(column for point in found for column in point.settings)
    return [
        column
        for column in columns
        if column not in (SCHEME, SEED) and len({point.settings.get(column) for point in found}) > 1
    ]


def line_names(found: Sequence[Point], *along: str) -> list[str]:
    """For each point the name of its line, where lines are drawn along a column, or of its map over two: its scheme
    and the other columns that vary."""
    others = [column for column in varying(found) if column not in along]
    names = []
    for point in found:
        rest = ", ".join(f"{_last(column)}={value_text(column, point.settings.get(column))}" for column in others)
        scheme = "" if SCHEME in along[1:] or along[0] == SCHEME != along[-1] else str(point.settings.get(SCHEME, ""))
        names.append(f"{scheme} ({rest})" if rest else scheme)
    return names


def value_text(column: str, value: Value | None) -> str:
    """A value of a column as text: a load in percent, numbers with thousands separated."""
    if value is None:
        return "-"
    if column == "load" and isinstance(value, int | float):
        return f"{value * 100:.4g} %"
    if isinstance(value, bool) or not isinstance(value, int | float):
        return str(value).lower() if isinstance(value, bool) else value
    return f"{value:,}" if isinstance(value, int) else f"{value:,.6g}"


DEFAULTS = ("fct_p99_us", "fct_p50_us", "long_goodput_gbps", "query_p99_us")
"""The default number to draw: the first of these that all runs have."""


@dataclass(frozen=True)
class Lines:
    """A number along a column of the grid."""

    x: str
    y: str
    values: list[Value | None]
    """Of the column, in order."""
    numeric: bool
    """They are all amounts, such as 16 or 50 KB, and drawn to scale."""
    lines: dict[str, dict[Value | None, Estimate]]
    """By name, the number at each value of the column."""
    seeds: int
    notes: list[str]
    """Notes on how to read it."""


def lines(sweep: OfSweep, x: str | None = None, y: str | None = None) -> Lines:
    """Raises `RunError` for a column that does not vary, or a number that no run has."""
    found = points(sweep)
    along = _column(sweep, found, x, first=True)
    chosen = _number(sweep, found, y)
    values = in_order([point.settings.get(along) for point in found])
    made: dict[str, dict[Value | None, Estimate]] = {}
    for point, name in zip(found, line_names(found, along), strict=True):
        if chosen in point.numbers:
            made.setdefault(name, {})[point.settings.get(along)] = point.numbers[chosen]
    lacking = sum(one.mean is None for line in made.values() for one in line.values())
    ordered = all(amount(value) is not None for value in values)
    return Lines(
        along, chosen, values, ordered, made, max(point.seeds for point in found), _notes(found, chosen, lacking)
    )


@dataclass(frozen=True)
class Map:
    """A number over two columns of the grid."""

    x: str
    y: str
    number: str
    across: list[Value | None]
    """The values of the first column, in order."""
    up: list[Value | None]
    """Those of the second."""
    panels: dict[str, dict[tuple[Value | None, Value | None], Estimate]]
    """By the scheme and the other columns that vary, the number at each pair of values."""
    seeds: int
    notes: list[str]
    """Notes on how to read it."""


def over_two(sweep: OfSweep, x: str | None, y: str, number: str | None = None) -> Map:
    """A number over two columns. Raises `RunError` as `lines` does."""
    found = points(sweep)
    second = _column(sweep, found, y, first=False)
    first = _column(sweep, found, x, first=True, but=second)
    if first == second:
        raise RunError(f"{y}: a map has two columns; choose different ones")
    chosen = _number(sweep, found, number)
    panels: dict[str, dict[tuple[Value | None, Value | None], Estimate]] = {}
    for point, name in zip(found, line_names(found, first, second), strict=True):
        if chosen in point.numbers:
            place = point.settings.get(first), point.settings.get(second)
            panels.setdefault(name, {})[place] = point.numbers[chosen]
    lacking = sum(one.mean is None for panel in panels.values() for one in panel.values())
    return Map(
        first,
        second,
        chosen,
        in_order([point.settings.get(first) for point in found]),
        in_order([point.settings.get(second) for point in found]),
        panels,
        max(point.seeds for point in found),
        _notes(found, chosen, lacking),
    )


def known_number(name: str, known: Sequence[str]) -> str:
    """The number that a name means, also without its unit: `goodput of long`. Raises `RunError` for none."""
    if name in known:
        return name
    meant = [one for one in known if without_unit(one) == " ".join(name.split())]
    if len(meant) == 1:
        return meant[0]
    near = get_close_matches(name, known, 1) or get_close_matches(without_unit(name), known, 1, 0.7)
    hint = f"did you mean {near[0]}?" if near else f"the numbers are {', '.join(known)}"
    raise RunError(f"{name}: not a number of a sweep; {hint}")


def _number(sweep: OfSweep, found: Sequence[Point], wanted: str | None) -> str:
    """The number that is drawn."""
    known = [name for name in dict.fromkeys(name for point in found for name in point.numbers) if name != "event_hash"]
    if not known:
        raise RunError(f"{sweep.folder}: no run of this sweep has a result yet")
    has = [name for name in known if any(_mean(point, name) is not None for point in found)]
    if wanted is not None:
        chosen = known_number(wanted, known)
        if chosen not in has:
            raise RunError(f"{chosen}: {why_none(chosen)}; choose another number, such as {', '.join(has[4:8])}")
        return chosen
    everywhere = [name for name in has if all(_mean(point, name) is not None for point in found if point.numbers)]
    return next((name for name in DEFAULTS if name in everywhere), (everywhere or has)[0])


def why_none(number: str) -> str:
    """Why no run has a number."""
    if number.startswith("queue_p"):
        return "no run samples these queues: add measure.series = " + SAMPLE + " to the spec"
    return "no run has enough messages for it"


SAMPLE = '[{ what = "queue", where = "switch-ports", every = "10 us" }]'
"""What samples the queues of all tiers."""


def _mean(point: Point, name: str) -> float | None:
    return point.numbers[name].mean if name in point.numbers else None


def _column(sweep: OfSweep, found: Sequence[Point], wanted: str | None, *, first: bool, but: str = "") -> str:
    """The column of an axis."""
    columns = varying(found)
    if first and not columns and len({point.settings.get(SCHEME) for point in found}) > 1:
        columns = [SCHEME]
    if wanted is None:
        left = [column for column in columns if column != but]
        if not left:
            raise RunError(f"{sweep.folder}: nothing to draw along: no column of this grid has several values")
        return left[0]
    if wanted in (SCHEME, *columns) and (wanted != SCHEME or len({p.settings.get(SCHEME) for p in found}) > 1):
        return wanted
    near = [column for column in columns if column.endswith(f".{wanted}")]
    if len(near) != 1:
        vary = ", ".join(columns) or "none"
        raise RunError(f"{wanted}: not a column with several values; those of this grid are: {vary}")
    return near[0]


def _notes(found: Sequence[Point], chosen: str, lacking: int) -> list[str]:
    """How to read a picture of a number that so many points lack."""
    notes = []
    if lacking:
        notes.append(f"{lacking} points left out: some run has too few messages")
    unfinished = any((point.numbers["unfinished"].mean or 0) > 0 for point in found if point.numbers)
    if unfinished and quantity(chosen).of_finished:
        notes.append("of finished messages: some runs left messages unfinished")
    return notes


_SCALES = {"": 1.0, "K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "p": 1e-12, "n": 1e-9, "u": 1e-6, "m": 1e-3}


def amount(value: Value | None) -> float | None:
    """The amount of a value, for sorting: 1500 for "1.5 KB"; None if it is no amount."""
    if isinstance(value, bool) or value is None:
        return None
    if not isinstance(value, str):
        return float(value)
    match = re.fullmatch(r"([\d.]+) ?([KMGTpnum]?)(i?B|bps|s|%)?", value.strip())
    return float(match[1]) * _SCALES[match[2]] if match and match[1].strip(".") else None


def in_order(values: Sequence[Value | None]) -> list[Value | None]:
    """Distinct values, from small to large if all are amounts, and else in their given order."""
    distinct = list(dict.fromkeys(values))
    amounts = {value: amount(value) for value in distinct}
    if any(one is None for one in amounts.values()):
        return distinct
    return sorted(distinct, key=lambda value: amounts[value] or 0.0)


def _last(column: str) -> str:
    return column.split(".")[-1]


def _real(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) else None
