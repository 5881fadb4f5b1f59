//! A program outside that posts messages while the run goes on, learns of their ends, and has itself woken.
//!
//! The run stops at each instant at which there is something to tell, once all events of that instant have happened.
//! What the program then posts takes effect at that instant, in the order of its calls, as if nodes of a graph
//! (`graphs.rs`) had posted it.

use fanin_units::Time;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// What the program is told. In the order of an instant: messages by number, then wakes in the order of the calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum News {
    /// The last byte of this message has arrived.
    Arrived(u32),
    /// The sender of this message knows that it has arrived.
    Acked(u32),
    /// The time of a wake with this name has come.
    Woken(u64),
}

/// What such a program waits for.
#[derive(Debug, Default)]
pub(crate) struct Caller {
    /// What the network has done at the instant `at`.
    news: Vec<News>,
    at: Time,
    /// Times of wakes with the number of the call and the name.
    wakes: BinaryHeap<Reverse<(Time, u64, u64)>>,
    calls: u64,
    /// What it is told at this instant.
    told: Vec<News>,
    /// Posted messages of which the sender does not know yet that they have arrived.
    under_way: u64,
}

impl Caller {
    /// A message is posted.
    pub fn posts(&mut self) {
        self.under_way += 1;
    }

    /// The program wants to be woken.
    pub fn wake(&mut self, at: Time, name: u64) {
        self.wakes.push(Reverse((at, self.calls, name)));
        self.calls += 1;
    }

    /// Something happens to a message.
    pub fn hears(&mut self, what: News, now: Time) {
        self.under_way -= u64::from(matches!(what, News::Acked(_)));
        self.at = now;
        self.news.push(what);
    }

    /// When there is something to tell next, as far as is known.
    pub fn next_at(&self) -> Time {
        match self.wakes.peek() {
            _ if !self.news.is_empty() => self.at,
            Some(Reverse((at, ..))) => *at,
            None => Time::NEVER,
        }
    }

    /// All events of this instant have happened: the program is told.
    pub fn tell(&mut self, now: Time) {
        self.news.sort_unstable_by_key(|told| match *told {
            News::Arrived(message) => (message, 0),
            News::Acked(message) => (message, 1),
            News::Woken(_) => (u32::MAX, 2),
        });
        self.told.append(&mut self.news);
        while let Some(Reverse((at, _, name))) = self.wakes.peek().copied()
            && at <= now
        {
            self.wakes.pop();
            self.told.push(News::Woken(name));
        }
    }

    /// What it is told now, which it has not taken yet.
    pub fn told(&mut self) -> &mut Vec<News> {
        &mut self.told
    }

    /// Whether nothing that could be told is under way.
    pub fn is_idle(&self) -> bool {
        self.under_way == 0 && self.wakes.is_empty() && self.news.is_empty() && self.told.is_empty()
    }

    /// Posted messages of which the sender does not know yet that they have arrived.
    pub fn under_way(&self) -> u64 {
        self.under_way
    }
}
