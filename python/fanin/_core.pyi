"""The native module: specs in, Arrow columns out."""

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, ClassVar, Literal, Protocol, Self, TypedDict, final, type_check_only

from typing_extensions import disjoint_base

__version__: str

class SpecError(ValueError):
    """A spec that cannot run. The message has one line per error: `file:line: key: what is wrong; what would be
    right`."""

class LimitError(SpecError):
    """A run whose estimated memory or time is above its limit. The message has the estimate, the limit, the largest
    part of the estimate, and the option that raises the limit."""

@type_check_only
class Spec(Protocol):
    """A spec as the module reads it: the text with its changes, and where it is from."""

    @property
    def text(self) -> str: ...
    @property
    def name(self) -> str: ...
    @property
    def format(self) -> Literal["toml", "json"]: ...
    @property
    def folder(self) -> str: ...
    @property
    def overrides(self) -> Sequence[str]: ...
    @property
    def scheme(self) -> str | None: ...
    @property
    def seed(self) -> int | None: ...

@final
class ArrowTable:
    """Columns that are exported by the Arrow PyCapsule interface without a copy."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...
    def descriptions(self) -> dict[str, str]:
        """What is said of the table, and of its columns as `COLUMN.description` and `COLUMN.unit`."""

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
    @property
    def expected_packet_hops(self) -> float | None:
        """An estimate of the packet-hops of the whole run; None where there is none."""
    @property
    def expected_s(self) -> float | None:
        """An estimate of the simulated time at which the run stops, in seconds; None where there is none."""

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
    @property
    def failure(self) -> str | None:
        """What a scheme of one's own did wrong, which ended the run."""
    def table(self, name: str, columns: Sequence[str] | None = None) -> ArrowTable:
        """One of `fanin.run_folder.TABLES`; that of flows with all columns, or with these."""
    def write(self, folder: str, overwrite: bool) -> None:
        """Writes the run folder atomically; raises `OSError`."""

@type_check_only
class SchemeRow(TypedDict):
    """One preset of a scheme."""

    id: str
    """Its name in specs."""
    file: str
    """The name of the file that implements it; presets of one file share its manual."""
    presets: list[str]
    """All presets of that file."""
    manual: str
    """In Markdown."""

def resolve(
    spec: Spec,
) -> str:
    """The checked spec with all defaults, as JSON; raises `SpecError`."""

def warnings(
    spec: Spec,
) -> list[str]:
    """The warnings of a spec that are known before it runs. Raises `SpecError`."""

def explain(
    spec: Spec,
) -> str:
    """The meaning of a spec before it runs, as JSON: `fanin.explanation.Explanation`. Raises `SpecError`."""

def put_folder(new: os.PathLike[str], target: os.PathLike[str], overwrite: bool) -> bool:
    """Moves a whole run folder to its place, where with `overwrite` a run folder may be. Returns whether there was one,
    which then has the name of the other. Raises `FileExistsError` without `overwrite`, and `OSError`."""

def check_wire(clock: str, link: str) -> None:
    """Raises `SpecError` for a clock or a link that there is not."""

def run_wire(
    spec: Spec,
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
    spec: Spec,
    most_ps: int,
    draw: int,
) -> RunResult:
    """Runs a spec in the simulator with messages that start up to `most_ps` later, drawn for member `draw` of an
    ensemble. Raises `SpecError`."""

def wire_host(switches: str, token: int, host: int) -> None:
    """Takes part in such a run as a host, until it ends; this process then ends too. Raises `RuntimeError`."""

def wire_layouts() -> list[tuple[str, str, bool, list[tuple[str, int, str]]]]:
    """The headers that no standard has: name, what it is, whether numbers begin with their lowest byte, and the fields
    from its first bit on: name, bits, meaning."""

def wire_veth_refused() -> str | None:
    """Why links of virtual Ethernet interfaces are not permitted here; None where they are."""

