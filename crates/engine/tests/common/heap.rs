//! The reference implementation: a binary heap with the same order.

use fanin_engine::{Event, EventQueue, Order};
use fanin_units::Time;
use std::cmp::Ordering;
use std::collections::BinaryHeap;

struct Entry {
    key: u128,
    event: Event,
}

impl Ord for Entry {
    fn cmp(&self, other: &Self) -> Ordering {
        // A BinaryHeap returns the largest element, so the order is reversed.
        other.key.cmp(&self.key)
    }
}
impl PartialOrd for Entry {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
impl PartialEq for Entry {
    fn eq(&self, other: &Self) -> bool {
        self.key == other.key
    }
}
impl Eq for Entry {}

/// A `BinaryHeap` of events.
pub struct HeapQueue {
    order: Order,
    heap: BinaryHeap<Entry>,
}

impl HeapQueue {
    /// An empty queue.
    pub fn new(seed: u64) -> Self {
        Self { order: Order::new(seed), heap: BinaryHeap::new() }
    }
}

impl EventQueue for HeapQueue {
    fn push(&mut self, event: Event) {
        self.heap.push(Entry { key: self.order.key(&event), event });
    }
    fn pop_before(&mut self, limit: Time) -> Option<Event> {
        if self.heap.peek()?.event.at >= limit { None } else { self.heap.pop().map(|e| e.event) }
    }
    fn first_at(&self) -> Time {
        self.heap.peek().map_or(Time::NEVER, |first| first.event.at)
    }
    fn len(&self) -> usize {
        self.heap.len()
    }
}
