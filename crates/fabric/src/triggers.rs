//! Triggers: messages that are posted when others have arrived or are acknowledged.

use crate::config::Dependency;
use fanin_units::Time;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// Triggers of messages that depend on others: answers to requests, rounds of queries, steps of collectives. In
/// patterns, all of a trigger is local to one host: the messages that count towards it arrive at the host from which
/// the waiting ones leave.
#[derive(Default)]
pub struct Triggers {
    /// By traffic and number, until they are used up.
    triggers: BTreeMap<(u16, u32), Trigger>,
    /// Those that answers wait for which leave from hosts elsewhere.
    answered_elsewhere: BTreeSet<(u16, u32)>,
    /// Whether triggers release only answers.
    only_answers: bool,
}

#[derive(Default)]
struct Trigger {
    /// What has yet to happen.
    missing: u32,
    /// Whether each counting message releases one, instead of the last one releasing all.
    in_turn: bool,
    waiting: VecDeque<Released>,
}

/// A message that waits, or that a trigger has released.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Released {
    /// Its number.
    pub message: u32,
    /// How long after its trigger it is posted.
    pub delay: Time,
    /// Whether it answers the message that fired its trigger.
    pub answers: bool,
}

impl Triggers {
    /// Notes what a message waits for and what it counts towards, each where it happens: `sends` and `receives` say
    /// whether its hosts are here.
    pub fn depend(&mut self, message: u32, traffic: u16, dependency: &Dependency, sends: bool, receives: bool) {
        for (trigger, here) in [(dependency.counts, receives), (dependency.counts_acked, sends)] {
            if let Some(trigger) = trigger.filter(|_| here) {
                self.triggers.entry((traffic, trigger)).or_default().missing += 1;
            }
        }
        if let Some(trigger) = dependency.after {
            if sends {
                let waiting = Released { message, delay: dependency.delay, answers: dependency.answers };
                let trigger = self.triggers.entry((traffic, trigger)).or_default();
                trigger.in_turn = dependency.in_turn;
                trigger.waiting.push_back(waiting);
            } else if dependency.answers {
                self.answered_elsewhere.insert((traffic, trigger));
            }
        }
    }

    /// Whether an answer waits for this trigger.
    pub fn will_be_answered(&self, trigger: (u16, u32)) -> bool {
        self.answered_elsewhere.contains(&trigger)
            || self.triggers.get(&trigger).is_some_and(|of| of.waiting.iter().any(|w| w.answers))
    }

    /// A message that counts towards a trigger has arrived, or is acknowledged. Returns what that releases.
    pub fn count(&mut self, at: (u16, u32)) -> Vec<Released> {
        let Some(trigger) = self.triggers.get_mut(&at) else { return Vec::new() };
        trigger.missing -= 1;
        let mut through: Vec<Released> = match (trigger.in_turn, trigger.missing) {
            (true, _) => trigger.waiting.pop_front().into_iter().collect(),
            (false, 0) => core::mem::take(&mut trigger.waiting).into(),
            (false, _) => return Vec::new(),
        };
        if trigger.missing == 0 {
            self.triggers.remove(&at);
        }
        through.retain(|released| released.answers || !self.only_answers);
        through
    }

    /// From now on triggers release only answers.
    pub fn answer_only(&mut self) {
        self.only_answers = true;
    }
}
