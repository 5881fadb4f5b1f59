//! One model that drives every preset of every registered scheme with random events and checks invariants throughout.
//!
//! The model is one sending host, one receiving host and one switch between them, in virtual time: packets wait in a
//! queue per flow until an operation delivers, marks or drops them, and ACKs and notices wait until one returns them.
//! Its endpoint is go-back-N without a limit on bytes. A scheme that joins the registry is fuzzed without a line here.

mod common;

use common::{PAYLOAD, WIRE, cases, data, nic, path, us};
use fanin_cc::schemes::dcqcn::{self, CnpTiming, FastRecoveryWhile};
use fanin_cc::schemes::dctcp::{self, EchoMode};
use fanin_cc::schemes::newreno::WindowParams;
use fanin_cc::*;
use fanin_units::{Bytes, MessageId, NodeId, Rate, Time};
use proptest::prelude::*;
use std::collections::VecDeque;
use std::panic::AssertUnwindSafe;

const LINE: Rate = Rate::from_gbps(10);

/// An operation. Flows are picked modulo the number of open ones.
#[derive(Clone, Copy, Debug)]
enum Op {
    Open,
    /// Sends up to this many packets, as early as pacing and window allow.
    Send(u8, u8),
    /// Packets of a flow reach the receiver, marked or not.
    Deliver(u8, u8, bool),
    /// ACKs and notices reach the sender.
    Return(u8, u8),
    /// An unexpected CNP, as after a receiver's restart.
    StrayCnp(u8),
    StrayCredit(u8),
    /// The first packet under way is lost, which only later packets or a timeout show.
    Drop(u8),
    /// The endpoint finds a loss and goes back.
    Loss(u8),
    /// The retransmission timer runs out.
    Timeout(u8),
    /// An unexpected timer call.
    StrayTimer(u8),
    Wait(Time),
    Close(u8),
}

fn op() -> impl Strategy<Value = Op> {
    let wait = prop_oneof![(0u64..20_000).prop_map(Time::from_ns), (1u64..200).prop_map(us), Just(Time::from_ms(3))];
    prop_oneof![
        1 => Just(Op::Open),
        6 => (any::<u8>(), 1u8..20).prop_map(|(f, n)| Op::Send(f, n)),
        6 => (any::<u8>(), 1u8..20, any::<bool>()).prop_map(|(f, n, ce)| Op::Deliver(f, n, ce)),
        6 => (any::<u8>(), 1u8..20).prop_map(|(f, n)| Op::Return(f, n)),
        1 => any::<u8>().prop_map(Op::StrayCnp),
        1 => any::<u8>().prop_map(Op::StrayCredit),
        1 => any::<u8>().prop_map(Op::Drop),
        1 => any::<u8>().prop_map(Op::Loss),
        1 => any::<u8>().prop_map(Op::Timeout),
        1 => any::<u8>().prop_map(Op::StrayTimer),
        3 => wait.prop_map(Op::Wait),
        1 => any::<u8>().prop_map(Op::Close),
    ]
}

/// An output of the scheme; two runs must have the same outputs.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Answer {
    Control(Time, u32, Control),
    Plan(AckPlan),
    Emit(Time, Emit),
}

/// A packet on its way back to the sender.
#[derive(Clone, Copy, Debug)]
enum Back {
    Ack { acked_to: u64, fields: AckFields, sent_at: Time },
    Notice(Notice),
}

struct Flow {
    id: u32,
    slot: u32,
    control: Control,
    may_send_at: Time,
    next: u64,
    highest: u64,
    acked: u64,
    expected: u64,
    last_sent_at: Time,
    forward: VecDeque<(Data, Time)>,
    back: VecDeque<Back>,
    // Packets, for their conservation.
    sent: u64,
    delivered: u64,
    dropped: u64,
}

impl Flow {
    fn in_flight(&self) -> u64 {
        self.next - self.acked
    }
}

struct World {
    scheme: Instance,
    now: Time,
    flows: Vec<Flow>,
    opened: u32,
    /// Bytes that every flow has to send.
    left: u64,
    /// Bytes that reached the receiver.
    received: u64,
    answers: Vec<Answer>,
}

/// A broken invariant by its name.
macro_rules! hold {
    ($name:literal, $holds:expr, $($detail:tt)*) => { assert!($holds, "{}: {}", $name, format!($($detail)*)) };
}

