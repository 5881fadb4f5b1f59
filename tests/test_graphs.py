"""GOAL schedules and Chakra traces from the command line."""

import json
import re
from pathlib import Path

import pytest

from conftest import ROOT, Command
from fanin import SpecError, graphs
from fanin.cli.common import WRONG_SPEC

DATA = Path(__file__).resolve().parent.parent / "crates" / "formats" / "tests" / "data"
NETWORK = ROOT / "examples" / "collectives" / "all-reduce.toml"
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
    schedule = DATA / "goal" / f"binomialtreereduce_8_1024.{form}"
    done = command_here("explain", schedule, "--loggp", PURE, "--json")
    found = json.loads(done.stdout)
    overview = found.pop("overview")
    assert found == {"ranks": [6069, 4046, 2023, 2023, 0, 0, 0, 0], "job_ns": 6069}
    # Three messages of 1,024 B one after another; no rank waits for an interface.
    path = {"ns": 6069, "computing_ns": 0, "messages": 3, "bytes": 3 * 1024}
    assert (overview["messages"], overview["bytes"], overview["critical_path"]) == (7, 7 * 1024, path)
    assert "6,069" in command_here("explain", schedule, "--loggp", PURE).stdout


def test_parameters_and_collectives_are_refused_with_a_reason() -> None:
    with pytest.raises(SpecError, match=re.escape("--loggp: S is missing; write all six, as L=1000,o=0")):
        graphs.finish(DATA / "goal" / "gather_8_4096.goal", "L=1,o=0,g=0,G=1,O=0")
    with pytest.raises(SpecError, match="started and never ended; it waits for the all-reduce of its group"):
        graphs.finish(DATA / "all_reduce" / "all_reduce.0.et", PURE)


def test_traces_are_explained_before_they_run(command_here: Command) -> None:
    trace = DATA / "all_reduce" / "all_reduce.0.et"
    found = json.loads(command_here("explain", trace, "--loggp", PURE, "--json").stdout)
    assert "job_ns" not in found
    overview = found["overview"]
    (group,) = overview["groups"]
    assert group == {
        "ranks": [0, 1, 2, 3],
        "operation": "all-reduce",
        "algorithm": "ring",
        "collectives": 1,
        "bytes": 1 << 20,
    }
    # Six steps of a quarter, each after 1,000 ns and 1 ns for each further byte.
    path = {"ns": 6 * (1000 + (1 << 18) - 1), "computing_ns": 0, "messages": 6, "bytes": 6 << 18}
    assert (overview["ranks"], overview["messages"], overview["critical_path"]) == (4, 24, path)
    text = command_here("explain", trace).stdout
    assert "all-reduce" in text
    assert "critical path" in text


def test_groups_come_from_a_file_beside_the_traces(command_here: Command, tmp_path: Path) -> None:
    trace = DATA / "bad" / "et_group_unknown" / "t.0.et"
    assert "process group 9 is not defined" in command_here("check", trace).stderr
    (tmp_path / "groups.json").write_text('{"9": [0, 1]}')
    done = command_here("check", trace, "--groups", "groups.json")
    assert done.stdout.endswith("t.0.et: ok, 2 ranks\n"), done.stderr
    network = ("--network", NETWORK, "--scheme", "none", "--json")
    rows = json.loads(command_here("run", trace, *network, "--groups", "groups.json", "--out", "run").stdout)["rows"]
    assert rows[0]["ranks"] == 2
    assert json.loads(command_here("explain", trace, "--groups", "groups.json", "--json").stdout)["overview"]["groups"]
    (tmp_path / "groups.json").write_text('{"9": [0,\n 2]}')
    done = command_here("run", trace, *network, "--groups", "groups.json", "--out", "again")
    assert done.returncode == WRONG_SPEC
    assert "groups.json:1: traffic[0].pattern.groups: process group 9 has rank 2; the 2" in done.stderr
    schedule = DATA / "goal" / "gather_8_4096.goal"
    assert "process groups go with Chakra traces" in command_here("check", schedule, "--groups", "groups.json").stderr
    assert "--groups: it goes with" in command_here("check", NETWORK, "--groups", "groups.json").stderr
