"""The types of a spec that is a dict, for completion in editors and for type checkers; made by `make docs`.

`spec: Spec = {"spec_version": 1, ...}` and `fanin.run(spec)`. Each table is a type, each kind of a table one of its
own. Values with units are text. The keys are those of docs/spec.md, where their defaults and bounds are.
"""

from collections.abc import Mapping, Sequence
from typing import Literal, Required, TypedDict


class Compare(TypedDict, total=False):
    """The schemes for `fanin compare`."""

    schemes: Required[Sequence[str]]
    """Ids of schemes; the spec runs once with each, for all its traffics."""


PortKind = Literal["all", "switch-ports", "last-hop", "tor-uplinks"]
"""All ports, or those of a kind."""


Ports = PortKind | Sequence[str]
"""Ports of hosts and switches."""


Bytes = str
"""A size with its unit, like "225 KB"."""


class Capture(TypedDict, total=False):
    """Capture of packets on links."""

    links: Required[Ports]
    """The captured directions of links, given by the sending port."""
    max_size: Bytes
    """Largest size of the file. After the first packet that does not fit, all further packets are counted but left out.
    From 10 KB to 100 GB."""
    snaplen: Bytes
    """Bytes kept of each packet (the snapshot length of pcap). From 64 B to 65535 B."""


Time = str
"""A time with its unit, like "5 us"."""


class Perfetto(TypedDict, total=False):
    """Timeline of messages, queues and pauses."""

    max_size: Bytes
    """Largest size of the file. After the first event that does not fit, all further events are counted but left out.
    From 10 KB to 100 GB."""
    queues: Ports
    """The ports whose queues are shown; ports that never had a queue are left out."""


Quantity = Literal["queue", "flow", "receiver", "switch", "port", "traffic"]
"""A quantity that can be sampled."""


PortSet = Literal["switch-ports", "last-hop", "tor-uplinks"]
"""All ports of a kind."""


Place = PortSet | Sequence[str]
"""Where a quantity is sampled."""


class Series(TypedDict, total=False):
    """A quantity sampled over time."""

    every: Required[Time]
    """Time between samples. Above 0 s."""
    what: Required[Quantity]
    """The quantity."""
    where: Required[Place]
    """The ports, messages, nodes or traffics."""
    zeros: bool
    """Whether samples of empty queues are kept in the series; histograms always include them."""


Ideal = Literal["store-and-forward", "hpcc", "lone-run"]
"""The ideal that completion times are divided by for slowdowns."""


class Measure(TypedDict, total=False):
    """The measurements and their duration."""

    allow_drops: bool
    """Whether drops in a lossless class are allowed; otherwise they are an error."""
    capture: Capture
    """Capture of packets on links for Wireshark: capture.pcapng in the run's folder."""
    drain: bool
    """Whether the run continues after the window, without new messages, until all messages have arrived."""
    drain_limit: Time
    """Longest time that the run continues after the window."""
    pauses: bool
    """Whether each pause by PFC is recorded with its cause: the table `pauses`."""
    perfetto: Perfetto
    """Timeline of messages, queues and pauses for ui.perfetto.dev: trace.perfetto-trace in the run's folder."""
    report_size: Bytes
    """Only messages of this size are included in the reported completion times. Default: all sizes. Above 0 B."""
    series: Sequence[Series]
    """Quantities sampled over time."""
    slowdown: Ideal
    """The ideal that completion times are divided by for slowdowns."""
    stop_when_done: bool
    """Whether the window ends as soon as all messages that have an end have arrived and no further one will be
    posted."""
    trace: Sequence[str]
    """Messages whose packets are recorded at every hop: "queries:17" is the traffic's 18th message in the order of
    start times."""
    warm_up: Time
    """Messages posted before this time do not count."""
    window: Required[Time]
    """Messages posted in this time after the warm-up count. Above 0 s."""


Rate = str
"""A rate with its unit, like "10 Gbps"."""


class RoomOfRate(TypedDict, total=False):
    """The buffer of each port of a rate."""

    per_port: Required[Bytes]
    """Bytes per port."""
    rate: Required[Rate]
    """The rate. Some link has it."""


PerLink = Literal["per-link"]
"""The value for bytes computed for each link."""


Headroom = PerLink | Bytes
"""Bytes reserved for packets that arrive after a PAUSE was sent."""


Policy = Literal["lossless", "lossy"]
"""Behaviour of a full buffer."""


class PerPort(TypedDict, total=False):
    """A fixed buffer per port."""

    by_rate: Sequence[RoomOfRate]
    """Bytes per port on ports of certain rates, instead of `per_port`: for instance less where a link is slow, so that
    its queue takes as long to drain as any other."""
    headroom: Headroom
    """Bytes of a port's buffer reserved for packets that arrive after a PAUSE was sent."""
    per_port: Required[Bytes]
    """Bytes per port of a switch. In a lossy class this limits the bytes queued at an egress port, all lossy classes of
    the port together; a packet beyond the limit is dropped, as by a drop-tail queue of this size in ns-3 or htsim. In a
    lossless class it limits the bytes that arrived at an ingress port and are still in the switch, at any egress port,
    as in the input queues of htsim's lossless mode; several lossless classes divide it equally. An ingress port that
    holds its share less `headroom` pauses the upstream port (PFC). Packets that arrive before the PAUSE takes effect
    fit into the headroom, so nothing is dropped unless `headroom` was set too small. The queue at an egress port then
    has no limit of its own: it may hold the bytes of all ingress ports. (The switch of the ns-3 HPCC simulator also
    counts per ingress port, but from a memory shared by all ports: that is `pool`.) Control packets, and packets that
    find their egress idle, are not counted."""
    policy: Required[Policy]
    """Whether classes are lossless or lossy, unless they set it themselves."""
    xon_offset: Bytes
    """XON offset: a paused ingress resumes when it holds this much less than the PAUSE threshold. Default: two full
    packets."""


class ThresholdsOfRate(TypedDict, total=False):
    """The dynamic thresholds of ports of a rate."""

    alpha: float
    """Dynamic threshold of a lossy egress queue. Default: that of the pool. Above 0 and at most 1000."""
    pfc_alpha: float
    """Dynamic threshold of a lossless ingress. Default: that of the pool. Above 0 and at most 1000."""
    rate: Required[Rate]
    """The rate. Some link has it."""


class Pool(TypedDict, total=False):
    """A buffer pool per switch, shared by its ports."""

    alpha: float
    """Dynamic threshold of a lossy egress queue: it may grow to this many times the free pool. Above 0 and at most
    1000."""
    by_rate: Sequence[ThresholdsOfRate]
    """Dynamic thresholds on ports of certain rates, for classes without an `alpha` of their own. The ns-3 HPCC
    simulator has 1/8, 1/4 and 1/2 for its NICs' rate, twice and four times of it."""
    headroom: Headroom
    """Bytes of the pool reserved per lossless ingress for packets that arrive after a PAUSE was sent."""
    pfc_alpha: float
    """Dynamic threshold of a lossless ingress: it is paused above this many times the free pool. Above 0 and at most
    1000."""
    policy: Required[Policy]
    """Whether classes are lossless or lossy, unless they set it themselves."""
    pool: Required[Bytes]
    """Bytes per switch."""
    xon_offset: Bytes
    """XON offset: a paused ingress resumes when it holds this much less than the PAUSE threshold. Default: two full
    packets."""


CreditBuffer = PerLink | Bytes
"""Bytes per port and class."""


