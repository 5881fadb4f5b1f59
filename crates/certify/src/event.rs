//! What laws are told of: packets that begin on a link, arrive at its end, and their stays in switches.

use fanin_units::Time;
use fanin_wire::Ecn;

/// Number of a port, in the order in which a source names them; the port of the other direction has its own.
pub type Port = u32;

/// The kind of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// Payload over RoCEv2, or another datagram.
    Data,
    /// An ACK.
    Ack,
    /// A NACK.
    Nack,
    /// A congestion notification.
    Cnp,
    /// A TCP segment.
    Tcp,
    /// A pause frame: of which classes the state is told, and which of them are paused.
    Pause {
        /// Bit c: class c is told of.
        told: u8,
        /// Bit c: class c is paused.
        paused: u8,
    },
    /// A credit, or anything else.
    Other,
}

/// A packet as it is on a link.
#[derive(Clone, Copy, Debug)]
pub struct Packet {
    /// Its kind.
    pub kind: Kind,
    /// Its class.
    pub class: u8,
    /// Bytes that it counts on the link.
    pub wire: u64,
    /// Bytes of payload.
    pub payload: u64,
    /// Its congestion bits.
    pub ecn: Ecn,
    /// Its time to live, where it has one.
    pub ttl: u8,
    /// Its flow, in one direction.
    pub flow: u64,
    /// Everything that stays as it is from host to host.
    pub key: u64,
    /// Numbers of hosts.
    pub ends: (u32, u32),
    /// The connection.
    pub channel: u32,
    /// Sequence number: of the packet, or of what an ACK acknowledges.
    pub seq: u32,
    /// Numbers that it takes: 1, or its bytes where bytes are numbered.
    pub span: u32,
    /// Whether it is the last of a message.
    pub last: bool,
}

impl Packet {
    /// Whether it is of a link rather than from a host to a host.
    pub fn is_of_link(&self) -> bool {
        matches!(self.kind, Kind::Pause { .. })
    }
}

/// The first bit of a packet leaves a port.
#[derive(Clone, Copy, Debug)]
pub struct Begin<'a> {
    /// When.
    pub time: Time,
    /// The port.
    pub port: Port,
    /// The packet.
    pub packet: &'a Packet,
    /// When the port became free after the packet before.
    pub free: Time,
}

/// The last bit of a packet reaches the end of a link.
#[derive(Clone, Copy, Debug)]
pub struct Arrival<'a> {
    /// When.
    pub time: Time,
    /// The port that sent it.
    pub from: Port,
    /// The port of its link at the node that it reaches.
    pub at: Port,
    /// When it should, where the source tells both its begin and its arrival, and how many that began before it did
    /// not arrive.
    pub due: Option<(Time, usize)>,
    /// The packet.
    pub packet: &'a Packet,
}

/// The stay of a packet in a switch, told as it leaves.
#[derive(Clone, Copy, Debug)]
pub struct Hop<'a> {
    /// When its last bit arrived.
    pub arrived: Time,
    /// When its first bit left.
    pub left: Time,
    /// The port of the link by which it came.
    pub by: Port,
    /// The port by which it leaves.
    pub out: Port,
    /// When that port became free after the packet before.
    pub free: Time,
    /// As it came.
    pub before: &'a Packet,
    /// As it leaves.
    pub after: &'a Packet,
    /// Whether it is the only packet in the switch that it can be: of two that are alike either may have left.
    pub certain: bool,
}

/// A packet that came to a switch and never left it, found when a later one of its flow has left or at the end.
#[derive(Clone, Copy, Debug)]
pub struct Lost<'a> {
    /// When its last bit arrived.
    pub arrived: Time,
    /// The port of the link by which it came.
    pub by: Port,
    /// The port by which others of its flow leave, if any has.
    pub out: Option<Port>,
    /// Whether it is this one, and not one like it that came at another time.
    pub certain: bool,
    /// The packet.
    pub packet: &'a Packet,
}

/// The bytes in a queue, as a source tells them when a packet joins or has left.
#[derive(Clone, Copy, Debug)]
pub struct Queue {
    /// When.
    pub time: Time,
    /// The port.
    pub port: Port,
    /// The class.
    pub class: u8,
    /// The bytes without the packet.
    pub bytes: u64,
    /// Bytes of the packet.
    pub wire: u64,
    /// Whether the packet joins.
    pub joins: bool,
}
