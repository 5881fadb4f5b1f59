"""Configurations of the ns-3 HPCC simulator from the command line: its files in, its files out."""

import json
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from matplotlib.figure import Figure

import fanin
from conftest import ROOT, Command
from fanin import _core, hpcc
from fanin.comparing import schemes_of
from test_interrupt import interrupted

cases = settings(max_examples=int(os.environ.get("FANIN_CASES", "64")), deadline=None)

MICRO = ROOT / "crates" / "ns3" / "tests" / "data" / "micro.txt"
"""What that simulator made of one, two and sixteen senders to host 0 of a star."""
LAWS = {"hp": "hpcc", "dcqcn": "dcqcn", "dcqcn_vwin": "dcqcn-win", "timely": "timely", "dctcp": "dctcp"}
SIZES = {1: 1_000_000, 2: 5_000_000, 16: 500_000}


def known() -> list[tuple[int, str, str]]:
    """Senders, control law, and its line: `sender:ns` in the order of completion."""
    found = []
    for line in MICRO.read_text().splitlines():
        if not line.startswith("#"):
            case, _, finished = (part.strip() for part in line.split("|"))
            senders, law = case.split()
            found.append((int(senders.removesuffix("to1")), law, finished))
    return found


def write_flows(path: Path, flows: list[tuple[int, int, int, float]], dport: int = 100) -> None:
    """Source, destination, bytes and start of each."""
    lines = [f"{src} {dst} 3 {dport} {size} {start:.9f}\n" for src, dst, size, start in flows]
    path.write_text(f"{len(lines)}\n" + "".join(lines))


def config(folder: Path, law: str = "hpcc", *, name: str = "c.txt", trace: str | None = None) -> Path:
    """A configuration for topo.txt and flow.txt of the folder."""
    cwd = Path.cwd()
    os.chdir(folder)
    try:
        text = _core.hpcc_config(law, "topo.txt", "flow.txt", 2.2, "50Mbps" if law == "hpcc" else None, trace)
    finally:
        os.chdir(cwd)
    (folder / name).write_text(text)
    return folder / name


@pytest.fixture
def star(tmp_path: Path) -> Path:
    """A folder with a star of 17 hosts, two flows to host 0, and a configuration of them."""
    (tmp_path / "topo.txt").write_text(_core.hpcc_topology("star", 17, "100Gbps", "1us"))
    write_flows(tmp_path / "flow.txt", [(1, 0, 5_000_000, 2.0), (2, 0, 5_000_000, 2.0)])
    (tmp_path / "trace.txt").write_text("1\n17\n")
    config(tmp_path)
    return tmp_path


@pytest.mark.parametrize(("senders", "law", "finished"), known())
def test_its_known_results_come_out_to_the_nanosecond(star: Path, senders: int, law: str, finished: str) -> None:
    write_flows(star / "flow.txt", [(src, 0, SIZES[senders], 2.0) for src in range(1, senders + 1)])
    config(star, LAWS[law])
    hpcc.run_hpcc("c.txt", folder=star, progress=False).save(star / "out")
    flows = hpcc.read_fct(star / "out" / "fct.txt")
    assert " ".join(f"{src}:{ns}" for src, ns in flows.select("src", "fct_ns").iter_rows()) == finished


def test_a_configuration_runs_from_end_to_end_and_repeats(command_here: Command, star: Path) -> None:
    done = command_here("run", "--hpcc", "c.txt")
    assert done.returncode == 0, done.stderr
    assert "warning" not in done.stderr
    assert done.stdout.endswith("results: runs/c\n")
    assert "the formula of the ns-3 HPCC simulator" in done.stdout
    folder = star / "runs" / "c"
    # The line as that simulator prints it.
    assert (folder / "fct.txt").read_text() == (
        "0b000201 0b000001 10000 100 5000000 2000000000 825970 423360\n"
        "0b000101 0b000001 10000 100 5000000 2000000000 925446 423360\n"
    )
    assert (folder / "pfc.txt").read_text() == ""
    assert (folder / "qlen.txt").exists()
    assert not (folder / "trace.tr").exists()
    assert command_here("show", folder).stdout == done.stdout.removesuffix("results: runs/c\n")
    assert command_here("run", "--hpcc", "c.txt", "--out", "again").returncode == 0
    for name in ("fct.txt", "pfc.txt", "qlen.txt"):
        assert (star / "again" / name).read_bytes() == (folder / name).read_bytes()
    hashes = [fanin.load(path).manifest["event_hash"] for path in (folder, star / "again")]
    assert hashes[0] == hashes[1]
    done = command_here("run", "--hpcc", "c.txt", "--out", "again")
    assert done.returncode == 2
    assert "again: exists" in done.stderr


