//! The rows of each partition: the nodes and ports that it owns, and their numbers in it.

use crate::port::PortIx;
use crate::topology::Graph;
use fanin_units::{NodeId, PortId};

/// The division of a network into partitions, shared by all of them.
pub(crate) struct Layout {
    /// By node.
    partition_of: Vec<u16>,
    /// By node: its row among the hosts or among the switches of its partition.
    home_of: Vec<u32>,
    /// By port: its row in the partition of its node.
    row_of: Vec<u32>,
    partitions: usize,
}

/// The nodes and ports of a partition.
pub(crate) struct Share {
    pub number: u16,
    /// In the order of their numbers.
    pub hosts: Vec<u32>,
    pub switches: Vec<u32>,
    /// Each end of a link between partitions belongs to the partition of its node.
    pub ports: Vec<PortId>,
}

impl Layout {
    /// A network in one partition.
    pub fn whole(graph: &Graph) -> Self {
        Self::new(graph, vec![0; graph.names.len()])
    }

    /// A network in several partitions, given for each node.
    pub fn new(graph: &Graph, partition_of: Vec<u16>) -> Self {
        let partitions = partition_of.iter().max().map_or(1, |most| *most as usize + 1);
        let (mut hosts, mut switches) = (vec![0; partitions], vec![0; partitions]);
        let home = |(node, partition): (usize, &u16)| {
            let rows: &mut Vec<u32> = if (node as u32) < graph.hosts { &mut hosts } else { &mut switches };
            rows[*partition as usize] += 1;
            rows[*partition as usize] - 1
        };
        let home_of = partition_of.iter().enumerate().map(home).collect();
        let mut ports = vec![0; partitions];
        let mut row_of = Vec::with_capacity(2 * graph.links.len());
        for node in graph.links.iter().flat_map(|link| [link.a, link.b]) {
            let rows: &mut u32 = &mut ports[partition_of[node.ix()] as usize];
            row_of.push(*rows);
            *rows += 1;
        }
        Self { partition_of, home_of, row_of, partitions }
    }

    /// Number of partitions.
    pub fn partitions(&self) -> usize {
        self.partitions
    }

    /// Whether there are several.
    pub fn is_cut(&self) -> bool {
        self.partitions > 1
    }

    /// The partition of a node.
    #[inline(always)]
    pub fn partition(&self, node: NodeId) -> u16 {
        self.partition_of[node.ix()]
    }

    /// The row of a node among the hosts or the switches of its partition.
    #[inline(always)]
    pub fn home(&self, node: NodeId) -> u32 {
        self.home_of[node.ix()]
    }

    /// The row of a port in the partition of its node.
    #[inline(always)]
    pub fn row(&self, port: PortId) -> PortIx {
        PortIx(self.row_of[port.ix()])
    }

    /// The nodes and ports of each partition.
    pub fn shares(&self, graph: &Graph) -> Vec<Share> {
        let empty = |number| Share { number, hosts: Vec::new(), switches: Vec::new(), ports: Vec::new() };
        let mut shares: Vec<Share> = (0..self.partitions as u16).map(empty).collect();
        for (node, partition) in (0..).zip(&self.partition_of) {
            let share = &mut shares[usize::from(*partition)];
            if node < graph.hosts { share.hosts.push(node) } else { share.switches.push(node) }
        }
        let ends = graph.links.iter().flat_map(|link| [link.a, link.b]);
        for (port, node) in (0..).map(PortId).zip(ends) {
            shares[usize::from(self.partition(node))].ports.push(port);
        }
        shares
    }
}
