//! Messages that wait for others: answers to requests, rounds of queries, what a collective's step starts. Patterns keep
//! all of it local to one host: what counts towards a gate arrives where what waits for it leaves from.

use crate::config::{Chain, Message};
use crate::host::NO_SLOT;
use crate::sim::{Simulation, kind};
use fanin_engine::EventQueue;
use fanin_units::Time;
use std::collections::VecDeque;

/// No gate.
pub const NO_GATE: u32 = u32::MAX;

/// A gate, which opens once, or lets one through at a time.
#[derive(Clone, Debug, Default)]
pub struct Gate {
    /// What has yet to happen before it is open.
    pub missing: u32,
    /// Whether each time lets one through.
    pub in_turn: bool,
    /// What waits for it.
    pub waiting: VecDeque<Waiting>,
}

/// A message that waits for a gate.
#[derive(Clone, Copy, Debug)]
pub struct Waiting {
    message: u32,
    delay: Time,
    answers: bool,
}

impl<Q: EventQueue> Simulation<Q> {
    /// Notes what a message waits for and what it counts towards.
    pub(crate) fn chain(&mut self, traffic: u16, message: u32, chain: &Chain) {
        for gate in [chain.counts, chain.counts_acked].into_iter().flatten() {
            self.gate(traffic, gate).missing += 1;
        }
        if let Some(gate) = chain.after {
            let waiting = Waiting { message, delay: chain.delay, answers: chain.answers };
            let gate = self.gate(traffic, gate);
            gate.in_turn = chain.in_turn;
            gate.waiting.push_back(waiting);
        }
    }

    fn gate(&mut self, traffic: u16, gate: u32) -> &mut Gate {
        let gates = &mut self.gates[traffic as usize];
        if gates.len() <= gate as usize {
            gates.resize(gate as usize + 1, Gate::default());
        }
        &mut gates[gate as usize]
    }

    /// Whether an answer to this message will go back on its connection.
    pub(crate) fn will_be_answered(&self, message: u32) -> bool {
        let gate = self.slots[message as usize].counts;
        let traffic = self.records[message as usize].traffic as usize;
        gate != NO_GATE && self.gates[traffic][gate as usize].waiting.iter().any(|w| w.answers)
    }

    /// A message arrived whole: its gate may open.
    pub(crate) fn message_is_whole(&mut self, message: u32) {
        let record = &mut self.records[message as usize];
        record.finished = self.now;
        record.delivered = record.bytes;
        let traffic = record.traffic;
        self.traffics[traffic as usize].counters.finished += 1;
        self.open_messages -= 1;
        if self.tap.messages {
            self.see_message(message, true);
        }
        self.count_towards(self.slots[message as usize].counts, message);
    }

    /// The senders of these messages know that they arrived whole: their gates may open.
    pub(crate) fn messages_are_acked(&mut self) {
        let mut messages = core::mem::take(&mut self.acked_now);
        for message in messages.drain(..) {
            self.count_towards(self.slots[message as usize].counts_acked, message);
        }
        self.acked_now = messages;
    }

    fn count_towards(&mut self, gate: u32, message: u32) {
        if gate == NO_GATE {
            return;
        }
        let traffic = self.records[message as usize].traffic;
        let gate = self.gate(traffic, gate);
        gate.missing -= 1;
        let through = match (gate.in_turn, gate.missing) {
            (true, _) => gate.waiting.pop_front().into_iter().collect(),
            (false, 0) => core::mem::take(&mut gate.waiting),
            (false, _) => return,
        };
        for waiting in through {
            if self.posting_stopped && !waiting.answers {
                continue;
            }
            let number = waiting.message as usize;
            self.slots[number].answers = if waiting.answers { message } else { NO_SLOT };
            self.open_messages += (self.records[number].bytes < Message::ENDLESS) as i64;
            self.schedule(self.now.saturating_add(waiting.delay), kind::START, waiting.message, 0);
        }
    }
}
