//! Topologies: nodes and the links between them.
//!
//! Each builder is a struct of parameters with `build`, in a file of its own: [`Star`], [`Dumbbell`], [`ParkingLot`],
//! [`LeafSpine`] (RCC's tree), [`Clos`] (Dart's and HPCC's networks), [`FatTree`], [`Rails`] (GPU servers), and
//! [`Explicit`] for any other graph. The result of `build` is within [`MAX_NODES`] and [`MAX_LINKS`], and connected,
//! but for rails without spines ([`Reach`]); the functions of [`Graph`] require that its links name its own nodes.

mod clos;
mod draft;
mod dumbbell;
mod explicit;
mod fat_tree;
mod leaf_spine;
mod parking_lot;
mod rails;
mod reach;
mod star;
#[cfg(test)]
mod tests;
mod tier;
mod up_down;

pub use clos::Clos;
pub use draft::{Cable, MAX_DELAY, MAX_LINKS, MAX_NODES, TopologyError};
pub use dumbbell::Dumbbell;
pub use explicit::{Explicit, NamedLink};
pub use fat_tree::FatTree;
pub use leaf_spine::LeafSpine;
pub use parking_lot::ParkingLot;
pub use rails::Rails;
pub use reach::Reach;
pub use star::Star;
pub use tier::{Tier, Way};
pub use up_down::UpDown;

use fanin_units::{NodeId, PortId, Rate, Time};
use std::collections::VecDeque;

/// One full-duplex link.
#[derive(Clone, Debug, PartialEq)]
pub struct Link {
    /// One end.
    pub a: NodeId,
    /// The other end.
    pub b: NodeId,
    /// Rate of each direction.
    pub rate: Rate,
    /// Propagation delay of each direction.
    pub delay: Time,
    /// Probability that a packet is lost on it, per direction and packet.
    pub error_rate: f64,
    /// When it is down: from (inclusive), to (exclusive), ordered, not overlapping.
    pub outages: Vec<(Time, Time)>,
}

impl Link {
    /// A link without errors or outages.
    pub fn new(a: NodeId, b: NodeId, rate: Rate, delay: Time) -> Self {
        Self { a, b, rate, delay, error_rate: 0.0, outages: Vec::new() }
    }
}

/// A network before anything runs on it: nodes `0..hosts` are hosts, `hosts..names.len()` are switches. Hosts never
/// forward.
#[derive(Clone, Debug, PartialEq)]
pub struct Graph {
    /// Number of hosts.
    pub hosts: u32,
    /// A unique name per node: "h0", "tor3", "agg1", "core2".
    pub names: Vec<String>,
    /// All links. Link i has the ports 2i (a to b) and 2i+1 (b to a).
    pub links: Vec<Link>,
}

impl Graph {
    /// Number of hosts and switches.
    pub fn node_count(&self) -> u32 {
        self.names.len() as u32
    }

    /// Number of switches.
    pub fn switches(&self) -> u32 {
        self.node_count() - self.hosts
    }

    /// Whether the node is a host.
    pub fn is_host(&self, node: NodeId) -> bool {
        node.0 < self.hosts
    }

    /// The node of that name. A linear search; for many look-ups build a map.
    pub fn find(&self, name: &str) -> Option<NodeId> {
        self.names.iter().position(|n| n == name).map(|i| NodeId(i as u32))
    }

    /// The ports of every node.
    pub fn adjacency(&self) -> Adjacency {
        let nodes = self.names.len();
        let mut start = vec![0u32; nodes + 1];
        for link in &self.links {
            start[link.a.ix() + 1] += 1;
            start[link.b.ix() + 1] += 1;
        }
        for i in 0..nodes {
            start[i + 1] += start[i];
        }
        let mut next = start.clone();
        let mut ports = vec![(PortId::NONE, NodeId::NONE); self.links.len() * 2];
        for (i, link) in self.links.iter().enumerate() {
            let port = PortId(2 * i as u32);
            for (from, port, to) in [(link.a, port, link.b), (link.b, port.reverse(), link.a)] {
                ports[next[from.ix()] as usize] = (port, to);
                next[from.ix()] += 1;
            }
        }
        Adjacency { hosts: self.hosts, start, ports }
    }

