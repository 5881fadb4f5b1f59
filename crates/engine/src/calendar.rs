//! The calendar queue: buckets of equal width for the near future, a heap for the far one.

use crate::{Event, EventQueue, Order, prefetch};
use core::cmp::Reverse;
use fanin_units::Time;
use std::collections::BinaryHeap;

const NIL: u32 = u32::MAX;
/// Most buckets of a calendar: 2^16 heads are 256 KiB, which still fits a second-level cache.
const MOST_BUCKETS: usize = 1 << 16;
/// Events per bucket when every link is busy.
const EVENTS_PER_BUCKET: u64 = 2;
/// Events in line after a refill.
const LINE: usize = 16;
/// Events between asking for a bucket's memory and writing to it.
const STAGED: usize = 8;
/// Events in line before one.
const LOOK_AHEAD: usize = 4;
/// The line spans at most this many buckets for looking's sake.
const SPAN: u64 = 64;

/// Events of one bucket that lie together, one cache line.
#[derive(Clone, Copy)]
#[repr(align(64))]
struct Chunk {
    events: [Event; 3],
    used: u32,
    next: u32,
}

/// The next events stand sorted in a short line, refilled a few buckets at a time so that a model may look ahead; those
/// of later buckets in unsorted lists; those beyond the last bucket in a heap. A two-level bitmap finds the next bucket
/// that holds anything.
pub struct CalendarQueue {
    order: Order,
    /// Bucket width is 2^shift picoseconds.
    shift: u32,
    /// Number (time >> shift) of the last bucket that was moved to the line.
    day: u64,
    /// The line, sorted: everything in bucket `day` or earlier, each event with its key.
    line: Vec<(u128, Event)>,
    /// Where the line begins.
    first: usize,
    heads: Vec<u32>,
    /// Events on their way into their buckets, whose memory was asked for: a ring of the last [`STAGED`].
    staged: [Event; STAGED],
    /// How many of them there are, and where the oldest stands.
    staging: usize,
    oldest: usize,
    chunks: Vec<Chunk>,
    free: u32,
    words: Vec<u64>,
    summary: Vec<u64>,
    far: BinaryHeap<Reverse<(Time, u32, u32)>>,
    len: usize,
}

impl CalendarQueue {
    /// A queue for events that mostly lie within `horizon` of now, at about `spacing` between neighbours (for a network:
    /// the time of a packet on the fastest link, over the number of links).
    pub fn new(seed: u64, spacing: Time, horizon: Time) -> Self {
        // A few events a bucket on a busy network: fewer wastes scans, more wastes sorting.
        let mut shift = (spacing.as_ps().max(1) * EVENTS_PER_BUCKET).ilog2();
        let mut buckets;
        loop {
            buckets = ((horizon.as_ps() >> shift) as usize + 2).next_power_of_two().max(64);
            if buckets <= MOST_BUCKETS {
                break;
            }
            shift += 1;
        }
        Self {
            order: Order::new(seed),
            shift,
            day: 0,
            line: Vec::new(),
            first: 0,
            heads: vec![NIL; buckets],
            staged: [Event { at: Time::ZERO, source: 0, arg: 0 }; STAGED],
            staging: 0,
            oldest: 0,
            chunks: Vec::new(),
            free: NIL,
            words: vec![0; buckets / 64],
            summary: vec![0; (buckets / 64).div_ceil(64)],
            far: BinaryHeap::new(),
            len: 0,
        }
    }

    #[inline(always)]
    fn day_of(&self, at: Time) -> u64 {
        at.as_ps() >> self.shift
    }

    fn insert_in_line(&mut self, event: Event) {
        let key = self.order.key(&event);
        let at = self.first + self.line[self.first..].partition_point(|e| e.0 < key);
        self.line.insert(at, (key, event));
    }

    /// Puts an event on its way into its bucket: the bucket's memory is asked for now and written a few events later.
    #[inline(always)]
    fn stage(&mut self, day: u64, event: Event) {
        if self.staging == STAGED {
            self.insert_oldest();
        }
        let head = self.heads[day as usize & (self.heads.len() - 1)];
        if let Some(chunk) = self.chunks.get(head as usize) {
            prefetch(chunk);
        }
        self.staged[(self.oldest + self.staging) % STAGED] = event;
        self.staging += 1;
    }

    #[inline(always)]
    fn insert_oldest(&mut self) {
        let event = self.staged[self.oldest % STAGED];
        self.oldest = (self.oldest + 1) % STAGED;
        self.staging -= 1;
        self.insert_bucket(self.day_of(event.at), event);
    }

