//! Active queue management: what a queue remembers to decide which packets it marks. Pure: the time and the queue come
//! in, draws come in as a closure, marks come out. Nothing here drops packets.
//!
//! The caller tells of every packet that joins ([`Aqm::arrives`]) and of every one that leaves ([`Aqm::leaves`]), each
//! with the queue as it was before.

pub mod pi;
pub mod red;

use fanin_units::Time;
pub use pi::Pi;
pub use red::Red;

/// The memory of one queue.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Aqm {
    /// None: it marks by what it holds now, or not at all.
    Off,
    /// Random early detection on an average.
    Red(Red),
    /// Proportional-integral controller.
    Pi(Pi),
}

impl Aqm {
    /// Whether the packet of `wire` bytes is marked that finds `queue` bytes waiting. `draws` answers whether an event
    /// of the given probability happens.
    #[inline]
    pub fn arrives(&mut self, now: Time, queue: u64, wire: u64, draws: impl FnOnce(f64) -> bool) -> bool {
        match self {
            Self::Off => false,
            Self::Red(red) => red.arrives(now, queue, wire, draws),
            Self::Pi(pi) => pi.arrives(now, queue, draws),
        }
    }

    /// A packet leaves a queue of `queue` bytes, itself counted. Its last bit will have left at `gone`; `last` says
    /// that nothing waits behind it.
    #[inline]
    pub fn leaves(&mut self, now: Time, queue: u64, last: bool, gone: Time) {
        match self {
            Self::Off => {}
            Self::Red(red) => {
                if last {
                    red.idle_from(gone);
                }
            }
            Self::Pi(pi) => pi.advance(now, queue),
        }
    }
}
