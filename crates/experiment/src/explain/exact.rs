//! What a configuration of the ns-3 HPCC simulator means before it runs: on its own network, or under a scheme.

use super::hpcc::{estimate_hpcc, graph};
use super::load::Table;
use super::network::{network, rates_of_switches, us};
use super::paths::Paths;
use super::rules::{BufferOf, Class, Headroom, marking};
use super::{Explanation, TrafficOf, could_pause, explain};
use crate::hpcc::ordinary::Ordinary;
use crate::hpcc::{Setup, traffic_name};
use fanin_fabric::{MarkAt, Marking, pfc};
use fanin_ns3::Network;
use fanin_ns3::packet::{HEADERS, LEAST_ACK, PAUSE_BYTES};
use fanin_units::{Bytes, Rate, Time};
use std::collections::BTreeMap;

/// Bytes below XOFF at which that simulator resumes.
const XON_OFFSET: u64 = 3 << 10;

/// All properties of a configuration under a scheme that are known before its run.
pub fn explain_under(ordinary: &Ordinary) -> Explanation {
    let pauses = could_pause::ordinarily(ordinary.files(), ordinary.checked());
    Explanation { pauses, ..explain(ordinary.checked()) }
}

/// The same of a configuration on its own network.
pub fn explain_exactly(setup: &Setup) -> Explanation {
    let Setup { config, flows, .. } = setup;
    let overhead = setup.settings().header_overhead();
    let wire = u64::from(config.payload + HEADERS) + u64::from(overhead.data);
    let (graph, _) = graph(setup);
    let paths = Paths::new(&graph, wire, u64::from(LEAST_ACK) + u64::from(overhead.ack));
    let network = network(&graph, &paths, &mut Table::new(&paths));
    let bdp = network.paths.bdp_max_bytes.max(1) as f64;
    let of =
        |map: &[(u64, u32)], rate: u64| map.iter().rev().find(|(r, _)| *r == rate).map(|(_, v)| u64::from(*v) * 1000);
    let markings = rates_of_switches(&graph).into_iter().map(|(rate, ports)| {
        let bps = rate.as_bps();
        let probability = config.pmax.iter().rev().find(|(r, _)| *r == bps).map_or(0.0, |(_, p)| *p);
        let red = match (of(&config.kmin, bps), of(&config.kmax, bps)) {
            (Some(min), Some(max)) if config.enable_qcn => {
                Marking::Red { min, max, max_probability: probability, at: MarkAt::Dequeue }
            }
            _ => Marking::Off,
        };
        marking(&red, rate, ports, bdp)
    });
    let own = Network::new(config.clone(), &setup.topology, Vec::new(), &[], setup.settings());
    let mut by_port: BTreeMap<u16, (u64, u64)> = BTreeMap::new();
    for flow in flows {
        let (messages, bytes) = by_port.entry(flow.dport).or_default();
        *messages += 1;
        *bytes += flow.bytes;
    }
    let traffics: Vec<TrafficOf> = by_port
        .into_iter()
        .map(|(dport, (messages, bytes))| TrafficOf {
            name: traffic_name(dport),
            scheme: setup.scheme().to_string(),
            transport: "rdma",
            parameters: setup.settings().to_json(),
            class: "data".into(),
            messages: messages as f64,
            endless_messages: 0,
            bytes: bytes as f64,
            mean_bytes: Some(bytes as f64 / messages as f64),
            load: Vec::new(),
            extrapolated: false,
        })
        .collect();
    let (factors, pfc) = thresholds(&own, wire);
    let pool = Some(u64::from(config.buffer_mib) << 20);
    let usual = factors.values().copied().reduce(f64::min);
    let others = factors.into_iter().filter(|(_, factor)| Some(*factor) != usual);
    let others = others.map(|(rate_bps, factor)| BufferOf { rate_bps, buffer_bytes: pool, alpha: Some(factor) });
    let class = Class {
        name: "data".into(),
        lossless: true,
        trimmed_bytes: None,
        traffics: traffics.iter().map(|traffic| traffic.name.clone()).collect(),
        buffer: "pool",
        buffer_bytes: pool,
        alpha: usual,
        buffer_by_rate: others.collect(),
        priority: None,
        weight: None,
        marking: markings.collect(),
        pfc,
    };
    let (rtt, product) = own.largest();
    Explanation {
        name: setup.name().into(),
        seed: 0,
        network,
        classes: vec![class],
        traffics,
        load: Vec::new(),
        cost: estimate_hpcc(setup, None),
        jobs: Vec::new(),
        pauses: Some(could_pause::exactly(setup)),
        remarks: vec![format!(
            "That simulator counts its round-trip times in whole ns and without headers and ACKs. Its largest is {rtt} \
             ns, and its largest bandwidth-delay product {}: T and the window of its control laws with GLOBAL_T 1.",
            Bytes(product)
        )],
        warnings: setup.warnings.iter().map(ToString::to_string).collect(),
    }
}

/// The factors of dynamic thresholds by rate, and PFC by kind of link: of several switches the lowest XOFF.
fn thresholds(own: &Network, wire: u64) -> (BTreeMap<u64, f64>, Vec<Headroom>) {
    let wiring = own.wiring();
    let mut factors: BTreeMap<u64, f64> = BTreeMap::new();
    let mut kinds: BTreeMap<(u64, u64), Headroom> = BTreeMap::new();
    for (node, devices) in (0u32..).zip(&wiring.of_node).filter(|(node, _)| wiring.is_switch[*node as usize]) {
        let buffer = own.buffer(node);
        for (slot, device) in devices.iter().enumerate() {
            let device = &wiring.devices[*device as usize];
            factors.insert(device.rate, buffer.factor(slot));
            let (rate, delay) = (Rate::from_bps(device.rate), Time::from_ns(device.delay));
            let needed_bytes = pfc::headroom(rate, (delay, Time::ZERO), wire, PAUSE_BYTES.into());
            let kind = kinds.entry((device.rate, device.delay)).or_insert_with(|| Headroom {
                rate_bps: device.rate,
                delay_us: us(delay),
                ports: 0,
                headroom_bytes: buffer.headroom(slot),
                needed_bytes,
                enough: buffer.headroom(slot) >= needed_bytes,
                xoff_bytes: u64::MAX,
                xon_bytes: 0,
            });
            kind.ports += 1;
            kind.xoff_bytes = kind.xoff_bytes.min(buffer.xoff(slot));
            kind.xon_bytes = kind.xoff_bytes.saturating_sub(XON_OFFSET);
        }
    }
    (factors, kinds.into_values().collect())
}
