//! The receiver: its senders, the load of the last link, and its congestion state.

use super::auss::{Auss, Message, Outcome, Ticket};
use super::fields::Share;
use super::params::{ClearCount, Params};
use crate::Action;
use crate::roles;
use crate::roles::*;
use crate::schemes::dcqcn;
use alloc::collections::VecDeque;
use fanin_units::{MessageId, Rate, Time};

/// Where a receiver sees congestion (Dart III-C, Fig. 5).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum State {
    /// Nowhere.
    #[default]
    NoCongestion,
    /// At itself: all its senders together fill the last link.
    ReceiverCongestion,
    /// Elsewhere: inside the network, or at a source.
    NonReceiverCongestion,
}

/// The state that the two symptoms of a window indicate.
pub const fn classify(marks_seen: bool, full: bool) -> State {
    // Dart III-C
    match (marks_seen, full) {
        (false, _) => State::NoCongestion,
        (true, true) => State::ReceiverCongestion,
        (true, false) => State::NonReceiverCongestion,
    }
}

/// The congestion state with hysteresis: congestion is entered at once, and left when several windows agree.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Hysteresis {
    /// The state.
    pub state: State,
    /// Another state that the last windows indicated, and the number of those windows.
    instead: (State, u32),
}

impl Hysteresis {
    /// A window that indicates `shown` ended. Returns whether the state changed.
    pub fn window(&mut self, shown: State, leave_after: u32) -> bool {
        // row A5
        if shown == self.state {
            self.instead.1 = 0;
            return false;
        }
        self.instead = (shown, if self.instead.0 == shown { self.instead.1.saturating_add(1) } else { 1 });
        if self.state != State::NoCongestion && self.instead.1 < leave_after {
            return false;
        }
        *self = Self { state: shown, ..Self::default() };
        true
    }
}

/// Bytes carried by the last link and marks received, up to a time.
#[derive(Clone, Copy, Debug)]
struct Mark {
    at: Time,
    received: u64,
    marks: u64,
}

/// Bytes and marks of the last window.
#[derive(Clone, Debug)]
struct Meter {
    line: Rate,
    window: Time,
    step: Time,
    steps: usize,
    /// Starts of the steps of the window, the newest last. Empty while the link is idle.
    starts: VecDeque<Mark>,
    /// End of the newest step.
    end: Time,
    marks: u64,
    last: Time,
}

/// The result of a window.
struct Seen {
    shown: State,
    /// Whether data arrived in the window.
    data: bool,
    /// Length of its newest step, if data arrived in it.
    busy: Time,
}

impl Meter {
    fn new(p: &Params, nic: &NicInfo) -> Self {
        // row A1
        let window = if p.window == Time::ZERO { nic.network_rtt } else { p.window };
        let step = Time::from_ps((window.as_ps() / p.window_steps as u64).max(1));
        Self {
            line: nic.line_rate,
            window,
            step,
            steps: p.window_steps as usize,
            starts: VecDeque::with_capacity(p.window_steps as usize + 1),
            end: Time::NEVER,
            marks: 0,
            last: Time::ZERO,
        }
    }

    fn push(&mut self, at: Time, received: u64) {
        self.starts.push_back(Mark { at, received, marks: self.marks });
        self.end = at.saturating_add(self.step);
    }

    fn rest(&mut self) {
        self.starts.clear();
        self.end = Time::NEVER;
    }

    /// A data packet arrived; all steps that ended by now are closed.
    #[inline(always)]
    fn data(&mut self, data: &Data, now: Time) {
        if self.end == Time::NEVER || now.saturating_sub(self.last) >= self.window {
            self.begin(data, now);
        }
        self.last = now;
        // row A4: marks on data packets
        self.marks += data.ce as u64;
    }

    /// Row A11: after a pause the window starts with the first bit of the first packet.
    #[cold]
    fn begin(&mut self, data: &Data, now: Time) {
        self.rest();
        let start = now.saturating_sub(self.line.tx_time(data.wire as u64));
        self.push(start, data.received.saturating_sub(data.wire as u64));
    }

    /// The newest step is over. `received` is the bytes of any kind that had arrived by its end (row A3).
    fn close(&mut self, received: u64, full_rate: f64) -> Option<Seen> {
        let (first, newest, end) = (*self.starts.front()?, *self.starts.back()?, self.end);
        let bits = received.saturating_sub(first.received) as f64 * 8e12;
        // row A2; row A11: over its real length, which only right after a pause is less than a window
        let full = bits >= full_rate * self.line.as_bps() as f64 * (end - first.at).as_ps() as f64;
        let seen = Seen {
            shown: classify(self.marks > first.marks, full),
            data: self.last >= first.at,
            busy: if self.last >= newest.at { end - newest.at } else { Time::ZERO },
        };
        if self.starts.len() == self.steps {
            self.starts.pop_front();
        }
        self.push(end, received);
        Some(seen)
    }
}

