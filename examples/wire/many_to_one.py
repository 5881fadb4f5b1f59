"""Many hosts send a file to one, through a bottleneck that marks.

    python examples/wire/many_to_one.py --senders 8 --kb 500

Each sender is a process with an endpoint of its own, as is the bottleneck; all are on loopback. It runs once for each
scheme, checks all contents by their hash, and prints when the first and the last sender were done, and what the
bottleneck marked and dropped.
"""

from __future__ import annotations

import argparse
import hashlib
import signal
import subprocess
import sys
import time
from pathlib import Path

from fanin import wire

HERE = Path(__file__).parent
INCAST = 1
RECOVERY = "irn"
"""For a bottleneck that drops. Go-back-N, the default, sends all behind a loss again: it is for others."""


def content(seed: int, size: int) -> bytes:
    """A file that both ends can make: different for each sender, and nowhere the same."""
    return hashlib.shake_256(seed.to_bytes(4, "big")).digest(size)


def send(port: int, number: int, senders: int, size: int, scheme: str, rate: str) -> None:
    """One sender: connects, waits for the word to begin, sends, and prints how long that took."""
    client = wire.connect("127.0.0.1", port, 20, scheme=scheme, recovery=RECOVERY, rate=rate, host=number)
    print("ready", flush=True)
    start = client.endpoint.recv(60).content
    assert start == b"go"
    began = time.monotonic()
    client.send(content(number, size), 120, incast=INCAST, senders=range(1, senders + 1))
    print(time.monotonic() - began, flush=True)


def run(scheme: str, senders: int, size: int, mbps: float, rate: str) -> tuple[list[float], str]:
    """One run: the time of each sender in seconds, and the bottleneck's count of datagrams passed, marked, dropped."""
    with wire.listen(port=0, scheme=scheme, recovery=RECOVERY, rate=rate, host=0) as server:
        line = [sys.executable, str(HERE / "bottleneck.py"), str(server.address[1]), "--mbps", str(mbps)]
        relay = subprocess.Popen(line, stdout=subprocess.PIPE, text=True)
        assert relay.stdout is not None
        port = relay.stdout.readline().strip()
        line = [sys.executable, __file__, "--send", port, "--scheme", scheme, "--rate", rate, "--bytes", str(size)]
        many = ["--senders", str(senders), "--number"]
        hosts = [
            subprocess.Popen([*line, *many, str(number)], stdout=subprocess.PIPE, text=True)
            for number in range(1, senders + 1)
        ]
        try:
            while len(server.connections) < senders:
                server.wait(0.01)
            for connection in server.connections:
                connection.post(b"go")
            got = sorted(hashlib.sha256(server.recv(120).content).digest() for _ in hosts)
            assert got == sorted(hashlib.sha256(content(n, size)).digest() for n in range(1, senders + 1)), "changed"
            while any(host.poll() is None for host in hosts):
                server.wait(0.01)
            times = [float(host.communicate(timeout=10)[0].split()[1]) for host in hosts]
        finally:
            for host in hosts:
                host.kill()
            relay.send_signal(signal.SIGINT)
            counts = relay.communicate(timeout=10)[0].strip()
    return sorted(times), counts


def main() -> None:
    """Runs each scheme and prints a line for it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--senders", type=int, default=8)
    parser.add_argument("--kb", type=float, default=500.0, help="size of the file in kB")
    parser.add_argument("--mbps", type=float, default=50.0, help="rate of the bottleneck in Mb/s")
    parser.add_argument("--schemes", nargs="+", default=["dcqcn", "dart"])
    parser.add_argument("--rate", help="rate of the hosts' NICs; that of the bottleneck unless given")
    for name, kind in [("--send", int), ("--scheme", str), ("--number", int), ("--bytes", int)]:
        parser.add_argument(name, type=kind, help=argparse.SUPPRESS)
    of = parser.parse_args()
    rate = of.rate or f"{of.mbps:g} Mbps"
    if of.send is not None:
        send(of.send, of.number, of.senders, of.bytes, of.scheme, rate)
        return
    size = int(of.kb * 1000)
    print(f"{of.senders} senders, {size} B each, {of.mbps:g} Mb/s: at least {of.senders * size * 8e-6 / of.mbps:.2f} s")
    print(f"{'scheme':<12} {'first':>8} {'median':>8} {'last':>8}  passed, marked, dropped")
    for scheme in of.schemes:
        times, counts = run(scheme, of.senders, size, of.mbps, rate)
        middle = times[len(times) // 2]
        print(
            f"{scheme:<12} {times[0]:7.2f}s {middle:7.2f}s {times[-1]:7.2f}s  {', '.join(counts.split())}", flush=True
        )
    print("all contents are what was sent")


if __name__ == "__main__":
    main()