class Credits(TypedDict, total=False):
    """Credit flow control as in InfiniBand, instead of PFC. Each class is a virtual lane. Both ends of each link, hosts
    too, have a buffer per class for what they receive, counted in blocks of 64 B, and tell the other end how much of it
    is free. A packet starts only if all its blocks are; a host starts one only if those of a full packet are. So
    nothing is ever dropped for lack of buffer, nothing is paused, and no headroom is needed. Free blocks are told in
    flow control packets of 8 B, whenever they change, ahead of other packets. Control packets are not counted."""

    credits: Required[CreditBuffer]
    """Bytes per port and class. No more than 131,072 B can be told as free at once, so a larger buffer makes no link
    faster."""


NoLimit = Literal["unlimited"]
"""The value of `policy` for no limit."""


class Unlimited(TypedDict, total=False):
    """No limit: no packet is dropped for lack of buffer, and none is paused."""

    policy: Required[NoLimit]
    """The policy without a limit."""


Buffer = PerPort | Pool | Credits | Unlimited
"""Buffers of the switches."""


class MarkingOff(TypedDict, total=False):
    """Never."""

    kind: Required[Literal["off"]]


MarkAt = Literal["enqueue", "dequeue", "last-bit"]
"""When a queue is compared with its marking threshold."""


class MarkingStep(TypedDict, total=False):
    """Whenever the queue is above a threshold."""

    above: Required[Bytes]
    """The threshold; a queue of exactly this size does not mark."""
    at: MarkAt
    """When the queue is compared with the threshold."""
    kind: Required[Literal["step"]]


class MarkingRed(TypedDict, total=False):
    """With a probability that rises from 0 at `min` to `probability` at `max`, and is 1 above."""

    at: MarkAt
    """When the queue is compared with the thresholds."""
    kind: Required[Literal["red"]]
    max: Required[Bytes]
    """Above this, every packet is marked."""
    min: Required[Bytes]
    """At or below this, no packet is marked."""
    probability: Required[float]
    """Probability at `max`. From 0 to 1."""


class MarkingRedAverage(TypedDict, total=False):
    """RED on a moving average of the queue, as in ns-2 and with its defaults, but without drops. Packets are marked as
    they are enqueued."""

    gentle: bool
    """Whether the probability rises from `probability` at `max` to 1 at twice `max`; otherwise it is 1 from `max`
    on."""
    idle_packet: Bytes
    """Packet size for the decay over an idle time, as if packets of this size had been sent. Default: `mean_packet`.
    From 1 B to 65535 B."""
    kind: Required[Literal["red-average"]]
    max: Bytes
    """The average at which the marking probability reaches `probability`. Default: 3 times `min`."""
    mean_packet: Bytes
    """Mean packet size, in which queue lengths are counted. Default: a full packet. From 1 B to 65535 B."""
    min: Required[Bytes]
    """Below this average, no packet is marked."""
    probability: float
    """Probability at `max`. Above 0 and at most 1."""
    wait: bool
    """Whether marks are at least 1/p packets apart (ns-2's `wait`); otherwise their distance is uniform from the first
    packet on."""
    weight: float
    """Weight of a new sample in the average; DCTCP's "weight 9" is 2^-9 = 0.001953125. Above 0 and at most 1."""


class MarkingPi(TypedDict, total=False):
    """A proportional-integral (PI) controller, as in ns-2 and with its defaults, but without drops: once per `every`, p
    += a (queue - target) - b (previous queue - target), and each packet is marked with probability p."""

    a: float
    """Gain on the present deviation from the target, per packet of mean size. Above 0 and at most 1."""
    b: float
    """Gain on the deviation one sample before, per packet of mean size; below `a`."""
    every: Time
    """Time between two samples. Default: 1/170 s. At least 1 ns."""
    kind: Required[Literal["pi"]]
    mean_packet: Bytes
    """Mean packet size. Default: a full packet. From 1 B to 65535 B."""
    target: Bytes
    """Target length of the queue. Default: 50 times `mean_packet`."""


Marking = MarkingOff | MarkingStep | MarkingRed | MarkingRedAverage | MarkingPi
"""When a queue sets the congestion mark, by the data bytes queued in it."""


class MarkingOfRate(TypedDict, total=False):
    """ECN marking on ports of one rate."""

    marking: Required[Marking]
    """The marking there."""
    rate: Required[Rate]
    """The rate of the port's link."""


class Class(TypedDict, total=False):
    """One data class. A port sends a packet of each of its data classes in turn, where they have one (round robin).
    Once a class has a `priority` or a `weight`, ports of switches and of hosts choose by these instead, as in enhanced
    transmission selection (802.1Qaz): of the classes that have something to send, those of the highest priority send,
    and they share by weight, in bytes."""

    alpha: float
    """Its own dynamic threshold in a pool. Default: `buffer.alpha`, or `buffer.pfc_alpha` if it is lossless. Above 0
    and at most 1000."""
    dscp: int
    """The DSCP of its packets in captures and on a wire, one that no other class has. It changes no result. Default: 8
    times the number of the class, from 1 on (class selector). From 0 to 63."""
    lossless: bool
    """Whether flow control, PFC or credits, protects it. Default: the policy of the buffer."""
    marking: Marking
    """Its ECN marking. Default: `network.marking`."""
    marking_by_rate: Sequence[MarkingOfRate]
    """Its ECN marking on ports of certain rates. Default: `network.marking_by_rate` where `marking` is the
    network's."""
    name: Required[str]
    """Its name, for `class` of a traffic."""
    priority: int
    """Strict priority: a class of priority 1 is served before those of 2, and so on. Several classes may have the same.
    Default: it is served after all classes that have one. From 1 to 7."""
    share: float
    """Fraction of the buffer reserved for it, like 0.5: of each port, or of the pool, headroom included. Default: it
    shares the unreserved part with the other classes that set none. Above 0 and at most 1."""
    weight: int
    """Its weight among the classes of its priority: weights 15 and 5 give three bytes to one. By deficit round robin
    (Shreedhar and Varghese 1995): in its turn a class sends its weight times the largest packet, where the weights of
    one priority are first divided by their greatest common divisor. Default: 1. From 1 to 1000."""


class CreditQueues(TypedDict, total=False):
    """The queues of credits at every port, of hosts too. Credits leave before data, and credits beyond the queue are
    dropped."""

    burst: Bytes
    """Bytes of credits that may leave at once after a pause."""
    queue: Bytes
    """Most bytes in a queue."""
    share: float
    """Their share of the rate of each link. Default: so that the data of all credits just fills the link, credit /
    (credit + largest packet). Above 0 and at most 1."""


HostFaultSlowReceiver = TypedDict(
    "HostFaultSlowReceiver",
    {
        "buffer": Bytes,
        "from": Time,
        "hosts": Required[Sequence[str]],
        "kind": Required[Literal["slow-receiver"]],
        "rate": Rate,
        "share": float,
        "to": Time,
    },
    total=False,
)
"""The NIC takes data packets from its receive buffer slowly, one after the other, in the order of their arrival. When
the buffer is full of a lossless class up to the headroom of the link, the NIC pauses that class; packets of a lossy
class are dropped when there is no room. With `buffer = { credits = .. }` in the network, packets wait in the buffer of
the link, and credits come back as they are taken. After the fault, what waits is taken at the rate of the link. ACKs
and other control packets do not wait."""


HostFaultPauseStorm = TypedDict(
    "HostFaultPauseStorm",
    {
        "every": Time,
        "from": Time,
        "hosts": Required[Sequence[str]],
        "kind": Required[Literal["pause-storm"]],
        "to": Time,
    },
    total=False,
)
"""The NIC pauses all lossless classes without a cause, and repeats that; at the end it revokes the pauses."""


HostFault = HostFaultSlowReceiver | HostFaultPauseStorm
"""A faulty host."""


class HostQueue(TypedDict, total=False):
    """A queue in the host between pacers and link, one for each class."""

    capacity: Required[Bytes]
    """Bytes per class. A full queue stops pulling packets from the flows of that class; nothing is dropped."""
    mark_above: Bytes
    """Packets are marked while the queue holds more than this of their class. Default: no marking."""