/// A receiver's state of a flow.
#[derive(Clone, Copy, Debug, Default)]
pub struct Flow {
    marks: dcqcn::Marks,
    /// Its latest message.
    message: Option<Message>,
    /// Whether that message is open.
    open: bool,
    ticket: Ticket,
}

/// A host's state of all messages into it.
#[derive(Debug)]
pub struct Receiver {
    auss: Auss,
    meter: Meter,
    machine: Hysteresis,
    cnps: dcqcn::NotificationPoint,
    /// Senders to notify at once (row B9).
    tell: VecDeque<Ticket>,
    /// n of the last ACK.
    told: u32,
}

impl Receiver {
    /// Closes the windows that are over and forgets expired senders. `received` is the bytes that arrived before now.
    #[inline(always)]
    fn close_windows(&mut self, received: u64, cx: &mut Cx<'_, Params>) {
        while self.meter.end <= cx.now {
            self.window(received, cx);
        }
        if self.auss.sweep_at() <= cx.now {
            let expired = self.auss.sweep(cx.now);
            cx.actions.add_up(Action::SenderExpired, expired);
        }
    }

    fn window(&mut self, received: u64, cx: &mut Cx<'_, Params>) {
        let Some(seen) = self.meter.close(received, cx.params.full_rate) else { return };
        let time = match self.machine.state {
            State::NoCongestion => Action::NoCongestion,
            State::ReceiverCongestion => Action::ReceiverCongestion,
            State::NonReceiverCongestion => Action::NonReceiverCongestion,
        };
        cx.actions.add_up(time, seen.busy.as_ps() / 1000);
        if self.machine.window(seen.shown, cx.params.leave_after) {
            cx.count(Action::StateChange);
        }
        if !seen.data && self.machine.state == State::NoCongestion {
            self.meter.rest();
        }
    }

    /// Whether n is now the number of senders, and not 1.
    #[inline(always)]
    fn counts(&self, p: &Params) -> bool {
        match self.machine.state {
            // row A7
            State::NoCongestion => p.clear_count == ClearCount::Senders,
            // III-C, row A8
            State::ReceiverCongestion => true,
            State::NonReceiverCongestion => false,
        }
    }

    /// The fields of an ACK to a sender of `set`.
    #[inline(always)]
    fn tell(&mut self, ticket: Ticket, set: u16, weight: u16, ecn_echo: bool, cx: &mut Cx<'_, Params>) -> AckFields {
        let (share, n) = if self.counts(cx.params) {
            (self.auss.share(ticket, set, weight), self.auss.count(set).max(1))
        } else {
            (Share::ALL, 1)
        };
        self.told = n;
        cx.count(Action::ShareTold);
        cx.actions.add_up(Action::CountTold, n as u64);
        AckFields { ecn_echo, cc_feedback: share.encode(), ..AckFields::default() }
    }

    /// The fields of an ACK of a flow. Before its first message starts its tenant is unknown, and the ACK carries no
    /// share.
    #[inline(always)]
    fn ack(&mut self, state: &Flow, ecn_echo: bool, cx: &mut Cx<'_, Params>) -> AckFields {
        match state.message {
            Some(m) => self.tell(state.ticket, m.set, m.weight, ecn_echo, cx),
            None => AckFields { ecn_echo, ..AckFields::default() },
        }
    }
}

impl roles::Receiver for Receiver {
    type Params = Params;
    type Flow = Flow;

    fn new(p: &Params, nic: &NicInfo) -> Self {
        Self {
            auss: Auss::new(p),
            meter: Meter::new(p, nic),
            machine: Hysteresis::default(),
            cnps: dcqcn::NotificationPoint::new(&p.dcqcn, nic),
            tell: VecDeque::new(),
            told: 1,
        }
    }

    fn on_open(&mut self, flow: &FlowInfo, state: &mut Flow, cx: &mut Cx<'_, Params>) {
        let p = cx.params;
        self.cnps.on_open(flow, &mut state.marks, &mut cx.inner(&p.dcqcn, &mut ()));
    }

