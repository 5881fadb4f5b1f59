//! Pending events, in the order of time and, at equal times, of insertion.
//!
//! Source: uet-htsim, eventlist.cpp. A cancelled timer stays in the queue; its number tells that it is stale.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

/// An event, with the index of what it happens to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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
}

struct Entry {
    at: u64,
    number: u64,
    event: Event,
}

impl PartialEq for Entry {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Entry {}

impl PartialOrd for Entry {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Entry {
    fn cmp(&self, other: &Self) -> Ordering {
        (self.at, self.number).cmp(&(other.at, other.number))
    }
}

/// The clock and the queue of events.
pub struct Events {
    now: u64,
    end: u64,
    number: u64,
    pending: BinaryHeap<Reverse<Entry>>,
}

impl Events {
    /// No events; those at `end` or later will not be inserted.
    pub fn new(end: u64) -> Self {
        Self { now: 0, end, number: 0, pending: BinaryHeap::new() }
    }

    /// The time in picoseconds.
    pub fn now(&self) -> u64 {
        self.now
    }

    /// Inserts an event, and tells whether it is early enough to happen.
    pub fn at(&mut self, at: u64, event: Event) -> bool {
        if at >= self.end {
            return false;
        }
        self.number += 1;
        self.pending.push(Reverse(Entry { at, number: self.number, event }));
        true
    }

    /// Inserts an event after a delay.
    pub fn after(&mut self, delay: u64, event: Event) -> bool {
        self.at(self.now.saturating_add(delay), event)
    }

    /// Takes the next event; the time becomes its time.
    pub fn pop(&mut self) -> Option<Event> {
        let Reverse(entry) = self.pending.pop()?;
        self.now = entry.at;
        Some(entry.event)
    }
}
