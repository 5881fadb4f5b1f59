//! CPU time of a receiving host, and the answers that wait for it.

use alloc::collections::BinaryHeap;
use core::cmp::{Ordering, Reverse};
use fanin_cc::{Header, Telemetry};
use fanin_units::Time;

/// The standard normal distribution's 99.9th percentile.
const NORMAL_P999: f64 = 3.090_232_306_167_813;

/// How long the CPU of a receiving host takes for one answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum CpuTime {
    /// None: the NIC answers by itself.
    #[default]
    Zero,
    /// Always this long.
    Constant(Time),
    /// Uniform from the first to the second.
    Uniform(Time, Time),
    /// Log-normal.
    LogNormal {
        /// Half of the answers take longer.
        median: Time,
        /// One answer in 1,000 takes longer.
        p999: Time,
    },
}

impl CpuTime {
    /// The time of one answer, at least 1 ps; `word` gives 64 random bits.
    pub fn draw(self, mut word: impl FnMut() -> u64) -> Time {
        let mut unit = || (word() >> 11) as f64 * (1.0 / (1u64 << 53) as f64);
        let ps = match self {
            Self::Zero => 0.0,
            Self::Constant(time) => return time.max(Time::from_ps(1)),
            Self::Uniform(from, to) => from.as_ps() as f64 + unit() * to.saturating_sub(from).as_ps() as f64,
            Self::LogNormal { median, p999 } => {
                // Box and Muller 1958; 1 - unit is above 0.
                let radius = libm::sqrt(-2.0 * libm::log(1.0 - unit()));
                let normal = radius * libm::cos(2.0 * core::f64::consts::PI * unit());
                let median = median.as_ps() as f64;
                let sigma = libm::log(p999.as_ps() as f64 / median) / NORMAL_P999;
                median * libm::exp(sigma * normal)
            }
        };
        Time::from_ps(libm::round(ps).max(1.0) as u64)
    }
}

/// An answer that waits for the CPU.
pub(super) struct Answer<P> {
    /// When it leaves.
    pub(super) at: Time,
    /// Its number at its host.
    pub(super) number: u64,
    pub(super) head: Header,
    pub(super) path: P,
    pub(super) scheme: u16,
    pub(super) telemetry: Telemetry,
    /// Its bitmap, where it has one.
    pub(super) bitmap: u64,
}

impl<P> PartialEq for Answer<P> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl<P> Eq for Answer<P> {}

impl<P> PartialOrd for Answer<P> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<P> Ord for Answer<P> {
    fn cmp(&self, other: &Self) -> Ordering {
        (self.at, self.number).cmp(&(other.at, other.number))
    }
}

/// The answers of one host that wait.
pub(super) struct Cpu<P> {
    pub(super) waiting: BinaryHeap<Reverse<Answer<P>>>,
    /// Answers and random words so far.
    pub(super) answers: u64,
    pub(super) words: u64,
    /// The one valid timer event.
    pub(super) event: Time,
}

impl<P> Cpu<P> {
    pub(super) fn new() -> Self {
        Self { waiting: BinaryHeap::new(), answers: 0, words: 0, event: Time::NEVER }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    fn draws(time: CpuTime) -> Vec<f64> {
        let mut state = 1u64;
        let mut word = || {
            state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
            let z = (state ^ (state >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
            let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
            z ^ (z >> 31)
        };
        let mut all: Vec<f64> = (0..100_000).map(|_| time.draw(&mut word).as_ps() as f64 / 1e6).collect();
        all.sort_by(f64::total_cmp);
        all
    }

    #[test]
    fn a_log_normal_time_has_its_percentiles() {
        let all = draws(CpuTime::LogNormal { median: Time::from_us(5), p999: Time::from_us(25) });
        // The 84.13th percentile is a standard deviation above the median: 5 us 5^(1/3.0902) = 8.417 us.
        for (rank, value, tolerance) in [(50_000, 5.0, 0.05), (84_134, 8.417, 0.1), (99_900, 25.0, 1.5)] {
            assert!((all[rank] - value).abs() < tolerance, "{rank}: {}", all[rank]);
        }
    }

    #[test]
    fn constant_and_uniform_times_are_within_their_bounds() {
        assert_eq!(CpuTime::Constant(Time::from_us(3)).draw(|| 0), Time::from_us(3));
        let uniform = CpuTime::Uniform(Time::from_us(2), Time::from_us(4));
        assert_eq!([uniform.draw(|| 0), uniform.draw(|| 1 << 63)], [Time::from_us(2), Time::from_us(3)]);
        let all = draws(uniform);
        assert!(all[0] >= 2.0 && all[99_999] <= 4.0 && (all[25_000] - 2.5).abs() < 0.02, "{}", all[25_000]);
    }
}
