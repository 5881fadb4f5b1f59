//! A network that runs: its state, its events, and what it knows when it stops.

use crate::chain::{Gate, NO_GATE};
use crate::config::{BufferPolicy, Message, NetworkConfig, Release, TrafficConfig};
use crate::ecn::Marks;
use crate::failure::LinkState;
use crate::host::{Host, NO_SLOT, Nic, RecvFlow, SendFlow};
use crate::late::PortSet;
use crate::messages::{Table, Unpacked};
use crate::packet::{Packet, PacketIx, Slab};
use crate::parallel::Part;
use crate::pfc::{self, Ingress};
use crate::port::{FarEnd, Port};
use crate::queue::{Queue, Queued, Shelves};
use crate::results::{ClassCounters, DropCause, FlowRecord, Hop, Incidents, Totals, TrafficCounters, What};
use crate::routing::{Course, Routes};
use crate::shared_buffer::{Plan, Pool};
use crate::tap::Tap;
use crate::tcp::TcpEnd;
use crate::trace::Watches;
use fanin_cc::{Header, HeaderOverhead, Instance, NicInfo, PortView, SwitchInfo, Telemetry};
use fanin_engine::{CalendarQueue, Event, EventQueue, Order, Streams, mix, prefetch};
use fanin_units::{MessageId, NodeId, PortId, Rate, Time};
use std::collections::BTreeMap;
use std::iter::Peekable;
use std::sync::Arc;

/// What an event is about: the upper three bits of its source.
pub(crate) mod kind {
    pub const ARRIVE: u32 = 0;
    pub const PORT: u32 = 1;
    pub const FLOW: u32 = 2;
    pub const HOST: u32 = 3;
    pub const RECEIVER: u32 = 4;
    pub const START: u32 = 5;
    pub const LINK: u32 = 6;
    pub const SWITCH: u32 = 7;
}
pub(crate) const KIND_SHIFT: u32 = 29;
/// What the others say of which.
pub(crate) const NUMBER: u32 = (1 << KIND_SHIFT) - 1;
/// What of them is the number of a message: the bit above says which end of a connection.
pub(crate) const MESSAGE: u32 = NUMBER >> 1;

/// The source of an event.
#[inline(always)]
pub(crate) const fn source(kind: u32, number: u32) -> u32 {
    kind << KIND_SHIFT | number
}

/// One fact of the model as the event hash adds it.
#[inline(always)]
fn fact(now: Time, node: NodeId, head: &Header, action: u64) -> u64 {
    let what = (head.flow.0 as u64) << 32 | (node.0 as u64) << 8 | action << 5 | head.kind as u64;
    let state = head.seq << 8 | head.flags as u64;
    mix(what ^ now.as_ps().rotate_left(24), state)
}

/// Messages are put into the event queue this long ahead: seldom into its heap.
const LOAD_AHEAD: Time = Time::from_us(5);
/// Messages that are over are looked for this often, as messages are loaded.
const PACK_EVERY: Time = Time::from_us(100);

/// A traffic in a run.
pub(crate) struct Traffic {
    pub config: TrafficConfig,
    /// Which of the schemes it uses.
    pub scheme: u16,
    pub counters: TrafficCounters,
    /// Messages put into the queue so far.
    pub messages: u32,
}

/// Where a message stands in the tables.
#[derive(Clone)]
pub(crate) struct Slots {
    pub send: u32,
    pub recv: u32,
    /// What draws its ways: its traffic and its number there, so that no other traffic's messages change them.
    pub name: u64,
    /// The gate that its arrival counts towards, or [`NO_GATE`].
    pub counts: u32,
    /// The gate that its last ACK counts towards, or [`NO_GATE`].
    pub counts_acked: u32,
    /// The message whose connection it goes back on, or [`NO_SLOT`].
    pub answers: u32,
    /// Whether it waited for a gate.
    pub waited: bool,
    /// Attempts before this one are blocked: their packets may not go on (Dart IV-C).
    pub first_attempt: u16,
    /// Whether a switch deflected it.
    pub deflected: bool,
    /// All senders of its incast, until it is done.
    pub senders: Option<Arc<[u32]>>,
}

/// A message that was asked for before it was loaded.
pub(crate) struct Followed {
    /// Whether its hops are written down.
    pub trace: bool,
    /// Its number, once it is loaded.
    pub message: Option<u32>,
}

