"""The packets of a run's capture as a table: see `fanin.Result.packets`."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

import polars as pl

if TYPE_CHECKING:
    from collections.abc import Iterator

_INTERFACE, _PACKET = 1, 6
"""Types of pcapng's blocks."""

_SHORTEST = 12
"""Bytes of a block without content."""

_IP, _ABOVE_IP, _BTH = 14, 34, 42
"""Where the headers begin; the IP header has no options."""

_IPV4, _TCP, _UDP, _ROCE_PORT = 0x0800, 6, 17, 4791

_DART_ACKNOWLEDGE = 0xD1
"""The opcode of Dart's ACKs."""

_COLUMNS = {
    "port": pl.String,
    "time_ps": pl.Int64,
    "wire_bytes": pl.Int64,
    "sender": pl.Int64,
    "receiver": pl.Int64,
    "marked": pl.Boolean,
    "payload_bytes": pl.Int64,
    "seq": pl.Int64,
    "ack": pl.Int64,
    "echo": pl.Boolean,
    "opcode": pl.Int64,
    "psn": pl.Int64,
    "parts": pl.Int64,
    "of": pl.Int64,
}

_OTHERS = (None,) * 4
"""The columns of TCP's packets for RoCEv2's, and of RoCEv2's for TCP's."""


def packets(capture: bytes) -> pl.DataFrame:
    """Those of a file `capture.pcapng`. Raises `ValueError` if it is damaged."""
    try:
        rows = [
            (port, time_ps, wire_bytes, *_read(frame))
            for port, time_ps, wire_bytes, frame in _frames(capture)
            if struct.unpack_from(">H", frame, _IP - 2) == (_IPV4,)
        ]
    except (struct.error, IndexError, UnicodeDecodeError) as wrong:
        raise ValueError(f"a block or frame is not whole: {wrong}") from None
    return pl.DataFrame(rows, schema=_COLUMNS, orient="row")


def _frames(data: bytes) -> Iterator[tuple[str, int, int, memoryview]]:
    """Of each frame the port, the time in picoseconds, its bytes on the wire, and those that were kept."""
    ports: list[str] = []
    at = 0
    while at < len(data):
        kind, length = struct.unpack_from("<II", data, at)
        if length < _SHORTEST or at + length > len(data):
            raise ValueError(f"the block at byte {at} has a length of {length}, and {len(data) - at} bytes are left")
        if kind == _INTERFACE:
            (chars,) = struct.unpack_from("<H", data, at + 18)
            ports.append(data[at + 20 : at + 20 + chars].decode())
        elif kind == _PACKET:
            port, high, low, kept, wire = struct.unpack_from("<IIIII", data, at + 8)
            yield ports[port], high << 32 | low, wire, memoryview(data)[at + 28 : at + 28 + kept]
        at += length


def _read(frame: memoryview) -> tuple[object, ...]:
    """The fields of an IP packet, None for those that it does not have. The shortest `snaplen` keeps them all."""
    tos, total = struct.unpack_from(">xBH", frame, _IP)
    source, destination = struct.unpack_from(">II", frame, _IP + 12)
    common = (source & 0xFFFFFF) - 1, (destination & 0xFFFFFF) - 1, tos & 3 == 3
    protocol = frame[_IP + 9]
    if protocol == _TCP:
        seq, ack, offset, flags = struct.unpack_from(">IIBB", frame, _ABOVE_IP + 4)
        return *common, total - 20 - (offset >> 4) * 4, seq, ack, bool(flags & 0x40), *_OTHERS
    if protocol == _UDP and struct.unpack_from(">H", frame, _ABOVE_IP + 2) == (_ROCE_PORT,):
        opcode, psn = frame[_BTH], struct.unpack_from(">I", frame, _BTH + 8)[0] & 0xFFFFFF
        # The share of the line follows BTH and AETH.
        share = opcode == _DART_ACKNOWLEDGE
        return *common, *_OTHERS, opcode, psn, *(struct.unpack_from(">HH", frame, _BTH + 16) if share else (None, None))
    return *common, *_OTHERS, *_OTHERS
