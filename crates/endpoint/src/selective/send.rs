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
    /// A NACK said that it was cut, or a timeout that it is lost, and it has not been sent again yet.
    cut: bool,
    /// How often it was sent again.
    again: u8,
    /// When it was sent last.
    sent_at: Time,
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
    /// How often the packet that it answers was sent again, or 255 where that was acknowledged before.
    answered: u8,
    /// Offsets of packets that were cut, in the order in which they are sent again; of some the packet may have arrived
    /// since. The allocation is kept when the half is reused.
    cut: VecDeque<u64>,
    /// Whether the packet to send again next is the first of these.
    next_was_cut: bool,
    /// Bytes of packets that have arrived behind a gap, and of those that were cut and have not been sent again yet.
    apart: u64,
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
            answered: 0,
            cut: VecDeque::new(),
            next_was_cut: false,
            apart: 0,
        }
    }

    /// Takes over the memory of one that is no longer in use.
    pub fn reuse(&mut self, old: &mut Self) {
        core::mem::swap(&mut self.packets, &mut old.packets);
        core::mem::swap(&mut self.cut, &mut old.cut);
        self.cut.clear();
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

    /// Payload bytes in flight: sent and not acknowledged; where packets may arrive in any order, without those known
    /// to have arrived or to have been cut.
    #[inline]
    pub fn in_flight(&self) -> u64 {
        self.stream.in_flight() - if self.rules.unordered() { self.apart } else { 0 }
    }

    /// The bytes in flight that the window is compared with: none for a packet that is sent again, which replaces a
    /// lost one; but one that was cut has left the network, so that it needs room like a new one.
    #[inline]
    pub fn against_window(&self) -> u64 {
        let replaces = self.next_again.is_some() && !(self.next_was_cut && self.rules.unordered());
        if replaces { 0 } else { self.in_flight() }
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
    pub fn take(&mut self, now: Time, payload: u32) -> Segment {
        let Some(at) = self.next_again else {
            let segment = self.stream.take(payload);
            self.packets.push_back(Packet { segment, arrived: false, cut: false, again: 0, sent_at: now });
            return segment;
        };
        self.packets[at].sent_at = now;
        self.packets[at].again = self.packets[at].again.saturating_add(1);
        let packet = self.packets[at];
        if packet.cut {
            self.packets[at].cut = false;
            self.apart -= u64::from(packet.segment.len);
        }
        if self.next_was_cut {
            self.cut.pop_front();
            self.search();
            return Segment { retransmitted: true, ..packet.segment };
        }
        self.in_recovery = true;
        self.first_again = false;
        // txFree sets it with every packet that is sent again, so with each hole and not only with the first packet.
        self.recovery_to = self.stream.sent_to();
        self.resent_to = packet.end();
        self.searched_to = packet.end();
        self.search();
        Segment { retransmitted: true, ..packet.segment }
    }

    /// Finds the packet to send again next: one that was cut; in recovery each missing one before the last that has
    /// arrived.
    fn search(&mut self) {
        self.next_again = None;
        self.next_was_cut = false;
        while let Some(offset) = self.cut.front() {
            if let Ok(at) = self.packets.binary_search_by_key(offset, |p| p.segment.offset)
                && self.packets[at].cut
            {
                self.next_again = Some(at);
                self.next_was_cut = true;
                return;
            }
            self.cut.pop_front();
        }
        if self.first_again {
            self.next_again = (!self.packets.is_empty()).then_some(0);
            return;
        }
        if !self.in_recovery || self.searched_to >= self.arrived_to {
            return;
        }
        let mut at = self.packets.partition_point(|p| p.segment.offset < self.searched_to);
        while let Some(packet) = self.packets.get(at).filter(|p| p.segment.offset < self.arrived_to) {
            if !packet.arrived && !packet.cut {
                self.next_again = Some(at);
                return;
            }
            self.searched_to = packet.end();
            at += 1;
        }
    }

    /// An ACK or NACK arrived: everything before `to` has arrived and, with a NACK, the packet that begins at `arrived`
    /// has too. Returns the bytes newly acknowledged, where packets may arrive in any order those newly known to have
    /// arrived, and calls `finished` for each message that is now complete.
    pub fn on_ack(&mut self, to: u64, arrived: Option<u64>, finished: impl FnMut(MessageId)) -> u64 {
        let newly = self.stream.on_ack(to, finished);
        let acked = self.stream.acked_to();
        let (mut known, mut named) = (0, 0);
        self.answered = u8::MAX;
        while let Some(first) = self.packets.front().filter(|first| first.end() <= acked) {
            let len = u64::from(first.segment.len);
            known += if first.arrived { len } else { 0 };
            self.apart -= if first.arrived || first.cut { len } else { 0 };
            if !first.arrived && arrived.is_none_or(|offset| offset == first.segment.offset) {
                self.answered = first.again;
            }
            self.packets.pop_front();
        }
        if let Some(offset) = arrived
            && let Ok(at) = self.packets.binary_search_by_key(&offset, |p| p.segment.offset)
        {
            let packet = &mut self.packets[at];
            if !packet.arrived {
                named = u64::from(packet.segment.len);
                self.answered = packet.again;
                self.apart += if packet.cut { 0 } else { named };
            }
            (packet.arrived, packet.cut) = (true, false);
            self.arrived_to = self.arrived_to.max(packet.end());
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
        if self.rules.unordered() { newly - known + named } else { newly }
    }

    /// How often the packet was sent again that the last ACK or NACK answers; 255 where it was acknowledged before.
    pub fn answered(&self) -> u8 {
        self.answered
    }

    /// The bitmap of an ACK, after [`Self::on_ack`]: bit i says that the packet has arrived that begins i packets of
    /// `payload` bytes behind `base`. Returns the bytes newly known to have arrived.
    pub fn on_bitmap(&mut self, base: u64, payload: u64, mut bits: u64) -> u64 {
        let mut newly = 0;
        let from = self.packets.partition_point(|packet| packet.segment.offset < base);
        while bits != 0 {
            let place = bits.trailing_zeros();
            bits &= bits - 1;
            let offset = base + u64::from(place) * payload;
            let Some(packet) = self.packets.get_mut(from + place as usize) else { break };
            if packet.segment.offset != offset || packet.arrived {
                continue;
            }
            let len = u64::from(packet.segment.len);
            newly += len;
            self.apart += if packet.cut { 0 } else { len };
            (packet.arrived, packet.cut) = (true, false);
        }
        self.search();
        newly
    }

    /// A NACK arrived: a switch cut the packet that begins at `offset`. Returns it; it is sent again at once;
    /// `None` if it has arrived meanwhile or is to be sent again already.
    pub fn on_cut(&mut self, offset: u64) -> Option<Segment> {
        let at = self.packets.binary_search_by_key(&offset, |p| p.segment.offset).ok()?;
        let segment = self.set_apart(at)?;
        self.search();
        Some(segment)
    }

    /// A packet is to be sent again, and no longer in flight. `None` where it has arrived or waits already.
    fn set_apart(&mut self, at: usize) -> Option<Segment> {
        let packet = &mut self.packets[at];
        if packet.arrived || packet.cut {
            return None;
        }
        packet.cut = true;
        self.apart += u64::from(packet.segment.len);
        self.cut.push_back(packet.segment.offset);
        Some(packet.segment)
    }

    /// Whether the last ACK or NACK has made recovery begin, with the next packet.
    pub fn begins_recovery(&self) -> bool {
        self.begins
    }

    /// The retransmission timer has run out, `low` after the last progress: how much longer to wait, because more
    /// packets are in flight than the short timeout is for. `None` is a timeout. Where packets may arrive in any order,
    /// the timeout is that of the packet sent longest ago of which nothing is known.
    pub fn wait_longer(&mut self, now: Time, low: Time) -> Option<Time> {
        if self.rules.unordered() {
            let unknown = self.packets.iter().filter(|packet| !packet.arrived && !packet.cut);
            let oldest = unknown.map(|packet| packet.sent_at).min().unwrap_or(now);
            return Some(oldest.saturating_add(low).saturating_sub(now)).filter(|more| *more > Time::ZERO);
        }
        let more = self.rules.timeout_high.saturating_sub(low);
        self.extended = !self.extended && more > Time::ZERO && self.packets.len() > self.rules.low_up_to as usize;
        self.extended.then_some(more)
    }

    /// On a timeout the first packet is sent again, and after it every other one that is missing. Where packets may
    /// arrive in any order, those sent `low` ago or earlier of which nothing is known are sent again, as UEC 1.0 does.
    pub fn on_timeout(&mut self, now: Time, low: Time) {
        if self.rules.unordered() {
            for at in 0..self.packets.len() {
                if self.packets[at].sent_at.saturating_add(low) <= now {
                    self.set_apart(at);
                }
            }
            return self.search();
        }
        self.first_again = true;
        // So that it is the next one if the first one arrives before it is sent.
        self.resent_to = self.stream.acked_to();
        self.search();
    }
}
