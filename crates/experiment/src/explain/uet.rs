//! The cost of a connection matrix on the network of uet-htsim.

use super::cost::{Cost, OfFlows, grouped};
use super::trial;
use crate::uet::Setup;

/// Speed of that network relative to ours, events per packet-hop, and packets on a link for each of data there: the
/// packet, its part of the ACKs, and what is sent again.
const SPEED: f64 = 0.3;
const EVENTS_PER_HOP: f64 = 3.0;
const PER_PACKET: f64 = 1.5;
/// Bytes per flow, per link in one direction, per switch and host that it has a list for, and at least.
const PER_FLOW: f64 = 4000.0;
const PER_LINK: f64 = 700.0;
const PER_LIST: f64 = 16.0;
const AT_LEAST: f64 = 4e6;

/// The cost of a run; `speed` as for [`super::estimate`].
pub fn estimate_uet(setup: &Setup, speed: Option<f64>) -> Cost {
    let network = setup.network();
    let [hosts, _, aggregations, _] = network.nodes().map(f64::from);
    let (flows, hops) = (network.connections() as f64, network.packet_hops() * PER_PACKET);
    let links = network.links() as f64;
    Cost::of_flows(&OfFlows {
        messages: flows,
        packet_hops: hops,
        events: hops * EVENTS_PER_HOP,
        simulated_s: network.options().end_us as f64 / 1e6,
        packet_hops_per_s: speed.unwrap_or_else(trial::speed) * SPEED,
        setup_s: links * 1e-6,
        memory_of: [
            ("the program itself".into(), AT_LEAST),
            (format!("{} flows", grouped(flows)), flows * PER_FLOW),
            ("links".into(), links * PER_LINK),
            ("lists of ways".into(), aggregations * hosts * PER_LIST),
        ],
    })
}
