//! An RDMA-like reliable connection: go-back-N with NACK (RoCE), message start and end marks.
//!
//! A queue pair has one sequence space in payload bytes, from 0. By default each message has a queue pair of its own,
//! so that two messages of a sender may take different paths; a connection carries many messages one after another.

use alloc::vec::Vec;
use fanin_units::{MessageId, Time};

/// The bytes of the stream that the next packet carries.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Segment {
    /// Offset of its first byte.
    pub offset: u64,
    /// Payload bytes.
    pub len: u32,
    /// The message it belongs to.
    pub message: MessageId,
    /// First packet of its message.
    pub start: bool,
    /// Last packet of its message.
    pub end: bool,
    /// Whether it was sent before.
    pub retransmitted: bool,
}

/// The sending half of a queue pair.
#[derive(Clone, Debug, Default)]
pub struct SendHalf {
    acked: u64,
    next: u64,
    posted: u64,
    highest: u64,
    /// The message that `next` lies in.
    current: Message,
    /// End of the first message that is not completely acknowledged, 0 where there is none.
    first_end: u64,
    /// All messages not yet acknowledged, in order; the allocation is kept when the half is reused.
    messages: Vec<Message>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Message {
    id: MessageId,
    start: u64,
    end: u64,
}

impl SendHalf {
    /// Resets it to a new queue pair.
    pub fn reset(&mut self) {
        let mut messages = core::mem::take(&mut self.messages);
        messages.clear();
        *self = Self { messages, ..Self::default() };
    }

    /// Adds a message of `bytes` at the end.
    pub fn post(&mut self, id: MessageId, bytes: u64) {
        let message = Message { id, start: self.posted, end: self.posted + bytes };
        if self.next == self.posted {
            self.current = message;
        }
        self.posted = message.end;
        if self.messages.is_empty() {
            self.first_end = message.end;
        }
        self.messages.push(message);
    }

    /// Whether there is data to send.
    #[inline(always)]
    pub fn has_data(&self) -> bool {
        self.next < self.posted
    }

    /// Bytes posted and not sent.
    #[inline(always)]
    pub fn left(&self) -> u64 {
        self.posted - self.next
    }

    /// Whether all posted messages are acknowledged.
    #[inline(always)]
    pub fn done(&self) -> bool {
        self.acked == self.posted
    }

    /// Bytes sent and not acknowledged.
    #[inline(always)]
    pub fn in_flight(&self) -> u64 {
        self.next.saturating_sub(self.acked)
    }

    /// Next byte to send.
    #[inline(always)]
    pub fn sent_to(&self) -> u64 {
        self.next
    }

    /// Everything before this offset is acknowledged.
    #[inline(always)]
    pub fn acked_to(&self) -> u64 {
        self.acked
    }

    /// Takes the next packet; call only when [`Self::has_data`]. A packet never spans two messages.
    #[inline]
    pub fn take(&mut self, payload: u32) -> Segment {
        let len = (self.current.end - self.next).min(payload as u64);
        let segment = Segment {
            offset: self.next,
            len: len as u32,
            message: self.current.id,
            start: self.next == self.current.start,
            end: self.next + len == self.current.end,
            retransmitted: self.next < self.highest,
        };
        self.next += len;
        self.highest = self.highest.max(self.next);
        if segment.end && self.next < self.posted {
            self.find_current();
        }
        segment
    }

    /// The message that holds byte `next`.
    fn find_current(&mut self) {
        let at = self.messages.partition_point(|m| m.end <= self.next);
        if let Some(&message) = self.messages.get(at) {
            self.current = message;
        }
    }

    /// A cumulative acknowledgement: returns the bytes newly acknowledged and calls `finished` for each message that is
    /// now completely acknowledged. An acknowledgement of bytes never sent is ignored.
    #[inline]
    pub fn on_ack(&mut self, to: u64, mut finished: impl FnMut(MessageId)) -> u64 {
        if to <= self.acked || to > self.highest {
            return 0;
        }
        let newly = to - self.acked;
        self.acked = to;
        if self.next < to {
            // The receiver has more than the offset that the sender had gone back to.
            self.next = to;
            self.find_current();
        }
        if self.first_end <= to {
            let whole = self.messages.partition_point(|m| m.end <= to);
            for message in self.messages.drain(..whole) {
                finished(message.id);
            }
            self.first_end = self.messages.first().map_or(0, |m| m.end);
        }
        newly
    }

    /// The message that the next packet belongs to.
    #[inline(always)]
    pub fn next_message(&self) -> MessageId {
        self.current.id
    }

