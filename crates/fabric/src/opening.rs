//! Messages set out: their channels and senders, and what is known of their paths.

use crate::config::Message;
use crate::host::{NO_SLOT, SendFlow, Turn};
use crate::parallel::News;
use crate::port::Port;
use crate::routing::{Course, key};
use crate::sim::{Simulation, kind};
use fanin_cc::{HeaderOverhead, PathInfo};
use fanin_endpoint::Pacer;
use fanin_engine::EventQueue;
use fanin_units::{MessageId, NodeId, PortId, Rate, Time};

/// The argument of a START event: the application posts, or the host's overhead is over.
const START_POSTED: u32 = 0;
const START_AFTER_OVERHEAD: u32 = 1;

impl<Q: EventQueue> Simulation<Q> {
    /// The application posts a message; the endpoint has it at once, or after the host's overhead.
    #[inline(never)]
    pub(crate) fn start_message(&mut self, number: u32, step: u32) {
        if step == START_POSTED {
            let request = self.will_be_answered(number);
            let record = &mut self.records[number as usize];
            record.start = self.now;
            record.request = request;
            let ends = record.bytes < Message::ENDLESS;
            let traffic = &mut self.traffics[record.traffic as usize];
            traffic.counters.started += 1;
            let overhead = traffic.config.overhead;
            if self.tap.messages {
                self.see_message(number, false);
            }
            // One that waited for others was counted when its gate opened, so that a run does not end in between.
            if !self.slots[number as usize].waited {
                self.open_messages += ends as i64;
            }
            if overhead > Time::ZERO {
                self.schedule(self.now.saturating_add(overhead), kind::START, number, START_AFTER_OVERHEAD);
                return;
            }
        }
        self.open_channel(number);
    }

    /// Gives a posted message a channel: one of its own, or the one of its connection.
    pub(crate) fn open_channel(&mut self, number: u32) {
        let record = self.records[number as usize];
        if self.traffics[record.traffic as usize].config.tcp.is_some() {
            self.open_stream(number);
            return;
        }
        let id = MessageId(number);
        let traffic = record.traffic as usize;
        let (from, to) = (NodeId(record.src), NodeId(record.dst));
        let connection = self.traffics[traffic].config.endpoint.connection;
        if connection
            && let Some(&first) = self.connections.get(&(record.traffic, record.src, record.dst))
            && self.slots[first as usize].send != NO_SLOT
        {
            let slot = self.slots[first as usize].send;
            self.slots[number as usize].send = slot;
            self.slots[number as usize].recv = self.slots[first as usize].recv;
            let flow = &mut self.senders[slot as usize];
            flow.half.post(id, record.bytes);
            self.set_out(slot);
            let flow = &mut self.senders[slot as usize];
            let flow_key = flow.course.key;
            self.find_way(from, to, flow_key);
            let (ideal, hops) = self.lone(record.bytes);
            self.records[number as usize].ideal = ideal;
            self.records[number as usize].hops = hops;
            self.tell_receiver(number, Some(first));
            self.activate(slot);
            return;
        }
        if connection {
            self.connections.insert((record.traffic, record.src, record.dst), number);
        }
        let flow_key = match connection {
            true => key(self.streams.seed(), (record.src as u64) << 32 | record.dst as u64),
            false => key(self.streams.seed(), self.slots[number as usize].name),
        };
        let Some(port) = self.find_way(from, to, flow_key) else {
            // No link is up, and no timer runs for what was never sent: it waits for the next link that comes up.
            self.stranded.push(number);
            return;
        };
        let overhead = self.overhead[traffic];
        let path = self.path(overhead);
        let (ideal, hops) = self.lone(record.bytes);
        self.records[number as usize].ideal = ideal;
        self.records[number as usize].hops = hops;
        let slot = self.open_sender(id, record.traffic, from, to, port, &path);
        self.senders[slot as usize].half.post(id, record.bytes);
        self.set_out(slot);
        self.slots[number as usize].send = slot;
        self.tell_receiver(number, connection.then_some(number));
        self.activate(slot);
    }

    /// Tells a receiver in another part of the network what it looks up of a message that sets out.
    fn tell_receiver(&mut self, message: u32, first: Option<u32>) {
        if self.part.is_cut() && (first.is_some() || !self.programs.is_empty()) {
            let record = &self.records[message as usize];
            self.part.tell(NodeId(record.dst), News::SetOut { message, first, hops: record.hops });
        }
    }

    /// Looks at which message a flow sends next, and how that sets out.
    pub(crate) fn set_out(&mut self, slot: u32) {
        let flow = &mut self.senders[slot as usize];
        let message = flow.half.next_message();
        if message == flow.message || message == MessageId::NONE {
            return;
        }
        flow.message = message;
        let traffic = &self.traffics[flow.traffic as usize].config;
        let senders = self.slots[message.ix()].senders.as_ref().map_or(0, |s| s.len());
        let bytes = self.records[message.ix()].bytes;
        flow.options = traffic.scheme.send_options(bytes, senders, traffic.endpoint.connection);
        let class = match (flow.options.lane, traffic.lane_class) {
            (0, _) | (_, 0) => traffic.class,
            (_, lane_class) => lane_class,
        };
        let (old, port) = (core::mem::replace(&mut flow.class, class), flow.port);
        if class != old && flow.turn == Turn::Ready {
            // It stands in the ring of a class that it does not send in any more; whoever made it turn back looks again.
            flow.turn = Turn::Idle;
            let nic = self.ports[port.ix()].nic as usize;
            let ring = &mut self.nics[nic].ready[old as usize];
            ring.remove(&mut self.senders, slot);
            if ring.is_empty() {
                self.nics[nic].ready_mask &= !(1 << old);
            }
        }
    }

