//! All parts of a network in one thread: the same frames as between processes, without them.
#![allow(dead_code, reason = "each test file uses its own part")]

use fanin_experiment::built::Built;
use fanin_units::{NodeId, Time};
use fanin_wirelab::{HostNode, Item, Node, Reports, SwitchNode, lookahead};
use std::io::Write;

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
            // The switches pass control messages on at once, and they come before frames.
            let (controls, frames): (Vec<_>, Vec<_>) =
                passing.drain(..).partition(|(_, item)| matches!(item, Item::Control(..)));
            controls.into_iter().for_each(|(number, item)| self.nodes[number].deliver(item));
            let mut passed = Vec::new();
            self.nodes[0].run_until(to, &mut |neighbour, item| passed.push((neighbour + 1, item)));
            passed.into_iter().chain(frames).for_each(|(number, item)| self.nodes[number].deliver(item));
            self.now = to;
        }
    }

    /// Writes the capture of the experiment from now on.
    pub fn begin_capture(&mut self, out: impl Write + Send + 'static) {
        self.nodes[0].begin_capture(Box::new(out)).unwrap();
    }

    /// Ends the capture. Returns a warning if packets were left out.
    pub fn end_capture(&mut self) -> Option<String> {
        self.nodes[0].end_capture().unwrap()
    }

    /// The reports of all parts.
    pub fn reports(&mut self) -> Reports {
        Reports(self.nodes.iter_mut().map(|node| node.report(true)).collect())
    }
}
