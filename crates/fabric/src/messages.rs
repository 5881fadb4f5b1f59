//! The messages of a partition: what is known of each, what they wait for, and the totals of their traffics.

use crate::config::{Dependency, Message, TrafficConfig};
use crate::message::{MessageState, NONE};
use crate::results::{FlowRecord, TrafficCounters};
use crate::table::{Table, Unpacked};
use fanin_cc::Settings;
use fanin_endpoint::host::{Ends, NO_SLOT, Traffic};
use fanin_units::{MessageId, Time};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// Messages that wait for others: answers to requests, rounds of queries, what a collective's step starts. All of it is
/// local to one host in patterns: what counts towards a trigger arrives where what waits for it leaves from.
#[derive(Default)]
struct Trigger {
    /// What has yet to happen.
    missing: u32,
    /// Whether each time lets one message through, instead of all after the last.
    in_turn: bool,
    waiting: VecDeque<Waiting>,
}

/// A message that waits.
#[derive(Clone, Copy)]
pub(crate) struct Waiting {
    pub message: u32,
    delay: Time,
    answers: bool,
}

/// A message that was asked for before it was loaded.
struct Followed {
    /// Whether its hops are written down.
    trace: bool,
    /// Its number, once it is loaded.
    message: Option<u32>,
}

/// The messages of a partition, by their number in the whole network.
pub(crate) struct Messages {
    traffics: Vec<Traffic>,
    counters: Vec<TrafficCounters>,
    /// Messages of each traffic that were loaded so far.
    loaded: Vec<u32>,
    records: Table<FlowRecord>,
    states: Table<MessageState>,
    /// Which of them are not packed.
    unpacked: Unpacked,
    /// The first message of each connection, where traffics use connections.
    connections: BTreeMap<(u16, u32, u32), u32>,
    /// By traffic and number, until they are used up.
    triggers: BTreeMap<(u16, u32), Trigger>,
    /// Those that answers wait for which leave from hosts elsewhere.
    answered_elsewhere: BTreeSet<(u16, u32)>,
    /// Messages whose last ACK just came and counts towards a trigger.
    acked_now: Vec<u32>,
    /// Messages to post, with when: their triggers have just fired.
    triggered: VecDeque<(Time, u32)>,
    /// Whether triggers let answers through only.
    only_answers: bool,
    /// Messages of TCP from elsewhere that wait to be answered and did not open their connection, with the one that
    /// did.
    stream_openers: BTreeMap<u32, u32>,
    /// Messages that were asked for before they were loaded, by [`MessageState::name`].
    followed: BTreeMap<u64, Followed>,
    /// Messages with an end that are posted and have not arrived. Below zero in a partition that receives more than it
    /// sends.
    open: i64,
}

/// The traffics of a run, and the schemes that they use: those with the same scheme and parameters share one.
pub(crate) fn traffics(configs: &[TrafficConfig]) -> (Vec<Traffic>, Vec<Settings>) {
    let mut schemes: Vec<Settings> = Vec::new();
    let traffic = |config: &TrafficConfig| {
        let known = schemes.iter().position(|s| *s == config.scheme);
        let scheme = known.unwrap_or_else(|| {
            schemes.push(config.scheme.clone());
            schemes.len() - 1
        });
        Traffic { config: config.clone(), scheme: scheme as u16, overhead: config.scheme.header_overhead() }
    };
    (configs.iter().map(traffic).collect(), schemes)
}

impl Messages {
    pub fn new(traffics: Vec<Traffic>) -> Self {
        Self {
            counters: vec![TrafficCounters::default(); traffics.len()],
            loaded: vec![0; traffics.len()],
            traffics,
            records: Table::default(),
            states: Table::default(),
            unpacked: Unpacked::default(),
            connections: BTreeMap::new(),
            triggers: BTreeMap::new(),
            answered_elsewhere: BTreeSet::new(),
            acked_now: Vec::new(),
            triggered: VecDeque::new(),
            only_answers: false,
            stream_openers: BTreeMap::new(),
            followed: BTreeMap::new(),
            open: 0,
        }
    }

    /// The traffics, by number.
    #[inline(always)]
    pub fn traffics(&self) -> &[Traffic] {
        &self.traffics
    }

    /// What is counted of each.
    pub fn counters(&self) -> &[TrafficCounters] {
        &self.counters
    }

    /// The same of one, to change it.
    #[inline(always)]
    pub fn counters_mut(&mut self, traffic: u16) -> &mut TrafficCounters {
        &mut self.counters[traffic as usize]
    }

    /// What is known of messages, by number.
    #[inline(always)]
    pub fn records(&self) -> &Table<FlowRecord> {
        &self.records
    }

