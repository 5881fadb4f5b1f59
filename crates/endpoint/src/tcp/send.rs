//! The sending half: outstanding data, ACK processing, and loss recovery. The choice of the next segment is in
//! `choose.rs`.

use super::rto::Rto;
use super::scoreboard::{DUP_THRESH, Scoreboard};
use super::{Config, Segment};
use fanin_cc::Loss;
use fanin_units::Time;

/// Largest number of bytes that an application may write; keeps sums of sequence numbers from overflowing.
const LONGEST_STREAM: u64 = 1 << 60;
/// No segment is being timed.
const NOT_TIMED: u64 = u64::MAX;

/// The window of the peer.
#[derive(Clone, Debug, Default)]
pub(super) struct PeerWindow {
    /// Its right edge: the number after the last one in it.
    pub(super) edge: u64,
    /// When the segment was sent that set it.
    edge_at: Time,
    pub(super) scale: u8,
    /// The window field of the last ACK; on a SYN its unit differs, and none is known.
    last_window: Option<u16>,
}

/// The repair of losses.
#[derive(Clone, Debug, Default)]
pub(super) struct Recovery {
    pub(super) dup_acks: u32,
    /// In loss recovery (RFC 6675) or fast recovery (RFC 6582); not after a timeout.
    pub(super) active: bool,
    /// RFC 6675's RecoveryPoint + 1, RFC 6582's recover + 1. Kept after the recovery.
    pub(super) point: u64,
    /// RFC 6675's HighRxt + 1 and RescueRxt + 1.
    pub(super) high_rxt: u64,
    pub(super) rescue_rxt: u64,
    /// RFC 6675's pipe, while recovering by SACK.
    pub(super) pipe: u64,
    /// The segment at `una` is to be retransmitted regardless of the window.
    pub(super) repair_first: bool,
    /// RFC 6582: the window inflation of fast recovery.
    pub(super) inflation: i64,
    /// RFC 6582: a partial ACK of this recovery has restarted the timer.
    partial_ack: bool,
    /// Bytes sent by limited transmit since the last new ACK.
    pub(super) limited: u64,
}

/// Probes of a closed window.
#[derive(Clone, Debug, Default)]
pub(super) struct Persist {
    /// When the next one is due.
    at: Time,
    /// How many were sent.
    count: u32,
    /// How many of them since the last ACK.
    unanswered: u32,
    /// One is to be sent now.
    pub(super) due: bool,
}

/// All of it in sequence numbers, so a FIN counts one.
#[derive(Clone, Debug, Default)]
pub(super) struct SendHalf {
    pub(super) mss: u64,
    /// SND.UNA: the first number not acknowledged.
    pub(super) una: u64,
    /// SND.NXT; goes back to `una` when the timer runs out.
    pub(super) nxt: u64,
    /// The number after the highest ever sent: RFC 6675's HighData + 1.
    pub(super) high: u64,
    /// The number after the last byte written: that of the FIN.
    pub(super) data_end: u64,
    /// A FIN follows the last byte.
    pub(super) closed: bool,
    pub(super) peer: PeerWindow,

    /// Whether SACK is agreed.
    pub(super) sack: bool,
    pub(super) scoreboard: Scoreboard,
    pub(super) recovery: Recovery,
    /// Segmentation offload: most bytes of a burst, 0 without it; and the number after the burst handed to the NIC.
    pub(super) offload: u64,
    pub(super) burst_to: u64,
    /// `una` when the timer last ran out, and how often it did since `una` moved.
    timed_out_at: u64,
    repeats: u32,
    /// Most of those, or of probes without an answer.
    retries: u32,

    pub(super) rto: Rto,
    /// The retransmission timer.
    pub(super) timer: Time,
    /// The one segment being timed: the number after it, and when it was sent.
    timed_end: u64,
    timed_at: Time,
    syn_timed_out: bool,
    /// Whether round-trip times are measured by timestamps.
    timestamps: bool,
    pub(super) persist: Persist,
}

/// The effect of an ACK.
#[derive(Clone, Copy, Debug)]
pub(super) struct AckEffect {
    /// Stream bytes acknowledged for the first time.
    pub(super) newly_acked: u64,
    /// Stream bytes in flight before.
    pub(super) in_flight: u64,
    /// It counts as a duplicate.
    pub(super) duplicate: bool,
    pub(super) loss: Option<Loss>,
}

