//! RCC in a network.

#[path = "../common/mod.rs"]
mod common;

mod closed_loop;
mod closing;
mod in_flight;
mod incast;
mod random;
mod replay;
mod rtt;
mod sender;
