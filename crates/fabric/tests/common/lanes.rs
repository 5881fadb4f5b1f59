//! Dart's networks and traffics, and the invariants of every packet traced through one.

use super::*;
use fanin_cc::schemes::dart::{Blocked, Escape, Params, TableKey};
use fanin_cc::{Action, Lanes};
use fanin_engine::Streams;
use fanin_fabric::topology::Clos;
use std::collections::BTreeMap;

/// Packets of Dart that have 1,500 bytes on the wire with the 12 bytes that Dart adds.
pub const DART_PACKET: PacketSizes = PacketSizes { payload: 1448, ..PACKET };
/// The class of lane 0 and of lane 1.
pub const ESCAPE: u8 = 1;
/// See [`ESCAPE`].
pub const DEFLECTABLE: u8 = 2;

/// Dart VI-A: 225 KB a port, marks above 22.5 KB, lossless; two lanes that share the buffer.
pub fn darts(graph: Graph) -> NetworkConfig {
    let class = class(true, Marking::Step { above: 22_500, at: MarkAt::Enqueue });
    NetworkConfig {
        packet: DART_PACKET,
        classes: two_lanes(class),
        buffer: lossless(225_000, None),
        // row D17
        detection: Time::from_ms(1),
        ..network(graph)
    }
}

/// A class and the lane beside it.
pub fn two_lanes(class: ClassConfig) -> Vec<ClassConfig> {
    vec![class.clone(), ClassConfig { name: "data.deflectable".into(), sibling_vl: Some(ESCAPE), ..class }]
}

/// Traffic of one of Dart's presets with some of its parameters changed, in two lanes where it has two. Row D17's
/// timeout.
pub fn dart(preset: &str, change: impl FnOnce(&mut Params)) -> TrafficConfig {
    let Some(Settings::Dart(id, mut params)) = Settings::preset(preset) else { panic!("{preset} is not Dart's") };
    change(&mut params);
    let scheme = Settings::Dart(id, params);
    let lane_class = if scheme.lanes() == Lanes::One { 0 } else { DEFLECTABLE };
    let mut traffic = TrafficConfig { scheme, lane_class, ..traffic(preset) };
    traffic.endpoint.timeout = Time::from_ms(4);
    traffic
}

/// Line rate in a class, unmarked: what makes a link hot.
pub fn heat(class: u8) -> TrafficConfig {
    TrafficConfig { class, ecn: false, ..traffic("none") }
}

/// A message of the second traffic.
pub fn second(message: Message) -> Message {
    Message { traffic: 1, ..message }
}

/// A pod of 10 Gb/s and 5 us a link with two aggregation switches under two cores.
pub fn pod(tors: u32, hosts: u32) -> Graph {
    let link = cable(gbps(10), us(5));
    let clos = Clos { pods: 1, tors, hosts, uplinks: 2, aggs: 2, agg_uplinks: 2, cores: 2, ..Clos::dart() };
    Clos { host_link: link, tor_link: link, core_link: link, ..clos }.build().unwrap()
}

/// 256 hosts in three tiers, four to one at the ToRs.
pub fn clos_256() -> Graph {
    Clos { pods: 4, cores: 4, ..Clos::dart() }.build().unwrap()
}

/// Entries of all tables of a traffic's scheme now.
pub fn entries<Q: EventQueue>(sim: &Simulation<Q>, traffic: u16) -> u64 {
    let of = |switch| {
        let seen = sim.watch_switch(traffic, switch);
        seen.iter().find(|(name, _)| *name == "table_entries").map_or(0.0, |(_, n)| *n) as u64
    };
    (0..sim.config().graph.switches()).map(of).sum()
}

pub fn acted<Q: EventQueue>(sim: &Simulation<Q>, traffic: usize, action: Action) -> u64 {
    sim.traffic_counters()[traffic].actions.get(action)
}

/// Traces the first `messages` messages.
pub fn trace_all<Q: EventQueue>(sim: &mut Simulation<Q>, messages: usize) {
    (0..messages as u32).for_each(|message| sim.trace(message));
}

