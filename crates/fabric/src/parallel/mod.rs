//! One run on many threads: the network is cut into partitions, each a whole [`crate::Simulation`] of its own hosts,
//! switches and links.
//!
//! A partition may run ahead of the others by the lookahead: the delay of the shortest link between two of them, for
//! what one sends to another arrives after that. It takes what others sent four times in a window of that length, and
//! waits for those that are a window behind; now and then all meet at a barrier and go on from the next event that any
//! of them has. Events have one order that depends neither on the queue they stand in nor on when they joined it, every
//! random stream belongs to one node or port, and facts add up; so a run gives the same result for any cut.
//!
//! What would act on two partitions at once is not cut: see [`why_not_cut`]. What a receiver looks up of its sender's
//! decisions travels ahead of the packets ([`crate::partition::RemoteUpdate`]). Every row of a table has one owner: the
//! sender's half of a message, the receiver's half, a port, a host. `merge.rs` puts them together when somebody asks.

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
