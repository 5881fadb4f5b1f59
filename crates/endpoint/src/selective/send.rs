//! The sending half: what has arrived, what is sent again, and when.

use super::Rules;
use crate::rc::{self, Segment};
use alloc::collections::VecDeque;
use fanin_units::{MessageId, Time};

/// A packet that was sent and that no cumulative acknowledgement covers.
#[derive(Clone, Copy, Debug)]
struct Packet {
    segment: Segment,
    /// A NACK said that it has arrived.
    arrived: bool,
}

impl Packet {
    fn end(&self) -> u64 {
        self.segment.offset + u64::from(self.segment.len)
    }
}

/// The sending half of a queue pair with selective retransmission.
///
/// Names in the authors' hardware model: `acked_to` is `lastAckedPsn`, `sent_to` `nextSNtoSend`, `recovery_to`
/// `recoverSN` + 1, `resent_to` `retransmitSN` + 1 after that packet left, `first_again` `doRetransmit` for the first
/// packet missing.
#[derive(Clone, Debug)]
pub struct SendHalf {
    stream: rc::SendHalf,
    rules: Rules,
    /// [`Rules::cap`] in packets.
    cap: u32,
    /// In order; the allocation is kept when the half is reused.
    packets: VecDeque<Packet>,
    /// Offset behind the last packet that a NACK said has arrived: what is missing before it is lost.
    arrived_to: u64,
    in_recovery: bool,
    /// Recovery ends when everything before this offset is acknowledged.
    recovery_to: u64,
    /// The first packet is to be sent again at once.
    first_again: bool,
    /// Offset behind the packet that was sent again last.
    resent_to: u64,
    /// No packet before this offset is to be sent again as a hole.
    searched_to: u64,
    /// The packet to send again next, counted from the first.
    next_again: Option<usize>,
    /// NACKs since the first packet became the first.
    nacks: u32,
    /// The short timeout has been replaced by the long one.
    extended: bool,
    /// The last ACK or NACK has decided that recovery begins.
    begins: bool,
}

impl SendHalf {
    /// A new queue pair with `cap` packets in flight at most.
    pub fn new(rules: Rules, cap: u32) -> Self {
        Self {
            stream: rc::SendHalf::default(),
            rules,
            cap,
            packets: VecDeque::new(),
            arrived_to: 0,
            in_recovery: false,
            recovery_to: 0,
            first_again: false,
            resent_to: 0,
            searched_to: 0,
            next_again: None,
            nacks: 0,
            extended: false,
            begins: false,
        }
    }

    /// Takes over the memory of one that is no longer in use.
    pub fn reuse(&mut self, old: &mut Self) {
        core::mem::swap(&mut self.packets, &mut old.packets);
        core::mem::swap(&mut self.stream, &mut old.stream);
        self.packets.clear();
        self.stream.reset();
    }

    /// Messages and cumulative acknowledgements.
    #[inline(always)]
    pub fn stream(&self) -> &rc::SendHalf {
        &self.stream
    }

    /// See [`Self::stream`]. Only to post messages.
    #[inline(always)]
    pub fn stream_mut(&mut self) -> &mut rc::SendHalf {
        &mut self.stream
    }

    /// The rules.
    pub fn rules(&self) -> &Rules {
        &self.rules
    }

    /// Packets sent and not covered by a cumulative acknowledgement.
    pub fn packets_in_flight(&self) -> usize {
        self.packets.len()
    }

    /// Whether a loss is being repaired.
    pub fn in_recovery(&self) -> bool {
        self.in_recovery
    }

    /// Whether there is a packet to send, by the rules of this half.
    #[inline]
    pub fn has_data(&self) -> bool {
        // IRN: a new packet leaves while nxt - cum < cap; one that is sent again adds nothing to what is in flight.
        self.next_again.is_some() || self.stream.has_data() && self.packets.len() < self.cap as usize
    }

    /// The bytes in flight that the window is compared with: none for a packet that is sent again, which replaces a
    /// lost one.
    #[inline]
    pub fn against_window(&self) -> u64 {
        if self.next_again.is_some() { 0 } else { self.stream.in_flight() }
    }

