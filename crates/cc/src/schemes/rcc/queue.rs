//! RCC's Algorithm 2: the queue of ACKs that wait for room.

use alloc::collections::VecDeque;

/// An ACK that waits. At most one per flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Waiting {
    /// The flow, by its place in the host's list.
    pub flow: u32,
    /// How often it was overtaken (skiptime).
    pub skips: u32,
    /// Whether it asks for a retransmission.
    pub push: bool,
}

/// The ACKs that wait, the next one to leave in front.
#[derive(Debug, Default)]
pub struct AckQueue {
    waiting: VecDeque<Waiting>,
}

impl AckQueue {
    /// Makes room for one ACK of each of so many flows.
    pub fn reserve(&mut self, flows: usize) {
        self.waiting.reserve(flows.saturating_sub(self.waiting.len()));
    }

    /// Lines 1 and 2: the newest ACK of a flow takes the place of the one that waits, keeps its skips and its wish, and
    /// is inserted behind all of at least its priority: a smaller `rank` is a higher priority. It overtakes no ACK that
    /// was overtaken `limit` times.
    pub fn insert(&mut self, new: Waiting, limit: u32, rank: impl Fn(u32) -> u64) {
        let mut new = new;
        if let Some(at) = self.waiting.iter().position(|w| w.flow == new.flow)
            && let Some(old) = self.waiting.remove(at)
        {
            new.skips = new.skips.saturating_add(old.skips);
            new.push |= old.push;
        }
        let mine = rank(new.flow);
        let mut at = self.waiting.len();
        while at > 0 {
            let ahead = &mut self.waiting[at - 1];
            if rank(ahead.flow) <= mine || ahead.skips >= limit {
                break;
            }
            ahead.skips += 1;
            at -= 1;
        }
        self.waiting.insert(at, new);
    }

    /// Line 4: the ACK of the highest priority.
    pub fn pop(&mut self) -> Option<Waiting> {
        self.waiting.pop_front()
    }

    /// Takes the ACK of a flow out of its turn.
    pub fn remove(&mut self, flow: u32) -> Option<Waiting> {
        let at = self.waiting.iter().position(|w| w.flow == flow)?;
        self.waiting.remove(at)
    }

    /// The ACKs in the order in which they will leave.
    pub fn iter(&self) -> impl Iterator<Item = &Waiting> {
        self.waiting.iter()
    }

    /// Number of ACKs.
    pub fn len(&self) -> usize {
        self.waiting.len()
    }

    /// Whether none waits.
    pub fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }
}
