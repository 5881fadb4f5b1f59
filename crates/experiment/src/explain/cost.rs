//! Estimated cost of a run: packets over links, real time, memory.
//!
//! The estimate counts data packets and their ACKs, over shortest paths, with fully used links. It does *not* know
//! retransmissions, pause frames, CNPs, tokens and other packets of schemes, deflections, and the capacity that a
//! scheme or hash collisions leave unused. A run with endless flows may therefore cost less than estimated, a run with
//! losses more.

use super::load::{Endless, Offers, Span, Table, packets};
use super::paths::Paths;
use crate::CheckedSpec;
use crate::built::{MOST_SAMPLES, Sampled, Series};
use fanin_engine::mix;
use fanin_fabric::{BufferPolicy, FlowRecord, Hop};
use fanin_record::{Part, Sample, Seen, Watched};
use serde::Serialize;
use std::mem::size_of;

/// Events per packet-hop: between those of the benchmark's cases.
const EVENTS_PER_HOP: f64 = 1.4;
/// Speed relative to the trial: telemetry in packets, TCP, and networks larger than the cache (VALIDATION.md, Speed).
const TELEMETRY_SPEED: f64 = 0.85;
const TCP_SPEED: f64 = 0.7;
const LARGE_SPEED: f64 = 0.65;
/// Share of its fair rate that an endless flow uses if bursts of messages slow it down repeatedly and it does not run
/// over TCP: measured with examples/incast.toml under DCQCN, HPCC and Dart (0.37 to 0.55).
const AMONG_BURSTS: f64 = 0.45;
/// Number of ports from which a network counts as large.
const LARGE: usize = 2000;
/// Real seconds of set-up: per port, and per step of the search for routes.
const SETUP_PER_PORT: f64 = 1.5e-6;
const SETUP_PER_STEP: f64 = 2e-9;

/// Bytes, measured (`crates/fuzz/tests/estimate.rs`): of a port, of a class at a port, of a node with its name, of a
/// host under each scheme, of a finished packed message, of an unpacked one, of one that waits for others, of one of a
/// job, of one in progress, of a packet, and of a minimal run.
const PER_PORT: f64 = 420.0;
const PER_PORT_AND_CLASS: f64 = 190.0;
const PER_NODE: f64 = 420.0;
const PER_HOST_AND_SCHEME: f64 = 120.0;
const PER_MESSAGE: f64 = 40.0;
const PER_UNPACKED: f64 = 60.0 + size_of::<FlowRecord>() as f64;
/// Unpacked messages: of every run, and for each message in progress.
const UNPACKED: f64 = 2_000.0;
const UNPACKED_EACH: f64 = 30.0;
/// Mean number of round trips of queueing at most, and packets that a burst may bring at once anyway.
const QUEUEING: f64 = 3.0;
const IN_A_BURST: f64 = 200_000.0;
const PER_GATE: f64 = 60.0;
const PER_MESSAGE_OF_JOB: f64 = 150.0;
const PER_OPEN: f64 = 700.0;
const PER_OPEN_TCP: f64 = 2200.0;
const PER_PACKET: f64 = 190.0;
const PER_TELEMETRY: f64 = 168.0;
const AT_LEAST: f64 = 1.5e6;

/// Estimated cost of a run.
#[derive(Clone, Debug, Serialize)]
pub struct Cost {
    /// Messages with an end.
    pub messages: f64,
    /// Messages that never end.
    pub endless_messages: u64,
    /// Packets sent over one link each, ACKs included.
    pub packet_hops: f64,
    /// Events of the event queue.
    pub events: f64,
    /// Simulated time.
    pub simulated_s: f64,
    /// Speed of this machine in a short trial, for this kind of run.
    pub packet_hops_per_s: f64,
    /// Real time of set-up: routes and tables.
    pub setup_s: f64,
    /// Real time, set-up included.
    pub wall_s: f64,
    /// Peak memory.
    pub memory_bytes: f64,
    /// Contributions to the packet-hops, the largest first.
    pub packet_hops_of: Vec<Share>,
    /// Contributions to the memory, the largest first.
    pub memory_of: Vec<Share>,
    /// Whether only some of the messages were examined.
    pub extrapolated: bool,
    /// Effects that are not included.
    pub not_counted: &'static str,
}

