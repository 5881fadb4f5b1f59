//! The receiving half of go-back-0: a message that lacks a packet has to arrive anew, from its first packet on.
//!
//! Each time the sender starts over, its packets have the next attempt number. Packets of an earlier attempt are
//! dropped, and ACKs carry the number of the attempt that they are about, so that the two ends never mix attempts.

use crate::rc::Arrival;

/// The receiving half of a queue pair.
#[derive(Clone, Copy, Debug, Default)]
pub struct ReceiveHalf {
    /// Where the first message begins that has not arrived completely.
    start: u64,
    expected: u64,
    /// Offset behind the last byte that any attempt brought in order.
    furthest: u64,
    unacked: u32,
    attempt: u16,
    /// A NACK was sent in this attempt.
    nacked: bool,
}

impl ReceiveHalf {
    /// Next byte expected.
    pub fn expected(&self) -> u64 {
        self.expected
    }

    /// Payload bytes received in order and not yet acknowledged.
    pub fn unacked(&self) -> u32 {
        self.unacked
    }

    /// An ACK was sent for all but the last packet, of `len` bytes.
    pub fn acked_all_but(&mut self, len: u32) {
        self.unacked = len;
    }

    /// The attempt that arrives.
    pub fn attempt(&self) -> u16 {
        self.attempt
    }

    /// A packet arrived. Returns what it is, and the payload bytes that are in order for the first time. One NACK is
    /// due per attempt.
    pub fn on_data(&mut self, attempt: u16, offset: u64, len: u32, end: bool, ack_chunk: u32) -> (Arrival, u64) {
        if attempt > self.attempt {
            (self.attempt, self.expected) = (attempt, self.start);
            (self.unacked, self.nacked) = (0, false);
        }
        if attempt < self.attempt {
            return (Arrival::Gap { nack_due: false }, 0);
        }
        if offset > self.expected {
            let nack_due = !core::mem::replace(&mut self.nacked, true);
            return (Arrival::Gap { nack_due }, 0);
        }
        if offset < self.expected {
            self.unacked = 0;
            return (Arrival::Duplicate, 0);
        }
        self.expected += u64::from(len);
        self.unacked += len;
        let new = self.expected.saturating_sub(self.furthest);
        self.furthest = self.furthest.max(self.expected);
        if end {
            self.start = self.expected;
        }
        let ack_due = end || self.unacked >= ack_chunk;
        if ack_due {
            self.unacked = 0;
        }
        (Arrival::InOrder { ack_due }, new)
    }
}
