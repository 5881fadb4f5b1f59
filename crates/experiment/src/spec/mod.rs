//! Specs: reading, validation, and conversion to the objects of a run.
//!
//! [`document`] is the only definition of specs; its JSON schema is generated from those types and used for reading
//! (`shape.rs`), so that all syntax errors are found at once, and for the bounds of keys (`bounds.rs`). `check.rs`
//! finds semantic errors and fills in the defaults that depend on other keys.

mod around;
mod balancing;
mod bounds;
pub mod built;
mod check;
mod checked;
mod checker;
mod classes;
mod credits;
pub mod document;
mod dscp;
mod faults;
mod graphs;
mod host_names;
mod lanes;
mod network;
mod one;
mod policy;
mod rdma;
mod read;
mod room;
mod scheme;
mod setting;
mod shape;
mod source;
#[cfg(test)]
mod tests;
mod topology;
mod topology_file;
mod traffic;
mod training;
mod trimming;

pub use around::network_of;
pub use checked::CheckedSpec;
pub use host_names::HostNames;
pub use read::{Spec, schema, table};
pub(crate) use setting::NO_WAY;
