//! What can be asked of a network, while it runs and when it has stopped. To ask changes nothing that happens.

use crate::config::{Message, NetworkConfig};
use crate::flows::Flows;
use crate::host::{NO_SLOT, RecvFlow};
use crate::results::{BufferUse, ClassCounters, FlowRecord, Incidents, PortCounters, Totals, TrafficCounters};
use crate::shared_buffer::Limit;
use crate::sim::{Followed, Simulation};
use crate::tcp::TcpEnd;
use fanin_cc::aqm::Aqm;
use fanin_engine::EventQueue;
use fanin_units::{MessageId, NodeId, PortId, Time};
use std::ops::IndexMut;

impl<Q: EventQueue> Simulation<Q> {
    /// Totals so far. Walks over all packets to fill in the ledger.
    pub fn totals(&self) -> Totals {
        let mut totals = self.totals.clone();
        totals.packet_hops = self.ports.iter().map(|p| p.packets).sum();
        totals.ledger.in_flight = self.packets.live_bytes();
        totals.circular_waits = self.incidents.circular_waits;
        totals
    }

    /// Packets sent over one link each, so far.
    pub fn packet_hops(&self) -> u64 {
        self.ports.iter().map(|p| p.packets).sum()
    }

    /// Totals of each traffic. Traffics with the same scheme and parameters share its actions.
    pub fn traffic_counters(&self) -> Vec<TrafficCounters> {
        self.traffics
            .iter()
            .map(|t| TrafficCounters {
                actions: self.schemes[t.scheme as usize].actions().clone(),
                ..t.counters.clone()
            })
            .collect()
    }

    /// What became of every message, in the order of their start, up to now.
    pub fn flows(&self) -> Vec<FlowRecord> {
        let mut flows = self.records.all();
        self.add_channels(&mut flows, |_| self);
        flows
    }

    /// The same for good: the simulation knows of no message afterwards, so this is the last that it is asked.
    pub fn take_flows(&mut self) -> Flows {
        let mut records = std::mem::take(&mut self.records);
        self.add_channels(&mut records, |_| self);
        Flows::of(records)
    }

