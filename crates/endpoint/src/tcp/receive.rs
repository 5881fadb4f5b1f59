//! The receiving half: received data, due ACKs and their contents, and the window.

use super::{Arrived, Config, SackBlocks, Segment, bits};
use alloc::vec::Vec;
use fanin_units::Time;

/// The largest value of the window field.
const LARGEST_FIELD: u64 = u16::MAX as u64;
/// RFC 7323 section 2.3.
pub(super) const LARGEST_SCALE: u8 = 14;

#[derive(Clone, Debug, Default)]
pub(super) struct ReceiveHalf {
    mss: u64,
    buffer: u64,
    ack_every: u64,
    ack_delay: Time,
    /// Its window scale, and whether both ends agreed to it.
    pub(super) scale: u8,
    pub(super) scaling: bool,
    /// RCV.NXT: the next number expected.
    pub(super) nxt: u64,
    /// The first number that the application has not read.
    read_to: u64,
    /// The number after the last one that it accepts.
    edge: u64,
    /// The number after the last one that an ACK has advertised: `edge`, rounded down to the unit of the window.
    promised: u64,
    /// Ranges above `nxt`, disjoint and not adjacent, the one that grew last at the end.
    runs: Vec<(u64, u64)>,
    /// The number of the peer's FIN, where known.
    fin_at: u64,

    /// Segments received and not covered by an ACK, and their bytes.
    pending: u32,
    pending_bytes: u64,
    /// When the first of those was sent, or the last segment if there are none.
    echo: Time,
    /// The delayed ACK's timer.
    pub(super) timer: Time,
    /// The last segment, for an ACK that excludes it.
    last: Last,
}

#[derive(Clone, Copy, Debug, Default)]
struct Last {
    /// RCV.NXT before it.
    nxt: u64,
    bytes: u64,
    sent_at: Time,
    out_of_order: bool,
}

/// The effects of a segment.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Taken {
    pub(super) arrived: Option<Arrived>,
    /// Its FIN, or one that had arrived before it, is now in order.
    pub(super) fin: bool,
    pub(super) must_ack: bool,
}

impl ReceiveHalf {
    pub(super) fn new(config: &Config) -> Self {
        Self {
            mss: u64::from(config.mss.max(1)),
            buffer: config.receive_buffer.min(1 << 40),
            ack_every: u64::from(config.ack_every),
            ack_delay: config.ack_delay,
            read_to: 1,
            fin_at: u64::MAX,
            timer: Time::NEVER,
            ..Self::default()
        }
    }

    /// The peer's SYN arrived.
    pub(super) fn open(&mut self) {
        self.nxt = 1;
        self.edge = self.edge.max(1);
        self.promised = self.edge;
    }

    /// The stream offset before which all has arrived.
    #[inline(always)]
    pub(super) fn arrived_to(&self) -> u64 {
        self.nxt.min(self.fin_at).saturating_sub(1)
    }

    /// Bytes in order that the application has not taken.
    #[inline(always)]
    pub(super) fn available(&self) -> u64 {
        (self.arrived_to() + 1).saturating_sub(self.read_to)
    }

    /// A segment without SYN. Only data and FIN are considered.
    #[inline]
    pub(super) fn on_segment(&mut self, now: Time, segment: &Segment) -> Taken {
        let (seq, len) = (segment.seq, u64::from(segment.len));
        let has_fin = segment.flags & bits::FIN != 0;
        if seq == self.nxt && seq + len <= self.edge && self.runs.is_empty() && !has_fin && self.fin_at == u64::MAX {
            if len == 0 {
                return Taken::default();
            }
            self.note(now, segment.sent_at, len, false);
            self.nxt += len;
            return Taken { arrived: Some(self.arrived(segment, len, true, false)), ..Taken::default() };
        }
        if len == 0 && !has_fin {
            return Taken::default();
        }
        self.on_other(now, segment, has_fin)
    }

