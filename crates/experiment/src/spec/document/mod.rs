//! The one definition of a spec: what TOML and JSON are read into, and what the JSON schema is made from. Keys that may
//! be left out are `Option`s where their default depends on others; a checked spec has them all filled in.

mod measure;
mod network;
mod traffic;

pub use super::scheme::{SchemeChoice, SchemeId};
pub use measure::*;
pub use network::*;
pub use traffic::*;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The version of the spec language that this program reads.
pub const SPEC_VERSION: u32 = 1;

/// A whole spec.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(title = "Fanin spec")]
pub struct Document {
    /// Version of the spec language: 1.
    pub spec_version: u32,
    /// Names the experiment in results.
    pub name: String,
    /// Root seed of everything random. At most 2^63 - 1.
    #[serde(default = "one")]
    pub seed: u64,
    /// The network.
    pub network: Network,
    /// What is sent over it: one entry per kind of traffic, at least one.
    pub traffic: Vec<Traffic>,
    /// What is measured, and for how long.
    pub measure: Measure,
    /// What `compare` compares.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compare: Option<Compare>,
}

fn one() -> u64 {
    1
}

fn yes() -> bool {
    true
}

/// What `compare` compares.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Compare {
    /// Ids of schemes; the spec runs once with each, for all its traffics.
    pub schemes: Vec<SchemeId>,
}