/// What a switch program needs to find its ports.
pub(crate) struct SwitchPorts {
    pub ports: Vec<PortId>,
    /// Of how many ingresses and classes it pauses the peer.
    pub pausing: u32,
    pub timer_event: Time,
}

/// A network with its traffic, running.
pub struct Simulation<Q: EventQueue = CalendarQueue> {
    pub(crate) now: Time,
    /// Who caused the event that runs now.
    pub(crate) cause: u32,
    /// What it knows of the cut where it is a part of a network.
    pub(crate) part: Part,
    pub(crate) queue: Q,
    pub(crate) order: Order,
    pub(crate) config: NetworkConfig,
    pub(crate) streams: Streams,
    pub(crate) packets: Slab,
    pub(crate) ports: Vec<Port>,
    pub(crate) far_ends: Vec<FarEnd>,
    /// Whether ports may ever be late, and whether they are now.
    pub(crate) patience_allowed: bool,
    pub(crate) patient: bool,
    /// Those that may have something to catch up with, to nodes of this part and to those of others.
    pub(crate) late: PortSet,
    pub(crate) late_away: PortSet,
    /// Class queues, `classes` per port.
    pub(crate) queues: Vec<Queue>,
    /// What they stand on.
    pub(crate) shelves: Shelves,
    /// Bytes held per ingress port and class.
    pub(crate) ingress: Vec<Ingress>,
    /// `classes` per port; what queues count themselves is filled in when one asks.
    pub(crate) counters: Vec<ClassCounters>,
    /// When each class of each port was paused.
    pub(crate) paused_since: Vec<Time>,
    /// What the packet on each port's wire holds of its switch, with release at the last bit; else empty.
    pub(crate) leaving: Vec<Option<Queued>>,
    /// How queues mark.
    pub(crate) marks: Marks,
    pub(crate) classes: usize,
    /// The other lane of each class, or 0: their queues are one to congestion marks.
    pub(crate) beside: Vec<u8>,
    /// Bit c: class c is served before others.
    pub(crate) urgent: u8,
    /// Largest data packet on the wire.
    pub(crate) largest: u32,
    /// What each traffic's scheme adds to its packets.
    pub(crate) overhead: Vec<HeaderOverhead>,
    /// Whether a scheme wants telemetry.
    pub(crate) telemetry: bool,
    /// Whether something looks at packets as they leave: telemetry, the tap, or the trace of a message.
    pub(crate) watches_links: bool,
    /// Whether the tap looks at queues.
    pub(crate) watches_queues: bool,
    pub(crate) tap: Tap,
    /// What the last data packet of each receiving flow carried, by its slot.
    pub(crate) recv_telemetry: Vec<Telemetry>,
    /// Whether routes have changed: only then can a message be blocked.
    pub(crate) rerouted: bool,
    /// Messages whose packets are written down hop by hop, in order.
    pub(crate) traced: Vec<MessageId>,
    pub(crate) hops: Vec<Hop>,
    /// Hops above [`Hop::KEPT`].
    pub(crate) hops_left_out: u64,
    /// What is known of the same messages at their hosts.
    pub(crate) watches: Watches,
    /// Messages that were asked for before they were loaded, by [`Slots::name`].
    pub(crate) followed: BTreeMap<u64, Followed>,
    /// Whether a switch program watches all queues.
    pub(crate) watching: bool,
    pub(crate) lossless: u8,
    /// Bit c: a packet of class c that finds its egress idle leaves at once.
    pub(crate) at_once: u8,
    /// Who limits each class.
    pub(crate) plan: Plan,
    /// The pools of each switch, as many as the plan has.
    pub(crate) pools: Vec<Pool>,
    pub(crate) routes: Routes,
    /// The ports of the way that was found last, and its course.
    pub(crate) way: Vec<PortId>,
    pub(crate) way_course: Course,
    /// Whether they are not those of the start any more: labels say nothing then.
    pub(crate) routes_changed: bool,
    pub(crate) switches: Vec<SwitchPorts>,
    /// Number of each port within its switch.
    pub(crate) port_number: Vec<u16>,
    pub(crate) links: Vec<LinkState>,
    pub(crate) hosts: Vec<Host>,
    pub(crate) nics: Vec<Nic>,
    pub(crate) senders: Vec<SendFlow>,
    pub(crate) free_senders: Vec<u32>,
    pub(crate) receivers: Vec<RecvFlow>,
    pub(crate) free_receivers: Vec<u32>,
    /// By message.
    pub(crate) slots: Table<Slots>,
    pub(crate) records: Table<FlowRecord>,
    /// Which of them are not packed.
    pub(crate) unpacked: Unpacked,
    /// Dense numbers of (host, receiver, scheme), made when a flow opens.
    pub(crate) pairs: BTreeMap<(u32, u32, u16), u32>,
    /// The sending flows that are open of each pair, in the order of their numbers.
    pub(crate) pair_flows: Vec<Vec<u32>>,
    /// The first message of each connection, where traffics use connections.
    pub(crate) connections: BTreeMap<(u16, u32, u32), u32>,
    /// Gates by traffic and number.
    pub(crate) gates: Vec<Vec<Gate>>,
    /// Messages whose last ACK just came and counts towards a gate.
    pub(crate) acked_now: Vec<u32>,
    /// Whether gates open for answers only.
    pub(crate) posting_stopped: bool,
    /// Ends of TCP connections.
    pub(crate) tcp: Vec<TcpEnd>,
    pub(crate) free_tcp: Vec<u32>,
    /// Messages posted while their host had no link that was up.
    pub(crate) stranded: Vec<u32>,
    pub(crate) traffics: Vec<Traffic>,
    pub(crate) schemes: Vec<Instance>,
    /// Schemes whose switch program does something.
    pub(crate) programs: Vec<u16>,
    /// The receiver timer event that counts, by scheme and host.
    pub(crate) receiver_event: Vec<Time>,
    pub(crate) totals: Totals,
    pub(crate) incidents: Incidents,
    /// Kept for searches for circular waits.
    pub(crate) circles: crate::circular::Search,
    /// Messages with an end that are posted and have not arrived. Below zero in a part that receives more than it sends.
    pub(crate) open_messages: i64,
    pub(crate) messages: Peekable<Box<dyn Iterator<Item = Message> + Send>>,
    loaded_to: Time,
    pack_at: Time,
}