class LinkChange(TypedDict, total=False):
    """Slower rates, losses and outages of all links between two nodes, or of all links of one node."""

    at: str
    """Instead of `between`, the name of a node, such as "spine1": all its links."""
    between: Sequence[str]
    """Names of the two nodes, such as "tor0" and "h3"."""
    down: Sequence[Sequence[Time]]
    """Outages as pairs of begin and end, in order and with time between them."""
    error_rate: float
    """Probability that a packet is lost, per direction. At least 0 and below 1."""
    speed: float
    """Their rate, as a fraction of what the topology says, in both directions. Routes are the same, and what depends on
    rates, such as ideal completion times, follows. Default: 1. Above 0 and at most 1."""


class Packet(TypedDict, total=False):
    """Packet sizes on the wire. The defaults are RoCEv2 frames with their frame check sequence."""

    ack: Bytes
    """An ACK or NACK. From 1 B to 65535 B."""
    cnp: Bytes
    """A congestion notification packet. From 1 B to 65535 B."""
    cnp_dscp: int
    """The DSCP of congestion notification packets in captures and on a wire, none that a class of data has. It changes
    no result: they are control packets, which have strict priority. Default: 0, as ACKs have. From 0 to 63."""
    header: Bytes
    """All headers of a data packet together. At most 65535 B."""
    pause: Bytes
    """A PAUSE or RESUME frame. From 1 B to 65535 B."""
    payload: Bytes
    """Largest payload of a data packet. From 1 B to 65535 B."""


WatchdogAction = Literal["drop", "forward"]
"""What a storm watchdog does."""


class Watchdog(TypedDict, total=False):
    """A storm watchdog: a class of a port that has been paused for `detect` with packets waiting is no longer
    protected, until no pause has come or been in force for `restore`."""

    action: WatchdogAction
    """What it does."""
    detect: Required[Time]
    """Time of a pause after which the watchdog looks whether packets wait; it looks again after each further such time
    of the same pause. Above 0 s."""
    restore: Required[Time]
    """Time without pauses after which the watchdog stops to act. Above 0 s."""


class PfcOptions(TypedDict, total=False):
    """Options of PFC."""

    expiry: int
    """Quanta after which a pause expires unless it is refreshed, 1 to 65,535; a quantum is the time of 512 bits at the
    rate of the link (IEEE 802.1Qbb). A port that still pauses its peer repeats the PAUSE frame after half of that time.
    Default: pauses do not expire, as in the ns-3 HPCC simulator."""
    response: Time
    """Time from the arrival of a PAUSE or RESUME until the port obeys it, at switches and hosts. The computed headroom
    covers it. pfc.md has the standard's values. Default: ports obey at once. At most 1 ms."""
    watchdog: Watchdog
    """A storm watchdog at every port of a switch. Default: none."""


Release = Literal["dequeue", "last-bit"]
"""When a switch releases the buffer space of a packet."""


Routing = Literal["ecmp", "symmetric"]
"""How packets choose between paths of equal length."""


class TopologyStar(TypedDict, total=False):
    """Hosts h0, h1, ... around one switch, sw0."""

    delay: Required[Time]
    """Propagation delay of each link."""
    hosts: Required[int]
    """Number of hosts, at least 2."""
    kind: Required[Literal["star"]]
    link: Required[Rate]
    """Rate of each link."""


class TopologyDumbbell(TypedDict, total=False):
    """Two switches, "left" and "right", with hosts and one link between them."""

    bottleneck: Rate
    """Rate between the switches. Default: that of the host links."""
    bottleneck_delay: Time
    """Propagation delay between the switches. Default: that of the host links."""
    delay: Required[Time]
    """Propagation delay of each host link."""
    kind: Required[Literal["dumbbell"]]
    left: Required[int]
    """Hosts on the left."""
    link: Required[Rate]
    """Rate of each host link."""
    right: Required[int]
    """Hosts on the right."""


class TopologyParkingLot(TypedDict, total=False):
    """A chain of switches sw0, sw1, ... with the same number of hosts each."""

    chain_delay: Time
    """Propagation delay between switches. Default: that of the host links."""
    chain_link: Rate
    """Rate between switches. Default: that of the host links."""
    delay: Required[Time]
    """Propagation delay of each host link."""
    hosts: Required[int]
    """Hosts per switch."""
    kind: Required[Literal["parking-lot"]]
    link: Required[Rate]
    """Rate of each host link."""
    switches: Required[int]
    """Number of switches, at least 2."""


class TopologyLeafSpine(TypedDict, total=False):
    """Leaves leaf0, ... with hosts, each with one link to each spine spine0, ."""

    delay: Required[Time]
    """Propagation delay of each host link."""
    fabric_delay: Time
    """Propagation delay between leaf and spine. Default: that of the host links."""
    fabric_link: Rate
    """Rate between leaf and spine. Default: that of the host links."""
    hosts: Required[int]
    """Hosts per leaf."""
    kind: Required[Literal["leaf-spine"]]
    leaves: Required[int]
    """Number of leaves."""
    link: Required[Rate]
    """Rate of each host link."""
    spines: Required[int]
    """Number of spines."""


class TopologyFatTree(TypedDict, total=False):
    """A k-ary fat tree with k^3/4 hosts and full bisection bandwidth."""

    delay: Required[Time]
    """Propagation delay of each link."""
    k: Required[int]
    """Ports per switch, even."""
    kind: Required[Literal["fat-tree"]]
    link: Required[Rate]
    """Rate of each link."""


class TopologyHpccFatTree(TypedDict, total=False):
    """The network of HPCC section 5.1: 320 hosts at 100 Gb/s, fabric at 400 Gb/s, 1 us per link."""

    kind: Required[Literal["hpcc-fat-tree"]]


class TopologyClos(TypedDict, total=False):
    """Pods of ToRs tor0, ... and aggregation switches agg0, ..., connected by cores core0, ."""

    agg_uplinks: int
    """Uplinks per aggregation switch. Default: its number of links to ToRs."""
    aggs: int
    """Aggregation switches per pod. Default: `uplinks`."""
    cores: int
    """Number of core switches. Default: `aggs` times `agg_uplinks`."""
    delay: Required[Time]
    """Propagation delay of each host link."""
    fabric_delay: Time
    """Propagation delay between switches. Default: that of the host links."""
    fabric_link: Rate
    """Rate between switches. Default: that of the host links."""
    hosts: Required[int]
    """Hosts per ToR."""
    kind: Required[Literal["clos"]]
    link: Required[Rate]
    """Rate of each host link."""
    pods: Required[int]
    """Number of pods."""
    tors: Required[int]
    """ToRs per pod."""
    uplinks: Required[int]
    """Uplinks per ToR."""


class TopologyRails(TypedDict, total=False):
    """Servers of GPUs gpu0.0, gpu0.1, ... (server, place), which are the hosts; inside a server NVLink over a switch
    nv0, ..., between servers leaves leaf0.0.0, ... (set, rail, segment) and spines spine0.0, ... (plane, number). Place
    g of each server is on rail g modulo `rails`. See collectives.md."""

    delay: Required[Time]
    """Propagation delay of these links."""
    fabric_delay: Time
    """Propagation delay between leaf and spine. Default: `delay`."""
    fabric_link: Rate
    """Rate between leaf and spine. Default: `link`."""
    gpus: Required[int]
    """GPUs of a server, each with a network interface of its own."""
    kind: Required[Literal["rails"]]
    link: Required[Rate]
    """Rate of the link of a GPU to each of its leaves."""
    nvlink: Rate
    """Rate of NVLink, between each GPU and the switch of its server. Default: there is none."""
    nvlink_delay: Time
    """Propagation delay of these links. Default: 25 ns, as SimAI's files have it."""
    planes: int
    """Networks without common links; a GPU is in each of them. Default: 1."""
    rails: int
    """Rails: a divisor of `gpus`. With 1, all GPUs of a server are on the same leaf. Default: `gpus`."""
    segment: int
    """Servers that share their leaves. Default: all."""
    servers: Required[int]
    """Number of servers."""
    spines: Required[int]
    """Spines of each plane, each with a link to all its leaves. With 0, only GPUs of the same leaf, and those of the
    same server by NVLink, reach each other."""
    tors: int
    """Leaves of a GPU in each plane; 2 is called dual ToR. Default: 1."""


