//! The random events, and what is said about those that happened.

use fanin_units::Time;
use proptest::prelude::*;

/// An event of the model. Flows are picked modulo the number of open ones.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Op {
    /// A flow opens.
    Open,
    /// Sends up to this many packets, as early as pacing and window allow.
    Send(u8, u8),
    /// Packets of a flow reach the receiver, marked or not.
    Deliver(u8, u8, bool),
    /// ACKs and notices reach the sender.
    Return(u8, u8),
    /// An unexpected CNP, as after a receiver's restart.
    StrayCnp(u8),
    /// An unexpected credit.
    StrayCredit(u8),
    /// Of data without end, this many packets are left.
    Finish(u8, u8),
    /// Data without end is posted again; an idle flow begins anew.
    Post(u8, bool),
    /// The first packet under way is lost, which only later packets or a timeout show.
    Drop(u8),
    /// A switch cuts the first packet under way; its header reaches the receiver and a NACK the sender. RDMA only.
    Trim(u8),
    /// The endpoint finds a loss and goes back, so many times.
    Loss(u8, u8),
    /// The retransmission timer runs out, so many times.
    Timeout(u8, u8),
    /// An unexpected timer call.
    StrayTimer(u8),
    /// Nothing but timers for a while.
    Wait(Time),
    /// A flow ends.
    Close(u8),
}

impl Op {
    /// The same event of the first open flow.
    pub fn of_the_first(self) -> Self {
        match self {
            Self::Send(_, n) => Self::Send(0, n),
            Self::Deliver(_, n, ce) => Self::Deliver(0, n, ce),
            Self::Return(_, n) => Self::Return(0, n),
            Self::StrayCnp(_) => Self::StrayCnp(0),
            Self::StrayCredit(_) => Self::StrayCredit(0),
            Self::Finish(_, n) => Self::Finish(0, n),
            Self::Post(_, anew) => Self::Post(0, anew),
            Self::Drop(_) => Self::Drop(0),
            Self::Trim(_) => Self::Trim(0),
            Self::Loss(_, n) => Self::Loss(0, n),
            Self::Timeout(_, n) => Self::Timeout(0, n),
            Self::StrayTimer(_) => Self::StrayTimer(0),
            Self::Close(_) => Self::Close(0),
            Self::Open | Self::Wait(_) => self,
        }
    }
}

/// Sequences of up to 150 events.
pub fn sequences() -> impl Strategy<Value = Vec<Op>> {
    prop::collection::vec(op(), 1..150)
}

/// Mostly once; sometimes as often as it takes until a window that halves each time is gone.
fn times() -> impl Strategy<Value = u8> {
    prop_oneof![8 => Just(1u8), 1 => 2u8..40]
}

fn op() -> impl Strategy<Value = Op> {
    let us = (1u64..200).prop_map(Time::from_us);
    let wait = prop_oneof![(0u64..20_000).prop_map(Time::from_ns), us, Just(Time::from_ms(3))];
    prop_oneof![
        1 => Just(Op::Open),
        6 => (any::<u8>(), 1u8..20).prop_map(|(f, n)| Op::Send(f, n)),
        6 => (any::<u8>(), 1u8..20, any::<bool>()).prop_map(|(f, n, ce)| Op::Deliver(f, n, ce)),
        6 => (any::<u8>(), 1u8..20).prop_map(|(f, n)| Op::Return(f, n)),
        1 => any::<u8>().prop_map(Op::StrayCnp),
        1 => any::<u8>().prop_map(Op::StrayCredit),
        1 => (any::<u8>(), 1u8..20).prop_map(|(f, n)| Op::Finish(f, n)),
        1 => (any::<u8>(), any::<bool>()).prop_map(|(f, anew)| Op::Post(f, anew)),
        1 => any::<u8>().prop_map(Op::Drop),
        1 => any::<u8>().prop_map(Op::Trim),
        1 => (any::<u8>(), times()).prop_map(|(f, n)| Op::Loss(f, n)),
        1 => (any::<u8>(), times()).prop_map(|(f, n)| Op::Timeout(f, n)),
        1 => any::<u8>().prop_map(Op::StrayTimer),
        3 => wait.prop_map(Op::Wait),
        1 => any::<u8>().prop_map(Op::Close),
    ]
}

