//! Whether PFC could act at all on the flows of a configuration: the bytes that may wait at each ingress, if all flows
//! were there at once, and the least at which it pauses its peer. The answer no is certain, and yes is a possibility.

use super::pauses::Pauses;
use crate::CheckedSpec;
use crate::hpcc::{Files, Setup};
use fanin_fabric::shared_buffer::{Limit, Plan};
use fanin_fabric::{BufferPolicy, pfc};
use fanin_formats::hpcc::Flow;
use fanin_ns3::Network;
use fanin_ns3::packet::{HEADERS, LEAST_ACK};
use fanin_ns3::time::transmission;
use fanin_ns3::wiring::Wiring;
use fanin_units::{Bytes, Rate, Time};
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// The thresholds of a switch.
struct Buffer {
    /// Bytes of the pool, less headroom and reserve.
    free: f64,
    /// Bytes of each ingress that do not count.
    reserve: f64,
    /// Of each device: its threshold is a factor of what is free, and something fixed.
    thresholds: Vec<(f64, f64)>,
}

/// Packets that cross a switch from one device to another.
type Crossings = BTreeMap<(u32, u32, u8), f64>;

/// Of a configuration on its own network.
pub fn exactly(setup: &Setup) -> Pauses {
    let Setup { config, topology, flows, .. } = setup;
    let network = Network::new(config.clone(), topology, Vec::new(), &[], setup.settings());
    let wiring = network.wiring();
    let overhead = setup.settings().header_overhead();
    let wire = config.payload + HEADERS + u32::from(overhead.data);
    let packet = f64::from(wire);
    let ack = f64::from(LEAST_ACK + u32::from(overhead.ack));
    let mut crossings = Crossings::new();
    let mut ports: HashMap<(u32, u32), u16> = HashMap::new();
    for flow in flows {
        let sport = ports.entry((flow.src, flow.dst)).or_insert(10_000);
        let window = match (config.has_win, config.global_t) {
            (false, _) => u64::MAX,
            (true, true) => network.largest().1,
            (true, false) => wiring.product(flow.src, flow.dst),
        };
        let device = wiring.leaves_by(flow.src, flow.dst, *sport, flow.dport);
        let takes = device.map_or(1, |device| transmission(wire, wiring.devices[device as usize].rate).max(1));
        let most = (config.stop - flow.start) * 1e9 / takes as f64;
        let packets = packets(flow, config.payload, window, most);
        follow(wiring, (flow.src, flow.dst, *sport, flow.dport), |from, to| {
            *crossings.entry((from, to, flow.pg)).or_default() += packets * packet;
        });
        if !setup.acks_first {
            follow(wiring, (flow.dst, flow.src, flow.dport, *sport), |from, to| {
                *crossings.entry((from, to, flow.pg)).or_default() += packets * ack;
            });
        }
        *sport = sport.wrapping_add(1);
    }
    let buffer = |node: u32| {
        let buffer = network.buffer(node);
        let thresholds = (0..wiring.of_node[node as usize].len()).map(|slot| (buffer.factor(slot), 0.0));
        Buffer { free: buffer.pool() as f64, reserve: buffer.reserve() as f64, thresholds: thresholds.collect() }
    };
    answer(wiring, &crossings, buffer, "pfc.txt will be empty")
}

/// Of the same flows on the ordinary network, under any scheme; none where its flow control is another.
pub fn ordinarily(files: &Files, checked: &CheckedSpec) -> Option<Pauses> {
    let network = checked.network();
    let (BufferPolicy::PerPort { pfc: rule, .. } | BufferPolicy::Pooled { pfc: rule, .. }) = network.buffer else {
        return None;
    };
    let wiring = Wiring::new(&files.topology, files.config.payload);
    // Changes of the spec may have changed its network.
    let name = |node: u32| format!("{}{node}", if wiring.is_switch[node as usize] { "s" } else { "h" });
    let same = wiring.is_switch.len() == network.graph.names.len()
        && (0..wiring.is_switch.len() as u32).all(|node| network.graph.names.contains(&name(node)));
    if !same || !network.classes.iter().all(|class| class.lossless) {
        return None;
    }
    let wire = checked.largest_packet();
    let measure = checked.measure();
    let drains = if measure.drain { measure.drain_limit } else { Time::ZERO };
    let lasts = measure.window.saturating_add(drains).as_secs_f64();
    let mut crossings = Crossings::new();
    for flow in &files.flows {
        let nics = wiring.of_node[flow.src as usize].iter().map(|device| wiring.devices[*device as usize].rate as f64);
        let most = lasts * nics.sum::<f64>() / 8.0 / wire as f64;
        let bytes = packets(flow, network.packet.payload.into(), u64::MAX, most) * wire as f64;
        // Its hash is another one, so that each of equal paths may be taken. ACKs are not held against an ingress.
        spread(&wiring, flow.src, flow.dst, |from, to| *crossings.entry((from, to, 0)).or_default() += bytes);
    }
    let plan = Plan::new(&network.buffer, &network.buffer_by_rate, &network.classes, &network.packet);
    let pause = u64::from(network.packet.pause);
    let buffer = |node: u32| {
        let headroom = |device: &u32| {
            let device = &wiring.devices[*device as usize];
            let (rate, delay) = (Rate::from_bps(device.rate), Time::from_ns(device.delay));
            rule.headroom.unwrap_or_else(|| pfc::headroom(rate, (delay, network.pauses.response), wire, pause))
        };
        let devices = &wiring.of_node[node as usize];
        let all: u64 = devices.iter().map(headroom).sum();
        let free = match plan.limits[1] {
            Limit::Pool { pool, .. } => plan.pools[pool].0.saturating_sub(all),
            _ => 0,
        };
        let threshold = |device: &u32| match plan.limit(1, Rate::from_bps(wiring.devices[*device as usize].rate)) {
            Limit::Pool { alpha, .. } => (alpha, 0.0),
            Limit::Port { bytes, .. } => (0.0, bytes.saturating_sub(headroom(device)) as f64),
            Limit::None | Limit::Credits => (0.0, f64::INFINITY),
        };
        let thresholds = devices.iter().map(threshold).collect();
        Buffer { free: free as f64, reserve: 0.0, thresholds }
    };
    Some(answer(&wiring, &crossings, buffer, "nothing will be paused"))
}

