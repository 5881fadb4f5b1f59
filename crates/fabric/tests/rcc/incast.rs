//! An incast, a flow that joins and one that leaves.

use crate::common::*;
use fanin_cc::Settings;
use fanin_fabric::topology::Graph;
use fanin_fabric::*;
use fanin_units::{NodeId, PortId, Rate, Time};

/// Bytes of a flow of the paper's incast.
const BLOCK: u64 = 32_000;

/// Two switches, 40 us a link: senders at the left one, the receiver alone at the right one, at 1 Gb/s.
fn dumbbell(senders: u32) -> Graph {
    let (left, right) = (senders + 1, senders + 2);
    let mut links: Vec<(u32, u32, Rate, Time)> = (0..senders).map(|host| (host, left, gbps(1), us(40))).collect();
    links.push((senders, right, gbps(1), us(40)));
    links.push((left, right, gbps(40), us(40)));
    graph(senders + 1, 2, &links)
}

/// Section 6: marks from 40 packets on.
fn dumbbell_config(senders: u32) -> NetworkConfig {
    let step = Marking::Step { above: 40 * WIRE, at: MarkAt::Enqueue };
    NetworkConfig { classes: vec![class(false, step)], ..network(dumbbell(senders)) }
}

/// Without window scaling, whose units cannot say one segment.
fn unscaled(scheme: &str) -> TrafficConfig {
    let mut traffic = over_tcp(scheme);
    let tcp = &mut traffic.tcp.as_mut().unwrap().connection;
    (tcp.window_scaling, tcp.receive_buffer) = (false, 65_535);
    traffic
}

fn incast(senders: u32) -> Vec<Message> {
    (0..senders).map(|host| message(us(0), host, senders, BLOCK)).collect()
}

/// The port of the right switch to the receiver.
fn last_hop(sim: &Simulation, senders: u32) -> PortId {
    let (port, ..) = sim.ports().find(|(_, from, to)| (*from, *to) == (NodeId(senders + 2), NodeId(senders))).unwrap();
    port
}

/// The largest queue at the last hop, and when the last flow finished.
fn run(scheme: &str, senders: u32) -> (u64, Time, Simulation) {
    let mut sim = simulation(dumbbell_config(senders), vec![unscaled(scheme)], incast(senders));
    finish(&mut sim);
    check_all_arrived(&sim);
    let peak = sim.port_counter(last_hop(&sim, senders)).peak_queue;
    let last = sim.flows().iter().map(|f| f.finished).max().unwrap();
    (peak, last, sim)
}

/// The queue in packets while flows of `bytes` run, each 10 us from `from` to `to`.
fn queues(sim: &mut Simulation, port: PortId, from: Time, to: Time) -> Vec<u64> {
    let mut seen = Vec::new();
    let mut now = from;
    while now < to {
        run_to(sim, now);
        seen.push(sim.queued(port) / WIRE);
        now += us(10);
    }
    seen
}

#[test]
fn an_incast_keeps_the_queue_of_the_last_hop_below_the_limit() {
    for senders in [10, 20, 30, 40, 100] {
        let (tcp, tcp_last, _) = run("newreno", senders);
        for scheme in ["rcc", "rcc-ns3"] {
            let (peak, last, sim) = run(scheme, senders);
            // 40 segments and the window of one ACK, less what is on the way; TCP's is ten segments of each sender.
            assert!(peak <= 41 * WIRE, "{scheme}, {senders} senders: {} packets", peak / WIRE);
            assert!(peak * 5 < tcp, "{scheme}, {senders} senders: {peak} and {tcp}");
            // The link stays busy: slow start costs 4 round trips of 0.27 ms at most.
            assert!(last < tcp_last + us(1100), "{scheme}, {senders} senders: {last} and {tcp_last}");
            assert_eq!((sim.totals().hosts.timeouts, sim.totals().drops.total()), (0, 0));
        }
    }
}

#[test]
fn the_steady_queue_is_the_limit_less_what_the_path_holds() {
    // RCC eq. (4): Q1 = queue_maxsize - RTT_a C, here with 60 long flows. A full packet takes 12 us on a link of 1 Gb/s
    // and 0.3 us on that of 40, an ACK 0.5 us.
    for limit in [30u32, 40, 60] {
        let messages = (0..60).map(|host| message(us(0), host, 60, 400_000)).collect();
        let mut traffic = unscaled("rcc");
        let Settings::Rcc(_, params) = &mut traffic.scheme else { panic!() };
        (params.queue_maxsize, params.ecn) = (limit, false);
        let mut sim = simulation(dumbbell_config(60), vec![traffic], messages);
        let port = last_hop(&sim, 60);
        let seen = queues(&mut sim, port, Time::from_ms(20), Time::from_ms(60));
        let mean = seen.iter().sum::<u64>() as f64 / seen.len() as f64;
        // Of the round trip of 265.3 us the packet that is served takes 12.
        let expected = limit as f64 + 1.0 - 265.3 / 12.0;
        assert!((mean - expected).abs() < 1.5, "{limit}: {mean}, expected {expected}");
        finish(&mut sim);
        check_all_arrived(&sim);
    }
}

