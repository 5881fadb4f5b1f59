//! The parts of a network on a wire: a host, and the switches.

use crate::report::{PortReport, Report};
use crate::tapped::Tapped;
use fanin_cc::{Header, HeaderOverhead, Kind, flags};
use fanin_endpoint::host::Traffic;
use fanin_experiment::built::{Built, Capture};
use fanin_fabric::outside::{NO_ROUTE, OnLink, Paths, Switches};
use fanin_fabric::tap::Seen;
use fanin_fabric::triggers::Triggers;
use fanin_fabric::{
    ClassCounters, Dependency, DropCause, Drops, Incident, IncidentCounts, Incidents, Message, Totals, TrafficCounters,
    What,
};
use fanin_transport::frame::Layout;
use fanin_transport::{Carried, Class, Config, Control, Directory, Formats, Known, LinkConfig, Notice, Out, Path};
use fanin_transport::{Post, Sent, Station};
use fanin_units::{MessageId, NodeId, PortId, Time};
use std::collections::BTreeMap;
use std::io::{self, Write};
use std::iter::Peekable;

const _: () = assert!(fanin_transport::Incident::KEPT == fanin_fabric::Incidents::KEPT);

/// Something that one part sends to another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Item {
    /// A frame on a link.
    Frame(Sent),
    /// A message about a connection, to this host.
    Control(NodeId, Vec<u8>),
}

/// A part of a network.
pub trait Node {
    /// Something reaches this part. What comes from one neighbour comes in the order in which it was sent.
    fn deliver(&mut self, item: Item);
    /// Runs all events before `until`. Calls `send` with what leaves for a neighbour: its number and the item.
    fn run_until(&mut self, until: Time, send: &mut dyn FnMut(usize, Item));
    /// When something happens next, as far as this part knows.
    fn next_at(&mut self) -> Time;
    /// From now on nothing is posted but what has been asked for.
    fn stop_posting(&mut self);
    /// Its results so far; `full` with the records of messages and all counters.
    fn report(&mut self, full: bool) -> Report;
    /// Writes the capture of the experiment to `out` from now on, if this part has what is captured.
    fn begin_capture(&mut self, _out: Box<dyn Write + Send>) -> io::Result<()> {
        Ok(())
    }
    /// Ends the capture. Returns a warning if packets were left out.
    fn end_capture(&mut self) -> io::Result<Option<String>> {
        Ok(None)
    }
}

/// What a host knows of its network: all paths, and a hash of what happens at it.
pub struct Neighbourhood {
    paths: Paths,
    event_hash: u64,
}

fn path((key, route): (u32, u32)) -> Path {
    Path { key, route }
}

impl Directory for Neighbourhood {
    fn key(&self, name: u64, back: bool) -> u32 {
        self.paths.key(name, back)
    }

    fn path(&self, from: NodeId, to: NodeId, key: u32) -> Path {
        path(self.paths.path(from, to, key))
    }

    fn path_by_hash(&self, key: u32) -> Path {
        Path { key, route: NO_ROUTE }
    }

    fn walk(&self, from: NodeId, to: NodeId, key: u32, overhead: HeaderOverhead, bytes: u64) -> Known {
        let of = self.paths.walk(from, to, key, overhead, bytes);
        Known { link: of.link, path: path(of.path), info: of.info, ideal: of.ideal, hops: of.hops }
    }

    fn link(&self, from: NodeId, to: NodeId, key: u32) -> Option<PortId> {
        self.paths.out_of_host(from, to, key)
    }

    fn peer(&self, port: PortId) -> NodeId {
        ends(&self.paths, port).1
    }

    fn network_rtt(&self) -> Time {
        self.paths.network_rtt()
    }

    fn note(&mut self, now: Time, node: NodeId, head: &Header, lost: bool) {
        self.event_hash = self.event_hash.wrapping_add(Paths::event_hash(now, node, head, lost));
    }
}

/// The nodes at the ends of a link, the one that sends by this port first.
fn ends(paths: &Paths, port: PortId) -> (NodeId, NodeId) {
    let link = &paths.config().graph.links[port.ix() / 2];
    if port.ix().is_multiple_of(2) { (link.a, link.b) } else { (link.b, link.a) }
}

