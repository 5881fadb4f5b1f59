"""The grid of a sweep: schemes x loads x values of spec keys x seeds, each point a run that is checked before the first
one starts."""

from __future__ import annotations

import hashlib
import json
import os
import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from fanin import _core
from fanin.spec import Spec, section, traffics, used
from fanin.sweeps.columns import LOAD, SCHEME, SEED, Value, label_of

if TYPE_CHECKING:
    from fanin.own_schemes import Origin
    from fanin.runs import Job, Runnable

T = TypeVar("T")


@dataclass(frozen=True)
class Axis:
    """One dimension of a grid."""

    column: str
    """`scheme`, `load`, `seed` or a key of the spec."""
    values: Sequence[Value | None]
    """The values of the column; None for the spec's own scheme or seed."""
    changes: Sequence[tuple[str, ...]]
    """For each value its changes of the spec, as `key=value`."""


@dataclass(frozen=True)
class Point:
    """One run of a grid."""

    settings: dict[str, Value]
    """The columns of the grid."""
    job: Job
    key: str = ""
    """Identifies the run: a hash of the checked spec, of the files that it reads and of Fanin's version."""
    error: str | None = None
    """The reason why it cannot run; such a point has a key, too."""

    @property
    def label(self) -> str:
        """A readable name of the run."""
        return label_of(self.settings)


def axes(
    resolved: Spec,
    schemes: Sequence[str] | None,
    loads: Sequence[float] | None,
    seeds: int | Sequence[int] | None,
    vary: Mapping[str, Sequence[object]],
) -> list[Axis]:
    """The dimensions in the order of the columns and rows: schemes, loads, keys in the given order, seeds."""
    found = [Axis(SCHEME, [None], [()])]
    if schemes is not None:
        found = [Axis(SCHEME, _some(SCHEME, schemes), [()] * len(schemes))]
    if loads is not None:
        found.append(_load_axis(resolved, _some(LOAD, loads), vary))
    for key, values in vary.items():
        listed = _some(key, values)
        if key.strip() in (SEED, SCHEME, LOAD):
            raise _core.SpecError(f"--vary {key}: write --{key.strip()}s instead")
        texts = [_toml(value, top=True) for value in listed]
        found.append(Axis(key.strip(), [_shown(text) for text in texts], [(f"{key.strip()}={t}",) for t in texts]))
    if isinstance(seeds, int):
        first = int(str(resolved["seed"]))
        if seeds < 1:
            raise _core.SpecError(f"seeds: {seeds} is no number of runs; give 1 or more")
        seeds = range(first, first + seeds)
    found.append(Axis(SEED, [None] if seeds is None else _some(SEED, seeds), [()] * len(seeds or [None])))
    for axis in found:
        twice = [value for number, value in enumerate(axis.values) if value in axis.values[:number]]
        if twice:
            raise _core.SpecError(f"{axis.column}: {twice[0]} occurs twice; write each value once")
    return found


def points(base: Job, resolved: Spec, grid: Sequence[Axis]) -> list[Point]:
    """The product of all axes, the last one fastest, each point checked.

    A value under which no point can run is a mistake, and raises `SpecError`; if only some points with a value cannot
    run, they keep their error.
    """
    found = points_at(base, resolved, grid, product(*(range(len(axis.values)) for axis in grid)))
    refuse_mistakes(found)
    return found


def points_at(base: Job, resolved: Spec, grid: Sequence[Axis], places: Iterable[Sequence[int]]) -> list[Point]:
    """The points at these places of a grid, each a number of a value of every axis; those that cannot run have the
    reason."""
    found: list[Point] = []
    versions = _Files(base.folder)
    for combination in places:
        chosen = {axis.column: axis.values[at] for axis, at in zip(grid, combination, strict=True)}
        changes = [change for axis, at in zip(grid, combination, strict=True) for change in axis.changes[at]]
        scheme, seed = chosen[SCHEME], chosen[SEED]
        job = replace(base, overrides=(*base.overrides, *changes)).using(
            None if scheme is None else str(scheme), None if seed is None else int(seed)
        )
        found.append(_checked(chosen, job, versions, resolved, _options(grid, combination)))
    return found


