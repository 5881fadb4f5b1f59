"""What a scheme must hold to, checked with random events, and in a small network on one and on two threads."""

from __future__ import annotations

import json
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

from fanin import _core, own_schemes
from fanin.progress import ProgressDisplay
from fanin.runs import Job, SchemeLike

CASES = 1000
"""Sequences of events unless asked otherwise."""

SHOWN_EVERY_S = 0.1
"""Time between changes of the progress that is shown."""

MOST_CASES = 2**32 - 1
MOST_SEED = 2**64 - 1

NETWORK: dict[str, object] = {
    "spec_version": 1,
    "name": "check",
    "seed": 1,
    "network": {
        "topology": {
            "kind": "leaf-spine",
            "leaves": 4,
            "spines": 2,
            "hosts": 64,
            "link": "10 Gbps",
            "fabric_link": "10 Gbps",
            "delay": "50 us",
        },
        "buffer": {"policy": "lossless", "per_port": "5 MB"},
        "marking": {"kind": "step", "above": "22.5 KB"},
    },
    "traffic": [
        {
            "name": "permutation",
            "scheme": "none",
            "pattern": {"kind": "permutation"},
            "size": {"fixed": "60 KB"},
        }
    ],
    "measure": {"warm_up": "0 s", "window": "300 us", "drain": True},
}
"""A network with congestion at its spines, and with enough events for two threads."""


@dataclass(frozen=True)
class Happened:
    """An event of a sequence that breaks a promise."""

    at_us: float
    """Simulated time."""
    what: str


@dataclass(frozen=True)
class BrokenPromise:
    """A promise that a scheme does not keep."""

    rule: str
    """The promise."""
    detail: str
    """What happened instead; of an exception the hook, the flow, the time and the line."""
    at_us: float
    """Simulated time."""
    events: tuple[Happened, ...]
    """What happened up to there, as few events as were found; none for a run in a network."""


@dataclass(frozen=True)
class SchemeReport:
    """What `fanin.check_scheme` found."""

    scheme: str
    """Its id."""
    cases: int
    """Sequences of events that were run."""
    seed: int
    """It drew them."""
    stopped: bool
    """Ctrl-C came before the end."""
    broken: BrokenPromise | None
    """The first promise that was not kept."""
    threads: int
    """Of the second run in the small network; 0 where there was none."""
    not_run: str | None = None
    """Why the small network was not run, where the scheme cannot run in it."""

    @property
    def ok(self) -> bool:
        """Whether all was run and every promise was kept."""
        return self.broken is None and not self.stopped

    def as_dict(self) -> dict[str, object]:
        """As a JSON object."""
        broken = self.broken and {
            "rule": self.broken.rule,
            "detail": self.broken.detail,
            "at_us": self.broken.at_us,
            "events": [{"at_us": event.at_us, "what": event.what} for event in self.broken.events],
        }
        return {
            "scheme": self.scheme,
            "ok": self.ok,
            "cases": self.cases,
            "seed": self.seed,
            "stopped": self.stopped,
            "threads": self.threads,
            "not_run": self.not_run,
            "broken": broken,
        }

    def __str__(self) -> str:
        if self.broken is not None:
            return "\n".join(self._told(self.broken))
        sequences = f"{self.cases:,} random sequences of events (seed {self.seed})"
        if self.stopped:
            return f"{self.scheme}: stopped; its promises were kept in {sequences}"
        if self.threads:
            network = f", and a network on 1 and on {self.threads} threads has the same events"
        else:
            network = f"; not run in a network: {self.not_run}"
        return f"{self.scheme}: ok, its promises were kept in {sequences}{network}"

    def _told(self, broken: BrokenPromise) -> list[str]:
        lines = [f"{self.scheme}: a promise is not kept: {broken.rule}", f"  {broken.detail}"]
        if broken.events:
            lines += [f"  what happened, as short as it was found (sequence {self.cases} of seed {self.seed}):"]
            lines += [f"  {event.at_us:>14.6f} us  {event.what}" for event in broken.events]
        return lines


