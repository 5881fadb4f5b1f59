//! From a spec to a result.
//!
//! A spec passes through three types: [`Spec`] was parsed, [`CheckedSpec`] was validated and has all its defaults
//! filled in, and [`Built`](built::Built) holds the objects that [`run()`] runs. A spec that was not fully validated
//! cannot run.
#![forbid(unsafe_code)]

mod aftermath;
pub mod bench;
mod capture;
mod checks;
mod congested;
mod error;
pub mod explain;
pub mod hpcc;
pub mod htsim;
pub mod ideal;
mod limits;
pub mod loaded;
mod ports;
mod queue_counts;
mod run;
mod spec;
mod toml_text;
pub mod uet;
mod unmeasured;

pub use capture::{CAPTURE, LinkCapture};
pub use error::{Problem, Problems};
pub use explain::{Explanation, estimate, explain};
pub use fanin_fabric::News;
pub use fanin_units::Time;
pub use fanin_workload::ListedFlow;
pub use limits::{Exceeded, Limits};
pub use ports::ports_of;
pub use run::{Engine, Online, Outcome, OwnPrograms, Progress, earliest, left_by, left_by_spec, run, run_on};
pub use spec::{CheckedSpec, HostNames, Spec, built, document, network_of, schema, table};
pub use toml_text::toml_as_json;
