//! A ring of the last good paths, which a timeout freezes. Source: "Recycled Entropy Packet Spraying" (Bonato et al.,
//! 2024), with uet-htsim's numbers.

use super::feedback::Feedback;

const RING: usize = 8;
/// How long a timeout freezes the ring, in picoseconds.
const FREEZE: u64 = 10_000_000_000;
/// How many packets explore after a freeze.
const EXPLORE: u32 = 16;

/// The ring. A path in it is fresh until it is used.
#[derive(Clone, Debug, Default)]
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
    pub(super) fn new(paths: u32, _draw: &mut impl FnMut() -> u32) -> Self {
        Self { paths, ..Self::default() }
    }

    #[inline]
    pub(super) fn next_path(&mut self, _psn: u32, _window: u64, draw: &mut impl FnMut() -> u32) -> u16 {
        if self.explore > 0 {
            self.explore -= 1;
            return (draw() % self.paths) as u16;
        }
        if self.count == 0 || (self.frozen.is_none() && self.fresh == 0) {
            return (draw() % self.paths) as u16;
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

    #[inline]
    pub(super) fn feedback(&mut self, path: u16, feedback: Feedback, now: u64) {
        if self.frozen.is_some_and(|until| now > until) {
            *self = Self { paths: self.paths, explore: EXPLORE, ..Self::default() };
        }
        match feedback {
            Feedback::Good => {
                if !self.ring[self.head].1 {
                    self.fresh += 1;
                }
                self.ring[self.head] = (path, true);
                self.head = (self.head + 1) % RING;
                self.count = (self.count + 1).min(RING);
                self.fresh = self.fresh.min(RING);
            }
            Feedback::Timeout if self.frozen.is_none() && self.explore == 0 => {
                self.frozen = Some(now.saturating_add(FREEZE));
            }
            _ => {}
        }
    }
}
