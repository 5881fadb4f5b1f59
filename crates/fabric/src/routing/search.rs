//! The search for routes: all shortest ways to one target at a time.

use super::{HERE, NONE, Routes, Ways};
use crate::port::Port;
use fanin_units::{NodeId, PortId, Rate, Time};
use std::collections::BTreeMap;

/// The ports out of each node that are up, in the order of their numbers.
pub(super) struct Out {
    start: Vec<u32>,
    ports: Vec<PortId>,
    /// Of any port, up or not, where its link leads, and its number among those of its node.
    pub(super) ends: Vec<(NodeId, u32)>,
}

impl Out {
    pub(super) fn new(ports: &[Port], nodes: u32) -> Self {
        let mut start = vec![0u32; nodes as usize + 1];
        ports.iter().filter(|p| p.up).for_each(|p| start[p.node.ix() + 1] += 1);
        for node in 0..nodes as usize {
            start[node + 1] += start[node];
        }
        let mut next = start.clone();
        let mut of = vec![PortId::NONE; start[nodes as usize] as usize];
        for (number, port) in (0..).map(PortId).zip(ports).filter(|(_, p)| p.up) {
            of[next[port.node.ix()] as usize] = number;
            next[port.node.ix()] += 1;
        }
        let mut ends: Vec<(NodeId, u32)> = ports.iter().map(|port| (port.peer, 0)).collect();
        for node in 0..nodes as usize {
            let here = &of[start[node] as usize..start[node + 1] as usize];
            for (port, number) in here.iter().zip(0..) {
                ends[port.ix()].1 = number;
            }
        }
        Self { start, ports: of, ends }
    }

    /// The port at a place in the list of all, which begins for a node where `first` says, or none.
    #[inline(always)]
    pub(super) fn port(&self, place: u32) -> PortId {
        self.ports.get(place as usize).copied().unwrap_or(PortId::NONE)
    }

    pub(super) fn first(&self, node: NodeId) -> u32 {
        self.start[node.ix()]
    }

    pub(super) fn of(&self, node: u32) -> &[PortId] {
        &self.ports[self.start[node as usize] as usize..self.start[node as usize + 1] as usize]
    }
}

/// A port as the search for routes sees it.
#[derive(Clone, Copy)]
struct Hop {
    /// The node it leads to.
    to: u32,
    port: PortId,
    /// What it adds to a base round-trip time.
    cost: Time,
}

/// Hosts that hang with their only link on the same switch, alike in what they add to a round-trip time and in rate.
struct Leaves {
    cost: Time,
    rate: Rate,
    count: u32,
}

/// The search: breadth first. Hosts with a single link, which are nearly all, are no part of it:
/// what is asked of them, the longest round-trip time, their switch answers for each kind of them.
pub(super) struct Search<'a> {
    ports: &'a [Port],
    hosts: u32,
    wire: u32,
    ack: u32,
    /// Row of each node that has one.
    row_of: Vec<u32>,
    start: Vec<u32>,
    hops: Vec<Hop>,
    /// Whether a node is one of these hosts.
    leaf: Vec<bool>,
    /// These hosts by their switch.
    leaves: Vec<Vec<Leaves>>,
    /// Of the hosts that take part, their rate.
    rates: Vec<Rate>,
    distance: Vec<u32>,
    rtt: Vec<Time>,
    order: Vec<u32>,
    found: Vec<PortId>,
    /// The set that each node had last: neighbouring targets are reached alike.
    last: Vec<u32>,
    known: BTreeMap<Vec<PortId>, u32>,
}

impl<'a> Search<'a> {
    pub(super) fn new(ports: &'a [Port], out: &Out, hosts: u32, has_row: &[u32], (wire, ack): (u32, u32)) -> Self {
        let nodes = out.start.len() as u32 - 1;
        let mut row_of = vec![u32::MAX; nodes as usize];
        (0..).zip(has_row).for_each(|(row, node)| row_of[*node as usize] = row);
        let cost = |port: &Port| port.tx_time(wire) + port.tx_time(ack) + port.delay + port.delay;
        let switch_of = |node: u32| match out.of(node) {
            [only] if node < hosts => Some(ports[only.ix()].peer.0).filter(|peer| *peer >= hosts),
            _ => None,
        };
        let leaf: Vec<bool> = (0..nodes).map(|node| switch_of(node).is_some()).collect();
        let (mut start, mut hops) = (Vec::with_capacity(nodes as usize + 1), Vec::new());
        let mut leaves: Vec<Vec<Leaves>> = Vec::new();
        leaves.resize_with(nodes as usize, Vec::new);
        let mut rates = vec![Rate::ZERO; nodes as usize];
        for node in 0..nodes {
            start.push(hops.len() as u32);
            let here = out.of(node).iter().map(|p| (*p, &ports[p.ix()]));
            rates[node as usize] = here.clone().map(|(_, port)| port.rate).max().unwrap_or(Rate::ZERO);
            if let (Some(switch), Some((_, port))) = (switch_of(node), here.clone().next()) {
                let (kinds, cost, rate) = (&mut leaves[switch as usize], cost(port), port.rate);
                match kinds.iter_mut().find(|kind| (kind.cost, kind.rate) == (cost, rate)) {
                    Some(kind) => kind.count += 1,
                    None => kinds.push(Leaves { cost, rate, count: 1 }),
                }
                continue;
            }
            let taking_part = here.filter(|(_, port)| !leaf[port.peer.ix()]);
            hops.extend(taking_part.map(|(number, port)| Hop { to: port.peer.0, port: number, cost: cost(port) }));
        }
        start.push(hops.len() as u32);
        Self {
            ports,
            hosts,
            wire,
            ack,
            row_of,
            start,
            hops,
            leaf,
            leaves,
            rates,
            distance: vec![u32::MAX; nodes as usize],
            rtt: vec![Time::ZERO; nodes as usize],
            order: Vec::new(),
            found: Vec::new(),
            last: vec![u32::MAX; nodes as usize],
            known: BTreeMap::new(),
        }
    }

