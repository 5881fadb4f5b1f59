"""Many runs of many specs, of which only what is measured is kept.

A `Job` is a spec with its changes. A `Measurement` is a job and the function that measures its result; `run_all` runs
any number of them, longest first, and hands over what each measured. With a folder to keep this in, a run that has
finished is not repeated: after Ctrl-C the same call goes on.

```python
from concurrent.futures import ThreadPoolExecutor

from fanin.jobs import Job, Measurement, run_all


def measure(run):
    return {"fct_us": (run.flows()["completion_ps"].drop_nulls() / 1e6).to_list()}


def show(name, outcome):
    print(name, max(outcome.measured["fct_us"]), "us")


jobs = {f"seed {seed}": Job.of("tests/data/tiny.toml", [f"seed={seed}"]) for seed in (1, 2, 3)}
runs = {name: Measurement(job, measure) for name, job in jobs.items()}
with ThreadPoolExecutor(2) as threads:
    assert run_all(runs, show, executor=threads, progress=False)
```

Without an `executor` the runs are in worker processes, which import the module of `measure`.
"""

from __future__ import annotations

import hashlib
import inspect
import json
import os
import uuid
from collections.abc import Callable, Mapping
from concurrent.futures import Executor
from dataclasses import asdict, dataclass, replace
from functools import cache, cached_property
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from fanin import _core, limits
from fanin.run_folder import RunError, put_text
from fanin.runs import PLACES, Job, cores
from fanin.sweeps.display import SweepDisplay
from fanin.sweeps.pools import Given, Pool, Processes, dask
from fanin.sweeps.running import Running
from fanin.sweeps.work import Done, Measured, Task

if TYPE_CHECKING:
    from fanin.result import Result

__all__ = ["PLACES", "Job", "Measured", "Measurement", "Outcome", "dask", "run_all"]


@dataclass(frozen=True)
class Outcome:
    """What is left of a run."""

    measured: Measured
    """What its function returned: lists of numbers by name."""
    packet_hops: int
    """Packets sent over one link each."""


@dataclass(frozen=True)
class Measurement:
    """A run to do, and what is measured in it."""

    job: Job
    measure: Callable[[Result], Measured]
    """A function of a module, since worker processes import it. It runs in the worker, and its lists of numbers are all
    that comes back."""
    keep: Path | None = None
    """The folder where the outcome is kept as a small file. It is found again as long as the resolved spec, the native
    module and the text of the module of `measure` are the same."""
    seconds: float = 1.0
    """Its estimated real time; the longest runs begin first."""

    def kept(self) -> Outcome | None:
        """The outcome that was kept; None if there is none, or if its file is damaged. Raises `SpecError` for a spec
        that cannot run, and `ValueError` if the function has no file whose text could be compared."""
        if self.keep is None:
            return None
        file = self._file
        try:
            return Outcome(**json.loads(file.read_text(encoding="utf-8")))
        except (OSError, ValueError, TypeError):
            return None

    def _write(self, outcome: Outcome) -> None:
        """Writes a file that is whole at any time."""
        if self.keep is None:
            return
        self.keep.mkdir(parents=True, exist_ok=True)
        part = self._file.with_suffix(f".{os.getpid()}.part")
        put_text(part, json.dumps(asdict(outcome)))
        part.replace(self._file)

    @cached_property
    def _file(self) -> Path:
        assert self.keep is not None
        parts = [self.job.resolve(), self.job.wire, _engine(), _text_of(self.measure.__module__)]
        return self.keep / f"{hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:32]}.json"


@cache
def _engine() -> str:
    """A hash of the native module: the engine and all schemes."""
    with Path(_core.__file__).open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


@cache
def _text_of(module: str) -> str:
    """A hash of the text of a module."""
    try:
        text = inspect.getsource(import_module(module))
    except (OSError, TypeError):
        raise ValueError(f"{module} has no file: what a function of it measures cannot be kept") from None
    return hashlib.sha256(text.encode()).hexdigest()


def run_all(
    runs: Mapping[str, Measurement],
    take: Callable[[str, Outcome], None],
    *,
    workers: int | None = None,
    executor: Executor | None = None,
    progress: bool = True,
) -> bool:
    """Runs them all, and hands over the name and the outcome of each as soon as it has one. Returns whether all have:
    after Ctrl-C those that had not finished lack it.

    `take` is called in this thread, first for the runs whose outcome was kept. `workers` is the number of worker
    processes, one per core by default; an `executor` of the caller's, such as a pool of threads or `dask`, runs them
    elsewhere. `progress` shows a bar on stderr.

    Raises `SpecError` for a spec that cannot run, and `RunError` at the end if a run failed, with a line for each.
    """
    kept = {name: found for name, one in runs.items() if (found := one.kept()) is not None}
    todo = {name: one for name, one in runs.items() if name not in kept}
    for name, outcome in kept.items():
        take(name, outcome)
    if not todo:
        return True
    at_once = min(workers or cores(), len(todo))
    pool: Pool = Processes(at_once) if executor is None else Given(executor)
    tasks = _tasks(todo, at_once if executor is None else None)
    landing = _Landing(todo, take)
    labels = {name: name for name in todo}
    with SweepDisplay({name: one.seconds for name, one in todo.items()}, labels, len(kept), visible=progress) as shown:
        stopped = Running(pool, landing, labels, shown).all(tasks)
    if landing.failures:
        raise RunError("\n".join(landing.failures))
    return not stopped


def _tasks(todo: Mapping[str, Measurement], at_once: int | None) -> list[Task]:
    """These runs, longest first, so many at once; where that is unknown, each has the limits of its machine."""
    memory = None if at_once is None else limits.default_memory() // at_once
    sweep = uuid.uuid4().hex
    tasks = []
    for name, one in sorted(todo.items(), key=lambda item: -item[1].seconds):
        job = replace(one.job.within(memory), max_memory=memory)
        tasks.append(Task(name, job, sweep=sweep, version=_core.__version__, at_once=at_once, measure=one.measure))
    return tasks


class _Landing:
    """What becomes of the runs: they are kept and handed over."""

    def __init__(self, runs: Mapping[str, Measurement], take: Callable[[str, Outcome], None]) -> None:
        self._runs = runs
        self._take = take
        self.failures: list[str] = []

    def begun(self, key: str) -> None:
        """Nothing to do."""

    def killed(self, key: str) -> None:
        """Nothing to do."""

    def landed(self, done: Done) -> None:
        """It is kept."""
        outcome = Outcome(done.measured, done.packet_hops)
        self._runs[done.key]._write(outcome)
        self._take(done.key, outcome)

    def failed(self, key: str, error: str) -> None:
        """It has no outcome."""
        self.failures.append(f"{key}: {error}")
