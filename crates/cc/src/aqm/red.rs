//! Random early detection (Floyd and Jacobson 1993) in the form of the simulator ns-2, marking only.
//!
//! The average is updated at each arrival; over an idle period it decays as if packets had passed through an empty
//! queue. Between `min` and `max` the probability rises to `max_probability`, then, if gentle, further to 1 at twice
//! `max`. Marks are spread evenly: the probability depends on the bytes that arrived since the last one. All in bytes,
//! as ns-2 does with `bytes_` and `queue_in_bytes_` set; a packet counts by its size over `mean_packet`.
//!
//! Differences from ns-2: a packet that ns-2 would drop because the average is too high is marked here (DCTCP section 4
//! uses RED to mark and never to drop). A mark on a packet that cannot carry it still counts, as a drop
//! does there.

use fanin_units::{Rate, Time};

/// Parameters.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Config {
    /// Bytes; an average below this marks nothing.
    pub min: u64,
    /// Bytes; the average at which the probability reaches `max_probability`.
    pub max: u64,
    /// Probability at `max`.
    pub max_probability: f64,
    /// Weight of a new value in the average.
    pub weight: f64,
    /// Whether the probability rises from `max_probability` at `max` to 1 at twice that; otherwise it is 1 from `max`
    /// on.
    pub gentle: bool,
    /// Whether marks are at least `1/p` packets apart; otherwise they are evenly spread from the first on.
    pub wait: bool,
    /// Bytes of a packet of mean size.
    pub mean_packet: u32,
    /// Bytes of the packets by which the average decays while the queue is idle.
    pub idle_packet: u32,
}

impl Config {
    /// ns-2's defaults for these thresholds in bytes: `max` 3 x `min`, probability 0.1, weight 0.002, gentle, wait.
    pub const fn new(min: u64, mean_packet: u32) -> Self {
        Self {
            min,
            max: 3 * min,
            max_probability: 0.1,
            weight: 0.002,
            gentle: true,
            wait: true,
            mean_packet,
            idle_packet: mean_packet,
        }
    }

    /// The probability for an average, before marks are spread.
    pub fn probability(&self, average: f64) -> f64 {
        let (min, max) = (self.min as f64, self.max as f64);
        if average < min {
            0.0
        } else if average < max {
            self.max_probability * (average - min) / (max - min)
        } else if self.gentle {
            (self.max_probability + (1.0 - self.max_probability) * (average - max) / max).min(1.0)
        } else {
            1.0
        }
    }
}

/// The state of one queue.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Red {
    config: Config,
    rate: Rate,
    average: f64,
    /// Bytes that arrived since the last mark, or since the average rose above `min`.
    since_mark: u64,
    /// The previous packet met a queue, and an average above `min`.
    above: bool,
    /// When the queue became idle; [`Time::NEVER`] while it is not.
    idle_from: Time,
}

impl Red {
    /// An empty queue at a link of this rate.
    pub const fn new(config: Config, rate: Rate) -> Self {
        Self { config, rate, average: 0.0, since_mark: 0, above: false, idle_from: Time::ZERO }
    }

    /// The average queue in bytes.
    pub fn average(&self) -> f64 {
        self.average
    }

    /// The queue is empty, and its last bit leaves at `at`.
    #[inline]
    pub fn idle_from(&mut self, at: Time) {
        self.idle_from = at;
    }

    /// Whether a packet of `wire` bytes that meets `queue` bytes is marked.
    pub fn arrives(&mut self, now: Time, queue: u64, wire: u64, draws: impl FnOnce(f64) -> bool) -> bool {
        let config = &self.config;
        let keep = 1.0 - config.weight;
        // Floyd and Jacobson 1993 section 4, ns-2's estimator: m packets might have left while the queue was idle.
        if self.idle_from.is_some() {
            let idle = now.saturating_sub(self.idle_from);
            self.average *= power(keep, self.rate.bytes_in(idle) / config.idle_packet as u64);
            self.idle_from = Time::NEVER;
        }
        self.average = keep * self.average + config.weight * queue as f64;
        self.since_mark = self.since_mark.saturating_add(wire);
        if self.average < config.min as f64 || queue == 0 {
            self.above = false;
            return false;
        }
        let p = config.probability(self.average);
        if p >= 1.0 {
            self.since_mark = 0;
            return true;
        }
        if !self.above {
            // The count starts with the first packet that meets an average above the minimum.
            self.above = true;
            self.since_mark = wire;
            return false;
        }
        let mark = match spread(config, p, self.since_mark, wire) {
            p if p <= 0.0 => false,
            p if p >= 1.0 => true,
            p => draws(p),
        };
        if mark {
            self.since_mark = 0;
        }
        mark
    }
}

/// ns-2's spreading of marks: even instead of geometric distances between them.
fn spread(config: &Config, p: f64, since_mark: u64, wire: u64) -> f64 {
    let mean = config.mean_packet as u64;
    let expected = (since_mark / mean) as f64 * p;
    // With `wait` nothing until 1/p packets have passed, then evenly over the next 1/p.
    let end = if config.wait { 2.0 } else { 1.0 };
    if config.wait && expected < 1.0 {
        return 0.0;
    }
    if expected >= end {
        return 1.0;
    }
    p / (end - expected) * wire as f64 / mean as f64
}

/// `base` to the power of `exponent` by squaring: the same bits on every machine.
fn power(mut base: f64, mut exponent: u64) -> f64 {
    let mut result = 1.0;
    while exponent > 0 {
        if exponent & 1 == 1 {
            result *= base;
        }
        base *= base;
        exponent >>= 1;
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn powers_are_products() {
        let mut product = 1.0;
        for m in 0..5_000 {
            assert!((power(1.0 - 0.002, m) - product).abs() <= 1e-12 * product, "{m}");
            product *= 1.0 - 0.002;
        }
        assert_eq!((power(0.5, 3), power(0.998, 0), power(0.998, u64::MAX), power(0.0, 0)), (0.125, 1.0, 0.0, 1.0));
    }

    #[test]
    fn the_probability_is_gentle_or_not() {
        let red = Config::new(30_000, 1500);
        for (average, gentle, hard) in [
            (29_999.0, 0.0, 0.0),
            (30_000.0, 0.0, 0.0),
            (60_000.0, 0.05, 0.05),
            (90_000.0, 0.1, 1.0),
            (135_000.0, 0.55, 1.0),
            (180_000.0, 1.0, 1.0),
            (400_000.0, 1.0, 1.0),
        ] {
            assert!((red.probability(average) - gentle).abs() < 1e-12, "{average}");
            assert!((Config { gentle: false, ..red }.probability(average) - hard).abs() < 1e-12, "{average}");
        }
    }
}
