//! RCC's closed loop of one flow at its receiver: NewReno (section 4.3), RTT (4.4) and ECN (4.6).

use super::params::{Follow, Params};
use crate::schemes::newreno::Threshold;
use alloc::collections::VecDeque;
use fanin_units::Time;

/// The receiver's congestion window of one flow, in bytes.
#[derive(Clone, Debug, Default)]
pub struct Window {
    segment: u64,
    /// What rwnd may be before rounding; Algorithm 1's ceiling bounds it.
    pub cwnd: u64,
    /// Where slow start ends.
    pub ssthresh: u64,
    /// Packets out of order since the last one in order.
    duplicates: u32,
    /// Whether it is in fast recovery.
    pub recovering: bool,
    total: u32,
    marked: u32,
    /// The share of marked packets.
    pub alpha: f64,
    /// Its value at the last cut.
    pub cut_alpha: f64,
    /// When the round trip ends over which packets are counted.
    period_end: Time,
}

/// A packet that arrived, as the window sees it.
#[derive(Clone, Copy, Debug)]
pub struct Seen {
    /// Bytes that it moved the acknowledgement number.
    pub newly: u64,
    /// Whether data behind a gap is still missing after it.
    pub gap: bool,
    /// Whether it carried a mark.
    pub ce: bool,
}

/// What a packet did to a window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Changed {
    /// It grew.
    pub grew: bool,
    /// Marks cut it.
    pub cut: bool,
    /// A round trip with marks was counted.
    pub measured: bool,
    /// Fast recovery began.
    pub lost: bool,
}

impl Window {
    /// A window of one segment.
    pub fn new(segment: u64, p: &Params) -> Self {
        let ssthresh = match p.initial_ssthresh {
            Threshold::Unlimited(_) => u64::MAX,
            Threshold::Bytes(bytes) => bytes.get(),
        };
        Self { segment, cwnd: segment, ssthresh, ..Self::default() }
    }

    /// Counts a packet, and at the end of a round trip of `rtt` cuts the window by the share of marks. Then NewReno's
    /// rules. The window stays at or below `ceiling` bytes.
    pub fn on_packet(&mut self, now: Time, seen: Seen, ceiling: u64, rtt: Time, p: &Params) -> Changed {
        let mut changed = Changed::default();
        let marked = seen.ce && p.ecn;
        // The code lets the first mark end slow start at half the window
        if marked && p.follow == Follow::Code {
            self.ssthresh = (self.cwnd / 2).max(2 * self.segment);
        }
        if p.ecn {
            self.total += 1;
            self.marked += seen.ce as u32;
            if self.period_end == Time::ZERO {
                self.period_end = now + rtt;
            } else if now >= self.period_end {
                self.respond(&mut changed, p);
                self.period_end = now + rtt;
            }
        }
        self.reno(seen, marked, &mut changed);
        self.cwnd = self.cwnd.min(ceiling).max(self.segment);
        changed
    }

    /// Section 4.6: the share of marks over a round trip, and eq. (3).
    fn respond(&mut self, changed: &mut Changed, p: &Params) {
        // The code forgets a round trip without marks only when one with marks ends
        if self.marked == 0 && p.follow == Follow::Code {
            return;
        }
        let share = self.marked as f64 / self.total.max(1) as f64;
        self.alpha = (1.0 - p.g) * self.alpha + p.g * share;
        if self.marked > 0 {
            changed.measured = true;
            self.cut_alpha = self.alpha;
            // RCC eq. (3)
            let to = ((self.cwnd as f64 * (1.0 - self.alpha / 2.0) + 0.5) as u64).max(self.segment);
            changed.cut = to < self.cwnd;
            self.cwnd = to;
            if p.follow == Follow::Paper {
                self.ssthresh = to.max(2 * self.segment);
            }
        }
        self.total = 0;
        self.marked = 0;
    }

