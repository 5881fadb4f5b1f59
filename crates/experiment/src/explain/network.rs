//! The network of an explanation: tiers, paths, round-trip times.

use super::drawing::{LinkKind, NodeKind, kinds};
use super::load::Table;
use super::paths::Paths;
use fanin_fabric::topology::Graph;
use fanin_units::{Rate, Time};
use serde::Serialize;
use std::collections::BTreeMap;

/// Nodes, links, tiers, paths.
#[derive(Clone, Debug, Serialize)]
pub struct Network {
    /// Number of hosts.
    pub hosts: u32,
    /// Number of switches.
    pub switches: u32,
    /// Number of links; each has two ports.
    pub links: u32,
    /// Ports by tier, from the hosts up and down again.
    pub tiers: Vec<Tier>,
    /// Shortest paths between hosts.
    pub paths: PathsOf,
    /// Its nodes by kind.
    pub kinds: Vec<NodeKind>,
    /// The links between kinds.
    pub between: Vec<LinkKind>,
}

/// Ports of one tier: one direction of its links.
#[derive(Clone, Debug, Serialize)]
pub struct Tier {
    /// Its name, as in the table of ports.
    pub tier: String,
    /// Number of ports.
    pub links: u64,
    /// Their number by rate.
    pub rates: Vec<RateOf>,
    /// All of them together.
    pub capacity_bps: f64,
}

/// Links of one rate.
#[derive(Clone, Debug, Serialize)]
pub struct RateOf {
    /// The rate.
    pub rate_bps: u64,
    /// Their number.
    pub links: u64,
}

/// Shortest paths between hosts.
#[derive(Clone, Debug, Serialize)]
pub struct PathsOf {
    /// Definition of the round-trip times and products.
    pub counted: String,
    /// Bytes of a full data packet on the wire, including bytes that schemes add.
    pub packet_bytes: u64,
    /// Bytes of an ACK.
    pub ack_bytes: u64,
    /// Ordered pairs of different hosts that were examined.
    pub host_pairs: u64,
    /// Whether these are all pairs; otherwise a sample of destinations represents all hosts.
    pub exact: bool,
    /// By number of links, the shortest first.
    pub lengths: Vec<Lengths>,
    /// Mean number of links over pairs.
    pub mean_links: f64,
    /// The shortest base round-trip time of any pair.
    pub base_rtt_min_us: f64,
    /// The longest one.
    pub base_rtt_max_us: f64,
    /// The largest product of a host's rate and its base round-trip time.
    pub bdp_max_bytes: u64,
}

/// Paths of one length.
#[derive(Clone, Debug, Serialize)]
pub struct Lengths {
    /// Links from host to host.
    pub links: u32,
    /// Ordered pairs of hosts.
    pub host_pairs: u64,
    /// Their share of all pairs.
    pub share: f64,
    /// The fewest equal paths between two of them; parallel links are several.
    pub paths_min: u64,
    /// The most.
    pub paths_max: u64,
    /// Shortest base round-trip time of these pairs.
    pub base_rtt_min_us: f64,
    /// Longest one.
    pub base_rtt_max_us: f64,
    /// Largest product of a sender's rate and its base round-trip time.
    pub bdp_max_bytes: u64,
}

pub fn us(time: Time) -> f64 {
    time.as_ps() as f64 / 1e6
}

/// Bits per second of each tier, all its ports together.
pub fn capacities(graph: &Graph, paths: &Paths) -> Vec<f64> {
    let mut sum = vec![0.0; paths.tiers.len()];
    for (port, tier) in paths.tier_of.iter().enumerate() {
        sum[usize::from(*tier)] += graph.links[port / 2].rate.as_bps() as f64;
    }
    sum
}

fn tiers(graph: &Graph, paths: &Paths) -> Vec<Tier> {
    let mut rates: Vec<BTreeMap<u64, u64>> = vec![BTreeMap::new(); paths.tiers.len()];
    for (port, tier) in paths.tier_of.iter().enumerate() {
        *rates[usize::from(*tier)].entry(graph.links[port / 2].rate.as_bps()).or_default() += 1;
    }
    let of = paths.tiers.iter().zip(rates).zip(capacities(graph, paths));
    let mut tiers: Vec<Tier> = of
        .map(|((tier, rates), capacity_bps)| Tier {
            tier: tier.clone(),
            links: rates.values().sum(),
            rates: rates.into_iter().map(|(rate_bps, links)| RateOf { rate_bps, links }).collect(),
            capacity_bps,
        })
        .collect();
    tiers.sort_by_key(|tier| place(&tier.tier));
    tiers
}

