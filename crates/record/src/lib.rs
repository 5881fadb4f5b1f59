//! Results of a run: tables as Arrow columns, a summary, and a folder with both.
//!
//! A [`Run`] is the state of a simulation when it stops. [`tables`] converts it to record batches, [`summarise`] to
//! summary statistics, and [`write_folder`] writes everything to disk, completely or not at all.
//!
//! Units are in the names of columns and fields; times are whole picoseconds in tables and microseconds in summaries.
#![forbid(unsafe_code)]

pub mod columns;
mod critical;
mod error;
mod events;
mod fields;
mod folder;
mod jobs;
mod manifest;
mod percentile;
mod readme;
mod run;
mod run_files;
mod spool;
mod summary;
pub mod tables;
#[cfg(test)]
mod tests;

pub use critical::CriticalSummary;
pub use error::RecordError;
pub use events::{Event, EventKind, EventLog};
pub use folder::{put_folder, write_folder};
pub use jobs::JobSummary;
pub use manifest::{Machine, Manifest, WirePart, WireRun, WireTiming};
pub use percentile::{Percentiles, Quantile, nearest_rank};
pub use run::{Bin, ClassInfo, Histogram, Part, Run, Sample, Seen, Traced, TrafficInfo, Watched, numbers, port_names};
pub use run_files::{Ran, RunFiles};
pub use spool::{Spool, SpoolWriter};
pub use summary::{
    DropSummary, NetworkSummary, QuerySummary, SizeRange, Summary, TrafficSummary, completion_us, slowdown, summarise,
};
