"""Searches the settings under which a number is best and others keep their limits: `fanin tune`."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import product
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from fanin import _core
from fanin.arguments import EXAMPLE_OF_SET, given, need_limits, need_list, need_lists
from fanin.quantities import quantity
from fanin.run_folder import RunError
from fanin.runs import Job, SpecLike
from fanin.sweeps import grid
from fanin.sweeps.columns import SEED, Value
from fanin.sweeps.goals import Goal, Keep, Tried, cost, full_names, parse_goal, parse_keep, tried
from fanin.sweeps.means import why_none
from fanin.sweeps.running import SweepWatcher
from fanin.sweeps.store import write
from fanin.sweeps.sweeping import How, Sweep, run_points

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from rich.console import RenderableType

MOST_CHECKED = 400
"""The most points of a grid that are checked before anything runs."""

IDLE = 3
"""Generations of the optimiser without a new point after which it starts elsewhere."""

MOST_STARTS = 100
"""Starts of the optimiser, in case it asks for the same few points from everywhere."""


@dataclass(frozen=True)
class Tuned:
    """What a search has found. Its runs are a sweep in `folder`."""

    folder: Path
    """Where its runs lie; `fanin plot sweep` draws them."""
    name: str
    """The spec's name."""
    goal: Goal
    keeps: list[Keep]
    own: Tried
    """The spec as it is."""
    points: list[Tried]
    """Those that were tried, in their order."""
    of: int
    """The number of points of the grid."""
    seeds: list[int]
    """Those of the search."""
    fresh: list[int]
    """Further seeds, by which nothing was chosen."""
    confirmed: tuple[Tried, Tried] | None = None
    """The spec as it is and the chosen point under the fresh seeds; None without a point that keeps the limits."""
    cancelled: bool = False
    """It was stopped before its end."""

    @cached_property
    def best(self) -> Tried | None:
        """The point with the best mean goal of those that keep all limits on average; None where none does."""
        kept = [point for point in self.points if point.kept]
        return min(kept, key=lambda point: cost(self.goal, point), default=None)

    @cached_property
    def alike(self) -> list[Tried]:
        """The points that keep the limits and whose goal, seed by seed, is not told apart from that of the best."""
        best = self.best
        if best is None or len(self.seeds) < 2:
            return []
        found = []
        for point in self.points:
            apart = best.better_by(point)
            if point.kept and point is not best and apart.mean is not None and abs(apart.mean) <= (apart.half or 0.0):
                found.append(point)
        return found

    def table(self) -> pl.DataFrame:
        """One row per point: its settings, the goal and the numbers of the limits with half of their 95 % intervals
        (columns that end in `_ci95`), and `kept`: "yes" if the intervals are within the limits, "on average", "no"."""
        rows = []
        for point in self.points:
            row: dict[str, object] = dict(point.settings)
            names = [self.goal.name, *(keep.name for keep in self.keeps)]
            for name, one in zip(names, [point.goal_estimate, *point.limit_estimates()], strict=True):
                row |= {name: one.mean, f"{name}_ci95": one.half}
            rows.append(row | {"kept": "yes" if point.sure else "on average" if point.kept else "no"})
        return pl.DataFrame(rows, infer_schema_length=None)

    def text(self) -> RenderableType:
        """What was chosen, and how sure that is, for a terminal."""
        from fanin import tuned_text

        return tuned_text.text(self)

    def plot(self, path: str | os.PathLike[str] | None = None) -> Figure:
        """Draws the goal of every point against the first kept number, to a file if a path is given."""
        from fanin.plot.tuning import trade_off

        return trade_off(self, path)

    def to_json(self) -> dict[str, object]:
        """The search as a document."""
        fresh = None if self.confirmed is None else dict(zip(("own", "best"), map(_json, self.confirmed), strict=True))
        return {
            "ok": self.best is not None and not self.cancelled,
            "name": self.name,
            "folder": str(self.folder),
            "goal": str(self.goal),
            "keep": [str(keep) for keep in self.keeps],
            "seeds": self.seeds,
            "fresh_seeds": self.fresh,
            "points_of_grid": self.of,
            "own": _json(self.own),
            "best": None if self.best is None else _json(self.best),
            "confirmed": fresh,
            "alike": [point.settings for point in self.alike],
            "points": [_json(point) for point in self.points],
        }

    def __repr__(self) -> str:
        best = "no point keeps the limits" if self.best is None else f"best {self.best.settings}"
        return f"<Tuned {self.name}: {self.goal}, {len(self.points)} of {self.of} points tried, {best}, {self.folder}>"


