//! Time, sizes and rates as integers.
//!
//! Time is counted in whole picoseconds: one byte takes a whole number of them at 1, 10, 25, 40, 100, 200, 400 and 800
//! Gb/s. Rates are bits per second. Sizes and rates are converted to times only by [`Rate::tx_time`], which rounds up
//! to the next picosecond.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

mod count;
mod quantity;
mod text;

pub use count::Count;
pub use quantity::{Bytes, Rate, Time};
pub use text::UnitError;

/// Declares a dense index as a separate type, so that a port can never be used as a flow.
#[macro_export]
macro_rules! index {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
        #[repr(transparent)]
        pub struct $name(pub u32);

        impl $name {
            /// Marks "no such entry".
            pub const NONE: Self = Self(u32::MAX);

            /// The index as a vector position.
            #[inline(always)]
            pub const fn ix(self) -> usize {
                self.0 as usize
            }

            /// Whether this is a real index.
            #[inline(always)]
            pub const fn is_some(self) -> bool {
                self.0 != u32::MAX
            }
        }
    };
}

index!(
    /// A node of the network: hosts come first, then switches.
    NodeId
);
index!(
    /// One direction of a link, which is also the egress port that feeds it. `PortId(p ^ 1)` is the other direction.
    PortId
);
index!(
    /// A message or byte stream numbered by start over the whole run and never reused.
    MessageId
);

impl PortId {
    /// The other direction of the same link: the egress port of the peer towards us.
    #[inline(always)]
    pub const fn reverse(self) -> Self {
        Self(self.0 ^ 1)
    }
}
