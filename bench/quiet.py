"""Whether others have the machine at the same time: a fixed piece of work that has nothing to do with Fanin, timed on
several cores at once."""

from __future__ import annotations

import os
import threading
import time

import numpy as np

WORDS = 1 << 20
"""Words that are sorted, and then fetched in random order: work for a core, and for the cache that cores share."""
ROUNDS = 6
"""How often they are fetched."""
LIMIT = 1.15
"""The machine is quiet while the work takes at most so many times the least time that it ever took."""


class Control:
    """The work, and the least time that it took here so far."""

    def __init__(self, cores: int) -> None:
        """For runs that take as many cores."""
        random = np.random.default_rng(1)
        self._words = random.integers(0, WORDS, size=WORDS, dtype=np.int32)
        self._order = random.permutation(WORDS)
        allowed = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else []
        self._cores = allowed[:cores] if len(allowed) >= cores else [None] * cores
        self.least = float("inf")
        """Seconds."""

    def look(self) -> float:
        """Seconds that the work takes now, on the slowest of the cores."""
        took: list[float] = []

        def work(core: int | None) -> None:
            if core is not None:
                os.sched_setaffinity(0, {core})
            start = time.perf_counter()
            np.sort(self._words)
            for _ in range(ROUNDS):
                np.take(self._words, self._order)
            took.append(time.perf_counter() - start)

        # Both let go of the interpreter's lock, and a thread's core is its own.
        threads = [threading.Thread(target=work, args=(core,)) for core in self._cores]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        slowest = max(took)
        self.least = min(self.least, slowest)
        return slowest
