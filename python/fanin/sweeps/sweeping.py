"""Runs the grid of a sweep, longest runs first, and returns its results as one table."""

from __future__ import annotations

import json
import multiprocessing
import os
import time
import uuid
from collections.abc import Mapping, Sequence
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING

import polars as pl

from fanin import _core, limits, own_schemes
from fanin.arguments import EXAMPLE_OF_SET, need_limits, need_list, need_lists
from fanin.quantities import OF
from fanin.result import Result, load
from fanin.rows import idle_seeds
from fanin.run_folder import RunError
from fanin.runs import BalancingLike, Job, PolicyLike, SchemeLike, SpecLike
from fanin.spec import Spec
from fanin.sweeps import grid
from fanin.sweeps.columns import LOAD, SCHEME, SEED, Value, label_of
from fanin.sweeps.display import SweepDisplay
from fanin.sweeps.frame import frame
from fanin.sweeps.grid import Point
from fanin.sweeps.pools import Given, Pool, Processes
from fanin.sweeps.running import Running, SweepWatcher
from fanin.sweeps.store import (
    DONE,
    FAILED,
    UNTRUSTED,
    WAITING,
    Part,
    Record,
    Store,
    opened,
    part_of_failure,
    read_parts,
    read_record,
    run_folder,
)
from fanin.sweeps.work import Done, Number, Task

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from rich.console import RenderableType

MOST_WARNINGS = 20
"""Most different warnings of runs that a sweep tells."""

MOST_VALUES = 8
"""Most values of a column of the grid in the text that stands for a sweep."""

ESTIMATE_S = 30.0
"""The longest time for estimating the costs of runs before the first one starts."""


@dataclass(frozen=True)
class SweepRun:
    """One run of a sweep."""

    settings: dict[str, Value]
    """Its place in the grid: `scheme`, `load` if loads were asked for, the keys that vary, `seed`."""
    status: str
    """`done`; `untrusted`: it has run, and `errors` has the reasons not to trust it; `failed`: it has no result;
    `waiting`: it has not run yet."""
    errors: list[str]
    """What went wrong."""
    numbers: dict[str, float | str | int | None]
    """Its numbers, by the names of the table's columns; empty without a result."""
    key: str
    """Identifies the run: a hash of the checked spec, of the files that it reads and of Fanin's version."""
    folder: Path | None
    """Its run folder, if that was kept."""
    warnings: list[str] = field(default_factory=list)
    """Those of the run."""

    def __repr__(self) -> str:
        return f"<SweepRun {label_of(self.settings)}: {self.status}, {len(self.numbers)} numbers>"

    def load(self) -> Result:
        """Reads the whole run. Raises `RunError` if it was not kept."""
        if self.folder is None:
            raise RunError(
                "of this run only its numbers were kept; sweep with keep_runs=True (--keep-runs) to keep all"
            )
        return load(self.folder)

    def to_json(self) -> dict[str, object]:
        """The run as a document."""
        folder = str(self.folder) if self.folder is not None else None
        parts = [{"number": name, "value": value} for name, value in self.numbers.items() if OF in name]
        return {
            "settings": self.settings,
            "status": self.status,
            "errors": self.errors,
            **{name: value for name, value in self.numbers.items() if OF not in name},
            "parts": parts,
            "run": self.key,
            "folder": folder,
        }


