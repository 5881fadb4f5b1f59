//! The messages of a partition: their records, their dependencies, and the totals of their traffics.

use crate::caller::{Caller, News};
use crate::config::{Message, TrafficConfig};
use crate::graphs::Graphs;
use crate::message::{MessageState, NONE};
use crate::results::{FlowRecord, TrafficCounters};
use crate::table::{Table, Unpacked};
use crate::triggers::{Released, Triggers};
use fanin_cc::Settings;
use fanin_endpoint::host::{Ends, NO_SLOT, Traffic};
use fanin_units::{MessageId, Time};
use std::collections::{BTreeMap, VecDeque};

/// Finished messages are packed this often.
const PACK_EVERY: Time = Time::from_us(100);

/// A message that was requested before it was loaded.
struct Followed {
    /// Whether its hops are recorded.
    trace: bool,
    /// Its number, once it is loaded.
    message: Option<u32>,
}

/// The messages of a partition, by their number in the whole network.
#[derive(Default)]
pub(crate) struct Messages {
    traffics: Vec<Traffic>,
    counters: Vec<TrafficCounters>,
    /// Messages of each traffic loaded so far.
    loaded: Vec<u32>,
    records: Table<FlowRecord>,
    states: Table<MessageState>,
    /// The blocks that are not packed, and when to look at them again.
    unpacked: Unpacked,
    pack_at: Time,
    /// The first message of each connection, where traffics use connections.
    connections: BTreeMap<(u16, u32, u32), u32>,
    triggers: Triggers,
    /// The ranks whose nodes send messages, if there are any.
    graphs: Option<Box<Graphs>>,
    /// The program outside that posts messages, if there is one.
    caller: Option<Box<Caller>>,
    /// Whether one of the messages of either has arrived or was acknowledged, so that more may be due now. Its reader
    /// clears it.
    pub reached_graphs: bool,
    /// Messages whose last ACK has just arrived and counts towards a trigger.
    acked_now: Vec<u32>,
    /// Messages whose triggers have just fired, with the time to post them.
    triggered: VecDeque<(Time, u32)>,
    /// Messages over TCP from remote hosts that wait to be answered and did not open their connection, with the one
    /// that did.
    stream_openers: BTreeMap<u32, u32>,
    /// Messages that were requested before they were loaded, by [`MessageState::name`].
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
            ..Self::default()
        }
    }

    /// The traffics, by number.
    #[inline(always)]
    pub fn traffics(&self) -> &[Traffic] {
        &self.traffics
    }

    /// The counters of each traffic.
    pub fn counters(&self) -> &[TrafficCounters] {
        &self.counters
    }

    /// The counters of one traffic, for writing.
    #[inline(always)]
    pub fn counters_mut(&mut self, traffic: u16) -> &mut TrafficCounters {
        &mut self.counters[traffic as usize]
    }

    /// The records of messages, by number.
    #[inline(always)]
    pub fn records(&self) -> &Table<FlowRecord> {
        &self.records
    }

    /// The record of one message, for writing.
    #[inline(always)]
    pub fn record_mut(&mut self, message: MessageId) -> &mut FlowRecord {
        &mut self.records[message.ix()]
    }

    /// Takes all records; the messages are gone afterwards.
    pub fn take_records(&mut self) -> Table<FlowRecord> {
        std::mem::take(&mut self.records)
    }

    /// Number of messages loaded, in any partition.
    pub fn len(&self) -> usize {
        self.records.len()
    }

    /// The ends of messages and their dependencies.
    #[inline(always)]
    pub fn state(&self, message: MessageId) -> &MessageState {
        &self.states[message.ix()]
    }

    /// As above, for writing.
    #[inline(always)]
    pub fn state_mut(&mut self, message: MessageId) -> &mut MessageState {
        &mut self.states[message.ix()]
    }

    /// Adds the next message of the network. `sends` and `receives`: whether its hosts are local; of a message between
    /// remote hosts only the number is kept. Returns its number, and whether its hops were requested.
    pub fn load(&mut self, message: Message, sends: bool, receives: bool) -> (u32, bool) {
        let number = self.records.len() as u32;
        let traffic = message.traffic;
        let loaded = &mut self.loaded[traffic as usize];
        let name = (traffic as u64) << 32 | *loaded as u64;
        *loaded += 1;
        let followed = self.request(name, number);
        let mut dependency = message.dependency;
        if let Some(sent_by) = message.sent_by
            && let Some(graphs) = &mut self.graphs
            && (sends || receives)
        {
            let known = graphs.load(number, traffic, sent_by);
            dependency.counts = Some(known).filter(|_| receives);
            dependency.counts_acked = Some(known).filter(|_| sends);
        }
        if !sends && !receives {
            self.records.skip();
            self.states.skip();
        } else {
            let record = FlowRecord::new(message.src, message.dst, message.bytes, traffic, message.group);
            let state = MessageState {
                ends: Ends::default(),
                name,
                counts: dependency.counts.unwrap_or(NONE),
                counts_acked: dependency.counts_acked.unwrap_or(NONE),
                answers: NONE,
                waited: dependency.after.is_some(),
                senders: message.senders,
            };
            self.records.push(record);
            self.states.push(state);
        }
        if message.sent_by.is_none() {
            self.triggers.depend(number, traffic, &dependency, sends, receives);
        } else {
            // All those of a job are loaded at its start, and most of them are posted much later. Among them may be a
            // message of an incast.
            if self.states.pack_complete(|state| state.senders.is_none()) {
                self.records.pack_complete(|_| true);
            }
        }
        (number, followed)
    }

    /// Adds a message of the program outside under a number that it chose and has not used before, by which it is also
    /// requested. Returns whether its hops were.
    pub fn load_as(&mut self, number: u32, message: &Message) -> bool {
        let row = number as usize;
        while self.records.len() <= row {
            // Not posted, as those that wait for others until the end, and none where it never is.
            self.records.push(FlowRecord::new(message.src, message.dst, 0, message.traffic, u32::MAX));
            self.states.push(MessageState::default());
        }
        self.loaded[message.traffic as usize] += 1;
        self.records[row] = FlowRecord::new(message.src, message.dst, message.bytes, message.traffic, message.group);
        let name = (message.traffic as u64) << 32 | number as u64;
        self.states[row] =
            MessageState { name, counts: number, counts_acked: number, answers: NONE, ..MessageState::default() };
        self.caller.iter_mut().for_each(|caller| caller.posts());
        self.request(name, number)
    }

    /// A message of this name has been loaded. Returns whether its hops were requested.
    fn request(&mut self, name: u64, number: u32) -> bool {
        self.followed.get_mut(&name).is_some_and(|followed| {
            followed.message = Some(number);
            followed.trace
        })
    }

    /// A message is posted. Returns the host's overhead before it reaches the endpoint.
    pub fn post(&mut self, message: MessageId, now: Time) -> Time {
        let request = self.will_be_answered(message);
        let record = &mut self.records[message.ix()];
        record.start = now;
        record.request = request;
        let (ends, traffic) = (record.bytes < Message::ENDLESS, record.traffic as usize);
        self.counters[traffic].started += 1;
        // A dependent message was counted when its trigger fired, so that a run does not end in between.
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
        self.triggers.will_be_answered((self.records[message.ix()].traffic, trigger))
    }

    /// A message has arrived completely: its trigger may fire. Returns whether it released an answer to this message.
    pub fn arrived(&mut self, message: MessageId, now: Time) -> bool {
        let record = &mut self.records[message.ix()];
        record.finished = now;
        record.delivered = record.bytes;
        self.counters[record.traffic as usize].finished += 1;
        self.open -= 1;
        let counts = self.states[message.ix()].counts;
        match self.graphs_of(counts, message) {
            Some(graphs) => {
                graphs.arrived(counts, now);
                self.reached_graphs = true;
                false
            }
            None => self.count_towards(counts, message, now, News::Arrived(message.0)),
        }
    }

    /// The sender of a message knows that it has arrived completely.
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
            let counts = self.states[message as usize].counts_acked;
            match self.graphs_of(counts, MessageId(message)) {
                Some(graphs) => {
                    graphs.acked(counts, now);
                    self.reached_graphs = true;
                }
                None => _ = self.count_towards(counts, MessageId(message), now, News::Acked(message)),
            }
        }
        self.acked_now = messages;
    }

    /// The graphs, if a node sent the message and `counts` is its number there.
    #[inline(always)]
    fn graphs_of(&mut self, counts: u32, message: MessageId) -> Option<&mut Graphs> {
        if counts == NONE {
            return None;
        }
        let traffic = self.records[message.ix()].traffic;
        self.graphs.as_deref_mut().filter(|graphs| graphs.has(traffic))
    }

    /// Returns whether the trigger released an answer to the message.
    fn count_towards(&mut self, trigger: u32, message: MessageId, now: Time, what: News) -> bool {
        if trigger == NONE {
            return false;
        }
        if let Some(caller) = &mut self.caller {
            caller.hears(what, now);
            self.reached_graphs = true;
            return false;
        }
        let released = self.triggers.count((self.records[message.ix()].traffic, trigger));
        let mut answered = false;
        for Released { message: number, delay, answers } in released {
            answered |= answers;
            let row = number as usize;
            self.states[row].answers = if answers { message.0 } else { NONE };
            self.open += (self.records[row].bytes < Message::ENDLESS) as i64;
            self.triggered.push_back((now.saturating_add(delay), number));
        }
        answered
    }

    /// The next message whose trigger has fired, with the time to post it.
    #[inline(always)]
    pub fn next_triggered(&mut self) -> Option<(Time, u32)> {
        self.triggered.pop_front()
    }

    /// From now on triggers release only answers.
    pub fn answer_only(&mut self) {
        self.triggers.answer_only();
        self.graphs.iter_mut().for_each(|graphs| graphs.stop());
    }

    /// The ranks of graphs.
    pub fn graphs(&self) -> Option<&Graphs> {
        self.graphs.as_deref()
    }

    /// As above, for writing.
    pub fn graphs_mut(&mut self) -> Option<&mut Graphs> {
        self.graphs.as_deref_mut()
    }

    /// Sets the ranks whose nodes send messages, before any is loaded.
    pub fn set_graphs(&mut self, graphs: Graphs) {
        self.graphs = Some(Box::new(graphs));
    }

    /// The program outside.
    pub fn caller(&mut self) -> Option<&mut Caller> {
        self.caller.as_deref_mut()
    }

    /// From now on a program outside posts messages; there are no others.
    pub fn set_caller(&mut self) {
        self.caller = Some(Box::default());
    }

    /// Whether someone acts when events of an instant are over: the ranks of graphs, or the program outside.
    #[inline(always)]
    pub fn has_actors(&self) -> bool {
        self.graphs.is_some() || self.caller.is_some()
    }

    /// When the ranks of graphs or the program outside act next, once all that the network delivers at that instant is
    /// here.
    pub fn acts_at(&self) -> Time {
        let graphs = self.graphs.as_deref().map_or(Time::NEVER, Graphs::next_at);
        graphs.min(self.caller.as_deref().map_or(Time::NEVER, Caller::next_at))
    }

    /// The message that opened the connection between two hosts, where a traffic's connections stay open.
    pub fn connection(&self, traffic: u16, from: u32, to: u32) -> Option<MessageId> {
        self.connections.get(&(traffic, from, to)).copied().map(MessageId)
    }

    /// Notes that a message opens, or has opened, the connection between its hosts.
    pub fn set_connection(&mut self, of: MessageId, opener: MessageId) {
        let record = &self.records[of.ix()];
        self.connections.insert((record.traffic, record.src, record.dst), opener.0);
    }

    /// The message that opened the connection of a message received from a remote host, if it is a different one.
    pub fn stream_opener(&self, message: MessageId) -> Option<MessageId> {
        self.stream_openers.get(&message.0).copied().map(MessageId)
    }

    /// Stores that message, if an answer may follow.
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

    /// Requests, before the run starts, message `number` of a traffic, counted from 0 in the order of their start, and
    /// its hops.
    pub fn follow(&mut self, traffic: u16, number: u32, trace: bool) {
        let name = (traffic as u64) << 32 | number as u64;
        self.followed.entry(name).or_insert(Followed { trace: false, message: None }).trace |= trace;
    }

    /// The number of a requested message; `None` before it is loaded.
    pub fn followed(&self, traffic: u16, number: u32) -> Option<u32> {
        self.followed.get(&((traffic as u64) << 32 | number as u64)).and_then(|followed| followed.message)
    }

    /// Whether the hops of some messages are requested.
    pub fn follows_hops(&self) -> bool {
        self.followed.values().any(|followed| followed.trace)
    }

    /// Whether finished messages should be packed now, as they are from time to time.
    pub fn pack_is_due(&mut self, now: Time) -> bool {
        let due = now >= self.pack_at;
        if due {
            self.pack_at = now.saturating_add(PACK_EVERY);
        }
        due
    }

    /// Packs the rows of finished messages: arrived, acknowledged, and without an end still in use. Of a message that a
    /// partition only sends or only receives, that half must be finished.
    pub fn pack(&mut self, is_here: impl Fn(u32) -> bool) {
        let Self { unpacked, records, states, .. } = self;
        unpacked.pack(records, states, |records, states, message| {
            let (record, state) = (&records[message], &states[message]);
            let (sends, receives) = (is_here(record.src), is_here(record.dst));
            let over = (!sends || record.acked.is_some() && state.ends.send == NO_SLOT && state.senders.is_none())
                && (!receives || record.finished.is_some() && state.ends.recv == NO_SLOT);
            if over && state.senders.is_some() {
                // Only a sender's end clears these.
                states[message].senders = None;
            }
            over
        });
    }
}
