//! What a spec measures.

use super::yes;
use fanin_units::{Bytes, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What is measured, and for how long.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Measure {
    /// Messages posted before this do not count.
    #[serde(default)]
    pub warm_up: Time,
    /// Messages posted in this time after the warm-up count.
    pub window: Time,
    /// Whether the window ends as soon as every message has arrived that has an end and none is left to post.
    #[serde(default)]
    pub stop_when_done: bool,
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
    /// Messages whose packets are written down hop by hop: "queries:17" is the traffic's 18th message in the order of their
    /// start.
    #[serde(default)]
    pub trace: Vec<String>,
    /// Packets on links, as a capture that Wireshark reads: capture.pcapng in the run's folder.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capture: Option<Capture>,
    /// Messages, queues and pauses over time, as a trace that ui.perfetto.dev opens: trace.perfetto-trace in the run's folder.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub perfetto: Option<Perfetto>,
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
    /// The same message alone on the same path, store-and-forward, with the network's headers: the same under every scheme.
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
    /// What messages' senders and their schemes show: window, rate and more while they send, and the payload that has arrived
    /// in order so far. All values are kept.
    Flow,
    /// What the traffics' schemes show at receiving hosts. All values are kept.
    Receiver,
    /// What the traffics' schemes show at switches. All values are kept.
    Switch,
    /// Bytes that ports have sent so far, and how long PFC paused them so far. All values are kept.
    Port,
    /// Payload of traffics that has arrived in order so far, over all their messages, and how many of these are open. All
    /// values are kept.
    Traffic,
}

/// Where a quantity is sampled.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Place {
    /// All ports of a kind.
    Set(PortSet),
    /// By name. Ports: "tor0>h3" is the port of tor0 towards h3. Messages: "long:0" is the first of that traffic in the
    /// order of their start. Receivers and switches: names of nodes. Traffics: their names.
    Names(Vec<String>),
}

/// Packets on links, as bytes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Capture {
    /// Which directions of links, by the port that sends.
    pub links: Ports,
    /// Most bytes of the file. Packets from the first one that it has no room for are counted and left out.
    #[serde(default = "trace_file")]
    pub file: Bytes,
    /// Most bytes kept of a packet.
    #[serde(default = "snap")]
    pub snap: Bytes,
}

/// Messages, queues and pauses over time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Perfetto {
    /// Whose queues; of these, ports that never had one are not shown.
    #[serde(default)]
    pub queues: Ports,
    /// Most bytes of the file. What comes after the first event that it has no room for is counted and left out.
    #[serde(default = "trace_file")]
    pub file: Bytes,
}

fn trace_file() -> Bytes {
    Bytes(64_000_000)
}

fn snap() -> Bytes {
    Bytes(128)
}

/// Ports of hosts and switches.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Ports {
    /// All of the network, or of a kind.
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
