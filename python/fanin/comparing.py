"""Runs a spec under several schemes, and reads such a comparison back."""

from __future__ import annotations

import os
import re
import shutil
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Protocol, cast

from fanin import _core, limits, run_files
from fanin._core import LimitError
from fanin.arguments import EXAMPLE_OF_SET, need_limits, need_list, need_seeds
from fanin.comparison import Comparison
from fanin.ideals import alike
from fanin.own_schemes import each_id_once, policy_changes
from fanin.own_schemes import resolved as resolved_scheme
from fanin.result import Result, load
from fanin.run_folder import RunError, is_run_folder, read_document
from fanin.runs import (
    BalancingLike,
    Job,
    PolicyLike,
    Runnable,
    SchemeLike,
    SpecLike,
    Watcher,
    check_places,
    cores,
    run_jobs,
)
from fanin.spec import schemes_to_compare
from fanin.sweeps.grid import key_of

# A warning about the scheme of a traffic: what it needs is not there.
_OF_SCHEME = re.compile(r"traffic\[\d+\]\.scheme: ")


def every_scheme(spec: SpecLike, *, set: Sequence[str] = ()) -> tuple[list[str], dict[str, str]]:  # noqa: A002
    """The schemes that make sense under this spec, and the reason of each other one.

    Of each scheme it is the first preset, the paper's. One makes no sense if the spec is wrong with it, as RCC over
    `transport = "rdma"`, or if what it needs is not there, as marks for DCQCN in a network that never marks. Raises
    `SpecError` if the spec is wrong with every scheme.
    """
    return schemes_of(Job.of(spec, set))


class Comparable(Protocol):
    """A job that can run under several schemes."""

    def using(self, scheme: str | None, seed: int | None) -> Comparable:
        """The same under another scheme or seed."""

    def resolve(self) -> dict[str, object]:
        """The spec that runs; raises `SpecError`."""

    def warnings(self) -> list[str]:
        """Warnings that are known before it runs; raises `SpecError`."""


def schemes_of(base: Comparable) -> tuple[list[str], dict[str, str]]:
    """See `every_scheme`."""
    first = dict.fromkeys(row["presets"][0] for row in _core.schemes())
    suits: list[str] = []
    unfit: dict[str, str] = {}
    for scheme in first:
        job = base.using(scheme, None)
        try:
            job.resolve()
        except _core.SpecError as error:
            unfit[scheme] = str(error)
            continue
        unmet = [warning for warning in job.warnings() if _OF_SCHEME.match(warning)]
        if unmet:
            unfit[scheme] = unmet[0]
        else:
            suits.append(scheme)
    if not suits:
        # The spec is wrong, whatever the scheme; of a configuration, under any scheme.
        base.resolve()
        base.using(next(iter(first)), None).resolve()
    return suits, unfit


def compare(
    spec: SpecLike,
    schemes: Sequence[SchemeLike] | str | None = None,
    seeds: int | Sequence[int] | None = None,
    *,
    set: Sequence[str] = (),  # noqa: A002 - the word that the command line uses
    flows: object | None = None,
    workers: int | None = None,
    progress: bool | Watcher = True,
    max_memory: int | None = None,
    max_time: float | None = None,
    threads: int | None = None,
    on: Sequence[str] = ("simulator",),
    clock: str = "lockstep",
    link: str = "udp",
    balancing: BalancingLike | None = None,
    discipline: PolicyLike[_core.Discipline] | None = None,
    keep: Kept | None = None,
) -> Comparison:
    """Runs one spec under each scheme and seed, several at a time, and returns them side by side.

    Without `schemes`, the spec's `compare.schemes`; with `"all"`, those of `every_scheme`. `seeds` is the number of
    runs of each scheme, counting from the spec's seed, or the list of seeds; by default there is one run, with the
    spec's seed. `workers` is the number of simultaneous runs, by default one per processor. The other arguments are
    those of `fanin.run`; `max_memory` is for all simultaneous runs together, `max_time` for each. `threads` is for each
    run, by default its share of the cores. `on=["simulator", "wire"]` runs each of them in the simulator and on a wire
    (docs/wire.md), side by side, there with the `clock` and `link` of `fanin.run`; in real time one run is made after
    another. With `keep`, each run is kept in a folder as it ends, and those that are there are not run again.

    Ctrl-C stops all runs; the comparison then has the results up to there and `cancelled` is True.
    """
    need_list("set", set, EXAMPLE_OF_SET)
    need_seeds(seeds)
    need_limits(max_memory, max_time, threads)
    if not isinstance(schemes, str):
        need_list("schemes", schemes, '["dcqcn", "hpcc"], or "all"')
    changes = [*set, *policy_changes(balancing, discipline)]
    base = Job.of(spec, changes)
    check_places(on)
    if "wire" in on:
        _core.check_wire(clock, link)
    resolved = base.resolve()
    each_seed: Sequence[int | None] = [None]
    if isinstance(seeds, int):
        first = int(str(resolved["seed"]))
        each_seed = range(first, first + seeds)
    elif seeds:
        each_seed = seeds
    if isinstance(schemes, str):
        if schemes != "all":
            raise _core.SpecError(f'schemes: "{schemes}" is neither a list of schemes nor "all"; write ["{schemes}"]')
        schemes = every_scheme(spec, set=changes)[0]
    with each_id_once():
        own = None if schemes is None else [str(resolved_scheme(one)) for one in schemes]
    each_scheme = schemes_to_compare(resolved) if own is None else own
    wanted = [
        (scheme, seed, place)
        for scheme in dict.fromkeys(each_scheme)
        for place in dict.fromkeys(on)
        for seed in dict.fromkeys(each_seed)
    ]
    # In real time a run beside it would make another one late.
    alone = "wire" in on and clock != "lockstep"
    at_once = 1 if alone else max(1, min(workers or cores(), len(wanted)))
    memory = (limits.default_memory() if max_memory is None else max_memory) // at_once
    limited = replace(base.within(memory, max_time).on(threads, at_once=at_once), clock=clock, link=link)
    jobs = [limited.using(scheme, seed).at(place, named=len(on) > 1) for scheme, seed, place in wanted]
    return run_all(jobs, at_once, flows=flows, progress=progress, keep=keep if flows is None else None)