impl World {
    fn new(settings: &Settings) -> Self {
        let mut scheme = settings.build();
        scheme.add_host(&nic(10));
        let port = PortView::new(LINE);
        scheme.add_switch(&SwitchInfo { seed: 1, network_rtt: us(10), ..SwitchInfo::new(NodeId(2), &[port, port]) });
        Self { scheme, now: us(1), flows: Vec::new(), opened: 0, left: u64::MAX, received: 0, answers: Vec::new() }
    }

    fn pick(&self, flow: u8) -> Option<usize> {
        (!self.flows.is_empty()).then(|| flow as usize % self.flows.len())
    }

    /// The invariants of every control of a sender.
    fn told(&mut self, at: usize, control: Control) {
        let flow = &mut self.flows[at];
        hold!("rate at most C", control.rate <= LINE, "{control:?}");
        let may_rest = control.rate > Rate::ZERO || control.wake_at < Time::NEVER || self.left == 0;
        hold!("rate above 0, or it asks", may_rest, "{control:?}");
        hold!("window at or above its floor", control.window >= 1, "{control:?}");
        hold!("next wake-up later than now", control.wake_at > self.now, "{control:?} at {}", self.now);
        flow.control = control;
        self.answers.push(Answer::Control(self.now, flow.id, control));
        if self.scheme.take_shared_changed() {
            for other in 0..self.flows.len() {
                let control = self.scheme.control(self.flows[other].slot, self.now);
                self.flows[other].control = control;
            }
        }
    }

    /// Runs a sender hook.
    fn sender(&mut self, at: usize, hook: impl FnOnce(&mut Instance, u32, Time) -> Control) {
        let cuts = self.scheme.actions().get(Action::Cut);
        let control = hook(&mut self.scheme, self.flows[at].slot, self.now);
        let cut = self.scheme.actions().get(Action::Cut) - cuts;
        // A timer that is due at the instant of a CNP may cut as well, but not within one more call.
        hold!("at most one cut per event", cut <= 1, "{cut} cuts");
        self.told(at, control);
    }

    /// Polls the packets that the receiver sends on its own.
    fn poll(&mut self) {
        let mut emitted = 0;
        while let Some(emit) = self.scheme.receiver_poll(0, self.now) {
            self.answers.push(Answer::Emit(self.now, emit));
            emitted += 1;
            hold!("the receiver falls silent", emitted < 10_000, "{emit:?} and so on");
            let (ReceiverFlow(id), back) = match emit {
                Emit::Ack(flow, fields) => (
                    flow,
                    self.flows.iter().find(|f| f.id == flow.0).map(|f| Back::Ack {
                        acked_to: f.expected,
                        fields,
                        sent_at: f.last_sent_at,
                    }),
                ),
                Emit::Cnp(flow) => (flow, Some(Back::Notice(Notice::Cnp))),
                Emit::Credit { flow, number, .. } => (flow, Some(Back::Notice(Notice::Credit(number)))),
            };
            let flow = self.flows.iter_mut().find(|f| f.id == id);
            hold!("packets only of open flows", flow.is_some(), "{emit:?}");
            if let (Some(flow), Some(back)) = (flow, back) {
                flow.back.push_back(back);
            }
        }
        let wake_at = self.scheme.receiver_wake_at(0);
        hold!("next wake-up of the receiver later than now", wake_at > self.now, "{wake_at} at {}", self.now);
    }

    /// Advances to `t` and runs all timers due by then in order.
    fn advance(&mut self, t: Time) {
        loop {
            let (mut next, mut who) = (self.scheme.receiver_wake_at(0), None);
            let program = self.scheme.switch_wake_at(0);
            if self.scheme.switch_active() && program <= self.now.max(t).min(next) {
                self.now = self.now.max(program);
                self.scheme.switch_timer(0, self.now, &vec![PortView::new(LINE); 2]);
                hold!(
                    "next wake-up of the switch later than now",
                    self.scheme.switch_wake_at(0) > self.now,
                    "{program}"
                );
                continue;
            }
            for (at, flow) in self.flows.iter().enumerate() {
                if flow.control.wake_at < next {
                    (next, who) = (flow.control.wake_at, Some(at));
                }
            }
            if next > t {
                self.now = self.now.max(t);
                return;
            }
            self.now = next;
            match who {
                Some(at) => {
                    self.sender(at, |s, slot, now| s.on_timer(slot, now));
                    self.ask(at);
                }
                None => {
                    self.scheme.receiver_timer(0, self.now, self.received);
                    self.poll();
                }
            }
        }
    }

