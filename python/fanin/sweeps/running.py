"""Runs tasks on a pool, in their order, and hands over what comes of each."""

from __future__ import annotations

import queue
import time
from collections import Counter, deque
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from contextlib import suppress
from typing import Protocol

from fanin import stopping
from fanin.run_folder import RunError
from fanin.sweeps.display import SweepDisplay, SweepState
from fanin.sweeps.pools import Given, Pool, is_broken
from fanin.sweeps.work import Done, Task

SweepWatcher = Callable[[SweepState], bool]
"""Called a few times a second during a sweep, which stops if it returns False."""

LOOK_EVERY_S = 0.2
"""Time between updates of the progress."""


class Landing(Protocol):
    """What becomes of runs, each named by its task's key."""

    def begun(self, key: str) -> None:
        """It was given to the pool."""

    def landed(self, done: Done) -> None:
        """It has a result."""

    def killed(self, key: str) -> None:
        """Its process was killed; it is tried once more."""

    def failed(self, key: str, error: str) -> None:
        """It has no result, for this reason."""


class Running:
    """The loop that submits runs to a pool and hands over their outcomes."""

    def __init__(
        self,
        pool: Pool,
        landing: Landing,
        labels: Mapping[str, str],
        display: SweepDisplay,
        watcher: SweepWatcher | None = None,
    ) -> None:
        self._pool = pool
        self._landing = landing
        self._labels = labels
        self._display = display
        self._watcher = watcher
        self._under_way: dict[Future[Done], Task] = {}
        self._ended: queue.SimpleQueue[Future[Done]] = queue.SimpleQueue()
        self._looked_s = float("-inf")
        self._deaths: Counter[str] = Counter()
        self._waiting: deque[Task] = deque()

    def all(self, tasks: Sequence[Task]) -> bool:
        """Runs them all; returns whether it was stopped before they had ended."""
        self._waiting.extend(tasks)
        try:
            with stopping.held() as interrupted:
                while self._waiting or self._under_way:
                    while self._waiting and self._pool.free():
                        self._begin(self._waiting.popleft())
                    self._take()
                    go_on = self._look()
                    if interrupted():
                        self._display.say(
                            "stopping: finished runs are kept; the same command continues with the others"
                        )
                    elif go_on:
                        continue
                    return bool(self._waiting or self._under_way)
        finally:
            self._pool.stop()
        return False

    def _begin(self, task: Task) -> None:
        self._landing.begun(task.key)
        try:
            future = self._pool.begin(task)
        except RuntimeError as error:  # broken, or shut down by its owner
            raise RunError(f"the executor takes no more runs: {error}; finished runs are kept") from None
        self._under_way[future] = task
        future.add_done_callback(self._ended.put)

    def _look(self) -> bool:
        """Shows the progress of the runs, a few times a second, and asks the watcher whether to continue."""
        now_s = time.monotonic()
        if now_s - self._looked_s < LOOK_EVERY_S / 2:
            return True
        self._looked_s = now_s
        state = self._display.update(self._pool.states())
        return self._watcher(state) if self._watcher is not None else True

    def _take(self) -> None:
        """Waits briefly for runs to end, and hands over their outcomes."""
        with suppress(queue.Empty):
            self._ended_with(self._ended.get(timeout=LOOK_EVERY_S))
            while True:
                self._ended_with(self._ended.get_nowait())

    def _ended_with(self, future: Future[Done]) -> None:
        task = self._under_way.pop(future)
        if future.cancelled():
            raise RunError(
                "the executor dropped runs that it had taken; finished runs are kept, start again to continue"
            )
        error = future.exception()
        if error is None:
            self._keep(future.result())
        elif is_broken(error):
            self._died(task, error)
        else:
            self._fail(task.key, _words(error))

    def _keep(self, done: Done) -> None:
        if done.cancelled:
            return
        if done.error is not None:
            self._fail(done.key, done.error)
            return
        self._landing.landed(done)
        self._display.finished(done.key, done.packet_hops)

    def _died(self, task: Task, error: BaseException) -> None:
        if isinstance(self._pool, Given):
            raise RunError(f"the executor broke: {_words(error)}; finished runs are kept, start again to continue")
        self._deaths[task.key] += 1
        if self._deaths[task.key] > 1:
            self._fail(task.key, "its process was killed twice, unless by you for lack of memory")
            return
        self._landing.killed(task.key)
        self._display.say(f"{self._labels[task.key]}: its process was killed; it is tried once more, at the end")
        # More memory is free when others have ended.
        self._waiting.append(task)

    def _fail(self, key: str, error: str) -> None:
        self._landing.failed(key, error)
        self._display.finished(key, 0)
        self._display.say(f"{self._labels[key]}: {error}")


def _words(error: BaseException) -> str:
    lines = str(error).strip().splitlines()
    return f"{type(error).__name__}: {lines[0]}" if lines else type(error).__name__