def test_schemes_are_compared_on_a_configuration(command_here: Command, star: Path) -> None:
    done = command_here("compare", "--hpcc", "c.txt", "--schemes", "as-is,hpcc,dcqcn", "--seeds", "2", "--json")
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["folder"] == "runs/c"
    rows = {row["scheme"]: row for row in told["rows"]}
    assert [(name, row["runs"], row["finished"]) for name, row in rows.items()] == [
        ("hpcc-ns3", 1, 2),
        ("hpcc", 2, 2),
        ("dcqcn", 2, 2),
    ]
    exact = hpcc.read_fct(star / "runs" / "c" / "c" / "fct.txt")
    assert exact["fct_ns"].to_list() == [825_970, 925_446]
    assert (star / "runs" / "c" / "compare.png").exists()
    compared = fanin.load_comparison(star / "runs" / "c")
    assert [row.to_json() for row in compared.rows] == told["rows"], "read back it is the same"
    # All end with the last ACK, as in the files, and have one ideal.
    for result in compared.results:
        flows = hpcc.read_fct(star / "runs" / "c" / result.label / "fct.txt").sort("src")
        assert (result.flows()["completion_ps"] // 1000).to_list() == flows["fct_ns"].to_list()
        assert result.flows()["slowdown"].to_list() == pytest.approx(flows["slowdown"].to_list(), rel=0.01)
        (traffic,) = result.summary()["traffics"]
        assert traffic["completion_us"]["max"] == pytest.approx(max(flows["fct_ns"].to_list()) / 1e3, abs=1e-3)
    shown = command_here("show", "runs/c").stdout.replace("\n", " ")
    assert "up to the last ACK at the  sender" in shown
    assert "the formula of the ns-3 HPCC simulator" in shown
    own = fanin.load(star / "runs" / "c" / "c-dcqcn-seed-1")
    assert (own.flows()["acked_ps"] > own.flows()["completion_ps"]).all(), "its own folder has its own FCTs"
    seeds = [fanin.load(star / "runs" / "c" / f"c-dcqcn-seed-{seed}").manifest["seed"] for seed in (1, 2)]
    assert seeds == [1, 2]
    alone = command_here("compare", "--hpcc", "c.txt")
    assert alone.returncode == 2
    assert "add --schemes hpcc,dcqcn or all" in alone.stderr
    wrong = command_here("compare", "--hpcc", "c.txt", "--schemes", "hpc")
    assert 'no scheme "hpc"' in wrong.stderr


def test_all_schemes_of_a_configuration_are_those_that_suit_it(star: Path) -> None:
    suits, unfit = schemes_of(hpcc.HpccJob("c.txt", str(star)))
    assert {"hpcc", "dcqcn", "dart"} <= set(suits)
    assert not {*suits} & {*unfit}


def test_a_flow_of_a_configuration_is_asked_why(star: Path) -> None:
    """Each packet on its way, in the network of that simulator, to the nanosecond."""
    write_flows(star / "flow.txt", [(1, 0, 3000, 2.0), (2, 0, 2000, 2.0)])
    run = hpcc.run_hpcc("c.txt", folder=star, progress=False)
    (star / "other").mkdir()
    loaded = fanin.load(run.save(star / "other" / "out"))
    answer = fanin.why(loaded, 0, progress=False)
    assert answer.repeated is True
    assert answer.message == "background:0"
    rows = answer.run.hops().select("time_ps", "seq_bytes", "node", "port").rows()
    # Three packets, at their host, at the switch, and at the receiver.
    assert sorted({(seq, node) for _, seq, node, _ in rows}) == [
        (seq, node) for seq in (0, 1000, 2000) for node in ("h0", "h1", "s17")
    ]
    parts = {part.what: part.ps for part in answer.breakdown.parts}
    assert sum(parts.values()) == answer.breakdown.completion_ps == run.flows()["completion_ps"][0]
    steps = answer.steps.filter(hop=1)
    # A packet has 48 bytes of headers and 42 of telemetry: 87.2 ns at 100 Gb/s, of which that simulator counts 87. The
    # two senders' packets arrive together, so one of each pair waits for the other.
    assert set(steps["wire_bytes"]) == {1090}
    assert 0 < steps["wait_ps"].max() <= 3 * 87_200  # type: ignore[operator]
    with pytest.raises(fanin.RunError, match="only the ideal hpcc"):
        run.with_ideal("lone-run")
    assert run.with_ideal("hpcc") is run


def test_what_a_flow_waits_for_at_its_host_is_told_as_in_the_simulator(star: Path) -> None:
    """Two flows of one host take turns: a packet of 1,038 B has 83 ns at 100 Gb/s, cut to whole ones."""
    write_flows(star / "flow.txt", [(1, 0, 10_000, 2.0), (1, 2, 10_000, 2.0)])
    config(star, "dcqcn")
    run = fanin.load(hpcc.run_hpcc("c.txt", folder=star, progress=False).save(star / "turns"))
    for flow, waits in ((0, 9), (1, 10)):
        table = fanin.why(run, flow, progress=False).run.host_waits()
        table = table.with_columns(pl.col("cause").cast(pl.String), ns=(pl.col("end_ps") - pl.col("begin_ps")) // 1000)
        assert table.filter(cause="nic")["ns"].to_list() == [83] * waits
        assert table["cause"].to_list() == ["nic"] * waits + ["acks"]
    write_flows(star / "flow.txt", [(sender, 0, 500_000, 2.0) for sender in range(1, 17)])
    for law, most in (("hpcc", "pacing"), ("dcqcn", "pacing"), ("dctcp", "window")):
        config(star, law)
        run = fanin.load(hpcc.run_hpcc("c.txt", folder=star, progress=False).save(star / law))
        parts = {part.what: part.ps for part in fanin.why(run, 0, progress=False).breakdown.parts}
        assert max(parts, key=lambda what: parts[what]) == most
        assert not {"host", "nic"} & {*parts}, "its host has no other flow, and every wait has a cause"


def test_paths_start_where_it_is_called(command_here: Command, star: Path) -> None:
    (star / "mix").mkdir()
    (star / "c.txt").rename(star / "mix" / "c.txt")
    done = command_here("run", "--hpcc", "mix/c.txt")
    assert done.returncode == 0, done.stderr
    (star / "topo.txt").rename(star / "mix" / "topo.txt")
    done = command_here("run", "--hpcc", "mix/c.txt", "--out", "beside")
    assert done.returncode == 0, done.stderr
    assert "warning: mix/c.txt: TOPOLOGY_FILE topo.txt is not there; mix/topo.txt is taken\n" in done.stderr
    (star / "mix" / "topo.txt").rename(star / "other.txt")
    done = command_here("run", "--hpcc", "mix/c.txt", "--out", "new")
    assert done.returncode == 2
    assert "mix/c.txt: TOPOLOGY_FILE names topo.txt, which cannot be read" in done.stderr
    assert "mix/topo.txt" in done.stderr
    assert not (star / "new").exists()
    done = command_here("run", "--hpcc", "mix/c.txt", "--topology", "other.txt", "--out", "new")
    assert done.returncode == 0, done.stderr
    # It is repeated from the same files.
    assert command_here("why", "new").returncode == 0


def test_keys_without_effect_are_one_warning(command_here: Command, star: Path) -> None:
    with (star / "c.txt").open("a") as file:
        file.write("PAUSE_TIME 5\nDATA_RATE 100Gb/s\nRP_TIMER 900\n")
    for arguments in ((), ("--scheme", "dcqcn")):
        done = command_here("run", "--hpcc", "c.txt", *arguments)
        assert done.returncode == 0, done.stderr
        told = "warning: c.txt: without effect under CC_MODE 3: RP_TIMER, PAUSE_TIME, DATA_RATE\n"
        assert done.stderr.count("without effect under CC_MODE") == done.stderr.count(told) == 1


def edit(old: str, new: str) -> Callable[[Path], None]:
    def change(folder: Path) -> None:
        text = (folder / "c.txt").read_text()
        assert old in text
        (folder / "c.txt").write_text(text.replace(old, new))

    return change


def put(name: str, text: str) -> Callable[[Path], None]:
    def change(folder: Path) -> None:
        (folder / name).write_text(text)

    return change


CONTROL = [
    (edit("U_TARGET", "U_TARGTE"), 'error: c.txt:{U_TARGTE}: there is no key "U_TARGTE"; did you mean U_TARGET?\n'),
    (edit("CC_MODE 3", "CC_MODE 10"), "error: c.txt:{CC_MODE}: CC_MODE is 10, HPCC-PINT, which is not implemented"),
]
WRONG = [
    (edit("flow.txt", "nowhere.txt"), "error: c.txt: FLOW_FILE names nowhere.txt, which cannot be read"),
    (edit("BUFFER_SIZE 32", "BUFFER_SIZE many"), 'BUFFER_SIZE is "many"'),
    (put("flow.txt", "2\n1 0 3 100 5 2\n"), "error: flow.txt:1: the first line says 2 flows, but there are 1"),
    (put("flow.txt", "1\n1 17 3 100 5 2\n"), "error: flow.txt:2: a flow to node 17, which is a switch"),
    (put("topo.txt", "3 1 2\n2\n0 2 10Gbps 1us 0\n1 2 fast 1us 0\n"), "error: topo.txt:4: "),
]


@pytest.mark.parametrize(
    ("change", "told", "scheme"),
    [
        *((change, told, scheme) for change, told in WRONG for scheme in ([], ["--scheme", "dcqcn"])),
        *((change, told, []) for change, told in CONTROL),
    ],
)
def test_what_is_wrong_is_told_with_file_and_line(
    command_here: Command, star: Path, change: Callable[[Path], None], told: str, scheme: list[str]
) -> None:
    change(star)
    for number, line in enumerate((star / "c.txt").read_text().splitlines(), 1):
        told = told.replace(f"{{{line.split()[0]}}}", str(number))
    done = command_here("run", "--hpcc", "c.txt", *scheme)
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    assert told in done.stderr
    assert not (star / "runs").exists()


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["nowhere.txt"], "nowhere.txt: cannot be read"),
        (["c.txt", "--seed", "2"], "need a --scheme"),
        (["c.txt", "--set", "network.buffer.pool=1 MB"], "need a --scheme"),
        (["c.txt", "c.txt"], "runs one configuration"),
        (["c.txt", "--scheme", "nonesuch"], '--scheme nonesuch: there is no scheme "nonesuch"'),
        (["c.txt", "--scheme", "dcqcn", "--trace"], "leave one of them out"),
        (["c.txt", "--scheme", "dcqcn", "--set", "network.bufer.pool=1 MB"], "bufer"),
        (["c.txt", "--htsim"], "files are of one simulator"),
    ],
)
def test_a_command_line_that_cannot_be(command_here: Command, star: Path, arguments: list[str], told: str) -> None:
    done = command_here("run", "--hpcc", *arguments)
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    assert told in done.stderr
    assert not (star / "runs").exists()


