//! What a part of a network reports, and the sum over all parts.

use crate::words::{Reader, Words};
use fanin_cc::{Action, Actions};
use fanin_engine::{Event, Order};
use fanin_fabric::{
    ClassCounters, DropCause, Drops, FlowRecord, Incident, Incidents, Ledger, PortCounters, Totals, TrafficCounters,
    What,
};
use fanin_units::{PortId, Time};
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
    /// By traffic: started, finished, delivered, packets that arrived, those of them that were marked, and that were
    /// reordered, and the largest reordering distance.
    pub counters: Vec<[u64; 7]>,
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
    /// The first drops and pauses, and the number of the event that caused each.
    pub incidents: Vec<(Incident, u32)>,
    /// Drops, pauses, cyclic dependencies, storms and their ends seen, which may be more than are kept.
    pub seen: [u64; 5],
    /// Packets dropped as they arrived here, by the port of the host that sent them and class.
    pub dropped_from: Vec<(PortId, Vec<u64>)>,
    /// Largest number of entries in a table of a switch program, by scheme.
    pub table_peaks: Vec<Option<u64>>,
    /// Frames that it refused.
    pub refused: u64,
}

const CAUSES: [DropCause; 11] = [
    DropCause::Buffer,
    DropCause::Lossless,
    DropCause::Error,
    DropCause::LinkDown,
    DropCause::NoRoute,
    DropCause::Program,
    DropCause::Blocked,
    DropCause::WrongHost,
    DropCause::Shaper,
    DropCause::Watchdog,
    DropCause::Receiver,
];

fn drops_of(drops: &Drops) -> [u64; 11] {
    let Drops { buffer, lossless, error, link_down, no_route, program, blocked, .. } = *drops;
    let Drops { wrong_host, shaper, watchdog, receiver, .. } = *drops;
    [buffer, lossless, error, link_down, no_route, program, blocked, wrong_host, shaper, watchdog, receiver]
}

fn drops(
    [buffer, lossless, error, link_down, no_route, program, blocked, wrong_host, shaper, watchdog, receiver]: [u64; 11],
) -> Drops {
    Drops { buffer, lossless, error, link_down, no_route, program, blocked, wrong_host, shaper, watchdog, receiver }
}

fn numbers_of(totals: &Totals) -> [u64; 15] {
    let (t, l) = (totals, &totals.ledger);
    [
        t.packet_hops,
        t.events,
        t.event_hash,
        l.sent,
        l.delivered,
        l.dropped,
        t.timeouts,
        t.given_up,
        t.nacks,
        t.duplicates,
        t.cnps,
        t.circular_waits,
        t.storms,
        t.reordered,
        t.detour_bytes,
    ]
}

/// Totals from [`numbers_of`], drops, and the largest reordering distance.
fn totals(numbers: [u64; 15], of_drops: [u64; 11], reorder_distance: u64) -> Totals {
    let [
        packet_hops,
        events,
        event_hash,
        sent,
        delivered,
        dropped,
        timeouts,
        given_up,
        nacks,
        duplicates,
        cnps,
        rest @ ..,
    ] = numbers;
    let [circular_waits, storms, reordered, detour_bytes] = rest;
    let in_flight = sent.saturating_sub(delivered + dropped);
    Totals {
        packet_hops,
        events,
        event_hash,
        drops: drops(of_drops),
        ledger: Ledger { sent, delivered, dropped, in_flight },
        timeouts,
        given_up,
        nacks,
        duplicates,
        cnps,
        circular_waits,
        storms,
        reordered,
        reorder_distance,
        detour_bytes,
    }
}

fn class_words(of: &ClassCounters) -> [u64; 7] {
    let (paused, wait) = (of.paused.as_ps(), of.credit_wait.as_ps());
    [of.marked, of.dropped, of.peak_queue, paused, of.pauses, wait, of.credit_waits]
}