def base_of(job: Job, resolved: Spec) -> dict[str, object]:
    """The part of a spec that identifies it: its keys except the seed, with the contents of its files."""
    files = _Files(job.folder)
    return {key: files.read(value) for key, value in resolved.items() if key != SEED}


def setting(base: Spec, column: str) -> Value | None:
    """The value of a spec that a column of a grid would vary; None if it has none that fits into a table."""
    if column == LOAD:
        shares = [Fraction(str(section(traffic, LOAD)["share"])) for traffic in traffics(base) if LOAD in traffic]
        return float(sum(shares)) if shares else None
    at: object = base
    for word in column.replace("[", ".[").split("."):
        if isinstance(at, dict):
            at = at.get(word)
        elif isinstance(at, list) and word.startswith("["):
            index = int(word[1:-1])
            at = at[index] if index < len(at) else None
        elif isinstance(at, list):
            at = next((one for one in at if isinstance(one, dict) and one.get("name") == word), None)
    return at if isinstance(at, str | int | float | bool) else None


def difference(one: object, other: object, path: str = "") -> str | None:
    """The first key in which two documents differ, and how; None where they are equal."""
    if isinstance(one, dict) and isinstance(other, dict):
        for key in [*one, *(key for key in other if key not in one)]:
            found = difference(one.get(key), other.get(key), f"{path}.{key}" if path else str(key))
            if found is not None:
                return found
        return None
    if isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        each = (difference(a, b, f"{path}[{at}]") for at, (a, b) in enumerate(zip(one, other, strict=True)))
        return next((found for found in each if found is not None), None)
    return None if one == other else f"{path} is {_brief(one)} there and {_brief(other)} here"


def _brief(value: object) -> str:
    text = "absent" if value is None else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 100 else text[:97] + "..."


def _options(grid: Sequence[Axis], combination: Sequence[int]) -> dict[str, str]:
    """The option of each change, by the name of the change in errors."""
    told: dict[str, str] = {}
    for axis, at in zip(grid, combination, strict=True):
        for change in axis.changes[at]:
            told[f'--set "{change}"'] = f"--loads {axis.values[at]:g}" if axis.column == LOAD else f'--vary "{change}"'
    return told


def _checked(
    chosen: Mapping[str, Value | None], job: Job, files: _Files, base: Spec, options: Mapping[str, str]
) -> Point:
    error: str | None = None
    try:
        resolved: Spec = job.resolve()
    except _core.SpecError as found:
        resolved, error = base, str(found)
        for change, option in options.items():
            error = error.replace(change, option)
    ids = used(resolved)
    says: dict[str, Value] = {SCHEME: "+".join(dict.fromkeys(ids[SCHEME])), SEED: int(str(resolved[SEED]))}
    # The column of schemes has the names that were asked for.
    settings = {column: says[column] if value is None else value for column, value in chosen.items()}
    if error is not None:
        return Point(settings, job, _hash({"settings": settings, "job": [job.text, *job.overrides]}), error)
    return Point(settings, job, _hash(_known(job.own, resolved, files)))


def key_of(job: Runnable) -> str | None:
    """What the result of a run depends on, as a text that differs where that does: its resolved spec with the contents
    of its files, programs of one's own, where it runs, and the version of Fanin. None for a job without a spec, such as
    the files of another simulator as they are. Raises `SpecError`."""
    resolved = job.resolve()
    if not isinstance(resolved, dict) or not resolved:
        return None
    known = _known(getattr(job, "own", ()), resolved, _Files(str(getattr(job, "folder", "."))))
    return _hash({**known, "on": [getattr(job, key, None) for key in ("wire", "clock", "link")]})


def _known(owns: Iterable[Origin], resolved: Spec, files: _Files) -> dict[str, object]:
    ids = used(resolved)
    own = {f"{origin.kind} {origin.id}": origin.digest for origin in owns if origin.id in ids[origin.kind]}
    return {"version": _core.__version__, "spec": files.read(resolved)} | ({"own": own} if own else {})


