//! RCC in a network.

mod closed_loop;
mod closing;
mod in_flight;
mod incast;
mod random;
mod replay;
mod rtt;
mod sender;
