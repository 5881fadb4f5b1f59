//! The whole network: who owns what, and how it is built.
//!
//! Source: uet-htsim's program for UEC; the order of construction fixes the random numbers and the order of ties.

use std::collections::HashMap;

use fanin_cc::paths::Paths;
use fanin_cc::uet::{Pacer, Share};
use fanin_cc::uet::{Parameters, Window as Nscc};

use crate::digits::six_digits;
use crate::events::{Event, Events};
use crate::matrix::{Firing, Matrix, Trigger};
use crate::messages::Message;
use crate::nic::{HostQueue, Nic};
use crate::options::Options;
use crate::packet::{Packets, Type};
use crate::port::Port;
use crate::random::Random;
use crate::receiver::Receiver;
use crate::sender::Sender;
use crate::settings::{HEADER, Settings};
use crate::setup::Setup;
use crate::switches::{Pipe, Switch, switch_index};
use crate::topology::{Cable, Node, Topology};

/// The number of the first connection's flow, if the matrix gives none; each end of a connection takes one.
const FIRST_FLOW: u32 = 1_000_000_001;

/// Takes lines.
pub type Lines<'a> = &'a mut dyn FnMut(&str);

/// Where a run goes on although the original aborts: from there on it has no reference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Beyond {
    /// When, in picoseconds.
    pub at: u64,
    /// Why the original aborts.
    pub why: &'static str,
}

/// A network that runs.
pub struct Network<'a> {
    pub(crate) settings: Settings,
    pub(crate) nscc: Parameters,
    pub(crate) topology: Topology,
    pub(crate) events: Events,
    pub(crate) random: Random,
    pub(crate) packets: Packets,
    /// The flags of ACK objects that are free, last freed last.
    pub(crate) ack_flags: Vec<bool>,
    pub(crate) cables: Vec<Cable>,
    pub(crate) failed: Vec<u32>,
    pub(crate) pipes: Vec<Pipe>,
    pub(crate) ports: Vec<Port>,
    pub(crate) switches: Vec<Switch>,
    /// Lists of links up that switches have made by host: of each its length, and the links from the switch's first on.
    pub(crate) ways: Vec<u16>,
    /// A packet on its way to a switch, and the link that will be chosen for it.
    pub(crate) chosen: Option<(u32, u32)>,
    pub(crate) nics: Vec<Nic>,
    pub(crate) host_queues: Vec<HostQueue>,
    pub(crate) host_ps_per_byte: u64,
    pub(crate) pacers: Vec<Pacer>,
    pub(crate) shares: Vec<Share>,
    pub(crate) senders: Vec<Sender>,
    pub(crate) receivers: Vec<Receiver>,
    /// Triggers, and how often each was activated.
    triggers: Vec<(Trigger, u32)>,
    /// What triggers have started and has not begun: connections of the matrix.
    pub(crate) fired: Vec<u32>,
    /// With reused connections, the sender and the message of each connection of the matrix.
    pub(crate) reused: Vec<(u32, Message)>,
    pub(crate) reuse: bool,
    slow_links: u32,
    pub(crate) trims: bool,
    pub(crate) trim_size: u16,
    pub(crate) sack_threshold: u32,
    pub(crate) nack_rtt: bool,
    /// The largest credit of a sender, and its first one.
    pub(crate) first_window: i64,
    pub(crate) hops: u64,
    pub(crate) started: u64,
    pub(crate) finished: u64,
    pub(crate) duplicates: u64,
    pub(crate) beyond: Option<Beyond>,
    pub(crate) output: Lines<'a>,
    pub(crate) record: Option<Lines<'a>>,
}

impl<'a> Network<'a> {
    /// Builds the network. Lines of output go to `output`, the event log to `record`.
    pub fn new(setup: &Setup, output: Lines<'a>, record: Option<Lines<'a>>) -> Self {
        let Setup { options, matrix, topology, settings, failed } = setup;
        let (settings, topology) = (settings.clone(), topology.clone());
        let cables = topology.cables(settings.rate);
        let mut network = Self {
            nscc: settings.nscc_parameters(),
            events: Events::new(options.end_us * 1_000_000),
            random: Random::new(options.seed, record.is_some()),
            packets: Packets::default(),
            ack_flags: Vec::new(),
            failed: failed.clone(),
            pipes: cables.iter().map(|cable| Pipe::new(cable.latency, switch_index(&topology, cable.to))).collect(),
            ports: Vec::new(),
            switches: Vec::new(),
            ways: Vec::new(),
            chosen: None,
            nics: Vec::new(),
            host_queues: Vec::new(),
            host_ps_per_byte: ps_per_byte(settings.rate as f64),
            pacers: Vec::new(),
            shares: Vec::new(),
            senders: Vec::new(),
            receivers: Vec::new(),
            triggers: setup.matrix.triggers.iter().map(|trigger| (trigger.clone(), 0)).collect(),
            fired: Vec::new(),
            reused: Vec::new(),
            reuse: options.reuse,
            trims: !options.disable_trim,
            slow_links: options.slow_links,
            trim_size: options.trim_size,
            sack_threshold: options.sack_threshold,
            nack_rtt: !options.no_rtt_of_nacks,
            first_window: settings.most(settings.rtt),
            hops: 0,
            started: 0,
            finished: 0,
            duplicates: 0,
            beyond: None,
            settings,
            topology,
            cables,
            output,
            record,
        };
        network.build_switches();
        network.build_ports();
        network.build_hosts();
        network.connect(options, matrix);
        network
    }