impl Simulation<CalendarQueue> {
    /// A network at time zero. Messages come in the order of their start.
    pub fn new(
        config: NetworkConfig,
        traffics: Vec<TrafficConfig>,
        messages: Box<dyn Iterator<Item = Message> + Send>,
    ) -> Self {
        let (spacing, horizon) = event_spacing(&config);
        let queue = CalendarQueue::new(config.seed, spacing, horizon);
        let mut sim = Self::with_queue(config, traffics, messages, queue);
        sim.be_patient();
        sim
    }
}

/// The time between neighbouring events of a busy network, and how far ahead most of them lie.
pub(crate) fn event_spacing(config: &NetworkConfig) -> (Time, Time) {
    let wire = config.packet.payload as u64 + config.packet.header as u64;
    let links = &config.graph.links;
    let fastest = links.iter().map(|l| l.rate.tx_time(wire)).min().unwrap_or(Time::from_us(1));
    let farthest = links.iter().map(|l| l.rate.tx_time(wire).saturating_add(l.delay)).max();
    (Time::from_ps(fastest.as_ps() / (2 * links.len().max(1) as u64)), farthest.unwrap_or(Time::from_us(10)))
}

impl<Q: EventQueue> Simulation<Q> {
    /// The same on a queue of your own; the order of events does not depend on it. No port is ever late.
    pub fn with_queue(
        config: NetworkConfig,
        traffics: Vec<TrafficConfig>,
        messages: Box<dyn Iterator<Item = Message> + Send>,
        queue: Q,
    ) -> Self {
        Self::part_of_network(config, traffics, messages, queue, Part::default())
    }

