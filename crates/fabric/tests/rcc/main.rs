//! RCC in a network.

#[path = "../common/mod.rs"]
mod common;

mod incast;
mod micro;
mod random;
mod replay;
mod rtt;
mod sender;
