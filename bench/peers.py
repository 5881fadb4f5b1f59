"""Other simulators: built programs, run as their users run them."""

from __future__ import annotations

import re
import sys
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, TypedDict

from bench import process
from bench.inputs import Inputs
from bench.scenarios import Case
from fanin import _core, hpcc
from fanin.run_folder import RunError

NS3, HTSIM, UEC, EXACT = "ns-3 HPCC", "htsim", "uet-htsim", "Fanin, uet-htsim's network"
END_S = 2.1
"""The end of that simulator's time, which begins at 2 s."""
EARLIER = Path(__file__).with_name("peers.toml")


class Peer(Protocol):
    """A simulator to compare ours with."""

    @property
    def name(self) -> str:
        """What it is called."""

    def has(self, case: Case) -> bool:
        """Whether it can run a case."""

    def run(self, case: Case, inputs: Inputs, folder: Path) -> tuple[process.Used, list[float]]:
        """Runs a case once; returns its cost, and its completion times in microseconds. Raises `RunError` if it cannot
        be started."""


@dataclass(frozen=True)
class Ns3:
    """The ns-3 HPCC simulator: its built program, which is started with a configuration."""

    program: Path
    name: str = NS3

    def has(self, case: Case) -> bool:
        """Whether it can run a case."""
        return case.ns3 is not None

    def run(self, case: Case, inputs: Inputs, folder: Path) -> tuple[process.Used, list[float]]:
        """Runs a configuration; completion times are those of its fct.txt."""
        config = folder / "config.txt"
        config.write_text(configuration(case, inputs), encoding="utf-8")
        (folder / "trace.txt").write_text("0\n", encoding="utf-8")
        completions = folder / "fct.txt"
        completions.unlink(missing_ok=True)
        used = start([self.program, config.name], folder)
        if not completions.exists():
            return used, []
        try:
            return used, [ns / 1000 for ns in hpcc.read_fct(completions)["fct_ns"]]
        except Exception as error:
            raise RunError(f"{completions}: is no fct.txt of that simulator: {error}") from None


@dataclass(frozen=True)
class Htsim:
    """htsim: the folder of its built programs, or one of them."""

    programs: Path
    name: str = HTSIM

    def has(self, case: Case) -> bool:
        """Whether it can run a case; of a single program, whether that one can."""
        return case.htsim is not None and (self.programs.name == case.htsim or not self.programs.is_file())

    def run(self, case: Case, inputs: Inputs, folder: Path) -> tuple[process.Used, list[float]]:
        """Runs a connection matrix; completion times are those of its lines "finished at"."""
        program = self.programs if self.programs.is_file() else self.programs / str(case.htsim)
        used = start([program, *options(case, inputs)], folder)
        starts = {(flow.src, flow.dst): flow.start_ns / 1000 for flow in inputs.flows}
        done = re.findall(r"^Flow \S*?_?(\d+)_(\d+)\b.*? finished at ([0-9.]+)", used.said, re.MULTILINE)
        return used, [float(at) - starts.get((int(src), int(dst)), 0.0) for src, dst, at in done]


@dataclass(frozen=True)
class Uec:
    """uet-htsim: its built program; or without one the copy of its network here, event for event."""

    program: Path | None = None

    @property
    def name(self) -> str:
        """What it is called."""
        return EXACT if self.program is None else UEC

    def has(self, case: Case) -> bool:
        """Whether it can run a case."""
        return case.uec

    def run(self, case: Case, inputs: Inputs, folder: Path) -> tuple[process.Used, list[float]]:
        """Runs a connection matrix under NSCC; completion times are those of its lines "finished at"."""
        del case
        options = ["-sender_cc_only", "-paths", "128", "-end", "1000", "-seed", "1"]
        if self.program is not None:
            said = start([self.program, "-tm", inputs.matrix, *options], folder)
            return said, _finished(said.said)
        result = folder / "run"
        fanin: list[str | Path] = [sys.executable, "-m", "fanin", "run-uec", inputs.matrix, "--out", result, "--force"]
        used = start([*fanin, "--uec-options", " ".join(options)], folder)
        text = result / "uec.txt"
        return used, _finished(text.read_text(encoding="utf-8") if text.exists() else "")


def _finished(lines: str) -> list[float]:
    """Completion times of flows that all start at 0."""
    return [float(at) for at in re.findall(r"^Flow .*? finished at ([0-9.e+]+)", lines, re.MULTILINE)]


