//! Which partition holds what of a network, and how it numbers it.

use crate::port::PortIx;
use crate::topology::Graph;
use fanin_units::{NodeId, PortId};

/// How a network is divided into partitions: the same for all of them, and one for a network that is whole.
pub(crate) struct Layout {
    /// By node.
    partition_of: Vec<u16>,
    /// By node: its row among the hosts or among the switches of its partition.
    home_of: Vec<u32>,
    /// By port: its row in the partition of its node.
    row_of: Vec<u32>,
    partitions: usize,
}

/// What a partition holds. Of a link to another partition both hold both ports, each for what it does at its end.
pub(crate) struct Share {
    pub number: u16,
    /// In the order of their numbers.
    pub hosts: Vec<u32>,
    pub switches: Vec<u32>,
    pub links: Vec<u32>,
}

impl Layout {
    /// A network in one piece.
    pub fn whole(graph: &Graph) -> Self {
        Self::new(graph, vec![0; graph.names.len()])
    }

    /// A network in partitions, given for each node.
    pub fn new(graph: &Graph, partition_of: Vec<u16>) -> Self {
        let partitions = partition_of.iter().max().map_or(1, |most| *most as usize + 1);
        let (mut hosts, mut switches) = (vec![0; partitions], vec![0; partitions]);
        let home = |(node, partition): (usize, &u16)| {
            let rows: &mut Vec<u32> = if (node as u32) < graph.hosts { &mut hosts } else { &mut switches };
            rows[*partition as usize] += 1;
            rows[*partition as usize] - 1
        };
        let home_of = partition_of.iter().enumerate().map(home).collect();
        let mut links = vec![0; partitions];
        let mut row_of = Vec::with_capacity(2 * graph.links.len());
        for link in &graph.links {
            let (a, b) = (partition_of[link.a.ix()] as usize, partition_of[link.b.ix()] as usize);
            row_of.extend([2 * links[a], 2 * links[b] + 1]);
            links[a] += 1;
            links[b] += u32::from(a != b);
        }
        Self { partition_of, home_of, row_of, partitions }
    }

    /// How many partitions there are.
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

    /// What a partition holds.
    pub fn share(&self, graph: &Graph, number: u16) -> Share {
        let here = |node: u32| self.partition_of[node as usize] == number;
        let (hosts, nodes) = (graph.hosts, graph.names.len() as u32);
        let touches = |link: &u32| {
            let link = &graph.links[*link as usize];
            here(link.a.0) || here(link.b.0)
        };
        Share {
            number,
            hosts: (0..hosts).filter(|node| here(*node)).collect(),
            switches: (hosts..nodes).filter(|node| here(*node)).collect(),
            links: (0..graph.links.len() as u32).filter(touches).collect(),
        }
    }
}