@pytest.mark.parametrize("scheme", [[], ["--scheme", "dcqcn"]])
def test_ctrl_c_keeps_what_there_was(star: Path, scheme: list[str]) -> None:
    short = [(src, 16, 1000, 2.0) for src in range(1, 16)]
    write_flows(star / "flow.txt", short + [(src, 0, 4_000_000_000, 2.0) for src in range(1, 16)])
    # Up to 2.2 s the run takes no longer than the signal does.
    settings = star / "c.txt"
    settings.write_text(re.sub(r"(SIMULATOR_STOP_TIME) .*", r"\1 20", settings.read_text()))
    code, out, err = interrupted(star, "run", "--hpcc", "c.txt", "--out", "kept", *scheme)
    assert code == 130, err
    assert "Traceback" not in err
    assert "cancelled at " in " ".join(out.split())
    kept = fanin.load(star / "kept")
    assert kept.cancelled
    # Finished flows are in the file, complete; the others are in the table.
    flows = hpcc.read_fct(star / "kept" / "fct.txt")
    assert (flows["dst"].to_list(), flows["bytes"].to_list()) == ([16] * 15, [1000] * 15)
    assert kept.flows().filter(pl.col("bytes") == 4_000_000_000)["completion_ps"].null_count() == 15


def test_a_trace_is_that_of_its_nodes(command_here: Command, star: Path) -> None:
    write_flows(star / "flow.txt", [(1, 0, 10_000, 2.0), (2, 0, 10_000, 2.0)])
    config(star, trace="trace.txt")
    assert command_here("run", "--hpcc", "c.txt", "--trace").returncode == 0
    trace = hpcc.read_trace(star / "runs" / "c" / "trace.tr")
    assert set(trace["node"]) == {17}
    data = trace.filter(pl.col("protocol") == 0x11)
    # Ten packets of 1000 B and 48 B of headers, each received, queued and sent; HPCC's telemetry is 42 B more.
    counts = dict(data.group_by("event").len().iter_rows())
    assert counts == {"received": 20, "enqueued": 20, "dequeued": 20}
    assert set(data["bytes"]) == {1090}
    assert trace["time_ns"].is_sorted()
    assert int(trace["time_ns"][0]) == 2_000_001_087
    # Without --trace the file stays away.
    assert command_here("run", "--hpcc", "c.txt", "--out", "plain").returncode == 0
    assert not (star / "plain" / "trace.tr").exists()
    assert (star / "plain" / "fct.txt").read_bytes() == (star / "runs" / "c" / "fct.txt").read_bytes()


