//! Paths that were good, first in first out; without such the bitmap's choice. Source: uet-htsim, mixed.

use super::bitmap::Bitmap;
use super::feedback::Feedback;
use super::good::Good;

/// Good paths and a bitmap, which get all feedback.
#[derive(Clone, Debug)]
pub struct Mixed {
    good: Good,
    bitmap: Bitmap,
}

impl Mixed {
    pub(super) fn new(paths: u32, draw: &mut impl FnMut() -> u32) -> Self {
        Self { good: Good::default(), bitmap: Bitmap::new(paths, draw) }
    }

    #[inline]
    pub(super) fn next_path(&mut self, psn: u32, window: u64, draw: &mut impl FnMut() -> u32) -> u16 {
        self.good.pop().unwrap_or_else(|| self.bitmap.next_path(psn, window, draw))
    }

    #[inline]
    pub(super) fn feedback(&mut self, path: u16, feedback: Feedback, now: u64) {
        if feedback == Feedback::Good {
            self.good.push(path);
        }
        self.bitmap.feedback(path, feedback, now);
    }
}
