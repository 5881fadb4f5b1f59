//! Whether two hosts have a path to each other.

use super::{Adjacency, Graph};
use fanin_units::NodeId;
use std::collections::{BTreeMap, BTreeSet};

/// Which hosts reach each other, in a network in which some may not: rails without spines.
#[derive(Clone, Debug)]
pub struct Reach {
    /// The islands of each host.
    islands: Vec<Vec<u32>>,
    /// Hosts with a link to each other, the smaller number first.
    linked: BTreeSet<(u32, u32)>,
}

impl Reach {
    /// That of a network; `None` if the same switches join all hosts.
    pub fn of(graph: &Graph) -> Option<Self> {
        let (_, hosts_of) = islands(graph, &graph.adjacency());
        if hosts_of.iter().any(|hosts| hosts.len() == graph.hosts as usize) {
            return None;
        }
        let mut islands = vec![Vec::new(); graph.hosts as usize];
        for (island, hosts) in (0..).zip(&hosts_of) {
            hosts.iter().for_each(|host| islands[*host as usize].push(island));
        }
        let both = graph.links.iter().filter(|link| graph.is_host(link.a) && graph.is_host(link.b));
        let linked = both.map(|link| (link.a.0.min(link.b.0), link.a.0.max(link.b.0))).collect();
        Some(Self { islands, linked })
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
    let (island_of, hosts_of) = islands(graph, adjacency);
    if hosts_of.iter().any(|hosts| hosts.len() == graph.hosts as usize) {
        return None;
    }
    // Hosts on the same islands reach the same hosts through switches: these are found once for all of them.
    let mut groups: BTreeMap<Vec<u32>, Vec<u32>> = BTreeMap::new();
    for host in 0..graph.hosts {
        let switches = adjacency.of(NodeId(host)).iter().filter(|(_, peer)| !graph.is_host(*peer));
        let mut islands: Vec<u32> = switches.map(|(_, switch)| island_of[switch.ix()]).collect();
        islands.sort_unstable();
        islands.dedup();
        groups.entry(islands).or_default().push(host);
    }
    let mut linked_to = vec![u32::MAX; graph.names.len()];
    for (islands, members) in &groups {
        let mut reached = vec![false; graph.hosts as usize];
        for host in islands.iter().flat_map(|island| &hosts_of[*island as usize]) {
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

/// An island is a set of switches connected without a host in between. The island of each node (`u32::MAX` for a host),
/// and the hosts on each island.
fn islands(graph: &Graph, adjacency: &Adjacency) -> (Vec<u32>, Vec<Vec<u32>>) {
    let mut island_of = vec![u32::MAX; graph.names.len()];
    let mut hosts_of: Vec<Vec<u32>> = Vec::new();
    for start in (graph.hosts..graph.node_count()).map(NodeId) {
        if island_of[start.ix()] != u32::MAX {
            continue;
        }
        let island = hosts_of.len() as u32;
        let mut hosts = Vec::new();
        let mut stack = vec![start];
        island_of[start.ix()] = island;
        while let Some(switch) = stack.pop() {
            for &(_, peer) in adjacency.of(switch) {
                if graph.is_host(peer) {
                    hosts.push(peer.0);
                } else if island_of[peer.ix()] == u32::MAX {
                    island_of[peer.ix()] = island;
                    stack.push(peer);
                }
            }
        }
        hosts.sort_unstable();
        hosts.dedup();
        hosts_of.push(hosts);
    }
    (island_of, hosts_of)
}
