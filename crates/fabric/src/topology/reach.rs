//! Whether two hosts have a path to each other.

use super::{Adjacency, Graph};
use fanin_units::NodeId;
use std::collections::{BTreeMap, BTreeSet};

/// Which hosts reach each other, in a network in which some may not: rails without spines.
#[derive(Clone, Debug)]
pub struct Reach {
    /// The islands of each host, and the hosts of each island.
    islands: Vec<Vec<u32>>,
    hosts_of: Vec<Vec<u32>>,
    /// Hosts with a link to each other, the smaller number first.
    linked: BTreeSet<(u32, u32)>,
}

impl Reach {
    /// That of a network; `None` if the same switches join all hosts.
    pub fn of(graph: &Graph) -> Option<Self> {
        let hosts_of = hosts_of_islands(graph, &graph.adjacency());
        if hosts_of.iter().any(|hosts| hosts.len() == graph.hosts as usize) {
            return None;
        }
        let mut islands = vec![Vec::new(); graph.hosts as usize];
        for (island, hosts) in (0..).zip(&hosts_of) {
            hosts.iter().for_each(|host| islands[*host as usize].push(island));
        }
        let both = graph.links.iter().filter(|link| graph.is_host(link.a) && graph.is_host(link.b));
        let linked = both.map(|link| (link.a.0.min(link.b.0), link.a.0.max(link.b.0))).collect();
        Some(Self { islands, hosts_of, linked })
    }

    /// Whether a way leads from one host to the other, and back. Hosts do not forward.
    pub fn joins(&self, one: u32, other: u32) -> bool {
        let [of_one, of_other] = [one, other].map(|host| &self.islands[host as usize]);
        of_one.iter().any(|island| of_other.contains(island)) || self.linked.contains(&(one.min(other), one.max(other)))
    }
}

/// Two hosts without a path between them, the smaller number first. As hosts do not forward, a common third host is not
/// enough.
pub(super) fn unreachable_pair(graph: &Graph, adjacency: &Adjacency) -> Option<(u32, u32)> {
    let reach = Reach::of(graph)?;
    // Hosts on the same islands reach the same hosts through switches: these are found once for all of them.
    let mut groups: BTreeMap<&[u32], Vec<u32>> = BTreeMap::new();
    for (host, islands) in (0..).zip(&reach.islands) {
        groups.entry(islands).or_default().push(host);
    }
    let mut linked_to = vec![u32::MAX; graph.names.len()];
    for (islands, members) in &groups {
        let mut reached = vec![false; graph.hosts as usize];
        for host in islands.iter().flat_map(|island| &reach.hosts_of[*island as usize]) {
            reached[*host as usize] = true;
        }
        let missing: Vec<u32> = (0..graph.hosts).filter(|host| !reached[*host as usize]).collect();
        for &host in members {
            for (_, peer) in adjacency.of(NodeId(host)) {
                linked_to[peer.ix()] = host;
            }
            // At most as many steps as the host has links, and two.
            let mut others = missing.iter().copied().filter(|&other| other != host);
            if let Some(other) = others.find(|&other| linked_to[other as usize] != host) {
                return Some((host.min(other), host.max(other)));
            }
        }
    }
    None
}

/// The hosts on each island. An island is a set of switches connected without a host in between.
fn hosts_of_islands(graph: &Graph, adjacency: &Adjacency) -> Vec<Vec<u32>> {
    let mut seen = vec![false; graph.names.len()];
    let mut hosts_of: Vec<Vec<u32>> = Vec::new();
    for start in (graph.hosts..graph.node_count()).map(NodeId) {
        if std::mem::replace(&mut seen[start.ix()], true) {
            continue;
        }
        let mut hosts = Vec::new();
        let mut stack = vec![start];
        while let Some(switch) = stack.pop() {
            for &(_, peer) in adjacency.of(switch) {
                if graph.is_host(peer) {
                    hosts.push(peer.0);
                } else if !std::mem::replace(&mut seen[peer.ix()], true) {
                    stack.push(peer);
                }
            }
        }
        hosts.sort_unstable();
        hosts.dedup();
        hosts_of.push(hosts);
    }
    hosts_of
}
