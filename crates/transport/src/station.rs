//! A host on a wire, from the host code of the simulator.

use crate::config::Config;
use crate::directory::Directory;
use crate::exchange::{Leaving, Left, Notice, Out, Post, Sent, Totals};
use crate::frame::Carried;
use crate::messages::{Entry, Incident, Messages, Packet, Packets};
use crate::path::Path;
use crate::port::{ClassState, Port};
use crate::setup::{Control, SetUp, TearDown};
use crate::world::{Setting, World};
use fanin_cc::{Actions, Kind};
use fanin_endpoint::host::{ENDLESS, Ends, FlowRecord, Hosts, NO_SLOT, Timer, TrafficCounters};
use fanin_endpoint::scheduler::Scheduler;
use fanin_engine::clock::{
    ANSWERS, SHAPER, START_AFTER_OVERHEAD, START_GIVEN_UP, START_POSTED, kind, kind_of, number_of, source,
};
use fanin_engine::{CalendarQueue, Clock, Event};
use fanin_units::{MessageId, NodeId, PortId, Time};

/// A host on a wire.
pub struct Station<D> {
    world: World<D>,
    hosts: Hosts<Path>,
    scratch: Vec<u8>,
}

/// The one host of a station, and so its row.
const HOST: u32 = 0;

impl<D: Directory> Station<D> {
    /// A host at time zero.
    pub fn new(config: Config, directory: D) -> Self {
        let mut hosts = Hosts::new(core::iter::once(config.node), config.schemes.len());
        let urgent =
            config.classes.iter().zip(1..).fold(0, |bits, (class, c)| bits | u8::from(class.precedence.urgent) << c);
        let scheduler = Scheduler::new(config.classes.iter().map(|class| class.precedence), config.largest);
        let shapers: Vec<_> = config.classes.iter().map(|class| class.shaper).collect();
        let siblings: Vec<_> = config.classes.iter().map(|class| class.sibling).collect();
        let mark_above = config.host_fifo.and_then(|fifo| fifo.mark_above);
        let ports = config.links.iter().zip(0..).map(|(link, number)| {
            hosts.add_nic(HOST, number);
            Port::new(*link, (urgent, scheduler), &shapers, &siblings, mark_above)
        });
        let ports = ports.collect();
        let (spacing, horizon) = config.spacing;
        let queue = CalendarQueue::new(config.seed, spacing, horizon);
        let world = World {
            directory,
            clock: Clock::new(config.seed, queue),
            counters: vec![TrafficCounters::default(); config.traffics.len()],
            setting: Setting {
                node: config.node,
                host_count: config.hosts,
                cpu_word: config.cpu_word,
                token_word: config.token_word,
                sizes: config.sizes,
                host_fifo: config.host_fifo,
                largest: config.largest,
                traffics: config.traffics,
                formats: config.formats,
            },
            dropped: vec![0; config.schemes.len()],
            schemes: config.schemes,
            messages: Messages::default(),
            packets: Packets::default(),
            ports,
            notices: Vec::new(),
            out: Vec::new(),
            incidents: Vec::new(),
            incidents_seen: [0; 2],
            totals: Totals::default(),
        };
        Self { world, hosts, scratch: Vec::new() }
    }

    /// Adds a message that this host will send. It is posted by [`Station::post_at`].
    pub fn add(&mut self, post: Post) {
        let number = post.message.0;
        let record = FlowRecord::new(self.world.setting.node.0, post.dst, post.bytes, post.traffic, post.group);
        let token = fanin_engine::mix(self.world.setting.token_word, u64::from(number));
        let (name, senders) = (post.name, post.senders);
        self.world.messages.add(number, Entry { record, ends: Ends::default(), name, senders, token, first: None });
    }

    /// Posts a message at a time.
    pub fn post_at(&mut self, message: MessageId, at: Time) {
        self.world.schedule_start(message, START_POSTED, at);
    }

    /// A frame is on its way to a port of this host, and its last bit arrives at this time. A frame that is not as it
    /// must be is refused and counted.
    pub fn on_frame(&mut self, from: PortId, arrives: Time, bytes: &[u8]) {
        match Carried::decode(&self.world.setting.formats, bytes, &mut self.scratch) {
            Some(carried) => self.on_packet(from, arrives, carried),
            None => self.world.totals.refused += 1,
        }
    }

