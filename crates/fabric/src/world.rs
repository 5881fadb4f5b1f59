//! The surroundings of the hosts of a partition: the network, and the messages that applications post.

use crate::clock::{ANSWERS, START_AFTER_OVERHEAD, START_GIVEN_UP, kind, source};
use crate::messages::Messages;
use crate::network::Network;
use crate::packet::{Packet, PacketIx};
use crate::partition::RemoteUpdate;
use crate::path::{FlowPath, key};
use crate::port::PortIx;
use crate::results::{DropCause, FlowRecord, TrafficCounters};
use fanin_cc::{Header, Instance, PathInfo, Telemetry};
use fanin_endpoint::host::{
    Beside, Ends, HostFifo, Io, Needs, PacketSizes, PathQuery, Route, Timer, Traffic, announced_incast,
};
use fanin_endpoint::tcp::Segment;
use fanin_engine::{EventQueue, mix};
use fanin_units::{MessageId, NodeId, PortId, Rate, Time};
use std::sync::Arc;

/// The network and the messages of a partition.
pub(crate) struct World<Q> {
    pub net: Network<Q>,
    pub messages: Messages,
    /// Memory for the ports of a path, kept so as not to allocate again.
    scratch: Vec<PortId>,
}

impl<Q: EventQueue> World<Q> {
    pub fn new(net: Network<Q>, messages: Messages) -> Self {
        Self { net, messages, scratch: Vec::new() }
    }

    /// The hash key of a path.
    fn key(&self, query: &PathQuery<FlowPath>) -> u32 {
        if let Some(path) = query.same_as {
            return path.key;
        }
        let record = &self.messages.records()[query.message.ix()];
        let name = match query.per_pair {
            true => (record.src as u64) << 32 | record.dst as u64,
            false => self.messages.state(query.message).name,
        };
        self.net.plan().key(name, query.back)
    }

    /// Posts the messages whose triggers have just fired, each at its time.
    #[inline(always)]
    pub fn post_triggered(&mut self) {
        while let Some((at, message)) = self.messages.next_triggered() {
            self.net.core_mut().clock.schedule(at, source(kind::START, message), 0);
        }
    }

    /// Schedules a step of a message's start.
    pub fn schedule_start(&mut self, message: MessageId, step: u32, at: Time) {
        self.net.core_mut().clock.schedule(at, source(kind::START, message.0), step);
    }

    /// Notes the incast that a message announces, for packets that are captured later.
    pub fn note_incast(&mut self, message: MessageId) {
        let incast = announced_incast(self, message);
        self.net.core_mut().probes.add_incast(message, incast);
    }

    /// The contents of a packet besides its header are stored beside the slab.
    #[inline(always)]
    fn put_beside(&mut self, ix: PacketIx, beside: Beside<'_>) {
        match beside {
            Beside::Nothing => {}
            Beside::RoomForTelemetry => self.net.core_mut().packets.start_telemetry(ix),
            Beside::Telemetry(telemetry) => self.net.core_mut().packets.set_telemetry(ix, telemetry),
            Beside::Segment(segment) => self.net.core_mut().packets.set_segment(ix, *segment),
            Beside::Arrived(arrived) => {
                let packets = &mut self.net.core_mut().packets;
                packets.set_bitmap(ix, arrived.bitmap);
                arrived.telemetry.iter().for_each(|telemetry| packets.set_telemetry(ix, telemetry));
            }
        }
    }
}

impl<Q: EventQueue> Io for World<Q> {
    type Path = FlowPath;
    type Packet = PacketIx;

    #[inline(always)]
    fn now(&self) -> Time {
        self.net.core().clock.now()
    }

