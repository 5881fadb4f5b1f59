//! Dart's in-order flow deflection over random fabrics, loads, failures and seeds.

use crate::common::lanes::*;
use crate::common::random::{self, packets};
use crate::common::*;
use fanin_cc::schemes::dart::{Blocked, Escape, LaneCount};
use fanin_cc::{Action, Settings};
use fanin_fabric::topology::{Clos, FatTree, Graph, LeafSpine, Link};
use fanin_fabric::*;
use fanin_units::{Bytes, Time};
use proptest::collection::vec;
use proptest::prelude::*;

/// Fabrics with several paths: leaf and spine, Clos, fat tree, and any switches at all, with hosts at one or two of
/// them.
fn fabrics() -> impl Strategy<Value = Graph> {
    let cables = || {
        let rate = prop::sample::select(vec![1u64, 10, 25]);
        (rate.clone(), rate, 1u64..5_000, 1u64..5_000)
            .prop_map(|(a, b, d, e)| (cable(gbps(a), ns(d)), cable(gbps(b), ns(e))))
    };
    let any = (2u32..8, 3u32..7, vec(any::<u32>(), 40), cables());
    prop_oneof![
        (2u32..5, 1u32..5, 2u32..5, cables()).prop_map(|(leaves, hosts, spines, (host_link, fabric_link))| {
            LeafSpine { leaves, hosts, spines, host_link, fabric_link }.build().unwrap()
        }),
        (1u32..3, 2u32..4, 1u32..4, 1u32..3, cables()).prop_map(|(pods, tors, hosts, cores, (host_link, link))| {
            let clos =
                Clos { pods, tors, hosts, uplinks: 2, aggs: 2, agg_uplinks: 2, cores: 2 * cores, ..Clos::dart() };
            let clos = Clos { cores: clos.cores.min(4), ..clos };
            Clos { host_link, tor_link: link, core_link: link, ..clos }.build().unwrap()
        }),
        cables().prop_map(|(_, link)| FatTree { k: 4, link }.build().unwrap()),
        any.prop_map(|(hosts, switches, draws, (host_link, link))| {
            let mut draws = draws.into_iter();
            let mut draw = |n: u32| draws.next().unwrap_or(0) % n;
            let mut links = Vec::new();
            for host in 0..hosts {
                let first = draw(switches);
                links.push((host, hosts + first, host_link.rate, host_link.delay));
                if draw(4) == 0 {
                    links.push((host, hosts + (first + 1) % switches, host_link.rate, host_link.delay));
                }
            }
            // A ring with chords.
            for s in 0..switches {
                links.push((hosts + s, hosts + (s + 1) % switches, link.rate, link.delay));
            }
            for _ in 0..draw(6) {
                let (a, by) = (draw(switches), 1 + draw(switches - 1));
                links.push((hosts + a, hosts + (a + by) % switches, link.rate, link.delay));
            }
            graph(hosts, switches, &links)
        }),
    ]
}

/// A fabric under one of Dart's deflecting presets.
#[derive(Clone, Debug)]
struct Case {
    config: NetworkConfig,
    traffics: Vec<TrafficConfig>,
    messages: Vec<Message>,
    /// Pauses may hold packets for ever: buffers are small, and shortest paths over arbitrary switches may have cyclic
    /// dependencies.
    may_lock: bool,
    /// No packet is lost, and none is sent twice.
    calm: bool,
}

/// Classes that lose nothing, with buffers as small as the headroom allows, or drop at so many bytes a port.
#[derive(Clone, Copy, Debug)]
enum Buffers {
    Endless,
    Lossy(u64),
    Tight(u64),
    Pooled(u64),
}

fn buffers() -> impl Strategy<Value = Buffers> {
    prop_oneof![
        3 => Just(Buffers::Endless),
        2 => (100_000u64..300_000).prop_map(Buffers::Lossy),
        2 => (1u64..30_000).prop_map(Buffers::Tight),
        1 => (1u64..200_000).prop_map(Buffers::Pooled),
    ]
}