    /// All segments but the expected next data.
    fn on_other(&mut self, now: Time, segment: &Segment, has_fin: bool) -> Taken {
        let (seq, len) = (segment.seq, u64::from(segment.len));
        let end = seq.saturating_add(len);
        // RFC 9293 section 3.10.7.4: outside the window. A FIN takes no room in it.
        if seq > self.edge || (seq == self.edge && len > 0) {
            self.echo_if_alone(segment.sent_at);
            return Taken { must_ack: true, ..Taken::default() };
        }
        if has_fin && self.fin_at == u64::MAX && end <= self.edge && self.may_end_at(end) {
            self.fin_at = end;
        }
        let from = seq.max(self.nxt);
        let mut to = end.min(self.edge).min(self.fin_at);
        if has_fin && to == self.fin_at && to == end {
            to += 1;
        }
        let before = self.nxt;
        let new = to > from;
        let filling = !self.runs.is_empty();
        self.note(now, segment.sent_at, if new { to.min(self.fin_at) - from } else { 0 }, new && from > before);
        let was = self.arrived_to();
        if new && from > before {
            self.insert(from, to);
        } else if new {
            self.nxt = to;
            self.absorb();
        }
        let delivered = self.arrived_to() - was;
        let fin = self.nxt > before && self.nxt > self.fin_at;
        // A duplicate of data may carry a FIN that is new.
        let in_order = delivered > 0;
        let at_once = !in_order || filling || has_fin;
        Taken {
            arrived: (len > 0).then(|| self.arrived(segment, delivered, in_order, at_once)),
            fin,
            must_ack: fin || has_fin,
        }
    }

    /// The ACK decision for a segment after [`Self::note`]. RFC 5681 section 4.2 and RFC 1122 section 4.2.3.2.
    #[inline]
    fn arrived(&self, segment: &Segment, delivered: u64, in_order: bool, at_once: bool) -> Arrived {
        let at_once = at_once || self.ack_every <= 1;
        let enough = self.ack_every * self.mss;
        Arrived {
            offset: segment.seq.saturating_sub(1),
            arrived_to: self.arrived_to(),
            delivered,
            in_order,
            ack_due: at_once || self.pending_bytes >= enough,
            pending: self.pending > 1,
            due_alone: at_once || self.last.bytes >= enough,
        }
    }

    /// Counts a segment as not yet acknowledged.
    #[inline]
    fn note(&mut self, now: Time, sent_at: Time, bytes: u64, out_of_order: bool) {
        self.echo_if_alone(sent_at);
        self.pending = self.pending.saturating_add(1);
        self.pending_bytes += bytes;
        self.last = Last { nxt: self.nxt, bytes, sent_at, out_of_order };
        if self.timer == Time::NEVER {
            self.timer = now.saturating_add(self.ack_delay);
        }
    }

    /// RFC 7323 section 4.3: an ACK answers the earliest segment that it covers.
    #[inline(always)]
    pub(super) fn echo_if_alone(&mut self, sent_at: Time) {
        if self.pending == 0 {
            self.echo = sent_at;
        }
    }

    /// Whether the stream may end here: no later byte has arrived.
    fn may_end_at(&self, end: u64) -> bool {
        end >= self.nxt && self.runs.iter().all(|run| run.1 <= end)
    }

    /// A range above `nxt` arrived: it merges with those that it touches and becomes the newest (RFC 2018 section 4).
    fn insert(&mut self, from: u64, to: u64) {
        let mut all = (from, to);
        self.runs.retain(|run| {
            // The ranges are not adjacent, so merging cannot make it touch further ones.
            let apart = run.1 < from || run.0 > to;
            if !apart {
                all = (all.0.min(run.0), all.1.max(run.1));
            }
            apart
        });
        self.runs.push(all);
    }

    /// `nxt` has moved: advances it past the ranges that it reached.
    fn absorb(&mut self) {
        let to = self.nxt;
        let mut nxt = to;
        self.runs.retain(|run| {
            let reached = run.0 <= to;
            if reached {
                nxt = nxt.max(run.1);
            }
            !reached
        });
        self.nxt = nxt;
    }