    #[inline(always)]
    fn set_timer(&mut self, timer: Timer, at: Time) {
        let (kind, number, arg) = match timer {
            Timer::Sender { number, slot } => (kind::SENDER, number, slot),
            Timer::Host { host } => (kind::HOST, self.net.host_number(host), host),
            Timer::Answers { host } => (kind::HOST, self.net.host_number(host) | ANSWERS, host),
            Timer::Receiver { host, scheme } => {
                let hosts = self.net.config().graph.hosts;
                (kind::RECEIVER, scheme as u32 * hosts + self.net.host_number(host), host)
            }
        };
        self.net.core_mut().clock.schedule(at, source(kind, number), arg);
    }

    fn random(&self, host: u32, number: u64) -> u64 {
        mix(self.net.plan().streams.word("host cpu", u64::from(self.net.host_number(host))), number)
    }

    #[inline(always)]
    fn sizes(&self) -> &PacketSizes {
        &self.net.plan().config.packet
    }

    #[inline(always)]
    fn host_fifo(&self) -> Option<HostFifo> {
        self.net.plan().config.host_fifo
    }

    fn largest_packet(&self) -> u32 {
        self.net.plan().largest
    }

    #[inline(always)]
    fn traffic(&self, traffic: u16) -> &Traffic {
        &self.messages.traffics()[traffic as usize]
    }

    #[inline(always)]
    fn counters(&mut self, traffic: u16) -> &mut TrafficCounters {
        self.messages.counters_mut(traffic)
    }

    #[inline(always)]
    fn scheme(&mut self, scheme: u16) -> &mut Instance {
        self.net.scheme_and_packets(scheme).0
    }

    #[inline(always)]
    fn scheme_and_telemetry(&mut self, scheme: u16, packet: PacketIx) -> (&mut Instance, &Telemetry) {
        let (scheme, packets) = self.net.scheme_and_packets(scheme);
        (scheme, packets.telemetry(packet))
    }

    #[inline(always)]
    fn record(&self, message: MessageId) -> &FlowRecord {
        &self.messages.records()[message.ix()]
    }

    #[inline(always)]
    fn record_mut(&mut self, message: MessageId) -> &mut FlowRecord {
        self.messages.record_mut(message)
    }

    #[inline(always)]
    fn ends(&self, message: MessageId) -> Ends {
        self.messages.state(message).ends
    }

    #[inline(always)]
    fn ends_mut(&mut self, message: MessageId) -> &mut Ends {
        &mut self.messages.state_mut(message).ends
    }

    fn incast(&self, message: MessageId) -> Option<&Arc<[u32]>> {
        self.messages.state(message).senders.as_ref()
    }

    fn forget_incast(&mut self, message: MessageId) {
        self.messages.state_mut(message).senders = None;
    }

    fn answers(&self, message: MessageId) -> Option<MessageId> {
        let asked = self.messages.state(message).answers;
        (asked != crate::message::NONE).then_some(MessageId(asked))
    }

    fn will_be_answered(&self, message: MessageId) -> bool {
        self.messages.will_be_answered(message)
    }

    fn connection(&self, traffic: u16, from: u32, to: u32) -> Option<MessageId> {
        self.messages.connection(traffic, from, to)
    }

    fn open_connection(&mut self, message: MessageId) {
        self.messages.set_connection(message, message);
    }

    fn on_arrived(&mut self, message: MessageId) -> bool {
        let now = self.now();
        self.net.core_mut().probes.see_message(now, message.0, true);
        let answered = self.messages.arrived(message, now);
        self.post_triggered();
        answered
    }

    #[inline(always)]
    fn on_acked(&mut self, message: MessageId) {
        self.messages.acked(message);
    }

    #[inline(always)]
    fn after_acked(&mut self) {
        let now = self.now();
        self.messages.after_acked(now);
        self.post_triggered();
    }

    fn give_up(&mut self, message: MessageId) -> Time {
        // As long as a packet may be on its way in an idle network.
        let at = self.now().saturating_add(self.net.plan().routes.network_rtt);
        let dst = NodeId(self.record(message).dst);
        if self.net.core().outbox.is_here(dst) {
            self.schedule_start(message, START_GIVEN_UP, at);
        } else {
            self.net.core_mut().outbox.add_update(dst, RemoteUpdate::GivenUp { message: message.0, at });
        }
        at
    }

