//! Every preset of the registry in the same trials: no flows, one, a byte, a thousand; losses, reordering, a receiver
//! that dies, two threads. One that joins the registry is tried without a change here. What each counts as its actions,
//! and that it counts none on an idle network, is tested in `actions.rs` and `dcqcn.rs`.

use crate::common::*;
use fanin_cc::{Lanes, Settings, Transport};
use fanin_fabric::parallel::{cut, why_not_cut};
use fanin_fabric::topology::{Graph, LeafSpine};
use fanin_fabric::*;
use fanin_units::Time;

pub fn presets() -> impl Iterator<Item = &'static str> {
    fanin_cc::rows().iter().flat_map(|row| row.presets.iter().copied())
}

/// A preset over the transport that carries it unless a spec says otherwise, with `timeout` over RDMA.
pub fn plain(preset: &'static str, timeout: Time) -> TrafficConfig {
    let scheme = Settings::preset(preset).unwrap();
    let mut traffic = match scheme.transport() {
        Transport::Rdma => traffic(preset),
        Transport::Tcp => over_tcp(preset),
    };
    traffic.ecn = scheme.wants_ecn();
    traffic.lane_class = if scheme.lanes() == Lanes::One { 0 } else { 2 };
    traffic.endpoint.timeout = timeout;
    traffic
}

/// A switch's port of Dart VI-A: 225 KB and marks above 22.5 KB, with pauses; with the lane that a preset may need.
fn fabric(preset: &str, graph: Graph) -> NetworkConfig {
    let class = class(true, Marking::Step { above: 22_500, at: MarkAt::Dequeue });
    let lanes = Settings::preset(preset).unwrap().lanes();
    let second =
        ClassConfig { name: "lane 1".into(), sibling_vl: Some(1), urgent: lanes == Lanes::Strict, ..class.clone() };
    let classes = if lanes == Lanes::One { vec![class] } else { vec![class, second] };
    NetworkConfig { classes, buffer: lossless(225_000, None), ..network(graph) }
}

/// Two leaves of four hosts under two spines, 10 Gb/s; the delay of links to the second spine is its own.
fn leaves(second_spine: Time) -> Graph {
    let (host_link, fabric_link) = (cable(gbps(10), us(1)), cable(gbps(10), us(1)));
    let mut graph = LeafSpine { leaves: 2, hosts: 4, spines: 2, host_link, fabric_link }.build().unwrap();
    let last = graph.names.len() as u32 - 1;
    graph.links.iter_mut().filter(|link| link.a.0 == last || link.b.0 == last).for_each(|l| l.delay = second_spine);
    graph
}

/// From each host to two of the other leaf.
fn crossing(bytes: u64) -> Vec<Message> {
    let pair = |i: u32| message(us(3 * i as u64), i / 2, 4 + (i / 2 + i) % 4, bytes);
    let back = |i: u32| message(us(3 * i as u64), 4 + i / 2, (i / 2 + i) % 4, bytes);
    (0..8).flat_map(|i| [pair(i), back(i)]).collect()
}

/// Packets that had no room, or were corrupted; not those that a scheme drops on purpose.
fn lost(sim: &Simulation) -> u64 {
    let drops = sim.totals().drops;
    drops.buffer + drops.lossless + drops.error
}

#[test]
fn without_flows_nothing_happens() {
    for preset in presets() {
        let mut sim = simulation(fabric(preset, star(3, us(5))), vec![plain(preset, us(1000))], Vec::new());
        finish(&mut sim);
        assert_eq!((sim.totals().packet_hops, sim.started(), sim.flows().len()), (0, 0, 0), "{preset}");
        assert!(sim.traffic_counters()[0].actions.iter().all(|(_, n)| n == 0), "{preset}");
    }
}

#[test]
fn a_flow_alone_arrives_once_and_without_loss() {
    for preset in presets() {
        let sizes = [1, PAYLOAD + 1, 100 * PAYLOAD];
        let messages = (0..).zip(sizes).map(|(i, bytes)| message(Time::from_ms(100 * i), 0, 1, bytes)).collect();
        let mut sim = simulation(fabric(preset, star(3, us(5))), vec![plain(preset, us(5000))], messages);
        finish(&mut sim);
        check_all_arrived(&sim);
        assert_eq!((lost(&sim), sim.totals().hosts.timeouts), (0, 0), "{preset}");
        for flow in sim.flows() {
            assert_eq!((flow.packets_sent as u64, flow.packets_resent), (flow.bytes.div_ceil(PAYLOAD), 0), "{preset}");
        }
        // A byte needs a handshake or a request at most, a round trip of 20 us, before it goes.
        let byte = sim.flows()[0];
        let took = byte.finished - byte.start;
        assert!(took >= byte.ideal && took < byte.ideal + us(22), "{preset}: {took} and {}", byte.ideal);
    }
}

#[test]
fn a_thousand_flows_to_one_host_all_arrive() {
    for preset in presets() {
        let messages = (0..1000).map(|i| message(ns(i as u64), 1 + i % 40, 0, 2 * PAYLOAD)).collect();
        let traffic = plain(preset, Time::from_ms(500));
        let rdma = traffic.tcp.is_none();
        let mut sim = simulation(fabric(preset, star(41, us(1))), vec![traffic], messages);
        finish(&mut sim);
        check_all_arrived(&sim);
        assert_eq!(sim.flows().len(), 1000);
        assert_eq!(lost(&sim), 0, "{preset}: the class is lossless");
        if rdma {
            assert_eq!(sim.totals().hosts.timeouts, 0, "{preset}");
        }
    }
}

