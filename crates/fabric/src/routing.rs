//! Shortest paths by number of links, and equal-cost multi-path choice by a seeded hash per flow.

use crate::packet::Onward;
use crate::port::Port;
use crate::topology::Graph;
use fanin_engine::{Streams, mix};
use fanin_units::{NodeId, PortId, Rate, Time};
use search::{Out, Search};
use std::collections::BTreeMap;

mod search;

/// The next hops of every node. Hosts with the same neighbours share their routes, so the table has a column per such
/// group and not per host. In a large network neighbouring groups share a column, too: most nodes have one way to all
/// groups of a distant pod, and only the few that tell them apart have entries for each. So it stays in the cache.
pub struct Routes {
    /// Columns of `table`: blocks of `1 << shift` groups.
    blocks: u32,
    shift: u32,
    nodes: Vec<Node>,
    hosts: Vec<Host>,
    /// The way on, by row and block: the number of a set of ways, or [`EACH`] and the place in `each` where the block's
    /// groups differ.
    table: Vec<u32>,
    /// The ways to each group of a block, one after the other.
    each: Vec<u32>,
    /// First each port alone, then no way, then what more there is.
    sets: Vec<Ways>,
    members: Vec<PortId>,
    /// The ports that lead to each host, and the ports that lead out of it, per host a range.
    access: Vec<PortId>,
    access_of: Vec<(u32, u32)>,
    /// The ports out of each node, which labels number.
    out: Out,
    /// Bits per switch in a label; more than there are where packets have no room for the numbers of ports.
    label_bits: u32,
    /// Largest base round-trip time of any host pair.
    pub network_rtt: Time,
    /// Largest product of a host's line rate and its base round-trip time to any host, in bytes.
    pub network_bdp: u64,
}

/// Which of equal ways a packet takes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Course {
    /// What every switch hashes with a multiplier of its own.
    pub key: u32,
    /// What comes of all these hashes while routes stay as they were at the start, so that no switch has to look anything up:
    /// the number of the port out of the first switch in the lowest bits, that out of the second above it, and so on. Or
    /// [`Course::NO_LABEL`], where they have no room or the packet has left this way.
    pub label: u32,
}

impl Course {
    /// No label.
    pub const NO_LABEL: u32 = u32::MAX;

    /// A course that every switch has to look up.
    pub const fn unlabelled(key: u32) -> Self {
        Self { key, label: Self::NO_LABEL }
    }
}

/// A label that is being written, port by port.
#[derive(Clone, Copy)]
pub struct Label {
    bits: u32,
    label: u64,
    /// Where the next number goes; nothing before the first port, that of the host, whose number no switch needs.
    at: Option<u32>,
}

impl Label {
    /// The next port of the way, by its number among those of its node.
    #[inline(always)]
    pub fn add(&mut self, number: u32) {
        self.at = Some(self.at.map_or(0, |at| {
            self.label |= u64::from(number).checked_shl(at).unwrap_or(0);
            at + self.bits
        }));
    }

    /// The label, if the way came to its end and there was room.
    pub fn finish(self, reaches: bool) -> u32 {
        let fits = self.at.is_some_and(|at| at <= u32::BITS);
        if reaches && fits { self.label as u32 } else { Course::NO_LABEL }
    }
}

impl Default for Course {
    fn default() -> Self {
        Self::unlabelled(0)
    }
}

/// A node as routes see it.
#[derive(Clone, Copy)]
struct Node {
    /// Where its row in the table begins. Hosts with one link share a row without ways.
    row: u32,
    one_link: bool,
    /// Odd multiplier of its hash.
    seed: u64,
}

/// A host as routes see it.
#[derive(Clone, Copy)]
struct Host {
    group: u32,
    /// Its number within the group.
    rank: u32,
}

/// Equal ways on: of `members`, the `n` from `start` on; to a host next to us, `each` for every host of its group, in order.
#[derive(Clone, Copy)]
struct Ways {
    start: u32,
    n: u32,
    each: u32,
}