    /// Finds the routes of all nodes to `target`, one per row.
    pub(super) fn column(&mut self, target: u32, routes: &mut Routes, column: &mut [u32]) {
        self.distance.fill(u32::MAX);
        self.order.clear();
        let mut own = None;
        if self.leaf[target as usize] {
            let out = routes.access[routes.access_of[target as usize].0 as usize];
            let (to, from) = (&self.ports[out.ix()], &self.ports[out.reverse().ix()]);
            let switch = to.node;
            self.distance[switch.ix()] = 1;
            self.rtt[switch.ix()] = self.cost(to);
            column[self.row_of[switch.ix()] as usize] = HERE;
            own = Some((switch.0, self.cost(from), from.rate));
            self.order.push(switch.0);
        } else {
            self.distance[target as usize] = 0;
            self.rtt[target as usize] = Time::ZERO;
            self.order.push(target);
        }
        let mut at = 0;
        while let Some(&node) = self.order.get(at) {
            at += 1;
            let beside = own.filter(|(switch, ..)| *switch == node).map(|(_, cost, rate)| (cost, rate));
            let here = self.distance[node as usize];
            let forwards = node >= self.hosts || node == target;
            let mut worst = Time::ZERO;
            self.found.clear();
            for hop in &self.hops[self.start[node as usize] as usize..self.start[node as usize + 1] as usize] {
                let there = self.distance[hop.to as usize];
                // Of nodes that the search has reached, only switches forward.
                if there == u32::MAX {
                    if forwards {
                        self.distance[hop.to as usize] = here + 1;
                        self.order.push(hop.to);
                    }
                } else if there + 1 == here && (hop.to >= self.hosts || hop.to == target) {
                    self.found.push(hop.port);
                    worst = worst.max(hop.cost + self.rtt[hop.to as usize]);
                }
                if node == target && hop.to >= self.hosts {
                    // Its own group: other hosts with the same neighbours, which any of those switches reaches.
                    self.found.push(hop.port);
                }
            }
            if beside.is_none() && node != target {
                self.rtt[node as usize] = worst;
                if node < self.hosts {
                    routes.reaches(worst, self.rates[node as usize]);
                }
            }
            for leaves in &self.leaves[node as usize] {
                // No host has a way to itself.
                if leaves.count > 1 || beside != Some((leaves.cost, leaves.rate)) {
                    routes.reaches(leaves.cost + self.rtt[node as usize], leaves.rate);
                }
            }
            let row = self.row_of[node as usize];
            if row != u32::MAX && beside.is_none() {
                column[row as usize] = if here == 1 { HERE } else { self.way(node, routes) };
            }
        }
    }

    fn cost(&self, port: &Port) -> Time {
        port.tx_time(self.wire) + port.tx_time(self.ack) + port.delay + port.delay
    }

    /// The set of the next hops that were found for a node.
    fn way(&mut self, node: u32, routes: &mut Routes) -> u32 {
        match *self.found {
            [] => NONE,
            [only] => only.0,
            _ => {
                let last = self.last[node as usize];
                let same = routes.sets.get(last as usize).is_some_and(|ways| {
                    let members = &routes.members[ways.start as usize..][..ways.n as usize];
                    members == self.found
                });
                if !same {
                    self.last[node as usize] = self.intern(routes);
                }
                self.last[node as usize]
            }
        }
    }

    fn intern(&mut self, routes: &mut Routes) -> u32 {
        if let Some(&set) = self.known.get(self.found.as_slice()) {
            return set;
        }
        let start = routes.members.len() as u32;
        routes.members.extend_from_slice(&self.found);
        routes.sets.push(Ways { start, n: self.found.len() as u32, each: 0 });
        let set = routes.sets.len() as u32 - 1;
        self.known.insert(self.found.clone(), set);
        set
    }
}
