//! The state of a simulation when it stops.

use crate::{EventLog, RecordError, Spool};
use fanin_fabric::topology::Graph;
use fanin_fabric::{
    ClassCounters, FlowRecord, Flows, GraphRecords, Hop, HostWait, Message, PauseRecord, Placed, PortCounters, Totals,
    TrafficCounters,
};
use fanin_units::{PortId, Rate, Time};
use std::collections::{BTreeMap, HashMap};

/// A traffic, with the information that results need.
#[derive(Clone, Debug)]
pub struct TrafficInfo {
    /// Its name in the spec.
    pub name: String,
    /// The id of its scheme.
    pub scheme: String,
    /// Its transport: "tcp" or "rdma".
    pub transport: &'static str,
    /// The class of its data packets.
    pub class_name: String,
    /// The names of other traffics with the same scheme and parameters. They have the same actions and drops.
    pub counted_with: Vec<String>,
    /// Number of actions by kind.
    pub counters: TrafficCounters,
    /// Payload bytes of all its messages that arrived in order within the measured window; `None` if not counted.
    pub bytes_in_window: Option<u64>,
    /// Of those, bytes of its endless flows.
    pub long_bytes_in_window: u64,
    /// Largest number of entries in the deflected flow table of any switch, if its scheme has such tables.
    pub table_peak: Option<u64>,
}

/// A class of packets, with the information that results need.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClassInfo {
    /// Its name in the spec; "control" for class 0.
    pub name: String,
    /// Whether PFC protects it from loss.
    pub lossless: bool,
}

/// One sampled value of a series.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sample {
    /// When.
    pub time: Time,
    /// The egress port.
    pub port: PortId,
    /// Data bytes queued there, all classes.
    pub queue_bytes: u64,
}

/// Kinds of things that a series can watch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// A message's sender.
    Flow,
    /// A traffic's scheme at a receiving host.
    Receiver,
    /// A traffic's scheme at a switch.
    Switch,
    /// An egress port.
    Port,
    /// All messages of a traffic.
    Traffic,
}

impl Part {
    /// The name used in specs and results.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Flow => "flow",
            Self::Receiver => "receiver",
            Self::Switch => "switch",
            Self::Port => "port",
            Self::Traffic => "traffic",
        }
    }
}

/// A sender, receiver, switch, port or traffic watched by a series.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Watched {
    /// Its kind.
    pub part: Part,
    /// Its name in the spec: "long:0", or the name of a node, a port or a traffic.
    pub place: String,
    /// Its traffic; without meaning for a port, which belongs to no traffic.
    pub traffic: u16,
    /// The number of the message in its traffic, of the host among hosts, of the switch among switches, or of the port;
    /// without meaning for a traffic.
    pub number: u32,
}

/// One watched value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Seen {
    /// When.
    pub time: Time,
    /// Index in [`Run::watched`].
    pub of: u32,
    /// Name of the value, with its unit: "rate_bps".
    pub name: &'static str,
    /// The value.
    pub value: f64,
}

/// A message whose packets are recorded at every hop.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Traced {
    /// Its number in [`Run::flows`].
    pub flow: u32,
    /// Its name in the spec: "queries:17".
    pub name: String,
}

/// One bin of a histogram: values from `lower` (inclusive) to `upper` (exclusive).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bin {
    /// Smallest value in the bin.
    pub lower: u64,
    /// Smallest value above the bin.
    pub upper: u64,
    /// Number of samples.
    pub count: u64,
}

/// Frequencies of the values of a quantity in bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Histogram {
    /// The quantity, such as "queue".
    pub what: String,
    /// Where, such as "last-hop" or the name of a port.
    pub place: String,
    /// In order of value; empty bins may be left out.
    pub bins: Vec<Bin>,
}

/// The state of a simulation when it stops.
#[derive(Clone, Debug)]
pub struct Run {
    /// The network.
    pub graph: Graph,
    /// Its traffics, by number.
    pub traffics: Vec<TrafficInfo>,
    /// Messages posted from here (inclusive) are measured ...
    pub measured_from: Time,
    /// ... to here (exclusive).
    pub measured_to: Time,
    /// When the run stopped.
    pub stopped: Time,
    /// The ideal of its slowdowns, by its name in a spec.
    pub slowdown_ideal: &'static str,
    /// Every message, by number.
    pub flows: Flows,
    /// Number of each message in its traffic, including those that were never posted.
    pub numbers: Vec<u32>,
    /// Counters per port, by number.
    pub ports: Vec<PortCounters>,
    /// The rate of each port, where the directions of a link may differ; else empty, and it is that of the link.
    pub rates: Vec<Rate>,
    /// Bytes on the wire that each port sent in the measured window; empty if the run stopped before it.
    pub sent_in_window: Vec<u64>,
    /// The classes, control first.
    pub classes: Vec<ClassInfo>,
    /// Counters per port and class: port by port, in the order of the classes.
    pub class_counters: Vec<ClassCounters>,
    /// Totals of the run.
    pub totals: Totals,
    /// Samples in order of time.
    pub series: Vec<Sample>,
    /// Histograms.
    pub histograms: Vec<Histogram>,
    /// The watched quantities.
    pub watched: Vec<Watched>,
    /// Their values, in order of time.
    pub watch: Vec<Seen>,
    /// The messages of the hops.
    pub traced: Vec<Traced>,
    /// Hops of their packets in order of time; [`Hop::message`] is the place in [`Run::traced`].
    pub hops: Vec<Hop>,
    /// Their waiting times at hosts by cause, message by message, each in order of time; [`HostWait::message`]
    /// likewise.
    pub host_waits: Vec<HostWait>,
    /// Pauses and their causes in order of their begin, if the spec has them recorded.
    pub pauses: Vec<PauseRecord>,
    /// Jobs whose nodes sent messages ...
    pub jobs: Vec<Placed>,
    /// ... and what their ranks did.
    pub graphs: GraphRecords,
    /// Drops, pauses, warnings.
    pub events: EventLog,
    /// Files written while the run was in progress: traces for other tools.
    pub files: Vec<Spool>,
}

