//! Links and switches: their pipes, what a switch has chosen so far, and the hash that chooses.
//!
//! Source: uet-htsim's pipes and fat tree switch; the hash is Bob Jenkins' mix of 96 bits.

use std::collections::VecDeque;

use fanin_engine::prefetch;

use crate::random::Random;
use crate::topology::{Node, Topology};

/// A packet in a pipe: when it gets out, and in a switch the link that was chosen for it.
#[derive(Clone, Copy)]
pub(crate) struct Inside {
    pub(crate) due: u64,
    pub(crate) packet: u32,
    pub(crate) out: u32,
}

/// Packets that take the same time to get through, in order. In a cache line of its own.
#[repr(align(64))]
pub struct Pipe {
    pub(crate) delay: u64,
    /// The switch at its end; `None` where that is a host.
    pub(crate) into: Option<u32>,
    pub(crate) inside: VecDeque<Inside>,
}

impl Pipe {
    /// An empty one.
    pub fn new(delay: u64, into: Option<u32>) -> Self {
        Self { delay, into, inside: VecDeque::new() }
    }

    /// Takes a packet in. Returns when it gets out, if it is alone.
    pub(crate) fn push(&mut self, now: u64, packet: u32, out: u32) -> Option<u64> {
        let due = now + self.delay;
        let alone = self.inside.is_empty();
        self.inside.push_back(Inside { due, packet, out });
        alone.then_some(due)
    }

    /// Fetches the places of the first two packets in it into the cache.
    pub(crate) fn prefetch(&self) {
        for inside in self.inside.iter().take(2) {
            prefetch(core::slice::from_ref(inside), 0);
        }
    }

    /// The first packet in it.
    pub(crate) fn first(&self) -> Option<&Inside> {
        self.inside.front()
    }
}

/// A switch: its random salt, its own pipe, and the lists of links that it has made so far.
pub struct Switch {
    pub(crate) node: Node,
    pub(crate) salt: u32,
    pub(crate) pipe: Pipe,
    pub(crate) up: Vec<u32>,
    /// For each host the place of its list in the network's `ways`, or [`NO_LIST`].
    pub(crate) up_by_host: Vec<u32>,
}

/// A list that no packet has needed yet.
pub(crate) const NO_LIST: u32 = u32::MAX;

impl Switch {
    /// A switch that has sent nothing yet.
    pub fn new(node: Node, salt: u32, latency: u64) -> Self {
        Self { node, salt, pipe: Pipe::new(latency, None), up: Vec::new(), up_by_host: Vec::new() }
    }
}

/// The index of a switch among all; `None` for a host.
pub fn switch_index(topology: &Topology, node: Node) -> Option<u32> {
    match node {
        Node::Tor(t) => Some(t),
        Node::Aggregation(a) => Some(topology.tors() + a),
        Node::Core(c) => Some(topology.tors() + topology.aggregations() + c),
        Node::Host(_) => None,
    }
}

/// Jenkins' mix of flow, salt and entropy.
pub(crate) fn hash(flow: u32, entropy: u16, salt: u32) -> u32 {
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

/// Links in random order.
pub(crate) fn permuted(mut links: Vec<u32>, random: &mut Random) -> Vec<u32> {
    for left in (1..=links.len() as u32).rev() {
        links.swap((random.draw() % left) as usize, (left - 1) as usize);
    }
    links
}
