//! Shortest paths by number of links, and equal-cost multi-path choice by a seeded hash per flow.

use crate::config::NetworkConfig;
use crate::packet::NextHop;
use crate::path::{FlowPath, SourceRoute};
use crate::port::PortIx;
use crate::topology::Graph;
use ecmp::{EcmpGroup, EcmpGroups, HERE, NONE};
use fanin_engine::Streams;
use fanin_units::{NodeId, PortId, Time};
use ports::{Access, Out};
use search::Search;
use std::collections::BTreeMap;
use tiers::Tiers;

mod ecmp;
mod ports;
mod search;
mod tiers;

pub use ports::Links;

/// The next hops of every node. Hosts with the same neighbours share their routes, so the table has a column per such
/// group and not per host. In a large network neighbouring groups share a column, too: most nodes have the same next
/// hops to all groups of a distant pod, and only the few nodes whose next hops differ have an entry for each. So the
/// table stays in the cache.
pub struct Routes {
    /// Columns of `table`: blocks of `1 << shift` groups.
    blocks: u32,
    shift: u32,
    nodes: Vec<Node>,
    hosts: Vec<Host>,
    /// Next hops by row and block: the number of an [`EcmpGroup`], or [`EACH`] and an index into `each` where the
    /// block's groups differ.
    table: Vec<u32>,
    /// The next hops to each group of a block, one after the other.
    each: Vec<u32>,
    ecmp: EcmpGroups,
    access: Access,
    /// The ports out of each node, which source routes number.
    out: Out,
    /// The same ports, as the partition of their node numbers them.
    rows: Vec<PortIx>,
    /// Bits per switch in a source route; too large where packets have no room for port numbers.
    bits: u32,
    /// As many bits, set.
    mask: u32,
    /// Whether the packets of a flow go the same way in both directions. Then both have the same key, and the way is
    /// that from the host with the lower number to the other one.
    symmetric: bool,
    /// Largest base round-trip time of any host pair.
    pub network_rtt: Time,
    /// Largest product of a host's line rate and its base round-trip time to any host, in bytes.
    pub network_bdp: u64,
}

/// A node in the table of routes.
#[derive(Clone, Copy)]
struct Node {
    /// Start of its row in the table. Hosts with one link share a row without paths.
    row: u32,
    one_link: bool,
    /// Odd multiplier of its hash.
    seed: u64,
}

/// A host in the table of routes.
#[derive(Clone, Copy)]
struct Host {
    group: u32,
    /// Its number within the group.
    rank: u32,
}

/// Set in the table where the groups of a block differ; the lower bits are then an index into `each`.
const EACH: u32 = 1 << 30;
/// Of an [`EcmpGroup`] to adjacent hosts with different numbers of links.
const UNEVEN: u32 = u32::MAX;
/// Bits per switch that no source route has room for.
const NO_ROOM: u32 = u32::BITS + 1;
/// Entries up to which each group has a column of its own: half a megabyte stays in the cache.
const SMALL: u64 = 1 << 17;

impl Routes {
    /// Finds all shortest paths over the links that are up. Base round-trip times are counted with the sizes of a data
    /// packet and of an ACK; `row` is how the partition of a port's node numbers it.
    pub fn build(links: Links<'_>, streams: &Streams, sizes: (u32, u32), row: impl Fn(PortId) -> PortIx) -> Self {
        Self::build_as(links, streams, sizes, row, SMALL)
    }

