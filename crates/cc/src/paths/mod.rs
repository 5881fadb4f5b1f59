//! How a sender chooses the path of each packet, by a number in its header (an entropy value) that switches hash. Pure,
//! and independent of the scheme.
//!
//! A sender that sprays packets has a [`Paths`]. It is asked for each packet, and told what the network did to each
//! path that an answer names. Sources: Ultra Ethernet 1.0, and the multipath engines of uet-htsim, draw for draw.
//!
//! A selector of one's own is a [`SelectorProgram`], which builds a [`PathSelector`] for each sender.

mod bitmap;
mod feedback;
mod good;
mod mixed;
mod oblivious;
mod own;
mod reps;
mod reps_legacy;
mod sprayer;

pub use feedback::Feedback;
pub use own::{NUMBER_CHANGED, PathSelector, SelectorInfo, SelectorProgram};
pub use sprayer::{Selector, Sprayer, Spraying};

/// The list of selectors, one a line: its file, its type, its id, and what it does.
macro_rules! selectors {
    ($($file:ident :: $name:ident, $id:literal, $does:literal;)*) => {
        /// How senders choose paths.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum PathsKind { $(
            #[doc = $does]
            $name,
        )* }

        impl PathsKind {
            /// The ids in specs, and what each does.
            pub const NAMES: &'static [(&'static str, &'static str)] = &[$(($id, $does),)*];

            /// The kind of this id.
            pub fn named(id: &str) -> Option<Self> {
                match id {
                    $($id => Some(Self::$name),)*
                    _ => None,
                }
            }
        }

        /// How one sender chooses paths.
        pub enum Paths { $(
            #[doc = $does]
            $name($file::$name),
        )* }

        impl Paths {
            /// A selector of `paths` paths, a power of two up to 65,536 (any other number counts as the next power of
            /// two, at most that). `draw` gives random numbers of 31 bits.
            pub fn new(kind: PathsKind, paths: u32, draw: &mut impl FnMut() -> u32) -> Self {
                let paths = paths.clamp(1, 1 << 16).next_power_of_two();
                match kind { $(PathsKind::$name => Self::$name($file::$name::new(paths, draw)),)* }
            }

            /// The path of the packet with this number. `window` is the congestion window in packets.
            #[inline]
            pub fn next_path(&mut self, psn: u32, window: u64, draw: &mut impl FnMut() -> u32) -> u16 {
                match self {
                    $(Self::$name(selector) => selector.next_path(psn, window, draw),)*
                }
            }

            /// What became of a packet of a path, at a time in picoseconds. After a timeout the path is not known: it
            /// is 0.
            #[inline]
            pub fn feedback(&mut self, path: u16, feedback: Feedback, now: u64) {
                match self {
                    $(Self::$name(selector) => selector.feedback(path, feedback, now),)*
                }
            }
        }
    };
}

selectors! {
    oblivious::Oblivious, "oblivious", "All paths in turn, whatever happens.";
    bitmap::Bitmap, "bitmap", "All paths in turn, skipping those with penalties for marks, trims and timeouts.";
    reps::Reps, "reps", "A ring of the eight last good paths; random ones without such (REPS).";
    reps_legacy::RepsLegacy, "reps-legacy", "Good paths, first in first out; random ones without such (older REPS).";
    mixed::Mixed, "mixed", "Good paths, first in first out; the choice of `bitmap` without such.";
}
