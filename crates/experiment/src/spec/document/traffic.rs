//! The traffics of a spec.

use super::{SchemeChoice, bytes, defaults, ms, whole, yes};
use fanin_units::{Bytes, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One traffic.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Traffic {
    /// Its name in results, unique among traffics.
    pub name: String,
    /// Its congestion control: an id, or a table with `id` and the parameters that differ from the defaults.
    pub scheme: SchemeChoice,
    /// The transport that carries it. Default: the one its scheme is designed for.
    pub transport: Option<Transport>,
    /// Its class. Default: the first.
    pub class: Option<String>,
    /// Whether its data packets are ECN-capable.
    #[serde(default = "yes")]
    pub ecn: bool,
    /// Its weight, for receivers that divide their line among senders (Dart).
    #[serde(default = "whole::<u16, 1>")]
    #[schemars(extend("minimum" = 1, "wrong" = "it is 0; weights are at least 1"))]
    pub weight: u16,
    /// Its tenant, for receivers that keep tenants apart (Dart).
    #[serde(default)]
    pub tenant: u8,
    /// Whether a sender tells its receiver the size of a flow as it opens, for receivers that schedule by size (RCC).
    /// The size is that of its first message; that of an endless flow is never known.
    #[serde(default = "yes")]
    pub announce_size: bool,
    /// Start time.
    #[serde(default)]
    pub start: Time,
    /// Senders, receivers and times of messages.
    pub pattern: Pattern,
    /// Payload of a message. Long flows are endless by default; a list has its own sizes.
    pub size: Option<Size>,
    /// Offered load.
    pub load: Option<Load>,
    /// Parameters of RDMA, if it is the transport.
    #[serde(default)]
    pub rdma: Rdma,
    /// Parameters of TCP, if it is the transport.
    #[serde(default = "defaults::<Tcp>")]
    pub tcp: Tcp,
}

/// The transport that carries messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Transport {
    /// Messages over a reliable connection (RC) as in RDMA.
    Rdma,
    /// A TCP byte stream.
    Tcp,
}

