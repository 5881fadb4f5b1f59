//! Packets.

/// PPP padded to Ethernet's size, and IP.
pub(crate) const LOWER_HEADERS: u32 = 14 + 20;
/// UDP, and sequence number and priority group.
pub(crate) const UPPER_HEADERS: u32 = 8 + 6;
/// Smallest size of an ACK or NACK.
pub const LEAST_ACK: u32 = 60;
/// Bytes of a PFC frame: PPP, IP, and 9 of its own.
pub const PAUSE_BYTES: u32 = 43;
/// Headers of a data packet, without what its control law adds.
pub const HEADERS: u32 = LOWER_HEADERS + UPPER_HEADERS;

/// Kinds of packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Payload.
    Data,
    /// Cumulative acknowledgement.
    Ack,
    /// The same, and a packet is missing.
    Nack,
    /// PAUSE (`true`) or RESUME.
    Pfc(bool),
}

/// A packet.
#[derive(Clone, Copy, Debug)]
pub struct Packet {
    /// Its kind.
    pub kind: Kind,
    /// Whether it carries a congestion mark: data as set by a switch, an ACK as the echo of its data's.
    pub ce: bool,
    /// Queue: the flow's priority group; of a PFC frame the queue that it pauses or resumes.
    pub queue: u8,
    /// Bytes on the wire.
    pub size: u32,
    /// First payload byte; of an ACK or NACK the next one expected.
    pub seq: u32,
    /// The flow it belongs to.
    pub flow: u32,
    /// Payload bytes.
    pub payload: u32,
    /// Its ingress device at the current switch.
    pub(crate) came_by: u16,
    /// Time at which the data was sent, in ns: carried in TIMELY's header.
    pub sent_at: u64,
}
