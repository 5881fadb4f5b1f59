"""Captures that Wireshark reads and timelines that Perfetto opens, against the tables of the same run."""

import itertools
import shutil
import struct
import subprocess
import zlib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import fanin
from conftest import ROOT

SPEC = """
spec_version = 1
name = "traces"
seed = 1

[network]
topology = { kind = "leaf-spine", leaves = 2, hosts = 3, spines = 1, link = "10 Gbps", delay = "1 us" }
buffer = { per_port = "60 KB", policy = "lossless" }
marking = { kind = "step", above = "10 KB" }

[[traffic]]
name = "queries"
scheme = "dcqcn"
pattern = { kind = "incast", degree = 4, senders = ["h1", "h2", "h3", "h4"], receivers = ["h0"] }
size = { fixed = "100 KB" }

[[traffic]]
name = "web"
scheme = "dctcp"
pattern = { kind = "long", count = 1, senders = ["h5"], receivers = ["h0"] }

[measure]
window = "1 ms"
"""
TRACES = """
capture = { links = ["leaf0>h0", "h0>leaf0", "leaf0>spine0", "spine0>leaf0"], snaplen = "2 KB" }
perfetto = {}
"""
IPV4 = b"\x08\x00"
LINKS = ["h0>leaf0", "leaf0>h0", "leaf0>spine0", "spine0>leaf0"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("traces")
    (place / "traced.toml").write_text(SPEC + TRACES)
    return fanin.run(place / "traced.toml", progress=False).save(place / "run")


@pytest.fixture(scope="module")
def traced(folder: Path) -> fanin.Result:
    return fanin.load(folder)


def blocks(path: Path) -> Iterator[tuple[int, bytes]]:
    """Types and bodies of a capture's blocks."""
    data = path.read_bytes()
    at = 0
    while at < len(data):
        kind, length = struct.unpack_from("<II", data, at)
        assert struct.unpack_from("<I", data, at + length - 4) == (length,)
        yield kind, data[at + 8 : at + length - 4]
        at += length


def packets(path: Path) -> list[tuple[str, int, int, bytes]]:
    """Link, time, bytes on the wire and bytes kept of a capture's packets."""
    names, found = [], []
    for kind, body in blocks(path):
        if kind == 1:
            (length,) = struct.unpack_from("<H", body, 10)
            names.append(body[12 : 12 + length].decode())
        elif kind == 6:
            interface, high, low, kept, original = struct.unpack_from("<IIIII", body)
            found.append((names[interface], high << 32 | low, original, body[20 : 20 + kept]))
    return found


def dissect(tshark: str, capture: Path, only: str, *fields: str) -> list[list[str]]:
    """These fields of the packets that a display filter lets through."""
    options = ["-o", "eth.check_fcs:TRUE", "-o", "ip.check_checksum:TRUE", "-o", "tcp.check_checksum:TRUE"]
    command = [tshark, "-n", "-r", str(capture), *options, "-Y", only, "-T", "fields"]
    for field in fields:
        command += ["-e", field]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return [line.split("\t") for line in done.stdout.splitlines()]


def test_a_capture_has_the_packets_and_bytes_of_its_links(folder: Path, traced: fanin.Result) -> None:
    found = packets(folder / "capture.pcapng")
    ports = traced.ports().filter(pl.col("port").is_in(LINKS))
    assert Counter(link for link, *_ in found) == dict(ports.select("port", "packets").rows())
    on_link: dict[str, list[tuple[int, int]]] = {link: [] for link in LINKS}
    for link, time, original, kept in found:
        assert len(kept) == min(original, 2000)
        # A SYN is 70 B with its options; the simulator counts an ACK of 66 B for it.
        syn = kept[12:14] == b"\x08\x00" and kept[23] == 6 and kept[47] & 2 != 0
        on_link[link].append((time, original - 4 * syn))
    # The other default sizes are those of real headers, so the lengths are the simulator's to the byte.
    assert {link: sum(size for _, size in sent) for link, sent in on_link.items()} == dict(
        ports.select("port", "bytes").rows()
    )
    for sent in on_link.values():
        # Picoseconds: a packet leaves when the one before it has left, at 10 Gb/s, or later.
        gaps = [later - time - 800 * size for (time, size), (later, _) in itertools.pairwise(sent)]
        assert min(gaps) == 0


def test_packets_of_a_run_are_a_table(folder: Path, traced: fanin.Result) -> None:
    table = traced.packets()
    ports = traced.ports().filter(pl.col("port").is_in(LINKS))
    # Pauses are no packets.
    frames = [
        (link, time, size) for link, time, size, kept in packets(folder / "capture.pcapng") if kept[12:14] == IPV4
    ]
    assert table.select("port", "time_ps", "wire_bytes").rows() == frames
    assert 0 < ports["packets"].sum() - table.height < 100
    web = table.filter(pl.col("payload_bytes") > 0, port="leaf0>h0")
    long = traced.flows().row(by_predicate=pl.col("traffic") == "web", named=True)
    assert (web["sender"].unique().item(), web["receiver"].unique().item()) == (long["src"], long["dst"])
    assert web["seq"][0] == 1
    assert (web["seq"].diff().drop_nulls() == web["payload_bytes"][:-1]).all()
    assert web["marked"].sum() == long["packets_marked"]
    # The SYN counts as a byte, and an ACK may wait for a second packet.
    last = max(table.filter(port="h0>leaf0")["ack"].drop_nulls())
    assert 0 <= long["delivered_bytes"] - (last - 1) <= 1460
    queries = table.filter(pl.col("opcode") <= 2, port="leaf0>h0")
    for sender in (1, 2, 3, 4):
        assert queries.filter(sender=sender)["psn"].to_list()[:69] == list(range(69))
    assert table.filter(opcode=0x81, port="h0>leaf0").height == traced.summary()["network"]["cnps"]
    assert table.filter(pl.col("seq").is_null() == pl.col("psn").is_null()).is_empty()


def test_packets_are_the_same_from_memory_and_without_payloads(traced: fanin.Result, tmp_path: Path) -> None:
    (tmp_path / "traced.toml").write_text(SPEC + TRACES.replace("2 KB", "64 B"))
    run = fanin.run(tmp_path / "traced.toml", progress=False)
    assert run.packets().equals(traced.packets())
    assert fanin.load(run.save(tmp_path / "run")).packets().equals(traced.packets())


def test_without_a_capture_packets_are_an_error(result: fanin.Result, tmp_path: Path) -> None:
    for run in (result, fanin.load(result.save(tmp_path / "run"))):
        with pytest.raises(fanin.RunError, match=r"packets were not captured; set measure\.capture"):
            run.packets()


def test_a_damaged_capture_is_an_error(folder: Path, tmp_path: Path) -> None:
    run = fanin.load(shutil.copytree(folder, tmp_path / "run"))
    capture = tmp_path / "run" / "capture.pcapng"
    whole = capture.read_bytes()
    for damaged in (whole[:-1], whole[: len(whole) // 2 + 2], b"\0" * 64, whole[:4] + b"\0\0\0\0" + whole[8:]):
        capture.write_bytes(damaged)
        with pytest.raises(fanin.RunError, match=r"capture\.pcapng is damaged: "):
            run.packets()
    for at in range(1000):
        capture.write_bytes(whole[:at] + bytes([whole[at] ^ 0x55]) + whole[at + 1 : 4000])
        with pytest.raises(fanin.RunError):
            run.packets()


def test_wireshark_finds_nothing_wrong(tshark: str, folder: Path, traced: fanin.Result) -> None:
    capture = folder / "capture.pcapng"
    total = traced.ports().filter(pl.col("port").is_in(LINKS))["packets"].sum()
    rows = dissect(tshark, capture, "frame", "frame.interface_name", "eth.fcs.status", "_ws.col.Info")
    assert len(rows) == total
    assert {status for _, status, _ in rows} == {"1"}, "every frame check sequence is right"
    assert not [info for *_, info in rows if "alformed" in info]
    for wrong in ("_ws.malformed", "_ws.short", "ip.checksum.status == 0", "tcp.checksum.status == 0"):
        assert not dissect(tshark, capture, wrong, "frame.number")


def test_rdma_is_rocev2(tshark: str, folder: Path, traced: fanin.Result) -> None:
    capture = folder / "capture.pcapng"
    fields = ["infiniband.bth.opcode", "infiniband.bth.psn", "infiniband.bth.destqp", "udp.dstport", "ip.dsfield.ecn"]
    last_hop = 'frame.interface_name == "leaf0>h0" && infiniband'
    rows = [tuple(int(value, 0) for value in row) for row in dissect(tshark, capture, last_hop, *fields)]
    assert {opcode for opcode, *_ in rows} == {0, 1, 2}, "SEND first, middle, last"
    assert {port for _, _, _, port, _ in rows} == {4791}
    queries = traced.flows().filter(pl.col("traffic") == "queries")
    assert Counter(qp for _, _, qp, *_ in rows).total() == queries["packets_arrived"].sum()
    for qp in {qp for _, _, qp, *_ in rows}:
        # 100 KB in packets of 1460 B, in order: nothing is lost here.
        assert [psn for _, psn, of, *_ in rows if of == qp] == list(range(69))
    assert sum(ecn == 3 for *_, ecn in rows) == queries["packets_marked"].sum() > 0
    back = 'frame.interface_name == "h0>leaf0" && infiniband'
    answers = Counter(int(row[0]) for row in dissect(tshark, capture, back, "infiniband.bth.opcode"))
    assert answers[0x81] == traced.summary()["network"]["cnps"] > 0
    assert set(answers) == {0x11, 0x81}


def test_tcp_is_a_stream_without_holes(tshark: str, folder: Path) -> None:
    capture = folder / "capture.pcapng"
    link = 'frame.interface_name == "leaf0>h0" && tcp'
    rows = dissect(tshark, capture, link, "tcp.flags.syn", "tcp.seq_raw", "tcp.len", "tcp.nxtseq")
    assert rows[0][:3] == ["1", "0", "0"]
    sent = [(int(seq), int(length)) for syn, seq, length, _ in rows if syn == "0" and length != "0"]
    assert len(sent) > 100
    expected = 1
    for seq, length in sent:
        assert seq == expected
        expected += length
    (answer, *_) = dissect(tshark, capture, 'frame.interface_name == "h0>leaf0" && tcp.flags.syn == 1', "tcp.flags.ack")
    assert answer == ["1"]
    offered = dissect(tshark, capture, "tcp.flags.syn == 1", "tcp.options.mss_val", "tcp.options.wscale.shift")
    assert {tuple(row) for row in offered} == {("1460", "6")}


def test_pauses_are_frames_of_802_1qbb(tshark: str, folder: Path, traced: fanin.Result) -> None:
    capture = folder / "capture.pcapng"
    for link, paused in (("leaf0>spine0", "spine0>leaf0"), ("spine0>leaf0", "leaf0>spine0")):
        only = f'frame.interface_name == "{link}" && macc'
        rows = dissect(tshark, capture, only, "macc.opcode", "macc.cbfc.enbv", "macc.cbfc.pause_time.c1")
        pauses = [row for row in rows if row == ["0x0101", "0x0002", "65535"]]
        resumes = [row for row in rows if row == ["0x0101", "0x0002", "0"]]
        assert len(pauses) + len(resumes) == len(rows)
        assert len(pauses) == traced.ports().filter(pl.col("port") == paused)["pauses"].item()
    assert traced.ports()["pauses"].sum() > 0


HPCC = """
spec_version = 1
name = "telemetry"
seed = 1

[network]
topology = { kind = "leaf-spine", leaves = 2, hosts = 3, spines = 1, link = "10 Gbps", delay = "1 us" }
buffer = { per_port = "200 KB", policy = "lossless" }

[[traffic]]
name = "fan-in"
scheme = { id = "hpcc", wire_unit = 2 }
pattern = { kind = "incast", degree = 2, senders = ["h3", "h4"], receivers = ["h0"] }
size = { fixed = "100 KB" }

[measure]
window = "1 ms"
"""
WAY = ["h3>leaf1", "leaf1>spine0", "spine0>leaf0", "leaf0>h0"]
BACK = ["h0>leaf0", "leaf0>spine0", "spine0>leaf1", "leaf1>h3"]
TELEMETRY_PORT = 1021


def telemetry(frame: bytes) -> tuple[int, int, list[tuple[int, int, int, int]], bytes]:
    """nHop, pathID, the records (B, TS, txBytes, qLen) and the bytes behind them, of a frame with telemetry (HPCC Fig.
    7)."""
    assert struct.unpack_from(">H", frame, 36) == (TELEMETRY_PORT,)
    (head,) = struct.unpack_from(">H", frame, 42)
    hops = head >> 12
    records = []
    for (bits,) in struct.iter_unpack(">Q", frame[44 : 44 + 8 * hops]):
        records.append((bits >> 60, bits >> 36 & 0xFF_FFFF, bits >> 16 & 0xF_FFFF, bits & 0xFFFF))
    return hops, head & 0xFFF, records, frame[44 + 8 * hops :]


def test_telemetry_is_what_switches_knew_and_acks_carry_it_back(tshark: str, tmp_path: Path) -> None:
    links = ", ".join(f'"{link}"' for link in WAY + BACK)
    (tmp_path / "x.toml").write_text(f'{HPCC}\ncapture = {{ links = [{links}], snaplen = "2 KB" }}\n')
    run = fanin.run(tmp_path / "x.toml", progress=False)
    capture = run.save(tmp_path / "run") / "capture.pcapng"
    found = packets(capture)
    ports = run.ports().filter(pl.col("port").is_in(WAY + BACK))
    sent: Counter[str] = Counter()
    data: dict[str, list[bytes]] = {link: [] for link in WAY}
    acks: dict[str, list[bytes]] = {link: [] for link in BACK}
    # Hosts are nodes 0 to 5, leaves 6 and 7, the spine 8.
    paths = {"h3>leaf1": 0, "leaf1>spine0": 7, "spine0>leaf0": 7 ^ 8, "leaf0>h0": 7 ^ 8 ^ 6}
    queued = 0
    for link, time, original, frame in found:
        if link in data:
            hops, path, records, rest = telemetry(frame)
            assert (hops, path, rest[0]) == (WAY.index(link), paths[link], rest[0] & 3)
            if hops > 0:
                speed, stamp, tx_bytes, queue = records[-1]
                # 10 Gb/s; nanoseconds; bytes sent before, in units of 256 B.
                assert (speed, stamp, tx_bytes) == (6, time // 1000 % 2**24, sent[link] // 256)
                queued = max(queued, queue * 160)
            data[link].append(frame[42 : 44 + 8 * hops])
        else:
            assert (telemetry(frame)[0], telemetry(frame)[3][0]) == (3, 0x11)
            acks[link].append(frame[42:68])
        sent[link] += original
    assert dict(sent) == dict(ports.select("port", "bytes").rows()), "lengths are the simulator's"
    assert 1000 < queued <= max(run.ports()["peak_queue_bytes"].to_list())
    # One ACK per data packet, with its very bytes, and none added on the way back. The last links have one flow of two.
    last, first = data["leaf0>h0"], acks["h0>leaf0"]
    assert len(last) > 100
    assert first == last
    assert first == acks["leaf0>spine0"] == acks["spine0>leaf1"]
    assert set(acks["leaf1>h3"]) <= set(first)
    assert len(acks["leaf1>h3"]) == len(data["h3>leaf1"])

    rows = dissect(tshark, capture, "udp", "udp.dstport", "udp.length", "ip.len", "eth.fcs.status", "_ws.col.Protocol")
    assert len(rows) == len(found)
    for port, udp_length, ip_length, status, protocol in rows:
        assert (int(port), int(udp_length), status, protocol) == (TELEMETRY_PORT, int(ip_length) - 20, "1", "UDP")
    for wrong in ("_ws.malformed", "_ws.short", "ip.checksum.status == 0"):
        assert not dissect(tshark, capture, wrong, "frame.number")


IRN = """
spec_version = 1
name = "selective"
seed = 3

[network]
topology = { kind = "star", hosts = 2, link = "10 Gbps", delay = "1 us" }
buffer = { policy = "unlimited" }
links = [{ between = ["h0", "sw0"], error_rate = 0.02 }]

[[traffic]]
name = "web"
scheme = "none"
pattern = { kind = "long", count = 1, senders = ["h0"], receivers = ["h1"] }
rdma = { recovery = "irn" }

[measure]
window = "1 ms"
capture = { links = ["sw0>h1", "h1>sw0"] }
"""


def test_a_nack_of_selective_retransmission_names_what_is_missing_and_what_arrived(tmp_path: Path) -> None:
    (tmp_path / "irn.toml").write_text(IRN)
    result = fanin.run(tmp_path / "irn.toml", progress=False)
    nacks, kept, comes = 0, set[int](), list[tuple[int, int]]()
    expected = last = 0
    for link, at, length, frame in packets(result.save(tmp_path / "run") / "capture.pcapng"):
        if link == "sw0>h1":
            # 1 us behind its last bit at 10 Gb/s; times are those of the first bit.
            comes.append((at + 800 * length + 1_000_000, int.from_bytes(frame[51:54], "big")))
        elif frame[54] >> 5 == 3:
            while comes and comes[0][0] <= at:
                last = comes.pop(0)[1]
                kept.add(last)
                while expected in kept:
                    expected += 1
            # From h1 (node 1) to h0 (node 0), over the switch (node 2), IPv4 and UDP: an acknowledgement of RoCEv2.
            assert frame[:14] == bytes.fromhex("020000000003 020000000002 0800")
            assert frame[14:15] + frame[23:24] + frame[26:34] == bytes.fromhex("45 11 0a000002 0a000001")
            assert frame[36:38] + frame[42:43] == bytes.fromhex("12b7 11")
            # PSN: the packet expected. AETH: NACK of a sequence error, and for MSN the packet that arrived.
            assert frame[51:58] == expected.to_bytes(3, "big") + b"\x60" + last.to_bytes(3, "big")
            # A second packet number makes it four bytes longer than an ACK, which has 66.
            assert (length, len(frame), frame[62:66]) == (70, 70, bytes(4))
            assert zlib.crc32(frame[:66]) == int.from_bytes(frame[66:], "little")
            nacks += 1
    assert nacks == result.summary()["network"]["nacks"] > 20


def test_a_full_capture_ends_at_a_packet_and_says_so(tmp_path: Path) -> None:
    spec = tmp_path / "full.toml"
    spec.write_text(SPEC + 'capture = { links = "all", max_size = "40 KB" }\nperfetto = { max_size = "10 KB" }\n')
    run = fanin.run(spec, progress=False)
    folder = run.save(tmp_path / "run")
    capture, trace = folder / "capture.pcapng", folder / "trace.perfetto-trace"
    # Room is reserved for the statistics of each link at the end.
    assert 35_000 < capture.stat().st_size <= 40_000
    assert 8_000 < trace.stat().st_size <= 10_000
    found = packets(capture)
    kept, sent = len(found), run.ports()["packets"].sum()
    told = run.events().filter(pl.col("kind") == "warning")["detail"].to_list()
    assert told[0] == f"{sent - kept} packets beyond the 40000 B of capture.pcapng were left out"
    assert "events beyond the 10000 B of trace.perfetto-trace were left out" in told[1]
    assert all(len(data) <= 128 for *_, data in found)
    begun = Counter(event["type"] for event in events(trace)[1])
    assert begun[1] == begun[2]
    assert begun[3] == 1


def fields(data: bytes) -> dict[int, list[Any]]:
    """The fields of a protobuf message: numbers and bytes."""
    found: dict[int, list[Any]] = {}
    at = 0

    def varint() -> int:
        nonlocal at
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value

    while at < len(data):
        key = varint()
        if key & 7 == 0:
            found.setdefault(key >> 3, []).append(varint())
        elif key & 7 == 1:
            found.setdefault(key >> 3, []).append(int.from_bytes(data[at : at + 8], "little"))
            at += 8
        else:
            assert key & 7 == 2
            length = varint()
            assert at + length <= len(data)
            found.setdefault(key >> 3, []).append(data[at : at + length])
            at += length
    return found


def events(path: Path) -> tuple[dict[int, dict[str, Any]], list[dict[str, Any]]]:
    """Tracks by number and events in order, of a trace for Perfetto."""
    tracks: dict[int, dict[str, Any]] = {}
    found = []
    for data in fields(path.read_bytes())[1]:
        packet = fields(data)
        assert packet[10] == [1]
        if 60 in packet:
            track = fields(packet[60][0])
            name = fields(track[3][0])[6][0] if 3 in track else track[2][0]
            tracks[track[1][0]] = {"name": name.decode(), "parent": track.get(5, [None])[0], "counter": 8 in track}
            continue
        event = fields(packet[11][0])
        args = {}
        for raw in event.get(4, []):
            annotation = fields(raw)
            value = annotation[3][0] if 3 in annotation else annotation[6][0].decode()
            args[annotation[10][0].decode()] = value
        (track_number,) = event[11]
        assert track_number in tracks, "a track is described before it is used"
        found.append(
            {
                "time": packet[8][0],
                "type": event[9][0],
                "track": tracks[track_number],
                "of": track_number,
                "args": args,
                "value": event.get(30, [None])[0],
                "name": event.get(23, [b""])[0].decode(),
                "arrow": (event.get(47, [None])[0], event.get(48, [None])[0]),
            }
        )
    return tracks, found


def test_a_timeline_has_messages_queues_and_pauses(folder: Path, traced: fanin.Result) -> None:
    tracks, found = events(folder / "trace.perfetto-trace")
    groups = {number: track["name"] for number, track in tracks.items() if track["parent"] is None}
    assert sorted(groups.values()) == ["messages", "pauses", "queues"]
    depth: Counter[int] = Counter()
    last = 0
    for event in found:
        assert event["time"] >= last or "open at" in event["args"]
        last = event["time"]
        if event["type"] in (1, 2):
            depth[event["of"]] += 1 if event["type"] == 1 else -1
            assert depth[event["of"]] in (0, 1), "slices of one track do not overlap"
    assert not any(depth.values()), "every slice ends"

    def of(group: str, kind: int) -> list[dict[str, Any]]:
        return [e for e in found if e["type"] == kind and groups[e["track"]["parent"]] == group]

    flows = traced.flows()
    posted = Counter((e["args"]["src"], e["args"]["dst"], e["args"]["bytes"]) for e in of("messages", 1))
    nodes = pl.concat_str(pl.lit("h"), pl.col("src")), pl.concat_str(pl.lit("h"), pl.col("dst"))
    queries = flows.filter(pl.col("traffic") == "queries")
    wanted: Counter[tuple[str, str, int | str]]
    wanted = Counter((src, dst, 100_000) for src, dst in queries.select(src=nodes[0], dst=nodes[1]).rows())
    wanted[("h5", "h0", "endless")] = 1
    assert posted == wanted
    took = sorted(e["args"]["fct_ps"] for e in of("messages", 2) if "fct_ps" in e["args"])
    assert took == sorted(queries["completion_ps"].to_list())
    ports = {row["port"]: row for row in traced.ports().iter_rows(named=True)}
    assert {t["name"] for t in tracks.values() if t["counter"]} >= {"leaf0>h0", "spine0>leaf0"}
    for name in {t["name"] for t in tracks.values() if t["counter"]}:
        values = [e["value"] for e in of("queues", 4) if e["track"]["name"] == name]
        assert max(values) <= ports[name]["peak_queue_bytes"]
    busiest = [e["value"] for e in of("queues", 4) if e["track"]["name"] == "leaf0>h0"]
    assert max(busiest) > ports["leaf0>h0"]["peak_queue_bytes"] - 2 * 1522
    pauses = Counter(e["track"]["name"] for e in of("pauses", 1))
    assert pauses == {f"{name} data": row["pauses"] for name, row in ports.items() if row["pauses"] > 0}


def test_a_timeline_has_the_ranks_of_jobs(tmp_path: Path) -> None:
    example = ROOT / "examples" / "collectives" / "all-reduce.toml"
    settings = ["traffic[0].pattern.size=40 KB", "measure.perfetto={}"]
    run = fanin.run(example, set=settings, progress=False)
    run.save(tmp_path / "run")
    tracks, found = events(tmp_path / "run" / "trace.perfetto-trace")
    groups = {number: track["name"] for number, track in tracks.items() if track["parent"] is None}
    hosts = run.ranks()["host"].cast(pl.String).to_list()
    named = {f"job: rank {rank} on {host}" for rank, host in enumerate(hosts)}
    assert set(groups.values()) == {"messages", "queues"} | named
    open_: dict[int, list[dict[str, Any]]] = {}
    slices: Counter[tuple[str, str, str, int, int]] = Counter()
    sent: dict[int, tuple[str, str]] = {}
    received: dict[int, tuple[str, str]] = {}
    for event in found:
        of = groups.get(event["track"]["parent"], "")
        if of not in named:
            continue
        if event["type"] == 1:
            assert not open_.setdefault(event["of"], []), "slices of one track do not overlap"
            open_[event["of"]].append(event)
            begin = event
        else:
            begin = open_[event["of"]].pop()
            start, took = begin["args"]["start_ps"], event["args"]["took_ps"]
            assert (begin["time"], event["time"]) == (start // 1000, (start + took) // 1000)
            slices[of, event["track"]["name"], begin["name"], start, start + took] += 1
        if event["arrow"][0] is not None:
            assert sent.setdefault(event["arrow"][0], (of, begin["name"])) == (of, begin["name"])
        if event["arrow"][1] is not None:
            received[event["arrow"][1]] = (of, begin["name"])
    assert not any(open_.values())
    wanted: Counter[tuple[str, str, str, int, int]] = Counter()
    kinds = {"send": "sends", "recv": "receives", "compute": "computes", "collective": "collectives"}
    for node in run.nodes().with_columns(pl.col("kind").cast(pl.String)).iter_rows(named=True):
        name = {
            "send": f"to rank {node['peer']}",
            "recv": f"from rank {node['peer']}",
            "compute": f"node {node['node']}",
            "collective": f"all-reduce {node['collective']}",
        }[node["kind"]]
        of = f"job: rank {node['rank']} on {hosts[node['rank']]}"
        wanted[of, kinds[node["kind"]], name, node["start_ps"], node["end_ps"]] += 1
    assert slices == wanted
    # An arrow leads from each send to the receive that has its message.
    assert sent.keys() == received.keys()
    assert len(sent) == run.flows().height == 2 * 30 * 16
    for arrow, (of, name) in sent.items():
        other = received[arrow]
        assert other[0].startswith(f"job: {name.removeprefix('to ')} on ")
        assert of.startswith(f"job: {other[1].removeprefix('from ')} on ")


def test_to_capture_changes_nothing(folder: Path, traced: fanin.Result, tmp_path: Path) -> None:
    (tmp_path / "alone.toml").write_text(SPEC)
    alone = fanin.run(tmp_path / "alone.toml", progress=False)
    assert alone.manifest["event_hash"] == traced.manifest["event_hash"]
    saved = alone.save(tmp_path / "run")
    assert {file.name for file in folder.iterdir()} - {file.name for file in saved.iterdir()} == {
        "capture.pcapng",
        "trace.perfetto-trace",
    }


def test_dscps_are_those_of_the_spec_and_nothing_else_changes(
    folder: Path, traced: fanin.Result, tmp_path: Path
) -> None:
    own = ["network.packet.cnp_dscp=48", "network.classes=[{ name = 'data', dscp = 26 }]"]
    result = fanin.run(folder.parent / "traced.toml", set=own, progress=False)
    assert result.manifest["event_hash"] == traced.manifest["event_hash"]
    found = Counter[tuple[bool, int, int]]()
    usual, changed = packets(folder / "capture.pcapng"), packets(result.save(tmp_path / "run") / "capture.pcapng")
    for (*before, frame), (*after, other) in zip(usual, changed, strict=True):
        assert before == after
        if frame[12:14] == b"\x08\x00":
            cnp = frame[23] == 17 and frame[42] == 0x81
            found[cnp, frame[15] >> 2, other[15] >> 2] += 1
            # Their ECN bits, and all but the checksums of IPv4 and of the frame.
            assert frame[15] & 3 == other[15] & 3
            assert frame[16:24] + frame[26:-4] == other[16:24] + other[26:-4]
        else:
            assert frame == other
    assert found.keys() == {(False, 8, 26), (False, 0, 0), (True, 0, 48)}


@pytest.mark.parametrize(
    ("change", "key", "right"),
    [
        ("measure.capture={ links = ['h0>leaf1'] }", "measure.capture.links[0]", 'did you mean "h0>leaf0"?'),
        ("measure.capture={ links = ['h0->leaf0'] }", "measure.capture.links[0]", 'did you mean "h0>leaf0"?'),
        ("measure.capture={ links = 'every' }", "measure.capture.links", "known: all, last-hop"),
        ("measure.capture={ links = 'all', snaplen = '10 B' }", "measure.capture.snaplen", "64 to 65535 B"),
        ("measure.capture={ links = 'all', max_size = '1 KB' }", "measure.capture.max_size", "10 KB"),
        ("measure.capture.link=['h0>leaf0']", "measure.capture.link", 'did you mean "links"?'),
        ("measure.perfetto={ queues = ['leaf0>h9'] }", "measure.perfetto.queues[0]", "leaf0>h0"),
    ],
)
def test_what_cannot_be_traced_is_refused(tmp_path: Path, change: str, key: str, right: str) -> None:
    (tmp_path / "x.toml").write_text(SPEC)
    with pytest.raises(fanin.SpecError) as refused:
        fanin.run(tmp_path / "x.toml", set=[change], progress=False)
    assert f"{key}: " in str(refused.value)
    assert right in str(refused.value)
