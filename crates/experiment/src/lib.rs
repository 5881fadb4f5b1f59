//! From a spec to a result.
//!
//! A spec passes through three types: [`Spec`] is one that was read, [`CheckedSpec`] one whose every key was found
//! possible and whose defaults are all shown, and [`Built`](built::Built) the parts that [`run()`] runs. Nothing half
//! checked can run.
#![forbid(unsafe_code)]

pub mod bench;
mod capture;
mod error;
pub mod explain;
pub mod hpcc;
pub mod htsim;
mod limits;
mod run;
mod spec;
mod unmeasured;

pub use error::{Problem, Problems};
pub use explain::{Explanation, estimate, explain};
pub use fanin_units::Time;
pub use fanin_workload::ListedFlow;
pub use limits::{Exceeded, Limits};
pub use run::{Outcome, Progress, ports_of, run};
pub use spec::{CheckedSpec, HostNames, Spec, built, document, schema};
