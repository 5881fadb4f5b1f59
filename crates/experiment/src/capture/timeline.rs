//! Messages, queues, pauses and the ranks of jobs as a trace for ui.perfetto.dev.

use fanin_fabric::tap::Seen;
use fanin_fabric::{GraphRecords, Message, Placed, Simulation};
use fanin_formats::perfetto::{Track, Value, Writer};
use fanin_graph::Kind;
use fanin_graph::critical::{NEVER, Ran};
use fanin_graph::job::{NONE, Step};
use fanin_record::port_names;
use fanin_units::{PortId, Time};
use std::collections::BTreeMap;
use std::io::{self, Write};

/// The tracks of one host's messages of one traffic: slices of one track must not overlap, but messages may.
#[derive(Default)]
struct Lanes {
    tracks: Vec<Track>,
    /// Tracks without a message at the moment.
    free: Vec<usize>,
}

/// A trace in progress. A track is created with its first event.
pub struct Timeline<W> {
    writer: Writer<W>,
    most: u64,
    /// Messages, queues, pauses.
    groups: [Option<Track>; 3],
    /// By host and traffic.
    lanes: BTreeMap<(u32, u16), Lanes>,
    /// The track of each message in progress.
    under_way: BTreeMap<u32, usize>,
    queues: BTreeMap<PortId, Track>,
    pauses: BTreeMap<(PortId, u8), Track>,
    ports: Vec<String>,
    nodes: Vec<String>,
    classes: Vec<String>,
    traffics: Vec<String>,
}

const MESSAGES: usize = 0;
const QUEUES: usize = 1;
const PAUSES: usize = 2;

impl<W: Write> Timeline<W> {
    /// A trace of at most `most` bytes.
    pub fn new(out: W, most: u64, sim: &Simulation) -> Self {
        let network = sim.config();
        let classes = network.classes.iter().map(|class| class.name.clone());
        Self {
            writer: Writer::new(out, most),
            most,
            groups: [None; 3],
            lanes: BTreeMap::new(),
            under_way: BTreeMap::new(),
            queues: BTreeMap::new(),
            pauses: BTreeMap::new(),
            ports: port_names(&network.graph),
            nodes: network.graph.names.clone(),
            classes: std::iter::once("control".to_string()).chain(classes).collect(),
            traffics: sim.traffic_configs().map(|traffic| traffic.name.clone()).collect(),
        }
    }

    /// Events that did not fit.
    pub fn left_out(&self) -> u64 {
        self.writer.left_out()
    }

    /// The maximum size.
    pub fn most(&self) -> u64 {
        self.most
    }

    /// Ends the trace and returns its output.
    pub fn finish(self, now: Time) -> io::Result<W> {
        self.writer.finish(now)
    }

    /// Writes an observation.
    pub fn add(&mut self, what: &Seen, sim: &Simulation) -> io::Result<()> {
        match *what {
            Seen::Packet(_) => Ok(()),
            Seen::Queue { time, port, bytes } => {
                let track = match self.queues.get(&port) {
                    Some(track) => *track,
                    None => {
                        let group = self.group(QUEUES)?;
                        let track = self.writer.bytes(group, &self.ports[port.ix()])?;
                        self.queues.insert(port, track);
                        track
                    }
                };
                self.writer.count(track, time, bytes)
            }
            Seen::Pause { time, port, class, paused } => {
                let track = match self.pauses.get(&(port, class)) {
                    Some(track) => *track,
                    None => {
                        let group = self.group(PAUSES)?;
                        let name = format!("{} {}", self.ports[port.ix()], self.classes[class as usize]);
                        let track = self.writer.slices(group, &name)?;
                        self.pauses.insert((port, class), track);
                        track
                    }
                };
                match paused {
                    true => self.writer.begin(track, time, "paused", &[]),
                    false => self.writer.end(track, time, &[]),
                }
            }
            Seen::Posted { time, message } => self.posted(time, message, sim),
            Seen::Arrived { time, message } => self.arrived(time, message, sim),
        }
    }

    fn posted(&mut self, time: Time, message: u32, sim: &Simulation) -> io::Result<()> {
        let group = self.group(MESSAGES)?;
        let record = sim.message(message);
        let traffic = &self.traffics[record.traffic as usize];
        let lanes = self.lanes.entry((record.src, record.traffic)).or_default();
        let lane = match lanes.free.pop() {
            Some(lane) => lane,
            None => {
                let name = format!("{} {traffic}", self.nodes[record.src as usize]);
                lanes.tracks.push(self.writer.slices(group, &name)?);
                lanes.tracks.len() - 1
            }
        };
        let track = lanes.tracks[lane];
        self.under_way.insert(message, lane);
        let to = &self.nodes[record.dst as usize];
        let bytes = match record.bytes {
            Message::ENDLESS.. => Value::Text("endless"),
            bytes => Value::Number(bytes),
        };
        let from = Value::Text(&self.nodes[record.src as usize]);
        let args =
            [("bytes", bytes), ("src", from), ("dst", Value::Text(to)), ("start_ps", Value::Number(time.as_ps()))];
        self.writer.begin(track, time, &format!("to {to}"), &args)
    }

