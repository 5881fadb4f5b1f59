//! Paths that were good, first in first out, after a first window of all in turn; random ones without such. Source:
//! uet-htsim, the older REPS.

use super::feedback::Feedback;
use super::good::Good;

/// Recycled paths.
#[derive(Clone, Debug)]
pub struct RepsLegacy {
    paths: u32,
    count: u32,
    good: Good,
}

impl RepsLegacy {
    pub(super) fn new(paths: u32, _draw: &mut impl FnMut() -> u32) -> Self {
        Self { paths, count: 0, good: Good::default() }
    }

    #[inline]
    pub(super) fn next_path(&mut self, psn: u32, window: u64, draw: &mut impl FnMut() -> u32) -> u16 {
        if u64::from(psn) < window.min(u64::from(self.paths)) {
            self.count = (self.count + 1) % self.paths;
            return self.count as u16;
        }
        self.good.pop().unwrap_or_else(|| (draw() % self.paths) as u16)
    }

    #[inline]
    pub(super) fn feedback(&mut self, path: u16, feedback: Feedback, _now: u64) {
        if feedback == Feedback::Good {
            self.good.push(path);
        }
    }
}