#[test]
fn random_loss_delays_and_loses_no_message() {
    for preset in presets() {
        let mut graph = leaves(us(1));
        graph.links.iter_mut().for_each(|link| link.error_rate = 0.01);
        let mut sim = simulation(fabric(preset, graph), vec![plain(preset, us(1000))], crossing(20 * PAYLOAD));
        finish(&mut sim);
        check_all_arrived(&sim);
        let resent: u64 = sim.flows().iter().map(|flow| flow.packets_resent as u64).sum();
        assert!(sim.totals().drops.error > 0 && resent > 0, "{preset}: {:?}", sim.totals());
    }
}

#[test]
fn packets_that_overtake_others_do_no_harm() {
    for preset in presets() {
        // The links of the first leaf to the spine far away go down and up: what is beyond them is overtaken by what
        // then goes over the other spine, and what goes there again comes late.
        let mut graph = leaves(us(60));
        let (leaf, far) = (8, graph.names.len() as u32 - 1);
        let link = graph
            .links
            .iter_mut()
            .find(|link| (link.a.0, link.b.0) == (leaf, far) || (link.a.0, link.b.0) == (far, leaf));
        link.expect("they are joined").outages = (1..12).map(|i| (us(150 * i), us(150 * i + 75))).collect();
        // While the link is down, paths lead up, down and up again, and pauses could wait for each other in a circle.
        let config = NetworkConfig { buffer: BufferPolicy::Unlimited, ..fabric(preset, graph) };
        let mut sim = simulation(config, vec![plain(preset, us(2000))], crossing(400 * PAYLOAD));
        finish(&mut sim);
        check_all_arrived(&sim);
        assert!(sim.totals().drops.link_down > 0, "{preset}");
        // Counted over RDMA alone, and not where schemes keep a message to its path or send too little.
        assert!(sim.totals().hosts.reordered > 0 || preset != "none", "the trial reorders nothing");
    }
}

#[test]
fn a_receiver_that_dies_stops_its_flows_and_nothing_else() {
    for preset in presets() {
        // Host 0 dies 60 us after its flows began; host 3 is as before.
        let mut graph = star(4, us(5));
        graph.links[0].outages = vec![(us(60), Time::NEVER)];
        let messages = vec![
            message(Time::ZERO, 1, 0, 1000 * PAYLOAD),
            message(Time::ZERO, 2, 0, 1000 * PAYLOAD),
            message(us(30), 1, 3, 50 * PAYLOAD),
            message(us(300), 2, 0, 10),
        ];
        let mut traffic = plain(preset, us(1000));
        traffic.endpoint.retries = 3;
        if let Some(tcp) = &mut traffic.tcp {
            tcp.connection.retries = 3;
        }
        let tcp = traffic.tcp.is_some();
        let mut sim = simulation(fabric(preset, graph), vec![traffic], messages);
        assert!(sim.run_until(Time::from_s(30), 3_000_000), "{preset}: events without end: {:?}", sim.totals());
        check_ledger(&sim.totals());
        // All are given up but one that starts over TCP without a way to its host: it waits for a link.
        let begun = if tcp { 2 } else { 3 };
        assert_eq!((sim.totals().hosts.given_up, sim.is_over()), (begun, true), "{preset}");
        assert!(sim.totals().hosts.timeouts <= 12, "{preset}: {}", sim.totals().hosts.timeouts);
        let flows = sim.flows();
        assert_eq!(flows[2].delivered, flows[2].bytes, "{preset}: {:?}", flows[2]);
        for dead in [0, 1, 3] {
            assert!(flows[dead].finished == Time::NEVER && flows[dead].delivered < flows[dead].bytes, "{preset}");
        }
    }
}

#[test]
fn two_threads_find_what_one_does() {
    for preset in presets() {
        let mut graph = leaves(us(2));
        graph.links.iter_mut().for_each(|link| link.error_rate = 0.005);
        let (config, traffics) = (fabric(preset, graph), vec![plain(preset, us(1000))]);
        if let Some(why) = why_not_cut(&config, &traffics) {
            // Deflection under PFC runs on one thread.
            assert!(config.classes.len() > 1, "{preset}: {why}");
            continue;
        }
        let run = |mut sim: ParallelSimulation| {
            assert!(sim.run_until(Time::from_s(2), 3_000_000), "{preset}: events without end");
            (sim.totals(), sim.flows().to_vec(), sim.port_counters(), sim.traffic_counters())
        };
        let messages = || {
            let mut messages = crossing(30 * PAYLOAD);
            messages.sort_by_key(|message| message.start);
            Box::new(messages.into_iter())
        };
        let one = run(ParallelSimulation::whole(config.clone(), traffics.clone(), messages()));
        let of = cut(&config.graph, 2);
        let mut two = ParallelSimulation::cut(config, traffics, messages(), &of);
        two.always_share();
        assert_eq!(run(two), one, "{preset}");
        assert!(one.0.drops.error > 0 && one.1.iter().all(|flow| flow.acked.is_some()), "{preset}");
    }
}
