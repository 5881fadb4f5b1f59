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
