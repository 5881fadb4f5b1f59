//! Events in the order of time and, within a nanosecond, of insertion.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Nanoseconds of the near future with a list each.
const SPAN: u64 = 1 << 14;
const NIL: u32 = u32::MAX;

/// An event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Event {
    /// Continue reading the flow file.
    Flows,
    /// An application is made ready.
    Made(u32),
    /// An application opens its flow.
    Opens(u32),
    /// A device has sent its packet.
    Sent(u32),
    /// A packet reaches a device.
    Arrives(u32, u32),
    /// A host's device checks again whether a flow may send; the number identifies cancelled checks.
    Look(u32, u32),
    /// A timer of a flow's control law; the number identifies cancelled timers.
    Timer(u32, u32),
    /// A link goes down.
    LinkDown,
    /// All queues are sampled.
    Sample,
}

#[derive(Clone, Copy, Debug)]
struct Node {
    event: Event,
    inserted: u64,
    next: u32,
}

/// The queue: a list per nanosecond of the near future, a heap for the far one.
pub struct Queue {
    now: u64,
    first: Vec<u32>,
    last: Vec<u32>,
    words: Vec<u64>,
    nodes: Vec<Node>,
    free: u32,
    far: BinaryHeap<Reverse<(u64, u64, u64, Event)>>,
    number: u64,
    len: usize,
    popped: u64,
}

impl Default for Queue {
    fn default() -> Self {
        Self {
            now: 0,
            first: vec![NIL; SPAN as usize],
            last: vec![NIL; SPAN as usize],
            words: vec![0; SPAN as usize / 64],
            nodes: Vec::new(),
            free: NIL,
            far: BinaryHeap::new(),
            number: 0,
            len: 0,
            popped: 0,
        }
    }
}

impl Queue {
    /// Now.
    #[inline]
    pub fn now(&self) -> u64 {
        self.now
    }

    /// Insertion time of the current event, and number of events processed.
    pub fn popped(&self) -> u64 {
        self.popped
    }

    /// Whether no event is pending.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Number of pending events.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Inserts an event at `at`, which is not before now.
    #[inline]
    pub fn push(&mut self, at: u64, event: Event) {
        self.push_as_of(at, self.now, event);
    }

    /// The same for an event that counts as inserted at `inserted`.
    #[inline]
    pub fn push_as_of(&mut self, at: u64, inserted: u64, event: Event) {
        debug_assert!(at >= self.now && inserted <= self.now);
        self.len += 1;
        if at - self.now < SPAN {
            self.put(at, inserted, event);
        } else {
            self.number += 1;
            self.far.push(Reverse((at, inserted, self.number, event)));
        }
    }

    fn put(&mut self, at: u64, inserted: u64, event: Event) {
        let slot = (at % SPAN) as usize;
        let node = Node { event, inserted, next: NIL };
        let ix = if self.free == NIL {
            self.nodes.push(node);
            self.nodes.len() as u32 - 1
        } else {
            let ix = self.free;
            self.free = self.nodes[ix as usize].next;
            self.nodes[ix as usize] = node;
            ix
        };
        let last = self.last[slot];
        if last == NIL {
            self.first[slot] = ix;
            self.last[slot] = ix;
            self.words[slot / 64] |= 1 << (slot % 64);
        } else if self.nodes[last as usize].inserted <= inserted {
            self.nodes[last as usize].next = ix;
            self.last[slot] = ix;
        } else {
            // Only for timers: they count as inserted earlier than they were.
            let mut before = NIL;
            let mut after = self.first[slot];
            while self.nodes[after as usize].inserted <= inserted {
                before = after;
                after = self.nodes[after as usize].next;
            }
            self.nodes[ix as usize].next = after;
            if before == NIL {
                self.first[slot] = ix;
            } else {
                self.nodes[before as usize].next = ix;
            }
        }
    }

    /// When the next event is due.
    pub fn next_at(&self) -> Option<u64> {
        let near = self.next_near();
        near.or_else(|| self.far.peek().map(|Reverse((at, ..))| *at))
    }

    fn next_near(&self) -> Option<u64> {
        let start = (self.now % SPAN) as usize;
        let words = self.words.len();
        let (word, bit) = (start / 64, start % 64);
        let here = self.words[word] & (u64::MAX << bit);
        let at = |slot: usize| self.now + ((slot + SPAN as usize - start) as u64 % SPAN);
        if here != 0 {
            return Some(at(word * 64 + here.trailing_zeros() as usize));
        }
        (1..=words)
            .map(|step| (word + step) % words)
            .find(|w| self.words[*w] != 0)
            .map(|w| at(w * 64 + self.words[w].trailing_zeros() as usize))
    }

    /// Removes the next event before `limit`, with its insertion time.
    #[inline]
    pub fn pop_before(&mut self, limit: u64) -> Option<(u64, Event)> {
        let mut slot = (self.now % SPAN) as usize;
        if self.first[slot] == NIL || self.now >= limit {
            let at = self.next_at()?;
            if at >= limit {
                return None;
            }
            self.advance(at);
            slot = (at % SPAN) as usize;
        }
        let ix = self.first[slot];
        let Node { event, inserted, next } = self.nodes[ix as usize];
        self.first[slot] = next;
        if next == NIL {
            self.last[slot] = NIL;
            self.words[slot / 64] &= !(1 << (slot % 64));
        }
        self.nodes[ix as usize].next = self.free;
        self.free = ix;
        self.len -= 1;
        self.popped += 1;
        Some((inserted, event))
    }

    /// Advances time and moves events that are now near. They were inserted before anything else at their time could
    /// be.
    fn advance(&mut self, at: u64) {
        self.now = at;
        while let Some(&Reverse((due, inserted, _, event))) = self.far.peek() {
            if due - at >= SPAN {
                break;
            }
            self.far.pop();
            self.put(due, inserted, event);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ties_run_in_the_order_of_insertion_near_and_far() {
        let mut queue = Queue::default();
        queue.push(SPAN + 10, Event::Sent(0));
        queue.push(20, Event::Sent(1));
        queue.push(20, Event::Sent(2));
        queue.push(10, Event::Sent(3));
        let mut order = Vec::new();
        while let Some((_, event)) = queue.pop_before(u64::MAX) {
            order.push((queue.now(), event));
            if order.len() == 1 {
                queue.push(SPAN + 10, Event::Sent(4));
            }
        }
        let expected = [(10, 3), (20, 1), (20, 2), (SPAN + 10, 0), (SPAN + 10, 4)];
        assert_eq!(order, expected.map(|(at, n)| (at, Event::Sent(n))));
    }

    #[test]
    fn a_timer_takes_the_place_of_when_it_was_armed() {
        let mut queue = Queue::default();
        queue.push(5, Event::Sent(0));
        queue.pop_before(u64::MAX);
        queue.push(9, Event::Sent(1));
        queue.push_as_of(9, 3, Event::Timer(7, 0));
        assert_eq!(queue.pop_before(u64::MAX), Some((3, Event::Timer(7, 0))));
        assert_eq!(queue.pop_before(u64::MAX), Some((5, Event::Sent(1))));
        assert_eq!(queue.pop_before(u64::MAX), None);
    }

    #[test]
    fn nothing_runs_at_the_limit() {
        let mut queue = Queue::default();
        queue.push(5, Event::LinkDown);
        assert_eq!(queue.pop_before(5), None);
        assert_eq!(queue.len(), 1);
        assert!(queue.pop_before(6).is_some());
    }
}
