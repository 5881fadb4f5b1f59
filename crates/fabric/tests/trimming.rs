//! Trimming: a packet without room loses its payload, and its header goes ahead.

use crate::common::*;
use fanin_fabric::topology::LeafSpine;
use fanin_fabric::*;
use fanin_units::Time;

/// Two hosts send 12 packets to host 0, whose link has 4 Gb/s: 3 us a packet, 128 ns a header of 64 B. The switch has
/// room for one packet a port. Packet i of host 1 arrives at 1.3 + 1.2 i us, of host 2 650 ns later.
fn two_to_one(headers: u64, traffic: TrafficConfig) -> Simulation {
    two_to_one_with(Trimming { size: 64, headers, ..Trimming::default() }, traffic)
}

fn two_to_one_with(trimming: Trimming, traffic: TrafficConfig) -> Simulation {
    let mut graph = star(3, ns(100));
    graph.links[0].rate = gbps(4);
    let buffer = BufferPolicy::PerPort { bytes: 1_500, pfc: Pfc { headroom: None, xon_offset: None } };
    let trimming = Some(trimming);
    let messages = vec![message(Time::ZERO, 1, 0, 12 * PAYLOAD), message(ns(650), 2, 0, 12 * PAYLOAD)];
    simulation(NetworkConfig { buffer, trimming, ..network(graph) }, vec![traffic], messages)
}

#[test]
fn a_packet_without_room_is_cut_and_its_header_goes_first() {
    let mut sim = two_to_one(100_000, traffic("none"));
    // From 1.3 us on packet 0 of host 1 leaves, and that of host 2 takes the room. By 4.3 us three have been cut, whose
    // headers now go first, and with them that of a fourth, which arrives at 4.35 us.
    run_to(&mut sim, ns(4_360));
    assert_eq!((sim.totals().trimmed, sim.totals().drops.total()), (4, 0));
    run_to(&mut sim, ns(4_300 + 128 + 99));
    assert_eq!(sim.totals().hosts.nacks, 0);
    // The first header has arrived, and makes a NACK; then the second, of the other flow. The other two are of flows
    // that have sent their NACK.
    run_to(&mut sim, ns(4_300 + 4 * 128 + 100));
    assert_eq!(sim.totals().hosts.nacks, 2);
    // Packet 0 of host 2 had to wait for four headers.
    run_to(&mut sim, ns(4_300 + 4 * 128 + 3_000 + 99));
    assert_eq!(sim.traffic_counters()[0].delivered, PAYLOAD);
    run_to(&mut sim, ns(4_300 + 4 * 128 + 3_000 + 101));
    assert_eq!(sim.traffic_counters()[0].delivered, 2 * PAYLOAD);
    // In all 2.4 packets arrive for each that leaves.
    run_to(&mut sim, ns(8_400));
    assert_eq!((sim.totals().trimmed, sim.totals().drops.total()), (9, 0));
    let counted: Vec<u64> = sim.port_counters().iter().map(|port| port.trimmed).filter(|n| *n > 0).collect();
    assert_eq!(counted, [9], "all at one port");
    finish(&mut sim);
    check_all_arrived(&sim);
    assert_eq!(sim.totals().drops.total(), 0);
}

#[test]
fn headers_have_a_limit() {
    let mut sim = two_to_one(128, traffic("none"));
    // The third of three has no room for its header, as they wait from 2.5 to 4.3 us; the fourth has again.
    run_to(&mut sim, ns(4_360));
    assert_eq!((sim.totals().trimmed, sim.totals().drops.buffer), (3, 1));
    finish(&mut sim);
    check_all_arrived(&sim);
}

#[test]
fn data_has_a_turn_after_so_many_headers() {
    // Of four headers that wait with packet 0 of host 2, so many go first.
    for (weight, before) in [(Some(1), 1), (Some(3), 3), (None, 4)] {
        let mut sim = two_to_one_with(Trimming { headers: 100_000, weight, ..Trimming::default() }, traffic("none"));
        run_to(&mut sim, ns(4_300 + before * 128 + 3_000 + 99));
        assert_eq!(sim.traffic_counters()[0].delivered, PAYLOAD, "{weight:?}");
        run_to(&mut sim, ns(4_300 + before * 128 + 3_000 + 101));
        assert_eq!(sim.traffic_counters()[0].delivered, 2 * PAYLOAD, "{weight:?}");
    }
}

#[test]
fn an_ack_for_several_packets_is_enough_whatever_is_cut() {
    for (scheme, chunk) in [("nscc", 4), ("dctcp-rate", 4), ("rccc", 4), ("nscc", 64)] {
        let link = cable(gbps(10), ns(500));
        let graph = LeafSpine { leaves: 3, hosts: 4, spines: 4, host_link: link, fabric_link: link }.build().unwrap();
        let config = NetworkConfig {
            buffer: BufferPolicy::PerPort { bytes: 12_000, pfc: Pfc { headroom: None, xon_offset: None } },
            trimming: Some(Trimming { either: true, ..Trimming::default() }),
            balancing: Balancing::Random,
            classes: vec![class(false, Marking::Step { above: 8_000, at: MarkAt::Enqueue })],
            ..network(graph)
        };
        let one = |chunk| {
            let mut traffic = unordered(scheme);
            (traffic.endpoint.ack_chunk, traffic.endpoint.timeout) = (chunk * PAYLOAD as u32, us(50));
            let messages = (4..12).map(|src| message(ns(u64::from(src) * 37), src, src % 4, 300 * PAYLOAD)).collect();
            let mut sim = simulation(config.clone(), vec![traffic], messages);
            finish(&mut sim);
            check_all_arrived(&sim);
            let last = sim.flows().iter().map(|flow| flow.finished).max().unwrap();
            (sim.totals().trimmed, last)
        };
        let ((trimmed, last), (_, with_each)) = (one(chunk), one(0));
        assert!(
            trimmed > 5 && last + last < with_each + with_each + with_each,
            "{scheme}: {trimmed}, {last}, {with_each}"
        );
    }
}