/// Senders, receivers and times of messages. Hosts are given by name; without names, all hosts are used.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Pattern {
    /// Independent messages between random hosts. Needs a load.
    Poisson {
        /// Hosts that may send.
        senders: Option<Vec<String>>,
        /// Hosts that may receive.
        receivers: Option<Vec<String>>,
        /// Whether sender and receiver are always in different racks.
        #[serde(default)]
        inter_rack_only: bool,
    },
    /// Groups of distinct random senders to one random receiver. Groups start as a Poisson process if there is a load,
    /// periodically with `every`, and otherwise once, at the start.
    Incast {
        /// Number of senders.
        degree: u32,
        /// Each sender starts after a random delay, uniform from 0 to this.
        #[serde(default)]
        jitter: Time,
        /// Time between groups, instead of a load.
        every: Option<Time>,
        /// Whether each sender draws its own size; otherwise all messages of a group have the same size.
        #[serde(default)]
        size_per_sender: bool,
        /// Hosts that may send.
        senders: Option<Vec<String>>,
        /// Hosts that may receive.
        receivers: Option<Vec<String>>,
        /// Whether senders are always in other racks than their receiver.
        #[serde(default)]
        inter_rack_only: bool,
    },
    /// Each host sends to one host and receives from one host: once, or in rounds with a new permutation each.
    Permutation {
        /// The hosts of the permutation.
        hosts: Option<Vec<String>>,
        /// Each message starts after a random delay, uniform from 0 to this.
        #[serde(default)]
        jitter: Time,
        /// Time between rounds. Default: a single round.
        every: Option<Time>,
    },
    /// Each host sends to every other host, all at the start.
    AllToAll {
        /// The hosts that send and receive.
        hosts: Option<Vec<String>>,
    },
    /// A fixed set of long flows, each from a different sender. Their number is the load divided by a host's rate, or
    /// `count`; with one-to-one pairs it is the number of senders.
    Long {
        /// How sender and receiver are paired.
        #[serde(default)]
        pairs: Pairs,
        /// Number of flows, instead of a load.
        count: Option<u32>,
        /// Start times are uniform from 0 to this.
        #[serde(default)]
        spread: Time,
        /// Hosts that may send.
        senders: Option<Vec<String>>,
        /// Hosts that may receive.
        receivers: Option<Vec<String>>,
        /// Whether sender and receiver are always in different racks. Default: true if the load is a share of ToR
        /// uplinks.
        inter_rack_only: Option<bool>,
    },
    /// Clients that send requests to servers, wait for all answers, and send the next requests (DCTCP section 4.2.1).
    /// Each answer has the traffic's size, or `total` is divided among the answers. In results, requests and answers of
    /// a query form one group; requests are in the table `flows` and excluded from all statistics.
    Query {
        /// Hosts that send requests.
        clients: Option<Vec<String>>,
        /// Hosts that answer; a client sends no request to itself.
        servers: Option<Vec<String>>,
        /// Number of servers per query, drawn anew for each. Default: all of them, in the order of the list.
        degree: Option<u32>,
        /// Queries per client, one after another. Queries that have not begun when the window ends are not sent.
        rounds: u32,
        /// Payload of a request.
        // DCTCP section 2.2: requests of the Partition/Aggregate traffic.
        #[serde(default = "bytes::<1600>")]
        request: Bytes,
        /// Total payload of the answers to one query, divided equally among them, instead of a size.
        total: Option<Bytes>,
        /// Service time: the delay at a server between a request and its answer.
        #[serde(default)]
        service_time: ServiceTime,
        /// Each request starts after a random delay, uniform from 0 to this.
        #[serde(default)]
        jitter: Time,
        /// Think time: the delay at a client between the last answer and the next query.
        #[serde(default)]
        think_time: Time,
    },
    /// Messages from a comma-separated file whose first line names its columns: src, dst (names of hosts, or their
    /// numbers from 0), bytes, start_us (or _ps, _ns, _ms, _s), and optionally group. Other columns are ignored. If
    /// names of hosts are numbers, a number is taken as a name.
    List {
        /// The file, relative to the spec's folder.
        file: String,
    },
    /// Flows from a flow file of the ns-3 HPCC simulator. Its host n is the host named "h" and n.
    Hpcc {
        /// The file, relative to the spec's folder.
        file: String,
        /// Only flows with this destination port. Default: all.
        dport: Option<u16>,
        /// The time in the file that corresponds to the start of the traffic; no flow may start earlier.
        #[serde(default)]
        from: Time,
    },
    /// Connections from a connection matrix of htsim (`.cm`), triggers included. The `group` of each is its id in the
    /// file.
    Htsim {
        /// The file, relative to the spec's folder.
        file: String,
        /// The program of htsim for which it was written. Default: "uec" if it has the word msg, otherwise "ndp".
        dialect: Option<HtsimDialect>,
    },
}

/// A program of htsim: its programs differ in the unit of `start` in a connection matrix.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum HtsimDialect {
    /// NDP, EQDS, RoCE and all others: picoseconds.
    Ndp,
    /// Swift: whole microseconds.
    Swift,
    /// UEC: whole microseconds, and msg for messages of one connection.
    Uec,
}

impl From<HtsimDialect> for fanin_formats::htsim::Dialect {
    fn from(dialect: HtsimDialect) -> Self {
        match dialect {
            HtsimDialect::Ndp => Self::Ndp,
            HtsimDialect::Swift => Self::Swift,
            HtsimDialect::Uec => Self::Uec,
        }
    }
}

/// How sender and receiver are paired.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Pairs {
    /// Uniformly at random.
    #[default]
    Random,
    /// The first sender with the first receiver, the second with the second, and so on.
    OneToOne,
}

/// Service time of a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum ServiceTime {
    /// Constant.
    Fixed(Time),
    /// Uniform from the first to the second.
    Uniform([Time; 2]),
}

impl Default for ServiceTime {
    fn default() -> Self {
        Self::Fixed(Time::ZERO)
    }
}

