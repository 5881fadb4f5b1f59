//! What runs: made from a checked spec only.

use fanin_fabric::{Message, NetworkConfig, TrafficConfig};
use fanin_record::{Part, Watched};
use fanin_units::{PortId, Time};

/// An experiment that is ready to run.
pub struct Built {
    /// The network.
    pub network: NetworkConfig,
    /// Its traffics, by number.
    pub traffics: Vec<TrafficConfig>,
    /// All messages in order of their start, made while the run goes on; none starts after the measured window.
    pub messages: Box<dyn Iterator<Item = Message> + Send>,
    /// What is measured, and for how long.
    pub measure: Measure,
    /// What a reader of the results should know.
    pub warnings: Vec<String>,
    /// Most threads of the run: 1, unless set to more. The result does not depend on it.
    pub threads: usize,
    /// Why it is not to be cut into parts for more, where that cannot be seen of the network and its traffics.
    pub one_thread: Option<&'static str>,
}

/// What is measured, and for how long.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Measure {
    /// Messages posted before this do not count.
    pub warm_up: Time,
    /// Messages posted in this time after the warm-up count; above zero.
    pub window: Time,
    /// Whether the window ends as soon as all is done.
    pub stop_when_done: bool,
    /// Whether all is done only when the senders know, too.
    pub until_acked: bool,
    /// Whether the run goes on after the window until all messages have arrived.
    pub drain: bool,
    /// How long it goes on at most.
    pub drain_limit: Time,
    /// The size of the messages whose completion times are reported, in bytes; `None` for all.
    pub report_size: Option<u64>,
    /// What is sampled.
    pub series: Vec<Series>,
    /// Messages whose packets are written down hop by hop, each once.
    pub trace: Vec<Watched>,
    /// Packets that are captured as bytes.
    pub capture: Option<Capture>,
    /// What is drawn over time.
    pub timeline: Option<Timeline>,
    /// Whether a drop in a lossless class is no error.
    pub allow_drops: bool,
}

/// Packets that are captured as bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Capture {
    /// The ports that send them, in order, each once.
    pub links: Vec<PortId>,
    /// Largest size of the file, in bytes.
    pub max_size: u64,
    /// Bytes kept of each packet.
    pub snaplen: u32,
}

/// What is drawn over time: all messages and pauses, and some queues.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Timeline {
    /// The ports of these queues, in order, each once.
    pub queues: Vec<PortId>,
    /// Largest size of the file, in bytes.
    pub max_size: u64,
}

/// What is sampled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Series {
    /// The place as the spec has it: "last-hop", or names.
    pub place: String,
    /// What is there.
    pub of: Sampled,
    /// Time between samples, above zero.
    pub every: Time,
    /// Whether samples of empty queues are kept.
    pub zeros: bool,
}

/// What a series looks at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Sampled {
    /// Queues of ports.
    Queues(Vec<PortId>),
    /// What schemes show.
    Watched(Vec<Watched>),
}

impl Sampled {
    /// Ports, messages, nodes or traffics that are looked at.
    pub fn places(&self) -> usize {
        match self {
            Self::Queues(ports) => ports.len(),
            Self::Watched(watched) => watched.len(),
        }
    }

    /// Values that are taken at once; of what schemes show beside window and rate, at least.
    pub fn values(&self) -> usize {
        let of = |watched: &Watched| match watched.part {
            Part::Port | Part::Traffic => 2,
            Part::Flow => 3,
            Part::Receiver | Part::Switch => 1,
        };
        match self {
            Self::Queues(ports) => ports.len(),
            Self::Watched(watched) => watched.iter().map(of).sum(),
        }
    }
}