/// Position of a tier on a path: up from the host, across, down to the host.
fn place(tier: &str) -> (u32, i64) {
    let (of, way) = tier.rsplit_once('-').unwrap_or((tier, ""));
    let level = match of {
        "host" => 0,
        "tor" => 1,
        "agg" => 2,
        other => other.trim_start_matches("level-").parse().unwrap_or(i64::from(u32::MAX)),
    };
    match (tier, way) {
        ("last-hop", _) => (2, 0),
        (_, "uplink") => (0, level),
        (_, "downlink") => (2, -level),
        _ => (1, level),
    }
}

/// A network, in numbers.
pub fn network(graph: &Graph, paths: &Paths, table: &mut Table<'_>) -> Network {
    let (kinds, between) = kinds(graph);
    Network {
        hosts: graph.hosts,
        switches: graph.switches(),
        links: graph.links.len() as u32,
        tiers: tiers(graph, paths),
        paths: lengths(paths, table),
        kinds,
        between,
    }
}

fn lengths(paths: &Paths, table: &mut Table<'_>) -> PathsOf {
    #[derive(Clone, Copy)]
    struct Of {
        pairs: u64,
        count: (u64, u64),
        rtt: (Time, Time),
        bdp: u64,
    }
    let mut of: BTreeMap<u32, Of> = BTreeMap::new();
    let (targets, exact) = table.affordable();
    for target in targets {
        let receivers = u64::from(paths.members[target as usize]);
        let Some(routes) = table.to(target) else { continue };
        for (from, route) in (0u32..).zip(routes).filter(|(_, route)| route.links > 0) {
            let senders = u64::from(paths.members[from as usize]) - u64::from(from == target);
            let none = Of { pairs: 0, count: (u64::MAX, 0), rtt: (Time::NEVER, Time::ZERO), bdp: 0 };
            let entry = of.entry(route.links).or_insert(none);
            entry.pairs += senders * receivers;
            entry.count = (entry.count.0.min(route.count), entry.count.1.max(route.count));
            entry.rtt = (entry.rtt.0.min(route.rtt.0), entry.rtt.1.max(route.rtt.1));
            entry.bdp = entry.bdp.max(paths.nic[from as usize].bytes_in(route.rtt.1));
        }
    }
    let pairs: u64 = of.values().map(|of| of.pairs).sum();
    let links: f64 = of.iter().map(|(links, of)| f64::from(*links) * of.pairs as f64).sum();
    let (wire, ack) = paths.sizes();
    PathsOf {
        counted: format!(
            "alone in the network, store-and-forward: on each link a full packet of {wire} B there, an ACK of {ack} B \
             back, and the propagation delay both ways; the product is with all links of the sending host"
        ),
        packet_bytes: wire,
        ack_bytes: ack,
        host_pairs: pairs,
        exact,
        mean_links: links / pairs.max(1) as f64,
        base_rtt_min_us: of.values().map(|of| us(of.rtt.0)).fold(f64::INFINITY, f64::min),
        base_rtt_max_us: of.values().map(|of| us(of.rtt.1)).fold(0.0, f64::max),
        bdp_max_bytes: of.values().map(|of| of.bdp).max().unwrap_or(0),
        lengths: of
            .into_iter()
            .map(|(links, of)| Lengths {
                links,
                host_pairs: of.pairs,
                share: of.pairs as f64 / pairs.max(1) as f64,
                paths_min: of.count.0,
                paths_max: of.count.1,
                base_rtt_min_us: us(of.rtt.0),
                base_rtt_max_us: us(of.rtt.1),
                bdp_max_bytes: of.bdp,
            })
            .collect(),
    }
}

/// Rates of the ports of switches, and the number of ports with each.
pub fn rates_of_switches(graph: &Graph) -> BTreeMap<Rate, u64> {
    let mut rates = BTreeMap::new();
    for link in &graph.links {
        let ends = [link.a, link.b].into_iter().filter(|node| !graph.is_host(*node)).count() as u64;
        if ends > 0 {
            *rates.entry(link.rate).or_default() += ends;
        }
    }
    rates
}
