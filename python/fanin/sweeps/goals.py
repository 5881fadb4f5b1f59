"""What a search of settings is for: a goal, the limits that it keeps, and how well points of a grid do under them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from fanin._core import SpecError
from fanin.over_seeds import Estimate, estimate
from fanin.parts import OF_SIZE, OF_TIER, OF_TRAFFIC
from fanin.quantities import BYTES_OF, GBPS_OF, OF, QUANTITIES, Unit, quantity, without_unit
from fanin.run_folder import RunError
from fanin.shown import SHOWN, US_OF, number
from fanin.spec import Spec, traffics
from fanin.sweeps.columns import Value
from fanin.sweeps.means import known_number

_UNITS: dict[Unit, dict[str, float]] = {
    "us": {**US_OF, "ns": 1e-3},
    "Gb/s": {**GBPS_OF, "Tbps": 1e3, "Gbps": 1.0, "Mbps": 1e-3},
    "B": BYTES_OF,
    "share": {"%": 0.01},
    "count": {},
    "ratio": {},
}
"""The units in which limits are written, in that of the number."""


@dataclass(frozen=True)
class Goal:
    """A number that is to be as small, or as large, as it can be."""

    name: str
    """Its name in the table of a sweep."""
    largest: bool = False
    """It is to be large."""

    def cost(self, value: float) -> float:
        """The smaller the better."""
        return -value if self.largest else value

    def __str__(self) -> str:
        return f"the {'highest' if self.largest else 'lowest'} {quantity(self.name).row}"


@dataclass(frozen=True)
class Keep:
    """A limit of a number."""

    name: str
    least: bool
    """It is the least value, and otherwise the largest."""
    bound: float
    """In the unit of the number, or as a share of what the spec itself has."""
    relative: bool
    """It is such a share."""

    def margin(self, value: float, own: float) -> float:
        """By how much a value keeps the limit, below zero if it does not; `own` is the value of the spec itself."""
        over = value - self.limit(own)
        return over if self.least else -over

    def limit(self, own: float) -> float:
        """The limit in the unit of the number."""
        return self.bound * own if self.relative else self.bound

    def __str__(self) -> str:
        sign = ">=" if self.least else "<="
        shown = (
            f"{number(self.bound)} of the spec's own" if self.relative else SHOWN[quantity(self.name).unit](self.bound)
        )
        return f"{quantity(self.name).row} {sign} {shown}"


def parse_goal(text: str, spec: Spec) -> Goal:
    """The goal of `slowdown_p99 of short`, or of `max goodput of long`; raises `SpecError`."""
    option = f'--goal "{text}"'
    word, _, rest = text.strip().partition(" ")
    way: Literal["min", "max"] | None = word if word in ("min", "max") and rest else None  # type: ignore[assignment]
    name = _named(rest if way else text, spec, option)
    better = quantity(name).better
    if way is None and better is None:
        raise SpecError(f'{option}: neither small nor large is good by itself; write "min {text}" or "max {text}"')
    return Goal(name, largest=way == "max" or (way is None and better == "high"))


def parse_keep(text: str, spec: Spec) -> Keep:
    """The limit of `goodput of long >= 0.9`; raises `SpecError`."""
    option = f'--keep "{text}"'
    found = re.fullmatch(r"\s*(.+?)\s*(>=|<=)\s*([-+.\deE]+)\s*(\S*)\s*", text)
    if found is None:
        raise SpecError(f'{option}: not a limit; write a number, >= or <=, and a value, like "goodput of long >= 0.9"')
    name = _named(found[1], spec, option)
    unit = quantity(name).unit
    units = _UNITS[unit]
    relative = unit in ("us", "Gb/s", "B") and found[4] in ("", "%")
    try:
        value = float(found[3])
    except ValueError:
        raise SpecError(f"{option}: {found[3]} is not a number") from None
    if relative:
        return Keep(name, found[2] == ">=", value * (0.01 if found[4] else 1.0), relative=True)
    if found[4] and found[4] not in units:
        known = ", ".join(units) or "none"
        raise SpecError(f"{option}: {found[4]} is no unit of {name}; its units are: {known}")
    return Keep(name, found[2] == ">=", value * units.get(found[4], 1.0), relative=False)


def _named(text: str, spec: Spec, option: str) -> str:
    """The name of a number, as far as it is known before anything has run."""
    base, of, part = " ".join(text.split()).partition(OF)
    bases = [name for name in QUANTITIES if name not in OF_TIER or name in ("pauses", "paused_us")]
    if of:
        bases = list(dict.fromkeys((*OF_TRAFFIC, *OF_SIZE, *OF_TIER)))
    try:
        base = known_number(base, bases)
    except RunError as error:
        raise SpecError(f"{option}: {error}") from None
    names = [str(traffic["name"]) for traffic in traffics(spec)]
    if of and base not in OF_TIER and not any(part == name or part.startswith(f"{name} ") for name in names):
        raise SpecError(f"{option}: no traffic of this spec is called {part}; its traffics are {', '.join(names)}")
    return base + of + part


@dataclass(frozen=True)
class Tried:
    """A point of a search: its settings, and its numbers under each seed."""

    settings: dict[str, Value]
    """The keys that vary."""
    goal: list[float | None]
    """The goal under each seed; None where a run has no such number."""
    limits: list[list[float | None]]
    """For each limit the number under each seed."""
    margins: list[list[float | None]]
    """For each limit by how much it is kept under each seed."""
    errors: list[str] = field(default_factory=list)
    """Why some run has no numbers, or is not to be trusted."""

    @property
    def kept(self) -> bool:
        """Whether it keeps all limits, by its means over the seeds."""
        return self.goal_estimate.mean is not None and all((one.mean or 0.0) >= 0 for one in self._margins())

    @property
    def sure(self) -> bool:
        """Whether the 95 % intervals of all margins are within the limits."""
        return self.kept and all((one.mean or 0.0) - (one.half or 0.0) >= 0 for one in self._margins())

    @property
    def goal_estimate(self) -> Estimate:
        """The goal over the seeds."""
        return estimate(self.goal)

    def limit_estimates(self) -> list[Estimate]:
        """The numbers of the limits over the seeds."""
        return [estimate(values) for values in self.limits]

    def margin_estimates(self) -> list[Estimate]:
        """The margins over the seeds: of limits relative to the spec's own, seed by seed."""
        return self._margins()

    def _margins(self) -> list[Estimate]:
        found = [estimate(values) for values in self.margins]
        return [one if one.mean is not None else Estimate(float("-inf"), None) for one in found]

    def better_by(self, other: Tried) -> Estimate:
        """By how much its goal is lower than that of another point, seed by seed: what is alike under one seed, such
        as the messages, cancels."""
        pairs = zip(self.goal, other.goal, strict=True)
        return estimate([None if a is None or b is None else b - a for a, b in pairs])


