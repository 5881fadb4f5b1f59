//! One run on many threads: the network is cut into partitions, each a whole [`crate::Simulation`] of its own hosts,
//! switches and links.
//!
//! A partition may run ahead of the others by the lookahead: the delay of the shortest link between two of them, for a
//! packet from one to another arrives no earlier than that. It receives from the others four times in a window of that
//! length, and waits for those that are a window behind; regularly all meet at a barrier and continue from the earliest
//! next event. Events have one order that depends neither on their queue nor on when they were inserted, every random
//! stream belongs to one node or port, and counters and hashes are sums; so a run gives the same result for any cut.
//!
//! A network with anything that acts on two partitions at once is not cut: see [`why_not_cut`]. The sender's decisions
//! that a receiver needs travel ahead of the packets (`RemoteUpdate` in `partition.rs`). Every row of a table has one
//! owner: the sender's half of a message, the receiver's half, a port, a host. `merge.rs` combines them for queries.

mod barrier;
mod crew;
mod cut;
mod exchange;
mod members;
mod merge;
mod reasons;
mod run;
mod source;

pub use crew::WORTH;
pub use cut::cut;
pub use members::ParallelSimulation;
pub use reasons::{lookahead, plan, why_not_cut};
