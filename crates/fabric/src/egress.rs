//! Egress ports with their queues, the same at switches and at hosts: queueing, scheduling and transmission.

use crate::clock::{SHAPER, kind, source};
use crate::config::{BufferPolicy, MarkAt, NetworkConfig};
use crate::core::Core;
use crate::ecn::Marks;
use crate::packet::PacketIx;
use crate::port::{Port, PortIx, PortSet};
use crate::queue::{ChunkPool, Queue, Queued};
use crate::results::{ClassCounters, DropCause, What};
use crate::shaper::Shapers;
use fanin_cc::aqm::Aqm;
use fanin_cc::{IntHop, Kind, LaneView, PortView, flags};
use fanin_endpoint::scheduler::{Scheduler, Turns};
use fanin_engine::{Event, EventQueue, Streams, prefetch};
use fanin_units::{NodeId, PortId, Time};
use std::collections::BTreeMap;

/// What is counted of a class at a port, besides what its queue counts: [`ClassCounters`] has what each is.
#[derive(Clone, Copy, Default)]
struct Counted {
    marked: u64,
    dropped: u64,
    trimmed: u64,
    /// How long, and how often, PFC held it up; where flow control is by credits, the lack of them.
    held: Time,
    holds: u64,
}

/// All ports of a partition.
pub(crate) struct Egress {
    ports: Vec<Port>,
    /// `classes` per port.
    queues: Vec<Queue>,
    chunks: ChunkPool,
    /// `classes` per port.
    counters: Vec<Counted>,
    /// When each class of each port was paused.
    paused_since: Vec<Time>,
    /// When each was last resumed, or got credits again.
    resumed_at: Vec<Time>,
    marks: Marks,
    shapers: Shapers,
    /// Bit c: something is done with packets of class c as they leave.
    leaving: u8,
    /// With control, which is class 0.
    classes: usize,
    /// The other virtual lane of each class, or 0: congestion marks depend on the sum of both queues.
    sibling_vl: Vec<u8>,
    /// Bit c: class c is served before others.
    urgent: u8,
    /// Where classes have weights or priorities, with the turns of each port.
    scheduler: Option<Scheduler>,
    turns: Vec<Turns>,
    /// Control packets in a row after which data has a turn, or `u32::MAX`; and where that is so, those that each port
    /// has sent.
    weight_of_control: u32,
    in_a_row: Vec<u32>,
    /// Hosts are nodes below this number.
    hosts: u32,
    /// Whether links go down, so that a packet has to know the epoch of the link it is sent on.
    epochs: bool,
    /// Whether flow control is by credits, so that [`Port::paused`] has the classes that lack them.
    credits: bool,
    /// Lazy ports that may have something to flush, to nodes of this partition and to those of others.
    lazy: PortSet,
    lazy_remote: PortSet,
    /// Packets dropped as they arrived from other partitions, by the port that sent them and their class.
    dropped_remote: BTreeMap<(PortId, usize), u64>,
}

impl Egress {
    /// The ports at time zero. `largest` is the largest data packet on the wire.
    pub fn new(config: &NetworkConfig, mut ports: Vec<Port>, streams: &Streams, largest: u32) -> Self {
        let classes = config.classes.len() + 1;
        let mut sibling_vl = vec![0; classes];
        for (i, class) in config.classes.iter().enumerate() {
            if let Some(other) = class.sibling_vl {
                sibling_vl[i + 1] = other;
                sibling_vl[other as usize] = i as u8 + 1;
            }
        }
        let marks = Marks::new(config, &mut ports, streams);
        let shapers = Shapers::new(config, &ports);
        let scheduler = config.scheduler(largest);
        let weight = config.trimming.and_then(|trimming| trimming.weight);
        Self {
            queues: vec![Queue::default(); ports.len() * classes],
            chunks: ChunkPool::default(),
            counters: vec![Counted::default(); ports.len() * classes],
            paused_since: vec![Time::NEVER; ports.len() * classes],
            resumed_at: vec![Time::ZERO; ports.len() * classes],
            leaving: marks.leaving | shapers.classes,
            marks,
            shapers,
            classes,
            sibling_vl,
            urgent: config.classes_with(|class| class.urgent),
            turns: if scheduler.is_some() { vec![Turns::default(); ports.len()] } else { Vec::new() },
            scheduler,
            weight_of_control: weight.unwrap_or(u32::MAX),
            in_a_row: weight.map_or(Vec::new(), |_| vec![0; ports.len()]),
            hosts: config.graph.hosts,
            epochs: config.graph.links.iter().any(|link| !link.outages.is_empty()),
            credits: matches!(config.buffer, BufferPolicy::Credits { .. }),
            lazy: PortSet::none_of(ports.len()),
            lazy_remote: PortSet::none_of(ports.len()),
            dropped_remote: BTreeMap::new(),
            ports,
        }
    }

