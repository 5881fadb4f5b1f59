"""OITCP, the ideal transport for incast that RCC is compared with, as a model (RCC section 5.3).

OITCP knows all flows in advance. It keeps the queue of the switch at `queue_packets` (Q_o) and gives each flow an equal
window, of any number of bytes. Links have no delay; all flows have the same size and go to one receiver.

`flows` is N and `size` is L, in bytes; `segment` is the payload of a packet, in bytes; `packets_per_s` is C, the rate
of the receiver's link.
"""

from __future__ import annotations

__all__ = [
    "PACKETS_PER_S",
    "SEGMENT",
    "completion_s",
    "rcc_completion_s",
    "rcc_queueing_s",
    "window_bytes",
    "windows",
]

SEGMENT = 1460
"""Payload of a packet of 1,500 B."""

PACKETS_PER_S = 1e9 / 8 / 1500
"""A link of 1 Gb/s in packets of 1,500 B."""


def window_bytes(flows: int, queue_packets: float, segment: int = SEGMENT) -> float:
    """The window of each flow under OITCP: its share of the queue, in bytes.

    Raises `ValueError` for more flows than `queue_packets`, for which the model is not made.
    """
    # Eq. (19)
    if flows > queue_packets:
        raise ValueError(f"{flows} flows exceed a queue of {queue_packets:g} packets (RCC eq. (19))")
    return queue_packets * segment / flows


def windows(flows: int, size: float, queue_packets: float, segment: int = SEGMENT) -> float:
    """Number of windows ("packets" of the paper) in which a flow is sent under OITCP."""
    # Eq. (20)
    return size / window_bytes(flows, queue_packets, segment)


def completion_s(
    flows: int, size: float, queue_packets: float, segment: int = SEGMENT, packets_per_s: float = PACKETS_PER_S
) -> float:
    """Time until a flow is complete under OITCP, in seconds: a queueing delay for each of its windows, and its own
    transmission. It does not depend on `queue_packets`."""
    # Eq. (21)
    queueing_s = queue_packets / packets_per_s
    return windows(flows, size, queue_packets, segment) * queueing_s + size / (segment * packets_per_s)


def rcc_queueing_s(flows: int, queue_maxsize: int, packets_per_s: float = PACKETS_PER_S) -> float:
    """Time that each packet under RCC waits, in seconds: at the switch, and before that its ACK at the receiver."""
    # Eq. (22): queue_maxsize and N - queue_maxsize
    return queue_maxsize / packets_per_s + (flows - queue_maxsize) / packets_per_s


def rcc_completion_s(
    flows: int, size: float, queue_maxsize: int, segment: int = SEGMENT, packets_per_s: float = PACKETS_PER_S
) -> float:
    """Time until a flow is complete under RCC, in seconds, for at least `queue_maxsize` flows: as under OITCP."""
    # Eq. (23)
    packets = size / segment
    return packets * rcc_queueing_s(flows, queue_maxsize, packets_per_s) + size / (segment * packets_per_s)
