"""A list of experiments: how far it is, and how long the rest will take."""

from __future__ import annotations

import time
from collections.abc import Sequence

from fanin import claims

SHORTEST_S = 1.0
"""An experiment that took less was mostly kept from earlier: its pace says nothing."""


class Campaign:
    """The time left is estimated from the packet-hops of the experiments' recorded runs and the pace so far."""

    def __init__(self, ids: Sequence[str], *, quick: bool) -> None:
        recorded = {} if quick else claims.measured()
        self._ids = ids
        self._hops: dict[str, int | None] = {name: recorded.get(name, {}).get("packet_hops") for name in ids}
        self._left = list(ids)
        self._hops_done = 0
        self._seconds = 0.0
        self._began_s = time.monotonic()

    def line(self, name: str, title: str) -> str:
        """Announces an experiment."""
        number = len(self._ids) - len(self._left) + 1
        left = self.left_s()
        rest = "" if left is None else f"; about {int(left) // 60}:{int(left) % 60:02d} left of all"
        self._began_s = time.monotonic()
        return f"{number} of {len(self._ids)}: {name}, {title}{rest}"

    def done(self, name: str) -> None:
        """This experiment is done."""
        self._left.remove(name)
        seconds = time.monotonic() - self._began_s
        hops = self._hops[name]
        if hops is not None and seconds >= SHORTEST_S:
            self._hops_done += hops
            self._seconds += seconds

    def left_s(self) -> float | None:
        """Seconds for the experiments that are left; None before there is a pace, or if one of them never ran."""
        hops = [self._hops[name] for name in self._left]
        known = [number for number in hops if number is not None]
        if not self._hops_done or len(known) < len(hops):
            return None
        return sum(known) * self._seconds / self._hops_done
