//! The network of a spec.

use super::{
    Balancing, Discipline, HostFault, LARGEST, Marking, MarkingOfRate, PfcOptions, Topology, bytes, defaults, ratio,
};
use fanin_units::{Bytes, Rate, Time};
use fanin_wire::size;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The network.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Network {
    /// Hosts, switches and links.
    pub topology: Topology,
    /// Packet sizes on the wire.
    #[serde(default = "defaults::<Packet>")]
    pub packet: Packet,
    /// Buffers of the switches.
    pub buffer: Buffer,
    /// Cutting of packets that find no room, for packet spraying as in Ultra Ethernet and NDP. Default: they are
    /// dropped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trimming: Option<Trimming>,
    /// ECN marking, for classes without their own.
    #[serde(default)]
    pub marking: Marking,
    /// ECN marking on ports of certain rates, instead of `marking`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub marking_by_rate: Vec<MarkingOfRate>,
    /// Data classes, 1 to 7. Control packets (ACK, NACK, CNP) have a class of their own with strict priority. Default:
    /// one class "data".
    pub classes: Option<Vec<Class>>,
    /// How packets choose between paths of equal length. Default: "ecmp", or "symmetric" where a scheme needs it.
    pub routing: Option<Routing>,
    /// Which of equally short paths a packet takes at a switch, whatever its scheme: data, ACKs and other control
    /// packets, but not the frames of links (pauses, InfiniBand's credits). From "oblivious" on it is the sender that
    /// chooses, for each packet of RDMA, by a number in it which switches hash (an entropy value in Ultra Ethernet); an
    /// ACK has the number of the packet that it answers, and TCP goes by flow. A host with several links always chooses
    /// by flow. Only "flow-hash" goes with symmetric routes, and with schemes that deflect packets. Also the id of a
    /// policy of your own that was loaded, or a table with its `id` and parameters. See load-balancing.md.
    #[serde(default)]
    pub balancing: Balancing,
    /// With balancing "flowlets", the pause after which a flow may take another path. Default: "50 us".
    #[schemars(extend("above" = "0 s", "wrong" = NO_GAP))]
    pub flowlet_gap: Option<Time>,
    /// With balancing of senders ("oblivious", "bitmap", "reps", "reps-legacy", "mixed"), the number of paths among
    /// which each of them chooses for each packet: a power of two. Several may be the same links. Default: 128.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub paths: Option<u32>,
    /// What may join the queues of switches. Also the id of a discipline of your own that was loaded, or a table with
    /// its `id` and parameters, which admits, marks or drops packets before that.
    #[serde(default)]
    pub discipline: Discipline,
    /// The queues of credits at every port, for schemes that send credits. Default: those of the scheme.
    pub credit_queues: Option<CreditQueues>,
    /// A queue in the host between pacers and link. Default: none, the NIC pulls packets from its flows.
    pub host_queue: Option<HostQueue>,
    /// When a switch releases the buffer space of a packet.
    #[serde(default)]
    pub release: Release,
    /// Delay after a link failure until its two ends detect it, drop the packets queued for it and use new routes.
    #[serde(default)]
    pub failure_detection: Time,
    /// Slow links, losses and outages, of single links or of all links of a switch.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub links: Vec<LinkChange>,
    /// Options of PFC.
    #[serde(default, skip_serializing_if = "PfcOptions::is_default")]
    pub pfc: PfcOptions,
    /// Faulty hosts: slow receivers and pause storms.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub faults: Vec<HostFault>,
}

/// The error of a gap of zero.
const NO_GAP: &str = "without a gap every packet is a flowlet; write a time above zero, like \"50 us\", or balancing = \
                      \"random\"";

/// How packets choose between paths of equal length.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Routing {
    /// By a hash at each switch, which differs between the two directions of a flow.
    Ecmp,
    /// So that the packets of a flow cross the same links in both directions, on any graph and also when links fail
    /// (except for packets that are under way as routes change).
    Symmetric,
}

/// The queues of credits at every port, of hosts too. Credits leave before data, and credits beyond the queue are
/// dropped.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct CreditQueues {
    /// Their share of the rate of each link. Default: so that the data of all credits just fills
    /// the link, credit / (credit + largest packet).
    #[schemars(extend("exclusiveMinimum" = 0, "maximum" = 1, "wrong" = NO_CREDIT_SHARE))]
    pub share: Option<f64>,
    /// Bytes of credits that may leave at once after a pause.
    pub burst: Option<Bytes>,
    /// Most bytes in a queue.
    pub queue: Option<Bytes>,
}

/// The error of an impossible share of credits.
const NO_CREDIT_SHARE: &str =
    "{} is not a possible share; it is above 0 and at most 1; leave it out to fill links with data";

