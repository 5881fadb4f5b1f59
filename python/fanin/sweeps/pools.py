"""Where the runs of a sweep run: in worker processes of our own, in any executor, on a Dask cluster."""

from __future__ import annotations

import logging
import multiprocessing
import os
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import BrokenExecutor, Executor, Future, ProcessPoolExecutor
from contextlib import contextmanager, suppress
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection
from typing import Protocol

from fanin import _core, stopping
from fanin.progress import share_done
from fanin.run_folder import RunError
from fanin.sweeps.work import THREADS_OF_A_FRAME, Done, Task, stopped, work

CONNECT_S = 10.0
"""Timeout for the answer of a Dask scheduler."""


class Pool(Protocol):
    """Takes runs and executes them."""

    def free(self) -> bool:
        """Whether it can take one more run now."""

    def begin(self, task: Task) -> Future[Done]:
        """Submits a run. A `BrokenExecutor` in the future is a worker that died during this run."""

    def states(self) -> dict[str, tuple[float, int]]:
        """Of the runs in progress, as far as it knows: the share of each that is done, and its packet-hops."""

    def stop(self) -> None:
        """Stops the runs in progress and takes no more."""


class Processes:
    """Worker processes, one run and one thread each.

    Each is an executor of its own: a process that is killed breaks its executor, which identifies its run, and the
    other runs continue. Each holds one end of a pipe, on which it reports its progress; when the other end is closed,
    it exits at once, so that no worker outlives a sweep that was killed.
    """

    def __init__(self, workers: int) -> None:
        self._context = multiprocessing.get_context("spawn")
        resource_tracker.ensure_running()  # a worker that starts it would handle signals again
        self._slots: list[_Slot | None] = [None] * workers

    def free(self) -> bool:
        """Whether a worker is idle."""
        return any(slot is None or slot.idle for slot in self._slots)

    def begin(self, task: Task) -> Future[Done]:
        """Gives the run to an idle worker; there must be one."""
        at, slot = next((at, slot) for at, slot in enumerate(self._slots) if slot is None or slot.idle)
        if slot is not None and not slot.broken:
            with suppress(BrokenExecutor):  # it died while it was idle
                return slot.begin(task)
        if slot is not None:
            slot.close()
        self._slots[at] = slot = _Slot(self._context)
        return slot.begin(task)

    def states(self) -> dict[str, tuple[float, int]]:
        """The latest reports of the workers about their runs."""
        return {slot.key: slot.state() for slot in self._slots if slot is not None and not slot.idle}

    def stop(self) -> None:
        """The workers exit at once."""
        for slot in self._slots:
            if slot is not None:
                slot.close()


class _Slot:
    """One worker process, started with its first run."""

    def __init__(self, context: multiprocessing.context.SpawnContext) -> None:
        self._pipe, self._its_end = context.Pipe()
        self._executor = ProcessPoolExecutor(1, mp_context=context, initializer=begin_worker, initargs=(self._its_end,))
        self._future: Future[Done] | None = None
        self._state = (0.0, 0)
        self.key = ""

    @property
    def idle(self) -> bool:
        return self._future is None or self._future.done()

    @property
    def broken(self) -> bool:
        future = self._future
        return future is not None and future.done() and (future.cancelled() or future.exception() is not None)

    def begin(self, task: Task) -> Future[Done]:
        self.state()  # reports of the previous run
        self.key, self._state = task.key, (0.0, 0)
        with stopping.for_others():
            self._future = self._executor.submit(work_here, task)
        return self._future

    def state(self) -> tuple[float, int]:
        with suppress(OSError, EOFError):
            while self._pipe.poll():
                self._state = self._pipe.recv()
        return self._state

    def close(self) -> None:
        self._pipe.close()
        self._its_end.close()
        self._executor.shutdown(wait=False, cancel_futures=True)


_pipe: Connection | None = None


def begin_worker(pipe: Connection) -> None:
    """The start of a worker process."""
    global _pipe
    _pipe = pipe
    os.environ.setdefault(THREADS_OF_A_FRAME, "1")
    threading.Thread(target=_leave_with, args=(pipe,), daemon=True).start()


def _leave_with(pipe: Connection) -> None:
    with suppress(EOFError, OSError):
        pipe.recv()  # nothing is ever sent
    os._exit(1)


def work_here(task: Task) -> Done:
    """`work` in a worker process."""

    def tell(state: _core.Progress) -> bool:
        share = share_done(state)
        if _pipe is not None:
            _pipe.send((share, state.packet_hops))
        return True

    return work(task, tell)


class Given:
    """An executor of the caller, who closes it."""

    def __init__(self, executor: Executor) -> None:
        self._executor = executor
        self._futures: dict[str, Future[Done]] = {}
        self._sweep: str | None = None

    def free(self) -> bool:
        """Always true: it has its own queue."""
        return True

    def begin(self, task: Task) -> Future[Done]:
        """Puts the run into its queue."""
        self._sweep = task.sweep
        self._futures[task.key] = self._executor.submit(work, task)
        return self._futures[task.key]

    def states(self) -> dict[str, tuple[float, int]]:
        """The runs that it has started; their progress is not known."""
        self._futures = {key: future for key, future in self._futures.items() if not future.done()}
        return {key: (0.0, 0) for key, future in self._futures.items() if future.running()}

    def stop(self) -> None:
        """Cancels the runs that have not started. Runs in threads of this process stop; others run to their end."""
        if self._sweep is not None:
            stopped.add(self._sweep)
        for future in reversed(self._futures.values()):
            future.cancel()


def is_broken(error: BaseException | None) -> bool:
    """Whether a worker died, rather than a run failed."""
    return isinstance(error, BrokenExecutor)


@contextmanager
def dask(address: str, warn: Callable[[str], None]) -> Iterator[Executor]:
    """The workers of a Dask cluster as an executor. Raises `RunError` if there is no scheduler, warns if it has no
    worker yet."""
    try:
        from distributed import Client
    except ImportError:
        raise RunError("--dask needs the package distributed: pip install distributed") from None
    # It reports a lost scheduler with tracebacks; we print one line.
    logging.getLogger("distributed.client").setLevel(logging.CRITICAL)
    try:
        client = Client(address, timeout=CONNECT_S, set_as_default=False)
    except (OSError, ValueError, TypeError, ImportError) as error:
        why = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise RunError(
            f"--dask {address}: no Dask scheduler answers there ({why}); start one with `dask scheduler`, "
            "and give its address like tcp://10.0.0.1:8786"
        ) from None
    try:
        if not client.scheduler_info()["workers"]:
            warn(f"--dask {address}: this scheduler has no workers yet; start some with `dask worker {address}`")
        # Dask must not merge runs: the sweep has removed duplicates.
        yield client.get_executor(pure=False)
    finally:
        client.close()