class TopologyRccTree(TypedDict, total=False):
    """The tree of RCC section 6.2: 1,000 hosts at 1 Gb/s in 40 racks, 25 Gb/s to one core switch, 40 us per link."""

    kind: Required[Literal["rcc-tree"]]


class GraphLink(TypedDict, total=False):
    """One link of a graph."""

    between: Required[Sequence[str]]
    """Names of the two nodes."""
    delay: Required[Time]
    """Propagation delay of each direction."""
    rate: Required[Rate]
    """Rate of each direction."""


class TopologyGraph(TypedDict, total=False):
    """Any graph of hosts and switches."""

    hosts: Required[Sequence[str]]
    """Names of the hosts, at least 2."""
    kind: Required[Literal["graph"]]
    links: Required[Sequence[GraphLink]]
    """The links."""
    switches: Sequence[str]
    """Names of the switches."""


TopologyFormat = Literal["ns3", "htsim", "links", "simai", "astra-sim"]
"""The format of a topology file."""


class TopologyFile(TypedDict, total=False):
    """A network from a separate file."""

    file: Required[str]
    """The file, relative to the spec's folder. In a table of links, the first line names the columns `a` and `b` (names
    of two nodes), `rate` (like 100 Gbps) and `delay` (like 1 us), and each further line is a bidirectional link. Hosts
    and switches keep their names from the table. Host n of the ns-3 simulator is called "h" and n, switch n "s" and n,
    and htsim's nodes are called h0, tor0, agg0, core0 and so on. Names from files of SimAI and ASTRA-sim are in
    collectives.md."""
    format: TopologyFormat
    """The format of the file. Default: detected from its first line."""
    nodes: str
    """For a table of links: a comma-separated file with the columns `name` and `kind` (host or switch), relative to the
    spec's folder. Hosts are numbered in its order. Default: a node with a single neighbour is a host, all others are
    switches, and hosts are numbered in the order in which links name them."""


Topology = (
    TopologyStar
    | TopologyDumbbell
    | TopologyParkingLot
    | TopologyLeafSpine
    | TopologyFatTree
    | TopologyHpccFatTree
    | TopologyClos
    | TopologyRails
    | TopologyRccTree
    | TopologyGraph
    | TopologyFile
)
"""Hosts, switches and links."""


Cuts = Literal["arriving", "either"]
"""Which packet is cut where there is no room."""


class Trimming(TypedDict, total=False):
    """A data packet of RDMA that finds no room in a lossy class loses its payload. Its header goes on among the control
    packets, ahead of all data, so that the receiver learns of the loss at once and asks for the packet again. Packets
    of TCP are dropped as without trimming."""

    cuts: Cuts
    """Which packet is cut."""
    headers: Bytes
    """Most bytes of control packets that wait at a port of a switch; beyond them these are dropped too."""
    size: Bytes
    """Bytes on the wire of a packet that was cut: at least its headers."""
    weight: int
    """Control packets, headers among them, that a port of a switch sends in a row while data waits, before it sends a
    data packet; NDP's authors use 10. Without it all of them go first. Above 0."""


class Network(TypedDict, total=False):
    """The network."""

    balancing: str | Mapping[str, object]
    """Which of equally short paths a packet takes at a switch, whatever its scheme: data, ACKs and other control
    packets, but not the frames of links (pauses, InfiniBand's credits). From "oblivious" on it is the sender that
    chooses, for each packet of RDMA, by a number in it which switches hash (an entropy value in Ultra Ethernet); an ACK
    has the number of the packet that it answers, and TCP goes by flow. A host with several links always chooses by
    flow. Only "flow-hash" goes with symmetric routes, and with schemes that deflect packets. Also the id of a policy of
    your own that was loaded, or a table with its `id` and parameters. See load-balancing.md."""
    buffer: Required[Buffer]
    """Buffers of the switches."""
    classes: Sequence[Class]
    """Data classes, 1 to 7. Control packets (ACK, NACK, CNP) have a class of their own with strict priority. Default:
    one class "data"."""
    credit_queues: CreditQueues
    """The queues of credits at every port, for schemes that send credits. Default: those of the scheme."""
    discipline: str | Mapping[str, object]
    """What may join the queues of switches. Also the id of a discipline of your own that was loaded, or a table with
    its `id` and parameters, which admits, marks or drops packets before that."""
    failure_detection: Time
    """Delay after a link failure until its two ends detect it, drop the packets queued for it and use new routes."""
    faults: Sequence[HostFault]
    """Faulty hosts: slow receivers and pause storms."""
    flowlet_gap: Time
    """With balancing "flowlets", the pause after which a flow may take another path. Default: "50 us". Above 0 s."""
    host_queue: HostQueue
    """A queue in the host between pacers and link. Default: none, the NIC pulls packets from its flows."""
    links: Sequence[LinkChange]
    """Slow links, losses and outages, of single links or of all links of a switch."""
    marking: Marking
    """ECN marking, for classes without their own."""
    marking_by_rate: Sequence[MarkingOfRate]
    """ECN marking on ports of certain rates, instead of `marking`."""
    packet: Packet
    """Packet sizes on the wire."""
    paths: int
    """With balancing of senders ("oblivious", "bitmap", "reps", "reps-legacy", "mixed"), the number of paths among
    which each of them chooses for each packet: a power of two. Several may be the same links. Default: 128."""
    pfc: PfcOptions
    """Options of PFC."""
    release: Release
    """When a switch releases the buffer space of a packet."""
    routing: Routing
    """How packets choose between paths of equal length. Default: "ecmp", or "symmetric" where a scheme needs it."""
    topology: Required[Topology]
    """Hosts, switches and links."""
    trimming: Trimming
    """Cutting of packets that find no room, for packet spraying as in Ultra Ethernet and NDP. Default: they are
    dropped."""


LoadBase = Literal["host-links", "tor-uplinks", "receiver-link"]
"""The capacity that a load is a share of."""


class Load(TypedDict, total=False):
    """Offered load: payload as a share of a capacity."""

    of: Required[LoadBase]
    """The capacity."""
    share: Required[float]
    """The share; 0.4 is 40 %."""


class PatternPoisson(TypedDict, total=False):
    """Independent messages between random hosts. Needs a load."""

    inter_rack_only: bool
    """Whether sender and receiver are always in different racks."""
    kind: Required[Literal["poisson"]]
    receivers: Sequence[str]
    """Hosts that may receive."""
    senders: Sequence[str]
    """Hosts that may send."""


class PatternIncast(TypedDict, total=False):
    """Groups of distinct random senders to one random receiver. Groups start as a Poisson process if there is a load,
    periodically with `every`, and otherwise once, at the start."""

    degree: Required[int]
    """Number of senders."""
    every: Time
    """Time between groups, instead of a load."""
    inter_rack_only: bool
    """Whether senders are always in other racks than their receiver."""
    jitter: Time
    """Each sender starts after a random delay, uniform from 0 to this."""
    kind: Required[Literal["incast"]]
    receivers: Sequence[str]
    """Hosts that may receive."""
    senders: Sequence[str]
    """Hosts that may send."""
    size_per_sender: bool
    """Whether each sender draws its own size; otherwise all messages of a group have the same size."""