impl Report {
    /// Appends it.
    pub fn write(&self, words: &mut Words) {
        words.all([self.open as u64, self.loaded, self.all_loaded.into(), self.packet_hops, self.refused]);
        words.put(self.counters.len() as u64);
        self.counters.iter().for_each(|of| words.all(*of));
        words.list(&self.endless);
        words.put(self.ports.len() as u64);
        for of in &self.ports {
            words.all([of.port.0.into(), of.packets, of.bytes, of.peak, of.queued, of.classes.len() as u64]);
            of.classes.iter().for_each(|class| words.all(class_words(class)));
        }
        words.put(self.flows.len() as u64);
        for (number, record) in &self.flows {
            words.put(u64::from(*number));
            words.record(record);
        }
        words.all(numbers_of(&self.totals));
        words.all(drops_of(&self.totals.drops));
        words.put(self.totals.reorder_distance);
        words.put(self.actions.len() as u64);
        for actions in &self.actions {
            words.all(actions.iter().map(|(_, count)| count));
        }
        words.list(&self.dropped);
        words.put(self.incidents.len() as u64);
        for (incident, cause) in &self.incidents {
            let what = match incident.what {
                What::Dropped(cause) => CAUSES.iter().position(|of| *of == cause).unwrap_or(0) as u64,
                What::Paused(class) => 0x100 | u64::from(class),
                What::CircularWait(class) => 0x200 | u64::from(class),
                What::Storm(class) => 0x300 | u64::from(class),
                What::StormEnd(class) => 0x400 | u64::from(class),
            };
            words.all([incident.time.as_ps(), incident.port.0.into(), what, (*cause).into()]);
        }
        words.all(self.seen);
        words.put(self.dropped_from.len() as u64);
        for (port, classes) in &self.dropped_from {
            words.put(port.0.into());
            words.list(classes);
        }
        words.put(self.table_peaks.len() as u64);
        self.table_peaks.iter().for_each(|peak| words.all([peak.is_some().into(), peak.unwrap_or(0)]));
    }

    /// Reads one.
    pub fn read(from: &mut Reader<'_>) -> Option<Self> {
        let [open, loaded, all_loaded, packet_hops, refused] = from.words()?;
        let counters = (0..from.word()?).map(|_| from.words()).collect::<Option<_>>()?;
        let endless = from.list()?;
        let port = |from: &mut Reader<'_>| {
            let [port, packets, bytes, peak, queued, classes] = from.words()?;
            let class = |_| {
                let [marked, dropped, peak_queue, paused, pauses, wait, credit_waits] = from.words()?;
                let (paused, credit_wait) = (Time::from_ps(paused), Time::from_ps(wait));
                Some(ClassCounters { marked, dropped, peak_queue, paused, pauses, credit_wait, credit_waits })
            };
            let classes = (0..classes).map(class).collect::<Option<_>>()?;
            Some(PortReport { port: PortId(port as u32), packets, bytes, peak, queued, classes })
        };
        let ports = (0..from.word()?).map(|_| port(from)).collect::<Option<_>>()?;
        let flows = (0..from.word()?).map(|_| Some((from.word()? as u32, from.record()?))).collect::<Option<_>>()?;
        let totals = totals(from.words()?, from.words()?, from.word()?);
        let actions = |from: &mut Reader<'_>| {
            let mut actions = Actions::default();
            for action in Action::ALL {
                actions.add_up(*action, from.word()?);
            }
            Some(actions)
        };
        let actions = (0..from.word()?).map(|_| actions(from)).collect::<Option<_>>()?;
        let dropped = from.list()?;
        let incident = |from: &mut Reader<'_>| {
            let [time, port, what, cause] = from.words()?;
            let class = what as u8;
            let what = match what >> 8 {
                0 => What::Dropped(*CAUSES.get(what as usize)?),
                1 => What::Paused(class),
                2 => What::CircularWait(class),
                3 => What::Storm(class),
                _ => What::StormEnd(class),
            };
            Some((Incident { time: Time::from_ps(time), port: PortId(port as u32), what }, cause as u32))
        };
        let incidents = (0..from.word()?).map(|_| incident(from)).collect::<Option<_>>()?;
        let seen = from.words()?;
        let dropped_from =
            (0..from.word()?).map(|_| Some((PortId(from.word()? as u32), from.list()?))).collect::<Option<_>>()?;
        let peak = |from: &mut Reader<'_>| from.words().map(|[some, peak]| (some != 0).then_some(peak));
        let table_peaks = (0..from.word()?).map(|_| peak(from)).collect::<Option<_>>()?;
        let (open, all_loaded) = (open as i64, all_loaded != 0);
        Some(Self {
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
            seen,
            dropped_from,
            table_peaks,
            refused,
        })
    }
}

