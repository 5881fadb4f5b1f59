//! The answer whether PFC could act.

use serde::Serialize;

/// Whether PFC could act.
#[derive(Clone, Debug, Serialize)]
pub struct Pauses {
    /// Whether some ingress may hold enough to pause its peer.
    pub possible: bool,
    /// The answer with its numbers, as a sentence.
    pub why: String,
    /// The ingress that comes nearest to it, as PEER>SWITCH.
    pub ingress: Option<String>,
    /// Bytes that may wait there.
    pub most_bytes: Option<u64>,
    /// Its XOFF, when all other ingresses hold as much as they may.
    pub xoff_bytes: Option<u64>,
}
