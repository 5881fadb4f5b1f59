"""Clusters of GPU servers, and workloads of SimAI from the file to the tables of a run."""

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from conftest import ROOT, Command
from fanin import Result, SpecError, compare, explain, graphs, load, run

EXAMPLE = ROOT / "examples" / "collectives" / "layers.txt"
NETWORK = ROOT / "examples" / "collectives" / "all-reduce.toml"
CLUSTER = ROOT / "examples" / "collectives" / "simai-topology.txt"
TORUS = ROOT / "examples" / "collectives" / "torus.yml"
STAR = """\
[network]
topology = { kind = "star", hosts = 8, link = "100 Gbps", delay = "1 us" }
buffer = { policy = "unlimited" }
"""


def job_ps(of: Result) -> int:
    """From the start of a run's job to the end of its last rank."""
    ranks = of.ranks()
    took: int = max(ranks["finish_ps"].to_list()) - min(ranks["start_ps"].to_list())
    return took


def test_a_workload_is_checked_and_explained(command_here: Command) -> None:
    assert command_here("check", EXAMPLE).stdout.endswith("layers.txt: ok, 16 ranks\n")
    overview = json.loads(command_here("explain", EXAMPLE, "--json").stdout)["overview"]
    groups = {(of["operation"], tuple(of["ranks"])): of for of in overview["groups"]}
    # Tensor groups of neighbours; of experts the same place in two of them; of all data the same place in all.
    assert groups["all-gather", (4, 5, 6, 7)]["bytes"] == 2 * 2_097_152
    assert groups["all-to-all", (9, 13)]["collectives"] == 2
    assert groups["all-reduce", (1, 9)]["bytes"] == 8_388_608
    assert groups["reduce-scatter", (2, 6, 10, 14)]["bytes"] == 4_194_304
    # Without queues, the way through the layers of a rank: forward, back, and the last collective's time behind it.
    assert overview["critical_path"]["computing_ns"] >= 170_000 + 110_000 + 145_000


def test_a_layer_takes_what_its_parts_take(tmp_path: Path) -> None:
    (tmp_path / "net.toml").write_text(STAR)
    head = "HYBRID_TRANSFORMER model_parallel_NPU_group: 8 ep: 1 pp: 1 vpp: 1 ga: 1 all_gpus: 8"
    workload = tmp_path / "w.txt"
    workload.write_text(f"{head}\n1\nlayer -1 5000 NONE 0 7000 NONE 0 11000 NONE 0 0\n")
    alone = run(graphs.spec(workload, tmp_path / "net.toml"), progress=False)
    assert job_ps(alone) == 23_000_000
    workload.write_text(f"{head}\n1\nlayer -1 5000 ALLREDUCE 8000000 7000 NONE 0 11000 NONE 0 9000\n")
    of = run(graphs.spec(workload, tmp_path / "net.toml"), progress=False)
    collective = of.collectives()
    assert collective["bytes"].to_list() == [8_000_000]
    (took,) = collective["time_ps"].to_list()
    # Two times seven blocks of 1 MB, each after the one before, and nine microseconds behind the collective.
    assert 14 * 80_000_000 < took < 14 * 95_000_000
    assert job_ps(of) == 23_000_000 + took + 9_000_000


def test_schemes_are_compared_on_a_workload() -> None:
    spec = graphs.spec(EXAMPLE, NETWORK)
    both = compare(spec, schemes=["dcqcn", "none"], progress=False)
    jobs = [job_ps(result) for result in both.results]
    assert len(jobs) == 2
    assert min(jobs) > 0
    assert both.results[0].flows().filter(pl.col("bytes") > 0).height > 100


def test_a_workload_is_written_as_a_schedule_of_the_same_job(tmp_path: Path) -> None:
    (schedule,) = graphs.write(EXAMPLE, tmp_path / "step.goal")
    hashes = [
        run(graphs.spec(file, NETWORK), set=['traffic[0].pattern.slots="none"'], progress=False).manifest["event_hash"]
        for file in (EXAMPLE, schedule)
    ]
    assert hashes[0] == hashes[1]
    # Chakra counts in microseconds.
    with pytest.raises(SpecError, match="a calculation of 100 ns; a trace counts microseconds"):
        graphs.write(EXAMPLE, tmp_path / "trace")
    assert [file.name for file in tmp_path.iterdir()] == ["step.goal"]