impl SendHalf {
    pub(super) fn new(config: &Config) -> Self {
        Self {
            mss: u64::from(config.mss.max(1)),
            data_end: 1,
            offload: u64::from(config.offload),
            timed_out_at: u64::MAX,
            retries: config.retries,
            rto: Rto::new(config),
            timer: Time::NEVER,
            timed_end: NOT_TIMED,
            timestamps: config.timestamps,
            persist: Persist { at: Time::NEVER, ..Persist::default() },
            ..Self::default()
        }
    }

    pub(super) fn write(&mut self, bytes: u64) {
        if !self.closed {
            self.data_end = self.data_end.saturating_add(bytes).min(LONGEST_STREAM);
        }
    }

    /// The stream offset of a number: SYN and FIN are no bytes.
    #[inline(always)]
    pub(super) fn offset(&self, number: u64) -> u64 {
        number.min(self.data_end).saturating_sub(1)
    }

    /// Whether the peer has acknowledged the FIN.
    #[inline(always)]
    pub(super) fn fin_acked(&self) -> bool {
        self.una > self.data_end
    }

    /// FlightSize of RFC 5681: stream bytes sent and not acknowledged cumulatively.
    #[inline(always)]
    pub(super) fn flight(&self) -> u64 {
        self.offset(self.nxt) - self.offset(self.una)
    }

    /// Stream bytes in flight by the rule that holds now.
    #[inline]
    pub(super) fn in_flight(&self) -> u64 {
        if self.scoreboard.is_empty() && !(self.recovery.active && self.sack) {
            return self.flight();
        }
        if self.recovery.active {
            self.recovery.pipe
        } else if self.recovery.dup_acks > 0 || self.una < self.recovery.point {
            // RFC 6675 section 5 (3.2): no loss is known yet, or after a timeout the losses before it cannot be told
            // from those after it.
            self.scoreboard.missing(self.una, self.nxt.min(self.data_end))
        } else {
            self.flight()
        }
    }

    /// RFC 6675 section 4, SetPipe: bytes missing and not lost, plus missing bytes that were retransmitted.
    fn set_pipe(&mut self) {
        let top = self.nxt.min(self.data_end);
        let not_lost = self.scoreboard.lost_to(self.mss).max(self.una);
        self.recovery.pipe =
            self.scoreboard.missing(not_lost, top) + self.scoreboard.missing(self.una, self.recovery.high_rxt.min(top));
    }

    /// The handshake is done: the SYN is acknowledged and the peer's window known.
    pub(super) fn open(&mut self, now: Time, edge: u64) {
        self.peer.edge = self.peer.edge.max(edge);
        self.una = 1;
        self.nxt = self.nxt.max(1);
        self.high = self.high.max(1);
        self.timer = Time::NEVER;
        self.repeats = 0;
        self.sample(now);
        if core::mem::take(&mut self.syn_timed_out) {
            self.rto.handshake_had_timed_out();
        }
        self.watch_window(now);
    }

    /// RFC 6298 section 3, Karn: one segment at a time, and none that was retransmitted in part or whole.
    #[inline]
    fn sample(&mut self, now: Time) {
        if self.timed_end <= self.una {
            self.timed_end = NOT_TIMED;
            self.rto.sample(now.saturating_sub(self.timed_at));
        }
    }

    /// An ACK of sent data, on an open connection.
    #[inline]
    pub(super) fn on_ack(&mut self, now: Time, segment: &Segment) -> AckEffect {
        let mut effect = AckEffect { newly_acked: 0, in_flight: self.in_flight(), duplicate: false, loss: None };
        self.persist.unanswered = 0;
        let same_window = self.peer.last_window.replace(segment.window).is_none_or(|last| last == segment.window);
        self.set_edge(segment);

        // RFC 5681 section 2; with SACK, an ACK with new SACK information is a duplicate (RFC 6675 section 2).
        effect.duplicate = !self.sack
            && segment.ack == self.una
            && self.una < self.nxt
            && same_window
            && segment.len == 0
            && !segment.has(super::bits::FIN);
        if segment.ack > self.una {
            effect.newly_acked = self.advance(now, segment.ack, segment.echo);
        }
        if self.sack && !segment.sack.as_slice().is_empty() {
            effect.duplicate = self.take_blocks(segment);
        }
        if effect.duplicate {
            effect.loss = self.on_duplicate();
        }
        if segment.has(super::bits::PSH) && segment.ack == self.una && self.flight() > 0 {
            effect.duplicate = true;
            effect.loss = effect.loss.or_else(|| self.on_push());
        }
        if self.recovery.active && self.sack {
            self.set_pipe();
        }
        self.watch_window(now);
        effect
    }

