//! Networks in tiers, in which shortest paths go up and then down.

use super::Graph;
use fanin_units::NodeId;
use std::collections::BTreeMap;

/// What is known of a network with tiers as a Clos has.
///
/// Links join neighbouring tiers, and all switches above a switch are of one kind: the same racks below them, and above
/// them switches of one kind; those of the highest tier have all racks below them. With f(s) as the tier of a switch s
/// for a host below it, and else 1 more than f of the switches above, each link changes f by at most 1. So f is the
/// distance to the host: a shortest path goes up by any link to the first switch that has the host below it, and from
/// there down.
pub struct UpDown {
    /// The tier of each node: 0 for hosts, 1 for racks' switches.
    pub levels: Vec<u32>,
    /// How many racks each switch has below it, itself included.
    pub racks_below: Vec<u32>,
}

impl UpDown {
    /// Of a network that has such tiers.
    pub fn of(graph: &Graph) -> Option<Self> {
        let (levels, adjacency) = (graph.levels(), graph.adjacency());
        if graph.links.iter().any(|link| levels[link.a.ix()].abs_diff(levels[link.b.ix()]) != 1) {
            return None;
        }
        let above = |at: NodeId| {
            let higher = |peer: &NodeId| levels[peer.ix()] > levels[at.ix()];
            adjacency.of(at).iter().map(|(_, peer)| *peer).filter(higher).collect::<Vec<_>>()
        };
        let mut switches: Vec<NodeId> = (graph.hosts..graph.node_count()).map(NodeId).collect();
        switches.sort_by_key(|switch| levels[switch.ix()]);
        let switch = |node: NodeId| (node.0 - graph.hosts) as usize;
        let racks = switches.iter().take_while(|switch| levels[switch.ix()] == 1).count();
        // The racks below each switch, as bits.
        let words = racks.div_ceil(64);
        let mut below = vec![0u64; words * switches.len()];
        for (rack, at) in switches.iter().enumerate() {
            let own = switch(*at) * words;
            if rack < racks {
                below[own + rack / 64] |= 1 << (rack % 64);
            }
            for up in above(*at) {
                let up = switch(up) * words;
                (0..words).for_each(|word| below[up + word] |= below[own + word]);
            }
        }
        let of = |at: NodeId| &below[switch(at) * words..][..words];
        let racks_below = |at: NodeId| of(at).iter().map(|word| word.count_ones()).sum::<u32>();
        // By racks below, and by the kind above.
        let mut kinds: BTreeMap<(&[u64], Option<usize>), usize> = BTreeMap::new();
        let mut kind_of = vec![0; switches.len()];
        for at in switches.iter().rev() {
            let mut above = above(*at).into_iter().map(|peer| kind_of[switch(peer)]);
            let kind = above.next();
            if above.any(|other| Some(other) != kind) || kind.is_none() && racks_below(*at) as usize != racks {
                return None;
            }
            let next = kinds.len();
            kind_of[switch(*at)] = *kinds.entry((of(*at), kind)).or_insert(next);
        }
        let hosts = vec![0; graph.hosts as usize];
        let racks_below = hosts.into_iter().chain((graph.hosts..graph.node_count()).map(|at| racks_below(NodeId(at))));
        Some(Self { racks_below: racks_below.collect(), levels })
    }
}
