"""Jobs of many ranks: collectives, GOAL schedules and Chakra traces on networks, from the command line and Python."""

import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any, cast

import polars as pl
import pytest

import fanin
from conftest import ROOT, Command
from fanin import SpecError, graphs, plot
from fanin.cli.common import WRONG_SPEC
from fanin.reporting import charts
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
    assert (tmp_path / "why.png").stat().st_size > 10_000
    assert (tmp_path / "runs" / "timeline" / "trace.perfetto-trace").stat().st_size > 10_000
    rows = {}
    for folder in ("by-flow", "by-packet"):
        for row in json.loads((tmp_path / "runs" / folder / "compare.json").read_text())["rows"]:
            rows[folder, row["scheme"]] = row
    assert len(rows) == 4
    assert all(row["ranks"] == 16 and row["job_us"] > row["exposed_us"] > 0 for row in rows.values())


def test_the_patterns_of_the_page_can_run() -> None:
    patterns = re.findall(r"```toml\n(pattern = .*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    assert len(patterns) == 6
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
    for name in ("ranks", "collectives", "nodes", "critical"):
        (tmp_path / "run" / f"{name}.arrow").unlink()
    older = fanin.load(tmp_path / "run", verify=False)
    assert older.ranks().is_empty()
    assert older.critical().is_empty()


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
    assert "--network: it goes with a GOAL schedule, a Chakra trace, a workload of SimAI, an algorithm" in refused(
        EXAMPLE, *network
    )
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


INCAST = """
spec_version = 1
name = "beside"
[network]
topology = { kind = "star", hosts = 40, link = "10 Gbps", delay = "1 us" }
buffer = { per_port = "225 KB", policy = "lossless" }
[[traffic]]
name = "queries"
scheme = "dart"
pattern = { kind = "incast", degree = 8, receivers = ["h0"], senders = [SENDERS] }
size = { fixed = "200 KB" }
[[traffic]]
name = "job"
scheme = "dart"
pattern = { kind = "all-to-all", size = "4 KB", repeat = 1, hosts = [RANKS] }
[measure]
window = "5 ms"
"""


def test_an_incast_knows_its_senders_beside_a_large_job(tmp_path: Path) -> None:
    """Both are loaded at the start; the messages of the job, on other hosts, are packed until they are posted."""
    here, there = (", ".join(f'"h{host}"' for host in hosts) for hosts in (range(1, 17), range(20, 40)))
    (tmp_path / "beside.toml").write_text(INCAST.replace("SENDERS", here).replace("RANKS", there), encoding="utf-8")
    times = []
    for repeat in (1, 4):
        job = [f"traffic[1].pattern.repeat={repeat}"]
        flows = fanin.run(tmp_path / "beside.toml", set=job, progress=False).flows()
        assert flows.height == 8 + repeat * 20 * 19
        times.append(flows.filter(pl.col("traffic").cast(pl.String) == "queries")["completion_ps"].to_list())
    assert times[0] == times[1]


def parts_ps(table: pl.DataFrame) -> int:
    return int(table.select(pl.sum_horizontal(pl.col(f"{part}_ps") for part in PARTS)).to_series().sum())


PARTS = ("compute", "serialisation", "propagation", "queueing", "waiting")


def test_critical_paths_add_up_to_the_picosecond() -> None:
    result = fanin.run(EXAMPLE, set=SMALL, progress=False)
    table = result.critical().with_columns(pl.col("kind").cast(pl.String))
    job = table.filter(pl.col("path_of").is_null())
    finish = max(result.ranks()["finish_ps"])
    assert (job["start_ps"][0], job["end_ps"][-1]) == (0, finish)
    assert (job["end_ps"][:-1] == job["start_ps"][1:]).all()
    assert parts_ps(job) == finish
    for row in result.collectives().iter_rows(named=True):
        path = table.filter(pl.col("path_of") == row["collective"])
        assert parts_ps(path) == row["time_ps"] == path["end_ps"][-1] - row["start_ps"]
        assert set(path["collective"]) == {row["collective"]}
    # Each message is that of the table of flows, and the next is sent by the rank that received it.
    messages = job.filter(pl.col("kind") == "message").join(
        result.flows().with_columns(pl.col("flow_id").cast(pl.UInt64)), on="flow_id", suffix="_flow"
    )
    messages = messages.sort("start_ps")
    assert messages.height == 60
    assert (messages["start_ps"] == messages["start_ps_flow"]).all()
    assert (messages["end_ps"] == messages["start_ps"] + messages["completion_ps"]).all()
    excess = (messages["completion_ps"] - messages["ideal_ps"]).cast(pl.Int64)
    assert (messages["queueing_ps"].cast(pl.Int64) == excess).all()
    assert (messages["propagation_ps"] == 4_000_000).all(), "four links of 1 us"
    assert (messages["peer"][:29] == messages["rank"][1:30]).all()
    told = result.summary()["traffics"][0]["job"]
    assert told is not None
    assert told["critical"] is not None
    assert told["critical"]["messages"] == 60
    parts = cast("dict[str, float]", told["critical"])
    assert sum(parts[f"{part}_us"] for part in PARTS) == pytest.approx(finish / 1e6, abs=1e-6)


SCHEDULE = """num_ranks 3
rank 0 { a: calc 5000 \n s: send 20000b to 1 tag 1 \n s requires a \n b: calc 3000 \n b requires s }
rank 1 { r: recv 20000b from 0 tag 1 \n c: calc 100 cpu 1 \n c requires r \n e: calc 40000 cpu 1 }
rank 2 { f: calc 10 }
"""


def test_a_path_has_acks_and_waits_for_slots(tmp_path: Path) -> None:
    (tmp_path / "step.goal").write_text(SCHEDULE.replace(" \n ", "\n"))
    spec = graphs.spec(tmp_path / "step.goal", EXAMPLE)
    result = fanin.run(spec, progress=False)
    path = result.critical().with_columns(pl.col("kind").cast(pl.String))
    # The computation of 40 us has the processor first; what waits for the message is the last to end.
    assert path.select("kind", "rank").rows() == [("compute", 0), ("message", 0), ("slot", 1), ("compute", 1)]
    assert parts_ps(path) == max(result.ranks()["finish_ps"]) == 40_100_000
    (tmp_path / "step.goal").write_text(SCHEDULE.replace(" \n ", "\n").replace("calc 40000 cpu 1", "calc 40"))
    result = fanin.run(spec, progress=False)
    path = result.critical().with_columns(pl.col("kind").cast(pl.String))
    assert path.select("kind", "rank").rows() == [("compute", 0), ("message", 0), ("ack", 0), ("compute", 0)]
    flow = result.flows().row(0, named=True)
    assert path["start_ps"].to_list()[2:] == [5_000_000 + flow["completion_ps"], 5_000_000 + flow["acked_ps"]]
    assert parts_ps(path) == max(result.ranks()["finish_ps"]) == 5_000_000 + flow["acked_ps"] + 3_000_000


def varint(number: int) -> bytes:
    return bytes([number]) if number < 128 else bytes([number & 127 | 128]) + varint(number >> 7)


def number(field: int, value: int) -> bytes:
    return varint(field << 3) + varint(value)


def text(field: int, value: bytes) -> bytes:
    return varint(field << 3 | 2) + varint(len(value)) + value


def traces(folder: Path, computing_us: list[int]) -> Path:
    """Chakra traces of ranks that compute so long, and then take part in an all-reduce of 400 KB."""
    for rank, micros in enumerate(computing_us):
        for_gpu = text(10, text(1, b"is_cpu_op") + number(27, 0))
        compute = number(1, 1) + text(2, b"c") + number(3, 4) + number(7, micros) + for_gpu
        attributes = [text(1, b"comm_type") + number(9, 0), text(1, b"comm_size") + number(9, 400_000)]
        reduce = number(1, 2) + text(2, b"r") + number(3, 7) + number(5, 1) + for_gpu
        reduce += b"".join(text(10, attribute) for attribute in attributes)
        parts = (text(1, b"0.0.4"), compute, reduce)
        (folder / f"late.{rank}.et").write_bytes(b"".join(varint(len(part)) + part for part in parts))
    return folder / "late.0.et"


def test_a_slow_rank_is_named(tmp_path: Path) -> None:
    spec = graphs.spec(traces(tmp_path, [1, 1, 90, 1]), EXAMPLE)
    result = fanin.run(spec, progress=False)
    row = result.collectives().row(0, named=True)
    assert (row["last_rank"], row["late_ps"]) == (2, 89_000_000)
    ranks = result.ranks()
    assert ranks["late_collectives"].to_list() == [0, 0, 1, 0]
    assert ranks["late_ps"].to_list() == [0, 0, 89_000_000, 0]
    job = result.summary()["traffics"][0]["job"]
    assert job is not None
    assert job["late_us"] == 89
    found = fanin.why_collective(result, 0, progress=False)
    assert "Slow: rank 2 (h2), which entered 89.0 us" in found.headline()
    assert found.traced is None
    assert found.parts_us["late"] == 89
    assert sum(found.parts_us.values()) == pytest.approx(row["time_ps"] / 1e6, abs=1e-6)
    # The critical path of the job is that rank's computation and then the same messages.
    path = result.critical().with_columns(pl.col("kind").cast(pl.String)).filter(pl.col("path_of").is_null())
    assert path.select("kind", "rank", "compute_ps").row(0) == ("compute", 2, 90_000_000)
    assert path["rank"].to_list()[1:] == [2, 3, 0, 1, 2, 3]


def test_a_slow_link_is_named(command_here: Command, tmp_path: Path) -> None:
    """All ring neighbours are in other racks, over one link out of each that is slower than a host's."""
    slow = ["network.topology.spines=1", "network.topology.fabric_link=40 Gbps", "traffic[0].scheme=none"]
    settings = [word for one in (*SMALL, *slow) for word in ("--set", one)]
    command_here("run", EXAMPLE, *settings, "--out", "slow")
    found = json.loads(command_here("why", "slow", "--collective", "1", "--json").stdout)
    assert (found["operation"], found["repeated"]) == ("all-reduce", True)
    worst = found["places"][0]
    assert re.fullmatch(r"waiting at leaf\d>spine0", worst["where"]), found["places"]
    assert worst["where"] in found["headline"]
    slowest = found["messages"][0]
    assert (
        f"the slowest was {slowest['message']} from {slowest['sender']} to {slowest['receiver']}" in found["headline"]
    )
    result = fanin.load(tmp_path / "slow")
    assert sum(found["parts_us"].values()) == pytest.approx(result.collectives()["time_ps"][1] / 1e6, abs=1e-6)
    path = result.critical().filter(pl.col("path_of") == 1)
    assert slowest["delay_us"] == max(path["queueing_ps"]) / 1e6
    assert [one["where"] is not None for one in found["messages"]] == [True] * 8 + [False] * (
        len(found["messages"]) - 8
    )
    assert Path(found["picture"]).name == "why-collective-1.png"
    shown = command_here("why", "slow", "--collective", "job:1").stdout
    assert "on the critical path" in shown
    assert slowest["message"] in shown
    for asked, said in (
        ("9", "no collective 9; there are 2, from 0 to 1"),
        ("x", "give its number, or"),
        ("jobs:0", "traffics with collectives: job"),
    ):
        assert said in command_here("why", "slow", "--collective", asked).stderr
    both = command_here("why", "slow", "--collective", "0", "--flow", "1")
    assert both.returncode == WRONG_SPEC
    assert "leave one out" in both.stderr


def test_the_report_has_ranks_and_collectives(tmp_path: Path) -> None:
    result = fanin.run(EXAMPLE, set=SMALL, progress=False)
    first = charts.charts([result])[0]
    assert first.id == "ranks"
    assert first.figure is not None
    computes, communicates = (
        next(trace for trace in cast("Any", first.figure["data"]) if trace["name"] == name)
        for name in ("computes", "communicates")
    )
    assert computes["base"][0] == 0
    assert (sum(computes["x"]), set(computes["y"])) == (pytest.approx(16 * 100), set(range(16)))
    # With the last ACKs, which a collective does not wait for, and pauses that are too short to be drawn.
    assert sum(communicates["x"]) == pytest.approx(sum(result.ranks()["communication_ps"]) / 1e6, rel=0.05)
    assert computes["text"][2].startswith("rank ")
    page = fanin.report(result, tmp_path / "report.html").read_text(encoding="utf-8")
    assert "Slowest collectives" in page
    assert "fanin why FOLDER --collective " in page
    late = result.collectives().filter(pl.col("late_ps") > 0).sort("time_ps", descending=True).row(0, named=True)
    assert f'<td class="text">rank {late["last_rank"]}</td>' in page
    assert '<td class="text">all at once</td>' in page
    assert "critical path: queueing" in page


def test_explain_has_the_job_in_an_empty_network(command_here: Command) -> None:
    (job,) = fanin.explain(EXAMPLE, set=SMALL)["jobs"]
    result = fanin.run(EXAMPLE, set=SMALL, progress=False)
    told = result.summary()["traffics"][0]["job"]
    assert told is not None
    assert told["critical"] is not None
    assert told["time_us"] is not None
    assert (job["traffic"], job["ranks"], job["messages"]) == ("job", 16, 60)
    assert job["time_us"] == pytest.approx(told["time_us"] - told["critical"]["queueing_us"], abs=1e-6)
    assert job["serialisation_us"] == pytest.approx(told["critical"]["serialisation_us"], abs=1e-6)
    shown = command_here("explain", EXAMPLE, *("--set", SMALL[0])).stdout
    assert "Jobs in an empty network" in shown
    plain = command_here("explain", ROOT / "examples" / "incast.toml").stdout
    assert "Jobs in an empty network" not in plain