@pytest.mark.parametrize("scheme", ["hpcc", "dart", "dcqcn", "dctcp", "newreno", "none"])
def test_another_scheme_runs_beside_it(command_here: Command, star: Path, scheme: str) -> None:
    background = [(1, 0, 3_000_000, 2.0), (2, 0, 3_000_000, 2.00001), (1, 0, 700, 2.00001), (3, 4, 5000, 2.00002)]
    lines = [f"{src} {dst} 3 100 {size} {start:.9f}\n" for src, dst, size, start in background]
    lines += [f"{src} 0 3 200 20000 2.000030000\n" for src in range(5, 15)]
    (star / "flow.txt").write_text(f"{len(lines)}\n" + "".join(lines))
    done = command_here("run", "--hpcc", "c.txt", "--scheme", scheme)
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("warning") == done.stderr.count("docs/ns3-hpcc.md lists what differs") == 1
    folder = star / "runs" / f"c-{scheme}"
    assert sorted(path.name for path in folder.glob("*.txt")) == ["fct.txt"]
    flows = hpcc.read_fct(folder / "fct.txt")
    exact = hpcc.run_hpcc("c.txt", folder=star, progress=False)
    exact.save(star / "exact")
    there = hpcc.read_fct(star / "exact" / "fct.txt")
    # The same flows with the same names and times alone, and times that are possible.
    same = ["src", "dst", "sport", "dport", "bytes", "start_ns", "standalone_ns"]
    by = ["src", "dst", "sport", "dport"]
    assert flows.select(same).sort(by).equals(there.select(same).sort(by))
    assert flows.sort("start_ns", "src", "sport")["sport"].to_list()[:4] == [10000, 10001, 10000, 10000]
    assert (flows["start_ns"] + flows["fct_ns"]).is_sorted()
    assert min(flows["fct_ns"].to_list()) > 4000
    result = fanin.load(folder)
    tables = result.flows().select("traffic", "scheme").unique().sort("traffic").cast(pl.String)
    assert tables.rows() == [("background", scheme), ("incast", scheme)]
    # What was run is a spec like any other.
    assert command_here("run", folder / "spec.resolved.toml", "--out", "again").returncode == 0
    again = fanin.load(star / "again").flows()["completion_ps"]
    assert again.equals(result.flows()["completion_ps"])


