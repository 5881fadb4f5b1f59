//! How a sender chooses the entropy of each packet, which decides its path.
//!
//! Source: uet-htsim's multipath engines of UEC; REPS is "Recycled Entropy Packet Spraying" (Bonato et al., 2024).

use std::collections::VecDeque;

use crate::options::Balancing;
use crate::random::Random;

/// What the network did to a packet of some entropy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Feedback {
    /// It arrived without a mark.
    Good,
    /// It was marked.
    Marked,
    /// It was trimmed.
    Trimmed,
    /// It was lost.
    Timeout,
}

/// The balancer of a sender.
pub enum Balancer {
    /// All paths in turn, whatever happens.
    Oblivious(Walk),
    /// All paths in turn, skipping those with penalties.
    Bitmap(Bitmap),
    /// Paths that were good, first in first out; random ones without such.
    RepsLegacy(Recycled),
    /// Paths that were good, first in first out; the bitmap's choice without such.
    Mixed(VecDeque<u16>, Bitmap),
    /// A ring of eight good paths.
    Reps(Reps),
}

impl Balancer {
    /// A balancer of `paths` entropies.
    pub fn new(kind: Balancing, paths: u32, random: &mut Random) -> Self {
        match kind {
            Balancing::Oblivious => Self::Oblivious(Walk::new(paths, random)),
            Balancing::Bitmap => Self::Bitmap(Bitmap::new(paths, random)),
            Balancing::RepsLegacy => Self::RepsLegacy(Recycled { paths, count: 0, good: VecDeque::new() }),
            Balancing::Mixed => Self::Mixed(VecDeque::new(), Bitmap::new(paths, random)),
            Balancing::Reps => Self::Reps(Reps { paths, ..Reps::default() }),
        }
    }

    /// The entropy of a packet. `window` is the congestion window in packets.
    pub fn next(&mut self, psn: u32, window: u64, random: &mut Random) -> u16 {
        match self {
            Self::Oblivious(walk) => walk.next(random),
            Self::Bitmap(bitmap) => bitmap.next(random),
            Self::RepsLegacy(recycled) => recycled.next(psn, window, random),
            Self::Mixed(good, bitmap) => good.pop_front().unwrap_or_else(|| bitmap.next(random)),
            Self::Reps(reps) => reps.next(random),
        }
    }

    /// What became of a packet.
    pub fn feedback(&mut self, entropy: u16, feedback: Feedback, now: u64) {
        match self {
            Self::Oblivious(_) => {}
            Self::Bitmap(bitmap) => bitmap.feedback(entropy, feedback),
            Self::RepsLegacy(recycled) => {
                if feedback == Feedback::Good {
                    recycled.good.push_back(entropy);
                }
            }
            Self::Mixed(good, bitmap) => {
                if feedback == Feedback::Good {
                    good.push_back(entropy);
                }
                bitmap.feedback(entropy, feedback);
            }
            Self::Reps(reps) => reps.feedback(entropy, feedback, now),
        }
    }
}

/// All entropies in turn, in an order that a random number changes at each round.
pub struct Walk {
    paths: u32,
    upper: u32,
    xor: u32,
    at: u32,
}

impl Walk {
    fn new(paths: u32, random: &mut Random) -> Self {
        let upper = random.draw() % 65_535;
        Self { paths, upper, xor: random.draw() % paths, at: 0 }
    }

    fn path(&self) -> u32 {
        (self.at ^ self.xor) & (self.paths - 1)
    }

    fn step(&mut self, random: &mut Random) {
        self.at += 1;
        if self.at == self.paths {
            self.at = 0;
            self.xor = random.draw() & (self.paths - 1);
        }
    }

    fn entropy(&self, path: u32) -> u16 {
        (path | (self.upper & !(self.paths - 1))) as u16
    }

    fn next(&mut self, random: &mut Random) -> u16 {
        let entropy = self.entropy(self.path());
        self.step(random);
        entropy
    }
}

