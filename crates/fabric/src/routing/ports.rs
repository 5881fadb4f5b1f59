//! Ports, indexed for the search for routes.

use crate::topology::Graph;
use fanin_units::{NodeId, PortId, Rate, Time};

/// The links of a network by their ports, of which some may be down.
#[derive(Clone, Copy)]
pub struct Links<'a> {
    graph: &'a Graph,
    down: &'a [bool],
}

impl<'a> Links<'a> {
    /// The links of a network. `down` holds whether each link is down, and may end with the last that is.
    pub fn new(graph: &'a Graph, down: &'a [bool]) -> Self {
        Self { graph, down }
    }

    /// The network, if none can be down.
    pub(super) fn whole(&self) -> Option<&'a Graph> {
        self.down.is_empty().then_some(self.graph)
    }

    pub(super) fn hosts(&self) -> u32 {
        self.graph.hosts
    }

    pub(super) fn nodes(&self) -> u32 {
        self.graph.names.len() as u32
    }

    pub(super) fn ports(&self) -> u32 {
        2 * self.graph.links.len() as u32
    }

    /// Every port that is up.
    fn up(&self) -> impl Iterator<Item = PortId> + '_ {
        (0..self.ports()).map(PortId).filter(|port| !self.down.get(port.ix() / 2).copied().unwrap_or(false))
    }

    /// The node that sends.
    pub(super) fn node(&self, port: PortId) -> NodeId {
        let link = &self.graph.links[port.ix() / 2];
        if port.ix().is_multiple_of(2) { link.a } else { link.b }
    }

    /// The node that receives.
    pub(super) fn peer(&self, port: PortId) -> NodeId {
        self.node(port.reverse())
    }

    /// Whether each node is a switch that joins hosts alone, as an NV switch does those of a server. Links that are
    /// down count, too: a switch that has lost its way to others is none.
    pub(super) fn joins_hosts(&self) -> Vec<bool> {
        let mut alone: Vec<bool> = (0..self.nodes()).map(|node| node >= self.hosts()).collect();
        for link in &self.graph.links {
            for (node, peer) in [(link.a, link.b), (link.b, link.a)] {
                alone[node.ix()] &= peer.0 < self.hosts();
            }
        }
        alone
    }

    pub(super) fn rate(&self, port: PortId) -> Rate {
        self.graph.links[port.ix() / 2].rate
    }

    /// Contribution of a link to a base round-trip time: a data packet forward and an ACK back.
    pub(super) fn round_trip(&self, port: PortId, (wire, ack): (u32, u32)) -> Time {
        let link = &self.graph.links[port.ix() / 2];
        link.rate.tx_time(wire as u64) + link.rate.tx_time(ack as u64) + link.delay + link.delay
    }
}

/// The ports out of each node that are up, in the order of their numbers.
pub(super) struct Out {
    start: Vec<u32>,
    ports: Vec<PortId>,
    /// Of any port, up or down, the node its link leads to, and its number among the ports of its node.
    pub ends: Vec<(NodeId, u32)>,
}

impl Out {
    pub fn new(links: &Links<'_>) -> Self {
        let nodes = links.nodes() as usize;
        let mut start = vec![0u32; nodes + 1];
        links.up().for_each(|port| start[links.node(port).ix() + 1] += 1);
        for node in 0..nodes {
            start[node + 1] += start[node];
        }
        let mut next = start.clone();
        let mut of = vec![PortId::NONE; start[nodes] as usize];
        for port in links.up() {
            let next = &mut next[links.node(port).ix()];
            of[*next as usize] = port;
            *next += 1;
        }
        let mut ends: Vec<(NodeId, u32)> = (0..links.ports()).map(|port| (links.peer(PortId(port)), 0)).collect();
        for node in 0..nodes {
            let here = &of[start[node] as usize..start[node + 1] as usize];
            for (port, number) in here.iter().zip(0..) {
                ends[port.ix()].1 = number;
            }
        }
        Self { start, ports: of, ends }
    }

    /// All of them, node by node.
    pub fn all(&self) -> &[PortId] {
        &self.ports
    }

    /// Where those of a node begin in the list of all.
    pub fn first(&self, node: NodeId) -> u32 {
        self.start[node.ix()]
    }

    pub fn of(&self, node: u32) -> &[PortId] {
        &self.ports[self.start[node as usize] as usize..self.start[node as usize + 1] as usize]
    }

    /// The node that sends by a port.
    pub fn node(&self, port: PortId) -> NodeId {
        self.ends[port.reverse().ix()].0
    }
}

/// The ports out of hosts' neighbours that lead to each host, per host a range.
pub(super) struct Access {
    ports: Vec<PortId>,
    of: Vec<(u32, u32)>,
}

impl Access {
    pub fn new(out: &Out, hosts: u32) -> Self {
        let mut access = Self { ports: Vec::with_capacity(hosts as usize), of: Vec::with_capacity(hosts as usize) };
        for host in 0..hosts {
            let start = access.ports.len() as u32;
            access.ports.extend(out.of(host).iter().map(|p| p.reverse()));
            access.of.push((start, access.ports.len() as u32));
        }
        access
    }

    pub fn of(&self, host: u32) -> &[PortId] {
        let (start, end) = self.of[host as usize];
        &self.ports[start as usize..end as usize]
    }
}