/// Observations of the traced packets.
#[derive(Clone, Copy, Debug, Default)]
pub struct Seen {
    /// Packets.
    pub packets: u64,
    /// Of those, that arrived.
    pub arrived: u64,
    /// Packets that were deflected.
    pub deflected: u64,
    /// Deflections of all of them.
    pub deflections: u64,
    /// Most deflections of one of them.
    pub most: u8,
    /// Visits of a switch that the packet had been at before.
    pub revisits: u64,
    /// Packets that changed to the escape lane.
    pub escaped: u64,
    /// Packets that arrived after a later one of the same attempt of their message, with no change of routes on the
    /// way that explains it.
    pub reordered: u64,
    /// Packets that left the path of another one of the same attempt.
    pub astray: u64,
}

/// Whether a link failed or came back, or one of its ends learnt of it, within these times. Later packets may then take
/// another path than earlier ones and overtake them.
pub fn routes_changed<Q: EventQueue>(sim: &Simulation<Q>, from: Time, to: Time) -> bool {
    let detection = sim.config().detection;
    let changes = sim.config().graph.links.iter().flat_map(|link| &link.outages).flat_map(|&(down, up)| [down, up]);
    changes.into_iter().any(|at| from <= at.saturating_add(detection) && at <= to)
}

/// Holds of every traced packet, whatever is deflected and lost: it goes from its host to a switch, from switch to
/// neighbouring switch and to no other host but its own (IV-A); tokens are spent one by one, never below zero, as many
/// as it took deflections (IV-B); what came in the escape lane stays in it and is not deflected (IV-B); a message
/// without tokens takes no deflection. While routes stay, each deflection costs two links at most.
pub fn check_traces<Q: EventQueue>(sim: &Simulation<Q>, traffics: &[TrafficConfig]) -> Seen {
    let (flows, graph) = (sim.flows(), &sim.config().graph);
    let peers: Vec<(NodeId, NodeId)> = sim.ports().map(|(_, from, to)| (from, to)).collect();
    let failures = graph.links.iter().any(|link| !link.outages.is_empty());
    let mut seen = Seen::default();
    let mut ways: BTreeMap<(u32, u16, u64), Vec<Hop>> = BTreeMap::new();
    let mut behind: BTreeMap<(u32, u16), u64> = BTreeMap::new();
    for hop in sim.hops() {
        ways.entry((hop.message, hop.attempt, hop.seq)).or_default().push(*hop);
        let traffic = &traffics[flows[hop.message as usize].traffic as usize];
        if hop.port.is_none() && matches!(traffic.scheme, Settings::Dart(..)) {
            seen.arrived += 1;
            let next = behind.entry((hop.message, hop.attempt)).or_default();
            let excused = || routes_changed(sim, flows[hop.message as usize].start, hop.time);
            seen.reordered += (hop.seq < *next && !excused()) as u64;
            *next = (*next).max(hop.seq + 1);
        }
    }
    let mut longest: BTreeMap<(u32, u16), &[Hop]> = BTreeMap::new();
    for ((message, attempt, _), way) in &ways {
        let flow = &flows[*message as usize];
        if way.last().unwrap().time > flow.acked {
            // Packets in flight of a finished message are not checked for order.
            continue;
        }
        let scheme = &traffics[flow.traffic as usize].scheme;
        let Settings::Dart(_, params) = scheme else { continue };
        let connection = traffics[flow.traffic as usize].endpoint.connection;
        let options = scheme.send_options(flow.bytes, 0, connection);
        let two_lanes = scheme.lanes() != Lanes::One;
        let (mut tokens, mut lane, mut deflected) = (options.tokens, options.lane, 0);
        assert_eq!((way[0].node.0, way[0].queued), (flow.src, 0), "{way:?}");
        for (i, hop) in way.iter().enumerate() {
            if let Some(before) = i.checked_sub(1) {
                assert_eq!(peers[way[before].port.unwrap().ix()].1, hop.node, "{way:?}");
            }
            match hop.port {
                Some(port) => {
                    let (node, peer) = peers[port.ix()];
                    assert_eq!(node, hop.node);
                    assert!(!graph.is_host(peer) || peer.0 == flow.dst, "to host {peer:?}: {way:?}");
                }
                None => assert!(hop.node.0 == flow.dst && i + 1 == way.len(), "{way:?}"),
            }
            let gave_up = params.blocked == Blocked::Duato && hop.tokens == 0 && lane == 1 && hop.lane == 0;
            assert!(hop.tokens <= tokens && (tokens - hop.tokens <= 1 || gave_up), "{way:?}");
            assert!(hop.deflected >= deflected && hop.deflected - deflected <= 1, "{way:?}");
            // The counter-example may take the port that it would have taken anyway.
            let counted = gave_up || params.table_key == TableKey::Message;
            assert!(hop.deflected + hop.tokens == deflected + tokens || counted, "{way:?}");
            if two_lanes {
                assert!(hop.lane <= lane, "out of the escape lane: {way:?}");
                assert!(lane == 1 || hop.deflected == deflected, "deflected in the escape lane: {way:?}");
                let last = params.escape == Escape::OnLastMisroute && hop.tokens == 0;
                assert!(hop.lane == 1 || hop.deflected == deflected || last, "deflected into the escape lane: {way:?}");
                seen.escaped += (hop.lane < lane) as u64;
            } else {
                assert_eq!(hop.lane, 0);
            }
            seen.revisits += way[..i].iter().any(|before| before.node == hop.node) as u64;
            (tokens, lane, deflected) = (hop.tokens, hop.lane, hop.deflected);
        }
        let end = way.last().unwrap();
        seen.packets += 1;
        seen.deflected += (end.deflected > 0) as u64;
        seen.deflections += end.deflected as u64;
        seen.most = seen.most.max(end.deflected);
        assert!(end.deflected <= options.tokens);
        if !failures && end.port.is_none() {
            let links = way.len() as u32 - 1;
            assert!(links <= flow.hops as u32 + 2 * end.deflected as u32, "{way:?}");
            assert!(end.deflected > 0 || links == flow.hops as u32, "{way:?}");
        }
        let other = longest.entry((*message, *attempt)).or_insert(way);
        let place = |hop: &Hop| (hop.node, hop.port, hop.tokens, hop.lane, hop.deflected);
        // A host may choose any of its links: one may be down.
        seen.astray += other.iter().zip(way).skip(1).any(|(a, b)| place(a) != place(b)) as u64;
        if way.len() > other.len() {
            *other = way;
        }
    }
    seen
}