class PatternPermutation(TypedDict, total=False):
    """Each host sends to one host and receives from one host: once, or in rounds with a new permutation each."""

    every: Time
    """Time between rounds. Default: a single round."""
    hosts: Sequence[str]
    """The hosts of the permutation."""
    jitter: Time
    """Each message starts after a random delay, uniform from 0 to this."""
    kind: Required[Literal["permutation"]]


Placement = Literal["packed", "strided", "random"]
"""Which rank gets which host."""


class Slow(TypedDict, total=False):
    """Ranks whose computations take longer than those of others."""

    factor: Required[float]
    """How much longer, as in 1.5 times."""
    ranks: Required[Sequence[int]]
    """The ranks, from 0."""


class PatternAllToAll(TypedDict, total=False):
    """Each host sends to every other host. With the traffic's own `size`, all messages start at once, each of that
    size; with `size` in the pattern it is a collective operation, in which each rank has so much for all."""

    algorithm: str
    """How it is carried out; docs/collectives.md lists the algorithms of each operation. Default: the first of them."""
    channels: int
    """Channels, each with its share of the bytes and messages of its own. Default: 1."""
    chunk: Bytes
    """Largest message; where messages have several blocks, as in halving, the largest block. Default: no limit."""
    compute: Time
    """Time for which each rank computes before each. Default: none."""
    hosts: Sequence[str]
    """The hosts of the ranks, in order. Default: all."""
    kind: Required[Literal["all-to-all"]]
    placement: Placement
    """Which rank gets which host."""
    pxn: bool
    """Whether what is for another server's rank goes over the rank of the own server on its rail first, as NCCL's PXN
    has it: by NVLink, and then without crossing rails. Needs `server`. Default: false."""
    repeat: int
    """How often it happens, one after another at each rank. Default: once."""
    server: int
    """Ranks of a server: neighbours in the list of ranks, for hierarchical algorithms and for the order of channels."""
    size: Bytes
    """Bytes, as nccl-tests counts them: the vector of an all-reduce, a reduce-scatter or a broadcast, the result of an
    all-gather, what each rank has for all in an all-to-all."""
    sizes: Sequence[Sequence[Bytes]]
    """Bytes from each rank to each in an all-to-all, a list for each rank, instead of `size`. Where they are 0, nothing
    is sent."""
    sizes_file: str
    """The same from a comma-separated file with columns src, dst (ranks from 0) and bytes, relative to the spec's
    folder. Pairs that are not listed have none."""
    slow: Slow
    """Ranks whose computations take longer. Default: none."""
    window: int
    """Peers to which a rank sends at once, of the algorithm "direct": a further message follows each one that has
    arrived at the rank. Default: all."""


class PatternAllReduce(TypedDict, total=False):
    """Each rank has a vector, and gets the sum of all."""

    algorithm: str
    """How it is carried out; docs/collectives.md lists the algorithms of each operation. Default: the first of them."""
    channels: int
    """Channels, each with its share of the bytes and messages of its own. Default: 1."""
    chunk: Bytes
    """Largest message; where messages have several blocks, as in halving, the largest block. Default: no limit."""
    compute: Time
    """Time for which each rank computes before each. Default: none."""
    hosts: Sequence[str]
    """The hosts of the ranks, in order. Default: all."""
    kind: Required[Literal["all-reduce"]]
    placement: Placement
    """Which rank gets which host."""
    pxn: bool
    """Whether what is for another server's rank goes over the rank of the own server on its rail first, as NCCL's PXN
    has it: by NVLink, and then without crossing rails. Needs `server`. Default: false."""
    repeat: int
    """How often it happens, one after another at each rank. Default: once."""
    server: int
    """Ranks of a server: neighbours in the list of ranks, for hierarchical algorithms and for the order of channels."""
    size: Bytes
    """Bytes, as nccl-tests counts them: the vector of an all-reduce, a reduce-scatter or a broadcast, the result of an
    all-gather, what each rank has for all in an all-to-all."""
    sizes: Sequence[Sequence[Bytes]]
    """Bytes from each rank to each in an all-to-all, a list for each rank, instead of `size`. Where they are 0, nothing
    is sent."""
    sizes_file: str
    """The same from a comma-separated file with columns src, dst (ranks from 0) and bytes, relative to the spec's
    folder. Pairs that are not listed have none."""
    slow: Slow
    """Ranks whose computations take longer. Default: none."""
    window: int
    """Peers to which a rank sends at once, of the algorithm "direct": a further message follows each one that has
    arrived at the rank. Default: all."""


class PatternAllGather(TypedDict, total=False):
    """Each rank has a part, and gets all parts."""

    algorithm: str
    """How it is carried out; docs/collectives.md lists the algorithms of each operation. Default: the first of them."""
    channels: int
    """Channels, each with its share of the bytes and messages of its own. Default: 1."""
    chunk: Bytes
    """Largest message; where messages have several blocks, as in halving, the largest block. Default: no limit."""
    compute: Time
    """Time for which each rank computes before each. Default: none."""
    hosts: Sequence[str]
    """The hosts of the ranks, in order. Default: all."""
    kind: Required[Literal["all-gather"]]
    placement: Placement
    """Which rank gets which host."""
    pxn: bool
    """Whether what is for another server's rank goes over the rank of the own server on its rail first, as NCCL's PXN
    has it: by NVLink, and then without crossing rails. Needs `server`. Default: false."""
    repeat: int
    """How often it happens, one after another at each rank. Default: once."""
    server: int
    """Ranks of a server: neighbours in the list of ranks, for hierarchical algorithms and for the order of channels."""
    size: Bytes
    """Bytes, as nccl-tests counts them: the vector of an all-reduce, a reduce-scatter or a broadcast, the result of an
    all-gather, what each rank has for all in an all-to-all."""
    sizes: Sequence[Sequence[Bytes]]
    """Bytes from each rank to each in an all-to-all, a list for each rank, instead of `size`. Where they are 0, nothing
    is sent."""
    sizes_file: str
    """The same from a comma-separated file with columns src, dst (ranks from 0) and bytes, relative to the spec's
    folder. Pairs that are not listed have none."""
    slow: Slow
    """Ranks whose computations take longer. Default: none."""
    window: int
    """Peers to which a rank sends at once, of the algorithm "direct": a further message follows each one that has
    arrived at the rank. Default: all."""


class PatternReduceScatter(TypedDict, total=False):
    """Each rank has a vector, and gets its part of the sum of all."""

    algorithm: str
    """How it is carried out; docs/collectives.md lists the algorithms of each operation. Default: the first of them."""
    channels: int
    """Channels, each with its share of the bytes and messages of its own. Default: 1."""
    chunk: Bytes
    """Largest message; where messages have several blocks, as in halving, the largest block. Default: no limit."""
    compute: Time
    """Time for which each rank computes before each. Default: none."""
    hosts: Sequence[str]
    """The hosts of the ranks, in order. Default: all."""
    kind: Required[Literal["reduce-scatter"]]
    placement: Placement
    """Which rank gets which host."""
    pxn: bool
    """Whether what is for another server's rank goes over the rank of the own server on its rail first, as NCCL's PXN
    has it: by NVLink, and then without crossing rails. Needs `server`. Default: false."""
    repeat: int
    """How often it happens, one after another at each rank. Default: once."""
    server: int
    """Ranks of a server: neighbours in the list of ranks, for hierarchical algorithms and for the order of channels."""
    size: Bytes
    """Bytes, as nccl-tests counts them: the vector of an all-reduce, a reduce-scatter or a broadcast, the result of an
    all-gather, what each rank has for all in an all-to-all."""
    sizes: Sequence[Sequence[Bytes]]
    """Bytes from each rank to each in an all-to-all, a list for each rank, instead of `size`. Where they are 0, nothing
    is sent."""
    sizes_file: str
    """The same from a comma-separated file with columns src, dst (ranks from 0) and bytes, relative to the spec's
    folder. Pairs that are not listed have none."""
    slow: Slow
    """Ranks whose computations take longer. Default: none."""
    window: int
    """Peers to which a rank sends at once, of the algorithm "direct": a further message follows each one that has
    arrived at the rank. Default: all."""