@dataclass(frozen=True)
class Kept:
    """The runs of a comparison, kept as they end, so that one that was killed goes on."""

    folder: Path
    parquet: bool = False
    """Whether tables are Parquet files."""
    _closed: threading.Event = field(default_factory=threading.Event, repr=False)
    _writing: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def found(self, job: Runnable) -> Result | None:
        """The run, if it has ended before, with the same spec, files and version; None otherwise."""
        key = key_of(job) if self.folder.is_dir() else None
        if key is None or not is_run_folder(self.folder / key):
            return None
        try:
            result = load(self.folder / key)
            for name in result.manifest.get("files") or ():
                run_files.verify(self.folder / key, result.manifest, name)
        except (RunError, OSError):
            return None
        return replace(result, label=job.label)

    def add(self, job: Runnable, result: Result) -> None:
        """Keeps a run that has ended; raises `OSError`."""
        key = key_of(job)
        with self._writing:
            if key is not None and not self._closed.is_set():
                result.save(self.folder / key, parquet=self.parquet, force=True)

    def close(self) -> None:
        """Keeps nothing any more, even if runs go on in other threads; without a whole run the folder goes."""
        with self._writing:
            self._closed.set()
        if not any(self.folder.glob("*/manifest.json")):
            shutil.rmtree(self.folder, ignore_errors=True)


@dataclass(frozen=True)
class _Keeping:
    """A job whose result is kept as it ends."""

    job: Runnable
    keep: Kept

    @property
    def label(self) -> str:
        """That of the job."""
        return self.job.label

    def resolve(self) -> object:
        """That of the job."""
        return self.job.resolve()

    def run(self, flows: object | None, watcher: Watcher | None) -> Result:
        """Runs the job, if it has not ended before."""
        result = self.keep.found(self.job)
        if result is None:
            result = self.job.run(flows, watcher)
            if not result.cancelled:
                self.keep.add(self.job, result)
        return result


def run_all(
    jobs: Sequence[Runnable],
    at_once: int,
    *,
    flows: object | None = None,
    progress: bool | Watcher = True,
    keep: Kept | None = None,
) -> Comparison:
    """Runs these side by side, so many at once."""
    if keep is not None:
        jobs = [_Keeping(job, keep) for job in jobs]
    try:
        results = run_jobs(jobs, workers=at_once, flows=flows, progress=progress)
    except LimitError as error:
        if at_once == 1:
            raise
        raise LimitError(f"{error} for each of {at_once} runs at once, or one at a time: --workers 1") from None
    return Comparison(alike(results), cancelled=len(results) < len(jobs) or any(result.cancelled for result in results))


def load_comparison(folder: str | os.PathLike[str]) -> Comparison:
    """Reads a folder that `Comparison.save` wrote; raises `RunError` if it is none."""
    root = Path(folder)
    if not (root / "compare.json").is_file():
        below = [path.parent.name for path in sorted(root.glob("*/manifest.json"))] if root.is_dir() else []
        hint = f"; the runs in it are {', '.join(below)}" if below else ""
        if (root / "sweep.json").is_file():
            hint = "; it is a sweep, which fanin show prints and fanin.load_sweep reads"
        elif not os.path.lexists(root):
            hint = "; there is nothing of this name"
        raise RunError(f"{root}: not a run folder and not a comparison{hint}")
    record = read_document(root / "compare.json", ("runs", "cancelled"))
    labels = cast("list[str]", record["runs"])
    return Comparison(alike([load(root / label) for label in labels]), cancelled=bool(record["cancelled"]))
