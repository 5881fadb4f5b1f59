//! Queries of a network, while it runs and when it has stopped. They do not change its behaviour.

use crate::config::{Message, NetworkConfig, TrafficConfig};
use crate::flows::Flows;
use crate::graph_records::GraphRecords;
use crate::graphs::Graphs;
use crate::path::FlowPath;
use crate::pause_log::{self, PauseRecord};
use crate::port::PortIx;
use crate::results::{
    BufferUse, ClassCounters, FlowRecord, Hop, HostWait, Incidents, PortCounters, Totals, TrafficCounters,
};
use crate::sim::Simulation;
use crate::tap::{Seen, Wanted};
use fanin_cc::aqm::Aqm;
use fanin_endpoint::host::{RecvQp, TcpEnd};
use fanin_engine::EventQueue;
use fanin_units::{MessageId, NodeId, PortId, Time};
use std::ops::IndexMut;

impl<Q: EventQueue> Simulation<Q> {
    /// Totals so far. Walks over all packets to fill in the ledger.
    pub fn totals(&self) -> Totals {
        Totals { hosts: *self.hosts.totals(), ..self.world.net.totals() }
    }

    /// Ends of TCP connections that are not closed.
    pub fn open_connections(&self) -> usize {
        self.hosts.senders().filter(|sender| sender.as_tcp().is_some()).count()
    }

    /// Senders and receivers of RDMA that are not closed.
    pub fn open_queue_pairs(&self) -> (usize, usize) {
        let receivers = self.hosts.receivers().filter(|(slot, _)| self.hosts.expected(*slot).is_some());
        (self.hosts.senders().filter(|sender| sender.as_rdma().is_some()).count(), receivers.count())
    }

    /// Packets sent over one link each, so far.
    pub fn packet_hops(&self) -> u64 {
        self.world.net.egress().packet_hops()
    }

    /// Totals of each traffic. Traffics with the same scheme and parameters share its actions and its drops.
    pub fn traffic_counters(&self) -> Vec<TrafficCounters> {
        let messages = &self.world.messages;
        let dropped = &self.world.net.core().probes.dropped_by_scheme;
        let of = messages.traffics().iter().zip(messages.counters());
        of.map(|(traffic, counters)| TrafficCounters {
            dropped: dropped.get(traffic.scheme as usize).copied().unwrap_or(0),
            actions: self.world.net.scheme(traffic.scheme).actions().clone(),
            ..counters.clone()
        })
        .collect()
    }

    /// The traffics, by number.
    pub fn traffic_configs(&self) -> impl Iterator<Item = &TrafficConfig> {
        self.world.messages.traffics().iter().map(|traffic| &traffic.config)
    }

    /// The records of all messages up to now, in the order of their start.
    pub fn flows(&self) -> Vec<FlowRecord> {
        let mut flows = self.world.messages.records().all();
        self.add_open(&mut flows, |_| self);
        flows
    }

    /// Takes the records of all messages. This must be the last query: the simulation has no messages afterwards.
    pub fn take_flows(&mut self) -> Flows {
        let mut records = self.world.messages.take_records();
        self.add_open(&mut records, |_| self);
        Flows::of(records)
    }

    /// The record of a message up to now.
    pub fn message(&self, number: u32) -> &FlowRecord {
        &self.world.messages.records()[number as usize]
    }

