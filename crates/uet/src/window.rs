//! The packets of a sender that are sent or wait to be sent again, by sequence number.

use std::collections::VecDeque;

use fanin_engine::prefetch;

const NIL: u32 = u32::MAX;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Done,
    Sent,
    Waiting,
}

/// A packet that was sent.
#[derive(Clone, Copy, Debug)]
pub struct Record {
    /// Its bytes.
    pub size: i64,
    /// When it was last sent.
    pub time: u64,
    /// How many times it was sent again.
    pub again: u32,
    state: State,
    before: u32,
    after: u32,
}

/// All packets from the first one that is not acknowledged on, and a list of those under way in the order of sending.
pub struct Window {
    first: u32,
    records: VecDeque<Record>,
    oldest: u32,
    newest: u32,
    waiting: u32,
    waiting_bytes: i64,
    lowest: u32,
}

impl Default for Window {
    fn default() -> Self {
        Self { first: 0, records: VecDeque::new(), oldest: NIL, newest: NIL, waiting: 0, waiting_bytes: 0, lowest: 0 }
    }
}

impl Window {
    fn get(&self, psn: u32, state: State) -> Option<&Record> {
        let index = psn.checked_sub(self.first)? as usize;
        self.records.get(index).filter(|record| record.state == state)
    }

    fn at(&mut self, psn: u32) -> &mut Record {
        &mut self.records[(psn - self.first) as usize]
    }

    /// Fetches the record of a packet into the cache.
    pub fn prefetch(&self, psn: u32) {
        if let Some(record) = self.records.get(psn.wrapping_sub(self.first) as usize) {
            prefetch(core::slice::from_ref(record), 0);
        }
    }

    /// A packet under way.
    pub fn sent(&self, psn: u32) -> Option<&Record> {
        self.get(psn, State::Sent)
    }

    /// The first of all sequence numbers that are kept.
    pub fn first(&self) -> u32 {
        self.first
    }

    /// Bytes that wait to be sent again.
    pub fn waiting_bytes(&self) -> i64 {
        self.waiting_bytes
    }

    /// The packet under way that was sent first, and when.
    pub fn oldest(&self) -> Option<(u32, u64)> {
        self.sent(self.oldest).map(|record| (self.oldest, record.time))
    }

    /// Notes that a packet is sent: the next one, or one again.
    pub fn send(&mut self, psn: u32, size: i64, now: u64) {
        let before = self.newest;
        if (psn - self.first) as usize == self.records.len() {
            self.records.push_back(Record { size, time: now, again: 0, state: State::Sent, before, after: NIL });
        } else {
            let record = self.at(psn);
            *record = Record { time: now, again: record.again + 1, state: State::Sent, before, after: NIL, ..*record };
        }
        if before == NIL {
            self.oldest = psn;
        } else {
            self.at(before).after = psn;
        }
        self.newest = psn;
    }

    /// A packet is not under way any more; returns its record.
    pub fn unsend(&mut self, psn: u32) -> Option<Record> {
        let record = *self.sent(psn)?;
        self.at(psn).state = State::Done;
        if record.before == NIL {
            self.oldest = record.after;
        } else {
            self.at(record.before).after = record.after;
        }
        if record.after == NIL {
            self.newest = record.before;
        } else {
            self.at(record.after).before = record.before;
        }
        Some(record)
    }

    /// A packet that is not under way waits to be sent again.
    pub fn wait(&mut self, psn: u32) {
        let lowest = self.lowest;
        let record = self.at(psn);
        record.state = State::Waiting;
        let size = record.size;
        self.lowest = if self.waiting == 0 { psn } else { lowest.min(psn) };
        self.waiting += 1;
        self.waiting_bytes += size;
    }

    /// The first packet that waits, and its bytes.
    pub fn first_waiting(&mut self) -> Option<(u32, i64)> {
        if self.waiting == 0 {
            return None;
        }
        self.lowest = self.lowest.max(self.first);
        loop {
            if let Some(record) = self.get(self.lowest, State::Waiting) {
                return Some((self.lowest, record.size));
            }
            self.lowest += 1;
        }
    }

    /// A packet does not wait any more; returns its bytes if it did.
    pub fn unwait(&mut self, psn: u32) -> Option<i64> {
        let size = self.get(psn, State::Waiting)?.size;
        self.at(psn).state = State::Done;
        self.waiting -= 1;
        self.waiting_bytes -= size;
        Some(size)
    }

    /// Forgets packets below a sequence number, which are neither under way nor waiting.
    pub fn forget(&mut self, below: u32) {
        while self.first < below && self.records.pop_front().is_some() {
            self.first += 1;
        }
    }

    /// How many packets wait to be sent again.
    pub fn waiting(&self) -> u32 {
        self.waiting
    }
}