@pytest.mark.parametrize("scheme", ["none", "dcqcn"])
def test_a_fast_sender_does_not_know_that_its_receiver_is_slow(star: Path, scheme: str) -> None:
    (star / "topo.txt").write_text("3 1 2\n2\n0 2 400Gbps 1us 0\n1 2 100Gbps 1us 0\n")
    write_flows(star / "flow.txt", [(0, 1, 4_000_000, 2.0)])
    (star / "trace.txt").write_text("0\n")
    config(star, "dcqcn")
    result = hpcc.run_hpcc("c.txt", folder=star, scheme=scheme, progress=False)
    network = result.summary()["network"]
    if scheme == "none":
        # When the last of 4,000 packets arrives, the link to the receiver has begun a thousand.
        assert (network["peak_queue_bytes"], network["cnps"]) == (3_000 * 1048, 0)
    else:
        # Marks begin above 400 KB, 11 us after the first packet; the marked packet waits for 32 us, and its CNP comes
        # when half of the 4 MB has left.
        assert 470_000 < network["peak_queue_bytes"] < 3_000 * 1048
        assert network["cnps"] >= 1


def test_a_fast_sender_overruns_a_small_buffer() -> None:
    """Three of the bytes of four stay at the switch: 100 KB are full after 133 KB."""
    spec = {
        "spec_version": 1,
        "name": "overrun",
        "network": {
            "buffer": {"policy": "lossy", "per_port": "100 KB"},
            "topology": {
                "kind": "graph",
                "hosts": ["fast", "slow"],
                "switches": ["sw"],
                "links": [
                    {"between": ["fast", "sw"], "rate": "400 Gbps", "delay": "1 us"},
                    {"between": ["slow", "sw"], "rate": "100 Gbps", "delay": "1 us"},
                ],
            },
        },
        "traffic": [
            {
                "name": "write",
                "scheme": "none",
                "size": {"fixed": "1 MB"},
                "pattern": {"kind": "long", "senders": ["fast"], "receivers": ["slow"], "count": 1},
            }
        ],
        "measure": {"window": "100 us"},
    }
    network = fanin.run(spec, progress=False).summary()["network"]
    assert network["drops"]["buffer"] > 0
    assert 98_000 < network["peak_queue_bytes"] <= 100_000


