//! Shortest paths before a run: their lengths, and the tiers they cross.
//!
//! Hosts with equal links (same neighbours, rates and delays) have the same paths, so one host of each group represents
//! all, and nothing here grows with pairs of hosts. Paths to a group are found by one breadth-first search, like the
//! routes of a run.

use fanin_fabric::topology::{Graph, Tier};
use fanin_units::{NodeId, Rate, Time};
use std::collections::BTreeMap;

/// No node, level or distance.
const NONE: u32 = u32::MAX;

/// One port of the condensed network.
struct Way {
    to: u32,
    tier: u8,
    rate: Rate,
    delay: Time,
}

/// A network with one host of each group.
pub struct Paths {
    /// Group of each host.
    pub group_of: Vec<u32>,
    /// Hosts of each group.
    pub members: Vec<u32>,
    /// Total rate of the links of each group's hosts.
    pub nic: Vec<Rate>,
    /// Names of the tiers in use.
    pub tiers: Vec<String>,
    /// Tier of each port of the whole network.
    pub tier_of: Vec<u8>,
    /// Ports of each node; groups come first, then switches.
    ways: Vec<Vec<Way>>,
    /// Number of ports of all nodes together.
    ports: u64,
    /// Packet sizes for round-trip times: a full data packet and an ACK.
    sizes: (u64, u64),
}

/// All paths between two groups.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Route {
    /// Number of links; 0 if there is no path (a group of one host with itself).
    pub links: u32,
    /// How many there are; parallel links make several.
    pub count: u64,
    /// Base round-trip time of the fastest and the slowest of them.
    pub rtt: (Time, Time),
    /// Links of each tier, with an even split over equal next hops at every node.
    pub crossed: Vec<f32>,
}

impl Paths {
    /// The paths of a network; a data packet has `wire` bytes and its ACK `ack`.
    pub fn new(graph: &Graph, wire: u64, ack: u64) -> Self {
        let adjacency = graph.adjacency();
        let (mut tiers, mut tier_of): (Vec<String>, Vec<u8>) = (Vec::new(), Vec::with_capacity(2 * graph.links.len()));
        let mut known: BTreeMap<Tier, u8> = BTreeMap::new();
        for tier in graph.tiers() {
            tier_of.push(*known.entry(tier).or_insert_with(|| {
                tiers.push(tier.to_string());
                (tiers.len() - 1).min(usize::from(u8::MAX)) as u8
            }));
        }
        let port = |number: usize| {
            let link = &graph.links[number / 2];
            (link.rate, link.delay)
        };
        let mut groups: BTreeMap<Vec<(NodeId, Rate, Time)>, u32> = BTreeMap::new();
        let (mut group_of, mut members, mut first) = (Vec::with_capacity(graph.hosts as usize), Vec::new(), Vec::new());
        let mut alike = Vec::new();
        for host in (0..graph.hosts).map(NodeId) {
            let of = adjacency.of(host).iter().map(|(number, peer)| {
                let (rate, delay) = port(number.ix());
                (*peer, rate, delay)
            });
            alike.clear();
            alike.extend(of);
            alike.sort_unstable();
            let group = groups.get(alike.as_slice()).copied().unwrap_or_else(|| {
                groups.insert(alike.clone(), members.len() as u32);
                members.push(0);
                first.push(host);
                members.len() as u32 - 1
            });
            members[group as usize] += 1;
            group_of.push(group);
        }
        drop(groups);
        // The number of each remaining node.
        let mut number = vec![NONE; graph.names.len()];
        let stays = first.iter().copied().chain((graph.hosts..graph.node_count()).map(NodeId));
        stays.clone().zip(0..).for_each(|(node, at)| number[node.ix()] = at);
        let ways_of = |node: NodeId| -> Vec<Way> {
            let of = adjacency.of(node).iter().filter(|(_, peer)| number[peer.ix()] != NONE);
            let way = of.map(|(at, peer)| {
                let (rate, delay) = port(at.ix());
                Way { to: number[peer.ix()], tier: tier_of[at.ix()], rate, delay }
            });
            way.collect()
        };
        let ways: Vec<Vec<Way>> = stays.map(ways_of).collect();
        let ports = ways.iter().map(|of| of.len() as u64).sum();
        let rates = graph.nic_rate();
        let nic = first.iter().map(|host| rates[host.ix()]).collect();
        Self { group_of, members, nic, tiers, tier_of, ways, ports, sizes: (wire, ack) }
    }