    /// The same with a packet whose frame was decoded.
    pub fn on_packet(&mut self, from: PortId, arrives: Time, carried: Carried) {
        if !self.accepts(from, arrives, &carried) {
            self.world.totals.refused += 1;
            return;
        }
        let Carried { head, path, scheme, deflections, telemetry, .. } = carried;
        let telemetry = telemetry.unwrap_or_default();
        let ix = self.world.packets.add(Packet { head, path, scheme, deflections, telemetry });
        self.world.clock.push(Event { at: arrives, source: source(kind::ARRIVE, from.0), arg: ix });
    }

    /// Whether a packet may come in: on a link of this host, not in the past, and of a connection that was set up.
    fn accepts(&self, from: PortId, arrives: Time, carried: &Carried) -> bool {
        let head = &carried.head;
        let known = || {
            let Some(entry) = self.world.messages.get(head.flow) else { return false };
            let data = matches!(head.kind, Kind::Data | Kind::Request);
            let ends = (NodeId(entry.record.src), NodeId(entry.record.dst));
            let right = ends == if data { (head.src, head.dst) } else { (head.dst, head.src) };
            right && self.world.setting.traffics.get(usize::from(entry.record.traffic)).is_some()
        };
        arrives >= self.world.clock.now() && self.port_of(from).is_some() && (head.kind == Kind::Pause || known())
    }

    /// The row of this host's port at the other end of a link.
    fn port_of(&self, from: PortId) -> Option<usize> {
        self.world.ports.iter().position(|port| port.link.port == from.reverse())
    }

    /// Another host tells something of a connection.
    pub fn on_control(&mut self, control: Control) {
        match control {
            Control::SetUp(of) => self.on_set_up(of),
            Control::TearDown(of) => self.on_tear_down(of),
        }
    }

    fn on_set_up(&mut self, of: SetUp) {
        let world = &mut self.world;
        let mut fits =
            of.dst == world.setting.node && usize::from(of.traffic) < world.setting.traffics.len() && of.bytes > 0;
        if let Some(known) = world.messages.get(of.message) {
            // It begins anew: on another connection, or after one was given up.
            fits &= known.token == of.token && known.record.finished == Time::NEVER;
            if fits {
                world.messages.of_mut(of.message).record.hops = of.hops;
                let (pair, first) = ((of.traffic, of.src.0, of.dst.0), of.first);
                if let Some(first) = first {
                    world.messages.connections.insert(pair, first);
                }
                return;
            }
        }
        if !fits {
            world.totals.refused += 1;
            return;
        }
        let mut record = FlowRecord::new(of.src.0, of.dst.0, of.bytes, of.traffic, of.group);
        record.hops = of.hops;
        let (name, senders, token, first) = (of.name, of.senders, of.token, of.first);
        world.messages.add(of.message.0, Entry { record, ends: Ends::default(), name, senders, token, first });
        if let Some(first) = first {
            world.messages.connections.insert((of.traffic, of.src.0, of.dst.0), first);
        }
    }

    fn on_tear_down(&mut self, of: TearDown) {
        let right = self.world.messages.get(of.message).is_some_and(|entry| entry.token == of.token);
        if !right || of.at < self.world.clock.now() {
            self.world.totals.refused += 1;
            return;
        }
        self.world.schedule_start(of.message, START_GIVEN_UP, of.at);
    }

    /// Handles the next event before a time. Returns whether there was one. The application then takes its notices.
    pub fn step(&mut self, before: Time) -> bool {
        let Some(event) = self.world.clock.next(before) else { return false };
        self.world.totals.events += 1;
        let (number, arg) = (number_of(event.source), event.arg);
        let Self { world, hosts, .. } = self;
        match kind_of(event.source) {
            kind::ARRIVE => self.arrive(PortId(number), arg),
            kind::PORT => {
                let now = world.clock.now();
                let port = &mut world.ports[arg as usize];
                if port.wake_at == now {
                    port.wake_at = Time::NEVER;
                    hosts.serve(world, arg);
                }
            }
            kind::SENDER => hosts.on_timer(world, Timer::Sender { number, slot: arg }),
            kind::HOST if number & ANSWERS != 0 => hosts.on_timer(world, Timer::Answers { host: arg }),
            kind::HOST => hosts.on_timer(world, Timer::Host { host: arg }),
            kind::RECEIVER => {
                let scheme = (number / world.setting.host_count) as u16;
                hosts.on_timer(world, Timer::Receiver { host: arg, scheme });
            }
            kind::SWITCH if number & SHAPER != 0 => {
                world.refill(arg);
                hosts.serve(world, arg);
            }
            _ => self.start(MessageId(number), arg),
        }
        true
    }