fn any_dart() -> impl Strategy<Value = TrafficConfig> {
    let presets = vec!["dart", "dart-lasthop", "dart-iofd", "dart-iofd", "dart-packet-deflection"];
    let numbers = (0u8..8, 1u32..12, 0u64..20_000, 500u64..20_000);
    let lanes = (
        prop::sample::select(vec![LaneCount::Two, LaneCount::Two, LaneCount::One]),
        prop::sample::select(vec![Escape::AfterLastMisroute, Escape::OnLastMisroute]),
        prop::sample::select(vec![Blocked::Stay, Blocked::Duato]),
    );
    let endpoint = (20_000u64..60_000, 10_000u64..40_000, 0u32..10_000, prop::bool::weighted(0.3), any::<bool>());
    let endpoint = (endpoint, any::<bool>());
    (prop::sample::select(presets), numbers, lanes, any::<bool>(), any::<bool>(), endpoint).prop_map(
        |(preset, (tokens, entries, threshold, short), (lanes, escape, blocked), last_hop, avoid_full, endpoint)| {
            let ((timeout, nack_interval, ack_chunk, connection, deflect_connections), anew) = endpoint;
            let mut traffic = dart(preset, |p| {
                (p.tokens, p.table_entries) = (tokens, entries);
                (p.threshold, p.short_up_to) = (Bytes(threshold), Bytes(short));
                (p.lanes, p.escape, p.blocked) = (lanes, escape, blocked);
                (p.last_hop, p.avoid_full) = (p.last_hop | last_hop, avoid_full);
                // row D17
                p.reclaim_after = us(2 * timeout);
                p.deflect_connections = deflect_connections;
            });
            traffic.endpoint = EndpointConfig {
                retries: u32::MAX,
                timeout: us(timeout),
                nack_interval: us(nack_interval),
                ack_chunk,
                connection,
                anew,
                recovery: Recovery::GoBackN,
                ..traffic.endpoint
            };
            traffic
        },
    )
}

/// Whether messages that share a connection are deflected, so that one may overtake another.
fn overtaken(traffic: &TrafficConfig) -> bool {
    let Settings::Dart(_, params) = &traffic.scheme else { return false };
    traffic.endpoint.connection && params.deflect_connections
}

