//! One sending host, one receiving host and one switch between them, in virtual time: packets wait in a queue per flow
//! until an event delivers, marks or drops them, and ACKs and notices wait until one returns them. The endpoint is
//! go-back-N without a limit on bytes.

use crate::events::{Did, Log, Op};
use fanin_cc::*;
use fanin_units::{MessageId, NodeId, Rate, Time};
use std::collections::VecDeque;

const LINE: Rate = Rate::from_gbps(10);
/// Payload of a packet.
const PAYLOAD: u32 = 1000;
/// That packet on the wire.
const WIRE: u32 = 1040;
/// Round-trip time.
const RTT: Time = Time::from_us(10);
/// Most that pacing may put between two packets: a flow that is slower stands still.
const PAUSE: Time = Time::from_ms(100);
/// Timers of one wait before they must have taken time.
const TIMERS: u64 = 10_000;
/// That time, of each on average.
const APART: Time = Time::from_ns(20);

/// A promise that was not kept.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Broken {
    /// The promise.
    pub rule: &'static str,
    /// What happened instead.
    pub detail: String,
    /// When.
    pub at: Time,
}

type Kept = Result<(), Broken>;

/// An output of the scheme; two runs must have the same outputs.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Answer {
    /// A sender's.
    Control(Time, u32, Control),
    /// A receiver's about a packet.
    Plan(Time, AckPlan),
    /// A packet of a receiver.
    Emit(Time, Emit),
}

impl Answer {
    /// When it was given.
    pub fn at(&self) -> Time {
        match self {
            Self::Control(at, ..) | Self::Plan(at, _) | Self::Emit(at, _) => *at,
        }
    }

    /// In words.
    pub fn told(&self) -> String {
        match self {
            Self::Control(_, flow, control) => format!("flow {flow} has {}", told(control)),
            Self::Plan(_, plan) => format!("the receiver answers {plan:?}"),
            Self::Emit(_, emit) => format!("the receiver sends {emit:?}"),
        }
    }
}