    #[inline(always)]
    fn insert_bucket(&mut self, day: u64, event: Event) {
        let bucket = day as usize & (self.heads.len() - 1);
        let head = self.heads[bucket];
        if head != NIL {
            let chunk = &mut self.chunks[head as usize];
            if let Some(free) = chunk.events.get_mut(chunk.used as usize) {
                *free = event;
                chunk.used += 1;
                return;
            }
        } else {
            self.words[bucket / 64] |= 1 << (bucket % 64);
            self.summary[bucket / 4096] |= 1 << (bucket / 64 % 64);
        }
        let chunk = Chunk { events: [event; 3], used: 1, next: head };
        self.heads[bucket] = if self.free != NIL {
            let index = self.free;
            self.free = self.chunks[index as usize].next;
            self.chunks[index as usize] = chunk;
            index
        } else {
            self.chunks.push(chunk);
            self.chunks.len() as u32 - 1
        };
    }

    /// Days from now to the next bucket that holds anything, at least 1.
    fn next_occupied(&self) -> Option<u64> {
        let buckets = self.heads.len();
        let start = (self.day as usize + 1) & (buckets - 1);
        let distance = |bucket: usize| 1 + ((bucket.wrapping_sub(start)) & (buckets - 1)) as u64;
        let word = start / 64;
        let rest = self.words[word] & (u64::MAX << (start % 64));
        if rest != 0 {
            return Some(distance(word * 64 + rest.trailing_zeros() as usize));
        }
        // Whole words after this one, round the calendar; the start word comes last for its lower bits.
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

    /// Moves whole buckets to the end of the line until it is long enough to look ahead. Never goes beyond `limit`, nor far
    /// ahead for looking's sake: what is pushed later and comes earlier than the end of the line has to be put into it.
    #[inline(never)]
    fn refill(&mut self, limit: Time) {
        while self.staging > 0 {
            self.insert_oldest();
        }
        self.line.drain(..self.first);
        self.first = 0;
        let sorted = self.line.len();
        let last = self.day_of(limit);
        while self.line.len() < LINE {
            let near = self.line.first().map_or(last, |e| last.min(self.day_of(e.1.at) + SPAN));
            if !self.take_bucket(near) {
                break;
            }
        }
        self.line[sorted..].sort_unstable_by_key(|e| e.0);
    }

    /// Moves the next bucket that holds anything to the end of the line, unsorted. False when there is none up to `last`.
    fn take_bucket(&mut self, last: u64) -> bool {
        let near = self.next_occupied().map(|d| self.day + d);
        let far = self.far.peek().map(|Reverse((at, _, _))| self.day_of(*at));
        let day = match (near, far) {
            (Some(a), Some(b)) => a.min(b),
            (Some(a), None) => a,
            (None, Some(b)) => b,
            (None, None) => return false,
        };
        if day > last {
            return false;
        }
        self.day = day;
        let end = day.saturating_add(self.heads.len() as u64);
        while let Some(&Reverse((at, source, arg))) = self.far.peek() {
            let its = self.day_of(at);
            if its >= end {
                break;
            }
            self.far.pop();
            self.insert_bucket(its, Event { at, source, arg });
        }
        let bucket = day as usize & (self.heads.len() - 1);
        let mut index = self.heads[bucket];
        self.heads[bucket] = NIL;
        self.words[bucket / 64] &= !(1 << (bucket % 64));
        if self.words[bucket / 64] == 0 {
            self.summary[bucket / 4096] &= !(1 << (bucket / 64 % 64));
        }
        while index != NIL {
            let chunk = &mut self.chunks[index as usize];
            let order = self.order;
            self.line.extend(chunk.events.iter().take(chunk.used as usize).map(|e| (order.key(e), *e)));
            let next = chunk.next;
            chunk.next = self.free;
            self.free = index;
            index = next;
        }
        true
    }
}

impl EventQueue for CalendarQueue {
    #[inline]
    fn push(&mut self, event: Event) {
        self.len += 1;
        let day = self.day_of(event.at);
        if day <= self.day {
            self.insert_in_line(event);
        } else if day - self.day < self.heads.len() as u64 {
            self.stage(day, event);
        } else {
            self.far.push(Reverse((event.at, event.source, event.arg)));
        }
    }

    #[inline]
    fn pop_before(&mut self, limit: Time) -> Option<Event> {
        if self.line.len() - self.first <= LOOK_AHEAD {
            self.refill(limit);
        }
        let &(_, event) = self.line.get(self.first)?;
        if event.at >= limit {
            return None;
        }
        self.len -= 1;
        self.first += 1;
        Some(event)
    }

    #[inline(always)]
    fn ahead(&self, n: usize) -> Option<&Event> {
        self.line.get(self.first + n).map(|e| &e.1)
    }

    fn len(&self) -> usize {
        self.len
    }
}
