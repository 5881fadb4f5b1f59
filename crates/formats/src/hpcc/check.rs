//! Checks a configuration, a topology and flows for consistency.

use super::flows::check_flow;
use super::{Config, Flow, Topology, nanoseconds};
use crate::{Error, Warning};

/// Checks files for consistency. `file` is the configuration's name; errors in another file use its name from the
/// configuration.
///
/// # Errors
/// The problem and the correction.
pub fn check(file: &str, config: &Config, topology: &Topology, flows: &[Flow]) -> Result<Vec<Warning>, Error> {
    let of_config = |what: String| Error { file: file.into(), line: 0, what };
    let of_topology = |what: String| Error { file: config.topology_file.clone(), line: 0, what };
    let of_flows = |what: String| Error { file: config.flow_file.clone(), line: 0, what };
    let mut warnings = Vec::new();
    topology.check_nodes().map_err(of_topology)?;
    check_switches(config, topology).map_err(of_config)?;
    if let Some((_, a, b)) = config.link_down {
        let there = topology.links.iter().any(|link| (link.a, link.b) == (a, b) || (link.a, link.b) == (b, a));
        if !there {
            return Err(of_config(format!("LINK_DOWN names nodes {a} and {b}, which have no link")));
        }
    }
    let parts = Parts::new(topology);
    for (at, flow) in flows.iter().enumerate() {
        check_flow(flow, Some(topology)).map_err(|what| of_flows(format!("flow {}: {what}", at + 1)))?;
        if at > 0 && flow.start < flows[at - 1].start {
            return Err(of_flows(format!("flow {} starts before flow {at}; sort by start", at + 1)));
        }
        if !parts.joined(flow.src, flow.dst) {
            let what = format!("flow {}: there is no path from host {} to host {}", at + 1, flow.src, flow.dst);
            return Err(of_flows(what));
        }
    }
    check_ports(flows).map_err(of_flows)?;
    let stop = nanoseconds(config.stop).unwrap_or(u64::MAX);
    let late = flows.iter().rev().take_while(|flow| nanoseconds(flow.start).is_none_or(|start| start >= stop)).count();
    if late > 0 {
        let odd = format!("{late} of {} flows start at or after SIMULATOR_STOP_TIME {} s", flows.len(), config.stop);
        warnings.push(Warning { file: file.into(), line: 0, what: odd });
    }
    Ok(warnings)
}

/// Checks that every rate at a switch has thresholds, and that every switch has room for the reserves of its ports.
fn check_switches(config: &Config, topology: &Topology) -> Result<(), String> {
    let mut reserved = vec![0u128; topology.is_switch.len()];
    for link in &topology.links {
        let ends = [link.a, link.b].into_iter().filter(|end| topology.is_switch[*end as usize]);
        for end in ends {
            let keys = [
                ("KMIN_MAP", config.kmin.iter().any(|(rate, _)| *rate == link.rate)),
                ("KMAX_MAP", config.kmax.iter().any(|(rate, _)| *rate == link.rate)),
                ("PMAX_MAP", config.pmax.iter().any(|(rate, _)| *rate == link.rate)),
            ];
            if let Some((key, _)) = keys.iter().find(|(_, there)| !there) {
                return Err(format!("{key} has no entry for {}, the rate of a link of switch {end}", link.rate));
            }
            // Headroom of three times rate times delay, and a reserve of 4 KiB, for each port.
            let headroom = link.rate as u128 * link.delay as u128 / 8_000_000_000 * 3;
            reserved[end as usize] += headroom + 4096;
        }
    }
    let buffer = (config.buffer_mib as u128) << 20;
    match reserved.iter().position(|reserved| *reserved >= buffer) {
        Some(switch) => {
            let needs = reserved[switch].div_ceil(1 << 20);
            let what = "reserve that much for packets in flight when they are paused";
            Err(format!("BUFFER_SIZE is {} MiB, but switch {switch}'s ports {what}: {needs} MiB", config.buffer_mib))
        }
        None => Ok(()),
    }
}

/// Flows of one pair of hosts are distinguished by source ports, counted up from 10000 in 16 bits.
fn check_ports(flows: &[Flow]) -> Result<(), String> {
    const PORTS: usize = 65_536 - 10_000;
    if flows.len() <= PORTS {
        return Ok(());
    }
    let mut pairs: Vec<_> = flows.iter().map(|flow| (flow.src, flow.dst)).collect();
    pairs.sort_unstable();
    match pairs.iter().zip(&pairs[PORTS..]).find(|(first, last)| first == last) {
        Some(((src, dst), _)) => {
            Err(format!("more than {PORTS} flows from host {src} to host {dst}, as many as there are source ports"))
        }
        None => Ok(()),
    }
}

/// Reachability of nodes. Packets pass through switches only.
struct Parts<'a> {
    topology: &'a Topology,
    /// Union-find over switches: a parent in the same connected component.
    above: Vec<u32>,
    /// Hosts with the components, or other hosts, at the far ends of their links; sorted.
    of_hosts: Vec<(u32, u32)>,
}

impl<'a> Parts<'a> {
    fn new(topology: &'a Topology) -> Self {
        let mut parts = Self { topology, above: (0..topology.is_switch.len() as u32).collect(), of_hosts: Vec::new() };
        for link in &topology.links {
            match [link.a, link.b].map(|end| topology.is_host(end)) {
                [false, false] => {
                    let (a, b) = (parts.first(link.a), parts.first(link.b));
                    parts.above[a.max(b) as usize] = a.min(b);
                }
                hosts => {
                    for (host, from, to) in [(hosts[0], link.a, link.b), (hosts[1], link.b, link.a)] {
                        if host {
                            parts.of_hosts.push((from, to));
                        }
                    }
                }
            }
        }
        for node in 0..parts.above.len() as u32 {
            parts.above[node as usize] = parts.first(node);
        }
        for (_, to) in &mut parts.of_hosts {
            *to = parts.above[*to as usize];
        }
        parts.of_hosts.sort_unstable();
        parts.of_hosts.dedup();
        parts
    }

    fn first(&mut self, mut node: u32) -> u32 {
        while self.above[node as usize] != node {
            let next = self.above[node as usize];
            self.above[node as usize] = self.above[next as usize];
            node = next;
        }
        node
    }

    /// The neighbours of a host.
    fn far(&self, host: u32) -> &[(u32, u32)] {
        let from = self.of_hosts.partition_point(|(of, _)| *of < host);
        let to = self.of_hosts.partition_point(|(of, _)| *of <= host);
        &self.of_hosts[from..to]
    }

    fn joined(&self, src: u32, dst: u32) -> bool {
        let (from, to) = (self.far(src), self.far(dst));
        let shared = |(_, end): &(u32, u32)| {
            *end == dst || (!self.topology.is_host(*end) && to.binary_search(&(dst, *end)).is_ok())
        };
        from.iter().any(shared)
    }
}