/// What decides the cost of a run of another simulator's files on its own network: its flows and its tables.
pub struct OfFlows {
    pub messages: f64,
    pub packet_hops: f64,
    pub events: f64,
    pub simulated_s: f64,
    pub packet_hops_per_s: f64,
    pub setup_s: f64,
    /// Parts of the memory in bytes.
    pub memory_of: [(String, f64); 4],
}

impl Cost {
    /// The cost of such a run.
    pub fn of_flows(of: &OfFlows) -> Self {
        let mut memory_of = of.memory_of.clone().map(|(what, amount)| Share { what, amount }).to_vec();
        memory_of.sort_by(|a, b| b.amount.total_cmp(&a.amount));
        Self {
            messages: of.messages,
            endless_messages: 0,
            packet_hops: of.packet_hops,
            events: of.events,
            simulated_s: of.simulated_s,
            packet_hops_per_s: of.packet_hops_per_s,
            setup_s: of.setup_s,
            wall_s: of.setup_s + of.packet_hops / of.packet_hops_per_s,
            memory_bytes: memory_of.iter().map(|part| part.amount).sum(),
            packet_hops_of: vec![Share { what: "all flows".into(), amount: of.packet_hops }],
            memory_of,
            extrapolated: false,
            not_counted: NOT_COUNTED,
        }
    }
}

/// A contribution to a cost.
#[derive(Clone, Debug, Serialize)]
pub struct Share {
    /// Its name.
    pub what: String,
    /// Its amount, in the unit of the whole.
    pub amount: f64,
}

pub const NOT_COUNTED: &str = "retransmissions, pause frames, CNPs and other packets of schemes, deflections; and link \
                               capacity that a scheme's control or ECMP leaves unused";

/// Rates of endless messages: max-min fair over the ports of one shortest path each, with the capacity that messages
/// with an end leave. Bits per second on the wire, and number of links.
fn rates(endless: &[Endless], paths: &Paths, busy: &[f64]) -> Vec<(f64, u32)> {
    let mut number_of = std::collections::HashMap::new();
    let (mut left, mut crossing): (Vec<f64>, Vec<Vec<u32>>) = (Vec::new(), Vec::new());
    let mut ports_of: Vec<Vec<usize>> = Vec::with_capacity(endless.len());
    for (flow, message) in (0u32..).zip(endless) {
        let (from, to) = (paths.group_of[message.src as usize], paths.group_of[message.dst as usize]);
        let draw = |node: u32, n: usize| (mix(u64::from(flow), u64::from(node)) % n as u64) as usize;
        let path = paths.one(from, to, draw);
        let last = path.len().saturating_sub(1);
        let ports = path.iter().enumerate().map(|(i, port)| {
            // A group represents many hosts: their own links are distinguished by the host.
            let host = if i == 0 {
                message.src + 1
            } else if i == last {
                message.dst + 1
            } else {
                0
            };
            *number_of.entry((*port, host)).or_insert_with(|| {
                let (rate, tier) = paths.port(*port);
                left.push(rate.as_bps() as f64 * (1.0 - busy[tier]).max(0.05));
                crossing.push(Vec::new());
                left.len() - 1
            })
        });
        let ports: Vec<usize> = ports.collect();
        ports.iter().for_each(|port| crossing[*port].push(flow));
        ports_of.push(ports);
    }
    let mut rate = vec![0.0; endless.len()];
    let mut fixed = vec![false; endless.len()];
    let mut open: Vec<usize> = crossing.iter().map(Vec::len).collect();
    let mut order: std::collections::BTreeSet<(u64, usize)> =
        (0..left.len()).map(|port| ((left[port] / open[port] as f64) as u64, port)).collect();
    // The port with the smallest fair rate fixes the rates of its flows; then the next one.
    while let Some((share, port)) = order.pop_first() {
        for flow in crossing[port].iter().map(|flow| *flow as usize) {
            if std::mem::replace(&mut fixed[flow], true) {
                continue;
            }
            rate[flow] = share as f64;
            for &other in ports_of[flow].iter().filter(|other| **other != port) {
                order.remove(&((left[other] / open[other] as f64) as u64, other));
                left[other] = (left[other] - share as f64).max(0.0);
                open[other] -= 1;
                if open[other] > 0 {
                    order.insert(((left[other] / open[other] as f64) as u64, other));
                }
            }
        }
    }
    rate.into_iter().zip(ports_of.iter().map(|ports| ports.len() as u32)).collect()
}