fn cases_of_dart() -> impl Strategy<Value = Case> {
    let network = (
        any::<u64>(),
        fabrics(),
        packets(),
        buffers(),
        prop::sample::select(vec![Release::Dequeue, Release::LastBit]),
        prop::option::weighted(0.2, 0u64..64_000),
        prop_oneof![Just(Marking::Off), (0u64..30_000).prop_map(|above| Marking::Step { above, at: MarkAt::Enqueue })],
    );
    let bytes = prop_oneof![5 => 1u64..9_000, 1 => 1u64..40_000];
    // Few receivers make hot links.
    let messages = vec((0u64..60_000, any::<u32>(), 0u32..3, bytes, prop::bool::weighted(0.2)), 5..50);
    let outage = (any::<u32>(), any::<bool>(), 0u64..120_000, 1u64..2_000_000);
    let trouble = prop::option::weighted(
        0.5,
        (vec(outage, 0..3), prop_oneof![Just(0u64), 1u64..1_000_000], prop::option::of(0.0..0.01f64)),
    );
    (network, any_dart(), prop::bool::weighted(0.3), messages, trouble).prop_map(
        |((seed, mut graph, packet, buffers, release, fifo, marking), dart, heated, messages, trouble)| {
            let (hosts, links) = (graph.hosts, graph.links.len());
            // Reordering makes a receiver request packets in flight again: packets of the counter-example, and messages
            // of a connection that are deflected (row D18).
            let steady = !overtaken(&dart) && dart.name != "dart-packet-deflection";
            let steady = steady && !matches!(buffers, Buffers::Lossy(_));
            let calm = trouble.is_none() && steady;
            let (outages, detection, error_rate) = trouble.unwrap_or_default();
            for (which, whole_switch, from, long) in outages {
                let switch = hosts + which % graph.switches();
                for (i, link) in graph.links.iter_mut().enumerate() {
                    let hit = match whole_switch {
                        true => link.a.0 == switch || link.b.0 == switch,
                        false => i == which as usize % links,
                    };
                    if hit {
                        link.outages = vec![(ns(from), ns(from + long))];
                    }
                }
            }
            for link in &mut graph.links {
                link.error_rate = error_rate.unwrap_or(0.0);
            }
            let lossless = !matches!(buffers, Buffers::Lossy(_));
            let classes = two_lanes(class(lossless, marking));
            let wire = packet.payload as u64 + packet.header as u64 + 12;
            let headroom = |link: &Link| pfc::headroom(link.rate, (link.delay, Time::ZERO), wire, packet.pause as u64);
            let pfc = Pfc { headroom: None, xon_offset: None };
            let buffer = match buffers {
                Buffers::Endless => BufferPolicy::Unlimited,
                Buffers::Lossy(bytes) => BufferPolicy::PerPort { bytes, pfc },
                Buffers::Tight(more) => {
                    let most = graph.links.iter().map(headroom).max().unwrap();
                    BufferPolicy::PerPort { bytes: 2 * (most + wire + more), pfc }
                }
                Buffers::Pooled(more) => {
                    let reserved: u64 = graph.links.iter().map(|link| 4 * headroom(link)).sum();
                    BufferPolicy::Pooled { bytes: reserved + more, alpha: 1.0, pfc_alpha: 0.5, pfc }
                }
            };
            let mut traffics = vec![dart];
            if heated {
                let mut heat = heat(1 + (seed % 2) as u8);
                heat.endpoint.timeout = Time::from_ms(60);
                traffics.push(heat);
            }
            let senders: Vec<u32> = messages.iter().map(|(_, src, ..)| src % hosts).collect();
            let messages = (messages.iter())
                .map(|&(at, src, dst, bytes, other)| {
                    let (src, dst) = (src % hosts, dst % hosts);
                    let src = if src == dst { (src + 1) % hosts } else { src };
                    let traffic = (heated && other) as u16;
                    let incast = dst == 0 && traffic == 0;
                    Message {
                        traffic,
                        group: if incast { 0 } else { u32::MAX },
                        senders: incast.then(|| senders.clone().into()),
                        ..message(ns(at), src, dst, bytes)
                    }
                })
                .collect();
            let host_fifo = fifo.map(|capacity| HostFifo { capacity, mark_above: None });
            let detection = ns(detection);
            let symmetric = seed % 2 == 1;
            let config = NetworkConfig {
                seed,
                graph,
                packet,
                classes,
                buffer,
                buffer_by_rate: Vec::new(),
                release,
                detection,
                host_fifo,
                symmetric,
                balancing: Balancing::FlowHash,
                discipline: None,
                trimming: None,
                pauses: Default::default(),
            };
            Case {
                config,
                traffics,
                messages,
                may_lock: matches!(buffers, Buffers::Tight(_) | Buffers::Pooled(_)),
                calm,
            }
        },
    )
}

/// Whether all packets reach their destinations. Retransmissions may deadlock a network whose messages have all
/// arrived.
fn drains(sim: &mut Simulation) -> bool {
    let to = sim.now() + Time::from_s(1);
    run_to(sim, to);
    sim.totals().ledger.in_flight == 0
}

/// How long ports have been paused, in all.
fn paused(sim: &Simulation) -> Time {
    sim.port_counters().iter().fold(Time::ZERO, |sum, port| sum + port.paused)
}

