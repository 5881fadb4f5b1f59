//! A run depends on its configuration alone: not on when it ran, on the queue that holds its events, or on how its
//! nodes are spread over partitions.

use crate::common::heap::HeapQueue;
use crate::common::random::{Case, Schemes, congested, incast, lossy, stormy};
use crate::common::windowed::WindowedQueue;
use crate::common::*;
use fanin_engine::{CalendarQueue, Event, EventQueue};
use fanin_fabric::tap::Wanted;
use fanin_fabric::topology::LeafSpine;
use fanin_fabric::*;
use fanin_units::{PortId, Time};
use proptest::prelude::*;

/// All results of a run.
#[derive(Debug, PartialEq)]
struct Outcome {
    totals: Totals,
    flows: Vec<FlowRecord>,
    ports: Vec<PortCounters>,
    traffics: Vec<TrafficCounters>,
}

fn outcome<Q: EventQueue>(case: &Case, queue: Q, until: Time) -> Outcome {
    let messages = Box::new(case.messages.clone().into_iter());
    let mut sim = Simulation::with_queue(case.config.clone(), case.traffics.clone(), messages, queue);
    run_to(&mut sim, until);
    Outcome { totals: sim.totals(), flows: sim.flows(), ports: sim.port_counters(), traffics: sim.traffic_counters() }
}

fn by_heap(case: &Case, until: Time) -> Outcome {
    outcome(case, HeapQueue::new(case.config.seed), until)
}

/// The node that an event belongs to. A source is a kind in its upper three bits and a number.
///
/// A change of a link belongs to both its ends and to all routes, so cases with outages are not cut here.
fn node_of(event: &Event, links: &[(u32, u32)], flows: &[(u32, u32)], hosts: u32) -> u32 {
    let number = event.source & ((1 << 29) - 1);
    let port = number & ((1 << 28) - 1);
    let (a, b) = links.get(port as usize / 2).copied().unwrap_or_default();
    match event.source >> 29 {
        // A packet arrives over the link of port `number`: at the other end.
        0 => [b, a][number as usize % 2],
        // A port wakes up.
        1 => [a, b][number as usize % 2],
        // The timer of the end of a connection that was opened by the other one.
        2 if number >> 28 == 1 => flows[(number & ((1 << 28) - 1)) as usize].1,
        // A flow's timer, a message's start: the sender.
        2 | 5 => flows[number as usize].0,
        // The timers of a host, and of its waiting answers.
        3 => port,
        // A receiver's timer, by scheme and host.
        4 => number % hosts,
        // The shaper of a port, or a switch program.
        7 if number >> 28 == 1 => [a, b][port as usize % 2],
        7 => hosts + number,
        _ => panic!("an event of a kind that belongs to no node: {event:?}"),
    }
}

/// Runs with nodes spread over partitions, each running ahead by the delay of the shortest link.
fn by_partitions(case: &Case, until: Time, parts: usize, spread: u64) -> Outcome {
    let seed = case.config.seed;
    let links: Vec<(u32, u32)> = case.config.graph.links.iter().map(|l| (l.a.0, l.b.0)).collect();
    let senders: Vec<(u32, u32)> = case.messages.iter().map(|m| (m.src, m.dst)).collect();
    let hosts = case.config.graph.hosts;
    let window = case.config.graph.links.iter().map(|l| l.delay).min().unwrap();
    let part_of = move |event: &Event| {
        let node = node_of(event, &links, &senders, hosts);
        fanin_engine::mix(spread, node as u64) as usize % parts
    };
    // Both kinds of queue, in turn.
    if spread.is_multiple_of(2) {
        let queues = (0..parts).map(|_| HeapQueue::new(seed)).collect();
        outcome(case, WindowedQueue::new(queues, window, part_of), until)
    } else {
        let queues = (0..parts).map(|_| CalendarQueue::new(seed, ns(100), us(20))).collect();
        outcome(case, WindowedQueue::new(queues, window, part_of), until)
    }
}

/// Cases whose shortest link is 300 ns long.
fn cuttable() -> impl Strategy<Value = Case> {
    lossy(Schemes::All).prop_map(|mut case| {
        for link in &mut case.config.graph.links {
            link.delay = link.delay.max(ns(300));
        }
        case
    })
}

/// All queries of a network's switches.
fn seen(sim: &Simulation) -> (Totals, Vec<PortCounters>, Vec<ClassCounters>, Vec<u64>, Vec<BufferUse>) {
    let queued = sim.ports().map(|(port, ..)| sim.queued(port)).collect();
    (sim.totals(), sim.port_counters(), sim.class_counters(), queued, sim.buffer_use())
}

