//! Pending events, in the order of time and, at equal times, of insertion.
//!
//! Source: uet-htsim's event list. A cancelled timer stays in the queue; its number tells that it is stale.
//!
//! Events of the near future are in lists by slot of time, and are sorted when their slot comes; a heap has the others.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Slots of the near future, of 2^[`SHIFT`] picoseconds each: together longer than a link of usual latency.
const SLOTS: u64 = 1 << 13;
const SHIFT: u32 = 8;
const NIL: u32 = u32::MAX;

/// An event, with the index of what it happens to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Event {
    /// A connection starts.
    Start(u32),
    /// Messages of a reused connection are due.
    Messages(u32),
    /// The retransmission timer of a sender expires; the number identifies cancelled timers.
    Timeout(u32, u32),
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
    /// A sender may send a probe for losses; the number identifies cancelled timers.
    Probe(u32, u32),
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

/// The clock and the queue of events.
pub struct Events {
    now: u64,
    end: u64,
    happened: u64,
    number: u64,
    /// The slot of `current`.
    slot: u64,
    /// The events of this slot, the first one last.
    current: Vec<Entry>,
    /// The first of each slot's list in `nodes`, and a bit for each slot that has one.
    first: Vec<u32>,
    bits: Vec<u64>,
    nodes: Vec<(Entry, u32)>,
    free: u32,
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
            number: 0,
            slot: 0,
            current: Vec::new(),
            first: vec![NIL; SLOTS as usize],
            bits: vec![0; SLOTS as usize / 64],
            nodes: Vec::new(),
            free: NIL,
            near: 0,
            far: BinaryHeap::new(),
        }
    }

    /// The time in picoseconds.
    pub fn now(&self) -> u64 {
        self.now
    }

    /// How many events have been taken.
    pub fn happened(&self) -> u64 {
        self.happened
    }

    /// Inserts an event, and tells whether it is early enough to happen.
    pub fn at(&mut self, at: u64, event: Event) -> bool {
        if at >= self.end {
            return false;
        }
        self.number += 1;
        let entry = Entry { at, number: self.number, event };
        match entry.slot() - self.slot {
            0 => {
                let index = self.current.partition_point(|other| other.at > at);
                self.current.insert(index, entry);
            }
            ahead if ahead < SLOTS => self.put(entry),
            _ => self.far.push(Reverse(entry)),
        }
        true
    }

    /// Inserts an event after a delay.
    pub fn after(&mut self, delay: u64, event: Event) -> bool {
        self.at(self.now.saturating_add(delay), event)
    }

    fn put(&mut self, entry: Entry) {
        let slot = (entry.slot() % SLOTS) as usize;
        let node = (entry, self.first[slot]);
        self.first[slot] = if self.free == NIL {
            self.nodes.push(node);
            self.nodes.len() as u32 - 1
        } else {
            let index = self.free;
            self.free = self.nodes[index as usize].1;
            self.nodes[index as usize] = node;
            index
        };
        self.bits[slot / 64] |= 1 << (slot % 64);
        self.near += 1;
    }

    /// Takes the next event; the time becomes its time.
    pub fn pop(&mut self) -> Option<Event> {
        if self.current.is_empty() {
            self.advance();
        }
        let entry = self.current.pop()?;
        self.now = entry.at;
        self.happened += 1;
        Some(entry.event)
    }

    /// An event so many places behind the next one, if it is in the same slot.
    pub fn ahead(&self, places: usize) -> Option<Event> {
        let at = self.current.len().checked_sub(places + 1)?;
        Some(self.current[at].event)
    }

    /// Goes on to the next slot with events.
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
            let (entry, next) = self.nodes[index as usize];
            self.current.push(entry);
            self.nodes[index as usize].1 = self.free;
            self.free = index;
            self.near -= 1;
            index = next;
        }
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
    fn events_come_by_time_and_then_as_they_were_inserted() {
        let mut events = Events::new(10_000_000);
        let mut random = crate::random::Random::new(13, false);
        let mut expected = Vec::new();
        let mut popped = Vec::new();
        for number in 0..20_000u32 {
            let range = [1, 300, 100_000, 4_000_000][(random.draw() % 4) as usize];
            let at = events.now() + u64::from(random.draw() % range);
            if events.at(at, Event::Start(number)) {
                expected.push((at, number));
            }
            if random.draw().is_multiple_of(2) {
                popped.extend(events.pop().map(|event| (events.now(), event)));
            }
        }
        while let Some(event) = events.pop() {
            popped.push((events.now(), event));
        }
        expected.sort_unstable();
        let expected: Vec<_> = expected.into_iter().map(|(at, number)| (at, Event::Start(number))).collect();
        assert_eq!(popped, expected);
    }
}
