"""Senders' choice of paths in Python: REPS, as the built-in `network.balancing = "reps"`, event for event.

A ring of the last eight paths whose packets arrived without a mark; without a fresh one, a random path. A timeout
freezes the ring for 10 ms, in which its paths are used over and over; then 16 packets explore ("Recycled Entropy Packet
Spraying", Bonato et al., 2024, with the numbers of uet-htsim).

  fanin run examples/load-balancing.toml --balancing examples/own/reps.py:Reps
"""

import fanin

RING = 8
FREEZE_PS = 10_000_000_000
EXPLORE = 16
MASK = 2**64 - 1


class Reps(fanin.PathSelector):
    """Recycled paths."""

    id = "own-reps"

    def open(self, sender: fanin.SelectorInfo) -> None:
        """Each sender draws numbers of its own, so that results are the same for any number of threads."""
        self.paths = sender.paths
        self.random = sender.seed
        self.explore = 0
        self.empty()

    def empty(self) -> None:
        """Forgets all paths."""
        # A path in the ring is fresh until it is used.
        self.ring = [(0, False)] * RING
        self.head = self.count = self.fresh = self.frozen_at = 0
        self.frozen: int | None = None

    def draw(self) -> int:
        """A path at random (SplitMix64)."""
        self.random = self.random + 0x9E3779B97F4A7C15 & MASK
        x = (self.random ^ self.random >> 30) * 0xBF58476D1CE4E5B9 & MASK
        x = (x ^ x >> 27) * 0x94D049BB133111EB & MASK
        return ((x ^ x >> 31) >> 33) % self.paths

    def next_path(self, number: int, window: int) -> int:  # noqa: ARG002 - REPS does not need them
        """The oldest fresh path, or a random one."""
        if self.explore > 0:
            self.explore -= 1
            return self.draw()
        if self.count == 0 or (self.frozen is None and self.fresh == 0):
            return self.draw()
        at = (self.head - self.fresh) % RING if self.frozen is None else self.frozen_at
        path, is_fresh = self.ring[at]
        if is_fresh or self.frozen is None:
            self.fresh = max(self.fresh - 1, 0)
            self.ring[at] = path, False
        if self.frozen is not None:
            self.frozen_at = (self.frozen_at + 1) % self.count
        return path

    def feedback(self, path: int, feedback: fanin.Feedback) -> None:
        """Keeps what was good."""
        if self.frozen is not None and self.now > self.frozen:
            self.empty()
            self.explore = EXPLORE
        if feedback == fanin.Feedback.GOOD:
            self.fresh = min(self.fresh + (not self.ring[self.head][1]), RING)
            self.ring[self.head] = path, True
            self.head = (self.head + 1) % RING
            self.count = min(self.count + 1, RING)
        elif feedback == fanin.Feedback.TIMEOUT and self.frozen is None and self.explore == 0:
            self.frozen = self.now + FREEZE_PS
