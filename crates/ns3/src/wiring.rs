//! Devices and paths of a topology in that simulator.

use crate::hash::{murmur3, tuple};
use fanin_formats::hpcc::Topology;
use std::collections::HashMap;

/// No device.
pub const NONE: u32 = u32::MAX;
/// Hash seed of its hosts with several NICs.
const HOST_HASH_SEED: u32 = 0x8BAD_F00D;

/// One end of a link.
#[derive(Clone, Debug)]
pub struct Device {
    /// The node it belongs to.
    pub node: u32,
    /// Its number there, from 1 in the order of the links.
    pub number: u16,
    /// The device at the other end.
    pub peer: u32,
    /// Bits per second.
    pub rate: u64,
    /// Nanoseconds.
    pub delay: u64,
    /// Whether its link is up.
    pub up: bool,
}

/// Nodes, devices and next hops.
pub struct Wiring {
    /// Whether each node is a switch.
    pub is_switch: Vec<bool>,
    /// All devices, two for each link.
    pub devices: Vec<Device>,
    /// Devices of each node, in order.
    pub of_node: Vec<Vec<u32>>,
    /// Each node's neighbours in descending order, with the device towards them: of parallel links only the last.
    neighbours: Vec<Vec<(u32, u32)>>,
    /// Hosts, in order.
    pub hosts: Vec<u32>,
    /// Column of each host in the tables.
    column: Vec<u32>,
    /// Next devices by node and host: a range of `choices`.
    next: Vec<(u32, u32)>,
    choices: Vec<u32>,
    /// Propagation delay, transmission time and narrowest link from each node to each host, on the first path found.
    ways: Vec<Way>,
}

/// Properties of the path from a node to a host.
#[derive(Clone, Copy, Debug, Default)]
struct Way {
    delay: u64,
    transmission: u64,
    rate: u64,
}

impl Wiring {
    /// The network of a topology, for packets with this payload.
    pub fn new(topology: &Topology, payload: u32) -> Self {
        let nodes = topology.is_switch.len();
        let mut devices = Vec::with_capacity(topology.links.len() * 2);
        let mut of_node: Vec<Vec<u32>> = vec![Vec::new(); nodes];
        let mut neighbours: Vec<Vec<(u32, u32)>> = vec![Vec::new(); nodes];
        for link in &topology.links {
            for (node, peer) in [(link.a, link.b), (link.b, link.a)] {
                let at = devices.len() as u32;
                let mine = &mut of_node[node as usize];
                mine.push(at);
                devices.push(Device {
                    node,
                    number: mine.len() as u16,
                    peer: at ^ 1,
                    rate: link.rate,
                    delay: link.delay.ns,
                    up: true,
                });
                let known = &mut neighbours[node as usize];
                known.retain(|(other, _)| *other != peer);
                known.push((peer, at));
            }
        }
        for known in &mut neighbours {
            known.sort_unstable_by_key(|(node, _)| core::cmp::Reverse(*node));
        }
        let hosts: Vec<u32> = (0..nodes as u32).filter(|n| !topology.is_switch[*n as usize]).collect();
        let mut column = vec![NONE; nodes];
        for (i, host) in hosts.iter().enumerate() {
            column[*host as usize] = i as u32;
        }
        let is_switch = topology.is_switch.clone();
        let mut wiring = Self {
            is_switch,
            devices,
            of_node,
            neighbours,
            hosts,
            column,
            next: vec![],
            choices: vec![],
            ways: vec![],
        };
        wiring.ways = wiring.route(payload);
        wiring
    }

    /// Fails the link between two nodes and computes all paths again. Returns its devices, or nothing if there is no
    /// link that is up.
    pub fn take_down(&mut self, a: u32, b: u32) -> Option<(u32, u32)> {
        let (_, device) = *self.neighbours[a as usize].iter().find(|(node, _)| *node == b)?;
        let peer = self.devices[device as usize].peer;
        if !self.devices[device as usize].up {
            return None;
        }
        self.devices[device as usize].up = false;
        self.devices[peer as usize].up = false;
        // Round trips remain those of the beginning, narrowest links do not.
        for (way, now) in self.route(0).into_iter().enumerate() {
            self.ways[way].rate = now.rate;
        }
        Some((device, peer))
    }

