"""The packets of a run's capture (`measure.capture`), for what no table of results has."""

from __future__ import annotations

import struct
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

if TYPE_CHECKING:
    from fanin.result import Result

_INTERFACE, _PACKET = 1, 6
"""Types of pcapng's blocks."""

_IP, _TCP = 14, 34
"""Where the headers begin; the IP header has no options."""

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


def tcp_packets(result: Result) -> pl.DataFrame:
    """One row per captured packet of TCP, in order of time.

    `port` is the port that sent it, `time_ps` that of its first bit, `sender` the number of its host, `seq` and `ack`
    its numbers in bytes, `payload` its bytes, `marked` its CE codepoint, `echo` its ECE flag.
    """
    with tempfile.TemporaryDirectory() as scratch:
        data = (result.save(Path(scratch) / "run") / "capture.pcapng").read_bytes()
    ports: list[str] = []
    rows = []
    at = 0
    while at < len(data):
        kind, length = struct.unpack_from("<II", data, at)
        if kind == _INTERFACE:
            (chars,) = struct.unpack_from("<H", data, at + 18)
            ports.append(data[at + 20 : at + 20 + chars].decode())
        elif kind == _PACKET:
            port, high, low = struct.unpack_from("<III", data, at + 8)
            rows.append((ports[port], high << 32 | low, *_tcp(data, at + 28)))
        at += length
    return pl.DataFrame(rows, schema=_COLUMNS, orient="row")


def _tcp(data: bytes, at: int) -> tuple[int, int, int, int, bool, bool]:
    """The fields of the frame at this place."""
    tos, total = struct.unpack_from(">xBH", data, at + _IP)
    (source,) = struct.unpack_from(">I", data, at + _IP + 12)
    seq, ack, offset, flags = struct.unpack_from(">IIBB", data, at + _TCP + 4)
    payload = total - 20 - (offset >> 4) * 4
    return (source & 0xFFFFFF) - 1, seq, ack, payload, tos & 3 == 3, bool(flags & 0x40)
