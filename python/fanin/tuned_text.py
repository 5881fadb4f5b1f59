"""What a search has found, as text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from rich.console import Group, RenderableType
from rich.text import Text

from fanin.over_seeds import Estimate, estimate
from fanin.quantities import quantity
from fanin.shown import SHOWN, estimated, share
from fanin.sweeps.columns import Value
from fanin.sweeps.goals import Goal, Keep, Tried
from fanin.sweeps.means import value_text
from fanin.table import Blocks

MOST_ALIKE = 5
"""Points that are not told apart from the chosen one, and that are named."""


class Search(Protocol):
    """What is told of a search: see `fanin.tuning.Tuned`."""

    @property
    def name(self) -> str: ...
    @property
    def goal(self) -> Goal: ...
    @property
    def keeps(self) -> Sequence[Keep]: ...
    @property
    def own(self) -> Tried: ...
    @property
    def points(self) -> Sequence[Tried]: ...
    @property
    def of(self) -> int: ...
    @property
    def seeds(self) -> Sequence[int]: ...
    @property
    def fresh(self) -> Sequence[int]: ...
    @property
    def confirmed(self) -> tuple[Tried, Tried] | None: ...
    @property
    def best(self) -> Tried | None: ...
    @property
    def alike(self) -> Sequence[Tried]: ...
    @property
    def cancelled(self) -> bool: ...


def text(found: Search) -> RenderableType:
    """The spec as it is and the chosen point beside each other, and how sure the choice is."""
    title = Text(f"{found.name}: {heading(found)}", style="bold")
    chosen = "all of them" if len(found.points) >= found.of else "chosen by CMA-ES, an evolution strategy"
    said = [f"{len(found.points)} of {found.of} points tried, {chosen}, each under {_seeds(found.seeds)}"]
    best = found.best
    if best is None:
        return Group(title, _table(found, _nearest(found), "nearest"), *map(Text, [*said, *_without(found)]))
    return Group(title, _table(found, best, "chosen"), *map(Text, [*said, *_sure(found, best)]))


def heading(found: Search) -> str:
    """The goal and the limits."""
    keeps = " and ".join(str(keep) for keep in found.keeps)
    return f"{found.goal}, keeping {keeps}" if keeps else str(found.goal)


def _seeds(seeds: Sequence[int]) -> str:
    return f"{len(seeds)} seeds" if len(seeds) > 1 else "one seed"


def _table(found: Search, point: Tried | None, name: str) -> Blocks:
    keys = list(dict.fromkeys(key for one in found.points for key in one.settings))
    shown = {"the spec": found.own, **({name: point} if point is not None else {})}
    rows = [[key, *(value_text(key, one.settings.get(key)) for one in shown.values())] for key in keys]
    numbers = [(found.goal.name, [one.goal_estimate for one in shown.values()])]
    for at, keep in enumerate(found.keeps):
        numbers.append((keep.name, [one.limit_estimates()[at] for one in shown.values()]))
    if found.confirmed is not None and name == "chosen":
        shown |= {"the spec, fresh seeds": found.confirmed[0], "chosen, fresh seeds": found.confirmed[1]}
        rows = [[*row, *row[1:]] for row in rows]
        numbers = [(found.goal.name, [one.goal_estimate for one in shown.values()])]
        numbers += [
            (keep.name, [one.limit_estimates()[at] for one in shown.values()]) for at, keep in enumerate(found.keeps)
        ]
    rows += [
        [quantity(key).row, *(estimated(one, SHOWN[quantity(key).unit]) for one in values)] for key, values in numbers
    ]
    return Blocks(["", *shown], rows, 1)


def _sure(found: Search, best: Tried) -> list[str]:
    """How sure the choice is."""
    lines = _failed(found)
    if best.errors:
        lines.append(f"not to be trusted: {'; '.join(best.errors)}")
    if found.confirmed is None:
        lines.append("stopped before the chosen point ran under fresh seeds; the same command goes on")
    else:
        lines += _confirmed(found, *found.confirmed)
    if len(found.seeds) < 2:
        lines.append("one seed: there is no interval, so nothing says how sure this is; add --seeds 3")
    elif found.alike:
        some = "; ".join(settings_text(point.settings) for point in found.alike[:MOST_ALIKE])
        more = f" and {len(found.alike) - MOST_ALIKE} more" if len(found.alike) > MOST_ALIKE else ""
        lines.append(f"not told apart from it, seed by seed, and as good a choice: {some}{more}")
    else:
        lines.append("no other point that keeps the limits is as good, seed by seed")
    if quantity(found.goal.name).of_finished:
        lines.append('the goal is of finished messages; --keep "unfinished <= 0" allows none to be left')
    return lines


def _confirmed(found: Search, own: Tried, chosen: Tried) -> list[str]:
    """What fresh seeds say of the choice."""
    seeds = f"{_seeds(found.fresh)} that chose nothing"
    gain = chosen.better_by(own)
    of = quantity(found.goal.name)
    lines = []
    if gain.mean is None:
        lines.append(f"under {seeds} some run has no {of.row}")
    else:
        way = "lower" if gain.mean >= 0 else "higher"
        told = estimated(Estimate(abs(gain.mean), gain.half), SHOWN[of.unit])
        known = gain.half is not None and abs(gain.mean) > gain.half
        sure = "" if gain.half is None else ", and 0 is not in its interval" if known else ": that may be chance"
        lines.append(f"under {seeds}, compared seed by seed, its {of.row} is {told} {way} than the spec's{sure}")
    for keep, margin, values, ours in zip(
        found.keeps, chosen.margin_estimates(), chosen.limits, own.limits, strict=True
    ):
        ratio = estimate([a / b if a is not None and b else None for a, b in zip(values, ours, strict=True)])
        has = f" (it is {_ratio(ratio)} of the spec's own)" if keep.relative and ratio.mean is not None else ""
        kept = (margin.mean or 0.0) >= 0
        surely = kept and margin.half is not None and (margin.mean or 0.0) >= margin.half
        word = "kept, with its whole interval" if surely else "kept on average" if kept else "not kept"
        lines.append(f"{keep}: {word} under them{has}")
    return lines


def _ratio(ratio: Estimate) -> str:
    return estimated(ratio, share)


def _nearest(found: Search) -> Tried | None:
    from fanin.sweeps.goals import cost

    known = [point for point in found.points if point.goal_estimate.mean is not None]
    return min(known, key=lambda point: cost(found.goal, point), default=None)


def _without(found: Search) -> list[str]:
    return ["no point keeps the limits, so none is chosen; the nearest is shown", *_failed(found)]


def _failed(found: Search) -> list[str]:
    """The points that have no goal, and why the first has none."""
    failed = [point for point in found.points if point.goal_estimate.mean is None]
    if not failed:
        return []
    why = failed[0].errors[0] if failed[0].errors else "too few messages"
    return [f"{len(failed)} of the points have no {quantity(found.goal.name).row}; of the first: {why}"]


def settings_text(settings: dict[str, Value]) -> str:
    """Settings in a sentence."""
    return ", ".join(f"{key}={value_text(key, value)}" for key, value in settings.items())
