"""The packets of a run's capture (`measure.capture`), for what no table of results has."""

from __future__ import annotations

import struct
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fanin.result import Result

_INTERFACE, _PACKET = 1, 6
"""Types of pcapng's blocks."""

_IP, _TCP, _BTH = 14, 34, 42
"""Where the headers begin; the IP header has no options."""

_DART_ACKNOWLEDGE = 0xD1
"""The opcode of Dart's ACKs."""

_COLUMNS = {
    "port": pl.String,
    "time_ps": pl.Int64,
    "sender": pl.Int64,
    "seq": pl.Int64,
    "ack": pl.Int64,
    "payload": pl.Int64,
    "marked": pl.Boolean,
    "echo": pl.Boolean,
}

_DART_COLUMNS = {
    "port": pl.String,
    "time_ps": pl.Int64,
    "wire": pl.Int64,
    "sender": pl.Int64,
    "receiver": pl.Int64,
    "number": pl.Int64,
    "parts": pl.Int64,
    "of": pl.Int64,
}


def tcp_packets(result: Result) -> pl.DataFrame:
    """One row per captured packet of TCP, in order of time.

    `port` is the port that sent it, `time_ps` that of its first bit, `sender` the number of its host, `seq` and `ack`
    its numbers in bytes, `payload` its bytes, `marked` its CE codepoint, `echo` its ECE flag.
    """
    rows = [(port, time, *_tcp(data, frame)) for data, port, time, frame, _ in _frames(result)]
    return pl.DataFrame(rows, schema=_COLUMNS, orient="row")


def dart_packets(result: Result) -> pl.DataFrame:
    """One row per captured data packet or ACK of Dart, in order of time.

    `port` is the port that sent it, `time_ps` that of its first bit, `wire` its bytes on the wire, `sender` and
    `receiver` the numbers of its hosts, `number` that of the packet in its flow (of an ACK, that of the next one
    expected), `parts` and `of` the share of the line on an ACK, null on data.
    """
    rows = [(port, time, wire, *_dart(data, frame)) for data, port, time, frame, wire in _frames(result)]
    return pl.DataFrame(rows, schema=_DART_COLUMNS, orient="row")


def _frames(result: Result) -> Iterator[tuple[bytes, str, int, int, int]]:
    """The capture, and of each of its frames the port, the time in picoseconds, the place and the bytes on the wire."""
    with tempfile.TemporaryDirectory() as scratch:
        data = (result.save(Path(scratch) / "run") / "capture.pcapng").read_bytes()
    ports: list[str] = []
    at = 0
    while at < len(data):
        kind, length = struct.unpack_from("<II", data, at)
        if kind == _INTERFACE:
            (chars,) = struct.unpack_from("<H", data, at + 18)
            ports.append(data[at + 20 : at + 20 + chars].decode())
        elif kind == _PACKET:
            port, high, low, _, wire = struct.unpack_from("<IIIII", data, at + 8)
            yield data, ports[port], high << 32 | low, at + 28, wire
        at += length


def _tcp(data: bytes, at: int) -> tuple[int, int, int, int, bool, bool]:
    """The fields of the frame at this place."""
    tos, total = struct.unpack_from(">xBH", data, at + _IP)
    (source,) = struct.unpack_from(">I", data, at + _IP + 12)
    seq, ack, offset, flags = struct.unpack_from(">IIBB", data, at + _TCP + 4)
    payload = total - 20 - (offset >> 4) * 4
    return (source & 0xFFFFFF) - 1, seq, ack, payload, tos & 3 == 3, bool(flags & 0x40)


def _dart(data: bytes, at: int) -> tuple[int, int, int, int | None, int | None]:
    """The fields of Dart's data packet or ACK at this place."""
    source, destination = struct.unpack_from(">II", data, at + _IP + 12)
    ends = (source & 0xFFFFFF) - 1, (destination & 0xFFFFFF) - 1
    (number,) = struct.unpack_from(">I", data, at + _BTH + 8)
    if data[at + _BTH] != _DART_ACKNOWLEDGE:
        return *ends, number & 0xFFFFFF, None, None
    # The share follows BTH and AETH.
    return *ends, number & 0xFFFFFF, *struct.unpack_from(">HH", data, at + _BTH + 16)