class PatternBroadcast(TypedDict, total=False):
    """The first rank has a vector, and all get it."""

    algorithm: str
    """How it is carried out; docs/collectives.md lists the algorithms of each operation. Default: the first of them."""
    channels: int
    """Channels, each with its share of the bytes and messages of its own. Default: 1."""
    chunk: Bytes
    """Largest message; where messages have several blocks, as in halving, the largest block. Default: no limit."""
    compute: Time
    """Time for which each rank computes before each. Default: none."""
    hosts: Sequence[str]
    """The hosts of the ranks, in order. Default: all."""
    kind: Required[Literal["broadcast"]]
    placement: Placement
    """Which rank gets which host."""
    pxn: bool
    """Whether what is for another server's rank goes over the rank of the own server on its rail first, as NCCL's PXN
    has it: by NVLink, and then without crossing rails. Needs `server`. Default: false."""
    repeat: int
    """How often it happens, one after another at each rank. Default: once."""
    server: int
    """Ranks of a server: neighbours in the list of ranks, for hierarchical algorithms and for the order of channels."""
    size: Bytes
    """Bytes, as nccl-tests counts them: the vector of an all-reduce, a reduce-scatter or a broadcast, the result of an
    all-gather, what each rank has for all in an all-to-all."""
    sizes: Sequence[Sequence[Bytes]]
    """Bytes from each rank to each in an all-to-all, a list for each rank, instead of `size`. Where they are 0, nothing
    is sent."""
    sizes_file: str
    """The same from a comma-separated file with columns src, dst (ranks from 0) and bytes, relative to the spec's
    folder. Pairs that are not listed have none."""
    slow: Slow
    """Ranks whose computations take longer. Default: none."""
    window: int
    """Peers to which a rank sends at once, of the algorithm "direct": a further message follows each one that has
    arrived at the rank. Default: all."""


Schedule = Literal["gpipe", "1f1b"]
"""The order in which the stages of a pipeline compute."""


class PatternPipeline(TypedDict, total=False):
    """A model in stages, through which the micro-batches of a training step pass forwards and back."""

    backward: Required[Time]
    """The same backwards."""
    forward: Required[Time]
    """Time of a stage for a micro-batch forwards."""
    hosts: Sequence[str]
    """The hosts of the stages, in order. Default: all."""
    kind: Required[Literal["pipeline"]]
    micro_batches: Required[int]
    """Micro-batches of a step."""
    placement: Placement
    """Which stage gets which host."""
    repeat: int
    """Steps, one after another. Default: one."""
    schedule: Required[Schedule]
    """The order in which a stage computes."""
    size: Required[Bytes]
    """Bytes of a micro-batch's activations between two stages, and of its gradients."""
    slow: Slow
    """Ranks whose computations take longer. Default: none."""


class Axis(TypedDict, total=False):
    """A way in which training is divided among ranks."""

    ranks: Required[int]
    """Ranks of a group."""
    size: Required[Bytes]
    """Bytes of its messages: the vector of an all-reduce, what a rank has for all in an all-to-all, or what a stage
    sends for a micro-batch."""


AxisName = Literal["tensor", "data", "pipeline"]
"""An axis along which ranks are numbered."""


class PatternTraining(TypedDict, total=False):
    """Training of a model in which tensor, data, pipeline and expert parallelism are combined. After each computation a
    rank takes part in the all-reduce of its tensor group, and before and after it in an all-to-all of its expert group;
    stages send their results on, and a step ends with the all-reduce of each data group."""

    algorithm: str
    """The algorithm of those collectives that have one of this name; others have their default."""
    backward: Required[Time]
    """The same backwards."""
    channels: int
    """Channels of each collective."""
    chunk: Bytes
    """Largest message of a collective."""
    data: Axis
    """Groups of replicas that work on different data. Default: none."""
    expert: Axis
    """Groups of neighbours on the data axis that share experts, and bytes that a rank has for its whole group. Their
    number divides that of data. Default: none."""
    forward: Required[Time]
    """Time of a stage for a micro-batch forwards."""
    hosts: Sequence[str]
    """The hosts of the ranks, in order. Default: all."""
    kind: Required[Literal["training"]]
    micro_batches: int
    """Micro-batches of a step. Default: 1."""
    order: Sequence[AxisName]
    """Which axis neighbouring ranks lie on, which one comes next, and which last. Default: ["tensor", "data",
    "pipeline"]."""
    pipeline: Axis
    """Stages, and bytes of a micro-batch's activations between two of them, and of its gradients. Default: one
    stage."""
    placement: Placement
    """Which rank gets which host."""
    pxn: bool
    """Whether what is for another server's rank goes over the rank of the own server on its rail first, as NCCL's PXN
    has it: by NVLink, and then without crossing rails. Groups with whole servers do. Needs `server`. Default: false."""
    repeat: int
    """Steps, one after another. Default: one."""
    schedule: Schedule
    """The order in which a stage computes. Default: "1f1b"."""
    server: int
    """Ranks of a server."""
    slow: Slow
    """Ranks whose computations take longer. Default: none."""
    tensor: Axis
    """Groups that share each computation. Default: none."""
    window: int
    """Peers to which a rank sends at once, of collectives whose algorithm is "direct". Default: all."""


SendDone = Literal["acked", "arrived"]
"""When a send ends."""


Slots = Literal["astra-sim", "cpu", "none"]
"""Which nodes of a rank wait for each other."""


class PatternGoal(TypedDict, total=False):
    """The work of a GOAL schedule, as text (`.goal`) or in the binary form of LogGOPSim, ATLAHS and HTSIM (`.bin`)."""

    file: Required[str]
    """The file, relative to the spec's folder."""
    hosts: Sequence[str]
    """The hosts of the ranks, in order. Default: all."""
    kind: Required[Literal["goal"]]
    placement: Placement
    """Which rank gets which host."""
    send_done: SendDone
    """When a send ends."""
    slots: Slots
    """Which nodes of a rank wait for each other. Default: "cpu"."""
    slow: Slow
    """Ranks whose computations take longer. Default: none."""


class PatternChakra(TypedDict, total=False):
    """The work of Chakra execution traces, one file for each rank, with collectives as messages."""

    algorithm: str
    """The algorithm of those collectives that have one of this name; others have their default."""
    channels: int
    """Channels of each collective."""
    chunk: Bytes
    """Largest message of a collective."""
    file: Required[str]
    """The file, relative to the spec's folder. Of Chakra the trace of any rank, `PREFIX.RANK.et`; the others have the
    same prefix."""
    groups: str
    """Process groups that the traces name and do not define: a JSON file like `{"1": [0, 1], "2": [2, 3]}`, relative to
    the spec's folder, as ASTRA-sim reads it. Default: none."""
    hosts: Sequence[str]
    """The hosts of the ranks, in order. Default: all."""
    kind: Required[Literal["chakra"]]
    placement: Placement
    """Which rank gets which host."""
    pxn: bool
    """Whether what is for another server's rank goes over the rank of the own server on its rail first, as NCCL's PXN
    has it: by NVLink, and then without crossing rails. Groups with whole servers do. Needs `server`. Default: false."""
    send_done: SendDone
    """When a send ends."""
    server: int
    """Ranks of a server."""
    slots: Slots
    """Which nodes of a rank wait for each other. Default: "astra-sim" for traces, none in a workload."""
    slow: Slow
    """Ranks whose computations take longer. Default: none."""
    window: int
    """Peers to which a rank sends at once, of collectives whose algorithm is "direct". Default: all."""


