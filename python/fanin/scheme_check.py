"""What schemes, load balancing and queue disciplines must hold to, checked with random events, and in a small network
on one and on two threads."""

from __future__ import annotations

import json
import shlex
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace

from fanin import _core, own_schemes
from fanin.own_schemes import Kind, LoadableLike
from fanin.progress import ProgressDisplay
from fanin.runs import Job

CASES = 1000
"""Sequences of events unless asked otherwise."""

SHOWN_EVERY_S = 0.1
"""Time between changes of the progress that is shown."""

MOST_CASES = 2**32 - 1
MOST_SEED = 2**64 - 1


def _network(
    scheme: object, rdma: Mapping[str, object] | None = None, keys: Mapping[str, object] | None = None
) -> dict[str, object]:
    """A network with congestion at its spines, and with enough events for two threads; `keys` are more of `network`."""
    return {
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
            **(keys or {}),
        },
        "traffic": [
            {
                "name": "permutation",
                "scheme": scheme,
                "pattern": {"kind": "permutation"},
                "size": {"fixed": "60 KB"},
            }
            | ({} if rdma is None else {"rdma": rdma})
        ],
        "measure": {"warm_up": "0 s", "window": "300 us", "drain": True},
    }


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
    parameters: dict[str, object] = field(default_factory=dict)
    """The parameters of the scheme that were not its defaults then; `check_scheme` takes them as `parameters`."""


