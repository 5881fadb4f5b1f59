"""The pages of the matrix: a picture of small multiples, and tables."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from fanin import measures, table
from fanin.measures import Estimate, estimate
from fanin.plot import scheme_line
from fanin_papers import matrix, matrix_causes
from fanin_papers.common import log_ticks, picture
from fanin_papers.experiment import Experiment, Measures
from fanin_papers.matrix import GROUNDS, Ground
from fanin_papers.matrix_causes import CAUSES, undone

Found = Mapping[str, Measures]
"""The measurements of each ground, by its id."""

OTHER: tuple[tuple[str, str, Callable[[float | None], str]], ...] = (
    ("goodput_gbps", "goodput", table.gbps),
    ("paused_us", "paused", table.time),
    ("drops", "drops", table.count),
    ("timeouts", "timeouts", table.count),
    ("unfinished", "unfinished", table.count),
    ("jain", "Jain's index", table.number),
)


def schemes_of(found: Measures) -> list[str]:
    """Those that were run, in order."""
    return list(dict.fromkeys(str(key[0]) for key in found))


def over_seeds(found: Measures, scheme: str, load: str, name: str) -> Estimate:
    """A number of a scheme at a load, with its interval; nothing if some run lacks it."""
    runs = [measured for key, measured in found.items() if key[:2] == (scheme, load)]
    return estimate([measured[name][0] if measured.get(name) else None for measured in runs])


def _panel(axes: Axes, ground: Ground, found: Measures, name: str) -> None:
    """One number for every scheme: hollow at the lower load, filled at the higher."""
    schemes = schemes_of(found)
    values = []
    for offset, load in zip((-0.17, 0.17), ground.loads, strict=True):
        for place, scheme in enumerate(schemes):
            one = over_seeds(found, scheme, load.name, name)
            if one.mean is None:
                continue
            colour = str(scheme_line(scheme)["color"])
            filled = load is ground.loads[1]
            # On a logarithmic axis an interval that reaches zero ends at a tenth of its mean.
            half = 0.0 if one.half is None else one.half
            low = min(half, 0.9 * one.mean)
            axes.errorbar(
                one.mean,
                place + offset,
                xerr=[[low], [half]],
                fmt="o",
                ms=5,
                lw=1,
                color=colour,
                mfc=colour if filled else "white",
            )
            values.append(one.mean)
    axes.set_yticks(range(len(schemes)), schemes, fontsize=8)
    axes.set_ylim(len(schemes) - 0.5, -0.5)
    if values and max(values) > 5 * max(min(values), 1e-9):
        axes.set_xscale("log")
        log_ticks(axes, "x")
    axes.grid(axis="both", alpha=0.3)


def _is_known(ground: Ground, found: Measures, name: str) -> bool:
    """Whether some scheme has this number."""
    each = (over_seeds(found, scheme, load.name, name) for scheme in schemes_of(found) for load in ground.loads)
    return any(one.mean is not None for one in each)


def panels(ground: Ground) -> list[tuple[str, str]]:
    """What is drawn of a ground: the number's name and the axis."""
    short, long = ground.bins[0], ground.bins[-1]
    last = len(ground.bins) - 1
    return [
        ("slowdown-0-990", f"slowdown p99, {_size(short)}"),
        (f"slowdown-{last}-500", f"slowdown p50, {_size(long)}"),
        (f"slowdown-{last}-990", f"slowdown p99, {_size(long)}"),
        ("goodput_gbps", "goodput, Gb/s"),
    ]


def _size(ends: tuple[int, int]) -> str:
    low, high = ends
    if low == high:
        return measures.size_text(low)
    if low == 0:
        return f"up to {measures.size_text(high)}"
    return f"above {measures.size_text(low - 1)}"


def experiments() -> list[Experiment]:
    """The matrix, one experiment for each ground, and its causes."""
    found = []
    for ground in GROUNDS:
        drawn = partial(draw_ground, ground)
        sweep = partial(matrix.sweep, ground)
        found.append(
            Experiment(f"matrix-{ground.id}", ground.title, ground.spec, sweep, matrix.measure, drawn, matrix.no_claims)
        )
        if any(cause.ground is ground for cause in CAUSES):
            title, sweep = f"causes: {ground.title}", partial(matrix_causes.sweep, ground)
            id_ = f"matrix-causes-{ground.id}"
            found.append(Experiment(id_, title, ground.spec, sweep, matrix.measure, drawn, matrix.no_claims))
    return found


