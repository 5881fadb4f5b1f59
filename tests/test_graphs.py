"""GOAL schedules and Chakra traces from the command line."""

import json
import re
from pathlib import Path

import pytest

from conftest import Command
from fanin import SpecError, graphs
from fanin.cli.common import WRONG_SPEC

DATA = Path(__file__).resolve().parent.parent / "crates" / "formats" / "tests" / "data"
PURE = "L=1000,o=0,g=0,G=1,O=0,S=1000000000"


def test_a_schedule_and_traces_are_checked(command_here: Command) -> None:
    done = command_here("check", DATA / "goal" / "gather_8_4096.goal")
    assert done.stdout.endswith("gather_8_4096.goal: ok, 8 ranks\n")
    done = command_here("check", DATA / "all_reduce" / "all_reduce.0.et", "--json")
    assert json.loads(done.stdout) == {"ok": True, "ranks": 4, "warnings": []}
    done = command_here("check", DATA / "bad" / "et_send_unmatched" / "t.0.et")
    assert "ok, 2 ranks" in done.stdout
    assert "nobody receives that" in done.stderr


def test_what_could_not_run_is_named(command_here: Command) -> None:
    done = command_here("check", DATA / "bad" / "goal_cycle.goal")
    assert done.returncode == WRONG_SPEC
    assert "goal_cycle.goal:3: rank 0: a (line 3) and b (line 4) wait for each other" in done.stderr
    done = command_here("check", DATA / "goal" / "gather_8_4096.bin", "--scheme", "dcqcn")
    assert done.returncode == WRONG_SPEC
    assert "--set and --scheme go with a spec" in done.stderr


@pytest.mark.parametrize("form", ["goal", "bin"])
def test_a_schedule_is_timed(command_here: Command, form: str) -> None:
    path = DATA / "goal" / f"binomialtreereduce_8_1024.{form}"
    done = command_here("explain", path, "--loggp", PURE, "--json")
    assert json.loads(done.stdout) == {"ranks": [6069, 4046, 2023, 2023, 0, 0, 0, 0], "job_ns": 6069}
    assert "6,069" in command_here("explain", path, "--loggp", PURE).stdout


def test_parameters_and_collectives_are_refused_with_a_reason() -> None:
    with pytest.raises(SpecError, match=re.escape("--loggp: S is missing; write all six, as L=1000,o=0")):
        graphs.finish(DATA / "goal" / "gather_8_4096.goal", "L=1,o=0,g=0,G=1,O=0")
    with pytest.raises(SpecError, match="started and never ended; it waits for the all-reduce of its group"):
        graphs.finish(DATA / "all_reduce" / "all_reduce.0.et", PURE)
