//! Counters that every part of a network has: those of all parts add up, and they travel between processes as numbers.

use crate::Time;

/// Something that counts.
pub trait Count: Sized {
    /// Adds what another part has counted.
    fn add(&mut self, other: &Self);

    /// Calls `put` with each number, in a fixed order.
    fn write(&self, put: &mut impl FnMut(u64));

    /// Takes as many numbers as [`Count::write`] puts; `None` where they end too early.
    fn read(take: &mut impl FnMut() -> Option<u64>) -> Option<Self>;
}

impl Count for u64 {
    // Some are sums of hashes.
    fn add(&mut self, other: &Self) {
        *self = self.wrapping_add(*other);
    }

    fn write(&self, put: &mut impl FnMut(u64)) {
        put(*self);
    }

    fn read(take: &mut impl FnMut() -> Option<u64>) -> Option<Self> {
        take()
    }
}

impl Count for Time {
    fn add(&mut self, other: &Self) {
        *self += *other;
    }

    fn write(&self, put: &mut impl FnMut(u64)) {
        put(self.as_ps());
    }

    fn read(take: &mut impl FnMut() -> Option<u64>) -> Option<Self> {
        take().map(Self::from_ps)
    }
}

/// Declares a struct of counters with [`Count`] and `+=`. A field with `= max` is the largest of all parts, not their
/// sum.
#[macro_export]
macro_rules! counters {
    ($(#[$meta:meta])* pub struct $name:ident {
        $($(#[$doc:meta])* pub $field:ident: $type:ty $(= $merge:ident)?,)*
    }) => {
        $(#[$meta])*
        pub struct $name {
            $($(#[$doc])* pub $field: $type,)*
        }

        impl $crate::Count for $name {
            fn add(&mut self, other: &Self) {
                $($crate::counters!(@add self.$field, other.$field $(, $merge)?);)*
            }

            fn write(&self, put: &mut impl FnMut(u64)) {
                $($crate::Count::write(&self.$field, put);)*
            }

            fn read(take: &mut impl FnMut() -> Option<u64>) -> Option<Self> {
                Some(Self { $($field: $crate::Count::read(take)?,)* })
            }
        }

        impl core::ops::AddAssign<&Self> for $name {
            fn add_assign(&mut self, other: &Self) {
                $crate::Count::add(self, other);
            }
        }
    };
    (@add $sum:expr, $of:expr) => { $crate::Count::add(&mut $sum, &$of) };
    (@add $sum:expr, $of:expr, max) => { $sum = $sum.max($of) };
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    counters! {
        #[derive(Clone, Copy, Debug, PartialEq)]
        pub struct Inner {
            pub count: u64,
            pub time: Time,
        }
    }

    counters! {
        #[derive(Clone, Copy, Debug, PartialEq)]
        pub struct Outer {
            pub inner: Inner,
            pub hash: u64,
            pub most: u64 = max,
        }
    }

    #[test]
    fn counters_add_up_and_are_read_as_they_were_written() {
        let one = Outer { inner: Inner { count: 1, time: Time::from_ps(2) }, hash: u64::MAX, most: 4 };
        let mut sum = Outer { inner: Inner { count: 10, time: Time::from_ps(20) }, hash: 2, most: 3 };
        sum += &one;
        assert_eq!(sum, Outer { inner: Inner { count: 11, time: Time::from_ps(22) }, hash: 1, most: 4 });

        let mut words = Vec::new();
        sum.write(&mut |word| words.push(word));
        assert_eq!(words, [11, 22, 1, 4]);
        let mut read = words.iter().copied();
        assert_eq!(Outer::read(&mut || read.next()), Some(sum));
        let mut short = words[..3].iter().copied();
        assert_eq!(Outer::read(&mut || short.next()), None);
    }
}