    fn build_switches(&mut self) {
        let (tors, aggregations) = (self.topology.tors(), self.topology.aggregations());
        for (index, latency) in (0..).zip(self.topology.switch_latencies()) {
            let node = match index {
                i if i < tors => Node::Tor(i),
                i if i < tors + aggregations => Node::Aggregation(i - tors),
                i => Node::Core(i - tors - aggregations),
            };
            debug_assert_eq!(switch_index(&self.topology, node), Some(index));
            self.switches.push(Switch::new(node, self.random.draw(), latency));
        }
    }

    /// Whether `-failed` makes a link slow: the first ones from cores downwards; in a network of two tiers all links of
    /// the first spines, in both directions.
    pub(crate) fn is_slow(&self, cable: &Cable) -> bool {
        let (each, slow_links) = (self.topology.pod_aggregations, self.slow_links);
        match (cable.from, cable.to) {
            (Node::Core(core), Node::Aggregation(a)) => core / each + a * each < slow_links,
            (Node::Tor(_), Node::Aggregation(a)) | (Node::Aggregation(a), Node::Tor(_)) => {
                self.topology.tiers == 2 && a < slow_links
            }
            _ => false,
        }
    }

    /// A link with the rate that it has, be it slow.
    pub(crate) fn as_it_is(&self, cable: Cable) -> Cable {
        let share = if self.is_slow(&cable) { 4 } else { 1 };
        Cable { rate: cable.rate / share, ..cable }
    }

    /// All ports, and what that program prints of slow links.
    fn build_ports(&mut self) {
        let Settings { queue, ecn, rccc, .. } = self.settings;
        let (each, tiers, slow_links) = (self.topology.pod_aggregations, self.topology.tiers, self.slow_links);
        for cable in &self.cables[self.topology.hosts as usize..] {
            let to_host = matches!(cable.to, Node::Host(_));
            let share = if self.is_slow(cable) { 0.25 } else { 1.0 };
            let part = |bytes: u64| (share * bytes as f64) as u64;
            let marks = (!(rccc && to_host)).then_some((part(ecn.0), part(ecn.1)));
            self.ports.push(Port::new(part(queue), marks, ps_per_byte(cable.rate as f64 * share), to_host));
        }
        if tiers == 2 && slow_links > 0 {
            self.print_slow_spines(slow_links);
        }
        for a in 0..self.topology.aggregations() {
            for l in (0..self.topology.cores_each).filter(|l| l + a * each < slow_links) {
                for b in 0..self.topology.core_bundle() {
                    self.print(&format!("Adding link failure for agg_sw {a} l {l} b {b}"));
                }
            }
        }
    }

    fn print_slow_spines(&mut self, slow_links: u32) {
        let rate = self.cables.iter().find(|cable| matches!(cable.from, Node::Aggregation(_)));
        let speed = six_digits(rate.map_or(0.0, |cable| cable.rate as f64 * 0.25 / 1e9));
        for tor in 0..self.topology.tors() {
            for spine in 0..slow_links.min(self.topology.aggregations()) {
                for b in 0..self.topology.rack_bundle() {
                    self.print(&format!("Failure: US{spine}->LS_{tor}({b}) linkspeed set to {speed}"));
                    self.print(&format!("Failure: LS{tor}->US{spine}({b}) linkspeed set to {speed}"));
                }
            }
        }
    }

    fn build_hosts(&mut self) {
        for host in 0..self.topology.hosts {
            self.pacers.push(Pacer::new(self.settings.rate));
            if let Some(ratio) = self.settings.oversubscription {
                self.shares.push(Share::new(ratio));
                self.next_share(host);
            }
            self.random.draw();
            self.nics.push(Nic::default());
            self.host_queues.push(HostQueue::default());
        }
    }