/// What the search finds: no way.
const NONE: u32 = u32::MAX;
/// What the search finds: the host is next to us.
const HERE: u32 = u32::MAX - 1;
/// Set in the table where the groups of a block differ and the lower bits say where each has its own way.
const EACH: u32 = 1 << 30;
/// Of [`Ways`] to hosts that are next to us by different numbers of links.
const UNEVEN: u32 = u32::MAX;
/// Entries up to which each group has a column of its own: half a megabyte stays in the cache anyway.
const SMALL: u64 = 1 << 17;

impl Routes {
    /// Finds all shortest paths over the ports that are up. `wire` and `ack` are the sizes by which base round-trip
    /// times are counted.
    pub fn build(ports: &[Port], hosts: u32, nodes: u32, streams: &Streams, wire: u32, ack: u32) -> Self {
        Self::build_as(ports, hosts, nodes, streams, (wire, ack), SMALL)
    }

    /// The same, where `small` is how many entries a table may have of which each group has a column of its own.
    fn build_as(
        ports: &[Port],
        hosts: u32,
        nodes: u32,
        streams: &Streams,
        (wire, ack): (u32, u32),
        small: u64,
    ) -> Self {
        let out = Out::new(ports, nodes);
        let mut access = Vec::with_capacity(hosts as usize);
        let mut access_of = Vec::with_capacity(hosts as usize);
        let mut by_neighbours: BTreeMap<Vec<NodeId>, u32> = BTreeMap::new();
        let mut host_of: Vec<Host> = Vec::with_capacity(hosts as usize);
        let mut sizes: Vec<u32> = Vec::new();
        let mut representative = Vec::new();
        let mut neighbours: Vec<NodeId> = Vec::new();
        for host in 0..hosts {
            let start = access.len() as u32;
            access.extend(out.of(host).iter().map(|p| p.reverse()));
            access_of.push((start, access.len() as u32));
            neighbours.clear();
            neighbours.extend(out.of(host).iter().map(|p| ports[p.ix()].peer));
            neighbours.sort_unstable();
            neighbours.dedup();
            let group = by_neighbours.get(neighbours.as_slice()).copied().unwrap_or_else(|| {
                by_neighbours.insert(neighbours.clone(), representative.len() as u32);
                representative.push(host);
                sizes.push(0);
                representative.len() as u32 - 1
            });
            host_of.push(Host { group, rank: sizes[group as usize] });
            sizes[group as usize] += 1;
        }
        drop(by_neighbours);
        let groups = representative.len() as u32;
        let has_row: Vec<u32> = (0..nodes).filter(|node| *node >= hosts || out.of(*node).len() != 1).collect();
        let rows = has_row.len() as u32;
        let shift = block_shift(u64::from(rows), groups, small);
        let blocks = groups.div_ceil(1 << shift);
        let node = |n: u32| Node { row: rows * blocks, one_link: true, seed: streams.word("ecmp", n as u64) | 1 };
        let mut routes = Self {
            blocks,
            shift,
            nodes: (0..nodes).map(node).collect(),
            hosts: host_of,
            table: vec![ports.len() as u32; (rows as usize + 1) * blocks as usize],
            each: Vec::new(),
            sets: (0..=ports.len() as u32).map(|port| Ways { start: port, n: 1, each: 0 }).collect(),
            members: (0..ports.len() as u32).map(PortId).chain([PortId::NONE]).collect(),
            access,
            access_of,
            label_bits: if ports.len() > Onward::PORTS {
                u32::BITS + 1
            } else {
                (hosts..nodes).map(|node| out.of(node).len() as u32).max().map_or(0, bits_for)
            },
            out,
            network_rtt: Time::ZERO,
            network_bdp: 0,
        };
        for (row, node) in (0..).zip(&has_row) {
            let node = &mut routes.nodes[*node as usize];
            (node.row, node.one_link) = (row * blocks, false);
        }
        // The hosts of each group, in order.
        let mut of_group: Vec<Vec<u32>> = vec![Vec::new(); groups as usize];
        for (number, host) in (0..).zip(&routes.hosts) {
            of_group[host.group as usize].push(number);
        }
        let mut search = Search::new(ports, &routes.out, hosts, &has_row, (wire, ack));
        // The columns of one block, one after the other.
        let mut columns: Vec<u32> = Vec::new();
        for block in 0..blocks {
            columns.clear();
            let of_block = representative.iter().skip((block << shift) as usize).take(1 << shift);
            for &target in of_block {
                let start = columns.len();
                columns.resize(start + rows as usize, NONE);
                search.column(target, &mut routes, &mut columns[start..]);
            }
            routes.put(block, &has_row, &columns, &of_group[(block << shift) as usize..], ports);
        }
        routes
    }

