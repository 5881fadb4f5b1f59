//! A run of that simulator's network in the form of the tables. Hosts come first in them, each node keeps its number in
//! its name, and a flow finishes when its sender knows, as in the FCT file.

use super::setup::{Setup, traffic_name};
use crate::aftermath;
use crate::run::MOST_NAMED;
use fanin_fabric::topology::{Graph, Link};
use fanin_fabric::{
    Cause, ClassCounters, FlowRecord, Hop, HostTotals, HostWait, PortCounters, Totals, TrafficCounters,
};
use fanin_formats::hpcc;
use fanin_ns3::packet::Kind;
use fanin_ns3::results::{Drop, Pause, Record, Seen};
use fanin_ns3::stuck::Stuck;
use fanin_ns3::waits::{Wait, Why};
use fanin_ns3::{Network, files};
use fanin_record::{ClassInfo, Event, EventKind, EventLog, Run, Spool, Traced, TrafficInfo, port_names};
use fanin_units::{Bytes, NodeId, PortId, Rate, Time};
use std::collections::BTreeMap;

/// The most events of a kind that are kept.
const MOST_EVENTS: usize = 1000;

/// The pauses of a run, the first ones with time and place.
#[derive(Default)]
pub struct Pauses {
    kept: Vec<Pause>,
    left_out: u64,
}

impl Pauses {
    /// Adds a pause; what ends one is none.
    pub fn add(&mut self, pause: &Pause) {
        if pause.pause && self.kept.len() < MOST_EVENTS {
            self.kept.push(*pause);
        } else {
            self.left_out += u64::from(pause.pause);
        }
    }
}

/// The run, with its pauses, its trace's records that were left out and the limit that they exceeded, and the files.
pub fn hand_over(setup: &Setup, network: &Network, pauses: &Pauses, left_out: (u64, u64), spools: Vec<Spool>) -> Run {
    let (graph, place) = graph(setup, network);
    let ports = ports(network);
    let of_data = |p: &PortCounters| ClassCounters {
        marked: p.marked,
        dropped: p.dropped,
        peak_queue: p.peak_queue,
        paused: p.paused,
        pauses: p.pauses,
        ..ClassCounters::default()
    };
    let (traffics, flows) = messages(setup, network, &place);
    let class = |name: &str, lossless| ClassInfo { name: name.to_string(), lossless };
    let mut run = Run {
        jobs: Vec::new(),
        graphs: Default::default(),
        events: incidents(setup, network, pauses, left_out, &graph, &place),
        graph,
        traffics,
        measured_from: Time::ZERO,
        measured_to: Time::NEVER,
        stopped: Time::from_ns(network.now()),
        slowdown_ideal: "hpcc",
        numbers: fanin_record::numbers(flows.iter().copied()).collect(),
        flows: flows.into(),
        rates: Vec::new(),
        sent_in_window: ports.iter().map(|port| port.bytes).collect(),
        class_counters: ports.iter().flat_map(|p| [ClassCounters::default(), of_data(p)]).collect(),
        ports,
        classes: vec![class("control", false), class("data", true)],
        totals: totals(network),
        series: Vec::new(),
        histograms: Vec::new(),
        watched: Vec::new(),
        watch: Vec::new(),
        traced: Vec::new(),
        hops: Vec::new(),
        host_waits: Vec::new(),
        pauses: Vec::new(),
        files: spools,
    };
    for detail in aftermath::never(network.stuck().iter().map(|stuck| waits(&run, stuck))) {
        run.events.push(Event::new(run.stopped, EventKind::Warning, "run", detail));
    }
    run
}

/// What a flow that will never finish waits for.
fn waits(run: &Run, stuck: &Stuck) -> String {
    let rest = match run.flows.get(stuck.flow).map_or(0, |flow| flow.bytes - stuck.sent) {
        0 => "its sender has sent everything",
        _ => "its sender has used up its window",
    };
    format!(
        "{}: {rest} and knows of {} that have arrived; since {}, nothing of it has been on its way, and that simulator \
         has no retransmission timeout",
        aftermath::name(run, stuck.flow),
        Bytes(stuck.acked),
        Time::from_ns(stuck.since)
    )
}

/// The network, and each node's place in it.
fn graph(setup: &Setup, network: &Network) -> (Graph, Vec<u32>) {
    let wiring = network.wiring();
    let mut place = vec![0u32; wiring.is_switch.len()];
    let mut names = Vec::with_capacity(place.len());
    for is_switch in [false, true] {
        for node in (0..place.len()).filter(|node| wiring.is_switch[*node] == is_switch) {
            place[node] = names.len() as u32;
            names.push(format!("{}{node}", if is_switch { "s" } else { "h" }));
        }
    }
    let node = |number: u32| NodeId(place[number as usize]);
    let link = |link: &hpcc::Link| Link {
        error_rate: link.error_rate,
        ..Link::new(node(link.a), node(link.b), Rate::from_bps(link.rate), Time::from_ns(link.delay.ns))
    };
    let links = setup.topology.links.iter().map(link).collect();
    (Graph { hosts: wiring.hosts.len() as u32, names, links }, place)
}

