//! The search for routes: all shortest paths to one target at a time.

use super::ecmp::{EcmpGroups, HERE, NONE};
use super::ports::{Access, Links, Out};
use fanin_units::{PortId, Rate, Time};
use std::collections::BTreeMap;

/// A port in the search for routes.
#[derive(Clone, Copy)]
struct Hop {
    /// The node it leads to.
    to: u32,
    port: PortId,
    /// Its contribution to a base round-trip time.
    cost: Time,
}

/// Hosts whose only links lead to the same switch and are equal in rate and in contribution to a round-trip time.
#[derive(Clone, Copy)]
struct Leaves {
    cost: Time,
    rate: Rate,
    count: u32,
}

/// The search: breadth first. Hosts with a single link, which are nearly all, are left out: their switch stores the
/// longest round-trip time of each kind of them.
pub(super) struct Search<'a> {
    links: Links<'a>,
    access: &'a Access,
    hosts: u32,
    sizes: (u32, u32),
    /// Largest base round-trip time of any host pair so far, and largest product of a host's rate and one of its own,
    /// in bytes.
    pub farthest: (Time, u64),
    /// Row of each node that has one.
    row_of: Vec<u32>,
    start: Vec<u32>,
    hops: Vec<Hop>,
    /// Whether a node is one of these hosts.
    leaf: Vec<bool>,
    /// [`Links::joins_hosts`].
    joins_hosts: Vec<bool>,
    /// These hosts by their switch.
    leaves: Vec<Vec<Leaves>>,
    /// Of the hosts that take part, their rate.
    rates: Vec<Rate>,
    distance: Vec<u32>,
    rtt: Vec<Time>,
    order: Vec<u32>,
    found: Vec<PortId>,
    /// The group found last for each node: neighbouring targets often share it.
    last: Vec<u32>,
    known: BTreeMap<Vec<PortId>, u32>,
}

impl<'a> Search<'a> {
    pub fn new(links: Links<'a>, (out, access): (&Out, &'a Access), has_row: &[u32], sizes: (u32, u32)) -> Self {
        let (hosts, nodes) = (links.hosts(), links.nodes());
        let mut row_of = vec![u32::MAX; nodes as usize];
        (0..).zip(has_row).for_each(|(row, node)| row_of[*node as usize] = row);
        let cost = |port: PortId| links.round_trip(port, sizes);
        let switch_of = |node: u32| match out.of(node) {
            [only] if node < hosts => Some(links.peer(*only).0).filter(|peer| *peer >= hosts),
            _ => None,
        };
        let leaf: Vec<bool> = (0..nodes).map(|node| switch_of(node).is_some()).collect();
        let (mut start, mut hops) = (Vec::with_capacity(nodes as usize + 1), Vec::new());
        let mut leaves: Vec<Vec<Leaves>> = Vec::new();
        leaves.resize_with(nodes as usize, Vec::new);
        let mut rates = vec![Rate::ZERO; nodes as usize];
        for node in 0..nodes {
            start.push(hops.len() as u32);
            let here = out.of(node).iter().copied();
            rates[node as usize] = here.clone().map(|port| links.rate(port)).max().unwrap_or(Rate::ZERO);
            if let (Some(switch), Some(port)) = (switch_of(node), here.clone().next()) {
                let (kinds, cost, rate) = (&mut leaves[switch as usize], cost(port), links.rate(port));
                match kinds.iter_mut().find(|kind| (kind.cost, kind.rate) == (cost, rate)) {
                    Some(kind) => kind.count += 1,
                    None => kinds.push(Leaves { cost, rate, count: 1 }),
                }
                continue;
            }
            let taking_part = here.filter(|port| !leaf[links.peer(*port).ix()]);
            hops.extend(taking_part.map(|port| Hop { to: links.peer(port).0, port, cost: cost(port) }));
        }
        start.push(hops.len() as u32);
        Self {
            links,
            access,
            hosts,
            sizes,
            farthest: (Time::ZERO, 0),
            row_of,
            start,
            hops,
            leaf,
            joins_hosts: links.joins_hosts(),
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
    pub fn column(&mut self, target: u32, groups: &mut EcmpGroups, column: &mut [u32]) {
        self.distance.fill(u32::MAX);
        self.order.clear();
        let mut own = None;
        if self.leaf[target as usize] {
            let out = self.access.of(target)[0];
            let switch = self.links.node(out);
            self.distance[switch.ix()] = 1;
            self.rtt[switch.ix()] = self.links.round_trip(out, self.sizes);
            column[self.row_of[switch.ix()] as usize] = HERE;
            // Both directions of a link are equal.
            own = Some((switch.0, self.rtt[switch.ix()], self.links.rate(out)));
            self.order.push(switch.0);
        } else {
            self.distance[target as usize] = 0;
            self.rtt[target as usize] = Time::ZERO;
            self.order.push(target);
        }
        let mut at = 0;
        while let Some(&node) = self.order.get(at) {
            at += 1;
            let own_leaf = own.filter(|(switch, ..)| *switch == node).map(|(_, cost, rate)| (cost, rate));
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
            if node < self.hosts && self.found.len() > 1 {
                worst = self.keep_inside(worst);
            }
            if own_leaf.is_none() && node != target {
                self.rtt[node as usize] = worst;
                if node < self.hosts {
                    self.reaches(worst, self.rates[node as usize]);
                }
            }
            for at in 0..self.leaves[node as usize].len() {
                let Leaves { cost, rate, count } = self.leaves[node as usize][at];
                // No host has a path to itself.
                if count > 1 || own_leaf != Some((cost, rate)) {
                    self.reaches(cost + self.rtt[node as usize], rate);
                }
            }
            let row = self.row_of[node as usize];
            if row != u32::MAX && own_leaf.is_none() {
                column[row as usize] = if here == 1 { HERE } else { self.group(node, groups) };
            }
        }
    }

    /// Of a host's equally short ways, those over a switch that joins hosts alone win: inside a server NVLink is used
    /// (the SimAI simulator's rule). Returns the largest round-trip time of those that are left.
    fn keep_inside(&mut self, worst: Time) -> Time {
        let Self { links, joins_hosts, found, .. } = self;
        let inside = |port: &PortId| joins_hosts[links.peer(*port).ix()];
        if found.iter().all(|port| inside(port) == inside(&found[0])) {
            return worst;
        }
        found.retain(inside);
        let cost = |port: &PortId| self.links.round_trip(*port, self.sizes) + self.rtt[self.links.peer(*port).ix()];
        self.found.iter().map(cost).max().unwrap_or(worst)
    }

    /// Two hosts may be this far from each other, of which one sends at `rate`.
    fn reaches(&mut self, rtt: Time, rate: Rate) {
        self.farthest = (self.farthest.0.max(rtt), self.farthest.1.max(rate.bytes_in(rtt)));
    }

    /// The group of the next hops that were found for a node.
    fn group(&mut self, node: u32, groups: &mut EcmpGroups) -> u32 {
        match *self.found {
            [] => NONE,
            [only] => only.0,
            _ => {
                if groups.members(self.last[node as usize]) != Some(self.found.as_slice()) {
                    self.last[node as usize] = self.intern(groups);
                }
                self.last[node as usize]
            }
        }
    }

    fn intern(&mut self, groups: &mut EcmpGroups) -> u32 {
        if let Some(&group) = self.known.get(self.found.as_slice()) {
            return group;
        }
        let group = groups.add(&self.found);
        self.known.insert(self.found.clone(), group);
        group
    }
}
