"""Instructions per packet-hop, by stage: a measure of speed that does not depend on how busy the machine is.

Callgrind counts the same number each time, so the bounds are there for changes of the code alone; both a rise and a
fall must be recorded: `UPDATE=1 pytest tests/test_instructions.py`. Counts are those of one compiler and target. The C
library's are left out, since it picks its functions by the processor; how often it is called is checked instead.
"""

import json
import os
import subprocess
from pathlib import Path
from typing import TypedDict

import pytest

from bench import callgrind, profile

RECORD = callgrind.ROOT / "tests" / "data" / "instructions.json"
SCALES = {"a": (0.05, 0.08), "c": (0.01, 0.03), "e": (0.05, 0.1), "e-hpcc": (0.05, 0.1), "f": (0.02, 0.05)}
"""A short and a longer run per case, both long enough that links and windows are full."""
TOLERANCE = 0.03
STAGE_INSTRUCTIONS = 5.0
"""A stage may change by as many where that is more than the tolerance: the compiler moves a few instructions between
neighbours when it inlines otherwise, and 3 % of the record's four instructions would be less than one."""
C_CALLS = 0.02
"""Calls of the C library in a packet-hop that may come or go: one per fifty. An allocation per packet is some twenty
times that."""


class Counts(TypedDict):
    """Of a case, per packet-hop."""

    instructions: float
    c_calls: float
    stages: dict[str, float]


class Record(TypedDict):
    """`tests/data/instructions.json`."""

    compiler: dict[str, str]
    cases: dict[str, Counts]


def compiler() -> dict[str, str]:
    """Whose counts these are."""
    said = subprocess.run(["rustc", "-vV"], cwd=callgrind.ROOT, check=True, capture_output=True, text=True).stdout
    lines = dict(line.split(": ", 1) for line in said.splitlines() if ": " in line)
    return {key: lines[key] for key in ("release", "host")}


def record() -> Record:
    """What was recorded."""
    if not RECORD.exists():
        return {"compiler": compiler(), "cases": {}}
    recorded: Record = json.loads(RECORD.read_text(encoding="utf-8"))
    return recorded


def not_here(message: str) -> None:
    """Skips, but not where all must be checked."""
    if os.environ.get("CI") == "true":
        pytest.fail(message)
    pytest.skip(message)


@pytest.fixture(scope="module")
def program() -> Path:
    """The benchmark without Python around it, by the compiler of the record."""
    need = callgrind.missing()
    if need:
        not_here(need)
    recorded, here = record()["compiler"], compiler()
    if os.environ.get("UPDATE") != "1" and recorded != here:
        not_here(f"instructions were recorded with rustc {recorded}, this is {here}: they are not compared")
    return callgrind.build()


def changes(recorded: Counts, now: Counts) -> list[str]:
    """What is not as recorded, a line each."""
    limits = [("all stages", recorded["instructions"], now["instructions"], 0.0)]
    limits += [(stage, was, now["stages"][stage], STAGE_INSTRUCTIONS) for stage, was in recorded["stages"].items()]
    found = [
        f"{what}: {is_now:.1f} instructions per packet-hop, recorded {was:.1f} ({is_now - was:+.1f})"
        for what, was, is_now, least in limits
        if abs(is_now - was) > max(TOLERANCE * was, least)
    ]
    if abs(now["c_calls"] - recorded["c_calls"]) > C_CALLS:
        found.append(f"calls of the C library: {now['c_calls']:.3f} per packet-hop, recorded {recorded['c_calls']:.3f}")
    return found


def test_the_profile_has_counts_of_this_build(program: Path) -> None:
    name = profile.known((callgrind.ROOT / profile.RECORD).read_text(encoding="utf-8"))
    assert name.encode() in program.read_bytes(), (
        f"there is no {name} here: a crate below the event loop has other dependencies or features than when "
        f"{profile.PROFILE} was made, so all functions have other names and are compiled without it. "
        "To renew it: make profile"
    )