    /// Number of groups of hosts.
    pub fn groups(&self) -> u32 {
        self.members.len() as u32
    }

    /// Bytes of a data packet and of an ACK by which round-trip times are counted.
    pub fn sizes(&self) -> (u64, u64) {
        self.sizes
    }

    /// Steps that one call of [`Paths::to`] takes, about.
    pub fn work(&self) -> u64 {
        self.ports + self.ways.len() as u64
    }

    /// Links from every node to a group, `u32::MAX` without a path.
    fn distances(&self, target: u32) -> (Vec<u32>, Vec<u32>) {
        let mut distance = vec![NONE; self.ways.len()];
        distance[target as usize] = 0;
        let mut order = vec![target];
        let mut at = 0;
        while let Some(&node) = order.get(at) {
            at += 1;
            if node < self.groups() && node != target {
                continue;
            }
            for way in &self.ways[node as usize] {
                if distance[way.to as usize] == NONE {
                    distance[way.to as usize] = distance[node as usize] + 1;
                    order.push(way.to);
                }
            }
        }
        (distance, order)
    }

    /// The paths from every group to hosts of the group `target`.
    pub fn to(&self, target: u32) -> Vec<Route> {
        let groups = self.groups();
        let (distance, order) = self.distances(target);
        let mut found: Vec<Route> = vec![Route::default(); self.ways.len()];
        found[target as usize].count = 1;
        found[target as usize].crossed = vec![0.0; self.tiers.len()];
        for &node in order.iter().filter(|node| **node != target) {
            let next = self.ways[node as usize].iter().filter(|way| {
                distance[way.to as usize] == distance[node as usize] - 1 && (way.to >= groups || way.to == target)
            });
            found[node as usize] = self.join(next, &found);
        }
        // From one host of the group to another: up to what they have in common, and down again.
        found[target as usize] = if self.members[target as usize] > 1 {
            self.join(self.ways[target as usize].iter().filter(|way| way.to >= groups), &found)
        } else {
            Route::default()
        };
        found.truncate(groups as usize);
        found
    }