/// Many senders to few receivers over equal links, whose packets come and leave at the same instants.
fn crowded() -> impl Strategy<Value = Case> {
    let sender = (0u32..64, 0u32..3, 1u64..80_000, 0u64..4);
    let base = prop_oneof![congested(), lossy(Schemes::All)];
    (base, 1u64..40, prop::collection::vec(sender, 1..40)).prop_map(|(mut case, slots, senders)| {
        let tx = gbps(10).tx_time(1000);
        for link in &mut case.config.graph.links {
            (link.rate, link.delay) = (gbps(10), Time::from_ps(slots * tx.as_ps() / 4));
        }
        let hosts = case.config.graph.hosts;
        for (from, to, bytes, at) in senders {
            let (src, dst) = (from % hosts, to % hosts);
            if src != dst {
                case.messages.push(Message { bytes, ..message(Time::from_ps(at * tx.as_ps()), src, dst, bytes) });
            }
        }
        case.messages.sort_by_key(|message| message.start);
        case
    })
}

proptest! {
    #![proptest_config(cases(1))]

    #[test]
    fn any_case_repeats_itself_on_either_queue(case in stormy(Schemes::All)) {
        let once = outcome(&case, CalendarQueue::new(case.config.seed, ns(10), us(5)), us(500));
        prop_assert_eq!(&by_heap(&case, us(500)), &once);
        // The calendar's own parameters change nothing, nor does a second time.
        let again = outcome(&case, CalendarQueue::new(case.config.seed, us(3), us(1)), us(500));
        prop_assert_eq!(&again, &once);
        let mut sim = case.build();
        run_to(&mut sim, us(500));
        prop_assert_eq!(&sim.totals(), &once.totals);
    }

    #[test]
    fn any_case_is_the_same_where_each_departure_is_an_event(
        case in prop_oneof![stormy(Schemes::All), lossy(Schemes::All), crowded()],
        stops in prop::collection::vec((1u64..60_000, prop_oneof![Just(u64::MAX), 1u64..300]), 1..40),
    ) {
        let (mut lazy, mut eager) = (case.build(), case.build());
        eager.make_departures_eager();
        for (nanoseconds, events) in stops {
            // Where the lazy one stops within an instant is no time to compare; the next stop between two is.
            let until = lazy.now() + ns(nanoseconds);
            if lazy.run_until(until, events) {
                prop_assert!(eager.run_until(until, u64::MAX));
                prop_assert_eq!(seen(&lazy), seen(&eager));
            }
        }
        run_to(&mut lazy, us(2000));
        run_to(&mut eager, us(2000));
        prop_assert_eq!(seen(&lazy), seen(&eager));
        prop_assert_eq!(lazy.flows(), eager.flows());
    }

    #[test]
    fn a_tap_sees_any_case_as_it_happens(
        case in prop_oneof![lossy(Schemes::All), crowded()],
        (from, to) in (0u64..100_000, 0u64..100_000),
        what in 1u8..4,
    ) {
        let (mut lazy, mut eager) = (case.build(), case.build());
        eager.make_departures_eager();
        let ports: Vec<PortId> = lazy.ports().map(|(port, ..)| port).collect();
        let of = |bit: u8| if what & bit != 0 { ports.clone() } else { Vec::new() };
        let wanted = Wanted { links: of(1), queues: of(2), ..Wanted::default() };
        let saw = |sim: &mut Simulation| {
            run_to(sim, ns(from));
            sim.tap(&wanted);
            run_to(sim, ns(from + to));
            let mut all = Vec::new();
            sim.take_seen(&mut all);
            sim.tap(&Wanted::default());
            run_to(sim, us(1000));
            // What has fields of floating point can only be compared as text.
            all.iter().map(|one| format!("{one:?}")).collect::<Vec<_>>()
        };
        prop_assert_eq!(saw(&mut lazy), saw(&mut eager));
        prop_assert_eq!(seen(&lazy), seen(&eager));
    }

    #[test]
    fn any_case_may_be_cut_into_partitions(case in cuttable(), one in any::<u64>(), other in any::<u64>()) {
        let whole = by_heap(&case, us(700));
        prop_assert_eq!(&by_partitions(&case, us(700), 2, one), &whole);
        prop_assert_eq!(&by_partitions(&case, us(700), 5, other), &whole);
    }
}

#[test]
fn another_seed_is_another_run() {
    let hash = |seed| by_heap(&incast(seed), Time::from_ms(5)).totals.event_hash;
    let hashes: Vec<u64> = (0..20).map(hash).collect();
    let mut distinct = hashes.clone();
    distinct.sort_unstable();
    distinct.dedup();
    assert_eq!(distinct.len(), 20, "{hashes:x?}");
    assert_eq!(hash(7), hashes[7]);
}

