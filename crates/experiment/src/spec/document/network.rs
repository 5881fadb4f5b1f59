//! The network of a spec.

use fanin_cc::aqm::{pi, red};
use fanin_units::{Bytes, Rate, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The network.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Network {
    /// Who is wired to whom.
    pub topology: Topology,
    /// Bytes on the wire by kind of packet.
    #[serde(default)]
    pub packet: Packet,
    /// How switches buffer.
    pub buffer: Buffer,
    /// How queues mark, where a class does not say otherwise.
    #[serde(default)]
    pub marking: Marking,
    /// How they mark instead on ports of certain rates.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub marking_by_rate: Vec<MarkingOfRate>,
    /// Data classes, 1 to 7. Control (ACK, NACK, CNP) is a class of its own and strictly first. Default: one class
    /// "data".
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub classes: Option<Vec<Class>>,
    /// A queue in the host between pacers and link. Default: none, the NIC pulls from its flows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host_queue: Option<HostQueue>,
    /// When a switch gives the space of a packet back.
    #[serde(default)]
    pub release: Release,
    /// How long after a link went down its two ends know, drop what waits for it and find new routes.
    #[serde(default)]
    pub failure_detection: Time,
    /// Changes to single links.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub links: Vec<LinkChange>,
}

/// Who is wired to whom.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Topology {
    /// Hosts h0, h1, ... around one switch, sw0.
    Star {
        /// Number of hosts, at least 2.
        hosts: u32,
        /// Rate of each link.
        link: Rate,
        /// Propagation delay of each link.
        delay: Time,
    },
    /// Two switches, "left" and "right", with hosts and one link between them.
    Dumbbell {
        /// Hosts on the left.
        left: u32,
        /// Hosts on the right.
        right: u32,
        /// Rate of each host link.
        link: Rate,
        /// Propagation delay of each host link.
        delay: Time,
        /// Rate between the switches. Default: that of the host links.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        bottleneck: Option<Rate>,
        /// Propagation delay between the switches. Default: that of the host links.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        bottleneck_delay: Option<Time>,
    },
    /// A chain of switches sw0, sw1, ... with equally many hosts each.
    ParkingLot {
        /// Number of switches, at least 2.
        switches: u32,
        /// Hosts per switch.
        hosts: u32,
        /// Rate of each host link.
        link: Rate,
        /// Propagation delay of each host link.
        delay: Time,
        /// Rate between switches. Default: that of the host links.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        chain_link: Option<Rate>,
        /// Propagation delay between switches. Default: that of the host links.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        chain_delay: Option<Time>,
    },
    /// Leaves leaf0, ... with hosts, each with one link to each spine spine0, ...
    LeafSpine {
        /// Number of leaves.
        leaves: u32,
        /// Hosts per leaf.
        hosts: u32,
        /// Number of spines.
        spines: u32,
        /// Rate of each host link.
        link: Rate,
        /// Propagation delay of each host link.
        delay: Time,
        /// Rate between leaf and spine. Default: that of the host links.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        fabric_link: Option<Rate>,
        /// Propagation delay between leaf and spine. Default: that of the host links.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        fabric_delay: Option<Time>,
    },
    /// A k-ary fat tree: k^3/4 hosts, every tier carries what the hosts can send.
    FatTree {
        /// Ports per switch, even.
        k: u32,
        /// Rate of each link.
        link: Rate,
        /// Propagation delay of each link.
        delay: Time,
    },
    /// The network of HPCC section 5.1: 320 hosts at 100 Gb/s, fabric at 400 Gb/s, 1 us a link.
    HpccFatTree {},
    /// Pods of ToRs tor0, ... and aggregation switches agg0, ..., joined by cores core0, ...
    Clos {
        /// Number of pods.
        pods: u32,
        /// ToRs per pod.
        tors: u32,
        /// Hosts per ToR.
        hosts: u32,
        /// Uplinks per ToR.
        uplinks: u32,
        /// Aggregation switches per pod. Default: `uplinks`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        aggs: Option<u32>,
        /// Uplinks per aggregation switch. Default: as many as it has links to ToRs.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        agg_uplinks: Option<u32>,
        /// Number of core switches. Default: `aggs` times `agg_uplinks`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cores: Option<u32>,
        /// Rate of each host link.
        link: Rate,
        /// Propagation delay of each host link.
        delay: Time,
        /// Rate between switches. Default: that of the host links.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        fabric_link: Option<Rate>,
        /// Propagation delay between switches. Default: that of the host links.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        fabric_delay: Option<Time>,
    },
    /// The tree of RCC section 6.2: 1,000 hosts at 1 Gb/s in 40 racks, 25 Gb/s to one core switch, 40 us a link.
    RccTree {},
    /// Any graph.
    Graph {
        /// Names of the hosts, at least 2.
        hosts: Vec<String>,
        /// Names of the switches.
        #[serde(default)]
        switches: Vec<String>,
        /// The links.
        links: Vec<GraphLink>,
    },
    /// A network in a file of its own: a comma-separated table of links, a topology file of the ns-3 HPCC simulator, or
    /// a tree of htsim (`.topo`). The resolved spec has it written out as a graph, so that results stand alone. From
    /// ns-3's files come losses on links too; an entry of `network.links` for the same two nodes replaces them. From
    /// htsim's come the links, with half of a switch's latency on each, and not the queues: those are `network.buffer`.
    #[serde(untagged)]
    File(TopologyFile),
}

