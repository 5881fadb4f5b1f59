"""The points of a sweep: runs that differ in their seeds alone, their numbers as means with intervals."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from fanin.over_seeds import Estimate, estimate
from fanin.sweeps.grid import SCHEME, SEED, Value

if TYPE_CHECKING:
    from fanin.sweeps.sweeping import Sweep, SweepRun


@dataclass(frozen=True)
class Point:
    """The runs at one place of the grid."""

    settings: dict[str, Value]
    """The grid's columns; the seed is among them only where there is but one."""
    runs: list[SweepRun]
    """One per seed."""
    numbers: dict[str, Estimate]
    """Over the runs that have a result; empty where none has."""

    @property
    def seeds(self) -> int:
        """How many runs there are to be."""
        return len(self.runs)

    @property
    def done(self) -> int:
        """How many have a result."""
        return sum(bool(run.numbers) for run in self.runs)


def points(sweep: Sweep) -> list[Point]:
    """In the order of the grid."""
    groups: dict[tuple[tuple[str, Value], ...], list[SweepRun]] = {}
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
    """For each point the line that it is on, where lines are drawn along a column: its scheme and what else varies."""
    others = [column for column in varying(found) if column != along]
    names = []
    for point in found:
        rest = ", ".join(f"{_last(column)}={value_text(column, point.settings.get(column))}" for column in others)
        scheme = str(point.settings.get(SCHEME, ""))
        names.append(f"{scheme} ({rest})" if rest else scheme)
    return names


def value_text(column: str, value: Value | None) -> str:
    """A value of a column as people write it: a load in percent, numbers with thousands separated."""
    if value is None:
        return "-"
    if column == "load" and isinstance(value, int | float):
        return f"{value * 100:.4g} %"
    if isinstance(value, bool) or not isinstance(value, int | float):
        return str(value).lower() if isinstance(value, bool) else value
    return f"{value:,}" if isinstance(value, int) else f"{value:,.6g}"


_SCALES = {"": 1.0, "K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "p": 1e-12, "n": 1e-9, "u": 1e-6, "m": 1e-3}


def amount(value: Value | None) -> float | None:
    """How much a value is, to put values in order: 1500 of "1.5 KB"; None of what is no amount."""
    if isinstance(value, bool) or value is None:
        return None
    if not isinstance(value, str):
        return float(value)
    match = re.fullmatch(r"([\d.]+) ?([KMGTpnum]?)(i?B|bps|s|%)?", value.strip())
    return float(match[1]) * _SCALES[match[2]] if match and match[1].strip(".") else None


def in_order(values: Sequence[Value | None]) -> list[Value | None]:
    """Distinct values, from small to large where all are amounts, and else as they came."""
    distinct = list(dict.fromkeys(values))
    amounts = {value: amount(value) for value in distinct}
    if any(one is None for one in amounts.values()):
        return distinct
    return sorted(distinct, key=lambda value: amounts[value] or 0.0)


def _last(column: str) -> str:
    return column.split(".")[-1]


def _real(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) else None
