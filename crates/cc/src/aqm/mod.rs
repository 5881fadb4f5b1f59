//! Active queue management: the state of a queue that decides which packets are marked. Pure functions of the time, the
//! queue length and random draws, which the caller passes as a closure. Nothing here drops packets.
//!
//! The caller reports every packet that joins ([`Aqm::arrives`]) and every one that leaves ([`Aqm::leaves`]), each with
//! the queue length before it.

pub mod pi;
pub mod red;

use fanin_units::Time;
pub use pi::Pi;
pub use red::Red;

/// The state of one queue.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Aqm {
    /// None: the queue marks by its present length, or not at all.
    Off,
    /// Random early detection on the average queue.
    Red(Red),
    /// Proportional-integral controller.
    Pi(Pi),
}

impl Aqm {
    /// Whether a packet of `wire` bytes that meets `queue` bytes is marked. `draws` returns true with the given
    /// probability.
    #[inline]
    pub fn arrives(&mut self, now: Time, queue: u64, wire: u64, draws: impl FnOnce(f64) -> bool) -> bool {
        match self {
            Self::Off => false,
            Self::Red(red) => red.arrives(now, queue, wire, draws),
            Self::Pi(pi) => pi.arrives(now, queue, draws),
        }
    }

    /// A packet leaves a queue of `queue` bytes, itself included. Its last bit leaves at `gone`; `last` is whether the
    /// queue is then empty.
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
