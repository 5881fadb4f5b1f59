"""The native module: specs in, Arrow columns out."""

from collections.abc import Callable
from typing import Literal, Self, TypedDict, final, type_check_only

__version__: str

class SpecError(ValueError):
    """A spec that cannot run. The message has one line per error: `file:line: key: what is wrong; what would be
    right`."""

class LimitError(SpecError):
    """A run whose estimated memory or time is above its limit. The message has the estimate, the limit, the largest
    part of the estimate, and the option that raises the limit."""

@final
class ArrowTable:
    """Columns that are exported by the Arrow PyCapsule interface without a copy."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...

@final
class Progress:
    """The progress of a run."""

    @property
    def simulated_s(self) -> float:
        """Simulated time, in seconds."""
    @property
    def end_s(self) -> float:
        """The end of the measured window in simulated seconds. A run may continue to drain, or stop earlier when it is
        done."""
    @property
    def packet_hops(self) -> int:
        """Packets sent over one link each."""
    @property
    def wall_s(self) -> float:
        """Real time since the start of the run, in seconds."""
    @property
    def started(self) -> int:
        """Messages posted."""
    @property
    def finished(self) -> int:
        """Of those, messages whose last byte has arrived."""

@final
class RunResult:
    """What a run leaves."""

    @property
    def summary_json(self) -> str: ...
    @property
    def manifest_json(self) -> str: ...
    @property
    def resolved_toml(self) -> str: ...
    @property
    def cancelled(self) -> bool: ...
    def flows(self) -> ArrowTable: ...
    def ports(self) -> ArrowTable: ...
    def classes(self) -> ArrowTable: ...
    def series(self) -> ArrowTable: ...
    def histograms(self) -> ArrowTable: ...
    def events(self) -> ArrowTable: ...
    def watch(self) -> ArrowTable: ...
    def hops(self) -> ArrowTable: ...
    def host_waits(self) -> ArrowTable: ...
    def pauses(self) -> ArrowTable: ...
    def write(self, folder: str, overwrite: bool) -> None:
        """Writes the run folder atomically; raises `OSError`."""

@type_check_only
class Scheme(TypedDict):
    """One preset of a scheme."""

    id: str
    file: str
    """The name of the file that implements it; presets of one file share its manual."""
    presets: list[str]
    """All presets of that file."""
    manual: str

def resolve(
    text: str,
    name: str,
    format: Literal["toml", "json"],
    folder: str,
    overrides: list[str],
    scheme: str | None,
    seed: int | None,
) -> str:
    """The checked spec with all defaults, as JSON; raises `SpecError`."""

def warnings(
    text: str,
    name: str,
    format: Literal["toml", "json"],
    folder: str,
    overrides: list[str],
    scheme: str | None,
    seed: int | None,
) -> list[str]:
    """The warnings of a spec that are known before it runs. Raises `SpecError`."""

def explain(
    text: str,
    name: str,
    format: Literal["toml", "json"],
    folder: str,
    overrides: list[str],
    scheme: str | None,
    seed: int | None,
) -> str:
    """The meaning of a spec before it runs, as JSON: `fanin.explanation.Explanation`. Raises `SpecError`."""

def run_wire(
    text: str,
    name: str,
    format: Literal["toml", "json"],
    folder: str,
    overrides: list[str],
    scheme: str | None,
    seed: int | None,
    program: list[str],
    progress: Callable[[Progress], bool] | None,
    clock: str,
    link: str,
    by_hand: tuple[str, int] | None,
) -> RunResult:
    """Runs a spec on a wire, in processes that `program` with its arguments starts, each of which calls `wire_member`.
    Raises `SpecError` for what cannot run there, before anything starts, and `RuntimeError` where a process fails or
    the machine is too slow for the clock. With `by_hand`, an address and a token, it starts the switches only, and
    waits for hosts that connect there."""

def run_moved(
    text: str,
    name: str,
    format: Literal["toml", "json"],
    folder: str,
    overrides: list[str],
    scheme: str | None,
    seed: int | None,
    most_ps: int,
    draw: int,
) -> RunResult:
    """Runs a spec in the simulator with messages that start up to `most_ps` later, drawn for member `draw` of an
    ensemble. Raises `SpecError`."""

def wire_host(switches: str, token: int, host: int) -> None:
    """Takes part in such a run as a host, until it ends; this process then ends too. Raises `RuntimeError`."""

def wire_veth_refused() -> str | None:
    """Why links of virtual Ethernet interfaces are not permitted here; None where they are."""

def wire_carry(
    text: str,
    name: str,
    format: str,
    folder: str,
    overrides: list[str],
    processes: list[int],
    port: str,
    every_s: float,
    lasts_s: float,
    ready: Callable[[], object],
    go_on: Callable[[], bool],
) -> tuple[list[tuple[float, int]], dict[str, float]]:
    """Carries IPv4 frames between processes with network namespaces of their own through the switches of a spec, in
    real time, for so many seconds.

    Host n has the interface `f{own process}h{n}`, and the address 10.0.0.(n + 1); `ready` is called when these are
    there, and `go_on` now and then: False ends it. Returns samples of the queue of a port, seconds and bytes; and
    counts of frames, and how late they were.
    """

def wire_member() -> None:
    """Is one of these processes: does what the one that started it says over its standard input, until that ends."""

def run_hpcc(
    config: str,
    folder: str,
    trace: bool,
    acks_first: bool,
    progress: Callable[[Progress], bool] | None,
    max_memory_bytes: int | None = None,
    max_wall_s: float | None = None,
) -> RunResult:
    """Runs a configuration of the ns-3 HPCC simulator; paths in it are relative to `folder`. Limits are as in `run`.
    Raises `SpecError`, `LimitError`, `OSError`."""

def run_hpcc_under(
    config: str,
    folder: str,
    scheme: str,
    overrides: list[str],
    seed: int | None,
    progress: Callable[[Progress], bool] | None,
    max_memory_bytes: int | None = None,
    max_wall_s: float | None = None,
    threads: int = 1,
) -> RunResult:
    """Runs one on the ordinary network under a scheme. Limits are as in `run`. Raises `SpecError`, `LimitError`,
    `OSError`."""

def hpcc_topology(kind: Literal["fat-tree", "star", "hpcc-320"], size: int, rate: str, delay: str) -> str:
    """A topology in the format of the ns-3 HPCC simulator. `size` is k or the number of hosts; hpcc-320 is fixed.
    Raises `SpecError`, as the next four do."""

def hpcc_poisson(
    hosts: int | None,
    topology: str | None,
    sizes: str,
    load: float,
    bandwidth: str | None,
    time: str,
    start: str,
    seed: int,
) -> str:
    """Flows in its format: Poisson arrivals at a given load. `sizes` is the name of a distribution or a file."""

def hpcc_permutation(hosts: int | None, topology: str | None, size: str, start: str, seed: int) -> str:
    """Flows in its format: each host sends one and receives one."""

def hpcc_incast(
    hosts: int | None, topology: str | None, receiver: int, senders: int, size: str, start: str, seed: int
) -> str:
    """Flows in its format: random hosts send to one."""

def hpcc_config(
    law: str, topology: str, flows: str, stop: float | None, rate_ai: str | None, trace_file: str | None
) -> str:
    """A configuration in its format, for files of a topology and of flows, which are read."""

def run(
    text: str,
    name: str,
    format: Literal["toml", "json"],
    folder: str,
    overrides: list[str],
    scheme: str | None,
    seed: int | None,
    flows: object | None,
    progress: Callable[[Progress], bool] | None,
    max_memory_bytes: int | None = None,
    max_wall_s: float | None = None,
    threads: int = 1,
) -> RunResult:
    """Runs a spec without the GIL; raises `LimitError` before anything is built if its estimate is above a limit.
    `progress` is called about 10 times a second; when it returns False or raises, the run stops and its result is
    `cancelled`. `flows` is a table with `__arrow_c_stream__` and columns src, dst, bytes, start_us. It has at most so
    many `threads`; the result is the same for any number."""

def htsim_spec(matrix: str, topo: str | None, scheme: str) -> tuple[str, list[str]]:
    """The spec made of htsim's files as JSON, and the parts of them without a counterpart; raises `SpecError`."""

def bench(case: str, threads: int, scale: float) -> str: ...
def bench_cases() -> list[tuple[str, str]]: ...
def schemes() -> list[Scheme]: ...
def schema() -> str: ...
def columns() -> str: ...

@final
class WireEndpoint:
    """An endpoint of messages between hosts, used by `fanin.wire`."""

    def __new__(
        cls,
        address: str,
        port: int,
        scheme: str,
        parameters: str,
        recovery: str,
        rate: str,
        payload: int,
        rtt: float | None,
        timeout: float,
        quiet: float,
        host: int | None,
        secret: tuple[int, int],
    ) -> Self: ...
    def address(self) -> tuple[str, int]: ...
    def connect(self, address: str, port: int) -> int: ...
    def post(self, connection: int, content: bytes, incast: int, senders: list[int] | None) -> int: ...
    def poll(self, seconds: float) -> list[tuple[str, int, int, bytes | None, str]]: ...
    def end(self, connection: int) -> None: ...
    def close(self) -> None: ...
    def rtt(self, connection: int) -> float | None: ...
    def counts(self) -> list[tuple[str, int]]: ...
