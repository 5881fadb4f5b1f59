//! Checks a configuration, a topology and flows for consistency.

use super::flows::{check_exact, check_flow};
use super::{Config, Flow, Topology, nanoseconds};
use crate::{Error, Errors, Warning};
use std::collections::BTreeSet;

/// Number of nodes with an address in that simulator: a node's id is 16 bits of it.
pub(super) const MAX_NODES: usize = 1 << 16;
/// That simulator's tables have 257 ports, of which 0 is unused.
const MAX_PORTS: u32 = 256;

/// Checks files for consistency, and against the limits of that simulator's own network. `file` is the configuration's
/// name; errors in another file use its name from the configuration.
///
/// # Errors
/// All problems and corrections.
pub fn check(file: &str, config: &Config, topology: &Topology, flows: &[Flow]) -> Result<Vec<Warning>, Errors> {
    if let Err(what) = topology.check_nodes() {
        return Err(Error { file: config.topology_file.clone(), line: 0, what }.into());
    }
    let mut errors = Errors::default();
    let mut warnings = check_any(file, config, topology, flows).unwrap_or_else(|found| {
        errors.extend(found);
        Vec::new()
    });
    let of_config = |what: String| Error { file: file.into(), line: 0, what };
    let of_topology = |what: String| Error { file: config.topology_file.clone(), line: 0, what };
    let of_flows = |what: String| Error { file: config.flow_file.clone(), line: 0, what };
    if let Err(what) = check_size(topology) {
        errors.push(of_topology(what));
        return errors.or(warnings);
    }
    check_switches(config, topology, |what| errors.push(of_config(what)));
    if let Some((a, b)) = topology.parallel_links() {
        let what = format!("parallel links between {a} and {b}: only the last of them carries packets");
        warnings.push(Warning { file: config.topology_file.clone(), line: 0, what });
    }
    for (at, flow) in flows.iter().enumerate() {
        let wrong = check_exact(flow, f64::NEG_INFINITY);
        wrong.unwrap_or_else(|what| errors.push(of_flows(format!("flow {}: {what}", at + 1))));
        if at > 0 && flow.start < flows[at - 1].start {
            errors.push(of_flows(format!("flow {} starts before flow {at}; sort by start", at + 1)));
        }
    }
    if let Err(what) = check_ports(flows) {
        errors.push(of_flows(what));
    }
    errors.or(warnings)
}

/// Checks files for consistency, whatever network they are for. Names are as for [`check`].
///
/// # Errors
/// All problems and corrections.
pub fn check_any(file: &str, config: &Config, topology: &Topology, flows: &[Flow]) -> Result<Vec<Warning>, Errors> {
    let of_flows = |what: String| Error { file: config.flow_file.clone(), line: 0, what };
    let mut errors = Errors::default();
    if let Err(what) = topology.check_nodes() {
        return Err(Error { file: config.topology_file.clone(), line: 0, what }.into());
    }
    if let Some((_, a, b)) = config.link_down {
        let there = topology.links.iter().any(|link| (link.a, link.b) == (a, b) || (link.a, link.b) == (b, a));
        if !there {
            let what = format!("LINK_DOWN names nodes {a} and {b}, which have no link");
            errors.push(Error { file: file.into(), line: 0, what });
        }
    }
    let parts = Parts::new(topology);
    for (at, flow) in flows.iter().enumerate() {
        if let Err(what) = check_flow(flow, Some(topology)) {
            errors.push(of_flows(format!("flow {}: {what}", at + 1)));
        } else if !parts.joined(flow.src, flow.dst) {
            let what = format!("flow {}: there is no path from host {} to host {}", at + 1, flow.src, flow.dst);
            errors.push(of_flows(what));
        }
    }
    let mut warnings = Vec::new();
    let stop = nanoseconds(config.stop).unwrap_or(u64::MAX);
    let late = flows.iter().filter(|flow| nanoseconds(flow.start).is_none_or(|start| start >= stop)).count();
    if late > 0 {
        let odd = format!("{late} of {} flows start at or after SIMULATOR_STOP_TIME {} s", flows.len(), config.stop);
        warnings.push(Warning { file: file.into(), line: 0, what: odd });
    }
    errors.or(warnings)
}

/// Checks that nodes and ports fit into the tables of that simulator.
fn check_size(topology: &Topology) -> Result<(), String> {
    let nodes = topology.is_switch.len();
    if nodes > MAX_NODES {
        return Err(format!("{nodes} nodes; addresses exist for {MAX_NODES}"));
    }
    match topology.ports()?.iter().enumerate().find(|(_, ports)| **ports > MAX_PORTS) {
        Some((id, ports)) => Err(format!(
            "node {id} has {ports} links; in that simulator at most {MAX_PORTS} are possible, on the ordinary network \
             (--scheme) any number"
        )),
        None => Ok(()),
    }
}

/// Tells of rates at switches without thresholds, and of a switch without room for the reserves of its ports.
fn check_switches(config: &Config, topology: &Topology, mut tell: impl FnMut(String)) {
    let mut reserved = vec![0u128; topology.is_switch.len()];
    let mut seen = BTreeSet::new();
    for link in &topology.links {
        let ends = [link.a, link.b].into_iter().filter(|end| topology.is_switch.get(*end as usize) == Some(&true));
        for end in ends {
            // Headroom of three times rate times delay, and a reserve of 4 KiB, for each port.
            let headroom = link.rate as u128 * link.delay.ns as u128 / 8_000_000_000 * 3;
            reserved[end as usize] += headroom + 4096;
            if !seen.insert(link.rate) {
                continue;
            }
            let keys = [
                ("KMIN_MAP", config.kmin.iter().any(|(rate, _)| *rate == link.rate)),
                ("KMAX_MAP", config.kmax.iter().any(|(rate, _)| *rate == link.rate)),
                ("PMAX_MAP", config.pmax.iter().any(|(rate, _)| *rate == link.rate)),
            ];
            for (key, _) in keys.iter().filter(|(_, there)| !there) {
                tell(format!("{key} has no entry for {}, the rate of a link of switch {end}", link.rate));
            }
        }
    }
    let buffer = (config.buffer_mib as u128) << 20;
    if let Some(switch) = reserved.iter().position(|reserved| *reserved >= buffer) {
        let needs = reserved[switch].div_ceil(1 << 20);
        let what = "reserve that much for packets in flight when they are paused";
        let mib = config.buffer_mib;
        tell(format!("BUFFER_SIZE is {mib} MiB, but switch {switch}'s ports {what}: {needs} MiB"));
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
