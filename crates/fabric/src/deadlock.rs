//! Deadlock freedom of a lossless lane: the channel dependency graph of the escape lane.
//!
//! A channel is one direction of a link in one lane. Packets that crossed channel a→b hold buffer of b in that lane's
//! account, wait in b's egress queues, and so wait for the next channels b→c. Without a cycle of such dependencies, the
//! channels can be numbered so that each waits for higher numbers only. The highest ones lead to switches from which
//! their packets go to hosts, and hosts always accept packets. So every lane without a cycle drains, however small the
//! buffers are (Dally and Seitz 1987, for packets instead of flits).
//!
//! # The escape lane
//! Packets in Dart's lane 0 are never deflected: they follow shortest paths to their destination (Dart IV-B). All
//! shortest paths count here, not only those selected by the hash of a flow. A message that enters lane 0 may come from
//! anywhere: hosts inject long messages into it, and a deflected short one can enter at any switch, with any
//! destination. So for each destination the paths from *all* switches count, also from switches on no shortest path
//! between two hosts.
//!
//! Channels from and to hosts are left out: the former depend on no channel before them and the latter on none after,
//! so neither is on a cycle.
//!
//! # Lane 1, and the extended graph
//! Messages in lane 1 may take any path, and its own graph has cycles in most networks. Duato's theory allows that if
//! from every place a blocked packet can take a channel of a connected set of escape channels whose *extended*
//! dependency graph has no cycle (Duato 1993, theorem 1). That graph has the direct dependencies between escape
//! channels, and those of packets that leave an escape channel, cross others, and enter an escape channel again. Here
//! no packet leaves lane 0 once in it, so there are none of the latter, and as the lanes share no channel, no channel
//! is an escape for one destination and not for another. There remain direct dependencies of all packets that may be in
//! lane 0. With moves from lane 1 to lane 0 at any switch (`blocked = duato`) these are packets that entered at any
//! switch for any host, all of them counted here already: the extended graph *is* the graph of [`prove`]. The set is
//! connected, since every switch that has a path to a host has a shortest one.
//!
//! # Limits of the proof
//! * With `blocked = stay` (row D14) a packet in lane 1 has no escape before its tokens are spent. Lane 0 drains; lane
//!   1 is *not* proven to, and with buffers of a few packets it does not (`crates/fabric/tests/deadlock.rs`).
//! * With `blocked = duato` the theory asks for an escape as long as a packet waits. A message that moves as a whole,
//!   from its start packet on, has one only at the moment when that packet arrives, and only where the table has room.
//!   Packets queued in lane 1 before the pause arrives, and packets whose start packet has already left in lane 1, keep
//!   waiting. The acyclic graph is needed for a proof there, but it is *not* enough: such deadlocks are rarer, and they
//!   happen.
//! * With a single lane there is no escape lane.
//! * A packet that changes lanes at a switch must hold buffer there in the account of the lane in which it *arrived*,
//!   or a→b in lane 0 waits for packets that arrived by a misroute and the graph is that of [`Entry::OnLastMisroute`].
//!   The fabric accounts for them so (`ingress_class` of a queued packet).
//! * Links that go down change the shortest paths: prove the graph without them. A Clos without one link holds, without
//!   two it may not.
//!
//! Cycles that are not excluded here are detected at run time: [`crate::Totals::circular_waits`] counts them, and
//! [`crate::Simulation::circular_wait`] lists the queues of one.

use crate::topology::{Adjacency, Graph, UpDown};
pub use fanin_cc::EscapeEntry as Entry;
use fanin_units::{NodeId, PortId};
use std::collections::{BTreeSet, VecDeque};
use std::fmt;

/// Whether the lane's dependency graph has a cycle.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It has none.
    Acyclic {
        /// Channels between switches that the lane uses.
        channels: u64,
        /// Dependencies: pairs of channels of which the first may wait for the second.
        dependencies: u64,
    },
    /// It has one: each of these ports may wait for the next one, and the last one for the first. No cycle through the
    /// first is shorter.
    Cyclic(Vec<PortId>),
}

/// The result of [`prove`]. Its text is one line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// The rule by which messages enter the lane.
    pub entry: Entry,
    /// Whether its dependency graph has a cycle.
    pub verdict: Verdict,
    /// Names of the nodes around the cycle: the owners of the ports.
    pub around: Vec<String>,
}

impl Report {
    /// Whether the escape lane is proven to drain.
    pub fn holds(&self) -> bool {
        matches!(self.verdict, Verdict::Acyclic { .. })
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let entered = match self.entry {
            Entry::AfterLastMisroute => "after the last misroute",
            Entry::OnLastMisroute { last_hop: false } => "on the last misroute",
            Entry::OnLastMisroute { last_hop: true } => "on the last misroute, last hops too",
        };
        write!(f, "escape lane entered {entered}: ")?;
        match &self.verdict {
            Verdict::Acyclic { channels, dependencies } => {
                write!(f, "acyclic, {channels} channels between switches, {dependencies} dependencies")
            }
            Verdict::Cyclic(_) => {
                write!(f, "cyclic, ")?;
                self.around.iter().try_for_each(|name| write!(f, "{name} > "))?;
                f.write_str(self.around.first().map_or("", String::as_str))
            }
        }
    }
}

