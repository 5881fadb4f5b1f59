//! A sender's choice of paths with random numbers of its own.

use super::{Feedback, Paths, PathsKind};
use crate::random::Random;

/// How the senders of a network choose paths.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spraying {
    /// The selector.
    pub kind: PathsKind,
    /// Number of paths, a power of two up to 65,536.
    pub paths: u32,
}

/// The paths of one sender. Its random numbers are its own, so that a run gives the same result on any number of
/// threads.
pub struct Sprayer {
    paths: Paths,
    random: Random,
}

impl Sprayer {
    /// That of a sender; `seed` is for its random numbers.
    pub fn new(spraying: Spraying, seed: u64) -> Self {
        let mut random = Random::new(seed);
        let paths = Paths::new(spraying.kind, spraying.paths, &mut || random.bits_31());
        Self { paths, random }
    }

    /// The path of the packet with this number. `window` is the congestion window in packets.
    pub fn next_path(&mut self, psn: u32, window: u64) -> u16 {
        self.paths.next_path(psn, window, &mut || self.random.bits_31())
    }

    /// See [`Paths::feedback`].
    pub fn feedback(&mut self, path: u16, feedback: Feedback, now: u64) {
        self.paths.feedback(path, feedback, now);
    }
}