    fn arrive(&mut self, from: PortId, ix: u32) {
        let Some(port) = self.port_of(from) else { return };
        let Self { world, hosts, .. } = self;
        let head = &mut world.packets.at_mut(ix).head;
        head.hops = head.hops.saturating_add(1);
        let head = *head;
        world.directory.note(world.clock.now(), world.setting.node, &head, false);
        if head.kind == Kind::Pause {
            world.pauses(port, ix, head.cc_tag);
            hosts.serve(world, port as u32);
            return;
        }
        if world.messages.get(head.flow).is_none() {
            // Forgotten since it was on its way.
            world.totals.refused += 1;
            world.lose(ix);
            return;
        }
        hosts.count_received(HOST, head.wire);
        if head.dst == world.setting.node {
            hosts.on_packet(world, HOST, ix);
        } else {
            // Hosts never forward.
            world.totals.wrong_host += 1;
            world.lose(ix);
        }
    }

    /// A step of a message's start.
    fn start(&mut self, message: MessageId, step: u32) {
        let Self { world, hosts, .. } = self;
        if world.messages.get(message).is_none() {
            return;
        }
        if step == START_GIVEN_UP {
            hosts.on_given_up(world, HOST, message);
            return;
        }
        if step == START_POSTED {
            let now = world.clock.now();
            let record = &mut world.messages.of_mut(message).record;
            record.start = now;
            let traffic = record.traffic;
            world.counters[usize::from(traffic)].started += 1;
            let overhead = world.setting.traffics[usize::from(traffic)].config.overhead;
            if overhead > Time::ZERO {
                world.schedule_start(message, START_AFTER_OVERHEAD, now.saturating_add(overhead));
                return;
            }
        }
        hosts.send_message(world, HOST, message);
    }

    /// What the application has not been told yet, in order.
    pub fn take_notices(&mut self) -> Vec<Notice> {
        core::mem::take(&mut self.world.notices)
    }

    /// What has been sent since the last call, in order.
    pub fn take_out(&mut self) -> Vec<Out> {
        let frame = |of: Leaving, world: &mut World<D>| {
            let mut bytes = Vec::new();
            let ends = (world.setting.node, world.directory.peer(of.port));
            let incast = of.incast.as_ref().map(|(incast, senders)| (*incast, &senders[..]));
            match of.carried.encode(&world.setting.formats, ends, incast, &mut bytes) {
                Ok(()) => Some(Out::Frame(Sent { port: of.port, arrives: of.arrives, bytes })),
                // Only flow control of InfiniBand has no frame, and a station sends none.
                Err(_) => {
                    world.totals.refused += 1;
                    None
                }
            }
        };
        let left = self.take_left();
        let world = &mut self.world;
        let out = left.into_iter().filter_map(|left| match left {
            Left::Packet(of) => frame(*of, world),
            Left::Control(to, control) => Some(Out::Control(to, control)),
        });
        out.collect()
    }

    /// The same with packets that are no frames yet, for an owner that writes frames with contents.
    pub fn take_left(&mut self) -> Vec<Left> {
        core::mem::take(&mut self.world.out)
    }

    /// What the receiver of a message that was added has to know of it.
    pub fn set_up_of(&self, message: MessageId) -> Option<SetUp> {
        self.world.messages.get(message).map(|_| self.world.set_up_of(message, None))
    }

    /// Payload bytes of a message that have arrived here in order; all of them when it is complete.
    pub fn delivered(&self, message: MessageId) -> u64 {
        let Some(entry) = self.world.messages.get(message) else { return 0 };
        if entry.record.finished != Time::NEVER {
            return entry.record.bytes;
        }
        let slot = entry.ends.recv;
        if slot == NO_SLOT { 0 } else { self.hosts.expected(slot).unwrap_or(0) }
    }

    /// Forgets a message on a queue pair of its own. What is still open of it is closed, without telling the other end;
    /// its frames are refused from now on.
    pub fn forget(&mut self, message: MessageId) {
        let Self { world, hosts, .. } = self;
        let Some(entry) = world.messages.get(message) else { return };
        if entry.ends.send != NO_SLOT {
            hosts.abandon(world, message);
        }
        if world.messages.of(message).ends.recv != NO_SLOT {
            hosts.on_given_up(world, HOST, message);
        }
        world.messages.remove(message);
    }

    /// How many messages it knows.
    pub fn known(&self) -> usize {
        self.world.messages.iter().count()
    }

    /// The surroundings, to change them.
    pub fn directory_mut(&mut self) -> &mut D {
        &mut self.world.directory
    }

    /// Everything before this time has happened.
    pub fn advance_to(&mut self, time: Time) {
        self.world.clock.advance_to(time);
    }

    /// The time.
    pub fn now(&self) -> Time {
        self.world.clock.now()
    }

