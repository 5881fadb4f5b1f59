//! The objects of a run, made from a checked spec only.

use fanin_fabric::{Message, NetworkConfig, Placed, TrafficConfig};
use fanin_record::{Part, Watched};
use fanin_transport::frame::Dscps;
use fanin_units::{PortId, Time};

/// Samples of queues kept over all series, and as many other values; histograms still count all.
pub(crate) const MOST_SAMPLES: usize = 4_000_000;

/// An experiment that is ready to run.
pub struct Built {
    /// The network.
    pub network: NetworkConfig,
    /// Its traffics, by number.
    pub traffics: Vec<TrafficConfig>,
    /// All messages in order of start times, generated during the run; none starts after the measured window.
    pub messages: Box<dyn Iterator<Item = Message> + Send>,
    /// Jobs whose nodes send messages; the others come at their time.
    pub jobs: Vec<Placed>,
    /// The measurements and their duration.
    pub measure: Measure,
    /// Warnings for the results.
    pub warnings: Vec<String>,
    /// Most threads of the run: 1 unless changed. The result does not depend on it.
    pub threads: usize,
    /// Why it must run on one thread, if that does not follow from the network and its traffics.
    pub one_thread: Option<&'static str>,
}

/// The measurements and their duration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Measure {
    /// Messages posted before this do not count.
    pub warm_up: Time,
    /// Messages posted in this time after the warm-up count; above zero.
    pub window: Time,
    /// Whether the window ends as soon as all messages are done.
    pub stop_when_done: bool,
    /// Whether a message is done only when its sender knows.
    pub until_acked: bool,
    /// Whether the run continues after the window until all messages have arrived.
    pub drain: bool,
    /// Longest time that the run continues after the window.
    pub drain_limit: Time,
    /// Only messages of this size, in bytes, are included in the reported completion times; `None` for all.
    pub report_size: Option<u64>,
    /// The sampled quantities.
    pub series: Vec<Series>,
    /// Messages whose packets are recorded at every hop, each once.
    pub trace: Vec<Watched>,
    /// The captured packets.
    pub capture: Option<Capture>,
    /// The DSCPs of the packets in captures, and on a wire.
    pub dscps: Dscps,
    /// The contents of the timeline.
    pub timeline: Option<Timeline>,
    /// Whether drops in a lossless class are allowed.
    pub allow_drops: bool,
}

/// The captured packets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Capture {
    /// The sending ports, in order, each once.
    pub links: Vec<PortId>,
    /// Largest size of the file, in bytes.
    pub max_size: u64,
    /// Bytes kept of each packet.
    pub snaplen: u32,
}

/// The contents of the timeline: all messages and pauses, and some queues.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Timeline {
    /// The ports of the queues, in order, each once.
    pub queues: Vec<PortId>,
    /// Largest size of the file, in bytes.
    pub max_size: u64,
}

/// The sampled quantities.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Series {
    /// The place as the spec has it: "last-hop", or names.
    pub place: String,
    /// The samples.
    pub of: Sampled,
    /// Time between samples, above zero.
    pub every: Time,
    /// Whether samples of empty queues are kept.
    pub zeros: bool,
}

/// The samples of a series.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Sampled {
    /// Queues of ports.
    Queues(Vec<PortId>),
    /// Values of schemes, ports or traffics.
    Watched(Vec<Watched>),
}

impl Sampled {
    /// Number of ports, messages, nodes or traffics.
    pub fn places(&self) -> usize {
        match self {
            Self::Queues(ports) => ports.len(),
            Self::Watched(watched) => watched.len(),
        }
    }

    /// Number of values per sample; for values of schemes other than window and rate, at least.
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
