//! Topologies and flows as that simulator's scripts make them, without their faults, and the same for the same seed on
//! every machine.

mod config;
mod flows;
mod topology;

pub use config::Law;
pub use flows::{Poisson, incast, permutation};
pub use topology::{FatTree, star};
