//! What a part of a network reports, and the sum over all parts.

use crate::words::fields;
use fanin_cc::Actions;
use fanin_cc::own::Failure;
use fanin_experiment::earliest;
use fanin_fabric::{ClassCounters, FlowRecord, Incidents, Ledger, PortCounters, Totals, TrafficCounters};
use fanin_units::{Count, PortId, Time};
use std::collections::BTreeMap;

/// One port.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PortReport {
    /// Its number.
    pub port: PortId,
    /// Packets sent.
    pub packets: u64,
    /// Bytes sent.
    pub bytes: u64,
    /// Most data bytes ever queued.
    pub peak: u64,
    /// Data bytes queued now.
    pub queued: u64,
    /// Its classes, control first.
    pub classes: Vec<ClassCounters>,
}

/// What a part of a network reports.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Report {
    /// Messages with an end that it has posted, less those that have arrived at it.
    pub open: i64,
    /// Messages that it knows of, in the whole network.
    pub loaded: u64,
    /// Whether there are no more.
    pub all_loaded: bool,
    /// By traffic, without drops and the actions of its scheme.
    pub counters: Vec<TrafficCounters>,
    /// Payload bytes of endless messages that have arrived, by traffic.
    pub endless: Vec<u64>,
    /// Its ports.
    pub ports: Vec<PortReport>,
    /// Packets sent over one link each.
    pub packet_hops: u64,
    /// From here on only in full reports. The records of messages at their ends here.
    pub flows: Vec<(u32, FlowRecord)>,
    /// Totals.
    pub totals: Totals,
    /// Actions, and packets dropped, by scheme.
    pub actions: Vec<Actions>,
    /// See `actions`.
    pub dropped: Vec<u64>,
    /// Drops, pauses and the rest.
    pub incidents: Incidents,
    /// The number of the event that caused each incident that is kept.
    pub causes: Vec<u32>,
    /// Packets dropped as they arrived here, by the port of the host that sent them and class.
    pub dropped_from: Vec<(PortId, Vec<u64>)>,
    /// Largest number of entries in a table of a switch program, by scheme.
    pub table_peaks: Vec<Option<u64>>,
    /// Frames that it refused.
    pub refused: u64,
    /// The earliest failure of a scheme or a policy of one's own in it.
    pub failure: Option<Failure>,
}

fields!(PortReport { port, packets, bytes, peak, queued, classes });
fields!(Report {
    open,
    loaded,
    all_loaded,
    counters,
    endless,
    ports,
    packet_hops,
    flows,
    totals,
    actions,
    dropped,
    incidents,
    causes,
    dropped_from,
    table_peaks,
    refused,
    failure,
});

/// The reports of all parts: the switches first, then the hosts.
#[derive(Clone, Debug, Default)]
pub struct Reports(pub Vec<Report>);

impl Reports {
    /// Totals of the whole network.
    pub fn totals(&self) -> Totals {
        let mut sum = Totals::default();
        self.0.iter().for_each(|report| sum += &report.totals);
        // Frames between two parts are in flight and counted by neither.
        let Ledger { sent, delivered, dropped, .. } = sum.ledger;
        sum.ledger.in_flight = sent.saturating_sub(delivered + dropped);
        sum
    }

    /// Messages that are open.
    pub fn open(&self) -> u64 {
        self.0.iter().map(|report| report.open).sum::<i64>().max(0) as u64
    }

    /// The earliest failure of a scheme or a policy of one's own.
    pub fn failure(&self) -> Option<Failure> {
        earliest(self.0.iter().filter_map(|report| report.failure.clone()))
    }

    /// Packets sent over one link each.
    pub fn packet_hops(&self) -> u64 {
        self.0.iter().map(|report| report.packet_hops).sum()
    }

    /// Whether every message has been posted.
    pub fn nothing_to_come(&self) -> bool {
        let loaded = self.0.iter().map(|report| report.loaded).max();
        self.0.iter().all(|report| report.all_loaded) && loaded == Some(self.counted(|of| of.started))
    }

    /// A counter of [`Report::counters`], over all traffics.
    pub fn counted(&self, which: impl Fn(&TrafficCounters) -> u64) -> u64 {
        self.0.iter().flat_map(|report| &report.counters).map(which).sum()
    }

    /// The counters of one traffic, without drops and the actions of its scheme.
    pub fn of_traffic(&self, traffic: u16) -> TrafficCounters {
        let mut sum = TrafficCounters::default();
        let of = self.0.iter().filter_map(|report| report.counters.get(usize::from(traffic)));
        of.for_each(|counters| sum += counters);
        sum
    }

    /// By traffic: payload that has arrived, of all messages and of endless ones.
    pub fn delivered(&self) -> Vec<[u64; 2]> {
        let traffics = self.0.first().map_or(0, |report| report.counters.len());
        let sum = |traffic: usize| {
            let all = self.of_traffic(traffic as u16).delivered;
            [all, self.0.iter().map(|report| report.endless[traffic]).sum()]
        };
        (0..traffics).map(sum).collect()
    }

    /// Counters of each traffic; `schemes` has the number of each one's scheme.
    pub fn traffic_counters(&self, schemes: &[u16]) -> Vec<TrafficCounters> {
        let of = |(traffic, scheme): (usize, &u16)| {
            let mut sum = self.of_traffic(traffic as u16);
            let scheme = usize::from(*scheme);
            self.0.iter().filter_map(|report| report.actions.get(scheme)).for_each(|of| sum.actions.add(of));
            sum.dropped = self.0.iter().filter_map(|report| report.dropped.get(scheme)).sum();
            sum
        };
        schemes.iter().enumerate().map(of).collect()
    }

