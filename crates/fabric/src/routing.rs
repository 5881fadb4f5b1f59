//! Shortest paths by number of links, and equal-cost multi-path choice by a seeded hash per flow.

use crate::port::Port;
use crate::topology::Graph;
use fanin_engine::{Streams, mix};
use fanin_units::{NodeId, PortId, Rate, Time};
use std::collections::{BTreeMap, VecDeque};

/// The next hops of every node. Hosts with the same neighbours share their routes, so the table has a column per such
/// group and not per host, and stays in the cache.
pub struct Routes {
    hosts: u32,
    groups: u32,
    /// Group of each host.
    group_of: Vec<u32>,
    /// Row of each node in `table`, or `u32::MAX` for a host with one link.
    row_of: Vec<u32>,
    /// The way on, by row and group: a port where there is only one, else [`SET`] and the number of a set of them.
    table: Vec<u32>,
    /// Sets of next hops as ranges of `members`.
    sets: Vec<(u32, u32)>,
    members: Vec<PortId>,
    /// The ports that lead to each host, and the ports that lead out of it, per host a range.
    access: Vec<PortId>,
    access_of: Vec<(u32, u32)>,
    /// Odd multiplier of each node's hash.
    seeds: Vec<u64>,
    /// Largest base round-trip time of any host pair.
    pub network_rtt: Time,
    /// Largest product of a host's line rate and its base round-trip time to any host, in bytes.
    pub network_bdp: u64,
}

/// No way.
const NONE: u32 = u32::MAX;
/// The host is next to us.
const HERE: u32 = u32::MAX - 1;
/// Set in the table where the lower bits are the number of a set.
const SET: u32 = 1 << 31;

impl Routes {
    /// Finds all shortest paths over the ports that are up. `wire` and `ack` are the sizes by which base round-trip
    /// times are counted.
    pub fn build(ports: &[Port], hosts: u32, nodes: u32, streams: &Streams, wire: u32, ack: u32) -> Self {
        let mut out: Vec<Vec<PortId>> = vec![Vec::new(); nodes as usize];
        for (i, port) in ports.iter().enumerate().filter(|(_, p)| p.up) {
            out[port.node.ix()].push(PortId(i as u32));
        }
        let mut access = Vec::new();
        let mut access_of = Vec::new();
        let mut by_neighbours: BTreeMap<Vec<NodeId>, u32> = BTreeMap::new();
        let mut group_of = Vec::new();
        let mut representative = Vec::new();
        for host in 0..hosts {
            let start = access.len() as u32;
            access.extend(out[host as usize].iter().map(|p| p.reverse()));
            access_of.push((start, access.len() as u32));
            let mut neighbours: Vec<NodeId> = out[host as usize].iter().map(|p| ports[p.ix()].peer).collect();
            neighbours.sort_unstable();
            neighbours.dedup();
            let next = by_neighbours.len() as u32;
            let group = *by_neighbours.entry(neighbours).or_insert(next);
            if group == next {
                representative.push(host);
            }
            group_of.push(group);
        }
        let groups = representative.len() as u32;
        let mut rows = 0;
        let row_of: Vec<u32> = (0..nodes)
            .map(|node| {
                if node < hosts && out[node as usize].len() == 1 {
                    return u32::MAX;
                }
                rows += 1;
                rows - 1
            })
            .collect();

        let mut routes = Self {
            hosts,
            groups,
            group_of,
            row_of,
            table: vec![NONE; rows as usize * groups as usize],
            sets: Vec::new(),
            members: Vec::new(),
            access,
            access_of,
            seeds: (0..nodes as u64).map(|n| streams.word("ecmp", n) | 1).collect(),
            network_rtt: Time::ZERO,
            network_bdp: 0,
        };
        let mut known: BTreeMap<Vec<PortId>, u32> = BTreeMap::new();
        let mut distance = vec![u32::MAX; nodes as usize];
        let mut rtt = vec![Time::ZERO; nodes as usize];
        for (group, &target) in representative.iter().enumerate() {
            routes.column(group as u32, target, ports, &out, &mut known, &mut distance, &mut rtt, (wire, ack));
        }
        routes
    }

