//! The calendar queue: buckets of equal width for the near future, a heap for later events.

use crate::{Event, EventQueue, Order, prefetch};
use core::cmp::Reverse;
use fanin_units::Time;
use std::collections::BinaryHeap;

/// Most buckets of a calendar: 2^14 of them take 400 KB before they hold anything.
const MOST_BUCKETS: usize = 1 << 14;
/// Events per bucket when every link is busy: enough to fill a cache line, few enough that sorting is cheap.
const EVENTS_PER_BUCKET: u64 = 64;
/// Capacity in events of an emptied bucket's memory that is kept.
const KEPT: usize = 128;
/// Events in the sorted front before a refill, so that a model can prefetch upcoming events.
const LOOK_AHEAD: usize = 7;
/// Events in the front after a refill.
const LINE: usize = 10;
/// Most buckets moved to the front for prefetching.
const SPAN: u64 = 32;
/// Events removed from the front before the others move to its start.
const SPENT: usize = 256;
/// Most events of a bucket for which counting sort is used.
const FEW: usize = 64;
/// Keys that are compared together.
const WIDE: usize = 8;

/// The next events are in a sorted front, refilled a few buckets at a time so that a model can prefetch them; events of
/// later buckets are in unsorted arrays, each of which is written and read in order; those beyond the last bucket are
/// in a heap. A two-level bitmap finds the next non-empty bucket.
pub struct CalendarQueue {
    order: Order,
    /// Bucket width is 2^shift picoseconds.
    shift: u32,
    /// Number (time >> shift) of the last bucket that was moved to the front.
    day: u64,
    /// The front, sorted: all events in bucket `day` or earlier.
    line: Vec<Event>,
    /// Keys by which many events are sorted.
    scratch: Scratch,
    /// Index of the first event in the front.
    first: usize,
    /// The buckets, a power of two; empty ones have no memory.
    buckets: Vec<Vec<Event>>,
    /// Memory of emptied buckets, the most recent on top because it is still in the cache.
    spare: Vec<Vec<Event>>,
    words: Vec<u64>,
    summary: Vec<u64>,
    far: BinaryHeap<Reverse<(Time, u32, u32)>>,
    /// The bucket of the first event in the heap.
    far_day: u64,
}

/// Sort keys, kept so that they need not be cleared.
struct Scratch {
    few: [i32; FEW],
    many: Vec<u64>,
}

impl CalendarQueue {
    /// A queue for events mostly within `horizon` of now, about `spacing` apart (for a network: the time of a packet on
    /// the fastest link, divided by the number of links).
    pub fn new(seed: u64, spacing: Time, horizon: Time) -> Self {
        // At least two instants, so that the time within a bucket has at least one bit.
        let mut shift = spacing.as_ps().max(1).saturating_mul(EVENTS_PER_BUCKET).ilog2().max(1);
        while horizon.as_ps() >> shift >= MOST_BUCKETS as u64 - 1 {
            shift += 1;
        }
        let buckets = ((horizon.as_ps() >> shift) as usize + 2).next_power_of_two().max(64);
        Self {
            order: Order::new(seed),
            shift,
            day: 0,
            line: Vec::new(),
            scratch: Scratch { few: [0; FEW], many: Vec::new() },
            first: 0,
            buckets: vec![Vec::new(); buckets],
            spare: Vec::new(),
            words: vec![0; buckets / 64],
            summary: vec![0; (buckets / 64).div_ceil(64)],
            far: BinaryHeap::new(),
            far_day: u64::MAX,
        }
    }

    #[inline(always)]
    fn day_of(&self, at: Time) -> u64 {
        at.as_ps() >> self.shift
    }

    #[inline(never)]
    fn insert_in_line(&mut self, at: Time, source: u32, arg: u32) {
        let event = Event { at, source, arg };
        let key = self.order.key(&event);
        let at = self.first + self.line[self.first..].partition_point(|e| self.order.key(e) < key);
        self.line.insert(at, event);
    }

    #[inline(always)]
    fn insert_bucket(&mut self, day: u64, event: Event) {
        let at = day as usize & (self.buckets.len() - 1);
        let bucket = &mut self.buckets[at];
        if bucket.is_empty() {
            self.words[at / 64] |= 1 << (at % 64);
            self.summary[at / 4096] |= 1 << (at / 64 % 64);
            if let Some(spare) = self.spare.pop() {
                *bucket = spare;
            }
        }
        bucket.push(event);
    }

    /// Buckets from now to the next non-empty one, at least 1.
    #[inline(always)]
    fn next_occupied(&self) -> Option<u64> {
        let start = (self.day as usize + 1) & (self.buckets.len() - 1);
        let rest = self.words[start / 64] >> (start % 64);
        if rest != 0 {
            return Some(1 + rest.trailing_zeros() as u64);
        }
        self.next_word()
    }