/// Packet sizes on the wire. The defaults are RoCEv2 frames with their frame check sequence.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Packet {
    /// Largest payload of a data packet.
    // Dart VI-A, the only packet size that the paper gives.
    #[serde(default = "bytes::<1460>")]
    #[schemars(extend("least" = "1 B", "most" = LARGEST, "wrong" = NO_SIZE))]
    pub payload: Bytes,
    /// All headers of a data packet together.
    #[serde(default = "bytes::<{ size::DATA_HEADER.get() }>")]
    #[schemars(extend("most" = LARGEST, "wrong" = "{} is not a possible size; it is 0 to 65535 B"))]
    pub header: Bytes,
    /// An ACK or NACK.
    #[serde(default = "bytes::<{ size::ACK.get() }>")]
    #[schemars(extend("least" = "1 B", "most" = LARGEST, "wrong" = NO_SIZE))]
    pub ack: Bytes,
    /// A congestion notification packet.
    #[serde(default = "bytes::<{ size::CNP.get() }>")]
    #[schemars(extend("least" = "1 B", "most" = LARGEST, "wrong" = NO_SIZE))]
    pub cnp: Bytes,
    /// A PAUSE or RESUME frame.
    #[serde(default = "bytes::<{ size::PAUSE.get() }>")]
    #[schemars(extend("least" = "1 B", "most" = LARGEST, "wrong" = NO_SIZE))]
    pub pause: Bytes,
    /// The DSCP of congestion notification packets in captures and on a wire, none that a class of data has.
    /// It changes no result: they are control packets, which have strict priority. Default: 0, as ACKs have.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("maximum" = 63, "wrong" = NO_DSCP))]
    pub cnp_dscp: Option<u8>,
}

/// The error of a packet that is too large or empty.
const NO_SIZE: &str = "{} is not a possible size; it is 1 to 65535 B";

/// The errors of other impossible values.
const NO_DSCP: &str = "{} is not a possible DSCP; it has six bits: 0 to 63";
const NO_FACTOR: &str = "{} is not a possible factor; it is above 0 and at most 1000, like 0.125";

/// A data packet of RDMA that finds no room in a lossy class loses its payload. Its header goes on among the control
/// packets, ahead of all data, so that the receiver learns of the loss at once and asks for the packet again. Packets
/// of TCP are dropped as without trimming.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Trimming {
    /// Bytes on the wire of a packet that was cut: at least its headers.
    pub size: Bytes,
    /// Most bytes of control packets that wait at a port of a switch; beyond them these are dropped too.
    pub headers: Bytes,
    /// Which packet is cut.
    pub cuts: Cuts,
    /// Control packets, headers among them, that a port of a switch sends in a row while data waits, before it sends a
    /// data packet; NDP's authors use 10. Without it all of them go first.
    #[schemars(extend("above" = 0, "wrong" = "no data would ever leave; it is 1 or more, like 10"))]
    pub weight: Option<u32>,
}

/// Which packet is cut where there is no room.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Cuts {
    /// The packet that arrives.
    Arriving,
    /// By a coin that packet, or the last one of the queue, whose place it takes: so that the packets of a flow whose
    /// packets always arrive behind those of others are not always the ones that are cut (NDP 3.1.1, and uet-htsim).
    /// Only data of RDMA of the same size changes places.
    Either,
}

impl Default for Trimming {
    fn default() -> Self {
        Self { size: Bytes(64), headers: Bytes(256_000), cuts: Cuts::Arriving, weight: None }
    }
}

/// Buffers of the switches.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Buffer {
    /// A fixed buffer per port.
    PerPort(PerPort),
    /// A buffer pool per switch, shared by its ports.
    Pool(Pool),
    /// A buffer per port and class with credits, as in InfiniBand.
    Credits(Credits),
    /// No limit.
    Unlimited(Unlimited),
}

/// A fixed buffer per port.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PerPort {
    /// Bytes per port of a switch. In a lossy class this limits the bytes queued at an egress port, all lossy classes
    /// of the port together; a packet beyond the limit is dropped, as by a drop-tail queue of this size in ns-3 or
    /// htsim. In a lossless class it limits the bytes that arrived at an ingress port and are still in the switch, at
    /// any egress port, as in the input queues of htsim's lossless mode; several lossless classes divide it equally. An
    /// ingress port that holds its share less `headroom` pauses the upstream port (PFC). Packets that arrive before the
    /// PAUSE takes effect fit into the headroom, so nothing is dropped unless `headroom` was set too small. The queue
    /// at an egress port then has no limit of its own: it may hold the bytes of all ingress ports. (The switch of the
    /// ns-3 HPCC simulator also counts per ingress port, but from a memory shared by all ports: that is `pool`.)
    /// Control packets, and packets that find their egress idle, are not counted.
    pub per_port: Bytes,
    /// Bytes per port on ports of certain rates, instead of `per_port`: for instance less where a link is slow, so that
    /// its queue takes as long to drain as any other.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub by_rate: Vec<RoomOfRate>,
    /// Whether classes are lossless or lossy, unless they set it themselves.
    pub policy: Policy,
    /// Bytes of a port's buffer reserved for packets that arrive after a PAUSE was sent.
    #[serde(default)]
    pub headroom: Headroom,
    /// XON offset: a paused ingress resumes when it holds this much less than the PAUSE threshold. Default: two full
    /// packets.
    pub xon_offset: Option<Bytes>,
}