def test_a_spec_made_of_a_configuration_says_what_it_says(star: Path) -> None:
    (star / "topo.txt").write_text(
        "5 2 5\n0 1\n2 0 100Gbps 1us 0\n3 1 25Gbps 2us 0.001\n4 1 100Gbps 1us 0\n0 1 400Gbps 500ns 0\n"
        "1 0 100Gbps 3us 0\n"
    )
    write_flows(star / "flow.txt", [(2, 3, 10_000, 2.0015), (2, 4, 10_000, 2.0015)])
    text = config(star, "dcqcn").read_text().replace("LINK_DOWN 0 0 0", "LINK_DOWN 2000 0 1")
    (star / "c.txt").write_text(text.replace("ERROR_RATE_PER_LINK 0", "ERROR_RATE_PER_LINK 0.002"))
    result = hpcc.run_hpcc("c.txt", folder=star, scheme="none", seed=3, progress=False)
    network: Any = result.spec["network"]
    traffic: Any = result.spec["traffic"]
    assert result.spec["seed"] == 3
    assert network["topology"]["hosts"] == ["h2", "h3", "h4"]
    assert network["topology"]["switches"] == ["s0", "s1"]
    # Of parallel links only the last one carries packets there, and all do here.
    assert network["topology"]["links"][3:] == [
        {"between": ["s0", "s1"], "rate": "400 Gbps", "delay": "500 ns"},
        {"between": ["s1", "s0"], "rate": "100 Gbps", "delay": "3 us"},
    ]
    assert network["buffer"]["pool"] == "33554.432 KB"
    red = {"kind": "red", "at": "dequeue", "probability": 0.2}
    assert network["marking_by_rate"] == [
        {"rate": "25 Gbps", "marking": red | {"min": "100 KB", "max": "400 KB"}},
        {"rate": "100 Gbps", "marking": red | {"min": "400 KB", "max": "1.6 MB"}},
        {"rate": "400 Gbps", "marking": red | {"min": "1.6 MB", "max": "6.4 MB"}},
    ]
    changes = {tuple(change["between"]): (change["error_rate"], change["down"]) for change in network["links"]}
    assert changes[("h3", "s1")] == (0.001, [])
    assert changes[("h2", "s0")] == (0.002, [])
    # Time starts at the whole millisecond before the first flow: 2.001 s, one before the link goes down.
    assert changes[("s1", "s0")] == (0.002, [["1 ms", "800000.001 s"]])
    assert traffic[0]["pattern"]["from"] == "2.001 s"
    assert result.flows()["start_ps"].to_list() == [500_000_000, 500_000_000]


numbers = st.integers(0, 2**32 - 1)
lines = st.lists(
    st.tuples(
        st.integers(0, 65_535),
        st.integers(0, 65_535),
        st.integers(10_000, 65_535),
        st.integers(0, 65_535),
        st.integers(1, 2**32 - 1),
        st.integers(0, 10**12),
        st.integers(1, 10**12),
        st.integers(1, 10**12),
    ),
    min_size=1,
    max_size=60,
)


def address(node: int) -> str:
    return f"{0x0B000001 + node // 256 * 0x10000 + node % 256 * 0x100:08x}"