/// Packets of a flow that can be on their way at once, of `most` that its host has time for.
fn packets(flow: &Flow, payload: u32, window: u64, most: f64) -> f64 {
    let payload = u64::from(payload.max(1));
    let all = flow.bytes.div_ceil(payload);
    // A packet is sent while less than the window is on its way.
    let at_once = all.min((window.saturating_add(payload - 1) / payload).saturating_add(1)) as f64;
    at_once.min(most.max(0.0).ceil())
}

/// The path of a flow in that simulator: at each switch the device that it comes by and the one that it leaves by.
fn follow(wiring: &Wiring, (src, dst, sport, dport): (u32, u32, u16, u16), mut crosses: impl FnMut(u32, u32)) {
    let mut device = wiring.leaves_by(src, dst, sport, dport);
    while let Some(out) = device {
        let came_by = wiring.devices[out as usize].peer;
        let node = wiring.devices[came_by as usize].node;
        if !wiring.is_switch[node as usize] {
            return;
        }
        device = wiring.next(node, src, dst, sport, dport);
        if let Some(out) = device {
            crosses(came_by, out);
        }
    }
}

/// The same for all shortest paths.
fn spread(wiring: &Wiring, src: u32, dst: u32, mut crosses: impl FnMut(u32, u32)) {
    let mut seen = BTreeSet::new();
    let mut waiting: Vec<u32> = wiring.choices(src, dst).to_vec();
    while let Some(out) = waiting.pop() {
        let came_by = wiring.devices[out as usize].peer;
        let node = wiring.devices[came_by as usize].node;
        if !wiring.is_switch[node as usize] || !seen.insert(came_by) {
            continue;
        }
        for next in wiring.choices(node, dst) {
            crosses(came_by, *next);
            waiting.push(*next);
        }
    }
}

/// The ingress that comes nearest to its threshold.
fn answer(wiring: &Wiring, crossings: &Crossings, buffer: impl Fn(u32) -> Buffer, then: &str) -> Pauses {
    let rate = |device: u32| u128::from(wiring.devices[device as usize].rate);
    // A queue builds up where more may come than leaves.
    let mut into: BTreeMap<u32, BTreeSet<u32>> = BTreeMap::new();
    for (from, to, _) in crossings.keys() {
        into.entry(*to).or_default().insert(*from);
    }
    let full = |to: &u32| into[to].iter().map(|from| rate(*from)).sum::<u128>() > rate(*to);
    let mut switches: BTreeMap<u32, BTreeMap<(u32, u8), f64>> = BTreeMap::new();
    for ((from, to, queue), bytes) in crossings.iter().filter(|((_, to, _), _)| full(to)) {
        let node = wiring.devices[*to as usize].node;
        *switches.entry(node).or_default().entry((*from, *queue)).or_default() += bytes;
    }
    let mut nearest: Option<(f64, u32, f64, f64)> = None;
    for (node, held) in switches {
        let buffer = buffer(node);
        let threshold = |device: u32, free: f64| {
            let (factor, fixed) = buffer.thresholds[usize::from(wiring.devices[device as usize].number) - 1];
            factor * free + fixed
        };
        // What is free when each ingress holds as much as it may without a pause: it falls as they fill.
        let taken = |free: f64| -> f64 {
            held.iter().map(|((from, _), bytes)| (bytes - buffer.reserve).clamp(0.0, threshold(*from, free))).sum()
        };
        let (mut low, mut high) = (0.0, buffer.free);
        for _ in 0..64 {
            let free = f64::midpoint(low, high);
            if free + taken(free) > buffer.free { high = free } else { low = free }
        }
        for ((from, _), bytes) in held {
            let xoff = threshold(from, low) + buffer.reserve;
            let share = bytes / xoff;
            if nearest.is_none_or(|(most, ..)| share > most) {
                nearest = Some((share, from, bytes, xoff));
            }
        }
    }
    let Some((share, device, bytes, xoff)) = nearest else {
        let why = format!("PFC cannot act, so {then}: no port of a switch can get more than it sends on");
        return Pauses { possible: false, why, ingress: None, most_bytes: None, xoff_bytes: None };
    };
    let at = &wiring.devices[device as usize];
    let peer = wiring.devices[at.peer as usize].node;
    let name = |node: u32| format!("{}{node}", if wiring.is_switch[node as usize] { "s" } else { "h" });
    let (bytes, xoff, possible) = (bytes as u64, xoff as u64, share >= 1.0);
    let (peer, switch) = (name(peer), name(at.node));
    let numbers = format!("up to {} may wait at {switch} that came from {peer}", Bytes(bytes));
    let why = if possible {
        format!("PFC could act: {numbers}, which is paused at {} or more", Bytes(xoff))
    } else {
        format!(
            "PFC cannot act, so {then}: {numbers}, the nearest to its limit, and it is paused at {} only",
            Bytes(xoff)
        )
    };
    let ingress = Some(format!("{peer}>{switch}"));
    Pauses { possible, why, ingress, most_bytes: Some(bytes), xoff_bytes: Some(xoff) }
}