def tried(
    goal: Goal,
    keeps: Sequence[Keep],
    runs: Sequence[Mapping[str, float | str | int | None]],
    own: Sequence[Mapping[str, float | str | int | None]],
    settings: dict[str, Value],
    errors: list[str],
) -> Tried:
    """A point by the numbers of its runs, and those of the spec itself under the same seeds; both are empty where a run
    has failed."""
    limits = [[_real(run.get(keep.name)) for run in runs] for keep in keeps]
    owns = [[_real(run.get(keep.name)) for run in own] for keep in keeps]
    margins = [
        [None if a is None or b is None else keep.margin(a, b) for a, b in zip(values, ours, strict=True)]
        for keep, values, ours in zip(keeps, limits, owns, strict=True)
    ]
    return Tried(settings, [_real(run.get(goal.name)) for run in runs], limits, margins, errors)


def cost(goal: Goal, point: Tried) -> tuple[bool, float]:
    """What a search makes small: first whether limits are not kept, then by how much in all, or else the goal."""
    mean = point.goal_estimate.mean
    if mean is None:
        return True, float("inf")
    missed = [-(one.mean or 0.0) for one in point.margin_estimates() if (one.mean or 0.0) < 0]
    scales = [max(abs(one.mean or 0.0), 1e-12) for one in point.limit_estimates()]
    return (True, sum(missed) / max(scales)) if missed else (False, goal.cost(mean))


def full_names(goal: Goal, keeps: Sequence[Keep], known: Sequence[str]) -> None:
    """Checks that a run has these numbers; raises `SpecError`."""
    for option, name in [("--goal", goal.name), *(("--keep", keep.name) for keep in keeps)]:
        if name in known:
            continue
        base, _, part = name.partition(OF)
        parts = [one.partition(OF)[2] for one in known if one.startswith(f"{base}{OF}")]
        raise SpecError(f"{option} {without_unit(name)}: there is no {part}; there is {', '.join(parts) or 'none'}")


def _real(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) else None
