//! The nodes of a rank: those of its own, and behind each collective the messages that it consists of.

use super::planned::{Collective, Parts, TAGS};
use crate::{Kind, Node};

/// No collective.
pub const NONE: u32 = u32::MAX;

/// The nodes of a rank. Each has a number: a node of its own comes before the parts of its collective, and the next one
/// of its own after them. Parts are in the plan of their collective, which all ranks share.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Program {
    pub(super) own: Vec<Own>,
    /// The numbers of the nodes for which its own nodes wait.
    waits: Vec<u32>,
    len: u32,
}

/// A node of a rank's own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Own {
    pub kind: Kind,
    pub origin: u64,
    pub number: u32,
    /// Its collective, or [`NONE`], and the rank's place in it.
    pub collective: u32,
    pub place: u32,
    /// Where its waits end: those for ends of nodes, and then those for starts. They begin where those of the node
    /// before it end.
    ends: u32,
    starts: u32,
    pub slot: Option<u8>,
    nic: u8,
}

/// A node of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step<'a> {
    /// Its number in the rank.
    pub number: u32,
    /// What it does.
    pub kind: Kind,
    /// The processor or engine that it needs, if any.
    pub slot: Option<u8>,
    /// The network interface that its message uses.
    pub nic: u8,
    /// The collective that it is, or whose message it sends or receives, or [`NONE`].
    pub collective: u32,
    /// The node of the rank that is this collective; its own number for others.
    pub within: u32,
    /// The node's number in the file; of a part of a collective, that of the collective.
    pub origin: u64,
    /// Of a part, the number of its message among the parts of the other rank.
    pub there: u32,
    ends: &'a [u32],
    starts: &'a [u32],
    /// What is added to the numbers in `ends`.
    first: u32,
}

impl Step<'_> {
    /// Whether it is a message of a collective.
    pub fn is_part(&self) -> bool {
        self.within != self.number
    }

    /// The numbers of the nodes that must have ended.
    pub fn after_end(&self) -> impl Iterator<Item = u32> + '_ {
        self.ends.iter().map(|wait| wait + self.first)
    }

    /// The numbers of the nodes that must have started. Parts that wait for no other part wait for their collective.
    pub fn after_start(&self) -> impl Iterator<Item = u32> + '_ {
        let entry = Some(self.within).filter(|_| self.is_part() && self.ends.is_empty());
        self.starts.iter().copied().chain(entry)
    }

    /// The same as a node of its own.
    pub fn node(&self) -> Node {
        Node {
            id: self.number.into(),
            kind: self.kind,
            slot: self.slot,
            nic: self.nic,
            after_end: self.after_end().map(u64::from).collect(),
            after_start: self.after_start().map(u64::from).collect(),
        }
    }
}

impl Program {
    /// Room for so many nodes of its own.
    pub(super) fn with_capacity(nodes: usize) -> Self {
        Self { own: Vec::with_capacity(nodes), ..Self::default() }
    }

    /// Adds a node with its number in the file, with waits by the numbers of this program, and its collective: which,
    /// the rank's place in it, and how many parts follow.
    pub(super) fn push(&mut self, node: &Node, [after_end, after_start]: [&[u32]; 2], of: (u32, u32, u32)) {
        let (collective, place, parts) = of;
        self.waits.extend(after_end);
        let ends = self.waits.len() as u32;
        self.waits.extend(after_start);
        let starts = self.waits.len() as u32;
        let Node { kind, slot, nic, id: origin, .. } = *node;
        self.own.push(Own { kind, origin, number: self.len, collective, place, ends, starts, slot, nic });
        self.len += 1 + parts;
    }

    /// Its own nodes.
    pub(super) fn own_mut(&mut self) -> &mut [Own] {
        &mut self.own
    }

    /// Nodes in all.
    pub fn len(&self) -> usize {
        self.len as usize
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    pub(super) fn own_step(&self, at: usize) -> Step<'_> {
        let Own { kind, origin, number, collective, ends, starts, slot, nic, .. } = self.own[at];
        let begin = at.checked_sub(1).map_or(0, |before| self.own[before].starts);
        let wait = |from: u32, to: u32| &self.waits[from as usize..to as usize];
        let (ends, starts) = (wait(begin, ends), wait(ends, starts));
        Step { number, kind, slot, nic, collective, within: number, origin, there: NONE, ends, starts, first: 0 }
    }

    /// The place among its own nodes of a node, or of the collective whose part it is.
    pub(super) fn place_of(&self, number: u32) -> usize {
        match self.own.get(number as usize) {
            // Without collectives before it.
            Some(own) if own.number == number => number as usize,
            _ => self.own.partition_point(|own| own.number <= number).saturating_sub(1),
        }
    }
}

/// The parts of a collective at a rank, numbered from 0.
#[derive(Clone, Copy)]
pub struct PartsAt<'a> {
    pub(super) of: &'a Collective,
    pub(super) parts: &'a Parts,
    /// The rank's place.
    pub(super) place: u32,
    /// The collective's number in the job.
    pub collective: u32,
    /// The node of the rank that is this collective. That of its first part is the next one.
    pub node: u32,
    pub(super) origin: u64,
}

impl<'a> PartsAt<'a> {
    /// How many there are.
    pub fn len(&self) -> u32 {
        self.parts.len(self.place)
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether a part sends, and for how many others it waits.
    pub fn waits(&self, part: u32) -> (bool, u32) {
        let (part, waits) = self.parts.get(self.place, part);
        (part.sends, waits.len() as u32)
    }

    /// Where the job has what waits for them: the plan, and the place in it.
    pub(crate) fn plan(&self) -> (u32, u32) {
        (self.of.plan, self.place)
    }

    /// A part as a node of its rank.
    pub fn step(&self, at: u32) -> Step<'a> {
        let (part, ends) = self.parts.get(self.place, at);
        let (bytes, peer) = (part.bytes, self.of.members[part.peer as usize]);
        let tag = TAGS + self.of.tags.wrapping_add(part.transfer) % (TAGS - 1);
        let kind = match part.sends {
            true => Kind::Send { to: peer, bytes, tag },
            false => Kind::Recv { from: peer, bytes, tag },
        };
        let (within, first, there) = (self.node, self.node + 1, part.there);
        let (number, collective, origin) = (first + at, self.collective, self.origin);
        Step { number, kind, slot: None, nic: 0, collective, within, origin, there, ends, starts: &[], first }
    }

    /// All of them.
    pub fn steps(self) -> impl Iterator<Item = Step<'a>> + Clone {
        (0..self.len()).map(move |part| self.step(part))
    }
}