@pytest.mark.parametrize("case", SCALES)
def test_instructions_per_packet_hop(program: Path, case: str, tmp_path: Path) -> None:
    stages = callgrind.per_hop(program, case, SCALES[case], tmp_path, caches=False).stages
    now: Counts = {
        "instructions": round(sum(cost[callgrind.OWN] for cost in stages.values()), 1),
        "c_calls": round(sum(cost[callgrind.CALLS] for cost in stages.values()), 3),
        "stages": {stage: round(cost[callgrind.OWN], 1) for stage, cost in stages.items()},
    }
    recorded = record()
    if os.environ.get("UPDATE") == "1":
        others = recorded["cases"] if recorded["compiler"] == compiler() else {}
        cases = dict(sorted({**others, case: now}.items()))
        renewed: Record = {"compiler": compiler(), "cases": cases}
        RECORD.write_text(json.dumps(renewed, indent=1) + "\n", encoding="utf-8")
        return
    found = changes(recorded["cases"][case], now)
    assert not found, "\n".join(
        [
            f"case {case}:",
            *found,
            "A rise is to be mended; what is meant, falls too, is recorded: UPDATE=1 pytest tests/test_instructions.py",
        ]
    )


def test_changes_are_seen_both_ways() -> None:
    was: Counts = {"instructions": 800.0, "c_calls": 0.05, "stages": {"event queue": 300.0, "record": 4.0}}
    assert changes(was, was) == []
    assert changes(was, {**was, "instructions": 823.0}) == []
    assert len(changes(was, {**was, "instructions": 825.0})) == 1
    assert len(changes(was, {**was, "instructions": 775.0})) == 1
    assert changes(was, {**was, "stages": {"event queue": 291.5, "record": 8.9}}) == []
    assert len(changes(was, {**was, "stages": {"event queue": 290.5, "record": 9.1}})) == 2
    assert len(changes(was, {**was, "c_calls": 0.08})) == 1


# As callgrind writes: positions and names are shortened, a line after `calls=` is the inclusive cost of the call.
PROFILE = """events: Ir Dr I1mr D1mr Bcm
ob=(1) program
fl=(1) sim.rs
fn=(1) fanin_fabric::sim::Simulation::run_until
0x100 10 100 50 1
+4 * 20 10 0 3
cfn=(2) core::slice::sort
calls=5 0x200 1
* * 60 0 0 6 6
+4 12 10
cob=(2) libc.so
cfn=(3) memcpy
calls=7 0x900 0
* 12 30 0 0 2
fn=(4) fanin_cc::registry::Instance::on_ack
0x180 5 9
cfn=(2)
calls=5 0x200 1
+4 5 20 0 0 0 2
fn=(2)
0x200 1 80 0 0 6 8
ob=(2)
fn=(3)
0x900 0 30 0 0 2
"""


def test_costs_go_to_the_stage_that_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    counted = callgrind.read(PROFILE.splitlines(keepends=True), "program")
    lines = (
        "0x0000000000000104\n/rustc/x/library/core/src/cmp.rs:1\n/x/crates/units/src/lib.rs:5\n"
        "/x/crates/engine/src/calendar.rs:7\n"
    )
    done = subprocess.CompletedProcess(["addr2line"], 0, stdout=lines)
    monkeypatch.setattr(subprocess, "run", lambda *_, **__: done)
    stages = callgrind.by_stage(counted, Path("program"))
    # The line table knows one address; the function's name says the rest; three quarters of the sort were asked for by
    # the event queue.
    assert stages["event queue"][callgrind.ALL] == 20 + 60
    assert stages["switch pipeline"][callgrind.ALL] == 100 + 10 + 30
    assert stages["switch pipeline"][callgrind.OWN] == 100 + 10
    assert stages["switch pipeline"][callgrind.CALLS] == 7
    assert stages["scheme"][callgrind.ALL] == 9 + 20
    assert stages["event queue"][callgrind.LINES] == 3 + 6
    assert stages["switch pipeline"][callgrind.LINES] == 1 + 2
    assert stages["event queue"][callgrind.MISPREDICTED] == 6
    assert stages["scheme"][callgrind.MISPREDICTED] == 2
    assert sum(cost[callgrind.ALL] for cost in stages.values()) == 249


def test_every_stage_has_its_sources() -> None:
    assert callgrind.stage_of("engine", "calendar") == "event queue"
    assert callgrind.stage_of("engine", "random") is None
    assert callgrind.stage_of("units", "quantity") is None
    assert callgrind.stage_of("fabric", "world") == callgrind.stage_of("endpoint", "rc") == "endpoint"
    assert callgrind.stage_of("fabric", "switch") == "switch pipeline"
    assert callgrind.stage_of("fabric", "tap") == "record"
    assert callgrind.stage_of("cc", "schemes") == "scheme"
    assert callgrind.stage_of("workload", "merge") == "other"
    # Not of this tree: part of the standard library.
    assert callgrind.stage_of("core_arch", "x86") is None