    /// The same if the rest of the word is empty.
    #[inline(never)]
    fn next_word(&self) -> Option<u64> {
        let buckets = self.buckets.len();
        let start = (self.day as usize + 1) & (buckets - 1);
        let distance = |bucket: usize| 1 + ((bucket.wrapping_sub(start)) & (buckets - 1)) as u64;
        let word = start / 64;
        // The words after this one, around the calendar; the start word comes last for its lower bits.
        let groups = self.summary.len();
        let (group, bit) = (word / 64, word % 64);
        let above = if bit == 63 { 0 } else { self.summary[group] & (u64::MAX << (bit + 1)) };
        let found = |group: usize, bits: u64| {
            let word = group * 64 + bits.trailing_zeros() as usize;
            distance(word * 64 + self.words[word].trailing_zeros() as usize)
        };
        if above != 0 {
            return Some(found(group, above));
        }
        for step in 1..=groups {
            let group = (group + step) % groups;
            if self.summary[group] != 0 {
                return Some(found(group, self.summary[group]));
            }
        }
        None
    }

    /// Moves whole buckets to the end of the front until it is long enough for prefetching. Never goes beyond `limit`,
    /// nor far ahead only for prefetching: an event pushed later that precedes the end of the front must be inserted
    /// into it.
    #[inline(never)]
    fn refill(&mut self, limit: Time) {
        if self.first >= SPENT {
            self.line.drain(..self.first);
            self.first = 0;
        }
        let last = self.day_of(limit);
        while self.line.len() - self.first < LINE {
            let near = self.line.get(self.first).map_or(last, |e| last.min(self.day_of(e.at) + SPAN));
            let mut day = self.next_occupied().map_or(u64::MAX, |days| self.day + days);
            if self.far_day <= day {
                day = self.far_day;
            }
            if day > near || day == u64::MAX {
                break;
            }
            self.day = day;
            if self.far_day < day.saturating_add(self.buckets.len() as u64) {
                self.near_future();
            }
            self.take_bucket();
        }
        self.prefetch_next();
    }

    /// Prefetches the memory of the next bucket.
    #[inline(always)]
    fn prefetch_next(&self) {
        if let Some(days) = self.next_occupied() {
            let bucket = &self.buckets[(self.day + days) as usize & (self.buckets.len() - 1)];
            for at in [0, 4, 8] {
                prefetch(bucket, at);
            }
        }
    }

    /// Moves the events of bucket `day` to the end of the front, in order.
    #[inline(always)]
    fn take_bucket(&mut self) {
        let at = self.day as usize & (self.buckets.len() - 1);
        self.words[at / 64] &= !(1 << (at % 64));
        if self.words[at / 64] == 0 {
            self.summary[at / 4096] &= !(1 << (at / 64 % 64));
        }
        let bucket = &mut self.buckets[at];
        match bucket[..] {
            [only] => self.line.push(only),
            [a, b] => {
                let swapped = self.order.before(&b, &a);
                self.line.extend_from_slice(&if swapped { [b, a] } else { [a, b] });
            }
            _ => sort(self.order, self.shift, bucket, &mut self.line, &mut self.scratch),
        }
        let mut emptied = core::mem::take(bucket);
        if emptied.capacity() <= KEPT {
            emptied.clear();
            self.spare.push(emptied);
        }
    }

    /// Moves events that are now within the calendar's range from the heap to its buckets.
    #[inline(never)]
    fn near_future(&mut self) {
        let end = self.day.saturating_add(self.buckets.len() as u64);
        self.far_day = u64::MAX;
        while let Some(&Reverse((at, source, arg))) = self.far.peek() {
            let its = self.day_of(at);
            if its >= end {
                self.far_day = its;
                break;
            }
            self.far.pop();
            self.insert_bucket(its, Event { at, source, arg });
        }
    }

    #[inline(never)]
    fn push_far(&mut self, at: Time, source: u32, arg: u32) {
        self.far.push(Reverse((at, source, arg)));
        self.far_day = self.far_day.min(self.day_of(at));
    }
}

/// Appends the events of a bucket to the front in order, by a 32-bit key: the time within the bucket and as many bits
/// of the hash as fit. Few events are sorted by counting, for each, how many precede it: all are compared with all,
/// without branches that depend on the order, eight at a time. Many events, as when hosts are in lockstep, are
/// radix-sorted. If the keys are not distinct, an ordinary sort is used.
#[inline(always)]
fn sort(order: Order, shift: u32, bucket: &[Event], line: &mut Vec<Event>, scratch: &mut Scratch) {
    let start = line.len();
    let done = if bucket.len() <= FEW {
        by_counting(order, shift, bucket, line, &mut scratch.few)
    } else {
        by_words(order, shift, bucket, line, &mut scratch.many)
    };
    if !done {
        line.truncate(start);
        line.extend_from_slice(bucket);
        line[start..].sort_unstable_by_key(|e| order.key(e));
    }
}

