//! What schemes say of themselves in the summary of a run.

use crate::Acted;
use crate::schemes::dart;

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