/// Payload of a message.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Size {
    /// A flow without end.
    Endless,
    /// Constant.
    Fixed(Bytes),
    /// One of these sizes, with equal probability.
    UniformOf(Vec<Bytes>),
    /// Uniform over all byte counts from the smallest to the largest.
    Uniform([Bytes; 2]),
    /// Pareto.
    Pareto(Pareto),
    /// A built-in distribution (WebSearch, FB_Hadoop, AliStorage, in any letter case), or a file with "bytes percent"
    /// in each line, relative to the spec's folder.
    Cdf(String),
    /// The points of a cumulative distribution: bytes, and percent of messages up to this size.
    CdfPoints(Vec<[f64; 2]>),
}

/// Pareto sizes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Pareto {
    /// The mean, before the cap.
    pub mean: Bytes,
    /// Tail index, above 1.
    pub shape: f64,
    /// Larger sizes are reduced to this. Default: no cap.
    pub cap: Option<Bytes>,
}

/// Offered load: payload as a share of a capacity.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Load {
    /// The share; 0.4 is 40 %.
    pub share: f64,
    /// The capacity.
    pub of: LoadBase,
}

/// The capacity that a load is a share of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum LoadBase {
    /// All host links together; all payload counts.
    HostLinks,
    /// All links from switches with hosts to other switches together; payload between racks counts.
    TorUplinks,
    /// The links of the possible receivers, each on average.
    ReceiverLink,
}

/// Parameters of RDMA.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, Default)]
#[serde(default, deny_unknown_fields)]
pub struct Rdma {
    /// How losses are repaired.
    pub recovery: Recovery,
    /// Retransmission timeout, with `recovery = "irn"` the one with more than `timeout_low_packets` packets in flight.
    /// Default: 320 us with `recovery = "selective-repeat"` or `"irn"`, else 4 ms.
    #[schemars(extend("above" = "0 s"))]
    #[schemars(extend("wrong" = "it is zero; write a time above zero, like \"4 ms\", or \"off\""))]
    pub timeout: Option<Timeout>,
    /// Minimum time between two NACKs for the same expected byte, with `recovery = "go-back-n"`. Default: 500 us.
    pub nack_interval: Option<Time>,
    /// `recovery = "irn"`: a new packet leaves while fewer than this are in flight. Default: "bdp".
    pub cap: Option<Cap>,
    /// `recovery = "irn"`: the retransmission timeout with up to `timeout_low_packets` packets in flight. Default: 100
    /// us, or `timeout` where that is shorter.
    #[schemars(extend("above" = "0 s", "wrong" = "it is zero; write a time above zero, like \"100 us\""))]
    pub timeout_low: Option<Time>,
    /// `recovery = "irn"`: see `timeout_low`. Default: 3.
    pub timeout_low_packets: Option<u32>,
    /// `recovery = "selective-repeat"` or `"irn"`: recovery begins with this many NACKs in a row for the same expected
    /// byte. More than 1 is for networks that reorder. Default: 1.
    #[schemars(extend("minimum" = 1, "wrong" = "it is 0; write 1, or more for a network that reorders"))]
    pub nack_threshold: Option<u32>,
    /// `recovery = "selective-repeat"` or `"irn"`: whether the scheme reacts to losses and timeouts as it does with
    /// `"go-back-n"`. Default: false.
    pub loss_reaction: Option<bool>,
    /// Timeouts in a row without progress, or requests of a scheme in a row without an answer, after which a queue pair
    /// is given up: InfiniBand's retry count, there at most 7. What was posted to it stays unfinished; later messages
    /// get a new one. Default: no limit.
    #[schemars(extend("minimum" = 1, "wrong" = "a single loss would end a message; write 1 or more, like 7"))]
    pub retries: Option<u32>,
    /// Payload bytes per ACK; with 0 B every packet is acknowledged. The last packet of a message is always
    /// acknowledged.
    #[schemars(extend("most" = Bytes(u32::MAX as u64), "wrong" = "{} is too large; it is below 4 GiB"))]
    pub ack_chunk: Bytes,
    /// Whether each pair of hosts has one queue pair that stays open, with one sequence space, instead of one per
    /// message.
    pub persistent: bool,
    /// When a scheme's sender on an open queue pair begins anew.
    pub restart: RdmaRestart,
    /// Bytes that a paced flow may make up for when it could not send in time, because of other flows of its host or of
    /// its window, as the scheduler of HPCC's NIC does (HPCC section 4.2). With 0 B each packet restarts the pacing, as
    /// in the ns-3 HPCC simulator. Default: two packets of the network's MTU.
    #[schemars(extend("most" = Bytes(u32::MAX as u64), "wrong" = "{} is too large; it is below 4 GiB"))]
    pub pacing_credit: Option<Bytes>,
    /// CPU time of the receiving host between the arrival of a data packet and the ACK or NACK that answers it, drawn
    /// for each of them. With an `ack_chunk` of at least a message it is a time per message. Times of different
    /// answers overlap, but those of a queue pair leave in their order. CNPs and credits do not wait: the NIC sends
    /// them. Default: none, the NIC answers by itself.
    pub cpu_time: Option<CpuTime>,
}