    /// A port.
    #[inline(always)]
    pub fn port(&self, out: PortIx) -> &Port {
        &self.ports[out.ix()]
    }

    /// Prefetches the state of a port that each packet needs, if there is such a port.
    #[inline(always)]
    pub fn prefetch(&self, out: PortIx) {
        prefetch(&self.ports, out.ix());
    }

    /// Prefetches a queue, if there is such a one.
    #[inline(always)]
    pub fn prefetch_queue(&self, out: PortIx, class: usize) {
        prefetch(&self.queues, out.ix() * self.classes + class);
    }

    /// All ports.
    pub fn ports(&self) -> &[Port] {
        &self.ports
    }

    /// Packets sent over one link each, so far.
    pub fn packet_hops(&self) -> u64 {
        self.ports.iter().map(|port| port.packets).sum()
    }

    /// How many classes there are, control included.
    #[inline(always)]
    pub fn classes(&self) -> usize {
        self.classes
    }

    /// The other virtual lane of a class, or 0.
    #[inline(always)]
    pub fn sibling_vl(&self, class: u8) -> u8 {
        self.sibling_vl[class as usize]
    }

    /// The queue of a class at a port.
    #[inline(always)]
    pub fn queue(&self, out: PortIx, class: usize) -> &Queue {
        &self.queues[out.ix() * self.classes + class]
    }

    /// The packets queued there, in order.
    pub fn waiting(&self, out: PortIx, class: usize) -> impl Iterator<Item = &Queued> {
        self.queue(out, class).iter(&self.chunks)
    }

    /// Bytes of these classes queued at a port.
    #[inline(always)]
    pub fn queued_in(&self, out: PortIx, classes: u8) -> u64 {
        (1..self.classes).filter(|c| classes & 1 << c != 0).map(|c| self.queue(out, c).bytes).sum()
    }

    /// Counters of a class at a port.
    pub fn counters(&self, out: PortIx, class: usize, now: Time) -> ClassCounters {
        let at = out.ix() * self.classes + class;
        let Counted { marked, dropped, trimmed, mut held, holds } = self.counters[at];
        if self.paused_since[at] != Time::NEVER {
            held += now.saturating_sub(self.paused_since[at]);
        }
        let none = (Time::ZERO, 0);
        let ((paused, pauses), (credit_wait, credit_waits)) =
            if self.credits { (none, (held, holds)) } else { ((held, holds), none) };
        let peak_queue = self.queues[at].peak;
        ClassCounters { marked, dropped, trimmed, peak_queue, paused, pauses, credit_wait, credit_waits }
    }

    /// Most data bytes ever queued at a port.
    pub fn peak_queue(&self, out: PortIx) -> u64 {
        if self.classes == 2 { self.queue(out, 1).peak } else { self.port(out).peak_queue }
    }

    /// The state of an active queue management, if the class marks by one.
    pub fn aqm(&self, out: PortIx, class: usize) -> Option<&Aqm> {
        self.marks.memory(out, class)
    }

