//! Event queue and seeded random streams. Knows nothing of networks.
//!
//! The run loop of a model is `while let Some(event) = queue.pop_before(limit) { model.handle(event, &mut queue) }`:
//! state change in, events out. [`CalendarQueue`] is the queue of every run, [`HeapQueue`] its reference in tests and
//! [`WindowedQueue`] the proof that a run may be cut into partitions.
#![deny(unsafe_code)]

mod calendar;
pub mod clock;
mod event;
mod heap;
mod prefetch;
mod random;
mod windowed;

pub use calendar::CalendarQueue;
pub use clock::Clock;
pub use event::{Event, EventQueue, Order};
pub use heap::HeapQueue;
pub use prefetch::prefetch;
pub use random::{Stream, Streams, mix};
pub use windowed::WindowedQueue;