/// Whether the escape lane of a network, with all links up, has a cycle of dependencies. Takes one search per group of
/// hosts with the same neighbours.
pub fn prove(graph: &Graph, entry: Entry) -> Report {
    let adjacency = graph.adjacency();
    let mut lane = Lane::new(graph, &adjacency);
    let mut known = BTreeSet::new();
    for host in (0..graph.hosts).map(NodeId) {
        let mut neighbours: Vec<NodeId> = adjacency.of(host).iter().map(|(_, peer)| *peer).collect();
        neighbours.sort_unstable();
        neighbours.dedup();
        if known.insert(neighbours) {
            lane.add(&adjacency.distances_from(host), entry);
        }
    }
    let verdict = lane.verdict();
    let around = match &verdict {
        Verdict::Cyclic(ports) => ports.iter().map(|p| graph.names[lane.node[p.ix()].ix()].clone()).collect(),
        Verdict::Acyclic { .. } => Vec::new(),
    };
    Report { entry, verdict, around }
}

/// Whether the network has tiers, so that a lane that follows shortest paths has no cycle of dependencies: a packet
/// that goes down goes on down. [`prove`] finds the same with a search for each group of hosts.
pub fn in_tiers(graph: &Graph) -> bool {
    UpDown::of(graph).is_some()
}

/// Edges after which the search for the shortest cycle settles for any cycle.
const PATIENCE: u64 = 1 << 22;

/// Channels of a lane between switches and their dependencies. Parallel links have the same dependencies, so the first
/// stands for all.
struct Lane {
    hosts: u32,
    /// Egress ports to switches, one to each, per switch a range.
    out: Vec<PortId>,
    out_of: Vec<(u32, u32)>,
    /// How many parallel links each port stands for.
    stands_for: Vec<u64>,
    /// The sending and the receiving node of each port.
    node: Vec<NodeId>,
    peer: Vec<NodeId>,
    /// Whether the lane uses a port.
    used: Vec<bool>,
    /// For each port between switches, a row of bits: the ports out of its receiving node that it may wait for.
    rows: Vec<u64>,
    row_of: Vec<(usize, usize)>,
}

impl Lane {
    fn new(graph: &Graph, adjacency: &Adjacency) -> Self {
        let ports = graph.links.len() * 2;
        let (mut node, mut peer) = (Vec::with_capacity(ports), Vec::with_capacity(ports));
        for link in &graph.links {
            node.extend([link.a, link.b]);
            peer.extend([link.b, link.a]);
        }
        let (mut out, mut out_of, mut stands_for) = (Vec::new(), Vec::new(), vec![0; ports]);
        let mut first_to = vec![(NodeId::NONE, PortId::NONE); graph.node_count() as usize];
        for switch in (graph.hosts..graph.node_count()).map(NodeId) {
            let start = out.len() as u32;
            for (port, to) in adjacency.of(switch).iter().filter(|(_, to)| !graph.is_host(*to)) {
                let first = &mut first_to[to.ix()];
                if first.0 != switch {
                    *first = (switch, *port);
                    out.push(*port);
                }
                stands_for[first.1.ix()] += 1;
            }
            out_of.push((start, out.len() as u32));
        }
        let mut words = 0;
        let row_of = (0..ports)
            .map(|p| {
                let start = words;
                let between = !graph.is_host(node[p]) && !graph.is_host(peer[p]);
                if between {
                    let (first, end) = out_of[peer[p].ix() - graph.hosts as usize];
                    words += (end - first).div_ceil(64) as usize;
                }
                (start, words)
            })
            .collect();
        let used = vec![false; ports];
        Self { hosts: graph.hosts, out, out_of, stands_for, node, peer, used, rows: vec![0; words], row_of }
    }

    /// The ports from a switch to switches.
    fn out(&self, switch: NodeId) -> &[PortId] {
        let (first, end) = self.out_of[switch.ix() - self.hosts as usize];
        &self.out[first as usize..end as usize]
    }

    /// Adds the dependencies of packets to one group of hosts, given the distance of every node from these.
    fn add(&mut self, distance: &[u32], entry: Entry) {
        // Nodes up to this distance from the destination may misroute.
        let misroutes_from = match entry {
            Entry::AfterLastMisroute => u32::MAX,
            Entry::OnLastMisroute { last_hop: false } => 2,
            Entry::OnLastMisroute { last_hop: true } => 1,
        };
        let mut ways = Vec::new();
        for switch in (self.hosts..self.hosts + self.out_of.len() as u32).map(NodeId) {
            let here = distance[switch.ix()];
            if here == u32::MAX {
                continue;
            }
            let ports = self.out_of[switch.ix() - self.hosts as usize];
            ways.clear();
            ways.resize((ports.1 - ports.0).div_ceil(64) as usize, 0u64);
            for (slot, port) in (ports.0..ports.1).map(|i| self.out[i as usize]).enumerate() {
                let minimal = distance[self.peer[port.ix()].ix()] + 1 == here;
                if minimal {
                    ways[slot / 64] |= 1 << (slot % 64);
                }
                self.used[port.ix()] |= minimal || here >= misroutes_from;
            }
            for port in (ports.0..ports.1).map(|i| self.out[i as usize].reverse()) {
                let before = distance[self.node[port.ix()].ix()];
                if before == here + 1 || before >= misroutes_from {
                    let (start, end) = self.row_of[port.ix()];
                    self.rows[start..end].iter_mut().zip(&ways).for_each(|(row, ways)| *row |= ways);
                }
            }
        }
    }

