//! Real time: the clock of a network that is slower than it would be, how late its frames and its parts are, and
//! whether its results count.

use crate::words::fields;
use fanin_transport::os;
use fanin_units::Time;
use std::time::Duration;

/// Most time that a part may be behind the clock, in network time.
pub const MOST_BEHIND: Time = Time::from_us(100);
/// Largest share of frames that may come later than their link's delay.
pub const MOST_LATE: f64 = 0.01;

/// The time of a network, from an instant on at which it had a given one.
#[derive(Clone, Copy, Debug)]
pub struct NetworkClock {
    /// The instant, as [`os::monotonic`] has it.
    pub begins: Duration,
    /// Network time at that instant.
    pub from: Time,
    /// How many times slower the network is.
    pub slowdown: u64,
}

impl NetworkClock {
    /// Network time now. It begins when the clock does.
    pub fn now(&self) -> Time {
        self.at(os::monotonic())
    }

    fn at(&self, instant: Duration) -> Time {
        let passed = instant.saturating_sub(self.begins).as_nanos() * 1000 / u128::from(self.slowdown);
        self.from.saturating_add(Time::from_ps(u64::try_from(passed).unwrap_or(u64::MAX)))
    }

    /// Real time from now until this network time.
    pub fn until(&self, time: Time) -> Duration {
        let ns = u128::from(time.saturating_sub(self.from).as_ps()) * u128::from(self.slowdown) / 1000;
        let instant = self.begins + Duration::from_nanos(u64::try_from(ns).unwrap_or(u64::MAX));
        instant.saturating_sub(os::monotonic())
    }

    /// Real time as network time.
    pub fn network(&self, real: Duration) -> Time {
        Time::from_ps(u64::try_from(real.as_nanos() * 1000 / u128::from(self.slowdown)).unwrap_or(u64::MAX))
    }
}

/// A distribution, to 3 %.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Spread {
    /// Values by [`bucket`].
    counts: Vec<u64>,
    largest: u64,
}

/// Buckets in each power of two.
const FINE: u32 = 5;

fn bucket(value: u64) -> usize {
    let shift = (64 - value.leading_zeros()).saturating_sub(FINE + 1);
    ((shift as usize) << FINE) + (value >> shift) as usize
}

/// The largest value of a bucket.
fn top(bucket: usize) -> u64 {
    let shift = (bucket >> FINE).saturating_sub(1);
    let within = (bucket - (shift << FINE)) as u64;
    (within << shift) + ((1 << shift) - 1)
}

impl Spread {
    /// Adds a value.
    pub fn add(&mut self, value: u64) {
        let at = bucket(value);
        if self.counts.len() <= at {
            self.counts.resize(at + 1, 0);
        }
        self.counts[at] += 1;
        self.largest = self.largest.max(value);
    }

    /// Adds all of another.
    pub fn merge(&mut self, other: &Self) {
        if self.counts.len() < other.counts.len() {
            self.counts.resize(other.counts.len(), 0);
        }
        self.counts.iter_mut().zip(&other.counts).for_each(|(own, of)| *own += of);
        self.largest = self.largest.max(other.largest);
    }

    /// How many values it has.
    pub fn count(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// The largest, or 0.
    pub fn largest(&self) -> u64 {
        self.largest
    }

    /// The quantile of this share, rounded up by at most 3 %; 0 where there is no value.
    pub fn quantile(&self, share: f64) -> u64 {
        let rank = (share * self.count() as f64).ceil().max(1.0) as u64;
        let mut below = 0;
        for (at, count) in self.counts.iter().enumerate() {
            below += count;
            if below >= rank {
                return top(at).min(self.largest);
            }
        }
        self.largest
    }
}

fields!(Spread { largest, counts });

/// How late a part of a network was.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Timing {
    /// Of each frame that came: from when its last bit left until this part had it, in ps of network time.
    pub lateness: Spread,
    /// The same in thousandths of the delay of its link.
    pub relative: Spread,
    /// Frames that came later than their link's delay.
    pub late: u64,
    /// Those of them that came after what had to come after them, and so got a later time.
    pub moved: u64,
    /// How far the part was behind the clock when it handled events, in ps of network time.
    pub behind: Spread,
    /// The longest time by which it was woken later than it had asked for.
    pub gap: Time,
}

