"""The second program: whole runs break no law, and what is wrong in a folder is found by it."""

import json
import os
import random
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import fanin
from fanin import _core
from fanin.cli import CommandError, app
from fanin.run_folder import RunError

ROOT = Path(__file__).parents[1]
CASES = min(int(os.environ.get("FANIN_CASES", "20")), 400) // 50 + 5
"""Random specs; each takes a second."""


def spec(rng: random.Random) -> dict[str, Any]:
    """A small network with anything that a law has to know."""
    kind = rng.choice(["star", "leaf-spine", "dumbbell", "parking-lot"])
    shapes: dict[str, dict[str, Any]] = {
        "star": {"hosts": 6},
        "leaf-spine": {"leaves": 3, "hosts": 3, "spines": 2, "fabric_link": "7 Gbps"},
        "dumbbell": {"left": 4, "right": 3, "bottleneck": "10 Gbps"},
        "parking-lot": {"switches": 3, "hosts": 3, "chain_link": "40 Gbps", "chain_delay": "3 us"},
    }
    link = {"link": rng.choice(["10 Gbps", "25 Gbps"]), "delay": rng.choice(["1 us", "1234567 ps"])}
    size = rng.choice([{"per_port": "60 KB"}, {"per_port": "300 KB"}, {"pool": "1 MB"}])
    marking = rng.choice(
        [
            {"kind": "step", "above": "10 KB", "at": "enqueue"},
            {"kind": "step", "above": "15220 B"},
            {
                "kind": "red",
                "min": "5 KB",
                "max": "30 KB",
                "probability": 0.3,
                "at": rng.choice(["enqueue", "dequeue"]),
            },
        ]
    )
    schemes = ["none", "dcqcn", "hpcc", "dctcp", "swift", {"id": "fixed-window", "packets": 10}]
    patterns = [{"kind": "incast", "degree": 4}, {"kind": "permutation"}]
    network: dict[str, Any] = {
        "topology": {"kind": kind, **shapes[kind], **link},
        "buffer": {"policy": rng.choice(["lossless", "lossy"]), **size},
        "marking": marking,
    }
    if rng.random() < 0.25:
        network["balancing"] = rng.choice(["random", "flowlets"])
    if rng.random() < 0.25:
        network["packet"] = {"payload": "1000 B", "header": "48 B", "ack": "60 B", "cnp": "60 B"}
    if rng.random() < 0.25:
        network["release"] = "last-bit"
    # TCP counts SYNs and SACK as ACKs, which short ones are not.
    chosen = [rng.choice(schemes[:3] if "packet" in network else schemes) for _ in range(2)]
    return {
        "spec_version": 1,
        "name": "certified",
        "seed": rng.randrange(1, 1000),
        "network": network,
        "traffic": [
            {
                "name": f"t{number}",
                "scheme": scheme,
                "pattern": rng.choice(patterns),
                "size": {"fixed": rng.choice(["999 B", "50 KB", "200 KB"])},
            }
            for number, scheme in enumerate(chosen)
        ],
        "measure": {
            "window": "300 us",
            "drain_limit": "20 ms",
            "allow_drops": True,
            "capture": {"links": "all", "max_size": "60 MB"},
        },
    }


@pytest.mark.parametrize("number", range(CASES))
def test_the_capture_of_a_random_run_breaks_no_law(number: int, tmp_path: Path) -> None:
    run = spec(random.Random(number))
    found = fanin.certify(fanin.run(run, progress=False).save(tmp_path / "run"))
    assert found.ok, [(law.law, law.first[:2]) for law in found.laws if law.violations]
    checked = {law.law for law in found.laws if law.checked}
    assert {"rate", "conserved", "unchanged", "order", "eager", "tables"} <= checked, run


