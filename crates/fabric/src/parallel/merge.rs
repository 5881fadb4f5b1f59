//! Queries of a network in partitions: each answer comes from the owning partition, or is summed over all.

use super::members::ParallelSimulation;
use crate::config::NetworkConfig;
use crate::flows::Flows;
use crate::graph_records::GraphRecords;
use crate::graphs::Placed;
use crate::pause_log::{self, PauseRecord};
use crate::results::{ClassCounters, FlowRecord, Hop, HostWait, Incidents, PortCounters, Totals, TrafficCounters};
use crate::sim::Simulation;
use fanin_units::{NodeId, PortId, Time};
use std::borrow::Cow;

impl ParallelSimulation {
    /// The node that sends by a port, and the one that receives.
    fn ends(&self, port: PortId) -> (NodeId, NodeId) {
        let link = &self.plan.config.graph.links[port.ix() / 2];
        if port.ix().is_multiple_of(2) { (link.a, link.b) } else { (link.b, link.a) }
    }

    fn with_port(&self, port: PortId) -> &Simulation {
        self.with(self.ends(port).0)
    }

    fn ports(&self) -> impl Iterator<Item = PortId> {
        (0..2 * self.plan.config.graph.links.len() as u32).map(PortId)
    }

    /// See [`Simulation::now`].
    pub fn now(&self) -> Time {
        self.any().now()
    }

    /// See [`Simulation::config`].
    pub fn config(&self) -> &NetworkConfig {
        &self.plan.config
    }

    /// See [`Simulation::totals`].
    pub fn totals(&self) -> Totals {
        let mut sum = Totals::default();
        self.all().for_each(|partition| sum += &partition.totals());
        sum
    }

    /// See [`Simulation::packet_hops`].
    pub fn packet_hops(&self) -> u64 {
        self.all().map(Simulation::packet_hops).sum()
    }

    /// See [`Simulation::traffic_counters`].
    pub fn traffic_counters(&self) -> Vec<TrafficCounters> {
        let mut sums = self.any().traffic_counters();
        for partition in self.all().skip(1) {
            sums.iter_mut().zip(partition.traffic_counters()).for_each(|(sum, of)| *sum += &of);
        }
        sums
    }