    fn open(&mut self) {
        if self.flows.len() >= 8 {
            return;
        }
        let id = self.opened;
        self.opened += 1;
        let Opened { slot, control } = self.scheme.open(0, &path(10, 25_000), self.now);
        self.flows.push(Flow {
            id,
            slot,
            control,
            may_send_at: self.now,
            next: 0,
            highest: 0,
            acked: 0,
            expected: 0,
            last_sent_at: self.now,
            forward: VecDeque::new(),
            back: VecDeque::new(),
            sent: 0,
            delivered: 0,
            dropped: 0,
        });
        self.told(self.flows.len() - 1, control);
        let flow = FlowInfo::new(ReceiverFlow(id), MessageId(id), NodeId(0));
        self.scheme.receiver_open(0, self.now, &flow);
        self.poll();
        self.ask(self.flows.len() - 1);
    }

    /// A sender's requests reach the receiver at once, by way of the switch.
    fn ask(&mut self, at: usize) {
        loop {
            let (request, control) = self.scheme.poll_request(self.flows[at].slot, self.now, self.left);
            self.told(at, control);
            let Some(cc_tag) = request else { break };
            let flow = &mut self.flows[at];
            let mut header =
                Header { flow: MessageId(flow.id), wire: 84, cc_tag, kind: Kind::Request, ..Header::default() };
            if self.scheme.switch_active() {
                let mut queued = Queued { port: 1, view: PortView::new(LINE), packet: &mut header, own: true };
                self.scheme.switch_enqueue(0, self.now, &mut queued);
                self.scheme.switch_dequeue(0, self.now, &mut queued);
            }
            let request = Data { flow: ReceiverFlow(flow.id), acked_to: flow.expected, ..Data::of(&header) };
            if let Some(fields) = self.scheme.receiver_request(0, self.now, &request) {
                flow.back.push_back(Back::Ack { acked_to: flow.expected, fields, sent_at: self.now });
            }
        }
        self.poll();
    }

    fn send(&mut self, at: usize) {
        let flow = &self.flows[at];
        self.advance(flow.may_send_at.max(flow.control.not_before).max(self.now));
        let flow = &mut self.flows[at];
        if flow.in_flight() >= flow.control.window || flow.control.rate == Rate::ZERO {
            return;
        }
        let retransmitted = flow.next < flow.highest;
        let mut packet = data(flow.id, flow.next / PAYLOAD as u64, false);
        flow.next += PAYLOAD as u64;
        flow.highest = flow.highest.max(flow.next);
        flow.sent += 1;
        flow.may_send_at = self.now + flow.control.rate.tx_time(WIRE as u64);
        let sent = Sent { retransmitted, left: self.left, ..Sent::new(WIRE, PAYLOAD, flow.next) };
        let mut cc_tag = 0;
        self.sender(at, |s, slot, now| {
            let (control, put) = s.on_send(slot, now, &sent);
            cc_tag = put;
            control
        });
        packet.cc_tag = cc_tag;
        let flow = &mut self.flows[at];
        if !self.scheme.switch_active() {
            flow.forward.push_back((packet, self.now));
            return;
        }
        let view = PortView { queued: flow.forward.len() as u64 * WIRE as u64, ..PortView::new(LINE) };
        let mut header = Header { flow: MessageId(flow.id), wire: WIRE as u16, cc_tag, ..Header::default() };
        let port = self.scheme.switch_route(0, self.now, &mut header, 0, 1, &vec![view, view]);
        let mut queued = Queued { port, view, packet: &mut header, own: true };
        match self.scheme.switch_enqueue(0, self.now, &mut queued) {
            Verdict::Drop => flow.dropped += 1,
            verdict => {
                packet.ce = verdict == Verdict::Mark;
                self.scheme.switch_dequeue(0, self.now, &mut queued);
                (packet.cc_tag, packet.cc_feedback) = (header.cc_tag, header.cc_feedback);
                flow.forward.push_back((packet, self.now));
            }
        }
    }

