//! Records of pauses and of their causes: which pause led to which (HPCC 2.2 and Fig. 1).
//!
//! A pause holds a class of a port, from the PAUSE frame's arrival to its end. The node that sends the frame knows why:
//! an ingress of a switch is full of packets, and of the queues that hold them the one with the most is either paused
//! itself, so that the pause there caused this one, or it is not, and the congestion of that queue is the origin. A
//! host with a fault is an origin too. The two ends of a link may be in different partitions of a network, so each
//! writes its half, and [`records`] joins them: a pause at time t follows from the last decision of the other end that
//! was early enough for its frame to arrive at t.
//!
//! Pauses with the same origin form one tree as long as one of those at its root lasts.

use crate::topology::Graph;
use fanin_units::{PortId, Time};
use std::collections::BTreeMap;

/// One pause of a class at a port, and its cause.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PauseRecord {
    /// The port that was paused.
    pub port: PortId,
    /// The class.
    pub class: u8,
    /// When the PAUSE frame arrived.
    pub begin: Time,
    /// When the pause ended; [`Time::NEVER`] if it lasts.
    pub end: Time,
    /// Its cause.
    pub cause: PauseCause,
    /// The number of the pause that led to it, by [`PauseCause::Pause`].
    pub parent: Option<u32>,
    /// The number of its tree.
    pub tree: u32,
    /// Pauses from the origin on, itself included: at least 1.
    pub depth: u16,
}

impl PauseRecord {
    /// How many a run keeps.
    pub const KEPT: usize = 1_000_000;
}

/// The cause of a pause, at the node that sent it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum PauseCause {
    /// The queue of this port and class holds most of the packets, and is not paused: an origin.
    Congestion(PortId, u8),
    /// The queue of this port and class does, and is paused.
    Pause(PortId, u8),
    /// The receive buffer of a slow host is full: an origin.
    Receiver,
    /// The host pauses without a cause: an origin.
    Storm,
    /// Not recorded: there were too many.
    Unknown,
}

impl PauseCause {
    /// The name used in results.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Congestion(..) => "congestion",
            Self::Pause(..) => "pause",
            Self::Receiver => "receiver",
            Self::Storm => "storm",
            Self::Unknown => "unknown",
        }
    }
}

/// The half of a partition.
#[derive(Clone, Debug, Default)]
pub(crate) struct PauseLog {
    /// In order of their begin.
    spans: Vec<Span>,
    /// Spans that last.
    open: BTreeMap<(PortId, u8), u32>,
    /// In order of time.
    decisions: Vec<Decision>,
    left_out: u64,
}

#[derive(Clone, Copy, Debug)]
struct Span {
    port: PortId,
    class: u8,
    begin: Time,
    end: Time,
}

/// A port decides to pause its peer.
#[derive(Clone, Copy, Debug)]
struct Decision {
    port: PortId,
    class: u8,
    time: Time,
    cause: PauseCause,
    /// When the pause began that is the cause.
    since: Time,
}

/// Decisions kept for each pause kept.
const DECISIONS_EACH: usize = 4;

impl PauseLog {
    /// A class of a port is paused, or no longer.
    pub fn see(&mut self, now: Time, port: PortId, class: u8, paused: bool) {
        if !paused {
            if let Some(at) = self.open.remove(&(port, class)) {
                self.spans[at as usize].end = now;
            }
        } else if self.spans.len() < PauseRecord::KEPT {
            self.open.insert((port, class), self.spans.len() as u32);
            self.spans.push(Span { port, class, begin: now, end: Time::NEVER });
        } else {
            self.left_out += 1;
        }
    }

    /// A port decides to pause a class of its peer. `since`: the start of the pause that caused this one, if any.
    pub fn decide(&mut self, time: Time, (port, class): (PortId, u8), cause: PauseCause, since: Time) {
        if self.decisions.len() < DECISIONS_EACH * PauseRecord::KEPT {
            self.decisions.push(Decision { port, class, time, cause, since });
        }
    }
}

/// The pauses of a network from the halves of its partitions, in order of their begin, and the number of those that
/// were not kept. `pause` is the size of a PAUSE frame, which takes effect a `response` after it arrived.
pub(crate) fn records<'a>(
    graph: &Graph,
    (pause, response): (u16, Time),
    logs: impl Iterator<Item = &'a PauseLog>,
) -> (Vec<PauseRecord>, u64) {
    let (mut spans, mut left_out) = (Vec::new(), 0);
    let mut decisions: BTreeMap<(PortId, u8), Vec<Decision>> = BTreeMap::new();
    for log in logs {
        spans.extend_from_slice(&log.spans);
        left_out += log.left_out;
        for decision in &log.decisions {
            decisions.entry((decision.port, decision.class)).or_default().push(*decision);
        }
    }
    // The pauses of one port are in one log, in order.
    spans.sort_by_key(|span| (span.begin, span.port, span.class));
    left_out += spans.len().saturating_sub(PauseRecord::KEPT) as u64;
    spans.truncate(PauseRecord::KEPT);
    let mut trees = Trees::default();
    for span in spans {
        let link = &graph.links[span.port.ix() / 2];
        let arrived = span.begin.saturating_sub(response);
        let sent_by = arrived.saturating_sub(link.delay).saturating_sub(link.rate.tx_time(pause as u64));
        let of_peer = decisions.get(&(span.port.reverse(), span.class)).map_or(&[][..], Vec::as_slice);
        let before = of_peer.partition_point(|decision| decision.time <= sent_by);
        let decision = before.checked_sub(1).map(|last| of_peer[last]);
        trees.add(span, decision);
    }
    (trees.records, left_out)
}

/// Pauses in order of their begin, and what leads from one to another.
#[derive(Default)]
struct Trees {
    records: Vec<PauseRecord>,
    /// The number of the pause of a class of a port that began at a time.
    begun: BTreeMap<(PortId, u8, Time), u32>,
    /// Of each origin, its last tree, and when the last pause at its root ends. A host is the origin by its port.
    last: BTreeMap<(PauseCause, PortId), (u32, Time)>,
    count: u32,
}

impl Trees {
    fn add(&mut self, Span { port, class, begin, end }: Span, decision: Option<Decision>) {
        let cause = decision.map_or(PauseCause::Unknown, |decision| decision.cause);
        let parent = match (cause, decision) {
            (PauseCause::Pause(by, of), Some(decision)) => self.begun.get(&(by, of, decision.since)).copied(),
            _ => None,
        };
        // The frame took time, so that a pause begins later than its cause.
        let (tree, depth) = match parent {
            Some(parent) => {
                let parent = &self.records[parent as usize];
                (parent.tree, parent.depth.saturating_add(1))
            }
            None => (self.tree(cause, port, begin, end), 1),
        };
        self.begun.insert((port, class, begin), self.records.len() as u32);
        self.records.push(PauseRecord { port, class, begin, end, cause, parent, tree, depth });
    }

    /// The tree of a pause at the root.
    fn tree(&mut self, cause: PauseCause, port: PortId, begin: Time, end: Time) -> u32 {
        let at = if let PauseCause::Congestion(..) = cause { PortId::NONE } else { port };
        match self.last.get_mut(&(cause, at)) {
            Some((tree, last)) if begin <= *last => {
                *last = (*last).max(end);
                *tree
            }
            _ => {
                self.last.insert((cause, at), (self.count, end));
                self.count += 1;
                self.count - 1
            }
        }
    }
}
