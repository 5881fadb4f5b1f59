//! The content of a run folder.

use crate::{Manifest, Run, Summary};

/// What a run ran, as TOML.
#[derive(Clone, Copy, Debug)]
pub enum Ran<'a> {
    /// A spec with every default.
    Spec(&'a str),
    /// Files of another simulator that ran as they are, which are not a spec.
    Configuration(&'a str),
}

impl Ran<'_> {
    /// The file in the folder.
    pub fn file(&self) -> &'static str {
        match self {
            Self::Spec(_) => "spec.resolved.toml",
            Self::Configuration(_) => "configuration.toml",
        }
    }

    /// Its text.
    pub fn text(&self) -> &str {
        match self {
            Self::Spec(text) | Self::Configuration(text) => text,
        }
    }
}

/// Content of the folder.
#[derive(Clone, Copy)]
pub struct RunFiles<'a> {
    /// What ran, as TOML.
    pub ran: Ran<'a>,
    /// How the run was made: `manifest.json`.
    pub manifest: &'a Manifest,
    /// The run itself: `flows.arrow` and so on for [`tables::ALL`](crate::tables::ALL), each an Arrow IPC file (Feather
    /// V2); and the files that it wrote while it ran.
    pub run: &'a Run,
    /// The summary: `summary.json`.
    pub summary: &'a Summary,
}