    /// RFC 9293 section 3.10.7.4: the window follows the segment that its receiver sent last, here by its timestamp. A
    /// window that seems to shrink by less than its unit was rounded down (RFC 7323 section 2.4) and stands.
    #[inline]
    fn set_edge(&mut self, segment: &Segment) {
        let edge = segment.ack.saturating_add(u64::from(segment.window) << self.peer.scale);
        let newest = segment.sent_at >= self.peer.edge_at;
        if newest {
            self.peer.edge_at = segment.sent_at;
        }
        if newest && (edge > self.peer.edge || edge + (1 << self.peer.scale) <= self.peer.edge) {
            self.peer.edge = edge;
        }
    }

    /// The cumulative ACK moves to `ack`; it answers a segment sent at `echo`. Returns the stream bytes that it
    /// acknowledges.
    #[inline]
    fn advance(&mut self, now: Time, ack: u64, echo: Time) -> u64 {
        let newly = self.offset(ack) - self.offset(self.una);
        if self.timestamps && echo > Time::ZERO {
            // RFC 7323 section 4.2 and appendix G: about one sample for two segments in flight.
            let samples = self.flight().div_ceil(2 * self.mss).max(1);
            self.rto.sample_of(now.saturating_sub(echo), samples);
        }
        self.una = ack;
        self.nxt = self.nxt.max(ack);
        self.scoreboard.advance(ack);
        self.repeats = 0;
        if !self.timestamps {
            self.sample(now);
        }
        self.recovery.dup_acks = 0;
        self.recovery.limited = 0;
        let mut restart = true;
        if self.recovery.active {
            if ack >= self.recovery.point {
                self.recovery.active = false;
                self.recovery.repair_first = false;
                self.recovery.inflation = 0;
            } else if !self.sack {
                // RFC 6582 section 3.2 step 3, partial ACK: the next segment is lost too; the window is deflated by the
                // bytes acknowledged and inflated by one segment; only the first one restarts the timer.
                self.recovery.repair_first = true;
                let back = if newly >= self.mss { self.mss } else { 0 };
                self.recovery.inflation =
                    self.recovery.inflation.saturating_sub_unsigned(newly).saturating_add_unsigned(back);
                restart = !core::mem::replace(&mut self.recovery.partial_ack, true);
            }
        }
        // RFC 6298 rules 5.2 and 5.3.
        if self.una == self.nxt {
            self.timer = Time::NEVER;
        } else if restart {
            self.timer = now.saturating_add(self.rto.current());
        }
        newly
    }

    /// RFC 6675 section 4, Update. Returns whether any of it is new. Blocks at or below the cumulative ACK or above the
    /// highest number sent are invalid.
    fn take_blocks(&mut self, segment: &Segment) -> bool {
        let floor = self.una;
        let mut new = 0;
        for &(from, to) in segment.sack.as_slice() {
            if from > floor && from < to && to <= self.high {
                new += self.scoreboard.add(from, to);
            }
        }
        new > 0
    }

    /// Counts a duplicate ACK. Returns a loss if it indicates one.
    fn on_duplicate(&mut self) -> Option<Loss> {
        if self.recovery.active {
            // RFC 6582 section 3.2 step 3 (RFC 5681 section 3.2 (4)): a segment has left the network.
            if !self.sack {
                self.recovery.inflation = self.recovery.inflation.saturating_add_unsigned(self.mss);
            }
            return None;
        }
        self.recovery.dup_acks = self.recovery.dup_acks.saturating_add(1);
        // RFC 6675 section 5 (1), (2); section 5.1: not before the ACK covers the data outstanding at the last timeout.
        // RFC 6582 section 3.2 step 2: not before it covers more than that.
        let (found, allowed) = if self.sack {
            (
                self.recovery.dup_acks >= DUP_THRESH || self.scoreboard.lost_to(self.mss) > self.una,
                self.una >= self.recovery.point,
            )
        } else {
            (self.recovery.dup_acks >= DUP_THRESH, self.una > self.recovery.point)
        };
        if !found || !allowed || self.flight() == 0 {
            return None;
        }
        Some(self.start_recovery())
    }

