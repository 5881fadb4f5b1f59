//! Event queue and seeded random streams. Knows nothing of networks.
//!
//! The run loop of a model is `while let Some(event) = queue.pop_before(limit) { model.handle(event, &mut queue) }`:
//! state change in, events out. [`CalendarQueue`] is the queue of every run. Tests compare it with a plain
//! heap, and with queues of partitions that run window by window.
#![deny(unsafe_code)]

mod calendar;
pub mod clock;
mod event;
mod prefetch;
mod random;

pub use calendar::CalendarQueue;
pub use clock::Clock;
pub use event::{Event, EventQueue, Order};
pub use prefetch::{prefetch, prefetch_whole};
pub use random::{Stream, Streams, mix};