/// The shortest time from when a packet begins to leave a host or for a host until it has arrived: the lookahead
/// between the two.
pub fn lookahead(built: &Built, host: NodeId) -> Time {
    let packet = &built.network.packet;
    let least = [packet.ack, packet.cnp, packet.pause, packet.header].into_iter().min().unwrap_or(0);
    let links = built.network.graph.links.iter().filter(|link| link.a == host || link.b == host);
    links.map(|link| link.delay + link.rate.tx_time(u64::from(least))).min().unwrap_or(Time::NEVER)
}

/// What frames look like.
fn formats(built: &Built, traffics: &[Traffic]) -> Formats {
    let mut layouts = Vec::new();
    for traffic in traffics {
        // Traffics with one scheme have one layout; tenant and weight are those of the first.
        if usize::from(traffic.scheme) == layouts.len() {
            let config = &traffic.config;
            let (tenant, weight) = (config.tenant, config.weight);
            layouts.push(Layout { format: config.scheme.wire_format(), tenant, weight });
        }
    }
    let packet = &built.network.packet;
    Formats { payload: packet.payload, ack: packet.ack, dscps: built.measure.dscps, layouts }
}

/// Of a message, at a host of it.
struct Counted {
    traffic: u16,
    dependency: Dependency,
    ends: bool,
}

/// A host, with the applications of the experiment.
pub struct HostNode {
    station: Station<Neighbourhood>,
    node: NodeId,
    messages: Peekable<Box<dyn Iterator<Item = Message> + Send>>,
    /// Messages of each traffic so far, and of all.
    of_traffic: Vec<u32>,
    loaded: u32,
    triggers: Triggers,
    counted: BTreeMap<u32, Counted>,
    /// Messages with an end posted, less those that have arrived, here.
    open: i64,
    schemes: u16,
}

impl HostNode {
    /// One host of an experiment.
    ///
    /// # Errors
    /// Where its network cannot run on a wire.
    pub fn new(built: Built, node: NodeId) -> Result<Self, &'static str> {
        let paths = Paths::new(built.network.clone(), &built.traffics)?;
        let (traffics, schemes) = paths.schemes_at(node, &built.traffics);
        let network = &built.network;
        let mut siblings = vec![0; network.classes.len() + 1];
        for (class, c) in network.classes.iter().zip(1u8..) {
            if let Some(other) = class.sibling_vl {
                siblings[usize::from(c)] = other;
                siblings[usize::from(other)] = c;
            }
        }
        let classes = network.classes.iter().zip(&siblings[1..]);
        let classes =
            classes.map(|(of, sibling)| Class { precedence: of.precedence(), shaper: of.shaper, sibling: *sibling });
        let links = paths.ports_of(node).map(|port| {
            let (rate, delay) = paths.link(port);
            LinkConfig { port, rate, delay }
        });
        let config = Config {
            node,
            hosts: network.graph.hosts,
            seed: network.seed,
            cpu_word: paths.word("host cpu", node.0.into()),
            token_word: paths.word("connection token", node.0.into()),
            spacing: paths.event_spacing(),
            sizes: network.packet,
            host_fifo: network.host_fifo,
            largest: paths.largest_packet(),
            classes: classes.collect(),
            links: links.collect(),
            formats: formats(&built, &traffics),
            schemes,
            traffics,
        };
        let (schemes, of_traffic) = (config.schemes.len() as u16, vec![0; config.traffics.len()]);
        let station = Station::new(config, Neighbourhood { paths, event_hash: 0 });
        Ok(Self {
            station,
            node,
            messages: built.messages.peekable(),
            of_traffic,
            loaded: 0,
            triggers: Triggers::default(),
            counted: BTreeMap::new(),
            open: 0,
            schemes,
        })
    }

    /// Takes in the messages that start before a time.
    fn load(&mut self, until: Time) {
        while let Some(message) = self.messages.next_if(|message| message.start < until) {
            let (number, traffic) = (self.loaded, message.traffic);
            let name = u64::from(traffic) << 32 | u64::from(self.of_traffic[usize::from(traffic)]);
            self.loaded += 1;
            self.of_traffic[usize::from(traffic)] += 1;
            let (sends, receives) = (message.src == self.node.0, message.dst == self.node.0);
            if !sends && !receives {
                continue;
            }
            let dependency = message.dependency;
            self.triggers.depend(number, traffic, &dependency, sends, receives);
            let (waited, ends) = (dependency.after.is_some(), message.bytes < Message::ENDLESS);
            self.counted.insert(number, Counted { traffic, dependency, ends });
            if !sends {
                continue;
            }
            let (message, start) = (message.clone(), message.start);
            let Message { dst, bytes, group, senders, .. } = message;
            let post = Post { message: MessageId(number), dst, bytes, traffic, group, name, senders };
            self.station.add(post);
            if !waited {
                self.open += i64::from(ends);
                self.station.post_at(MessageId(number), start.saturating_add(dependency.delay));
            }
        }
    }

    /// The applications react to what has happened.
    fn react(&mut self) {
        for notice in self.station.take_notices() {
            let (message, arrived) = match notice {
                Notice::Arrived(message) => (message, true),
                Notice::Acked(message) => (message, false),
            };
            self.open -= i64::from(arrived);
            let Some(counted) = self.counted.get(&message.0) else { continue };
            let trigger = if arrived { counted.dependency.counts } else { counted.dependency.counts_acked };
            let Some(trigger) = trigger else { continue };
            for released in self.triggers.count((counted.traffic, trigger)) {
                let ends = self.counted.get(&released.message).is_some_and(|of| of.ends);
                self.open += i64::from(ends);
                let at = self.station.now().saturating_add(released.delay);
                self.station.post_at(MessageId(released.message), at);
            }
        }
    }
}

