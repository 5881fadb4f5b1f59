"""One run of a sweep: in a thread, in a process, on another machine. Its input and its output can be pickled."""

from __future__ import annotations

import io
import os
import tarfile
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from fanin import _core

if TYPE_CHECKING:
    from fanin.result import Result
    from fanin.runs import Job

Number = str | float | int | None

Measured = dict[str, list[float]]
"""The measurements of a run, by name: a list of one for a number."""

THREADS_OF_A_FRAME = "POLARS_MAX_THREADS"
"""One thread per run: data frames would start one per core in each process."""

stopped: set[str] = set()
"""Sweeps of this process that are stopping, for their runs in threads of this process."""


@dataclass(frozen=True)
class Task:
    """A run to do."""

    key: str
    job: Job
    """With its limits; without any, those of the machine that it runs on."""
    sweep: str
    """Names the sweep among others of this process."""
    version: str
    at_once: int | None
    """The number of runs that share the memory; None if unknown."""
    folder: str | None = None
    """The run folder, if it is kept and this machine can write it."""
    pack: bool = False
    """Whether the run folder is returned as an archive, to be unpacked into the folder of the sweep."""
    measure: Callable[[Result], Measured] | None = None
    """What is measured instead of the numbers of a sweep's table; a function of a module."""


@dataclass(frozen=True)
class Done:
    """What came of it."""

    key: str
    error: str | None
    """The reason why there is no result; None if there is one."""
    cancelled: bool = False
    """It was stopped; nothing of it is kept."""
    errors: list[str] = field(default_factory=list)
    """The reasons not to trust the result."""
    warnings: list[str] = field(default_factory=list)
    packet_hops: int = 0
    numbers: dict[str, Number] = field(default_factory=dict)
    measured: Measured = field(default_factory=dict)
    packed: bytes | None = None


def work(task: Task, watcher: Callable[[_core.Progress], bool] | None = None) -> Done:
    """Runs it; every failure of a run is returned as a message."""
    os.environ.setdefault(THREADS_OF_A_FRAME, "1")
    from fanin.run_folder import RunError
    from fanin.sweeps.frame import numbers_of_run

    def watch(state: _core.Progress) -> bool:
        go_on = watcher(state) if watcher is not None else True
        return go_on and task.sweep not in stopped

    try:
        if task.version != _core.__version__:
            raise RunError(
                f"a worker has Fanin {_core.__version__}, the sweep {task.version}; install the same everywhere"
            )
        if task.sweep in stopped:
            return Done(task.key, None, cancelled=True)
        job = task.job if task.job.max_memory is not None else task.job.within(None, task.job.max_time)
        result = job.run(None, watch)
        if result.failure is not None:
            return Done(task.key, result.failure)
        if result.cancelled:
            return Done(task.key, None, cancelled=True)
        if task.folder is not None:
            result.save(task.folder, force=True)
        return Done(
            task.key,
            None,
            errors=result.summary()["errors"],
            warnings=result.warnings,
            packet_hops=int(result.manifest["packet_hops"]),
            numbers=numbers_of_run(result) if task.measure is None else {},
            measured=task.measure(result) if task.measure is not None else {},
            packed=packed(result) if task.pack else None,
        )
    except _core.LimitError as error:
        shared = task.at_once is not None and task.at_once > 1
        hint = f" for each of {task.at_once} runs at once, or fewer at once: --jobs 1" if shared else ""
        return Done(task.key, f"{error}{hint}")
    except (_core.SpecError, RunError, OSError) as error:
        return Done(task.key, str(error))
    except MemoryError:
        return Done(task.key, "there was not enough memory; fanin explain SPEC shows what a spec needs")
    except BaseException as error:
        if type(error).__name__ != "PanicException":  # raised by the native module for a bug in itself
            raise
        return Done(task.key, f"a fault in the simulator: {error}")


def packed(result: Result) -> bytes:
    """Its run folder as a compressed archive, for a machine that cannot see this one's files."""
    archive = io.BytesIO()
    with tempfile.TemporaryDirectory() as scratch:
        folder = result.save(Path(scratch) / "run")
        with tarfile.open(fileobj=archive, mode="w:gz", compresslevel=1) as files:
            files.add(folder, arcname=".")
    return archive.getvalue()
