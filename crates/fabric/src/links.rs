//! The state of links: those that lose packets and those that go down, and the messages that a failure blocks.

use crate::packet::Packet;
use crate::results::DropCause;
use crate::topology::{Graph, Link};
use fanin_cc::{Kind, flags};
use fanin_engine::{Stream, Streams};
use fanin_units::{MessageId, PortId, Time};
use std::collections::{BTreeMap, BTreeSet};

/// The links of a network, where any of them can lose packets or fail.
pub(crate) struct LinkStates {
    /// By number; empty where no link can fail.
    links: Vec<LinkState>,
    /// Whether links go down: only then are deflected messages recorded.
    outages: bool,
    deflected: BTreeSet<MessageId>,
    /// Attempts of a message before this one are blocked (Dart IV-C).
    first_attempts: BTreeMap<MessageId, u16>,
}

/// The errors and outages of one link.
struct LinkState {
    error_rate: f64,
    down: bool,
    /// Number of its state changes.
    epoch: u16,
    /// Changes of state still to come, the next one last: when, and whether the link is up after it.
    changes: Vec<(Time, bool)>,
    /// One stream of draws per direction.
    draws: Option<Box<[Stream; 2]>>,
}

impl LinkStates {
    /// The links of a network.
    pub fn new(graph: &Graph, streams: &Streams) -> Self {
        let fails = |link: &Link| link.error_rate > 0.0 || !link.outages.is_empty();
        let states = || (0..).zip(&graph.links).map(|(number, link)| LinkState::new(number, link, streams));
        Self {
            links: if graph.links.iter().any(fails) { states().collect() } else { Vec::new() },
            outages: graph.links.iter().any(|link| !link.outages.is_empty()),
            deflected: BTreeSet::new(),
            first_attempts: BTreeMap::new(),
        }
    }

    /// Whether some link can lose a packet.
    #[inline(always)]
    pub fn can_fail(&self) -> bool {
        !self.links.is_empty()
    }

    /// Number of links, where any can fail.
    pub fn len(&self) -> usize {
        self.links.len()
    }

    /// Whether each link is down.
    pub fn down(&self) -> Vec<bool> {
        self.links.iter().map(|link| link.down).collect()
    }

    /// The time of a link's next state change.
    pub fn next_change(&self, link: usize) -> Option<Time> {
        self.links[link].changes.last().map(|(at, _)| *at)
    }

    /// Number of pending state changes of a link.
    pub fn changes_left(&self, link: usize) -> u32 {
        self.links[link].changes.len() as u32
    }

    /// Applies the next state change of a link. Returns whether the link is up now.
    pub fn change(&mut self, link: usize) -> Option<bool> {
        let state = &mut self.links[link];
        let (_, up) = state.changes.pop()?;
        state.down = !up;
        state.epoch = state.epoch.wrapping_add(1);
        Some(up)
    }

    /// Why a packet that a port sent was lost on the link, if it was: the link has changed its state since, or its
    /// error rate takes it. Pause frames are never lost: where pauses do not expire, one lost resume would stop a
    /// network for ever.
    pub fn loses(&mut self, port: PortId, packet: &Packet) -> Option<DropCause> {
        let link = &mut self.links[port.ix() / 2];
        if packet.epoch != link.epoch {
            return Some(DropCause::LinkDown);
        }
        let taken = match &mut link.draws {
            Some(draws) if packet.head.kind != Kind::Pause => draws[port.ix() % 2].chance(link.error_rate),
            _ => false,
        };
        taken.then_some(DropCause::Error)
    }

    /// Notes that a switch deflected a message.
    pub fn note_deflection(&mut self, message: MessageId) {
        if self.outages {
            self.deflected.insert(message);
        }
    }

    /// Messages that switches deflected, where links go down.
    pub fn deflected(&self) -> BTreeSet<MessageId> {
        self.deflected.clone()
    }

    /// Blocks a message's attempts before this one: their packets are dropped at the next switch.
    pub fn block(&mut self, message: MessageId, first_attempt: u16) {
        self.first_attempts.insert(message, first_attempt);
    }

    /// Whether a failure has cut the path of the packet's message since its attempt started.
    pub fn blocks(&self, packet: &Packet) -> bool {
        let head = &packet.head;
        let first = || self.first_attempts.get(&head.flow).copied().unwrap_or(0);
        head.kind == Kind::Data && !head.has(flags::TCP) && head.attempt < first()
    }
}

impl LinkState {
    fn new(number: u32, link: &Link, streams: &Streams) -> Self {
        let mut changes: Vec<(Time, bool)> =
            link.outages.iter().flat_map(|&(from, to)| [(from, false), (to, true)]).collect();
        changes.retain(|(at, _)| *at != Time::NEVER);
        changes.reverse();
        let stream = |port: PortId| streams.stream("link error", port.0 as u64);
        let draws =
            (link.error_rate > 0.0).then(|| Box::new([stream(PortId(2 * number)), stream(PortId(2 * number + 1))]));
        Self { error_rate: link.error_rate, down: false, epoch: 0, changes, draws }
    }
}
