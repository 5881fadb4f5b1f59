//! Topologies and flows as that simulator's scripts generate them, without their errors, and reproducible from a seed
//! on every machine.

mod config;
mod flows;
mod topology;

pub use config::Law;
pub use flows::{Poisson, incast, permutation};
pub use topology::{FatTree, star};
