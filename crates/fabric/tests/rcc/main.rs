//! RCC in a network.

#[path = "../common/mod.rs"]
mod common;

mod incast;
mod random;