    /// The same of one, to change it.
    #[inline(always)]
    pub fn record_mut(&mut self, message: MessageId) -> &mut FlowRecord {
        &mut self.records[message.ix()]
    }

    /// All records, for good: the messages are forgotten.
    pub fn take_records(&mut self) -> Table<FlowRecord> {
        std::mem::take(&mut self.records)
    }

    /// How many messages were loaded, here or elsewhere.
    pub fn len(&self) -> usize {
        self.records.len()
    }

    /// The ends of messages and what they wait for.
    #[inline(always)]
    pub fn state(&self, message: MessageId) -> &MessageState {
        &self.states[message.ix()]
    }

    /// The same to change it.
    #[inline(always)]
    pub fn state_mut(&mut self, message: MessageId) -> &mut MessageState {
        &mut self.states[message.ix()]
    }

    /// The next message of the network is known. `sends` and `receives` say whether its hosts are here: of a message
    /// between others only its number is kept. Returns its number, and whether it was asked for with its hops.
    pub fn load(&mut self, message: Message, sends: bool, receives: bool) -> (u32, bool) {
        let number = self.records.len() as u32;
        let traffic = message.traffic;
        let loaded = &mut self.loaded[traffic as usize];
        let name = (traffic as u64) << 32 | *loaded as u64;
        *loaded += 1;
        let followed = self.followed.get_mut(&name).is_some_and(|followed| {
            followed.message = Some(number);
            followed.trace
        });
        let dependency = message.dependency;
        if !sends && !receives {
            self.records.skip();
            self.states.skip();
        } else {
            self.records.push(FlowRecord::new(message.src, message.dst, message.bytes, traffic, message.group));
            self.states.push(MessageState {
                ends: Ends::default(),
                name,
                counts: dependency.counts.unwrap_or(NONE),
                counts_acked: dependency.counts_acked.unwrap_or(NONE),
                answers: NONE,
                waited: dependency.after.is_some(),
                senders: message.senders,
            });
        }
        self.depend(number, traffic, &dependency, sends, receives);
        (number, followed)
    }

    /// Notes what a message waits for and what it counts towards, each where it happens.
    fn depend(&mut self, message: u32, traffic: u16, dependency: &Dependency, sends: bool, receives: bool) {
        for (trigger, here) in [(dependency.counts, receives), (dependency.counts_acked, sends)] {
            if let Some(trigger) = trigger.filter(|_| here) {
                self.triggers.entry((traffic, trigger)).or_default().missing += 1;
            }
        }
        if let Some(trigger) = dependency.after {
            if sends {
                let waiting = Waiting { message, delay: dependency.delay, answers: dependency.answers };
                let trigger = self.triggers.entry((traffic, trigger)).or_default();
                trigger.in_turn = dependency.in_turn;
                trigger.waiting.push_back(waiting);
            } else if dependency.answers {
                self.answered_elsewhere.insert((traffic, trigger));
            }
        }
    }

    /// A message is posted. Returns how long it spends in its host before the endpoint has it.
    pub fn post(&mut self, message: MessageId, now: Time) -> Time {
        let request = self.will_be_answered(message);
        let record = &mut self.records[message.ix()];
        record.start = now;
        record.request = request;
        let (ends, traffic) = (record.bytes < Message::ENDLESS, record.traffic as usize);
        self.counters[traffic].started += 1;
        // One that waited for others was counted when its trigger fired, so that a run does not end in between.
        if !self.states[message.ix()].waited {
            self.open += ends as i64;
        }
        self.traffics[traffic].config.overhead
    }

    /// Whether an answer to this message will go back on its connection.
    pub fn will_be_answered(&self, message: MessageId) -> bool {
        let trigger = self.states[message.ix()].counts;
        if trigger == NONE {
            return false;
        }
        let at = (self.records[message.ix()].traffic, trigger);
        self.answered_elsewhere.contains(&at)
            || self.triggers.get(&at).is_some_and(|of| of.waiting.iter().any(|w| w.answers))
    }

    /// A message arrived whole: its trigger may fire.
    pub fn arrived(&mut self, message: MessageId, now: Time) {
        let record = &mut self.records[message.ix()];
        record.finished = now;
        record.delivered = record.bytes;
        self.counters[record.traffic as usize].finished += 1;
        self.open -= 1;
        self.count_towards(self.states[message.ix()].counts, message, now);
    }

    /// The sender of a message knows that it arrived whole.
    #[inline(always)]
    pub fn acked(&mut self, message: MessageId) {
        if self.states[message.ix()].counts_acked != NONE {
            self.acked_now.push(message.0);
        }
    }