    /// As [`Self::build`]; `small` is the largest number of entries of a table with a column for each group.
    fn build_as(
        links: Links<'_>,
        streams: &Streams,
        sizes: (u32, u32),
        row: impl Fn(PortId) -> PortIx,
        small: u64,
    ) -> Self {
        let (hosts, nodes) = (links.hosts(), links.nodes());
        let out = Out::new(&links);
        let access = Access::new(&out, hosts);
        let (host_of, representative) = groups_of_hosts(&links, &out);
        let groups = representative.len() as u32;
        let has_row: Vec<u32> = (0..nodes).filter(|node| *node >= hosts || out.of(*node).len() != 1).collect();
        let rows = has_row.len() as u32;
        let shift = block_shift(u64::from(rows), groups, small);
        let blocks = groups.div_ceil(1 << shift);
        let node = |n: u32| Node { row: rows * blocks, one_link: true, seed: streams.word("ecmp", n as u64) | 1 };
        let most_ports = (hosts..nodes).map(|node| out.of(node).len() as u32).max();
        let fits = links.ports() as usize <= NextHop::PORTS;
        let bits = if fits { most_ports.map_or(0, bits_for) } else { NO_ROOM };
        let mut routes = Self {
            blocks,
            shift,
            nodes: (0..nodes).map(node).collect(),
            hosts: host_of,
            table: vec![links.ports(); (rows as usize + 1) * blocks as usize],
            each: Vec::new(),
            ecmp: EcmpGroups::of_ports(links.ports()),
            bits,
            mask: mask_of(bits),
            rows: out.all().iter().map(|port| row(*port)).collect(),
            access,
            out,
            symmetric: false,
            network_rtt: Time::ZERO,
            network_bdp: 0,
        };
        for (row, node) in (0..).zip(&has_row) {
            let node = &mut routes.nodes[*node as usize];
            (node.row, node.one_link) = (row * blocks, false);
        }
        routes.fill(links, &has_row, &representative, sizes);
        routes
    }

    /// Searches, and fills the table.
    fn fill(&mut self, links: Links<'_>, has_row: &[u32], representative: &[u32], sizes: (u32, u32)) {
        // The hosts of each group, in order.
        let mut of_group: Vec<Vec<u32>> = vec![Vec::new(); representative.len()];
        for (number, host) in (0..).zip(&self.hosts) {
            of_group[host.group as usize].push(number);
        }
        let Self { ecmp, access, out, table, each, .. } = self;
        let mut tiers = Tiers::of(links, out, has_row, sizes, ecmp);
        let mut search = tiers.is_none().then(|| Search::new(links, (out, access), has_row, sizes));
        let rows = has_row.len();
        // The columns of one block, one after the other, and in which rows they may differ.
        let (mut columns, mut touched): (Vec<u32>, Vec<bool>) = (Vec::new(), vec![tiers.is_none(); rows]);
        for block in 0..self.blocks as usize {
            columns.clear();
            let targets = representative.iter().skip(block << self.shift).take(1 << self.shift);
            for &target in targets {
                let start = columns.len();
                if let Some(tiers) = &mut tiers {
                    columns.extend_from_slice(&tiers.upwards);
                    tiers.column(target, ecmp, &mut columns[start..], |row| touched[row] = true);
                } else if let Some(search) = &mut search {
                    columns.resize(start + rows, NONE);
                    search.column(target, ecmp, &mut columns[start..]);
                }
            }
            // Writes them into the table: one entry for all groups of the block where they are alike.
            let groups = &of_group[block << self.shift..];
            for (row, node) in has_row.iter().enumerate() {
                if let Some(tiers) = &tiers
                    && !core::mem::take(&mut touched[row])
                {
                    let upwards = tiers.upwards[row];
                    table[row * self.blocks as usize + block] = group_of(upwards, *node, &groups[0], ecmp, access, out);
                    continue;
                }
                let found = || columns[row..].iter().step_by(rows).copied();
                let (first, one_group) = (columns[row], columns.len() == rows);
                table[row * self.blocks as usize + block] = if found().all(|of| of == first)
                    && (one_group || first != HERE)
                {
                    group_of(first, *node, &groups[0], ecmp, access, out)
                } else {
                    let place = each.len() as u32;
                    each.extend(found().zip(groups).map(|(of, hosts)| group_of(of, *node, hosts, ecmp, access, out)));
                    EACH | place
                };
            }
        }
        let farthest = tiers.map(|tiers| tiers.farthest).or(search.map(|search| search.farthest));
        (self.network_rtt, self.network_bdp) = farthest.unwrap_or_default();
    }

    /// The same routes as the packets of a network choose among them: symmetric if so desired, and without source
    /// routes where packets of a flow do not take one path.
    pub fn used_as(mut self, config: &NetworkConfig) -> Self {
        self.symmetric = config.symmetric;
        if config.balancing.is_at_switches() {
            (self.bits, self.mask) = (NO_ROOM, mask_of(NO_ROOM));
        }
        self
    }

    /// The port by which a packet for host `to` leaves host `from`, or `None` without a path.
    #[inline]
    pub fn next(&self, from: NodeId, to: NodeId, key: u32) -> Option<PortId> {
        if self.symmetric && from > to {
            let port = self.way_back(from, (from, to), key);
            return (port != PortId::NONE).then_some(port);
        }
        self.next_by_hash(from, to, key)
    }