    fn on_message_start(&mut self, start: &MessageStart<'_>, state: &mut Flow, cx: &mut Cx<'_, Params>) {
        let p = cx.params;
        // Dart III-B: a message that has ended does not start again, however late a copy of its start mark arrives
        if !p.apportion || (!state.open && state.message.is_some_and(|m| m.id == start.id)) {
            return;
        }
        let message = Message {
            id: start.id,
            flow: start.flow,
            from: start.from,
            set: self.auss.set_of(start.tenant),
            weight: start.weight.max(1),
        };
        let incast = start.incast.filter(|_| p.look_ahead);
        // row B1
        state.ticket = self.auss.start(&message, incast.map(|i| i.id), cx.now);
        (state.message, state.open) = (Some(message), true);
        let Some(incast) = incast else { return };
        match self.auss.announce(&message, &incast, p, cx.now) {
            Outcome::NoList => {}
            Outcome::Repeated => cx.count(Action::LookAheadRepeated),
            Outcome::Refused => cx.count(Action::LookAheadRefused),
            Outcome::Accepted => {
                cx.count(Action::LookAheadUsed);
                if p.tell_ahead && self.counts(p) {
                    // row B9
                    self.tell.extend(self.auss.others(message.set, message.from));
                }
            }
        }
    }

    fn on_message_end(&mut self, _: ReceiverFlow, id: MessageId, state: &mut Flow, _: &mut Cx<'_, Params>) {
        if let Some(message) = state.message.filter(|m| m.id == id) {
            // row B2
            self.auss.end(state.ticket, message.id);
            state.open = false;
        }
    }

    fn on_data(&mut self, data: &Data, state: &mut Flow, cx: &mut Cx<'_, Params>) -> AckPlan {
        let p = cx.params;
        if !p.apportion {
            if data.ce {
                cx.count(Action::MarkPassed);
            }
            return self.cnps.on_data(data, &mut state.marks, &mut cx.inner(&p.dcqcn, &mut ()));
        }
        self.close_windows(data.received.saturating_sub(data.wire as u64), cx);
        self.meter.data(data, cx.now);
        if state.open
            && !self.auss.touch(state.ticket, cx.now)
            && let Some(message) = &state.message
        {
            // The sender had expired, and its message continues.
            state.ticket = self.auss.start(message, None, cx.now);
        }
        // III-C, row A9: the receiver's answer is suppressed, not the mark
        let pass = data.ce && self.machine.state == State::NonReceiverCongestion;
        if data.ce {
            cx.count(if pass { Action::MarkPassed } else { Action::MarkSuppressed });
            if !pass {
                cx.count(Action::MarkSeen);
            }
        }
        // row A10: a suppressed mark does not start the timer of CNPs either
        let visible = Data { ce: pass, ..*data };
        self.cnps.on_data(&visible, &mut state.marks, &mut cx.inner(&p.dcqcn, &mut ()));
        AckPlan { before: None, now: data.ack_due.then(|| self.ack(state, pass, cx)) }
    }

    fn ack_fields(&mut self, _: ReceiverFlow, state: &mut Flow, cx: &mut Cx<'_, Params>) -> AckFields {
        if cx.params.apportion { self.ack(state, false, cx) } else { AckFields::default() }
    }

    fn on_close(&mut self, flow: ReceiverFlow, state: &mut Flow, cx: &mut Cx<'_, Params>) {
        let p = cx.params;
        self.cnps.on_close(flow, &mut state.marks, &mut cx.inner(&p.dcqcn, &mut ()));
        if state.open
            && let Some(message) = &state.message
        {
            self.auss.end(state.ticket, message.id);
            state.open = false;
        }
    }

    fn on_timer(&mut self, received: u64, cx: &mut Cx<'_, Params>) {
        let p = cx.params;
        self.cnps.on_timer(received, &mut cx.inner(&p.dcqcn, &mut ()));
        self.close_windows(received, cx);
    }

    #[inline(always)]
    fn poll_transmit(&mut self, cx: &mut Cx<'_, Params>) -> Option<Emit> {
        let p = cx.params;
        if let Some(cnp) = self.cnps.poll_transmit(&mut cx.inner(&p.dcqcn, &mut ())) {
            return Some(cnp);
        }
        while let Some(ticket) = self.tell.pop_front() {
            if let Some((flow, set, weight)) = self.auss.open_message(ticket) {
                return Some(Emit::Ack(flow, self.tell(ticket, set, weight, false, cx)));
            }
        }
        None
    }

    #[inline(always)]
    fn wake_at(&self) -> Time {
        self.cnps.wake_at().min(self.meter.end).min(self.auss.sweep_at())
    }

    fn watch(&self, see: &mut dyn FnMut(&'static str, f64)) {
        see("n", self.told as f64);
        // 0: no congestion, 1: receiver congestion, 2: non-receiver congestion.
        see("state", self.machine.state as u8 as f64);
        see("senders", self.auss.senders() as f64);
    }
}
