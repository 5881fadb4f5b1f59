"""htsim's files from the command line: their runs, results, and errors for files that cannot run."""

import json
import os
import re
from pathlib import Path

import polars as pl
import pytest

import fanin
from conftest import Command
from fanin import htsim

LINE = re.compile(r"Flow (\S+)_(\d+)_(\d+) (\d+) finished at (\d+(?:\.\d+)?) total bytes (\d+)")

CHAIN = """# an allreduce step and what follows it
Nodes 16
Connections 4
Triggers 2
13->7 id 11 start 67000 size 544 recv_done_trigger 2
9->2 id 12 start 183000 size 300000 send_done_trigger 2
7->13 id 13 trigger 2 size 20328 send_done_trigger 1
7->0 id 14 trigger 1 size 1 prio 2
trigger id 1 oneshot
trigger id 2 barrier count 2
"""

TOPO = """Nodes 8
Tiers 2
Podsize 8
Tier 0
Downlink_speed_Gbps 100
Radix_Down 4
Radix_Up 2
Downlink_Latency_ns 1000
Tier 1
Downlink_speed_Gbps 200
Radix_Down 2
Downlink_Latency_ns 500
Radix_Up 1
"""


@pytest.fixture
def chain(tmp_path: Path) -> Path:
    (tmp_path / "chain.cm").write_text(CHAIN)
    return tmp_path / "chain.cm"


def by_id(folder: Path) -> dict[int, dict[str, int]]:
    """The rows of the flow table, by the id of the connection."""
    return {row["group"]: row for row in pl.read_ipc(folder / "flows.arrow").iter_rows(named=True)}


@pytest.mark.parametrize("scheme", ["dcqcn", "dctcp"])
def test_a_connection_matrix_runs_from_end_to_end(
    command_here: Command, chain: Path, tmp_path: Path, scheme: str
) -> None:
    done = command_here("run", "--htsim", chain, "--scheme", scheme)
    assert done.returncode == 0, done.stderr
    assert "prio of 1 connections is not used" in done.stderr
    folder = tmp_path / "runs" / "htsim-chain" / scheme
    assert fanin.load(folder).summary()["traffics"][0]["finished"] == 4
    flows = by_id(folder)
    acked = {number: row["start_ps"] + row["acked_ps"] for number, row in flows.items()}
    arrived = {number: row["start_ps"] + row["completion_ps"] for number, row in flows.items()}
    starts = [flows[number]["start_ps"] for number in (11, 12, 13, 14)]
    assert starts == [67_000, 183_000, max(arrived[11], acked[12]), acked[13]]
    lines = (folder / "finished.txt").read_text().splitlines()
    found = [LINE.fullmatch(line) for line in lines]
    told = [match.groups() for match in found if match]
    # In the order in which senders learned it, in microseconds.
    assert [int(number) for *_, number, _, _ in told] == sorted(flows, key=lambda number: acked[number])
    for name, src, dst, number, at, size in told:
        row = flows[int(number)]
        assert (name, int(src), int(dst), int(size)) == (scheme, row["src"], row["dst"], row["bytes"])
        assert round(float(at) * 1e6) == acked[int(number)]


def test_a_tree_and_its_matrix_run_and_print_what_finished(command_here: Command, tmp_path: Path) -> None:
    (tmp_path / "t.topo").write_text(TOPO)
    (tmp_path / "m.cm").write_text("Nodes 8\nConnections 2\n0->1 start 0 size 1000\n0->4 start 0 size 1000\n")
    arguments = ["run", "--htsim", "t.topo", "m.cm", "--scheme", "none", "--finished", "--seed", "3", "--out", "out"]
    done = command_here(*arguments)
    assert done.returncode == 0, done.stderr
    assert "Radix_Up of the top tier is not used" in done.stderr
    printed = done.stdout.splitlines()
    assert printed[:2] == (tmp_path / "out" / "finished.txt").read_text().splitlines()
    assert all(LINE.fullmatch(line) for line in printed[:2])
    assert printed[2:] == ["results: out"]
    flows = by_id(tmp_path / "out")
    # Within a rack 2 links, beyond it 4.
    assert [flows[number]["hops"] for number in (1, 2)] == [2, 4]
    again = command_here(*arguments, "--force")
    assert again.stdout == done.stdout


def test_the_spec_of_files_is_a_spec_like_any_other(chain: Path) -> None:
    files = htsim.read(chain, scheme="dcqcn")
    compared = fanin.compare(files.spec, ["none", "dctcp"], progress=False)
    assert [len(htsim.finished(result)) for result in compared.results] == [4, 4]
    changed = fanin.run(files.spec, set=["network.packet.payload=1000 B"], progress=False)
    flows = changed.flows().filter(pl.col("group") == 12)
    assert flows["packets_sent"][0] == 300