    /// Adds what stands with the channels whose ends are here. `with` finds the part that a host runs in.
    pub(crate) fn add_channels<'a>(
        &'a self,
        flows: &mut impl IndexMut<usize, Output = FlowRecord>,
        with: impl Fn(u32) -> &'a Self,
    ) {
        // Messages on connections that stay open are counted one by one.
        let own = |traffic: u16| !self.traffics[traffic as usize].config.endpoint.connection;
        for sender in self.senders.iter().filter(|s| s.flow.is_some() && s.tcp == NO_SLOT && own(s.traffic)) {
            let record = &mut flows[sender.flow.ix()];
            record.packets_sent = sender.sent;
            record.packets_resent = sender.resent;
            record.attempts = sender.attempt.saturating_add(1);
        }
        for (message, delivered) in self.tcp.iter().filter_map(TcpEnd::under_way) {
            flows[message as usize].delivered = delivered;
        }
        for receiver in self.receivers.iter().filter(|r| r.flow.is_some() && r.tcp == NO_SLOT) {
            if own(receiver.traffic) {
                let record = &mut flows[receiver.flow.ix()];
                record.packets_arrived = receiver.arrived;
                record.packets_marked = receiver.marked;
                record.reordered = receiver.reordered;
            }
            if let Some((message, delivered)) = with(receiver.from.0).arriving(receiver) {
                flows[message as usize].delivered = delivered;
            }
        }
    }

    /// The message that arrives on an RDMA channel now, and how much of it has. Its sender is here.
    fn arriving(&self, receiver: &RecvFlow) -> Option<(u32, u64)> {
        let sender = self.senders.get(self.slots[receiver.flow.ix()].send as usize)?;
        let arrived = receiver.half.expected();
        sender.half.message_at(arrived).map(|(message, from)| (message.0, arrived - from))
    }

    /// Payload bytes of a message that have arrived in order.
    pub fn delivered(&self, message: u32) -> u64 {
        self.delivered_from(message, self)
    }

    /// The same where the message is sent from another part.
    pub(crate) fn delivered_from(&self, message: u32, from: &Self) -> u64 {
        let record = &self.records[message as usize];
        if record.finished.is_some() {
            return record.bytes;
        }
        // A slot may be another channel's or connection's by now; then what arrives there is another message.
        let slot = self.slots[message as usize].recv as usize;
        let arriving = if self.traffics[record.traffic as usize].config.tcp.is_some() {
            self.senders.get(slot).and_then(|end| self.tcp.get(end.tcp as usize)).and_then(TcpEnd::under_way)
        } else {
            self.receivers.get(slot).filter(|r| r.flow.is_some()).and_then(|receiver| from.arriving(receiver))
        };
        arriving.filter(|(arrives, _)| *arrives == message).map_or(0, |(_, delivered)| delivered)
    }

    /// Events that wait.
    pub fn pending_events(&self) -> usize {
        self.queue.len()
    }

    /// Messages with an end that were posted and have not arrived whole.
    pub fn open_messages(&self) -> u64 {
        self.open_messages as u64
    }

    /// Messages posted so far.
    pub fn started(&self) -> u64 {
        self.traffics.iter().map(|t| t.counters.started).sum()
    }

    /// Messages whose last byte has arrived so far.
    pub fn finished(&self) -> u64 {
        self.traffics.iter().map(|t| t.counters.finished).sum()
    }

    /// Payload bytes that endless flows have delivered in order so far, per traffic.
    pub fn endless_delivered(&self) -> Vec<u64> {
        let mut bytes = vec![0; self.traffics.len()];
        self.add_endless(&mut bytes, |_| self);
        bytes
    }

    /// Adds what endless flows to hosts here have delivered. `with` finds the part that a host runs in.
    pub(crate) fn add_endless<'a>(&'a self, bytes: &mut [u64], with: impl Fn(u32) -> &'a Self) {
        for (message, delivered) in self.tcp.iter().filter_map(TcpEnd::under_way) {
            let record = &self.records[message as usize];
            if record.bytes >= Message::ENDLESS {
                bytes[record.traffic as usize] += delivered;
            }
        }
        for receiver in self.receivers.iter().filter(|r| r.flow.is_some() && r.tcp == NO_SLOT) {
            if let Some((message, delivered)) = with(receiver.from.0).arriving(receiver)
                && self.records[message as usize].bytes >= Message::ENDLESS
            {
                bytes[receiver.traffic as usize] += delivered;
            }
        }
    }

    /// Drops and pauses, the first ones with time and place.
    pub fn incidents(&self) -> &Incidents {
        &self.incidents
    }

    /// Counters of every port.
    pub fn port_counters(&self) -> Vec<PortCounters> {
        (0..self.ports.len() as u32).map(|port| self.port_counter(PortId(port))).collect()
    }

    /// Counters of one port.
    pub fn port_counter(&self, port: PortId) -> PortCounters {
        let of_port = &self.ports[port.ix()];
        let mut counters = PortCounters {
            packets: of_port.packets,
            bytes: of_port.bytes,
            peak_queue: if self.classes == 2 { self.queues[port.ix() * 2 + 1].peak } else { of_port.peak_queue },
            ..PortCounters::default()
        };
        for class in 0..self.classes {
            let of_class = self.class_counter(port, class);
            counters.marked += of_class.marked;
            counters.dropped += of_class.dropped;
            counters.paused += of_class.paused;
            counters.pauses += of_class.pauses;
        }
        counters
    }

    /// Counters of every class at every port: port by port, control first, then the data classes in their order.
    pub fn class_counters(&self) -> Vec<ClassCounters> {
        let of_port = |port: usize| (0..self.classes).map(move |class| self.class_counter(PortId(port as u32), class));
        (0..self.ports.len()).flat_map(of_port).collect()
    }

    /// Counters of one class at one port; class 0 is control.
    pub fn class_counter(&self, port: PortId, class: usize) -> ClassCounters {
        let at = port.ix() * self.classes + class;
        let mut counters = ClassCounters { peak_queue: self.queues[at].peak, ..self.counters[at] };
        let since = self.paused_since[at];
        if since != Time::NEVER {
            counters.paused += self.now.saturating_sub(since);
        }
        counters
    }

    /// The memory of an active queue management, if the class marks by one.
    pub fn aqm(&self, port: PortId, class: usize) -> Option<&Aqm> {
        self.marks.memory(port, class)
    }

    /// What each account of a switch's buffer says and what it should say: every pool, then every ingress and class.
    /// Walks over all packets that wait.
    pub fn buffer_use(&self) -> Vec<BufferUse> {
        let hosts = self.config.graph.hosts;
        let each = self.plan.pools.len();
        let mut pools: Vec<BufferUse> =
            self.pools.iter().map(|pool| BufferUse { counted: pool.used, held: 0 }).collect();
        let accounts = self.ingress.iter();
        let mut ingresses: Vec<BufferUse> =
            accounts.map(|held| BufferUse { counted: held.shared + held.headroom, held: 0 }).collect();
        for (i, port) in self.ports.iter().enumerate().filter(|(_, port)| port.node.0 >= hosts) {
            let switch = (port.node.0 - hosts) as usize;
            let queues = &self.queues[i * self.classes..(i + 1) * self.classes];
            let queued = queues.iter().flat_map(|queue| queue.iter(&self.shelves));
            for packet in queued.chain(self.leaving.get(i).into_iter().flatten()) {
                let class = packet.came_in();
                let lossless = self.lossless & 1 << class != 0;
                match self.plan.limits[class] {
                    Limit::None => continue,
                    Limit::Pool { pool, .. } if !lossless => pools[switch * each + pool].held += packet.wire() as u64,
                    _ => {}
                }
                if lossless {
                    ingresses[packet.ingress() as usize * self.classes + class].held += packet.wire() as u64;
                }
            }
        }
        // Of what an ingress holds, the pool counts all but the headroom.
        for (i, held) in self.ingress.iter().enumerate() {
            let node = self.ports[i / self.classes].node.0;
            if let Limit::Pool { pool, .. } = self.plan.limits[i % self.classes]
                && node >= hosts
            {
                pools[(node - hosts) as usize * each + pool].held += ingresses[i].held.saturating_sub(held.headroom);
            }
        }
        pools.into_iter().chain(ingresses).collect()
    }

    /// What can be seen of a message's sender now: `window_bytes`, `rate_bps` and what its scheme shows; nothing when it is
    /// not sending.
    pub fn watch(&self, message: u32) -> Vec<(&'static str, f64)> {
        let Some(flow) = self.slots.get(message as usize).and_then(|s| self.senders.get(s.send as usize)) else {
            return Vec::new();
        };
        // The slot of a TCP message may be another connection's by now.
        if flow.flow == MessageId::NONE || self.tcp.get(flow.tcp as usize).is_some_and(|end| !end.sends(message)) {
            return Vec::new();
        }
        let scheme = &self.schemes[flow.scheme as usize];
        let mut seen =
            vec![("window_bytes", flow.pacer.window() as f64), ("rate_bps", flow.pacer.rate().as_bps() as f64)];
        scheme.watch(flow.cc, &mut |name, value| seen.push((name, value)));
        seen
    }

    /// What can be seen of a port now: bytes of the packets whose first bit has left, and how long its classes were paused
    /// so far, in sum.
    pub fn watch_port(&self, port: PortId) -> [(&'static str, f64); 2] {
        let counters = self.port_counter(port);
        [("sent_bytes", counters.bytes as f64), ("paused_us", counters.paused.as_ps() as f64 / 1e6)]
    }

    /// What can be seen of a traffic now: payload bytes of all its messages that have arrived in order, and its messages that
    /// are posted and have not arrived whole, endless ones among them.
    pub fn watch_traffic(&self, traffic: u16) -> [(&'static str, f64); 2] {
        let counters = &self.traffics[traffic as usize].counters;
        let open = counters.started - counters.finished;
        [("delivered_bytes", counters.delivered as f64), ("open_messages", open as f64)]
    }

    /// Data bytes queued at a port.
    #[inline]
    pub fn queued(&self, port: PortId) -> u64 {
        self.ports[port.ix()].queued
    }

    /// What can be seen of a scheme's receiver at a host now.
    pub fn watch_host(&self, traffic: u16, host: u32) -> Vec<(&'static str, f64)> {
        let mut seen = Vec::new();
        let scheme = self.traffics[traffic as usize].scheme as usize;
        self.schemes[scheme].receiver_watch(host as usize, &mut |name, value| seen.push((name, value)));
        seen
    }

    /// What can be seen of a scheme's program at a switch now; switches are numbered from 0.
    pub fn watch_switch(&self, traffic: u16, switch: u32) -> Vec<(&'static str, f64)> {
        let mut seen = Vec::new();
        let scheme = self.traffics[traffic as usize].scheme as usize;
        self.schemes[scheme].switch_watch(switch as usize, &mut |name, value| seen.push((name, value)));
        seen
    }

    /// Asks, before anything runs, for message `number` of a traffic, counted from 0 in the order of their start. With
    /// `trace` its hops are written down.
    pub fn follow(&mut self, traffic: u16, number: u32, trace: bool) {
        let name = (traffic as u64) << 32 | number as u64;
        self.followed.entry(name).or_insert(Followed { trace: false, message: None }).trace |= trace;
    }

    /// The number of a message that was asked for; `None` before it is loaded.
    pub fn followed(&self, traffic: u16, number: u32) -> Option<u32> {
        self.followed.get(&((traffic as u64) << 32 | number as u64)).and_then(|followed| followed.message)
    }

    /// The ports, with who sends and who receives.
    pub fn ports(&self) -> impl Iterator<Item = (PortId, NodeId, NodeId)> + '_ {
        self.ports.iter().enumerate().map(|(i, p)| (PortId(i as u32), p.node, p.peer))
    }

    /// The network as configured.
    pub fn config(&self) -> &NetworkConfig {
        &self.config
    }

    /// Largest base round-trip time of any host pair.
    pub fn network_rtt(&self) -> Time {
        self.routes.network_rtt
    }
}