@dataclass(frozen=True)
class SchemeReport:
    """What `fanin.check_scheme` found."""

    scheme: str
    """Its id."""
    kind: str
    """`scheme`, `balancing` or `discipline`."""
    parameters: dict[str, object] | None
    """Those that every sequence had; `None` where most had the defaults and some had others."""
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
    """Why the small network was not run, or not on two threads."""

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
            "parameters": self.broken.parameters,
        }
        return {
            "scheme": self.scheme,
            "kind": self.kind,
            "parameters": self.parameters,
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
        if broken.parameters:
            changes = " ".join(f"--set {shlex.quote(change)}" for change in changes_of(broken.parameters))
            lines += [f"  not with its defaults, but with {changes}"]
        if broken.events:
            lines += [f"  what happened, as short as it was found (sequence {self.cases} of seed {self.seed}):"]
            lines += [f"  {event.at_us:>14.6f} us  {event.what}" for event in broken.events]
        return lines


def check_scheme(
    scheme: LoadableLike,
    *,
    parameters: Mapping[str, object] | None = None,
    cases: int = CASES,
    seed: int = 0,
    progress: bool = True,
) -> SchemeReport:
    """Checks with random events what every scheme must hold to, built in or one's own; also load balancing and queue
    disciplines of one's own. Of a library with several of them it is the scheme, or else the load balancing.

    A scheme: a model of two hosts and a switch opens and closes flows, sends, delivers, marks and loses packets, finds
    losses, lets flows be idle and post more, and calls timers, also unexpectedly. After each hook the rate is at most
    the line rate, and above 0 or with a timer that ends the rest; the window is at least 1 byte; the next timer is
    later than now; bytes are conserved. In the end every byte is acknowledged, and a replay gives the same answers.

    `parameters` are as in a spec, for all sequences. Without them three quarters of the sequences of a scheme have the
    defaults. The others scale up to three numbers, times, rates or sizes by 1/4 to 4, as far as the scheme accepts
    that; `broken.parameters` are those of the failure. `parameters={}` leaves all at their defaults, as those of load
    balancing and of a queue discipline are without `parameters`.

    Load balancing: the answer is the index of a choice, or of a sender the number of a path, 0 to 65535. A queue
    discipline: an empty queue lets packets in at some time. Both: no hook fails, and a replay, one switch or sender
    after the other, gives the same answers.

    A small network then has the same events on one and on two threads. The first sequence of events that breaks one of
    these promises is made as short as possible.

    `cases` is the number of sequences, which `seed` draws. Ctrl-C stops; the report is then that up to there.

    Raises `SpecError` for what is no scheme or no parameter, and `OSError` for a file that cannot be read.
    """
    if not 1 <= cases <= MOST_CASES:
        raise ValueError(f"cases = {cases}: it is from 1 to {MOST_CASES}")
    if not 0 <= seed <= MOST_SEED:
        raise ValueError(f"seed = {seed}: it is from 0 to 2^64 - 1")
    given = None if parameters is None else dict(parameters)
    kind, name = _known(scheme)
    text = None if given is None else json.dumps(given)
    report = SchemeReport(name, kind, given, 0, seed, False, None, 0)
    if kind == "scheme":
        report = _followed(report, cases, progress, lambda go_on: _core.check_scheme(name, text, cases, seed, go_on))
        spec = _network({"id": name, **(given or {})})
    else:
        report = _followed(
            report, cases, progress, lambda go_on: _core.check_policy(kind, name, text, cases, seed, go_on)
        )
        spec = _network("dctcp-rate", {"recovery": "selective-repeat"}, {kind: {"id": name, **(given or {})}})
    job = Job.of(spec).using(None, None)
    return report if report.broken is not None or report.stopped else _in_network(report, job)


def _known(own: LoadableLike) -> tuple[Kind, str]:
    """The kind and the id of what is checked, which is loaded if it is one's own."""
    if not isinstance(own, str) or own_schemes.is_reference(own):
        return next(iter(own_schemes.loaded_ids(own).items()))
    for kind, rows in own_schemes.all_known().items():
        if any(row["id"] == own for row in rows):
            return kind, own
    raise _core.SpecError(f'there is no scheme "{own}"')


def _followed(
    report: SchemeReport, cases: int, progress: bool, check: Callable[[Callable[[int, bool], bool]], str]
) -> SchemeReport:
    """The report with what a check found, whose progress is shown, and which Ctrl-C stops."""
    stop, began_s, shown_s = threading.Event(), time.monotonic(), 0.0
    display = ProgressDisplay([report.scheme], visible=progress)

    def go_on(done: int, shortening: bool) -> bool:
        nonlocal shown_s
        now_s = time.monotonic()
        if now_s - shown_s > SHOWN_EVERY_S:
            shown_s = now_s
            display.show(0, done / cases, _described(done, cases, now_s - began_s, shortening=shortening))
        return not stop.is_set()

    # In another thread: Python raises Ctrl-C in the main one, which waits, and not within a hook.
    pool = ThreadPoolExecutor(max_workers=1)
    checking = pool.submit(check, go_on)
    try:
        with display:
            text = checking.result()
    except KeyboardInterrupt:
        stop.set()
        text = checking.result()
    except ValueError as error:
        raise _core.SpecError(str(error)) from None
    finally:
        pool.shutdown(wait=False)
    checked = json.loads(text)
    found, broken = checked["found"], None
    if found is not None:
        events = tuple(Happened(at_ps / 1e6, what) for at_ps, what in found["events"])
        broken = BrokenPromise(found["rule"], found["detail"], found["at_ps"] / 1e6, events, found["parameters"])
    return replace(report, cases=checked["cases"], stopped=checked["stopped"], broken=broken)


def changes_of(parameters: Mapping[str, object], table: str = "") -> list[str]:
    """Parameters as `KEY=VALUE`; a key of a table within is `TABLE.KEY`."""
    changes: list[str] = []
    for key, value in parameters.items():
        if isinstance(value, Mapping):
            changes += changes_of(value, f"{table}{key}.")
        else:
            changes.append(f"{table}{key}={value if isinstance(value, str) else json.dumps(value)}")
    return changes


def _described(done: int, cases: int, spent_s: float, *, shortening: bool) -> str:
    if shortening:
        return f"sequence {done + 1:,} breaks a promise; looking for a shorter one"
    parts = [f"{done:,} of {cases:,} sequences"]
    if done > 0 and spent_s > 0:
        left_s = spent_s * (cases - done) / done
        parts += [f"{done / spent_s:,.0f}/s", f"{int(left_s) // 60}:{int(left_s) % 60:02d} left"]
    return ", ".join(parts)


def _in_network(report: SchemeReport, job: Job) -> SchemeReport:
    """The same report, with the runs in the small network."""
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
    if two.manifest["threads"] < 2:
        return replace(report, not_run=f"on two threads: {two.manifest['threads_reason']}")
    return replace(report, threads=two.manifest["threads"])
