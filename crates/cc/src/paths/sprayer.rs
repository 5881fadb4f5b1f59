//! A sender's choice of paths with random numbers of its own.

use super::{Feedback, PathSelector, Paths, PathsKind, SelectorInfo, SelectorProgram};
use crate::random::Random;
use alloc::boxed::Box;
use alloc::sync::Arc;
use fanin_units::Time;

/// What chooses the paths of a sender.
#[derive(Clone, Debug)]
pub enum Selector {
    /// A built-in selector.
    BuiltIn(PathsKind),
    /// One's own.
    Own(Arc<dyn SelectorProgram>),
}

impl PartialEq for Selector {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::BuiltIn(ours), Self::BuiltIn(theirs)) => ours == theirs,
            (Self::Own(ours), Self::Own(theirs)) => Arc::ptr_eq(ours, theirs),
            _ => false,
        }
    }
}

/// How the senders of a network choose paths.
#[derive(Clone, Debug, PartialEq)]
pub struct Spraying {
    /// The selector.
    pub selector: Selector,
    /// Number of paths, a power of two up to 65,536.
    pub paths: u32,
}

impl Spraying {
    /// By a built-in selector.
    pub const fn by(kind: PathsKind, paths: u32) -> Self {
        Self { selector: Selector::BuiltIn(kind), paths }
    }

    /// The program of one's own selector.
    pub const fn own(&self) -> Option<&Arc<dyn SelectorProgram>> {
        match &self.selector {
            Selector::BuiltIn(_) => None,
            Selector::Own(program) => Some(program),
        }
    }
}

/// The paths of one sender. Its random numbers are its own, so that a run gives the same result on any number of
/// threads.
pub struct Sprayer(Choice);

enum Choice {
    BuiltIn(Paths, Random),
    Own(Box<dyn PathSelector>),
}

impl Sprayer {
    /// That of a sender, whose seed is for its random numbers.
    pub fn new(selector: &Selector, sender: &SelectorInfo) -> Self {
        Self(match selector {
            Selector::BuiltIn(kind) => {
                let mut random = Random::new(sender.seed);
                let paths = Paths::new(*kind, sender.paths, &mut || random.bits_31());
                Choice::BuiltIn(paths, random)
            }
            Selector::Own(program) => Choice::Own(program.build(sender)),
        })
    }

    /// The path of the packet with this number. `window` is the congestion window in packets.
    pub fn next_path(&mut self, now: Time, psn: u32, window: u64) -> u16 {
        match &mut self.0 {
            Choice::BuiltIn(paths, random) => paths.next_path(psn, window, &mut || random.bits_31()),
            Choice::Own(selector) => selector.next_path(now, psn, window),
        }
    }

    /// See [`Paths::feedback`].
    pub fn feedback(&mut self, now: Time, path: u16, feedback: Feedback) {
        match &mut self.0 {
            Choice::BuiltIn(paths, _) => paths.feedback(path, feedback, now.as_ps()),
            Choice::Own(selector) => selector.feedback(now, path, feedback),
        }
    }
}
