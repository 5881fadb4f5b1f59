//! Pending events, in the order of time and, at equal times, of insertion.
//!
//! Source: uet-htsim's event list. A cancelled timer stays in the queue; the number of its event tells that it is
//! stale.
//!
//! Events of the near future are in lists by slot of time, and are sorted when their slot comes; a heap has the others.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use fanin_engine::prefetch;

/// Slots of the near future, of 2^[`SHIFT`] picoseconds each: together longer than a link of usual latency.
const SLOTS: u64 = 1 << 13;
const SHIFT: u32 = 9;
const NIL: u32 = u32::MAX;

/// An event, with the index of what it happens to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Event {
    /// A connection starts.
    Start(u32),
    /// Messages of a reused connection are due.
    Messages(u32),
    /// The retransmission timer of a sender expires.
    Timeout(u32),
    /// The NIC of a host has sent its packet.
    Nic(u32),
    /// The pull pacer of a host may send a pull.
    Pull(u32),
    /// The oversubscription control of a host adjusts its share.
    Share(u32),
    /// The queue of a host has sent its packet.
    HostQueue(u32),
    /// The queue of a switch's port has sent its packet.
    Port(u32),
    /// The first packet in a link reaches its end.
    Pipe(u32),
    /// The first packet in a switch reaches its port.
    Switch(u32),
    /// A sender may send a probe for losses.
    Probe(u32),
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Entry {
    at: u64,
    number: u64,
    event: Event,
}

impl Entry {
    fn slot(&self) -> u64 {
        self.at >> SHIFT
    }
}

/// An event in the list of a slot, and the next one there: half a cache line.
#[derive(Clone, Copy)]
#[repr(align(32))]
struct Node {
    entry: Entry,
    next: u32,
}

const _: () = assert!(size_of::<Node>() == 32);

/// The clock and the queue of events.
pub struct Events {
    now: u64,
    end: u64,
    /// How many have happened, without those of cancelled timers, and when the last one did.
    happened: u64,
    last: u64,
    /// How many have been inserted, and which of them was taken last.
    number: u64,
    taken: u64,
    /// An event that happens now, before all others.
    next: Option<Entry>,
    /// The slot of `current`.
    slot: u64,
    /// The events of this slot, the first one last.
    current: Vec<Entry>,
    /// The first of each slot's list in `nodes`, and a bit for each slot that has one.
    first: Vec<u32>,
    bits: Vec<u64>,
    nodes: Vec<Node>,
    free: u32,
    /// The node of the next slot with events that has not been looked at.
    later: u32,
    near: usize,
    far: BinaryHeap<Reverse<Entry>>,
}

impl Events {
    /// No events; those at `end` or later will not be inserted.
    pub fn new(end: u64) -> Self {
        Self {
            now: 0,
            end,
            happened: 0,
            last: 0,
            number: 0,
            taken: 0,
            next: None,
            slot: 0,
            current: Vec::new(),
            first: vec![NIL; SLOTS as usize],
            bits: vec![0; SLOTS as usize / 64],
            nodes: Vec::new(),
            free: NIL,
            later: NIL,
            near: 0,
            far: BinaryHeap::new(),
        }
    }

    /// The time in picoseconds.
    pub fn now(&self) -> u64 {
        self.now
    }

    /// The number of the last event that was taken.
    pub fn taken(&self) -> u64 {
        self.taken
    }

    /// The event that was taken happens: it is none of a cancelled timer.
    #[inline]
    pub fn happens(&mut self) {
        self.happened += 1;
        self.last = self.now;
    }

    /// How many events have happened.
    pub fn happened(&self) -> u64 {
        self.happened
    }

    /// When the last event happened.
    pub fn last(&self) -> u64 {
        self.last
    }

    /// Inserts an event. Returns its number, from 1 on, or `None` if it is too late to happen.
    #[inline]
    pub fn at(&mut self, at: u64, event: Event) -> Option<u64> {
        let number = self.reserve(at)?;
        self.insert(at, number, event);
        Some(number)
    }

    /// Reserves the number of an event, or `None` if it is too late to happen.
    #[inline]
    pub fn reserve(&mut self, at: u64) -> Option<u64> {
        if at >= self.end {
            return None;
        }
        self.number += 1;
        Some(self.number)
    }

    /// Inserts an event under a number that was reserved for it.
    #[inline]
    pub fn insert(&mut self, at: u64, number: u64, event: Event) {
        let entry = Entry { at, number, event };
        match entry.slot() - self.slot {
            0 if at == self.now && self.next.is_none() && self.current.last().is_none_or(|first| first.at > at) => {
                self.next = Some(entry);
            }
            0 => {
                let index = self.current.partition_point(|other| (other.at, other.number) > (at, number));
                self.current.insert(index, entry);
            }
            ahead if ahead < SLOTS => self.put(entry),
            _ => self.far.push(Reverse(entry)),
        }
    }