def start(command: list[str | Path], folder: Path) -> process.Used:
    """Runs a peer's program; raises `RunError` if there is none."""
    try:
        return process.run(command, folder)
    except OSError as error:
        raise RunError(f"{command[0]}: cannot be started ({error.strerror}); it must be a built program") from None


def options(case: Case, inputs: Inputs) -> list[str | Path]:
    """Options of htsim's programs: one path for each flow, lossless queues that never overflow, no log."""
    told = {
        "-tm": inputs.matrix,
        "-nodes": inputs.hosts,
        "-linkspeed": 100_000,  # Mb/s
        "-hop_latency": 1,  # us
        "-switch_latency": 0,
        "-strat": "ecmp_host",
        "-paths": 128,
        "-q": 10_000,  # packets
        "-mtu": case.payload,
        "-end": 50_000,  # us
        "-seed": 1,
        "-o": "log.dat",
    }
    return [word if isinstance(word, Path) else str(word) for pair in told.items() for word in pair]


def configuration(case: Case, inputs: Inputs) -> str:
    """The configuration of a case, with all keys that scripts of that simulator's users write, and nothing
    monitored."""
    rate_ai = "50Mbps" if case.ns3 == "hpcc" else None
    made = _core.hpcc_config(str(case.ns3), str(inputs.topology), str(inputs.flow_file), END_S, rate_ai, None)
    keys = dict(line.split(" ", 1) for line in made.splitlines() if " " in line)
    keys |= {
        "USE_DYNAMIC_PFC_THRESHOLD": "1",
        "PACKET_PAYLOAD_SIZE": str(case.payload),
        "TRACE_FILE": "trace.txt",
        "ENABLE_TRACE": "0",
        "PINT_LOG_BASE": "1.01",
        "PINT_PROB": "1.0",
        # After the end, so that it costs nothing.
        "QLEN_MON_START": "5000000000",
        "QLEN_MON_END": "5000000001",
    }
    return "".join(f"{key} {value}\n" for key, value in keys.items())


def measure(peer: Peer, case: Case, inputs: Inputs, folder: Path, *, repeat: int) -> process.Measured:
    """Runs a case `repeat` times and returns the run of least user CPU, less the cost of the same network with one
    packet. Raises `RunError` if it cannot be started, fails, or leaves flows unfinished.
    """
    folder.mkdir(parents=True, exist_ok=True)
    one = inputs.one_packet()
    setup_s = min(_whole(peer, case, one, folder)[0].user_s for _ in range(repeat))
    used, completions = min((_whole(peer, case, inputs, folder) for _ in range(repeat)), key=lambda run: run[0].user_s)
    return process.Measured(used.user_s - setup_s, setup_s, used.peak_rss_bytes, completions, _hops(used.said))


def _whole(peer: Peer, case: Case, inputs: Inputs, folder: Path) -> tuple[process.Used, list[float]]:
    """Runs a case once; raises `RunError` if it is incomplete."""
    used, completions = peer.run(case, inputs, folder)
    finished = f"{len(completions):,} of {len(inputs.flows):,} flows"
    if used.failure:
        raise RunError(f"{case.id}: {peer.name}: {used.failure}, after {finished}")
    if len(completions) != len(inputs.flows):
        raise RunError(f"{case.id}: {peer.name}: ended well, but only {finished} finished; its output is in {folder}")
    return used, completions


def _hops(said: str) -> int | None:
    """Link hops, where a program was built to count them: a line with "hops" and the number."""
    found = re.search(r"^\W*(?:link|packet)[ _-]?hops\W+(\d+)\s*$", said, re.MULTILINE | re.IGNORECASE)
    return int(found.group(1)) if found else None


class Figure(TypedDict):
    """An earlier measurement of a peer, on the same kind of machine."""

    case: str
    peer: str
    hops_m: float
    """Million packet-hops, counted by the peer, which was changed to count them."""
    user_s: float
    """User CPU of its event loop, seconds."""
    rss_mb: float
    fct_us: list[int]
    """Completion times: smallest, median, largest; empty where they were not kept."""
    note: str


def figures() -> list[Figure]:
    """All figures of `peers.toml`."""
    document = tomllib.loads(EARLIER.read_text(encoding="utf-8"))
    return [
        Figure(
            case=row["case"],
            peer=row["peer"],
            hops_m=row["hops_m"],
            user_s=row["user_s"],
            rss_mb=row["rss_mb"],
            fct_us=row.get("fct_us", []),
            note=row.get("note", ""),
        )
        for row in document["figure"]
    ]