    /// A switch program's view of a port.
    pub fn view(&self, out: PortIx) -> PortView {
        let port = self.port(out);
        PortView {
            to_switch: port.peer.0 >= self.hosts,
            queued: port.queued,
            up: port.up(),
            ..PortView::new(port.rate)
        }
    }

    /// A switch program's view of a class's queue at a port.
    pub fn lane(&self, out: PortIx, class: usize, buffer: u64) -> LaneView {
        LaneView {
            queued: self.queue(out, class).bytes,
            buffer,
            stopped: self.port(out).paused & 1 << class != 0,
            stopped_until: self.resumed_at[out.ix() * self.classes + class],
        }
    }

    /// Counts a packet that was cut.
    pub fn count_trim(&mut self, out: PortIx, class: u8) {
        self.counters[out.ix() * self.classes + class as usize].trimmed += 1;
    }

    /// Packets of a class that were cut at a port.
    pub fn trimmed(&self, out: PortIx, class: u8) -> u64 {
        self.counters[out.ix() * self.classes + class as usize].trimmed
    }

    /// Puts a packet into the place of the last one in its queue, if that is data of RDMA of the same size: their
    /// numbers stay, and what is under them is exchanged.
    #[cold]
    pub fn replace_last<Q>(&mut self, core: &mut Core<Q>, out: PortIx, ix: PacketIx) {
        let class = core.packets[ix].head.class as usize;
        let Some(last) = self.queues[out.ix() * self.classes + class].last_mut(&mut self.chunks) else { return };
        let head = &core.packets[last.ix()].head;
        if head.kind != Kind::Data || head.has(flags::TCP) || last.wire() != core.packets[ix].head.wire {
            return;
        }
        core.packets.swap(ix, last.ix());
        let markable = core.packets[last.ix()].head.flags & (flags::ECT | flags::CE) == flags::ECT;
        *last = Queued::new(last.ix(), last.ingress(), last.wire(), last.ingress_class() as u8, last.class(), markable);
        let now_last = last.ix();
        if self.epochs {
            core.packets[now_last].epoch = self.ports[out.ix()].epoch;
        }
        if self.marks.joining & 1 << class != 0 {
            let now = core.clock.now();
            self.mark(core, now, (out, class), now_last, MarkAt::Enqueue);
        }
    }

    /// Whether a port sends data next although control packets wait, as it has sent so many of them in a row.
    #[inline(never)]
    fn is_turn_of_data(port: &Port, in_a_row: &mut u32, weight: u32) -> bool {
        if port.waiting & !port.paused & !1 == 0 || port.of_host() {
            return false;
        }
        let turn = *in_a_row >= weight;
        *in_a_row = if turn { 0 } else { *in_a_row + 1 };
        turn
    }

    /// Counts a mark of a switch program.
    #[inline(always)]
    pub fn count_mark(&mut self, out: PortIx, class: u8) {
        self.counters[out.ix() * self.classes + class as usize].marked += 1;
    }

    /// Classes of a port that are paused by a switch, from a switch, and have packets.
    #[inline]
    pub fn stuck(&self, out: PortIx) -> u8 {
        let port = self.port(out);
        if port.node.0 < self.hosts || port.peer.0 < self.hosts { 0 } else { port.paused & port.waiting }
    }

    /// Whether a port is idle: a packet may leave at once, if its class is not paused.
    #[inline(always)]
    pub fn is_idle(&self, out: PortIx, class: u8, now: Time) -> bool {
        let port = self.port(out);
        port.busy_until <= now && port.waiting | port.pfc_pending == 0 && port.up() && port.paused & 1 << class == 0
    }