    /// One part of a network that is cut: it has all tables, and only what happens at its own nodes.
    pub(crate) fn part_of_network(
        config: NetworkConfig,
        traffics: Vec<TrafficConfig>,
        messages: Box<dyn Iterator<Item = Message> + Send>,
        queue: Q,
        part: Part,
    ) -> Self {
        let streams = Streams::new(config.seed);
        let graph = &config.graph;
        let (hosts, nodes) = (graph.hosts, graph.names.len() as u32);
        let overhead: Vec<HeaderOverhead> = traffics.iter().map(|t| t.scheme.header_overhead()).collect();
        let most = overhead.iter().map(|e| e.data).max().unwrap_or(0);
        let wire = config.packet.payload as u32 + config.packet.header as u32 + most as u32;
        let classes = config.classes.len() + 1;

        let mut ports = Vec::with_capacity(graph.links.len() * 2);
        for link in &graph.links {
            ports.push(Port::new(link.a, link.b, link.rate, link.delay));
            ports.push(Port::new(link.b, link.a, link.rate, link.delay));
        }
        let mut nics = Vec::new();
        let mut switches: Vec<SwitchPorts> =
            (hosts..nodes).map(|_| SwitchPorts { ports: Vec::new(), pausing: 0, timer_event: Time::NEVER }).collect();
        let mut port_number = vec![0; ports.len()];
        for (i, port) in ports.iter_mut().enumerate() {
            if part.owns(port.node) && !part.owns(port.peer) {
                port.to_part = part.of[port.peer.ix()];
            }
            if port.node.0 < hosts {
                port.nic = nics.len() as u32;
                port.of_host = true;
                nics.push(Nic::new(PortId(i as u32)));
            } else {
                let switch = &mut switches[(port.node.0 - hosts) as usize];
                port_number[i] = switch.ports.len() as u16;
                switch.ports.push(PortId(i as u32));
            }
        }
        let pause = config.packet.pause as u64;
        let wanted = match config.buffer {
            BufferPolicy::PerPort { pfc, .. } | BufferPolicy::Pooled { pfc, .. } => pfc.headroom,
            BufferPolicy::Unlimited => None,
        };
        let headroom: Vec<u64> = ports
            .iter()
            .map(|p| wanted.unwrap_or_else(|| pfc::headroom(p.rate, p.delay, wire as u64, pause)))
            .collect();
        let lossless = config.classes.iter().enumerate().filter(|(_, c)| c.lossless).fold(0u8, |m, (i, _)| m | 2 << i);
        let plan = Plan::new(&config.buffer, &config.classes, &config.packet);
        let mut pools = Vec::with_capacity(switches.len() * plan.pools.len());
        for switch in &switches {
            let per_class: u64 = switch.ports.iter().map(|p| headroom[p.ix()]).sum();
            for (bytes, lossless) in &plan.pools {
                let reserved = per_class * lossless.count_ones() as u64;
                pools.push(Pool { bytes: bytes.saturating_sub(reserved), used: 0 });
            }
        }
        let marks = Marks::new(&config, &mut ports, &streams);
        let routes = Routes::build(&ports, hosts, nodes, &streams, wire, config.packet.ack as u32);
        let mut settings = Vec::new();
        let traffics: Vec<Traffic> = traffics
            .into_iter()
            .map(|config| {
                let known = settings.iter().position(|s| *s == config.scheme);
                let scheme = known.unwrap_or_else(|| {
                    settings.push(config.scheme.clone());
                    settings.len() - 1
                });
                Traffic { config, scheme: scheme as u16, counters: TrafficCounters::default(), messages: 0 }
            })
            .collect();
        let mut schemes: Vec<Instance> = settings.iter().map(|s| s.build()).collect();
        let mut line_rates = vec![Rate::ZERO; nodes as usize];
        for port in &ports {
            let line = &mut line_rates[port.node.ix()];
            *line = (*line).max(port.rate);
        }
        for scheme in &mut schemes {
            for host in 0..hosts {
                scheme.add_host(&NicInfo {
                    seed: streams.word("receiver", host as u64),
                    line_rate: line_rates[host as usize],
                    payload: config.packet.payload as u32,
                    wire,
                    network_rtt: routes.network_rtt,
                });
            }
            for (i, switch) in switches.iter().enumerate() {
                let node = NodeId(hosts + i as u32);
                let views: Vec<PortView> = switch
                    .ports
                    .iter()
                    .map(|p| {
                        let port = &ports[p.ix()];
                        PortView { rate: port.rate, to_switch: port.peer.0 >= hosts, queued: 0, up: true }
                    })
                    .collect();
                scheme.add_switch(&SwitchInfo { node, seed: streams.word("program", node.0 as u64), ports: &views });
            }
        }
        let programs: Vec<u16> = (0..schemes.len() as u16).filter(|i| schemes[*i as usize].switch_active()).collect();
        let watching = schemes.iter().any(|s| s.switch_watches());
        let at_once = if config.release == Release::Dequeue && !watching { u8::MAX } else { 0 };
        let mut beside = vec![0; classes];
        for (i, class) in config.classes.iter().enumerate() {
            if let Some(other) = class.beside {
                beside[i + 1] = other;
                beside[other as usize] = i as u8 + 1;
            }
        }
        let urgent = config.classes.iter().enumerate().filter(|(_, c)| c.urgent).fold(0u8, |m, (i, _)| m | 2 << i);
        let far_end = |(i, p): (usize, &Port)| FarEnd {
            node: p.peer,
            first_port: routes.first_port(p.peer),
            epoch: 0,
            lossy: graph.links[i / 2].error_rate > 0.0,
        };
        let far_ends = ports.iter().enumerate().map(far_end).collect();
        let links = LinkState::all(&config.graph.links, &streams);
        let mut sim = Self {
            now: Time::ZERO,
            cause: 0,
            part,
            queue,
            order: Order::new(config.seed),
            packets: Slab::default(),
            queues: vec![Queue::default(); ports.len() * classes],
            shelves: Shelves::default(),
            ingress: headroom
                .iter()
                .flat_map(|reserved| (0..classes).map(|_| Ingress { reserved: *reserved, ..Ingress::default() }))
                .collect(),
            counters: vec![ClassCounters::default(); ports.len() * classes],
            paused_since: vec![Time::NEVER; ports.len() * classes],
            leaving: vec![None; if config.release == Release::LastBit { ports.len() } else { 0 }],
            marks,
            classes,
            beside,
            urgent,
            largest: wire,
            telemetry: overhead.iter().any(|e| e.telemetry),
            watches_links: overhead.iter().any(|e| e.telemetry),
            watches_queues: false,
            tap: Tap::default(),
            recv_telemetry: Vec::new(),
            overhead,
            rerouted: false,
            traced: Vec::new(),
            hops: Vec::new(),
            hops_left_out: 0,
            watches: Watches::default(),
            followed: BTreeMap::new(),
            watching,
            lossless,
            at_once,
            plan,
            pools,
            routes,
            way: Vec::new(),
            way_course: Course::default(),
            routes_changed: false,
            switches,
            port_number,
            links,
            hosts: (0..hosts).map(|_| Host { flows: Vec::new(), timer_event: Time::NEVER, received: 0 }).collect(),
            nics,
            senders: Vec::new(),
            free_senders: Vec::new(),
            receivers: Vec::new(),
            free_receivers: Vec::new(),
            slots: Table::default(),
            records: Table::default(),
            unpacked: Unpacked::default(),
            pairs: BTreeMap::new(),
            pair_flows: Vec::new(),
            connections: BTreeMap::new(),
            gates: vec![Vec::new(); traffics.len()],
            acked_now: Vec::new(),
            posting_stopped: false,
            tcp: Vec::new(),
            free_tcp: Vec::new(),
            stranded: Vec::new(),
            receiver_event: vec![Time::NEVER; schemes.len() * hosts as usize],
            traffics,
            schemes,
            programs,
            totals: Totals::default(),
            incidents: Incidents::default(),
            circles: Default::default(),
            open_messages: 0,
            messages: messages.peekable(),
            loaded_to: Time::ZERO,
            pack_at: Time::ZERO,
            streams,
            late: PortSet::none_of(ports.len()),
            late_away: PortSet::none_of(ports.len()),
            patience_allowed: false,
            patient: false,
            ports,
            far_ends,
            config,
        };
        sim.schedule_outages();
        sim.start_programs();
        sim
    }

