//! What can be asked of a network in parts: each answer from the part that knows, or added up over all.

use super::Parts;
use crate::config::NetworkConfig;
use crate::flows::Flows;
use crate::messages::Table;
use crate::results::{
    ClassCounters, FlowRecord, Hop, HostWait, Incidents, PortCounters, Totals, TrafficCounters, What,
};
use crate::sim::Simulation;
use fanin_engine::{Event, Order};
use fanin_units::{NodeId, PortId, Time};
use std::borrow::Cow;

impl Parts {
    fn all(&self) -> impl Iterator<Item = &Simulation> {
        self.members.iter().map(|member| member.as_deref().expect("members are here between runs"))
    }

    pub(super) fn all_mut(&mut self) -> impl Iterator<Item = &mut Simulation> {
        self.members.iter_mut().map(|member| member.as_deref_mut().expect("members are here between runs"))
    }

    /// Any part, for what all know.
    fn any(&self) -> &Simulation {
        self.members[0].as_deref().expect("members are here between runs")
    }

    pub(super) fn only_mut(&mut self) -> &mut Simulation {
        self.members[0].as_deref_mut().expect("members are here between runs")
    }

    /// The network, where it is in one part.
    pub fn one_mut(&mut self) -> Option<&mut Simulation> {
        if self.members.len() == 1 { Some(self.only_mut()) } else { None }
    }

    /// The same to look at.
    pub fn one(&self) -> Option<&Simulation> {
        (self.members.len() == 1).then(|| self.any())
    }

    /// The part with a node.
    fn with(&self, node: NodeId) -> &Simulation {
        let part = self.of.get(node.ix()).map_or(0, |part| *part as usize);
        self.members[part].as_deref().expect("members are here between runs")
    }

    fn with_host(&self, host: u32) -> &Simulation {
        self.with(NodeId(host))
    }

    fn with_port(&self, port: PortId) -> &Simulation {
        self.with(self.any().ports[port.ix()].node)
    }

    /// See [`Simulation::now`].
    pub fn now(&self) -> Time {
        self.any().now()
    }

    /// See [`Simulation::config`].
    pub fn config(&self) -> &NetworkConfig {
        self.any().config()
    }

    /// See [`Simulation::totals`].
    pub fn totals(&self) -> Totals {
        let mut sum = Totals::default();
        for of in self.all().map(Simulation::totals) {
            sum.packet_hops += of.packet_hops;
            sum.events += of.events;
            sum.event_hash = sum.event_hash.wrapping_add(of.event_hash);
            sum.drops.buffer += of.drops.buffer;
            sum.drops.lossless += of.drops.lossless;
            sum.drops.error += of.drops.error;
            sum.drops.link_down += of.drops.link_down;
            sum.drops.no_route += of.drops.no_route;
            sum.drops.program += of.drops.program;
            sum.drops.blocked += of.drops.blocked;
            sum.drops.wrong_host += of.drops.wrong_host;
            sum.ledger.sent += of.ledger.sent;
            sum.ledger.delivered += of.ledger.delivered;
            sum.ledger.dropped += of.ledger.dropped;
            sum.ledger.in_flight += of.ledger.in_flight;
            sum.timeouts += of.timeouts;
            sum.nacks += of.nacks;
            sum.cnps += of.cnps;
            sum.circular_waits += of.circular_waits;
            sum.reordered += of.reordered;
            sum.reorder_distance = sum.reorder_distance.max(of.reorder_distance);
            sum.detour_bytes += of.detour_bytes;
        }
        sum
    }

    /// See [`Totals::events`].
    pub(super) fn events(&self) -> u64 {
        self.all().map(|part| part.totals.events).sum()
    }

    /// See [`Simulation::packet_hops`].
    pub fn packet_hops(&self) -> u64 {
        self.all().map(Simulation::packet_hops).sum()
    }

    /// See [`Simulation::traffic_counters`].
    pub fn traffic_counters(&self) -> Vec<TrafficCounters> {
        let mut sums = self.any().traffic_counters();
        for part in self.all().skip(1) {
            for (sum, of) in sums.iter_mut().zip(part.traffic_counters()) {
                sum.started += of.started;
                sum.finished += of.finished;
                sum.delivered += of.delivered;
                sum.packets_arrived += of.packets_arrived;
                sum.packets_marked += of.packets_marked;
                sum.actions.add(&of.actions);
            }
        }
        sums
    }