/// A network in a file of its own.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TopologyFile {
    /// The file; relative to the spec's folder. In a table of links the first line names the columns `a` and `b` (names
    /// of two nodes), `rate` (like 100 Gbps) and `delay` (like 1 us), and each further line is a link, the same both
    /// ways. Hosts and switches have the names that they have there; host n of the ns-3 simulator is called "h" and n,
    /// switch n "s" and n, and htsim's are h0, tor0, agg0, core0 and so on.
    pub file: String,
    /// What kind of file it is. Default: what its first line looks like.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub format: Option<TopologyFormat>,
    /// Beside a table of links, a comma-separated file with the columns `name` and `kind` (host or switch), relative to
    /// the spec's folder. Hosts are numbered in its order. Default: a node that is linked to one other node only is a
    /// host, all others are switches, and hosts are numbered in the order in which links name them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nodes: Option<String>,
}

/// What kind of file a topology is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum TopologyFormat {
    /// A topology file of the ns-3 HPCC simulator.
    Ns3,
    /// A fat tree of htsim.
    Htsim,
    /// A table of links.
    Links,
}

/// One link of any graph.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GraphLink {
    /// Names of its two ends.
    pub between: [String; 2],
    /// Rate of each direction.
    pub rate: Rate,
    /// Propagation delay of each direction.
    pub delay: Time,
}

/// Bytes on the wire by kind of packet. The defaults are RoCEv2 frames with their frame check sequence.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Packet {
    /// Largest payload of a data packet.
    pub payload: Bytes,
    /// All headers of a data packet.
    pub header: Bytes,
    /// An ACK or NACK.
    pub ack: Bytes,
    /// A congestion notification packet.
    pub cnp: Bytes,
    /// A pause or resume frame.
    pub pause: Bytes,
}

impl Default for Packet {
    fn default() -> Self {
        use fanin_wire::size;
        Self {
            // Dart VI-A, the only packet size that the paper gives.
            payload: Bytes(1460),
            header: size::DATA_HEADER,
            ack: size::ACK,
            cnp: size::CNP,
            pause: size::PAUSE,
        }
    }
}

/// How switches buffer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Buffer {
    /// Every port has bytes of its own.
    PerPort(PerPort),
    /// All ports of a switch share a pool.
    Pool(Pool),
    /// No limit.
    Unlimited(Unlimited),
}