/// The buffer of each port of a rate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RoomOfRate {
    /// The rate. Some link has it.
    pub rate: Rate,
    /// Bytes per port.
    pub per_port: Bytes,
}

/// The dynamic thresholds of ports of a rate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ThresholdsOfRate {
    /// The rate. Some link has it.
    pub rate: Rate,
    /// Dynamic threshold of a lossy egress queue. Default: that of the pool.
    #[schemars(extend("exclusiveMinimum" = 0, "maximum" = 1000, "wrong" = NO_FACTOR))]
    pub alpha: Option<f64>,
    /// Dynamic threshold of a lossless ingress. Default: that of the pool.
    #[schemars(extend("exclusiveMinimum" = 0, "maximum" = 1000, "wrong" = NO_FACTOR))]
    pub pfc_alpha: Option<f64>,
}

/// A buffer pool per switch, shared by its ports.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Pool {
    /// Bytes per switch.
    pub pool: Bytes,
    /// Whether classes are lossless or lossy, unless they set it themselves.
    pub policy: Policy,
    /// Dynamic threshold of a lossy egress queue: it may grow to this many times the free pool.
    #[serde(default = "ratio::<1, 1>")]
    #[schemars(extend("exclusiveMinimum" = 0, "maximum" = 1000, "wrong" = NO_FACTOR))]
    pub alpha: f64,
    /// Dynamic threshold of a lossless ingress: it is paused above this many times the free pool.
    // HPCC section 5.1: an ingress is paused at 11 % of the free buffer, the equilibrium of this threshold.
    #[serde(default = "ratio::<1, 8>")]
    #[schemars(extend("exclusiveMinimum" = 0, "maximum" = 1000, "wrong" = NO_FACTOR))]
    pub pfc_alpha: f64,
    /// Dynamic thresholds on ports of certain rates, for classes without an `alpha` of their own. The ns-3 HPCC
    /// simulator has 1/8, 1/4 and 1/2 for its NICs' rate, twice and four times of it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub by_rate: Vec<ThresholdsOfRate>,
    /// Bytes of the pool reserved per lossless ingress for packets that arrive after a PAUSE was sent.
    #[serde(default)]
    pub headroom: Headroom,
    /// XON offset: a paused ingress resumes when it holds this much less than the PAUSE threshold. Default: two full
    /// packets.
    pub xon_offset: Option<Bytes>,
}

/// Credit flow control as in InfiniBand, instead of PFC. Each class is a virtual lane. Both ends of each link, hosts
/// too, have a buffer per class for what they receive, counted in blocks of 64 B, and tell the other end how much of it
/// is free. A packet starts only if all its blocks are; a host starts one only if those of a full packet are. So
/// nothing is ever dropped for lack of buffer, nothing is paused, and no headroom is needed. Free blocks are told in
/// flow control packets of 8 B, whenever they change, ahead of other packets. Control packets are not counted.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Credits {
    /// Bytes per port and class. No more than 131,072 B can be told as free at once, so a larger buffer makes no link
    /// faster.
    pub credits: CreditBuffer,
}

/// Bytes per port and class.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum CreditBuffer {
    /// Computed for each link from its rate and delay, so that full packets can use all of it: what it carries in both
    /// ways of the link, and three packets.
    Computed(PerLink),
    /// The same for every link.
    Bytes(Bytes),
}

/// No limit: no packet is dropped for lack of buffer, and none is paused.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Unlimited {
    /// The policy without a limit.
    pub policy: NoLimit,
}

/// The value of `policy` for no limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum NoLimit {
    /// No limit.
    Unlimited,
}

/// Behaviour of a full buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Policy {
    /// PFC pauses the upstream port before the buffer is full.
    Lossless,
    /// Packets are dropped.
    Lossy,
}

/// Bytes reserved for packets that arrive after a PAUSE was sent.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Headroom {
    /// Computed for each link from its rate and delay, so that nothing is lost.
    Computed(PerLink),
    /// The same for every link.
    Bytes(Bytes),
}