    /// Puts a packet into its class's queue at a port. `ingress` is the port it arrived by, or `PortIx::NONE` at a
    /// host, and `ingress_class` the class it arrived in.
    #[inline(always)]
    pub fn enqueue<Q: EventQueue>(
        &mut self,
        core: &mut Core<Q>,
        out: PortIx,
        ix: PacketIx,
        (ingress, ingress_class): (PortIx, u8),
    ) {
        let now = core.clock.now();
        let class = core.packets[ix].head.class;
        if self.marks.joining & 1 << class != 0 {
            self.mark(core, now, (out, class as usize), ix, MarkAt::Enqueue);
        }
        let port = &mut self.ports[out.ix()];
        port.waiting |= 1 << class;
        let packet = &mut core.packets[ix];
        if self.epochs {
            packet.epoch = port.epoch;
        }
        let markable = packet.head.flags & (flags::ECT | flags::CE) == flags::ECT;
        let queued = Queued::new(ix, ingress.0, packet.head.wire, ingress_class, class, markable);
        if class != 0 {
            port.queued += queued.wire() as u64;
            // With one data class its queue has the peak, and this cache line is not touched.
            if self.classes > 2 && port.queued > port.peak_queue {
                port.peak_queue = port.queued;
            }
            core.probes.see_queue(now, port);
        }
        self.queues[out.ix() * self.classes + class as usize].push(&mut self.chunks, queued);
    }

    /// Takes the first packet of a class at a port.
    #[inline(always)]
    pub fn take<Q>(&mut self, core: &mut Core<Q>, now: Time, out: PortIx, class: usize) -> Option<Queued> {
        let queue = &mut self.queues[out.ix() * self.classes + class];
        let queued = queue.pop(&mut self.chunks)?;
        let port = &mut self.ports[out.ix()];
        let last = queue.is_empty();
        if last {
            port.waiting &= !(1 << class);
        }
        if class != 0 {
            port.queued -= queued.wire() as u64;
        }
        if self.marks.remember() {
            let gone = now + port.tx_time(queued.wire() as u32);
            self.marks.memory_mut(out, class).leaves(now, queue.bytes + queued.wire() as u64, last, gone);
        }
        if class != 0 {
            core.probes.see_queue(now, port);
        }
        Some(queued)
    }

    /// The packet that a free port sends next, except pause frames: control, then its data classes by their priorities
    /// and weights, or in turn.
    #[inline(always)]
    pub fn next<Q: EventQueue>(&mut self, core: &mut Core<Q>, now: Time, out: PortIx) -> Option<Queued> {
        let port = &self.ports[out.ix()];
        if port.waiting & 1 != 0 {
            let weight = self.weight_of_control;
            if weight == u32::MAX || !Self::is_turn_of_data(port, &mut self.in_a_row[out.ix()], weight) {
                return self.take(core, now, out, 0);
            }
        }
        let ready = port.waiting & !port.paused & !1;
        if ready == 0 {
            return None;
        }
        let class = match self.scheduler {
            None => port.choose(ready, self.urgent),
            Some(_) => self.choose_queued(out, ready),
        };
        self.ports[out.ix()].turn = class;
        let next = self.take(core, now, out, class as usize)?;
        if self.leaving & 1 << class != 0 {
            if self.shapers.has(class) {
                self.spend(core, now, out, &next);
            } else if next.markable() {
                self.mark(core, now, (out, class as usize), next.ix(), MarkAt::Dequeue);
            }
        }
        Some(next)
    }

    /// The classes with a shaper.
    pub fn shaped(&self) -> u8 {
        self.shapers.classes
    }

    /// Puts a packet of a shaped class into its queue, or drops it where that is full. It takes no room in buffers.
    #[inline(never)]
    pub fn enqueue_shaped<Q: EventQueue>(&mut self, core: &mut Core<Q>, node: NodeId, out: PortIx, ix: PacketIx) {
        let head = &core.packets[ix].head;
        let (class, wire) = (head.class, head.wire);
        let queued = self.queue(out, class as usize).bytes;
        if !self.shapers.of(out, class).takes(queued, wire) {
            return self.drop_packet(core, node, out, ix, DropCause::Shaper);
        }
        self.enqueue(core, out, ix, (PortIx::NONE, class));
        self.hold(core, core.clock.now(), out, class);
    }

