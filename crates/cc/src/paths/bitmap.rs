//! A walk that skips paths with penalties; each packet that skips reduces one. Source: uet-htsim, bitmap.

use super::feedback::Feedback;
use super::oblivious::Oblivious;
use alloc::vec;
use alloc::vec::Vec;

/// The largest penalty of a path.
const MOST: u8 = 15;

/// A walk over all paths, and their penalties.
#[derive(Clone, Debug)]
pub struct Bitmap {
    walk: Oblivious,
    penalty: Vec<u8>,
}

impl Bitmap {
    pub(super) fn new(paths: u32, draw: &mut impl FnMut() -> u32) -> Self {
        Self { walk: Oblivious::new(paths, draw), penalty: vec![0; paths as usize] }
    }

    pub(super) fn next_path(&mut self, _psn: u32, _window: u64, draw: &mut impl FnMut() -> u32) -> u16 {
        let mut path = self.walk.lower();
        let mut count = 0;
        while self.penalty[path as usize] > 0 {
            if count == 0 {
                self.penalty[path as usize] -= 1;
            }
            count += 1;
            if count > self.walk.paths {
                break;
            }
            self.walk.step(draw);
            path = self.walk.lower();
        }
        let whole = self.walk.whole(path);
        self.walk.step(draw);
        whole
    }

    pub(super) fn feedback(&mut self, path: u16, feedback: Feedback, _now: u64) {
        let more = match feedback {
            Feedback::Good => 0,
            Feedback::Marked => 1,
            Feedback::Trimmed => 4,
            Feedback::Timeout => MOST,
        };
        let penalty = &mut self.penalty[(u32::from(path) & (self.walk.paths - 1)) as usize];
        *penalty = (*penalty + more).min(MOST);
    }
}
