//! Credit flow control: nothing is dropped and no buffer overflows, a buffer of the round trip keeps a link full, and
//! what a link loses comes back.

use crate::common::random::{congested, credited, steps};
use crate::common::*;
use fanin_fabric::credits::buffer_for;
use fanin_fabric::parallel::why_not_cut;
use fanin_fabric::pauses::{Drain, FaultKind, HostFault};
use fanin_fabric::topology::{Graph, ParkingLot};
use fanin_fabric::*;
use fanin_units::{PortId, Rate, Time};
use proptest::prelude::*;

/// A network whose ports have so many bytes per class.
fn credits(graph: Graph, bytes: Option<u64>) -> NetworkConfig {
    NetworkConfig {
        classes: vec![class(true, Marking::Off)],
        buffer: BufferPolicy::Credits { bytes },
        ..network(graph)
    }
}

fn counters(sim: &Simulation, from: u32, to: u32) -> PortCounters {
    sim.port_counter(port(sim, from, to))
}

/// Hosts 0, 1 and 2, switches 3 and 4: 0 and 2 at switch 3, 1 behind switch 4 and a slow link.
fn behind_a_slow_link(slow: Rate, delay: Time) -> Graph {
    graph(3, 2, &[(0, 3, gbps(10), delay), (3, 4, slow, delay), (4, 1, gbps(10), delay), (2, 3, gbps(10), delay)])
}

/// Blocks of a full packet, in bytes.
const ROOM: u64 = 1536;

#[test]
fn credits_run_out_and_come_back_to_the_picosecond() {
    // Room for three packets.
    let mut sim = line_rate(
        credits(behind_a_slow_link(gbps(1), us(1)), Some(3 * ROOM)),
        vec![message(Time::ZERO, 0, 1, 9 * PAYLOAD)],
    );
    let at_host = |sim: &Simulation| counters(sim, 0, 3);
    // Packets start at 0, 1.2 and 2.4 us, and the third takes the last credits. The first leaves the switch as it
    // arrives, at 2.2 us; its FCP takes 6.4 ns and 1 us.
    let first = ns(3206) + Time::from_ps(400);
    run_to(&mut sim, first);
    assert_eq!((at_host(&sim).credit_waits, at_host(&sim).credit_wait), (1, first - ns(2400)));
    run_to(&mut sim, first + Time::from_ps(1));
    assert_eq!((at_host(&sim).credit_waits, at_host(&sim).credit_wait), (1, first - ns(2400)));
    // The fourth starts at 3.6 us. The second packet leaves the switch 12 us after the first.
    let second = first + us(12);
    run_to(&mut sim, second + Time::from_ps(1));
    assert_eq!((at_host(&sim).credit_waits, at_host(&sim).packets), (3, 5), "the fifth packet starts at once");
    assert_eq!(at_host(&sim).credit_wait, first - ns(2400) + (second - ns(3600)) + Time::from_ps(1));
    assert_eq!(sim.queued(port(&sim, 3, 4)), 2 * WIRE);
    finish(&mut sim);
    check_all_arrived(&sim);
    // The slow link never starved.
    assert_eq!(sim.flows()[0].finished, sim.flows()[0].ideal);
    // Nine packets and ACKs over three links, and as many FCPs as packets left buffers.
    assert_eq!(sim.totals().packet_hops, 2 * 9 * 3 + 9 * 3);
    assert_eq!((counters(&sim, 3, 0).packets, counters(&sim, 3, 0).bytes), (18, 9 * (64 + 8)));
    assert_eq!((sim.incidents().seen.pauses, at_host(&sim).pauses, at_host(&sim).paused), (0, 0, Time::ZERO));
}

#[test]
fn a_switch_sends_a_small_packet_with_the_credits_that_it_has() {
    // Room for 25 blocks: a full packet takes 24, one of 64 B takes the last.
    let graph = graph(2, 2, &[(0, 2, gbps(10), us(1)), (2, 3, gbps(10), us(10)), (3, 1, gbps(10), us(1))]);
    let mut traffics = vec![traffic("none")];
    traffics[0].endpoint.connection = true;
    let messages = (0..).zip([PAYLOAD, 24, PAYLOAD]).map(|(i, bytes)| message(Time::from_ps(i), 0, 1, bytes));
    let mut sim = simulation(credits(graph, Some(25 * 64)), traffics, messages.collect());
    run_to(&mut sim, us(12));
    // The host waits for the credits of the first packet before the second, of which it knows only that none is larger.
    assert_eq!(counters(&sim, 0, 2).packets, 3);
    assert_eq!(counters(&sim, 2, 3).packets, 2, "the small one follows at once, the full one does not fit");
    let waits = counters(&sim, 2, 3).credit_waits;
    assert_eq!(waits, 1);
    finish(&mut sim);
    check_all_arrived(&sim);
}

