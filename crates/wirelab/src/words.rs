//! Numbers as bytes, between the processes of a run.

use fanin_cc::Actions;
use fanin_cc::own::Failure;
use fanin_fabric::{
    ClassCounters, DropCause, FlowRecord, Incident, IncidentCounts, Incidents, Totals, TrafficCounters, What,
};
use fanin_units::{Count, PortId, Time};

/// Numbers of 64 bits, little-endian, one after another.
#[derive(Clone, Debug, Default)]
pub struct Words(Vec<u8>);

impl Words {
    /// Adds one.
    pub fn put(&mut self, word: u64) {
        self.0.extend(word.to_le_bytes());
    }

    /// Adds several.
    pub fn all(&mut self, words: impl IntoIterator<Item = u64>) {
        words.into_iter().for_each(|word| self.put(word));
    }

    /// Adds a list with its length.
    pub fn list(&mut self, words: &[u64]) {
        self.put(words.len() as u64);
        self.all(words.iter().copied());
    }

    /// As bytes.
    pub fn bytes(&self) -> &[u8] {
        &self.0
    }
}

/// Reads [`Words`]; `None` where they end too early.
pub struct Reader<'a>(pub &'a [u8]);

impl Reader<'_> {
    /// The next one.
    pub fn word(&mut self) -> Option<u64> {
        let (word, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(u64::from_le_bytes(*word))
    }

    /// The next ones.
    pub fn words<const N: usize>(&mut self) -> Option<[u64; N]> {
        let mut words = [0; N];
        for word in &mut words {
            *word = self.word()?;
        }
        Some(words)
    }

    /// A list with its length.
    pub fn list(&mut self) -> Option<Vec<u64>> {
        let len = self.word()?;
        (0..len).map(|_| self.word()).collect()
    }
}

/// Something that is sent as numbers.
pub trait Wire: Sized {
    /// Appends it.
    fn write(&self, words: &mut Words);

    /// Reads one; `None` where it ends too early or is not of its type.
    fn read(words: &mut Reader<'_>) -> Option<Self>;
}

macro_rules! numbers {
    ($($type:ty),*) => {
        $(impl Wire for $type {
            fn write(&self, words: &mut Words) {
                words.put(*self as u64);
            }

            fn read(words: &mut Reader<'_>) -> Option<Self> {
                words.word().map(|word| word as Self)
            }
        })*
    };
}

numbers!(u8, u16, u32, u64, i64);

impl Wire for bool {
    fn write(&self, words: &mut Words) {
        words.put((*self).into());
    }

    fn read(words: &mut Reader<'_>) -> Option<Self> {
        words.word().map(|word| word != 0)
    }
}

impl Wire for PortId {
    fn write(&self, words: &mut Words) {
        self.0.write(words);
    }

    fn read(words: &mut Reader<'_>) -> Option<Self> {
        u32::read(words).map(Self)
    }
}

impl Wire for String {
    fn write(&self, words: &mut Words) {
        self.as_bytes().to_vec().write(words);
    }

    fn read(words: &mut Reader<'_>) -> Option<Self> {
        Self::from_utf8(Vec::read(words)?).ok()
    }
}

impl<T: Wire> Wire for Option<T> {
    fn write(&self, words: &mut Words) {
        self.is_some().write(words);
        self.iter().for_each(|of| of.write(words));
    }

    fn read(words: &mut Reader<'_>) -> Option<Self> {
        if bool::read(words)? { T::read(words).map(Some) } else { Some(None) }
    }
}

impl<T: Wire> Wire for Vec<T> {
    fn write(&self, words: &mut Words) {
        words.put(self.len() as u64);
        self.iter().for_each(|of| of.write(words));
    }

    fn read(words: &mut Reader<'_>) -> Option<Self> {
        let len = words.word()?;
        (0..len).map(|_| T::read(words)).collect()
    }
}

impl<A: Wire, B: Wire> Wire for (A, B) {
    fn write(&self, words: &mut Words) {
        self.0.write(words);
        self.1.write(words);
    }

    fn read(words: &mut Reader<'_>) -> Option<Self> {
        Some((A::read(words)?, B::read(words)?))
    }
}

macro_rules! counted {
    ($($type:ty),*) => {
        $(impl Wire for $type {
            fn write(&self, words: &mut Words) {
                Count::write(self, &mut |word| words.put(word));
            }

            fn read(words: &mut Reader<'_>) -> Option<Self> {
                Count::read(&mut || words.word())
            }
        })*
    };
}

counted!(Time, Actions, ClassCounters, IncidentCounts, Totals, TrafficCounters);

/// Sends structs field by field. A field that is left out does not compile.
macro_rules! fields {
    ($type:ty { $($field:ident),* $(,)? }) => {
        impl $crate::words::Wire for $type {
            fn write(&self, words: &mut $crate::words::Words) {
                $($crate::words::Wire::write(&self.$field, words);)*
            }

            fn read(words: &mut $crate::words::Reader<'_>) -> Option<Self> {
                Some(Self { $($field: $crate::words::Wire::read(words)?,)* })
            }
        }
    };
}
pub(crate) use fields;

fields!(Failure { at, problem });
fields!(Incident { time, port, what });
fields!(Incidents { kept, seen });
fields!(FlowRecord {
    start,
    finished,
    acked,
    bytes,
    delivered,
    ideal,
    src,
    dst,
    group,
    packets_sent,
    packets_resent,
    timeouts,
    packets_marked,
    packets_arrived,
    traffic,
    hops,
    links,
    deflections,
    attempts,
    reordered,
    request,
    given_up,
});

impl Wire for What {
    fn write(&self, words: &mut Words) {
        let (kind, of): (u8, u8) = match *self {
            Self::Dropped(cause) => (0, cause as u8),
            Self::Paused(class) => (1, class),
            Self::CircularWait(class) => (2, class),
            Self::Storm(class) => (3, class),
            Self::StormEnd(class) => (4, class),
        };
        (kind, of).write(words);
    }

    fn read(words: &mut Reader<'_>) -> Option<Self> {
        Some(match <(u8, u8)>::read(words)? {
            (0, cause) => Self::Dropped(*DropCause::ALL.get(usize::from(cause))?),
            (1, class) => Self::Paused(class),
            (2, class) => Self::CircularWait(class),
            (3, class) => Self::Storm(class),
            (4, class) => Self::StormEnd(class),
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_is_read_as_it_was_written() {
        let record = FlowRecord {
            start: Time::from_ns(1),
            finished: Time::from_ns(2),
            acked: Time::NEVER,
            delivered: 4,
            ideal: Time::from_ns(5),
            packets_sent: 6,
            packets_resent: 7,
            timeouts: 8,
            packets_marked: 9,
            packets_arrived: 10,
            hops: 11,
            links: 12,
            deflections: 13,
            attempts: 14,
            reordered: 15,
            request: true,
            given_up: true,
            ..FlowRecord::new(16, 17, 18, 19, 20)
        };
        let mut words = Words::default();
        record.write(&mut words);
        words.list(&[1, 2, 3]);
        let mut read = Reader(words.bytes());
        assert_eq!((FlowRecord::read(&mut read), read.list(), read.word()), (Some(record), Some(vec![1, 2, 3]), None));
    }
}
