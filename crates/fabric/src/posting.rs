//! Who posts messages besides the list of a run: jobs, and a program outside, which learns what happens.

use crate::caller::News;
use crate::config::Message;
use crate::graphs::{Graphs, Placed};
use crate::sim::Simulation;
use fanin_engine::EventQueue;
use fanin_units::{MessageId, NodeId, Time};

/// Finished messages are packed whenever so many more were posted.
const PACK_EVERY: usize = 1 << 14;

impl<Q: EventQueue> Simulation<Q> {
    /// Has jobs run, before any message is loaded; their messages are among those of the simulation.
    pub fn run_graphs(&mut self, jobs: Vec<Placed>) {
        let graphs = Graphs::new(jobs, |host| self.world.net.core().outbox.is_here(NodeId(host)));
        self.world.messages.set_graphs(graphs);
    }

    /// From now on triggers post only answers to what has been asked.
    pub fn stop_posting(&mut self) {
        self.stop_messages();
        self.world.messages.answer_only();
    }

    /// From now on a program outside posts messages, before any event has run; there are no others.
    pub fn expect_posts(&mut self) {
        self.world.messages.set_caller();
    }

    /// The program outside posts a message now, under a number that it has not used before.
    pub fn post(&mut self, number: u32, message: &Message) {
        if self.world.messages.load_as(number, message) {
            self.trace(number);
        }
        if self.world.messages.len().is_multiple_of(PACK_EVERY) {
            self.pack_messages();
        }
        self.post_now(MessageId(number));
    }

    /// Wakes the program outside at a time that is not over, and tells it the name.
    pub fn wake(&mut self, at: Time, name: u64) {
        self.world.messages.caller().into_iter().for_each(|caller| caller.wake(at, name));
    }

    /// Runs to the next instant before `until` at which there is something to tell the program outside, and at most
    /// about `budget` events; adds what it is told. Returns whether it reached `until`.
    pub fn run_to_news(&mut self, until: Time, budget: u64, told: &mut Vec<News>) -> bool {
        let reached = self.run_unflushed(until, budget);
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