    fn post_again(&mut self, message: MessageId, at: Time) {
        self.schedule_start(message, START_AFTER_OVERHEAD, at);
    }

    fn host(&self, node: NodeId) -> Option<u32> {
        self.net.core().outbox.is_here(node).then(|| self.net.plan().layout.home(node))
    }

    fn announce_message(&mut self, message: MessageId, first: Option<MessageId>) {
        let record = &self.messages.records()[message.ix()];
        let (dst, hops) = (NodeId(record.dst), record.hops);
        if self.net.core().outbox.is_cut() && (first.is_some() || self.net.has_programs()) {
            let update = RemoteUpdate::SetOut { message: message.0, first: first.map(|first| first.0), hops };
            self.net.core_mut().outbox.add_update(dst, update);
        }
    }

    fn announce_stream(&mut self, message: MessageId, first: MessageId) {
        let (at, dst) = (self.now(), NodeId(self.record(message).dst));
        let update = RemoteUpdate::Stream { message: message.0, first: first.0, at };
        self.net.core_mut().outbox.add_update(dst, update);
    }

    fn stream_opener(&self, message: MessageId) -> Option<MessageId> {
        self.messages.stream_opener(message)
    }

    fn note_stream_opener(&mut self, message: MessageId, first: MessageId) {
        self.messages.note_stream_opener(message, first);
    }

    fn route(&mut self, query: &PathQuery<FlowPath>, needs: Needs) -> Route<FlowPath> {
        let key = self.key(query);
        let mut walked = core::mem::take(&mut self.scratch);
        walked.clear();
        let mut source_route = self.net.routes().source_route();
        let reaches = self.net.routes().walk(query.from, query.to, key, |port, number| {
            source_route.add(number);
            walked.push(port);
        });
        let record = &self.messages.records()[query.message.ix()];
        let own = walked.first().filter(|_| self.net.core().outbox.is_here(query.from));
        let route = Route {
            nic: own.and_then(|port| self.net.egress().port(self.net.row(*port)).nic()),
            path: FlowPath { key, source_route: source_route.finish(reaches) },
            info: match needs {
                Needs::Ideal => PathInfo::new(Rate::ZERO, Time::ZERO, 0, 0),
                _ => {
                    let overhead = self.messages.traffics()[record.traffic as usize].overhead;
                    let info = self.net.plan().path_info(self.net.routes(), &walked, overhead);
                    PathInfo { id: query.message, from: query.from, to: query.to, ..info }
                }
            },
            ideal: match needs {
                Needs::Info => Time::NEVER,
                _ => self.net.plan().ideal(self.net.routes(), &walked, query.to, record.bytes),
            },
            hops: walked.len() as u16,
        };
        self.scratch = walked;
        route
    }

    fn path(&self, query: &PathQuery<FlowPath>) -> FlowPath {
        self.net.routes().path(query.from, query.to, self.key(query))
    }

    fn numbered_path(&self, path: FlowPath, from: NodeId, to: NodeId, number: u16) -> FlowPath {
        let key = key(u64::from(path.key), u64::from(number));
        // A host with several links leaves by that of its flow, from where switches look the way up.
        if self.net.routes().has_one_port(from) {
            self.net.routes().path(from, to, key)
        } else {
            FlowPath::by_hash(key)
        }
    }

    fn path_by_hash(&self, query: &PathQuery<FlowPath>) -> FlowPath {
        FlowPath::by_hash(self.key(query))
    }

    fn nic_of(&self, from: NodeId, to: NodeId, path: FlowPath) -> Option<u32> {
        let port = self.net.routes().next(from, to, path.key)?;
        self.net.egress().port(self.net.row(port)).nic()
    }

