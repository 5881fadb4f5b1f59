"""The TCP of the kernel through the switches of a spec: each host is a process with a network namespace of its own.

Frames of the kernel pass through the simulator's switches, which queue, mark and drop them in real time, at the rates
of the spec: up to about 100 Mb/s, which a process can carry. It needs Linux and root, and a star of hosts with one link
each. Host n of the spec has the address 10.0.0.(n + 1).
"""

from __future__ import annotations

import array
import contextlib
import fcntl
import json
import os
import socket
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fanin import _core
from fanin.run_folder import RunError
from fanin.runs import Job

if TYPE_CHECKING:
    from fanin.runs import SpecLike

PORT = 5001
SCHEMES = Path("/proc/sys/net/ipv4/tcp_available_congestion_control")
CHUNK = 1 << 16
OFF = (0x17, 0x1F, 0x24)
"""Of the system's ETHTOOL calls: those that turn off checksums by the device, and segments put together for it."""
SIOCETHTOOL = 0x8946
STARTS_IN_S = 0.3
"""Between the last preparation and the first flow."""
LONGEST_S = 60.0
"""Most real time besides that of the flows."""


@dataclass(frozen=True)
class Flow:
    """Bytes from one host to another."""

    sender: int
    receiver: int
    start_s: float = 0.0
    size: int | None = None
    """Bytes; None for as many as can be sent until `stop_s`."""
    stop_s: float | None = None
    """When it stops; None is the end of the run."""


@dataclass(frozen=True)
class Carried:
    """What was seen."""

    time_s: list[float]
    """Times of the samples of the queue, from the start of the first flows on."""
    queue_bytes: list[int]
    counts: dict[str, float]
    """Frames passed, marked, dropped and refused; and by how many microseconds they were late: p50, p99 and max."""
    completion_s: list[float | None]
    """Of each flow with a size: from its start until the receiver had its last byte; None where it had not."""
    delivered: list[list[tuple[float, int]]]
    """Of each flow: seconds, and the bytes that its receiver had by then."""


def refused(scheme: str) -> str | None:
    """Why this machine cannot run it; None where it can."""
    if not SCHEMES.exists():
        return "the TCP of the kernel needs Linux"
    has = SCHEMES.read_text(encoding="utf-8").split()
    if scheme not in has:
        return f"the kernel of this machine has no TCP scheme {scheme}; it has {', '.join(has)}"
    return _core.wire_veth_refused()


def run(
    spec: SpecLike,
    flows: Sequence[Flow],
    seconds: float,
    *,
    scheme: str = "reno",
    ecn: bool = False,
    port: str = "sw0>h0",
    every_s: float = 0.001,
    set: Sequence[str] = (),  # noqa: A002 - the word that the command line uses
) -> Carried:
    """Runs these flows under a scheme of the kernel, with or without ECN, through the switches of a spec; the spec's
    own traffic does not run. Samples the queue of a port. Raises `RunError` where this machine does not permit it."""
    problem = refused(scheme)
    if problem is not None:
        raise RunError(problem)
    job = Job.of(spec, set)
    network: Any = job.resolve()["network"]
    hosts_of = network["topology"].get("hosts", 0)
    count = len(hosts_of) if isinstance(hosts_of, list) else int(hosts_of)
    least = 1 + max(max(flow.sender, flow.receiver) for flow in flows)
    if count < least:
        raise RunError(f"{job.name}: its network has {count} hosts, and flows need {least}; a star or a graph has them")
    line = ["unshare", "--net", sys.executable, "-c", "from fanin import wire_tcp; wire_tcp.serve()"]
    hosts = [subprocess.Popen(line, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) for _ in range(count)]
    try:
        return _carry(job, hosts, flows, seconds, scheme=scheme, ecn=ecn, port=port, every_s=every_s)
    finally:
        for host in hosts:
            host.kill()
            host.communicate()