impl Default for Headroom {
    fn default() -> Self {
        Self::Computed(PerLink::PerLink)
    }
}

/// The value for bytes computed for each link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PerLink {
    /// Computed for each link from its rate and delay.
    PerLink,
}

/// One data class. A port sends a packet of each of its data classes in turn, where they have one (round robin). Once a
/// class has a `priority` or a `weight`, ports of switches and of hosts choose by these instead, as in enhanced
/// transmission selection (802.1Qaz): of the classes that have something to send, those of the highest priority send,
/// and they share by weight, in bytes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Class {
    /// Its name, for `class` of a traffic.
    pub name: String,
    /// Whether flow control, PFC or credits, protects it. Default: the policy of the buffer.
    pub lossless: Option<bool>,
    /// Its ECN marking. Default: `network.marking`.
    pub marking: Option<Marking>,
    /// Its ECN marking on ports of certain rates. Default: `network.marking_by_rate` where `marking` is the network's.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub marking_by_rate: Vec<MarkingOfRate>,
    /// Fraction of the buffer reserved for it, like 0.5: of each port, or of the pool, headroom included. Default: it
    /// shares the unreserved part with the other classes that set none.
    #[schemars(extend("exclusiveMinimum" = 0, "maximum" = 1))]
    #[schemars(extend("wrong" = "{} is not a possible share; it is above 0 and at most 1, like 0.5"))]
    pub share: Option<f64>,
    /// Its own dynamic threshold in a pool. Default: `buffer.alpha`, or `buffer.pfc_alpha` if it is lossless.
    #[schemars(extend("exclusiveMinimum" = 0, "maximum" = 1000, "wrong" = NO_FACTOR))]
    pub alpha: Option<f64>,
    /// The DSCP of its packets in captures and on a wire, one that no other class has. It changes no result.
    /// Default: 8 times the number of the class, from 1 on (class selector).
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("maximum" = 63, "wrong" = NO_DSCP))]
    pub dscp: Option<u8>,
    /// Strict priority: a class of priority 1 is served before those of 2, and so on. Several classes may have
    /// the same. Default: it is served after all classes that have one.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 7))]
    pub priority: Option<u8>,
    /// Its weight among the classes of its priority: weights 15 and 5 give three bytes to one. By deficit
    /// round robin (Shreedhar and Varghese 1995): in its turn a class sends its weight times the largest packet, where
    /// the weights of one priority are first divided by their greatest common divisor. Default: 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 1000))]
    pub weight: Option<u16>,
}

/// A queue in the host between pacers and link, one for each class.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HostQueue {
    /// Bytes per class. A full queue stops pulling packets from the flows of that class; nothing is dropped.
    pub capacity: Bytes,
    /// Packets are marked while the queue holds more than this of their class. Default: no marking.
    pub mark_above: Option<Bytes>,
}

/// When a switch releases the buffer space of a packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Release {
    /// When its transmission starts.
    #[default]
    Dequeue,
    /// When its last bit was sent.
    LastBit,
}

/// Slower rates, losses and outages of all links between two nodes, or of all links of one node.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LinkChange {
    /// Names of the two nodes, such as "tor0" and "h3".
    #[serde(skip_serializing_if = "Option::is_none")]
    pub between: Option<[String; 2]>,
    /// Instead of `between`, the name of a node, such as "spine1": all its links.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at: Option<String>,
    /// Their rate, as a fraction of what the topology says, in both directions. Routes are the same, and what depends
    /// on rates, such as ideal completion times, follows. Default: 1.
    #[serde(default = "ratio::<1, 1>", skip_serializing_if = "is_one")]
    #[schemars(extend("exclusiveMinimum" = 0, "maximum" = 1))]
    #[schemars(extend("wrong" = "{} is not a possible part of a link's rate; it is above 0 and at most 1, like 0.25"))]
    pub speed: f64,
    /// Probability that a packet is lost, per direction.
    #[serde(default)]
    #[schemars(extend("minimum" = 0, "exclusiveMaximum" = 1))]
    #[schemars(extend("wrong" = "{} is not a probability of loss; it is at least 0 and below 1, like 0.001"))]
    pub error_rate: f64,
    /// Outages as pairs of begin and end, in order and with time between them.
    #[serde(default)]
    pub down: Vec<[Time; 2]>,
}

impl LinkChange {
    /// Losses of the links between two nodes.
    pub fn lossy(between: [String; 2], error_rate: f64) -> Self {
        Self { between: Some(between), at: None, speed: 1.0, error_rate, down: Vec::new() }
    }
}

/// Whether links have their whole rate.
#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde wants a reference")]
fn is_one(speed: &f64) -> bool {
    *speed == 1.0
}
