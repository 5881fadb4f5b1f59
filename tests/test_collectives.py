"""Jobs of many ranks: collectives, GOAL schedules and Chakra traces on networks, from the command line and Python."""

import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import polars as pl
import pytest

import fanin
from conftest import ROOT, Command
from fanin import SpecError, graphs, plot
from fanin.cli.common import WRONG_SPEC
from fanin.runs import Job

PAGE = ROOT / "docs" / "collectives.md"
EXAMPLE = ROOT / "examples" / "collectives" / "all-reduce.toml"
DATA = ROOT / "crates" / "formats" / "tests" / "data"
SMALL = ["traffic[0].pattern.size=400 KB"]


def test_the_page_goes_from_a_trace_to_a_picture(tmp_path: Path) -> None:
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    prelude = f'set -eu\nfanin() {{ "{sys.executable}" -m fanin "$@"; }}\n'
    for code in re.findall(r"```\n(fanin .*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL):
        done = subprocess.run(
            ["sh", "-c", prelude + code], cwd=tmp_path, capture_output=True, text=True, check=False, timeout=300
        )
        assert done.returncode == 0, f"{code}\n{done.stdout}\n{done.stderr}"
    assert (tmp_path / "ranks.png").stat().st_size > 10_000
    rows = {}
    for folder in ("by-flow", "by-packet"):
        for row in json.loads((tmp_path / "runs" / folder / "compare.json").read_text())["rows"]:
            rows[folder, row["scheme"]] = row
    assert len(rows) == 4
    assert all(row["ranks"] == 16 and row["job_us"] > row["exposed_us"] > 0 for row in rows.values())


def test_the_patterns_of_the_page_can_run() -> None:
    patterns = re.findall(r"```toml\n(pattern = .*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    assert len(patterns) == 5
    for text in patterns:
        pattern = tomllib.loads(text)["pattern"]
        if pattern["kind"] == "chakra":
            pattern["file"] = str(DATA / "all_reduce" / "all_reduce.0.et")
        if pattern["kind"] == "all-to-all":
            pattern["hosts"] = ["h0", "h1", "h2"]
        document = tomllib.loads(EXAMPLE.read_text(encoding="utf-8"))
        document["network"]["topology"].update(leaves=8)
        document["traffic"][0]["pattern"] = pattern
        assert Job.of(document, ()).resolve(), pattern


def test_the_same_job_in_every_format_is_the_same_run(tmp_path: Path) -> None:
    """From a spec to traces, to a schedule, to traces again: where no node needs a slot, every event is the same."""
    first = graphs.write(EXAMPLE, tmp_path / "first", set=SMALL)
    schedule = graphs.write(first[3], tmp_path / "step.bin")
    again = graphs.write(schedule[0], tmp_path / "again")
    assert len(first) == len(again) == 16
    hashes = {}
    for path in (first[0], schedule[0], again[0]):
        free = ["traffic[0].pattern.slots=none", "traffic[0].pattern.placement=strided"]
        result = fanin.run(graphs.spec(path, EXAMPLE, scheme="dcqcn"), set=free, progress=False, threads=1)
        hashes[path.name] = result.manifest["event_hash"]
        assert result.ranks()["unfinished"].to_list() == [0] * 16
    assert len(set(hashes.values())) == 1, hashes


def test_ranks_collectives_and_nodes_are_tables(tmp_path: Path) -> None:
    result = fanin.run(EXAMPLE, set=SMALL, progress=False)
    ranks, collectives, nodes = result.ranks(), result.collectives(), result.nodes()
    assert set(ranks["compute_ps"]) == {100_000_000}
    parts = ranks.select(pl.col("compute_ps") + pl.col("waiting_ps") + pl.col("idle_ps")).to_series()
    assert (parts == ranks["finish_ps"] - ranks["start_ps"]).all()
    assert (ranks["exposed_ps"] == ranks["waiting_ps"] + ranks["idle_ps"]).all()
    # Strided: one rank in each of the four racks in turn.
    assert ranks["host"].cast(pl.String).to_list()[:5] == ["h0", "h4", "h8", "h12", "h1"]
    assert collectives["time_ps"].null_count() == 0
    row = collectives.row(0, named=True)
    assert (row["operation"], row["algorithm"], row["ranks"], row["bytes"]) == ("all-reduce", "ring", 16, 400_000)
    algbw = row["bytes"] * 1e3 / row["time_ps"]
    assert (row["algbw_gbytes"], row["busbw_gbytes"]) == pytest.approx((algbw, algbw * 30 / 16))
    # Two collectives of 30 messages a rank.
    sends = nodes.filter(pl.col("kind").cast(pl.String) == "send")
    assert (sends.height, sends["bytes"].sum()) == (16 * 60, 2 * 2 * 15 * 400_000)
    assert set(result.flows()["group"]) == {0, 1}
    job = result.summary()["traffics"][0]["job"]
    assert job is not None
    assert job["time_us"] == pytest.approx(max(ranks["finish_ps"].to_list()) / 1e6)
    figure = plot.ranks(result, tmp_path / "ranks.png")
    assert len(figure.axes[0].collections) == 3
    result.save(tmp_path / "run")
    loaded = fanin.load(tmp_path / "run")
    assert loaded.ranks().equals(ranks)
    # An older run has none.
    for name in ("ranks", "collectives", "nodes"):
        (tmp_path / "run" / f"{name}.arrow").unlink()
    assert fanin.load(tmp_path / "run", verify=False).ranks().is_empty()


def test_collectives_of_traces_become_messages(command_here: Command) -> None:
    trace = DATA / "all_reduce" / "all_reduce.0.et"
    line = ("run", trace, "--network", EXAMPLE, "--scheme", "none", "--json")
    found = json.loads(command_here(*line, "--out", "a").stdout)["rows"][0]
    doubling = ("--set", "traffic[0].pattern.algorithm=halving-doubling", "--out", "b")
    faster = json.loads(command_here(*line, *doubling).stdout)["rows"][0]
    # Four ranks in a rack: six steps of a ring, four of halving and doubling.
    assert (found["ranks"], found["finished"], faster["finished"]) == (4, 4 * 6, 4 * 4)
    assert faster["job_us"] < found["job_us"]


def test_what_cannot_run_is_an_error(command_here: Command, tmp_path: Path) -> None:
    (tmp_path / "empty.toml").write_text("seed = 1\n")

    def refused(*line: str | Path) -> str:
        done = command_here("run", *line, "--scheme", "none")
        assert done.returncode == WRONG_SPEC, done.stdout + done.stderr
        return done.stderr

    network = ("--network", EXAMPLE)
    assert "a (line 3) and b (line 4) wait for each other" in refused(DATA / "bad" / "goal_cycle.goal", *network)
    assert "--network: it goes with a GOAL schedule or a Chakra trace" in refused(EXAMPLE, *network)
    assert "it has no table network" in refused(DATA / "goal" / "gather_8_4096.goal", "--network", "empty.toml")
    few = ("--set", "network.topology.leaves=1", "--set", "network.topology.spines=1")
    assert "the file has 8 ranks, and there are 4 hosts" in refused(
        DATA / "goal" / "gather_8_4096.goal", *network, *few
    )
    with pytest.raises(SpecError, match='there is no traffic "x" with a job'):
        graphs.write(EXAMPLE, "step.goal", traffic="x")


def test_a_job_that_does_not_end_fails(command_here: Command) -> None:
    done = command_here("run", EXAMPLE, "--set", "measure.window=100 us", "--out", "cut-short")
    assert done.returncode == 1
    assert 'the job of traffic "job" did not end' in done.stderr
    assert "a message of node 1 (all-reduce) started and never ended; it waits for" in done.stderr


def test_messages_of_jobs_have_ideals() -> None:
    lone = [*SMALL, "measure.slowdown=lone-run", "traffic[0].pattern.repeat=1"]
    flows = fanin.run(EXAMPLE, set=lone, progress=False).flows()
    assert flows["slowdown"].null_count() == 0
    assert flows["slowdown"].min() == pytest.approx(1, abs=0.01)
