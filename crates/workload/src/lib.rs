//! Generators of flows: senders, receivers, sizes and times.
//!
//! A [`Traffic`] is one pattern with its sizes and its load. [`Traffic::flows`] converts it to an iterator of [`Flow`]s
//! in order of start times, generated during the run: memory grows with hosts and with overlapping bursts, never with
//! the length of the run. [`merge`] joins several traffics. [`Traffic::expected`] computes its expected load.
//!
//! Each traffic draws from its own random streams, one per purpose (arrivals, hosts, sizes, jitter, service times), so
//! another traffic or another size distribution does not change any other draw.
#![forbid(unsafe_code)]

mod bursts;
mod cdf;
mod draws;
mod error;
mod expected;
mod flow;
mod graph;
mod hosts;
mod list;
mod load;
mod merge;
mod patterns;
mod size;
mod traffic;

pub use cdf::{Cdf, MAX_CDF_POINTS};
pub use error::WorkloadError;
pub use expected::Expected;
pub use flow::{Dependency, ENDLESS, Flow, Flows, NO_GROUP};
pub use graph::Graph;
pub use hosts::Hosts;
pub use list::{FlowList, ListedFlow};
pub use load::{Load, LoadBase, Places};
pub use merge::{Merge, merge};
pub use patterns::{AllToAll, Arrivals, Incast, Long, LongFlows, Permutation, Poisson, Query, Response};
pub use size::SizeDistribution;
pub use traffic::{Pattern, Traffic};

pub(crate) use draws::Draws;