def test_what_is_wrong_is_named(command_here: Command, tmp_path: Path) -> None:
    broken = tmp_path / "broken.txt"
    broken.write_text(EXAMPLE.read_text().replace("ep: 2", "ep: 3"))
    assert "broken.txt:1: ep 3 does not divide the 4 data-parallel ranks" in command_here("check", broken).stderr
    (tmp_path / "other.txt").write_text("1 2 3\n")
    with pytest.raises(SpecError, match="no workload of SimAI, which begins with a policy"):
        graphs.spec(tmp_path / "other.txt", NETWORK)
    with pytest.raises(SpecError, match=r"process groups go with Chakra traces, and .* is a workload of SimAI"):
        graphs.spec(EXAMPLE, NETWORK, groups=broken)


def rails(servers: int, gpus: int, **more: object) -> dict[str, object]:
    """Servers as SimAI's files have them."""
    return {
        "kind": "rails", "servers": servers, "gpus": gpus, "spines": 1, "link": "400 Gbps", "delay": "500 ns",
        "nvlink": "2880 Gbps", **more,
    }  # fmt: skip


def cluster(topology: dict[str, object], pattern: dict[str, object]) -> dict[str, Any]:
    """A collective without congestion control, ACKs or buffers in its way."""
    return {
        "spec_version": 1,
        "name": "cluster",
        "network": {
            "topology": topology,
            "buffer": {"policy": "unlimited"},
            "packet": {"payload": "4096 B", "header": "62 B", "ack": "66 B"},
        },
        "traffic": [
            {"name": "job", "scheme": "none", "pattern": pattern, "rdma": {"ack_chunk": "1 GB", "timeout": "off"}}
        ],
        "measure": {"window": "1 s", "stop_when_done": True},
    }


@pytest.mark.parametrize(("servers", "gpus", "mib", "expected_ps"), [(2, 4, 1, 12_295_116), (4, 8, 4, 44_033_788)])
def test_a_hierarchical_all_reduce_on_rails_takes_its_closed_form(
    servers: int, gpus: int, mib: int, expected_ps: int
) -> None:
    pattern = {"kind": "all-reduce", "algorithm": "hierarchical", "size": f"{mib << 20} B", "server": gpus}
    of = run(cluster(rails(servers, gpus), pattern), progress=False)
    assert of.collectives()["time_ps"].to_list() == [expected_ps]


@pytest.mark.parametrize("more", [{}, {"rails": 1}, {"rails": 2, "tors": 2}, {"planes": 2, "segment": 1}])
def test_inside_a_server_messages_take_nvlink(more: dict[str, object]) -> None:
    # Where GPUs share a leaf, that way is as short.
    of = run(cluster(rails(2, 4, **more), {"kind": "all-to-all", "size": "400 KB"}), progress=False)
    ports = of.ports()
    inside = ports.filter(pl.col("from").str.starts_with("gpu") & pl.col("to").str.starts_with("nv"))
    beyond = ports.filter(pl.col("from").str.starts_with("gpu") & pl.col("to").str.starts_with("leaf"))
    # To three GPUs of its server, and to four of the other: 50 KB each in 13 packets.
    data = 50_000 + 13 * 62
    acks = 66
    assert set(inside["bytes"].to_list()) == {3 * (data + acks)}
    assert beyond["bytes"].sum() == 8 * 4 * (data + acks)


def test_with_pxn_nothing_crosses_rails() -> None:
    def exchange(**more: object) -> Result:
        return run(cluster(rails(2, 4), {"kind": "all-to-all", "size": "800 KB", **more}), progress=False)

    def over_spines(of: Result) -> int:
        return int(of.ports().filter(pl.col("from").str.starts_with("spine"))["bytes"].sum())

    plain, pxn = exchange(), exchange(pxn=True, server=4)
    # Three messages of 100 KB from each GPU to the other server go to other rails, and then become two each.
    assert over_spines(plain) > 8 * 3 * 100_000
    assert over_spines(pxn) == 0
    assert (plain.flows().height, pxn.flows().height) == (56, 56 + 24)
    for more, said in (
        ({"pxn": True}, "in a server of at least 2 ranks; write the ranks of a server"),
        ({"pxn": True, "server": 3}, "8 ranks are no whole number of servers of 3"),
    ):
        with pytest.raises(SpecError, match=said):
            exchange(**more)