    /// Counters of every class at every port.
    pub fn class_counters(&self) -> Vec<ClassCounters> {
        self.ports().into_values().flat_map(|port| port.classes.clone()).collect()
    }

    /// Counters of every port.
    pub fn port_counters(&self) -> Vec<PortCounters> {
        let of = |port: PortReport| PortCounters::sum(port.classes, (port.packets, port.bytes), port.peak);
        self.ports().into_values().map(of).collect()
    }

    /// Data bytes queued at a port.
    pub fn queued(&self, port: PortId) -> u64 {
        self.port(port).map_or(0, |of| of.queued)
    }

    /// Bytes that a port has sent, and the total time for which its classes were paused.
    pub fn sent_and_paused(&self, port: PortId) -> (u64, Time) {
        let paused = |of: &PortReport| of.classes.iter().map(|class| class.paused).sum();
        self.port(port).map_or((0, Time::ZERO), |of| (of.bytes, paused(of)))
    }

    fn port(&self, port: PortId) -> Option<&PortReport> {
        self.0.iter().flat_map(|report| &report.ports).find(|of| of.port == port)
    }

    fn ports(&self) -> BTreeMap<PortId, PortReport> {
        let mut ports: BTreeMap<PortId, PortReport> =
            self.0.iter().flat_map(|report| &report.ports).map(|of| (of.port, of.clone())).collect();
        for (port, dropped) in self.0.iter().flat_map(|report| &report.dropped_from) {
            let Some(of) = ports.get_mut(port) else { continue };
            of.classes.iter_mut().zip(dropped).for_each(|(class, dropped)| class.dropped += dropped);
        }
        ports
    }

    /// Drops, pauses and the rest, in the order in which they happened.
    pub fn incidents(&self, seed: u64) -> Incidents {
        Incidents::of_parts(seed, self.0.iter().map(|report| (&report.incidents, report.causes.as_slice())))
    }

    /// The record of every message, from those at its two ends.
    pub fn flows(&self, hosts: usize) -> Vec<FlowRecord> {
        let mut halves: BTreeMap<u32, [Option<FlowRecord>; 2]> = BTreeMap::new();
        for (host, report) in self.0.iter().skip(1).enumerate().take(hosts) {
            for (number, record) in &report.flows {
                let receives = usize::from(record.src != host as u32);
                halves.entry(*number).or_default()[receives] = Some(*record);
            }
        }
        let whole = |[sender, receiver]: [Option<FlowRecord>; 2]| match (sender, receiver) {
            (Some(sender), Some(receiver)) => Some(FlowRecord::of_two(&sender, &receiver)),
            (one, other) => one.or(other),
        };
        halves.into_values().filter_map(whole).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::words::{Reader, Wire, Words};
    use fanin_fabric::{HostTotals, IncidentCounts};

    /// Counters that count up from a number.
    fn from<C: Count>(number: &mut u64) -> C {
        let mut next = || {
            *number += 1;
            Some(*number)
        };
        C::read(&mut next).expect("numbers do not end")
    }

    fn numbers<C: Count>(of: &C) -> Vec<u64> {
        let mut numbers = Vec::new();
        of.write(&mut |number| numbers.push(number));
        numbers
    }

    /// Number by number.
    fn sum<C: Count>(one: &C, other: &C) -> C {
        let (one, other) = (numbers(one), numbers(other));
        let mut sums = one.iter().zip(&other).map(|(a, b)| a + b);
        C::read(&mut || sums.next()).expect("as many numbers")
    }

    /// A report whose counters all differ.
    fn report(number: &mut u64) -> Report {
        let classes = vec![from(number), from(number)];
        Report {
            counters: vec![from(number)],
            ports: vec![PortReport { port: PortId(3), packets: 4, bytes: 5, peak: 6, queued: 7, classes }],
            totals: from(number),
            actions: vec![from(number)],
            incidents: Incidents { kept: Vec::new(), seen: from(number) },
            ..Report::default()
        }
    }

    #[test]
    fn every_counter_is_sent_and_summed() {
        let mut number = 0;
        let (one, other) = (report(&mut number), report(&mut number));
        for report in [&one, &other] {
            let mut words = Words::default();
            report.write(&mut words);
            assert_eq!(Report::read(&mut Reader(words.bytes())).as_ref(), Some(report));
        }

        let totals = sum(&one.totals, &other.totals);
        let traffic = sum(&one.counters[0], &other.counters[0]);
        let seen: IncidentCounts = sum(&one.incidents.seen, &other.incidents.seen);
        let distance = other.totals.hosts.reorder_distance;
        let in_flight = totals.ledger.sent.saturating_sub(totals.ledger.delivered + totals.ledger.dropped);
        let totals = Totals {
            hosts: HostTotals { reorder_distance: distance, ..totals.hosts },
            ledger: Ledger { in_flight, ..totals.ledger },
            ..totals
        };
        let traffic = TrafficCounters { reorder_distance: other.counters[0].reorder_distance, ..traffic };
        let all = Reports(vec![one, other]);
        assert_eq!((all.totals(), all.of_traffic(0), all.incidents(1).seen), (totals, traffic, seen));
    }
}