def check_scheme(scheme: SchemeLike, *, cases: int = CASES, seed: int = 0, progress: bool = True) -> SchemeReport:
    """Checks with random events what every scheme must hold to, built in or one's own.

    A model of two hosts and a switch opens and closes flows, sends, delivers, marks and loses packets, finds losses and
    calls timers, also unexpectedly. After each hook the rate is at most the line rate, and above 0 or with a timer that
    ends the rest; the window is at least 1 byte; the next timer is later than now; bytes are conserved. In the end
    every byte is acknowledged, and a replay gives the same answers. A small network then has the same events on one and
    on two threads. The first sequence of events that breaks one of these promises is made as short as possible.

    `cases` is the number of sequences, which `seed` draws. Ctrl-C stops; the report is then that up to there.

    Raises `SpecError` for what is no scheme, and `OSError` for a file that cannot be read.
    """
    if not 1 <= cases <= MOST_CASES:
        raise ValueError(f"cases = {cases}: it is from 1 to {MOST_CASES}")
    if not 0 <= seed <= MOST_SEED:
        raise ValueError(f"seed = {seed}: it is from 0 to 2^64 - 1")
    name = own_schemes.resolved(scheme)
    if name not in {row["id"] for row in _core.schemes()}:
        raise _core.SpecError(f'there is no scheme "{name}"')
    stop, began_s, shown_s = threading.Event(), time.monotonic(), 0.0
    display = ProgressDisplay([name], visible=progress)

    def go_on(done: int, shortening: bool) -> bool:
        nonlocal shown_s
        now_s = time.monotonic()
        if now_s - shown_s > SHOWN_EVERY_S:
            shown_s = now_s
            display.show(0, done / cases, _described(done, cases, now_s - began_s, shortening=shortening))
        return not stop.is_set()

    # In another thread: Python raises Ctrl-C in the main one, which waits, and not within a hook.
    pool = ThreadPoolExecutor(max_workers=1)
    checking = pool.submit(_core.check_scheme, name, cases, seed, go_on)
    try:
        with display:
            text = checking.result()
    except KeyboardInterrupt:
        stop.set()
        text = checking.result()
    finally:
        pool.shutdown(wait=False)
    found = json.loads(text)
    broken = None
    if found["found"] is not None:
        events = tuple(Happened(at_ps / 1e6, what) for at_ps, what in found["found"]["events"])
        broken = BrokenPromise(found["found"]["rule"], found["found"]["detail"], found["found"]["at_ps"] / 1e6, events)
    report = SchemeReport(name, found["cases"], seed, found["stopped"], broken, threads=0)
    return report if broken is not None or report.stopped else _in_network(report)


def _described(done: int, cases: int, spent_s: float, *, shortening: bool) -> str:
    if shortening:
        return f"sequence {done + 1:,} breaks a promise; looking for a shorter one"
    parts = [f"{done:,} of {cases:,} sequences"]
    if done > 0 and spent_s > 0:
        left_s = spent_s * (cases - done) / done
        parts += [f"{done / spent_s:,.0f}/s", f"{int(left_s) // 60}:{int(left_s) % 60:02d} left"]
    return ", ".join(parts)


def _in_network(report: SchemeReport) -> SchemeReport:
    """The same report, with the runs in the small network."""
    job = Job.of(NETWORK).using(report.scheme, None)
    try:
        job.resolve()
    except _core.SpecError as error:
        return replace(report, not_run=str(error))
    one = job.on(1).run(None, None)
    at_us = one.manifest["simulated_ps"] / 1e6
    errors = one.summary()["errors"]
    if errors:
        return replace(report, broken=BrokenPromise("a small network runs without errors", errors[0], at_us, ()))
    two = job.on(2).run(None, None)
    hashes = [run.manifest["event_hash"] for run in (one, two)]
    if hashes[0] != hashes[1]:
        detail = f"event hash {hashes[0]} on one, {hashes[1]} on two: an answer depends on more than the flow's state"
        return replace(report, broken=BrokenPromise("a run on 2 threads has the same events", detail, at_us, ()))
    return replace(report, threads=two.manifest["threads"])