    /// Writes the columns of a block, one per group, into the table.
    fn put(&mut self, block: u32, has_row: &[u32], columns: &[u32], groups: &[Vec<u32>], ports: &[Port]) {
        let rows = has_row.len();
        for (row, node) in has_row.iter().enumerate() {
            let ways = || columns[row..].iter().step_by(rows).copied();
            let (first, one_group) = (columns[row], columns.len() == rows);
            let at = row * self.blocks as usize + block as usize;
            self.table[at] = if ways().all(|way| way == first) && (one_group || first != HERE) {
                self.set(first, *node, &groups[0], ports)
            } else {
                let place = self.each.len() as u32;
                for (way, hosts) in ways().zip(groups) {
                    let set = self.set(way, *node, hosts, ports);
                    self.each.push(set);
                }
                EACH | place
            };
        }
    }

    /// The number of the set of ways from a node to the hosts of a group that the search found.
    fn set(&mut self, way: u32, node: u32, hosts: &[u32], ports: &[Port]) -> u32 {
        match way {
            NONE => ports.len() as u32,
            HERE => {
                let start = self.members.len() as u32;
                let mut each = None;
                for host in hosts {
                    let (from, to) = self.access_of[*host as usize];
                    let access = self.access[from as usize..to as usize].iter();
                    let before = self.members.len();
                    self.members.extend(access.filter(|p| ports[p.ix()].node.0 == node));
                    let links = (self.members.len() - before) as u32;
                    each = Some(each.map_or(links, |each| if each == links { links } else { UNEVEN }));
                }
                let each = each.unwrap_or(0);
                self.sets.push(Ways { start, n: each, each });
                self.sets.len() as u32 - 1
            }
            set => set,
        }
    }

    /// Two hosts may be this far from each other, of which one sends at `rate`.
    fn reaches(&mut self, rtt: Time, rate: Rate) {
        self.network_rtt = self.network_rtt.max(rtt);
        self.network_bdp = self.network_bdp.max(rate.bytes_in(rtt));
    }

    /// Where a packet for host `to` leaves `node`, or `None` when there is no way.
    #[inline]
    pub fn next(&self, ports: &[Port], node: NodeId, to: NodeId, key: u32) -> Option<PortId> {
        if self.nodes[node.ix()].one_link {
            return self.out.of(node.0).first().copied();
        }
        let port = self.way(ports, node, to, key);
        (port != PortId::NONE).then_some(port)
    }

    /// The same for a host, mostly by its only link.
    #[inline(always)]
    pub fn out_of_host(&self, ports: &[Port], host: NodeId, to: NodeId, key: u32) -> Option<PortId> {
        match self.out.of(host.0) {
            [only] => Some(*only),
            _ => self.next(ports, host, to, key),
        }
    }

