//! Packets, and the store that they live in.

use fanin_engine::prefetch;

/// What a packet is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Type {
    /// Payload, or what trimming left of it.
    #[default]
    Data,
    /// A request for credit.
    Rts,
    /// An acknowledgement.
    Ack,
    /// The report of a trimmed packet.
    Nack,
    /// A grant of credit.
    Pull,
}

impl Type {
    /// Whether senders send it to receivers.
    pub fn comes_from_sender(self) -> bool {
        matches!(self, Self::Data | Self::Rts)
    }
}

/// Why a data packet was sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sending {
    /// For the first time, after feedback.
    #[default]
    Normal,
    /// Before any feedback, without a grant.
    Speculative,
    /// Again.
    Again,
    /// Without payload, to be acknowledged at once: `-sleek`.
    Probe,
}

/// A packet: a cache line. Fields that a type does not have are zero.
#[derive(Clone, Copy, Debug, Default)]
#[repr(align(64))]
pub struct Packet {
    /// Type.
    pub of: Type,
    /// Index of the connection.
    pub connection: u32,
    /// Flow number, for the choice of paths.
    pub flow: u32,
    /// Destination host.
    pub to: u32,
    /// Entropy, for the choice of paths.
    pub entropy: u16,
    /// Bytes on the wire.
    pub size: u16,
    /// Whether it is a header without payload, so that switches put it in the queue of headers.
    pub header: bool,
    /// Congestion experienced; in ACKs and NACKs that of the packet they answer.
    pub marked: bool,
    /// Sequence number; in ACKs and NACKs that of the packet they answer.
    pub psn: u32,
    /// Data: why it was sent; ACK: whether it answers a probe.
    pub sending: Sending,
    /// Data: an ACK is requested.
    pub ask: bool,
    /// Data: trimmed at the last queue before the receiver; NACK: likewise.
    pub last_hop: bool,
    /// ACK: the packet was a retransmission.
    pub again: bool,
    /// ACK: its object has acknowledged an RTS; PULL: sent without demand.
    pub flag: bool,
    /// Data, RTS: pull target; PULL: number of the pull; a probe and its ACK: when it was sent.
    pub pull: u64,
    /// ACK: the next sequence number expected.
    pub cumulative: u32,
    /// ACK: the sequence number of the bitmap's first bit.
    pub base: u32,
    /// ACK: which packets from `base` on have come.
    pub bitmap: u64,
    /// ACK: bytes received.
    pub bytes: u64,
    /// ACK: packets received out of order.
    pub ahead: u32,
}

const _: () = assert!(size_of::<Packet>() == 64);

/// All packets under way, by index.
#[derive(Default)]
pub struct Packets {
    all: Vec<Packet>,
    free: Vec<u32>,
}

impl Packets {
    /// Stores a packet.
    pub fn add(&mut self, packet: Packet) -> u32 {
        match self.free.pop() {
            Some(at) => {
                self.all[at as usize] = packet;
                at
            }
            None => {
                self.all.push(packet);
                self.all.len() as u32 - 1
            }
        }
    }

    /// Takes a packet out.
    pub fn take(&mut self, at: u32) -> Packet {
        self.free.push(at);
        self.all[at as usize]
    }

    /// A packet.
    pub fn get(&self, at: u32) -> &Packet {
        &self.all[at as usize]
    }

    /// Fetches a packet into the cache.
    pub fn prefetch(&self, at: u32) {
        prefetch(&self.all, at as usize);
    }

    /// A packet, to be changed.
    pub fn get_mut(&mut self, at: u32) -> &mut Packet {
        &mut self.all[at as usize]
    }
}
