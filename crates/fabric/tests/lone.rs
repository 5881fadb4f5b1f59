//! A lone flow meets its store-and-forward ideal to the picosecond.

use crate::common::*;
use fanin_fabric::topology::*;
use fanin_fabric::*;
use fanin_units::{NodeId, Rate, Time};
use proptest::prelude::*;

/// 1 B, one packet, one and a byte, two, three, 1 MB.
const SIZES: [u64; 6] = [1, PAYLOAD, PAYLOAD + 1, 2 * PAYLOAD, 3 * PAYLOAD, 1_000_000];

/// When the last bit of a message arrives over these links, packet by packet: a packet leaves a node as soon as it has
/// come in whole and the one before it has left.
fn packet_by_packet(links: &[(Rate, Time)], bytes: u64, sizes: &PacketSizes) -> Time {
    let mut packets = Vec::new();
    let mut left = bytes;
    while left > 0 {
        let payload = left.min(sizes.payload as u64);
        packets.push(payload + sizes.header as u64);
        left -= payload;
    }
    let mut there = vec![Time::ZERO; packets.len()];
    for (rate, delay) in links {
        let mut free = Time::ZERO;
        for (arrival, wire) in there.iter_mut().zip(&packets) {
            free = free.max(*arrival) + rate.tx_time(*wire);
            *arrival = free + *delay;
        }
    }
    *there.last().unwrap()
}

/// The links of one of the shortest paths.
fn way(graph: &Graph, from: u32, to: u32) -> Vec<(Rate, Time)> {
    let distances = graph.distances_from(NodeId(to));
    let mut at = NodeId(from);
    let mut links = Vec::new();
    while at.0 != to {
        let adjacency = graph.adjacency();
        let left = distances[at.ix()] - 1;
        let closer = |n: &NodeId| distances[n.ix()] == left && (!graph.is_host(*n) || n.0 == to);
        let &(port, next) = adjacency.of(at).iter().find(|(_, peer)| closer(peer)).unwrap();
        let link = &graph.links[port.ix() / 2];
        links.push((link.rate, link.delay));
        at = next;
    }
    links
}

fn check_alone(graph: &Graph, pairs: &[(u32, u32)], host_fifo: Option<HostFifo>) {
    // One after another, each alone: a simulation of its own start would build the big networks anew.
    let far = Time::from_ms(20);
    let mut messages = Vec::new();
    for &(src, dst) in pairs {
        for bytes in SIZES {
            messages.push(message(far.saturating_mul(messages.len() as u64), src, dst, bytes));
        }
    }
    let mut sim = line_rate(NetworkConfig { host_fifo, ..network(graph.clone()) }, messages.clone());
    finish(&mut sim);
    check_all_arrived(&sim);
    for (message, flow) in messages.iter().zip(sim.flows()) {
        let links = way(graph, message.src, message.dst);
        let expected = packet_by_packet(&links, message.bytes, &PACKET);
        assert_eq!(flow.ideal, expected, "ideal of {message:?}");
        assert_eq!(flow.finished - flow.start, expected, "{message:?}");
        assert_eq!(flow.hops as usize, links.len(), "{message:?}");
        assert_eq!(flow.packets_sent as u64, message.bytes.div_ceil(PAYLOAD), "{message:?}");
        // The last ACK comes back over idle links, unless a short last packet arrives right behind a full one.
        let back: Time = links.iter().map(|(rate, delay)| rate.tx_time(PACKET.ack as u64) + *delay).sum();
        if message.bytes < PAYLOAD || message.bytes.is_multiple_of(PAYLOAD) {
            assert_eq!(flow.acked - flow.finished, back, "{message:?}");
        }
    }
    // Data and one ACK per packet, each over every link of its path.
    let hops: u64 = sim.flows().iter().map(|f| 2 * f.packets_sent as u64 * f.hops as u64).sum();
    assert_eq!(sim.totals().packet_hops, hops);
}

fn check_pull_and_fifo(graph: Graph, pairs: &[(u32, u32)]) {
    check_alone(&graph, pairs, None);
    check_alone(&graph, pairs, Some(HostFifo { capacity: 64_000, mark_above: Some(22_500) }));
}

#[test]
fn on_a_star() {
    check_pull_and_fifo(star(4, us(5)), &[(0, 3), (2, 1)]);
}

#[test]
fn on_a_dumbbell_with_a_slow_and_with_a_fast_middle() {
    for middle in [1, 3, 40] {
        let (host_link, bottleneck) = (cable(gbps(10), us(5)), cable(gbps(middle), us(20)));
        check_pull_and_fifo(
            Dumbbell { left: 2, right: 2, host_link, bottleneck }.build().unwrap(),
            &[(0, 3), (2, 0), (0, 1)],
        );
    }
}

#[test]
fn on_a_parking_lot() {
    let (host_link, chain_link) = (cable(gbps(10), us(1)), cable(gbps(25), us(3)));
    let graph = ParkingLot { switches: 5, hosts: 2, host_link, chain_link }.build().unwrap();
    check_pull_and_fifo(graph, &[(0, 9), (9, 0), (2, 5)]);
}

