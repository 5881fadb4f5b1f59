//! What a connection matrix means before it runs on the network of uet-htsim, and its cost.

use super::cost::{Cost, OfFlows, grouped};
use super::load::Table;
use super::network::{network, rates_of_switches};
use super::paths::Paths;
use super::rules::{Class, marking};
use super::{Explanation, TrafficOf, trial};
use crate::uet::{Setup, TRAFFIC};
use fanin_fabric::{MarkAt, Marking};
use fanin_units::{Bytes, Time};

/// Bytes of a control packet.
const CONTROL: u64 = 64;

/// Speed of that network relative to ours, events per packet-hop, and packets on a link for each of data there: the
/// packet, its part of the ACKs, and what is sent again.
const SPEED: f64 = 0.12;
const EVENTS_PER_HOP: f64 = 3.0;
const PER_PACKET: f64 = 1.5;
/// Bytes per flow, per link in one direction, per switch and host that it has a list for, and at least.
const PER_FLOW: f64 = 6000.0;
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

/// All properties of a matrix that are known before its run.
pub fn explain_uec(setup: &Setup) -> Explanation {
    let (of, graph) = (setup.network(), setup.graph());
    let settings = of.settings();
    let paths = Paths::new(&graph, settings.mtu as u64, CONTROL);
    let network = network(&graph, &paths, &mut Table::new(&paths));
    let (min, max) = settings.ecn;
    let marks = Marking::Red { min, max, max_probability: 1.0, at: MarkAt::Dequeue };
    let markings = rates_of_switches(&graph).into_iter();
    let (messages, bytes) = (of.connections() as f64, of.bytes() as f64);
    Explanation {
        name: setup.name(),
        seed: setup.seed(),
        network,
        classes: vec![Class {
            name: "data".into(),
            lossless: false,
            trimmed_bytes: (!of.options().disable_trim).then(|| u64::from(of.options().trim_size)),
            traffics: vec![TRAFFIC.into()],
            buffer: "per-port",
            buffer_bytes: Some(settings.queue),
            alpha: None,
            buffer_by_rate: Vec::new(),
            priority: None,
            weight: None,
            marking: markings.map(|(rate, ports)| marking(&marks, rate, ports, settings.bdp as f64)).collect(),
            pfc: Vec::new(),
        }],
        traffics: vec![TrafficOf {
            name: TRAFFIC.into(),
            scheme: of.options().scheme(),
            transport: "rdma",
            parameters: serde_json::json!({}),
            class: "data".into(),
            messages,
            endless_messages: 0,
            bytes,
            mean_bytes: (messages > 0.0).then(|| bytes / messages),
            load: Vec::new(),
            extrapolated: false,
        }],
        load: Vec::new(),
        cost: estimate_uet(setup, None),
        jobs: Vec::new(),
        pauses: None,
        remarks: vec![format!(
            "That simulator has one round-trip time for all, {}, a bandwidth-delay product of {}, windows of at most \
             {}, a target delay of {} and a retransmission timeout of {}. With RCCC, ports to hosts do not mark.",
            Time::from_ps(settings.rtt),
            Bytes(settings.bdp as u64),
            Bytes(settings.most(settings.rtt) as u64),
            Time::from_ps(settings.target),
            Time::from_ps(settings.timeout),
        )],
        warnings: setup.warnings(),
    }
}
