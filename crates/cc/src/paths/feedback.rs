//! What a sender learns about a path.

/// What the network did to a packet of some path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Feedback {
    /// It arrived without a mark.
    Good,
    /// It was marked.
    Marked,
    /// A switch cut its payload.
    Trimmed,
    /// It was lost.
    Timeout,
}
