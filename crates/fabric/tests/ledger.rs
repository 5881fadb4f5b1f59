//! Conservation of bytes: bytes sent = delivered + dropped + in flight, at any time.

use crate::common::random::{Case, Schemes, calm, lossy, steps, stormy};
use crate::common::*;
use fanin_fabric::*;
use fanin_units::Time;
use proptest::prelude::*;

/// Runs to `until` in uneven steps of time and of events, and checks the ledger at each stop.
fn walk(sim: &mut Simulation, until: Time, steps: &[(u64, u64)]) {
    let mut hops = 0;
    for &(nanoseconds, events) in steps {
        sim.run_until((sim.now() + ns(nanoseconds)).min(until), events);
        let totals = sim.totals();
        check_ledger(&totals);
        check_buffers(sim);
        assert!(totals.packet_hops >= hops);
        hops = totals.packet_hops;
        let queued: u64 = sim.ports().map(|(p, ..)| sim.queued(p)).sum();
        assert!(queued <= totals.ledger.in_flight, "{queued} bytes queued, {totals:?}");
    }
}

/// What must hold at the end of a run, however it went.
fn check_counts(sim: &Simulation) {
    let (flows, totals, traffics) = (sim.flows(), sim.totals(), sim.traffic_counters());
    let sum = |f: &dyn Fn(&TrafficCounters) -> u64| traffics.iter().map(f).sum::<u64>();
    assert_eq!(sum(&|t| t.started), sim.started());
    assert_eq!(sum(&|t| t.finished), flows.iter().filter(|f| f.finished.is_some()).count() as u64);
    let open = flows.iter().filter(|f| f.finished == Time::NEVER && f.bytes < Message::ENDLESS).count() as u64;
    assert_eq!(sim.open_messages(), open);
    assert!(sum(&|t| t.packets_marked) <= sum(&|t| t.packets_arrived));
    let ports = sim.port_counters();
    assert_eq!(ports.iter().map(|p| p.packets).sum::<u64>(), totals.packet_hops);
    check_classes(sim);
    // What a host without any link cannot even send is counted, but has no place.
    let placed = sim.incidents().seen.drops;
    assert!((totals.drops.total() - totals.drops.no_route..=totals.drops.total()).contains(&placed), "{totals:?}");
    assert_eq!(ports.iter().map(|p| p.pauses).sum::<u64>(), sim.incidents().seen.pauses);
    let outages = sim.config().graph.links.iter().any(|l| !l.outages.is_empty());
    // Nor is the ideal, which is of one path, a bound where packets take several.
    let sprays: Vec<bool> = sim.traffic_configs().map(|traffic| traffic.spraying.is_some()).collect();
    for (case, flow) in flows.iter().enumerate() {
        assert!(flow.delivered <= flow.bytes, "{case}: {flow:?}");
        assert_eq!(flow.finished.is_some(), flow.delivered == flow.bytes, "{case}: {flow:?}");
        assert!(!flow.acked.is_some() || flow.finished < flow.acked, "{case}: {flow:?}");
        // After an outage it may find a faster path than the one it was posted for.
        if flow.finished.is_some() && !outages && !sprays[usize::from(flow.traffic)] {
            assert!(flow.finished - flow.start >= flow.ideal, "{case}: faster than alone: {flow:?}");
        }
    }
}

/// What a port counts is what its classes count.
fn check_classes(sim: &Simulation) {
    let of_class = sim.class_counters();
    let classes = sim.config().classes.len() + 1;
    assert_eq!(of_class.len(), sim.port_counters().len() * classes);
    for (port, of_class) in sim.port_counters().iter().zip(of_class.chunks(classes)) {
        assert_eq!(port.marked, of_class.iter().map(|c| c.marked).sum::<u64>());
        assert_eq!(port.dropped, of_class.iter().map(|c| c.dropped).sum::<u64>());
        assert_eq!(port.pauses, of_class.iter().map(|c| c.pauses).sum::<u64>());
        assert_eq!(port.paused.as_ps(), of_class.iter().map(|c| c.paused.as_ps()).sum::<u64>());
        let data = &of_class[1..];
        assert!(data.iter().map(|c| c.peak_queue).max() <= Some(port.peak_queue));
        assert!(data.iter().map(|c| c.peak_queue).sum::<u64>() >= port.peak_queue);
    }
}

