//! Traffics of different schemes, and what their senders tell receivers, in one network.

use crate::common::*;
use fanin_cc::Settings;
use fanin_fabric::*;
use fanin_units::Time;

/// Two flows over TCP, of 4 and 1 MB, into one host from 0 on.
fn two_flows(traffic: TrafficConfig) -> Simulation {
    let messages = vec![message(us(0), 1, 0, 4_000_000), message(us(0), 2, 0, 1_000_000)];
    simulation(network(star(3, us(5))), vec![traffic], messages)
}

/// The window that each flow's receiver allows it, in segments.
fn allowed(sim: &Simulation) -> Vec<u64> {
    let of = |message: u32| {
        let seen = sim.watch(message);
        seen.iter().find(|(name, _)| *name == "peer_window_bytes").map(|(_, bytes)| *bytes as u64 / PAYLOAD)
    };
    [0, 1].into_iter().filter_map(of).collect()
}

#[test]
fn rcc_schedules_by_size_only_where_senders_announce_it() {
    // Algorithm 1: 40 segments by 1/size, so 8 and 32; without sizes 20 each. The path holds 17 segments.
    for (announce_size, windows) in [(true, [8, 32]), (false, [20, 20])] {
        let mut traffic = TrafficConfig { announce_size, ..over_tcp("rcc") };
        let tcp = &mut traffic.tcp.as_mut().unwrap().connection;
        (tcp.window_scaling, tcp.receive_buffer) = (false, 65_535);
        let mut sim = two_flows(traffic);
        run_to(&mut sim, us(600));
        assert_eq!(allowed(&sim), windows);
        finish(&mut sim);
        check_all_arrived(&sim);
    }
}

#[test]
fn ictcp_sends_two_segments_in_a_round_trip_at_its_smallest_window() {
    // No quota, so the window never grows, and an ACK for every second segment. In units of 64 bytes a window of two
    // segments would be told as less, and each segment would wait for ack_delay: 69 ms.
    let mut traffic = over_tcp("ictcp");
    let Settings::Ictcp(_, params) = &mut traffic.scheme else { panic!() };
    params.alpha = 1e-6;
    let tcp = &mut traffic.tcp.as_mut().unwrap().connection;
    (tcp.ack_every, tcp.ack_delay) = (2, Time::from_ms(1));
    let mut sim = simulation(network(star(2, us(5))), vec![traffic], vec![message(us(0), 1, 0, 69 * PAYLOAD)]);
    finish(&mut sim);
    check_all_arrived(&sim);
    // 35 round trips of 23 us and the handshake; the last segment alone waits for its ACK.
    assert!(sim.message(0).finished < Time::from_ms(3), "{}", sim.message(0).finished);
    assert_eq!(sim.traffic_counters()[0].actions.get(fanin_cc::Action::Increase), 0);
}

#[test]
fn drops_count_for_the_scheme_whose_packets_they_are() {
    // NewReno fills a short queue beside two schemes that hardly use it; two traffics of NewReno share one count. ACKs
    // meet drops too: data goes both ways.
    let buffer = BufferPolicy::PerPort { bytes: 60 * WIRE, pfc: Pfc { headroom: None, xon_offset: None } };
    let classes = [1, 2].map(|_| class_with(false, 0.5)).to_vec();
    let config = NetworkConfig { buffer, classes, ..network(star(5, us(5))) };
    let mut traffics = ["ictcp", "newreno", "rcc", "newreno"].map(over_tcp).to_vec();
    for of_newreno in [1, 3] {
        traffics[of_newreno].class = 2;
        traffics[of_newreno].tcp.as_mut().unwrap().ack_class = 2;
    }
    let out = (0..4).map(|n| Message { traffic: n, ..message(us(0), 1 + u32::from(n), 0, 500_000) });
    let back = (0..4).map(|n| Message { traffic: n, ..message(us(0), 0, 1 + u32::from(n), 500_000) });
    let mut sim = simulation(config, traffics, out.chain(back).collect());
    finish(&mut sim);
    check_all_arrived(&sim);
    let dropped: Vec<u64> = sim.traffic_counters().iter().map(|of| of.dropped).collect();
    let of_classes = sim.class_counters();
    let of_class = |class: usize| of_classes.iter().skip(class).step_by(3).map(|of| of.dropped).sum::<u64>();
    assert!(dropped[1] > 0 && dropped[1] == dropped[3], "{dropped:?}");
    assert_eq!([dropped[0] + dropped[2], dropped[1]], [of_class(1), of_class(2)]);
}

#[test]
fn a_switch_program_sees_packets_of_its_own_scheme_only() {
    // Two racks with three paths between them. Dart's switches deflect around a hot link, but none of these packets are
    // Dart's: TCP fills both directions until it loses packets.
    let links: Vec<_> = (0..6).map(|host| (host, 6 + host / 3, gbps(10), us(1))).collect();
    let across = (8..11).flat_map(|spine| [(6, spine, gbps(10), us(1)), (7, spine, gbps(10), us(1))]);
    let buffer = BufferPolicy::PerPort { bytes: 60 * WIRE, pfc: Pfc { headroom: None, xon_offset: None } };
    let config = NetworkConfig { buffer, ..network(graph(6, 5, &[links, across.collect()].concat())) };
    let messages =
        (0..6).flat_map(|h| (0..4).map(move |_| Message { traffic: 1, ..message(us(0), h, 5 - h, 200_000) }));
    let mut sim = simulation(config, vec![traffic("dart"), over_tcp("newreno")], messages.collect());
    finish(&mut sim);
    check_all_arrived(&sim);
    assert!(sim.totals().drops.buffer > 0);
    let counters = sim.traffic_counters();
    assert_eq!((counters[0].dropped, counters[1].dropped), (0, sim.totals().drops.total()));
    assert!(counters[0].actions.iter().all(|(_, times)| times == 0), "{:?}", counters[0]);
}
