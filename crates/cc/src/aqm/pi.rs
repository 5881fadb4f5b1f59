//! The proportional-integral controller (Hollot, Misra, Towsley and Gong 2001) in the form of the simulator ns-2.
//!
//! At each sampling instant `p` changes by the distance of the queue from its target, now and one instant before; every
//! packet is marked with probability `p`, whatever its size. Samples are taken lazily: [`Pi::advance`], called before
//! the queue changes, takes all samples that are due, of the queue since the last change. This needs no timer, and the
//! state at each instant is the same as with one.
//!
//! Instants are the multiples of `every`; at instant 0 the queue is empty and `p` is 0. A sample at the instant of a
//! change is of the queue before it.

use fanin_units::Time;

/// Parameters.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Config {
    /// Gain of the present distance, per packet.
    pub a: f64,
    /// Gain of the distance one instant before, per packet.
    pub b: f64,
    /// Target of the queue in bytes.
    pub target: u64,
    /// Time between two samples.
    pub every: Time,
    /// Bytes of a packet of mean size, the unit of `a` and `b`.
    pub mean_packet: u32,
}

impl Config {
    /// ns-2's defaults: a = 1.822e-5, b = 1.816e-5, a target of 50 packets, 170 samples a second.
    pub const fn new(mean_packet: u32) -> Self {
        Self {
            a: 1.822e-5,
            b: 1.816e-5,
            target: 50 * mean_packet as u64,
            every: Time::from_ps(1_000_000_000_000 / 170),
            mean_packet,
        }
    }
}

/// The state of one queue.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pi {
    config: Config,
    probability: f64,
    /// Queue in bytes at the last sample.
    before: u64,
    /// The next sampling instant.
    next: Time,
}

impl Pi {
    /// An empty queue at time zero.
    pub const fn new(config: Config) -> Self {
        Self { config, probability: 0.0, before: 0, next: config.every }
    }

    /// The probability with which packets are marked now.
    pub fn probability(&self) -> f64 {
        self.probability
    }

    /// Takes the samples due by `now`; `queue` is the length since the last change.
    #[inline]
    pub fn advance(&mut self, now: Time, queue: u64) {
        if self.next <= now {
            self.take_due(now, queue);
        }
    }

    fn take_due(&mut self, now: Time, queue: u64) {
        while self.next <= now {
            let probability = self.sampled(queue);
            let settled = probability == self.probability && queue == self.before;
            (self.probability, self.before) = (probability, queue);
            self.next = self.next.saturating_add(self.config.every);
            if settled && self.next <= now {
                // Further samples of this queue change nothing.
                let skipped = (now - self.next).as_ps() / self.config.every.as_ps() + 1;
                self.next = self.next.saturating_add(self.config.every.saturating_mul(skipped));
            }
        }
    }

    /// p(n) = p(n-1) + a (q(n) - qref) - b (q(n-1) - qref), within 0 and 1 (Hollot et al. 2001; ns-2 samples the same).
    fn sampled(&self, queue: u64) -> f64 {
        let mean = self.config.mean_packet as f64;
        let distance = |bytes: u64| (bytes as f64 - self.config.target as f64) / mean;
        let p = self.probability + self.config.a * distance(queue) - self.config.b * distance(self.before);
        p.clamp(0.0, 1.0)
    }

    /// Whether a packet that meets `queue` bytes is marked.
    #[inline]
    pub fn arrives(&mut self, now: Time, queue: u64, draws: impl FnOnce(f64) -> bool) -> bool {
        self.advance(now, queue);
        match self.probability {
            p if p <= 0.0 => false,
            p if p >= 1.0 => true,
            p => draws(p),
        }
    }
}