/// Most endless messages whose paths are found individually.
const MOST_ENDLESS: usize = 4096;

/// The estimated cost of a run, from the load of its traffics.
pub fn cost(checked: &CheckedSpec, paths: &Paths, table: &mut Table<'_>, offers: &Offers, speed: f64) -> Cost {
    let span = Span::of(checked);
    let network = checked.network();
    let measure = checked.measure();
    let mut ends = span.window_end;
    if measure.stop_when_done && offers.endless.len() as u64 == offers.traffics.iter().map(|o| o.endless).sum::<u64>() {
        ends = offers.done_s.min(span.window_end);
    }
    if measure.drain {
        ends = ends.max(offers.done_s.min(span.last));
    }
    let mut parts: Vec<Share> = Vec::new();
    // A tier cannot carry more than its capacity: the rest stays in queues in front of it.
    let capacity = super::network::capacities(&network.graph, paths);
    let mut busy = vec![0.0; paths.tiers.len()];
    for offer in &offers.traffics {
        busy.iter_mut().zip(&offer.wire).for_each(|(sum, bps)| *sum += bps);
    }
    busy.iter_mut().zip(&capacity).for_each(|(sum, capacity)| *sum /= capacity.max(1.0));
    let full = busy.iter().copied().fold(1.0, |most: f64, busy| most.max(busy * span.window_end / ends.max(1e-12)));
    let (mut messages, mut in_packets) = (0.0, 0.0);
    for (offer, config) in offers.traffics.iter().zip(checked.traffics()) {
        messages += offer.messages as f64 * offer.factor;
        in_packets += offer.packets * offer.factor;
        if offer.hops > 0.0 {
            parts
                .push(Share { what: format!("traffic \"{}\"", config.name), amount: offer.hops * offer.factor / full });
        }
    }
    // Many are alike, so a sample represents all.
    let step = offers.endless.len().div_ceil(MOST_ENDLESS).max(1);
    let some: Vec<Endless> = offers.endless.iter().step_by(step).copied().collect();
    let payload = f64::from(network.packet.payload);
    let mut endless = vec![0.0; checked.traffics().len()];
    for (message, (bps, links)) in some.iter().zip(rates(&some, paths, &busy)) {
        let config = &checked.traffics()[usize::from(message.traffic)];
        let wire = payload + f64::from(network.packet.header + config.scheme.header_overhead().data);
        let time = (ends - message.start.as_secs_f64()).max(0.0);
        let reacts = config.tcp.is_none() && (config.ecn || config.scheme.header_overhead().telemetry);
        let used = if reacts && messages > 0.0 { AMONG_BURSTS } else { 1.0 };
        let data = bps * used * time / 8.0 / wire;
        let (some_data, some_small) = packets(config, payload, payload * 1000.0, true);
        in_packets += data * step as f64;
        endless[usize::from(message.traffic)] += data * (1.0 + some_small / some_data) * f64::from(links) * step as f64;
    }
    for (hops, config) in endless.iter().zip(checked.traffics()).filter(|(hops, _)| **hops > 0.0) {
        parts.push(Share { what: format!("flows without end of traffic \"{}\"", config.name), amount: *hops });
    }
    sort(&mut parts);
    let packet_hops: f64 = parts.iter().map(|part| part.amount).sum();
    let setup_s = setup(checked, paths);
    let packet_hops_per_s = speed * relative_speed(checked);
    let memory_of = memory(checked, offers, messages, (in_packets, ends), table);
    Cost {
        messages,
        endless_messages: offers.endless.len() as u64,
        packet_hops,
        events: packet_hops * EVENTS_PER_HOP,
        simulated_s: ends,
        packet_hops_per_s,
        setup_s,
        wall_s: setup_s + packet_hops / packet_hops_per_s + samples(checked) * 1e-8,
        memory_bytes: memory_of.iter().map(|part| part.amount).sum(),
        packet_hops_of: parts,
        memory_of,
        extrapolated: offers.extrapolated,
        not_counted: NOT_COUNTED,
    }
}

