"""Messages between hosts over UDP, under any congestion control for RDMA.

One process calls `server = wire.listen(scheme="dart")`, which is at 127.0.0.1, port 4791, and `wire.recv(server)`;
another `client = wire.connect("127.0.0.1", scheme="dart")` and `wire.send(client, b"hello")`.

Both ends need the same scheme, parameters, recovery and payload. Nothing moves between calls: the work of an endpoint
is done in `send`, `recv`, `wait` and `connect`, which release the GIL and end at Ctrl-C. Contents are not encrypted.
"""

from __future__ import annotations

import json
import time
from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypedDict, Unpack

from fanin._core import WireEndpoint

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from types import TracebackType

__all__ = ["Connection", "Endpoint", "Message", "Settings", "WireError", "connect", "listen", "recv", "send"]

PORT = 4791
"""The port unless told otherwise: that of RoCEv2."""

SLICE_S = 0.1
"""Longest time without a look at signals, in seconds."""

Recovery = Literal["go-back-n", "go-back-0", "selective-repeat", "irn"]


class WireError(OSError):
    """A connection that was refused or has ended, or a message that was not sent."""


class Settings(TypedDict, total=False):
    """Settings of an endpoint."""

    scheme: str
    """Congestion control, as in `fanin schemes`; "dcqcn" unless given."""
    parameters: Mapping[str, object]
    """Its parameters that differ from the defaults."""
    recovery: Recovery
    """How losses are repaired; "go-back-n" unless given."""
    rate: str
    """Rate of the local NIC, which is never exceeded; "1 Gbps" unless given."""
    payload: int
    """Largest payload of a packet in bytes; 1024 unless given, which fits into 1500 with all headers."""
    rtt: float
    """Round-trip time of the idle network in seconds; measured unless given."""
    timeout: float
    """Retransmission timeout in seconds; 0.05 unless given."""
    quiet: float
    """A peer that says nothing for so many seconds is gone; 10 unless given."""
    host: int
    """The number by which other hosts name this one in an incast, below 32768."""
    secret: str
    """What hosts that talk to each other share: 32 hexadecimal digits. Without it anyone may connect."""


@dataclass(frozen=True)
class Message:
    """A message that has arrived."""

    content: bytes
    connection: Connection
    """Where it came from, for an answer."""
    number: int
    """Its number among those of its sender on this connection, from 0."""


def _core(address: str, port: int, settings: Settings) -> WireEndpoint:
    secret = int(settings.get("secret", "0"), 16)
    if not 0 <= secret < 1 << 128:
        message = "secret has at most 32 hexadecimal digits"
        raise ValueError(message)
    return WireEndpoint(
        address,
        port,
        settings.get("scheme", "dcqcn"),
        json.dumps(dict(settings.get("parameters", {}))),
        settings.get("recovery", "go-back-n"),
        settings.get("rate", "1 Gbps"),
        settings.get("payload", 1024),
        settings.get("rtt"),
        settings.get("timeout", 0.05),
        settings.get("quiet", 10.0),
        settings.get("host"),
        (secret >> 64, secret & ((1 << 64) - 1)),
    )


class Endpoint:
    """A socket with its connections. Made by `listen`; a context manager that closes it."""

    def __init__(self, address: str, port: int, settings: Settings) -> None:
        self._endpoint = _core(address, port, settings)
        self.address: tuple[str, int] = self._endpoint.address()
        """Local address and port."""
        self.connections: list[Connection] = []
        """Connections that are open."""
        self._known: dict[int, Connection] = {}
        self._arrived: deque[Message] = deque()

    def connect(self, address: str, port: int = PORT, timeout: float | None = 10.0) -> Connection:
        """Connects to another endpoint; raises `WireError` if it refuses, and `TimeoutError`."""
        connection = Connection(self, self._endpoint.connect(address, port), (address, port))
        self._known[connection._number] = connection
        self._until(lambda: connection.open or connection.fault is not None, timeout, "nobody has answered")
        if connection.fault is not None:
            raise WireError(connection.fault)
        return connection

    def recv(self, timeout: float | None = None) -> Message:
        """The next message from anyone; raises `TimeoutError` after so many seconds without one."""
        self._until(lambda: bool(self._arrived), timeout, "no message has arrived")
        return self._arrived.popleft()

    def wait(self, seconds: float) -> None:
        """Sends and receives for so many seconds."""
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            self._poll(min(left, SLICE_S))
        self._poll(0.0)

    def counts(self) -> dict[str, int]:
        """What has happened so far: datagrams that arrived, were marked or refused and why, timeouts, NACKs, CNPs."""
        return dict(self._endpoint.counts())

    def close(self) -> None:
        """Ends all connections and gives the port back."""
        self._endpoint.close()

    def __enter__(self) -> Endpoint:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _until(self, done: Callable[[], bool], timeout: float | None, late: str) -> None:
        end = None if timeout is None else time.monotonic() + timeout
        self._poll(0.0)
        while not done():
            left = SLICE_S if end is None else end - time.monotonic()
            if left <= 0:
                message = f"{late} within {timeout} s"
                raise TimeoutError(message)
            self._poll(min(left, SLICE_S))

    def _poll(self, seconds: float) -> None:
        for what, number, message, content, text in self._endpoint.poll(seconds):
            if what == "accepted":
                host, _, port = text.rpartition(":")
                self._known[number] = Connection(self, number, (host, int(port)))
            connection = self._known[number]
            if what in ("accepted", "connected"):
                connection.open = True
                self.connections.append(connection)
            elif what == "arrived" and content is not None:
                self._arrived.append(Message(content, connection, message))
            elif what in ("sent", "failed"):
                connection._ended[message] = text or None
            elif what == "lost":
                connection.open, connection.fault = False, text
                self.connections = [one for one in self.connections if one is not connection]
                del self._known[number]


