//! The network of the public ns-3 HPCC simulator, event for event.
//!
//! Its results depend on the order in which it processes events of one nanosecond, on its rounding, and on the
//! assignment of random numbers to packets. The ordinary fabric omits events, runs in any number of partitions and
//! counts in picoseconds, so it cannot reproduce that order; this crate can, on one thread. The control laws are those
//! of `fanin_cc` (`*-ns3`), the same that run in the ordinary fabric.
//!
//! Read [`network`] for switches, [`hosts`] for NICs and flows, [`mmu`] for the buffer, [`wiring`] for paths.
#![forbid(unsafe_code)]

pub mod events;
pub mod files;
pub mod flow;
pub mod hash;
pub mod hosts;
pub mod law;
pub mod mmu;
pub mod network;
pub mod order;
pub mod packet;
pub mod random;
pub mod results;
mod run;
pub mod stuck;
mod switches;
pub mod time;
pub mod waits;
pub mod wiring;

pub use network::Network;