def wire_carry(
    spec: Spec,
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
    reading: tuple[str | None, str | None, bool],
    trace: bool,
    acks_first: bool,
    progress: Callable[[Progress], bool] | None,
    max_memory_bytes: int | None = None,
    max_wall_s: float | None = None,
    follow: int | None = None,
    series: str | None = None,
) -> RunResult:
    """Runs a configuration of the ns-3 HPCC simulator; paths in it are relative to `folder`. `reading` is the dialect
    of its files, its topology, and whether unknown keys are skipped. Limits are as in `run`. `follow` is the `flow_id`
    of a message whose packets are to be in the table of hops, and `series` the time between samples of queues and
    flows. Raises `SpecError`, `LimitError`, `OSError`."""

def run_hpcc_under(
    config: str,
    folder: str,
    reading: tuple[str | None, str | None, bool],
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

def run_uec(
    matrix: str,
    topology: str | None,
    options: str,
    progress: Callable[[Progress], bool] | None,
    max_memory_bytes: int | None,
    max_wall_s: float | None,
) -> RunResult:
    """Runs a connection matrix on the network of uet-htsim."""

def uec_explain(matrix: str, topology: str | None, options: str) -> str:
    """What it means before it runs, as JSON."""

def uec_warnings(matrix: str, topology: str | None, options: str) -> list[str]:
    """Its warnings, known before it runs."""

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
    spec: Spec,
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

def hpcc_spec(
    config: str,
    folder: str,
    reading: tuple[str | None, str | None, bool],
    scheme: str,
    overrides: list[str],
    seed: int | None,
) -> tuple[str, list[str]]:
    """The checked spec that a configuration runs as under a scheme, as JSON, and its warnings. Raises `SpecError`."""

def hpcc_warnings(config: str, folder: str, reading: tuple[str | None, str | None, bool]) -> list[str]:
    """The warnings of a configuration on its own network that are known before it runs. Raises `SpecError`."""

def hpcc_explain(
    config: str,
    folder: str,
    reading: tuple[str | None, str | None, bool],
    scheme: str | None,
    overrides: list[str],
    seed: int | None,
) -> str:
    """The explanation of one as JSON, on its own network or under a scheme. Raises `SpecError`."""

def ideals(
    spec: str,
    name: str,
    folder: str,
    flows: object | None,
    ideal: str,
    wanted: list[tuple[int, int]],
) -> list[int | None]:
    """The ideals of messages of a spec in JSON, in ps, by a definition of `measure.slowdown`; None where there is none.
    `wanted` has the number of each message's traffic, and its number there. Raises `SpecError`."""

def htsim_spec(matrix: str, topo: str | None, scheme: str, dialect: str | None) -> tuple[str, list[str]]:
    """The spec made of htsim's files as JSON, and the parts of them without a counterpart; raises `SpecError`."""

def certify(path: str, facts: str) -> str:
    """Holds the capture of a run folder against its spec and facts of its tables in JSON; raises `SpecError`."""

def certify_trace(path: str, config: str) -> str:
    """Holds a trace of the ns-3 HPCC simulator against the configuration of its run; raises `SpecError`."""

def certify_laws() -> list[tuple[str, str]]:
    """The name of each law of `certify`, and what it says."""

def graphs_kind(path: str) -> Literal["goal", "chakra", "simai", "msccl", "simccl"] | None:
    """The kind of a file of graphs; None for other files."""

def network_of(path: str) -> str:
    """The keys network and seed of the spec in a file, or around a topology, as JSON; raises `SpecError`."""

def graphs_check(path: str, groups: str | None = None) -> tuple[int, list[str]]:
    """The number of ranks of a schedule, or of traces by the one of any rank, and warnings; raises `SpecError`."""

def graphs_write(path: str, out: str, groups: str | None = None) -> list[Path]:
    """Writes graphs in another format, with collectives as messages; the files. Raises `SpecError`."""

def graphs_overview(path: str, parameters: str | None = None, groups: str | None = None) -> str:
    """What graphs do, as JSON; messages alone take the time that the parameters of LogGOPS say. Raises `SpecError`."""

def job_write(spec: object, out: str, traffic: str | None = None) -> list[Path]:
    """Writes the job of a traffic of a spec; the files. Raises `SpecError`."""

def graphs_finish(path: str, parameters: str) -> list[int]:
    """When each rank has finished by LogGOPS, in ns, with "L=..,o=..,g=..,G=..,O=..,S=.."; raises `SpecError`."""

def bench(case: str, threads: int, scale: float, scheme: str | None = None) -> str: ...
def bench_cases() -> list[tuple[str, str]]: ...
def schemes() -> list[SchemeRow]: ...
def schema() -> str: ...
def columns() -> str: ...
def toml_as_json(text: str) -> str | None: ...

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

@disjoint_base
class Sender:
    """The base class of senders: how much a flow may send. One object per flow.

    A subclass defines the hooks that it needs; all others do nothing. Times are integers in picoseconds, rates in bits
    per second, sizes in bytes. Window, rate and times may be set to floats, which are rounded down.
    """

    @property
    def window(self) -> int | None:
        """Bytes that may be in flight; None is no window, as at the start."""
    @window.setter
    def window(self, value: float | None) -> None: ...
    @property
    def rate(self) -> int:
        """Pacing rate in bits per second on the wire; the line rate at the start. 0 stops the flow until it changes."""
    @rate.setter
    def rate(self, value: float) -> None: ...
    @property
    def wake_at(self) -> int | None:
        """The time to call `on_timer`, later than now; None for no timer. `on_timer` begins with None."""
    @wake_at.setter
    def wake_at(self, value: float | None) -> None: ...
    retime: bool
    """Whether a change of rate also moves a packet that already waits for its time."""
    @property
    def not_before(self) -> int:
        """Nothing leaves before this time, whatever the rate."""
    @not_before.setter
    def not_before(self, value: float) -> None: ...
    @property
    def now(self) -> int:
        """The time of the hook."""
    @property
    def params(self) -> Any:
        """The object of the scheme's `Params`."""
    @property
    def shared(self) -> dict[Any, Any] | None:
        """A dictionary that the flows of this host share by `Scheme.sharing`."""
    def __init__(self) -> None: ...
    def share_changed(self) -> None:
        """Says that `shared` has changed: `control` of the other flows is called."""
    def count(self, action: str, times: int = 1) -> None:
        """Counts an action of the scheme by its name in results, like "cuts"."""
    def open(self, path: PathInfo) -> None:
        """The flow opens."""
    def on_send(self, sent: Sent) -> int | None:
        """A packet left. The result is its `cc_tag`, for switches and the receiver."""
    def on_ack(self, ack: Ack) -> None:
        """An acknowledgement arrived."""
    def on_notice(self, notice: Notice) -> None:
        """A congestion notification packet or a credit arrived."""
    def on_loss(self, loss: Loss) -> None:
        """The endpoint found a loss and will retransmit."""
    def on_timeout(self, loss: Loss) -> None:
        """The retransmission timer expired."""
    def on_trim(self, trim: Trim) -> None:
        """A switch cut this packet's payload, and it is sent again at once. Without this hook it is a loss."""
    def on_idle(self) -> None:
        """A connection that stays open has become idle."""
    def on_timer(self) -> None:
        """The time of `wake_at` has come."""
    def poll_request(self, left: int) -> int | None:
        """The `cc_tag` of a request to send now, with so many payload bytes posted and not sent. Called until it
        returns None."""
    def control(self) -> None:
        """Called before each reading of window and rate, where flows share state; most schemes do without."""
    def watch(self) -> dict[str, float]:
        """Internal state by name, for runs that watch the flow."""
    def close(self) -> None:
        """The flow ends."""

@disjoint_base
class Receiver:
    """The base class of receivers: the state of a host about all flows into it. One object per host."""

    @property
    def wake_at(self) -> int | None:
        """The time to call `on_timer`, later than now; None for no timer. `on_timer` begins with None."""
    @wake_at.setter
    def wake_at(self, value: float | None) -> None: ...
    @property
    def now(self) -> int:
        """The time of the hook."""
    @property
    def params(self) -> Any:
        """The object of the scheme's `Params`."""
    def __init__(self) -> None: ...
    def count(self, action: str, times: int = 1) -> None:
        """Counts an action of the scheme by its name in results, like "cnps_sent"."""
    def send_ack(self, flow: int, fields: AckFields) -> None:
        """Sends an ACK that was held back; it covers everything that has arrived."""
    def send_cnp(self, flow: int) -> None:
        """Sends a congestion notification packet."""
    def send_credit(self, flow: int, number: int, wire: int) -> None:
        """Sends a numbered credit of so many bytes; its class needs `Scheme.credits`."""
    def open(self, nic: NicInfo) -> None:
        """The host comes up."""
    def on_open(self, flow: FlowInfo) -> None:
        """A flow opens: its first packet, or its handshake, arrived."""
    def on_syn(self, flow: int) -> AckFields | None:
        """A TCP connection's SYN arrived. With None the SYN-ACK waits for `send_ack`."""
    def on_message_start(self, message: MessageStart) -> None:
        """A message starts (RDMA)."""
    def on_message_end(self, flow: int, id: int) -> None:
        """A message has arrived whole (RDMA)."""
    def on_data(self, data: Data) -> AckFields | tuple[AckFields | None, AckFields | None] | None:
        """Data arrived. Returns the fields of an ACK that covers it, None for no ACK, or a pair: the fields of an ACK
        for what came before it, and of one that covers it. Without this hook, every ACK that is due goes out and
        echoes the packet's mark."""
    def on_trim(self, data: Data) -> None:
        """The header of a data packet arrived, whose payload a switch cut (RDMA)."""
    def on_request(self, request: Data) -> AckFields | None:
        """A request of the sender's scheme arrived (RDMA)."""
    def ack_fields(self, flow: int) -> AckFields | None:
        """The fields of an ACK that `on_data` did not plan."""
    def on_fin(self, flow: int) -> None:
        """The sender's FIN arrived, and all its data has (TCP)."""
    def on_close(self, flow: int) -> None:
        """A flow ends."""
    def on_timer(self, received: int) -> None:
        """The time of `wake_at` has come; `received` bytes have entered this host so far."""
    def watch(self) -> dict[str, float]:
        """Internal state by name, for runs that watch the host."""

@disjoint_base
class SwitchProgram:
    """The base class of programs of switches. One object per switch; ports are numbered from 0 within it."""

    @property
    def wake_at(self) -> int | None:
        """The time to call `on_timer`, later than now; None for no timer. `on_timer` begins with None."""
    @wake_at.setter
    def wake_at(self, value: float | None) -> None: ...
    @property
    def now(self) -> int:
        """The time of the hook."""
    @property
    def params(self) -> Any:
        """The object of the scheme's `Params`."""
    def __init__(self) -> None: ...
    def count(self, action: str, times: int = 1) -> None:
        """Counts an action of the scheme by its name in results."""
    def open(self, switch: SwitchInfo) -> None:
        """The switch comes up."""
    def route(self, packet: Packet, ingress: int, minimal: int, ports: list[PortView]) -> int:
        """A data packet of this scheme came in at `ingress`; its shortest path goes on at `minimal`. Returns the port
        where it leaves."""
    def on_enqueue(self, queued: Queued) -> Verdict | None:
        """A packet of any scheme is about to join a queue; None admits it."""
    def on_dequeue(self, queued: Queued) -> Verdict | None:
        """A packet of any scheme leaves a queue; `Verdict.MARK` marks it."""
    def on_drop(self, packet: Packet) -> None:
        """A failure dropped a data packet of this scheme."""
    def on_link_down(self, port: int) -> None:
        """The link of a port went down."""
    def on_timer(self, ports: list[PortView]) -> None:
        """The time of `wake_at` has come."""
    def watch(self) -> dict[str, float]:
        """Internal state by name, for runs that watch the switch."""

@disjoint_base
class Balancer:
    """The base class of policies of load balancing: which of several equally short paths a packet takes. One object per
    switch."""

    id: ClassVar[str]
    """The name by which specs select it; by default that of the class, as `my-policy` of `MyPolicy`."""
    Params: ClassVar[type | None]
    """A dataclass of its parameters, as `Scheme.Params`."""
    @property
    def params(self) -> Any:
        """The object of its `Params`."""

    @property
    def now(self) -> int:
        """The time of the hook, ps."""
    def __init__(self) -> None: ...
    def open(self, switch: SwitchInfo) -> None:
        """The switch comes up."""
    def choose(self, packet: Packet, hash: int, choices: list[Choice]) -> int:
        """The index in `choices` of the port that a packet takes; there are two at least. `hash` is the same for all
        packets of one direction of a flow."""

@disjoint_base
class PathSelector:
    """The base class of senders' choice of paths: which of many paths each packet takes, by a number in it that
    switches hash. One object per sender of RDMA."""

    id: ClassVar[str]
    """The name by which specs select it; by default that of the class, as `my-paths` of `MyPaths`."""
    Params: ClassVar[type | None]
    """A dataclass of its parameters, as `Scheme.Params`."""
    @property
    def params(self) -> Any:
        """The object of its `Params`."""

    @property
    def now(self) -> int:
        """The time of the hook, ps."""
    def __init__(self) -> None: ...
    def open(self, sender: SelectorInfo) -> None:
        """The sender is about to send its first packet."""
    def next_path(self, number: int, window: int) -> int:
        """The path, 0 to 65535, of the packet with this number; the congestion window has `window` packets."""
    def feedback(self, path: int, feedback: Feedback) -> None:
        """What became of a packet of this path; after a timeout the path is not known, and 0."""

@disjoint_base
class Discipline:
    """The base class of queue disciplines: whether a packet may join a queue, with or without a mark, before the
    network's own marking and admission. One object per switch, for all ports and classes."""

    id: ClassVar[str]
    """The name by which specs select it; by default that of the class, as `my-queue` of `MyQueue`."""
    Params: ClassVar[type | None]
    """A dataclass of its parameters, as `Scheme.Params`."""
    @property
    def params(self) -> Any:
        """The object of its `Params`."""

    @property
    def now(self) -> int:
        """The time of the hook, ps."""
    def __init__(self) -> None: ...
    def open(self, switch: SwitchInfo) -> None:
        """The switch comes up."""
    def on_enqueue(self, queued: Queued) -> Verdict | None:
        """A packet is about to join a queue; None admits it."""
    def on_dequeue(self, queued: Queued) -> Verdict | None:
        """A packet leaves a queue; `Verdict.MARK` marks it."""

@final
class Choice:
    """A port that leads to a packet's destination on a shortest path."""

    @property
    def port(self) -> int:
        """Its number at the switch."""
    @property
    def rate(self) -> int:
        """Rate of its link, bit/s."""
    @property
    def queued(self) -> int:
        """Bytes that wait there in the packet's class."""
    @property
    def paused(self) -> bool:
        """Whether the packet's class must not be sent there now."""

@final
class SelectorInfo:
    """A sender that begins to choose paths."""

    @property
    def seed(self) -> int:
        """Seed of this sender's own random draws."""
    @property
    def paths(self) -> int:
        """`network.paths` of the spec."""
    @property
    def flow(self) -> int:
        """The number of its flow's first message in the run."""
    @property
    def src(self) -> int:
        """The sending host."""
    @property
    def dst(self) -> int:
        """The receiving host."""

@final
class Feedback:
    """What became of a packet of a path."""

    GOOD: Feedback
    """It arrived without a mark."""
    MARKED: Feedback
    """It was marked."""
    TRIMMED: Feedback
    """A switch cut its payload."""
    TIMEOUT: Feedback
    """It was lost."""

@final
class PathInfo:
    """The path of a flow when it opens."""

    @property
    def line_rate(self) -> int:
        """Line rate of the sender's own NIC, bit/s. It knows of no link beyond its own until feedback arrives."""
    @property
    def receiver_rate(self) -> int:
        """Line rate of the receiver's NIC, bit/s, for schemes whose feedback carries it: no sender knows it before."""
    @property
    def base_rtt(self) -> int:
        """Round-trip time of a full packet and its ACK on an idle network, ps."""
    @property
    def payload(self) -> int:
        """Largest payload of a packet in bytes."""
    @property
    def wire(self) -> int:
        """Bytes on the wire of a packet with that payload."""
    @property
    def network_bdp(self) -> int:
        """Largest bandwidth-delay product of any host pair, bytes."""
    @property
    def network_rtt(self) -> int:
        """Largest base round-trip time of any host pair, ps."""
    @property
    def id(self) -> int:
        """Number of the flow's first message in the run."""
    @property
    def src(self) -> int | None:
        """The sending host."""
    @property
    def dst(self) -> int | None:
        """The destination host."""

@final
class NicInfo:
    """The NIC of a receiving host."""

    @property
    def line_rate(self) -> int:
        """Its line rate, bit/s."""
    @property
    def payload(self) -> int:
        """Largest payload of a packet in bytes."""
    @property
    def wire(self) -> int:
        """Bytes on the wire of a packet with that payload."""
    @property
    def network_rtt(self) -> int:
        """Largest base round-trip time in the network, ps."""
    @property
    def seed(self) -> int:
        """Seed of this host's own random draws."""

@final
class SwitchInfo:
    """A switch that comes up."""

    @property
    def node(self) -> int:
        """Its number."""
    @property
    def seed(self) -> int:
        """Seed of this switch's own random draws."""
    @property
    def ports(self) -> list[PortView]:
        """Its ports, in order."""
    @property
    def network_rtt(self) -> int:
        """Largest base round-trip time of any host pair, ps."""

@final
class Sent:
    """A data packet that left."""

    @property
    def wire(self) -> int:
        """Bytes on the wire."""
    @property
    def payload(self) -> int:
        """Payload bytes."""
    @property
    def sent_to(self) -> int:
        """Offset behind its last byte: the next byte to send."""
    @property
    def retransmitted(self) -> bool:
        """Whether it was sent before."""
    @property
    def left(self) -> int:
        """Payload bytes posted behind it and not sent yet; 0 over TCP."""

@final
class Ack:
    """An acknowledgement that arrived."""

    @property
    def newly_acked(self) -> int:
        """Payload bytes acknowledged for the first time."""
    @property
    def acked_to(self) -> int:
        """Everything before this offset has arrived."""
    @property
    def seq(self) -> int:
        """The number in the ACK itself: less than `acked_to` if a later ACK has overtaken this one."""
    @property
    def sent_to(self) -> int:
        """Next byte to send."""
    @property
    def in_flight(self) -> int:
        """Bytes in flight just before this ACK."""
    @property
    def burst(self) -> int:
        """Bytes that wait to be handed to the NIC at once (TCP's segmentation offload)."""
    @property
    def recovering(self) -> bool:
        """Whether the endpoint is repairing a loss, so that the window must not change."""
    @property
    def ecn_echo(self) -> bool:
        """Whether it echoes a congestion mark."""
    @property
    def rtt(self) -> int:
        """Time since the data packet that it answers left the sender, ps."""
    @property
    def cc_feedback(self) -> int:
        """The number that the scheme's receiver put into it."""
    @property
    def telemetry(self) -> list[IntHop]:
        """The records of the switches on the way, first switch first."""
    @property
    def path(self) -> int:
        """XOR of those switches' ids, 12 bits."""

@final
class IntHop:
    """What a switch wrote into a packet: telemetry."""

    @property
    def rate(self) -> int:
        """Rate of the link behind the port, bit/s."""
    @property
    def time(self) -> int:
        """When the packet was taken from its queue, ps."""
    @property
    def sent(self) -> int:
        """Bytes that the port sent before this packet."""
    @property
    def queued(self) -> int:
        """Bytes queued at the port behind the packet."""

@final
class Loss:
    """A loss that the endpoint found."""

    @property
    def first(self) -> int:
        """First byte missing."""
    @property
    def sent_to(self) -> int:
        """Next byte to send when the loss was found."""
    @property
    def in_flight(self) -> int:
        """Bytes in flight when the loss was found."""
    @property
    def retransmitted(self) -> bool:
        """Whether a timeout had found this very byte lost before."""

@final
class Trim:
    """A packet whose payload a switch cut."""

    @property
    def first(self) -> int:
        """Its first byte."""
    @property
    def payload(self) -> int:
        """Payload bytes that it had."""
    @property
    def wire(self) -> int:
        """Bytes on the wire that it had."""
    @property
    def sent_to(self) -> int:
        """Next byte to send when its NACK arrived."""
    @property
    def in_flight(self) -> int:
        """Bytes in flight just before that, this packet included."""
    @property
    def last_hop(self) -> bool:
        """Whether it was cut in front of the receiver's own link; False where that is not known."""
    @property
    def rtt(self) -> int | None:
        """Time since it left, ps; None where that is not known."""

@final
class Notice:
    """A control packet for a flow."""

    @property
    def kind(self) -> str:
        """ "cnp" or "credit"."""
    @property
    def number(self) -> int:
        """Number of a credit."""

@final
class FlowInfo:
    """A flow that opens towards this host."""

    @property
    def flow(self) -> int:
        """The flow, as this host numbers it."""
    @property
    def id(self) -> int:
        """Number of its first message in the run."""
    @property
    def src(self) -> int:
        """The sending host."""
    @property
    def size(self) -> int | None:
        """Bytes it will carry, if the sender says so."""

@final
class MessageStart:
    """A message whose first packet arrived in order."""

    @property
    def flow(self) -> int:
        """Its flow."""
    @property
    def id(self) -> int:
        """Its number in the run."""
    @property
    def src(self) -> int:
        """The sending host."""
    @property
    def tenant(self) -> int:
        """The tenant it belongs to."""
    @property
    def weight(self) -> int:
        """Its weight."""
    @property
    def incast(self) -> int | None:
        """Number of the incast that its first packet announces."""
    @property
    def senders(self) -> list[int]:
        """The hosts of that incast."""

@final
class Data:
    """A data packet that arrived."""

    @property
    def flow(self) -> int:
        """Its flow."""
    @property
    def src(self) -> int:
        """The sending host."""
    @property
    def wire(self) -> int:
        """Bytes on the wire."""
    @property
    def payload(self) -> int:
        """Payload bytes."""
    @property
    def seq(self) -> int:
        """Offset of its first payload byte."""
    @property
    def acked_to(self) -> int:
        """Next byte expected of this flow, this packet included."""
    @property
    def ce(self) -> bool:
        """Whether it carries a congestion mark."""
    @property
    def start(self) -> bool:
        """First packet of a message."""
    @property
    def end(self) -> bool:
        """Last packet of a message."""
    @property
    def in_order(self) -> bool:
        """Whether it was the next one expected."""
    @property
    def ack_due(self) -> bool:
        """Whether the endpoint's rules ask for an ACK now."""
    @property
    def pending(self) -> bool:
        """Whether earlier packets have arrived that no ACK has covered yet."""
    @property
    def due_alone(self) -> bool:
        """Whether the rules would ask for an ACK now even after one for those."""
    @property
    def cc_tag(self) -> int:
        """The number that the sender's scheme wrote."""
    @property
    def cc_feedback(self) -> int:
        """The number that switches wrote on its way."""
    @property
    def received(self) -> int:
        """Bytes that have entered this host so far, of any kind."""

@final
class PortView:
    """A port of a switch."""

    @property
    def rate(self) -> int:
        """Rate of its link, bit/s."""
    @property
    def to_switch(self) -> bool:
        """Whether the other end is a switch."""
    @property
    def queued(self) -> int:
        """Bytes queued in its data classes."""
    @property
    def up(self) -> bool:
        """Whether its link is up."""
    @property
    def lane_queued(self) -> int:
        """Bytes in the queue of the packet's class there, for queue disciplines."""
    @property
    def lane_paused(self) -> bool:
        """Whether that queue must not send now, for queue disciplines."""

@final
class Queued:
    """A packet at a queue."""

    @property
    def port(self) -> int:
        """The number of the queue's port."""
    @property
    def view(self) -> PortView:
        """That port now."""
    @property
    def packet(self) -> Packet:
        """The packet."""
    @property
    def own(self) -> bool:
        """Whether it is data or a request of this scheme."""

@final
class AckFields:
    """Fields that a receiver puts on an ACK."""

    def __new__(
        cls, ecn_echo: bool = False, push: bool = False, window: int | None = None, cc_feedback: int = 0
    ) -> Self: ...
    @property
    def ecn_echo(self) -> bool:
        """Echo a congestion mark."""
    @property
    def push(self) -> bool:
        """Ask the sender to recover at once."""
    @property
    def window(self) -> int | None:
        """TCP: the most bytes beyond the acknowledgement number that may be in flight."""
    @property
    def cc_feedback(self) -> int:
        """One number for the sender's scheme: a share, a window, a rate."""

@final
class Packet:
    """A packet at a switch."""

    cc_feedback: int
    """The number that switches may write, for the receiver."""
    @property
    def kind(self) -> str:
        """ "data", "ack", "nack", "cnp", "credit", "request", "trimmed" or "link"."""
    @property
    def flow(self) -> int:
        """Its flow."""
    @property
    def src(self) -> int:
        """The sending host."""
    @property
    def dst(self) -> int:
        """The destination host."""
    @property
    def seq(self) -> int:
        """Offset of its first payload byte; of an ACK, the next byte expected."""
    @property
    def wire(self) -> int:
        """Bytes on the wire."""
    @property
    def payload(self) -> int:
        """Payload bytes."""
    @property
    def ce(self) -> bool:
        """Whether it carries a congestion mark."""
    @property
    def ect(self) -> bool:
        """Whether it may be marked."""
    @property
    def start(self) -> bool:
        """First packet of a message."""
    @property
    def end(self) -> bool:
        """Last packet of a message."""
    @property
    def hops(self) -> int:
        """Links crossed so far."""
    @property
    def tokens(self) -> int:
        """Remaining deflections."""
    @property
    def cc_tag(self) -> int:
        """The number that the sender's scheme wrote."""
    @property
    def lane(self) -> int:
        """Virtual lane within its class."""

@final
class Verdict:
    """What happens to a packet that is about to join a queue."""

    ADMIT: Verdict
    """It joins."""
    MARK: Verdict
    """It joins with a congestion mark."""
    DROP: Verdict
    """It is dropped."""
    TRIM: Verdict
    """Its payload is cut, and its header joins the queue of control packets; dropped without `network.trimming`."""

def load_class(scheme: object, facts: dict[str, object], parameters: Callable[[str], object]) -> None:
    """Makes a subclass of `fanin.Scheme` known by its id; raises `ValueError`."""

def load_policy(policy: object, facts: dict[str, object], parameters: Callable[[str], object]) -> None:
    """Makes a subclass of `fanin.Balancer`, `fanin.PathSelector` or `fanin.Discipline` known by its id; raises
    `ValueError`."""

def policies(kind: Literal["balancing", "discipline"]) -> list[tuple[str, str]]:
    """The ids and manuals of the loaded policies of load balancing, or of the loaded queue disciplines."""

def forget_schemes() -> None:
    """Forgets all schemes and policies that were loaded."""

def check_scheme(scheme: str, parameters: str | None, cases: int, seed: int, go_on: Callable[[int, bool], bool]) -> str:
    """Checks a scheme with random events; JSON. `parameters`, a JSON object, are those of all cases, where given.
    `go_on(cases_done, shortening)` says whether to go on. Raises `ValueError` for an id or a parameter that is none."""

def check_policy(
    kind: str, policy: str, parameters: str | None, cases: int, seed: int, go_on: Callable[[int, bool], bool]
) -> str:
    """Checks the loaded load balancing of this id (`kind` is "balancing"), or else the queue discipline, likewise."""

def parameters_of(changes: list[str]) -> str:
    """A table of parameters as JSON, of texts like `KEY=VALUE`; raises `ValueError`."""

def load_library(path: str) -> dict[Literal["scheme", "balancing", "discipline"], str]:
    """Loads what a shared library has, and returns the ids by kind; raises `SpecError`."""

def scheme_header() -> str:
    """The text of `fanin_scheme.h`, with which schemes in shared libraries are compiled."""