#[test]
fn by_a_coin_the_last_packet_is_cut_and_the_one_that_arrives_takes_its_place() {
    // Host 1 sends first, and then each packet of host 2 comes just behind one of host 1, so that it finds no room.
    let cut = |either| {
        let mut graph = star(3, ns(100));
        graph.links[0].rate = gbps(10);
        let buffer = BufferPolicy::PerPort { bytes: 4_000, pfc: Pfc { headroom: None, xon_offset: None } };
        let trimming = Some(Trimming { either, ..Trimming::default() });
        let messages = vec![message(Time::ZERO, 1, 0, 200 * PAYLOAD), message(ns(10), 2, 0, 200 * PAYLOAD)];
        let mut sim =
            simulation(NetworkConfig { buffer, trimming, ..network(graph) }, vec![unordered("none")], messages);
        run_to(&mut sim, us(150));
        let resent: Vec<u32> = sim.flows().iter().map(|flow| flow.packets_resent).collect();
        finish(&mut sim);
        check_all_arrived(&sim);
        assert_eq!((sim.totals().drops.total(), sim.totals().hosts.timeouts), (0, 0));
        let resent_in_all: u64 = sim.flows().iter().map(|flow| u64::from(flow.packets_resent)).sum();
        assert_eq!(resent_in_all, sim.totals().trimmed);
        (resent, sim.flows().iter().map(|flow| flow.packets_resent).collect::<Vec<_>>())
    };
    let (_, arriving) = cut(false);
    let (_, either) = cut(true);
    assert!(arriving[0] * 4 < arriving[1], "{arriving:?}");
    assert!(either[0] * 2 > either[1] && either[1] * 2 > either[0], "{either:?}");
}

#[test]
fn a_segment_of_tcp_is_dropped_as_ever() {
    let mut sim = two_to_one(100_000, over_tcp("newreno"));
    finish(&mut sim);
    check_all_arrived(&sim);
    assert_eq!(sim.totals().trimmed, 0);
    assert!(sim.totals().drops.buffer > 0);
}

#[test]
fn a_packet_is_whole_or_cut_or_dropped() {
    // By 20 us both have sent all once, and of what arrived nothing is unaccounted for.
    for headers in [64, 200, 100_000] {
        let mut sim = two_to_one(headers, traffic("none"));
        finish(&mut sim);
        check_all_arrived(&sim);
        let (sent, arrived) = sim.flows().iter().fold((0, 0), |(sent, arrived), flow| {
            (sent + u64::from(flow.packets_sent), arrived + u64::from(flow.packets_arrived))
        });
        let totals = sim.totals();
        assert!(totals.trimmed > 0);
        // Headers that are dropped at a later hop have been counted as trimmed too; here there is one hop.
        assert_eq!(arrived + totals.trimmed + totals.drops.total(), sent, "{totals:?}");
    }
}

/// Packets may arrive in any order.
fn unordered(scheme: &str) -> TrafficConfig {
    let timeout = us(320);
    let nacks = Rules::UNORDERED;
    let rules = Rules { cap: Cap::Off, timeout_high: timeout, low_up_to: 0, nacks, tell_scheme: true };
    let endpoint = EndpointConfig { timeout, recovery: Recovery::Selective(rules), ..EndpointConfig::default() };
    TrafficConfig { endpoint, ..traffic(scheme) }
}

#[test]
fn what_is_cut_is_sent_again_and_nothing_else_without_a_timeout() {
    for scheme in ["none", "dctcp-rate", "dcqcn", "nscc"] {
        let link = cable(gbps(10), ns(100));
        // Eight to one over four spines that are sprayed, with room for eight packets a port.
        let graph = LeafSpine { leaves: 3, hosts: 4, spines: 4, host_link: link, fabric_link: link }.build().unwrap();
        let config = NetworkConfig {
            buffer: BufferPolicy::PerPort { bytes: 12_000, pfc: Pfc { headroom: None, xon_offset: None } },
            trimming: Some(Trimming { size: 64, headers: 1_000_000, ..Trimming::default() }),
            balancing: Balancing::Random,
            ..network(graph)
        };
        let messages = (4..12).map(|src| message(ns(u64::from(src) * 37), src, 0, 100 * PAYLOAD)).collect();
        let mut sim = simulation(config, vec![unordered(scheme)], messages);
        finish(&mut sim);
        check_all_arrived(&sim);
        let totals = sim.totals();
        let resent: u64 = sim.flows().iter().map(|flow| u64::from(flow.packets_resent)).sum();
        assert!(totals.trimmed > 20 && totals.hosts.reordered > 0, "{scheme}: {totals:?}");
        assert_eq!((totals.hosts.timeouts, totals.drops.total()), (0, 0), "{scheme}");
        assert_eq!((resent, totals.hosts.duplicates), (totals.trimmed, 0), "{scheme}");
    }
}