@pytest.mark.parametrize("number", range(3))
def test_runs_on_gpu_servers_break_no_law(number: int, tmp_path: Path) -> None:
    run = spec(random.Random(number))
    of = {"servers": 2, "gpus": 3, "spines": 2, "link": "25 Gbps", "delay": "500 ns", "nvlink": "100 Gbps"}
    run["network"]["topology"] = {"kind": "rails", **of}
    run["network"]["buffer"] = {
        "policy": "lossless",
        "per_port": "60 KB",
        "by_rate": [{"rate": "100 Gbps", "per_port": "90 KB"}],
    }
    found = fanin.certify(fanin.run(run, progress=False).save(tmp_path / "run"))
    assert found.ok, [(law.law, law.first[:2]) for law in found.laws if law.violations]
    laws = {law.law: law for law in found.laws}
    assert laws["rate"].checked > 0
    assert laws["eager"].checked > 0
    assert laws["headroom"].not_checked == "ports of some rates have buffers of their own"
    assert found.packets > 100


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("certify")
    run = spec(random.Random(0))
    run["network"] = {
        "topology": {"kind": "star", "hosts": 6, "link": "10 Gbps", "delay": "1 us"},
        "buffer": {"policy": "lossless", "per_port": "30 KB"},
        "marking": {"kind": "step", "above": "7610 B"},
    }
    run["traffic"] = [
        {**run["traffic"][0], "scheme": "none", "pattern": {"kind": "incast", "degree": 4}, "size": {"fixed": "200 KB"}}
    ]
    return fanin.run(run, progress=False).save(place / "run")


def blocks(capture: bytes) -> list[bytes]:
    """The blocks of a capture."""
    parts, at = [], 0
    while at < len(capture):
        (length,) = struct.unpack_from("<I", capture, at + 4)
        parts.append(capture[at : at + length])
        at += length
    return parts


def is_pause(block: bytes) -> bool:
    return block[:4] == b"\6\0\0\0" and block[40:42] == b"\x88\x08"


def drop_pauses(parts: list[bytes]) -> list[bytes]:
    return [block for block in parts if not is_pause(block)]


def move_pauses(parts: list[bytes]) -> list[bytes]:
    """Pauses tell of another class."""
    # The classes that are told of: from 1 to 2.
    return [block[:45] + b"\4" + block[46:] if is_pause(block) else block for block in parts]


def later(parts: list[bytes]) -> list[bytes]:
    """The run is a picosecond later from the middle on, but for what was under way."""
    middle = len(parts) // 2
    late = []
    for number, block in enumerate(parts):
        if number > middle and block[:4] == b"\6\0\0\0":
            high, low = struct.unpack_from("<II", block, 12)
            time = (high << 32 | low) + 1
            block = block[:12] + struct.pack("<II", time >> 32, time & 0xFFFFFFFF) + block[20:]
        late.append(block)
    return late


@pytest.mark.parametrize(
    ("change", "laws"),
    [
        (drop_pauses, {"pfc-cause", "tables"}),
        (move_pauses, {"pfc-cause"}),
        (later, {"eager"}),
    ],
)
def test_a_change_of_the_capture_is_found(
    folder: Path, tmp_path: Path, change: Callable[[list[bytes]], list[bytes]], laws: set[str]
) -> None:
    assert fanin.certify(folder).ok
    capture = (folder / "capture.pcapng").read_bytes()
    parts = blocks(capture)
    assert any(is_pause(block) for block in parts)
    (tmp_path / "spec.resolved.toml").write_bytes((folder / "spec.resolved.toml").read_bytes())
    (tmp_path / "capture.pcapng").write_bytes(b"".join(change(parts)))
    result = fanin.load(folder)
    facts = {
        "ports": {
            row["port"]: [row["packets"], row["bytes"], row["marked_packets"], 0]
            for row in result.ports().iter_rows(named=True)
        }
    }
    told = json.loads(_core.certify(str(tmp_path), json.dumps(facts)))
    assert laws <= {law["law"] for law in told["laws"] if law["violations"]}


def test_the_command_ends_with_1_where_a_law_is_broken(folder: Path, tmp_path: Path) -> None:
    runner = CliRunner()
    done = runner.invoke(app, ["certify", str(folder)])
    assert done.exit_code == 0
    assert "no law is broken in" in done.stdout
    other = tmp_path / "slower"
    other.mkdir()
    for file in folder.iterdir():
        (other / file.name).write_bytes(file.read_bytes())
    text = (other / "spec.resolved.toml").read_text().replace('link = "10 Gbps"', 'link = "9.9 Gbps"')
    (other / "spec.resolved.toml").write_text(text)
    done = runner.invoke(app, ["--no-verify", "certify", str(other), "--json"])
    assert done.exit_code == 1
    told = json.loads(done.stdout)
    rate = next(law for law in told["laws"] if law["law"] == "rate")
    assert not told["ok"]
    assert rate["violations"] > len(rate["first"]) == 20


