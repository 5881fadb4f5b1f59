//! What a run asks of the network that it runs.

use fanin_cc::own::Failure;
use fanin_fabric::{
    ClassCounters, Flows, Incidents, NetworkConfig, ParallelSimulation, PortCounters, Totals, TrafficCounters,
};
use fanin_record::Spool;
use fanin_units::{PortId, Time};
use std::borrow::Cow;

/// What runs the network of an experiment: the simulator, or processes on a wire.
pub trait Engine {
    /// Runs all events before `until`, at most about `budget` of them. Returns whether it reached `until`.
    fn run_until(&mut self, until: Time, budget: u64) -> bool;
    /// Everything before this time has happened.
    fn now(&self) -> Time;
    /// The network.
    fn config(&self) -> &NetworkConfig;
    /// Packets sent over one link each.
    fn packet_hops(&self) -> u64;
    /// Messages posted.
    fn started(&self) -> u64;
    /// Messages whose last byte has arrived.
    fn finished(&self) -> u64;
    /// Messages with an end that were posted and have not arrived.
    fn open_messages(&self) -> u64;
    /// Whether no message will be posted any more.
    fn nothing_to_come(&mut self) -> bool;
    /// Whether senders know of all arrivals.
    fn all_known(&mut self) -> bool;
    /// From now on triggers post only answers to what has been asked.
    fn stop_posting(&mut self);
    /// Payload bytes of each traffic that have arrived in order: of all its messages, and of endless ones.
    fn delivered(&self) -> Vec<[u64; 2]>;
    /// Data bytes queued at a port.
    fn queued(&self, port: PortId) -> u64;
    /// Observable state of a port.
    fn watch_port(&self, port: PortId) -> [(&'static str, f64); 2];
    /// Observable state of a traffic.
    fn watch_traffic(&self, traffic: u16) -> [(&'static str, f64); 2];
    /// Counters of every port.
    fn port_counters(&self) -> Vec<PortCounters>;
    /// Counters of every class at every port. Like the following, only after [`Engine::take_flows`].
    fn class_counters(&self) -> Vec<ClassCounters>;
    /// Takes the records of all messages.
    fn take_flows(&mut self) -> Flows;
    /// Totals of each traffic.
    fn traffic_counters(&self) -> Vec<TrafficCounters>;
    /// Totals of the run.
    fn totals(&self) -> Totals;
    /// Drops and pauses.
    fn incidents(&self) -> Cow<'_, Incidents>;
    /// Most entries that a table of a traffic's scheme had in any switch.
    fn table_peak(&self, traffic: u16) -> Option<u64>;
    /// The earliest failure of a loaded program in another process.
    fn failure(&self) -> Option<Failure> {
        None
    }
    /// Ends the traces that the network itself writes, once: their files, and warnings.
    fn take_traces(&mut self) -> (Vec<Spool>, Vec<String>) {
        (Vec::new(), Vec::new())
    }
    /// The simulator, where it is one: it can be observed in more ways.
    fn simulator(&self) -> Option<&ParallelSimulation> {
        None
    }
    /// The same, to change it.
    fn simulator_mut(&mut self) -> Option<&mut ParallelSimulation> {
        None
    }
}

impl Engine for ParallelSimulation {
    fn run_until(&mut self, until: Time, budget: u64) -> bool {
        self.run_until(until, budget)
    }
    fn now(&self) -> Time {
        self.now()
    }
    fn config(&self) -> &NetworkConfig {
        self.config()
    }
    fn packet_hops(&self) -> u64 {
        self.packet_hops()
    }
    fn started(&self) -> u64 {
        self.started()
    }
    fn finished(&self) -> u64 {
        self.finished()
    }
    fn open_messages(&self) -> u64 {
        self.open_messages()
    }
    fn nothing_to_come(&mut self) -> bool {
        self.nothing_to_come()
    }
    fn all_known(&mut self) -> bool {
        self.flows().iter().all(|f| f.finished.is_some() <= f.acked.is_some())
    }
    fn stop_posting(&mut self) {
        self.stop_posting();
    }
    fn delivered(&self) -> Vec<[u64; 2]> {
        let all = self.traffic_counters().into_iter().map(|counters| counters.delivered);
        all.zip(self.endless_delivered()).map(<[u64; 2]>::from).collect()
    }
    fn queued(&self, port: PortId) -> u64 {
        self.queued(port)
    }
    fn watch_port(&self, port: PortId) -> [(&'static str, f64); 2] {
        self.watch_port(port)
    }
    fn watch_traffic(&self, traffic: u16) -> [(&'static str, f64); 2] {
        self.watch_traffic(traffic)
    }
    fn port_counters(&self) -> Vec<PortCounters> {
        self.port_counters()
    }
    fn class_counters(&self) -> Vec<ClassCounters> {
        self.class_counters()
    }
    fn take_flows(&mut self) -> Flows {
        self.take_flows()
    }
    fn traffic_counters(&self) -> Vec<TrafficCounters> {
        self.traffic_counters()
    }
    fn totals(&self) -> Totals {
        self.totals()
    }
    fn incidents(&self) -> Cow<'_, Incidents> {
        self.incidents()
    }
    fn table_peak(&self, traffic: u16) -> Option<u64> {
        let switches = self.config().graph.switches();
        let seen = (0..switches).flat_map(|switch| self.watch_switch(traffic, switch));
        seen.filter(|(name, _)| *name == TABLE_PEAK).map(|(_, value)| value as u64).max()
    }
    fn simulator(&self) -> Option<&ParallelSimulation> {
        Some(self)
    }
    fn simulator_mut(&mut self) -> Option<&mut ParallelSimulation> {
        Some(self)
    }
}

/// The name in switch programs of the largest number of entries in the deflected flow table.
const TABLE_PEAK: &str = "table_peak";