    /// A sender of its traffic's scheme, with nothing to send yet. Returns its slot.
    #[allow(clippy::too_many_arguments)]
    pub(crate) fn open_sender(
        &mut self,
        flow: MessageId,
        traffic: u16,
        from: NodeId,
        to: NodeId,
        port: PortId,
        path: &PathInfo,
    ) -> u32 {
        let scheme = self.traffics[traffic as usize].scheme;
        let pair = if self.schemes[scheme as usize].shares() {
            let pairs = self.pairs.len() as u32;
            let pair = *self.pairs.entry((from.0, to.0, scheme)).or_insert(pairs);
            if pair == pairs {
                self.pair_flows.push(Vec::new());
            }
            pair
        } else {
            NO_SLOT
        };
        let opened = self.schemes[scheme as usize].open(pair, path, self.now);
        let slot = match self.free_senders.pop() {
            Some(slot) => slot,
            None => {
                self.senders.push(SendFlow::free());
                self.senders.len() as u32 - 1
            }
        };
        let mut half = core::mem::take(&mut self.senders[slot as usize].half);
        half.reset();
        let at_host = self.hosts[from.ix()].flows.len() as u32;
        self.hosts[from.ix()].flows.push(slot);
        self.senders[slot as usize] = SendFlow {
            flow,
            half,
            pacer: Pacer::new(&opened.control),
            cc: opened.slot,
            class: self.traffics[traffic as usize].config.class,
            scheme,
            traffic,
            port,
            to,
            course: self.way_course,
            pair,
            order: flow.0,
            at_host,
            ..SendFlow::free()
        };
        if pair != NO_SLOT {
            let flows = &mut self.pair_flows[pair as usize];
            let at = flows.partition_point(|other| self.senders[*other as usize].flow < flow);
            flows.insert(at, slot);
            self.had_turn(slot);
        }
        self.arm_flow(slot, opened.control.wake_at);
        slot
    }

    /// Finds the way of a flow from one host to another: what `path`, `lone` and `open_sender` are about until the next one.
    /// Answers where it leaves its host.
    pub(crate) fn find_way(&mut self, from: NodeId, to: NodeId, key: u32) -> Option<PortId> {
        let mut way = core::mem::take(&mut self.way);
        way.clear();
        let mut label = self.routes.label();
        let reaches = self.routes.walk(&self.ports, from, to, key, |port, number| {
            label.add(number);
            way.push(port);
        });
        self.way_course = Course { key, label: label.finish(reaches) };
        self.way = way;
        self.way.first().copied()
    }

    /// What a sender is told of its way.
    pub(crate) fn path(&self, overhead: HeaderOverhead) -> PathInfo {
        let wire = self.config.packet.payload as u32 + self.config.packet.header as u32 + overhead.data as u32;
        let ack = self.config.packet.ack as u32 + overhead.ack as u32;
        let way = || self.way.iter().map(|port| &self.ports[port.ix()]);
        let rtt = way().map(|port| port.tx_time(wire) + port.tx_time(ack) + port.delay + port.delay);
        let rate = |port: Option<&Port>| port.map_or(Rate::ZERO, |port| port.rate);
        let (first, last) = (rate(way().next()), rate(way().next_back()));
        PathInfo {
            line_rate: first.min(last),
            nic_rate: first,
            base_rtt: rtt.fold(Time::ZERO, |sum, rtt| sum + rtt),
            payload: self.config.packet.payload as u32,
            wire,
            network_bdp: self.routes.network_bdp,
            network_rtt: self.routes.network_rtt,
        }
    }

    /// Completion time of a message alone on its path, store-and-forward, and the number of links. It is the same under every
    /// scheme: what a scheme adds to its packets is its cost and no part of the ideal.
    pub(crate) fn lone(&self, bytes: u64) -> (Time, u16) {
        let hops = self.way.len() as u16;
        if bytes >= Message::ENDLESS || hops == 0 {
            return (Time::NEVER, hops);
        }
        let payload = self.config.packet.payload as u64;
        let header = self.config.packet.header as u64;
        let full = (payload + header) as u32;
        let before_last = (bytes - 1) / payload;
        let last = (bytes - before_last * payload + header) as u32;
        // The k full packets go through like equal jobs: at each link the last of them is done after one of each
        // link so far and k-1 more of the slowest; then the last packet follows.
        let (mut sum, mut slowest, mut done, mut delays) = (0u64, 0u64, 0u64, 0u64);
        for port in &self.way {
            let port = &self.ports[port.ix()];
            let packet = port.tx_time(full).as_ps();
            sum += packet;
            slowest = slowest.max(packet);
            // A huge message over a slow link may take longer than the clock can say.
            let behind_first = before_last.saturating_sub(1).saturating_mul(slowest);
            let full_done = if before_last == 0 { 0 } else { sum.saturating_add(behind_first) };
            done = done.max(full_done).saturating_add(port.tx_time(last).as_ps());
            delays += port.delay.as_ps();
        }
        (Time::from_ps(done.saturating_add(delays)), hops)
    }
}
