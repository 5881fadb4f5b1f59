"""A campaign: the runs of many experiments, longest first, in worker processes or on a Dask cluster."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from dataclasses import replace
from pathlib import Path

from fanin import _core, limits
from fanin.run_folder import RunError
from fanin.runs import Job
from fanin.sweeps.display import SweepDisplay
from fanin.sweeps.pools import Given, Pool, Processes
from fanin.sweeps.running import Running
from fanin.sweeps.work import Done, Task
from fanin_papers import claims
from fanin_papers.experiment import Change, Experiment, Key, Study, job
from fanin_papers.kept import Kept, Taken

PACKET_HOPS_PER_S = 6.5e6
"""Speed of one core in a campaign of all papers (5e6 in Dart's experiments, 9e6 in the others), for the estimate of the
whole before anything has run."""

RUN_S = 0.03
"""Seconds of a run besides its packets: reading the spec, building the network, measuring."""


class Campaign:
    """The runs of some experiments that have not been run before."""

    def __init__(
        self, experiments: Sequence[Experiment], specs: Path, *, quick: bool = False, keep: Path | None = None
    ) -> None:
        """Raises `SpecError` for a run that cannot start. `keep`: the folder of finished runs, which are not repeated;
        without one, all are run."""
        self._parts = [_Part(one, specs, quick=quick, keep=keep) for one in experiments]

    @property
    def runs(self) -> int:
        """How many runs are to do."""
        return sum(len(part.todo) for part in self._parts)

    def seconds(self, workers: int) -> float:
        """The estimated real time of those runs, from the recorded packet-hops of their experiments."""
        return sum(part.seconds for part in self._parts) / workers

    def run(
        self,
        take: Callable[[Study], None],
        *,
        workers: int = 1,
        executor: Executor | None = None,
        progress: bool = True,
    ) -> bool:
        """Runs them, and hands over each study as soon as it is complete. Returns whether all are: after Ctrl-C not.

        `executor` runs them elsewhere, as on a Dask cluster. Raises `RunError` at the end if a run failed.
        """
        for part in self._parts:
            if not part.todo:
                take(part.study())
        tasks, costs = self._tasks(min(workers, max(1, self.runs)), given=executor is not None)
        if not tasks:
            return True
        of_task = {key: part for part in self._parts for key in part.keys}
        landing = _Landing(of_task, take)
        labels = {task.key: task.key for task in tasks}
        there = sum(len(part.done) for part in self._parts)
        pool: Pool = Processes(min(workers, len(tasks))) if executor is None else Given(executor)
        with SweepDisplay(costs, labels, there, visible=progress) as display:
            stopped = Running(pool, landing, labels, display).all(tasks)
        if landing.failures:
            raise RunError("\n".join(landing.failures))
        return not stopped

    def _tasks(self, at_once: int, *, given: bool) -> tuple[list[Task], dict[str, float]]:
        """Those runs, longest first, and the estimated seconds of each."""
        name, memory = uuid.uuid4().hex, None if given else limits.default_memory() // at_once
        tasks, costs = [], {}
        for part in self._parts:
            for key, run in part.keys.items():
                limited = part.todo[run].within(memory)
                costs[key] = part.seconds / len(part.todo)
                tasks.append(
                    Task(
                        key,
                        limited if memory is not None else replace(limited, max_memory=None),
                        sweep=name,
                        version=_core.__version__,
                        at_once=None if given else at_once,
                        measure=part.experiment.measure,
                    )
                )
        tasks.sort(key=lambda task: -costs[task.key])
        return tasks, costs


class _Part:
    """One experiment: what was kept of its runs, and those to do."""

    def __init__(self, experiment: Experiment, specs: Path, *, quick: bool, keep: Path | None) -> None:
        self.experiment = experiment
        self._quick = quick
        base = Job.of(specs / experiment.spec)
        self._sweep: dict[Key, Job] = {key: job(base, key, change) for key, change in self._changes(quick).items()}
        self._kept = None if keep is None else Kept(keep / experiment.id, experiment.measure)
        self.done: dict[Key, Taken] = {}
        for key, one in self._sweep.items():
            found = None if self._kept is None else self._kept.find(one)
            if found is not None:
                self.done[key] = found
        self.todo = {key: one for key, one in self._sweep.items() if key not in self.done}
        self.keys = {f"{experiment.id}/{one.label}": key for key, one in self.todo.items()}

    def _changes(self, quick: bool) -> dict[Key, Change]:
        return dict(self.experiment.sweep(quick))

    @property
    def seconds(self) -> float:
        """The estimated processor time of the runs to do."""
        recorded = claims.measured().get(self.experiment.id, {})
        hops = 0 if self._quick else recorded.get("packet_hops", 0)
        return len(self.todo) * (RUN_S + hops / max(1, len(self._sweep)) / PACKET_HOPS_PER_S)

    def land(self, done: Done) -> bool:
        """Keeps what was measured. Returns whether it was the last run."""
        key = self.keys[done.key]
        taken = Taken(done.measured, done.packet_hops)
        if self._kept is not None:
            self._kept.keep(self.todo[key], taken)
        self.done[key] = taken
        return len(self.done) == len(self._sweep)

    def study(self) -> Study:
        """What was measured."""
        return Study(
            self.experiment,
            {key: self.done[key].measured for key in self._sweep if key in self.done},
            complete=len(self.done) == len(self._sweep),
            quick=self._quick,
            packet_hops=sum(taken.packet_hops for taken in self.done.values()),
        )


class _Landing:
    """What becomes of the runs of a campaign: measurements, and studies when they are complete."""

    def __init__(self, parts: dict[str, _Part], take: Callable[[Study], None]) -> None:
        self._parts = parts
        self._take = take
        self.failures: list[str] = []

    def begun(self, key: str) -> None:
        """Nothing to do."""

    def killed(self, key: str) -> None:
        """Nothing to do."""

    def landed(self, done: Done) -> None:
        """It is kept."""
        part = self._parts[done.key]
        if part.land(done):
            self._take(part.study())

    def failed(self, key: str, error: str) -> None:
        """Its experiment will not be complete."""
        self.failures.append(f"{key}: {error}")
