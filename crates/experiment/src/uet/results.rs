//! A run of that simulator's network in the form of the tables. Hosts come first in them, and a flow finishes when its
//! sender knows, as in that simulator's lines.

use super::setup::{IDEAL, Setup, TRAFFIC};
use fanin_fabric::{ClassCounters, Drops, FlowRecord, HostTotals, PortCounters, Totals, TrafficCounters};
use fanin_record::{ClassInfo, Event, EventKind, EventLog, Run, Spool, SpoolWriter, TrafficInfo};
use fanin_uet::{Cable, Counts, Flow, Results};
use fanin_units::{Rate, Time};
use std::collections::HashMap;
use std::io::{self, Write};

/// The hash of no lines.
pub const FNV: u64 = 0xcbf2_9ce4_8422_2325;

/// The lines that are printed, and a hash over them.
pub struct Lines {
    pub file: SpoolWriter,
    pub hash: u64,
    pub failed: Option<io::Error>,
}

impl Lines {
    /// Adds a line.
    pub fn add(&mut self, line: &str) {
        for byte in line.bytes().chain(*b"\n") {
            self.hash = (self.hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
        }
        if self.failed.is_none() {
            self.failed = writeln!(self.file, "{line}").err();
        }
    }

    /// The file.
    pub fn finish(self) -> io::Result<Spool> {
        self.failed.map_or_else(|| self.file.finish(), Err)
    }
}

/// The run, with its file of lines and the hash over them.
pub fn hand_over(setup: &Setup, found: Results, lines: Spool, hash: u64) -> Run {
    let graph = setup.graph();
    let (rates, ports) = ports(setup, &found.links).into_iter().unzip::<_, _, Vec<_>, Vec<_>>();
    let sum = |of: fn(&Counts) -> u64| found.links.iter().map(|(_, counts)| of(counts)).sum();
    let flows: Vec<FlowRecord> = found.flows.iter().map(|flow| record(setup, flow)).collect();
    let of_class = |port: &PortCounters| ClassCounters {
        marked: port.marked,
        dropped: port.dropped,
        peak_queue: port.peak_queue,
        ..ClassCounters::default()
    };
    let class = |name: &str| ClassInfo { name: name.to_string(), lossless: false };
    let reorder_distance = distance(setup, &found.flows);
    let dropped = sum(|counts| counts.dropped);
    let reordered = flows.iter().map(|flow| u64::from(flow.reordered)).sum();
    let counters = TrafficCounters {
        started: flows.iter().filter(|flow| flow.start.is_some()).count() as u64,
        finished: flows.iter().filter(|flow| flow.finished.is_some()).count() as u64,
        delivered: flows.iter().map(|flow| flow.delivered).sum(),
        packets_arrived: flows.iter().map(|flow| u64::from(flow.packets_arrived)).sum(),
        packets_marked: flows.iter().map(|flow| u64::from(flow.packets_marked)).sum(),
        reordered,
        reorder_distance,
        dropped,
        ..TrafficCounters::default()
    };
    Run {
        graph,
        traffics: vec![TrafficInfo {
            name: TRAFFIC.into(),
            scheme: setup.network().options().scheme(),
            transport: "rdma",
            class_name: "data".into(),
            counted_with: Vec::new(),
            counters,
            bytes_in_window: None,
            long_bytes_in_window: 0,
            table_peak: None,
        }],
        measured_from: Time::ZERO,
        measured_to: Time::NEVER,
        stopped: Time::from_ps(found.end),
        slowdown_ideal: IDEAL,
        numbers: fanin_record::numbers(flows.iter().copied()).collect(),
        flows: flows.into(),
        sent_in_window: ports.iter().map(|port| port.bytes).collect(),
        class_counters: ports.iter().flat_map(|port| [ClassCounters::default(), of_class(port)]).collect(),
        ports,
        rates,
        classes: vec![class("control"), class("data")],
        totals: Totals {
            packet_hops: sum(|counts| counts.packets),
            events: found.events,
            event_hash: hash,
            drops: Drops { buffer: dropped, ..Drops::default() },
            trimmed: sum(|counts| counts.trimmed),
            hosts: HostTotals {
                timeouts: found.sums.timeouts,
                nacks: found.sums.nacks,
                duplicates: found.duplicates,
                reordered,
                reorder_distance,
                ..HostTotals::default()
            },
            ..Totals::default()
        },
        series: Vec::new(),
        histograms: Vec::new(),
        watched: Vec::new(),
        watch: Vec::new(),
        traced: Vec::new(),
        hops: Vec::new(),
        host_waits: Vec::new(),
        pauses: Vec::new(),
        jobs: Vec::new(),
        graphs: Default::default(),
        events: warnings(setup, &found, dropped),
        files: vec![lines],
    }
}

/// The warnings; that simulator does not say when packets are dropped, so drops are only counted.
fn warnings(setup: &Setup, found: &Results, dropped: u64) -> EventLog {
    let mut events = EventLog::new(1000);
    for warning in setup.warnings() {
        events.push(Event::new(Time::ZERO, EventKind::Warning, "spec", warning));
    }
    if let Some(beyond) = found.beyond {
        let at = Time::from_ps(beyond.at);
        let detail = format!("from {at} on there is no reference: uet-htsim aborts there, since {}", beyond.why);
        events.push(Event::new(at, EventKind::Warning, "run", detail));
    }
    for _ in 0..dropped {
        events.leave_out(EventKind::Drop);
    }
    events
}

/// The rate of each port, and what it counted, in the order of the network's ports.
fn ports(setup: &Setup, links: &[(Cable, Counts)]) -> Vec<(Rate, PortCounters)> {
    let number = |node| setup.number(node).0;
    let key = |from, to, bundle| (number(from), number(to), bundle);
    let back: HashMap<_, _> = links.iter().map(|link| (key(link.0.from, link.0.to, link.0.bundle), link)).collect();
    let up = links.iter().filter(|(cable, _)| number(cable.from) < number(cable.to));
    let of = |(cable, counts): &(Cable, Counts)| (Rate::from_bps(cable.rate), port(counts));
    up.flat_map(|link| [of(link), of(back[&key(link.0.to, link.0.from, link.0.bundle)])]).collect()
}

fn port(counts: &Counts) -> PortCounters {
    PortCounters {
        packets: counts.packets,
        bytes: counts.bytes,
        marked: counts.marked,
        dropped: counts.dropped,
        trimmed: counts.trimmed,
        peak_queue: counts.peak,
        ..PortCounters::default()
    }
}

fn record(setup: &Setup, flow: &Flow) -> FlowRecord {
    let time = |ps: Option<u64>| ps.map_or(Time::NEVER, Time::from_ps);
    let hops = setup.network().hops(flow.from, flow.to);
    // Several messages of a connection may have pauses between them, so there is no ideal of all.
    let ideal = (flow.messages == 1).then(|| setup.network().ideal(flow.from, flow.to, flow.size));
    FlowRecord {
        start: time(flow.started),
        finished: time(flow.finished),
        acked: time(flow.finished),
        delivered: flow.delivered,
        ideal: time(ideal),
        packets_sent: (flow.counters.new + flow.counters.again) as u32,
        packets_resent: flow.counters.again as u32,
        timeouts: flow.counters.timeouts as u32,
        packets_marked: flow.arrivals.marked,
        packets_arrived: flow.arrivals.packets,
        hops,
        links: if flow.arrivals.packets > 0 { hops } else { 0 },
        attempts: 1,
        reordered: flow.arrivals.reordered,
        ..FlowRecord::new(flow.from, flow.to, flow.size, 0, flow.number)
    }
}

/// The most bytes by which a packet was late.
fn distance(setup: &Setup, flows: &[Flow]) -> u64 {
    let payload = u64::from(setup.network().options().mtu) - 64;
    flows.iter().map(|flow| u64::from(flow.arrivals.late_by) * payload).max().unwrap_or(0)
}
