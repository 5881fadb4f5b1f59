"""Algorithms of MSCCL and flow tables of SimCCL, from the file to the tables of a run."""

import json
from pathlib import Path

import pytest

from conftest import ROOT, Command
from fanin import Result, SpecError, graphs, run

RING = ROOT / "examples" / "collectives" / "ring.xml"
FLOWS = ROOT / "examples" / "collectives" / "flow-table.csv"
NETWORK = ROOT / "examples" / "collectives" / "all-reduce.toml"


def star(pattern: dict[str, object]) -> dict[str, object]:
    """A job on a network where nothing is in its way."""
    return {
        "spec_version": 1,
        "name": "star",
        "network": {
            "topology": {"kind": "star", "hosts": 4, "link": "100 Gbps", "delay": "1 us"},
            "buffer": {"policy": "unlimited"},
            "packet": {"payload": "4096 B", "header": "62 B", "ack": "66 B"},
        },
        "traffic": [
            {"name": "job", "scheme": "none", "pattern": pattern, "rdma": {"ack_chunk": "1 GB", "timeout": "off"}}
        ],
        "measure": {"window": "1 s", "stop_when_done": True},
    }


def job_ps(of: Result) -> int:
    """From the start of a run's job to the end of its last rank."""
    ranks = of.ranks()
    took: int = max(ranks["finish_ps"].to_list()) - min(ranks["start_ps"].to_list())
    return took


def test_an_algorithm_is_checked_explained_and_run(command_here: Command) -> None:
    assert command_here("check", RING).stdout.endswith("ring.xml: ok, 4 ranks\n")
    overview = json.loads(command_here("explain", RING, "--json").stdout)["overview"]
    # 2 (n - 1) steps in each of which every GPU sends one of four chunks; of 1 MiB, as no size was given.
    assert (overview["ranks"], overview["messages"], overview["bytes"]) == (4, 24, 6 << 20)
    done = command_here("run", RING, "--network", NETWORK, "--scheme", "dcqcn", "--json")
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("size", [1_000_000, 1_000_003])
def test_a_ring_takes_what_that_of_this_program_takes(size: int) -> None:
    algorithm: dict[str, object] = {
        "kind": "msccl",
        "file": str(RING),
        "size": f"{size} B",
        "send_done": "arrived",
    }
    ours = run(star({"kind": "all-reduce", "algorithm": "ring", "size": f"{size} B"}), progress=False)
    theirs = run(star(algorithm), progress=False)
    assert job_ps(theirs) == job_ps(ours)
    assert theirs.flows()["bytes"].sum() == ours.flows()["bytes"].sum() == 6 * size
    # A step waits for the acknowledgement of the one before, unless it says otherwise.
    acked = run(star({**algorithm, "send_done": "acked"}), progress=False)
    assert job_ps(acked) > job_ps(theirs)


def test_an_algorithm_is_written_as_a_schedule_of_the_same_job(command_here: Command, tmp_path: Path) -> None:
    assert command_here("gen", "job", RING, "-o", tmp_path / "ring.goal").returncode == 0
    algorithm = run(graphs.spec(RING, NETWORK), progress=False)
    schedule = graphs.spec(tmp_path / "ring.goal", NETWORK)
    of_schedule = run(schedule, set=['traffic[0].pattern.slots="none"'], progress=False)
    assert algorithm.manifest["event_hash"] == of_schedule.manifest["event_hash"]


def test_what_is_wrong_is_named(command_here: Command, tmp_path: Path) -> None:
    broken = tmp_path / "broken.xml"
    broken.write_text(RING.read_text().replace('type="rrcs"', 'type="rsc"', 1))
    assert (
        'broken.xml:9: gpu 0, tb 0, step 3: type is "rsc"; the types are s, r' in command_here("check", broken).stderr
    )
    broken.write_text(RING.read_text().replace('depid="-1" deps="-1"', 'depid="0" deps="6"', 1))
    told = command_here("check", broken).stderr
    assert "tb 0, step 0 (s)" in told
    assert "wait for each other" in told
    with pytest.raises(SpecError, match=r"pattern.size: .*3 B are less than a byte for each of the 4 chunks"):
        run(star({"kind": "msccl", "file": str(RING), "size": "3 B"}), progress=False)
    with pytest.raises(SpecError, match=r"pattern.size: .*is too large.* at most 2\^50 B"):
        run(star({"kind": "msccl", "file": str(RING), "size": "2000 TB"}), progress=False)
    with pytest.raises(SpecError, match=r"process groups go with Chakra traces, and .* is an algorithm of MSCCL"):
        graphs.spec(RING, NETWORK, groups=broken)
    with pytest.raises(SpecError, match="the file has 4 ranks, and there are 2 hosts"):
        run(star({"kind": "msccl", "file": str(RING), "hosts": ["h0", "h1"]}), progress=False)


def test_a_flow_table_takes_what_its_collective_takes(command_here: Command, tmp_path: Path) -> None:
    assert command_here("check", FLOWS).stdout.endswith("flow-table.csv: ok, 4 ranks\n")
    overview = json.loads(command_here("explain", FLOWS, "--json").stdout)["overview"]
    assert (overview["ranks"], overview["messages"], overview["bytes"]) == (4, 24, 6 << 20)
    ours = run(star({"kind": "all-reduce", "algorithm": "ring", "size": "1 MiB"}), progress=False)
    theirs = run(star({"kind": "simccl", "file": str(FLOWS), "send_done": "arrived"}), progress=False)
    assert job_ps(theirs) == job_ps(ours)
    # A parent that is not there.
    broken = tmp_path / "broken.csv"
    broken.write_text(FLOWS.read_text(encoding="utf-8").replace("RING,3,", "RING,99,"), encoding="utf-8")
    done = command_here("run", broken, "--network", NETWORK)
    assert done.returncode != 0
    assert "broken.csv:6: traffic[0].pattern.file: flow 4 waits for flow 99, which is not in" in done.stderr