/// What happened, to whom it happened.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Did {
    /// A flow opened.
    Opened(u32),
    /// A packet left.
    Sent(u32),
    /// A packet was to leave, but the sender did not allow it.
    Held(u32),
    /// A switch dropped a packet that the scheme's program refused.
    Refused(u32),
    /// A packet reached the receiver, with or without a mark.
    Delivered(u32, bool),
    /// An ACK reached the sender, with or without an echo of a mark.
    Acked(u32, bool),
    /// A notice of the receiver reached the sender.
    Noticed(u32),
    /// See [`Op::StrayCnp`].
    StrayCnp(u32),
    /// See [`Op::StrayCredit`].
    StrayCredit(u32),
    /// A flow has only so many packets left to send.
    Finishes(u32, u32),
    /// All that was posted is acknowledged.
    Idle(u32),
    /// More was posted.
    Posted(u32),
    /// More was posted to an idle flow over TCP, which restarts its window.
    PostedIdle(u32),
    /// More was posted to an idle flow, which begins anew.
    PostedAnew(u32),
    /// A packet was lost on its way.
    Lost(u32),
    /// See [`Op::Trim`].
    Trimmed(u32),
    /// See [`Op::Loss`].
    FoundLoss(u32),
    /// See [`Op::Timeout`].
    TimedOut(u32),
    /// The timer of a sender ran out as it had asked.
    Timer(u32),
    /// See [`Op::StrayTimer`].
    StrayTimer(u32),
    /// The timer of the receiving host ran out.
    ReceiverTimer,
    /// The timer of the switch ran out.
    SwitchTimer,
    /// Time passed.
    Waited(Time),
    /// A flow ended.
    Closed(u32),
    /// The sequence is over: from here on everything arrives.
    Drain,
}

impl Did {
    /// A sentence, of so many in a row.
    fn told(self, times: u32) -> String {
        let many = |one: &str, some: &str| if times == 1 { one.to_string() } else { format!("{times} {some}") };
        let (packets, acks) = (many("a packet", "packets"), many("an ACK", "ACKs"));
        let (reach, are) = if times == 1 { ("reaches", "is") } else { ("reach", "are") };
        let said = match self {
            Self::Sent(f) => return format!("flow {f} sends {packets}"),
            Self::Refused(f) => return format!("the switch drops {packets} of flow {f}, as its program says"),
            Self::Delivered(f, true) => return format!("{packets} of flow {f} {reach} the receiver, marked"),
            Self::Delivered(f, false) => return format!("{packets} of flow {f} {reach} the receiver"),
            Self::Acked(f, true) => return format!("{acks} with the echo of a mark {reach} the sender of flow {f}"),
            Self::Acked(f, false) => return format!("{acks} {reach} the sender of flow {f}"),
            Self::Lost(f) => return format!("{packets} of flow {f} {are} lost on the way"),
            Self::Finishes(f, 1) => format!("flow {f} has one more packet to send"),
            Self::Finishes(f, left) => format!("flow {f} has {left} more packets to send"),
            Self::Idle(f) => format!("all data of flow {f} is acknowledged: it is idle"),
            Self::Posted(f) => format!("more data is posted to flow {f}"),
            Self::PostedIdle(f) => format!("more data is posted to flow {f}, which was idle: its window may restart"),
            Self::PostedAnew(f) => format!("more data is posted to flow {f}, which begins anew with a new sender"),
            Self::Opened(f) => format!("flow {f} opens"),
            Self::Held(f) => format!("flow {f} has data but may not send"),
            Self::Noticed(f) => format!("a CNP or credit of the receiver reaches the sender of flow {f}"),
            Self::StrayCnp(f) => format!("an unexpected CNP reaches the sender of flow {f}"),
            Self::StrayCredit(f) => format!("an unexpected credit reaches the sender of flow {f}"),
            Self::Trimmed(f) => {
                format!("a switch cuts the payload of a packet of flow {f}, and a NACK reaches its sender")
            }
            Self::FoundLoss(f) => format!("the endpoint of flow {f} finds a loss and goes back to it"),
            Self::TimedOut(f) => format!("the retransmission timer of flow {f} runs out"),
            Self::Timer(f) => format!("the timer that flow {f} set runs out"),
            Self::StrayTimer(f) => format!("on_timer of flow {f} is called though its timer has not run out"),
            Self::ReceiverTimer => "the receiver's timer runs out".to_string(),
            Self::SwitchTimer => "the switch's timer runs out".to_string(),
            Self::Waited(span) => format!("nothing but timers for {span}"),
            Self::Closed(f) => format!("flow {f} ends"),
            Self::Drain => "from here on every packet arrives, and what was lost is sent again".to_string(),
        };
        if times == 1 { said } else { format!("{said}, {times} times") }
    }
}

/// What happened, in order; equal events in a row are one.
#[derive(Clone, Debug, Default)]
pub struct Log(Vec<(Time, Did, u32)>);

impl Log {
    /// Notes an event.
    pub fn note(&mut self, at: Time, did: Did) {
        match self.0.last_mut() {
            Some((_, last, times)) if *last == did => *times += 1,
            _ => self.0.push((at, did, 1)),
        }
    }

    /// A sentence per event, with its time. Of very many, those in the middle are left out.
    pub fn told(&self) -> Vec<(Time, String)> {
        const FIRST: usize = 40;
        const LAST: usize = 10;
        let tell = |(at, did, times): &(Time, Did, u32)| (*at, did.told(*times));
        if self.0.len() <= FIRST + LAST {
            return self.0.iter().map(tell).collect();
        }
        let (first, rest) = self.0.split_at(FIRST);
        let (middle, last) = rest.split_at(rest.len() - LAST);
        let left_out = format!("... {} more events ...", middle.len());
        let said = middle.first().map(|(at, ..)| (*at, left_out));
        first.iter().map(tell).chain(said).chain(last.iter().map(tell)).collect()
    }
}
