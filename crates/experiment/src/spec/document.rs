//! The one definition of a spec: what TOML and JSON are read into, and what the JSON schema is made from. Keys that may
//! be left out are `Option`s where their default depends on others; a checked spec has them all filled in.

pub use super::scheme::{SchemeChoice, SchemeId};
use fanin_units::{Bytes, Rate, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The version of the spec language that this program reads.
pub const SPEC_VERSION: u32 = 1;

/// A whole spec.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(title = "Fanin spec")]
pub struct Document {
    /// Version of the spec language: 1.
    pub spec_version: u32,
    /// Names the experiment in results.
    pub name: String,
    /// Root seed of everything random. At most 2^63 - 1.
    #[serde(default = "one")]
    pub seed: u64,
    /// The network.
    pub network: Network,
    /// What is sent over it: one entry per kind of traffic, at least one.
    pub traffic: Vec<Traffic>,
    /// What is measured, and for how long.
    pub measure: Measure,
    /// What `compare` compares.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compare: Option<Compare>,
}

fn one() -> u64 {
    1
}
fn yes() -> bool {
    true
}

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
    /// Bytes per port.
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
}

/// A queue in the host between pacers and link.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HostQueue {
    /// When it holds this much it stops pulling from flows; nothing is dropped.
    pub capacity: Bytes,
    /// Packets are marked when it holds more than this. Default: it does not mark.
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

/// One kind of traffic.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Traffic {
    /// Names it in results; every traffic has a name of its own.
    pub name: String,
    /// Its congestion control: an id, or a table with `id` and the parameters that are to differ.
    pub scheme: SchemeChoice,
    /// Its class. Default: the first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub class: Option<String>,
    /// Whether its data may be marked.
    #[serde(default = "yes")]
    pub ecn: bool,
    /// When it begins.
    #[serde(default)]
    pub start: Time,
    /// Who sends to whom, and when.
    pub pattern: Pattern,
    /// How much a message carries. Long flows are endless by default; a list has sizes of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<Size>,
    /// How much is sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub load: Option<Load>,
    /// How messages are carried.
    #[serde(default)]
    pub endpoint: Endpoint,
}

/// Who sends to whom, and when. Hosts are given by name; all where none are given.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Pattern {
    /// Independent messages between random hosts. Needs a load.
    Poisson {
        /// Hosts that may send.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        senders: Option<Vec<String>>,
        /// Hosts that may receive.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        receivers: Option<Vec<String>>,
        /// Whether only pairs of different racks are drawn.
        #[serde(default)]
        inter_rack_only: bool,
    },
    /// Groups of different random senders to one random receiver. They come at random where there is a load, regularly
    /// with `every`, and once, at the start, with neither.
    Incast {
        /// Number of senders.
        degree: u32,
        /// Each sender starts later than its group by a uniform time from 0 to this.
        #[serde(default)]
        jitter: Time,
        /// Time between groups, instead of a load.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        every: Option<Time>,
        /// Whether each sender draws a size of its own; otherwise a group has one size.
        #[serde(default)]
        size_per_sender: bool,
        /// Hosts that may send.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        senders: Option<Vec<String>>,
        /// Hosts that may receive.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        receivers: Option<Vec<String>>,
        /// Whether senders are in other racks than their receiver.
        #[serde(default)]
        inter_rack_only: bool,
    },
    /// Each host sends to one and receives from one. Once, or again and again with a new permutation.
    Permutation {
        /// Hosts that take part.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        hosts: Option<Vec<String>>,
        /// Each message starts later than its round by a uniform time from 0 to this.
        #[serde(default)]
        jitter: Time,
        /// Time between rounds. Default: there is one round.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        every: Option<Time>,
    },
    /// Each host sends to each other one, all at the start.
    AllToAll {
        /// Hosts that take part.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        hosts: Option<Vec<String>>,
    },
    /// A standing set of long flows, each from a sender of its own. As many as the load divided by a host's rate, or
    /// `count`.
    Long {
        /// How pairs are drawn.
        #[serde(default)]
        pairs: Pairs,
        /// How many, instead of a load.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        count: Option<u32>,
        /// Starts are uniform over this time.
        #[serde(default)]
        spread: Time,
        /// Hosts that may send.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        senders: Option<Vec<String>>,
        /// Hosts that may receive.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        receivers: Option<Vec<String>>,
        /// Whether only pairs of different racks are drawn. Default: yes where the load is a share of ToR uplinks.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        inter_rack_only: Option<bool>,
    },
    /// Messages from a comma-separated file whose first line names its columns: src, dst (host numbers), bytes,
    /// start_us (or _ps, _ns, _ms, _s), and group if wanted.
    List {
        /// The file; relative to the spec's folder.
        file: String,
    },
}

