//! The state of a message in a partition besides its record.

use fanin_endpoint::host::Ends;
use std::sync::Arc;

/// No trigger, or no message.
pub(crate) const NONE: u32 = u32::MAX;

/// A message in the tables of a partition.
#[derive(Clone, Default)]
pub(crate) struct MessageState {
    pub ends: Ends,
    /// The key of its random paths: its traffic and its number there, so that other traffics' messages do not change
    /// them.
    pub name: u64,
    /// The trigger that its arrival counts towards, or [`NONE`].
    pub counts: u32,
    /// The trigger that its last ACK counts towards, or [`NONE`].
    pub counts_acked: u32,
    /// The message on whose connection it is sent back, or [`NONE`].
    pub answers: u32,
    /// Whether it waited for a trigger.
    pub waited: bool,
    /// All senders of its incast, until it is done.
    pub senders: Option<Arc<[u32]>>,
}