impl Node for HostNode {
    fn deliver(&mut self, item: Item) {
        match item {
            Item::Frame(Sent { port, arrives, bytes }) => self.station.on_frame(port, arrives, &bytes),
            Item::Control(_, bytes) => {
                if let Some(control) = Control::decode(&bytes) {
                    self.station.on_control(control);
                }
            }
        }
    }

    fn run_until(&mut self, until: Time, send: &mut dyn FnMut(usize, Item)) {
        self.load(until);
        while self.station.step(until) {
            self.react();
        }
        self.station.advance_to(until);
        for out in self.station.take_out() {
            send(
                0,
                match out {
                    Out::Frame(sent) => Item::Frame(sent),
                    Out::Control(to, control) => {
                        let mut bytes = Vec::new();
                        control.encode(&mut bytes);
                        Item::Control(to, bytes)
                    }
                },
            );
        }
    }

    fn next_at(&mut self) -> Time {
        let start = self.messages.peek().map_or(Time::NEVER, |message| message.start);
        self.station.next_at().min(start)
    }

    fn stop_posting(&mut self) {
        self.messages = (Box::new(std::iter::empty()) as Box<dyn Iterator<Item = Message> + Send>).peekable();
        self.triggers.answer_only();
    }

    fn report(&mut self, full: bool) -> Report {
        let station = &self.station;
        let ports = station.ports().map(|(port, [packets, bytes, peak], classes)| PortReport {
            port,
            packets,
            bytes,
            peak,
            queued: station.queued(port).unwrap_or(0),
            classes: classes
                .iter()
                .map(|of| ClassCounters {
                    marked: of.marked,
                    dropped: of.dropped,
                    peak_queue: of.peak,
                    paused: of.paused,
                    pauses: of.pauses,
                    ..ClassCounters::default()
                })
                .collect(),
        });
        let mut report = Report {
            open: self.open,
            loaded: u64::from(self.loaded),
            all_loaded: self.messages.peek().is_none(),
            counters: station.counters().to_vec(),
            endless: station.endless_delivered(),
            ports: ports.collect(),
            ..Report::default()
        };
        report.packet_hops = report.ports.iter().map(|port| port.packets).sum();
        if !full {
            return report;
        }
        let of = station.totals();
        report.totals = Totals {
            packet_hops: report.packet_hops,
            events: of.events,
            event_hash: station.directory().event_hash,
            drops: Drops { shaper: of.shaper, wrong_host: of.wrong_host, no_route: of.no_route, ..Drops::default() },
            hosts: of.host,
            ..Totals::default()
        };
        (report.totals.ledger.sent, report.totals.ledger.delivered) = (of.sent, of.delivered);
        report.totals.ledger.dropped = of.dropped;
        report.refused = of.refused;
        report.flows = station.records();
        report.actions = (0..self.schemes).map(|scheme| station.actions(scheme).clone()).collect();
        report.dropped = station.dropped().to_vec();
        let incident = |of: &fanin_transport::Incident| {
            let what = match of.what {
                fanin_transport::What::Paused(class) => What::Paused(class),
                fanin_transport::What::Dropped => What::Dropped(DropCause::Shaper),
                fanin_transport::What::NoRoute => What::Dropped(DropCause::NoRoute),
            };
            Incident { time: of.time, port: of.port, what }
        };
        let [drops, pauses] = station.incidents_seen();
        report.incidents = Incidents {
            kept: station.incidents().iter().map(incident).collect(),
            seen: IncidentCounts { drops, pauses, ..IncidentCounts::default() },
        };
        report.causes = station.incidents().iter().map(|of| of.cause).collect();
        report
    }
}