def _json(point: Tried) -> dict[str, object]:
    return {
        "settings": point.settings,
        "goal": point.goal_estimate.mean,
        "goal_ci95": point.goal_estimate.half,
        "limits": [one.mean for one in point.limit_estimates()],
        "limits_ci95": [one.half for one in point.limit_estimates()],
        "kept": point.kept,
        "kept_surely": point.sure,
        "errors": point.errors,
    }


def tune(
    spec: SpecLike,
    vary: Mapping[str, Sequence[object]],
    goal: str,
    keep: Sequence[str] = (),
    *,
    out: str | os.PathLike[str],
    seeds: int = 3,
    points: int = 40,
    set: Sequence[str] = (),  # noqa: A002 - the word that the command line uses
    executor: Executor | None = None,
    jobs: int | None = None,
    progress: bool | SweepWatcher = True,
    max_memory: int | None = None,
    max_time: float | None = None,
    force: bool = False,
) -> Tuned:
    """Searches the values of `vary` under which the number `goal` is best and the limits `keep` hold.

    `vary` has lists of values for keys of the spec, as `fanin.sweep` takes them; a text `"50 KB..800 KB"` stands for 9
    values of this range. If these have at most `points` combinations, all of them run; otherwise CMA-ES, an evolution
    strategy, chooses that many. `goal` and `keep` name numbers of a sweep's table, also without their unit:
    `"slowdown_p99 of short"`, which is to be low since low is good, or `"max utilisation of tor-uplink"`. A limit such
    as `"goodput of long >= 0.9"` without a unit is relative to what the spec has as it is, for times, rates and sizes;
    one with a unit, or of a ratio, share or count, is absolute.

    Each point runs under the same `seeds`, of which the spec's is the first. The best one, and the spec as it is, run
    once more under as many further seeds: those values are not of the luck that chose the point.

    The runs are those of a sweep in the folder `out`, with `tune.json`; a search that was stopped goes on, and no run
    is repeated. The other arguments are those of `fanin.sweep`.

    Raises `SpecError` for a key, a goal or a limit that there is not, and `RunError` if the spec itself does not run or
    has no such number.
    """
    need_lists("vary", vary, '{"network.marking.min": ["50 KB..800 KB"]}')
    need_list("keep", keep, '["goodput of long >= 0.9"]')
    need_list("set", set, EXAMPLE_OF_SET)
    need_limits(max_memory, max_time)
    if not isinstance(goal, str):
        raise TypeError(f'goal: {given(goal)} is not the name of a number, like "slowdown_p99 of short"')
    base = Job.of(spec, set)
    resolved = base.resolve()
    wanted = parse_goal(goal, resolved)
    keeps = [parse_keep(text, resolved) for text in keep]
    if seeds < 1 or points < 1:
        raise _core.SpecError(f"seeds: {seeds}, points: {points}; both are 1 or more")
    if not vary:
        raise _core.SpecError('vary: names no key; a search needs one, like --vary "network.marking.min=50 KB..800 KB"')
    spread = {key: [one for value in values for one in _spread(value)] for key, values in vary.items()}
    how = How(executor, jobs, progress=progress, max_memory=max_memory, max_time=max_time)
    search = _Search(base, resolved, grid.axes(resolved, None, None, None, spread), Path(out), how)
    search.check()
    first = int(str(resolved[SEED]))
    each, fresh = range(first, first + seeds), range(first + seeds, first + 2 * seeds)
    search.begin(wanted, keeps, each, force=force)
    _choose(search, points)
    return search.end(fresh)


def _spread(value: object) -> list[object]:
    return [*grid.spread(value)] if isinstance(value, str) else [value]


