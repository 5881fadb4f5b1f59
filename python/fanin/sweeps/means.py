"""The points of a sweep: runs that differ in their seeds alone, their numbers as means with intervals."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Protocol

from fanin.over_seeds import Estimate, estimate
from fanin.quantities import QUANTITIES
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
        names = [name for name in (known[0] if known else ()) if name != "event_hash"]
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


def line_names(found: Sequence[Point], along: str) -> list[str]:
    """For each point the name of its line, where lines are drawn along a column: its scheme and the other columns that
    vary."""
    others = [column for column in varying(found) if column != along]
    names = []
    for point in found:
        rest = ", ".join(f"{_last(column)}={value_text(column, point.settings.get(column))}" for column in others)
        scheme = str(point.settings.get(SCHEME, ""))
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
    """They are all numbers, and drawn to scale."""
    lines: dict[str, dict[Value | None, Estimate]]
    """By name, the number at each value of the column."""
    seeds: int
    notes: list[str]
    """Notes on how to read it."""


def lines(sweep: OfSweep, x: str | None = None, y: str | None = None) -> Lines:
    """Raises `RunError` for a column that does not vary, or a number that no run has."""
    found = points(sweep)
    known = [name for name in QUANTITIES if any(name in point.numbers for point in found)]
    has = [name for name in known if any(point.numbers[name].mean is not None for point in found if point.numbers)]
    if not known:
        raise RunError(f"{sweep.folder}: no run of this sweep has a result yet")
    if y is not None and y not in known:
        near = get_close_matches(y, known, 1)
        hint = f"did you mean {near[0]}?" if near else f"the numbers are {', '.join(known)}"
        raise RunError(f"{y}: not a number of a sweep; {hint}")
    if y is not None and y not in has:
        raise RunError(f"{y}: no run has enough messages for it; choose another number, such as {', '.join(has[4:8])}")
    columns = varying(found)
    if not columns and len({point.settings.get(SCHEME) for point in found}) > 1:
        columns = [SCHEME]
    if x is None and not columns:
        raise RunError(f"{sweep.folder}: nothing to draw along: no column of this grid has several values")
    if x is not None and x not in columns:
        near = [column for column in columns if _last(column) == x]
        if len(near) != 1:
            vary = ", ".join(columns) or "none"
            raise RunError(f"{x}: not a column with several values; those of this grid are: {vary}")
        x = near[0]
    everywhere = [name for name in has if all(point.numbers[name].mean is not None for point in found if point.numbers)]
    chosen = y or next((name for name in DEFAULTS if name in everywhere), (everywhere or has)[0])
    along = x or columns[0]
    values = in_order([point.settings.get(along) for point in found])
    made: dict[str, dict[Value | None, Estimate]] = {}
    for point, name in zip(found, line_names(found, along), strict=True):
        if chosen in point.numbers:
            made.setdefault(name, {})[point.settings.get(along)] = point.numbers[chosen]
    notes = []
    lacking = sum(one.mean is None for line in made.values() for one in line.values())
    if lacking:
        notes.append(f"{lacking} points left out: some run has too few messages")
    unfinished = any((point.numbers["unfinished"].mean or 0) > 0 for point in found if point.numbers)
    if unfinished and QUANTITIES[chosen].of_finished:
        notes.append("of finished messages: some runs left messages unfinished")
    numeric = all(isinstance(value, int | float) and not isinstance(value, bool) for value in values)
    return Lines(along, chosen, values, numeric, made, max(point.seeds for point in found), notes)


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