def _carry(
    job: Job,
    hosts: list[subprocess.Popen[str]],
    flows: Sequence[Flow],
    seconds: float,
    *,
    scheme: str,
    ecn: bool,
    port: str,
    every_s: float,
) -> Carried:
    # Each is in its own network as soon as it says so.
    for host in hosts:
        _read(host)
    begin: list[float] = []
    failed: list[str] = []
    stop = threading.Event()

    def prepare() -> None:
        try:
            for number, host in enumerate(hosts):
                own = [dict(asdict(flow), number=at) for at, flow in enumerate(flows) if flow.sender == number]
                name = f"f{os.getpid()}h{number}"
                receives = sum(flow.receiver == number for flow in flows)
                document = {"interface": name, "number": number, "scheme": scheme, "ecn": ecn}
                _write(host, {**document, "flows": own, "receives": receives})
            for host in hosts:
                _read(host)
            begin.append(time.monotonic() + STARTS_IN_S)
            for host in hosts:
                _write(host, {"begin": begin[0], "end": begin[0] + seconds})
            told.extend(_read(host) for host in hosts)
        except RunError as error:
            failed.append(str(error))
        stop.set()

    told: list[Any] = []
    began: list[float] = []

    def ready() -> None:
        began.append(time.monotonic())
        threading.Thread(target=prepare, daemon=True).start()

    found: list[tuple[list[tuple[float, int]], dict[str, float]]] = []

    def carry() -> None:
        try:
            found.append(
                _core.wire_carry(
                    job,
                    [host.pid for host in hosts],
                    port,
                    every_s,
                    seconds + LONGEST_S,
                    ready,
                    lambda: not stop.is_set(),
                )
            )
        except (RuntimeError, ValueError) as error:
            failed.append(str(error))

    thread = threading.Thread(target=carry)
    thread.start()
    try:
        while thread.is_alive():
            thread.join(0.1)
    except BaseException:
        stop.set()
        thread.join()
        raise
    if failed or not told:
        raise RunError(failed[0] if failed else f"the hosts have not ended within {LONGEST_S:g} s of their time")
    samples, counts = found[0]
    moved = began[0] - begin[0]
    samples = [(at + moved, queue) for at, queue in samples if 0 <= at + moved <= seconds]
    sent = {int(number): at for one in told for number, at in one["started"].items()}
    arrivals = {int(number): of for one in told for number, of in one["arrived"].items()}
    completion: list[float | None] = []
    delivered: list[list[tuple[float, int]]] = []
    for number, flow in enumerate(flows):
        seen = [(at - begin[0], total) for at, total in arrivals.get(number, [])]
        delivered.append(seen)
        whole = next((at for at, total in seen if flow.size is not None and total >= flow.size), None)
        completion.append(None if whole is None or number not in sent else whole - (sent[number] - begin[0]))
    return Carried([at for at, _ in samples], [queue for _, queue in samples], counts, completion, delivered)


def _write(host: subprocess.Popen[str], document: object) -> None:
    assert host.stdin is not None
    try:
        host.stdin.write(json.dumps(document) + "\n")
        host.stdin.flush()
    except BrokenPipeError:
        raise RunError("a host of the run has ended") from None


def _read(host: subprocess.Popen[str]) -> Any:
    assert host.stdout is not None
    line = host.stdout.readline()
    if not line:
        raise RunError("a host of the run has ended; it needs the program unshare of util-linux, and ip of iproute2")
    document = json.loads(line)
    if "error" in document:
        raise RunError(document["error"])
    return document


# A host, in its own process


def serve() -> None:
    """Is a host of such a run: does what the process that started it says."""

    def say(document: object) -> None:
        print(json.dumps(document), flush=True)

    say({})
    told = json.loads(sys.stdin.readline())
    try:
        _configure(told["interface"], told["number"], ecn=told["ecn"])
    except OSError as error:
        say({"error": f"host {told['number']}: {error}"})
        return
    host = _Host(told["scheme"])
    host.listen()
    say({})
    times = json.loads(sys.stdin.readline())
    host.run(told["flows"], told["receives"], times["begin"], times["end"])
    say({"started": dict(host.started), "arrived": {number: [*of] for number, of in [*host.arrived.items()]}})
    # Its interface is there until the switches have ended.
    sys.stdin.read()


