//! Patterns: one file each.

mod all_to_all;
mod incast;
mod long;
mod permutation;
mod poisson;
mod query;

pub use all_to_all::AllToAll;
pub use incast::{Arrivals, Incast};
pub use long::{Long, LongFlows};
pub use permutation::Permutation;
pub use poisson::Poisson;
pub use query::{Query, Response};

use crate::WorkloadError;
use fanin_engine::Stream;
use fanin_units::Time;

/// Most flows that are buffered because flows of a later event may still precede them.
const MAX_OVERLAP: f64 = 1e7;

/// A start offset, uniform from 0 to `jitter`, both included.
fn offset(jitter: Time, stream: &mut Stream) -> Time {
    Time::from_ps(stream.below(jitter.as_ps().saturating_add(1)))
}

/// Refuses a jitter that would buffer too many flows.
fn check_overlap(jitter: Time, flows_per_second: f64) -> Result<(), WorkloadError> {
    let overlap = jitter.as_secs_f64() * flows_per_second;
    if overlap <= MAX_OVERLAP {
        return Ok(());
    }
    let problem = format!("about {overlap:.0} flows start within {jitter}");
    Err(WorkloadError::key(
        "pattern.jitter",
        problem,
        format!("at most {MAX_OVERLAP:.0} are possible; lower the jitter or the load"),
    ))
}

/// An interval of events must not be zero.
fn check_every(every: Time) -> Result<(), WorkloadError> {
    if every > Time::ZERO && every.is_some() {
        return Ok(());
    }
    Err(WorkloadError::key(
        "pattern.every",
        format!("{every} is not a possible interval"),
        "write one above 0, like \"1 ms\"",
    ))
}
