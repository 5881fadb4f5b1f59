//! Hosts outside the simulation together with their NICs: in other processes, on a wire. The switches of a network with
//! the links that end there, and what hosts know of the network.

use crate::config::{NetworkConfig, TrafficConfig};
use crate::core::fact;
use crate::layout::Layout;
use crate::messages::traffics;
use crate::network::Network;
use crate::packet::Packet;
use crate::path::FlowPath;
use crate::plan::Plan;
use crate::results::{ClassCounters, Incidents, PortCounters, Totals};
use crate::tap::{Seen, Wanted};
use fanin_cc::{Actions, Header, HeaderOverhead, Instance, NicInfo, PathInfo, Settings, Telemetry};
use fanin_endpoint::host::Traffic;
use fanin_engine::{CalendarQueue, Event};
use fanin_units::{NodeId, PortId, Rate, Time};
use std::sync::Arc;

/// The partition of switches, and that of hosts.
const SWITCHES: u16 = 0;
const HOSTS: u16 = 1;

/// A packet on a link between a host and a switch.
#[derive(Clone, Copy, Debug)]
pub struct OnLink {
    /// The port that sent it.
    pub link: PortId,
    /// When its last bit reaches the other end.
    pub arrives: Time,
    /// What it says of itself.
    pub header: Header,
    /// The path that it follows: its hash key, and its source route ([`NO_ROUTE`] where it has none).
    pub path: (u32, u32),
    /// The number of its scheme.
    pub scheme: u16,
    /// Deflections so far.
    pub deflections: u8,
    /// What switches wrote into it, where they do.
    pub telemetry: Option<Telemetry>,
}

/// No source route: every switch looks the next hop up.
pub const NO_ROUTE: u32 = FlowPath::NO_ROUTE;

/// Why the switches of a network cannot run without its hosts.
fn refuse(config: &NetworkConfig) -> Result<(), &'static str> {
    if config.graph.links.iter().any(|link| !link.outages.is_empty()) {
        return Err("links that go down change what senders do, and those are outside the simulation");
    }
    let host = |node: NodeId| config.graph.is_host(node);
    if config.graph.links.iter().any(|link| host(link.a) && host(link.b)) {
        return Err("a link from host to host has no switch");
    }
    Ok(())
}

/// The number of each traffic's scheme: those with the same scheme and parameters share one.
pub fn schemes_of(configs: &[TrafficConfig]) -> Vec<u16> {
    traffics(configs).0.iter().map(|traffic| traffic.scheme).collect()
}

/// A network in two partitions, without those that run it.
fn plan(config: NetworkConfig, schemes: &[Settings]) -> Arc<Plan> {
    let hosts = config.graph.hosts as usize;
    let nodes = 0..config.graph.names.len();
    let layout = Layout::new(&config.graph, nodes.map(|node| if node < hosts { HOSTS } else { SWITCHES }).collect());
    Arc::new(Plan::new(config, layout, schemes))
}

/// The switches of a network, with the links between them and those to hosts.
pub struct Switches {
    net: Network<CalendarQueue>,
    plan: Arc<Plan>,
}