class PatternSimai(TypedDict, total=False):
    """The work of a workload file of SimAI (AICB), with collectives as messages: see graphs.md."""

    algorithm: str
    """The algorithm of those collectives that have one of this name; others have their default."""
    channels: int
    """Channels of each collective."""
    chunk: Bytes
    """Largest message of a collective."""
    file: Required[str]
    """The file, relative to the spec's folder. Of Chakra the trace of any rank, `PREFIX.RANK.et`; the others have the
    same prefix."""
    groups: str
    """Process groups that the traces name and do not define: a JSON file like `{"1": [0, 1], "2": [2, 3]}`, relative to
    the spec's folder, as ASTRA-sim reads it. Default: none."""
    hosts: Sequence[str]
    """The hosts of the ranks, in order. Default: all."""
    kind: Required[Literal["simai"]]
    placement: Placement
    """Which rank gets which host."""
    pxn: bool
    """Whether what is for another server's rank goes over the rank of the own server on its rail first, as NCCL's PXN
    has it: by NVLink, and then without crossing rails. Groups with whole servers do. Needs `server`. Default: false."""
    send_done: SendDone
    """When a send ends."""
    server: int
    """Ranks of a server."""
    slots: Slots
    """Which nodes of a rank wait for each other. Default: "astra-sim" for traces, none in a workload."""
    slow: Slow
    """Ranks whose computations take longer. Default: none."""
    window: int
    """Peers to which a rank sends at once, of collectives whose algorithm is "direct". Default: all."""


class PatternMsccl(TypedDict, total=False):
    """A collective by an algorithm of MSCCL (`.xml`), whose GPUs are the ranks: see graphs.md."""

    file: Required[str]
    """The file, relative to the spec's folder."""
    hosts: Sequence[str]
    """The hosts of the ranks, in order. Default: all."""
    kind: Required[Literal["msccl"]]
    placement: Placement
    """Which rank gets which host."""
    send_done: SendDone
    """When a send ends."""
    size: Bytes
    """The vector of a rank in bytes, which the algorithm divides into `nchunksperloop` chunks. Default: 1 MiB."""


class PatternSimccl(TypedDict, total=False):
    """Collectives as a flow table of SimCCL (`.csv`), whose ranks are those of its flows: see graphs.md."""

    file: Required[str]
    """The file, relative to the spec's folder."""
    hosts: Sequence[str]
    """The hosts of the ranks, in order. Default: all."""
    kind: Required[Literal["simccl"]]
    placement: Placement
    """Which rank gets which host."""
    send_done: SendDone
    """When a send ends."""


Pairs = Literal["random", "one-to-one"]
"""How sender and receiver are paired."""


class PatternLong(TypedDict, total=False):
    """A fixed set of long flows, each from a different sender. Their number is the load divided by a host's rate, or
    `count`; with one-to-one pairs it is the number of senders."""

    count: int
    """Number of flows, instead of a load."""
    inter_rack_only: bool
    """Whether sender and receiver are always in different racks. Default: true if the load is a share of ToR
    uplinks."""
    kind: Required[Literal["long"]]
    pairs: Pairs
    """How sender and receiver are paired."""
    receivers: Sequence[str]
    """Hosts that may receive."""
    senders: Sequence[str]
    """Hosts that may send."""
    spread: Time
    """Start times are uniform from 0 to this."""


ServiceTime = Time | Sequence[Time]
"""Service time of a server."""


class PatternQuery(TypedDict, total=False):
    """Clients that send requests to servers, wait for all answers, and send the next requests (DCTCP section 4.2.1).
    Each answer has the traffic's size, or `total` is divided among the answers. In results, requests and answers of a
    query form one group; requests are in the table `flows` and excluded from all statistics."""

    clients: Sequence[str]
    """Hosts that send requests."""
    degree: int
    """Number of servers per query, drawn anew for each. Default: all of them, in the order of the list."""
    jitter: Time
    """Each request starts after a random delay, uniform from 0 to this."""
    kind: Required[Literal["query"]]
    request: Bytes
    """Payload of a request."""
    rounds: Required[int]
    """Queries per client, one after another. Queries that have not begun when the window ends are not sent."""
    servers: Sequence[str]
    """Hosts that answer; a client sends no request to itself."""
    service_time: ServiceTime
    """Service time: the delay at a server between a request and its answer."""
    think_time: Time
    """Think time: the delay at a client between the last answer and the next query."""
    total: Bytes
    """Total payload of the answers to one query, divided equally among them, instead of a size."""


class PatternList(TypedDict, total=False):
    """Messages from a comma-separated file whose first line names its columns: src, dst (names of hosts, or their
    numbers from 0), bytes, start_us (or _ps, _ns, _ms, _s), and optionally group. Other columns are ignored. If names
    of hosts are numbers, a number is taken as a name."""

    file: Required[str]
    """The file, relative to the spec's folder."""
    kind: Required[Literal["list"]]


PatternHpcc = TypedDict(
    "PatternHpcc",
    {
        "dport": int,
        "file": Required[str],
        "from": Time,
        "kind": Required[Literal["hpcc"]],
    },
    total=False,
)
"""Flows from a flow file of the ns-3 HPCC simulator. Its host n is the host named "h" and n."""


HtsimDialect = Literal["ndp", "swift", "uec"]
"""A program of htsim: its programs differ in the unit of `start` in a connection matrix."""


class PatternHtsim(TypedDict, total=False):
    """Connections from a connection matrix of htsim (`.cm`), triggers included. The `group` of each is its id in the
    file."""

    dialect: HtsimDialect
    """The program of htsim for which it was written. Default: "uec" if it has the word msg, otherwise "ndp"."""
    file: Required[str]
    """The file, relative to the spec's folder."""
    kind: Required[Literal["htsim"]]


class PatternPosted(TypedDict, total=False):
    """Messages that a program posts while the run goes on, through the C library: see astra-sim.md. There is no other
    traffic beside it, and no warm-up."""

    kind: Required[Literal["posted"]]


Pattern = (
    PatternPoisson
    | PatternIncast
    | PatternPermutation
    | PatternAllToAll
    | PatternAllReduce
    | PatternAllGather
    | PatternReduceScatter
    | PatternBroadcast
    | PatternPipeline
    | PatternTraining
    | PatternGoal
    | PatternChakra
    | PatternSimai
    | PatternMsccl
    | PatternSimccl
    | PatternLong
    | PatternQuery
    | PatternList
    | PatternHpcc
    | PatternHtsim
    | PatternPosted
)
"""Senders, receivers and times of messages. Hosts are given by name; without names, all hosts are used."""


Bdp = Literal["bdp"]
"""The value for the bandwidth-delay product."""


class CapPackets(TypedDict, total=False):
    """A number of packets."""

    packets: Required[int]
    """The number."""


Cap = Bdp | Bytes | CapPackets
"""Most packets in flight."""


class LogNormal(TypedDict, total=False):
    """A log-normal time."""

    median: Required[Time]
    """The median. Above 0 s."""
    p999: Required[Time]
    """The 99.9th percentile."""


CpuTime = Time | Sequence[Time] | LogNormal
"""CPU time of a host."""


Recovery = Literal["go-back-n", "go-back-0", "selective-repeat", "irn", "unordered"]
"""How RDMA repairs losses."""


RdmaRestart = Literal["never", "request"]
"""When a scheme's sender on an open queue pair begins anew."""


Off = Literal["off"]
"""The value for no timeout."""


Timeout = Off | Time
"""Retransmission timeout."""


