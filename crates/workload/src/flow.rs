//! Flows, and what they wait for.

use fanin_units::Time;
use std::sync::Arc;

/// The size of a flow that never ends, in bytes: 10^11 seconds at 100 Gb/s.
pub const ENDLESS: u64 = 1 << 60;

/// [`Flow::group`] of a flow that belongs to no group.
pub const NO_GROUP: u32 = u32::MAX;

/// One message or long transfer.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Flow {
    /// Time of its post at the sender, unless its `dependency` says otherwise.
    pub start: Time,
    /// Sending host.
    pub src: u32,
    /// Receiving host, never the sender.
    pub dst: u32,
    /// Payload, at least 1 byte; [`ENDLESS`] for a flow that never ends.
    pub bytes: u64,
    /// Number of its traffic.
    pub traffic: u16,
    /// Number of its incast, round or collective within the traffic, or [`NO_GROUP`].
    pub group: u32,
    /// All senders of its incast, in order, if the application knows them in advance (Dart III-D).
    pub senders: Option<Arc<[u32]>>,
    /// Flows that it waits for, and that wait for it.
    pub dependency: Dependency,
    /// Rank and node of a job that sends it when the node starts.
    pub sent_by: Option<(u32, u32)>,
}

/// The triggers that a flow waits for and activates. Triggers are numbered within a traffic. All flows of a trigger
/// have the same start. In patterns, all flows that count towards a trigger go to one host, and all that wait for it
/// leave from that host; only a list may have triggers between hosts. A waiting flow counts as started only when it is
/// posted.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Dependency {
    /// The trigger that it waits for: it is posted when all events that count towards the trigger have happened.
    pub after: Option<u32>,
    /// Whether the trigger releases one waiting flow per event, in order, instead of all after the last event. The same
    /// for all flows that wait for it.
    pub in_turn: bool,
    /// Delay after the trigger; without a trigger, after its start.
    pub delay: Time,
    /// Whether it is sent on the connection of the flow that activated its trigger, in the opposite direction.
    pub answers: bool,
    /// The trigger that its arrival counts towards.
    pub counts: Option<u32>,
    /// The trigger that its last ACK counts towards: when its sender knows that all of it arrived.
    pub counts_acked: Option<u32>,
}

/// Flows in order of their start.
pub type Flows = Box<dyn Iterator<Item = Flow> + Send>;
