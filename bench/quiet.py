"""Detects whether other programs use the machine: times a fixed piece of work, unrelated to Fanin, on several cores at
once."""

from __future__ import annotations

import os
import threading
import time

import numpy as np

WORDS = 1 << 20
"""Words that are sorted, and then read in random order, to load a core and the shared cache."""
ROUNDS = 6
"""The number of these reads."""
LIMIT = 1.15
"""The machine is quiet if the work takes at most so many times its least time."""


class Control:
    """The work, and its least time so far."""

    def __init__(self, cores: int) -> None:
        """For runs that take as many cores."""
        random = np.random.default_rng(1)
        self._words = random.integers(0, WORDS, size=WORDS, dtype=np.int32)
        self._order = random.permutation(WORDS)
        allowed = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else []
        self._cores = allowed[:cores] if len(allowed) >= cores else [None] * cores
        self.least = float("inf")
        """Seconds."""

    def measure(self) -> float:
        """Runs the work; returns the seconds of the slowest core."""
        took: list[float] = []

        def work(core: int | None) -> None:
            if core is not None:
                os.sched_setaffinity(0, {core})
            start = time.perf_counter()
            np.sort(self._words)
            for _ in range(ROUNDS):
                np.take(self._words, self._order)
            took.append(time.perf_counter() - start)

        # Both release the interpreter lock, and each thread has a core of its own.
        threads = [threading.Thread(target=work, args=(core,)) for core in self._cores]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        slowest = max(took)
        self.least = min(self.least, slowest)
        return slowest