/// Of a message, at the switches.
struct Announced {
    /// Its scheme.
    scheme: u16,
    /// Its traffic and hosts, which name its connection.
    pair: (u16, NodeId, NodeId),
    /// The incast that its first packet announces, and the senders.
    incast: Option<(u32, Vec<u16>)>,
}

/// The switches of a network.
pub struct SwitchNode {
    switches: Switches,
    paths: Paths,
    formats: Formats,
    schemes: u16,
    traffics: Vec<Traffic>,
    /// By message, from the set-ups that have passed.
    announced: BTreeMap<MessageId, Announced>,
    /// The message that opened each connection that stays open.
    connections: BTreeMap<(u16, NodeId, NodeId), MessageId>,
    captured: Option<Capture>,
    capture: Option<Tapped>,
    now: Time,
    refused: u64,
    scratch: Vec<u8>,
    /// What is passed on from host to host.
    passing: Vec<(usize, Item)>,
}

impl SwitchNode {
    /// The switches of an experiment.
    ///
    /// # Errors
    /// Where its network cannot run on a wire.
    pub fn new(built: &Built) -> Result<Self, &'static str> {
        let switches = Switches::new(built.network.clone(), &built.traffics)?;
        let paths = switches.paths();
        let (traffics, schemes) = paths.schemes_at(NodeId(0), &built.traffics);
        let formats = formats(built, &traffics);
        Ok(Self {
            switches,
            paths,
            formats,
            schemes: schemes.len() as u16,
            traffics,
            announced: BTreeMap::new(),
            connections: BTreeMap::new(),
            captured: built.measure.capture.clone(),
            capture: None,
            now: Time::ZERO,
            refused: 0,
            scratch: Vec::new(),
            passing: Vec::new(),
        })
    }
}

impl Node for SwitchNode {
    fn deliver(&mut self, item: Item) {
        match item {
            Item::Frame(Sent { port, arrives, bytes }) => {
                let carried = Carried::decode(&self.formats, &bytes, &mut self.scratch);
                let graph = &self.paths.config().graph;
                let on_link = port.ix() / 2 < graph.links.len() && arrives >= self.now;
                let Some(of) = carried.filter(|of| {
                    on_link
                        && of.scheme < self.schemes
                        && graph.is_host(ends(&self.paths, port).0)
                        && graph.is_host(of.head.src)
                        && graph.is_host(of.head.dst)
                        && usize::from(of.head.class) <= self.paths.config().classes.len()
                }) else {
                    self.refused += 1;
                    return;
                };
                if let Some(capture) = &mut self.capture {
                    let (rate, delay) = self.paths.link(port);
                    let left = arrives.saturating_sub(delay + rate.tx_time(u64::from(of.head.wire)));
                    capture.add(port, left, &bytes, of.head.wire);
                }
                self.switches.expect(&OnLink {
                    link: port,
                    arrives,
                    header: of.head,
                    path: (of.path.key, of.path.route),
                    scheme: of.scheme,
                    deflections: of.deflections,
                    telemetry: of.telemetry,
                });
            }
            Item::Control(to, bytes) => {
                if let Some(Control::SetUp(of)) = Control::decode(&bytes)
                    && let Some(traffic) = self.traffics.get(usize::from(of.traffic))
                {
                    let incast = of.senders.as_ref();
                    let incast = incast.and_then(|all| traffic.announces(of.traffic, of.bytes, of.group, all));
                    let incast = incast.map(|(incast, all)| (incast, all.iter().map(|host| *host as u16).collect()));
                    let pair = (of.traffic, of.src, of.dst);
                    self.connections.extend(of.first.map(|first| (pair, first)));
                    self.announced.insert(of.message, Announced { scheme: traffic.scheme, pair, incast });
                }
                self.passing.push((to.ix(), Item::Control(to, bytes)));
            }
        }
    }

