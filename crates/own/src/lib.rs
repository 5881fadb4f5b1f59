//! Schemes, load balancing of switches and of senders, and queue disciplines in shared libraries: in C, or in any
//! language that exports functions of C.
//!
//! [`load`] opens a library that implements `include/fanin_scheme.h` and makes what it has known to this process, as
//! [`fanin_experiment::loaded`] knows all that is loaded at run time. Its hooks are called with the arguments
//! that the hooks of built-in schemes get, in structs of C. Values that would make the simulator hang or crash become a
//! [`Failure`](fanin_cc::schemes::own::Failure), which ends the run.

mod abi;
mod calls;
mod convert;
mod foreign;
mod library;
mod policy;
mod program;
mod receiver;
mod selector;
mod sender;
mod state;
mod switch;
#[cfg(test)]
mod tests;

pub use library::{Ids, LoadError, load};

/// The text of `fanin_scheme.h`, which schemes are compiled with.
pub const HEADER: &str = include_str!("../include/fanin_scheme.h");