    /// Runs all events before `until`, at most about `budget` of them. Returns whether it got there.
    pub fn run_until(&mut self, until: Time, budget: u64) -> bool {
        let arrived = match self.traces() {
            false => self.advance(until, budget),
            true => self.advance_and_look(until, budget),
        };
        self.all_catch_up();
        arrived
    }

    /// The same for a part of a network, or a step of many: its ports may be late when it returns.
    #[inline(never)]
    pub(crate) fn advance(&mut self, until: Time, budget: u64) -> bool {
        let mut left = budget.max(1);
        loop {
            let to = until.min(self.loaded_to);
            while let Some(event) = self.queue.pop_before(to) {
                self.now = event.at;
                self.cause = event.source;
                self.look_ahead();
                self.totals.events += 1;
                self.handle(event);
                left -= 1;
                if left == 0 {
                    // Not only as messages are loaded: the last of them may be loaded early.
                    self.pack_messages();
                    return false;
                }
            }
            if to == until {
                self.now = self.now.max(until.min(Time::from_ps(u64::MAX - 1)));
                return true;
            }
            self.load_messages();
            if self.queue.is_empty() && self.messages.peek().is_none() {
                // Nothing will ever happen again.
                self.loaded_to = Time::NEVER;
            }
        }
    }

    /// Asks for the memory of events that come soon. Most of them are packets that arrive; others ask for what a packet with
    /// their argument would need, which does no harm, because nobody can foretell which they are.
    #[inline(always)]
    fn look_ahead(&self) {
        if let Some(&Event { source, arg: ix, .. }) = self.queue.ahead(0)
            && let Some(packet) = self.packets.get(ix)
        {
            let class = packet.head.class as usize;
            if self.lossless != 0 {
                let ingress = PortId(source & NUMBER).reverse();
                if let Some(held) = self.ingress.get(ingress.ix() * self.classes + class) {
                    prefetch(held);
                }
            }
            // Where a host is the end of it, the port is that of its ACK.
            let out = packet.onward.port();
            if let Some(port) = self.ports.get(out.ix()) {
                prefetch(port);
                prefetch(&self.queues[out.ix() * self.classes + class]);
            }
        }
        if let Some(next) = self.queue.ahead(5) {
            if let Some(packet) = self.packets.get(next.arg) {
                prefetch(packet);
            }
            // Of a packet the first port, which is in the cache.
            let is_packet = next.source >> KIND_SHIFT == kind::ARRIVE;
            if let Some(port) = self.ports.get((if is_packet { 0 } else { next.source & NUMBER }) as usize) {
                prefetch(port);
            }
        }
    }

