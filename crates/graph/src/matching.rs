//! Which receive gets which message: by source and tag, first in, first out on both sides.

use crate::ANY;
use ahash::{HashMap, HashMapExt};

/// A message that has arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Message {
    /// The rank that sent it.
    pub from: u32,
    /// Its tag.
    pub tag: u32,
    /// Its size.
    pub bytes: u64,
    /// A number of the owner's, such as the node that sent it.
    pub token: u64,
}

type Key = (u32, u32);

const NONE: u32 = u32::MAX;

/// Waiting entries, each in the queue of its source and tag. Room of those that left is used again.
#[derive(Clone, Debug)]
struct Queues<T> {
    ends: HashMap<Key, (u32, u32)>,
    entries: Vec<Entry<T>>,
    free: Vec<u32>,
    count: u64,
}

#[derive(Clone, Copy, Debug)]
struct Entry<T> {
    value: T,
    /// How many came before it.
    number: u64,
    next: u32,
}

impl<T: Copy> Queues<T> {
    fn new() -> Self {
        Self { ends: HashMap::new(), entries: Vec::new(), free: Vec::new(), count: 0 }
    }

    fn push(&mut self, key: Key, value: T) {
        let entry = Entry { value, number: self.count, next: NONE };
        self.count += 1;
        let at = match self.free.pop() {
            Some(at) => {
                self.entries[at as usize] = entry;
                at
            }
            None => {
                self.entries.push(entry);
                self.entries.len() as u32 - 1
            }
        };
        let (_, last) =
            self.ends.entry(key).and_modify(|(_, last)| self.entries[*last as usize].next = at).or_insert((at, at));
        *last = at;
    }

    fn pop(&mut self, key: Key) -> Option<T> {
        let (first, _) = self.ends.get_mut(&key)?;
        let at = *first;
        let Entry { value, next, .. } = self.entries[at as usize];
        *first = next;
        if next == NONE {
            self.ends.remove(&key);
        }
        self.free.push(at);
        Some(value)
    }

    /// Takes the oldest entry of these queues.
    fn pop_oldest(&mut self, keys: impl Iterator<Item = Key>) -> Option<T> {
        let number = |key: &Key| self.ends.get(key).map(|(first, _)| self.entries[*first as usize].number);
        let (_, key) = keys.filter_map(|key| Some((number(&key)?, key))).min()?;
        self.pop(key)
    }

    fn values(&self) -> impl Iterator<Item = T> {
        let mut firsts: Vec<u32> = self.ends.values().map(|(first, _)| *first).collect();
        let mut found = Vec::new();
        while let Some(at) = firsts.pop() {
            let entry = &self.entries[at as usize];
            found.push((entry.number, entry.value));
            firsts.extend(Some(entry.next).filter(|next| *next != NONE));
        }
        found.sort_by_key(|(number, _)| *number);
        found.into_iter().map(|(_, value)| value)
    }
}

/// Receives that wait for messages, and messages that wait for receives.
#[derive(Clone, Debug)]
pub(crate) struct Matcher {
    posted: Queues<u32>,
    early: Queues<Message>,
    /// Receives ever posted that take any source or any tag.
    wild: bool,
}

impl Matcher {
    pub(crate) fn new() -> Self {
        Self { posted: Queues::new(), early: Queues::new(), wild: false }
    }

    /// Posts a receive; returns the message that it gets, if it is there.
    pub(crate) fn post(&mut self, from: u32, tag: u32, receive: u32) -> Option<Message> {
        let message = if from == ANY || tag == ANY {
            self.wild = true;
            let fits = |key: &&Key| (from == ANY || key.0 == from) && (tag == ANY || key.1 == tag);
            let keys: Vec<Key> = self.early.ends.keys().filter(fits).copied().collect();
            self.early.pop_oldest(keys.into_iter())
        } else {
            self.early.pop((from, tag))
        };
        if message.is_none() {
            self.posted.push((from, tag), receive);
        }
        message
    }

    /// Takes a message in; returns the receive that gets it, if one waits.
    pub(crate) fn arrive(&mut self, message: Message) -> Option<u32> {
        let Message { from, tag, .. } = message;
        let receive = if self.wild {
            self.posted.pop_oldest([(from, tag), (from, ANY), (ANY, tag), (ANY, ANY)].into_iter())
        } else {
            self.posted.pop((from, tag))
        };
        if receive.is_none() {
            self.early.push((from, tag), message);
        }
        receive
    }

    /// Messages without a receive, in order of arrival.
    pub(crate) fn early(&self) -> impl Iterator<Item = Message> {
        self.early.values()
    }

    /// Receives without a message, in the order in which they were posted.
    pub(crate) fn posted(&self) -> impl Iterator<Item = u32> {
        self.posted.values()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(from: u32, tag: u32, token: u64) -> Message {
        Message { from, tag, bytes: 1, token }
    }

    #[test]
    fn the_oldest_that_fits_is_taken_on_both_sides() {
        let mut matcher = Matcher::new();
        assert_eq!(matcher.arrive(message(1, 7, 10)), None);
        assert_eq!(matcher.arrive(message(2, 7, 11)), None);
        assert_eq!(matcher.arrive(message(1, 7, 12)), None);
        assert_eq!(matcher.post(1, 7, 0).map(|m| m.token), Some(10));
        assert_eq!(matcher.post(ANY, 7, 0).map(|m| m.token), Some(11));
        assert_eq!(matcher.post(1, ANY, 0).map(|m| m.token), Some(12));
        assert_eq!((matcher.post(1, 7, 0), matcher.post(ANY, ANY, 1), matcher.post(1, 7, 2)), (None, None, None));
        assert_eq!(matcher.posted().collect::<Vec<_>>(), [0, 1, 2]);
        assert_eq!([1, 1, 1].map(|from| matcher.arrive(message(from, 7, 0))), [Some(0), Some(1), Some(2)]);
    }
}