    /// The two capacities that a load can be relative to, in this order. Host links: all links that touch a host. ToR
    /// uplinks: all links between two switches of which at least one has hosts. Each link counts once, at the rate of
    /// one direction. A sum saturates at 2^64 - 1 b/s.
    pub fn capacities(&self) -> (Rate, Rate) {
        let mut has_hosts = vec![false; self.names.len()];
        for link in &self.links {
            has_hosts[link.a.ix()] |= self.is_host(link.b);
            has_hosts[link.b.ix()] |= self.is_host(link.a);
        }
        let (mut host_links, mut tor_uplinks) = (Rate::ZERO, Rate::ZERO);
        for link in &self.links {
            if self.is_host(link.a) || self.is_host(link.b) {
                host_links = sum(host_links, link.rate);
            } else if has_hosts[link.a.ix()] || has_hosts[link.b.ix()] {
                tor_uplinks = sum(tor_uplinks, link.rate);
            }
        }
        (host_links, tor_uplinks)
    }

    /// The capacity of each host: the sum of the rates of its links, one entry per host.
    pub fn nic_rate(&self) -> Vec<Rate> {
        let mut rates = vec![Rate::ZERO; self.hosts as usize];
        for link in &self.links {
            for end in [link.a, link.b] {
                if let Some(rate) = rates.get_mut(end.ix()) {
                    *rate = sum(*rate, link.rate);
                }
            }
        }
        rates
    }

    /// The rack of each host, one entry per host. Hosts share a rack when the first of their links that leads to a
    /// switch leads to the same one; a host without such a link is a rack of its own. Racks are numbered from 0 in the
    /// order of their first hosts.
    pub fn rack_of(&self) -> Vec<u32> {
        let adjacency = self.adjacency();
        let mut rack_at = vec![u32::MAX; self.names.len()];
        let mut racks = 0;
        (0..self.hosts)
            .map(|host| {
                let first_switch = adjacency.of(NodeId(host)).iter().find(|(_, peer)| !self.is_host(*peer));
                let place = first_switch.map_or(host as usize, |(_, switch)| switch.ix());
                if rack_at[place] == u32::MAX {
                    rack_at[place] = racks;
                    racks += 1;
                }
                rack_at[place]
            })
            .collect()
    }

    /// Links on a shortest path from a node to each node, one entry per node; `u32::MAX` where there is none. Hosts do
    /// not forward.
    pub fn distances_from(&self, from: NodeId) -> Vec<u32> {
        self.adjacency().distances_from(from)
    }
}

fn sum(a: Rate, b: Rate) -> Rate {
    Rate::from_bps(a.as_bps().saturating_add(b.as_bps()))
}

/// The ports of every node of a graph, in the order of its links.
#[derive(Clone, Debug)]
pub struct Adjacency {
    hosts: u32,
    /// Where each node's entries start in `ports`, and the end.
    start: Vec<u32>,
    ports: Vec<(PortId, NodeId)>,
}

impl Adjacency {
    /// A node's egress ports, each with the node it leads to, in the order of the links.
    pub fn of(&self, node: NodeId) -> &[(PortId, NodeId)] {
        &self.ports[self.start[node.ix()] as usize..self.start[node.ix() + 1] as usize]
    }

    /// See [`Graph::distances_from`].
    pub fn distances_from(&self, from: NodeId) -> Vec<u32> {
        let mut distances = vec![u32::MAX; self.start.len() - 1];
        distances[from.ix()] = 0;
        let mut queue = VecDeque::from([from]);
        while let Some(node) = queue.pop_front() {
            if node.0 < self.hosts && node != from {
                continue;
            }
            for &(_, peer) in self.of(node) {
                if distances[peer.ix()] == u32::MAX {
                    distances[peer.ix()] = distances[node.ix()] + 1;
                    queue.push_back(peer);
                }
            }
        }
        distances
    }
}