    /// The same for a switch, with `PortId::NONE` for no path; `from` is the host that sent the packet.
    #[inline(always)]
    pub fn next_at(&self, node: NodeId, (from, to): (NodeId, NodeId), key: u32) -> PortId {
        if self.symmetric && from > to {
            return self.way_back(node, (from, to), key);
        }
        self.next_hop(node, to, key)
    }

    /// [`Self::next_at`] for the reverse of the path from `to` to `from`. Off that path, as when routes have just
    /// changed, each hop still gets closer to the destination.
    #[inline(never)]
    fn way_back(&self, node: NodeId, (from, to): (NodeId, NodeId), key: u32) -> PortId {
        let mut found = PortId::NONE;
        self.walk_by_hash(to, from, key, |port, _| {
            if self.out.ends[port.ix()].0 == node {
                found = port.reverse();
            }
        });
        if found == PortId::NONE { self.next_by_hash(node, to, key).unwrap_or(PortId::NONE) } else { found }
    }

    #[inline]
    fn next_by_hash(&self, node: NodeId, to: NodeId, key: u32) -> Option<PortId> {
        if self.nodes[node.ix()].one_link {
            return self.out.of(node.0).first().copied();
        }
        let port = self.next_hop(node, to, key);
        (port != PortId::NONE).then_some(port)
    }

    /// The same as [`Self::next`], mostly by the only link of the host.
    #[inline(always)]
    pub fn out_of_host(&self, host: NodeId, to: NodeId, key: u32) -> Option<PortId> {
        match self.out.of(host.0) {
            [only] => Some(*only),
            _ => self.next(host, to, key),
        }
    }

    /// The port by which the hash of `key` leads from a switch to a host, with `PortId::NONE` for no path; hosts with
    /// one link have none here. It does not branch on the kind of group, which is unpredictable.
    #[inline(always)]
    fn next_hop(&self, node: NodeId, to: NodeId, key: u32) -> PortId {
        let EcmpGroup { start, n, each } = self.group(node, to);
        if each == UNEVEN {
            return self.uneven(node, to, key);
        }
        let (seed, rank) = (self.nodes[node.ix()].seed, self.hosts[to.ix()].rank);
        self.ecmp.members[(start + pick(key, seed, n) + rank * each) as usize]
    }

    /// The next hops from a switch to the group of a host.
    #[inline(always)]
    fn group(&self, node: NodeId, to: NodeId) -> EcmpGroup {
        let (row, group) = (self.nodes[node.ix()].row, self.hosts[to.ix()].group);
        let mut set = self.table[row as usize + (group >> self.shift) as usize];
        if set & EACH != 0 {
            let within = group & ((1 << self.shift) - 1);
            set = self.each[(set & !EACH) as usize + within as usize];
        }
        self.ecmp.groups[set as usize]
    }

    /// All ports by which a packet may leave a switch for a host, in order of their numbers; into an empty list.
    pub fn equal(&self, node: NodeId, to: NodeId, into: &mut Vec<PortId>) {
        let EcmpGroup { start, n, each } = self.group(node, to);
        if each == UNEVEN {
            into.extend(self.links_to(node, to));
            return;
        }
        let start = (start + self.hosts[to.ix()].rank * each) as usize;
        into.extend_from_slice(&self.ecmp.members[start..start + n as usize]);
    }

    /// One of several links to an adjacent host.
    #[cold]
    fn uneven(&self, node: NodeId, to: NodeId, key: u32) -> PortId {
        let here = || self.links_to(node, to);
        let picked = pick(key, self.nodes[node.ix()].seed, here().count() as u32);
        here().nth(picked as usize).unwrap_or(PortId::NONE)
    }

    /// The links of a switch to an adjacent host.
    fn links_to(&self, node: NodeId, to: NodeId) -> impl Iterator<Item = PortId> {
        self.access.of(to.0).iter().copied().filter(move |port| self.out.node(*port) == node)
    }

    /// The path of flows with this key from one host to another.
    pub fn path(&self, from: NodeId, to: NodeId, key: u32) -> FlowPath {
        let mut route = self.source_route();
        let reaches = self.walk(from, to, key, |_, number| route.add(number));
        FlowPath { key, source_route: route.finish(reaches) }
    }