Place = tuple[int, ...]
"""The number of a value of each key."""


@dataclass
class _Search:
    """The points that have been tried."""

    base: Job
    resolved: dict[str, object]
    axes: list[grid.Axis]
    out: Path
    how: How
    goal: Goal = field(init=False)
    keeps: Sequence[Keep] = field(init=False)
    seeds: Sequence[int] = field(init=False)
    own: Tried = field(init=False)
    _own_runs: list[Mapping[str, float | str | int | None]] = field(init=False)
    found: dict[Place, Tried] = field(default_factory=dict)
    cancelled: bool = False

    @property
    def keys(self) -> list[grid.Axis]:
        """The axes of the keys that vary."""
        return self.axes[1:-1]

    @property
    def size(self) -> int:
        """The number of points of the grid."""
        return prod(len(axis.values) for axis in self.keys)

    def check(self) -> None:
        """Raises `SpecError` where no point can run, as with an unknown key. Single points that cannot, such as those
        with Kmin above Kmax, keep no limit."""
        every = product(*(range(len(axis.values)) for axis in self.keys))
        step = -(-self.size // MOST_CHECKED)
        places = [(0, *place, 0) for number, place in enumerate(every) if number % step == 0]
        found = grid.points_at(self.base, self.resolved, self.axes, places)
        if all(point.error is not None for point in found):
            grid.refuse_mistakes(found)

    def begin(self, goal: Goal, keeps: Sequence[Keep], seeds: Sequence[int], *, force: bool) -> None:
        """Runs the spec as it is."""
        self.goal, self.keeps, self.seeds = goal, keeps, seeds
        runs, errors = self._run(self._as_it_is(seeds), len(seeds), force=force)[0]
        if self.cancelled:
            raise KeyboardInterrupt
        if not all(runs):
            raise RunError(f"the spec as it is does not run: {'; '.join(errors)}")
        self._own_runs = runs
        full_names(goal, keeps, list(dict.fromkeys(name for run in runs for name in run)))
        self.own = tried(goal, keeps, runs, runs, self._own_settings(), errors)
        for option, name, values in (
            ("--goal", goal.name, self.own.goal),
            *(("--keep", keep.name, values) for keep, values in zip(keeps, self.own.limits, strict=True)),
        ):
            if any(value is None for value in values):
                why = why_none(name) if name.startswith("queue_p") else _none_of_messages(name)
                raise RunError(f"{option} {name}: the spec as it is has no such number: {why}")

    def _own_settings(self) -> dict[str, Value]:
        values = {axis.column: grid.setting(self.resolved, axis.column) for axis in self.keys}
        return {column: value for column, value in values.items() if value is not None}

    def _as_it_is(self, seeds: Sequence[int]) -> list[grid.Point]:
        columns = [grid.Axis(column, [value], [()]) for column, value in self._own_settings().items()]
        axes = [self.axes[0], *columns, grid.Axis(SEED, list(seeds), [()] * len(seeds))]
        places = [(0,) * (len(axes) - 1) + (at,) for at in range(len(seeds))]
        return grid.points_at(self.base, self.resolved, axes, places)

    def at(self, places: Iterable[Place]) -> None:
        """Runs these points under all seeds, at once."""
        new = [place for place in dict.fromkeys(places) if place not in self.found]
        if not new or self.cancelled:
            return
        for place, (runs, errors) in zip(new, self._of(new, self.seeds), strict=True):
            settings = {axis.column: axis.values[at] for axis, at in zip(self.keys, place, strict=True)}
            known = {column: value for column, value in settings.items() if value is not None}
            self.found[place] = tried(self.goal, self.keeps, runs, self._own_runs, known, errors)

    def _of(self, places: Sequence[Place], seeds: Sequence[int]) -> list[tuple[list[_Numbers], list[str]]]:
        axes = [*self.axes[:-1], grid.Axis(SEED, list(seeds), [()] * len(seeds))]
        every = [(0, *place, seed) for place in places for seed in range(len(seeds))]
        return self._run(grid.points_at(self.base, self.resolved, axes, every), len(seeds))

    def _run(
        self, points: list[grid.Point], each: int, *, force: bool = False
    ) -> list[tuple[list[_Numbers], list[str]]]:
        """The numbers of each point under its seeds, and its errors."""
        swept: Sweep = run_points(points, self.base, self.resolved, self.out, self.how, force=force)
        self.cancelled = self.cancelled or swept.cancelled
        runs = {run.key: run for run in swept.runs}
        found: list[tuple[list[_Numbers], list[str]]] = []
        for begin in range(0, len(points), each):
            some = [runs[point.key] for point in points[begin : begin + each]]
            errors = list(dict.fromkeys(error for run in some for error in run.errors))
            found.append(([dict(run.numbers) for run in some], errors))
        return found

    def end(self, fresh: Sequence[int]) -> Tuned:
        """Runs the best point and the spec as it is under further seeds."""
        name = str(self.resolved["name"])
        points = [point for point in self.found.values() if point.goal or not self.cancelled]
        of = self.size
        ended = Tuned(self.out, name, self.goal, list(self.keeps), self.own, points, of, [*self.seeds], [*fresh])
        best = ended.best
        if best is not None and not self.cancelled:
            place = next(place for place, point in self.found.items() if point is best)
            own, own_errors = self._run(self._as_it_is(fresh), len(fresh))[0]
            chosen, errors = self._of([place], fresh)[0]
            if not self.cancelled:
                confirmed = (
                    tried(self.goal, self.keeps, own, own, self.own.settings, own_errors),
                    tried(self.goal, self.keeps, chosen, own, best.settings, errors),
                )
                ended = replace(ended, confirmed=confirmed)
        ended = replace(ended, cancelled=self.cancelled)
        write(self.out / "tune.json", (json.dumps(ended.to_json(), indent=1) + "\n").encode())
        return ended


_Numbers = Mapping[str, float | str | int | None]


def _none_of_messages(name: str) -> str:
    level = "p99 needs 100 finished messages" if "_p99" in name else "it needs finished messages"
    return f"{level} in each run; measure a longer measure.window" if quantity(name).of_finished else "it has none"


def _choose(search: _Search, points: int) -> None:
    """Tries all points, or those that the covariance matrix adaptation evolution strategy (CMA-ES) asks for."""
    sizes = [len(axis.values) for axis in search.keys]
    if search.size <= points:
        search.at(product(*map(range, sizes)))
        return
    # Each start has a seed, so that a search that goes on asks for the same points.
    for start in range(1, MOST_STARTS + 1):
        _descend(search, sizes, points, start)
        if search.cancelled or len(search.found) >= points:
            return


def _descend(search: _Search, sizes: list[int], points: int, start: int) -> None:
    """Searches from the middle of the grid, or from a random point if it is not the first start, until the optimiser
    asks for nothing new. It has the points of a generation in their order, and no more of their costs."""
    from cmaes import CMA

    # One key needs a second dimension, of one value: the optimiser knows no line.
    last = np.array([size - 1 for size in sizes] + [0] * (len(sizes) == 1), dtype=float)
    begin = last / 2 if start == 1 else np.random.default_rng(start).random(len(last)) * last
    spread = np.diag((np.maximum(last, 1.0) / 4) ** 2)
    around = np.stack([-0.49 * np.ones(len(last)), last + 0.49], axis=1)
    optimiser = CMA(mean=begin, sigma=1.0, bounds=around, seed=start, cov=spread)
    idle = 0
    while idle < IDLE and not optimiser.should_stop():
        asked = [optimiser.ask() for _ in range(optimiser.population_size)]
        places = [tuple(round(float(x)) for x in one[: len(sizes)]) for one in asked]
        new = [place for place in dict.fromkeys(places) if place not in search.found]
        search.at(new[: points - len(search.found)])
        if search.cancelled or len(search.found) >= points:
            return
        costs = [cost(search.goal, search.found[place]) for place in places]
        ranks = {found: float(rank) for rank, found in enumerate(sorted(set(costs)))}
        optimiser.tell([(one, ranks[found]) for one, found in zip(asked, costs, strict=True)])
        idle = 0 if new else idle + 1