/// The 32-bit key for the order within one bucket.
#[inline(always)]
fn short_key(order: Order, shift: u32, event: &Event) -> u32 {
    ((event.at.as_ps() << (64 - shift) | order.hash(event) >> shift) >> 32) as u32
}

/// Appends up to [`FEW`] events. Returns whether their keys were distinct.
#[inline(always)]
fn by_counting(order: Order, shift: u32, bucket: &[Event], line: &mut Vec<Event>, keys: &mut [i32; FEW]) -> bool {
    let (few, start) = (bucket.len(), line.len());
    // Padding beyond the last event in its chunk comes after all events.
    keys.as_chunks_mut::<WIDE>().0[(few - 1) / WIDE] = [i32::MAX; WIDE];
    for (key, event) in keys.iter_mut().zip(bucket) {
        // Processors have vector instructions for signed comparisons.
        *key = (short_key(order, shift, event) ^ 1 << 31) as i32;
    }
    line.extend_from_slice(bucket);
    let sorted = &mut line[start..];
    let mut sum = 0;
    let chunks = &keys.as_chunks::<WIDE>().0[..few.div_ceil(WIDE)];
    for (keys8, events) in chunks.iter().zip(bucket.chunks(WIDE)) {
        let mut ranks = [0; WIDE];
        chunks.iter().for_each(|ones| count_before(keys8, ones, &mut ranks));
        for (rank, event) in ranks.iter().zip(events) {
            sorted[*rank as usize] = *event;
            sum += *rank as usize;
        }
    }
    // Two equal keys reduce the sum of all ranks by one.
    sum == few * (few - 1) / 2
}

/// Adds to the rank of each key the number of smaller keys.
#[inline(always)]
fn count_before(keys: &[i32; WIDE], ones: &[i32; WIDE], ranks: &mut [i32; WIDE]) {
    for one in ones {
        for (key, rank) in keys.iter().zip(&mut *ranks) {
            *rank += (one < key) as i32;
        }
    }
}

/// Appends many events, sorted as words of key and index. Returns whether the keys were distinct.
#[inline(never)]
fn by_words(order: Order, shift: u32, bucket: &[Event], line: &mut Vec<Event>, words: &mut Vec<u64>) -> bool {
    words.clear();
    words.extend(
        bucket.iter().zip(0u64..).map(|(event, place)| u64::from(short_key(order, shift, event)) << 32 | place),
    );
    words.sort_unstable();
    line.extend(words.iter().map(|word| bucket[*word as u32 as usize]));
    words.windows(2).all(|pair| pair[0] >> 32 != pair[1] >> 32)
}

impl EventQueue for CalendarQueue {
    #[inline(always)]
    fn push(&mut self, event: Event) {
        // Fields are passed one by one: a value in memory would be written in pieces and read as a whole, which causes
        // a store-forwarding stall.
        let Event { at, source, arg } = event;
        let day = self.day_of(at);
        // Wraps for events that are due now.
        if day.wrapping_sub(self.day + 1) < self.buckets.len() as u64 - 1 {
            self.insert_bucket(day, event);
        } else if day <= self.day {
            self.insert_in_line(at, source, arg);
        } else {
            self.push_far(at, source, arg);
        }
    }

    #[inline(always)]
    fn pop_before(&mut self, limit: Time) -> Option<Event> {
        if self.line.len() - self.first < LOOK_AHEAD {
            self.refill(limit);
        }
        let &event = self.line.get(self.first)?;
        if event.at >= limit {
            return None;
        }
        self.first += 1;
        Some(event)
    }

    #[inline(always)]
    fn ahead(&self, n: usize) -> Option<&Event> {
        self.line.get(self.first + n)
    }

    fn first_at(&self) -> Time {
        // All other events are in later buckets than the front.
        if let Some(first) = self.line.get(self.first) {
            return first.at;
        }
        let far = self.far.peek().map(|Reverse((at, ..))| *at);
        let near = self.next_occupied().and_then(|days| {
            let at = (self.day + days) as usize & (self.buckets.len() - 1);
            self.buckets[at].iter().map(|event| event.at).min()
        });
        far.into_iter().chain(near).min().unwrap_or(Time::NEVER)
    }

    fn len(&self) -> usize {
        self.line.len() - self.first + self.far.len() + self.buckets.iter().map(Vec::len).sum::<usize>()
    }

    fn is_empty(&self) -> bool {
        self.first == self.line.len() && self.far.is_empty() && self.summary.iter().all(|word| *word == 0)
    }
}
