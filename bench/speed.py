"""Packet-hops per second of the benchmark's cases on one thread and on many, run in turn so that both see the same machine."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median
from typing import TypedDict, cast

from bench.scale import processor
from fanin import bench
from fanin.result import RunError


class Case(TypedDict):
    """What the runs of a case gave."""

    case: str
    about: str
    packet_hops: int
    event_hash: str
    one_s: list[float]
    """Seconds of each run on one thread, set-up not counted."""
    many_s: list[float]
    """The same on `threads`, each after the one above."""


class Speeds(TypedDict):
    """What was measured."""

    measured: str
    processor: str
    cores: int
    threads: int
    scale: float
    cases: list[Case]


def measure(names: Sequence[str], *, threads: int, scale: float, repeat: int, say: Callable[[str], None]) -> Speeds:
    """Runs each case `repeat` times on one thread and on `threads`, alternating. Raises `RunError` where two runs of a case
    differ in what they simulated."""
    cases: list[Case] = []
    for name in names:
        case: Case = {
            "case": name,
            "about": bench.cases()[name],
            "packet_hops": 0,
            "event_hash": "",
            "one_s": [],
            "many_s": [],
        }
        for _ in range(repeat):
            for of, count in ((case["one_s"], 1), (case["many_s"], threads)):
                record = next(iter(bench.measure([name], threads=count, scale=scale)))
                if case["event_hash"] not in ("", record["event_hash"]):
                    raise RunError(f"case {name}: {count} threads gave another event hash")
                case["event_hash"], case["packet_hops"] = record["event_hash"], record["packet_hops"]
                of.append(record["seconds"])
        say(f"{name}: {speed(case):.2f} M packet-hops/s on one thread, {ratio(case):.2f} times as many on {threads}")
        cases.append(case)
    return {
        "measured": time.strftime("%Y-%m-%d"),
        "processor": processor(),
        "cores": os.cpu_count() or 1,
        "threads": threads,
        "scale": scale,
        "cases": cases,
    }


def speed(case: Case) -> float:
    """Million packet-hops per second on one thread, of the run of median time."""
    return case["packet_hops"] / median(case["one_s"]) / 1e6


def ratio(case: Case) -> float:
    """How many times as fast many threads are, by the medians."""
    return median(case["one_s"]) / median(case["many_s"])


def load(path: Path) -> Speeds:
    """What was saved."""
    return cast("Speeds", json.loads(path.read_text(encoding="utf-8")))


def section(path: Path) -> str:
    """Speeds as Markdown, beside what they were before the hot path was worked on."""
    speeds = load(path)
    before = cast("dict[str, float]", json.loads(path.with_name("before.json").read_text(encoding="utf-8")))
    lines = [
        f"Measured {speeds['measured']} on {speeds['processor']}, {speeds['cores']} cores, at scale {speeds['scale']:g}; medians of "
        f"{len(speeds['cases'][0]['one_s'])} runs, one thread and {speeds['threads']} in turn.",
        "",
        "| case | what | M hops/s before | M hops/s, 1 thread | best run | "
        f"M hops/s, {speeds['threads']} threads | times one thread |",
        "|---|---|---:|---:|---:|---:|---:|",
    ]
    for case in speeds["cases"]:
        hops = case["packet_hops"] / 1e6
        lines.append(
            f"| {case['case']} | {case['about']} | {before[case['case']]:.2f} | {speed(case):.2f} | {hops / min(case['one_s']):.2f} | "
            f"{hops / median(case['many_s']):.2f} | {ratio(case):.2f} |"
        )
    return "\n".join(lines)
