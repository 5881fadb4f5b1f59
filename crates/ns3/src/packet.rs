//! Packets.

use fanin_cc::Telemetry;

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

/// The packets that exist.
#[derive(Default)]
pub(crate) struct Pool {
    pub(crate) packets: Vec<Packet>,
    /// By packet, where the control law has any.
    pub(crate) telemetry: Vec<Telemetry>,
    pub(crate) free: Vec<u32>,
    /// Whether data packets carry telemetry.
    pub(crate) stamps: bool,
}

impl Pool {
    pub(crate) fn add(&mut self, packet: Packet, telemetry: Option<Telemetry>) -> u32 {
        let ix = match self.free.pop() {
            Some(ix) => {
                self.packets[ix as usize] = packet;
                ix
            }
            None => {
                self.packets.push(packet);
                if self.stamps {
                    self.telemetry.push(Telemetry::default());
                }
                self.packets.len() as u32 - 1
            }
        };
        if let Some(telemetry) = telemetry {
            self.telemetry[ix as usize] = telemetry;
        }
        ix
    }

    /// Removes a packet; its telemetry is returned to the pool.
    pub(crate) fn consume(&mut self, ix: u32) -> (Packet, Option<Telemetry>) {
        self.free.push(ix);
        (self.packets[ix as usize], self.stamps.then(|| self.telemetry[ix as usize]))
    }
}