#[test]
fn on_leaf_and_spine() {
    let (host_link, fabric_link) = (cable(gbps(10), us(5)), cable(gbps(40), us(2)));
    let graph = LeafSpine { leaves: 4, hosts: 4, spines: 3, host_link, fabric_link }.build().unwrap();
    check_pull_and_fifo(graph, &[(0, 15), (4, 6), (9, 2)]);
}

#[test]
fn on_a_fat_tree() {
    let graph = FatTree { k: 4, link: cable(gbps(10), us(5)) }.build().unwrap();
    check_pull_and_fifo(graph, &[(0, 15), (0, 1), (0, 2), (7, 8)]);
}

#[test]
fn on_hpccs_network() {
    check_pull_and_fifo(Clos::hpcc().build().unwrap(), &[(0, 319), (0, 15), (0, 63), (200, 100)]);
}

#[test]
fn on_darts_network() {
    check_pull_and_fifo(Clos::dart().build().unwrap(), &[(0, 1023), (0, 15), (0, 63), (700, 300)]);
}

#[test]
fn on_rccs_tree() {
    check_pull_and_fifo(LeafSpine::rcc().build().unwrap(), &[(0, 999), (0, 24), (500, 30)]);
}

#[test]
fn on_any_graph() {
    // h0 and h1 are joined directly, h2 is at the end of a chain of four different links, h3 has two NICs.
    let fast = gbps(100);
    let graph = graph(
        4,
        3,
        &[
            (0, 1, gbps(25), ns(700)),
            (0, 4, gbps(1), us(2)),
            (4, 5, fast, us(1)),
            (5, 6, Rate::from_bps(3_333_333_333), Time::ZERO),
            (6, 2, gbps(10), us(7)),
            (3, 4, fast, ns(100)),
            (3, 6, fast, ns(100)),
        ],
    );
    check_pull_and_fifo(graph, &[(0, 1), (1, 0), (0, 2), (2, 0), (0, 3), (3, 2), (2, 3)]);
}

proptest! {
    #![proptest_config(cases(2))]
    #[test]
    fn over_any_chain_of_links(
        links in prop::collection::vec((1_000_000u64..400_000_000_000, 0u64..10_000_000), 1..7),
        bytes in prop_oneof![1u64..20_000, 1u64..400_000],
        packet in random::packets(),
        fifo in prop::option::of(0u64..100_000),
    ) {
        let links: Vec<(Rate, Time)> =
            links.into_iter().map(|(bps, ps)| (Rate::from_bps(bps), Time::from_ps(ps))).collect();
        // Nodes along the chain: host 0, switches 2.., host 1.
        let node = |i: usize| if i == 0 { 0 } else if i == links.len() { 1 } else { 1 + i as u32 };
        let edges: Vec<_> = links.iter().enumerate().map(|(i, l)| (node(i), node(i + 1), l.0, l.1)).collect();
        let host_fifo = fifo.map(|capacity| HostFifo { capacity, mark_above: None });
        let config = NetworkConfig { packet, host_fifo, ..network(graph(2, links.len() as u32 - 1, &edges)) };
        let mut endless_patience = traffic("none");
        endless_patience.endpoint.timeout = Time::NEVER;
        let mut sim = simulation(config, vec![endless_patience], vec![message(us(3), 0, 1, bytes)]);
        prop_assert!(sim.run_until(Time::from_s(3600), u64::MAX));
        let flow = sim.flows()[0];
        let expected = packet_by_packet(&links, bytes, &packet);
        prop_assert_eq!(flow.ideal, expected);
        prop_assert_eq!(flow.finished - flow.start, expected);
    }
}

/// What a scheme adds to its packets is its cost: the ideal that completion times are held against is the same for all
/// of a comparison, and a message alone takes longer than it by what its scheme's bytes need.
#[test]
fn the_ideal_is_the_same_under_every_scheme() {
    let run = |scheme: &'static str| {
        let messages = (0..).zip(SIZES).map(|(i, bytes)| message(Time::from_ms(20 * i), 1, 0, bytes)).collect();
        let mut sim = simulation(network(star(3, us(5))), vec![traffic(scheme)], messages);
        finish(&mut sim);
        sim.flows().iter().map(|f| (f.ideal, f.finished - f.start)).collect::<Vec<_>>()
    };
    let plain = run("none");
    assert!(plain.iter().all(|(ideal, took)| ideal == took), "{plain:?}");
    for scheme in ["hpcc", "dart", "dcqcn"] {
        let own = run(scheme);
        assert!(own.iter().zip(&plain).all(|(own, plain)| own.0 == plain.0), "{scheme}: {own:?} {plain:?}");
        // HPCC's telemetry and Dart's header are longer than nothing.
        let slower = own.iter().all(|(ideal, took)| took > ideal);
        assert!(slower == matches!(scheme, "hpcc" | "dart"), "{scheme}: {own:?}");
    }
}