fn ports(network: &Network) -> Vec<PortCounters> {
    let port = |c: fanin_ns3::network::Counts| PortCounters {
        packets: c.packets,
        bytes: c.bytes,
        marked: c.marked,
        dropped: c.dropped,
        peak_queue: c.peak,
        paused: Time::from_ns(c.paused),
        pauses: c.pauses,
        ..PortCounters::default()
    };
    network.counts().map(port).collect()
}

/// A traffic for each destination port, and the messages.
fn messages(setup: &Setup, network: &Network, place: &[u32]) -> (Vec<TrafficInfo>, Vec<FlowRecord>) {
    let mut dports: Vec<u16> = network.flows().iter().map(|f| f.dport).collect();
    dports.sort_unstable();
    dports.dedup();
    let traffic = |dport: &u16| TrafficInfo {
        name: traffic_name(*dport),
        scheme: setup.scheme().to_string(),
        transport: "rdma",
        class_name: "data".into(),
        counted_with: Vec::new(),
        counters: TrafficCounters::default(),
        bytes_in_window: None,
        long_bytes_in_window: 0,
        table_peak: None,
    };
    let mut traffics: Vec<TrafficInfo> = dports.iter().map(traffic).collect();
    let message = |f| {
        let record = message(setup, network, place, f);
        let traffic = dports.binary_search(&f.dport).unwrap_or(0);
        let counters = &mut traffics[traffic].counters;
        counters.started += 1;
        counters.finished += f.finished as u64;
        counters.delivered += record.delivered;
        counters.packets_arrived += u64::from(record.packets_arrived);
        counters.packets_marked += u64::from(record.packets_marked);
        FlowRecord { traffic: traffic as u16, ..record }
    };
    let messages = network.flows().iter().map(message).collect();
    // All of them are under one scheme, so its actions and the drops are those of all together.
    let names: Vec<String> = traffics.iter().take(MOST_NAMED + 1).map(|traffic| traffic.name.clone()).collect();
    let dropped = network.drops().map(|(_, count)| count).sum();
    for traffic in &mut traffics {
        traffic.counters.actions = network.actions().clone();
        traffic.counters.dropped = dropped;
        traffic.counted_with = names.iter().filter(|name| **name != traffic.name).take(MOST_NAMED).cloned().collect();
    }
    (traffics, messages)
}

/// A message, but for its traffic.
fn message(setup: &Setup, network: &Network, place: &[u32], f: &fanin_ns3::flow::Flow) -> FlowRecord {
    let done_at = if f.done_at == u64::MAX { Time::NEVER } else { Time::from_ns(f.done_at) };
    let hops = network.wiring().path(f.src, f.dst, f.sport, f.dport).len() as u16 - 1;
    FlowRecord {
        start: Time::from_ns(f.start),
        finished: done_at,
        acked: done_at,
        bytes: f.size,
        delivered: f.delivered(),
        ideal: Time::from_ns(files::fct(&network.record(f), setup.config.payload).standalone),
        src: place[f.src as usize],
        dst: place[f.dst as usize],
        group: u32::MAX,
        packets_sent: f.sent,
        packets_resent: f.retransmitted,
        timeouts: 0,
        packets_marked: f.arrived.1,
        packets_arrived: f.arrived.0,
        traffic: 0,
        hops,
        links: if f.arrived.0 > 0 { hops } else { 0 },
        deflections: 0,
        attempts: 1,
        reordered: 0,
        request: false,
        given_up: false,
    }
}

fn totals(network: &Network) -> Totals {
    let mut totals = Totals {
        packet_hops: network.packet_hops(),
        events: network.events_run(),
        event_hash: network.hash(),
        hosts: HostTotals { nacks: network.nacks, ..HostTotals::default() },
        ..Totals::default()
    };
    for (why, count) in network.drops() {
        let drops = &mut totals.drops;
        *match why {
            Drop::Full => &mut drops.lossless,
            Drop::LinkDown => &mut drops.link_down,
            Drop::Error => &mut drops.error,
            Drop::NoRoute => &mut drops.no_route,
            Drop::WrongHost => &mut drops.wrong_host,
        } += count;
    }
    totals
}