@dataclass(frozen=True)
class Sweep:
    """The runs of a grid, all that are in its folder."""

    folder: Path
    """Where it lies."""
    name: str
    """The spec's name."""
    runs: list[SweepRun]
    """In the order of the grid; runs of later grids follow."""
    cancelled: bool = False
    """It was stopped before all runs had ended."""

    @property
    def errors(self) -> list[str]:
        """Errors of single runs that failed or are not to be trusted."""
        return [f"{label_of(run.settings)}: {error}" for run in self.runs for error in run.errors]

    @property
    def warnings(self) -> list[str]:
        """The warnings of runs, each once with the first run that has it, the first `MOST_WARNINGS` of them; and one
        about seeds that change nothing."""
        first: dict[str, str] = {}
        count: dict[str, int] = {}
        for run in self.runs:
            for warning in run.warnings:
                first.setdefault(warning, label_of(run.settings))
                count[warning] = count.get(warning, 0) + 1
        told = []
        for warning, label in [*first.items()][:MOST_WARNINGS]:
            others = f" and {count[warning] - 1} more" if count[warning] > 1 else ""
            told.append(f"{label}{others}: {warning}" if count[warning] < len(self.runs) else warning)
        if len(first) > MOST_WARNINGS:
            told.append(f"{len(first) - MOST_WARNINGS} more warnings; --keep-runs keeps the folders of runs, with all")
        return [*told, *self._idle_seeds()]

    def _idle_seeds(self) -> list[str]:
        groups: dict[str, list[dict[str, float | str | int | None]]] = {}
        for run in self.runs:
            if run.numbers:
                place = {column: value for column, value in run.settings.items() if column != SEED}
                same = {name: value for name, value in run.numbers.items() if name not in ("seconds", "event_hash")}
                groups.setdefault(label_of(place), []).append(same)
        return idle_seeds([*groups.items()])

    @property
    def failed(self) -> list[SweepRun]:
        """The runs that have no result because of an error."""
        return [run for run in self.runs if run.status == FAILED]

    @property
    def complete(self) -> bool:
        """Every run has a result."""
        return all(run.status in (DONE, UNTRUSTED) for run in self.runs)

    @property
    def results(self) -> list[Result]:
        """The whole runs, for pictures of them. Raises `RunError` if one was not kept."""
        if any(run.numbers and run.folder is None for run in self.runs):
            raise RunError(
                f"{self.folder}: of its runs only the numbers were kept, which fanin plot sweep draws; "
                "for other pictures sweep with --keep-runs (keep_runs=True)"
            )
        return [run.load() for run in self.runs if run.numbers]

    def __repr__(self) -> str:
        done = sum(bool(run.numbers) for run in self.runs)
        return (
            "\n".join([f"<Sweep {self.name}: {done} of {len(self.runs)} runs done, {self.folder}", *self._columns()])
            + ">"
        )

    def _columns(self) -> list[str]:
        """The columns of the grid with their values."""
        lines = []
        for column in dict.fromkeys(column for run in self.runs for column in run.settings):
            values = dict.fromkeys(str(run.settings[column]) for run in self.runs if column in run.settings)
            more = f" and {len(values) - MOST_VALUES} more" if len(values) > MOST_VALUES else ""
            lines.append(f"  {column}: {', '.join([*values][:MOST_VALUES])}{more}")
        return lines

    def _repr_html_(self) -> str:
        from fanin import table

        return table.html_of_sweep(self)

    def table(self) -> pl.DataFrame:
        """One row per run: the grid's columns, `status`, `errors`, the numbers (units are in their names), `seconds` of
        real time, `event_hash` and `run`, its key. A number that a run does not have is null."""
        return self._table

    def arrow(self) -> pl.DataFrame:
        """The same for any library that speaks Arrow: `pyarrow.table(swept.arrow())`."""
        return self._table

    def text(self) -> RenderableType:
        """The grid with its main numbers, as a table for a terminal."""
        from fanin import table

        return table.swept(self)

    def plot(self, x: str | None = None, y: str | None = None, path: str | os.PathLike[str] | None = None) -> Figure:
        """Draws a number of the table along a column of the grid, to a file if a path is given: a line per scheme and
        per combination of the other columns, the mean over seeds with its 95 % interval. Without `x`, along the first
        column that varies; without `y`, the 99th percentile of the FCT, or its median if runs have too few messages for
        that. A number may be named without its unit: `"goodput of long"`."""
        from fanin.plot.sweeps import along

        return along(self, x, y, path)

    def plot_map(
        self, x: str | None, y: str, number: str | None = None, path: str | os.PathLike[str] | None = None
    ) -> Figure:
        """Draws a number over two columns of the grid as a map, to a file if a path is given: one per scheme and per
        combination of the other columns, with means over seeds and half of their 95 % intervals."""
        from fanin.plot.sweeps import map_of

        return map_of(self, x, y, number, path)

    @cached_property
    def _table(self) -> pl.DataFrame:
        return frame(self.runs)


