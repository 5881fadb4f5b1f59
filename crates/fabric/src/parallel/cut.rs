//! Cutting a network into partitions: pods stay whole, and the switches they share are distributed.

use crate::topology::Graph;
use fanin_units::NodeId;
use std::cmp::Reverse;

/// Cost of a packet at a host, where it is created or acknowledged, relative to a packet at a switch.
const END: u64 = 2;
/// A node of no group.
const SHARED: u32 = u32::MAX;

/// The partition of each node: at most `partitions` of them with about equal expected loads, on the assumption that all
/// links are equally utilised. A partition has whole pods (connected components without the switches of the highest
/// level) if there are enough of them, else whole racks; switches of no pod or rack are distributed. If all hosts are
/// at one switch, there is one partition.
pub fn cut(graph: &Graph, partitions: usize) -> Vec<u16> {
    let levels = graph.levels();
    let top = levels.iter().copied().filter(|level| *level != u32::MAX).max().unwrap_or(0);
    let mut groups =
        (2..=top).rev().map(|below| pods(graph, &levels, below)).find(|groups| count(groups) >= partitions);
    let groups = groups.get_or_insert_with(|| racks(graph));
    let partitions = partitions.min(count(groups));
    if partitions < 2 {
        return vec![0; graph.names.len()];
    }
    deal(graph, groups, partitions.min(u16::MAX as usize))
}

fn count(groups: &[u32]) -> usize {
    groups.iter().filter(|group| **group != SHARED).max().map_or(0, |last| *last as usize + 1)
}

/// Connected components of the nodes below a level.
fn pods(graph: &Graph, levels: &[u32], below: u32) -> Vec<u32> {
    let adjacency = graph.adjacency();
    let mut groups = vec![SHARED; levels.len()];
    let mut next = 0;
    for host in 0..graph.hosts {
        if groups[host as usize] != SHARED {
            continue;
        }
        groups[host as usize] = next;
        let mut open = vec![NodeId(host)];
        while let Some(node) = open.pop() {
            for &(_, peer) in adjacency.of(node) {
                if groups[peer.ix()] == SHARED && levels[peer.ix()] < below {
                    groups[peer.ix()] = next;
                    open.push(peer);
                }
            }
        }
        next += 1;
    }
    groups
}

/// Hosts with the switch that they are wired to by the shortest link, such as NVLink, or else with the first:
/// partitions may run ahead of each other by the delay of the shortest link between them.
fn racks(graph: &Graph) -> Vec<u32> {
    let adjacency = graph.adjacency();
    let mut groups = vec![SHARED; graph.names.len()];
    let mut next = 0;
    for host in (0..graph.hosts).map(NodeId) {
        let near = adjacency.of(host).iter().min_by_key(|(port, _)| graph.links[port.ix() / 2].delay);
        if let Some(&(_, switch)) = near {
            if groups[switch.ix()] == SHARED {
                groups[switch.ix()] = next;
                next += 1;
            }
            groups[host.ix()] = groups[switch.ix()];
        }
    }
    groups
}