    /// A packet of a shaped class leaves: takes its tokens.
    #[inline(never)]
    fn spend<Q: EventQueue>(&mut self, core: &mut Core<Q>, now: Time, out: PortIx, left: &Queued) {
        self.shapers.of(out, left.class()).spend(now, left.wire() as u32);
        self.hold(core, now, out, left.class());
    }

    /// Lets a shaped class count as waiting at a port, or has an event do so once there are tokens for its first
    /// packet.
    fn hold<Q: EventQueue>(&mut self, core: &mut Core<Q>, now: Time, out: PortIx, class: u8) {
        let first = self.waiting(out, class as usize).next().map(|first| first.wire() as u32);
        let Some(wire) = first else { return };
        let shaper = self.shapers.of(out, class);
        let at = shaper.opens_at(wire);
        let port = &mut self.ports[out.ix()];
        if at <= now {
            port.waiting |= 1 << class;
            return;
        }
        port.waiting &= !(1 << class);
        if shaper.due != at {
            shaper.due = at;
            core.clock.schedule(at, source(kind::SWITCH, port.id.0 | SHAPER), out.0);
        }
    }

    /// The event of a port's shapers.
    pub fn refill<Q: EventQueue>(&mut self, core: &mut Core<Q>, out: PortIx) {
        let now = core.clock.now();
        for class in 1..self.classes as u8 {
            if self.shapers.has(class) && self.shapers.of(out, class).due == now {
                self.shapers.of(out, class).due = Time::NEVER;
                self.hold(core, now, out, class);
            }
        }
    }

    /// Which of these data classes, whose queues have packets, is the next by priority and weight; its first packet
    /// counts as sent.
    #[inline(never)]
    fn choose_queued(&mut self, out: PortIx, classes: u8) -> u8 {
        let class = self.choose(out, classes);
        if let Some(wire) = self.first_wire(out, class as usize) {
            self.count_sent(out, class, wire);
        }
        class
    }

    /// Which of these data classes sends next at a port.
    #[inline(always)]
    pub fn choose(&self, out: PortIx, classes: u8) -> u8 {
        match &self.scheduler {
            None => self.port(out).choose(classes, self.urgent),
            Some(scheduler) => scheduler.choose(&self.turns[out.ix()], classes),
        }
    }

    /// Whether classes have weights or priorities, so that what they send counts.
    #[inline(always)]
    pub fn counts_sent(&self) -> bool {
        self.scheduler.is_some()
    }

    /// A packet of a class counts in its turn.
    #[inline(never)]
    pub fn count_sent(&mut self, out: PortIx, class: u8, wire: u16) {
        if let Some(scheduler) = &self.scheduler
            && class != 0
        {
            scheduler.sends(&mut self.turns[out.ix()], class, wire);
        }
    }

    /// Notes that a class was served, where classes take turns packet by packet.
    #[inline(always)]
    pub fn set_turn(&mut self, out: PortIx, class: u8) {
        self.ports[out.ix()].turn = class;
    }

    /// Marks a packet that may be marked, according to its queue.
    #[inline(always)]
    fn mark<Q>(&mut self, core: &mut Core<Q>, now: Time, (out, class): (PortIx, usize), ix: PacketIx, at: MarkAt) {
        let mut queue = self.queue(out, class).bytes;
        // row D16: marks depend on the sum over the lanes of the class
        if self.sibling_vl[class] != 0 {
            queue += self.queue(out, self.sibling_vl[class] as usize).bytes;
        }
        let port = &self.ports[out.ix()];
        let head = &mut core.packets[ix].head;
        if self.marks.marks((out, port, class), at, now, queue, head.wire)
            && head.flags & (flags::ECT | flags::CE) == flags::ECT
        {
            head.flags |= flags::CE;
            self.counters[out.ix() * self.classes + class].marked += 1;
        }
    }