/// Every port has bytes of its own.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PerPort {
    /// Bytes per port of a switch. What they count depends on the class. Lossy: what waits at an egress port, all lossy
    /// queues of the port together. A packet that would be more is dropped, as by a drop-tail queue of this size in
    /// ns-3 or htsim. Lossless: what came in by an ingress port and still waits in the switch, at whatever egress port,
    /// as in the input queues of htsim's lossless mode; several lossless classes have equal parts. An ingress that
    /// holds its part less `headroom` pauses its sender (PFC); what is under way by then fits into the headroom, so
    /// nothing is dropped, and only a `headroom` that was set too small can lose packets. The queue at an egress port
    /// has no limit of its own then: it may hold what all ingress ports may. (The switch of the ns-3 HPCC simulator
    /// counts by ingress port too, but out of one memory for all ports: that is `pool`.) Control packets, and packets
    /// that find their egress idle, count nowhere.
    pub per_port: Bytes,
    /// What classes are that do not say so themselves.
    pub policy: Policy,
    /// Bytes of a port's share kept free for what is under way after a PAUSE.
    #[serde(default)]
    pub headroom: Headroom,
    /// RESUME when the ingress holds this much less than at its PAUSE. Default: two full packets.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resume_gap: Option<Bytes>,
}

/// All ports of a switch share a pool.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Pool {
    /// Bytes per switch.
    pub pool: Bytes,
    /// What classes are that do not say so themselves.
    pub policy: Policy,
    /// A lossy egress queue may grow to this many times the free pool.
    #[serde(default = "alpha")]
    pub alpha: f64,
    /// A lossless ingress is paused above this many times the free pool.
    #[serde(default = "pfc_alpha")]
    pub pfc_alpha: f64,
    /// Bytes of the pool set aside per lossless ingress for what is under way after a PAUSE.
    #[serde(default)]
    pub headroom: Headroom,
    /// RESUME when the ingress holds this much less than at its PAUSE. Default: two full packets.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resume_gap: Option<Bytes>,
}

fn alpha() -> f64 {
    1.0
}
fn pfc_alpha() -> f64 {
    // HPCC section 5.1: an ingress is paused at 11 % of the free buffer, which this settles at.
    0.125
}

/// No limit: no packet is dropped for lack of buffer, and none is paused.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Unlimited {
    /// Says that there is no limit.
    pub policy: NoLimit,
}

/// The word for no limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum NoLimit {
    /// No limit.
    Unlimited,
}

/// What a full buffer does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Policy {
    /// PFC pauses the sender in time.
    Lossless,
    /// Packets are dropped.
    Lossy,
}

/// Bytes kept free for what is under way after a PAUSE.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Headroom {
    /// Computed for each link from its rate and delay, so that nothing is lost.
    Computed(PerLink),
    /// So much for every link.
    Bytes(Bytes),
}

impl Default for Headroom {
    fn default() -> Self {
        Self::Computed(PerLink::PerLink)
    }
}

/// The word for headroom computed for each link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PerLink {
    /// Computed for each link from its rate and delay, so that nothing is lost.
    PerLink,
}