    /// The same for a switch, with `PortId::NONE` for no way; hosts with one link have none here. There is no branch on
    /// what kind of way it is, because which it is nobody can foretell.
    #[inline(always)]
    pub fn way(&self, ports: &[Port], node: NodeId, to: NodeId, key: u32) -> PortId {
        let Node { row, seed, .. } = self.nodes[node.ix()];
        let Host { group, rank } = self.hosts[to.ix()];
        let mut set = self.table[row as usize + (group >> self.shift) as usize];
        if set & EACH != 0 {
            let within = group & ((1 << self.shift) - 1);
            set = self.each[(set & !EACH) as usize + within as usize];
        }
        let Ways { start, n, each } = self.sets[set as usize];
        if each == UNEVEN {
            return self.uneven(ports, node, to, key);
        }
        self.members[(start + pick(key, seed, n) + rank * each) as usize]
    }

    /// One of several links to a host that is next to us.
    #[cold]
    fn uneven(&self, ports: &[Port], node: NodeId, to: NodeId, key: u32) -> PortId {
        let (start, end) = self.access_of[to.ix()];
        let here = || self.access[start as usize..end as usize].iter().copied().filter(|p| ports[p.ix()].node == node);
        let picked = pick(key, self.nodes[node.ix()].seed, here().count() as u32);
        here().nth(picked as usize).unwrap_or(PortId::NONE)
    }

    /// The course of flows with this key from one host to another.
    pub fn course(&self, ports: &[Port], from: NodeId, to: NodeId, key: u32) -> Course {
        let mut label = self.label();
        let reaches = self.walk(ports, from, to, key, |_, number| label.add(number));
        Course { key, label: label.finish(reaches) }
    }

    /// A label that is still empty.
    pub fn label(&self) -> Label {
        Label { bits: self.label_bits, label: 0, at: None }
    }

    /// What [`Routes::labelled`] knows a node by.
    pub fn first_port(&self, node: NodeId) -> u32 {
        self.out.first(node)
    }

    /// Where a packet with this label leaves a node after `hops` links; the node is given by [`Routes::first_port`]. Without a
    /// label, it is some port or none.
    #[inline(always)]
    pub fn labelled(&self, first_port: u32, label: u32, hops: u8) -> PortId {
        let at = self.label_bits.wrapping_mul(u32::from(hops));
        let number = (u64::from(label) >> (at & 63)) as u32 & ((1u64 << self.label_bits) - 1) as u32;
        self.out.port(first_port.wrapping_add(number))
    }

    /// The ports a flow crosses from one host to another, by calling `visit` on each with its number at its node. False when
    /// there is no way.
    pub fn walk(&self, ports: &[Port], from: NodeId, to: NodeId, key: u32, mut visit: impl FnMut(PortId, u32)) -> bool {
        let mut at = from;
        // A shortest path visits no node twice.
        for _ in 0..self.nodes.len() {
            let Some(port) = self.next(ports, at, to, key) else {
                return false;
            };
            let (peer, number) = self.out.ends[port.ix()];
            visit(port, number);
            at = peer;
            if at == to {
                return true;
            }
        }
        false
    }
}

/// Which of `n` equal next hops a flow takes at a node: multiply-shift hashing with the node's own multiplier.
#[inline(always)]
fn pick(key: u32, seed: u64, n: u32) -> u32 {
    let hash = (key as u64).wrapping_mul(seed) >> 32;
    ((hash * n as u64) >> 32) as u32
}

/// How many groups share a column, as a power of two. One where the table is small: near the square root of the groups, a block
/// is a pod in a fat tree of a power of two.
fn block_shift(rows: u64, groups: u32, small: u64) -> u32 {
    if rows * u64::from(groups) <= small { 0 } else { groups.max(1).ilog2() / 2 }
}

/// Entries that the routes of a network have: nodes that choose, times groups of hosts with the same neighbours. Counted before
/// anything is allocated for them.
pub fn route_entries(graph: &Graph) -> u64 {
    let (rows, groups) = rows_and_groups(graph);
    rows * groups
}

