//! What a station and its owner give each other: messages, notices, packets, totals.

use crate::frame::Carried;
use crate::setup::Control;
use fanin_endpoint::host::HostTotals;
use fanin_units::{MessageId, NodeId, PortId, Time};
use std::sync::Arc;

/// A message to send.
#[derive(Clone, Debug)]
pub struct Post {
    /// Its number in the network.
    pub message: MessageId,
    /// The receiving host.
    pub dst: u32,
    /// Its payload.
    pub bytes: u64,
    /// Its traffic.
    pub traffic: u16,
    /// Its incast or collective, or `u32::MAX`.
    pub group: u32,
    /// The name of its path.
    pub name: u64,
    /// The senders of its incast.
    pub senders: Option<Arc<[u32]>>,
}

/// What the application gets to know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Notice {
    /// A message has arrived completely.
    Arrived(MessageId),
    /// The sender of a message knows that it has arrived completely.
    Acked(MessageId),
}

/// A frame that leaves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sent {
    /// The port.
    pub port: PortId,
    /// When its last bit reaches the other end.
    pub arrives: Time,
    /// Extension and frame ([`crate::frame`]).
    pub bytes: Vec<u8>,
}

/// A packet that leaves, before it is a frame.
#[derive(Clone, Debug)]
pub struct Leaving {
    /// The port.
    pub port: PortId,
    /// When its last bit reaches the other end.
    pub arrives: Time,
    /// The packet.
    pub carried: Carried,
    /// The incast that it announces, and its senders.
    pub incast: Option<(u32, Vec<u16>)>,
}

/// What a station sends, with packets that are no frames yet.
#[derive(Clone, Debug)]
pub enum Left {
    /// A packet.
    Packet(Box<Leaving>),
    /// See [`Out::Control`].
    Control(NodeId, Control),
}

/// What a station sends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Out {
    /// A frame.
    Frame(Sent),
    /// A message about a connection, to its receiver. It has to be there before the frames that are sent after it.
    Control(NodeId, Control),
}

/// Totals of a station.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Of its host code.
    pub host: HostTotals,
    /// Events handled.
    pub events: u64,
    /// Bytes of packets made, delivered and dropped.
    pub sent: u64,
    /// See `sent`.
    pub delivered: u64,
    /// See `sent`.
    pub dropped: u64,
    /// Packets dropped at the queue of a shaped class.
    pub shaper: u64,
    /// Packets for other hosts.
    pub wrong_host: u64,
    /// Packets without a path.
    pub no_route: u64,
    /// Frames refused: not as they must be, or of unknown connections.
    pub refused: u64,
}
