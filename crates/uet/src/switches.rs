//! Links and switches: where a packet goes next, and when it gets there.
//!
//! Source: uet-htsim, pipe.cpp, fat_tree_switch.cpp and callback_pipe.cpp.

use std::collections::VecDeque;

use crate::events::Event;
use crate::network::Network;
use crate::random::Random;
use crate::topology::{Node, Topology};

/// Packets that take the same time to get through, in order.
pub struct Pipe {
    delay: u64,
    inside: VecDeque<(u64, u32)>,
}

impl Pipe {
    /// An empty one.
    pub fn new(delay: u64) -> Self {
        Self { delay, inside: VecDeque::new() }
    }
}

/// A switch: its random salt, its own pipe, and the lists of links that it has made so far.
pub struct Switch {
    node: Node,
    salt: u32,
    pipe: Pipe,
    up: Vec<u32>,
    up_by_host: Vec<Option<Box<[u32]>>>,
}

impl Switch {
    /// A switch that has sent nothing yet.
    pub fn new(node: Node, salt: u32, latency: u64) -> Self {
        Self { node, salt, pipe: Pipe::new(latency), up: Vec::new(), up_by_host: Vec::new() }
    }
}

/// The index of a switch among all.
pub fn switch_index(topology: &Topology, node: Node) -> u32 {
    match node {
        Node::Tor(t) => t,
        Node::Aggregation(a) => topology.tors() + a,
        Node::Core(c) => topology.tors() + topology.aggregations() + c,
        Node::Host(_) => u32::MAX,
    }
}

/// Jenkins' mix of flow, salt and entropy.
fn hash(flow: u32, entropy: u16, salt: u32) -> u32 {
    let mut a = 0x9E37_79B9u32.wrapping_add(flow);
    let mut b = 0x9E37_79B9u32.wrapping_add(salt);
    let mut c = u32::from(entropy);
    for (s1, s2, s3) in [(13, 8, 13), (12, 16, 5), (3, 10, 15)] {
        a = a.wrapping_sub(b).wrapping_sub(c) ^ (c >> s1);
        b = b.wrapping_sub(c).wrapping_sub(a) ^ (a << s2);
        c = c.wrapping_sub(a).wrapping_sub(b) ^ (b >> s3);
    }
    c
}

impl Network<'_> {
    /// A packet enters a link.
    pub(crate) fn send_into(&mut self, link: u32, at: u32) {
        let pipe = &mut self.pipes[link as usize];
        let due = self.events.now() + pipe.delay;
        if pipe.inside.is_empty() {
            self.events.at(due, Event::Pipe(link));
        }
        pipe.inside.push_back((due, at));
    }

    /// The first packet in a link reaches its end.
    pub(crate) fn link_done(&mut self, link: u32) {
        let Some((_, at)) = self.pipes[link as usize].inside.pop_front() else { return };
        match self.ends[link as usize] {
            Node::Host(_) => self.deliver(at),
            node => self.enter_switch(switch_index(&self.topology, node), at),
        }
        if let Some(&(due, _)) = self.pipes[link as usize].inside.front() {
            self.events.at(due, Event::Pipe(link));
        }
    }

    fn enter_switch(&mut self, switch: u32, at: u32) {
        let out = self.route(switch, at);
        self.packets.get_mut(at).out = out;
        let pipe = &mut self.switches[switch as usize].pipe;
        let due = self.events.now() + pipe.delay;
        if pipe.inside.is_empty() {
            self.events.at(due, Event::Switch(switch));
        }
        pipe.inside.push_back((due, at));
    }

    /// The first packet in a switch reaches its port.
    pub(crate) fn switch_done(&mut self, switch: u32) {
        let Some((_, at)) = self.switches[switch as usize].pipe.inside.pop_front() else { return };
        self.queue_at_port(self.packets.get(at).out, at);
        if let Some(&(due, _)) = self.switches[switch as usize].pipe.inside.front() {
            self.events.at(due, Event::Switch(switch));
        }
    }

    /// The link that a switch chooses for a packet.
    fn route(&mut self, switch: u32, at: u32) -> u32 {
        let packet = self.packets.get(at);
        let (to, flow, entropy) = (packet.to, packet.flow, packet.entropy);
        let topology = &self.topology;
        let s = &mut self.switches[switch as usize];
        let salt = s.salt;
        let choice = |n: u32| if n == 1 { 0 } else { hash(flow, entropy, salt) % n };
        let one_of = |(first, count): (u32, u32)| first + choice(count);
        match s.node {
            Node::Tor(tor) if topology.tor_of(to) == tor => topology.to_host(to),
            Node::Tor(tor) => {
                if s.up.is_empty() {
                    s.up = permuted(topology.up_from_tor(tor), &mut self.random);
                }
                s.up[choice(s.up.len() as u32) as usize]
            }
            Node::Aggregation(a) if topology.tiers == 2 || topology.pod_of(to) == a / topology.pod_aggregations => {
                one_of(topology.down_from_aggregation(a, to))
            }
            Node::Aggregation(a) => {
                if s.up_by_host.is_empty() {
                    s.up_by_host.resize(topology.hosts as usize, None);
                }
                let links = s.up_by_host[to as usize].get_or_insert_with(|| {
                    permuted(topology.up_from_aggregation(a), &mut self.random).into_boxed_slice()
                });
                links[choice(links.len() as u32) as usize]
            }
            Node::Core(core) => one_of(topology.down_from_core(core, topology.pod_of(to))),
            Node::Host(_) => unreachable!("hosts are not switches"),
        }
    }
}

/// Links in random order.
fn permuted((first, count): (u32, u32), random: &mut Random) -> Vec<u32> {
    let mut links: Vec<u32> = (first..first + count).collect();
    for i in 0..count {
        let left = count - i;
        links.swap((random.draw() % left) as usize, (left - 1) as usize);
    }
    links
}
