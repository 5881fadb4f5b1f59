"""The speed of the simulator on fixed cases, each run in a process of its own."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import median, median_low
from typing import TYPE_CHECKING, TypedDict, cast

from fanin import _core
from fanin.run_folder import RunError

if TYPE_CHECKING:
    from rich.table import Table


class Record(TypedDict, total=False):
    """The measurements of one case. The native module may add fields of its own."""

    case: str
    scheme: str
    threads: int
    packet_hops: int
    seconds: float
    packet_hops_per_second: float
    events: int
    event_hash: str
    peak_rss_bytes: int
    pending_events: int
    queue_ns_per_event: float
    run_ns_per_event: float
    queue_share: float
    repeats_seconds: list[float]
    times_first: float


PYTHON = "python"
"""The case that is (e) under a scheme in Python."""


def cases() -> dict[str, str]:
    """A description of each case, by its id."""
    return {**dict(_core.bench_cases()), PYTHON: "(e) under a scheme with a sender and a receiver in Python"}


def measure(
    names: Sequence[str], *, threads: int = 1, scale: float = 1.0, repeat: int = 1, schemes: Sequence[str] = ()
) -> Iterator[Record]:
    """Runs each case `repeat` times and yields its run of median time, with all times in `repeats_seconds`.

    With `schemes`, ids, paths of shared libraries or `FILE.py:CLASS`, each case runs under each of them in turn,
    `repeat` times over; `times_first` is then the median of the ratios of its time to that of the first scheme in the
    same turn.

    Raises `RunError` if a case fails, or if two runs of it have different event hashes.
    """
    for name in names:
        turns = [[_one(name, threads, scale, scheme) for scheme in schemes or ("",)] for _ in range(repeat)]
        for of, runs in enumerate(zip(*turns, strict=True)):
            if len({run["event_hash"] for run in runs}) > 1:
                raise RunError(
                    f"case {name}: equal runs gave different event hashes; the simulator is not deterministic"
                )
            seconds = [run["seconds"] for run in runs]
            chosen = runs[seconds.index(median_low(seconds))]
            chosen["repeats_seconds"] = seconds
            if schemes:
                chosen["times_first"] = median(turn[of]["seconds"] / turn[0]["seconds"] for turn in turns)
            yield chosen


def _one(name: str, threads: int, scale: float, scheme: str) -> Record:
    script = Path(__file__).with_name("_bench_case.py")
    if name == PYTHON:
        own = f"{script.with_name('_bench_scheme.py')}:InPython"
        record = _one("e", threads, scale, scheme or own)
        if not scheme:
            del record["scheme"]
        record["case"] = PYTHON
        return record
    command = [sys.executable, "-I", str(script), str(_core.__file__), name, str(threads), str(scale)]
    command += [scheme] if scheme else []
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode < 0:
        raise RunError(
            f"case {name}: its process was killed by {signal.Signals(-done.returncode).name}, "
            "unless by you for lack of memory: try --scale 0.1"
        )
    if done.returncode != 0:
        lines = done.stderr.strip().splitlines() or [f"exit code {done.returncode}"]
        raise RunError(f"case {name}: {lines[-1]}")
    return cast("Record", json.loads(done.stdout))


def table(records: Sequence[Record]) -> Table:
    """The records as a table for a terminal; the queue share is the share of the run that the event queue alone would
    take. That of schemes side by side has their times, and their events: equal hashes are equal runs."""
    # It loads numpy, whose threads would take time from the cases.
    from fanin.table import plain

    if any("scheme" in record for record in records):
        headers = ["scheme", "case", "M hops/s", "seconds", "times the first", "event hash"]
        rows = [
            [
                record["scheme"],
                record["case"],
                f"{record['packet_hops_per_second'] / 1e6:.2f}",
                f"{record['seconds']:.2f}",
                f"{record['times_first']:.3f}",
                record["event_hash"],
            ]
            for record in records
        ]
        return plain(headers, rows, right=headers[2:])
    headers = ["case", "M hops/s", "M packet-hops", "seconds", "M events", "queue share", "peak MB", "threads"]
    rows = [
        [
            record["case"],
            f"{record['packet_hops_per_second'] / 1e6:.2f}",
            f"{record['packet_hops'] / 1e6:,.1f}",
            f"{record['seconds']:.2f}",
            f"{record['events'] / 1e6:,.1f}",
            f"{record['queue_share'] * 100:.0f} %",
            f"{record['peak_rss_bytes'] / 1e6:,.0f}",
            str(record["threads"]),
        ]
        for record in records
    ]
    return plain(headers, rows, right=headers[1:])
