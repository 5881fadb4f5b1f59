//! What a program outside asks of a simulation: it posts messages, and learns what happens.

use crate::caller::News;
use crate::clock::{START_POSTED, kind, source};
use crate::config::Message;
use crate::sim::Simulation;
use fanin_engine::EventQueue;
use fanin_units::{MessageId, Time};

/// Finished messages are packed whenever so many more were posted.
const PACK_EVERY: usize = 1 << 14;

impl<Q: EventQueue> Simulation<Q> {
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