    /// A packet that leaves at once gets the link's epoch, and passes the active queue management with an empty queue.
    #[inline(always)]
    pub fn pass<Q>(&mut self, core: &mut Core<Q>, out: PortIx, ix: PacketIx) {
        if self.epochs {
            core.packets[ix].epoch = self.ports[out.ix()].epoch;
        }
        if self.marks.remember() {
            self.pass_aqm(core, out, ix);
        }
    }

    #[inline(never)]
    fn pass_aqm<Q>(&mut self, core: &mut Core<Q>, out: PortIx, ix: PacketIx) {
        let head = &core.packets[ix].head;
        let (class, wire) = (head.class as usize, head.wire as u32);
        if *self.marks.memory_mut(out, class) != Aqm::Off {
            let now = core.clock.now();
            self.mark(core, now, (out, class), ix, MarkAt::Enqueue);
            let gone = now + self.ports[out.ix()].tx_time(wire);
            self.marks.memory_mut(out, class).leaves(now, 0, true, gone);
        }
    }

    /// A packet that leaves a host past its queues gets the link's epoch.
    #[inline(always)]
    pub fn stamp_epoch<Q>(&self, core: &mut Core<Q>, out: PortIx, ix: PacketIx) {
        if self.epochs {
            core.packets[ix].epoch = self.ports[out.ix()].epoch;
        }
    }

    /// Puts a packet on the wire: it arrives at the other end after its own time and the delay of the link.
    #[inline(always)]
    pub fn transmit<Q: EventQueue>(&mut self, core: &mut Core<Q>, now: Time, out: PortIx, ix: PacketIx, wire: u16) {
        self.occupy(core, now, out, ix, wire);
        self.send_off(core, out, ix);
    }

    /// A packet begins to leave. Returns when its last bit has left.
    #[inline(always)]
    pub fn occupy<Q>(&mut self, core: &mut Core<Q>, now: Time, out: PortIx, ix: PacketIx, wire: u16) -> Time {
        if core.probes.watches_links() {
            self.watch_departure(core, now, out, ix);
        }
        let port = &mut self.ports[out.ix()];
        debug_assert!(port.busy_until <= now && port.up(), "one packet at a time, on a link that is up");
        let left = now + port.tx_time(wire as u32);
        port.busy_until = left;
        port.packets += 1;
        port.bytes += wire as u64;
        left
    }

    /// A packet is at the other end when its last bit, which leaves now or when the port is free, has got there.
    #[inline(always)]
    fn send_off<Q: EventQueue>(&mut self, core: &mut Core<Q>, out: PortIx, ix: PacketIx) {
        let port = &self.ports[out.ix()];
        let at = port.busy_until + port.delay;
        let arrival = Event { at, source: source(kind::ARRIVE, port.id.0), arg: ix };
        match port.remote() {
            None => core.clock.push(arrival),
            Some(partition) => core.outbox.add_arrival(partition, arrival),
        }
    }

    /// The last bit of a packet has left that held its buffer until then.
    #[inline(never)]
    pub fn depart<Q: EventQueue>(&mut self, core: &mut Core<Q>, out: PortIx, left: &Queued) {
        let class = left.class();
        if self.marks.last & 1 << class != 0 && left.markable() && !self.shapers.has(class) {
            let now = core.clock.now();
            self.mark(core, now, (out, class as usize), left.ix(), MarkAt::LastBit);
        }
        self.send_off(core, out, left.ix());
    }