    /// The ports for which a port may wait.
    fn behind(&self, port: PortId) -> impl Iterator<Item = PortId> + '_ {
        let (start, end) = self.row_of[port.ix()];
        let out = if start < end { self.out(self.peer[port.ix()]) } else { &[] };
        let bits = |word: u64| {
            let mut left = word;
            std::iter::from_fn(move || {
                let bit = (left != 0).then(|| left.trailing_zeros() as usize)?;
                left &= left - 1;
                Some(bit)
            })
        };
        let words = self.rows[start..end].iter().enumerate();
        words.flat_map(move |(i, word)| bits(*word).map(move |bit| out[64 * i + bit]))
    }

    fn verdict(&self) -> Verdict {
        // Removes ports that no port waits for until none is left, or each remaining port has a predecessor.
        let mut waiting = vec![0u32; self.used.len()];
        let mut dependencies = 0;
        for port in &self.out {
            for next in self.behind(*port) {
                waiting[next.ix()] += 1;
                dependencies += self.stands_for[port.ix()] * self.stands_for[next.ix()];
            }
        }
        let mut free: Vec<PortId> = self.out.iter().copied().filter(|p| waiting[p.ix()] == 0).collect();
        let mut done = 0;
        while let Some(port) = free.pop() {
            done += 1;
            for next in self.behind(port) {
                waiting[next.ix()] -= 1;
                if waiting[next.ix()] == 0 {
                    free.push(next);
                }
            }
        }
        if done == self.out.len() {
            let channels = self.out.iter().filter(|p| self.used[p.ix()]).map(|p| self.stands_for[p.ix()]).sum();
            return Verdict::Acyclic { channels, dependencies };
        }
        let left: Vec<PortId> = self.out.iter().copied().filter(|p| waiting[p.ix()] != 0).collect();
        Verdict::Cyclic(self.shortest(&left))
    }

    /// A short cycle among ports of which each has a predecessor: the shortest, if that is found within the bound.
    fn shortest(&self, left: &[PortId]) -> Vec<PortId> {
        let ports = self.used.len();
        let mut search = Search { before: vec![PortId::NONE; ports], depth: vec![0; ports], ..Search::default() };
        let mut best: Option<Vec<PortId>> = None;
        for start in left {
            // No port waits for itself.
            if search.seen > PATIENCE || best.as_ref().is_some_and(|cycle| cycle.len() == 2) {
                break;
            }
            let most = best.as_ref().map_or(left.len(), |cycle| cycle.len() - 1);
            best = self.around(*start, most, &mut search).or(best);
        }
        best.unwrap_or_else(|| {
            for port in left {
                self.behind(*port).for_each(|next| search.before[next.ix()] = *port);
            }
            // Following predecessors from any of them ends in a cycle.
            let at = left.iter().fold(left[0], |at, _| search.before[at.ix()]);
            self.around(at, left.len(), &mut search).expect("a cycle has just been followed")
        })
    }

    /// A shortest cycle through a port, of at most `most` ports.
    fn around(&self, start: PortId, most: usize, search: &mut Search) -> Option<Vec<PortId>> {
        for port in search.touched.drain(..) {
            search.depth[port.ix()] = 0;
        }
        search.touched.push(start);
        search.depth[start.ix()] = 1;
        let mut queue = VecDeque::from([start]);
        while let Some(port) = queue.pop_front() {
            let depth = search.depth[port.ix()];
            for next in self.behind(port) {
                search.seen += 1;
                if next == start {
                    let mut cycle = vec![port];
                    while cycle[cycle.len() - 1] != start {
                        cycle.push(search.before[cycle[cycle.len() - 1].ix()]);
                    }
                    cycle.reverse();
                    return Some(cycle);
                }
                if search.depth[next.ix()] == 0 && depth < most {
                    search.depth[next.ix()] = depth + 1;
                    search.before[next.ix()] = port;
                    search.touched.push(next);
                    queue.push_back(next);
                }
            }
        }
        None
    }
}

/// State shared by the searches for cycles.
#[derive(Default)]
struct Search {
    /// The predecessor of each port on the path from the start.
    before: Vec<PortId>,
    /// Ports on that path, or 0 where the search has not visited.
    depth: Vec<usize>,
    touched: Vec<PortId>,
    /// Edges visited.
    seen: u64,
}