impl Switches {
    /// Those of a network at time zero, with the programs of these traffics' schemes.
    ///
    /// # Errors
    /// Where links go down, and where a link has no switch.
    pub fn new(config: NetworkConfig, configs: &[TrafficConfig]) -> Result<Self, &'static str> {
        refuse(&config)?;
        let (_, schemes) = traffics(configs);
        let (spacing, horizon) = config.event_spacing(1);
        let queue = CalendarQueue::new(config.seed, spacing, horizon);
        let plan = plan(config, &schemes);
        let share = plan.layout.shares(&plan.config.graph).swap_remove(usize::from(SWITCHES));
        let mut net = Network::new(plan.clone(), &share, &schemes, queue, |_, _| 0);
        net.allow_lazy();
        net.start_programs();
        net.schedule_faults();
        Ok(Self { net, plan })
    }

    /// A packet from a host is on its way.
    ///
    /// # Panics
    /// Where it has arrived already.
    pub fn expect(&mut self, packet: &OnLink) {
        assert!(packet.arrives >= self.net.core().clock.now(), "a packet arrives at a time that has not passed");
        let (key, source_route) = packet.path;
        let path = FlowPath { key, source_route };
        let inside = Packet { scheme: packet.scheme, ..Packet::new(packet.header, path) };
        self.net.expect(packet.arrives, packet.link, &inside, packet.telemetry.as_ref());
    }

    /// Runs all events before `until`, and gives out the packets that leave for hosts.
    pub fn run_until(&mut self, until: Time, mut leaves: impl FnMut(OnLink)) {
        while let Some(event) = self.net.core_mut().clock.next(until) {
            self.net.core_mut().probes.totals.events += 1;
            let at_host = self.net.handle(event);
            debug_assert!(at_host.is_none(), "hosts are elsewhere");
        }
        self.net.core_mut().clock.advance_to(until);
        self.net.flush_all();
        let core = self.net.core_mut();
        core.outbox.collect(&mut core.packets);
        for letters in core.outbox.letters() {
            letters.take(|event: &Event, packet, telemetry| {
                leaves(OnLink {
                    link: PortId(crate::clock::number_of(event.source)),
                    arrives: event.at,
                    header: packet.head,
                    path: (packet.path.key, packet.path.source_route),
                    scheme: packet.scheme,
                    deflections: packet.next_hop.deflections(),
                    telemetry: telemetry.copied(),
                });
            });
        }
    }

    /// Observes the packets that switches send by these ports from now on, in place of earlier ones.
    pub fn tap(&mut self, links: Vec<PortId>) {
        let ports = 2 * self.plan.config.graph.links.len();
        self.net.core_mut().probes.tap(&Wanted { links, ..Wanted::default() }, ports);
        self.net.update_lazy();
    }

    /// What was observed since the last call, in order of time. Of messages only hosts know: packets have no traffic
    /// and no connection. `into` is emptied first and its memory reused.
    pub fn take_seen(&mut self, into: &mut Vec<Seen>) {
        self.net.core_mut().probes.take_seen(into);
    }

    /// When something happens next, or [`Time::NEVER`].
    pub fn next_at(&self) -> Time {
        self.net.core().clock.first_at().min(self.net.next_remote())
    }

    /// Totals so far; those of hosts are zero.
    pub fn totals(&self) -> Totals {
        self.net.totals()
    }

    /// Drops and pauses, and the number of the event that caused each of those that are kept.
    pub fn incidents(&self) -> (&Incidents, &[u32]) {
        (self.net.core().probes.incidents(), self.net.core().probes.causes())
    }

    /// Packets dropped, by scheme.
    pub fn dropped(&self) -> &[u64] {
        &self.net.core().probes.dropped_by_scheme
    }

    /// Actions of a scheme's switch program.
    pub fn actions(&self, scheme: u16) -> &Actions {
        self.net.scheme(scheme).actions()
    }

    /// See [`crate::Simulation::watch_switch`].
    pub fn watch(&self, scheme: u16, switch: u32) -> Vec<(&'static str, f64)> {
        let mut seen = Vec::new();
        self.net.scheme(scheme).switch_watch(switch as usize, &mut |name, value| seen.push((name, value)));
        seen
    }

    /// Data bytes queued at a port of a switch.
    pub fn queued(&self, port: PortId) -> u64 {
        self.net.egress().port(self.net.row(port)).queued
    }

    /// Counters of a switch's port, and those of its classes.
    pub fn counters(&self, port: PortId) -> (PortCounters, Vec<ClassCounters>) {
        let (row, now) = (self.net.row(port), self.net.core().clock.now());
        let egress = self.net.egress();
        let classes: Vec<_> = (0..egress.classes()).map(|class| egress.counters(row, class, now)).collect();
        let of = egress.port(row);
        (PortCounters::sum(classes.iter().copied(), (of.packets, of.bytes), egress.peak_queue(row)), classes)
    }

    /// Packets of a host's port that were dropped as they arrived here, by class.
    pub fn dropped_from(&self, port: PortId) -> Vec<u64> {
        let egress = self.net.egress();
        (0..egress.classes()).map(|class| egress.dropped_remote(port, class)).collect()
    }

    /// What the hosts know of this network.
    pub fn paths(&self) -> Paths {
        Paths { plan: self.plan.clone() }
    }
}

/// A path of a network, and what is known of it.
#[derive(Clone, Copy, Debug)]
pub struct KnownPath {
    /// The port by which it leaves its host; `None` where there is no path.
    pub link: Option<PortId>,
    /// Its hash key and its source route.
    pub path: (u32, u32),
    /// The information for a scheme's sender.
    pub info: PathInfo,
    /// Completion time of a message of so many bytes alone on it.
    pub ideal: Time,
    /// Links on it.
    pub hops: u16,
}

/// What hosts know of a network: its paths, and its properties.
#[derive(Clone)]
pub struct Paths {
    plan: Arc<Plan>,
}

