//! All parts of a network in one thread: the same frames as between processes, without them.

use fanin_experiment::built::Built;
use fanin_units::{NodeId, Time};
use fanin_wirelab::{HostNode, Item, Node, Reports, SwitchNode, lookahead};

/// All parts of a network: the switches, then the hosts.
pub struct Local {
    nodes: Vec<Box<dyn Node>>,
    /// No part needs to know what another does within this time.
    lookahead: Time,
    now: Time,
}

impl Local {
    /// The parts of an experiment, which `build` makes anew for each.
    ///
    /// # Errors
    /// Where its network cannot run on a wire.
    pub fn new(build: impl Fn() -> Built) -> Result<Self, &'static str> {
        let built = build();
        let hosts = built.network.graph.hosts;
        let mut nodes: Vec<Box<dyn Node>> = vec![Box::new(SwitchNode::new(&built)?)];
        for host in 0..hosts {
            nodes.push(Box::new(HostNode::new(build(), NodeId(host))?));
        }
        let lookahead = (0..hosts).map(|host| lookahead(&built, NodeId(host))).min().unwrap_or(Time::NEVER);
        Ok(Self { nodes, lookahead, now: Time::ZERO })
    }

    /// Runs to a time. `between` may change what is on its way from one part to another.
    pub fn run_until(&mut self, until: Time, mut between: impl FnMut(&mut Vec<(usize, Item)>)) {
        let mut passing: Vec<(usize, Item)> = Vec::new();
        while self.now < until {
            let next = self.nodes.iter_mut().map(|node| node.next_at()).min().unwrap_or(Time::NEVER);
            let to = self.now.max(next).saturating_add(self.lookahead).min(until);
            for (number, node) in self.nodes.iter_mut().enumerate() {
                node.run_until(to, &mut |neighbour, item| {
                    passing.push((if number == 0 { neighbour + 1 } else { 0 }, item));
                });
            }
            between(&mut passing);
            // The switches pass control messages on at once.
            while !passing.is_empty() {
                let mut again = Vec::new();
                for (number, item) in passing.drain(..) {
                    match item {
                        Item::Control(host, bytes) if number == 0 => {
                            again.push((host.ix() + 1, Item::Control(host, bytes)))
                        }
                        item => again.push((number, item)),
                    }
                }
                again.sort_by_key(|(_, item)| matches!(item, Item::Frame(_)));
                again.into_iter().for_each(|(number, item)| self.nodes[number].deliver(item));
            }
            self.now = to;
        }
    }

    /// The reports of all parts.
    pub fn reports(&mut self) -> Reports {
        Reports(self.nodes.iter_mut().map(|node| node.report(true)).collect())
    }
}