    /// The record of a message so far, without the state kept at its queue pair.
    ///
    /// # Panics
    /// Where there is no such message yet.
    pub fn message(&self, number: u32) -> Cow<'_, FlowRecord> {
        if let Some(one) = self.one() {
            return Cow::Borrowed(one.message(number));
        }
        let known = self.record_of(number).expect("the message has been loaded");
        let (from, to) = (self.with_host(known.src), self.with_host(known.dst));
        let (sender, receiver) = (from.message(number), to.message(number));
        Cow::Owned(if std::ptr::eq(from, to) { *sender } else { FlowRecord::of_two(sender, receiver) })
    }

    /// A message's record in one of its partitions, enough to know its hosts.
    fn record_of(&self, number: u32) -> Option<FlowRecord> {
        self.all().find_map(|partition| partition.world.messages.records().get(number as usize))
    }

    /// See [`Simulation::flows`].
    pub fn flows(&self) -> Vec<FlowRecord> {
        if let Some(one) = self.one() {
            return one.flows();
        }
        let mut flows: Vec<FlowRecord> = self.records().collect();
        self.all().for_each(|partition| partition.add_open(&mut flows, |host| self.with_host(host)));
        flows
    }

    /// See [`Simulation::take_flows`].
    pub fn take_flows(&mut self) -> Flows {
        if self.members.len() == 1 {
            return self.only_mut().take_flows();
        }
        let mut flows: Flows = self.records().collect();
        self.all().for_each(|partition| partition.add_open(&mut flows, |host| self.with_host(host)));
        self.all_mut().for_each(|partition| drop(partition.world.messages.take_records()));
        flows
    }

    /// The records of all messages, without the state kept at their queue pairs. Packed rows are read without unpacking
    /// them.
    fn records(&self) -> impl Iterator<Item = FlowRecord> + '_ {
        let mut rows: Vec<_> =
            self.all().map(|partition| partition.world.messages.records().numbered(0).peekable()).collect();
        let messages = self.any().world.messages.len();
        (0..messages).filter_map(move |number| {
            // Its sender's partition and its receiver's each have a row; they may be the same partition.
            let mut known = rows.iter_mut().filter_map(|rows| rows.next_if(|(of, _)| *of == number));
            let (_, first) = known.next()?;
            let Some((_, second)) = known.next() else { return Some(first) };
            let sends_first =
                self.plan.layout.partition(NodeId(first.src)) < self.plan.layout.partition(NodeId(first.dst));
            let (sender, receiver) = if sends_first { (first, second) } else { (second, first) };
            Some(FlowRecord::of_two(&sender, &receiver))
        })
    }

    /// See [`Simulation::delivered`].
    pub fn delivered(&self, message: u32) -> u64 {
        let Some(record) = self.record_of(message) else { return 0 };
        self.with_host(record.dst).delivered_from(message, self.with_host(record.src))
    }

    /// See [`Simulation::endless_delivered`].
    pub fn endless_delivered(&self) -> Vec<u64> {
        let mut sums = vec![0; self.any().world.messages.traffics().len()];
        for partition in self.all() {
            partition.add_endless(&mut sums, |host| self.with_host(host));
        }
        sums
    }

    /// See [`Simulation::pending_events`].
    pub fn pending_events(&self) -> usize {
        self.all().map(Simulation::pending_events).sum()
    }

    /// See [`Simulation::open_messages`].
    pub fn open_messages(&self) -> u64 {
        self.all().map(|partition| partition.world.messages.open()).sum::<i64>() as u64
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
        if let Some(one) = self.one_mut() {
            return one.nothing_to_come();
        }
        let (started, graphs, done) = (self.started(), self.has_graphs(), self.all().all(Simulation::graphs_are_done));
        let only = self.only_mut();
        let all_posted = only.all_loaded() && started == only.world.messages.len() as u64;
        all_posted && done || graphs && self.is_over()
    }

    fn has_graphs(&self) -> bool {
        self.any().world.messages.graphs().is_some()
    }

    /// See [`Simulation::run_graphs`].
    pub fn run_graphs(&mut self, jobs: &[Placed]) {
        self.all_mut().for_each(|partition| partition.run_graphs(jobs.to_vec()));
    }

    /// See [`Simulation::take_graphs`].
    pub fn take_graphs(&mut self) -> GraphRecords {
        let mut records = GraphRecords::default();
        self.all_mut().for_each(|partition| partition.add_graphs(&mut records));
        records.sort();
        records
    }

    /// See [`Simulation::incidents`].
    pub fn incidents(&self) -> Cow<'_, Incidents> {
        if let Some(one) = self.one() {
            return Cow::Borrowed(one.incidents());
        }
        let parts = self.all().map(|of| (of.incidents(), of.world.net.core().probes.causes()));
        Cow::Owned(Incidents::of_parts(self.config().seed, parts))
    }

    /// See [`Simulation::pause_records`].
    pub fn pause_records(&self) -> (Vec<PauseRecord>, u64) {
        let config = self.config();
        let logs = self.all().filter_map(|partition| partition.world.net.core().probes.pauses());
        pause_log::records(&config.graph, (config.packet.pause, config.pauses.response), logs)
    }

    /// See [`Simulation::port_counter`].
    pub fn port_counter(&self, port: PortId) -> PortCounters {
        let counters = self.with_port(port).port_counter(port);
        let classes = self.any().world.net.egress().classes();
        let lost: u64 = (0..classes).map(|class| self.lost_behind(port, class)).sum();
        PortCounters { dropped: counters.dropped + lost, ..counters }
    }

    /// Packets of a port that were dropped as they arrived in another partition.
    fn lost_behind(&self, port: PortId, class: usize) -> u64 {
        self.with(self.ends(port).1).world.net.egress().dropped_remote(port, class)
    }

    fn class_counter(&self, port: PortId, class: usize) -> ClassCounters {
        let counters = self.with_port(port).class_counter(port, class);
        ClassCounters { dropped: counters.dropped + self.lost_behind(port, class), ..counters }
    }

    /// See [`Simulation::port_counters`].
    pub fn port_counters(&self) -> Vec<PortCounters> {
        self.ports().map(|port| self.port_counter(port)).collect()
    }

    /// See [`Simulation::class_counters`].
    pub fn class_counters(&self) -> Vec<ClassCounters> {
        let classes = self.any().world.net.egress().classes();
        let of_port = |port| (0..classes).map(move |class| self.class_counter(port, class));
        self.ports().flat_map(of_port).collect()
    }

    /// See [`Simulation::watch`].
    pub fn watch(&self, message: u32) -> Vec<(&'static str, f64)> {
        let Some(record) = self.record_of(message) else {
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
        let of = || self.all().map(|partition| &partition.world.messages.counters()[traffic as usize]);
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

    /// See [`Simulation::follow`]; hops are recorded only in a network of one partition.
    pub fn follow(&mut self, traffic: u16, number: u32, trace: bool) {
        let trace = trace && self.members.len() == 1;
        self.all_mut().for_each(|partition| partition.follow(traffic, number, trace));
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
