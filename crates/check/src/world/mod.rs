//! One sending host, one receiving host and one switch between them, in virtual time: packets wait in a queue per flow
//! until an event delivers, marks or drops them, and ACKs and notices wait until one returns them. The endpoint is
//! go-back-N. A flow has data without end, until an event says how much of it is left; when all of that is
//! acknowledged it is idle, and another event posts more.

use crate::answers::{Answer, Broken, told};
use crate::events::{Did, Log};
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
/// How long flows are idle in the end.
const IDLE: Time = Time::from_ms(1);
/// What a flow has to send that always has more.
const ENDLESS: u64 = u64::MAX;
/// Between the numbers of a flow's messages: more flows than a sequence opens.
const MESSAGES: u32 = 1 << 16;

type Kept = Result<(), Broken>;

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
    /// End of what is posted; [`ENDLESS`] if more always is.
    posted: u64,
    /// Where its messages end that do.
    ends: Vec<u64>,
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

    /// Bytes posted and not sent.
    fn left(&self) -> u64 {
        self.posted - self.next
    }

    /// Whether all that was posted is acknowledged.
    fn is_idle(&self) -> bool {
        self.acked == self.posted
    }

    /// The message of a byte.
    fn message_of(&self, offset: u64) -> MessageId {
        let before = self.ends.iter().filter(|end| **end <= offset).count() as u32;
        MessageId(self.id + MESSAGES * before)
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
    /// Bytes posted to each flow when it opens.
    posted: u64,
    /// Bytes that reached the receiver.
    received: u64,
    /// What the scheme said.
    pub answers: Vec<Answer>,
}

/// The path of a flow.
fn path(id: u32) -> PathInfo {
    PathInfo { network_bdp: 25_000, id: MessageId(id), ..PathInfo::new(LINE, RTT, PAYLOAD, WIRE) }
}

/// A promise by its name.
macro_rules! hold {
    ($world:expr, $name:expr, $holds:expr, $($detail:tt)*) => {
        if !$holds {
            return Err(Broken { rule: $name, detail: format!($($detail)*), at: $world.now });
        }
    };
}
mod packets;
mod steps;

impl World {
    /// Hosts with a scheme, whose flows open with data without end.
    pub fn new(settings: &Settings) -> Self {
        Self::with(settings, ENDLESS)
    }

    /// The same, but nothing is posted to the flows.
    pub fn without_data(settings: &Settings) -> Self {
        Self::with(settings, 0)
    }

    fn with(settings: &Settings, posted: u64) -> Self {
        let mut scheme = settings.build();
        scheme.add_host(&NicInfo { seed: 1, ..NicInfo::new(LINE, RTT, PAYLOAD, WIRE) });
        let port = PortView::new(LINE);
        scheme.add_switch(&SwitchInfo { seed: 1, network_rtt: RTT, ..SwitchInfo::new(NodeId(2), &[port, port]) });
        let (settings, now) = (settings.clone(), Time::from_us(1));
        let (log, flows, answers) = (Log::default(), Vec::new(), Vec::new());
        Self { settings, scheme, log, now, flows, opened: 0, posted, received: 0, answers }
    }

    /// What the scheme counted.
    pub fn actions(&self) -> &Actions {
        self.scheme.actions()
    }

    fn over_tcp(&self) -> bool {
        self.settings.transport() == Transport::Tcp
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

    /// A sender with data left to send does not stop for ever.
    fn rests(&self, at: usize) -> Kept {
        let Flow { id, control, .. } = &self.flows[at];
        let may_rest = control.rate > Rate::ZERO || control.wake_at < Time::NEVER || self.flows[at].left() == 0;
        let rule = "rate above 0, or a timer that ends the rest";
        hold!(self, rule, may_rest, "flow {id} has {}", told(control));
        Ok(())
    }

    /// Runs a sender hook.
    fn sender(&mut self, at: usize, hook: impl FnOnce(&mut Instance, u32, Time) -> Control) -> Kept {
        self.hook(at, hook)?;
        self.rests(at)
    }

    /// Runs a sender hook after which the endpoint polls requests.
    fn sender_then_asks(&mut self, at: usize, hook: impl FnOnce(&mut Instance, u32, Time) -> Control) -> Kept {
        self.hook(at, hook)?;
        self.ask(at)
    }

    fn hook(&mut self, at: usize, hook: impl FnOnce(&mut Instance, u32, Time) -> Control) -> Kept {
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
                    self.sender_then_asks(at, |s, slot, now| s.on_timer(slot, now))?;
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
        let Opened { slot, control } = self.scheme.open(0, &path(id), self.now);
        self.flows.push(Flow {
            id,
            slot,
            control,
            may_send_at: self.now,
            next: 0,
            highest: 0,
            acked: 0,
            expected: 0,
            posted: self.posted,
            ends: Vec::new(),
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
            let (request, control) = self.scheme.poll_request(self.flows[at].slot, self.now, self.flows[at].left());
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
        self.rests(at)?;
        self.poll()
    }
}
