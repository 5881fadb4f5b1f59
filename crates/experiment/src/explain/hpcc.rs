//! The cost of a configuration of the ns-3 HPCC simulator: its flows over its shortest paths.

use super::cost::{Cost, OfFlows, grouped};
use super::load::Table;
use super::paths::Paths;
use super::trial;
use crate::hpcc::Setup;
use fanin_fabric::topology::{Graph, Link};
use fanin_units::{NodeId, Rate, Time};

/// Headers of its data packets and its ACKs, bytes; both have telemetry under HPCC.
const HEADER: u64 = 48;
const ACK: u64 = 60;
/// Speed of its network model relative to ours, and events per packet-hop (VALIDATION.md, Speed).
const SPEED: f64 = 0.65;
const EVENTS_PER_HOP: f64 = 2.0;
/// Bytes per flow, per pair of node and host in its routing tables, per node, and at least.
const PER_FLOW: f64 = 900.0;
const PER_WAY: f64 = 40.0;
const PER_NODE: f64 = 2000.0;
const AT_LEAST: f64 = 2e6;

/// The network of a configuration, hosts first, and the place of each of its nodes there.
pub fn graph(setup: &Setup) -> (Graph, Vec<u32>) {
    let topology = &setup.topology;
    let mut place = vec![0u32; topology.is_switch.len()];
    let nodes = 0..place.len();
    let in_order = nodes.clone().filter(|n| !topology.is_switch[*n]).chain(nodes.filter(|n| topology.is_switch[*n]));
    in_order.zip(0..).for_each(|(node, at)| place[node] = at);
    let hosts = topology.is_switch.iter().filter(|switch| !**switch).count() as u32;
    let link = |link: &fanin_formats::hpcc::Link| {
        let [a, b] = [link.a, link.b].map(|node| NodeId(place[node as usize]));
        Link::new(a, b, Rate::from_bps(link.rate), Time::from_ns(link.delay.ns))
    };
    let links = topology.links.iter().map(link).collect();
    (Graph { hosts, names: vec![String::new(); place.len()], links }, place)
}

/// The cost of a run of a configuration on its own network model; `speed` as for [`super::estimate`].
pub fn estimate_hpcc(setup: &Setup, speed: Option<f64>) -> Cost {
    let (graph, place) = graph(setup);
    let hosts = graph.hosts;
    let payload = f64::from(setup.config.payload.max(1));
    let paths = Paths::new(&graph, u64::from(setup.config.payload) + HEADER, ACK);
    let mut table = Table::new(&paths);
    let (mut hops, mut messages, mut last) = (0.0, 0u64, 0.0f64);
    for flow in setup.flows.iter().filter(|flow| flow.start <= setup.config.stop) {
        let packets = (flow.bytes as f64 / payload).ceil().max(1.0);
        let links = table.between(place[flow.src as usize], place[flow.dst as usize]).links;
        // As if each packet had its own ACK; there are fewer if one ACK covers several packets.
        hops += 2.0 * packets * f64::from(links);
        messages += 1;
        last = last.max(flow.start);
    }
    let first = setup.flows.first().map_or(0.0, |flow| flow.start);
    let ways = place.len() as f64 * f64::from(hosts);
    Cost::of_flows(&OfFlows {
        messages: messages as f64,
        packet_hops: hops,
        events: hops * EVENTS_PER_HOP,
        simulated_s: (last - first).max(0.0),
        packet_hops_per_s: speed.unwrap_or_else(trial::speed) * SPEED,
        setup_s: ways * graph.links.len() as f64 / place.len().max(1) as f64 * 1e-8,
        memory_of: [
            ("the program itself".into(), AT_LEAST),
            (format!("{} flows", grouped(messages as f64)), messages as f64 * PER_FLOW),
            ("tables of ways".into(), ways * PER_WAY),
            ("nodes and links".into(), place.len() as f64 * PER_NODE),
        ],
    })
}