proptest! {
    #![proptest_config(cases(1))]

    /// IV-A to IV-C: per-message in-order delivery, no entry leaked, no token below zero, no message at a wrong host.
    #[test]
    fn messages_stay_in_order_and_leave_nothing_behind(case in cases_of_dart()) {
        let Case { config, traffics, messages, may_lock, calm } = case;
        let Settings::Dart(id, params) = &traffics[0].scheme else { unreachable!() };
        let mut sim = simulation(config, traffics.clone(), messages.clone());
        trace_all(&mut sim, messages.len());
        let step = us(100);
        while sim.open_messages() > 0 || !sim.nothing_to_come() {
            let to = sim.now() + step;
            run_to(&mut sim, to);
            check_buffers(&sim);
            if may_lock && sim.now() > Time::from_s(1) {
                break;
            }
            prop_assert!(sim.now() < Time::from_s(100), "{:?}", sim.totals());
        }
        let locked = sim.open_messages() > 0 || may_lock && !drains(&mut sim);
        if locked {
            // Only a pause may delay a message.
            let (before, from) = (paused(&sim), sim.now());
            run_to(&mut sim, from + Time::from_s(1));
            prop_assert!(paused(&sim) - before >= Time::from_s(1), "{:?}", sim.totals());
        } else {
            if calm {
                // Every message has ended, and every entry is freed.
                prop_assert_eq!(entries(&sim, 0), 0);
            }
            // The counter-example's retransmissions may be many, and all of them take detours.
            finish_within(&mut sim, 30_000_000);
            check_all_arrived(&sim);
            prop_assert_eq!(entries(&sim, 0), 0, "after the last reclaim");
        }
        let seen = check_traces(&sim, &traffics);
        let totals = sim.totals();
        if *id != "dart-packet-deflection" {
            prop_assert_eq!((seen.reordered, seen.astray), (0, 0), "{:?}", seen);
            if !overtaken(&traffics[0]) {
                // A change of routes may also let a message overtake an earlier one of its connection.
                let excused = |flow: &FlowRecord| routes_changed(&sim, Time::ZERO, flow.acked);
                let in_order = |flow: &FlowRecord| flow.traffic == 1 || flow.reordered == 0 || excused(flow);
                prop_assert!(sim.flows().iter().all(in_order), "{:?}", totals);
            }
        }
        prop_assert_eq!(totals.drops.wrong_host, 0);
        for switch in 0..sim.config().graph.switches() {
            let of_switch = sim.watch_switch(0, switch);
            prop_assert!(of_switch.iter().all(|(_, n)| *n <= params.table_entries as f64), "{:?}", of_switch);
        }
        if calm {
            prop_assert_eq!(totals.drops, Drops::default());
            let acted = |action| acted(&sim, 0, action);
            prop_assert_eq!(acted(Action::EntryFlushed), 0);
            if !locked {
                prop_assert_eq!(acted(Action::EntryReclaimed), 0);
                prop_assert_eq!(acted(Action::TokenSpent), seen.deflections);
            }
        }
    }

    /// Where receivers keep what overtakes, a message that lost a packet is not sent whole again: its packets take
    /// paths of their own, and still all arrive, and no entry is left.
    #[test]
    fn deflected_messages_are_repaired_selectively(case in cases_of_dart(), recovery in random::any_selective()) {
        let Case { config, mut traffics, messages, may_lock, .. } = case;
        traffics[0].endpoint.recovery = recovery;
        random::let_the_cap_fill_chunks(&mut traffics[0].endpoint);
        let mut sim = simulation(config, traffics, messages);
        while sim.open_messages() > 0 || !sim.nothing_to_come() {
            let to = sim.now() + us(100);
            run_to(&mut sim, to);
            // Timers of 20 ms and more repair what a link that was down has cost.
            if may_lock && sim.now() > Time::from_s(20) {
                break;
            }
            prop_assert!(sim.now() < Time::from_s(100), "{:?}", sim.totals());
        }
        if sim.open_messages() > 0 || may_lock && !drains(&mut sim) {
            let (before, from) = (paused(&sim), sim.now());
            run_to(&mut sim, from + Time::from_s(1));
            prop_assert!(paused(&sim) - before >= Time::from_s(1), "{:?}", sim.totals());
        } else {
            finish(&mut sim);
            check_all_arrived(&sim);
            prop_assert_eq!(entries(&sim, 0), 0, "after the last reclaim");
        }
        prop_assert_eq!(sim.totals().drops.wrong_host, 0);
    }
}
