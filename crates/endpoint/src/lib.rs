//! Reliable endpoints, pure: no clock, no sockets, no simulator.
//!
//! [`rc`] is an RDMA-like reliable connection: messages with start and end marks, go-back-N with NACK, retransmission
//! timeout. The endpoint decides WHAT to send; how much is the congestion control's answer in [`fanin_cc::Control`],
//! which [`Pacer`] turns into a yes or no and a time.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

pub mod host;
mod pacer;
pub mod rc;
pub mod tcp;

pub use pacer::Pacer;
