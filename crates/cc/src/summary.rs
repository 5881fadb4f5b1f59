//! What schemes say of themselves in the summary of a run.

use crate::Actions;
use crate::schemes::dart;

/// The numbers of one scheme over a run, from which summaries are made.
#[derive(Clone, Copy, Debug)]
pub struct Acted<'a> {
    /// How often it acted.
    pub actions: &'a Actions,
    /// Most entries that its table in any switch ever had; `None` without tables.
    pub table_peak: Option<u64>,
    /// Length of the run times the number of switches, in nanoseconds.
    pub switch_ns: f64,
}

/// The summaries of schemes that have one, under their names.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "spec", derive(serde::Serialize, schemars::JsonSchema))]
pub struct SchemeSummaries {
    /// How Dart acted, where the scheme is Dart's.
    pub dart: Option<dart::Summary>,
}

impl SchemeSummaries {
    /// The summaries of a scheme that acted so.
    pub fn of(acted: &Acted<'_>) -> Self {
        Self { dart: dart::Summary::of(acted) }
    }
}