    /// Fills the routes of all nodes to one group of hosts by a breadth-first search from one of them.
    #[allow(clippy::too_many_arguments)]
    fn column(
        &mut self,
        group: u32,
        target: u32,
        ports: &[Port],
        out: &[Vec<PortId>],
        known: &mut BTreeMap<Vec<PortId>, u32>,
        distance: &mut [u32],
        rtt: &mut [Time],
        (wire, ack): (u32, u32),
    ) {
        distance.fill(u32::MAX);
        distance[target as usize] = 0;
        rtt[target as usize] = Time::ZERO;
        let mut queue = VecDeque::from([target]);
        let mut hops = Vec::new();
        while let Some(node) = queue.pop_front() {
            let here = distance[node as usize];
            if node != target {
                hops.clear();
                hops.extend(out[node as usize].iter().copied().filter(|p| {
                    let peer = ports[p.ix()].peer.0;
                    distance[peer as usize] == here - 1 && (peer >= self.hosts || peer == target)
                }));
                let worst = hops.iter().map(|p| {
                    let port = &ports[p.ix()];
                    port.tx_time(wire) + port.tx_time(ack) + port.delay + port.delay + rtt[port.peer.ix()]
                });
                rtt[node as usize] = worst.max().unwrap_or(Time::ZERO);
                if node < self.hosts {
                    let rate = out[node as usize].iter().map(|p| ports[p.ix()].rate).max().unwrap_or(Rate::ZERO);
                    self.network_rtt = self.network_rtt.max(rtt[node as usize]);
                    self.network_bdp = self.network_bdp.max(rate.bytes_in(rtt[node as usize]));
                }
                let row = self.row_of[node as usize];
                if row != u32::MAX {
                    let way = if here == 1 { HERE } else { self.way(&hops, known) };
                    self.table[row as usize * self.groups as usize + group as usize] = way;
                }
            }
            if node == target && self.row_of[node as usize] != u32::MAX {
                // Its own group: other hosts with the same neighbours, which any of those switches reaches.
                hops.clear();
                hops.extend(out[node as usize].iter().copied().filter(|p| ports[p.ix()].peer.0 >= self.hosts));
                let way = self.way(&hops, known);
                self.table[self.row_of[node as usize] as usize * self.groups as usize + group as usize] = way;
            }
            if node >= self.hosts || node == target {
                for port in &out[node as usize] {
                    let peer = ports[port.ix()].peer.0;
                    if distance[peer as usize] == u32::MAX {
                        distance[peer as usize] = here + 1;
                        queue.push_back(peer);
                    }
                }
            }
        }
    }

    /// What the table says for these next hops.
    fn way(&mut self, hops: &[PortId], known: &mut BTreeMap<Vec<PortId>, u32>) -> u32 {
        match *hops {
            [] => NONE,
            [only] => only.0,
            _ => SET | self.intern(hops, known),
        }
    }

    fn intern(&mut self, hops: &[PortId], known: &mut BTreeMap<Vec<PortId>, u32>) -> u32 {
        if let Some(&set) = known.get(hops) {
            return set;
        }
        let start = self.members.len() as u32;
        self.members.extend_from_slice(hops);
        self.sets.push((start, self.members.len() as u32));
        let set = self.sets.len() as u32 - 1;
        known.insert(hops.to_vec(), set);
        set
    }

    /// Which of `n` equal next hops a flow takes at a node: multiply-shift hashing with the node's own multiplier.
    #[inline(always)]
    fn pick(&self, node: NodeId, key: u32, n: u32) -> u32 {
        let hash = (key as u64).wrapping_mul(self.seeds[node.ix()]) >> 32;
        ((hash * n as u64) >> 32) as u32
    }

    /// Where a packet for host `to` leaves `node`, or `None` when there is no way.
    #[inline]
    pub fn next(&self, ports: &[Port], node: NodeId, to: NodeId, key: u32) -> Option<PortId> {
        let row = self.row_of[node.ix()];
        if row == u32::MAX {
            let (start, end) = self.access_of[node.ix()];
            return (end > start).then(|| self.access[start as usize].reverse());
        }
        let set = self.table[row as usize * self.groups as usize + self.group_of[to.ix()] as usize];
        if set < SET {
            return Some(PortId(set));
        }
        match set {
            NONE => None,
            HERE => {
                let (start, end) = self.access_of[to.ix()];
                let access = &self.access[start as usize..end as usize];
                if let [only] = access {
                    return Some(*only);
                }
                let here = || access.iter().copied().filter(|p| ports[p.ix()].node == node);
                here().nth(self.pick(node, key, here().count() as u32) as usize)
            }
            _ => {
                let (start, end) = self.sets[(set & !SET) as usize];
                Some(self.members[(start + self.pick(node, key, end - start)) as usize])
            }
        }
    }