    fn arrived(&mut self, time: Time, message: u32, sim: &Simulation) -> io::Result<()> {
        let record = sim.message(message);
        let lanes = self.lanes.entry((record.src, record.traffic)).or_default();
        let Some(lane) = self.under_way.remove(&message) else { return Ok(()) };
        lanes.free.push(lane);
        let took = time.saturating_sub(record.start);
        let args = [("fct_ps", Value::Number(took.as_ps())), ("ideal_ps", Value::Number(record.ideal.as_ps()))];
        let known = 1 + record.ideal.is_some() as usize;
        self.writer.end(lanes.tracks[lane], time, &args[..known])
    }

    /// Writes what the ranks of jobs did: a group for each rank, with arrows from sends to receives.
    pub fn ranks(&mut self, jobs: &[Placed], graphs: &GraphRecords) -> io::Result<()> {
        for (record, ran) in graphs.ranks.iter().zip(&graphs.ran) {
            let placed = &jobs[record.job as usize];
            let (traffic, host) = (&self.traffics[usize::from(placed.traffic)], placed.hosts[record.rank as usize]);
            let name = format!("{traffic}: rank {} on {}", record.rank, self.nodes[host as usize]);
            let group = self.writer.group(&name)?;
            for (kind, name) in ["computes", "collectives", "sends", "receives"].into_iter().enumerate() {
                let of_kind = |(step, ran): &(Step<'_>, &Ran)| kind_of(&step.kind) == kind && ran.start != NEVER;
                let steps = placed.job.steps(record.rank);
                let mut nodes: Vec<(Step<'_>, &Ran)> = steps.zip(ran).filter(of_kind).collect();
                nodes.sort_by_key(|(_, ran)| ran.start);
                // Until when each track has a slice.
                let mut lanes: Vec<(Track, u64)> = Vec::new();
                for (step, ran) in nodes {
                    let lane = match lanes.iter().position(|(_, until)| *until <= ran.start) {
                        Some(lane) => lane,
                        None => {
                            lanes.push((self.writer.slices(group, name)?, 0));
                            lanes.len() - 1
                        }
                    };
                    lanes[lane].1 = ran.end;
                    let what = (placed, (record.job, record.rank), step);
                    self.node(lanes[lane].0, what, ran)?;
                }
            }
        }
        Ok(())
    }

    fn node(
        &mut self,
        track: Track,
        (placed, (job, rank), step): (&Placed, (u32, u32), Step<'_>),
        ran: &Ran,
    ) -> io::Result<()> {
        let arrow = |rank: u32, node: u32| 1 + (u64::from(job) << 56 | u64::from(rank) << 32 | u64::from(node));
        let (name, bytes) = match step.kind {
            Kind::Delay { .. } => (format!("node {}", step.origin), None),
            Kind::Collective { operation, .. } => {
                let bytes = placed.job.collectives[step.collective as usize].bytes;
                (format!("{} {}", operation.name(), step.collective), Some(bytes))
            }
            Kind::Send { to, bytes, .. } => (format!("to rank {to}"), Some(bytes)),
            Kind::Recv { from, bytes, .. } => match if ran.end == NEVER { from } else { ran.from.0 } {
                NONE => ("from any rank".to_string(), Some(bytes)),
                from => (format!("from rank {from}"), Some(bytes)),
            },
        };
        let mut args = vec![("node", Value::Number(step.origin)), ("start_ps", Value::Number(ran.start))];
        args.extend(bytes.map(|bytes| ("bytes", Value::Number(bytes))));
        if step.collective != NONE {
            args.push(("collective", Value::Number(step.collective.into())));
        }
        if let Kind::Send { .. } = step.kind {
            args.push(("", Value::ArrowFrom(arrow(rank, step.number))));
        }
        self.writer.begin(track, Time::from_ps(ran.start), &name, &args)?;
        if ran.end == NEVER {
            return Ok(());
        }
        let mut args = vec![("took_ps", Value::Number(ran.end - ran.start))];
        if let Kind::Recv { .. } = step.kind {
            args.push(("", Value::ArrowTo(arrow(ran.from.0, ran.from.1))));
        }
        self.writer.end(track, Time::from_ps(ran.end), &args)
    }

    fn group(&mut self, of: usize) -> io::Result<Track> {
        if let Some(group) = self.groups[of] {
            return Ok(group);
        }
        let group = self.writer.group(["messages", "queues", "pauses"][of])?;
        self.groups[of] = Some(group);
        Ok(group)
    }
}

/// On which kind of track a node is; delays of no time are on none.
fn kind_of(kind: &Kind) -> usize {
    match kind {
        Kind::Delay { ns: 0 } => usize::MAX,
        Kind::Delay { .. } => 0,
        Kind::Collective { .. } => 1,
        Kind::Send { .. } => 2,
        Kind::Recv { .. } => 3,
    }
}