def refuse_mistakes(found: Sequence[Point]) -> None:
    """Raises `SpecError` where no point with some value can run."""
    faults: dict[str, None] = {}
    for column in found[0].settings:
        at: dict[Value, list[Point]] = {}
        for point in found:
            at.setdefault(point.settings[column], []).append(point)
        for same in at.values():
            if all(point.error is not None for point in same):
                faults[str(same[0].error)] = None
    if faults:
        # An unknown key is one mistake, whatever its values.
        told = {
            re.sub(r'^(--vary "[^"=]*)=[^"]*"', r"\1", line): line for line in reversed("\n".join(faults).splitlines())
        }
        raise _core.SpecError("\n".join(reversed(told.values())))


def _hash(document: object) -> str:
    text = json.dumps(document, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:32]


class _Files:
    """The files that a spec reads: a run depends on their contents, not on their paths."""

    def __init__(self, folder: str) -> None:
        self._folder = Path(folder)
        self._known: dict[str, str] = {}

    def read(self, value: object) -> object:
        """The document with hashes of files instead of their paths."""
        if isinstance(value, dict):
            return {key: self.read(one) for key, one in value.items()}
        if isinstance(value, list):
            return [self.read(one) for one in value]
        if not isinstance(value, str):
            return value
        if value not in self._known:
            self._known[value] = self._named(value)
        return self._known[value]

    def _named(self, text: str) -> str:
        path = self._folder / text
        try:
            if path.is_file():
                return f"{path.name} (sha256 {hashlib.sha256(path.read_bytes()).hexdigest()[:32]})"
        except (OSError, ValueError):
            pass  # not the name of a file, or one whose error the run reports
        return text


def _load_axis(resolved: Spec, loads: Sequence[float], vary: Mapping[str, Sequence[object]]) -> Axis:
    """Scales the load shares of all traffics that have one so that they add up to each load; their ratios stay the
    same."""
    shares = [(at, section(traffic, "load")) for at, traffic in enumerate(traffics(resolved)) if "load" in traffic]
    if not shares:
        raise _core.SpecError("--loads: no traffic of this spec has a load; vary another key with --vary KEY=V1,V2")
    of = dict.fromkeys(str(load["of"]) for _, load in shares)
    if len(of) > 1:
        raise _core.SpecError(
            f"--loads: the traffics' loads are shares of different capacities ({', '.join(of)}), which do not add up; "
            "vary one of them, like --vary traffic[0].load.share=0.3,0.5"
        )
    for key in vary:
        if key.strip().endswith((".load", ".load.share")):
            raise _core.SpecError(f"--vary {key}: --loads sets it too; choose one of them")
    total = sum(Fraction(str(load["share"])) for _, load in shares)
    changes: list[tuple[str, ...]] = []
    for wanted in loads:
        if not 0 < wanted < float("inf"):
            raise _core.SpecError(f"--loads: {wanted} is no load; write shares of a capacity, like --loads 0.3,0.5")
        parts = [(at, Fraction(str(load["share"])) / total * Fraction(str(wanted))) for at, load in shares]
        # Fractions up to here, so that 0.3 of a mix of 0.16 and 0.24 is exactly 0.12 and 0.18.
        changes.append(tuple(f"traffic[{at}].load.share={float(part)!r}" for at, part in parts))
    return Axis(LOAD, [float(load) for load in loads], changes)


def _some(column: str, values: Sequence[T]) -> Sequence[T]:
    if not values:
        raise _core.SpecError(f"{column}: an empty list of values; a grid needs at least one of each")
    return values


