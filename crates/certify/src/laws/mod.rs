//! The laws, a file each; the list is in `registry.rs`.

pub mod acks;
pub mod conserved;
pub mod eager;
pub mod flight;
pub mod headroom;
pub mod limits;
pub mod lossless;
pub mod marks;
pub mod messages;
pub mod order;
pub mod pfc_cause;
pub mod pfc_obeyed;
pub mod priority;
pub mod queues;
pub mod rate;
pub mod sequence;
pub mod tables;
pub mod unchanged;
pub mod window;
