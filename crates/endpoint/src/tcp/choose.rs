//! The choice of the next segment: new data, a retransmission, or a probe.

use super::send::SendHalf;
use fanin_units::Time;

/// Why a segment is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Why {
    /// New data, at SND.NXT.
    Next,
    /// It repairs a loss in recovery.
    Repair,
    /// RFC 6675's rescue retransmission.
    Rescue,
    /// A probe of a closed window.
    Probe,
}

/// A segment that may be sent.
#[derive(Clone, Copy, Debug)]
pub(super) struct Choice {
    pub(super) seq: u64,
    pub(super) len: u64,
    pub(super) fin: bool,
    /// Whether any of it was sent before.
    pub(super) retransmitted: bool,
    /// The number after the burst that it belongs to; 0 if it belongs to none.
    burst_to: u64,
    why: Why,
}

impl Choice {
    /// Whether it probes a closed window.
    pub(super) fn is_probe(&self) -> bool {
        self.why == Why::Probe
    }
}

impl SendHalf {
    /// The next segment that may be sent with `window` bytes allowed in flight.
    #[inline]
    pub(super) fn choose(&self, window: u64) -> Option<Choice> {
        if self.una == 0 {
            return None;
        }
        if self.recovery.repair_first {
            // RFC 6675 section 5 (4.3), RFC 6582 section 3.2: regardless of the window, but only bytes already sent.
            // More might exceed the receiver's window, where a timeout would find no room and no timer would be left.
            let (_, stop) = self.scoreboard.hole_from(self.una);
            return Some(self.segment(self.una, stop.unwrap_or(self.high), Why::Repair));
        }
        // A recovery that a receiver's request began after a timeout may have nothing outstanding.
        if self.recovery.active && self.sack && self.una < self.nxt {
            return self.choose_by_sack(window);
        }
        // After a timeout, selectively acknowledged bytes are skipped (RFC 6675 section 5.1).
        let (seq, stop) = if self.nxt < self.high { self.scoreboard.hole_from(self.nxt) } else { (self.nxt, None) };
        let left = stop.unwrap_or(u64::MAX).min(self.data_end).saturating_sub(seq);
        if left == 0 {
            return self.lone_fin(seq);
        }
        let len = left.min(self.mss);
        let room = self.peer.edge.saturating_sub(seq);
        let in_flight = self.in_flight();
        if self.offload > 0 && self.hands_over() && room > 0 {
            return self.choose_of_burst(window, room, left, in_flight);
        }
        if in_flight == 0 {
            // The window would never open again: one segment is sent, or as much of it as the receiver accepts.
            return match room {
                0 => self.persist.due.then(|| Choice { fin: false, ..self.segment(seq, seq + 1, Why::Probe) }),
                _ => Some(self.segment(seq, seq + room.min(left), Why::Next)),
            };
        }
        let allowed = window.saturating_add_signed(self.recovery.inflation).saturating_add(self.limited_transmit());
        (in_flight + len <= allowed && len <= room).then(|| self.segment(seq, seq + left, Why::Next))
    }

    /// Whether new data goes to the NIC in bursts now: not while losses are repaired.
    #[inline(always)]
    fn hands_over(&self) -> bool {
        !self.recovery.active && self.recovery.dup_acks == 0 && self.nxt == self.high
    }

    /// Whether the NIC has more segments of a burst, which follow at once.
    #[inline(always)]
    pub(super) fn in_burst(&self) -> bool {
        self.nxt < self.burst_to && self.hands_over()
    }

    /// Segmentation offload: most bytes of the next burst of new data, which has not begun; 0 without one.
    #[inline(always)]
    pub(super) fn next_burst(&self) -> u64 {
        if self.offload == 0 || !self.hands_over() || self.nxt < self.burst_to {
            return 0;
        }
        self.data_end.saturating_sub(self.nxt).min(self.offload)
    }

    /// Segmentation offload: the next segment of the burst, or the first one of a new burst. `room`: new bytes that the
    /// peer accepts, at least 1.
    fn choose_of_burst(&self, window: u64, room: u64, left: u64, in_flight: u64) -> Option<Choice> {
        if self.nxt < self.burst_to {
            let next = self.segment(self.nxt, self.burst_to, Why::Next);
            return Some(Choice { burst_to: self.burst_to, ..next });
        }
        // Linux's tcp_tso_should_defer: it waits for a full burst or a third of the window (tcp_tso_win_divisor = 3),
        // unless that is all there is to send.
        let allowed = window.saturating_sub(in_flight).min(room);
        let third = window.min(in_flight.saturating_add(room)) / 3;
        if in_flight > 0 && allowed < left.min(self.offload).min(third.max(self.mss)) {
            return None;
        }
        // With nothing in flight no ACK would come: one segment is sent in any case.
        let one = left.min(self.mss).min(room);
        let most = allowed.max(one).min(self.offload.max(self.mss));
        let len = if most >= left { left } else { (most - most % self.mss).max(one) };
        let next = self.segment(self.nxt, self.nxt + len, Why::Next);
        Some(Choice { burst_to: self.nxt + len, ..next })
    }