    fn deliver(&mut self, at: usize, ce: bool) {
        let flow = &mut self.flows[at];
        let Some((mut packet, sent_at)) = flow.forward.pop_front() else { return };
        flow.delivered += 1;
        flow.last_sent_at = sent_at;
        packet.in_order = packet.seq == flow.expected;
        packet.ce |= ce;
        if packet.in_order {
            flow.expected += PAYLOAD as u64;
        }
        packet.acked_to = flow.expected;
        self.received += packet.wire as u64;
        packet.received = self.received;
        if packet.in_order && packet.start {
            let message = MessageStart {
                incast: Some(Incast { id: flow.id, senders: &[0, 8, 9] }),
                ..MessageStart::new(packet.flow, MessageId(flow.id), NodeId(0))
            };
            self.scheme.receiver_message_start(0, self.now, &message);
        }
        let plan = self.scheme.receiver_data(0, self.now, &packet);
        hold!(
            "an ACK for earlier packets only where one is missing",
            plan.before.is_none() || packet.pending,
            "{plan:?}"
        );
        self.answers.push(Answer::Plan(plan));
        for (acked_to, fields) in [(packet.seq.min(flow.expected), plan.before), (flow.expected, plan.now)] {
            if let Some(fields) = fields {
                flow.back.push_back(Back::Ack { acked_to, fields, sent_at });
            }
        }
        self.poll();
    }

    fn come_back(&mut self, at: usize) {
        let flow = &mut self.flows[at];
        match flow.back.pop_front() {
            None => {}
            Some(Back::Notice(notice)) => {
                self.sender(at, |s, slot, now| s.on_notice(slot, now, notice));
                self.ask(at);
            }
            Some(Back::Ack { acked_to, fields, sent_at }) => {
                let newly_acked = acked_to.saturating_sub(flow.acked);
                let in_flight = flow.in_flight();
                flow.acked += newly_acked;
                flow.next = flow.next.max(flow.acked);
                // A plausible record of a switch, at times of another one.
                let (sent, queued) = (flow.sent * WIRE as u64, flow.forward.len() as u64 * WIRE as u64);
                let mut telemetry = Telemetry::default();
                telemetry.push(NodeId((flow.sent / 50) as u32), IntHop { rate: LINE, time: sent_at, sent, queued });
                let ack = Ack {
                    telemetry: Some(&telemetry),
                    newly_acked,
                    acked_to: flow.acked,
                    seq: acked_to,
                    sent_to: flow.next,
                    in_flight,
                    ecn_echo: fields.ecn_echo,
                    rtt: self.now - sent_at,
                    cc_feedback: fields.cc_feedback,
                    ..Ack::default()
                };
                self.sender(at, |s, slot, now| s.on_ack(slot, now, &ack));
            }
        }
    }

    fn go_back(&mut self, at: usize) -> Loss {
        let flow = &mut self.flows[at];
        let loss = Loss::new(flow.acked, flow.next);
        flow.next = flow.acked;
        loss
    }

    fn close(&mut self, at: usize) {
        let flow = self.flows.remove(at);
        self.scheme.close(flow.slot, self.now);
        self.scheme.take_shared_changed();
        self.scheme.receiver_message_end(0, self.now, ReceiverFlow(flow.id), MessageId(flow.id));
        self.scheme.receiver_close(0, self.now, ReceiverFlow(flow.id));
        self.poll();
        for other in 0..self.flows.len() {
            let control = self.scheme.control(self.flows[other].slot, self.now);
            self.told(other, control);
        }
    }

    fn step(&mut self, op: Op) {
        match op {
            Op::Open => self.open(),
            Op::Wait(span) => self.advance(self.now + span),
            Op::Send(f, n) => {
                if let Some(at) = self.pick(f) {
                    (0..n).for_each(|_| self.send(at));
                }
            }
            Op::Deliver(f, n, ce) => {
                if let Some(at) = self.pick(f) {
                    (0..n).for_each(|_| self.deliver(at, ce));
                }
            }
            Op::Return(f, n) => {
                if let Some(at) = self.pick(f) {
                    (0..n).for_each(|_| self.come_back(at));
                }
            }
            Op::StrayCnp(f) | Op::StrayCredit(f) => {
                let notice = if matches!(op, Op::StrayCnp(_)) { Notice::Cnp } else { Notice::Credit(7) };
                if let Some(at) = self.pick(f) {
                    self.sender(at, |s, slot, now| s.on_notice(slot, now, notice));
                }
            }
            Op::Drop(f) => {
                if let Some(at) = self.pick(f) {
                    let flow = &mut self.flows[at];
                    flow.dropped += flow.forward.pop_front().is_some() as u64;
                }
            }
            Op::Loss(f) => {
                if let Some(at) = self.pick(f) {
                    let loss = self.go_back(at);
                    self.sender(at, |s, slot, now| s.on_loss(slot, now, &loss));
                }
            }
            Op::Timeout(f) => {
                if let Some(at) = self.pick(f) {
                    self.go_back(at);
                    let flow = &self.flows[at];
                    let loss = Loss::new(flow.acked, flow.next);
                    self.sender(at, |s, slot, now| s.on_timeout(slot, now, &loss));
                }
            }
            Op::StrayTimer(f) => {
                if let Some(at) = self.pick(f) {
                    self.sender(at, |s, slot, now| s.on_timer(slot, now));
                    self.ask(at);
                    self.scheme.receiver_timer(0, self.now, self.received);
                    self.poll();
                }
            }
            Op::Close(f) => {
                if let Some(at) = self.pick(f) {
                    self.close(at);
                }
            }
        }
        for f in &self.flows {
            let under_way = f.forward.len() as u64;
            hold!(
                "bytes conserved",
                f.sent == f.delivered + f.dropped + under_way,
                "{} sent, {} delivered, {} dropped, {under_way} under way",
                f.sent,
                f.delivered,
                f.dropped
            );
            hold!("acknowledged only what arrived", f.acked <= f.expected && f.expected <= f.highest, "flow {}", f.id);
        }
        let count = |action| self.scheme.actions().get(action);
        if count(Action::CnpReceived) > 0 {
            let (cuts, cnps) = (count(Action::Cut), count(Action::CnpReceived));
            hold!("at most one cut per CNP", cuts <= cnps, "{cuts} cuts, {cnps} CNPs");
        }
    }

