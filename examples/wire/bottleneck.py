"""A bottleneck in user space: a relay of UDP with a queue, a rate, a delay, and marks.

Senders connect to the relay as if it were the receiver. It gives each of them a port of its own towards the receiver,
puts their datagrams into one queue, and lets them go at its rate. A datagram that comes while the queue is longer than
the threshold is marked (CE in its IP header) if it is ECN-capable, and dropped where the queue is full. What the
receiver sends back is passed on at once.
"""

from __future__ import annotations

import argparse
import heapq
import selectors
import socket
import struct
import sys
import time
from dataclasses import dataclass, field
from itertools import count

CE = 3
HEADERS = 42
"""Bytes of Ethernet, IP and UDP headers."""


def udp(port: int = 0) -> socket.socket:
    """A socket on loopback that tells the ECN bits of what arrives."""
    one = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    one.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 8 << 20)
    one.setsockopt(socket.IPPROTO_IP, socket.IP_RECVTOS, 1)
    one.bind(("127.0.0.1", port))
    one.setblocking(False)
    return one


def receive(one: socket.socket) -> tuple[bytes, int, tuple[str, int]]:
    """A datagram, its ECN bits, and where it came from."""
    data, control, _, sender = one.recvmsg(1 << 16, 64)
    tos = [value[0] for level, kind, value in control if (level, kind) == (socket.IPPROTO_IP, socket.IP_TOS)]
    return data, (tos[0] & 3 if tos else 0), sender


def send(one: socket.socket, data: bytes, ecn: int, to: tuple[str, int]) -> None:
    """Sends a datagram with these ECN bits; one that the system does not take is lost."""
    control = [(socket.IPPROTO_IP, socket.IP_TOS, struct.pack("i", ecn))]
    try:
        one.sendmsg([data], control, 0, to)
    except OSError:
        return


@dataclass
class Bottleneck:
    """The relay. `rate_bps` in bits per second, `delay_s` in seconds, `mark` and `limit` in bytes of queue."""

    receiver: tuple[str, int]
    rate_bps: float
    delay_s: float
    mark: int
    limit: int
    busy: float = 0.0
    passed: int = 0
    marked: int = 0
    dropped: int = 0
    ports: dict[tuple[str, int], socket.socket] = field(default_factory=dict)
    leaving: list[tuple[float, int, socket.socket, bytes, int]] = field(default_factory=list)
    order: count[int] = field(default_factory=count)

    def __post_init__(self) -> None:
        self.front = udp()
        self.watch = selectors.DefaultSelector()
        self.watch.register(self.front, selectors.EVENT_READ, None)

    def arrive(self, data: bytes, ecn: int, sender: tuple[str, int]) -> None:
        """A sender's datagram joins the queue."""
        now = time.monotonic()
        queued = max(0.0, self.busy - now) * self.rate_bps / 8
        if queued + len(data) > self.limit:
            self.dropped += 1
            return
        if queued > self.mark and ecn:
            ecn = CE
            self.marked += 1
        if sender not in self.ports:
            self.ports[sender] = udp()
            self.watch.register(self.ports[sender], selectors.EVENT_READ, sender)
        self.passed += 1
        self.busy = max(self.busy, now) + (len(data) + HEADERS) * 8 / self.rate_bps
        heapq.heappush(self.leaving, (self.busy + self.delay_s, next(self.order), self.ports[sender], data, ecn))

    def turn(self) -> None:
        """Waits for what happens next, and does it."""
        wait = 1.0 if not self.leaving else max(0.0, self.leaving[0][0] - time.monotonic())
        for key, _ in self.watch.select(wait):
            one = key.fileobj
            assert isinstance(one, socket.socket)
            for _ in range(64):
                try:
                    data, ecn, sender = receive(one)
                except BlockingIOError:
                    break
                if key.data is None:
                    self.arrive(data, ecn, sender)
                else:
                    send(self.front, data, ecn, key.data)
        now = time.monotonic()
        while self.leaving and self.leaving[0][0] <= now:
            _, _, one, data, ecn = heapq.heappop(self.leaving)
            send(one, data, ecn, self.receiver)


def main() -> None:
    """Runs a relay; its first line of output is its port."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("receiver", type=int, help="port of the receiver on loopback")
    parser.add_argument("--mbps", type=float, default=50.0, help="rate in Mb/s")
    parser.add_argument("--delay-ms", type=float, default=1.0, help="delay towards the receiver in ms")
    parser.add_argument("--mark-kb", type=float, default=30.0, help="marks above a queue of so many kB")
    parser.add_argument("--limit-kb", type=float, default=300.0, help="drops above a queue of so many kB")
    of = parser.parse_args()
    relay = Bottleneck(
        ("127.0.0.1", of.receiver), of.mbps * 1e6, of.delay_ms / 1e3, int(of.mark_kb * 1e3), int(of.limit_kb * 1e3)
    )
    print(relay.front.getsockname()[1], flush=True)
    try:
        while True:
            relay.turn()
    except KeyboardInterrupt:
        print(relay.passed, relay.marked, relay.dropped, file=sys.stdout, flush=True)


if __name__ == "__main__":
    main()
