//! What a run leaves: tables as Arrow columns, a summary, and a folder that holds both.
//!
//! A [`Run`] is what a simulation knows when it stops. [`tables`] turns it into record batches, [`summarise`] into the
//! numbers people compare, and [`write_folder`] puts everything on disk, whole or not at all.
//!
//! Units are in the names of columns and fields; times are whole picoseconds in tables and microseconds in summaries.
#![forbid(unsafe_code)]

pub mod columns;
mod error;
mod events;
mod fields;
mod folder;
mod manifest;
mod percentile;
mod readme;
mod run;
mod spool;
mod summary;
pub mod tables;
#[cfg(test)]
mod tests;

pub use error::RecordError;
pub use events::{Event, EventKind, EventLog};
pub use folder::{RunFiles, write_folder};
pub use manifest::{Machine, Manifest};
pub use percentile::{Percentiles, Quantile, nearest_rank};
pub use run::{Bin, ClassInfo, Histogram, Part, Run, Sample, Seen, Traced, TrafficInfo, Watched, numbers, port_names};
pub use spool::{Spool, SpoolWriter};
pub use summary::{
    DropSummary, NetworkSummary, QuerySummary, SizeRange, Summary, TrafficSummary, completion_us, slowdown, summarise,
};