/// The reports of all parts: the switches first, then the hosts.
#[derive(Clone, Debug, Default)]
pub struct Reports(pub Vec<Report>);

impl Reports {
    /// Totals of the whole network.
    pub fn totals(&self) -> Totals {
        let (mut numbers, mut of_drops, mut distance) = ([0u64; 15], [0u64; 11], 0);
        for report in &self.0 {
            let add = |sums: &mut [u64], of: &[u64]| sums.iter_mut().zip(of).for_each(|(a, b)| *a = a.wrapping_add(*b));
            add(&mut numbers, &numbers_of(&report.totals));
            add(&mut of_drops, &drops_of(&report.totals.drops));
            distance = distance.max(report.totals.reorder_distance);
        }
        totals(numbers, of_drops, distance)
    }

    /// Messages that are open.
    pub fn open(&self) -> u64 {
        self.0.iter().map(|report| report.open).sum::<i64>().max(0) as u64
    }

    /// Packets sent over one link each.
    pub fn packet_hops(&self) -> u64 {
        self.0.iter().map(|report| report.packet_hops).sum()
    }

    /// Whether every message has been posted.
    pub fn nothing_to_come(&self) -> bool {
        let loaded = self.0.iter().map(|report| report.loaded).max();
        self.0.iter().all(|report| report.all_loaded) && loaded == Some(self.counted(0))
    }

    /// A counter of [`Report::counters`], over all traffics.
    pub fn counted(&self, which: usize) -> u64 {
        self.0.iter().flat_map(|report| &report.counters).map(|of| of[which]).sum()
    }

    /// The same of one traffic.
    pub fn of_traffic(&self, traffic: u16, which: usize) -> u64 {
        self.0.iter().filter_map(|report| report.counters.get(usize::from(traffic))).map(|of| of[which]).sum()
    }

    /// By traffic: payload that has arrived, of all messages and of endless ones.
    pub fn delivered(&self) -> Vec<[u64; 2]> {
        let traffics = self.0.first().map_or(0, |report| report.counters.len());
        let sum = |traffic: usize| {
            let all = self.of_traffic(traffic as u16, 2);
            [all, self.0.iter().map(|report| report.endless[traffic]).sum()]
        };
        (0..traffics).map(sum).collect()
    }

    /// Counters of each traffic; `schemes` has the number of each one's scheme.
    pub fn traffic_counters(&self, schemes: &[u16]) -> Vec<TrafficCounters> {
        let of = |(traffic, scheme): (usize, &u16)| {
            let sum = |which| self.of_traffic(traffic as u16, which);
            let mut actions = Actions::default();
            self.0.iter().filter_map(|report| report.actions.get(usize::from(*scheme))).for_each(|of| actions.add(of));
            let dropped = self.0.iter().filter_map(|report| report.dropped.get(usize::from(*scheme))).sum();
            TrafficCounters {
                started: sum(0),
                finished: sum(1),
                delivered: sum(2),
                packets_arrived: sum(3),
                packets_marked: sum(4),
                reordered: sum(5),
                reorder_distance: self.0.iter().map(|report| report.counters[traffic][6]).max().unwrap_or(0),
                dropped,
                actions,
            }
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
        let order = Order::new(seed);
        let mut all: Vec<(u128, Incident)> = Vec::new();
        let mut sum = Incidents::default();
        for report in &self.0 {
            let key = |(incident, cause): &(Incident, u32)| {
                (order.key(&Event { at: incident.time, source: *cause, arg: 0 }), *incident)
            };
            all.extend(report.incidents.iter().map(key));
            let [drops, pauses, circular_waits, storms, storm_ends] = report.seen;
            sum.drops += drops;
            sum.pauses += pauses;
            sum.circular_waits += circular_waits;
            sum.storms += storms;
            sum.storm_ends += storm_ends;
        }
        all.sort_by_key(|(key, _)| *key);
        sum.kept = all.into_iter().map(|(_, incident)| incident).collect();
        sum.keep_first();
        sum
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