/// How pairs of hosts are drawn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Pairs {
    /// Uniformly.
    #[default]
    Random,
}

/// How much a message carries, without headers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Size {
    /// It never ends.
    Endless,
    /// Always this.
    Fixed(Bytes),
    /// One of these, each equally likely.
    UniformOf(Vec<Bytes>),
    /// Smallest and largest; each byte count from one to the other is equally likely.
    Uniform([Bytes; 2]),
    /// Pareto.
    Pareto(Pareto),
    /// A built-in distribution (WebSearch, FB_Hadoop, AliStorage), or a file with "bytes percent" in each line,
    /// relative to the spec's folder.
    Cdf(String),
    /// The points of a distribution: bytes, and percent of messages up to this size.
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
    /// Larger draws become this. Default: no cap.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cap: Option<Bytes>,
}

/// How much is sent: payload as a share of a capacity.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Load {
    /// The share; 0.4 is 40 %.
    pub share: f64,
    /// Of what.
    pub of: LoadBase,
}

/// What a load is a share of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum LoadBase {
    /// All links of hosts together; all payload counts.
    HostLinks,
    /// All links from switches with hosts to other switches together; payload between racks counts.
    TorUplinks,
    /// The links of the hosts that may receive, each on average.
    ReceiverLink,
}

/// How messages are carried.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Endpoint {
    /// Retransmission timeout.
    pub timeout: Timeout,
    /// At most one NACK for the same expected byte in this time.
    pub nack_interval: Time,
    /// Payload per ACK; 0 B acknowledges every packet. The last packet of a message is always acknowledged.
    pub ack_chunk: Bytes,
    /// One sequence space per sender and receiver instead of one per message.
    pub connection: bool,
}

impl Default for Endpoint {
    fn default() -> Self {
        Self {
            // That of common NICs; the HPCC simulator has none.
            timeout: Timeout::After(Time::from_ms(4)),
            // As in the HPCC simulator.
            nack_interval: Time::from_us(500),
            ack_chunk: Bytes(0),
            connection: false,
        }
    }
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

/// The word for no timeout.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Off {
    /// Never.
    Off,
}

/// What is measured, and for how long.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Measure {
    /// Messages posted before this do not count.
    #[serde(default)]
    pub warm_up: Time,
    /// Messages posted in this time after the warm-up count.
    pub window: Time,
    /// Whether the run goes on after the window, without new messages, until all have arrived.
    #[serde(default = "yes")]
    pub drain: bool,
    /// How long it goes on at most.
    #[serde(default = "drain_limit")]
    pub drain_limit: Time,
    /// The size of the messages whose completion times are reported. Default: all sizes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub report_size: Option<Bytes>,
    /// Quantities that are sampled over time.
    #[serde(default)]
    pub series: Vec<Series>,
    /// What completion times are divided by for slowdowns.
    #[serde(default)]
    pub slowdown: Ideal,
    /// Whether a drop in a lossless class is no error.
    #[serde(default)]
    pub allow_drops: bool,
}

fn drain_limit() -> Time {
    Time::from_ms(100)
}

/// What completion times are divided by for slowdowns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Ideal {
    /// The same message alone on the same path, store-and-forward.
    #[default]
    StoreAndForward,
    /// The formula of the HPCC simulator (not yet).
    Hpcc,
    /// The same message in a run of its own (not yet).
    LoneRun,
}

/// A quantity that is sampled over time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Series {
    /// The quantity.
    pub what: Quantity,
    /// Where.
    #[serde(rename = "where")]
    pub place: Place,
    /// Time between samples.
    pub every: Time,
    /// Whether samples of empty queues are kept in the series; histograms count them anyway.
    #[serde(default)]
    pub zeros: bool,
}

/// A quantity that can be sampled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Quantity {
    /// Data bytes waiting at egress ports.
    Queue,
}

/// A set of ports.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Place {
    /// All ports of a kind.
    Set(PortSet),
    /// Ports by name: "tor0>h3" is the port of tor0 towards h3.
    Ports(Vec<String>),
}

/// All ports of a kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PortSet {
    /// All ports of switches.
    SwitchPorts,
    /// Ports of switches to hosts.
    LastHop,
    /// Ports of switches with hosts to other switches.
    TorUplinks,
}

/// What `compare` compares.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Compare {
    /// Ids of schemes; the spec runs once with each, for all its traffics.
    pub schemes: Vec<SchemeId>,
}
