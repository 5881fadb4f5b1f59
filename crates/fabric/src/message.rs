//! What a partition keeps of a message besides its record.

use fanin_endpoint::host::Ends;
use std::sync::Arc;

/// Nothing of a kind: no trigger, no message.
pub(crate) const NONE: u32 = u32::MAX;

/// A message in the tables of a partition.
#[derive(Clone)]
pub(crate) struct MessageState {
    pub ends: Ends,
    /// What its paths are drawn by: its traffic and its number there, so that no other traffic's messages change them.
    pub name: u64,
    /// The trigger that its arrival counts towards, or [`NONE`].
    pub counts: u32,
    /// The trigger that its last ACK counts towards, or [`NONE`].
    pub counts_acked: u32,
    /// The message whose connection it goes back on, or [`NONE`].
    pub answers: u32,
    /// Whether it waited for a trigger.
    pub waited: bool,
    /// All senders of its incast, until it is done.
    pub senders: Option<Arc<[u32]>>,
}
