//! The three quantities.

use core::iter::Sum;
use core::ops::{Add, AddAssign, Sub, SubAssign};

/// A point in simulated time, or a span of it, in whole picoseconds. 2^64 ps are 213 days.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
#[repr(transparent)]
pub struct Time(u64);

/// A rate in bits per second.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
#[repr(transparent)]
pub struct Rate(u64);

/// A number of bytes. 1 KB is 1000 B and 1 KiB is 1024 B, in text as in code.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
#[repr(transparent)]
pub struct Bytes(pub u64);

const PS_PER_S: u64 = 1_000_000_000_000;
/// Largest size whose bits times 10^12 fit 64 bits; larger ones take the 128-bit path.
const SMALL_BYTES: u64 = u64::MAX / (8 * PS_PER_S);

impl Time {
    /// The start of the run.
    pub const ZERO: Self = Self(0);
    /// Later than every event: "no such time".
    pub const NEVER: Self = Self(u64::MAX);

    /// From picoseconds.
    #[inline(always)]
    pub const fn from_ps(ps: u64) -> Self {
        Self(ps)
    }
    /// From nanoseconds.
    pub const fn from_ns(ns: u64) -> Self {
        Self(ns * 1_000)
    }
    /// From microseconds.
    pub const fn from_us(us: u64) -> Self {
        Self(us * 1_000_000)
    }
    /// From milliseconds.
    pub const fn from_ms(ms: u64) -> Self {
        Self(ms * 1_000_000_000)
    }
    /// From seconds.
    pub const fn from_s(s: u64) -> Self {
        Self(s * PS_PER_S)
    }
    /// In picoseconds.
    #[inline(always)]
    pub const fn as_ps(self) -> u64 {
        self.0
    }
    /// In seconds, for display and for rates of whole runs.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / PS_PER_S as f64
    }
    /// Whether this is a real time and not [`Time::NEVER`].
    #[inline(always)]
    pub const fn is_some(self) -> bool {
        self.0 != u64::MAX
    }
    /// `self - other`, or zero when `other` is later.
    #[inline(always)]
    pub const fn saturating_sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }
    /// `self + other`, or [`Time::NEVER`] when that overflows.
    #[inline(always)]
    pub const fn saturating_add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
    /// `self * n`, or [`Time::NEVER`] when that overflows.
    pub const fn saturating_mul(self, n: u64) -> Self {
        Self(self.0.saturating_mul(n))
    }
}

impl Rate {
    /// No rate at all: never sends.
    pub const ZERO: Self = Self(0);

    /// From bits per second.
    #[inline(always)]
    pub const fn from_bps(bps: u64) -> Self {
        Self(bps)
    }
    /// From 10^6 bits per second.
    pub const fn from_mbps(mbps: u64) -> Self {
        Self(mbps * 1_000_000)
    }
    /// From 10^9 bits per second.
    pub const fn from_gbps(gbps: u64) -> Self {
        Self(gbps * 1_000_000_000)
    }
    /// In bits per second.
    #[inline(always)]
    pub const fn as_bps(self) -> u64 {
        self.0
    }

    /// How long `bytes` take at this rate, rounded up to the next picosecond; [`Time::NEVER`] at rate zero.
    /// This is the only place where sizes become times.
    #[inline]
    pub const fn tx_time(self, bytes: u64) -> Time {
        if self.0 == 0 {
            return Time::NEVER;
        }
        if bytes <= SMALL_BYTES {
            return Time((bytes * (8 * PS_PER_S)).div_ceil(self.0));
        }
        let ps = (bytes as u128 * (8 * PS_PER_S) as u128).div_ceil(self.0 as u128);
        if ps > u64::MAX as u128 { Time::NEVER } else { Time(ps as u64) }
    }

    /// Picoseconds per byte where that is a whole number: then [`Self::tx_time`] is a product and nothing is rounded.
    pub const fn whole_ps_per_byte(self) -> Option<u64> {
        if self.0 != 0 && (8 * PS_PER_S).is_multiple_of(self.0) { Some(8 * PS_PER_S / self.0) } else { None }
    }

    /// Number of whole bytes that this rate carries in `span`, rounded down.
    pub const fn bytes_in(self, span: Time) -> u64 {
        let bytes = self.0 as u128 * span.0 as u128 / (8 * PS_PER_S) as u128;
        if bytes > u64::MAX as u128 { u64::MAX } else { bytes as u64 }
    }
}

impl Bytes {
    /// As a plain number.
    #[inline(always)]
    pub const fn get(self) -> u64 {
        self.0
    }
}

impl Add for Time {
    type Output = Self;
    #[inline(always)]
    fn add(self, other: Self) -> Self {
        Self(self.0 + other.0)
    }
}
impl AddAssign for Time {
    #[inline(always)]
    fn add_assign(&mut self, other: Self) {
        self.0 += other.0;
    }
}
impl Sub for Time {
    type Output = Self;
    #[inline(always)]
    fn sub(self, other: Self) -> Self {
        Self(self.0 - other.0)
    }
}
impl SubAssign for Time {
    #[inline(always)]
    fn sub_assign(&mut self, other: Self) {
        self.0 -= other.0;
    }
}
impl Sum for Time {
    fn sum<I: Iterator<Item = Self>>(iter: I) -> Self {
        iter.fold(Self::ZERO, |a, b| a + b)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_byte_is_whole_picoseconds_at_the_usual_rates() {
        for (gbps, ps) in [(1, 8000), (10, 800), (25, 320), (40, 200), (100, 80), (200, 40), (400, 20), (800, 10)] {
            assert_eq!(Rate::from_gbps(gbps).tx_time(1), Time::from_ps(ps));
            assert_eq!(Rate::from_gbps(gbps).tx_time(1500), Time::from_ps(1500 * ps));
        }
    }

    #[test]
    fn only_whole_picoseconds_per_byte_are_called_whole() {
        assert_eq!(Rate::from_gbps(10).whole_ps_per_byte(), Some(800));
        assert_eq!(Rate::ZERO.whole_ps_per_byte(), None);
        // 20.99976 ps a byte: even 1000 bytes round to 21 ps each, 17,526 do not.
        let rate = Rate::from_bps(380_956_790_481);
        assert_eq!(rate.tx_time(1000), Time::from_ps(21_000));
        assert_eq!(rate.whole_ps_per_byte(), None);
    }

    #[test]
    fn transmission_times_round_up_and_never_overflow() {
        assert_eq!(Rate::from_bps(3).tx_time(1), Time::from_ps(2_666_666_666_667));
        assert_eq!(Rate::ZERO.tx_time(1), Time::NEVER);
        assert_eq!(Rate::from_bps(1).tx_time(u64::MAX), Time::NEVER);
        // The first size beyond the 64-bit path agrees with the last one on it.
        let rate = Rate::from_gbps(10);
        assert_eq!(rate.tx_time(SMALL_BYTES + 1) - rate.tx_time(SMALL_BYTES), Time::from_ps(800));
    }

    proptest! {
        #[test]
        fn what_a_span_carries_fits_into_the_span(bps in 1u64..1_000_000_000_000, bytes in 0u64..10_000_000) {
            let rate = Rate::from_bps(bps);
            let span = rate.tx_time(bytes);
            prop_assume!(span.is_some());
            prop_assert!(rate.bytes_in(span) >= bytes);
            prop_assert!(rate.bytes_in(span) <= bytes + 1 + bps / (8 * PS_PER_S));
        }
    }
}