fn sort(parts: &mut [Share]) {
    parts.sort_by(|a, b| b.amount.total_cmp(&a.amount));
}

fn setup(checked: &CheckedSpec, paths: &Paths) -> f64 {
    let graph = &checked.network().graph;
    let (ports, switches) = (2.0 * graph.links.len() as f64, f64::from(graph.switches()));
    // Ports to and from hosts with one link are not part of the search.
    let searched = (ports - 2.0 * f64::from(graph.hosts)).max(0.0) + switches;
    ports * SETUP_PER_PORT + f64::from(paths.groups()) * searched * SETUP_PER_STEP
}

fn relative_speed(checked: &CheckedSpec) -> f64 {
    let mut speed: f64 = 1.0;
    if checked.traffics().iter().any(|t| t.scheme.header_overhead().telemetry) {
        speed *= TELEMETRY_SPEED;
    }
    if checked.traffics().iter().any(|t| t.tcp.is_some()) {
        speed *= TCP_SPEED;
    }
    if checked.network().graph.links.len() * 2 >= LARGE {
        speed *= LARGE_SPEED;
    }
    speed
}

/// Number of values in all series.
fn samples(checked: &CheckedSpec) -> f64 {
    checked.measure().series.iter().map(|series| values(checked, series)).sum()
}

fn values(checked: &CheckedSpec, series: &Series) -> f64 {
    let times = checked.measure().window.as_ps() as f64 / series.every.as_ps().max(1) as f64;
    // Schemes show several values per node.
    let of_nodes = |watched: &Watched| matches!(watched.part, Part::Receiver | Part::Switch);
    let names = match &series.of {
        Sampled::Watched(watched) if watched.iter().any(of_nodes) => 4.0,
        _ => 1.0,
    };
    times * series.of.values() as f64 * names
}

