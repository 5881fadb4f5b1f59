"""Packet-hops per second of the benchmark's cases on one thread and on many, run alternately, with a control before and
after each that detects other load on the machine."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median
from typing import TypedDict, cast

from bench.quiet import LIMIT, Control
from bench.scale import processor
from fanin import bench
from fanin.run_folder import RunError


class Pair(TypedDict):
    """A run on one thread and the one on many after it."""

    one_s: float
    """Seconds on one thread, set-up not counted."""
    many_s: float
    """The same on many."""
    control_s: float
    """Seconds of the slowest of the three controls, before, between, and after them."""


class Case(TypedDict):
    """The measurements of a case."""

    case: str
    about: str
    packet_hops: int
    event_hash: str
    pairs: list[Pair]
    """All that were run, in order."""


class Speeds(TypedDict):
    """What was measured."""

    measured: str
    processor: str
    cores: int
    threads: int
    scale: float
    repeat: int
    """Pairs that count, for each case."""
    control_s: float
    """The least time of the control, in seconds."""
    cases: list[Case]


def measure(
    names: Sequence[str],
    *,
    threads: int,
    scale: float,
    repeat: int,
    patience: float,
    say: Callable[[str], None],
    control: Control | None = None,
) -> Speeds:
    """Runs each case on one thread and on `threads` in turn: `repeat` such pairs, and where others have the machine
    more of them, for up to `patience` seconds a case, until as many were undisturbed. Raises `RunError` where two runs
    of a case differ in what they simulated."""
    control = control or Control(threads)
    cases: list[Case] = []
    for name in names:
        case: Case = {"case": name, "about": bench.cases()[name], "packet_hops": 0, "event_hash": "", "pairs": []}
        until = time.monotonic() + patience
        while len(case["pairs"]) < repeat or (undisturbed(case, control.least) < repeat and time.monotonic() < until):
            case["pairs"].append(_pair(case, threads, scale, control))
            if len(case["pairs"]) % 10 == 0:
                left = max(0.0, until - time.monotonic())
                say(f"{_so_far(case, control.least)} of {repeat} wanted, {left:.0f} s left")
        chosen = quietest(case, repeat)
        say(
            f"{_so_far(case, control.least)}: {speed(case, chosen):.2f} M packet-hops/s on one thread, "
            f"{ratio(chosen):.2f} times as many on {threads}"
        )
        cases.append(case)
    return {
        "measured": time.strftime("%Y-%m-%d"),
        "processor": processor(),
        "cores": os.cpu_count() or 1,
        "threads": threads,
        "scale": scale,
        "repeat": repeat,
        "control_s": control.least,
        "cases": cases,
    }


def _pair(case: Case, threads: int, scale: float, control: Control) -> Pair:
    """Runs a case on one thread and on many, and stores its size in it."""

    def run(count: int) -> float:
        record = next(iter(bench.measure([case["case"]], threads=count, scale=scale)))
        if case["event_hash"] not in ("", record["event_hash"]):
            raise RunError(f"case {case['case']}: {count} threads gave another event hash")
        case["event_hash"], case["packet_hops"] = record["event_hash"], record["packet_hops"]
        return record["seconds"]

    before = control.measure()
    one = run(1)
    between = control.measure()
    many = run(threads)
    return {"one_s": one, "many_s": many, "control_s": max(before, between, control.measure())}


def _so_far(case: Case, least: float) -> str:
    return f"{case['case']}: {undisturbed(case, least)} of {len(case['pairs'])} pairs undisturbed"


def undisturbed(case: Case, least: float) -> int:
    """Pairs for which the control took hardly more than its least time."""
    return sum(pair["control_s"] <= LIMIT * least for pair in case["pairs"])


def quietest(case: Case, count: int) -> list[Pair]:
    """The pairs for which the control took the least time; our own times do not influence the choice."""
    return sorted(case["pairs"], key=lambda pair: pair["control_s"])[:count]


def speed(case: Case, pairs: Sequence[Pair]) -> float:
    """Million packet-hops per second on one thread, of the run of median time."""
    return case["packet_hops"] / median(pair["one_s"] for pair in pairs) / 1e6


def ratio(pairs: Sequence[Pair]) -> float:
    """The speed-up of many threads, by the medians."""
    return median(pair["one_s"] for pair in pairs) / median(pair["many_s"] for pair in pairs)


def load(path: Path) -> Speeds:
    """What was saved."""
    return cast("Speeds", json.loads(path.read_text(encoding="utf-8")))


def section(path: Path) -> str:
    """Speeds as Markdown."""
    speeds = load(path)
    repeat, least = speeds["repeat"], speeds["control_s"]
    lines = [
        f"Measured {speeds['measured']} on {speeds['processor']}, {speeds['cores']} cores, at scale "
        f"{speeds['scale']:g}: medians of {repeat} pairs of runs, on one thread and on {speeds['threads']}. Of all "
        "pairs those count during which the control took least time; in brackets the largest ratio to its least time.",
        "",
        "| case | what | M hops/s, 1 thread | best run | "
        f"M hops/s, {speeds['threads']} threads | times one thread | pairs run |",
        "|---|---|---:|---:|---:|---:|---:|",
    ]
    for case in speeds["cases"]:
        hops, pairs = case["packet_hops"] / 1e6, quietest(case, repeat)
        lines.append(
            f"| {case['case']} | {case['about']} | {speed(case, pairs):.2f} | "
            f"{hops / min(pair['one_s'] for pair in case['pairs']):.2f} | "
            f"{hops / median(pair['many_s'] for pair in pairs):.2f} | "
            f"{ratio(pairs):.2f} | {len(case['pairs'])} ({max(pair['control_s'] for pair in pairs) / least:.2f}) |"
        )
    return "\n".join(lines)
