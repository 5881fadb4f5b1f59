//! The surroundings of the host code: timers, ports, messages.

use crate::directory::Directory;
use crate::exchange::{Left, Notice};
use crate::messages::{Packet, What};
use crate::path::Path;
use crate::setup::{Control, TearDown};
use crate::world::World;
use fanin_cc::{Header, Instance, PathInfo, Telemetry};
use fanin_endpoint::host::{
    AckBitmap, Beside, Ends, FlowRecord, HostFifo, Io, Needs, PacketSizes, PathQuery, Route, Timer, Traffic,
    TrafficCounters,
};
use fanin_endpoint::tcp::Segment;
use fanin_engine::clock::{ANSWERS, START_AFTER_OVERHEAD, START_GIVEN_UP, kind, source};
use fanin_engine::mix;
use fanin_units::{MessageId, NodeId, Rate, Time};
use std::sync::Arc;

impl<D: Directory> World<D> {
    /// The hash key of a path.
    fn key(&self, query: &PathQuery<Path>) -> u32 {
        if let Some(path) = query.same_as {
            return path.key;
        }
        let entry = self.messages.of(query.message);
        let name = match query.per_pair {
            true => u64::from(entry.record.src) << 32 | u64::from(entry.record.dst),
            false => entry.name,
        };
        self.directory.key(name, query.back)
    }

    fn new_packet(&mut self, head: &Header, path: Path, scheme: u16, beside: Beside<'_>) -> u32 {
        let telemetry = match beside {
            Beside::Telemetry(telemetry) | Beside::Arrived(&AckBitmap { telemetry: Some(telemetry), .. }) => *telemetry,
            _ => Telemetry::default(),
        };
        self.totals.sent += u64::from(head.wire);
        self.packets.add(Packet { head: *head, path, scheme, deflections: 0, telemetry })
    }
}

impl<D: Directory> Io for World<D> {
    type Path = Path;
    type Packet = u32;

    fn now(&self) -> Time {
        self.clock.now()
    }

    fn set_timer(&mut self, timer: Timer, at: Time) {
        let (kind, number, arg) = match timer {
            Timer::Sender { number, slot } => (kind::SENDER, number, slot),
            Timer::Host { host } => (kind::HOST, self.setting.node.0, host),
            Timer::Answers { host } => (kind::HOST, self.setting.node.0 | ANSWERS, host),
            Timer::Receiver { host, scheme } => {
                (kind::RECEIVER, u32::from(scheme) * self.setting.host_count + self.setting.node.0, host)
            }
        };
        self.clock.schedule(at, source(kind, number), arg);
    }

    fn random(&self, _host: u32, number: u64) -> u64 {
        mix(self.setting.cpu_word, number)
    }

    fn sizes(&self) -> &PacketSizes {
        &self.setting.sizes
    }

    fn host_fifo(&self) -> Option<HostFifo> {
        self.setting.host_fifo
    }

    fn largest_packet(&self) -> u32 {
        self.setting.largest
    }

    fn traffic(&self, traffic: u16) -> &Traffic {
        &self.setting.traffics[usize::from(traffic)]
    }

    fn counters(&mut self, traffic: u16) -> &mut TrafficCounters {
        &mut self.counters[usize::from(traffic)]
    }

    fn scheme(&mut self, scheme: u16) -> &mut Instance {
        &mut self.schemes[usize::from(scheme)]
    }

    fn scheme_and_telemetry(&mut self, scheme: u16, packet: u32) -> (&mut Instance, &Telemetry) {
        (&mut self.schemes[usize::from(scheme)], &self.packets.at(packet).telemetry)
    }

    fn record(&self, message: MessageId) -> &FlowRecord {
        &self.messages.of(message).record
    }

    fn record_mut(&mut self, message: MessageId) -> &mut FlowRecord {
        &mut self.messages.of_mut(message).record
    }

    fn ends(&self, message: MessageId) -> Ends {
        self.messages.of(message).ends
    }

    fn ends_mut(&mut self, message: MessageId) -> &mut Ends {
        &mut self.messages.of_mut(message).ends
    }

    fn incast(&self, message: MessageId) -> Option<&Arc<[u32]>> {
        self.messages.of(message).senders.as_ref()
    }

    fn forget_incast(&mut self, message: MessageId) {
        self.messages.of_mut(message).senders = None;
    }

    // Answers on the connection of a request, and streams, are TCP's.
    fn answers(&self, _message: MessageId) -> Option<MessageId> {
        None
    }

    fn will_be_answered(&self, _message: MessageId) -> bool {
        false
    }

    fn connection(&self, traffic: u16, from: u32, to: u32) -> Option<MessageId> {
        self.messages.connections.get(&(traffic, from, to)).copied()
    }

    fn open_connection(&mut self, message: MessageId) {
        let record = self.record(message);
        let pair = (record.traffic, record.src, record.dst);
        self.messages.connections.insert(pair, message);
    }

    fn on_arrived(&mut self, message: MessageId) -> bool {
        let now = self.now();
        let record = self.record_mut(message);
        record.finished = now;
        record.delivered = record.bytes;
        let traffic = record.traffic;
        self.counters(traffic).finished += 1;
        self.notices.push(Notice::Arrived(message));
        false
    }

    fn on_acked(&mut self, message: MessageId) {
        self.notices.push(Notice::Acked(message));
    }

    fn after_acked(&mut self) {}