    /// Puts the messages of the next stretch of time into the queue, so that all events of a stretch are known before
    /// any of it runs.
    fn load_messages(&mut self) {
        if self.loaded_to >= self.pack_at {
            self.pack_at = self.loaded_to.saturating_add(PACK_EVERY);
            self.pack_messages();
        }
        let first = self.messages.peek().map_or(Time::NEVER, |m| m.start);
        if first == Time::NEVER {
            self.loaded_to = Time::NEVER;
            return;
        }
        // Idle stretches are skipped.
        self.loaded_to = self.loaded_to.max(first).saturating_add(LOAD_AHEAD);
        while let Some(message) = self.messages.next_if(|m| m.start < self.loaded_to) {
            let flow = self.records.len() as u32;
            self.records.push(FlowRecord {
                start: Time::NEVER,
                finished: Time::NEVER,
                acked: Time::NEVER,
                bytes: message.bytes,
                delivered: 0,
                ideal: Time::NEVER,
                src: message.src,
                dst: message.dst,
                group: message.group,
                packets_sent: 0,
                packets_resent: 0,
                timeouts: 0,
                packets_marked: 0,
                packets_arrived: 0,
                traffic: message.traffic,
                hops: 0,
                links: 0,
                deflections: 0,
                attempts: 0,
                reordered: 0,
                request: false,
            });
            let traffic = &mut self.traffics[message.traffic as usize];
            let name = (message.traffic as u64) << 32 | traffic.messages as u64;
            traffic.messages += 1;
            if let Some(followed) = self.followed.get_mut(&name) {
                followed.message = Some(flow);
                if followed.trace {
                    self.trace(flow);
                }
            }
            let chain = message.chain;
            self.slots.push(Slots {
                send: NO_SLOT,
                recv: NO_SLOT,
                name,
                counts: chain.counts.unwrap_or(NO_GATE),
                counts_acked: chain.counts_acked.unwrap_or(NO_GATE),
                answers: NO_SLOT,
                waited: chain.after.is_some(),
                first_attempt: 0,
                deflected: false,
                senders: message.senders,
            });
            self.chain(message.traffic, flow, &chain);
            if chain.after.is_none() && self.part.owns(NodeId(message.src)) {
                self.schedule(message.start.saturating_add(chain.delay), kind::START, flow, 0);
            }
        }
    }