def _toml(value: object, *, top: bool = False) -> str:
    """A value as text of a change of a spec."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, str | os.PathLike):
        return os.fspath(value).strip() if top else json.dumps(os.fspath(value), ensure_ascii=False)
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{key} = {_toml(one)}" for key, one in value.items()) + " }"
    if isinstance(value, Sequence):
        return "[" + ", ".join(_toml(one) for one in value) + "]"
    raise _core.SpecError(f"{value!r}: not a value of a spec; give text, a number, true or false, a list or a mapping")


def _shown(text: str) -> Value:
    """The value in the column: a number, text without its quotes, and anything else as it was written."""
    try:
        value: object = tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text
    return value if isinstance(value, str | int | float | bool) else text


def parse_vary(texts: Sequence[str]) -> dict[str, list[str]]:
    """The keys and values of `KEY=V1,V2`; a comma inside quotes or brackets belongs to the value."""
    found: dict[str, list[str]] = {}
    for text in texts:
        key, equals, values = text.partition("=")
        key = key.strip()
        if not equals or not key:
            raise _core.SpecError(
                f'--vary {text}: no "="; write a key and its values, like --vary "measure.window=5 ms,10 ms"'
            )
        if key in found:
            raise _core.SpecError(f"--vary {key}: it occurs twice; write all its values into one list")
        found[key] = split(values)
        if not all(found[key]):
            raise _core.SpecError(f"--vary {text}: an empty value; write it like --vary {key}=V1,V2")
    return found


STEPS = 9
"""The values of a range."""


def spread(text: str, steps: int = STEPS) -> list[str]:
    """So many values from one end of `50 KB..800 KB` to the other, with two digits: evenly apart, or, where the ends
    are far apart, each the same multiple of the one before. Any other text is a value itself."""
    found = re.fullmatch(r"\s*([\d.]+?) ?([A-Za-z%]*)\.\.([\d.]+) ?([A-Za-z%]*)\s*", text)
    if found is None:
        return [text]
    scales = {unit: scale for units in (BYTES, RATES, TIMES) if found[4] in units for unit, scale in units.items()}
    unit = found[2] or found[4]
    if unit and unit not in scales:
        scales = {unit: 1.0}
    try:
        low, high = float(found[1]) * scales.get(unit, 1.0), float(found[3]) * scales.get(found[4], 1.0)
    except ValueError:
        raise _core.SpecError(f"--vary {text}: a range is two amounts, like 50 KB..800 KB") from None
    if not low < high:
        raise _core.SpecError(f"--vary {text}: the first end of a range is the lower one")
    apart = low > 0 and high / low >= FAR
    share = [step / (steps - 1) for step in range(steps)]
    values = [low * (high / low) ** at if apart else low + (high - low) * at for at in share]
    whole = not unit and "." not in found[1] + found[3]
    ends = {0: low, steps - 1: high}
    rounded = [ends.get(at, float(f"{value:.2g}")) for at, value in enumerate(values)]
    told = dict.fromkeys(
        str(round(value)) if whole else f"{value / scales.get(unit, 1.0):.6g} {unit}".strip() for value in rounded
    )
    return [*told]


FAR = 4.0
"""With this ratio of its ends the values of a range are multiples of each other."""

BYTES = {"B": 1.0, "KB": 1e3, "MB": 1e6, "GB": 1e9}
RATES = {"bps": 1.0, "Kbps": 1e3, "Mbps": 1e6, "Gbps": 1e9, "Tbps": 1e12}
TIMES = {"ps": 1e-12, "ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0}


def parse_loads(text: str) -> list[float]:
    """The loads of `0.3,0.5`."""
    try:
        return [float(part) for part in split(text)]
    except ValueError:
        raise _core.SpecError(f"--loads: {text!r} is no list of loads; write it like --loads 0.3,0.5") from None


def split(text: str) -> list[str]:
    """The parts between commas outside of quotes and brackets."""
    parts = [""]
    depth, quote = 0, ""
    for letter in text:
        if quote:
            quote = "" if letter == quote else quote
        elif letter in "\"'":
            quote = letter
        else:
            depth += (letter in "[{") - (letter in "]}")
        if letter == "," and not quote and depth <= 0:
            parts.append("")
        else:
            parts[-1] += letter
    stripped = [part.strip() for part in parts]
    return stripped[:-1] if len(stripped) > 1 and not stripped[-1] else stripped