    fn give_up(&mut self, message: MessageId) -> Time {
        let at = self.now().saturating_add(self.directory.network_rtt());
        let entry = self.messages.of(message);
        let (dst, token) = (NodeId(entry.record.dst), entry.token);
        if dst == self.setting.node {
            self.schedule_start(message, START_GIVEN_UP, at);
        } else {
            self.out.push(Left::Control(dst, Control::TearDown(TearDown { token, message, at })));
        }
        at
    }

    fn post_again(&mut self, message: MessageId, at: Time) {
        self.schedule_start(message, START_AFTER_OVERHEAD, at);
    }

    fn host(&self, node: NodeId) -> Option<u32> {
        (node == self.setting.node).then_some(0)
    }

    fn announce_message(&mut self, message: MessageId, first: Option<MessageId>) {
        self.set_up(message, first);
    }

    fn announce_stream(&mut self, _message: MessageId, _first: MessageId) {}

    fn stream_opener(&self, _message: MessageId) -> Option<MessageId> {
        None
    }

    fn note_stream_opener(&mut self, _message: MessageId, _first: MessageId) {}

    fn route(&mut self, query: &PathQuery<Path>, needs: Needs) -> Route<Path> {
        let key = self.key(query);
        let record = self.record(query.message);
        let overhead = self.setting.traffics[usize::from(record.traffic)].overhead;
        let known = self.directory.walk(query.from, query.to, key, overhead, record.bytes);
        Route {
            nic: known.link.and_then(|port| self.row(port)),
            path: known.path,
            info: match needs {
                Needs::Ideal => PathInfo::new(Rate::ZERO, Time::ZERO, 0, 0),
                _ => PathInfo { id: query.message, from: query.from, to: query.to, ..known.info },
            },
            ideal: if needs == Needs::Info { Time::NEVER } else { known.ideal },
            hops: known.hops,
        }
    }

    fn path(&self, query: &PathQuery<Path>) -> Path {
        self.directory.path(query.from, query.to, self.key(query))
    }

    fn path_by_hash(&self, query: &PathQuery<Path>) -> Path {
        self.directory.path_by_hash(self.key(query))
    }

    fn nic_of(&self, from: NodeId, to: NodeId, path: Path) -> Option<u32> {
        self.row(self.directory.link(from, to, path.key)?)
    }

    fn make(&mut self, _port: u32, head: &Header, path: Path, scheme: u16, beside: Beside<'_>) -> u32 {
        self.new_packet(head, path, scheme, beside)
    }

    fn make_control(&mut self, head: &Header, path: Path, scheme: u16, beside: Beside<'_>) -> Option<u32> {
        let ix = self.new_packet(head, path, scheme, beside);
        let Some(port) = self.nic_of(head.src, head.dst, path) else {
            self.totals.no_route += 1;
            self.incident(fanin_units::PortId::NONE, What::NoRoute);
            self.lose(ix);
            return None;
        };
        self.queue(port, ix);
        Some(port)
    }

    fn header(&self, packet: u32) -> &Header {
        &self.packets.at(packet).head
    }

    fn segment(&self, _packet: u32) -> Segment {
        Segment::default()
    }

    /// Frames have none: ACKs that name packets are refused on a wire.
    fn bitmap(&self, _packet: u32) -> u64 {
        0
    }

    fn telemetry(&self, packet: u32) -> &Telemetry {
        &self.packets.at(packet).telemetry
    }

    fn deflections(&self, packet: u32) -> u8 {
        self.packets.at(packet).deflections
    }

    fn consume(&mut self, packet: u32) {
        self.totals.delivered += u64::from(self.packets.at(packet).head.wire);
        self.packets.remove(packet);
    }

    fn is_up(&self, _port: u32) -> bool {
        true
    }

    fn rate(&self, port: u32) -> Rate {
        self.ports[port as usize].link.rate
    }

    fn tx_time(&self, port: u32, wire: u32) -> Time {
        self.ports[port as usize].tx_time(wire)
    }

    fn free_at(&self, port: u32) -> Time {
        self.ports[port as usize].busy_until
    }

    fn paused(&self, port: u32) -> u8 {
        self.ports[port as usize].paused
    }

    fn has_queued(&self, port: u32) -> bool {
        self.ports[port as usize].is_ready()
    }

    fn queued(&self, port: u32, class: u8) -> u64 {
        self.ports[port as usize].queued(class)
    }

    fn choose_class(&self, port: u32, classes: u8) -> u8 {
        self.ports[port as usize].choose(classes)
    }

    fn last_class(&self, port: u32) -> u8 {
        self.ports[port as usize].turn
    }

    fn set_last_class(&mut self, port: u32, class: u8) {
        self.ports[port as usize].turn = class;
    }

    fn send_queued(&mut self, port: u32) -> bool {
        let now = self.now();
        let Some((next, marked, look_at)) = self.ports[port as usize].next(now) else { return false };
        if marked {
            self.mark(next.ix);
        }
        if let Some(at) = look_at {
            self.look_at(port, at);
        }
        self.transmit(port, next.ix);
        true
    }

    fn send(&mut self, port: u32, packet: u32) {
        let head = &self.packets.at(packet).head;
        self.ports[port as usize].count_sent(head.class, head.wire);
        self.transmit(port, packet);
    }

    fn enqueue(&mut self, port: u32, packet: u32) {
        self.queue(port, packet);
    }

    fn wake_port(&mut self, port: u32, at: Time) {
        let of = &mut self.ports[port as usize];
        if at < of.wake_at {
            of.wake_at = at;
            let number = of.link.port.0;
            self.clock.schedule(at, source(kind::PORT, number), port);
        }
    }
}