def _configure(interface: str, number: int, *, ecn: bool) -> None:
    """The interface, as the switches expect it; TCP without memory of other runs."""
    here = Path("/proc/sys/net/ipv4")
    (here / "tcp_ecn").write_text("1" if ecn else "0", encoding="ascii")
    (here / "tcp_no_metrics_save").write_text("1", encoding="ascii")
    for line in (
        ["addr", "add", f"10.0.0.{number + 1}/24", "dev", interface],
        ["link", "set", interface, "arp", "off", "up"],
    ):
        done = subprocess.run(["ip", *line], capture_output=True, text=True, check=False)
        if done.returncode:
            raise OSError(f"ip {' '.join(line)}: {done.stderr.strip()}")
    # Frames as they would be on a cable: each with its checksum, none longer than the others.
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        for command in OFF:
            value = array.array("I", [command, 0])
            request = struct.pack("16sP", interface.encode(), value.buffer_info()[0])
            fcntl.ioctl(any_socket, SIOCETHTOOL, request.ljust(40, b"\0"))


class _Host:
    """Sends and receives."""

    def __init__(self, scheme: str) -> None:
        self.started: dict[int, float] = {}
        self.arrived: dict[int, list[tuple[float, int]]] = {}
        self._received = 0
        self._lock = threading.Lock()
        self._scheme = scheme.encode()
        self._listener = socket.socket()

    def listen(self) -> None:
        """From now on whoever connects can send: four bytes with the flow's number, then its bytes."""
        self._listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self._listener.bind(("", PORT))
        self._listener.listen(256)
        threading.Thread(target=self._accept, daemon=True).start()

    def run(self, flows: Sequence[dict[str, Any]], receives: int, begin: float, end: float) -> None:
        """Sends its flows, until the end or until all has been sent and received."""
        sending = [threading.Thread(target=self._send, args=(flow, begin, end), daemon=True) for flow in flows]
        for thread in sending:
            thread.start()
        while (left := end - time.monotonic()) > 0:
            if self._received == receives and not any(thread.is_alive() for thread in sending):
                break
            time.sleep(min(left, 0.05))

    def _accept(self) -> None:
        while True:
            connection, _ = self._listener.accept()
            threading.Thread(target=self._receive, args=(connection,), daemon=True).start()

    def _receive(self, connection: socket.socket) -> None:
        head = b""
        with connection, contextlib.suppress(ConnectionResetError):
            while len(head) < 4:
                more = connection.recv(4 - len(head))
                if not more:
                    return
                head += more
            seen = self.arrived.setdefault(int.from_bytes(head, "big"), [])
            total = 0
            while more := connection.recv(CHUNK):
                total += len(more)
                at = time.monotonic()
                # One entry for each 10 ms at most, and the last.
                if len(seen) > 1 and at - seen[-2][0] < 0.01:
                    seen[-1] = (at, total)
                else:
                    seen.append((at, total))
        with self._lock:
            self._received += 1

    def _send(self, flow: dict[str, Any], begin: float, end: float) -> None:
        start = begin + flow["start_s"]
        stop = end if flow["stop_s"] is None else begin + flow["stop_s"]
        time.sleep(max(0.0, start - time.monotonic()))
        left = sys.maxsize if flow["size"] is None else flow["size"]
        with socket.socket() as connection:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, self._scheme)
            self.started[flow["number"]] = time.monotonic()
            connection.connect((f"10.0.0.{flow['receiver'] + 1}", PORT))
            connection.sendall(flow["number"].to_bytes(4, "big"))
            chunk = bytes(CHUNK)
            while left > 0 and (now := time.monotonic()) < stop:
                connection.settimeout(stop - now)
                try:
                    left -= connection.send(chunk[: min(left, CHUNK)])
                except TimeoutError:
                    break
            if left > 0:
                # What waits to be sent is not sent any more.
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                return
            connection.shutdown(socket.SHUT_WR)
            connection.settimeout(max(0.001, end - time.monotonic()))
            with contextlib.suppress(TimeoutError, ConnectionError):
                connection.recv(1)