    /// When something happens next, as far as known, or [`Time::NEVER`].
    pub fn next_at(&self) -> Time {
        self.world.clock.first_at()
    }

    /// The surroundings.
    pub fn directory(&self) -> &D {
        &self.world.directory
    }

    /// Totals so far.
    pub fn totals(&self) -> Totals {
        Totals { host: *self.hosts.totals(), ..self.world.totals }
    }

    /// Counters of each traffic, without the actions of schemes.
    pub fn counters(&self) -> &[TrafficCounters] {
        &self.world.counters
    }

    /// Actions of a scheme at this host.
    pub fn actions(&self, scheme: u16) -> &Actions {
        self.world.schemes[usize::from(scheme)].actions()
    }

    /// Packets dropped here, by scheme.
    pub fn dropped(&self) -> &[u64] {
        &self.world.dropped
    }

    /// The first drops and pauses, in order of time, at most [`Incident::KEPT`] of each.
    pub fn incidents(&self) -> &[Incident] {
        &self.world.incidents
    }

    /// Drops, and pauses, seen.
    pub fn incidents_seen(&self) -> [u64; 2] {
        self.world.incidents_seen
    }

    /// Each port: packets, bytes, most bytes queued, and the counters of its classes.
    pub fn ports(&self) -> impl Iterator<Item = (PortId, [u64; 3], Vec<ClassState>)> {
        let now = self.world.clock.now();
        let port = move |port: &Port| {
            let classes: Vec<ClassState> = port.counters(now).collect();
            let peak = if classes.len() == 2 { classes[1].peak } else { port.peak };
            (port.link.port, [port.packets, port.bytes, peak], classes)
        };
        self.world.ports.iter().map(port)
    }

    /// Data bytes queued at a port of this host.
    pub fn queued(&self, port: PortId) -> Option<u64> {
        let port = self.world.ports.iter().find(|of| of.link.port == port)?;
        Some((1..port.classes()).map(|class| port.queued(class)).sum())
    }

    /// The records of all messages that this host sends or receives, up to now, by number. Those of a message at its
    /// two ends are two halves.
    pub fn records(&self) -> Vec<(u32, FlowRecord)> {
        let mut records: Vec<(u32, FlowRecord)> =
            self.world.messages.iter().map(|(number, entry)| (number, entry.record)).collect();
        let own = |traffic: u16| !self.world.setting.traffics[usize::from(traffic)].config.endpoint.connection;
        let mut with = |message: u32, change: &mut dyn FnMut(&mut FlowRecord)| {
            if let Ok(at) = records.binary_search_by_key(&message, |(number, _)| *number) {
                change(&mut records[at].1);
            }
        };
        for sender in self.hosts.senders().filter(|sender| own(sender.traffic())) {
            with(sender.id().0, &mut |record| {
                (record.packets_sent, record.packets_resent, record.attempts) = sender.counts();
            });
        }
        for (slot, receiver) in self.hosts.receivers() {
            let Some(expected) = self.hosts.expected(slot) else { continue };
            if own(receiver.traffic()) {
                with(receiver.id().0, &mut |record| {
                    (record.packets_arrived, record.packets_marked, record.reordered) = receiver.counts();
                });
            }
            if let Some((message, delivered)) = self.arriving(receiver.id(), expected) {
                with(message, &mut |record| {
                    if record.finished == Time::NEVER {
                        record.delivered = delivered;
                    }
                });
            }
        }
        records
    }

    /// The message that a queue pair receives, which expects byte `expected` next, and the bytes of it received.
    fn arriving(&self, first: MessageId, expected: u64) -> Option<(u32, u64)> {
        let mut from = 0u64;
        let of_pair = self.world.messages.iter().filter(|(number, entry)| {
            entry.record.src != self.world.setting.node.0 && (*number == first.0 || entry.first == Some(first))
        });
        for (number, entry) in of_pair {
            let to = from.saturating_add(entry.record.bytes);
            if expected < to {
                return Some((number, expected - from));
            }
            from = to;
        }
        None
    }

    /// Payload bytes of endless messages that have arrived, by traffic.
    pub fn endless_delivered(&self) -> Vec<u64> {
        let mut sums = vec![0; self.world.setting.traffics.len()];
        for (slot, receiver) in self.hosts.receivers() {
            let Some(expected) = self.hosts.expected(slot) else { continue };
            let arriving = self.arriving(receiver.id(), expected);
            if let Some((message, delivered)) = arriving
                && self.world.messages.of(MessageId(message)).record.bytes >= ENDLESS
            {
                sums[usize::from(receiver.traffic())] += delivered;
            }
        }
        sums
    }
}