    /// Inserts an event after a delay.
    pub fn after(&mut self, delay: u64, event: Event) -> Option<u64> {
        self.at(self.now.saturating_add(delay), event)
    }

    fn put(&mut self, entry: Entry) {
        let slot = (entry.slot() % SLOTS) as usize;
        let node = Node { entry, next: self.first[slot] };
        self.first[slot] = if self.free == NIL {
            self.nodes.push(node);
            self.nodes.len() as u32 - 1
        } else {
            let index = self.free;
            self.free = self.nodes[index as usize].next;
            self.nodes[index as usize] = node;
            index
        };
        self.bits[slot / 64] |= 1 << (slot % 64);
        self.near += 1;
    }

    /// Takes the next event, which has been loaded; the time becomes its time.
    #[inline]
    pub fn pop(&mut self) -> Option<Event> {
        let entry = self.next.take().or_else(|| self.current.pop())?;
        (self.now, self.taken) = (entry.at, entry.number);
        Some(entry.event)
    }

    /// Makes sure that the next event is at hand. Returns whether it and those after it are in another slot than the
    /// last one was.
    #[inline]
    pub fn load(&mut self) -> bool {
        let loads = self.current.is_empty() && self.next.is_none();
        if loads {
            self.advance();
        }
        loads
    }

    /// Whether the next event is one that was inserted for now.
    pub fn goes_on(&self) -> bool {
        self.next.is_some()
    }

    /// An event of the next slot with events that was not told yet, so that what it needs can be fetched in time.
    #[inline]
    pub fn later(&mut self) -> Option<Event> {
        let Node { entry, next } = *self.nodes.get(self.later as usize)?;
        self.later = next;
        prefetch(&self.nodes, next as usize);
        Some(entry.event)
    }

    /// The events at hand, the last one first.
    pub fn loaded(&self) -> impl Iterator<Item = Event> + '_ {
        self.current.iter().map(|entry| entry.event)
    }

    /// An event so many places behind the next one, if it is in the same slot.
    pub fn ahead(&self, places: usize) -> Option<Event> {
        let at = self.current.len().checked_sub(places + 1)?;
        Some(self.current[at].event)
    }

    /// Goes on to the next slot with events.
    #[inline(never)]
    fn advance(&mut self) {
        if self.near > 0 {
            self.slot = self.next_slot();
        } else if let Some(Reverse(entry)) = self.far.peek() {
            self.slot = entry.slot();
        } else {
            return;
        }
        while let Some(Reverse(entry)) = self.far.peek()
            && entry.slot() < self.slot + SLOTS
        {
            let entry = *entry;
            self.far.pop();
            self.put(entry);
        }
        let slot = (self.slot % SLOTS) as usize;
        let mut index = std::mem::replace(&mut self.first[slot], NIL);
        self.bits[slot / 64] &= !(1 << (slot % 64));
        while index != NIL {
            let Node { entry, next } = self.nodes[index as usize];
            self.current.push(entry);
            self.nodes[index as usize].next = self.free;
            self.free = index;
            self.near -= 1;
            index = next;
        }
        self.later = if self.near > 0 { self.first[(self.next_slot() % SLOTS) as usize] } else { NIL };
        prefetch(&self.nodes, self.later as usize);
        self.current.sort_unstable_by_key(|entry| Reverse((entry.at, entry.number)));
    }

    /// The next slot with events in its list; there is one.
    fn next_slot(&self) -> u64 {
        let mut slot = self.slot + 1;
        loop {
            let at = (slot % SLOTS) as usize;
            let word = self.bits[at / 64] >> (at % 64);
            if word != 0 {
                return slot + u64::from(word.trailing_zeros());
            }
            slot += 64 - at as u64 % 64;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_come_by_time_and_then_as_their_numbers_were_given() {
        let mut events = Events::new(10_000_000);
        let mut random = crate::random::Random::new(13, false);
        let mut expected = Vec::new();
        let mut popped = Vec::new();
        let mut reserved = Vec::new();
        for id in 0..20_000u32 {
            let range = [1, 300, 100_000, 4_000_000][(random.draw() % 4) as usize];
            let at = events.now() + u64::from(random.draw() % range);
            let event = Event::Start(id);
            match random.draw() % 4 {
                0 => reserved.extend(events.reserve(at).map(|number| (at, number, event))),
                _ => expected.extend(events.at(at, event).map(|number| (at, number, event))),
            }
            if random.draw().is_multiple_of(2) {
                events.load();
                popped.extend(events.pop().map(|event| (events.now(), events.taken(), event)));
            }
            // One that was reserved is inserted before its time, or never.
            if random.draw().is_multiple_of(8)
                && let Some((at, number, event)) = reserved.pop()
                && at > events.now()
            {
                events.insert(at, number, event);
                expected.push((at, number, event));
            }
        }
        events.load();
        while let Some(event) = events.pop() {
            popped.push((events.now(), events.taken(), event));
            events.load();
        }
        expected.sort_unstable();
        assert!(expected.len() > 12_000);
        assert_eq!(popped, expected);
    }
}