#[test]
fn a_flow_joins_and_gets_its_window_and_leaves_and_gives_it_back() {
    // Two long flows; one more of a quarter of what remains joins at 20 ms, and leaves when it is whole.
    let messages =
        vec![message(us(0), 0, 3, 4_000_000), message(us(0), 1, 3, 4_000_000), message(us(20_000), 2, 3, 1_000_000)];
    let mut sim = simulation(dumbbell_config(3), vec![unscaled("rcc")], messages);
    let window = |sim: &Simulation, message: u32| {
        let seen = sim.watch(message);
        let (_, bytes) = seen.iter().find(|seen| seen.0 == "peer_window_bytes").unwrap();
        *bytes as u64 / PAYLOAD
    };
    run_to(&mut sim, us(19_000));
    assert_eq!([window(&sim, 0), window(&sim, 1)], [20, 20]);
    let port = last_hop(&sim, 3);
    let before = queues(&mut sim, port, us(15_000), us(20_000));
    // 1/4 : 1/4 : 1 by size; the newcomer's slow start ends after 6 round trips.
    run_to(&mut sim, us(23_000));
    assert_eq!([window(&sim, 0), window(&sim, 1), window(&sim, 2)], [7, 7, 26]);
    let during = queues(&mut sim, port, us(23_000), us(28_000));
    run_to(&mut sim, us(45_000));
    assert!(sim.message(2).finished < us(40_000), "{}", sim.message(2).finished);
    assert_eq!([window(&sim, 0), window(&sim, 1)], [20, 20]);
    // All the time the link is busy and the queue below the limit.
    for seen in [before, during] {
        assert!(seen.iter().all(|packets| (1..41).contains(packets)), "{seen:?}");
    }
    finish(&mut sim);
    check_all_arrived(&sim);
}

#[test]
fn losses_are_repaired_and_every_connection_ends() {
    for scheme in ["rcc", "rcc-ecn", "rcc-ns3", "ictcp"] {
        for (senders, limit) in [(40, 20), (100, 20), (100, 80)] {
            let buffer = BufferPolicy::PerPort { bytes: limit * WIRE, pfc: Pfc { headroom: None, xon_offset: None } };
            let config = NetworkConfig { buffer, ..dumbbell_config(senders) };
            let mut sim = simulation(config, vec![unscaled(scheme)], incast(senders));
            finish(&mut sim);
            check_all_arrived(&sim);
            if limit == 20 {
                assert!(sim.totals().drops.buffer > 0, "{scheme}");
            }
        }
    }
}

#[test]
fn the_receiver_asks_for_what_the_sender_would_miss_much_longer() {
    // The senders wait for 5 s before they repeat anything by themselves; no later packet follows a lost one.
    let buffer = BufferPolicy::PerPort { bytes: 20 * WIRE, pfc: Pfc { headroom: None, xon_offset: None } };
    let last = |scheme: &str| {
        let mut traffic = unscaled(scheme);
        let tcp = &mut traffic.tcp.as_mut().unwrap().connection;
        (tcp.min_rto, tcp.initial_rto, tcp.max_rto) = (Time::from_s(5), Time::from_s(5), Time::from_s(20));
        let mut sim = simulation(NetworkConfig { buffer, ..dumbbell_config(40) }, vec![traffic], incast(40));
        finish(&mut sim);
        check_all_arrived(&sim);
        assert!(sim.totals().drops.buffer > 0);
        sim.flows().iter().map(|f| f.finished).max().unwrap()
    };
    assert!(last("newreno") > Time::from_s(5));
    for scheme in ["rcc", "rcc-ns3"] {
        assert!(last(scheme) < Time::from_ms(200), "{scheme}: {}", last(scheme));
    }
}

#[test]
fn a_window_in_units_of_64_bytes_still_lets_segments_leave() {
    // With a buffer of 4 MB a window of 1460 is told as 1408: a segment leaves in two parts or waits for the next ACK.
    for scheme in ["rcc", "rcc-ecn", "rcc-ns3", "ictcp"] {
        let mut sim = simulation(dumbbell_config(40), vec![over_tcp(scheme)], incast(40));
        finish(&mut sim);
        check_all_arrived(&sim);
        assert_eq!(sim.totals().hosts.timeouts, 0, "{scheme}");
        let peak = sim.port_counter(last_hop(&sim, 40)).peak_queue;
        assert!(!scheme.starts_with("rcc") || scheme == "rcc-ecn" || peak <= 41 * WIRE, "{scheme}: {}", peak / WIRE);
    }
}

#[test]
fn the_answers_of_an_incast_are_scheduled_too() {
    // The receiver opened the connections: each of 30 servers answers 32 KB on the one that it was asked on.
    let servers = 30;
    let mut messages = Vec::new();
    for server in 0..servers {
        let asked = Dependency { counts: Some(server), ..Dependency::default() };
        let answer = Dependency { after: Some(server), answers: true, ..Dependency::default() };
        messages.push(Message { dependency: asked, ..message(us(0), servers, server, 100) });
        messages.push(Message { dependency: answer, ..message(us(0), server, servers, BLOCK) });
    }
    for persistent in [false, true] {
        let mut traffic = unscaled("rcc");
        traffic.tcp.as_mut().unwrap().persistent = persistent;
        let mut sim = simulation(dumbbell_config(servers), vec![traffic], messages.clone());
        finish(&mut sim);
        check_all_arrived(&sim);
        let peak = sim.port_counter(last_hop(&sim, servers)).peak_queue;
        assert!(peak <= 41 * WIRE, "{} packets", peak / WIRE);
    }
}

#[test]
fn ictcp_shares_the_line_without_a_queue_until_there_are_too_many() {
    // Ten senders: windows of two segments fill the path. With 40 the smallest windows exceed it by far.
    let [few, many] = [10, 40].map(|senders| run("ictcp", senders).0 / WIRE);
    assert!(few <= 20, "{few}");
    assert!((41..=80).contains(&many), "{many}");
}
