//! Observation of a running network: packets on chosen links, queues, pauses, messages. Switched off, it costs nothing
//! on links (it shares a branch with telemetry) and one branch per queued packet.
//!
//! Observations are kept in one list until [`crate::Simulation::take_seen`] empties it; callers do so after every slice
//! of a run, which bounds the length of the list.

use fanin_cc::{Header, Telemetry};
use fanin_endpoint::tcp::Segment;
use fanin_units::{MessageId, NodeId, PortId, Time};
use std::sync::Arc;

/// The observations requested.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Wanted {
    /// Links, by the sending port, whose packets are observed at the start of their transmission.
    pub links: Vec<PortId>,
    /// Ports whose queues are observed whenever they change.
    pub queues: Vec<PortId>,
    /// Whether pauses of every port are observed.
    pub pauses: bool,
    /// Whether messages are observed when they are posted and when they have arrived.
    pub messages: bool,
}

impl Wanted {
    /// Whether no observation is requested.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// An observation.
#[derive(Clone, Debug)]
pub enum Seen {
    /// Transmission of a packet started.
    Packet(Box<Captured>),
    /// A queue changed.
    Queue {
        /// When.
        time: Time,
        /// The port.
        port: PortId,
        /// Data bytes queued there now, all classes.
        bytes: u64,
    },
    /// The peer of a port paused or resumed a class of it.
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
    /// Its header.
    pub head: Header,
    /// Its TCP segment.
    pub segment: Option<Segment>,
    /// Telemetry written by switches, this one included, or carried back by an ACK.
    pub telemetry: Option<Telemetry>,
    /// Its traffic; `None` where it belongs to no message.
    pub traffic: Option<u16>,
    /// The first message of its connection, which names the connection.
    pub channel: MessageId,
    /// The host that opened the connection; `None` where there is none.
    pub opener: NodeId,
    /// The incast that it announces, and all senders of it.
    pub incast: Option<(u32, Arc<[u32]>)>,
}