    /// The triggers of all messages that were just acknowledged may fire.
    #[inline(always)]
    pub fn after_acked(&mut self, now: Time) {
        if !self.acked_now.is_empty() {
            self.count_acked(now);
        }
    }

    #[inline(never)]
    fn count_acked(&mut self, now: Time) {
        let mut messages = core::mem::take(&mut self.acked_now);
        for message in messages.drain(..) {
            self.count_towards(self.states[message as usize].counts_acked, MessageId(message), now);
        }
        self.acked_now = messages;
    }

    fn count_towards(&mut self, trigger: u32, message: MessageId, now: Time) {
        if trigger == NONE {
            return;
        }
        let at = (self.records[message.ix()].traffic, trigger);
        let Some(trigger) = self.triggers.get_mut(&at) else { return };
        trigger.missing -= 1;
        let through: Vec<Waiting> = match (trigger.in_turn, trigger.missing) {
            (true, _) => trigger.waiting.pop_front().into_iter().collect(),
            (false, 0) => core::mem::take(&mut trigger.waiting).into(),
            (false, _) => return,
        };
        if trigger.missing == 0 {
            self.triggers.remove(&at);
        }
        for waiting in through {
            if self.only_answers && !waiting.answers {
                continue;
            }
            let number = waiting.message as usize;
            self.states[number].answers = if waiting.answers { message.0 } else { NONE };
            self.open += (self.records[number].bytes < Message::ENDLESS) as i64;
            self.triggered.push_back((now.saturating_add(waiting.delay), waiting.message));
        }
    }

    /// The next message whose trigger has fired, with when it is to be posted.
    #[inline(always)]
    pub fn next_triggered(&mut self) -> Option<(Time, u32)> {
        self.triggered.pop_front()
    }

    /// From now on triggers let answers through only.
    pub fn answer_only(&mut self) {
        self.only_answers = true;
    }

    /// The message that opened the connection between two hosts, where a traffic's connections stay open.
    pub fn connection(&self, traffic: u16, from: u32, to: u32) -> Option<MessageId> {
        self.connections.get(&(traffic, from, to)).copied().map(MessageId)
    }

    /// A message opens the connection between its hosts, or is known to have.
    pub fn set_connection(&mut self, of: MessageId, opener: MessageId) {
        let record = &self.records[of.ix()];
        self.connections.insert((record.traffic, record.src, record.dst), opener.0);
    }

    /// The message that opened the connection that a message from elsewhere came by, where that is another one.
    pub fn stream_opener(&self, message: MessageId) -> Option<MessageId> {
        self.stream_openers.get(&message.0).copied().map(MessageId)
    }

    /// Notes that, where the message may be answered.
    pub fn note_stream_opener(&mut self, message: MessageId, first: MessageId) {
        if self.states[message.ix()].counts != NONE {
            self.stream_openers.insert(message.0, first.0);
        }
    }

    /// Messages with an end that are posted and have not arrived; below zero in a partition that receives more than it
    /// sends.
    pub fn open(&self) -> i64 {
        self.open
    }

    /// Asks, before anything runs, for message `number` of a traffic, counted from 0 in the order of their start, and
    /// for its hops.
    pub fn follow(&mut self, traffic: u16, number: u32, trace: bool) {
        let name = (traffic as u64) << 32 | number as u64;
        self.followed.entry(name).or_insert(Followed { trace: false, message: None }).trace |= trace;
    }

    /// The number of a message that was asked for; `None` before it is loaded.
    pub fn followed(&self, traffic: u16, number: u32) -> Option<u32> {
        self.followed.get(&((traffic as u64) << 32 | number as u64)).and_then(|followed| followed.message)
    }

    /// Whether some are asked for with their hops.
    pub fn follows_hops(&self) -> bool {
        self.followed.values().any(|followed| followed.trace)
    }

    /// Packs the rows of messages that are over: arrived, acknowledged, and with no end that goes on. Of a message that
    /// a partition only sends or only receives, that half is over.
    pub fn pack(&mut self, is_here: impl Fn(u32) -> bool) {
        let Self { unpacked, records, states, .. } = self;
        unpacked.pack(records, states, |records, states, message| {
            let (record, state) = (&records[message], &states[message]);
            let (sends, receives) = (is_here(record.src), is_here(record.dst));
            let over = (!sends || record.acked.is_some() && state.ends.send == NO_SLOT && state.senders.is_none())
                && (!receives || record.finished.is_some() && state.ends.recv == NO_SLOT);
            if over && state.senders.is_some() {
                // Only a sender's end forgets these.
                states[message].senders = None;
            }
            over
        });
    }
}
