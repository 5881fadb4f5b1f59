"""The dissector for Wireshark, against the numbers of the simulator."""

import struct
import subprocess
from pathlib import Path

import pytest

import fanin
from fanin.dissector import lua

SPEC = {
    "spec_version": 1,
    "name": "captured",
    "network": {
        "topology": {"kind": "leaf-spine", "leaves": 2, "spines": 2, "hosts": 2, "link": "10 Gbps", "delay": "1 us"},
        "buffer": {"policy": "lossless", "per_port": "500 KB"},
    },
    "traffic": [
        {
            "name": name,
            "scheme": scheme,
            "pattern": {"kind": "incast", "degree": 1, "every": "1 ms", "senders": ["h0"], "receivers": ["h2"]},
            "size": {"fixed": "20 KB"},
        }
        for name, scheme in (("telemetry", "hpcc"), ("deflected", "dart"), ("credits", "expresspass"))
    ],
    "measure": {"warm_up": "0 s", "window": "200 us", "capture": {"links": "all", "snaplen": "2 KB"}},
}


def shown(tshark: str, capture: Path, only: str, *fields: str, also: tuple[str, ...] = ()) -> list[list[str]]:
    """These fields of the packets that a display filter lets through."""
    script = capture.with_name("fanin.lua")
    script.write_text(lua(), encoding="utf-8")
    command = [tshark, "-n", "-X", f"lua_script:{script}", "-r", str(capture), "-Y", only, *also]
    command += ["-T", "fields", *(part for field in fields for part in ("-e", field))]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    assert "error" not in done.stderr.lower(), done.stderr
    return [line.split("\t") for line in done.stdout.splitlines()]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("dissected") / "run"
    fanin.run(SPEC, progress=False).save(place)
    return place


def test_telemetry_is_shown_with_the_packet_behind_it(tshark: str, folder: Path) -> None:
    only = 'fanin.int && udp.dstport == 1021 && ip.dst == 10.0.0.3 && frame.interface_name == "leaf1>h2"'
    fields = ("fanin.int.hops", "fanin.int_record.speed", "fanin.int_record.time", "infiniband.bth.opcode")
    found = shown(tshark, folder / "capture.pcapng", only, *fields)
    # Leaf, spine and leaf have written, each at 10 Gb/s, one after another in ns.
    assert len(found) == 14
    assert {(hops, len(set(speeds.split(",")))) for hops, speeds, _, _ in found} == {("3", 1)}
    for _, _, times, opcode in found:
        first, second, third = map(int, times.split(","))
        assert first + 1000 < second < third - 1000
        assert int(opcode) in (0, 1, 2)


def test_darts_headers_are_shown(tshark: str, folder: Path) -> None:
    only = 'fanin.dart && frame.interface_name == "leaf1>h2"'
    found = shown(tshark, folder / "capture.pcapng", only, "fanin.dart.start", "fanin.dart.end", "fanin.dart.message")
    starts, ends, messages = zip(*found, strict=True)
    assert "".join(starts) == "1" + "0" * 13
    assert "".join(ends) == "0" * 13 + "1"
    assert len(set(messages)) == 1
    shares = shown(tshark, folder / "capture.pcapng", "fanin.dart_ack", "fanin.dart_ack.parts", "fanin.dart_ack.of")
    assert {(int(parts), int(of)) for parts, of in shares} <= {(1, 1), (0, 0)}
    assert shares


def test_credits_are_shown(tshark: str, folder: Path) -> None:
    found = shown(tshark, folder / "capture.pcapng", "fanin.credit", "fanin.credit.source", "fanin.credit.destination")
    # The receiver's host grants them.
    assert {(int(source), int(destination)) for source, destination in found} >= {(2, 0)}


def carried(frame: bytes, wire: int) -> bytes:
    """A frame with its extension, as an item of a datagram."""
    extension = struct.pack(">QQIIIIIHHHBBBBBBH", 11, 12, 1, 2, 3, 4, 70, wire, 0, 0, 0, 0, 0, 0, 255, 0, 0)
    return struct.pack("<BIQI", 0, 9, 123_456, len(extension) + len(frame)) + extension + frame


def test_datagrams_of_runs_are_shown_down_to_their_frames(tshark: str, tmp_path: Path, folder: Path) -> None:
    credit = bytes.fromhex("02000000000202000000000188b5") + bytes([7, 3]) + struct.pack(">IIII", 70, 5, 0, 1)
    credit += bytes(64 - len(credit))
    one = tmp_path / "one.pcap"
    command = [tshark, "-n", "-r", str(folder / "capture.pcapng"), "-Y", "frame.len == 1534 && udp.dstport == 4791"]
    subprocess.run([*command, "-F", "pcap", "-w", str(one)], check=True, capture_output=True)
    dart = one.read_bytes()[40 : 40 + 1534]
    payload = struct.pack("<QIIQ", 1 << 40, 6, 5, 1 << 50) + carried(credit, 84) + carried(dart, 1534)
    udp = struct.pack(">HHHH", 5001, 5002, 8 + len(payload), 0)
    ip = struct.pack(">BBHHHBBH4s4s", 0x45, 0, 28 + len(payload), 0, 0, 64, 17, 0, bytes([127, 0, 0, 1]), bytes(4))
    packet = bytes(12) + b"\x08\x00" + ip + udp + payload
    capture = tmp_path / "loopback.pcap"
    head = struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65_535, 1)
    capture.write_bytes(head + struct.pack("<IIII", 0, 0, len(packet), len(packet)) + packet)
    fields: tuple[str, ...] = (
        "datagram.token",
        "datagram.number",
        "datagram.promise",
        "item.arrives",
        "extension.wire",
    )
    fields = (*fields, "credit.connection", "dart.start")
    also = ("-d", "udp.port==5002,fanin_run")
    found = shown(tshark, capture, "fanin.datagram", *(f"fanin.{field}" for field in fields), also=also)
    numbers = str(1 << 40), "6", str(1 << 50)
    assert found == [[*numbers, "123456,123456", "84,1534", "70", "1"]]
