//! The calendar queue: buckets of equal width for the near future, a heap for the far one.

use crate::{Event, EventQueue, Order};
use core::cmp::Reverse;
use fanin_units::Time;
use std::collections::BinaryHeap;

const NIL: u32 = u32::MAX;
/// Most buckets of a calendar: 2^16 heads are 256 KiB, which still fits a second-level cache.
const MOST_BUCKETS: usize = 1 << 16;
/// Events per bucket when every link is busy.
const EVENTS_PER_BUCKET: u64 = 4;

/// Events of one bucket that lie together, one cache line.
#[derive(Clone, Copy)]
#[repr(align(64))]
struct Chunk {
    events: [Event; 3],
    used: u32,
    next: u32,
}

/// Events of the current bucket stand sorted in a small stack; those of later buckets in unsorted lists; those beyond
/// the last bucket in a heap. A two-level bitmap finds the next bucket that holds anything.
pub struct CalendarQueue {
    order: Order,
    /// Bucket width is 2^shift picoseconds.
    shift: u32,
    /// Bucket number now: time >> shift. Everything in `current` is in this bucket or earlier.
    day: u64,
    /// Latest first, so that the next event is popped from the end; each with its key.
    current: Vec<(u128, Event)>,
    heads: Vec<u32>,
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
            current: Vec::new(),
            heads: vec![NIL; buckets],
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

    #[inline(always)]
    fn insert_current(&mut self, event: Event) {
        let key = self.order.key(&event);
        let at = self.current.iter().rposition(|e| e.0 > key).map_or(0, |before| before + 1);
        self.current.insert(at, (key, event));
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

    /// Moves to the next day that holds anything and sorts it. False when the queue is empty.
    fn advance(&mut self) -> bool {
        let near = self.next_occupied().map(|d| self.day + d);
        let far = self.far.peek().map(|Reverse((at, _, _))| self.day_of(*at));
        let day = match (near, far) {
            (Some(a), Some(b)) => a.min(b),
            (Some(a), None) => a,
            (None, Some(b)) => b,
            (None, None) => return false,
        };
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
            self.current.extend(chunk.events.iter().take(chunk.used as usize).map(|e| (order.key(e), *e)));
            let next = chunk.next;
            chunk.next = self.free;
            self.free = index;
            index = next;
        }
        if self.current.len() > 1 {
            self.current.sort_unstable_by_key(|e| Reverse(e.0));
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
            self.insert_current(event);
        } else if day - self.day < self.heads.len() as u64 {
            self.insert_bucket(day, event);
        } else {
            self.far.push(Reverse((event.at, event.source, event.arg)));
        }
    }

    #[inline]
    fn pop_before(&mut self, limit: Time) -> Option<Event> {
        if self.current.is_empty() && !self.advance() {
            return None;
        }
        if self.current.last()?.1.at >= limit {
            return None;
        }
        self.len -= 1;
        self.current.pop().map(|e| e.1)
    }

    #[inline(always)]
    fn ahead(&self, n: usize) -> Option<&Event> {
        self.current.len().checked_sub(n + 1).map(|at| &self.current[at].1)
    }

    fn len(&self) -> usize {
        self.len
    }
}