/// Assigns groups, the largest first, and then single nodes to the partition with the least load so far.
fn deal(graph: &Graph, groups: &[u32], partitions: usize) -> Vec<u16> {
    let mut weights = vec![0u64; groups.len()];
    for link in &graph.links {
        // In megabits, so that sums fit.
        let rate = link.rate.as_bps() / 1_000_000 + 1;
        for end in [link.a, link.b] {
            weights[end.ix()] += if graph.is_host(end) { END * rate } else { rate };
        }
    }
    let mut of_groups = vec![0u64; count(groups)];
    for (group, weight) in groups.iter().zip(&weights).filter(|(group, _)| **group != SHARED) {
        of_groups[*group as usize] += weight;
    }
    let mut loads = vec![0u64; partitions];
    let mut least = |weight: u64| {
        let partition = (0..partitions).min_by_key(|partition| loads[*partition]).unwrap_or(0);
        loads[partition] += weight;
        partition as u16
    };
    let mut order: Vec<usize> = (0..of_groups.len()).collect();
    order.sort_by_key(|group| Reverse(of_groups[*group]));
    let mut partition_of_group = vec![0; of_groups.len()];
    for group in order {
        partition_of_group[group] = least(of_groups[group]);
    }
    let mut single: Vec<usize> = (0..groups.len()).filter(|node| groups[*node] == SHARED).collect();
    single.sort_by_key(|node| Reverse(weights[*node]));
    let mut of: Vec<u16> =
        groups.iter().map(|group| partition_of_group.get(*group as usize).copied().unwrap_or(0)).collect();
    for node in single {
        of[node] = least(weights[node]);
    }
    of
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topology::{Cable, Dumbbell, FatTree, LeafSpine, ParkingLot, Rails, Star};
    use fanin_units::{Rate, Time};

    fn cable() -> Cable {
        Cable::new(Rate::from_gbps(10), Time::from_us(1))
    }

    /// Hosts and switches of each partition, and links between partitions.
    fn shape(graph: &Graph, partitions: usize) -> (Vec<(u32, u32)>, usize) {
        let of = cut(graph, partitions);
        let mut shape = vec![(0, 0); of.iter().max().map_or(0, |most| *most as usize + 1)];
        for (node, partition) in of.iter().enumerate() {
            let (hosts, switches) = &mut shape[*partition as usize];
            *(if node < graph.hosts as usize { hosts } else { switches }) += 1;
        }
        let between = graph.links.iter().filter(|link| of[link.a.ix()] != of[link.b.ix()]);
        (shape, between.count())
    }

    #[test]
    fn pods_stay_whole_and_the_core_is_dealt_out() {
        // Four pods of four hosts and four switches, four core switches, each with a link to each pod.
        let graph = FatTree { k: 4, link: cable() }.build().unwrap();
        assert_eq!(shape(&graph, 1), (vec![(16, 20)], 0));
        assert_eq!(shape(&graph, 2), (vec![(8, 10); 2], 8));
        assert_eq!(shape(&graph, 4), (vec![(4, 5); 4], 12));
        // One partition has two pods, and the core switches balance that.
        assert_eq!(shape(&graph, 3).0, [(8, 8), (4, 6), (4, 6)]);
        // More partitions than pods: racks.
        assert_eq!(shape(&graph, 8).0.iter().map(|partition| partition.0).collect::<Vec<_>>(), [2; 8]);
        assert_eq!(shape(&graph, 100).0.len(), 8);
    }

    #[test]
    fn racks_stay_whole_where_there_are_no_pods() {
        let (host_link, link) = (cable(), cable());
        let graph = LeafSpine { leaves: 4, hosts: 3, spines: 2, host_link, fabric_link: link }.build().unwrap();
        assert_eq!(shape(&graph, 2), (vec![(6, 3); 2], 4));
        let graph = ParkingLot { switches: 4, hosts: 2, host_link, chain_link: link }.build().unwrap();
        assert_eq!(shape(&graph, 2).0, [(4, 2); 2]);
        let graph = Dumbbell { left: 3, right: 3, host_link, bottleneck: link }.build().unwrap();
        assert_eq!(shape(&graph, 8), (vec![(3, 1); 2], 1));
        assert_eq!(shape(&Star { hosts: 9, host_link }.build().unwrap(), 4), (vec![(9, 1)], 0));
    }

    #[test]
    fn servers_stay_whole_where_their_links_are_the_shortest() {
        let nvlink = Some(Cable::new(Rate::from_gbps(2880), Time::from_ns(25)));
        let (nic, fabric_link) = (cable(), cable());
        let shape = Rails {
            servers: 8,
            gpus: 4,
            rails: 4,
            segment: 8,
            planes: 1,
            tors: 1,
            spines: 2,
            nvlink,
            nic,
            fabric_link,
        };
        let graph = shape.build().unwrap();
        let of = cut(&graph, 3);
        assert_eq!(of.iter().max(), Some(&2));
        let between = graph.links.iter().filter(|link| of[link.a.ix()] != of[link.b.ix()]);
        assert_eq!(between.map(|link| link.delay).min(), Some(Time::from_us(1)));
    }
}
