//! A program outside that posts messages while the run goes on, learns of their ends, and has itself woken.
//!
//! The run stops at each instant at which there is something to tell, once all events of that instant have happened.
//! What the program then posts takes effect at that instant, in the order of its calls, as if nodes of a graph
//! (`graphs.rs`) had posted it.

use crate::clock::{START_POSTED, kind, source};
use crate::config::Message;
use crate::sim::Simulation;
use fanin_engine::EventQueue;
use fanin_units::{MessageId, Time};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Finished messages are packed whenever so many more were posted.
const PACK_EVERY: usize = 1 << 14;

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

impl<Q: EventQueue> Simulation<Q> {
    /// All events of this instant have happened: the program outside is told, if there is one.
    pub(crate) fn tell(&mut self, now: Time) -> bool {
        let Some(caller) = self.world.messages.caller() else { return false };
        caller.tell(now);
        self.world.net.core_mut().clock.advance_to(now);
        true
    }

    /// From now on a program outside posts messages, before any event has run; there are no others.
    pub fn expect_posts(&mut self) {
        self.world.messages.set_caller();
    }

    /// The program outside posts a message now, under a number that it has not used before.
    pub fn post(&mut self, number: u32, message: &Message) {
        self.world.messages.load_as(number, message);
        if self.world.messages.len().is_multiple_of(PACK_EVERY) {
            self.pack_messages();
        }
        // As if it were posted by an event.
        self.world.net.core_mut().clock.set_cause(source(kind::START, number));
        self.start_message(MessageId(number), START_POSTED);
    }

    /// Wakes the program outside at a time that is not over, and tells it the name.
    pub fn wake(&mut self, at: Time, name: u64) {
        self.world.messages.caller().into_iter().for_each(|caller| caller.wake(at, name));
    }

    /// Runs to the next instant before `until` at which there is something to tell the program outside, and at most
    /// about `budget` events; adds what it is told. Returns whether it reached `until`.
    pub fn run_to_news(&mut self, until: Time, budget: u64, told: &mut Vec<News>) -> bool {
        let traced = self.world.net.core().probes.traces() || self.world.messages.follows_hops();
        let reached = if traced { self.run_traced(until, budget) } else { self.advance(until, budget) };
        if let Some(caller) = self.world.messages.caller() {
            told.append(caller.told());
        }
        if reached {
            self.flush();
        }
        reached
    }

    /// Whether nothing is under way of which the program outside could be told.
    pub fn has_nothing_to_tell(&mut self) -> bool {
        self.world.messages.caller().is_none_or(|caller| caller.is_idle())
    }

    /// Posted messages of whose arrival their senders do not know yet, of a program outside.
    pub fn posts_under_way(&mut self) -> u64 {
        self.world.messages.caller().map_or(0, |caller| caller.under_way())
    }
}