impl Timing {
    /// A frame whose last bit left at a time came at another, over a link with this delay.
    pub fn note(&mut self, left: Time, came: Time, delay: Time) {
        let lateness = came.saturating_sub(left);
        self.lateness.add(lateness.as_ps());
        let relative = u128::from(lateness.as_ps()) * 1000 / u128::from(delay.as_ps().max(1));
        self.relative.add(u64::try_from(relative).unwrap_or(u64::MAX));
        self.late += u64::from(lateness > delay);
    }

    /// Adds all of another part's.
    pub fn merge(&mut self, other: &Self) {
        self.lateness.merge(&other.lateness);
        self.relative.merge(&other.relative);
        self.behind.merge(&other.behind);
        self.late += other.late;
        self.moved += other.moved;
        self.gap = self.gap.max(other.gap);
    }
}

fields!(Timing { lateness, relative, late, moved, behind, gap });

/// The next of 1, 2, 5, 10, 20, ... that is not less.
pub fn round_up(n: f64) -> u64 {
    let mut power: u64 = 1;
    loop {
        for step in [1, 2, 5] {
            if (step * power) as f64 >= n || power >= 1_000_000_000 {
                return step * power;
            }
        }
        power *= 10;
    }
}

fn us(time: u64) -> String {
    format!("{:.1} us", time as f64 / 1e6)
}