    /// Writes telemetry into a packet that leaves, and reports it to the tap and to traces of messages.
    #[inline(always)]
    fn watch_departure<Q>(&mut self, core: &mut Core<Q>, now: Time, out: PortIx, ix: PacketIx) {
        let port = &self.ports[out.ix()];
        let head = &core.packets[ix].head;
        // A switch writes telemetry into a data packet that asks for it, as it takes it from its queue (HPCC 4.1). The
        // packet itself counts in neither number. ACKs carry the telemetry of the data packet back, and switches do not
        // modify them (3.1).
        if head.has(flags::INT) && head.kind == Kind::Data && !port.of_host() {
            let hop = IntHop { rate: port.rate, time: now, sent: port.bytes, queued: port.queued };
            core.packets.record_hop(ix, port.node, hop);
        }
        if core.probes.watches_packets() {
            core.probes.see_departure(now, port, ix, &core.packets);
        }
    }

    /// Makes sure that the port is served again at `at`.
    #[inline(always)]
    pub fn wake<Q: EventQueue>(&mut self, core: &mut Core<Q>, out: PortIx, at: Time) {
        let port = &mut self.ports[out.ix()];
        if at < port.wake_at {
            if port.lazy() {
                if port.remote().is_some() {
                    // It is flushed at the end of every step.
                    return self.lazy_remote.insert(out);
                }
                self.lazy.insert(out);
            }
            port.wake_at = at;
            core.clock.schedule(at, source(kind::PORT, port.id.0), out.0);
        }
    }

    /// Processes a wake-up of a port. Returns whether it is the valid one, and whether the port is lazy.
    #[inline(always)]
    pub fn woken(&mut self, out: PortIx, now: Time) -> (bool, bool) {
        let port = &mut self.ports[out.ix()];
        if port.wake_at != now {
            return (false, false);
        }
        port.wake_at = Time::NEVER;
        if port.lazy() {
            self.lazy.remove(out);
        }
        (true, port.lazy())
    }

    /// Makes departures from a port lazy or eager. It has been flushed.
    pub fn set_lazy<Q: EventQueue>(&mut self, core: &mut Core<Q>, out: PortIx, lazy: bool) {
        let port = &mut self.ports[out.ix()];
        // A packet has to arrive after the port is served.
        port.set_lazy(lazy && port.delay > Time::ZERO && port.tx_time(1) > Time::ZERO);
        if !port.lazy() && port.ready() != 0 {
            let at = port.busy_until;
            self.wake(core, out, at);
        }
    }

    /// Lazy ports that may have something to flush, to nodes of this partition.
    pub fn lazy(&self) -> &PortSet {
        &self.lazy
    }

    /// Those to nodes of other partitions.
    pub fn lazy_remote(&self) -> &PortSet {
        &self.lazy_remote
    }

    /// A remote port was flushed: removes it if it has no more packets to send.
    pub fn flushed_remote(&mut self, out: PortIx) {
        let port = &self.ports[out.ix()];
        if port.ready() == 0 || !port.lazy() {
            self.lazy_remote.remove(out);
        }
    }

    /// Marks the pause state of a class to be sent to the peer of an ingress.
    pub fn announce(&mut self, ingress: PortIx, class: usize) {
        self.ports[ingress.ix()].pfc_pending |= 1 << class;
    }

    /// Takes the classes whose pause state is to be sent to the peer.
    pub fn take_pending(&mut self, out: PortIx) -> u8 {
        core::mem::take(&mut self.ports[out.ix()].pfc_pending)
    }

    /// When a class of a port was paused, or [`Time::NEVER`] where it is not.
    pub fn paused_since(&self, out: PortIx, class: usize) -> Time {
        self.paused_since[out.ix() * self.classes + class]
    }

    /// A PAUSE frame for a class arrived.
    pub fn count_pause<Q>(&mut self, core: &mut Core<Q>, out: PortIx, class: usize) {
        core.incident(self.ports[out.ix()].id, What::Paused(class as u8));
        self.counters[out.ix() * self.classes + class].holds += 1;
    }