def test_what_cannot_be_certified_says_why(folder: Path, tmp_path: Path) -> None:
    without: dict[str, Any] = {**fanin.load(folder).spec}
    without["measure"] = {key: value for key, value in without["measure"].items() if key != "capture"}
    saved = fanin.run(without, progress=False).save(tmp_path / "without")
    with pytest.raises(RunError, match=r"capture\.pcapng: .*measure\.capture = \{ links = \"all\""):
        fanin.certify(saved)
    done = CliRunner().invoke(app, ["certify", str(tmp_path / "x.tr")])
    assert isinstance(done.exception, CommandError)
    assert "--config FILE names the configuration" in str(done.exception)
    with pytest.raises(RunError, match=r"README\.md:3: there is no key"):
        fanin.certify(tmp_path / "x.tr", config=ROOT / "README.md")


CONFIG = """
CC_MODE 1
ENABLE_QCN 1
ENABLE_TRACE 1
PACKET_PAYLOAD_SIZE 1000
TOPOLOGY_FILE topology.txt
FLOW_FILE flows.txt
TRACE_FILE trace.txt
TRACE_OUTPUT_FILE mix.tr
FCT_OUTPUT_FILE fct.txt
PFC_OUTPUT_FILE pfc.txt
QLEN_MON_FILE qlen.txt
SIMULATOR_STOP_TIME 2.01
ALPHA_RESUME_INTERVAL 1
RATE_DECREASE_INTERVAL 4
RP_TIMER 300
EWMA_GAIN 0.00390625
FAST_RECOVERY_TIMES 1
RATE_AI 50Mb/s
RATE_HAI 50Mb/s
MIN_RATE 1000Mb/s
ERROR_RATE_PER_LINK 0
L2_CHUNK_SIZE 4000
L2_ACK_INTERVAL 1
L2_BACK_TO_ZERO 0
HAS_WIN 0
GLOBAL_T 1
RATE_BOUND 1
ACK_HIGH_PRIO 0
LINK_DOWN 0 0 0
KMAX_MAP 1 10000000000 40
KMIN_MAP 1 10000000000 10
PMAX_MAP 1 10000000000 0.2
BUFFER_SIZE 1
QLEN_MON_START 2000000000
QLEN_MON_END 2000000001
"""


def test_a_trace_of_the_ns3_network_breaks_no_law_until_it_is_changed(tmp_path: Path) -> None:
    (tmp_path / "config.txt").write_text(CONFIG)
    links = "".join(f"{host} 5 10Gbps 1000ns 0\n" for host in range(5))
    (tmp_path / "topology.txt").write_text(f"6 1 5\n5\n{links}")
    (tmp_path / "trace.txt").write_text("6\n0 1 2 3 4 5\n")
    (tmp_path / "flows.txt").write_text("4\n" + "".join(f"{host} 0 3 100 100000 2.0\n" for host in range(1, 5)))
    fanin.run_hpcc(tmp_path / "config.txt", trace=True).save(tmp_path / "run")
    trace = tmp_path / "run" / "trace.tr"
    found = fanin.certify(trace, config=tmp_path / "config.txt")
    laws = {law.law: law for law in found.laws}
    assert found.ok, [(law.law, law.first[:2]) for law in found.laws if law.violations]
    for law in ("rate", "flight", "queues", "conserved", "order", "eager", "marks", "pfc-obeyed", "sequence", "acks"):
        assert laws[law].checked >= 400, law
    assert laws["tables"].not_checked == "no table of ports was given"
    # The length of the queue of one of the records, after the header, of packets that join a queue of a switch.
    data = bytearray(trace.read_bytes())
    begin = 4 + 11 * 10 + 4
    at = next(at for at in range(begin + 56 * 2000, len(data), 56) if data[at + 27] == 1 and data[at + 29] == 1)
    (queued,) = struct.unpack_from("<I", data, at + 12)
    struct.pack_into("<I", data, at + 12, queued + 1)
    trace.write_bytes(data)
    broken = {law.law for law in fanin.certify(trace, config=tmp_path / "config.txt").laws if law.violations}
    assert broken == {"queues"}
    trace.write_bytes(bytes(data) + b"abc")
    with pytest.raises(RunError, match="the last record has 3 of 56 bytes"):
        fanin.certify(trace, config=tmp_path / "config.txt")


def test_every_law_is_on_its_page() -> None:
    page = (ROOT / "docs" / "certify.md").read_text(encoding="utf-8")
    assert [name for name, _ in _core.certify_laws() if f"| `{name}` |" not in page] == []