@pytest.mark.parametrize(
    "pattern",
    [
        {"kind": "all-to-all", "size": "800 KB", "pxn": True, "server": 4},
        {"kind": "all-reduce", "algorithm": "hierarchical", "size": "1 MB", "server": 4},
    ],
)
def test_rails_need_no_spines_where_nothing_crosses_them(pattern: dict[str, object]) -> None:
    joined, apart = (run(cluster(rails(2, 4, spines=spines), pattern), progress=False) for spines in (1, 0))
    assert apart.flows().equals(joined.flows())
    paths = explain(cluster(rails(2, 4, spines=0), pattern))["network"]["paths"]
    # To three GPUs over NVLink, and to one over its leaf.
    assert [(of["links"], of["host_pairs"], of["paths_max"]) for of in paths["lengths"]] == [(2, 8 * 4, 1)]


def test_flows_of_the_caller_need_a_way() -> None:
    spec = cluster(rails(2, 4, spines=0), {"kind": "all-to-all", "size": "800 KB", "pxn": True, "server": 4})
    flows = pl.DataFrame({"src": ["gpu0.0"], "dst": ["gpu1.1"], "bytes": [1000], "start_ps": [0]})
    with pytest.raises(SpecError, match=r'given flows: no way leads from host "gpu0\.0" to host "gpu1\.1"'):
        run(spec, flows=flows, progress=False)
    near = flows.with_columns(dst=pl.lit("gpu1.0"))
    assert run(spec, flows=near, progress=False).flows().height == 56 + 24 + 1


def test_rails_that_cannot_be_are_refused() -> None:
    def refused(**more: object) -> str:
        with pytest.raises(SpecError) as error:
            run(cluster(rails(2, 4, **more), {"kind": "all-reduce", "size": "1 MB"}), progress=False)
        return str(error.value)

    assert "network.topology.rails: is 3; use a divisor of gpus (4)" in refused(rails=3)
    # A ring goes from each GPU to the next: from the last of a server to the first of the next one.
    assert 'traffic[0].pattern: no way leads from host "gpu0.3" to host "gpu1.0"; hosts do not forward' in refused(
        spines=0
    )
    assert "network.topology.nvlink: is 0" in refused(nvlink="0 Gbps")


def test_nvlink_wins_in_a_topology_of_simai() -> None:
    # Eight GPUs of two servers share an access switch, which is as near as the NV switch of a server.
    of = run(cluster({"file": str(CLUSTER)}, {"kind": "all-to-all", "size": "1600 KB"}), progress=False)
    ports = of.ports().filter(pl.col("from").str.starts_with("gpu"))
    inside = ports.filter(pl.col("to").str.starts_with("nv"))
    beyond = ports.filter(pl.col("to").str.starts_with("sw"))
    each = 100_000 + 25 * 62 + 66
    assert (inside.height, beyond.height) == (16, 16)
    assert set(inside["bytes"].to_list()) == {3 * each}
    assert set(beyond["bytes"].to_list()) == {12 * each}


def test_a_topology_file_is_the_network_of_a_workload(command_here: Command, tmp_path: Path) -> None:
    for file in (CLUSTER, TORUS):
        spec = graphs.spec(EXAMPLE, file)
        assert spec["network"] == {"topology": {"file": str(file)}, "buffer": {"policy": "unlimited"}}
        done = command_here("run", EXAMPLE, "--network", file, "--out", tmp_path / file.stem, "--json")
        assert done.returncode == 0, done.stderr
    # NVLink is faster than links of 50 and 100 GB/s, which have a way of one hop between neighbours only.
    servers, torus = (job_ps(load(tmp_path / file.stem)) for file in (CLUSTER, TORUS))
    assert servers < torus
    none = command_here("run", EXAMPLE, "--network", tmp_path / "none.yml")
    assert "none.yml: there is no such file; give a spec, or a topology file" in none.stderr
    (tmp_path / "other.yml").write_text("hello: [ 1 ]\n")
    other = command_here("run", EXAMPLE, "--network", tmp_path / "other.yml")
    assert "is not in a known topology format; give a topology file of ns-3 HPCC, a fork or SimAI" in other.stderr


def test_neighbours_of_astra_sim_are_a_link_apart(tmp_path: Path) -> None:
    # 50 times 2^30 bytes a second and 500 ns: 2,941 ns for 131,072 B, rounded down there.
    text = "topology: [ Ring ]\nnpus_count: [ 8 ]\nbandwidth: [ 50.0 ]\nlatency: [ 500.0 ]\n"
    (tmp_path / "ring.yml").write_text(text)
    spec = cluster({"file": str(tmp_path / "ring.yml")}, {"kind": "all-gather", "size": "1 MiB"})
    spec["network"]["packet"] = {"payload": "32768 B", "header": "0 B", "ack": "1 B"}
    (took,) = run(spec, progress=False).collectives()["time_ps"].to_list()
    assert 7 * 2_941_000 <= took < 7 * 2_942_000
