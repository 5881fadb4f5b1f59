//! The parameters.

use crate::schemes::dcqcn;
use alloc::vec::Vec;
use fanin_units::{Bytes, Time};

/// The unit of deflection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "spec", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
#[cfg_attr(feature = "spec", serde(rename_all = "kebab-case"))]
pub enum Deflect {
    /// Nothing.
    Off,
    /// Whole messages, in order (IOFD).
    Message,
    /// Each packet on its own: the counter-example, which reorders (DIBS).
    Packet,
}

/// n where no marks arrive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "spec", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
#[cfg_attr(feature = "spec", serde(rename_all = "kebab-case"))]
pub enum ClearCount {
    /// The number of active senders.
    Senders,
    /// 1.
    One,
}

/// The key of the deflected flow table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "spec", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
#[cfg_attr(feature = "spec", serde(rename_all = "kebab-case"))]
pub enum TableKey {
    /// Message, attempt and tokens left: one entry per visit of the switch.
    MessageAndTokens,
    /// Message and attempt alone: the counter-example, which reorders when a message comes back to a switch.
    Message,
}

/// How many virtual lanes short messages have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "spec", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
#[cfg_attr(feature = "spec", serde(rename_all = "kebab-case"))]
pub enum LaneCount {
    /// A deflectable lane and the escape lane.
    Two,
    /// One for all messages; more networks can deadlock.
    One,
}

/// The place where a message without tokens enters the escape lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "spec", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
#[cfg_attr(feature = "spec", serde(rename_all = "kebab-case"))]
pub enum Escape {
    /// At the switch behind its last misroute, so that no deflection ever happens in the escape lane.
    AfterLastMisroute,
    /// In the output queue of the switch that misroutes it last.
    OnLastMisroute,
}

/// The reaction of a message whose output is paused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "spec", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
#[cfg_attr(feature = "spec", serde(rename_all = "kebab-case"))]
pub enum Blocked {
    /// It waits.
    Stay,
    /// The whole message continues in the escape lane, from its start packet on.
    Duato,
}

/// The parameters; the manual of the scheme gives their sources.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "spec", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
#[cfg_attr(feature = "spec", serde(deny_unknown_fields))]
pub struct Params {
    /// Whether receivers apportion the line among their senders (DASR).
    pub apportion: bool,
    /// Whether the first packet of an incast's message lists the senders, and receivers count them before they send.
    pub look_ahead: bool,
    /// The unit of deflection.
    pub deflect: Deflect,
    /// The window over which a receiver measures throughput and marks; 0 is the largest base round-trip time.
    pub window: Time,
    /// Steps in which that window slides; 1 is one fixed window after another.
    pub window_steps: u32,
    /// Share of the line rate at which the last link counts as full.
    pub full_rate: f64,
    /// Share of the line rate that the shares of all senders add up to; below 1 queues drain.
    pub line_share: f64,
    /// A state of congestion is left when so many windows in a row agree.
    pub leave_after: u32,
    /// n in the state without congestion.
    pub clear_count: ClearCount,
    /// Silence after which a sender is forgotten.
    pub soft_state: Time,
    /// Lists of senders that a receiver accepts from a tenant per second.
    pub look_ahead_rate: f64,
    /// Lists that it accepts at once.
    pub look_ahead_burst: u32,
    /// Most announced senders of a tenant that have not sent yet.
    pub look_ahead_silent: u32,
    /// Whether a list that arrives makes the receiver send n to all active senders at once.
    pub tell_ahead: bool,
    /// Shares of the line by tenant, each with a set of senders of its own. Empty: one set for all.
    pub tenant_shares: Vec<f64>,
    /// Whether a window of the network's bandwidth-delay product applies as well.
    pub bdp_window: bool,
    /// Messages up to this size are short and may be deflected.
    pub short_up_to: Bytes,
    /// Deflections that a short message may take.
    pub tokens: u8,
    /// Entries of a switch's deflected flow table.
    pub table_entries: u32,
    /// The key of that table.
    pub table_key: TableKey,
    /// A message is deflected when more than this waits ahead of its first packet.
    pub threshold: Bytes,
    /// Whether the threshold may be at or above that of congestion marks.
    pub force_threshold: bool,
    /// Whether the queue towards the destination host may deflect, back into the network.
    pub last_hop: bool,
    /// Whether ports whose own queue is above the threshold are excluded.
    pub avoid_full: bool,
    /// Virtual lanes.
    pub lanes: LaneCount,
    /// The place where a message without tokens enters the escape lane.
    pub escape: Escape,
    /// The reaction of a message whose output is paused.
    pub blocked: Blocked,
    /// Idle time after which an entry of the table is reclaimed.
    pub reclaim_after: Time,
    /// Whether messages that share a connection which stays open are deflected too. One that is overtaken by the next
    /// then appears lost, and go-back-N retransmits it.
    pub deflect_connections: bool,
    /// DCQCN, for the remaining congestion.
    pub dcqcn: dcqcn::Params,
}