class Connection:
    """A connection to a peer, in both directions. Made by `connect`, or by a peer that connects."""

    def __init__(self, endpoint: Endpoint, number: int, peer: tuple[str, int]) -> None:
        self.endpoint = endpoint
        self.peer = peer
        """Address and port of the other end."""
        self.open = False
        """Whether it is open."""
        self.fault: str | None = None
        """Why it has ended."""
        self._number = number
        self._ended: dict[int, str | None] = {}

    def post(self, content: bytes, *, incast: int = 0, senders: Sequence[int] | None = None) -> int:
        """Begins to send a message and returns its number. `senders` are the numbers of all hosts that send at the same
        time to the same receiver (setting `host`), and `incast` is a number that their messages share; Dart uses it.
        """
        try:
            return self.endpoint._endpoint.post(self._number, content, incast, None if senders is None else [*senders])
        except ValueError as error:
            raise WireError(self.fault or str(error)) from None

    def finish(self, message: int, timeout: float | None = None) -> None:
        """Waits until a message has arrived; raises `WireError` if it cannot, and `TimeoutError`."""
        self.endpoint._until(
            lambda: message in self._ended or self.fault is not None, timeout, f"message {message} has not arrived"
        )
        fault = self._ended.pop(message, self.fault)
        if fault is not None:
            raise WireError(fault)

    def send(
        self, content: bytes, timeout: float | None = None, *, incast: int = 0, senders: Sequence[int] | None = None
    ) -> None:
        """Sends a message and waits until it has arrived (`post`, then `finish`)."""
        self.finish(self.post(content, incast=incast, senders=senders), timeout)

    def rtt(self) -> float | None:
        """Least round-trip time measured, in seconds."""
        return self.endpoint._endpoint.rtt(self._number)

    def close(self) -> None:
        """Ends it, and tells the other end."""
        self.endpoint._endpoint.end(self._number)
        self.endpoint._poll(0.0)


def listen(address: str = "127.0.0.1", port: int = PORT, **settings: Unpack[Settings]) -> Endpoint:
    """An endpoint that others connect to, and that may connect to others. It is on loopback unless told otherwise;
    port 0 is any free one."""
    return Endpoint(address, port, settings)


def connect(
    address: str,
    port: int = PORT,
    within: float | None = 10.0,
    *,
    local: str | None = None,
    **settings: Unpack[Settings],
) -> Connection:
    """Connects to an endpoint, from a port of the system's choice at the address `local`: loopback to one on loopback,
    else any. Raises `WireError` if it refuses, and `TimeoutError` after so many seconds."""
    if local is None:
        local = "127.0.0.1" if address.startswith("127.") or address == "localhost" else "0.0.0.0"
    endpoint = Endpoint(local, 0, settings)
    try:
        return endpoint.connect(address, port, within)
    except BaseException:
        endpoint.close()
        raise


def send(connection: Connection, content: bytes, timeout: float | None = None) -> None:
    """Sends a message and waits until it has arrived."""
    connection.send(content, timeout)


def recv(where: Endpoint | Connection, timeout: float | None = None) -> Message:
    """The next message to an endpoint, or to that of a connection."""
    return (where if isinstance(where, Endpoint) else where.endpoint).recv(timeout)