def draw_ground(ground: Ground, found: Measures) -> Figure:
    """The picture of one ground."""
    return draw([ground], {ground.id: found})


def draw(grounds: Sequence[Ground], found: Found) -> Figure:
    """The picture: a row for each ground, a column for each number."""
    figure = picture(14, 4.1 * len(grounds))
    parts = figure.subfigures(len(grounds), 1, squeeze=False)[:, 0]
    for part, ground in zip(parts, grounds, strict=True):
        low, high = ground.loads
        part.suptitle(f"{ground.title}; hollow: {low.name}, filled: {high.name}", fontsize=10)
        shown = [(name, title) for name, title in panels(ground) if _is_known(ground, found[ground.id], name)]
        row = part.subplots(1, len(shown), sharey=True, squeeze=False)[0]
        for axes, (name, title) in zip(row, shown, strict=True):
            _panel(axes, ground, found[ground.id], name)
            axes.set_xlabel(title, fontsize=9)
    return figure


def _cell(one: Estimate, write: Callable[[float | None], str]) -> str:
    if one.mean is None or not one.half:
        return write(one.mean)
    return f"{write(one.mean)} ± {write(one.half)}"


def _slowdown(value: float | None) -> str:
    return table.NONE if value is None else f"{value:.3g}"


def markdown(ground: Ground, found: Measures) -> str:
    """The table of one ground."""
    sizes = [_size(ends) for ends in ground.bins]
    headings = [f"{size}: {name}" for size in sizes for name in ("p50", "p99")] + [title for _, title, _ in OTHER]
    lines = [
        f"## {ground.title}",
        "",
        "| scheme | load | " + " | ".join(headings) + " |",
        "| --- | --- |" + " ---: |" * len(headings),
    ]
    for scheme in schemes_of(found):
        for load in ground.loads:
            cells = [
                _cell(over_seeds(found, scheme, load.name, f"slowdown-{number}-{per_mille}"), _slowdown)
                for number in range(len(ground.bins))
                for per_mille in (500, 990)
            ]
            cells += [_cell(over_seeds(found, scheme, load.name, name), write) for name, _, write in OTHER]
            lines.append(f"| {scheme} | {load.name} | " + " | ".join(cells) + " |")
    return "\n".join([*lines, ""])


def page(grounds: Sequence[Ground], found: Found, changed: Found) -> str:
    """The tables, to be read beside docs/matrix.md; `changed` has the runs with one change each, by ground."""
    tables = [markdown(ground, found[ground.id]) for ground in grounds]
    return "\n".join([INTRODUCTION, *tables, causes(found, changed)])


def causes(found: Found, changed: Found) -> str:
    """What each single change does to the numbers that it is about."""
    lines = [CAUSES_INTRODUCTION, "| ground, load | scheme | change | number | without | with it |"]
    lines.append("| --- | --- | --- | --- | ---: | ---: |")
    for cause in CAUSES:
        ground = cause.ground
        pair = found[ground.id], undone(changed[ground.id], cause)
        place = f"{ground.name}, {cause.load.name}"
        for name in cause.numbers:
            title, write = _number(ground, name)
            cells = [_cell(over_seeds(runs, cause.scheme, cause.load.name, name), write) for runs in pair]
            lines.append(f"| {place} | {cause.scheme} | {cause.what} | {title} | {cells[0]} | {cells[1]} |")
    return "\n".join([*lines, ""])


def _number(ground: Ground, name: str) -> tuple[str, Callable[[float | None], str]]:
    """The title of a measurement, and how it is written."""
    for known, title, write in OTHER:
        if known == name:
            return title, write
    _, number, per_mille = name.split("-")
    return f"slowdown p{int(per_mille) // 10}, {_size(ground.bins[int(number)])}", _slowdown


INTRODUCTION = """# The matrix in numbers

Made by `fanin paper matrix --out docs/papers`. Slowdowns are FCTs over those of a lone message under store and forward,
by size; means over three seeds with 95 % intervals. Goodput is the payload that arrived in the window; `paused` is the
time that ports were paused by PFC, added up; Jain's index is that of the rates of an incast's answers. A dash: makes no
sense there, or too few messages. [The matrix](../matrix.md) says what was assumed, and reads it.
"""

CAUSES_INTRODUCTION = """## Why: one change at a time

Runs of the tables above, and the same with one change.
"""