    #[inline(always)]
    pub(crate) fn schedule(&mut self, at: Time, kind: u32, number: u32, arg: u32) {
        debug_assert!(at >= self.now, "an event in the past");
        self.queue.push(Event { at, source: source(kind, number), arg });
    }

    #[inline(always)]
    fn handle(&mut self, event: Event) {
        let number = event.source & NUMBER;
        match event.source >> KIND_SHIFT {
            kind::ARRIVE => self.arrive(PortId(number), event.arg),
            kind::PORT => self.port_wakes(PortId(number)),
            kind::FLOW => self.flow_timer(number, event.arg),
            kind::HOST => self.host_timer(number),
            kind::RECEIVER => self.receiver_timer(number),
            kind::START => self.start_message(number, event.arg),
            kind::LINK => self.link_changes(number, event.arg),
            _ => self.switch_timer(number),
        }
    }

    /// A packet's last bit reached the other end of its link.
    #[inline(always)]
    fn arrive(&mut self, link: PortId, ix: PacketIx) {
        let FarEnd { node, epoch, lossy, .. } = self.far_ends[link.ix()];
        let damaged = lossy && self.packets[ix].epoch == epoch && self.lost_to_error(link, ix);
        let packet = &mut self.packets[ix];
        packet.head.hops = packet.head.hops.saturating_add(1);
        if damaged || packet.epoch != epoch {
            let cause = if damaged { DropCause::Error } else { DropCause::LinkDown };
            self.drop_packet(node, link, ix, cause);
            return;
        }
        self.totals.event_hash = self.totals.event_hash.wrapping_add(fact(self.now, node, &packet.head, 1));
        if packet.head.kind == fanin_cc::Kind::Pause {
            self.pause_arrives(link.reverse(), ix);
        } else if (node.0 as usize) < self.hosts.len() {
            self.host_receives(node, link, ix);
        } else {
            let Packet { head: Header { dst, class, wire, .. }, course, onward, .. } = *packet;
            let out = if self.routes_changed || course.label == Course::NO_LABEL {
                self.routes.way(&self.ports, node, dst, course.key)
            } else {
                let out = onward.port();
                packet.goes_on(&self.routes, &self.far_ends[out.ix()]);
                out
            };
            self.switch_receives(node, link.reverse(), ix, (class, wire), out);
        }
    }

    /// Adds one fact of the model to the event hash: addition commutes, so the order of unrelated facts does not matter.
    pub(crate) fn fact(&mut self, node: NodeId, ix: PacketIx, action: u64) {
        let hash = fact(self.now, node, &self.packets[ix].head, action);
        self.totals.event_hash = self.totals.event_hash.wrapping_add(hash);
    }

    /// A packet ends here without having reached its end.
    #[cold]
    #[inline(never)]
    pub(crate) fn drop_packet(&mut self, node: NodeId, at: PortId, ix: PacketIx, cause: DropCause) {
        self.fact(node, ix, 2);
        self.totals.drops.count(cause);
        self.incident(at, What::Dropped(cause));
        self.counters[at.ix() * self.classes + self.packets[ix].head.class as usize].dropped += 1;
        self.totals.ledger.dropped += self.packets[ix].head.wire as u64;
        self.packets.remove(ix);
    }

    /// Now: everything before this time has happened.
    pub fn now(&self) -> Time {
        self.now
    }

    /// Whether neither an event nor a message is left.
    pub fn is_over(&mut self) -> bool {
        self.queue.is_empty() && self.messages.peek().is_none()
    }

    /// Starts no message any more that has not been put into the queue yet.
    pub fn stop_messages(&mut self) {
        self.messages = (Box::new(std::iter::empty()) as Box<dyn Iterator<Item = Message> + Send>).peekable();
    }

    /// From now on no chain of messages goes on, but for answers to what has been asked.
    pub fn stop_posting(&mut self) {
        self.stop_messages();
        self.posting_stopped = true;
    }

    /// Whether no message will be posted any more.
    pub fn nothing_to_come(&mut self) -> bool {
        self.messages.peek().is_none() && self.started() == self.records.len() as u64
    }
}