/// The warnings about the configuration, the drops, the pauses, and the failure of its link.
fn incidents(
    setup: &Setup,
    network: &Network,
    pauses: &Pauses,
    (left_out, limit): (u64, u64),
    graph: &Graph,
    place: &[u32],
) -> EventLog {
    let mut events = EventLog::new(MOST_EVENTS);
    let warn = |detail: String| Event::new(Time::ZERO, EventKind::Warning, "spec", detail);
    for warning in &setup.warnings {
        events.push(warn(warning.to_string()));
    }
    if left_out > 0 {
        events.push(warn(format!("{left_out} records of the trace were left out: its limit is {limit} bytes")));
    }
    for (at, node, why) in &network.happened.drops {
        let (cause, detail) = match why {
            Drop::Full => ("lossless", "no room in headroom or shared buffer"),
            Drop::LinkDown => ("link_down", "link down"),
            Drop::Error => ("error", "link error"),
            Drop::NoRoute => ("no_route", "no route"),
            Drop::WrongHost => ("wrong_host", "wrong host"),
        };
        let name = graph.names[place[*node as usize] as usize].as_str();
        let event = Event::new(Time::from_ns(*at), EventKind::Drop, name, detail);
        events.push(Event { cause: Some(cause), ..event });
    }
    let dropped: u64 = network.drops().map(|(_, count)| count).sum();
    for _ in network.happened.drops.len() as u64..dropped {
        events.leave_out(EventKind::Drop);
    }
    let ports = port_names(graph);
    let wiring = network.wiring();
    for pause in &pauses.kept {
        let devices = &wiring.of_node[pause.node as usize];
        let device = devices.iter().find(|device| wiring.devices[**device as usize].number == pause.device);
        let port = device.and_then(|device| ports.get(*device as usize)).cloned().unwrap_or_default();
        events.push(Event::new(Time::from_ns(pause.at), EventKind::Pause, port, "class 1"));
    }
    for _ in 0..pauses.left_out {
        events.leave_out(EventKind::Pause);
    }
    let ends = setup.config.link_down.map(|(us, a, b)| (Time::from_ns(2_000_000_000 + us * 1000), a, b));
    if let Some((at, a, b)) = ends.filter(|(at, ..)| *at <= Time::from_ns(network.now())) {
        let link =
            setup.topology.links.iter().position(|link| (link.a, link.b) == (a, b) || (link.b, link.a) == (a, b));
        if let Some(port) = link.and_then(|link| ports.get(2 * link)) {
            events.push(Event::new(at, EventKind::LinkDown, port, "the link went down"));
            events.push(Event::new(at, EventKind::Reroute, port, "routes lead around the link"));
        }
    }
    events
}

/// The packets of a flow that have just been seen at a node: of a switch as they join a queue, of hosts as they leave
/// the first and reach the last. Nodes and ports are still those of that simulator.
pub fn hops_of(network: &Network, flow: u32) -> Vec<Hop> {
    let wiring = network.wiring();
    let of_flow = |record: &&Record| record.packet.flow == flow && record.packet.kind == Kind::Data;
    let hop = |record: &Record| {
        let leaves = match (record.is_switch, record.seen) {
            (true, Seen::Enqueued) | (false, Seen::Dequeued) => true,
            (false, Seen::Received) => false,
            _ => return None,
        };
        let devices = &wiring.of_node[record.node as usize];
        let device = devices.iter().find(|device| wiring.devices[**device as usize].number == record.device);
        Some(Hop {
            time: Time::from_ns(record.at),
            message: 0,
            seq: record.packet.seq.into(),
            attempt: 0,
            wire: record.packet.size as u16,
            node: NodeId(record.node),
            port: device.copied().filter(|_| leaves).map(PortId),
            queued: if record.is_switch { record.queued } else { 0 },
            tokens: 0,
            lane: 0,
            deflected: 0,
        })
    };
    network.happened.records.iter().filter(of_flow).filter_map(hop).collect()
}

/// A wait of the followed flow, which is the first traced one.
pub fn waited(wait: &Wait) -> HostWait {
    let cause = match wait.why {
        Why::Acks => Cause::Acks,
        Why::Link => Cause::Link,
        Why::Pfc => Cause::Pfc,
        Why::Window => Cause::Window,
        Why::Pacing => Cause::Pacing,
        Why::Nic => Cause::Nic,
    };
    HostWait { message: 0, cause, begin: Time::from_ns(wait.begin), end: Time::from_ns(wait.end) }
}

/// The name of a followed flow.
pub fn traced_as(run: &Run, flow: u32) -> Traced {
    Traced { flow, name: aftermath::message(run, flow as usize) }
}

/// Hops with the nodes of the tables: hosts come first there.
pub fn placed(run: &Run, hops: Vec<Hop>) -> Vec<Hop> {
    let named = run.graph.names.iter().zip(0..).filter_map(|(name, place)| Some((name[1..].parse().ok()?, place)));
    let place_of: BTreeMap<u32, u32> = named.collect();
    hops.into_iter().map(|hop| Hop { node: NodeId(place_of[&hop.node.0]), ..hop }).collect()
}