    /// The message that the next packet belongs to.
    #[inline]
    pub fn next_message(&self) -> MessageId {
        self.next_again.map_or(self.stream.next_message(), |at| self.packets[at].segment.message)
    }

    /// Whether the next packet is the first of its message.
    #[inline]
    pub fn at_start(&self) -> bool {
        self.next_again.map_or(self.stream.at_start(), |at| self.packets[at].segment.start)
    }

    /// Takes the next packet; call only when [`Self::has_data`]. One that is sent again has the payload that it had.
    pub fn take(&mut self, payload: u32) -> Segment {
        let Some(at) = self.next_again else {
            let segment = self.stream.take(payload);
            self.packets.push_back(Packet { segment, arrived: false });
            return segment;
        };
        let packet = self.packets[at];
        self.in_recovery = true;
        self.first_again = false;
        // txFree sets it with every packet that is sent again, so with each hole and not only with the first packet.
        self.recovery_to = self.stream.sent_to();
        self.resent_to = packet.end();
        self.searched_to = packet.end();
        self.search();
        Segment { retransmitted: true, ..packet.segment }
    }

    /// Finds the packet to send again next. In recovery that is each missing one before the last that has arrived.
    fn search(&mut self) {
        self.next_again = None;
        if self.first_again {
            self.next_again = (!self.packets.is_empty()).then_some(0);
            return;
        }
        if !self.in_recovery || self.searched_to >= self.arrived_to {
            return;
        }
        let mut at = self.packets.partition_point(|p| p.segment.offset < self.searched_to);
        while let Some(packet) = self.packets.get(at).filter(|p| p.segment.offset < self.arrived_to) {
            if !packet.arrived {
                self.next_again = Some(at);
                return;
            }
            self.searched_to = packet.end();
            at += 1;
        }
    }

    /// An ACK or NACK arrived: everything before `to` has arrived and, with a NACK, the packet that begins at `arrived`
    /// has too. Returns the bytes newly acknowledged and calls `finished` for each message that is now complete.
    pub fn on_ack(&mut self, to: u64, arrived: Option<u64>, finished: impl FnMut(MessageId)) -> u64 {
        let newly = self.stream.on_ack(to, finished);
        let acked = self.stream.acked_to();
        while self.packets.front().is_some_and(|first| first.end() <= acked) {
            self.packets.pop_front();
        }
        if let Some(offset) = arrived
            && let Ok(at) = self.packets.binary_search_by_key(&offset, |p| p.segment.offset)
        {
            self.packets[at].arrived = true;
            self.arrived_to = self.arrived_to.max(self.packets[at].end());
        }
        if newly > 0 {
            self.nacks = 0;
            self.extended = false;
            if self.in_recovery && acked >= self.recovery_to {
                self.in_recovery = false;
            }
            // The first packet is another one. In recovery, where it has not been sent again yet, it is lost as well:
            // it was sent before a packet that was sent again and has arrived.
            self.first_again = self.in_recovery && acked >= self.resent_to;
        }
        self.begins = false;
        if arrived.is_some() && !self.in_recovery && !self.packets.is_empty() {
            self.nacks = self.nacks.saturating_add(1);
            self.begins = !self.first_again && self.nacks >= self.rules.nacks;
            self.first_again |= self.begins;
        }
        self.search();
        newly
    }

    /// Whether the last ACK or NACK has made recovery begin, with the next packet.
    pub fn begins_recovery(&self) -> bool {
        self.begins
    }

    /// The retransmission timer has run out, `low` after the last progress: how much longer to wait, because more
    /// packets are in flight than the short timeout is for. `None` is a timeout.
    pub fn wait_longer(&mut self, low: Time) -> Option<Time> {
        let more = self.rules.timeout_high.saturating_sub(low);
        self.extended = !self.extended && more > Time::ZERO && self.packets.len() > self.rules.low_up_to as usize;
        self.extended.then_some(more)
    }

    /// On a timeout the first packet is sent again, and after it every other one that is missing.
    pub fn on_timeout(&mut self) {
        self.first_again = true;
        // So that it is the next one if the first one arrives before it is sent.
        self.resent_to = self.stream.acked_to();
        self.search();
    }
}