    /// A source route that is still empty.
    pub fn source_route(&self) -> SourceRoute {
        SourceRoute::new(self.bits)
    }

    /// Whether a node has one port.
    pub fn has_one_port(&self, node: NodeId) -> bool {
        self.out.first(NodeId(node.0 + 1)) - self.out.first(node) == 1
    }

    /// The key of a node in [`Routes::routed`].
    pub fn first_port(&self, node: NodeId) -> u32 {
        self.out.first(node)
    }

    /// The port by which a packet with this source route leaves a node after `hops` links; the node is given by
    /// [`Routes::first_port`], and the port as the node's partition numbers it. Without a source route, the result is
    /// unspecified.
    #[inline(always)]
    pub fn routed(&self, first_port: u32, source_route: u32, hops: u8) -> PortIx {
        let at = self.bits.wrapping_mul(u32::from(hops));
        let number = (u64::from(source_route) >> (at & 63)) as u32 & self.mask;
        self.rows.get(first_port.wrapping_add(number) as usize).copied().unwrap_or(PortIx::NONE)
    }

    /// The ports a flow crosses from one host to another, by calling `visit` on each with its number at its node. False
    /// without a path.
    pub fn walk(&self, from: NodeId, to: NodeId, key: u32, mut visit: impl FnMut(PortId, u32)) -> bool {
        if !self.symmetric || from < to {
            return self.walk_by_hash(from, to, key, visit);
        }
        let mut ports = Vec::new();
        let reaches = self.walk_by_hash(to, from, key, |port, _| ports.push(port.reverse()));
        for port in ports.into_iter().rev().take(if reaches { usize::MAX } else { 0 }) {
            visit(port, self.out.ends[port.ix()].1);
        }
        reaches
    }