    /// Section 4.3: NewReno at the receiver. A packet out of order stands for a duplicate ACK.
    fn reno(&mut self, seen: Seen, marked: bool, changed: &mut Changed) {
        let segment = self.segment;
        let before = self.cwnd;
        match (self.recovering, seen.newly > 0) {
            (false, false) => {
                self.duplicates += 1;
                if self.duplicates == 3 {
                    // RFC 6582 section 3.2 step 2, RFC 5681 (4)
                    self.recovering = true;
                    self.ssthresh = (self.cwnd / 2).max(2 * segment);
                    self.cwnd = self.ssthresh + 3 * segment;
                    changed.lost = true;
                }
                return;
            }
            // RFC 5681 section 3.2 step 4
            (true, false) => self.cwnd += if marked { 0 } else { segment },
            // RFC 6582 section 3.2 step 3: partial, then full acknowledgement
            (true, true) if seen.gap => self.cwnd = self.cwnd.saturating_sub(seen.newly) + segment,
            (true, true) => {
                self.recovering = false;
                self.duplicates = 0;
                self.cwnd = self.ssthresh;
                return;
            }
            (false, true) => {
                self.duplicates = 0;
                // RFC 3168 section 6.1.2: a mark does not grow the window
                if !marked && self.cwnd < self.ssthresh {
                    self.cwnd += segment;
                } else if !marked {
                    // RFC 5681 (3)
                    self.cwnd += (segment * segment / self.cwnd).max(1);
                }
            }
        }
        changed.grew = self.cwnd > before;
    }

    /// Algorithm 3, lines 1 to 4.
    pub fn on_timeout(&mut self) {
        self.recovering = false;
        self.duplicates = 0;
        self.ssthresh = (self.cwnd / 2).max(2 * self.segment);
        self.cwnd = self.segment;
    }

    /// rwnd: whole segments, because only they can be expected by eq. (2), and at least one.
    pub fn rwnd(&self, ceiling: u64, largest: u64) -> u64 {
        let bytes = self.cwnd.min(ceiling).min(largest);
        (bytes / self.segment).max(1) * self.segment
    }
}

/// The round-trip time of one flow as its receiver sees it.
#[derive(Clone, Debug, Default)]
pub struct RoundTrip {
    /// q_history: the data that ACKs asked for last, and when each ACK left.
    asked: VecDeque<(u64, Time)>,
    smoothed: Option<(f64, f64)>,
}

impl RoundTrip {
    /// The ACKs have waited for RTO_r: section 4.4 deletes them. What they asked for may come only when it is asked for
    /// again.
    pub fn on_timeout(&mut self) {
        self.asked.clear();
    }

    /// Section 4.4: an ACK left the queue. What waits longer than `rto` is deleted.
    pub fn on_ack_left(&mut self, now: Time, expected_seq: u64, rto: Time) {
        while self.asked.front().is_some_and(|(_, left)| now.saturating_sub(*left) > rto) {
            self.asked.pop_front();
        }
        if self.asked.iter().all(|(seq, _)| *seq != expected_seq) {
            self.asked.push_back((expected_seq, now));
        }
    }

    /// Data from `seq` arrived; everything before `acked_to` has. `count` is false in fast recovery.
    pub fn on_data(&mut self, now: Time, seq: u64, acked_to: u64, rto: Time, count: bool, gain: f64) -> Option<Time> {
        let at = self.asked.iter().position(|(expected, _)| *expected == seq);
        let left = at.and_then(|at| self.asked.remove(at)).map(|(_, left)| left);
        // What has arrived can only arrive again, which is no round trip.
        self.asked.retain(|(expected, _)| *expected >= acked_to);
        let rtt = now.saturating_sub(left.filter(|_| count)?);
        if rtt > rto {
            return None;
        }
        let sample = rtt.as_ps() as f64;
        self.smoothed = Some(match self.smoothed {
            None => (sample, sample / 2.0),
            Some((mean, deviation)) => {
                let error = sample - mean;
                (mean + gain * error, deviation + gain * (libm::fabs(error) - deviation))
            }
        });
        Some(rtt)
    }

    /// The smoothed round-trip time.
    pub fn mean(&self) -> Option<Time> {
        self.smoothed.map(|(mean, _)| Time::from_ps(mean as u64))
    }

    /// RFC 6298 in whole milliseconds, at least `least`.
    pub fn timeout(&self, least: Time) -> Time {
        let Some((mean, deviation)) = self.smoothed else { return least };
        let ms = Time::from_ms(1).as_ps();
        Time::from_ps(((mean + 4.0 * deviation) as u64).div_ceil(ms) * ms).max(least)
    }
}
