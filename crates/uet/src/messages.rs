//! Messages of a reused connection.
//!
//! Source: uet-htsim's connection reuse.

use std::collections::VecDeque;

/// The messages of a sender.
#[derive(Default)]
pub struct Messages {
    /// Messages to come: time and payload, in order of time.
    coming: VecDeque<(u64, u64)>,
    /// Payload not sent yet of the messages that are due.
    unsent: VecDeque<u64>,
    count: usize,
}

impl Messages {
    /// Adds a message; tells whether it is the first one of its time.
    pub fn add(&mut self, time: u64, size: u64) -> bool {
        let at = self.coming.partition_point(|&(other, _)| other <= time);
        self.coming.insert(at, (time, size));
        self.count += 1;
        at == 0 || self.coming[at - 1].0 != time
    }

    /// Makes the messages of a time due; returns the payload of each.
    pub fn due(&mut self, now: u64) -> Vec<u64> {
        let count = self.coming.partition_point(|&(time, _)| time <= now);
        let due: Vec<u64> = self.coming.drain(..count).map(|(_, size)| size).collect();
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
        !self.coming.is_empty()
    }

    /// How many there are in all.
    pub fn count(&self) -> usize {
        self.count
    }
}
