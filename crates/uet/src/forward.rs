//! What a switch does with a packet: choose its next link, and pass it to that port.
//!
//! Source: uet-htsim's fat tree switch.

use crate::events::Event;
use crate::network::Network;
use crate::switches::{NO_LIST, hash, permuted};
use crate::topology::Node;

impl Network<'_> {
    pub(crate) fn enter_switch(&mut self, switch: u32, at: u32) {
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
                    let (first, count) = topology.up_from_tor(tor);
                    s.up = permuted((first..first + count).collect(), &mut self.random);
                }
                s.up[choice(s.up.len() as u32) as usize]
            }
            Node::Aggregation(a) if topology.tiers == 2 || topology.pod_of(to) == a / topology.pod_aggregations => {
                one_of(topology.down_from_aggregation(a, to))
            }
            Node::Aggregation(a) => {
                if s.up_by_host.is_empty() {
                    s.up_by_host.resize(topology.hosts as usize, NO_LIST);
                }
                let list = &mut s.up_by_host[to as usize];
                if *list == NO_LIST {
                    *list = self.ways.len() as u32;
                    let ways = permuted(topology.ways_up(a, topology.pod_of(to), &self.failed), &mut self.random);
                    self.ways.push(ways.len() as u32);
                    self.ways.extend(ways);
                }
                let list = *list as usize;
                self.ways[list + 1 + choice(self.ways[list]) as usize]
            }
            Node::Core(core) => one_of(topology.ways_down(core, topology.pod_of(to), &self.failed)),
            Node::Host(_) => unreachable!("hosts are not switches"),
        }
    }
}
