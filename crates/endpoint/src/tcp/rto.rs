//! The retransmission timeout (RFC 6298).

use super::Config;
use fanin_units::Time;

/// A timer of zero would fire for ever at the same instant.
const SHORTEST: Time = Time::from_ns(1);
/// A round-trip time above it (53 days) means a wrong clock; the bound keeps the sums below from overflowing.
const LONGEST: u64 = 1 << 62;

/// The estimator and its backoff.
#[derive(Clone, Debug, Default)]
pub(super) struct Rto {
    initial: Time,
    min: Time,
    max: Time,
    smoothed: u64,
    variation: u64,
    /// The timeout before backoff.
    base: Time,
    backoff: u32,
}

impl Rto {
    pub(super) fn new(config: &Config) -> Self {
        let mut rto = Self {
            initial: config.initial_rto,
            min: config.min_rto,
            max: config.max_rto.max(SHORTEST),
            ..Self::default()
        };
        rto.base = rto.bounded(config.initial_rto);
        rto
    }

    /// The timeout now.
    #[inline]
    pub(super) fn current(&self) -> Time {
        if self.backoff == 0 { self.base } else { self.backed_off(self.backoff) }
    }

    /// The timeout after one more doubling than `backoff`s, without a change of state.
    pub(super) fn backed_off(&self, backoff: u32) -> Time {
        self.base.saturating_mul(1 << backoff.min(63)).min(self.max)
    }

    /// RFC 6298 sections 2.2 and 2.3. A sample ends the backoff (section 5, the note below rule 5.7).
    #[inline]
    pub(super) fn sample(&mut self, rtt: Time) {
        self.sample_of(rtt, 1);
    }

    /// A sample of so many that are expected in a round trip: its gains are divided by their number (RFC 7323 appendix
    /// G).
    #[inline]
    pub(super) fn sample_of(&mut self, rtt: Time, samples: u64) {
        let rtt = rtt.as_ps().min(LONGEST);
        if self.smoothed == 0 {
            self.smoothed = rtt;
            self.variation = rtt / 2;
        } else {
            let (alpha, beta) = (8 * samples, 4 * samples);
            self.variation = self.variation - self.variation / beta + self.smoothed.abs_diff(rtt) / beta;
            self.smoothed = self.smoothed - self.smoothed / alpha + rtt / alpha;
        }
        // The clock is exact: its granularity G is zero.
        self.base = self.bounded(Time::from_ps(self.smoothed.saturating_add(self.variation.saturating_mul(4))));
        self.backoff = 0;
    }

    /// RFC 6298 rule 5.5.
    pub(super) fn back_off(&mut self) {
        self.backoff = (self.backoff + 1).min(63);
    }

    /// RFC 6298 rule 5.7: after a SYN timed out, data begins with 3 s, three times the RFC's initial value. Here it is
    /// three times the configured one.
    pub(super) fn handshake_had_timed_out(&mut self) {
        self.base = self.bounded(self.initial.saturating_mul(3));
        self.backoff = 0;
    }

    fn bounded(&self, time: Time) -> Time {
        time.max(self.min).max(SHORTEST).min(self.max)
    }
}
