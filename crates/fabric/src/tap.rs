//! What leaves a network while it runs: packets on chosen links, queues, pauses, messages. Off, it costs nothing on
//! links (the question is asked together with that for telemetry) and a branch per packet that waits.
//!
//! What was seen waits in one list until [`crate::Simulation::take_seen`] empties it; whoever taps a network takes it
//! after every slice of a run, so that the list stays as short as a slice.

use fanin_cc::{Header, Telemetry};
use fanin_endpoint::tcp::Segment;
use fanin_units::{MessageId, NodeId, PortId, Time};
use std::sync::Arc;

/// What is asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Wanted {
    /// Links, by the port that sends, whose packets are seen as they start to leave.
    pub links: Vec<PortId>,
    /// Ports whose queues are seen whenever they change.
    pub queues: Vec<PortId>,
    /// Whether pauses are seen, of every port.
    pub pauses: bool,
    /// Whether messages are seen as they are posted and as they have arrived.
    pub messages: bool,
}

impl Wanted {
    /// Whether nothing is asked for.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// Something that was seen.
#[derive(Clone, Debug)]
pub enum Seen {
    /// A packet started to leave.
    Packet(Box<Captured>),
    /// A queue changed.
    Queue {
        /// When.
        time: Time,
        /// The port.
        port: PortId,
        /// Data bytes that wait there now, all classes.
        bytes: u64,
    },
    /// The peer of a port paused a class of it, or let it go on.
    Pause {
        /// When.
        time: Time,
        /// The port that was paused.
        port: PortId,
        /// The class.
        class: u8,
        /// Whether it is paused now.
        paused: bool,
    },
    /// A message was posted.
    Posted {
        /// When.
        time: Time,
        /// Its number: see [`crate::Simulation::message`].
        message: u32,
    },
    /// The last byte of a message arrived in order.
    Arrived {
        /// When.
        time: Time,
        /// Its number.
        message: u32,
    },
}

/// A packet on a link.
#[derive(Clone, Debug)]
pub struct Captured {
    /// When its first bit left.
    pub time: Time,
    /// The port that sends it.
    pub port: PortId,
    /// What it says of itself.
    pub head: Header,
    /// What it says as a segment of TCP.
    pub segment: Option<Segment>,
    /// What switches have written into it, this one included, or what an ACK carries back.
    pub telemetry: Option<Telemetry>,
    /// Its traffic; nothing where it belongs to no message.
    pub traffic: Option<u16>,
    /// The first message of its connection, which names the connection.
    pub channel: MessageId,
    /// The host that opened the connection; nothing where there is none.
    pub opener: NodeId,
    /// The incast that it announces, and all senders of it.
    pub incast: Option<(u32, Arc<[u32]>)>,
}
