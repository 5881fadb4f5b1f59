//! What a switch does with a packet: choose its next link, and pass it to that port.
//!
//! Source: uet-htsim's fat tree switch.

use crate::events::Event;
use crate::network::Network;
use crate::packet::Packet;
use crate::switches::{Inside, NO_LIST, Switch, hash, permuted};
use crate::topology::Node;

impl Network<'_> {
    pub(crate) fn enter_switch(&mut self, switch: u32, at: u32) {
        let out = self.route(switch, at);
        if let Some(due) = self.switches[switch as usize].pipe.push(self.events.now(), at, out) {
            self.events.at(due, Event::Switch(switch));
        }
    }

    /// The first packet in a switch reaches its port.
    pub(crate) fn switch_done(&mut self, switch: u32) {
        let Some(Inside { packet, out, .. }) = self.switches[switch as usize].pipe.inside.pop_front() else { return };
        self.queue_at_port(out, packet);
        if let Some(next) = self.switches[switch as usize].pipe.first() {
            self.events.at(next.due, Event::Switch(switch));
        }
    }

    /// The link that a switch chooses for a packet.
    fn route(&mut self, switch: u32, at: u32) -> u32 {
        if let Some((packet, link)) = self.chosen.take()
            && packet == at
        {
            return link;
        }
        loop {
            let packet = self.packets.get(at);
            if let Some(link) = self.choice(switch, packet) {
                return link;
            }
            self.make_list(switch, packet.to);
        }
    }

    /// The link that a switch chooses for a packet, if it has the list of those that lead there.
    pub(crate) fn choice(&self, switch: u32, packet: &Packet) -> Option<u32> {
        let &Packet { to, flow, entropy, .. } = packet;
        let topology = &self.topology;
        let s = &self.switches[switch as usize];
        let choice = |n: u32| if n == 1 { 0 } else { hash(flow, entropy, s.salt) % n };
        let one_of = |(first, count): (u32, u32)| first + choice(count);
        Some(match s.node {
            Node::Tor(tor) if topology.tor_of(to) == tor => topology.to_host(to),
            Node::Tor(_) if s.up.is_empty() => return None,
            Node::Tor(_) => s.up[choice(s.up.len() as u32) as usize],
            Node::Aggregation(a) if topology.tiers == 2 || topology.pod_of(to) == a / topology.pod_aggregations => {
                one_of(topology.down_from_aggregation(a, to))
            }
            Node::Aggregation(a) => {
                let list = self.list_of(s, to)?;
                let number = choice(self.ways[list].into()) as usize;
                topology.up_from_aggregation(a).0 + u32::from(self.ways[list + 1 + number])
            }
            Node::Core(core) => one_of(topology.ways_down(core, topology.pod_of(to), &self.failed)),
            Node::Host(_) => unreachable!("hosts are not switches"),
        })
    }

    /// Where the list of a switch for a host is in `ways`, if it has been made.
    pub(crate) fn list_of(&self, switch: &Switch, to: u32) -> Option<usize> {
        switch.up_by_host.get(to as usize).filter(|list| **list != NO_LIST).map(|list| *list as usize)
    }

    /// Makes the list of the links upwards of a switch that lead to a host, in random order.
    fn make_list(&mut self, switch: u32, to: u32) {
        let topology = &self.topology;
        let s = &mut self.switches[switch as usize];
        match s.node {
            Node::Tor(tor) => {
                let (first, count) = topology.up_from_tor(tor);
                s.up = permuted((first..first + count).collect(), &mut self.random);
            }
            Node::Aggregation(a) => {
                if s.up_by_host.is_empty() {
                    s.up_by_host.resize(topology.hosts as usize, NO_LIST);
                }
                s.up_by_host[to as usize] = self.ways.len() as u32;
                let first = topology.up_from_aggregation(a).0;
                let ways = permuted(topology.ways_up(a, topology.pod_of(to), &self.failed), &mut self.random);
                self.ways.push(ways.len() as u16);
                self.ways.extend(ways.into_iter().map(|link| (link - first) as u16));
            }
            Node::Core(_) | Node::Host(_) => {}
        }
    }
}