    /// Whether there is received data that no ACK covers.
    #[inline(always)]
    pub(super) fn owes_ack(&self) -> bool {
        self.pending > 0
    }

    /// Whether there is received data, beyond FINs and duplicates, that no ACK covers.
    pub(super) fn owes_ack_of_data(&self) -> bool {
        self.pending_bytes > 0
    }

    /// Switches the timer of delayed ACKs off.
    pub(super) fn hold_acks(&mut self) {
        self.ack_delay = Time::NEVER;
        self.timer = Time::NEVER;
    }

    /// An ACK for all received data is sent: its number and echo.
    #[inline]
    pub(super) fn ack_all(&mut self) -> (u64, Time) {
        self.pending = 0;
        self.pending_bytes = 0;
        self.timer = Time::NEVER;
        (self.nxt, self.echo)
    }

    /// An ACK for all but the last segment is sent: its number and echo.
    pub(super) fn ack_but_last(&mut self, now: Time) -> (u64, Time) {
        let echo = self.echo;
        self.pending = 1;
        self.pending_bytes = self.last.bytes;
        self.echo = self.last.sent_at;
        self.timer = now.saturating_add(self.ack_delay);
        (self.last.nxt, echo)
    }

    /// RFC 2018 section 4: the range of the newest segment first, then those reported most recently.
    #[inline]
    pub(super) fn blocks(&self, without_last: bool) -> SackBlocks {
        if self.runs.is_empty() {
            return SackBlocks::default();
        }
        let skip = usize::from(without_last && self.last.out_of_order);
        SackBlocks::new(self.runs.iter().rev().skip(skip).copied())
    }

    /// The largest right edge of the window now: the free buffer, limited by the window field.
    #[inline(always)]
    fn reach(&self) -> u64 {
        (self.read_to + self.buffer).min(self.nxt + (LARGEST_FIELD << self.scale))
    }

    /// The window field of an ACK with this number. The edge moves only by steps large enough to avoid the silly window
    /// syndrome (RFC 9293 section 3.8.6.2.2) and never back.
    #[inline]
    pub(super) fn window(&mut self, ack: u64) -> u16 {
        let reach = self.reach();
        if reach >= self.promised + self.mss.min(self.buffer / 2) {
            self.edge = self.edge.max(reach);
        }
        let field = (self.edge.saturating_sub(ack) >> self.scale).min(LARGEST_FIELD);
        self.promised = self.promised.max(ack + (field << self.scale));
        field as u16
    }

    /// The window field of a SYN, which has no unit.
    pub(super) fn syn_window(&mut self) -> u16 {
        let field = self.buffer.min(LARGEST_FIELD);
        self.edge = self.edge.max(1 + field);
        self.promised = self.edge;
        field as u16
    }

    /// The scale that it offers: the smallest with which the field can hold the whole buffer.
    pub(super) fn offered_scale(&self) -> u8 {
        (0..LARGEST_SCALE).find(|&scale| self.buffer >> scale <= LARGEST_FIELD).unwrap_or(LARGEST_SCALE)
    }

    /// The application reads bytes. Returns whether to send a window update: the window could grow by two segments or
    /// half the buffer (RFC 9293 section 3.8.6.2.2), and the peer may soon exhaust it. Without the latter condition, an
    /// application that reads at once would cause an ACK for every second segment regardless of the ACK policy.
    pub(super) fn read(&mut self, bytes: u64) -> bool {
        let taken = bytes.min(self.available());
        self.read_to += taken;
        let grown = self.reach().saturating_sub(self.promised);
        let known = self.promised.saturating_sub(self.nxt);
        taken > 0 && grown >= (2 * self.mss).min(self.buffer / 2) && known <= (self.buffer / 2).min(LARGEST_FIELD / 2)
    }
}