    /// RCC section 4.5: the receiver asks for the segment that it expects, as by three duplicate ACKs. In a recovery
    /// the segment is sent again.
    fn on_push(&mut self) -> Option<Loss> {
        if self.recovery.active {
            self.recovery.repair_first = true;
            return None;
        }
        self.recovery.dup_acks = self.recovery.dup_acks.max(DUP_THRESH);
        Some(self.start_recovery())
    }

    /// A recovery begins, for the loss of the segment at `una`.
    fn start_recovery(&mut self) -> Loss {
        // RFC 5681 section 3.2 (2): bytes sent by limited transmit do not count.
        let loss = self.loss(self.flight().saturating_sub(self.recovery.limited));
        self.recovery.active = true;
        self.recovery.point = self.high;
        self.recovery.high_rxt = self.una;
        self.recovery.rescue_rxt = self.una;
        self.recovery.repair_first = true;
        self.recovery.partial_ack = false;
        self.recovery.limited = 0;
        // RFC 5681 section 3.2 (3).
        self.recovery.inflation = if self.sack { 0 } else { (self.mss * u64::from(DUP_THRESH)) as i64 };
        loss
    }

    fn loss(&self, in_flight: u64) -> Loss {
        let retransmitted = self.timed_out_at == self.una;
        Loss { in_flight, retransmitted, ..Loss::new(self.offset(self.una), self.offset(self.high)) }
    }

    /// The retransmission timer ran out (RFC 6298 rules 5.4 to 5.6; it restarts with the next transmission). Returns a
    /// loss where stream bytes were in flight.
    pub(super) fn on_timeout(&mut self, now: Time) -> Option<Loss> {
        let loss = (self.una > 0 && self.flight() > 0).then(|| self.loss(self.flight()));
        self.timer = Time::NEVER;
        self.repeats = self.repeats.saturating_add(1);
        self.rto.back_off();
        self.syn_timed_out |= self.una == 0;
        // RFC 6675 section 5.1, RFC 6582 section 3.2 step 4. The SACK scoreboard is kept.
        self.recovery.active = false;
        if self.una > 0 {
            self.recovery.point = self.high;
        }
        self.recovery.repair_first = false;
        self.recovery.inflation = 0;
        self.recovery.dup_acks = 0;
        self.recovery.limited = 0;
        self.timed_out_at = self.una;
        self.nxt = self.una;
        self.burst_to = 0;
        // RFC 9293 section 3.8.6: a window that was shrunk to nothing with data in flight is probed.
        if self.una > 0 {
            self.watch_window(now);
        }
        loss
    }

    /// The numbers `seq..end` are sent; `retransmitted` if any was sent before.
    #[inline]
    pub(super) fn on_sent(&mut self, now: Time, end: u64, retransmitted: bool) {
        self.high = self.high.max(end);
        if retransmitted {
            self.timed_end = NOT_TIMED;
        } else if self.timed_end == NOT_TIMED {
            self.timed_end = end;
            self.timed_at = now;
        }
        // RFC 6298 rule 5.1.
        if self.timer == Time::NEVER {
            self.timer = now.saturating_add(self.rto.current());
        }
    }

    /// Starts or stops the probing of a closed window (RFC 9293 section 3.8.6.1).
    #[inline]
    pub(super) fn watch_window(&mut self, now: Time) {
        if self.una == self.nxt && self.peer.edge <= self.nxt {
            if self.persist.at == Time::NEVER {
                self.persist.at = now.saturating_add(self.rto.current());
            }
        } else if self.persist.at != Time::NEVER {
            self.persist.at = Time::NEVER;
            self.persist.count = 0;
            self.persist.due = false;
        }
    }

    /// When the next probe is due. The window may close while there is no data to send.
    #[inline(always)]
    pub(super) fn probe_at(&self) -> Time {
        if self.nxt < self.data_end { self.persist.at } else { Time::NEVER }
    }

    /// Whether the segment that the retransmission timer or, with `probe`, the next probe would send has been sent as
    /// often as it may be.
    pub(super) fn exhausted(&self, probe: bool) -> bool {
        self.retries < u32::MAX && (if probe { self.persist.unanswered } else { self.repeats }) >= self.retries
    }

    /// The time of [`Self::probe_at`] has come.
    pub(super) fn on_probe_time(&mut self, now: Time) {
        self.persist.due = true;
        self.persist.unanswered = self.persist.unanswered.saturating_add(1);
        self.persist.count = self.persist.count.saturating_add(1);
        self.persist.at = now.saturating_add(self.rto.backed_off(self.persist.count));
    }
}
