//! TCP, one end of a connection: handshake and FIN, byte stream, loss recovery by SACK (RFC 6675) or NewReno (RFC
//! 6582), retransmission timer (RFC 6298), delayed ACK, receive window with scaling, ECN negotiation (RFC 3168).
//!
//! Sans-I/O: segments and times go in, segments and the next time come out. The congestion control decides how many
//! bytes may be in flight, which the caller passes to [`Connection::transmit`]; the connection decides which bytes to
//! send. The receiver role decides whether and when a due ACK is sent, so [`Connection::on_segment`] only reports that
//! one is due, and the caller builds it with [`Connection::ack`].
//!
//! Sequence numbers are 64-bit and do not wrap: the SYN is number 0, byte k of the stream is number 1 + k, the FIN is
//! the one behind the last byte. A wire format takes the lower 32 bits.

mod choose;
mod connection;
mod emit;
mod receive;
mod rto;
mod scoreboard;
mod send;

pub use connection::Connection;

use fanin_cc::Loss;
use fanin_units::Time;

/// Parameters of one end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Config {
    /// Largest payload of a segment in bytes (MSS).
    pub mss: u32,
    /// Whether it offers selective acknowledgement (RFC 2018); used if both ends do.
    pub sack: bool,
    /// Whether it offers ECN (RFC 3168 section 6.1.1); used if both ends do.
    pub ecn: bool,
    /// Whether it offers window scaling (RFC 7323); used if both ends do. Without it a window is below 64 KiB.
    pub window_scaling: bool,
    /// Receive buffer in bytes: the largest window it advertises.
    pub receive_buffer: u64,
    /// One ACK per this many full-size segments (RFC 5681 section 4.2, RFC 1122); 1 acknowledges each.
    pub ack_every: u32,
    /// Longest delay of an ACK.
    pub ack_delay: Time,
    /// Retransmission timeout before the first round-trip time is known (RFC 6298 section 2.1).
    pub initial_rto: Time,
    /// Smallest retransmission timeout.
    pub min_rto: Time,
    /// Largest retransmission timeout, which also bounds its doubling.
    pub max_rto: Time,
    /// Whether each ACK of new bytes gives a round-trip time, by its timestamp (RFC 7323 section 4), instead of one
    /// segment at a time that was sent once.
    pub timestamps: bool,
    /// Segmentation offload: bytes of new data that go to the NIC at once; 0 without it. A burst begins when windows
    /// allow that many, a third of them or all that is left, and leaves as segments one right after the other.
    pub offload: u32,
    /// Retransmissions of the same segment, or window probes in a row without any answer, after which the connection is
    /// given up (R2 of RFC 9293 section 3.8.3); `u32::MAX` for never.
    pub retries: u32,
}

/// Bits of [`Segment::flags`].
pub mod bits {
    /// No more bytes from the sender.
    pub const FIN: u8 = 1;
    /// First segment of a connection.
    pub const SYN: u8 = 2;
    /// The connection is refused or gone.
    pub const RST: u8 = 4;
    /// On an ACK: the receiver asks for a retransmission at once (RCC section 4.5). It has no other meaning here.
    pub const PSH: u8 = 8;
    /// `ack` counts.
    pub const ACK: u8 = 16;
    /// An echo of a congestion mark; on a SYN: ECN is offered or agreed to.
    pub const ECE: u8 = 64;
    /// The sender has reduced its window; on a SYN with ECE: ECN is offered.
    pub const CWR: u8 = 128;
}

/// SACK blocks: ranges of bytes received out of order, newest first (RFC 2018), at most three.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SackBlocks {
    blocks: [(u64, u64); 3],
    count: u8,
}

impl SackBlocks {
    /// The first three of these ranges, as (first number, number after the last).
    pub fn new(runs: impl IntoIterator<Item = (u64, u64)>) -> Self {
        let mut all = Self::default();
        for (to, run) in all.blocks.iter_mut().zip(runs) {
            *to = run;
            all.count += 1;
        }
        all
    }

    /// The blocks, newest first.
    pub fn as_slice(&self) -> &[(u64, u64)] {
        &self.blocks[..self.count as usize]
    }
}

/// The header of a segment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Segment {
    /// Number of its first byte, or of its SYN or FIN.
    pub seq: u64,
    /// The next number that its sender expects; counts with [`bits::ACK`].
    pub ack: u64,
    /// When it was sent (timestamp).
    pub sent_at: Time,
    /// The `sent_at` of the segment that this one answers (timestamp echo); zero on a SYN.
    pub echo: Time,
    /// Payload bytes.
    pub len: u32,
    /// Advertised window as on the wire: in units of 2^scale, unscaled on a SYN.
    pub window: u16,
    /// Bits of [`bits`].
    pub flags: u8,
    /// On a SYN: the window scale offered.
    pub scale: Option<u8>,
    /// On a SYN: whether SACK is offered.
    pub sack_permitted: bool,
    /// Whether any of it is a retransmission. Not on the wire.
    pub retransmitted: bool,
    /// Whether it probes a closed window. Not on the wire.
    pub probe: bool,
    /// SACK blocks.
    pub sack: SackBlocks,
}