/// The time that a message of 1,000 packets takes over the first link beyond that of the link alone, and the bytes on
/// it, with this buffer. With `back`, as much comes the other way.
fn lost(rate: Rate, delay: Time, bytes: Option<u64>, back: bool) -> (Time, u64) {
    let graph = graph(2, 1, &[(0, 2, rate, delay), (2, 1, rate, delay)]);
    let mut messages = vec![message(Time::ZERO, 0, 1, 1000 * PAYLOAD)];
    if back {
        messages.push(message(Time::ZERO, 1, 0, 3000 * PAYLOAD));
    }
    let mut traffics = vec![traffic("none")];
    traffics[0].endpoint.ack_chunk = u32::MAX;
    traffics[0].endpoint.timeout = Time::from_ms(100);
    let mut sim = simulation(credits(graph, bytes), traffics, messages);
    run_to(&mut sim, Time::from_ms(20));
    let flow = sim.flows()[0];
    assert!(flow.finished.is_some());
    (flow.finished - flow.ideal, sim.port_counter(PortId(0)).packets)
}

#[test]
fn the_round_trip_and_two_packets_keep_a_link_full() {
    for (rate, delay) in [(gbps(10), us(5)), (gbps(100), us(1)), (gbps(25), ns(700)), (gbps(400), us(1))] {
        // In whole blocks of packets, since that is how they are counted.
        let needed = |more: u64| {
            let flight = rate.bytes_in(delay + delay) + more * WIRE;
            flight.div_ceil(WIRE) * ROOM
        };
        // An FCP takes its own time: of the packet that waits for it the round trip has not counted 8 bytes.
        let computed = buffer_for(rate, delay, WIRE, 1);
        assert!(computed >= needed(2) && computed <= needed(4), "{rate} {delay}");
        assert_eq!(lost(rate, delay, Some(needed(2)), false).0, Time::ZERO, "{rate} {delay}");
        assert_eq!(lost(rate, delay, None, false).0, Time::ZERO, "{rate} {delay}");
        assert!(lost(rate, delay, Some(needed(2) - 2 * ROOM), false).0 > rate.tx_time(WIRE), "{rate} {delay}");
        // With full packets on the way back FCPs wait for these, so a third packet is needed; and the FCPs of what
        // comes take 8 bytes per packet.
        let fcps = rate.tx_time(8 * 1010);
        let (late, _) = lost(rate, delay, None, true);
        assert!(late <= fcps + rate.tx_time(4 * WIRE), "{rate} {delay}: {late}");
    }
}

#[test]
fn a_network_of_two_classes_has_a_buffer_for_each() {
    let mut config = credits(behind_a_slow_link(Rate::from_mbps(10), us(1)), Some(20 * ROOM));
    config.classes = vec![class(true, Marking::Off); 2];
    let traffics = vec![traffic("none"), TrafficConfig { class: 2, ..traffic("none") }];
    let messages = vec![
        message(Time::ZERO, 0, 1, Message::ENDLESS),
        // Same NIC, other class, other path; and to the host whose class 1 lacks credits.
        Message { traffic: 1, ..message(us(50), 0, 2, 100 * PAYLOAD) },
        message(us(250), 2, 0, 10 * PAYLOAD),
    ];
    let mut sim = simulation(config, traffics, messages);
    run_to(&mut sim, us(45));
    let before = counters(&sim, 0, 3);
    run_to(&mut sim, us(400));
    let (flows, after) = (sim.flows(), counters(&sim, 0, 3));
    assert_eq!(after.credit_wait - before.credit_wait, us(400 - 45), "class 1 lacks them all the time");
    // Two directions share a link with FCPs of 6.4 ns.
    for flow in &flows[1..] {
        let late = flow.finished - flow.start - flow.ideal;
        assert!(late <= Time::from_ps(100 * 6_400), "{late}");
    }
}