/// What a sender allows, in words.
fn told(control: &Control) -> String {
    let window = if control.window == u64::MAX { "no window".into() } else { format!("window {} B", control.window) };
    let wake = if control.wake_at == Time::NEVER { "no timer".into() } else { format!("timer at {}", control.wake_at) };
    let before = if control.not_before > Time::ZERO {
        format!(", nothing before {}", control.not_before)
    } else {
        String::new()
    };
    format!("{window}, rate {}, {wake}{before}", control.rate)
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

/// The hosts, the switch, and the scheme that they run.
pub struct World {
    settings: Settings,
    scheme: Instance,
    /// What happened.
    pub log: Log,
    now: Time,
    flows: Vec<Flow>,
    opened: u32,
    /// Bytes that every flow has to send.
    left: u64,
    /// Bytes that reached the receiver.
    received: u64,
    /// What the scheme said.
    pub answers: Vec<Answer>,
}

/// A promise by its name.
macro_rules! hold {
    ($world:expr, $name:expr, $holds:expr, $($detail:tt)*) => {
        if !$holds {
            return Err(Broken { rule: $name, detail: format!($($detail)*), at: $world.now });
        }
    };
}

impl World {
    /// Hosts with a scheme, where each flow has so many bytes to send.
    pub fn new(settings: &Settings, left: u64) -> Self {
        let mut scheme = settings.build();
        scheme.add_host(&NicInfo { seed: 1, ..NicInfo::new(LINE, RTT, PAYLOAD, WIRE) });
        let port = PortView::new(LINE);
        scheme.add_switch(&SwitchInfo { seed: 1, network_rtt: RTT, ..SwitchInfo::new(NodeId(2), &[port, port]) });
        let (settings, now) = (settings.clone(), Time::from_us(1));
        let (log, flows, answers) = (Log::default(), Vec::new(), Vec::new());
        Self { settings, scheme, log, now, flows, opened: 0, left, received: 0, answers }
    }

    /// What the scheme counted.
    pub fn actions(&self) -> &Actions {
        self.scheme.actions()
    }

    fn pick(&self, flow: u8) -> Option<usize> {
        (!self.flows.is_empty()).then(|| flow as usize % self.flows.len())
    }

    fn note(&mut self, did: Did) {
        self.log.note(self.now, did);
    }

    /// A scheme that was loaded notes the failure of a hook, and does nothing from then on.
    fn no_hook_failed(&self) -> Kept {
        match self.settings.loaded().and_then(|program| program.failure()) {
            Some(failure) => Err(Broken { rule: "no hook fails", detail: failure.problem, at: failure.at }),
            None => Ok(()),
        }
    }

    /// The invariants of every control of a sender.
    fn told(&mut self, at: usize, control: Control) -> Kept {
        self.no_hook_failed()?;
        let (id, now) = (self.flows[at].id, self.now);
        let said = || format!("flow {id} has {}", told(&control));
        hold!(self, "rate at most the line rate", control.rate <= LINE, "{}; the line rate is {LINE}", said());
        let may_rest = control.rate > Rate::ZERO || control.wake_at < Time::NEVER || self.left == 0;
        hold!(self, "rate above 0, or a timer that ends the rest", may_rest, "{}", said());
        hold!(self, "window at least 1 byte", control.window >= 1, "{}: nothing could ever leave", said());
        hold!(self, "next timer later than now", control.wake_at > now, "{} at {now}", said());
        self.flows[at].control = control;
        self.answers.push(Answer::Control(now, id, control));
        if self.scheme.take_shared_changed() {
            for other in 0..self.flows.len() {
                let control = self.scheme.control(self.flows[other].slot, now);
                self.flows[other].control = control;
            }
        }
        Ok(())
    }

    /// Runs a sender hook.
    fn sender(&mut self, at: usize, hook: impl FnOnce(&mut Instance, u32, Time) -> Control) -> Kept {
        let cuts = self.scheme.actions().get(Action::Cut);
        let control = hook(&mut self.scheme, self.flows[at].slot, self.now);
        let cut = self.scheme.actions().get(Action::Cut) - cuts;
        // A timer that is due at the instant of a CNP may cut as well, but not within one more call.
        hold!(self, "at most one cut per event", cut <= 1, "{cut} cuts");
        self.told(at, control)
    }

    /// Polls the packets that the receiver sends on its own.
    fn poll(&mut self) -> Kept {
        let mut emitted = 0;
        while let Some(emit) = self.scheme.receiver_poll(0, self.now) {
            self.answers.push(Answer::Emit(self.now, emit));
            emitted += 1;
            hold!(self, "the receiver falls silent", emitted < 10_000, "{emitted} packets at once, each {emit:?}");
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
            hold!(self, "the receiver sends only for open flows", flow.is_some(), "{emit:?}");
            if let (Some(flow), Some(back)) = (flow, back) {
                flow.back.push_back(back);
            }
        }
        self.no_hook_failed()?;
        let wake_at = self.scheme.receiver_wake_at(0);
        hold!(self, "next timer of the receiver later than now", wake_at > self.now, "{wake_at} at {}", self.now);
        Ok(())
    }

    /// Advances to `t` and runs all timers due by then in order.
    fn advance(&mut self, t: Time) -> Kept {
        let from = self.now;
        for timers in 0u64.. {
            let (mut next, mut who) = (self.scheme.receiver_wake_at(0), None);
            let program = self.scheme.switch_wake_at(0);
            let rare = timers < TIMERS || self.now - from >= Time::from_ps(timers * APART.as_ps());
            hold!(self, "timers leave time between them", rare, "{timers} of them from {from} to {}", self.now);
            if self.scheme.switch_active() && program <= self.now.max(t).min(next) {
                self.now = self.now.max(program);
                self.note(Did::SwitchTimer);
                self.scheme.switch_timer(0, self.now, &vec![PortView::new(LINE); 2]);
                self.no_hook_failed()?;
                let (next, now) = (self.scheme.switch_wake_at(0), self.now);
                hold!(self, "next timer of the switch later than now", next > now, "{next} at {now}");
                continue;
            }
            for (at, flow) in self.flows.iter().enumerate() {
                if flow.control.wake_at < next {
                    (next, who) = (flow.control.wake_at, Some(at));
                }
            }
            if next > t {
                self.now = self.now.max(t);
                break;
            }
            self.now = next;
            match who {
                Some(at) => {
                    self.note(Did::Timer(self.flows[at].id));
                    self.sender(at, |s, slot, now| s.on_timer(slot, now))?;
                    self.ask(at)?;
                }
                None => {
                    self.note(Did::ReceiverTimer);
                    self.scheme.receiver_timer(0, self.now, self.received);
                    self.poll()?;
                }
            }
        }
        Ok(())
    }

    /// A flow opens, unless there are many.
    ///
    /// # Errors
    /// The promise that the scheme does not keep, as in all that follows.
    pub fn open(&mut self) -> Kept {
        if self.flows.len() >= 8 {
            return Ok(());
        }
        let id = self.opened;
        self.opened += 1;
        self.note(Did::Opened(id));
        let path = PathInfo { network_bdp: 25_000, id: MessageId(id), ..PathInfo::new(LINE, RTT, PAYLOAD, WIRE) };
        let Opened { slot, control } = self.scheme.open(0, &path, self.now);
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
        self.told(self.flows.len() - 1, control)?;
        let flow = FlowInfo::new(ReceiverFlow(id), MessageId(id), NodeId(0));
        self.scheme.receiver_open(0, self.now, &flow);
        self.poll()?;
        self.ask(self.flows.len() - 1)
    }

    /// A sender's requests reach the receiver at once, by way of the switch.
    fn ask(&mut self, at: usize) -> Kept {
        for requests in 0.. {
            let (request, control) = self.scheme.poll_request(self.flows[at].slot, self.now, self.left);
            self.told(at, control)?;
            let Some(cc_tag) = request else { break };
            hold!(self, "the sender stops asking", requests < 10_000, "{requests} requests at once");
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
        self.poll()
    }

    fn send(&mut self, at: usize) -> Kept {
        let flow = &self.flows[at];
        let (id, earliest) = (flow.id, flow.may_send_at.max(flow.control.not_before).max(self.now));
        if earliest > self.now + PAUSE {
            self.note(Did::Held(id));
            return Ok(());
        }
        self.advance(earliest)?;
        let flow = &mut self.flows[at];
        if flow.in_flight() >= flow.control.window || flow.control.rate == Rate::ZERO {
            self.note(Did::Held(id));
            return Ok(());
        }
        let retransmitted = flow.next < flow.highest;
        let seq = flow.next;
        flow.next += PAYLOAD as u64;
        flow.highest = flow.highest.max(flow.next);
        flow.sent += 1;
        flow.may_send_at = self.now + flow.control.rate.tx_time(WIRE as u64);
        let sent = Sent { retransmitted, left: self.left, ..Sent::new(WIRE, PAYLOAD, flow.next) };
        self.note(Did::Sent(id));
        let mut cc_tag = 0;
        self.sender(at, |s, slot, now| {
            let (control, put) = s.on_send(slot, now, &sent);
            cc_tag = put;
            control
        })?;
        let mut packet = Data {
            flow: ReceiverFlow(id),
            from: NodeId(id),
            wire: WIRE,
            payload: PAYLOAD,
            seq,
            start: seq == 0,
            ack_due: true,
            due_alone: true,
            cc_tag,
            ..Data::default()
        };
        let flow = &mut self.flows[at];
        if !self.scheme.switch_active() {
            flow.forward.push_back((packet, self.now));
            return Ok(());
        }
        let view = PortView { queued: flow.forward.len() as u64 * WIRE as u64, ..PortView::new(LINE) };
        let mut header = Header { flow: MessageId(id), wire: WIRE as u16, cc_tag, ..Header::default() };
        let port = self.scheme.switch_route(0, self.now, &mut header, 0, 1, &vec![view, view]);
        let mut queued = Queued { port, view, packet: &mut header, own: true };
        match self.scheme.switch_enqueue(0, self.now, &mut queued) {
            Verdict::Drop => {
                flow.dropped += 1;
                self.note(Did::Refused(id));
            }
            verdict => {
                packet.ce = verdict == Verdict::Mark;
                self.scheme.switch_dequeue(0, self.now, &mut queued);
                (packet.cc_tag, packet.cc_feedback) = (header.cc_tag, header.cc_feedback);
                flow.forward.push_back((packet, self.now));
            }
        }
        self.no_hook_failed()
    }

    fn deliver(&mut self, at: usize, ce: bool) -> Kept {
        let flow = &mut self.flows[at];
        let Some((mut packet, sent_at)) = flow.forward.pop_front() else { return Ok(()) };
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
        self.log.note(self.now, Did::Delivered(flow.id, packet.ce));
        if packet.in_order && packet.start {
            let message = MessageStart {
                incast: Some(Incast { id: flow.id, senders: &[0, 8, 9] }),
                ..MessageStart::new(packet.flow, MessageId(flow.id), NodeId(0))
            };
            self.scheme.receiver_message_start(0, self.now, &message);
        }
        let plan = self.scheme.receiver_data(0, self.now, &packet);
        hold!(
            self,
            "an ACK for earlier packets only where one is missing",
            plan.before.is_none() || packet.pending,
            "{plan:?}"
        );
        self.answers.push(Answer::Plan(self.now, plan));
        for (acked_to, fields) in [(packet.seq.min(flow.expected), plan.before), (flow.expected, plan.now)] {
            if let Some(fields) = fields {
                flow.back.push_back(Back::Ack { acked_to, fields, sent_at });
            }
        }
        self.poll()
    }

    fn come_back(&mut self, at: usize) -> Kept {
        let flow = &mut self.flows[at];
        match flow.back.pop_front() {
            None => Ok(()),
            Some(Back::Notice(notice)) => {
                self.log.note(self.now, Did::Noticed(flow.id));
                self.sender(at, |s, slot, now| s.on_notice(slot, now, notice))?;
                self.ask(at)
            }
            Some(Back::Ack { acked_to, fields, sent_at }) => {
                self.log.note(self.now, Did::Acked(flow.id, fields.ecn_echo));
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
                self.sender(at, |s, slot, now| s.on_ack(slot, now, &ack))
            }
        }
    }

    fn go_back(&mut self, at: usize) -> Loss {
        let flow = &mut self.flows[at];
        let loss = Loss::new(flow.acked, flow.next);
        flow.next = flow.acked;
        loss
    }

    fn close(&mut self, at: usize) -> Kept {
        let flow = self.flows.remove(at);
        self.note(Did::Closed(flow.id));
        self.scheme.close(flow.slot, self.now);
        self.scheme.take_shared_changed();
        self.scheme.receiver_message_end(0, self.now, ReceiverFlow(flow.id), MessageId(flow.id));
        self.scheme.receiver_close(0, self.now, ReceiverFlow(flow.id));
        self.poll()?;
        for other in 0..self.flows.len() {
            let control = self.scheme.control(self.flows[other].slot, self.now);
            self.told(other, control)?;
        }
        Ok(())
    }

    /// An event.
    ///
    /// # Errors
    /// See [`World::open`].
    pub fn step(&mut self, op: Op) -> Kept {
        let flow = match op {
            Op::Open => {
                self.open()?;
                return self.kept();
            }
            Op::Wait(span) => {
                self.note(Did::Waited(span));
                self.advance(self.now + span)?;
                return self.kept();
            }
            Op::Send(f, _) | Op::Deliver(f, ..) | Op::Return(f, _) => f,
            Op::StrayCnp(f) | Op::StrayCredit(f) | Op::StrayTimer(f) => f,
            Op::Drop(f) | Op::Loss(f, _) | Op::Timeout(f, _) | Op::Close(f) => f,
        };
        let Some(at) = self.pick(flow) else { return Ok(()) };
        let id = self.flows[at].id;
        match op {
            Op::Open | Op::Wait(_) => {}
            Op::Send(_, n) => (0..n).try_for_each(|_| self.send(at))?,
            Op::Deliver(_, n, ce) => (0..n).try_for_each(|_| self.deliver(at, ce))?,
            Op::Return(_, n) => (0..n).try_for_each(|_| self.come_back(at))?,
            Op::StrayCnp(_) => {
                self.note(Did::StrayCnp(id));
                self.sender(at, |s, slot, now| s.on_notice(slot, now, Notice::Cnp))?;
            }
            Op::StrayCredit(_) => {
                self.note(Did::StrayCredit(id));
                self.sender(at, |s, slot, now| s.on_notice(slot, now, Notice::Credit(7)))?;
            }
            Op::Drop(_) => {
                let flow = &mut self.flows[at];
                if flow.forward.pop_front().is_some() {
                    flow.dropped += 1;
                    self.note(Did::Lost(id));
                }
            }
            Op::Loss(_, n) => (0..n).try_for_each(|_| {
                let loss = self.go_back(at);
                self.note(Did::FoundLoss(id));
                self.sender(at, |s, slot, now| s.on_loss(slot, now, &loss))
            })?,
            Op::Timeout(_, n) => (0..n).try_for_each(|_| {
                self.go_back(at);
                let flow = &self.flows[at];
                let loss = Loss::new(flow.acked, flow.next);
                self.note(Did::TimedOut(id));
                self.sender(at, |s, slot, now| s.on_timeout(slot, now, &loss))
            })?,
            Op::StrayTimer(_) => {
                self.note(Did::StrayTimer(id));
                self.sender(at, |s, slot, now| s.on_timer(slot, now))?;
                self.ask(at)?;
                self.scheme.receiver_timer(0, self.now, self.received);
                self.poll()?;
            }
            Op::Close(_) => self.close(at)?,
        }
        self.kept()
    }

    /// What holds after every event.
    fn kept(&self) -> Kept {
        for f in &self.flows {
            let under_way = f.forward.len() as u64;
            hold!(
                self,
                "bytes conserved",
                f.sent == f.delivered + f.dropped + under_way,
                "{} sent, {} delivered, {} dropped, {under_way} under way",
                f.sent,
                f.delivered,
                f.dropped
            );
            let arrived = f.acked <= f.expected && f.expected <= f.highest;
            hold!(self, "acknowledged only what arrived", arrived, "flow {}", f.id);
        }
        let count = |action| self.scheme.actions().get(action);
        if count(Action::CnpReceived) > 0 && self.settings.loaded().is_none() {
            let (cuts, cnps) = (count(Action::Cut), count(Action::CnpReceived));
            hold!(self, "at most one cut per CNP", cuts <= cnps, "{cuts} cuts, {cnps} CNPs");
        }
        Ok(())
    }

    /// Delivers and returns all there is until every byte is acknowledged, and a further packet of each flow.
    ///
    /// # Errors
    /// See [`World::open`].
    pub fn drain(&mut self) -> Kept {
        self.note(Did::Drain);
        let before: Vec<u64> = self.flows.iter().map(|flow| flow.acked).collect();
        for round in 0.. {
            for (at, before) in before.iter().enumerate() {
                while !self.flows[at].forward.is_empty() {
                    self.deliver(at, false)?;
                }
                while !self.flows[at].back.is_empty() {
                    self.come_back(at)?;
                }
                if self.flows[at].in_flight() > 0 || self.flows[at].acked == *before {
                    // There is data, lost or new, so the sender must be able to send, or have asked for credits.
                    self.go_back(at);
                    let sent = self.flows[at].sent;
                    self.send(at)?;
                    let Flow { id, sent: now_sent, control, .. } = self.flows[at];
                    let moves = now_sent > sent || control.rate == Rate::ZERO;
                    hold!(
                        self,
                        "a flow with data and nothing in flight can send",
                        moves,
                        "flow {id} has {}, and cannot send within {PAUSE}",
                        told(&control)
                    );
                }
            }
            if self.flows.iter().zip(&before).all(|(f, before)| f.in_flight() == 0 && f.acked > *before) {
                return Ok(());
            }
            hold!(self, "every byte is acknowledged in the end", round < 10_000, "not after {round} round-trip times");
            self.advance(self.now + Time::from_us(100))?;
        }
        Ok(())
    }

    /// Lets time pass, with the timers that are set.
    ///
    /// # Errors
    /// See [`World::open`].
    pub fn wait(&mut self, span: Time) -> Kept {
        self.advance(self.now + span)
    }
}