@cases
@given(lines)
def test_an_fct_file_reads_as_it_was_written(
    tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[int, ...]]
) -> None:
    path = tmp_path_factory.mktemp("fct") / "fct.txt"
    path.write_text("".join(" ".join([address(s), address(d), *map(str, rest)]) + "\n" for s, d, *rest in rows))
    frame = hpcc.read_fct(path)
    assert [row[:-1] for row in frame.iter_rows()] == rows
    assert frame["slowdown"].to_list() == [max(1.0, row[6] / row[7]) for row in rows]


@cases
@given(lines, st.integers(1, 30))
def test_slowdowns_by_size_are_of_all_flows(rows: list[tuple[int, ...]], bins: int) -> None:
    names = ["src", "dst", "sport", "dport", "bytes", "start_ns", "fct_ns", "standalone_ns"]
    frame = pl.DataFrame(rows, schema=names, orient="row").with_columns(
        slowdown=(pl.col("fct_ns") / pl.col("standalone_ns")).clip(lower_bound=1.0)
    )
    cut = hpcc.slowdown_by_size(frame, bins)
    assert cut["flows"].sum() == len(rows)
    assert max(cut["flows"].to_list()) - min(cut["flows"].to_list()) <= 1
    assert cut["largest_bytes"].is_sorted()
    assert cut["largest_bytes"][-1] == max(row[4] for row in rows)
    whole = hpcc.slowdown_by_size(frame, 1)
    ordered = sorted(frame["slowdown"].to_list())
    for percent in hpcc.PERCENTILES:
        assert whole[f"p{percent}"][0] == ordered[len(rows) * percent // 100]
        assert (cut["p50"] <= cut[f"p{percent}"]).all()


def test_a_trace_that_is_none_is_refused(tmp_path: Path) -> None:
    for data in (b"", b"abc", b"\x05\x00\x00\x00short"):
        (tmp_path / "trace.tr").write_bytes(data)
        with pytest.raises(ValueError, match=r"trace\.tr"):
            hpcc.read_trace(tmp_path / "trace.tr")


def test_an_empty_fct_file_has_no_flows(tmp_path: Path) -> None:
    (tmp_path / "fct.txt").write_text("")
    frame = hpcc.read_fct(tmp_path / "fct.txt")
    assert frame.height == 0
    assert frame.columns[:2] == ["src", "dst"]
    assert hpcc.slowdown_by_size(frame).height == 0


def frame_of(sizes: list[int], slowdown: float) -> pl.DataFrame:
    rows = [(1, 0, 10000 + i, 100, size, i, 1, 1, slowdown) for i, size in enumerate(sizes)]
    names = ["src", "dst", "sport", "dport", "bytes", "start_ns", "fct_ns", "standalone_ns", "slowdown"]
    return pl.DataFrame(rows, schema=names, orient="row")


def test_slowdowns_are_drawn_with_each_frame_in_its_colour(tmp_path: Path) -> None:
    sizes = [20 * (i + 1) for i in range(500)]
    frames = {"theirs": frame_of(sizes, 2.0), "ours": frame_of(sizes, 2.0), "other": frame_of(sizes, 4.0)}
    ax = hpcc.plot_slowdown(frames | {"none": frame_of([], 1.0)})
    assert isinstance(ax.figure, Figure)
    ax.figure.savefig(tmp_path / "slowdown.png")
    assert (tmp_path / "slowdown.png").stat().st_size > 10_000
    curves = ax.get_lines()
    assert [curve.get_color() for curve in curves[::3]] == ["#0072B2", "#D55E00", "#009E73"]
    # Equal ones are both seen; five bins of a hundred flows each.
    assert curves[0].get_linewidth() > 2 * curves[3].get_linewidth()
    assert np.array_equal(curves[0].get_xdata(), [2000, 4000, 6000, 8000, 10_000])
    assert np.array_equal(curves[6].get_ydata(), [4.0] * 5)
    legend = ax.get_legend()
    assert legend is not None
    texts = [text.get_text() for text in legend.get_texts()]
    assert texts == [
        "theirs (500 flows)",
        "ours (500 flows)",
        "other (500 flows)",
        "none (0 flows)",
        "p99",
        "p95",
        "p50",
    ]
    # On axes of one's own.
    assert hpcc.plot_slowdown({"ours": frames["ours"]}, ax=ax, bins=2) is ax
