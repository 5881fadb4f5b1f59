//! Events and their total order.

use crate::mix;
use fanin_units::Time;

/// Something that happens at a time. A source (a link, a port, a timer) has at most one event at any instant, so
/// (time, source) names an event and no counter is needed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Event {
    /// When.
    pub at: Time,
    /// Its cause; numbered by the model.
    pub source: u32,
    /// For the model.
    pub arg: u32,
}

/// The order of events: by time, then by a keyed hash of (seed, time, source), then by source. It does not depend on
/// how events are spread over queues or when they were inserted. The hash comes before the source, because a fixed
/// order of links would favour some senders whenever many packets arrive at one instant.
#[derive(Clone, Copy, Debug)]
pub struct Order {
    seed: u64,
}

impl Order {
    /// The order of a run with this seed.
    pub const fn new(seed: u64) -> Self {
        Self { seed }
    }

    /// Whether one event precedes another. The hash is only computed for equal times.
    #[inline(always)]
    pub fn before(&self, a: &Event, b: &Event) -> bool {
        if a.at != b.at { a.at < b.at } else { self.key(a) < self.key(b) }
    }

    /// The number that defines the order: the time in the high bits, the keyed hash in the low bits. For one seed and
    /// time, the hash is a bijection of the source, so the source itself is never needed to break a tie.
    #[inline(always)]
    pub fn key(&self, event: &Event) -> u128 {
        (event.at.as_ps() as u128) << 64 | self.hash(event) as u128
    }

    /// The order among events of one time.
    #[inline(always)]
    pub(crate) fn hash(&self, event: &Event) -> u64 {
        mix(self.seed ^ event.at.as_ps().wrapping_mul(0xD6E8_FEB8_6659_FD93), event.source as u64)
    }
}

/// A priority queue of events by [`Order`].
pub trait EventQueue {
    /// Adds an event.
    fn push(&mut self, event: Event);
    /// Removes the first event if it happens before `limit`.
    fn pop_before(&mut self, limit: Time) -> Option<Event>;
    /// A guess of the event `n` positions later, for prefetching; it has no effect on the result.
    fn ahead(&self, _n: usize) -> Option<&Event> {
        None
    }
    /// Time of the first event, or [`Time::NEVER`]. Changes nothing.
    fn first_at(&self) -> Time;
    /// Number of pending events, counted when called.
    fn len(&self) -> usize;
    /// Whether no event is pending.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
}