    fn run_until(&mut self, until: Time, send: &mut dyn FnMut(usize, Item)) {
        self.passing.drain(..).for_each(|(to, item)| send(to, item));
        self.now = until;
        let Self { switches, paths, formats, refused, announced, connections, capture, .. } = self;
        let announced = &*announced;
        let mut encode = |link: PortId, carried: Carried| {
            let (head, ends) = (carried.head, ends(paths, link));
            let of = announced.get(&head.flow);
            let first = of.and_then(|of| connections.get(&of.pair)).copied();
            let carried = Carried { channel: first.unwrap_or(head.flow), ..carried };
            let announces = head.kind == Kind::Data && head.has(flags::START);
            let incast = of.filter(|_| announces).and_then(|of| of.incast.as_ref());
            let incast = incast.map(|(incast, senders)| (*incast, &senders[..]));
            let mut bytes = Vec::new();
            let encoded = carried.encode(formats, ends, incast, &mut bytes);
            *refused += u64::from(encoded.is_err());
            encoded.is_ok().then_some((ends.1, bytes))
        };
        switches.run_until(until, |of| {
            let carried = Carried {
                head: of.header,
                channel: of.header.flow,
                path: path(of.path),
                scheme: of.scheme,
                deflections: of.deflections,
                telemetry: of.telemetry,
            };
            if let Some((to, bytes)) = encode(of.link, carried) {
                send(to.ix(), Item::Frame(Sent { port: of.link, arrives: of.arrives, bytes }));
            }
        });
        let Some(capture) = capture else { return };
        switches.take_seen(&mut capture.seen);
        for seen in core::mem::take(&mut capture.seen) {
            let Seen::Packet(of) = seen else { continue };
            // Of one without a message, like a pause, the scheme does not matter.
            let scheme = announced.get(&of.head.flow).map_or(0, |of| of.scheme);
            let carried = Carried {
                head: of.head,
                channel: of.head.flow,
                path: Path { key: 0, route: NO_ROUTE },
                scheme,
                deflections: 0,
                telemetry: of.telemetry,
            };
            if let Some((_, bytes)) = encode(of.port, carried) {
                capture.add(of.port, of.time, &bytes, of.head.wire);
            }
        }
        capture.write(until);
    }

    fn begin_capture(&mut self, out: Box<dyn Write + Send>) -> io::Result<()> {
        let Some(of) = &self.captured else { return Ok(()) };
        self.switches.tap(of.links.clone());
        self.capture = Some(Tapped::new(out, of, &self.paths.config().graph)?);
        Ok(())
    }

    fn end_capture(&mut self) -> io::Result<Option<String>> {
        self.capture.take().map_or(Ok(None), |capture| capture.finish(self.now))
    }

    fn next_at(&mut self) -> Time {
        self.switches.next_at()
    }

    fn stop_posting(&mut self) {}

    fn report(&mut self, full: bool) -> Report {
        let graph = &self.paths.config().graph;
        let ports = (0..2 * graph.links.len() as u32).map(PortId);
        let own = ports.clone().filter(|port| !graph.is_host(ends(&self.paths, *port).0));
        let port = |port: PortId| {
            let (of, classes) = self.switches.counters(port);
            let queued = self.switches.queued(port);
            PortReport { port, packets: of.packets, bytes: of.bytes, peak: of.peak_queue, queued, classes }
        };
        let mut report = Report {
            all_loaded: true,
            counters: vec![TrafficCounters::default(); self.traffics.len()],
            endless: vec![0; self.traffics.len()],
            ports: own.map(port).collect(),
            ..Report::default()
        };
        report.packet_hops = report.ports.iter().map(|port| port.packets).sum();
        if !full {
            return report;
        }
        report.totals = self.switches.totals();
        report.refused = self.refused;
        report.actions = (0..self.schemes).map(|scheme| self.switches.actions(scheme).clone()).collect();
        report.dropped = self.switches.dropped().to_vec();
        let (incidents, causes) = self.switches.incidents();
        (report.incidents, report.causes) = (incidents.clone(), causes.to_vec());
        let from_hosts = ports.filter(|port| graph.is_host(ends(&self.paths, *port).0));
        report.dropped_from = from_hosts.map(|port| (port, self.switches.dropped_from(port))).collect();
        let peak = |scheme: u16| {
            let of = |switch| self.switches.watch(scheme, switch);
            let seen = (0..graph.switches()).flat_map(of).filter(|(name, _)| *name == "table_peak");
            seen.map(|(_, value)| value as u64).max()
        };
        report.table_peaks = (0..self.schemes).map(peak).collect();
        report
    }
}