impl Segment {
    /// Whether all of `bits` are set.
    pub fn has(&self, bits: u8) -> bool {
        self.flags & bits == bits
    }

    /// The number after it: SYN and FIN take one each.
    pub fn end(&self) -> u64 {
        let control = u64::from(self.flags & bits::SYN != 0) + u64::from(self.flags & bits::FIN != 0);
        self.seq.saturating_add(self.len as u64 + control)
    }
}

/// The states of RFC 9293 section 3.3.2.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// Waits for a SYN.
    Listen,
    /// Sent its SYN.
    SynSent,
    /// Received a SYN, sent its own, waits for the ACK.
    SynReceived,
    /// Open in both directions.
    Established,
    /// Sent its FIN.
    FinWait1,
    /// Its FIN is acknowledged.
    FinWait2,
    /// Received a FIN; may still send.
    CloseWait,
    /// Both sent a FIN at once; its own is not acknowledged.
    Closing,
    /// Received a FIN, then sent its own.
    LastAck,
    /// TIME-WAIT: answers retransmissions of the peer.
    TimeWait,
    /// Gone.
    Closed,
}

/// The effect of an ACK on the sending side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Acked {
    /// Stream bytes acknowledged for the first time (neither SYN nor FIN).
    pub newly_acked: u64,
    /// Offset in the stream up to which all bytes have arrived.
    pub acked_to: u64,
    /// Offset of the next stream byte to send for the first time.
    pub sent_to: u64,
    /// Stream bytes in flight just before this ACK: pipe in recovery by SACK, otherwise sent less acknowledged.
    pub in_flight: u64,
    /// Stream bytes of the burst that waited for its window just before this ACK (segmentation offload), or 0.
    pub burst: u64,
    /// Whether a loss is being repaired now, after this ACK.
    pub recovering: bool,
    /// Whether it echoes a congestion mark, where ECN is agreed.
    pub ecn_echo: bool,
    /// Time since the acknowledged segment was sent.
    pub rtt: Time,
    /// A loss found by this ACK: recovery begins.
    pub loss: Option<Loss>,
}

/// The effect of a data segment on the receiving side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrived {
    /// Offset in the stream of its first byte.
    pub offset: u64,
    /// Offset up to which all bytes have arrived, this segment included.
    pub arrived_to: u64,
    /// Bytes that it made available in order; more than its own where it fills a gap.
    pub delivered: u64,
    /// Whether it was the next one expected.
    pub in_order: bool,
    /// Whether an ACK is due now.
    pub ack_due: bool,
    /// Whether earlier segments are not covered by an ACK.
    pub pending: bool,
    /// Whether an ACK would be due now if one for those had just been sent.
    pub due_alone: bool,
}

/// The effects of a segment. Several may apply: a segment may carry data, an ACK and a FIN.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// Its ACK, where it matters to the sending side: bytes acknowledged or selectively acknowledged, a duplicate, an
    /// echo of a congestion mark.
    pub acked: Option<Acked>,
    /// Its data, duplicates included.
    pub arrived: Option<Arrived>,
    /// The peer asks for a connection: a SYN-ACK is sent, unless [`Connection::hold_syn`] follows.
    pub asked: bool,
    /// The connection is open from now on.
    pub opened: bool,
    /// The peer sends no more: its FIN was received in order.
    pub peer_closed: bool,
    /// An ACK must be sent at once, regardless of congestion control: for a handshake, a FIN, a segment outside the
    /// window or a probe of it, an ACK of a number that was never sent. Where the segment also carries data, an ACK
    /// sent for the data at once covers this too: see [`Connection::owes_ack`].
    pub must_ack: bool,
}

/// The effect of a timer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Expired {
    /// The retransmission timer ran out with data in flight.
    pub timeout: Option<Loss>,
    /// The retransmission timer ran out on a SYN or FIN alone.
    pub control_timeout: bool,
    /// The delay of an ACK ran out: it is due now.
    pub ack_due: bool,
    /// The connection was given up after [`Config::retries`]; it is closed.
    pub given_up: bool,
}

/// The range that an ACK covers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Covers {
    /// All bytes received.
    All,
    /// All bytes except the last data segment; only right after [`Connection::on_segment`], and only where
    /// [`Arrived::pending`] was set.
    AllButLast,
}
