"""What this machine allows of runs on a wire, and how much slower than real time a network on it has to be."""

from __future__ import annotations

import os
import shutil
import socket
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from fanin import _core
from fanin.run_folder import RunError
from fanin.runs import cores, run

CAPABILITIES = {"CAP_NET_ADMIN": 12, "CAP_NET_RAW": 13, "CAP_SYS_ADMIN": 21, "CAP_SYS_NICE": 23}
"""The privileges that matter here, with their numbers in the masks of Linux."""

SLOWDOWNS = (1, 10, 100, 200, 500, 1000, 2000, 5000, 10_000, 20_000, 50_000)
"""The clocks that are tried, in this order, until a run is not rejected."""

PROBE_S = 0.4
"""Real time of each of these runs, in seconds."""

RECEIVE_BUFFER = 4 << 20
"""Bytes that sockets ask for, and that are enough for datagrams of 64 hosts."""


@dataclass(frozen=True)
class Check:
    """One thing that was looked at."""

    name: str
    ok: bool
    """Whether it is as runs need it or wish it to be."""
    found: str


@dataclass(frozen=True)
class Verdict:
    """Whether one kind of run will work."""

    kind: str
    works: bool
    why: str


@dataclass(frozen=True)
class Examination:
    """What was found."""

    checks: Sequence[Check]
    verdicts: Sequence[Verdict]
    hosts: int
    """Hosts of the network that was tried in real time."""
    slowdown: int | None
    """The N of `slowed:N` that is suggested for so many hosts; None where it was not tried, or where none is enough."""


def examine(hosts: int = 4, *, measure: bool = True) -> Examination:
    """Looks at everything. With `measure` it also tries, for a few seconds, how fast so many hosts run in real time."""
    refused = _core.wire_veth_refused()
    checks = [
        _system(),
        _privileges(),
        Check("namespaces, veth, AF_PACKET", refused is None, refused or "a pair of interfaces and a socket were made"),
        _real_time(),
        Check("cores", cores() > 1, f"{cores()}, for {hosts} hosts and the switches"),
        _timer(),
        _buffer(),
        _tcp(),
    ]
    slowdown, said = _least_slowdown(hosts) if measure else (None, "not tried")
    return Examination(checks, list(_verdicts(refused, slowdown, said, hosts)), hosts, slowdown)


def _verdicts(refused: str | None, slowdown: int | None, said: str, hosts: int) -> list[Verdict]:
    lockstep = Verdict("--clock lockstep", True, "exact on every machine, under any load")
    veth = Verdict("--link veth", refused is None, refused or "permitted")
    if slowdown is None:
        slowed = Verdict("--clock slowed:N", said == "not tried", said)
        return [lockstep, slowed, Verdict("--clock real", False, said), veth]
    slowed = Verdict(
        f"--clock slowed:{slowdown}",
        True,
        f"suggested for {hosts} hosts at 10 Gb/s with links of 1 us ({said}); more for faster or shorter links",
    )
    real = Verdict(
        "--clock real",
        slowdown == 1,
        "kept up" if slowdown == 1 else f"only with links {slowdown} times as long and as slow: {slowdown} us",
    )
    return [lockstep, slowed, real, veth]


def probe(hosts: int, slowdown: int) -> dict[str, object]:
    """A spec that keeps so many hosts busy for [`PROBE_S`] in a network that is so many times slower."""
    return {
        "spec_version": 1,
        "name": "probe",
        "network": {
            "topology": {"kind": "star", "hosts": hosts, "link": "10 Gbps", "delay": "1 us"},
            "buffer": {"policy": "lossless", "per_port": "1 MB"},
            "marking": {"kind": "red", "min": "20 KB", "max": "60 KB", "probability": 0.1},
        },
        "traffic": [
            {
                "name": "random",
                "scheme": "dcqcn",
                "pattern": {"kind": "poisson"},
                "size": {"fixed": "10 KB"},
                "load": {"share": 0.5, "of": "host-links"},
            }
        ],
        "measure": {"window": f"{max(20.0, PROBE_S / slowdown * 1e6):.0f} us", "drain": False},
    }


def _least_slowdown(hosts: int, kept_up: Callable[[int], bool] | None = None) -> tuple[int | None, str]:
    """The slowdown after the least one at which this machine keeps up, and what was seen."""
    if kept_up is None:

        def kept_up(slowdown: int) -> bool:
            try:
                run(probe(hosts, slowdown), on="wire", clock=f"slowed:{slowdown}", progress=False)
            except RunError:
                return False
            return True

    for at, slowdown in enumerate(SLOWDOWNS):
        if kept_up(slowdown):
            # The next one, because a longer run meets rarer disturbances.
            suggested = slowdown if slowdown == 1 else SLOWDOWNS[min(at + 1, len(SLOWDOWNS) - 1)]
            return suggested, f"{PROBE_S} s of slowed:{slowdown} were not rejected"
    return None, f"even slowed:{SLOWDOWNS[-1]} was rejected: too much else runs on this machine"


def _system() -> Check:
    system = f"{os.uname().sysname} {os.uname().release}" if hasattr(os, "uname") else sys.platform
    return Check("system", sys.platform == "linux", system)


def _privileges() -> Check:
    mask = capabilities(_text("/proc/self/status"))
    has = [name for name, bit in CAPABILITIES.items() if mask >> bit & 1]
    lacks = [name for name in CAPABILITIES if name not in has]
    found = "; ".join(filter(None, [", ".join(has), f"without {', '.join(lacks)}" if lacks else ""]))
    ip = shutil.which("ip")
    return Check("privileges", not lacks and ip is not None, found if ip else f"{found}; no program ip (iproute2)")


def capabilities(status: str) -> int:
    """The effective capabilities in the text of /proc/self/status, as a mask; 0 where it has none."""
    masks = [line.split(":")[1] for line in status.splitlines() if line.startswith("CapEff:")]
    return int(masks[0], 16) if masks else 0


def _text(path: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8")
    except OSError:
        return ""


def _real_time() -> Check:
    def attempt() -> str | None:
        """In a thread that then ends, since the thread stays at it."""
        try:
            os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
        except (AttributeError, OSError) as error:
            return str(error)
        return None

    with ThreadPoolExecutor(1) as thread:
        problem = thread.submit(attempt).result()
    found = problem or "permitted: chrt -f 1 fanin run ... keeps other programs from delaying a run"
    return Check("real-time scheduling", problem is None, found)


def _timer() -> Check:
    asked, late = 100e-6, []
    for _ in range(200):
        began = time.perf_counter()
        time.sleep(asked)
        late.append(time.perf_counter() - began - asked)
    late.sort()
    median, p99 = late[len(late) // 2] * 1e6, late[int(0.99 * len(late))] * 1e6
    return Check("timers", p99 < 1000, f"a sleep of 100 us ends {median:.0f} us late (median), {p99:.0f} us (p99)")


def _buffer() -> Check:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as udp:
        udp.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, RECEIVE_BUFFER)
        given = udp.getsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF) // 2
    found = f"{given >> 10} KiB given, of {RECEIVE_BUFFER >> 10} asked for; what does not fit is sent again"
    return Check("UDP receive buffer", given >= 128 << 10, found)


def _tcp() -> Check:
    schemes = _text("/proc/sys/net/ipv4/tcp_available_congestion_control").split()
    return Check("TCP of the kernel", bool(schemes), ", ".join(schemes) or "unknown")
