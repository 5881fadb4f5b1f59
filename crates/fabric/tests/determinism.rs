//! A run is the same on any queue, however often it is run and however it is cut.

mod common;

use common::random::{Case, lossy};
use common::*;
use fanin_engine::{CalendarQueue, Event, EventQueue, HeapQueue, WindowedQueue};
use fanin_fabric::*;
use fanin_units::Time;
use proptest::prelude::*;

fn run<Q: EventQueue>(case: &Case, queue: Q) -> (Totals, Vec<FlowRecord>, Vec<PortCounters>) {
    let messages = Box::new(case.messages.clone().into_iter());
    let mut sim = Simulation::with_queue(case.config.clone(), case.traffics.clone(), messages, queue);
    sim.run_until(Time::from_ms(2), u64::MAX);
    (sim.totals(), sim.flows(), sim.port_counters())
}

fn calendar(seed: u64) -> CalendarQueue {
    CalendarQueue::new(seed, ns(10), us(10))
}

/// The node that an event happens at, from its source: the numbering of `sim.rs`.
fn node_of(case: &Case) -> impl Fn(&Event) -> u32 + 'static {
    let links: Vec<(u32, u32)> = case.config.graph.links.iter().map(|l| (l.a.0, l.b.0)).collect();
    let senders: Vec<u32> = case.messages.iter().map(|m| m.src).collect();
    let hosts = case.config.graph.hosts;
    move |event| {
        let number = event.source & ((1 << 29) - 1);
        let (from, to) = {
            let (a, b) = links.get(number as usize / 2).copied().unwrap_or((0, 0));
            if number.is_multiple_of(2) { (a, b) } else { (b, a) }
        };
        match event.source >> 29 {
            0 => to,                           // the last bit of a packet arrives
            1 => from,                         // a port wakes up
            2 | 5 => senders[number as usize], // a flow's timer, a message's start
            3 => number,                       // a host's retransmission timer
            4 => number % hosts,               // a receiver's timer
            _ => unreachable!("no outages and no switch programs here"),
        }
    }
}

/// Parts run one after another, each a whole window ahead, as threads with a barrier would.
fn windowed(case: &Case, parts: usize, part: impl Fn(u32) -> usize + 'static) -> WindowedQueue<CalendarQueue> {
    let shortest = case.config.graph.links.iter().map(|l| l.delay).min().unwrap_or(ns(1));
    let node_of = node_of(case);
    let seed = case.config.seed;
    WindowedQueue::new((0..parts).map(|_| calendar(seed)).collect(), shortest, move |event| part(node_of(event)))
}

proptest! {
    #![proptest_config(cases(4))]

    #[test]
    fn runs_repeat(case in lossy()) {
        let seed = case.config.seed;
        prop_assert_eq!(run(&case, calendar(seed)), run(&case, calendar(seed)));
    }

    #[test]
    fn calendar_and_heap_give_the_same_run(case in lossy()) {
        let seed = case.config.seed;
        prop_assert_eq!(run(&case, calendar(seed)), run(&case, HeapQueue::new(seed)));
    }

    #[test]
    fn a_run_may_be_cut_into_partitions(case in lossy()) {
        let (mut whole, flows, ports) = run(&case, calendar(case.config.seed));
        let hosts = case.config.graph.hosts;
        let cuts = [
            run(&case, windowed(&case, 2, |node| node as usize % 2)),
            run(&case, windowed(&case, 3, move |node| if node < hosts { node as usize % 2 } else { 2 })),
        ];
        for (totals, cut_flows, cut_ports) in cuts {
            // How often a stale wake-up is looked at may differ; what happens may not.
            whole.events = totals.events;
            prop_assert_eq!(&totals, &whole);
            prop_assert_eq!(&cut_flows, &flows);
            prop_assert_eq!(&cut_ports, &ports);
        }
    }
}

#[test]
fn the_seed_decides_ties() {
    // Four packets reach a switch at the same picosecond: who is first depends on the seed, and is fair over many.
    let first = |seed| {
        let messages = (1..5).map(|h| message(Time::ZERO, h, 0, PAYLOAD)).collect();
        let mut sim = line_rate(NetworkConfig { seed, ..network(star(5, us(1))) }, messages);
        finish(&mut sim);
        let flows = sim.flows();
        flows.iter().min_by_key(|f| f.finished).map(|f| f.src).unwrap()
    };
    assert_eq!(first(3), first(3));
    let mut counts = [0; 5];
    for seed in 0..400 {
        counts[first(seed) as usize] += 1;
    }
    assert!(counts[1..].iter().all(|n| (70..130).contains(n)), "{counts:?}");
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