def sweep(
    spec: SpecLike,
    schemes: Sequence[SchemeLike] | None = None,
    loads: Sequence[float] | None = None,
    seeds: int | Sequence[int] | None = None,
    vary: Mapping[str, Sequence[object]] | None = None,
    *,
    out: str | os.PathLike[str],
    set: Sequence[str] = (),  # noqa: A002 - the word that the command line uses
    executor: Executor | None = None,
    jobs: int | None = None,
    keep_runs: bool = False,
    progress: bool | SweepWatcher = True,
    max_memory: int | None = None,
    max_time: float | None = None,
    force: bool = False,
    balancing: BalancingLike | None = None,
    discipline: PolicyLike[_core.Discipline] | None = None,
) -> Sweep:
    """Runs a spec under every combination of schemes, loads, values of its keys and seeds, longest runs first.

    `loads` scales the load shares of all traffics that have one so that they add up to each of these; their ratios stay
    the same. `vary` has lists of values for any keys of the spec, each value as `set` takes it or as a Python value:
    `{"measure.window": ["5 ms", "10 ms"]}`. `seeds` is the number of runs of each combination, counting from the spec's
    seed, or the list of seeds. Arguments that are left out have the value of the spec. `balancing` and `discipline` are
    those of `fanin.run`; to vary them, load those of your own with `fanin.load_scheme` and name their ids in `vary`.

    Each run's numbers are saved in the folder `out` as soon as it ends, so that a sweep that was stopped or killed
    continues when it is started again: finished runs are not repeated, failed ones are. Another grid of the same spec
    adds to the folder. With `keep_runs` the folder of each whole run is kept there, too. `force` deletes the results of
    an earlier sweep there.

    Runs are executed in `jobs` processes of one thread each, by default one per processor. These import the script
    again, so it must call this under `if __name__ == "__main__":`. Or they are executed by an `executor`: any of
    `concurrent.futures`, or that of a Dask client, `client.get_executor(pure=False)`, whose workers have the same
    version of Fanin and the files that the spec names.

    `max_memory` (bytes) is for all simultaneous runs together, `max_time` (real seconds) for each; with an executor of
    yours and without `jobs`, its number of workers, `max_memory` is for each run. The defaults are the run's share of
    80 % of the memory that is free where it runs, and a day. `progress` shows one display on stderr, or is a function
    that is called with a `SweepState` a few times a second and stops the sweep by returning False.

    A run that fails has a row with the reason, and the others continue; the same holds for a run whose worker was
    killed, after it was repeated once. Ctrl-C stops the runs in progress, and `cancelled` is True.

    Raises `SpecError` for a grid with a value under which nothing can run, `FileExistsError` for a folder of something
    else, and `RunError` for one that another sweep is using, or an executor that broke.
    """
    _check(schemes, loads, vary, set)
    need_limits(max_memory, max_time)
    with own_schemes.each_id_once():
        names = None if schemes is None else [str(own_schemes.resolved(scheme)) for scheme in schemes]
    base = Job.of(spec, [*set, *own_schemes.policy_changes(balancing, discipline)])
    resolved = base.resolve()
    points = grid.points(base, resolved, grid.axes(resolved, names, loads, seeds, vary or {}))
    how = How(executor, jobs, keep_runs, progress, max_memory, max_time)
    return run_points(points, base, resolved, Path(out), how, force=force)


def _check(schemes: object, loads: object, vary: object, changes: object) -> None:
    """Raises `TypeError` for what is no list where a list is due."""
    need_list("schemes", schemes, '["dcqcn", "hpcc"]')
    need_list("loads", loads, "[0.3, 0.5]")
    need_lists("vary", vary, '{"measure.window": ["5 ms", "10 ms"]}')
    need_list("set", changes, EXAMPLE_OF_SET)


@dataclass(frozen=True)
class How:
    """How the runs of a grid are executed: the arguments of `sweep`."""

    executor: Executor | None = None
    jobs: int | None = None
    keep_runs: bool = False
    progress: bool | SweepWatcher = True
    max_memory: int | None = None
    max_time: float | None = None


def run_points(
    points: Sequence[Point], base: Job, resolved: Spec, out: Path, how: How, *, force: bool = False
) -> Sweep:
    """Runs these points of a grid, those that have not run yet, into a folder; returns all that is in it."""
    executor, jobs = how.executor, how.jobs
    if executor is None and getattr(multiprocessing.current_process(), "_inheriting", False):
        raise RunError('a worker that starts imports the script again: call sweep() under if __name__ == "__main__":')
    with opened(out, str(resolved["name"]), grid.base_of(base, resolved), points, force=force) as store:
        distinct = {point.key: point for point in points}
        todo = {key: point for key, point in distinct.items() if _to_run(store, point, how.keep_runs)}
        at_once = max(1, min(jobs or os.cpu_count() or 1, len(todo)))
        given = executor is not None
        share = _memory(how.max_memory, at_once if not given else max(1, jobs or 1), given)
        ours = isinstance(executor, ThreadPoolExecutor | ProcessPoolExecutor) or not given
        if not isinstance(executor, ThreadPoolExecutor):
            own_schemes.check_elsewhere(base.using(None, None).own)
        name = uuid.uuid4().hex
        tasks = [
            Task(
                point.key,
                _limited(point.job, share, how.max_time),
                sweep=name,
                version=_core.__version__,
                at_once=jobs if given else at_once,
                folder=str(store.run_folder(point.key, point.label).absolute()) if how.keep_runs and ours else None,
                pack=how.keep_runs and not ours,
            )
            for point in todo.values()
            if point.error is None
        ]
        for point in todo.values():
            if point.error is not None:
                store.land(part_of_failure(point, point.error))
        costs = estimates([todo[task.key] for task in tasks])
        # Long runs at the end would leave other workers idle; equal ones stay in the order of the grid.
        tasks.sort(key=lambda task: -costs[task.key])
        there = len(distinct) - len(todo)
        pool: Pool = Processes(at_once) if executor is None else Given(executor)
        cancelled = True
        try:
            with SweepDisplay(
                costs, {key: todo[key].label for key in costs}, there, visible=how.progress is True
            ) as display:
                watcher = how.progress if callable(how.progress) else None
                labels = {key: point.label for key, point in todo.items()}
                cancelled = Running(pool, _Landing(store, todo), labels, display, watcher).all(tasks)
        finally:
            swept = _sweep(store.root, store.record, store.parts, cancelled=cancelled)
            store.write_tables(swept.table())
    return swept