impl Paths {
    /// Those of a network with these traffics.
    ///
    /// # Errors
    /// As [`Switches::new`].
    pub fn new(config: NetworkConfig, configs: &[TrafficConfig]) -> Result<Self, &'static str> {
        refuse(&config)?;
        let (_, schemes) = traffics(configs);
        Ok(Self { plan: plan(config, &schemes) })
    }

    /// The network as configured.
    pub fn config(&self) -> &NetworkConfig {
        &self.plan.config
    }

    /// Largest data packet on the wire.
    pub fn largest_packet(&self) -> u32 {
        self.plan.largest
    }

    /// The round-trip time of an idle network.
    pub fn network_rtt(&self) -> Time {
        self.plan.routes.network_rtt
    }

    /// A random word for a purpose.
    pub fn word(&self, purpose: &str, entity: u64) -> u64 {
        self.plan.streams.word(purpose, entity)
    }

    /// The hash key of a path: `name` is that of its message, or of its pair of hosts, and `back` the direction.
    pub fn key(&self, name: u64, back: bool) -> u32 {
        self.plan.key(name, back)
    }

    /// The path of a key from one host to another, and its source route.
    pub fn path(&self, from: NodeId, to: NodeId, key: u32) -> (u32, u32) {
        let path = self.plan.routes.path(from, to, key);
        (path.key, path.source_route)
    }

    /// The same with what is known of it.
    pub fn walk(&self, from: NodeId, to: NodeId, key: u32, overhead: HeaderOverhead, bytes: u64) -> KnownPath {
        let mut walked = Vec::new();
        let mut source_route = self.plan.routes.source_route();
        let reaches = self.plan.routes.walk(from, to, key, |port, number| {
            source_route.add(number);
            walked.push(port);
        });
        KnownPath {
            link: walked.first().copied(),
            path: (key, source_route.finish(reaches)),
            info: self.plan.path_info(&self.plan.routes, &walked, overhead),
            ideal: self.plan.ideal(&self.plan.routes, &walked, to, bytes),
            hops: walked.len() as u16,
        }
    }

    /// The ports of a path, in order; none where there is no path.
    pub fn ports(&self, from: NodeId, to: NodeId, key: u32) -> Vec<PortId> {
        let mut walked = Vec::new();
        let reaches = self.plan.routes.walk(from, to, key, |port, _| walked.push(port));
        if reaches { walked } else { Vec::new() }
    }

    /// Completion time of a message of so many bytes to a host, alone on a path, store-and-forward.
    pub fn ideal(&self, ports: &[PortId], to: NodeId, bytes: u64) -> Time {
        self.plan.ideal(&self.plan.routes, ports, to, bytes)
    }

    /// The port that a path leaves its host by.
    pub fn out_of_host(&self, from: NodeId, to: NodeId, key: u32) -> Option<PortId> {
        self.plan.routes.out_of_host(from, to, key)
    }

    /// The ports of a host, in order.
    pub fn ports_of(&self, host: NodeId) -> impl Iterator<Item = PortId> {
        let links = self.plan.config.graph.links.iter().zip(0..);
        links.filter_map(move |(link, number)| {
            let end = |node: NodeId, port: u32| (node == host).then_some(PortId(port));
            end(link.a, 2 * number).or_else(|| end(link.b, 2 * number + 1))
        })
    }

    /// The rate and the delay of the link behind a port.
    pub fn link(&self, port: PortId) -> (Rate, Time) {
        let link = self.plan.speed(port);
        (link.rate, link.delay)
    }

    /// The traffics with the numbers of their schemes, and the schemes with their state at one host.
    pub fn schemes_at(&self, host: NodeId, configs: &[TrafficConfig]) -> (Vec<Traffic>, Vec<Instance>) {
        let (traffics, schemes) = traffics(configs);
        let line_rate = self.ports_of(host).map(|port| self.link(port).0).max().unwrap_or(Rate::ZERO);
        let nic = NicInfo {
            seed: self.plan.streams.word("receiver", host.0 as u64),
            ..NicInfo::new(
                line_rate,
                self.plan.routes.network_rtt,
                self.plan.config.packet.payload as u32,
                self.plan.largest,
            )
        };
        let at_host = |settings: &Settings| {
            let mut scheme = settings.build();
            scheme.add_host(&nic);
            scheme
        };
        (traffics, schemes.iter().map(at_host).collect())
    }

    /// The time between consecutive events of a host, and how far ahead most of them are scheduled.
    pub fn event_spacing(&self) -> (Time, Time) {
        self.plan.config.event_spacing(self.plan.config.graph.hosts as usize + 1)
    }

    /// A packet that arrives at a host, or is lost there, as [`Totals::event_hash`] adds it.
    pub fn event_hash(now: Time, node: NodeId, header: &Header, lost: bool) -> u64 {
        fact(now, node, header, if lost { 2 } else { 1 })
    }
}