    /// Adds the state of queue pairs and connections whose ends are local. `with` finds the partition that a host runs
    /// in.
    pub(crate) fn add_open<'a>(
        &'a self,
        flows: &mut impl IndexMut<usize, Output = FlowRecord>,
        with: impl Fn(u32) -> &'a Self,
    ) {
        // Messages on persistent connections are counted one by one.
        let own = |traffic: u16| !self.world.messages.traffics()[traffic as usize].config.endpoint.connection;
        for sender in self.hosts.senders() {
            if let Some(end) = sender.as_tcp() {
                if let Some((message, delivered)) = end.under_way() {
                    flows[message as usize].delivered = delivered;
                }
            } else if own(sender.traffic()) {
                let record = &mut flows[sender.id().ix()];
                (record.packets_sent, record.packets_resent, record.attempts) = sender.counts();
            }
        }
        for (slot, receiver) in self.hosts.receivers() {
            let Some(expected) = self.hosts.expected(slot) else { continue };
            if own(receiver.traffic()) {
                let record = &mut flows[receiver.id().ix()];
                (record.packets_arrived, record.packets_marked, record.reordered) = receiver.counts();
            }
            if let Some((message, delivered)) = with(receiver.from().0).arriving(receiver, expected) {
                flows[message as usize].delivered = delivered;
            }
        }
    }

    /// The message being received on an RDMA queue pair that expects byte `arrived` next, and the bytes of it received.
    /// Its sender is local.
    fn arriving(&self, receiver: &RecvQp<FlowPath>, arrived: u64) -> Option<(u32, u64)> {
        let sender = self.hosts.sender(self.world.messages.state(receiver.id()).ends.send)?;
        sender.as_rdma()?.message_at(arrived).map(|(message, from)| (message.0, arrived - from))
    }

    /// Payload bytes of a message that have arrived in order.
    pub fn delivered(&self, message: u32) -> u64 {
        self.delivered_from(message, self)
    }

    /// As above, for a message sent from another partition.
    pub(crate) fn delivered_from(&self, message: u32, from: &Self) -> u64 {
        let record = self.message(message);
        if record.finished.is_some() {
            return record.bytes;
        }
        // The slot may belong to another queue pair or connection by now, which receives another message.
        let slot = self.world.messages.state(MessageId(message)).ends.recv;
        let arriving = if self.world.messages.traffics()[record.traffic as usize].config.tcp.is_some() {
            self.hosts.sender(slot).and_then(|end| end.as_tcp()).and_then(TcpEnd::under_way)
        } else {
            self.hosts.receiver(slot).and_then(|receiver| from.arriving(receiver, self.hosts.expected(slot)?))
        };
        arriving.filter(|(arrives, _)| *arrives == message).map_or(0, |(_, delivered)| delivered)
    }

    /// Pauses and their causes in order of their begin, if the configuration has them recorded, and the number of those
    /// beyond the first [`PauseRecord::KEPT`].
    pub fn pause_records(&self) -> (Vec<PauseRecord>, u64) {
        let config = self.config();
        let logs = self.world.net.core().probes.pauses().into_iter();
        pause_log::records(&config.graph, (config.packet.pause, config.pauses.response), logs)
    }

    /// Number of pending events.
    pub fn pending_events(&self) -> usize {
        self.world.net.core().clock.len()
    }

    /// Messages with a finite size that were posted and have not arrived completely.
    pub fn open_messages(&self) -> u64 {
        self.world.messages.open() as u64
    }

    /// Messages posted so far.
    pub fn started(&self) -> u64 {
        self.world.messages.counters().iter().map(|c| c.started).sum()
    }

    /// Messages whose last byte has arrived so far.
    pub fn finished(&self) -> u64 {
        self.world.messages.counters().iter().map(|c| c.finished).sum()
    }

    /// Whether no message will be posted any more.
    pub fn nothing_to_come(&mut self) -> bool {
        if !self.all_loaded() {
            return false;
        }
        let all_posted = self.started() == self.world.messages.len() as u64;
        match self.world.messages.graphs() {
            None => all_posted,
            // Nodes that never end do not keep a run from ending.
            Some(graphs) => graphs.is_done() && all_posted || self.is_over(),
        }
    }

    /// Whether no event and no message is left.
    pub fn is_over(&mut self) -> bool {
        let acts = self.world.messages.acts_at();
        self.world.net.core().clock.is_empty() && self.loader.first_at() == Time::NEVER && acts == Time::NEVER
    }

    /// Takes what the ranks of graphs did.
    pub fn take_graphs(&mut self) -> GraphRecords {
        let mut records = GraphRecords::default();
        self.add_graphs(&mut records);
        records.sort();
        records
    }

    /// Adds what the ranks here did.
    pub(crate) fn add_graphs(&mut self, records: &mut GraphRecords) {
        let now = self.now();
        self.world.messages.graphs_mut().into_iter().for_each(|graphs| graphs.take_records(now, records));
    }

    /// Whether all nodes of graphs here have ended.
    pub(crate) fn graphs_are_done(&self) -> bool {
        self.world.messages.graphs().is_none_or(Graphs::is_done)
    }

    /// Payload bytes that endless flows have delivered in order so far, per traffic.
    pub fn endless_delivered(&self) -> Vec<u64> {
        let mut bytes = vec![0; self.world.messages.traffics().len()];
        self.add_endless(&mut bytes, |_| self);
        bytes
    }

    /// Adds the bytes delivered by endless flows to local hosts. `with` finds the partition that a host runs in.
    pub(crate) fn add_endless<'a>(&'a self, bytes: &mut [u64], with: impl Fn(u32) -> &'a Self) {
        let streams = self.hosts.senders().filter_map(|sender| sender.as_tcp()).filter_map(TcpEnd::under_way);
        let queue_pairs = self
            .hosts
            .receivers()
            .filter_map(|(slot, receiver)| with(receiver.from().0).arriving(receiver, self.hosts.expected(slot)?));
        for (message, delivered) in streams.chain(queue_pairs) {
            let record = self.message(message);
            if record.bytes >= Message::ENDLESS {
                bytes[record.traffic as usize] += delivered;
            }
        }
    }

    /// Drops and pauses, the first ones with time and place.
    pub fn incidents(&self) -> &Incidents {
        self.world.net.core().probes.incidents()
    }

    /// The row of a port in this partition's tables; of a whole network, its number.
    fn row(&self, port: PortId) -> PortIx {
        self.world.net.row(port)
    }

    /// Counters of every port.
    pub fn port_counters(&self) -> Vec<PortCounters> {
        (0..self.world.net.egress().ports().len() as u32).map(|port| self.port_counter(PortId(port))).collect()
    }

    /// Counters of one port.
    pub fn port_counter(&self, port: PortId) -> PortCounters {
        let (egress, out) = (self.world.net.egress(), self.row(port));
        let of_port = egress.port(out);
        let classes = (0..egress.classes()).map(|class| egress.counters(out, class, self.now()));
        PortCounters::sum(classes, (of_port.packets, of_port.bytes), egress.peak_queue(out))
    }

    /// Counters of every class at every port: port by port, control first, then the data classes in their order.
    pub fn class_counters(&self) -> Vec<ClassCounters> {
        let classes = self.world.net.egress().classes();
        let of_port = |port: u32| (0..classes).map(move |class| self.class_counter(PortId(port), class));
        (0..self.world.net.egress().ports().len() as u32).flat_map(of_port).collect()
    }

    /// Counters of one class at one port; class 0 is control.
    pub fn class_counter(&self, port: PortId, class: usize) -> ClassCounters {
        self.world.net.egress().counters(self.row(port), class, self.now())
    }

    /// The state of an active queue management, if the class marks by one.
    pub fn aqm(&self, port: PortId, class: usize) -> Option<&Aqm> {
        self.world.net.egress().aqm(self.row(port), class)
    }

    /// The value of each account of a switch's buffer and its expected value: every pool, then every ingress and class.
    /// Walks over all queued packets.
    pub fn buffer_use(&self) -> Vec<BufferUse> {
        self.world.net.buffer_use()
    }

    /// Queues that wait for each other in a cycle now, as ports and classes, each of which waits for the next one and
    /// the last one for the first. Reads all queues.
    pub fn circular_wait(&self) -> Option<Vec<(PortId, u8)>> {
        self.world.net.cyclic_dependency()
    }

    /// Observable state of a message's sender now: `window_bytes`, `rate_bps`, over TCP `peer_window_bytes` (the window
    /// that the receiver's last ACK gave), and the variables of its scheme; nothing when it is not sending.
    pub fn watch(&self, message: u32) -> Vec<(&'static str, f64)> {
        let messages = &self.world.messages;
        if !messages.records().has(message as usize) {
            return Vec::new();
        }
        let Some(sender) = self.hosts.sender(messages.state(MessageId(message)).ends.send) else {
            return Vec::new();
        };
        // The slot of a TCP message may belong to another connection by now.
        if sender.as_tcp().is_some_and(|end| !end.sends(message)) {
            return Vec::new();
        }
        let (scheme, cc) = sender.scheme();
        let pacer = sender.pacer();
        let mut seen = vec![("window_bytes", pacer.window() as f64), ("rate_bps", pacer.rate().as_bps() as f64)];
        if let Some(window) = sender.as_tcp().and_then(TcpEnd::peer_window) {
            seen.push(("peer_window_bytes", window as f64));
        }
        self.world.net.scheme(scheme).watch(cc, &mut |name, value| seen.push((name, value)));
        seen
    }

    /// Observable state of a port now: bytes of the packets whose first bit has left, and the total time for which its
    /// classes were paused, or lacked credits.
    pub fn watch_port(&self, port: PortId) -> [(&'static str, f64); 2] {
        let counters = self.port_counter(port);
        let (stopped, time) = match self.world.net.egress().has_credits() {
            true => ("credit_wait_us", counters.credit_wait),
            false => ("paused_us", counters.paused),
        };
        [("sent_bytes", counters.bytes as f64), (stopped, time.as_ps() as f64 / 1e6)]
    }

    /// Observable state of a traffic now: payload bytes of all its messages that have arrived in order, and its
    /// messages that are posted and have not arrived completely, endless ones included.
    pub fn watch_traffic(&self, traffic: u16) -> [(&'static str, f64); 2] {
        let counters = &self.world.messages.counters()[traffic as usize];
        let open = counters.started - counters.finished;
        [("delivered_bytes", counters.delivered as f64), ("open_messages", open as f64)]
    }

    /// Data bytes queued at a port.
    #[inline]
    pub fn queued(&self, port: PortId) -> u64 {
        self.world.net.egress().port(self.row(port)).queued
    }

    /// Observable state of a scheme's receiver at a host now.
    pub fn watch_host(&self, traffic: u16, host: u32) -> Vec<(&'static str, f64)> {
        let mut seen = Vec::new();
        let scheme = self.world.messages.traffics()[traffic as usize].scheme;
        let home = self.world.net.plan().layout.home(NodeId(host)) as usize;
        self.world.net.scheme(scheme).receiver_watch(home, &mut |name, value| seen.push((name, value)));
        seen
    }

    /// Observable state of a scheme's program at a switch now; switches are numbered from 0.
    pub fn watch_switch(&self, traffic: u16, switch: u32) -> Vec<(&'static str, f64)> {
        let mut seen = Vec::new();
        let scheme = self.world.messages.traffics()[traffic as usize].scheme;
        let node = NodeId(self.config().graph.hosts + switch);
        let home = self.world.net.plan().layout.home(node) as usize;
        self.world.net.scheme(scheme).switch_watch(home, &mut |name, value| seen.push((name, value)));
        seen
    }

    /// Requests, before the run starts, message `number` of a traffic, counted from 0 in the order of their start. With
    /// `trace` its hops are recorded.
    pub fn follow(&mut self, traffic: u16, number: u32, trace: bool) {
        self.world.messages.follow(traffic, number, trace);
    }

    /// The number of a requested message; `None` before it is loaded.
    pub fn followed(&self, traffic: u16, number: u32) -> Option<u32> {
        self.world.messages.followed(traffic, number)
    }

    /// The recorded hops, in order of time: the first [`Hop::KEPT`].
    pub fn hops(&self) -> &[Hop] {
        self.world.net.core().probes.hops().0
    }

    /// How many more there were.
    pub fn hops_left_out(&self) -> u64 {
        self.world.net.core().probes.hops().1
    }

    /// Waits of traced messages at their hosts: the first [`HostWait::KEPT`], in order of time for each message.
    pub fn host_waits(&self) -> &[HostWait] {
        self.tracer.waits().0
    }

    /// How many more there were.
    pub fn host_waits_left_out(&self) -> u64 {
        self.tracer.waits().1
    }

    /// Sets the observations from now on; earlier requests are replaced.
    pub fn tap(&mut self, wanted: &Wanted) {
        let ports = self.world.net.egress().ports().len();
        self.world.net.core_mut().probes.tap(wanted, ports);
        for message in 0..self.world.messages.len() {
            let message = MessageId(message as u32);
            if self.world.messages.state(message).senders.is_some() {
                self.world.note_incast(message);
            }
        }
        self.world.net.update_lazy();
    }

    /// The observations since the last call, in order of time. `into` is emptied first and its memory reused.
    pub fn take_seen(&mut self, into: &mut Vec<Seen>) {
        self.world.net.core_mut().probes.take_seen(into);
        for seen in into {
            if let Seen::Packet(captured) = seen
                && !captured.head.kind.is_of_link()
            {
                self.name(captured);
            }
        }
    }

    /// Adds the properties of its message to a packet: its traffic, its connection, and the incast that it announces.
    fn name(&self, captured: &mut crate::tap::Captured) {
        use fanin_cc::{Kind, flags};
        let head = &captured.head;
        let record = self.message(head.flow.0);
        captured.traffic = Some(record.traffic);
        captured.opener = NodeId(record.src);
        let traffic = &self.world.messages.traffics()[record.traffic as usize].config;
        if traffic.endpoint.connection
            && let Some(first) = self.world.messages.connection(record.traffic, record.src, record.dst)
        {
            captured.channel = first;
        }
        if head.kind == Kind::Data && head.has(flags::START) && !head.has(flags::TCP) {
            captured.incast = self.world.net.core().probes.incast(head.flow);
        }
    }

    /// The ports, with their sending and receiving nodes.
    pub fn ports(&self) -> impl Iterator<Item = (PortId, NodeId, NodeId)> + '_ {
        self.world.net.egress().ports().iter().map(|p| (p.id, p.node, p.peer))
    }

    /// The network as configured.
    pub fn config(&self) -> &NetworkConfig {
        self.world.net.config()
    }

    /// Largest base round-trip time of any host pair.
    pub fn network_rtt(&self) -> Time {
        self.world.net.routes().network_rtt
    }
}