    /// The peer paused or resumed a class.
    pub fn set_paused<Q>(&mut self, core: &mut Core<Q>, out: PortIx, class: usize, paused: bool) {
        let (now, at) = (core.clock.now(), out.ix() * self.classes + class);
        let port = &mut self.ports[out.ix()];
        let since = &mut self.paused_since[at];
        if paused {
            port.paused |= 1 << class;
            if *since == Time::NEVER {
                *since = now;
                core.probes.see_pause(now, port.id, class as u8, true);
            }
        } else {
            port.paused &= !(1 << class);
            if *since != Time::NEVER {
                self.counters[at].held += now - *since;
                *since = Time::NEVER;
                self.resumed_at[at] = now;
                core.probes.see_pause(now, port.id, class as u8, false);
            }
        }
    }

    /// Whether flow control is by credits.
    pub fn has_credits(&self) -> bool {
        self.credits
    }

    /// Bytes on the wire of the first packet of a queue.
    pub fn first_wire(&self, out: PortIx, class: usize) -> Option<u16> {
        self.waiting(out, class).next().map(Queued::wire)
    }

    /// A class lacks credits for its next packet, or no longer does. Returns whether that changes it.
    pub fn set_lacking<Q>(&mut self, core: &mut Core<Q>, out: PortIx, class: usize, lacks: bool) -> bool {
        let (now, at) = (core.clock.now(), out.ix() * self.classes + class);
        let port = &mut self.ports[out.ix()];
        if (port.paused & 1 << class != 0) == lacks {
            return false;
        }
        port.paused ^= 1 << class;
        core.probes.see_pause(now, port.id, class as u8, lacks);
        let since = &mut self.paused_since[at];
        if lacks {
            self.counters[at].holds += 1;
            *since = now;
        } else {
            self.counters[at].held += now - *since;
            *since = Time::NEVER;
            self.resumed_at[at] = now;
        }
        true
    }

    /// Takes one class whose credits are to be told to the peer.
    pub fn take_one_pending(&mut self, out: PortIx) -> usize {
        let pending = &mut self.ports[out.ix()].pfc_pending;
        let class = pending.trailing_zeros() as usize;
        *pending &= *pending - 1;
        class
    }

    /// A link went down: clears all pause state.
    pub fn forget_pauses<Q>(&mut self, core: &mut Core<Q>, out: PortIx) {
        for class in 1..self.classes {
            if self.credits {
                self.set_lacking(core, out, class, false);
            } else if self.ports[out.ix()].paused & 1 << class != 0 {
                self.set_paused(core, out, class, false);
            }
        }
        self.ports[out.ix()].pfc_pending = 0;
    }

    /// A link goes down or comes up: packets on the wire are lost by its epoch.
    pub fn set_up(&mut self, out: PortIx, up: bool) {
        let port = &mut self.ports[out.ix()];
        port.set_up(up);
        port.epoch = port.epoch.wrapping_add(1);
    }

    /// A packet is dropped at its egress port.
    #[cold]
    #[inline(never)]
    pub fn drop_packet<Q>(&mut self, core: &mut Core<Q>, node: NodeId, out: PortIx, ix: PacketIx, cause: DropCause) {
        self.drop_from(core, node, (self.ports[out.ix()].id, Some(out)), ix, cause);
    }

    /// A packet is dropped and counted at a port, which has a row if it is in this partition.
    pub fn drop_from<Q>(
        &mut self,
        core: &mut Core<Q>,
        node: NodeId,
        (port, row): (PortId, Option<PortIx>),
        ix: PacketIx,
        cause: DropCause,
    ) {
        let class = core.packets[ix].head.class as usize;
        match row {
            Some(row) => self.counters[row.ix() * self.classes + class].dropped += 1,
            None => *self.dropped_remote.entry((port, class)).or_default() += 1,
        }
        core.incident(port, What::Dropped(cause));
        core.lose(node, ix, cause);
    }

    /// Packets of a class from a port of another partition that were dropped as they arrived here.
    pub fn dropped_remote(&self, port: PortId, class: usize) -> u64 {
        self.dropped_remote.get(&(port, class)).copied().unwrap_or(0)
    }
}