/// CPU time of a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum CpuTime {
    /// Constant.
    Constant(Time),
    /// Uniform from the first to the second.
    Uniform([Time; 2]),
    /// Log-normal.
    LogNormal(LogNormal),
}

/// A log-normal time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LogNormal {
    /// The median.
    #[schemars(extend("above" = "0 s", "wrong" = "it is zero; write a time above zero, like \"5 us\""))]
    pub median: Time,
    /// The 99.9th percentile.
    pub p999: Time,
}

/// When a scheme's sender on an open queue pair begins anew.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, Default)]
#[serde(rename_all = "kebab-case")]
pub enum RdmaRestart {
    /// Never: a message inherits the rate, the window and what else the scheme knows from the one before. A scheme may
    /// discard what its paper says (Dart its share).
    #[default]
    Never,
    /// With each message that begins when everything sent before on its queue pair is acknowledged: it starts as on a
    /// queue pair of its own. What its receiver knows of the flow stays.
    Request,
}

/// How RDMA repairs losses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, Default)]
#[serde(rename_all = "kebab-case")]
pub enum Recovery {
    /// The receiver drops what arrives behind a gap and asks for it with a NACK; the sender goes on from there.
    #[default]
    GoBackN,
    /// The receiver drops all of the message, and the sender begins it again.
    #[serde(rename = "go-back-0")]
    GoBack0,
    /// The receiver keeps what arrives behind a gap, and the sender sends again what is missing.
    SelectiveRepeat,
    /// As "selective-repeat", with a limit to packets in flight and a short timeout for few of them (IRN).
    Irn,
}

/// Most packets in flight.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Cap {
    /// The largest bandwidth-delay product of any two hosts, in full packets, rounded up; twice that under a scheme
    /// whose receivers send an ACK per round-trip time (ExpressPass).
    Bdp(Bdp),
    /// As many full packets as hold this, rounded up.
    Bytes(Bytes),
    /// So many, of any size.
    Packets(CapPackets),
}

/// The value for the bandwidth-delay product.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Bdp {
    /// The bandwidth-delay product.
    Bdp,
}

/// A number of packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CapPackets {
    /// The number.
    pub packets: u32,
}

/// Retransmission timeout.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Timeout {
    /// Never.
    Off(Off),
    /// After this time without progress.
    After(Time),
}

/// The value for no timeout.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Off {
    /// Never.
    Off,
}