    /// RFC 3042: a new segment for each of the first two duplicate ACKs. With SACK they make the pipe smaller.
    #[inline(always)]
    fn limited_transmit(&self) -> u64 {
        let waits = self.recovery.dup_acks > 0 && !self.sack && !self.recovery.active && self.nxt == self.high;
        if waits { u64::from(self.recovery.dup_acks.min(2)) * self.mss } else { 0 }
    }

    /// RFC 6675 section 5 (C) and section 4, NextSeg.
    fn choose_by_sack(&self, window: u64) -> Option<Choice> {
        if let Some(fin) = self.lone_fin(self.nxt) {
            return Some(fin);
        }
        if window.saturating_sub(self.recovery.pipe) < self.mss && self.recovery.pipe > 0 {
            return None;
        }
        let (hole, stop) = self.scoreboard.hole_from(self.recovery.high_rxt.max(self.una));
        // (1) The first hole above HighRxt and below something that arrived, if it is lost.
        if let Some(stop) = stop.filter(|_| hole < self.scoreboard.lost_to(self.mss)) {
            return Some(self.segment(hole, stop, Why::Repair));
        }
        // (2) New data.
        let len = self.data_end.saturating_sub(self.nxt).min(self.mss);
        if len > 0 && self.nxt + len <= self.peer.edge {
            return Some(self.segment(self.nxt, self.data_end, Why::Next));
        }
        // (3) That hole even if it is not lost.
        if let Some(stop) = stop {
            return Some(self.segment(hole, stop, Why::Repair));
        }
        // (4) Once per recovery, the last segment outstanding.
        if self.una > self.recovery.rescue_rxt && self.una < self.nxt {
            let (from, to) = self.scoreboard.last_hole(self.una, self.nxt);
            return Some(self.segment(from.max(to.saturating_sub(self.mss)), to, Why::Rescue));
        }
        None
    }

    /// A FIN without data at `seq`; it needs no window.
    fn lone_fin(&self, seq: u64) -> Option<Choice> {
        (self.closed && seq == self.data_end && self.nxt <= seq).then(|| self.segment(seq, seq, Why::Next))
    }

    /// A full segment from `seq` on, or the bytes before `stop`; with the FIN where it ends the stream.
    #[inline]
    fn segment(&self, seq: u64, stop: u64, why: Why) -> Choice {
        let len = stop.min(self.data_end).saturating_sub(seq).min(self.mss);
        Choice {
            seq,
            len,
            fin: self.closed && seq + len == self.data_end,
            retransmitted: seq < self.high,
            burst_to: 0,
            why,
        }
    }

    /// The chosen segment is sent.
    #[inline]
    pub(super) fn commit(&mut self, now: Time, choice: &Choice, window: u64) {
        let end = choice.seq + choice.len + u64::from(choice.fin);
        if choice.why == Why::Probe {
            // It is not outstanding: the persist timer repeats it, not the retransmission timer.
            self.high = self.high.max(end);
            self.persist.due = false;
            return;
        }
        if self.recovery.active && self.sack {
            // RFC 6675 section 5 (4.3), (C.2), (C.4).
            self.recovery.pipe += choice.len;
            match choice.why {
                Why::Rescue => self.recovery.rescue_rxt = self.recovery.point,
                Why::Repair => {
                    self.recovery.high_rxt = self.recovery.high_rxt.max(end);
                    if self.recovery.repair_first {
                        self.recovery.rescue_rxt = end;
                    }
                }
                _ => {}
            }
        } else if self.recovery.dup_acks > 0 && !choice.retransmitted && self.flight() + choice.len > window {
            self.recovery.limited += choice.len;
        }
        if choice.why == Why::Repair {
            self.recovery.repair_first = false;
        }
        if choice.burst_to > 0 {
            self.burst_to = choice.burst_to;
        }
        self.nxt = if choice.why == Why::Next { end } else { self.nxt.max(end) };
        self.on_sent(now, end, choice.retransmitted);
    }
}