/// Number of each message in its traffic, for all messages in the order in which they were loaded.
pub fn numbers(flows: impl IntoIterator<Item = FlowRecord>) -> impl Iterator<Item = u32> {
    let mut next = BTreeMap::new();
    flows.into_iter().map(move |flow| {
        let next: &mut u32 = next.entry(flow.traffic).or_default();
        *next += 1;
        *next - 1
    })
}

impl Run {
    /// Whether a flow counts in the summary: a finite message posted within the measured window that is no request.
    pub fn is_measured(&self, flow: &FlowRecord) -> bool {
        flow.bytes < Message::ENDLESS && !flow.request && (self.measured_from..self.measured_to).contains(&flow.start)
    }

    /// Whether all pieces are consistent, but single flows, of which there may be millions: their table looks at them.
    ///
    /// # Errors
    /// Names the first inconsistent piece.
    pub fn check(&self) -> Result<(), RecordError> {
        let fail = |problem: String| Err(RecordError::Inconsistent(problem));
        let ports = self.graph.links.len() * 2;
        if self.ports.len() != ports {
            return fail(format!("counters of {} ports, but the network has {ports}", self.ports.len()));
        }
        if self.class_counters.len() != ports * self.classes.len() {
            let (found, classes) = (self.class_counters.len(), self.classes.len());
            return fail(format!(
                "{found} counters by class, but the network has {ports} ports with {classes} classes"
            ));
        }
        if self.numbers.len() != self.flows.len() {
            return fail(format!("{} numbers of {} flows", self.numbers.len(), self.flows.len()));
        }
        if let Some(sample) = self.series.iter().find(|s| s.port.ix() >= ports) {
            return fail(format!("a sample of port {} of {ports}", sample.port.0));
        }
        if let Some(watched) = self.watched.iter().find(|w| usize::from(w.traffic) >= self.traffics.len()) {
            let traffics = self.traffics.len();
            return fail(format!("{} is of traffic {} of {traffics}", watched.place, watched.traffic));
        }
        if let Some(seen) = self.watch.iter().find(|s| s.of as usize >= self.watched.len()) {
            return fail(format!("a value of watched part {} of {}", seen.of, self.watched.len()));
        }
        if let Some(traced) = self.traced.iter().find(|t| t.flow as usize >= self.flows.len()) {
            return fail(format!("{} is flow {} of {}", traced.name, traced.flow, self.flows.len()));
        }
        let waits = self.host_waits.iter().map(|wait| wait.message);
        if let Some(message) = waits.max().filter(|message| *message as usize >= self.traced.len()) {
            return fail(format!("a wait of traced message {message} of {}", self.traced.len()));
        }
        if let Some(pause) = self.pauses.iter().find(|pause| pause.port.ix() >= ports) {
            return fail(format!("a pause of port {} of {ports}", pause.port.0));
        }
        let nodes = self.graph.names.len();
        for hop in &self.hops {
            if hop.message as usize >= self.traced.len() {
                return fail(format!("a hop of traced message {} of {}", hop.message, self.traced.len()));
            }
            if hop.node.ix() >= nodes || hop.port.is_some_and(|port| port.ix() >= ports) {
                return fail(format!("a hop at a node or port beyond the {nodes} nodes and {ports} ports"));
            }
        }
        Ok(())
    }
}

/// The name of each port, by number: "tor0>h3" is the egress port of tor0 towards h3. Further ports between the same
/// two nodes end in "#2", "#3" and so on, in the order of the links.
pub fn port_names(graph: &Graph) -> Vec<String> {
    let mut seen: HashMap<(u32, u32), u32> = HashMap::with_capacity(graph.links.len() * 2);
    let name = |node: fanin_units::NodeId| graph.names.get(node.ix()).map_or("?", String::as_str);
    let mut names = Vec::with_capacity(graph.links.len() * 2);
    for link in &graph.links {
        for (from, to) in [(link.a, link.b), (link.b, link.a)] {
            let number = seen.entry((from.0, to.0)).or_insert(0);
            *number += 1;
            names.push(match number {
                1 => format!("{}>{}", name(from), name(to)),
                n => format!("{}>{}#{n}", name(from), name(to)),
            });
        }
    }
    names
}
