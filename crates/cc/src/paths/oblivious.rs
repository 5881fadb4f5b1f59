//! All paths in turn, in an order that a random number changes at each round. Source: uet-htsim, oblivious spraying.

use super::feedback::Feedback;

/// A walk over all paths, whatever happens.
#[derive(Clone, Debug)]
pub struct Oblivious {
    pub(super) paths: u32,
    upper: u32,
    xor: u32,
    at: u32,
}

impl Oblivious {
    pub(super) fn new(paths: u32, draw: &mut impl FnMut() -> u32) -> Self {
        let upper = draw() % 65_535;
        Self { paths, upper, xor: draw() % paths, at: 0 }
    }

    /// The path of this step, without the upper bits.
    pub(super) fn lower(&self) -> u32 {
        (self.at ^ self.xor) & (self.paths - 1)
    }

    pub(super) fn step(&mut self, draw: &mut impl FnMut() -> u32) {
        self.at += 1;
        if self.at == self.paths {
            self.at = 0;
            self.xor = draw() & (self.paths - 1);
        }
    }

    /// A path with the upper bits of this sender.
    pub(super) fn whole(&self, lower: u32) -> u16 {
        (lower | (self.upper & !(self.paths - 1))) as u16
    }

    #[inline]
    pub(super) fn next_path(&mut self, _psn: u32, _window: u64, draw: &mut impl FnMut() -> u32) -> u16 {
        let path = self.whole(self.lower());
        self.step(draw);
        path
    }

    pub(super) fn feedback(&mut self, _path: u16, _feedback: Feedback, _now: u64) {}
}
