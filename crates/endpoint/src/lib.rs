//! Reliable endpoints, pure: no clock, no sockets, no simulator.
//!
//! [`rc`] is an RDMA-like reliable connection: messages with start and end marks, go-back-N with NACK, retransmission
//! timeout. [`whole`] is its receiver for go-back-0, [`selective`] has its two ends for IRN. The endpoint decides which
//! bytes to send; the congestion control decides how much and how fast ([`fanin_cc::Control`]), and [`Pacer`] applies
//! that to each packet.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

pub mod host;
mod pacer;
pub mod rc;
pub mod scheduler;
pub mod selective;
pub mod shaper;
pub mod tcp;
pub mod whole;

pub use pacer::Pacer;