    #[inline(always)]
    fn make(&mut self, port: u32, head: &Header, path: FlowPath, scheme: u16, beside: Beside<'_>) -> PacketIx {
        let ix = self.net.core_mut().new_packet(&Packet { scheme, ..Packet::new(*head, path) });
        self.put_beside(ix, beside);
        self.net.set_next_hop(ix, PortIx(port));
        ix
    }

    #[inline(always)]
    fn make_control(&mut self, head: &Header, path: FlowPath, scheme: u16, beside: Beside<'_>) -> Option<u32> {
        let ix = self.net.core_mut().new_packet(&Packet { scheme, ..Packet::new(*head, path) });
        self.put_beside(ix, beside);
        let Some(port) = self.net.routes().out_of_host(head.src, head.dst, path.key) else {
            self.net.core_mut().lose(head.src, ix, DropCause::NoRoute);
            return None;
        };
        let out = self.net.row(port);
        self.net.set_next_hop(ix, out);
        self.net.enqueue(out, ix, head.class);
        self.net.egress().port(out).nic()
    }

    #[inline(always)]
    fn header(&self, packet: PacketIx) -> &Header {
        &self.net.core().packets[packet].head
    }

    #[inline(always)]
    fn segment(&self, packet: PacketIx) -> Segment {
        self.net.core().packets.segment(packet)
    }

    fn bitmap(&self, packet: PacketIx) -> u64 {
        self.net.core().packets.bitmap(packet)
    }

    #[inline(always)]
    fn telemetry(&self, packet: PacketIx) -> &Telemetry {
        self.net.core().packets.telemetry(packet)
    }

    #[inline(always)]
    fn deflections(&self, packet: PacketIx) -> u8 {
        self.net.core().packets[packet].next_hop.deflections()
    }

    #[inline(always)]
    fn consume(&mut self, packet: PacketIx) {
        self.net.core_mut().consume(packet);
    }

    #[inline(always)]
    fn is_up(&self, port: u32) -> bool {
        self.net.egress().port(PortIx(port)).up()
    }

    #[inline(always)]
    fn rate(&self, port: u32) -> Rate {
        self.net.egress().port(PortIx(port)).rate
    }

    #[inline(always)]
    fn tx_time(&self, port: u32, wire: u32) -> Time {
        self.net.egress().port(PortIx(port)).tx_time(wire)
    }

    #[inline(always)]
    fn free_at(&self, port: u32) -> Time {
        self.net.egress().port(PortIx(port)).busy_until
    }

    #[inline(always)]
    fn paused(&self, port: u32) -> u8 {
        self.net.egress().port(PortIx(port)).paused
    }

    #[inline(always)]
    fn has_queued(&self, port: u32) -> bool {
        self.net.egress().port(PortIx(port)).ready() != 0
    }

    fn queued(&self, port: u32, class: u8) -> u64 {
        self.net.egress().queue(PortIx(port), class as usize).bytes
    }

    #[inline(always)]
    fn choose_class(&self, port: u32, classes: u8) -> u8 {
        self.net.egress().choose(PortIx(port), classes)
    }

    fn last_class(&self, port: u32) -> u8 {
        self.net.egress().port(PortIx(port)).turn
    }

    #[inline(always)]
    fn set_last_class(&mut self, port: u32, class: u8) {
        self.net.set_turn(PortIx(port), class);
    }

    #[inline(always)]
    fn send_queued(&mut self, port: u32) -> bool {
        self.net.send_queued(PortIx(port))
    }

    #[inline(always)]
    fn send(&mut self, port: u32, packet: PacketIx) {
        self.net.send(PortIx(port), packet);
    }

    fn enqueue(&mut self, port: u32, packet: PacketIx) {
        let class = self.net.core().packets[packet].head.class;
        self.net.enqueue(PortIx(port), packet, class);
    }

    #[inline(always)]
    fn wake_port(&mut self, port: u32, at: Time) {
        self.net.wake(PortIx(port), at);
    }
}