#[test]
fn missing_credits_travel_hop_by_hop_to_the_hosts() {
    let link = cable(gbps(10), us(2));
    let graph = ParkingLot { switches: 4, hosts: 1, host_link: link, chain_link: link }.build().unwrap();
    let (h0, h2, s0, s1, s2, s3) = (0, 2, 4, 5, 6, 7);
    // Both want the whole link from the third switch to the fourth.
    let messages = vec![message(Time::ZERO, h0, 3, 400 * PAYLOAD), message(Time::ZERO, h2, 3, 400 * PAYLOAD)];
    let mut sim = line_rate(credits(graph, None), messages);
    finish(&mut sim);
    check_all_arrived(&sim);
    assert_eq!((sim.totals().drops, sim.incidents().seen.pauses), (Drops::default(), 0));
    for (from, to) in [(h2, s2), (s1, s2), (s0, s1), (h0, s0)] {
        assert!(counters(&sim, from, to).credit_wait > us(100), "{from} {to}");
    }
    for (from, to) in [(s2, s3), (s3, 3)] {
        assert_eq!(counters(&sim, from, to).credit_wait, Time::ZERO, "the root lacks none");
    }
    // The bottleneck was never without work but for the FCPs: those of 800 ACKs' links have none.
    let last = sim.flows().iter().map(|f| f.finished).max().unwrap();
    let ideal = us(3 * 2) + gbps(10).tx_time(WIRE).saturating_mul(800 + 2);
    assert!(last.saturating_sub(ideal) <= gbps(10).tx_time(WIRE), "{last} {ideal}");
}

#[test]
fn what_a_link_loses_comes_back() {
    for delay in [ns(100), us(1)] {
        let mut graph = star(2, delay);
        graph.links[1].error_rate = 0.05;
        let mut traffics = vec![traffic("none")];
        traffics[0].endpoint.nack_interval = us(20);
        let mut sim = simulation(credits(graph, None), traffics, vec![message(Time::ZERO, 0, 1, 4000 * PAYLOAD)]);
        finish(&mut sim);
        check_all_arrived(&sim);
        let drops = sim.totals().drops;
        // Of a buffer of a few packets: each lost packet takes two dozen blocks, and each lost FCP hides some.
        assert!(drops.error > 200 && drops.total() == drops.error, "{drops:?}");
    }
}

#[test]
fn the_fcp_of_every_65536_symbols_repairs_what_no_other_would() {
    // A packet is lost on the way out, and nothing else passes: the sender's own FCP tells what it has sent.
    let mut graph = star(2, us(1));
    graph.links[0].error_rate = 0.999_999;
    let mut sim = line_rate(credits(graph, Some(ROOM)), vec![message(Time::ZERO, 0, 1, PAYLOAD)]);
    // At 10 Gb/s it is due at multiples of 209.7152 us, and lost too.
    let period = gbps(10).tx_time(4 * 65_536);
    assert_eq!(period, ns(209_715) + Time::from_ps(200));
    run_to(&mut sim, us(209));
    assert_eq!(counters(&sim, 0, 2).packets, 1);
    run_to(&mut sim, us(210));
    assert_eq!(counters(&sim, 0, 2).packets, 2);
    run_to(&mut sim, period.saturating_mul(3) + us(1));
    assert_eq!((counters(&sim, 0, 2).packets, counters(&sim, 0, 2).bytes), (4, 1500 + 3 * 8));
}

#[test]
fn a_link_that_was_down_begins_anew() {
    let mut graph = behind_a_slow_link(gbps(1), us(1));
    graph.links[0].outages = vec![(us(20), us(60)), (us(200), us(230))];
    graph.links[1].outages = vec![(us(100), us(130))];
    let mut config = credits(graph, None);
    config.detection = us(5);
    let mut sim = line_rate(config, vec![message(Time::ZERO, 0, 1, 100 * PAYLOAD)]);
    finish(&mut sim);
    check_all_arrived(&sim);
    let drops = sim.totals().drops;
    assert!(drops.link_down > 0 && drops.lossless == 0, "{drops:?}");
}

#[test]
fn a_slow_host_returns_credits_as_late_as_it_takes_packets() {
    // 1 Gb/s is 12 us a packet; the first comes at 4.4 us. Room for three packets on each link.
    let kind = FaultKind::SlowReceiver { drain: Drain::Rate(gbps(1)), buffer: 1 };
    let run = |to, until| {
        let mut config = credits(star(2, us(1)), Some(3 * ROOM));
        config.pauses.faults = vec![HostFault { host: 1, from: Time::ZERO, to, kind }];
        let mut sim = line_rate(config, vec![message(Time::ZERO, 0, 1, 20 * PAYLOAD)]);
        run_to(&mut sim, until);
        sim
    };
    let mut sim = run(Time::NEVER, us(100));
    // Taken at 16.4, 28.4, .. 88.4 us, and three wait: what the switch has sent is what the host took, and those.
    assert_eq!((counters(&sim, 2, 1).packets, sim.delivered(0)), (7 + 3, 7 * PAYLOAD));
    assert_eq!(check_buffers(&sim), (3 + 3) * ROOM, "the switch is full too");
    assert!(counters(&sim, 2, 1).credit_wait > us(80) && counters(&sim, 0, 2).credit_wait > us(40));
    finish(&mut sim);
    check_all_arrived(&sim);
    assert_eq!(sim.flows()[0].finished, ns(4_400 + 20 * 12_000));
    assert_eq!((sim.totals().drops, sim.incidents().seen.pauses), (Drops::default(), 0));
    // What waits when the fault ends is taken at the rate of the link.
    let mut sim = run(us(50), us(100));
    finish(&mut sim);
    check_all_arrived(&sim);
    assert!(sim.flows()[0].finished < us(50 + 40), "{}", sim.flows()[0].finished);
}