    fn walk_by_hash(&self, from: NodeId, to: NodeId, key: u32, mut visit: impl FnMut(PortId, u32)) -> bool {
        let mut at = from;
        // A shortest path visits no node twice.
        for _ in 0..self.nodes.len() {
            let Some(port) = self.next_by_hash(at, to, key) else {
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

/// How many groups share a column, as a power of two. One where the table is small: near the square root of the groups,
/// a block is a pod in a fat tree of a power of two.
fn block_shift(rows: u64, groups: u32, small: u64) -> u32 {
    if rows * u64::from(groups) <= small { 0 } else { groups.max(1).ilog2() / 2 }
}

/// Entries that the routes of a network have: nodes that choose, times groups of hosts with the same neighbours.
/// Counted before anything is allocated for them.
pub fn route_entries(graph: &Graph) -> u64 {
    let (rows, groups) = rows_and_groups(graph);
    rows * groups
}

/// Bytes of the table of routes that a network needs, about: a large table is kept in blocks, and the number of blocks
/// whose groups differ is an estimate for trees.
pub fn route_bytes(graph: &Graph) -> u64 {
    let (rows, groups) = rows_and_groups(graph);
    let shift = block_shift(rows, groups.try_into().unwrap_or(u32::MAX), SMALL);
    if shift == 0 { 4 * rows * groups } else { 8 * rows * groups.div_ceil(1 << shift) }
}

/// Rows of the table of routes, and groups of hosts.
fn rows_and_groups(graph: &Graph) -> (u64, u64) {
    let adjacency = graph.adjacency();
    // Hosts with one link are many: their switches are marked, and only others are sorted.
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

/// The lowest bits set, so many.
fn mask_of(bits: u32) -> u32 {
    ((1u64 << bits) - 1) as u32
}

/// Bits for numbers below `n`.
fn bits_for(n: u32) -> u32 {
    u32::BITS - n.saturating_sub(1).leading_zeros()
}

/// The group of each host, and a host of each group: hosts with the same neighbours are one.
fn groups_of_hosts(links: &Links<'_>, out: &Out) -> (Vec<Host>, Vec<u32>) {
    let mut by_neighbours: BTreeMap<Vec<NodeId>, u32> = BTreeMap::new();
    let mut host_of: Vec<Host> = Vec::with_capacity(links.hosts() as usize);
    let (mut sizes, mut representative): (Vec<u32>, Vec<u32>) = (Vec::new(), Vec::new());
    let mut neighbours: Vec<NodeId> = Vec::new();
    for host in 0..links.hosts() {
        neighbours.clear();
        neighbours.extend(out.of(host).iter().map(|port| links.peer(*port)));
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
    (host_of, representative)
}

/// The number of the group of next hops from a node to the hosts of a group that the search found.
fn group_of(found: u32, node: u32, hosts: &[u32], ecmp: &mut EcmpGroups, access: &Access, out: &Out) -> u32 {
    match found {
        NONE => out.ends.len() as u32,
        HERE => {
            let start = ecmp.members.len() as u32;
            let mut each = None;
            for host in hosts {
                let before = ecmp.members.len();
                ecmp.members.extend(access.of(*host).iter().filter(|port| out.node(**port).0 == node));
                let links = (ecmp.members.len() - before) as u32;
                each = Some(each.map_or(links, |each| if each == links { links } else { UNEVEN }));
            }
            let each = each.unwrap_or(0);
            ecmp.groups.push(EcmpGroup { start, n: each, each });
            ecmp.groups.len() as u32 - 1
        }
        group => group,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::path::key;
    use crate::topology::{Cable, Clos, Explicit, FatTree, LeafSpine, NamedLink};
    use fanin_units::Rate;

    fn built(graph: &Graph) -> (Routes, Links<'_>) {
        built_as(graph, SMALL)
    }

    fn built_as(graph: &Graph, small: u64) -> (Routes, Links<'_>) {
        let links = Links::new(graph, &[]);
        (Routes::build_as(links, &Streams::new(1), (1500, 64), |port| PortIx(port.0), small), links)
    }

    /// Next hops of each node to a host on shortest paths, by an independent search.
    fn shortest(graph: &Graph, links: &Links<'_>, to: u32) -> Vec<Vec<PortId>> {
        let distance = graph.distances_from(NodeId(to));
        let next = |node: u32| {
            let nearer = (0..links.ports()).map(PortId).filter(|port| {
                let peer = links.peer(*port);
                // Hosts do not forward.
                links.node(*port).0 == node
                    && (peer.0 >= graph.hosts || peer.0 == to)
                    && distance[peer.ix()].wrapping_add(1) == distance[node as usize]
            });
            nearer.collect()
        };
        (0..graph.node_count()).map(next).collect()
    }

    #[test]
    fn inside_a_server_nvlink_wins_and_a_leaf_without_uplinks_is_none() {
        let link = |a: &str, b: &str| NamedLink::new(a, b, Rate::from_gbps(10), Time::from_us(1));
        let nodes = |names: &[&str]| names.iter().map(|name| name.to_string()).collect::<Vec<_>>();
        let mut links = vec![link("leaf0", "spine"), link("leaf1", "spine"), link("far", "spine")];
        for gpu in ["g0", "g1"] {
            links.extend([link(gpu, "leaf0"), link(gpu, "leaf1")]);
        }
        let switches = nodes(&["leaf0", "leaf1", "spine"]);
        let leaves = Explicit { hosts: nodes(&["g0", "g1", "far"]), switches: switches.clone(), links: links.clone() };
        let of_g0 = |graph: &Graph, down: &[bool]| {
            let links = Links::new(graph, down);
            let routes = Routes::build_as(links, &Streams::new(1), (1500, 64), |port| PortIx(port.0), SMALL);
            let mut ports = Vec::new();
            routes.equal(NodeId(0), NodeId(1), &mut ports);
            ports.into_iter().map(|port| graph.names[links.peer(port).ix()].clone()).collect::<Vec<_>>()
        };
        let graph = leaves.build().unwrap();
        assert_eq!(of_g0(&graph, &[]), ["leaf0", "leaf1"]);
        // Its only way to other switches is down, and it is as near as before.
        assert_eq!(of_g0(&graph, &[true]), ["leaf0", "leaf1"]);
        links.extend([link("g0", "nv"), link("g1", "nv")]);
        let with_nv = Explicit { switches: [switches, nodes(&["nv"])].concat(), links, ..leaves };
        let graph = with_nv.build().unwrap();
        assert_eq!([of_g0(&graph, &[]), of_g0(&graph, &[true])], [["nv"], ["nv"]]);
    }

    #[test]
    fn each_node_uses_all_its_shortest_ways_however_the_table_is_kept() {
        let link = Cable::new(Rate::from_gbps(10), Time::from_us(1));
        let mixed = |a: &str, b: &str, gbps| NamedLink::new(a, b, Rate::from_gbps(gbps), Time::from_us(gbps));
        // Hosts with two links, adjacent hosts, two links between the same switches.
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
            let (_, links) = built(&graph);
            let (whole, in_blocks) = (built_as(&graph, u64::MAX).0, built_as(&graph, 0).0);
            assert_eq!(whole.shift, 0);
            assert!(in_blocks.shift > 0 && !in_blocks.each.is_empty());
            let mut longest = Time::ZERO;
            for to in 0..graph.hosts {
                let expected = shortest(&graph, &links, to);
                for (from, expected) in
                    (0..graph.node_count()).filter(|from| *from != to).zip(expected_of(&expected, to))
                {
                    let mut seen: Vec<PortId> = Vec::new();
                    for flow in 0..100 {
                        let next = whole.next(NodeId(from), NodeId(to), key(2, flow));
                        assert_eq!(next, in_blocks.next(NodeId(from), NodeId(to), key(2, flow)));
                        seen.extend(next);
                    }
                    seen.sort_unstable();
                    seen.dedup();
                    assert_eq!(seen, *expected, "from {from} to {to}");
                    if from < graph.hosts {
                        let mut sum = Time::ZERO;
                        whole.walk(NodeId(from), NodeId(to), 0, |port, _| {
                            sum += links.round_trip(port, (1500, 64));
                        });
                        longest = longest.max(sum);
                    }
                }
            }
            // Where equal-cost paths differ in delay, the longest counts, which the walk may not have taken.
            assert!(whole.network_rtt >= longest);
            assert_eq!((whole.network_rtt, whole.network_bdp), (in_blocks.network_rtt, in_blocks.network_bdp));
        }
    }

    fn expected_of(all: &[Vec<PortId>], to: u32) -> impl Iterator<Item = &Vec<PortId>> {
        all.iter().enumerate().filter(move |(node, _)| *node != to as usize).map(|(_, ports)| ports)
    }

    #[test]
    fn networks_in_tiers_have_the_routes_of_a_search() {
        let link = Cable::new(Rate::from_gbps(10), Time::from_us(1));
        let leaf_spine = LeafSpine { leaves: 3, hosts: 1, spines: 2, host_link: link, fabric_link: link };
        // Two links between each switch and the next above.
        let parallel =
            Clos { pods: 2, tors: 2, hosts: 2, uplinks: 4, aggs: 2, agg_uplinks: 2, cores: 1, ..Clos::hpcc() };
        for graph in [
            FatTree { k: 4, link }.build(),
            FatTree { k: 6, link }.build(),
            leaf_spine.build(),
            parallel.build(),
            Clos::hpcc().build(),
        ] {
            let graph = graph.unwrap();
            let (searched, whole) = (Links::new(&graph, &[false]), Links::new(&graph, &[]));
            let mut ecmp = EcmpGroups::of_ports(whole.ports());
            assert!(Tiers::of(whole, &Out::new(&whole), &[], (1500, 64), &mut ecmp).is_some(), "{graph:?}");
            assert!(Tiers::of(searched, &Out::new(&searched), &[], (1500, 64), &mut ecmp).is_none());
            for small in [0, u64::MAX] {
                let build = |links| Routes::build_as(links, &Streams::new(1), (1500, 64), |port| PortIx(port.0), small);
                let (searched, tiers) = (build(searched), build(whole));
                for (from, to) in (0..graph.node_count()).flat_map(|from| (0..graph.hosts).map(move |to| (from, to))) {
                    if from != to {
                        let next =
                            |routes: &Routes| routes.next(NodeId(from), NodeId(to), key(2, u64::from(from ^ to)));
                        assert_eq!(next(&tiers), next(&searched), "from {from} to {to}");
                    }
                }
                assert_eq!((tiers.network_rtt, tiers.network_bdp), (searched.network_rtt, searched.network_bdp));
                assert_eq!(tiers.each.len(), searched.each.len());
            }
        }
    }

    #[test]
    fn a_host_alone_on_its_switch_has_no_way_to_itself() {
        let slow = |a: &str, b: &str, us| NamedLink::new(a, b, Rate::from_gbps(10), Time::from_us(us));
        let graph = Explicit {
            hosts: ["near", "far"].map(String::from).to_vec(),
            switches: ["s"].map(String::from).to_vec(),
            links: vec![slow("near", "s", 1), slow("far", "s", 100)],
        };
        let graph = graph.build().unwrap();
        let (routes, links) = built(&graph);
        let wire = links.round_trip(PortId(0), (1500, 64)) - Time::from_us(2);
        assert_eq!(routes.network_rtt, Time::from_us(202) + wire + wire);
    }

    #[test]
    fn a_large_trees_table_grows_with_its_switches_times_its_pods() {
        let link = Cable::new(Rate::from_gbps(100), Time::from_us(1));
        let graph = FatTree { k: 32, link }.build().unwrap();
        let (routes, _) = built(&graph);
        // 512 racks, 1,280 switches: 655,360 pairs. A block is the 16 racks of a pod, and only its 32 switches have
        // different next hops to them.
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
    fn source_routes_lead_where_switches_would_choose() {
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
            let (routes, links) = built(&graph);
            for (from, to) in (0..graph.hosts).flat_map(|from| (0..graph.hosts).map(move |to| (from, to))) {
                for flow in 0..if from == to { 0 } else { 20 } {
                    let path = routes.path(NodeId(from), NodeId(to), key(3, flow));
                    assert_ne!(path.source_route, FlowPath::NO_ROUTE, "three bits or less for at most five switches");
                    let mut hops = 0;
                    routes.walk(NodeId(from), NodeId(to), path.key, |port, _| {
                        if hops > 0 {
                            assert_eq!(
                                routes.routed(routes.first_port(links.node(port)), path.source_route, hops - 1),
                                PortIx(port.0)
                            );
                        }
                        hops += 1;
                    });
                }
            }
        }
    }

    #[test]
    fn a_path_that_is_too_long_has_no_source_route() {
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
            let graph = chain(switches);
            let (routes, _) = built(&graph);
            let path = routes.path(NodeId(0), NodeId(1), 7);
            assert_eq!((path.key, path.source_route != FlowPath::NO_ROUTE), (7, fits), "{switches} switches");
        }
        assert_eq!([1, 2, 3, 16, 17, 8_000_000].map(bits_for), [0, 1, 2, 4, 5, 23], "of as many links as there may be");
        let chain = chain(1);
        let (mut routes, _) = built(&chain);
        // No path at all.
        routes.out = Out::new(&Links::new(&chain, &[true; 20]));
        assert_eq!(routes.path(NodeId(0), NodeId(1), 7), FlowPath::by_hash(7));
    }

    #[test]
    fn darts_longest_round_trip_is_60_us_of_delay_and_twelve_packets() {
        let (routes, _) = built(&Clos::dart().build().unwrap());
        // 6 links of 5 us in each direction, a full packet over each forward and an ACK over each back.
        let wire = Rate::from_gbps(10).tx_time(1500).as_ps() + Rate::from_gbps(10).tx_time(64).as_ps();
        assert_eq!(routes.network_rtt, Time::from_ps(60_000_000 + 6 * wire));
        assert_eq!(routes.network_bdp, Rate::from_gbps(10).bytes_in(routes.network_rtt));
    }

    #[test]
    fn flows_spread_evenly_over_equal_paths_and_stay_on_theirs() {
        let link = Cable::new(Rate::from_gbps(10), Time::from_us(1));
        let graph = FatTree { k: 8, link }.build().unwrap();
        let (routes, links) = built(&graph);
        let (from, to) = (NodeId(0), NodeId(graph.hosts - 1));
        let ends = |port: PortId| (links.node(port).0, links.peer(port).0);
        let mut seen: BTreeMap<Vec<(u32, u32)>, u32> = BTreeMap::new();
        for flow in 0..16_000 {
            let mut path = Vec::new();
            assert!(routes.walk(from, to, key(1, flow), |p, _| path.push(ends(p))));
            assert_eq!(path.len(), 6);
            let mut again = Vec::new();
            routes.walk(from, to, key(1, flow), |p, _| again.push(ends(p)));
            assert_eq!(path, again);
            *seen.entry(path).or_default() += 1;
        }
        // 4 aggregation switches times 4 cores, 1,000 flows each on average.
        assert_eq!(seen.len(), 16);
        assert!(seen.values().all(|n| (850..1150).contains(n)), "{:?}", seen.values());
    }
}