def load_sweep(folder: str | os.PathLike[str]) -> Sweep:
    """Reads the folder of a sweep, also while it runs or after it was killed; raises `RunError` for another folder."""
    root = Path(folder)
    record = read_record(root)
    return _sweep(root, record, read_parts(root, (run["key"] for run in record["runs"])))


def _sweep(root: Path, record: Record, parts: Mapping[str, Part], *, cancelled: bool = False) -> Sweep:
    columns = list(dict.fromkeys(column for run in record["runs"] for column in run["settings"]))
    # Columns that only another grid of the folder varies have the value of the spec.
    common = {column: value for column in columns if (value := grid.setting(record["base"], column)) is not None}
    # Columns of all grids come first and last, those of single grids between them.
    columns.sort(key=lambda column: (column != SCHEME, column != LOAD, column == SEED))
    runs: dict[str, SweepRun] = {}
    for planned in record["runs"]:
        part = parts.get(planned["key"])
        kept = run_folder(root, part.key, part.label) if part is not None else None
        whole = common | planned["settings"]
        settings = {column: whole[column] for column in columns if column in whole}
        numbers: dict[str, Number] = part.numbers if part is not None else {}
        runs[json.dumps([planned["key"], settings])] = SweepRun(
            settings=settings,
            status=part.status if part is not None else WAITING,
            errors=part.errors if part is not None else [],
            numbers=numbers,
            key=planned["key"],
            folder=kept if kept is not None and kept.is_dir() else None,
            warnings=part.warnings if part is not None else [],
        )
    return Sweep(root, record["name"], list(runs.values()), cancelled)


def _to_run(store: Store, point: Point, keep_runs: bool) -> bool:
    part = store.parts.get(point.key)
    if part is None or not part.final:
        return True
    return keep_runs and not store.run_folder(part.key, part.label).is_dir()


def _memory(max_memory: int | None, at_once: int, given: bool) -> int | None:
    """The memory for each run; None if the worker, perhaps on another machine, determines it."""
    if max_memory is None and given:
        return None
    return (limits.default_memory() if max_memory is None else max_memory) // at_once


def _limited(job: Job, memory: int | None, max_time: float | None) -> Job:
    limited = job.within(memory, max_time)
    return limited if memory is not None else replace(limited, max_memory=None)


def estimates(points: Sequence[Point]) -> dict[str, float]:
    """The estimated seconds of each run by its key, on this machine; runs that differ only in their seed have the same.

    Runs beyond the time `ESTIMATE_S` count as the mean of the others: estimates of large networks take a second each.
    """
    groups: dict[str, list[Point]] = {}
    for point in points:
        settings = {column: value for column, value in point.settings.items() if column != SEED}
        groups.setdefault(json.dumps(settings), []).append(point)
    ends_s = time.monotonic() + ESTIMATE_S

    def cost(job: Job) -> float | None:
        return _cost(job) if time.monotonic() < ends_s else None

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        costs = list(pool.map(cost, [same[0].job for same in groups.values()]))
    known = [cost for cost in costs if cost is not None]
    mean = fmean(known) if known else 1.0
    return {
        point.key: mean if cost is None else cost
        for same, cost in zip(groups.values(), costs, strict=True)
        for point in same
    }


def _cost(job: Job) -> float:
    try:
        own_schemes.load_again(job.own)
        text = _core.explain(job)
        return float(json.loads(text)["cost"]["wall_s"])
    except _core.SpecError:
        return 0.0  # the run itself will report the error


class _Landing:
    """What becomes of the runs of a sweep: rows in its folder."""

    def __init__(self, store: Store, points: Mapping[str, Point]) -> None:
        self._store = store
        self._points = points

    def begun(self, key: str) -> None:
        """A line in the log."""
        self._store.log("begun", key, self._points[key].label)

    def landed(self, done: Done) -> None:
        """A row."""
        status = UNTRUSTED if done.errors else DONE
        label = self._points[done.key].label
        part = Part(done.key, label, status, _core.__version__, done.errors, done.numbers, done.warnings)
        self._store.land(part, done.packed)

    def killed(self, key: str) -> None:
        """A line in the log."""
        self._store.log("killed", key, self._points[key].label)

    def failed(self, key: str, error: str) -> None:
        """A row with the reason."""
        self._store.land(part_of_failure(self._points[key], error))