/// Bytes of the table of routes that a network needs, about: a large table is kept in blocks, and how many of these tell their
/// groups apart is a guess that fits trees.
pub fn route_bytes(graph: &Graph) -> u64 {
    let (rows, groups) = rows_and_groups(graph);
    let shift = block_shift(rows, groups.try_into().unwrap_or(u32::MAX), SMALL);
    if shift == 0 { 4 * rows * groups } else { 8 * rows * groups.div_ceil(1 << shift) }
}

/// Rows of the table of routes, and groups of hosts.
fn rows_and_groups(graph: &Graph) -> (u64, u64) {
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
    (graph.names.len() as u64 - single, groups + others.len() as u64)
}

/// Bits for numbers below `n`.
fn bits_for(n: u32) -> u32 {
    u32::BITS - n.saturating_sub(1).leading_zeros()
}

/// The hash key of one direction of a flow.
pub fn key(a: u64, b: u64) -> u32 {
    (mix(a, b) >> 32) as u32
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topology::{Cable, Clos, Explicit, FatTree, NamedLink};

    fn built(graph: &Graph) -> (Routes, Vec<Port>) {
        let ports: Vec<Port> = graph
            .links
            .iter()
            .flat_map(|l| [Port::new(l.a, l.b, l.rate, l.delay), Port::new(l.b, l.a, l.rate, l.delay)])
            .collect();
        let nodes = graph.names.len() as u32;
        (Routes::build(&ports, graph.hosts, nodes, &Streams::new(1), 1500, 64), ports)
    }

    /// Next hops as shortest ways have them, by a search of its own: of each node to a host.
    fn shortest(graph: &Graph, ports: &[Port], to: u32) -> Vec<Vec<PortId>> {
        let distance = graph.distances_from(NodeId(to));
        let next = |node: u32| {
            let nearer = (0..).map(PortId).zip(ports).filter(|(_, port)| {
                let peer = port.peer;
                // Hosts do not forward.
                port.node.0 == node
                    && (peer.0 >= graph.hosts || peer.0 == to)
                    && distance[peer.ix()].wrapping_add(1) == distance[node as usize]
            });
            nearer.map(|(number, _)| number).collect()
        };
        (0..graph.node_count()).map(next).collect()
    }

    #[test]
    fn each_node_uses_all_its_shortest_ways_however_the_table_is_kept() {
        let link = Cable::new(Rate::from_gbps(10), Time::from_us(1));
        let mixed = |a: &str, b: &str, gbps| NamedLink::new(a, b, Rate::from_gbps(gbps), Time::from_us(gbps));
        // Hosts with two links, hosts beside each other, two links between the same switches.
        let explicit = Explicit {
            hosts: ["a", "b", "c", "d", "e"].map(String::from).to_vec(),
            switches: ["s", "t", "u"].map(String::from).to_vec(),
            links: vec![
                mixed("a", "s", 10),
                mixed("a", "t", 10),
                mixed("b", "s", 1),
                mixed("c", "s", 40),
                mixed("d", "u", 2),
                mixed("e", "u", 2),
                mixed("d", "e", 3),
                mixed("s", "t", 1),
                mixed("t", "u", 1),
                mixed("t", "u", 5),
            ],
        };
        for graph in [
            FatTree { k: 4, link }.build().unwrap(),
            FatTree { k: 6, link }.build().unwrap(),
            explicit.build().unwrap(),
        ] {
            let (_, ports) = built(&graph);
            let build = |small| {
                let nodes = graph.node_count();
                Routes::build_as(&ports, graph.hosts, nodes, &Streams::new(1), (1500, 64), small)
            };
            let (whole, in_blocks) = (build(u64::MAX), build(0));
            assert_eq!(whole.shift, 0);
            assert!(in_blocks.shift > 0 && !in_blocks.each.is_empty());
            let mut longest = Time::ZERO;
            for to in 0..graph.hosts {
                let expected = shortest(&graph, &ports, to);
                for (from, expected) in
                    (0..graph.node_count()).filter(|from| *from != to).zip(expected_of(&expected, to))
                {
                    let mut seen: Vec<PortId> = Vec::new();
                    for flow in 0..100 {
                        let next = whole.next(&ports, NodeId(from), NodeId(to), key(2, flow));
                        assert_eq!(next, in_blocks.next(&ports, NodeId(from), NodeId(to), key(2, flow)));
                        seen.extend(next);
                    }
                    seen.sort_unstable();
                    seen.dedup();
                    assert_eq!(seen, *expected, "from {from} to {to}");
                    let rtt =
                        |port: &Port| Time::from_ps(2 * port.delay.as_ps()) + port.tx_time(1500) + port.tx_time(64);
                    if from < graph.hosts {
                        let mut sum = Time::ZERO;
                        whole.walk(&ports, NodeId(from), NodeId(to), 0, |port, _| sum += rtt(&ports[port.ix()]));
                        longest = longest.max(sum);
                    }
                }
            }
            // Where equal ways differ in delay, the worst counts, which the walk may not have taken.
            assert!(whole.network_rtt >= longest);
            assert_eq!((whole.network_rtt, whole.network_bdp), (in_blocks.network_rtt, in_blocks.network_bdp));
        }
    }

    fn expected_of(all: &[Vec<PortId>], to: u32) -> impl Iterator<Item = &Vec<PortId>> {
        all.iter().enumerate().filter(move |(node, _)| *node != to as usize).map(|(_, ports)| ports)
    }

    #[test]
    fn a_host_alone_on_its_switch_has_no_way_to_itself() {
        let slow = |a: &str, b: &str, us| NamedLink::new(a, b, Rate::from_gbps(10), Time::from_us(us));
        let graph = Explicit {
            hosts: ["near", "far"].map(String::from).to_vec(),
            switches: ["s"].map(String::from).to_vec(),
            links: vec![slow("near", "s", 1), slow("far", "s", 100)],
        };
        let (routes, ports) = built(&graph.build().unwrap());
        let wire = ports[0].tx_time(1500) + ports[0].tx_time(64);
        assert_eq!(routes.network_rtt, Time::from_us(202) + wire + wire);
    }

    #[test]
    fn a_large_trees_table_grows_with_its_switches_times_its_pods() {
        let link = Cable::new(Rate::from_gbps(100), Time::from_us(1));
        let graph = FatTree { k: 32, link }.build().unwrap();
        let (routes, _) = built(&graph);
        // 512 racks, 1,280 switches: 655,360 pairs. A block is the 16 racks of a pod, and only its 32 switches tell them apart.
        assert_eq!(route_entries(&graph), 655_360);
        assert_eq!((routes.table.len(), routes.each.len()), (1281 * 32, 32 * 32 * 16));
        let bytes = 4 * (routes.table.len() + routes.each.len()) as u64;
        assert!((bytes..2 * bytes).contains(&route_bytes(&graph)), "{} of {bytes}", route_bytes(&graph));
    }

    #[test]
    fn the_table_is_as_large_as_announced() {
        for graph in [Clos::dart().build().unwrap(), Clos::hpcc().build().unwrap()] {
            let (routes, _) = built(&graph);
            // One row of them is that of all hosts with one link.
            assert_eq!((routes.table.len() - routes.blocks as usize) as u64, route_entries(&graph));
        }
        // 64 racks of 16 hosts, 64 + 64 + 16 switches.
        assert_eq!(route_entries(&Clos::dart().build().unwrap()), 64 * 144);
    }

    #[test]
    fn labels_lead_the_way_that_switches_would_choose() {
        let link = Cable::new(Rate::from_gbps(10), Time::from_us(1));
        let two_links = |a: &str, b: &str| NamedLink::new(a, b, Rate::from_gbps(10), Time::from_us(1));
        let explicit = Explicit {
            hosts: ["a", "b", "c"].map(String::from).to_vec(),
            switches: ["s", "t"].map(String::from).to_vec(),
            links: [("a", "s"), ("a", "t"), ("s", "t"), ("t", "s"), ("b", "s"), ("t", "b"), ("c", "t"), ("b", "c")]
                .map(|(a, b)| two_links(a, b))
                .to_vec(),
        };
        for graph in [FatTree { k: 6, link }.build().unwrap(), explicit.build().unwrap()] {
            let (routes, ports) = built(&graph);
            for (from, to) in (0..graph.hosts).flat_map(|from| (0..graph.hosts).map(move |to| (from, to))) {
                for flow in 0..if from == to { 0 } else { 20 } {
                    let course = routes.course(&ports, NodeId(from), NodeId(to), key(3, flow));
                    assert_ne!(course.label, Course::NO_LABEL, "three bits or less for at most five switches");
                    let mut hops = 0;
                    routes.walk(&ports, NodeId(from), NodeId(to), course.key, |port, _| {
                        if hops > 0 {
                            assert_eq!(
                                routes.labelled(routes.first_port(ports[port.ix()].node), course.label, hops - 1),
                                port
                            );
                        }
                        hops += 1;
                    });
                }
            }
        }
    }

    #[test]
    fn a_way_that_is_too_long_for_a_label_has_none() {
        let chain = |switches: u32| {
            let names: Vec<String> = (0..switches).map(|n| format!("s{n}")).collect();
            let link = |a: &str, b: &str| NamedLink::new(a, b, Rate::from_gbps(10), Time::from_us(1));
            let mut links: Vec<NamedLink> = names.windows(2).map(|pair| link(&pair[0], &pair[1])).collect();
            links.extend([link("a", &names[0]), link(&names[switches as usize - 1], "b")]);
            // Ten more hosts at the first switch: four bits for each port.
            let more: Vec<String> = (0..10).map(|n| format!("h{n}")).collect();
            links.extend(more.iter().map(|host| link(host, &names[0])));
            let hosts = ["a", "b"].map(String::from).into_iter().chain(more).collect();
            Explicit { hosts, switches: names, links }.build().unwrap()
        };
        for (switches, fits) in [(8, true), (9, false)] {
            let (routes, ports) = built(&chain(switches));
            let course = routes.course(&ports, NodeId(0), NodeId(1), 7);
            assert_eq!((course.key, course.label != Course::NO_LABEL), (7, fits), "{switches} switches");
        }
        assert_eq!([1, 2, 3, 16, 17, 8_000_000].map(bits_for), [0, 1, 2, 4, 5, 23], "of as many links as there may be");
        let (mut routes, ports) = built(&chain(1));
        // No way at all.
        routes.out = Out::new(&[], routes.nodes.len() as u32);
        assert_eq!(routes.course(&ports, NodeId(0), NodeId(1), 7), Course::unlabelled(7));
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
        let ends = |port: PortId| (ports[port.ix()].node.0, ports[port.ix()].peer.0);
        let mut seen: BTreeMap<Vec<(u32, u32)>, u32> = BTreeMap::new();
        for flow in 0..16_000 {
            let mut path = Vec::new();
            assert!(routes.walk(&ports, from, to, key(1, flow), |p, _| path.push(ends(p))));
            assert_eq!(path.len(), 6);
            let mut again = Vec::new();
            routes.walk(&ports, from, to, key(1, flow), |p, _| again.push(ends(p)));
            assert_eq!(path, again);
            *seen.entry(path).or_default() += 1;
        }
        // 4 aggregation switches times 4 cores, 1,000 flows each on average.
        assert_eq!(seen.len(), 16);
        assert!(seen.values().all(|n| (850..1150).contains(n)), "{:?}", seen.values());
    }
}