#[test]
fn an_incast_may_be_cut_node_by_node() {
    let case = incast(3);
    let whole = by_heap(&case, Time::from_ms(5));
    assert!(whole.totals.hosts.cnps > 0 && whole.ports.iter().any(|p| p.pauses > 0));
    assert!(whole.flows.iter().all(|f| f.finished.is_some()));
    for (parts, spread) in [(1, 0), (2, 1), (3, 2), (36, 3), (36, 4)] {
        assert_eq!(by_partitions(&case, Time::from_ms(5), parts, spread), whole, "{parts} parts");
    }
}

#[test]
fn no_sender_of_a_synchronised_incast_is_favoured_by_its_number() {
    // Eight packets meet at one port at one instant. Who is first is a matter of the seed.
    let mut first = [0; 8];
    for seed in 0..400 {
        let config = NetworkConfig { seed, ..network(star(9, us(1))) };
        let mut sim = line_rate(config, (0..8).map(|h| message(Time::ZERO, h, 8, 100)).collect());
        finish(&mut sim);
        let flows = sim.flows();
        let fastest = (0..8).min_by_key(|f| flows[*f].finished).unwrap();
        first[flows[fastest].src as usize] += 1;
    }
    assert!(first.iter().all(|n| (25..=80).contains(n)), "{first:?}");
}

#[test]
fn the_event_hash_sees_every_difference() {
    let hash = |bytes, start| {
        let mut sim = line_rate(network(star(3, us(1))), vec![message(start, 0, 1, bytes)]);
        finish(&mut sim);
        sim.totals().event_hash
    };
    let all = [hash(1, ns(0)), hash(PAYLOAD + 1, ns(0)), hash(1, ns(1)), hash(2 * PAYLOAD, ns(0))];
    for (i, a) in all.iter().enumerate() {
        assert!(all[i + 1..].iter().all(|b| a != b), "{all:x?}");
    }
}

/// Two leaves of four hosts joined by four spines of different delays. The first traffic crosses them, over links that
/// lose packets; the second stays within the leaves, at other hosts.
fn two_traffics(second: bool) -> Vec<FlowRecord> {
    let mut graph = LeafSpine {
        leaves: 2,
        hosts: 4,
        spines: 4,
        host_link: cable(gbps(10), us(1)),
        fabric_link: cable(gbps(10), us(1)),
    }
    .build()
    .unwrap();
    for (i, link) in graph.links.iter_mut().enumerate() {
        let of_first = link.a.0 % 4 == 0 || !(0..8).contains(&link.a.0);
        link.error_rate = if of_first { 0.02 } else { 0.0 };
        if i >= 8 {
            link.delay = us(1 + i as u64 % 4);
        }
    }
    let mut messages: Vec<Message> = (0..60).map(|i| message(us(40 * i), 0, 4, 5 * PAYLOAD)).collect();
    if second {
        for i in 0..500 {
            messages.push(Message { traffic: 1, ..message(us(i) + ns(500), 1, 2, 1000) });
        }
    }
    let mut sim = simulation(network(graph), vec![traffic("none"), traffic("dcqcn")], messages);
    finish(&mut sim);
    check_all_arrived(&sim);
    sim.flows().into_iter().filter(|f| f.traffic == 0).collect()
}

#[test]
fn a_second_traffic_does_not_change_the_draws_of_the_first() {
    let alone = two_traffics(false);
    assert!(alone.iter().any(|f| f.packets_resent > 0));
    let ideals = |flows: &[FlowRecord]| {
        let mut ideals: Vec<Time> = flows.iter().map(|f| f.ideal).collect();
        ideals.sort_unstable();
        ideals.dedup();
        ideals.len()
    };
    assert!(ideals(&alone) > 1, "it uses spines of different delays");
    assert_eq!(two_traffics(true), alone);
}

#[test]
fn each_port_draws_its_marks_alone() {
    let marked = |second: bool| {
        let red = Marking::Red { min: 0, max: 30_000, max_probability: 0.5, at: MarkAt::Enqueue };
        let config = NetworkConfig { classes: vec![class(false, red)], ..network(star(6, us(1))) };
        let pairs = if second { vec![(0, 2), (1, 2), (3, 5), (4, 5)] } else { vec![(0, 2), (1, 2)] };
        // No two arrivals coincide with each other or with a departure.
        let start = |src: u32| ns([0, 130, 0, 370, 410][src as usize]);
        let messages = pairs.into_iter().map(|(src, dst)| message(start(src), src, dst, 30 * PAYLOAD)).collect();
        let mut sim = line_rate(config, messages);
        finish(&mut sim);
        sim.flows().iter().filter(|f| f.dst == 2).map(|f| f.packets_marked).collect::<Vec<_>>()
    };
    assert_eq!(marked(true), marked(false));
    assert!(marked(true).iter().all(|n| (3..27).contains(n)));
}
