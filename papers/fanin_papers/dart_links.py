"""Links and packets in the specs of Dart's Fig. 3 and 6."""

from __future__ import annotations

LINE_BPS = 10e9
PAYLOAD, HEADER, ACK = 1460, 40, 64
"""Bytes of the specs' packets."""

GOODPUT_GBPS = LINE_BPS / 1e9 * PAYLOAD / (PAYLOAD + HEADER)
"""Payload rate of a full line."""

LINK_US = 5.0
MESSAGE = 8000


def wire_us(size: int) -> float:
    """How long the line takes for so many bytes."""
    return size * 8 / LINE_BPS * 1e6


BASE_RTT_US = 4 * LINK_US + 2 * wire_us(PAYLOAD + HEADER) + 2 * wire_us(ACK)
"""Host, switch, host and back: a full packet there, an ACK back."""
