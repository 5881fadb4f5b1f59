"""Dart's typical mix of traffics: loads, long flows, marking."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fanin import Result
from fanin_papers.common import mean, pooled
from fanin_papers.experiment import Key, Measures

LOADS = (20, 40, 60)
"""Per cent of the capacity of the ToR uplinks (row E11)."""

SHORT_SHARE = 0.4
"""Share of short messages in the bytes of the typical mix (row E12)."""

TABLE_1 = {"dcqcn": (17, 41, 67), "dart": (6, 11, 14)}
"""Dart's Table I, typical mix at LOADS: per cent of short messages' packets with a mark."""

TABLE_2 = {"load increase": (3, 6, 9), "path dilation": (8, 15, 23)}
"""Dart's Table II, typical mix at LOADS, in per cent."""

# Row E15: the long flows.
SNAPSHOT = "as many endless flows as the load has line rates"
POISSON = "10 MB flows that come and go"
EVERY_SERVER = "one endless flow from every server"

# Row E5: the marking of queues.
STEP = "step at 22.5 KB"
RED = "RED 5 to 200 KB, 1 %"
RAMP = "RED 22.5 to 225 KB, 100 %"

LAWS = {
    STEP: '{ kind = "step", above = "22.5 KB", at = "dequeue" }',
    RED: '{ kind = "red", min = "5 KB", max = "200 KB", probability = 0.01, at = "dequeue" }',
    RAMP: '{ kind = "red", min = "22.5 KB", max = "225 KB", probability = 1.0, at = "dequeue" }',
}

JITTERS_US = (0, 20, 40, 60, 100, 200)
"""Row E14: the senders of an incast start within so many microseconds."""

CALIBRATED_US = 40
"""The jitter that comes closest to DCQCN's row of Table I, with the step and the snapshot."""


def load(percent: int, short: float = SHORT_SHARE, of: str = "tor-uplinks") -> tuple[str, ...]:
    """The two traffics at a load."""
    return (
        f'traffic.short.load={{ share = {short * percent / 100:.4f}, of = "{of}" }}',
        f'traffic.long.load={{ share = {(1 - short) * percent / 100:.4f}, of = "{of}" }}',
    )


def population(who: str) -> tuple[str, ...]:
    """The long flows of row E15; overrides `load`."""
    if who == POISSON:
        return ('traffic.long.pattern={ kind = "poisson" }', 'traffic.long.size={ fixed = "10 MB" }')
    if who == EVERY_SERVER:
        # 1,024 line rates of 10 Gb/s over uplinks of 2.56 Tb/s.
        return ('traffic.long.load={ share = 4.0, of = "tor-uplinks" }',)
    return ()


def jitter(microseconds: int) -> tuple[str, ...]:
    """Row E14."""
    return (f"traffic.short.pattern.jitter={microseconds} us",)


def window(quick: bool, short: str | None = None) -> tuple[str, ...]:
    """A shorter measured window."""
    chosen = "2 ms" if quick else short
    return () if chosen is None else (f"measure.window={chosen}", *(("measure.warm_up=1 ms",) if quick else ()))


def at(measures: Measures, key: Key, name: str) -> float:
    """Mean over the seeds of a point."""
    return mean(pooled(measures, key, name))


def traffic(result: Result, name: str) -> Mapping[str, Any]:
    """The summary of one traffic."""
    return next(t for t in result.summary()["traffics"] if t["traffic"] == name)