#[test]
fn a_ring_that_waits_for_itself_is_found() {
    // Five of them, so that the way is clockwise for all.
    let s = |i: u32| 5 + i % 5;
    let links: Vec<_> = (0..5).flat_map(|i| [(i, s(i), gbps(10), us(1)), (s(i), s(i + 1), gbps(10), us(1))]).collect();
    let messages = |bytes| (0..5).map(|i| message(Time::ZERO, i, (i + 2) % 5, bytes)).collect::<Vec<_>>();
    let mut sim = line_rate(credits(graph(5, 5, &links), Some(4 * ROOM)), messages(400 * PAYLOAD));
    run_to(&mut sim, us(900));
    let standing = sim.circular_wait().expect("it stands");
    assert_eq!(standing.len(), 5);
    assert!(sim.totals().circular_waits > 0);
    assert_eq!(sim.finished(), 0);
    // With room for all of it there is none.
    let mut sim = line_rate(credits(graph(5, 5, &links), Some(1000 * ROOM)), messages(400 * PAYLOAD));
    finish(&mut sim);
    check_all_arrived(&sim);
    assert_eq!(sim.totals().circular_waits, 0);
}

proptest! {
    #![proptest_config(cases(2))]

    #[test]
    fn nothing_is_dropped_and_no_buffer_overflows(case in credited(), steps in steps()) {
        let mut sim = case.build();
        for (nanoseconds, events) in steps {
            sim.run_until(sim.now() + ns(nanoseconds), events);
            check_ledger(&sim.totals());
            check_buffers(&sim);
        }
        finish(&mut sim);
        check_all_arrived(&sim);
        prop_assert_eq!((sim.totals().drops, sim.incidents().seen.pauses), (Drops::default(), 0));
        prop_assert_eq!(sim.totals().circular_waits, 0, "no network of tiers waits for itself");
    }

    #[test]
    fn slow_hosts_only_delay_and_threads_do_not_matter(
        mut case in credited(),
        faults in prop::collection::vec((any::<u32>(), 0u64..300, 1u64..300, 0.01..1.0f64), 1..4),
        spread in any::<u64>(),
    ) {
        let config = &mut case.config;
        for (host, from, long, share) in faults {
            let (host, from) = (host % config.graph.hosts, us(from));
            let kind = FaultKind::SlowReceiver { drain: Drain::Share(share), buffer: 1 };
            if config.pauses.faults.iter().all(|fault| fault.host != host) {
                config.pauses.faults.push(HostFault { host, from, to: from + us(long), kind });
            }
        }
        let mut sim = case.build();
        while !sim.is_over() {
            sim.run_until(sim.now() + us(20), 3_000);
            check_ledger(&sim.totals());
            check_buffers(&sim);
        }
        check_all_arrived(&sim);
        prop_assert_eq!((sim.totals().drops, sim.incidents().seen.pauses), (Drops::default(), 0));
        if why_not_cut(&case.config, &case.traffics).is_some() {
            return Ok(());
        }
        let nodes = case.config.graph.names.len();
        let mut of: Vec<u16> = (0..nodes).map(|node| (fanin_engine::mix(spread, node as u64) % 2) as u16).collect();
        (of[0], of[nodes - 1]) = (0, 1);
        let mut messages = case.messages.clone();
        messages.sort_by_key(|m| m.start);
        let (config, traffics, messages) = (case.config.clone(), case.traffics.clone(), Box::new(messages.into_iter()));
        let mut two = ParallelSimulation::cut(config, traffics, messages, &of);
        two.always_share();
        assert!(two.run_until(sim.now(), 50_000_000), "events without end");
        let whole = (sim.totals(), sim.flows(), sim.port_counters());
        prop_assert_eq!((two.totals(), two.flows(), two.port_counters()), whole);
    }

    #[test]
    fn they_deliver_what_pfc_delivers(mut case in congested()) {
        case.config.buffer = BufferPolicy::Credits { bytes: None };
        let mut sim = case.build();
        finish(&mut sim);
        check_all_arrived(&sim);
        prop_assert_eq!(sim.totals().hosts.timeouts, 0);
    }
}