fn memory(
    checked: &CheckedSpec,
    offers: &Offers,
    messages: f64,
    (packets, ends): (f64, f64),
    table: &mut Table<'_>,
) -> Vec<Share> {
    let network = checked.network();
    let graph = &network.graph;
    let (ports, nodes) = (2.0 * graph.links.len() as f64, graph.names.len() as f64);
    let classes = network.classes.len() as f64 + 1.0;
    let traffics = checked.traffics();
    let routes = fanin_fabric::route_bytes(graph) as f64;
    let all = messages + offers.endless.len() as f64;
    let open = (offers.open as f64 + offers.endless.len() as f64).min(all);
    let waiting = if offers.gates > 0.0 { offers.gates * PER_GATE } else { 0.0 };
    let tcp = traffics.iter().any(|t| t.tcp.is_some());
    let telemetry = traffics.iter().any(|t| t.scheme.header_overhead().telemetry);
    // Packets on links and in buffers: what all hosts can have in flight, and what switches hold at most.
    let wire = f64::from(network.packet.payload + network.packet.header);
    let under_way = table.bdp() * f64::from(graph.hosts) * 2.0 / wire + f64::from(graph.hosts);
    let held = match network.buffer {
        BufferPolicy::PerPort { bytes, .. } => bytes as f64 * ports / wire,
        BufferPolicy::Pooled { bytes, .. } => bytes as f64 * f64::from(graph.switches()) / wire,
        BufferPolicy::Credits { bytes: Some(bytes) } => bytes as f64 * ports / wire,
        // A round trip per port, about as much as is on the links.
        BufferPolicy::Credits { bytes: None } => under_way,
        BufferPolicy::Unlimited => f64::INFINITY,
    };
    // A message has no more in flight than its payload, and often a window.
    let each = (packets / all.max(1.0)).max(1.0);
    // A packet and its ACK take a round trip or more: by Little's law. A burst may still be queued somewhere.
    let flow = (packets / ends.max(1e-12) * table.rtt().as_secs_f64() * QUEUEING).max(IN_A_BURST);
    let in_flight = (under_way + held).min(open * each * 1.2).min(packets * 2.0).min(flow);
    let kept = |values: f64, size: usize| values.min(MOST_SAMPLES as f64) * size as f64 * 1.5;
    let of = |queues: bool| -> f64 {
        let those = checked.measure().series.iter().filter(|s| matches!(s.of, Sampled::Queues(_)) == queues);
        those.map(|series| values(checked, series)).sum()
    };
    let hops = if checked.measure().trace.is_empty() { 0.0 } else { packets.min(Hop::KEPT as f64) };
    let mut parts: Vec<Share> = [
        ("the program itself", AT_LEAST),
        ("nodes and their names", nodes * PER_NODE),
        ("ports", ports * (PER_PORT + classes * PER_PORT_AND_CLASS)),
        ("routes", routes),
        ("hosts under schemes", f64::from(graph.hosts) * traffics.len() as f64 * PER_HOST_AND_SCHEME),
        ("messages that are on their way", open * if tcp { PER_OPEN_TCP } else { PER_OPEN }),
        ("messages that wait for others", waiting),
        ("nodes of jobs", offers.of_jobs * PER_MESSAGE_OF_JOB),
        ("packets on lines and in buffers", in_flight * (PER_PACKET + if telemetry { PER_TELEMETRY } else { 0.0 })),
        ("samples of queues", kept(of(true), size_of::<Sample>())),
        ("values that are watched", kept(of(false), size_of::<Seen>())),
        ("traced hops", hops * size_of::<Hop>() as f64 * 1.5),
    ]
    .map(|(what, amount)| Share { what: what.to_string(), amount })
    .to_vec();
    for (offer, config) in offers.traffics.iter().zip(traffics) {
        let count = (offer.messages + offer.endless) as f64 * offer.factor;
        let what = format!("{} messages of traffic \"{}\"", grouped(count), config.name);
        // Messages are packed some hundreds at a time, when all of them have finished; those of a persistent connection
        // never are, and those that wait for others are loaded all at once.
        let stays = config.endpoint.connection || config.tcp.as_ref().is_some_and(|tcp| tcp.persistent);
        let unpacked = if stays || waiting > 0.0 { count } else { count.min(UNPACKED_EACH * open + UNPACKED) };
        parts.push(Share { what, amount: count * PER_MESSAGE + unpacked * PER_UNPACKED });
    }
    parts.retain(|part| part.amount >= 1.0);
    sort(&mut parts);
    parts
}

/// A count with commas: 12,000,000.
pub fn grouped(count: f64) -> String {
    let digits = format!("{count:.0}");
    let mut text = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Bytes with a unit: 22.5 KB.
pub fn bytes_text(bytes: f64) -> String {
    scaled(bytes, &[(1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "KB"), (1.0, "B")])
}

/// Seconds with a unit: 1.5 h.
pub fn time_text(seconds: f64) -> String {
    scaled(seconds, &[(3600.0, "h"), (60.0, "min"), (1.0, "s"), (1e-3, "ms"), (1e-6, "us")])
}

fn scaled(value: f64, units: &[(f64, &str)]) -> String {
    let found = units.iter().find(|(scale, _)| value >= *scale).or(units.last());
    let (scale, unit) = found.copied().unwrap_or((1.0, ""));
    let number = value / scale;
    let text =
        if number >= 100.0 { grouped(number) } else { format!("{number:.1}").trim_end_matches(".0").to_string() };
    format!("{text} {unit}")
}