fn finish_and_check(case: &Case) -> Simulation {
    let mut sim = case.build();
    // While a message of ExpressPass waits for one of its timeouts of up to 60 ms, credits go on coming: at 100 Gb/s,
    // over six links and in both directions, 50 million.
    finish_within(&mut sim, 100_000_000);
    check_counts(&sim);
    assert_eq!(sim.started(), case.messages.len() as u64);
    check_all_arrived(&sim);
    sim
}

proptest! {
    #![proptest_config(cases(1))]

    #[test]
    fn every_byte_is_somewhere_at_any_stop(case in stormy(Schemes::WithoutDeflection), steps in steps()) {
        let mut sim = case.build();
        walk(&mut sim, us(400), &steps);
        run_to(&mut sim, us(600));
        check_counts(&sim);
    }

    #[test]
    fn without_failures_everything_arrives_and_nothing_is_left(case in calm(Schemes::WithoutDeflection)) {
        let sim = finish_and_check(&case);
        let drops = sim.totals().drops;
        let credits = Drops { shaper: drops.shaper, ..Drops::default() };
        prop_assert_eq!(drops, Drops { buffer: drops.buffer, ..credits }, "only lossy classes lose packets");
        // Where packets are cut, headers and control have a buffer of their own, which is full at some time.
        if matches!(case.config.buffer, BufferPolicy::Unlimited) && case.config.trimming.is_none() {
            prop_assert_eq!(drops, credits);
            let sprays = case.traffics.iter().any(|traffic| traffic.spraying.is_some());
            prop_assert!(sprays || sim.totals().hosts.nacks == 0, "only sprayed packets overtake each other");
        }
    }

    #[test]
    fn what_links_lose_is_sent_again_until_it_arrives(case in lossy(Schemes::WithoutDeflection)) {
        let sim = finish_and_check(&case);
        let drops = sim.totals().drops;
        let Drops { buffer, error, shaper, .. } = drops;
        prop_assert_eq!(drops, Drops { buffer, error, shaper, ..Drops::default() });
    }

    #[test]
    fn stops_change_nothing(case in stormy(Schemes::WithoutDeflection), steps in steps()) {
        let mut stopped = case.build();
        walk(&mut stopped, us(500), &steps);
        run_to(&mut stopped, us(500));
        let mut straight = case.build();
        run_to(&mut straight, us(500));
        prop_assert_eq!(stopped.totals(), straight.totals());
        prop_assert_eq!(stopped.flows(), straight.flows());
    }
}

#[test]
fn one_event_per_packet_and_hop_when_nothing_waits() {
    let mut sim = line_rate(network(chain(6, gbps(10), us(1))), vec![message(Time::ZERO, 0, 5, 1000 * PAYLOAD)]);
    finish(&mut sim);
    let totals = sim.totals();
    // One per hop, one wake-up per packet at the sender's NIC, and a few to start and end.
    assert!(totals.events <= totals.packet_hops + 1000 + 10, "{totals:?}");
}

#[test]
fn at_most_one_event_more_per_hop_while_queues_stand() {
    let messages = (0..8).map(|h| message(Time::ZERO, h, 8, 500 * PAYLOAD)).collect();
    let mut sim = line_rate(network(star(9, us(1))), messages);
    finish(&mut sim);
    let totals = sim.totals();
    assert!(totals.events <= 2 * totals.packet_hops + 100, "{totals:?}");
}

#[test]
fn a_pool_is_never_more_than_full() {
    // Two ports that would each like a thousand times what is free.
    for seed in 0..20 {
        let mut config = network(star(6, us(1)));
        config.seed = seed;
        let pfc = Pfc { headroom: None, xon_offset: None };
        config.buffer = BufferPolicy::Pooled { bytes: 50_000, alpha: 1000.0, pfc_alpha: 1.0, pfc };
        let messages =
            (0..4).flat_map(|h| [4, 5].map(|dst| message(ns(100 * h as u64), h, dst, 60 * PAYLOAD))).collect();
        let mut sim = line_rate(config, messages);
        let mut most = 0;
        for stop in 1..400 {
            run_to(&mut sim, ns(300 * stop));
            most = most.max(sim.ports().filter(|(_, from, _)| from.0 == 6).map(|(p, ..)| sim.queued(p)).sum());
        }
        assert!((48_000..=50_000).contains(&most), "{most}");
        assert!(sim.totals().drops.buffer > 0);
        finish(&mut sim);
        check_all_arrived(&sim);
    }
}
