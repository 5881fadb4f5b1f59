//! Completion time of a message alone in an idle network, store-and-forward.

use crate::plan::{Plan, Speed};
use crate::routing::Routes;
use fanin_endpoint::host::ENDLESS;
use fanin_units::{NodeId, PortId, Time};
use std::collections::BTreeMap;

/// A message's packets on their way. The full packets before the last one form a pipeline: at each link, the last of
/// them is done after one transmission time of each link so far and the others of the slowest; then the last packet of
/// all follows. All in picoseconds.
struct Pipeline {
    full: u32,
    last: u32,
    before_last: u64,
    sum: u64,
    slowest: u64,
    done: u64,
    delays: u64,
}

impl Pipeline {
    /// They cross a link. Where they spread over several, no packet waits for another.
    fn cross(&mut self, link: Speed, shared: bool) {
        let packet = link.tx_time(self.full).as_ps();
        self.sum += packet;
        self.slowest = if shared { self.slowest.max(packet) } else { self.slowest };
        // A huge message over a slow link may take longer than the clock can represent.
        let behind_first = self.before_last.saturating_sub(1).saturating_mul(self.slowest);
        let full_done = if self.before_last == 0 { 0 } else { self.sum.saturating_add(behind_first) };
        self.done = if shared { self.done.max(full_done) } else { self.done };
        self.done = self.done.saturating_add(link.tx_time(self.last).as_ps());
        self.delays += link.delay.as_ps();
    }
}

impl Plan {
    /// Completion time of a message to a host, alone, whose flow has this path. It is the same under every scheme: what
    /// a scheme adds to its packets is its cost and no part of the ideal. Where packets of a flow take several paths
    /// that differ, it is a bound: packets wait for each other at links that all of them share, and in between the last
    /// one takes the fastest way.
    pub fn ideal(&self, routes: &Routes, walked: &[PortId], to: NodeId, bytes: u64) -> Time {
        if bytes >= ENDLESS || walked.is_empty() {
            return Time::NEVER;
        }
        let payload = self.config.packet.payload as u64;
        let header = self.config.packet.header as u64;
        let before_last = (bytes - 1) / payload;
        let last = (bytes - before_last * payload + header) as u32;
        let full = (payload + header) as u32;
        let mut pipeline = Pipeline { full, last, before_last, sum: 0, slowest: 0, done: 0, delays: 0 };
        if self.spreads {
            let mut spread = Spread { plan: self, routes, to, last, known: BTreeMap::new() };
            for (port, shared) in spread.ports(walked[0]) {
                pipeline.cross(self.speed(port), shared);
            }
        } else {
            walked.iter().for_each(|port| pipeline.cross(self.speed(*port), true));
        }
        Time::from_ps(pipeline.done.saturating_add(pipeline.delays))
    }
}

/// The ways from a host to another over all shortest paths.
struct Spread<'a> {
    plan: &'a Plan,
    routes: &'a Routes,
    to: NodeId,
    /// Bytes of the last packet.
    last: u32,
    /// By switch, the fastest way of that packet from there: its time in picoseconds, and its first port.
    known: BTreeMap<NodeId, (u64, PortId)>,
}

impl Spread<'_> {
    /// The ports of the fastest path that begins with this one, each with whether all packets pass it.
    fn ports(&mut self, first: PortId) -> Vec<(PortId, bool)> {
        let (mut ports, mut shared) = (vec![(first, true)], true);
        let mut at = self.plan.far_ends[first.ix()].node;
        while at != self.to && ports.len() < self.plan.far_ends.len() {
            let (choices, (_, port)) = (self.choices(at), self.fastest(at));
            if port == PortId::NONE {
                break;
            }
            at = self.plan.far_ends[port.ix()].node;
            // A host with one link has its last one in common to all paths.
            shared = choices.len() == 1 && (shared || at == self.to);
            ports.push((port, shared));
        }
        ports
    }

    fn choices(&self, at: NodeId) -> Vec<PortId> {
        let mut choices = Vec::new();
        self.routes.equal(at, self.to, &mut choices);
        choices
    }

    fn fastest(&mut self, at: NodeId) -> (u64, PortId) {
        if at == self.to {
            return (0, PortId::NONE);
        }
        if let Some(known) = self.known.get(&at) {
            return *known;
        }
        let mut best = (u64::MAX, PortId::NONE);
        for port in self.choices(at) {
            let speed = self.plan.speed(port);
            let here = speed.tx_time(self.last).as_ps() + speed.delay.as_ps();
            let (rest, _) = self.fastest(self.plan.far_ends[port.ix()].node);
            best = best.min((here.saturating_add(rest), port));
        }
        self.known.insert(at, best);
        best
    }
}