def test_a_dialect_is_named_or_assumed_with_a_reason(command_here: Command, tmp_path: Path) -> None:
    (tmp_path / "m.cm").write_text("Nodes 16\nConnections 2\n0->1 start 2 size 1000\n4->5 start 0 size 1000\n")
    arguments = ["run", "--htsim", "m.cm", "--scheme", "none", "--json"]
    done = command_here(*arguments, "--dialect", "uec", "--out", "uec")
    assert done.returncode == 0, done.stderr
    assert "start is read" not in done.stderr
    assert [by_id(tmp_path / "uec")[number]["start_ps"] for number in (1, 2)] == [2_000_000, 0]
    done = command_here(*arguments, "--out", "ndp")
    assert by_id(tmp_path / "ndp")[1]["start_ps"] == 2
    assert "start is read as picoseconds, htsim's dialect ndp, since" in done.stderr
    (warning, *_) = json.loads(done.stdout)["warnings"]
    assert warning.startswith("m.cm: start is read as picoseconds")
    assert command_here("run", "m.toml", "--dialect", "uec").returncode == 2
    done = command_here(*arguments, "--dialect", "roce")
    assert done.returncode == 2
    assert 'no dialect "roce"; there are uec, swift and ndp' in done.stderr


def test_messages_of_one_connection_keep_its_state_and_order(tmp_path: Path) -> None:
    text = "Nodes 16\nConnections 3\n0->5 id 1 start 0 size 1000000\n0->5 id 1 start 1 size 9000 msg 2\n"
    (tmp_path / "m.cm").write_text(text + "0->5 id 1 start 0 size 9000 msg 3\n")
    files = htsim.read(tmp_path / "m.cm", scheme="dcqcn")
    assert "microseconds, htsim's dialect uec, since line 4" in files.warnings[0]
    run = fanin.run(files.spec, progress=False)
    flows = run.flows().with_columns(arrives=pl.col("start_ps") + pl.col("completion_ps")).sort("arrives")
    # In order of their starts: the small ones do not overtake the large one that came before.
    assert flows["start_ps"].to_list() == [0, 0, 1_000_000]
    assert flows["bytes"].to_list() == [1_000_000, 9_000, 9_000]
    assert flows["group"].to_list() == [1, 1, 1]
    apart = fanin.run(files.spec, set=["traffic.htsim.rdma.persistent=false"], progress=False)
    assert apart.flows().sort(pl.col("start_ps") + pl.col("completion_ps"))["bytes"].to_list()[-1] == 1_000_000
    (warning,) = (said for said in fanin.Comparison([apart], False).warnings if "persistent = true" in said)
    assert "each has its own" in warning


def test_microseconds_are_exact() -> None:
    told = {0: "0", 1: "0.000001", 67_000: "0.067", 10**6: "1", 123_450_000_000_001: "123450000.000001"}
    assert {ps: htsim.microseconds(ps) for ps in told} == told


def test_what_cannot_run_is_told_with_file_and_line(command_here: Command, chain: Path, tmp_path: Path) -> None:
    def wrong(*arguments: str | Path) -> str:
        done = command_here("run", *arguments)
        assert done.returncode == 2, done.stderr
        assert done.stderr.startswith("error: ")
        assert "Traceback" not in done.stderr
        return done.stderr

    (tmp_path / "bad.cm").write_text(CHAIN.replace("size 544", "sise 544"))
    message = wrong("--htsim", "bad.cm", "--scheme", "dcqcn")
    assert message.startswith('error: bad.cm:5: "sise" is not known; known: id, start')
    (tmp_path / "t.topo").write_text(TOPO)
    assert "16 hosts and the tree has 8" in wrong("--htsim", "t.topo", chain, "--scheme", "dcqcn")
    assert "t.topo:2: " in wrong("--htsim", "t.topo", "--scheme", "dcqcn")
    assert "absent.cm: cannot be read" in wrong("--htsim", "absent.cm", "--scheme", "dcqcn")
    assert "add one, like --scheme dcqcn" in wrong("--htsim", chain)
    assert 'there is no scheme "dcqn"; did you mean "dcqcn"?' in wrong("--htsim", chain, "--scheme", "dcqn")
    assert "or a .cm file alone" in wrong("--htsim", "a", "b", "c", "--scheme", "dcqcn")
    assert "run takes one spec" in wrong("a.toml", "b.toml")
    assert "goes with --htsim" in wrong("a.toml", "--finished")
    assert not (tmp_path / "runs").exists()


def test_the_reference_files_run(command_here: Command, tmp_path: Path) -> None:
    golden = os.environ.get("FANIN_GOLDEN")
    if golden is None:
        pytest.skip("FANIN_GOLDEN names no folder of reference files")
    incast = Path(golden) / "inputs" / "incast_128_64to1_1MB.cm"
    done = command_here("run", "--htsim", incast, "--scheme", "dcqcn", "--out", "out")
    assert done.returncode == 0, done.stderr
    lines = (tmp_path / "out" / "finished.txt").read_text().splitlines()
    assert len(lines) == 64
    assert all(line.endswith(" total bytes 1000000") for line in lines)