    /// Whether a message follows the one that the next packet belongs to.
    pub fn comes_later(&self, id: MessageId) -> bool {
        self.messages.iter().any(|m| m.id == id && m.start > self.next)
    }

    /// Whether the next packet is the first of its message.
    #[inline(always)]
    pub fn at_start(&self) -> bool {
        self.next == self.current.start
    }

    /// The message that holds the byte at `offset` and is not completely acknowledged, and the offset of its first
    /// byte.
    pub fn message_at(&self, offset: u64) -> Option<(MessageId, u64)> {
        let at = self.messages.partition_point(|m| m.end <= offset);
        self.messages.get(at).filter(|m| m.start <= offset).map(|m| (m.id, m.start))
    }

    /// Restarts the message that is being sent, even if part of it has arrived (Dart IV-C).
    pub fn restart(&mut self) {
        self.next = self.current.start;
    }

    /// The messages that have been sent in part or whole and are not completely acknowledged.
    pub fn under_way(&self) -> impl Iterator<Item = MessageId> + '_ {
        self.messages.iter().filter(|m| m.start < self.highest).map(|m| m.id)
    }

    /// The messages that are not completely acknowledged.
    pub fn unfinished(&self) -> impl Iterator<Item = MessageId> + '_ {
        self.messages.iter().map(|m| m.id)
    }

    /// Go-back-0: as [`Self::go_back`], but from the first byte of that message on, as if nothing of it had arrived.
    pub fn start_over(&mut self) -> bool {
        if !self.go_back() {
            return false;
        }
        self.restart();
        self.acked = self.next;
        true
    }

    /// On a NACK, after its acknowledgement was processed, or on a timeout: retransmits from the first unacknowledged
    /// byte. Returns whether there was anything to retransmit.
    pub fn go_back(&mut self) -> bool {
        if self.next <= self.acked {
            return false;
        }
        self.next = self.acked;
        self.find_current();
        true
    }
}

/// The acknowledgement policy of a receiver.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ReceiveRules {
    /// Payload bytes per ACK; 0 or 1 acknowledges every packet.
    pub ack_chunk: u32,
    /// At most one NACK for the same expected byte in this time.
    pub nack_interval: Time,
}

/// The receiver's result for a data packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Arrival {
    /// The expected next packet.
    InOrder {
        /// Whether an ACK is due now.
        ack_due: bool,
    },
    /// A duplicate: acknowledged again, because its ACK may be lost.
    Duplicate,
    /// An earlier byte is missing: dropped.
    Gap {
        /// Whether a NACK is due now.
        nack_due: bool,
    },
}

/// The receiving half of a queue pair.
#[derive(Clone, Copy, Debug)]
pub struct ReceiveHalf {
    expected: u64,
    unacked: u32,
    nacked: u64,
    nacked_at: Time,
}

impl Default for ReceiveHalf {
    fn default() -> Self {
        Self { expected: 0, unacked: 0, nacked: u64::MAX, nacked_at: Time::ZERO }
    }
}

impl ReceiveHalf {
    /// Next byte expected.
    #[inline(always)]
    pub fn expected(&self) -> u64 {
        self.expected
    }

    /// Payload bytes received in order and not yet acknowledged.
    #[inline(always)]
    pub fn unacked(&self) -> u32 {
        self.unacked
    }

    /// An ACK was sent for all but the last packet, of `len` bytes.
    #[inline(always)]
    pub fn acked_all_but(&mut self, len: u32) {
        self.unacked = len;
    }

    /// A packet arrived.
    #[inline]
    pub fn on_data(&mut self, now: Time, offset: u64, len: u32, end: bool, rules: &ReceiveRules) -> Arrival {
        if offset == self.expected {
            self.expected += len as u64;
            self.unacked += len;
            let ack_due = end || self.unacked >= rules.ack_chunk;
            if ack_due {
                self.unacked = 0;
            }
            Arrival::InOrder { ack_due }
        } else if offset < self.expected {
            self.unacked = 0;
            Arrival::Duplicate
        } else {
            Arrival::Gap { nack_due: self.nack_due(now, rules.nack_interval) }
        }
    }

    /// Whether a NACK is due because something is missing; it is sent then.
    #[inline]
    fn nack_due(&mut self, now: Time, interval: Time) -> bool {
        let due = self.nacked != self.expected || now.saturating_sub(self.nacked_at) >= interval;
        if due {
            (self.nacked, self.nacked_at) = (self.expected, now);
        }
        due
    }

    /// The header of a packet whose payload was cut arrived, and so it is missing. Returns whether a NACK is due.
    pub fn on_trimmed(&mut self, now: Time, offset: u64, interval: Time) -> bool {
        offset >= self.expected && self.nack_due(now, interval)
    }
}