    /// The ports a flow crosses from one host to another, by calling `visit` on each. False when there is no way.
    pub fn walk(
        &self,
        ports: &[Port],
        from: NodeId,
        to: NodeId,
        key: u32,
        mut visit: impl FnMut(PortId, &Port),
    ) -> bool {
        let mut at = from;
        // A shortest path visits no node twice.
        for _ in 0..self.row_of.len() {
            let Some(port) = self.next(ports, at, to, key) else {
                return false;
            };
            visit(port, &ports[port.ix()]);
            at = ports[port.ix()].peer;
            if at == to {
                return true;
            }
        }
        false
    }
}

/// Entries of the route table that a network needs, 4 bytes each: nodes that choose, times groups of hosts with the same
/// neighbours. Counted before anything is allocated for it.
pub fn route_entries(graph: &Graph) -> u64 {
    let adjacency = graph.adjacency();
    // Hosts with one link are many: what they hang on is marked, and only others are sorted.
    let mut hangs_on = vec![false; graph.names.len()];
    let (mut single, mut groups) = (0, 0);
    let mut others: Vec<Vec<NodeId>> = Vec::new();
    for host in 0..graph.hosts {
        match adjacency.of(NodeId(host)) {
            [(_, peer)] => {
                single += 1;
                groups += u64::from(!std::mem::replace(&mut hangs_on[peer.ix()], true));
            }
            several => others.push(several.iter().map(|(_, peer)| *peer).collect()),
        }
    }
    others.iter_mut().for_each(|n| n.sort_unstable());
    others.sort_unstable();
    others.dedup();
    (graph.names.len() as u64 - single) * (groups + others.len() as u64)
}

/// The hash key of one direction of a flow.
pub fn key(a: u64, b: u64) -> u32 {
    (mix(a, b) >> 32) as u32
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topology::{Cable, Clos, FatTree};

    fn built(graph: &Graph) -> (Routes, Vec<Port>) {
        let ports: Vec<Port> = graph
            .links
            .iter()
            .flat_map(|l| [Port::new(l.a, l.b, l.rate, l.delay), Port::new(l.b, l.a, l.rate, l.delay)])
            .collect();
        let nodes = graph.names.len() as u32;
        (Routes::build(&ports, graph.hosts, nodes, &Streams::new(1), 1500, 64), ports)
    }

    #[test]
    fn the_table_is_as_large_as_announced() {
        for graph in [Clos::dart().build().unwrap(), Clos::hpcc().build().unwrap()] {
            let (routes, _) = built(&graph);
            assert_eq!(routes.table.len() as u64, route_entries(&graph));
        }
        // 64 racks of 16 hosts, 64 + 64 + 16 switches.
        assert_eq!(route_entries(&Clos::dart().build().unwrap()), 64 * 144);
    }

    #[test]
    fn darts_longest_round_trip_is_60_us_of_delay_and_twelve_packets() {
        let (routes, _) = built(&Clos::dart().build().unwrap());
        // 6 links of 5 us each way, a full packet over each on the way there and an ACK over each on the way back.
        let wire = Rate::from_gbps(10).tx_time(1500).as_ps() + Rate::from_gbps(10).tx_time(64).as_ps();
        assert_eq!(routes.network_rtt, Time::from_ps(60_000_000 + 6 * wire));
        assert_eq!(routes.network_bdp, Rate::from_gbps(10).bytes_in(routes.network_rtt));
    }

    #[test]
    fn flows_spread_evenly_over_equal_paths_and_stay_on_theirs() {
        let link = Cable::new(Rate::from_gbps(10), Time::from_us(1));
        let graph = FatTree { k: 8, link }.build().unwrap();
        let (routes, ports) = built(&graph);
        let (from, to) = (NodeId(0), NodeId(graph.hosts - 1));
        let mut seen: BTreeMap<Vec<(u32, u32)>, u32> = BTreeMap::new();
        for flow in 0..16_000 {
            let mut path = Vec::new();
            assert!(routes.walk(&ports, from, to, key(1, flow), |_, p| path.push((p.node.0, p.peer.0))));
            assert_eq!(path.len(), 6);
            let mut again = Vec::new();
            routes.walk(&ports, from, to, key(1, flow), |_, p| again.push((p.node.0, p.peer.0)));
            assert_eq!(path, again);
            *seen.entry(path).or_default() += 1;
        }
        // 4 aggregation switches times 4 cores, 1,000 flows each on average.
        assert_eq!(seen.len(), 16);
        assert!(seen.values().all(|n| (850..1150).contains(n)), "{:?}", seen.values());
    }
}
