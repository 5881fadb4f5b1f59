//! Events and their one order.

use crate::mix;
use fanin_units::Time;

/// Something that happens at a time. A source (a link, a port, a timer) has at most one event at any instant, so
/// (time, source) names an event and no counter is needed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Event {
    /// When.
    pub at: Time,
    /// Who caused it; the model's own numbering.
    pub source: u32,
    /// The model's own.
    pub arg: u32,
}

/// The order of events: by time, then by a keyed hash of (seed, time, source), then by source. It does not depend on
/// how events are spread over queues or when they were inserted. The hash comes before the id, because a fixed order
/// of links would favour some senders whenever many packets arrive at one instant.
#[derive(Clone, Copy, Debug)]
pub struct Order {
    seed: u64,
}

impl Order {
    /// The order of a run with this seed.
    pub const fn new(seed: u64) -> Self {
        Self { seed }
    }

    /// Whether one event comes before another. The hash is only asked where times are equal.
    #[inline(always)]
    pub fn before(&self, a: &Event, b: &Event) -> bool {
        if a.at != b.at { a.at < b.at } else { self.key(a) < self.key(b) }
    }

    /// The number by which events are ordered: the time above, the keyed hash below. For one seed and time the hash is
    /// a bijection of the source, so the source itself is never needed to break a tie.
    #[inline(always)]
    pub fn key(&self, event: &Event) -> u128 {
        (event.at.as_ps() as u128) << 64 | self.hash(event) as u128
    }

    /// What orders events of one time.
    #[inline(always)]
    pub(crate) fn hash(&self, event: &Event) -> u64 {
        mix(self.seed ^ event.at.as_ps().wrapping_mul(0xD6E8_FEB8_6659_FD93), event.source as u64)
    }
}

/// A set of events that gives them back in [`Order`].
pub trait EventQueue {
    /// Adds an event.
    fn push(&mut self, event: Event);
    /// Takes the first event if it happens before `limit`.
    fn pop_before(&mut self, limit: Time) -> Option<Event>;
    /// A guess at the event that comes after `n` others, to bring its data into the cache; it decides nothing.
    fn ahead(&self, _n: usize) -> Option<&Event> {
        None
    }
    /// When the first event happens, or [`Time::NEVER`]. Changes nothing.
    fn first_at(&self) -> Time;
    /// How many events wait, counted anew.
    fn len(&self) -> usize;
    /// Whether none waits.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
}
