//! Selective retransmission over a reliable connection: IRN (Mittal et al., SIGCOMM 2018), and selective repeat, which
//! is IRN without its limit on packets in flight and without its short timeout.
//!
//! * The receiver keeps packets that arrive behind a gap. It answers each with a NACK of two numbers: the next byte
//!   expected, and the first byte of the packet that arrived. Everything else, duplicates too, gets an ACK.
//! * The sender notes which of its packets have arrived. In recovery it sends the missing ones again, each once, and
//!   then new data.
//!
//! * A packet whose payload a switch cut is named by a NACK as well, and is sent again at once, ahead of all others.
//! * Where packets are sprayed ([`Rules::UNORDERED`]) a gap is no loss: only cut packets and timeouts are. What has
//!   arrived behind a gap is no longer in flight then, nor is what has been cut and waits to be sent again.
//!
//! The paper numbers packets; here bytes number them, and each is sent again exactly as it was.

mod receive;
mod send;

pub use receive::{Arrived, Kept, ReceiveHalf};
pub use send::SendHalf;

use fanin_units::Time;

/// The rules of a sender.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Rules {
    /// New packets leave while fewer than this are in flight (IRN: the bandwidth-delay product).
    pub cap: Cap,
    /// The retransmission timeout with more than `low_up_to` packets in flight (IRN: RTO_high). The shorter one is that
    /// of the endpoint.
    pub timeout_high: Time,
    /// The short timeout holds with up to this many packets in flight (IRN: 3).
    pub low_up_to: u32,
    /// Recovery begins with this many NACKs in a row for the same byte (IRN: 1); [`Rules::UNORDERED`] is never.
    pub nacks: u32,
    /// Whether the scheme is told of losses and timeouts (IRN: no).
    pub tell_scheme: bool,
}

impl Rules {
    /// The value of `nacks` where packets may arrive in any order: no gap is a loss.
    pub const UNORDERED: u32 = u32::MAX;

    /// Whether packets may arrive in any order.
    pub const fn unordered(&self) -> bool {
        self.nacks == Self::UNORDERED
    }
}

/// Where the bitmap of an ACK begins that says that everything before `to` has arrived, and the packet that begins at
/// `named`: bit i is the packet that begins i packets of `payload` bytes behind it.
///
/// UEC 1.0: it ends with the packet that is answered, but has nothing that the ACK says anyway. All packets but the
/// last have the same payload; a shorter first one, with a list of senders, lies between two bits.
pub fn bitmap_base(to: u64, named: u64, payload: u64) -> u64 {
    let least = named.saturating_sub(63 * payload).max(to.saturating_add(1));
    least + (named as i64 - least as i64).rem_euclid(payload.max(1) as i64) as u64
}

/// The most packets in flight.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Cap {
    /// No limit.
    Off,
    /// The largest bandwidth-delay product in the network; twice where ACKs come once per round-trip time.
    Bdp,
    /// As many full packets as hold so many bytes on the wire.
    Bytes(u64),
    /// Packets of any size.
    Packets(u32),
}

impl Cap {
    /// In packets, with `bdp` bytes for the bandwidth-delay product and full packets of `wire` bytes: rounded up, and
    /// one at least.
    pub fn packets(self, bdp: u64, wire: u32) -> u32 {
        let of = |bytes: u64| u32::try_from(bytes.div_ceil(u64::from(wire.max(1)))).unwrap_or(u32::MAX);
        let packets = match self {
            Self::Off => u32::MAX,
            Self::Bdp => of(bdp),
            Self::Bytes(bytes) => of(bytes),
            Self::Packets(packets) => packets,
        };
        packets.max(1)
    }
}
