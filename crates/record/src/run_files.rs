//! The content of a run folder.

use crate::{Manifest, Run, Summary};

/// Content of the folder.
#[derive(Clone, Copy)]
pub struct RunFiles<'a> {
    /// The resolved spec, as TOML: `spec.resolved.toml`.
    pub spec_toml: &'a str,
    /// How the run was made: `manifest.json`.
    pub manifest: &'a Manifest,
    /// The run itself: `flows.arrow` and so on for [`tables::ALL`](crate::tables::ALL), each an Arrow IPC file (Feather
    /// V2); and the files that it wrote while it ran.
    pub run: &'a Run,
    /// The summary: `summary.json`.
    pub summary: &'a Summary,
}