    /// The paths by any of these next hops, split evenly.
    fn join<'a>(&self, next: impl Iterator<Item = &'a Way>, found: &[Route]) -> Route {
        let crossed = vec![0.0; self.tiers.len()];
        let mut joined = Route { links: 0, count: 0, rtt: (Time::NEVER, Time::ZERO), crossed };
        let mut ways = 0.0;
        for way in next {
            let beyond = &found[way.to as usize];
            ways += 1.0;
            joined.links = beyond.links + 1;
            joined.count = joined.count.saturating_add(beyond.count);
            let own = (way.rate.tx_time(self.sizes.0))
                .saturating_add(way.rate.tx_time(self.sizes.1))
                .saturating_add(way.delay)
                .saturating_add(way.delay);
            joined.rtt.0 = joined.rtt.0.min(own.saturating_add(beyond.rtt.0));
            joined.rtt.1 = joined.rtt.1.max(own.saturating_add(beyond.rtt.1));
            joined.crossed[usize::from(way.tier)] += 1.0;
            joined.crossed.iter_mut().zip(&beyond.crossed).for_each(|(sum, more)| *sum += more);
        }
        if ways == 0.0 {
            return Route::default();
        }
        joined.crossed.iter_mut().for_each(|sum| *sum /= ways);
        joined
    }

    /// One shortest path between two groups, as (node, port of the node) of each link; `draw` chooses among equal next
    /// hops. Empty if there is none.
    pub fn one(&self, from: u32, target: u32, mut draw: impl FnMut(u32, usize) -> usize) -> Vec<(u32, u32)> {
        let groups = self.groups();
        let (mut distance, _) = self.distances(target);
        let mut path = Vec::new();
        let mut at = from;
        if from == target {
            distance[target as usize] = 2;
        }
        while distance[at as usize] != 0 && distance[at as usize] != NONE {
            let here = distance[at as usize];
            let next: Vec<u32> = (0..)
                .zip(&self.ways[at as usize])
                .filter(|(_, way)| {
                    let there = if way.to == target { 0 } else { distance[way.to as usize] };
                    there.wrapping_add(1) == here && (way.to >= groups || way.to == target)
                })
                .map(|(number, _)| number)
                .collect();
            if next.is_empty() {
                return Vec::new();
            }
            let way = next[draw(at, next.len()) % next.len()];
            path.push((at, way));
            at = self.ways[at as usize][way as usize].to;
            if at == target {
                break;
            }
        }
        path
    }

    /// Rate and tier of a port returned by [`Paths::one`].
    pub fn port(&self, (node, way): (u32, u32)) -> (Rate, usize) {
        let way = &self.ways[node as usize][way as usize];
        (way.rate, usize::from(way.tier))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fanin_fabric::topology::{Cable, Clos, Dumbbell, Explicit, NamedLink};

    fn crossed(paths: &Paths, route: &Route) -> BTreeMap<String, f32> {
        paths.tiers.iter().cloned().zip(route.crossed.iter().copied()).filter(|(_, n)| *n > 0.0).collect()
    }

    #[test]
    fn darts_paths_have_two_four_or_six_links_and_cross_each_tier_once() {
        let paths = Paths::new(&Clos::dart().build().unwrap(), 1500, 64);
        assert_eq!((paths.groups(), paths.members[0]), (64, 16));
        let to = paths.to(0);
        assert_eq!((to[0].links, to[1].links, to[4].links), (2, 4, 6));
        assert_eq!((to[0].count, to[1].count, to[4].count), (1, 4, 16));
        // 6 links of 5 us each way, a full packet there and an ACK back over each.
        let wire = Rate::from_gbps(10).tx_time(1500) + Rate::from_gbps(10).tx_time(64);
        let rtt = Time::from_us(60) + Time::from_ps(6 * wire.as_ps());
        assert_eq!(to[4].rtt, (rtt, rtt));
        let tiers = ["agg-downlink", "agg-uplink", "host-uplink", "last-hop", "tor-downlink", "tor-uplink"];
        assert_eq!(crossed(&paths, &to[4]), tiers.map(|tier| (tier.to_string(), 1.0)).into());
        assert_eq!(crossed(&paths, &to[0]), ["host-uplink", "last-hop"].map(|tier| (tier.to_string(), 1.0)).into());
        let path = paths.one(4, 0, |_, n| n - 1);
        assert_eq!(path.len(), 6);
        assert_eq!(paths.one(0, 0, |_, _| 0).len(), 2);
    }

    #[test]
    fn hosts_with_other_links_are_groups_of_their_own_and_splits_are_even() {
        // a reaches b by s1 alone or by s2; c hangs on s1 with a slow link.
        let link = |a: &str, b: &str, gbps| NamedLink::new(a, b, Rate::from_gbps(gbps), Time::from_us(1));
        let graph = Explicit {
            hosts: ["a", "b", "c", "d"].map(String::from).to_vec(),
            switches: ["s1", "s2"].map(String::from).to_vec(),
            links: vec![
                link("a", "s1", 10),
                link("a", "s2", 10),
                link("b", "s1", 10),
                link("b", "s2", 40),
                link("c", "s1", 1),
                link("d", "s1", 1),
            ],
        };
        let paths = Paths::new(&graph.build().unwrap(), 1000, 100);
        assert_eq!((paths.members.as_slice(), paths.group_of.as_slice()), (&[1, 1, 2][..], &[0, 1, 2, 2][..]));
        let to_b = paths.to(1);
        let tx = |gbps| Rate::from_gbps(gbps).tx_time(1000) + Rate::from_gbps(gbps).tx_time(100);
        assert_eq!(to_b[0].rtt, (Time::from_us(4) + tx(10) + tx(40), Time::from_us(4) + tx(10) + tx(10)));
        assert_eq!((to_b[0].links, to_b[2].links, to_b[1].links), (2, 2, 0));
        assert_eq!((to_b[0].count, to_b[2].count, to_b[1].count), (2, 1, 0));
        assert_eq!(paths.to(2)[2].rtt.0, Time::from_us(4) + tx(1) + tx(1));
    }

    #[test]
    fn equal_switches_are_across_from_each_other() {
        let cable = Cable::new(Rate::from_gbps(10), Time::from_us(1));
        let graph = Dumbbell { left: 2, right: 2, host_link: cable, bottleneck: cable }.build().unwrap();
        let paths = Paths::new(&graph, 1000, 100);
        assert_eq!(crossed(&paths, &paths.to(1)[0])["tor-across"], 1.0);
    }
}
