//! The receiving half: keeps what arrives behind a gap.

use alloc::collections::VecDeque;
use alloc::vec::Vec;
use fanin_units::MessageId;

/// A packet that arrived, as far as the receiver needs it when everything before it has arrived too.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Kept {
    /// Offset of its first byte.
    pub offset: u64,
    /// Payload bytes.
    pub len: u32,
    /// Its message.
    pub message: MessageId,
    /// First packet of its message.
    pub start: bool,
    /// Last packet of its message.
    pub end: bool,
    /// Links that it crossed.
    pub links: u8,
}

/// The receiver's result for a data packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Arrived {
    /// The expected next packet; with it those of [`ReceiveHalf::ready`] are in order.
    InOrder {
        /// Whether an ACK is due now.
        ack_due: bool,
    },
    /// Everything before its end had arrived: acknowledged again, because its ACK may be lost.
    Duplicate,
    /// An earlier byte is missing: a NACK is due.
    Behind {
        /// Whether it has arrived for the first time.
        new: bool,
    },
}

/// The receiving half of a queue pair with selective retransmission.
#[derive(Clone, Debug, Default)]
pub struct ReceiveHalf {
    expected: u64,
    unacked: u32,
    /// A packet has asked for an ACK, and packets before it are missing.
    asked: bool,
    /// See [`Self::answer`].
    answer: u64,
    /// What arrived behind a gap, in order of offsets; the allocation is kept when the half is reused.
    behind: VecDeque<Kept>,
    /// The packets that the last arrival put in order, itself first.
    ready: Vec<Kept>,
}

impl ReceiveHalf {
    /// Resets it to a new queue pair.
    pub fn reset(&mut self) {
        (self.expected, self.unacked, self.asked) = (0, 0, false);
        self.behind.clear();
        self.ready.clear();
    }

    /// Next byte expected.
    pub fn expected(&self) -> u64 {
        self.expected
    }

    /// Payload bytes received and not yet acknowledged: in order, or with [`Self::on_unordered`] in any order.
    pub fn unacked(&self) -> u32 {
        self.unacked
    }

    /// An ACK was sent for all but the last packet, of `len` bytes.
    pub fn acked_all_but(&mut self, len: u32) {
        self.unacked = len;
    }

    /// Whether the packet that begins at `offset` has arrived.
    pub fn has(&self, offset: u64) -> bool {
        offset < self.expected || self.behind.binary_search_by_key(&offset, |kept| kept.offset).is_ok()
    }

    /// Packets kept behind a gap.
    pub fn behind(&self) -> usize {
        self.behind.len()
    }

    /// The packets that the last arrival put in order, itself first; empty where it was not in order. The list is lent
    /// until [`Self::recycle`], so that its memory is used again.
    pub fn take_ready(&mut self) -> Vec<Kept> {
        core::mem::take(&mut self.ready)
    }

    /// See [`Self::take_ready`].
    pub fn recycle(&mut self, ready: Vec<Kept>) {
        self.ready = ready;
    }

    /// A packet arrived where ACKs have bitmaps. Returns also whether an ACK is due: for `ack_chunk` payload bytes, for
    /// the first packet, one that is `marked`, one that `asks`, one that had arrived, and the one that closes all gaps
    /// before a packet that asked (UEC 1.0, as uet-htsim does it).
    pub fn on_unordered(&mut self, packet: Kept, ack_chunk: u32, asks: bool, marked: bool) -> (Arrived, bool) {
        let before = self.unacked;
        let first = self.expected == 0 && self.behind.is_empty();
        let arrived = self.on_data(packet, u32::MAX);
        if matches!(arrived, Arrived::Duplicate | Arrived::Behind { new: false }) {
            self.unacked = 0;
            return (arrived, true);
        }
        self.unacked = before.saturating_add(packet.len);
        self.asked |= asks;
        let closes = self.asked && self.behind.is_empty() && matches!(arrived, Arrived::InOrder { .. });
        self.asked &= !closes;
        let due = first || asks || marked || closes || self.unacked >= ack_chunk;
        if due {
            self.unacked = 0;
        }
        (arrived, due)
    }

    /// Keeps, for the next ACK, which packets behind a gap have arrived: bit i is the one that begins i packets of
    /// `payload` bytes behind `base`.
    pub fn note_answer(&mut self, base: u64, payload: u64) {
        let from = self.behind.partition_point(|kept| kept.offset < base);
        let payload = payload.max(1);
        let steps = self.behind.range(from..).map(|kept| kept.offset - base).take_while(|step| *step < 64 * payload);
        self.answer = steps.filter(|step| step % payload == 0).fold(0, |bits, step| bits | 1 << (step / payload));
    }

    /// The bitmap of [`Self::note_answer`].
    pub fn answer(&self) -> u64 {
        self.answer
    }

    /// A packet arrived. An ACK is due per `ack_chunk` payload bytes, for the last packet of a message, and when a gap
    /// is closed.
    pub fn on_data(&mut self, packet: Kept, ack_chunk: u32) -> Arrived {
        self.ready.clear();
        if packet.offset < self.expected {
            self.unacked = 0;
            return Arrived::Duplicate;
        }
        if packet.offset > self.expected {
            let at = self.behind.partition_point(|kept| kept.offset < packet.offset);
            let new = self.behind.get(at).is_none_or(|kept| kept.offset != packet.offset);
            if new {
                self.behind.insert(at, packet);
            }
            return Arrived::Behind { new };
        }
        self.ready.push(packet);
        let mut next = packet.offset + u64::from(packet.len);
        let in_order = self.behind.iter().take_while(|kept| {
            let follows = kept.offset == next;
            next += if follows { u64::from(kept.len) } else { 0 };
            follows
        });
        let closed = in_order.count();
        self.ready.extend(self.behind.drain(..closed));
        self.unacked = self.unacked.saturating_add((next - self.expected).min(u64::from(u32::MAX)) as u32);
        self.expected = next;
        let ack_due = closed > 0 || packet.end || self.unacked >= ack_chunk;
        if ack_due {
            self.unacked = 0;
        }
        Arrived::InOrder { ack_due }
    }
}