class Rdma(TypedDict, total=False):
    """Parameters of RDMA."""

    ack_chunk: Bytes
    """Payload bytes per ACK; with 0 B every packet is acknowledged. The last packet of a message is always
    acknowledged. With `recovery = "unordered"` such an ACK names the packet that it answers and has a bitmap of 64
    packets around it; packets that are marked or sent again, the first and the last one and the last one that a window
    lets out are acknowledged at once, as Ultra Ethernet does with 16 KB. Below 4 GiB."""
    cap: Cap
    """`recovery = "irn"`: a new packet leaves while fewer than this are in flight. Default: "bdp"."""
    cpu_time: CpuTime
    """CPU time of the receiving host between the arrival of a data packet and the ACK or NACK that answers it, drawn
    for each of them. With an `ack_chunk` of at least a message it is a time per message. Times of different answers
    overlap, but those of a queue pair leave in their order. CNPs and credits do not wait: the NIC sends them. Default:
    none, the NIC answers by itself."""
    loss_reaction: bool
    """`recovery = "selective-repeat"`, `"irn"` or `"unordered"`: whether the scheme reacts to losses and timeouts as
    with `"go-back-n"`, and to trimmed packets. Default: only with `"unordered"`."""
    nack_interval: Time
    """Minimum time between two NACKs for the same expected byte, with `recovery = "go-back-n"`. Default: 500 us."""
    nack_threshold: int
    """`recovery = "selective-repeat"` or `"irn"`: recovery begins with this many NACKs in a row for the same expected
    byte. More than 1 is for networks that reorder. Default: 1. At least 1."""
    overhead: Time
    """Delay of a message in its sending host before the NIC gets it: what software, the NIC or a GPU takes for each."""
    pacing_credit: Bytes
    """Bytes that a paced flow may make up for when it could not send in time, because of other flows of its host or of
    its window, as the scheduler of HPCC's NIC does (HPCC section 4.2). With 0 B each packet restarts the pacing, as in
    the ns-3 HPCC simulator. Default: two packets of the network's MTU. Below 4 GiB."""
    persistent: bool
    """Whether each pair of hosts has one queue pair that stays open, with one sequence space, instead of one per
    message."""
    recovery: Recovery
    """How losses are repaired."""
    restart: RdmaRestart
    """When a scheme's sender on an open queue pair begins anew."""
    retries: int
    """Timeouts in a row without progress, or requests of a scheme in a row without an answer, after which a queue pair
    is given up: InfiniBand's retry count, there at most 7. What was posted to it stays unfinished; later messages get a
    new one. Default: no limit. At least 1."""
    timeout: Timeout
    """Retransmission timeout, with `recovery = "irn"` the one with more than `timeout_low_packets` packets in flight.
    Default: 320 us with `recovery = "selective-repeat"`, `"irn"` or `"unordered"`, else 4 ms. Above 0 s."""
    timeout_low: Time
    """`recovery = "irn"`: the retransmission timeout with up to `timeout_low_packets` packets in flight. Default: 100
    us, or `timeout` where that is shorter. Above 0 s."""
    timeout_low_packets: int
    """`recovery = "irn"`: see `timeout_low`. Default: 3."""


class SizeFixed(TypedDict, total=False):
    """Constant."""

    fixed: Required[Bytes]


class SizeUniformOf(TypedDict, total=False):
    """One of these sizes, with equal probability."""

    uniform_of: Required[Sequence[Bytes]]


class SizeUniform(TypedDict, total=False):
    """Uniform over all byte counts from the smallest to the largest."""

    uniform: Required[Sequence[Bytes]]


class Pareto(TypedDict, total=False):
    """Pareto sizes."""

    cap: Bytes
    """Larger sizes are reduced to this. Default: no cap."""
    mean: Required[Bytes]
    """The mean, before the cap."""
    shape: Required[float]
    """Tail index, above 1."""


class SizePareto(TypedDict, total=False):
    """Pareto."""

    pareto: Required[Pareto]


class SizeCdf(TypedDict, total=False):
    """A built-in distribution (WebSearch, FB_Hadoop, AliStorage, in any letter case), or a file with "bytes percent" in
    each line, relative to the spec's folder."""

    cdf: Required[str]


class SizeCdfPoints(TypedDict, total=False):
    """The points of a cumulative distribution: bytes, and percent of messages up to this size."""

    cdf_points: Required[Sequence[Sequence[float]]]


Size = Literal["endless"] | SizeFixed | SizeUniformOf | SizeUniform | SizePareto | SizeCdf | SizeCdfPoints
"""Payload of a message."""


AckClass = Literal["data", "control"]
"""Class of ACKs without payload."""


Restart = Literal["pause", "request"]
"""When the window of an open connection restarts."""


class Tcp(TypedDict, total=False):
    """Parameters of TCP. A segment carries at most `network.packet.payload`, its headers are `network.packet.header`,
    and a segment without payload has the size of `network.packet.ack`."""

    ack_class: AckClass
    """Class of ACKs without payload. SYN and FIN segments are in the class of the data."""
    ack_delay: Time
    """Largest delay of an ACK."""
    ack_every: int
    """Full segments per ACK. At least 1."""
    initial_rto: Time
    """Retransmission timeout before the first measurement of the round-trip time."""
    max_rto: Time
    """Largest retransmission timeout."""
    min_rto: Time
    """Smallest retransmission timeout. Above 0 s."""
    offload: Bytes
    """Segmentation offload: most bytes of new data that TCP gives to the NIC at once, like "64 KB". The NIC sends them
    as segments one right after the other at the rate of its link, without the pauses of a paced scheme and without
    segments of other connections of the class in between. A burst begins when the windows allow one of this size, a
    third of the window, or all that is left to send; a smaller one waits for the next ACK. Repairs of losses are sent
    one by one. 0 B is without it."""
    overhead: Time
    """Delay of a message in its sending host before TCP sends it."""
    persistent: bool
    """Whether each pair of hosts has one connection that is opened once and stays open, instead of one per message and
    its answer."""
    receive_buffer: Bytes
    """The largest window that a receiver advertises. At most 1073725440 B."""
    restart: Restart
    """When the window of an open connection restarts."""
    retries: int
    """Retransmissions of the same segment, or window probes in a row without any answer, after which a connection is
    given up. Its messages stay unfinished. At least 1."""
    sack: bool
    """Whether losses are repaired with selective acknowledgements (RFC 2018, RFC 6675)."""
    timestamps: bool
    """Whether each ACK of new bytes gives a round-trip time, by its timestamp (RFC 7323), instead of one segment at a
    time that was sent once."""
    window_scaling: bool
    """Whether window scaling allows windows of 64 KiB and more (RFC 7323)."""


Transport = Literal["rdma", "tcp"]
"""The transport that carries messages."""


Traffic = TypedDict(
    "Traffic",
    {
        "announce_size": bool,
        "class": str,
        "ecn": bool,
        "load": Load,
        "name": Required[str],
        "pattern": Required[Pattern],
        "rdma": Rdma,
        "scheme": Required[str | Mapping[str, object]],
        "size": Size,
        "start": Time,
        "tcp": Tcp,
        "tenant": int,
        "transport": Transport,
        "weight": int,
    },
    total=False,
)
"""One traffic."""


class Spec(TypedDict, total=False):
    """A whole spec."""

    compare: Compare
    """The schemes for `fanin compare`."""
    measure: Required[Measure]
    """The measurements and their duration."""
    name: Required[str]
    """Name of the experiment in results."""
    network: Required[Network]
    """The network."""
    seed: int
    """Root seed of all random numbers. From 0 to 9223372036854775807."""
    spec_version: Required[int]
    """Version of the spec language: 1."""
    traffic: Required[Sequence[Traffic]]
    """The traffics that share the network, at least one."""
