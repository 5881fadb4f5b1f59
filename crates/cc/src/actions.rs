//! How often a scheme acted, so that a scheme that never acted is noticed.

use fanin_units::Count;

macro_rules! actions {
    ($($(#[$doc:meta])* $name:ident = $text:literal,)*) => {
        /// Something a scheme did, counted per scheme and run.
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        #[repr(u8)]
        pub enum Action { $($(#[$doc])* $name,)* }

        impl Action {
            /// Every action, in the order of its number.
            pub const ALL: &'static [Self] = &[$(Self::$name,)*];

            /// The name used in results.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$name => $text,)* }
            }
        }
    };
}

actions! {
    /// A congestion signal lowered the rate or window.
    Cut = "cuts",
    /// The scheme raised its rate or window on its own.
    Increase = "increases",
    /// A marked data packet reached the receiver.
    MarkSeen = "marks_seen",
    /// The receiver sent a congestion notification packet.
    CnpSent = "cnps_sent",
    /// A congestion notification packet reached the sender.
    CnpReceived = "cnps_received",
    /// A send was held back because the window was full.
    WindowLimited = "window_limited",
    /// The scheme reacted to a loss that the endpoint found.
    LossReaction = "loss_reactions",
    /// The receiver held an ACK back for later.
    AckHeld = "acks_held",
    /// The receiver sent a credit.
    CreditSent = "credits_sent",
    /// A sender asked for credits.
    CreditRequest = "credit_requests",
    /// A sender told its receiver to stop sending credits.
    CreditStop = "credit_stops",
    /// A credit reached a sender without data.
    CreditWasted = "credits_wasted",
    /// DCQCN fast recovery step.
    FastRecovery = "fast_recovery_steps",
    /// Additive increase step of DCQCN or HPCC.
    AdditiveIncrease = "additive_increase_steps",
    /// DCQCN hyper increase step.
    HyperIncrease = "hyper_increase_steps",
    /// The scheme reacted to a retransmission timeout.
    Timeout = "timeout_reactions",
    /// The window was reset after an idle time.
    IdleRestart = "idle_restarts",
    /// A window of data with marks entered the sender's estimate of congestion.
    MarkedWindow = "marked_windows",
    /// The mark that the receiver echoes changed.
    EchoFlip = "echo_flips",
    // From here to `Escaped`: Dart's alone, by which its summary recognises it.
    /// Nanoseconds, summed over hosts, in Dart's state without congestion while data arrived.
    NoCongestion = "no_congestion_ns",
    /// Nanoseconds in Dart's state of receiver congestion.
    ReceiverCongestion = "receiver_congestion_ns",
    /// Nanoseconds in Dart's state of non-receiver congestion.
    NonReceiverCongestion = "non_receiver_congestion_ns",
    /// Dart's state changed.
    StateChange = "state_changes",
    /// An ACK with a share went out.
    ShareTold = "shares_told",
    /// The sum of n over those ACKs.
    CountTold = "counts_told",
    /// The share that a sender holds changed.
    ShareChange = "share_changes",
    /// A receiver suppressed a congestion mark.
    MarkSuppressed = "marks_suppressed",
    /// A receiver passed a congestion mark on to DCQCN.
    MarkPassed = "marks_passed",
    /// A list of an incast's senders joined the set ahead of their messages.
    LookAheadUsed = "look_aheads_used",
    /// A later copy of a known list arrived.
    LookAheadRepeated = "look_aheads_repeated",
    /// A list was refused: too many lists, or too many announced senders.
    LookAheadRefused = "look_aheads_refused",
    /// A silent sender expired.
    SenderExpired = "senders_expired",
    /// A message was deflected by a switch.
    MessageDeflected = "messages_deflected",
    /// A packet was deflected: it spent a token.
    TokenSpent = "tokens_spent",
    /// A message was not deflected because the table was full.
    TableFull = "table_full_refusals",
    /// A message was not deflected because no port was suitable.
    NoPortFit = "no_port_refusals",
    /// An entry of a deflected flow table was freed by an end packet.
    EntryFreed = "entries_freed",
    /// An entry was flushed by a failure.
    EntryFlushed = "entries_flushed",
    /// An idle entry was reclaimed.
    EntryReclaimed = "entries_reclaimed",
    /// Nanoseconds that entries of deflected flow tables lived, summed over entries.
    EntryTime = "table_entry_ns",
    /// A message moved to the escape lane.
    Escaped = "escapes",
    /// HPCC's reference window was updated.
    ReferenceUpdate = "reference_updates",
    /// The path changed, and the telemetry records of the old one were dropped.
    PathChange = "path_changes",
}

/// A counter per [`Action`].
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Actions([u64; Action::ALL.len()]);

impl Default for Actions {
    fn default() -> Self {
        Self([0; Action::ALL.len()])
    }
}

impl Actions {
    /// Counts one action.
    #[inline(always)]
    pub fn count(&mut self, action: Action) {
        self.0[action as usize] += 1;
    }
    /// Adds `times` to the counter of an action; for a duration, its length.
    #[inline(always)]
    pub fn add_up(&mut self, action: Action, times: u64) {
        self.0[action as usize] += times;
    }
    /// The counters, in the order of [`Action::ALL`].
    pub fn counters(&mut self) -> &mut [u64] {
        &mut self.0
    }
    /// How often `action` happened.
    pub fn get(&self, action: Action) -> u64 {
        self.0[action as usize]
    }
    /// All counters with their names.
    pub fn iter(&self) -> impl Iterator<Item = (Action, u64)> + '_ {
        Action::ALL.iter().map(|&a| (a, self.0[a as usize]))
    }
}

impl Count for Actions {
    fn add(&mut self, other: &Self) {
        self.0.iter_mut().zip(&other.0).for_each(|(sum, of)| sum.add(of));
    }

    fn write(&self, put: &mut impl FnMut(u64)) {
        self.0.iter().for_each(|count| count.write(put));
    }

    fn read(take: &mut impl FnMut() -> Option<u64>) -> Option<Self> {
        let mut read = Self::default();
        for count in &mut read.0 {
            *count = take()?;
        }
        Some(read)
    }
}

/// The numbers of one scheme over a run, from which summaries are made.
#[derive(Clone, Copy, Debug)]
pub struct Acted<'a> {
    /// How often it acted.
    pub actions: &'a Actions,
    /// Most entries that its table in any switch ever had; `None` without tables.
    pub table_peak: Option<u64>,
    /// Length of the run times the number of switches, in nanoseconds.
    pub switch_ns: f64,
}
