//! The traffics of a spec.

use super::{SchemeChoice, yes};
use fanin_units::{Bytes, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One kind of traffic.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Traffic {
    /// Names it in results; every traffic has a name of its own.
    pub name: String,
    /// Its congestion control: an id, or a table with `id` and the parameters that are to differ.
    pub scheme: SchemeChoice,
    /// The endpoint that carries it. Default: the one that its scheme is made for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transport: Option<Transport>,
    /// Its class. Default: the first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub class: Option<String>,
    /// Whether its data may be marked.
    #[serde(default = "yes")]
    pub ecn: bool,
    /// Its weight, where receivers divide their line among senders (Dart).
    #[serde(default = "plain_weight")]
    pub weight: u16,
    /// The tenant it belongs to, where receivers keep tenants apart (Dart).
    #[serde(default)]
    pub tenant: u8,
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
    /// How RDMA carries messages, where the transport is that one.
    #[serde(default)]
    pub rdma: Rdma,
    /// How TCP carries messages, where the transport is that one.
    #[serde(default)]
    pub tcp: Tcp,
}

fn plain_weight() -> u16 {
    1
}

/// The endpoint that carries messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Transport {
    /// Messages over an RDMA-like reliable connection.
    Rdma,
    /// A TCP byte stream.
    Tcp,
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
    /// `count`; one to one there are as many as senders.
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
    /// Clients that ask servers, wait until all have answered, and ask again (DCTCP section 4.2.1). The answers have the
    /// traffic's size, or `total` says what they add up to. In results, requests and answers of a query are one group;
    /// requests are in the table of flows and in no other number.
    Query {
        /// Hosts that ask.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        clients: Option<Vec<String>>,
        /// Hosts that answer; no client asks itself.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        servers: Option<Vec<String>>,
        /// Number of servers that a query asks, drawn anew for each. Default: all of them, in the order of their list.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        degree: Option<u32>,
        /// Queries of each client, one after another. What is not asked when the window ends never is.
        rounds: u32,
        /// What a request carries.
        #[serde(default = "request")]
        request: Bytes,
        /// What the answers to one query carry together, in equal parts, instead of a size.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        total: Option<Bytes>,
        /// Time at a server between a request and its answer.
        #[serde(default)]
        think: Think,
        /// Each request leaves later than its query begins by a uniform time from 0 to this.
        #[serde(default)]
        jitter: Time,
        /// Time at a client between the last answer and the next query.
        #[serde(default)]
        pause: Time,
    },
    /// Messages from a comma-separated file whose first line names its columns: src, dst (names of hosts, or their
    /// numbers from 0), bytes, start_us (or _ps, _ns, _ms, _s), and group if wanted. Other columns are not used. Where
    /// hosts have numbers for names, a number is a name.
    List {
        /// The file; relative to the spec's folder.
        file: String,
    },
    /// Flows from a flow file of the ns-3 HPCC simulator. Its host n is the host of that name: "h" and n.
    Hpcc {
        /// The file; relative to the spec's folder.
        file: String,
        /// Only flows with this destination port. Default: all.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        dport: Option<u16>,
        /// The time of the file at which the traffic starts; no flow starts earlier.
        #[serde(default)]
        from: Time,
    },
    /// Connections from a connection matrix of htsim (`.cm`), triggers included. The `group` of each is its id there.
    Htsim {
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
    /// Each sender to the receiver at its place of the other list.
    OneToOne,
}

fn request() -> Bytes {
    // DCTCP section 2.2: requests of the Partition/Aggregate traffic.
    Bytes(1600)
}

/// Time at a server between a request and its answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Think {
    /// Always this.
    Fixed(Time),
    /// Uniform from the first to the second.
    Uniform([Time; 2]),
}

impl Default for Think {
    fn default() -> Self {
        Self::Fixed(Time::ZERO)
    }
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
    /// A built-in distribution (WebSearch, FB_Hadoop, AliStorage, in capitals or not), or a file with "bytes percent" in each line,
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

/// How RDMA carries messages.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Rdma {
    /// Retransmission timeout.
    pub timeout: Timeout,
    /// At most one NACK for the same expected byte in this time.
    pub nack_interval: Time,
    /// Payload per ACK; 0 B acknowledges every packet. The last packet of a message is always acknowledged.
    pub ack_chunk: Bytes,
    /// One sequence space per sender and receiver instead of one per message.
    pub connection: bool,
}

impl Default for Rdma {
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

/// How TCP carries messages. A segment carries at most `network.packet.payload`, its headers are `network.packet.header`,
/// and one without payload is as large as `network.packet.ack`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Tcp {
    /// Whether losses are repaired with selective acknowledgements (RFC 2018, RFC 6675).
    pub sack: bool,
    /// Whether windows of 64 KiB and more are possible (RFC 7323).
    pub window_scaling: bool,
    /// The largest window that a receiver offers.
    pub receive_buffer: Bytes,
    /// One ACK for every so many full segments.
    pub ack_every: u32,
    /// How long an ACK waits for further segments.
    pub ack_delay: Time,
    /// Retransmission timeout before the first round-trip time is known.
    pub initial_rto: Time,
    /// Smallest retransmission timeout.
    pub min_rto: Time,
    /// Largest retransmission timeout.
    pub max_rto: Time,
    /// Whether each pair of hosts has one connection that is opened once and stays open, instead of one per message and
    /// its answer.
    pub persistent: bool,
    /// Class of ACKs without payload. Segments that open or close a connection are in that of the data.
    pub ack_class: AckClass,
    /// Time that a message spends in its sending host before TCP has it.
    pub overhead: Time,
}

impl Default for Tcp {
    fn default() -> Self {
        Self {
            // DCTCP section 4: NewReno with SACK.
            sack: true,
            window_scaling: true,
            // The whole memory of DCTCP's switches (Table 1): the network limits a window, not the receiver.
            receive_buffer: Bytes(4_000_000),
            // RFC 5681 section 4.2: at least every second full segment.
            ack_every: 2,
            // RFC 5681 allows up to 500 ms, which would be far above the smallest timeout here.
            ack_delay: Time::from_ms(1),
            // RFC 6298 section 2.1.
            initial_rto: Time::from_s(1),
            // DCTCP section 4.2.1: 10 ms is a tick of its hosts, 300 ms their default.
            min_rto: Time::from_ms(10),
            // RFC 6298 section 2.5: at least 60 s.
            max_rto: Time::from_s(60),
            persistent: false,
            ack_class: AckClass::Data,
            overhead: Time::ZERO,
        }
    }
}

/// Class of ACKs without payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum AckClass {
    /// That of the traffic's data.
    Data,
    /// The control class, which is strictly first.
    Control,
}