    fn connect(&mut self, options: &Options, matrix: &Matrix) {
        let mut by_id = HashMap::new();
        for line in &matrix.connections {
            let start = line.start_us.map(|us| us * 1_000_000);
            let known = line.id.filter(|_| options.reuse).and_then(|id| by_id.get(&id).copied());
            let s = known.unwrap_or(self.senders.len() as u32);
            if known.is_none() {
                if let Some(id) = line.id {
                    by_id.insert(id, s);
                }
                let paths = Paths::new(options.balancing, options.paths, &mut || self.random.draw());
                let base = if options.accurate_rtt {
                    self.settings.pair_rtt(&self.topology, line.from, line.to)
                } else {
                    self.settings.rtt
                };
                let most = self.settings.most(base);
                let window = options.window.map_or(most, |packets| i64::from(packets) * self.settings.mtu);
                self.first_window = most;
                let flow = FIRST_FLOW.wrapping_add(s.wrapping_mul(2));
                let (flow, back) = line.id.map_or((flow, flow.wrapping_add(1)), |id| (id, id));
                let mut sender = Sender::new(line, flow, Nscc::new(base, most, window), paths);
                sender.done_trigger = sender.done_trigger.filter(|_| !options.reuse);
                self.senders.push(sender);
                self.receivers.push(Receiver::new(back, line.to, line.from));
            }
            let message = Message { size: line.size, done: line.done };
            if options.reuse {
                self.reused.push((s, message));
            }
            let messages = &mut self.senders[s as usize].messages;
            let Some(start) = start else {
                if options.reuse {
                    messages.await_trigger();
                }
                continue;
            };
            if options.reuse && messages.add(start, message) {
                self.events.at(start, Event::Messages(s));
            }
            if known.is_none() {
                self.events.at(start, Event::Start(s));
            }
        }
        if !options.reuse {
            for (s, line) in matrix.connections.iter().enumerate() {
                self.add_backlog(s as u32, line.size);
            }
        }
    }

    /// Notes that the original aborts here, and why.
    pub(crate) fn beyond(&mut self, why: &'static str) {
        self.beyond.get_or_insert(Beyond { at: self.events.now(), why });
    }

    /// A packet is no more.
    pub(crate) fn free(&mut self, at: u32) {
        let packet = self.packets.take(at);
        if packet.of == Type::Ack {
            self.ack_flags.push(packet.flag);
        }
    }

    /// A sender with all acknowledged activates a trigger.
    pub(crate) fn activate(&mut self, trigger: u32) {
        let (t, activations) = &mut self.triggers[trigger as usize];
        *activations += 1;
        let (id, count) = (t.id, t.targets.len());
        self.fired.extend(t.started_by(*activations));
        let line = match t.firing {
            Firing::Each => format!("Multishot Trigger {id} fired, {count} targets"),
            Firing::Barrier(all) if *activations < all => {
                format!("Trigger {id} activated, activations remaining: {}", all - *activations)
            }
            Firing::Barrier(all) if *activations == all => format!("Trigger {id} fired, {count} targets"),
            Firing::Once if *activations == 1 => format!("Trigger {id} fired, {count} targets"),
            Firing::Once | Firing::Barrier(_) => return,
        };
        self.print(&line);
    }

    /// The time as it is printed, in microseconds.
    pub(crate) fn time(&self) -> String {
        six_digits(self.events.now() as f64 / 1e6)
    }

    /// A line of output.
    pub(crate) fn print(&mut self, line: &str) {
        (self.output)(line);
    }

    /// Payload is due: it joins the backlog, with a header per packet.
    pub(crate) fn add_backlog(&mut self, s: u32, size: u64) {
        let packets = size.div_ceil(self.settings.mss as u64);
        let sender = self.sender(s);
        sender.size += size;
        sender.backlog += (packets * HEADER as u64 + size) as i64;
    }

    pub(crate) fn sender(&mut self, s: u32) -> &mut Sender {
        &mut self.senders[s as usize]
    }

    /// Inserts the next adjustment of a host's share, at a random time.
    pub(crate) fn next_share(&mut self, host: u32) {
        let delay = (0.75 + self.random.fraction() / 2.0) * 1.5 * self.settings.rtt as f64;
        self.events.after(delay as u64, Event::Share(host));
    }
}

/// Picoseconds of a byte, as the original truncates them.
fn ps_per_byte(rate: f64) -> u64 {
    (8e12 / rate) as u64
}