/// Parameters of TCP. A segment carries at most `network.packet.payload`, its headers are `network.packet.header`, and
/// a segment without payload has the size of `network.packet.ack`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Tcp {
    /// Whether losses are repaired with selective acknowledgements (RFC 2018, RFC 6675).
    // DCTCP section 4: NewReno with SACK.
    #[serde(default = "yes")]
    pub sack: bool,
    /// Whether window scaling allows windows of 64 KiB and more (RFC 7323).
    #[serde(default = "yes")]
    pub window_scaling: bool,
    /// The largest window that a receiver advertises.
    // The whole buffer of DCTCP's switches (Table 1), so that the network limits a window and not the receiver.
    #[serde(default = "bytes::<4_000_000>")]
    // The largest window of RFC 7323: 65,535 units of 2^14 bytes.
    #[schemars(extend("most" = Bytes(65_535 << 14)))]
    #[schemars(extend("wrong" = "no TCP window is as large as {}; it is at most 1073725440 B (RFC 7323)"))]
    pub receive_buffer: Bytes,
    /// Full segments per ACK.
    // RFC 5681 section 4.2: at least every second full segment.
    #[serde(default = "whole::<u32, 2>")]
    #[schemars(extend("minimum" = 1, "wrong" = NEVER_ACKNOWLEDGED))]
    pub ack_every: u32,
    /// Largest delay of an ACK.
    // RFC 5681 allows up to 500 ms, far above the smallest timeout here.
    #[serde(default = "ms::<1>")]
    pub ack_delay: Time,
    /// Retransmission timeout before the first measurement of the round-trip time.
    // RFC 6298 section 2.1.
    #[serde(default = "ms::<1000>")]
    pub initial_rto: Time,
    /// Smallest retransmission timeout.
    // DCTCP section 4.2.1: 10 ms is the timer tick of its hosts, 300 ms their default.
    #[serde(default = "ms::<10>")]
    #[schemars(extend("above" = "0 s", "wrong" = "it is zero; write a time above zero, like \"10 ms\""))]
    pub min_rto: Time,
    /// Largest retransmission timeout.
    // RFC 6298 section 2.5: at least 60 s.
    #[serde(default = "ms::<60_000>")]
    pub max_rto: Time,
    /// Whether each ACK of new bytes gives a round-trip time, by its timestamp (RFC 7323), instead of one segment at a
    /// time that was sent once.
    #[serde(default)]
    pub timestamps: bool,
    /// Segmentation offload: most bytes of new data that TCP gives to the NIC at once, like "64 KB". The NIC sends them
    /// as segments one right after the other at the rate of its link, without the pauses of a paced scheme and without
    /// segments of other connections of the class in between. A burst begins when the windows allow one of this size,
    /// a third of the window, or all that is left to send; a smaller one waits for the next ACK. Repairs of losses are
    /// sent one by one. 0 B is without it.
    #[serde(default = "bytes::<0>")]
    pub offload: Bytes,
    /// Retransmissions of the same segment, or window probes in a row without any answer, after which a connection is
    /// given up. Its messages stay unfinished.
    // Linux's tcp_retries2: more than RFC 9293's 100 s.
    #[serde(default = "whole::<u32, 15>")]
    #[schemars(extend("minimum" = 1))]
    #[schemars(extend("wrong" = "a single loss would end a connection; write 1 or more, like 15"))]
    pub retries: u32,
    /// Whether each pair of hosts has one connection that is opened once and stays open, instead of one per message and
    /// its answer.
    #[serde(default)]
    pub persistent: bool,
    /// When the window of an open connection restarts.
    #[serde(default)]
    pub restart: Restart,
    /// Class of ACKs without payload. SYN and FIN segments are in the class of the data.
    #[serde(default)]
    pub ack_class: AckClass,
    /// Delay of a message in its sending host before TCP sends it.
    #[serde(default)]
    pub overhead: Time,
}

/// The error of TCP that acknowledges nothing.
const NEVER_ACKNOWLEDGED: &str = "no segment would be acknowledged; write 1 for an ACK per segment, or 2";

/// When the window of an open connection restarts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, Default)]
#[serde(rename_all = "kebab-case")]
pub enum Restart {
    /// After a pause, by the rules of the scheme (`restart_after`).
    #[default]
    Pause,
    /// Also with each message that begins when everything sent before on its connection is acknowledged.
    Request,
}

/// Class of ACKs without payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, Default)]
#[serde(rename_all = "kebab-case")]
pub enum AckClass {
    /// The class of the traffic's data.
    #[default]
    Data,
    /// The control class, which has strict priority.
    Control,
}