    /// A breadth-first search from each host. The next hops of a node are its parents in the order in which the search
    /// removes them from its queue, and neighbours are visited in descending order (in the simulator: by object
    /// address, which descends).
    fn route(&mut self, payload: u32) -> Vec<Way> {
        let (nodes, hosts) = (self.is_switch.len(), self.hosts.len());
        let mut ways = vec![Way::default(); nodes * hosts];
        self.next = vec![(0, 0); nodes * hosts];
        self.choices.clear();
        // Most lists occur many times, so one copy of each stays in the cache.
        let mut known: HashMap<Vec<u32>, (u32, u32)> = HashMap::new();
        let mut parents: Vec<Vec<u32>> = vec![Vec::new(); nodes];
        let mut distance = vec![u32::MAX; nodes];
        for (column, &host) in self.hosts.iter().enumerate() {
            parents.iter_mut().for_each(Vec::clear);
            distance.fill(u32::MAX);
            distance[host as usize] = 0;
            let mut queue = vec![host];
            ways[host as usize * hosts + column].rate = u64::MAX >> 4;
            let mut at = 0;
            while let Some(&now) = queue.get(at) {
                at += 1;
                let near = distance[now as usize];
                for &(node, device) in &self.neighbours[now as usize] {
                    let link = &self.devices[device as usize];
                    if !link.up {
                        continue;
                    }
                    if distance[node as usize] == u32::MAX {
                        distance[node as usize] = near + 1;
                        let before = ways[now as usize * hosts + column];
                        ways[node as usize * hosts + column] = Way {
                            delay: before.delay + link.delay,
                            transmission: before.transmission + payload as u64 * 8_000_000_000 / link.rate,
                            rate: before.rate.min(link.rate),
                        };
                        // Hosts do not forward.
                        if self.is_switch[node as usize] {
                            queue.push(node);
                        }
                    }
                    if distance[node as usize] == near + 1 {
                        parents[node as usize].push(link.peer);
                    }
                }
            }
            for (node, list) in parents.iter().enumerate() {
                let place = known.get(list).copied().unwrap_or_else(|| {
                    let place = (self.choices.len() as u32, list.len() as u32);
                    self.choices.extend_from_slice(list);
                    known.insert(list.clone(), place);
                    place
                });
                self.next[node * hosts + column] = place;
            }
        }
        ways
    }

    /// The devices by which a node may send to a host.
    pub fn choices(&self, node: u32, dst: u32) -> &[u32] {
        let (first, len) = self.next[node as usize * self.hosts.len() + self.column[dst as usize] as usize];
        &self.choices[first as usize..(first + len) as usize]
    }

    /// The device by which a switch sends a packet on, or none.
    #[inline]
    pub fn next(&self, switch: u32, src: u32, dst: u32, sport: u16, dport: u16) -> Option<u32> {
        let choices = self.choices(switch, dst);
        match choices {
            [] => None,
            [only] => Some(*only),
            _ => Some(choices[(murmur3(tuple(src, dst, sport, dport), switch) % choices.len() as u32) as usize]),
        }
    }

    /// The device by which a host sends to another.
    pub fn leaves_by(&self, src: u32, dst: u32, sport: u16, dport: u16) -> Option<u32> {
        let choices = self.choices(src, dst);
        match choices {
            [] => None,
            [only] => Some(*only),
            _ => {
                Some(choices[(murmur3(tuple(src, dst, sport, dport), HOST_HASH_SEED) % choices.len() as u32) as usize])
            }
        }
    }

    /// Base round-trip time of a pair in ns: propagation in both directions and one payload on each link of one
    /// direction.
    pub fn round_trip(&self, src: u32, dst: u32) -> u64 {
        let way = self.way(src, dst);
        way.delay * 2 + way.transmission
    }

    /// The narrowest link on a pair's path, in bits per second.
    pub fn narrowest(&self, src: u32, dst: u32) -> u64 {
        self.way(src, dst).rate
    }

    /// Bandwidth-delay product of a pair, in bytes.
    pub fn product(&self, src: u32, dst: u32) -> u64 {
        let way = self.way(src, dst);
        let product = self.round_trip(src, dst) as u128 * way.rate as u128;
        (product / 1_000_000_000 / 8) as u64
    }

    fn way(&self, src: u32, dst: u32) -> Way {
        self.ways[src as usize * self.hosts.len() + self.column[dst as usize] as usize]
    }

    /// Largest round-trip time and bandwidth-delay product of any pair.
    pub fn largest(&self) -> (u64, u64) {
        let pairs = self.hosts.iter().flat_map(|a| self.hosts.iter().map(move |b| (*a, *b)));
        pairs.fold((0, 0), |(rtt, product), (a, b)| {
            if a == b {
                return (rtt, product);
            }
            (rtt.max(self.round_trip(a, b)), product.max(self.product(a, b)))
        })
    }

    /// The path of a packet: every node that it crosses, including both ends. Ends where there is no next hop.
    pub fn path(&self, src: u32, dst: u32, sport: u16, dport: u16) -> Vec<u32> {
        let mut nodes = vec![src];
        let mut device = self.leaves_by(src, dst, sport, dport);
        while let Some(out) = device {
            let node = self.devices[self.devices[out as usize].peer as usize].node;
            nodes.push(node);
            if node == dst || !self.is_switch[node as usize] {
                break;
            }
            device = self.next(node, src, dst, sport, dport);
        }
        nodes
    }
}
