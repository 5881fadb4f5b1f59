//! Fat trees and stars. Hosts come first, then switches from the bottom up; interfaces are numbered in the order of
//! links, and paths depend on ids, so the order is part of the topology.

use crate::hpcc::check::MAX_NODES;
use crate::hpcc::{Delay, Link, Topology};

/// A three-tier fat tree: pods of ToR and aggregation switches, fully connected within a pod, and core switches. The
/// first aggregation switch of each pod has links to the first few cores, the second to the next ones, and so on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FatTree {
    /// Pods.
    pub pods: u32,
    /// ToR switches in a pod.
    pub tors: u32,
    /// Aggregation switches in a pod.
    pub aggs: u32,
    /// Core switches above each aggregation switch.
    pub cores: u32,
    /// Hosts below each ToR switch.
    pub hosts: u32,
    /// Bits per second of a host's link.
    pub host_rate: u64,
    /// Bits per second of links between switches.
    pub fabric_rate: u64,
    /// Delay of every link, ns.
    pub delay: u64,
    /// Whether links are listed pod by pod; otherwise all below aggregation switches come before all above them.
    pub by_pod: bool,
}

impl FatTree {
    /// HPCC section 5.1: 320 hosts at 100 Gb/s, 20 ToR, 20 aggregation and 16 core switches at 400 Gb/s, 1 us a link.
    pub const HPCC: Self = Self {
        pods: 5,
        tors: 4,
        aggs: 4,
        cores: 4,
        hosts: 16,
        host_rate: 100_000_000_000,
        fabric_rate: 400_000_000_000,
        delay: 1000,
        by_pod: false,
    };

    /// The fat tree of switches with `k` ports, k even: k^3 / 4 hosts, all links equal.
    pub const fn k_ary(k: u32, rate: u64, delay: u64) -> Self {
        // A switch with an odd number of ports cannot be divided: 0 is refused below.
        let half = if k.is_multiple_of(2) { k / 2 } else { 0 };
        Self {
            pods: k,
            tors: half,
            aggs: half,
            cores: half,
            hosts: half,
            host_rate: rate,
            fabric_rate: rate,
            delay,
            by_pod: true,
        }
    }

    /// The topology.
    ///
    /// # Errors
    /// If it is impossible.
    pub fn topology(&self) -> Result<Topology, String> {
        let Self { pods, tors, aggs, cores, hosts, host_rate, fabric_rate, delay, by_pod } = *self;
        let sizes = [pods, tors, aggs, cores, hosts];
        // With at most 256 of each, nothing below overflows.
        if sizes.contains(&0) || sizes.iter().any(|size| *size > 256) {
            return Err(format!(
                "{pods} pods, {tors} ToRs, {aggs} aggs, {cores} cores, {hosts} hosts: each is 1 to 256"
            ));
        }
        let (first_tor, first_agg) = (pods * tors * hosts, pods * tors * (hosts + 1));
        let first_core = first_agg + pods * aggs;
        let mut topology = nodes(first_tor, first_core + aggs * cores)?;
        let link = |a, b, rate| Link { a, b, rate, delay: Delay::from_ns(delay), error_rate: 0.0 };
        let links = &mut topology.links;
        links.extend((0..first_tor).map(|host| link(host, first_tor + host / hosts, host_rate)));
        let below = |pod: u32| {
            (0..tors * aggs).map(move |at| {
                link(first_tor + pod * tors + at / aggs, first_agg + pod * aggs + at % aggs, fabric_rate)
            })
        };
        let above = |pod: u32| {
            (0..aggs * cores).map(move |at| link(first_agg + pod * aggs + at / cores, first_core + at, fabric_rate))
        };
        if by_pod {
            links.extend((0..pods).flat_map(|pod| below(pod).chain(above(pod))));
        } else {
            links.extend((0..pods).flat_map(below).chain((0..pods).flat_map(above)));
        }
        topology.check_nodes()?;
        Ok(topology)
    }
}

/// Hosts around one switch, whose id follows theirs.
///
/// # Errors
/// If it is impossible.
pub fn star(hosts: u32, rate: u64, delay: u64) -> Result<Topology, String> {
    if hosts == 0 {
        return Err("a star of 0 hosts; it has at least 1".into());
    }
    let mut topology = nodes(hosts, hosts + 1)?;
    let delay = Delay::from_ns(delay);
    topology.links.extend((0..hosts).map(|host| Link { a: host, b: hosts, rate, delay, error_rate: 0.0 }));
    Ok(topology)
}

/// Hosts, then switches; no links yet.
fn nodes(hosts: u32, nodes: u32) -> Result<Topology, String> {
    let topology = Topology { is_switch: Vec::new(), links: Vec::new() };
    if nodes as usize > MAX_NODES {
        return Err(format!("{nodes} nodes; addresses exist for {}", MAX_NODES));
    }
    Ok(Topology { is_switch: (0..nodes).map(|id| id >= hosts).collect(), ..topology })
}
