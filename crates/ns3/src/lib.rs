//! The network of the public ns-3 HPCC simulator, event for event.
//!
//! Its results depend on the order in which it runs what happens in one nanosecond, on how it rounds, and on which
//! random number goes to which packet. The ordinary fabric cuts events away, runs in any number of partitions and
//! counts in picoseconds, so it cannot repeat that order; this room can, on one thread. The control laws are those of
//! `fanin_cc` (`*-ns3`), the same values that run in the ordinary fabric.
//!
//! Read [`network`] for switches, [`hosts`] for NICs and flows, [`mmu`] for the buffer, [`wiring`] for ways.
#![forbid(unsafe_code)]

pub mod events;
pub mod files;
pub mod hash;
pub mod hosts;
pub mod law;
pub mod mmu;
pub mod network;
pub mod order;
pub mod random;
pub mod results;
pub mod time;
pub mod wiring;

pub use network::Network;