/// When a queue sets the congestion mark, by the data bytes that wait in it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Marking {
    /// Never.
    #[default]
    Off,
    /// Always above a threshold.
    Step {
        /// The threshold; a queue of exactly this size is not marked.
        above: Bytes,
        /// When the queue is looked at.
        #[serde(default)]
        at: MarkAt,
    },
    /// With a probability that rises from 0 at `min` to `probability` at `max`, and is 1 above.
    Red {
        /// Up to here nothing is marked.
        min: Bytes,
        /// Above this everything is marked.
        max: Bytes,
        /// Probability at `max`, 0 to 1.
        probability: f64,
        /// When the queue is looked at.
        #[serde(default)]
        at: MarkAt,
    },
    /// RED on a moving average of the queue, in the form and with the defaults of ns-2, but never dropping. The queue is
    /// looked at when a packet joins.
    RedAverage {
        /// An average below this marks nothing.
        min: Bytes,
        /// Where the probability has reached `probability`. Default: 3 times `min`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        max: Option<Bytes>,
        /// Probability at `max`, above 0 and at most 1.
        #[serde(default = "red_probability")]
        probability: f64,
        /// Weight of a new value in the average, above 0 and at most 1; DCTCP's "weight 9" is 2^-9 = 0.001953125.
        #[serde(default = "red_weight")]
        weight: f64,
        /// The probability goes on from `probability` at `max` to 1 at twice `max`; otherwise it is 1 from `max` on.
        #[serde(default = "yes")]
        gentle: bool,
        /// Marks are at least 1/p packets apart; otherwise evenly spread from the first packet on.
        #[serde(default = "yes")]
        wait: bool,
        /// A packet of mean size, by which sizes count. Default: a full packet.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        mean_packet: Option<Bytes>,
        /// The average decays over an idle time as if packets of this size had passed. Default: `mean_packet`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        idle_packet: Option<Bytes>,
    },
    /// A proportional-integral controller, in the form and with the defaults of ns-2, but never dropping: every `every`,
    /// p += a (queue - target) - b (queue before - target), and each packet is marked with probability p.
    Pi {
        /// What the queue should be. Default: 50 times `mean_packet`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        target: Option<Bytes>,
        /// Gain on the distance now, per packet of mean size.
        #[serde(default = "pi_a")]
        a: f64,
        /// Gain on the distance one sample before, per packet of mean size; below `a`.
        #[serde(default = "pi_b")]
        b: f64,
        /// Time between two samples. Default: 1/170 s.
        #[serde(default = "pi_every")]
        every: Time,
        /// A packet of mean size. Default: a full packet.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        mean_packet: Option<Bytes>,
    },
}

fn yes() -> bool {
    true
}
fn red_probability() -> f64 {
    red::Config::new(0, 1).max_probability
}
fn red_weight() -> f64 {
    red::Config::new(0, 1).weight
}
fn pi_a() -> f64 {
    pi::Config::new(1).a
}
fn pi_b() -> f64 {
    pi::Config::new(1).b
}
fn pi_every() -> Time {
    pi::Config::new(1).every
}

/// When a queue is looked at for marking.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum MarkAt {
    /// When the packet joins; the queue does not count it yet.
    Enqueue,
    /// When the packet leaves; the queue does not count it any more.
    #[default]
    Dequeue,
}

/// How queues mark on ports of one rate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MarkingOfRate {
    /// The rate of the port's link.
    pub rate: Rate,
    /// How queues mark there.
    pub marking: Marking,
}

/// One data class.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Class {
    /// Its name; traffics name it.
    pub name: String,
    /// Whether PFC protects it. Default: what the buffer's policy says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lossless: Option<bool>,
    /// How its queues mark. Default: `network.marking`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub marking: Option<Marking>,
    /// How they mark instead on ports of certain rates. Default: `network.marking_by_rate` where `marking` is the network's.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub marking_by_rate: Vec<MarkingOfRate>,
    /// The part of the buffer that is its own, like 0.5: of each port, or of the pool, headroom included. Default: it uses
    /// what is left together with the other classes that have none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub share: Option<f64>,
    /// Its own dynamic threshold in a pool. Default: `buffer.alpha`, or `buffer.pfc_alpha` if it is lossless.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub alpha: Option<f64>,
}

/// A queue in the host between pacers and link, one for each class.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HostQueue {
    /// When it holds this much of a class it stops pulling from the flows of that class; nothing is dropped.
    pub capacity: Bytes,
    /// Packets are marked when it holds more than this of their class. Default: it does not mark.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mark_above: Option<Bytes>,
}

/// When a switch gives the space of a packet back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Release {
    /// When it starts to leave.
    #[default]
    Dequeue,
    /// When its last bit has left.
    LastBit,
}

/// A change to all links between two nodes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LinkChange {
    /// Names of the two nodes, such as "tor0" and "h3".
    pub between: [String; 2],
    /// Probability that a packet is lost, per direction; 0 or more, below 1.
    #[serde(default)]
    pub error_rate: f64,
    /// When they are down: from, to; in order, with time between them.
    #[serde(default)]
    pub down: Vec<[Time; 2]>,
}