    /// What is known of a message by now, but for what stands with its channel.
    pub fn message(&self, number: u32) -> Cow<'_, FlowRecord> {
        let known = self.any().message(number);
        if self.members.len() == 1 {
            return Cow::Borrowed(known);
        }
        let (from, to) = (self.with_host(known.src), self.with_host(known.dst));
        Cow::Owned(merged(from.message(number), to.message(number), !std::ptr::eq(from, to)))
    }

    /// See [`Simulation::flows`].
    pub fn flows(&self) -> Vec<FlowRecord> {
        if let Some(one) = self.one() {
            return one.flows();
        }
        let mut flows: Vec<FlowRecord> = self.records().collect();
        self.all().for_each(|part| part.add_channels(&mut flows, |host| self.with_host(host)));
        flows
    }

    /// See [`Simulation::take_flows`].
    pub fn take_flows(&mut self) -> Flows {
        if self.members.len() == 1 {
            return self.only_mut().take_flows();
        }
        let mut flows: Flows = self.records().collect();
        self.all().for_each(|part| part.add_channels(&mut flows, |host| self.with_host(host)));
        self.all_mut().for_each(|part| part.records = Table::default());
        flows
    }

    /// What is known of all messages, but for what stands with their channels. Packed ones are read without unpacking them.
    fn records(&self) -> impl Iterator<Item = FlowRecord> + '_ {
        let mut parts: Vec<_> = self.all().map(|part| part.records.from(0)).collect();
        let part_of = |host: u32| self.of[host as usize] as usize;
        std::iter::from_fn(move || {
            let rows: Option<Vec<FlowRecord>> = parts.iter_mut().map(Iterator::next).collect();
            let rows = rows?;
            let (from, to) = (part_of(rows[0].src), part_of(rows[0].dst));
            Some(merged(&rows[from], &rows[to], from != to))
        })
    }

    /// See [`Simulation::delivered`].
    pub fn delivered(&self, message: u32) -> u64 {
        let record = self.any().message(message);
        self.with_host(record.dst).delivered_from(message, self.with_host(record.src))
    }

    /// See [`Simulation::endless_delivered`].
    pub fn endless_delivered(&self) -> Vec<u64> {
        let mut sums = vec![0; self.any().traffics.len()];
        for part in self.all() {
            part.add_endless(&mut sums, |host| self.with_host(host));
        }
        sums
    }

    /// See [`Simulation::pending_events`].
    pub fn pending_events(&self) -> usize {
        self.all().map(Simulation::pending_events).sum()
    }

    /// See [`Simulation::open_messages`].
    pub fn open_messages(&self) -> u64 {
        self.all().map(|part| part.open_messages).sum::<i64>() as u64
    }

    /// See [`Simulation::started`].
    pub fn started(&self) -> u64 {
        self.all().map(Simulation::started).sum()
    }

    /// See [`Simulation::finished`].
    pub fn finished(&self) -> u64 {
        self.all().map(Simulation::finished).sum()
    }

    /// See [`Simulation::is_over`].
    pub fn is_over(&mut self) -> bool {
        self.all_mut().all(Simulation::is_over)
    }

    /// See [`Simulation::stop_messages`].
    pub fn stop_messages(&mut self) {
        self.all_mut().for_each(Simulation::stop_messages);
    }

    /// See [`Simulation::stop_posting`].
    pub fn stop_posting(&mut self) {
        self.all_mut().for_each(Simulation::stop_posting);
    }

    /// See [`Simulation::nothing_to_come`].
    pub fn nothing_to_come(&mut self) -> bool {
        let (started, only) = (self.started(), self.only_mut());
        only.messages.peek().is_none() && started == only.records.len() as u64
    }

    /// See [`Simulation::incidents`].
    pub fn incidents(&self) -> Cow<'_, Incidents> {
        if let Some(one) = self.one() {
            return Cow::Borrowed(one.incidents());
        }
        let order = Order::new(self.config().seed);
        let mut all = Vec::new();
        let mut sum = Incidents::default();
        for part in self.all() {
            let of = part.incidents();
            // Two events of one instant happen in their order; what one event causes stands in order already.
            let keys = of
                .kept
                .iter()
                .zip(&part.part.causes)
                .map(|(incident, cause)| order.key(&Event { at: incident.time, source: *cause, arg: 0 }));
            all.extend(keys.zip(of.kept.iter().copied()));
            sum.drops += of.drops;
            sum.pauses += of.pauses;
            sum.circular_waits += of.circular_waits;
        }
        all.sort_by_key(|(key, _)| *key);
        let mut left = [Incidents::KEPT; 3];
        sum.kept = all.into_iter().map(|(_, incident)| incident).collect();
        sum.kept.retain(|incident| {
            let left = &mut left[match incident.what {
                What::Dropped(_) => 0,
                What::Paused(_) => 1,
                What::CircularWait(_) => 2,
            }];
            let kept = *left > 0;
            *left = left.saturating_sub(1);
            kept
        });
        Cow::Owned(sum)
    }

    /// See [`Simulation::port_counter`].
    pub fn port_counter(&self, port: PortId) -> PortCounters {
        let lost = (0..self.any().classes).map(|class| self.lost_behind(port, class)).sum::<u64>();
        let counters = self.with_port(port).port_counter(port);
        PortCounters { dropped: counters.dropped + lost, ..counters }
    }

    /// Packets of a port that were dropped as they arrived in another part.
    fn lost_behind(&self, port: PortId, class: usize) -> u64 {
        let (here, there) = (self.with_port(port), self.with_port(port.reverse()));
        if std::ptr::eq(here, there) { 0 } else { there.class_counter(port, class).dropped }
    }

    fn class_counter(&self, port: PortId, class: usize) -> ClassCounters {
        let counters = self.with_port(port).class_counter(port, class);
        ClassCounters { dropped: counters.dropped + self.lost_behind(port, class), ..counters }
    }

    /// See [`Simulation::port_counters`].
    pub fn port_counters(&self) -> Vec<PortCounters> {
        (0..self.any().ports.len() as u32).map(|port| self.port_counter(PortId(port))).collect()
    }

    /// See [`Simulation::class_counters`].
    pub fn class_counters(&self) -> Vec<ClassCounters> {
        let classes = self.any().classes;
        let of_port = |port| (0..classes).map(move |class| self.class_counter(port, class));
        (0..self.any().ports.len() as u32).map(PortId).flat_map(of_port).collect()
    }

    /// See [`Simulation::watch`].
    pub fn watch(&self, message: u32) -> Vec<(&'static str, f64)> {
        let Some(record) = self.any().records.get(message as usize) else {
            return Vec::new();
        };
        self.with_host(record.src).watch(message)
    }

    /// See [`Simulation::watch_port`].
    pub fn watch_port(&self, port: PortId) -> [(&'static str, f64); 2] {
        self.with_port(port).watch_port(port)
    }

    /// See [`Simulation::watch_traffic`].
    pub fn watch_traffic(&self, traffic: u16) -> [(&'static str, f64); 2] {
        let of = || self.all().map(|part| &part.traffics[traffic as usize].counters);
        let (started, finished): (u64, u64) = (of().map(|of| of.started).sum(), of().map(|of| of.finished).sum());
        let delivered: u64 = of().map(|of| of.delivered).sum();
        [("delivered_bytes", delivered as f64), ("open_messages", (started - finished) as f64)]
    }

    /// See [`Simulation::queued`].
    pub fn queued(&self, port: PortId) -> u64 {
        self.with_port(port).queued(port)
    }

    /// See [`Simulation::watch_host`].
    pub fn watch_host(&self, traffic: u16, host: u32) -> Vec<(&'static str, f64)> {
        self.with_host(host).watch_host(traffic, host)
    }

    /// See [`Simulation::watch_switch`].
    pub fn watch_switch(&self, traffic: u16, switch: u32) -> Vec<(&'static str, f64)> {
        self.with(NodeId(self.config().graph.hosts + switch)).watch_switch(traffic, switch)
    }

    /// See [`Simulation::follow`]; hops are written down of a network in one part only.
    pub fn follow(&mut self, traffic: u16, number: u32, trace: bool) {
        let trace = trace && self.members.len() == 1;
        self.all_mut().for_each(|part| part.follow(traffic, number, trace));
    }

    /// See [`Simulation::followed`].
    pub fn followed(&self, traffic: u16, number: u32) -> Option<u32> {
        self.any().followed(traffic, number)
    }

    /// See [`Simulation::hops`].
    pub fn hops(&self) -> &[Hop] {
        self.any().hops()
    }

    /// See [`Simulation::hops_left_out`].
    pub fn hops_left_out(&self) -> u64 {
        self.any().hops_left_out()
    }

    /// See [`Simulation::host_waits`].
    pub fn host_waits(&self) -> &[HostWait] {
        self.any().host_waits()
    }

    /// See [`Simulation::host_waits_left_out`].
    pub fn host_waits_left_out(&self) -> u64 {
        self.any().host_waits_left_out()
    }

    /// See [`Simulation::circular_wait`]: there is none in a network that may be cut.
    pub fn circular_wait(&self) -> Option<Vec<(PortId, u8)>> {
        self.one().and_then(Simulation::circular_wait)
    }
}

/// The record of a message from those of its sender's and its receiver's part. Both ends of a TCP connection have timers.
fn merged(sender: &FlowRecord, receiver: &FlowRecord, apart: bool) -> FlowRecord {
    FlowRecord {
        finished: receiver.finished,
        delivered: receiver.delivered,
        packets_marked: receiver.packets_marked,
        packets_arrived: receiver.packets_arrived,
        links: receiver.links,
        deflections: receiver.deflections,
        reordered: receiver.reordered,
        timeouts: if apart { sender.timeouts + receiver.timeouts } else { sender.timeouts },
        ..*sender
    }
}
