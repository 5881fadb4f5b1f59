//! The critical path of a job that has run: from its end backwards, always to the condition that was met last.
//!
//! A node that started waited for the end or the start of others of its rank, and perhaps for a slot; one that ended
//! computed, or waited for a message, whose sender is the next to look at. The pieces of the path follow each other
//! without a gap, so their times add up to that of the job.

use crate::Kind;
use crate::job::{Job, PartsAt, SendEnds, Step};

/// A time that has not come.
pub const NEVER: u64 = u64::MAX;

/// When a node ran, in picoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ran {
    /// When it was started, or [`NEVER`].
    pub start: u64,
    /// When it ended, or [`NEVER`].
    pub end: u64,
    /// Of a receive that has its message, the rank that sent it and the number of the node there.
    pub from: (u32, u32),
}

impl Ran {
    /// Of a node that has not started.
    pub const NOT: Self = Self { start: NEVER, end: NEVER, from: (u32::MAX, u32::MAX) };

    /// Whether it has ended.
    pub fn has_ended(&self) -> bool {
        self.end != NEVER
    }
}

/// What a piece of a path was spent on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spent {
    /// A computation of the node.
    Computing,
    /// The node's message, a send, on its way to the receive that needed it.
    Message,
    /// The node's message, a send, and its last ACK.
    Acked,
    /// The node had all that it waited for, but its slot.
    Slot,
    /// The node, a collective, was entered later than at the first rank.
    Late,
}

/// A piece of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece {
    /// What it was spent on.
    pub spent: Spent,
    /// The rank of the node.
    pub rank: u32,
    /// Its number there.
    pub node: u32,
    /// From when, in picoseconds ...
    pub start: u64,
    /// ... to when.
    pub end: u64,
}

/// A job that has run.
#[derive(Clone, Copy, Debug)]
pub struct Past<'a> {
    /// What its ranks did.
    pub job: &'a Job,
    /// When their nodes ran: by rank, then by number.
    pub ran: &'a [&'a [Ran]],
    /// When it began, in picoseconds.
    pub begin: u64,
}

impl Past<'_> {
    fn step(&self, rank: u32, node: u32) -> Step<'_> {
        self.job.step(rank, node)
    }

    fn ran(&self, rank: u32, node: u32) -> Ran {
        self.ran[rank as usize][node as usize]
    }

    /// The path to the end of the whole job, in order of time; none while a node has not ended.
    pub fn path(&self) -> Option<Vec<Piece>> {
        let mut last: Option<(u64, u32, u32)> = None;
        for rank in 0..self.job.ranks.len() as u32 {
            for step in self.job.steps(rank) {
                let end = Some(self.ran(rank, step.number).end).filter(|end| *end != NEVER)?;
                // As a rank finishes: without the ACKs of a collective's messages.
                if !step.is_part() && last.is_none_or(|(latest, ..)| end > latest) {
                    last = Some((end, rank, step.number));
                }
            }
        }
        let (_, rank, node) = last?;
        Some(self.back(rank, node, None))
    }

    /// The path to the end of each collective, by number, in order of time from its first rank's entry on; none of one
    /// that a rank has not ended.
    pub fn paths_of_collectives(&self) -> impl Iterator<Item = Option<Vec<Piece>>> + '_ {
        let mut entries: Vec<Vec<(u32, u32)>> = vec![Vec::new(); self.job.collectives.len()];
        for rank in 0..self.job.ranks.len() as u32 {
            for step in self.job.own_steps(rank) {
                if let Some(of) = entries.get_mut(step.collective as usize) {
                    of.push((rank, step.number));
                }
            }
        }
        (0..).zip(entries).map(|(collective, entries)| self.path_of(collective, &entries))
    }

    fn path_of(&self, collective: u32, entries: &[(u32, u32)]) -> Option<Vec<Piece>> {
        let ran = || entries.iter().map(|(rank, node)| self.ran(*rank, *node));
        let first = ran().map(|ran| ran.start).min()?;
        let last = ran().map(|ran| ran.end).max().filter(|end| *end != NEVER)?;
        let (rank, node) = *entries.iter().find(|(rank, node)| self.ran(*rank, *node).end == last)?;
        Some(self.back(rank, node, Some((collective, first))))
    }

    /// Backwards from the end of a node, to the beginning of the job or to the entry into a collective, of which the
    /// time of the first rank's entry is known.
    fn back(&self, mut rank: u32, mut node: u32, within: Option<(u32, u64)>) -> Vec<Piece> {
        let mut pieces = Vec::new();
        let mut at_end = true;
        loop {
            let (step, Ran { start, end, from }) = (self.step(rank, node), self.ran(rank, node));
            let mut add = |spent, rank, node, start, end| {
                if end > start {
                    pieces.push(Piece { spent, rank, node, start, end });
                }
            };
            if at_end {
                at_end = false;
                match step.kind {
                    Kind::Delay { .. } => add(Spent::Computing, rank, node, start, end),
                    Kind::Send { .. } => {
                        let acked = self.job.send_ends == SendEnds::Acked;
                        add(if acked { Spent::Acked } else { Spent::Message }, rank, node, start, end);
                    }
                    // Otherwise its message was there before it was posted.
                    Kind::Recv { .. } if end > start => {
                        (rank, node) = from;
                        add(Spent::Message, rank, node, self.ran(rank, node).start, end);
                    }
                    Kind::Recv { .. } => {}
                    Kind::Collective { .. } => {
                        if let Some(part) = self.last_part(rank, node) {
                            (node, at_end) = (part, true);
                        }
                    }
                }
                continue;
            }
            if let Some((collective, first)) = within
                && !step.is_part()
                && step.collective == collective
            {
                add(Spent::Late, rank, node, first, start);
                break;
            }
            let (met, next) = self.last_met(rank, node);
            add(Spent::Slot, rank, node, met, start);
            match next {
                Some((before, ended)) => (node, at_end) = (before, ended),
                None => break,
            }
        }
        pieces.reverse();
        pieces
    }

    /// The part of a collective with which it ended at a rank: the last of its receives, or of its sends where it has
    /// no receives.
    fn last_part(&self, rank: u32, node: u32) -> Option<u32> {
        let parts = || self.job.parts(rank, node).into_iter().flat_map(PartsAt::steps);
        let receives = |step: &Step<'_>| matches!(step.kind, Kind::Recv { .. });
        let any = parts().any(|step| receives(&step));
        let counted = parts().filter(|step| receives(step) == any).map(|step| step.number);
        counted.min_by_key(|part| std::cmp::Reverse(self.ran(rank, *part).end))
    }

    /// When the last of a node's conditions was met, and by which node: whether by its end, or by its start.
    fn last_met(&self, rank: u32, node: u32) -> (u64, Option<(u32, bool)>) {
        let of = self.step(rank, node);
        let ends = of.after_end().map(|id| (self.ran(rank, id).end, id, true));
        let starts = of.after_start().map(|id| (self.ran(rank, id).start, id, false));
        let mut last = (self.begin, None);
        for (time, before, ended) in ends.chain(starts) {
            if last.1.is_none() || time > last.0 {
                last = (time, Some((before, ended)));
            }
        }
        last
    }
}

#[cfg(test)]
mod tests;