/// A walk that skips paths with penalties; each skip reduces a penalty.
pub struct Bitmap {
    walk: Walk,
    penalty: Vec<u8>,
}

impl Bitmap {
    fn new(paths: u32, random: &mut Random) -> Self {
        Self { walk: Walk::new(paths, random), penalty: vec![0; paths as usize] }
    }

    fn next(&mut self, random: &mut Random) -> u16 {
        let mut path = self.walk.path();
        let mut count = 0;
        while self.penalty[path as usize] > 0 {
            if count == 0 {
                self.penalty[path as usize] -= 1;
            }
            count += 1;
            if count > self.walk.paths {
                break;
            }
            self.walk.step(random);
            path = self.walk.path();
        }
        let entropy = self.walk.entropy(path);
        self.walk.step(random);
        entropy
    }

    fn feedback(&mut self, entropy: u16, feedback: Feedback) {
        let more = match feedback {
            Feedback::Good => 0,
            Feedback::Marked => 1,
            Feedback::Trimmed => 4,
            Feedback::Timeout => 15,
        };
        let penalty = &mut self.penalty[(u32::from(entropy) & (self.walk.paths - 1)) as usize];
        *penalty = (*penalty + more).min(15);
    }
}

/// Good entropies, first in first out, after a first window of all in turn.
pub struct Recycled {
    paths: u32,
    count: u32,
    good: VecDeque<u16>,
}

impl Recycled {
    fn next(&mut self, psn: u32, window: u64, random: &mut Random) -> u16 {
        if u64::from(psn) < window.min(u64::from(self.paths)) {
            self.count = (self.count + 1) % self.paths;
            return self.count as u16;
        }
        self.good.pop_front().unwrap_or_else(|| (random.draw() % self.paths) as u16)
    }
}

const RING: usize = 8;
/// How long a timeout freezes the ring, in picoseconds.
const FREEZE: u64 = 10_000_000_000;
/// How many packets explore after a freeze.
const EXPLORE: u32 = 16;

/// A ring of the last good entropies, which a timeout freezes.
#[derive(Default)]
pub struct Reps {
    paths: u32,
    ring: [(u16, bool); RING],
    head: usize,
    count: usize,
    fresh: usize,
    frozen: Option<u64>,
    frozen_at: usize,
    explore: u32,
}

impl Reps {
    fn random(&self, random: &mut Random) -> u16 {
        (random.draw() % self.paths) as u16
    }

    fn next(&mut self, random: &mut Random) -> u16 {
        if self.explore > 0 {
            self.explore -= 1;
            return self.random(random);
        }
        if self.count == 0 || (self.frozen.is_none() && self.fresh == 0) {
            return self.random(random);
        }
        let at = if self.frozen.is_some() { self.frozen_at } else { (self.head + RING - self.fresh) % RING };
        if self.ring[at].1 || self.frozen.is_none() {
            self.fresh = self.fresh.saturating_sub(1);
            self.ring[at].1 = false;
        }
        if self.frozen.is_some() {
            self.frozen_at = (self.frozen_at + 1) % self.count;
        }
        self.ring[at].0
    }

    fn feedback(&mut self, entropy: u16, feedback: Feedback, now: u64) {
        if self.frozen.is_some_and(|until| now > until) {
            *self = Self { paths: self.paths, explore: EXPLORE, ..Self::default() };
        }
        match feedback {
            Feedback::Good => {
                if !self.ring[self.head].1 {
                    self.fresh += 1;
                }
                self.ring[self.head] = (entropy, true);
                self.head = (self.head + 1) % RING;
                self.count = (self.count + 1).min(RING);
                self.fresh = self.fresh.min(RING);
            }
            Feedback::Timeout if self.frozen.is_none() && self.explore == 0 => self.frozen = Some(now + FREEZE),
            _ => {}
        }
    }
}