    /// Delivers and returns all there is until every byte is acknowledged.
    fn drain(&mut self) {
        for round in 0.. {
            for at in 0..self.flows.len() {
                while !self.flows[at].forward.is_empty() {
                    self.deliver(at, false);
                }
                while !self.flows[at].back.is_empty() {
                    self.come_back(at);
                }
                if self.flows[at].in_flight() > 0 {
                    // The lost data is retransmitted, so the sender must be able to send, or have asked for credits.
                    self.go_back(at);
                    let sent = self.flows[at].sent;
                    self.send(at);
                    let Flow { sent: now_sent, control, .. } = self.flows[at];
                    hold!("never stuck", now_sent > sent || control.rate == Rate::ZERO, "{control:?}");
                }
            }
            if self.flows.iter().all(|f| f.in_flight() == 0) {
                return;
            }
            hold!("every byte is acknowledged in the end", round < 10_000, "after {round} rounds");
            self.advance(self.now + us(100));
        }
    }
}

fn run(settings: &Settings, ops: &[Op]) -> (Vec<Answer>, Actions) {
    let mut world = World::new(settings);
    world.open();
    for &op in ops {
        world.step(op);
    }
    world.drain();
    (world.answers, world.scheme.actions().clone())
}

fn presets() -> impl Iterator<Item = Settings> {
    let ids = rows().iter().flat_map(|row| row.presets);
    ids.map(|id| Settings::preset(id).unwrap_or_else(|| panic!("{id} is listed but unknown")))
}

/// Presets with parameters that make their rare branches common.
fn variants() -> impl Iterator<Item = Settings> {
    let often = dcqcn::Params {
        cnp: CnpTiming::IntervalEnd,
        byte_counter: Bytes(5_000),
        fast_recovery_steps: 1,
        fast_recovery_while: FastRecoveryWhile::UpTo,
        ..dcqcn::Dcqcn::preset("dcqcn-win")
    };
    let tcp = |echo| {
        let window = WindowParams { min_window: 1, growth_limit: 3, restart_after: us(50), ..WindowParams::default() };
        Settings::Dctcp("dctcp", dctcp::Params { echo, window, ..dctcp::Dctcp::preset("dctcp") })
    };
    [Settings::Dcqcn("dcqcn", often), tcp(EchoMode::PerPacket), tcp(EchoMode::Rcc)].into_iter()
}

proptest! {
    #![proptest_config(cases())]

    #[test]
    fn every_scheme_keeps_its_promises(ops in prop::collection::vec(op(), 1..150)) {
        for settings in presets().chain(variants()) {
            let name = settings.id();
            let first = std::panic::catch_unwind(AssertUnwindSafe(|| run(&settings, &ops)));
            let first = first.map_err(|_| TestCaseError::fail(format!("scheme {name}, see above")))?;
            prop_assert!(first == run(&settings, &ops), "{}: replay differs", name);
        }
    }
}

#[test]
fn an_idle_network_sees_no_action() {
    for settings in presets() {
        let mut world = World { left: 0, ..World::new(&settings) };
        (0..3).for_each(|_| world.open());
        world.advance(Time::from_ms(100));
        for (action, count) in world.scheme.actions().iter() {
            assert_eq!(count, 0, "{}: {}", settings.id(), action.name());
        }
    }
}
