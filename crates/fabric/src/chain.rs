//! Messages that wait for others: answers to requests, rounds of queries. All of it is local to one host: what counts
//! towards a gate arrives where what waits for it leaves from.

use crate::config::{Chain, Message};
use crate::host::NO_SLOT;
use crate::sim::{Simulation, kind};
use fanin_engine::EventQueue;
use fanin_units::Time;

/// No gate.
pub const NO_GATE: u32 = u32::MAX;

/// A gate, which opens once.
#[derive(Clone, Debug, Default)]
pub struct Gate {
    /// Messages that have to arrive before it opens.
    pub missing: u32,
    /// What waits for it.
    pub waiting: Vec<Waiting>,
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
        if let Some(gate) = chain.counts {
            self.gate(traffic, gate).missing += 1;
        }
        if let Some(gate) = chain.after {
            let waiting = Waiting { message, delay: chain.delay, answers: chain.answers };
            self.gate(traffic, gate).waiting.push(waiting);
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
        let gate = self.slots[message as usize].counts;
        if gate == NO_GATE {
            return;
        }
        let gate = self.gate(traffic, gate);
        gate.missing -= 1;
        if gate.missing > 0 {
            return;
        }
        for waiting in core::mem::take(&mut gate.waiting) {
            if self.posting_stopped && !waiting.answers {
                continue;
            }
            let number = waiting.message as usize;
            self.slots[number].answers = if waiting.answers { message } else { NO_SLOT };
            self.open_messages += (self.records[number].bytes < Message::ENDLESS) as u64;
            self.schedule(self.now.saturating_add(waiting.delay), kind::START, waiting.message, 0);
        }
    }
}
