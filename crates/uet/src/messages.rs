//! Messages of a reused connection.
//!
//! Source: uet-htsim's connection reuse.

use std::collections::VecDeque;

/// A message of a connection.
#[derive(Clone, Copy, Debug)]
pub struct Message {
    /// Payload in bytes.
    pub size: u64,
    /// The trigger that it activates once it is acknowledged.
    pub done: Option<u32>,
}

/// The messages of a sender.
#[derive(Default)]
pub struct Messages {
    /// Messages to come, with their times, in order of time.
    coming: VecDeque<(u64, Message)>,
    /// Messages that wait for triggers.
    awaited: usize,
    /// Payload not sent yet of the messages that are due.
    unsent: VecDeque<u64>,
    /// Payload of all messages that were due so far.
    posted: u64,
    /// Where messages that activate triggers end in that, with their triggers.
    ends: VecDeque<(u64, u32)>,
    count: usize,
}

impl Messages {
    /// Adds a message; tells whether it is the first one of its time.
    pub fn add(&mut self, time: u64, message: Message) -> bool {
        let at = self.coming.partition_point(|&(other, _)| other <= time);
        self.coming.insert(at, (time, message));
        self.count += 1;
        at == 0 || self.coming[at - 1].0 != time
    }

    /// A message will wait for a trigger.
    pub fn await_trigger(&mut self) {
        self.awaited += 1;
    }

    /// The trigger of a message fired, which is due now.
    pub fn triggered(&mut self, now: u64, message: Message) {
        self.awaited -= 1;
        self.add(now, message);
    }

    /// The next trigger of a message that has ended once so much payload is acknowledged.
    pub fn ended(&mut self, acknowledged: u64) -> Option<u32> {
        let &(end, trigger) = self.ends.front()?;
        if end > acknowledged {
            return None;
        }
        self.ends.pop_front();
        Some(trigger)
    }

    /// Makes the messages of a time due; returns the payload of each.
    pub fn due(&mut self, now: u64) -> Vec<u64> {
        let count = self.coming.partition_point(|&(time, _)| time <= now);
        let mut due = Vec::new();
        for (_, Message { size, done }) in self.coming.drain(..count) {
            self.posted += size;
            self.ends.extend(done.map(|trigger| (self.posted, trigger)));
            due.push(size);
        }
        self.unsent.extend(&due);
        due
    }

    /// Takes the payload of the next packet, of at most `mss` bytes.
    pub fn next_payload(&mut self, mss: i64) -> i64 {
        let Some(first) = self.unsent.front_mut() else { return 0 };
        let payload = (*first).min(mss as u64);
        *first -= payload;
        if *first == 0 {
            self.unsent.pop_front();
        }
        payload as i64
    }

    /// Whether messages are still to come.
    pub fn to_come(&self) -> bool {
        !self.coming.is_empty() || self.awaited > 0
    }

    /// How many there are in all.
    pub fn count(&self) -> usize {
        self.count
    }
}