/// Dart VI-A's typical mix on a network: endless flows, and incasts of messages of 2, 4 or 8 KB from `degree` hosts to
/// one, such that the short ones offer `short` and the long ones at most `long` of `capacity`. Stops after `until`.
pub fn typical_mix(seed: u64, hosts: u32, degree: u32, load: (Rate, Rate), line: Rate, until: Time) -> Vec<Message> {
    let streams = Streams::new(seed);
    let mut draws = streams.stream("typical mix", 0);
    let mut below = |n: u64| draws.below(n);
    let mut messages = Vec::new();
    for flow in 0..load.1.as_bps() / line.as_bps() {
        let src = (flow * 7) as u32 % hosts;
        let dst = (src + 1 + below(hosts as u64 - 1) as u32) % hosts;
        messages.push(message(ns(below(20_000)), src, dst, Message::ENDLESS));
    }
    // 2, 4 and 8 KB alike: 14/3 KB on average.
    let gap = load.0.tx_time(degree as u64 * 14_000 / 3).as_ps();
    let mut at = Time::ZERO;
    for group in 0.. {
        at += Time::from_ps(below(2 * gap));
        if at >= until {
            break;
        }
        let dst = below(hosts as u64) as u32;
        let first = below(hosts as u64) as u32;
        let mut senders: Vec<u32> =
            (0..).map(|i| (first + i * 37) % hosts).filter(|s| *s != dst).take(degree as usize).collect();
        senders.sort_unstable();
        let all: std::sync::Arc<[u32]> = senders.clone().into();
        for src in senders {
            let start = at + ns(below(1_000));
            let bytes = 2_000 << below(3);
            messages.push(Message { group, senders: Some(all.clone()), ..message(start, src, dst, bytes) });
        }
    }
    messages
}
