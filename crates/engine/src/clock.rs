//! The time and the pending events of a model of hosts and switches, and how their events are numbered. A simulator and
//! a transport use the same numbers, so that the order of simultaneous events is the same in both.

use crate::{Event, EventQueue, Order};
use fanin_units::Time;

/// The kind of an event: the upper three bits of its source.
pub mod kind {
    /// The last bit of a packet reached the other end of a link; numbered by the port that sent it.
    pub const ARRIVE: u32 = 0;
    /// A port is to be served.
    pub const PORT: u32 = 1;
    /// Timers of a sender, by its message.
    pub const SENDER: u32 = 2;
    /// Timers of a host.
    pub const HOST: u32 = 3;
    /// The timer of a scheme's receiver at a host.
    pub const RECEIVER: u32 = 4;
    /// A message is posted.
    pub const START: u32 = 5;
    /// A link changes, or a timer of its port.
    pub const LINK: u32 = 6;
    /// Switch programs and shapers.
    pub const SWITCH: u32 = 7;
}
/// In the number of a [`kind::SWITCH`] event: it is about the shaper of the port of that number, not a switch program.
pub const SHAPER: u32 = 1 << (KIND_SHIFT - 1);
const KIND_SHIFT: u32 = 29;
/// The number of an event: the other bits. They number ports, hosts, switches and messages of the whole network, so
/// that the order of events does not depend on how it is cut.
const NUMBER: u32 = (1 << KIND_SHIFT) - 1;
/// Bits of a sender's number that hold its message; the bit above selects the end of a connection.
pub const MESSAGE: u32 = NUMBER >> 1;
/// The bit of a number of kind LINK that selects the timer of a port for its pauses; the other bits are the port.
pub const PAUSE_TIMER: u32 = MESSAGE + 1;

/// The bit of a number of kind HOST that selects the timer of its waiting answers; the other bits are the host.
pub const ANSWERS: u32 = MESSAGE + 1;

/// The argument of a START event: the application posts, the host's overhead is over, or the receiver gets to know that
/// the queue pair was given up.
pub const START_POSTED: u32 = 0;
/// See [`START_POSTED`].
pub const START_AFTER_OVERHEAD: u32 = 1;
/// See [`START_POSTED`].
pub const START_GIVEN_UP: u32 = 2;

/// The source of an event.
#[inline(always)]
pub const fn source(kind: u32, number: u32) -> u32 {
    kind << KIND_SHIFT | number
}

/// The kind of an event.
#[inline(always)]
pub const fn kind_of(source: u32) -> u32 {
    source >> KIND_SHIFT
}

/// The number of an event.
#[inline(always)]
pub const fn number_of(source: u32) -> u32 {
    source & NUMBER
}

/// The time and the pending events. Time never goes back.
pub struct Clock<Q> {
    now: Time,
    /// The source of the current event.
    cause: u32,
    queue: Q,
    order: Order,
}

impl<Q> Clock<Q> {
    /// At time zero.
    pub fn new(seed: u64, queue: Q) -> Self {
        Self { now: Time::ZERO, cause: 0, queue, order: Order::new(seed) }
    }

    /// Everything before this time has happened.
    #[inline(always)]
    pub fn now(&self) -> Time {
        self.now
    }

    /// The source of the event that runs now or ran last.
    #[inline(always)]
    pub fn cause(&self) -> u32 {
        self.cause
    }
}

impl<Q: EventQueue> Clock<Q> {
    /// Takes the next event before a time, which becomes the current one.
    #[inline(always)]
    pub fn next(&mut self, before: Time) -> Option<Event> {
        let event = self.queue.pop_before(before)?;
        (self.now, self.cause) = (event.at, event.source);
        Some(event)
    }

    /// A guess at the event after the next `n`.
    #[inline(always)]
    pub fn ahead(&self, n: usize) -> Option<&Event> {
        self.queue.ahead(n)
    }

    /// Advances the time to an instant before which no event is pending.
    pub fn advance_to(&mut self, time: Time) {
        self.now = self.now.max(time);
    }

    /// Has what follows count as the effect of an event of this source, where none is taken for it.
    pub fn set_cause(&mut self, source: u32) {
        self.cause = source;
    }

    /// Schedules an event. A source has at most one event at an instant.
    #[inline(always)]
    pub fn schedule(&mut self, at: Time, source: u32, arg: u32) {
        debug_assert!(at >= self.now, "an event in the past");
        self.queue.push(Event { at, source, arg });
    }

    /// Inserts an event unchanged: from another partition, or of a lazy departure.
    #[inline(always)]
    pub fn push(&mut self, event: Event) {
        self.queue.push(event);
    }

    /// Whether an event of this instant and source precedes the current one.
    #[inline(always)]
    pub fn comes_first(&self, source: u32) -> bool {
        let event = |source| Event { at: self.now, source, arg: 0 };
        self.order.before(&event(source), &event(self.cause))
    }

    /// The time of the next event.
    pub fn first_at(&self) -> Time {
        self.queue.first_at()
    }

    /// Number of pending events.
    pub fn len(&self) -> usize {
        self.queue.len()
    }

    /// Whether no event is pending.
    pub fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }
}