/// Why the results of a run do not count, and what to do; nothing where they do. `parts` are the switches, then the
/// hosts; the machine was suspended for so long.
pub fn rejected(parts: &[Timing], slowdown: u64, suspended: Duration) -> Option<String> {
    let mut all = Timing::default();
    parts.iter().for_each(|part| all.merge(part));
    let mut problems = Vec::new();
    let mut factor: f64 = 1.0;
    let (frames, late) = (all.lateness.count(), all.late);
    if late as f64 > MOST_LATE * frames as f64 {
        let share = 100.0 * late as f64 / frames as f64;
        let p99 = all.relative.quantile(0.99) as f64 / 1000.0;
        problems.push(format!(
            "{share:.1} % of {frames} frames came later than their link's delay, and 1 % may (99 % came within \
             {p99:.1} of these delays)"
        ));
        factor = factor.max(p99);
    }
    for (number, part) in parts.iter().enumerate() {
        let name = if number == 0 { "the switches".to_string() } else { format!("host {}", number - 1) };
        let behind = part.behind.largest();
        if behind > MOST_BEHIND.as_ps() {
            problems.push(format!("{name} got {} behind in network time, and 100 us are allowed", us(behind)));
            factor = factor.max(behind as f64 / MOST_BEHIND.as_ps() as f64);
        } else if part.gap > MOST_BEHIND {
            let gap = part.gap.as_ps();
            problems.push(format!("the machine took {} of network time from {name}, and 100 us are allowed", us(gap)));
            factor = factor.max(gap as f64 / MOST_BEHIND.as_ps() as f64);
        }
    }
    if !suspended.is_zero() {
        problems.push(format!("the machine was suspended for {:.3} s", suspended.as_secs_f64()));
    }
    if problems.is_empty() {
        return None;
    }
    // Twice what was missing this time.
    let enough = round_up((slowdown as f64 * factor * 2.0).max(slowdown as f64 + 1.0));
    Some(format!(
        "the run is rejected and has no results: {}. Use --clock slowed:{enough}, let nothing else run on this \
         machine, or use --clock lockstep, which needs no real time",
        problems.join("; ")
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::words::{Reader, Wire, Words};

    #[test]
    fn quantiles_are_exact_to_3_percent() {
        let mut spread = Spread::default();
        (1..=100_000).for_each(|value| spread.add(value * 7));
        for (share, exact) in [(0.5, 350_000.0), (0.99, 693_000.0), (1.0, 700_000.0)] {
            let found = spread.quantile(share) as f64;
            assert!(found >= exact && found < exact * 1.032, "{share}: {found}");
        }
        assert_eq!((spread.count(), spread.largest()), (100_000, 700_000));
        for value in (0..64).map(|bit| 1u64 << bit).flat_map(|value| [value - 1, value, value + 1]) {
            assert!(top(bucket(value)) >= value && bucket(top(bucket(value))) == bucket(value), "{value}");
        }
        assert_eq!(bucket(u64::MAX), bucket(top(bucket(u64::MAX))));
        assert_eq!(Spread::default().quantile(0.99), 0);
    }

    /// A part that received frames with these latenesses in ns over links of 1 us, and was so far behind in us.
    fn part(lateness: impl Iterator<Item = u64>, behind: u64, gap: u64) -> Timing {
        let mut timing = Timing { gap: Time::from_us(gap), ..Timing::default() };
        lateness.for_each(|ns| timing.note(Time::from_us(5), Time::from_us(5) + Time::from_ns(ns), Time::from_us(1)));
        timing.behind.add(Time::from_us(behind).as_ps());
        timing
    }

    #[test]
    fn one_percent_of_late_frames_are_allowed_and_no_more() {
        let with = |late: u64| vec![part((0..1000).map(move |n| if n < late { 1001 } else { 1000 }), 0, 0)];
        assert_eq!(rejected(&with(10), 100, Duration::ZERO), None);
        let reason = rejected(&with(11), 100, Duration::ZERO).unwrap();
        assert!(reason.contains("1.1 % of 1000 frames came later"), "{reason}");
        // The share is of all frames of the network.
        let two = [part([5000; 15].into_iter(), 0, 0), part([0; 1485].into_iter(), 0, 0)];
        assert_eq!(rejected(&two, 100, Duration::ZERO), None);
        assert!(rejected(&two[..1], 100, Duration::ZERO).unwrap().contains("slowed:1000"));
        assert_eq!(rejected(&[Timing::default()], 1, Duration::ZERO), None);
    }

    #[test]
    fn a_part_may_be_100_us_behind_and_no_more() {
        let with = |behind, gap| vec![Timing::default(), Timing::default(), part([0].into_iter(), behind, gap)];
        assert_eq!(rejected(&with(100, 100), 10, Duration::ZERO), None);
        let reason = rejected(&with(101, 500), 10, Duration::ZERO).unwrap();
        assert!(reason.contains("host 1 got 101.0 us behind") && reason.contains("slowed:50,"), "{reason}");
        let reason = rejected(&with(0, 101), 10, Duration::ZERO).unwrap();
        assert!(reason.contains("the machine took 101.0 us of network time from host 1"), "{reason}");
        let reason = rejected(&with(0, 0), 10, Duration::from_millis(2)).unwrap();
        assert!(reason.contains("suspended for 0.002 s"), "{reason}");
    }

    #[test]
    fn numbers_are_rounded_to_the_next_of_a_series() {
        for (n, expected) in [(0.1, 1), (1.0, 1), (1.1, 2), (2.5, 5), (5.1, 10), (11.0, 20), (4999.0, 5000)] {
            assert_eq!(round_up(n), expected);
        }
    }

    #[test]
    fn network_time_passes_so_many_times_slower() {
        let clock = NetworkClock { begins: Duration::from_secs(5), from: Time::from_us(3), slowdown: 1000 };
        assert_eq!(clock.at(Duration::from_secs(4)), Time::from_us(3));
        assert_eq!(clock.at(Duration::from_secs(6)), Time::from_us(1003));
        assert_eq!(clock.network(Duration::from_micros(1)), Time::from_ns(1));
        let ahead = NetworkClock { begins: os::monotonic() + Duration::from_secs(100), ..clock };
        let left = ahead.until(Time::from_us(1003));
        assert!(left <= Duration::from_secs(101) && left > Duration::from_secs(90));
    }

    #[test]
    fn timing_is_read_as_it_was_written() {
        let timing = Timing { moved: 3, ..part([5, 10_000].into_iter(), 4, 9) };
        let mut words = Words::default();
        timing.write(&mut words);
        assert_eq!(Timing::read(&mut Reader(words.bytes())), Some(timing));
    }
}
