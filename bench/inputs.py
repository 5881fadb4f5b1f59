"""Input files for all simulators, from one list of flows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from bench.scenarios import Workload
from fanin import _core
from fanin.run_folder import RunError

SEED = 1
ZERO_NS = 2_000_000_000
"""The start time in flow files of the ns-3 HPCC simulator."""
ARRIVALS_NS = 2_000_000
"""The interval in which flows of a random workload start."""


@dataclass(frozen=True)
class Flow:
    """One flow."""

    src: int
    dst: int
    bytes: int
    start_ns: int
    """From the beginning of the simulated time."""


@dataclass(frozen=True)
class Inputs:
    """The files of a workload, in a folder of its own."""

    folder: Path
    flows: tuple[Flow, ...]
    hosts: int
    origin: str
    """Whether the files were given or made."""

    @property
    def topology(self) -> Path:
        """In the format of the ns-3 HPCC simulator."""
        return self.folder / "topology.txt"

    @property
    def flow_file(self) -> Path:
        """In the format of the ns-3 HPCC simulator."""
        return self.folder / "flow.txt"

    @property
    def matrix(self) -> Path:
        """The flows as htsim's connection matrix."""
        return self.folder / "matrix.cm"

    @property
    def endless(self) -> Path:
        """The same with endless connections."""
        return self.folder / "endless.cm"

    def one_packet(self) -> Inputs:
        """The same network with one packet, in a folder beside this one: its cost is the set-up of a simulator."""
        only = Inputs(self.folder / "set-up", (replace(self.flows[0], bytes=1000),), self.hosts, self.origin)
        _write(only, self.topology.read_text(encoding="utf-8"))
        return only


def make(work: Workload, folder: Path, given: Path | None, scale: float) -> Inputs:
    """Writes the files of a workload into `folder`: made, or out of the folder `given`.

    `scale` makes flows shorter, or the time in which random flows start. Raises `RunError` for a file that is missing
    or cannot be read as what it should be.
    """
    if given is None:
        topology, flows = _made(work)
        origin = f"made with seed {SEED}"
    else:
        topology, flows = _read(given / work.topology), _read(given / work.flows)
        origin = f"given as {work.topology} and {work.flows}"
    listed = _listed(flows, work.flows)
    if work.shape == "poisson":
        listed = [flow for flow in listed if flow.start_ns < ARRIVALS_NS * scale] or listed[:1]
    else:
        listed = [replace(flow, bytes=max(1, int(flow.bytes * scale))) for flow in listed]
    inputs = Inputs(folder, tuple(listed), work.hosts, origin)
    _write(inputs, topology)
    return inputs


def _made(work: Workload) -> tuple[str, str]:
    if work.k is None:
        topology = _core.hpcc_topology("hpcc-320", 0, "", "")
    else:
        topology = _core.hpcc_topology("fat-tree", work.k, "100Gbps", "1us")
    if work.shape == "permutation":
        return topology, _core.hpcc_permutation(work.hosts, None, work.size, "2s", SEED)
    if work.shape == "incast":
        return topology, _core.hpcc_incast(work.hosts, None, 0, 64, work.size, "2s", SEED)
    time = f"{ARRIVALS_NS} ns"
    return topology, _core.hpcc_poisson(work.hosts, None, "fbhadoop", 0.3, "100Gbps", time, "2s", SEED)


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise RunError(
            f"{path}: cannot be read ({error.strerror}); --inputs names a folder with the files of all cases"
        ) from None


def _listed(text: str, name: str) -> list[Flow]:
    """The flows of a file `src dst priority port bytes seconds`, whose first line has their number."""
    flows = []
    for number, line in enumerate(text.splitlines()[1:], start=2):
        words = line.split()
        if not words:
            continue
        try:
            src, dst, _, _, size = map(int, words[:5])
            seconds, _, fraction = words[5].partition(".")
            start = int(seconds) * 10**9 + int(f"{fraction:0<9}"[:9])
        except (ValueError, IndexError):
            raise RunError(
                f'{name}:{number}: "{line}" is no flow; right is: src dst priority port bytes seconds'
            ) from None
        flows.append(Flow(src, dst, size, start - ZERO_NS))
    if not flows:
        raise RunError(f"{name}: has no flows")
    return flows


def _write(inputs: Inputs, topology: str) -> None:
    inputs.folder.mkdir(parents=True, exist_ok=True)
    inputs.topology.write_text(topology, encoding="utf-8")
    lines = [str(len(inputs.flows))]
    for flow in inputs.flows:
        at = ZERO_NS + flow.start_ns
        lines.append(f"{flow.src} {flow.dst} 3 100 {flow.bytes} {at // 10**9}.{at % 10**9:09d}")
    inputs.flow_file.write_text("\n".join(lines) + "\n", encoding="utf-8")
    inputs.matrix.write_text(_matrix(inputs.flows, inputs.hosts), encoding="utf-8")
    never = [replace(flow, bytes=0) for flow in inputs.flows]
    inputs.endless.write_text(_matrix(never, inputs.hosts), encoding="utf-8")


def _matrix(flows: Sequence[Flow], hosts: int) -> str:
    """htsim's connection matrix, whose times are picoseconds and whose size 0 never ends."""
    lines = [f"Nodes {hosts}", f"Connections {len(flows)}"]
    lines += [
        f"{flow.src}->{flow.dst} id {number} start {flow.start_ns * 1000} size {flow.bytes}"
        for number, flow in enumerate(flows, start=1)
    ]
    return "\n".join(lines) + "\n"
