//! Measurements of a spec.

use super::{bytes, ms, yes};
use fanin_units::{Bytes, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The measurements and their duration.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Measure {
    /// Messages posted before this time do not count.
    #[serde(default)]
    pub warm_up: Time,
    /// Messages posted in this time after the warm-up count.
    #[schemars(extend("above" = "0 s", "wrong" = "it is zero; write a time above zero, like \"50 ms\""))]
    pub window: Time,
    /// Whether the window ends as soon as all messages that have an end have arrived and no further one will be posted.
    #[serde(default)]
    pub stop_when_done: bool,
    /// Whether the run continues after the window, without new messages, until all messages have arrived.
    #[serde(default = "yes")]
    pub drain: bool,
    /// Longest time that the run continues after the window.
    #[serde(default = "ms::<100>")]
    pub drain_limit: Time,
    /// Only messages of this size are included in the reported completion times. Default: all sizes.
    #[schemars(extend("above" = "0 B"))]
    #[schemars(extend("wrong" = "no message has 0 B; give the size of some message, like \"8 KB\""))]
    pub report_size: Option<Bytes>,
    /// Quantities sampled over time.
    #[serde(default)]
    pub series: Vec<Series>,
    /// Messages whose packets are recorded at every hop: "queries:17" is the traffic's 18th message in the order of
    /// start times.
    #[serde(default)]
    pub trace: Vec<String>,
    /// Capture of packets on links for Wireshark: capture.pcapng in the run's folder.
    pub capture: Option<Capture>,
    /// Timeline of messages, queues and pauses for ui.perfetto.dev: trace.perfetto-trace in the run's folder.
    pub perfetto: Option<Perfetto>,
    /// Whether each pause by PFC is recorded with its cause: the table `pauses`.
    #[serde(default, skip_serializing_if = "is_off")]
    pub pauses: bool,
    /// The ideal that completion times are divided by for slowdowns.
    #[serde(default)]
    pub slowdown: Ideal,
    /// Whether drops in a lossless class are allowed; otherwise they are an error.
    #[serde(default)]
    pub allow_drops: bool,
}

fn is_off(on: &bool) -> bool {
    !on
}

/// The ideal that completion times are divided by for slowdowns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Ideal {
    /// The same message alone on the same path, store-and-forward, with the network's headers: the same under every
    /// scheme.
    #[default]
    StoreAndForward,
    /// The formula of the ns-3 HPCC simulator: a base round trip, and the message with its headers at the rate of the
    /// slowest link. Slowdowns may be below 1, since its completion times end with the last ACK and ours with the last
    /// byte.
    Hpcc,
    /// The same message under its own scheme, in the same network without any other packet. Takes about as long as the
    /// run itself.
    LoneRun,
}

/// A quantity sampled over time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Series {
    /// The quantity.
    pub what: Quantity,
    /// The ports, messages, nodes or traffics.
    #[serde(rename = "where")]
    pub place: Place,
    /// Time between samples.
    #[schemars(extend("above" = "0 s"))]
    #[schemars(extend("wrong" = "the time between samples is zero; write a time above zero, like \"10 us\""))]
    pub every: Time,
    /// Whether samples of empty queues are kept in the series; histograms always include them.
    #[serde(default)]
    pub zeros: bool,
}

/// A quantity that can be sampled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Quantity {
    /// Data bytes queued at egress ports.
    Queue,
    /// State of messages and their schemes at the sender (window, rate and more) while they send, and the payload that
    /// has arrived in order so far. All values are kept.
    Flow,
    /// State of the traffics' schemes at receiving hosts. All values are kept.
    Receiver,
    /// State of the traffics' schemes at switches. All values are kept.
    Switch,
    /// Bytes sent by ports so far, and the time that PFC has paused them so far. All values are kept.
    Port,
    /// Payload of traffics that has arrived in order so far, over all their messages, and the number of open messages.
    /// All values are kept.
    Traffic,
}

/// Where a quantity is sampled.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Place {
    /// All ports of a kind.
    Set(PortSet),
    /// By name. Ports: "tor0>h3" is the port of tor0 towards h3. Messages: "long:0" is the first of that traffic in the
    /// order of start times. Receivers and switches: names of nodes. Traffics: their names.
    Names(Vec<String>),
}

/// Capture of packets on links.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Capture {
    /// The captured directions of links, given by the sending port.
    pub links: Ports,
    /// Largest size of the file. After the first packet that does not fit, all further packets are counted but left
    /// out.
    #[serde(default = "bytes::<64_000_000>")]
    #[schemars(extend("least" = "10 KB", "most" = "100 GB", "wrong" = NO_FILE_SIZE))]
    pub max_size: Bytes,
    /// Bytes kept of each packet (the snapshot length of pcap).
    #[serde(default = "bytes::<128>")]
    #[schemars(extend("least" = "64 B", "most" = "65535 B"))]
    #[schemars(extend("wrong" = "{} is not a possible snapshot length; it is 64 to 65535 B; headers take up to 130 B"))]
    pub snaplen: Bytes,
}

/// Timeline of messages, queues and pauses.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Perfetto {
    /// The ports whose queues are shown; ports that never had a queue are left out.
    #[serde(default)]
    pub queues: Ports,
    /// Largest size of the file. After the first event that does not fit, all further events are counted but left out.
    #[serde(default = "bytes::<64_000_000>")]
    #[schemars(extend("least" = "10 KB", "most" = "100 GB", "wrong" = NO_FILE_SIZE))]
    pub max_size: Bytes,
}

/// The error of an impossible size of a file.
const NO_FILE_SIZE: &str = "{} is not a possible size of a trace file; it is 10 KB to 100 GB";

/// Ports of hosts and switches.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Ports {
    /// All ports, or all of a kind.
    Set(PortKind),
    /// By name: "h12>tor3" is the port of h12 towards tor3.
    Names(Vec<String>),
}

impl Default for Ports {
    fn default() -> Self {
        Self::Set(PortKind::All)
    }
}

/// All ports, or those of a kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PortKind {
    /// All ports of hosts and switches.
    All,
    /// All ports of switches.
    SwitchPorts,
    /// Ports of switches to hosts.
    LastHop,
    /// Ports of switches with hosts to other switches.
    TorUplinks,
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
