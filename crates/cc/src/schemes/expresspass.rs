//! # expresspass: data only against credits, which switches let through as far as data has room
//!
//! ## Idea
//! A receiver sends each of its senders a stream of small credits, and each credit lets one packet of data come back.
//! Every port limits credits to the rate at which their data fills the link in the other direction, with a queue of a
//! few credits, and drops the others. So what is congested drops credits and not data, queues of data stay short, and
//! the share of credits that a flow loses tells its receiver how much faster it asks than the network lets it.
//!
//! ## Signals
//! * Switch and NIC: credits have a class of their own before data, limited to the share credit / (credit + largest
//!   packet) of each link and to a queue of `credit_queue` bytes. Drops are no fault: they are the signal.
//! * Sender: a request when it has data, a stop when it has sent the last of it. Data echoes its credit's number.
//! * Receiver: the gaps in the echoed numbers. Credits and data have to cross the same links, so the routes of the
//!   network are symmetric.
//!
//! ## Control law
//! C is the rate of credits that a link lets through at most, r the rate of a flow's credits, L the share of its
//! credits that was lost since the last update. A flow begins with r = `initial_rate` C and w = `w_init`. Once per
//! round-trip time in which data came back, with `form = "paper"`:
//!
//! * L at most `target_loss`: if the update before was an increase too, w = (w + `w_max`)/2;
//!   r = (1 - w) r + w C (1 + `target_loss`).
//! * Else r = r (1 - L) (1 + `target_loss`); w = max(w/2, `w_min`).
//!
//! With `form = "ns2"` the target is t = `target_loss` (1 - r/C):
//!
//! * L at most t: if the update before was an increase too, w = min(w + 0.05, `w_max`); r = (1 - w) r + w C.
//! * Else r = the rate of credits that came back, times (1 + t), and no more than r; w = max(w/2, `w_min`).
//!
//! There r is at most C and at least a credit per round-trip time, the target above is 0 at r = C, and a flow of n
//! packets begins with r = `initial_rate` C min(1, n/`full_rate_packets`).
//!
//! The time between two credits of a flow is drawn from 1 - `jitter` to 1 + `jitter` times their mean. The round-trip
//! time is that from a credit to its data, averaged with weight 0.2.
//!
//! Presets: `expresspass` is the paper's algorithm; `expresspass-ns2` is its authors' ns-2 code with the defaults of
//! its classes. Their script for large networks has `w_init = 0.0625`, `credit_least = 76` and `credit_most = 92`.
//!
//! ## Parameters
//! | name | unit | default | source |
//! |---|---|---|---|
//! | `form` | `"paper"` or `"ns2"` | paper | Alg. 1 of the paper; the ns-2 code; `expresspass-ns2` ns2 |
//! | `target_loss` | share of credits | 0.1 | paper; ns-2 code; `expresspass-ns2` 0.125 |
//! | `initial_rate` | share of C | 0.5 | paper: alpha; ns-2 code |
//! | `full_rate_packets` | packets, 0 is off | 0 | ns-2 code; `expresspass-ns2` 40 |
//! | `w_init` | 0 to 1 | 0.5 | paper; ns-2 code |
//! | `w_min` | 0 to 1 | 0.01 | paper; ns-2 code |
//! | `w_max` | 0 to 1 | 0.5 | paper; ns-2 code |
//! | `jitter` | share of the gap | 0.1 | ns-2 code |
//! | `credit_least` | bytes | 84 | paper; ns-2 code |
//! | `credit_most` | bytes | 84 | paper; ns-2 code |
//! | `credit_queue` | bytes | 672 | paper: 8 credits; ns-2 code: 10 credits; `expresspass-ns2` 840 |
//! | `credit_burst` | bytes | 168 | ns-2 scripts: 2 credits; ns-2 code: 10 credits; `expresspass-ns2` 840 |
//! | `request_timeout` | time | 1 ms | ours; ns-2 code; `expresspass-ns2` 100 ms |
//! | `stop_timeout` | time | 2 ms | ns-2 code |
//! | `early_stop` | true or false | false | ns-2 code: a round trip brought twice the credits needed; `expresspass-ns2` true |
//! | `longest_gap` | time, 0 is the round-trip time | 100 us | ours; ns-2 code; `expresspass-ns2` 0 ps |
//!
//! ## Where we differ from the paper and why
//! * C follows from the largest packet of the network: 84/(84 + 1538) of the link where that is a full Ethernet frame.
//! * The paper gives no least rate and no time after which a request is repeated. Here a flow has a credit every
//!   `longest_gap` at least, and a sender without credits asks again after `request_timeout`, each time after twice the
//!   time before, up to 64 times.
//! * Algorithm 1 as printed oscillates: the loss of a period is that of credits sent a round trip before, so it cuts
//!   once more after a cut, and its target is the same at every rate, so a flow that loses credits at two links falls
//!   to next to nothing. Of 2 to 30 flows on a link it is only sure that they use 75 % of what credits leave of it. The
//!   ns-2 form has neither fault: 95 %, and near max-min shares on a parking lot (tests of the `fabric` crate).
//! * Nothing is said of ACKs. Here an ACK per packet would overload links with data in both directions, so a receiver
//!   sends one per flow and round-trip time, the longest of the idle network at most, and for the end of a message.
//!   IRN's limit to packets in flight, which counts on an ACK per packet, is therefore twice the bandwidth-delay
//!   product.
//! * Lost data is found and sent again by the endpoint, with new credits.
//! * The round-trip time is measured with one credit at a time and not with each.
//! * A stop that gets lost is sent again when credits still come after `stop_timeout`.
//!
//! ## References
//! * Cho, Jang and Han, Credit-Scheduled Delay-Bounded Congestion Control for Datacenters, SIGCOMM 2017, and its ns-2
//!   code.
//! * Xue et al., Dart, IEEE/ACM Transactions on Networking 2020, section VI-D.

use crate::Action;
use crate::roles::*;
use alloc::collections::{BinaryHeap, VecDeque};
use alloc::vec::Vec;
use core::cmp::Reverse;
use fanin_units::{MessageId, Rate, Time};

/// The scheme.
pub struct ExpressPass;

/// Whose feedback it runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "spec", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
#[cfg_attr(feature = "spec", serde(rename_all = "kebab-case"))]
pub enum Form {
    /// Algorithm 1 of the paper.
    Paper,
    /// The authors' ns-2 code.
    Ns2,
}

/// Its parameters; the manual above gives their sources.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "spec", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
#[cfg_attr(feature = "spec", serde(deny_unknown_fields))]
pub struct Params {
    /// Whose feedback it runs.
    pub form: Form,
    /// Share of lost credits that is aimed at; in the ns-2 form, where a flow has no credits.
    pub target_loss: f64,
    /// First rate as a share of C.
    pub initial_rate: f64,
    /// Messages of fewer packets begin with a lower rate, in proportion; 0 is none.
    pub full_rate_packets: u32,
    /// First w, the weight of C in an increase.
    pub w_init: f64,
    /// Least w.
    pub w_min: f64,
    /// Largest w.
    pub w_max: f64,
    /// The time between two credits varies by this share of it.
    pub jitter: f64,
    /// Least bytes of a credit; each has a random size.
    pub credit_least: u16,
    /// Most bytes of a credit.
    pub credit_most: u16,
    /// Bytes of the queue of credits at each port.
    pub credit_queue: u32,
    /// Bytes of credits that may leave a port at once after a pause.
    pub credit_burst: u32,
    /// Time without a credit after which a sender asks again.
    pub request_timeout: Time,
    /// Time after a stop after which another one answers credits that still come.
    pub stop_timeout: Time,
    /// Whether a sender stops its credits when those of a round trip were twice what it still needs.
    pub early_stop: bool,
    /// Longest time between two credits of a flow; zero is the round-trip time.
    pub longest_gap: Time,
}

impl Params {
    fn mean_credit(&self) -> f64 {
        (self.credit_least as f64 + self.credit_most as f64) / 2.0
    }
}

impl Scheme for ExpressPass {
    type Params = Params;
    type Sender = Flow;
    type Receiver = Crediter;
    type Switch = NoSwitch<Params>;
    const PRESETS: &'static [&'static str] = &["expresspass", "expresspass-ns2"];

    fn preset(id: &str) -> Params {
        let paper = Params {
            form: Form::Paper,
            target_loss: 0.1,
            initial_rate: 0.5,
            full_rate_packets: 0,
            w_init: 0.5,
            w_min: 0.01,
            w_max: 0.5,
            jitter: 0.1,
            credit_least: 84,
            credit_most: 84,
            credit_queue: 8 * 84,
            credit_burst: 2 * 84,
            request_timeout: Time::from_ms(1),
            stop_timeout: Time::from_ms(2),
            early_stop: false,
            longest_gap: Time::from_us(100),
        };
        if id != "expresspass-ns2" {
            return paper;
        }
        Params {
            form: Form::Ns2,
            target_loss: 0.125,
            full_rate_packets: 40,
            credit_queue: 10 * 84,
            credit_burst: 10 * 84,
            request_timeout: Time::from_ms(100),
            early_stop: true,
            longest_gap: Time::ZERO,
            ..paper
        }
    }

    fn wants_ecn(_: &Params) -> bool {
        false
    }

    fn header_overhead(_: &Params) -> HeaderOverhead {
        // The number of the credit.
        HeaderOverhead::new(4, 0)
    }

    fn rdma_only(_: &Params) -> Option<&'static str> {
        Some("asks for credits before it sends, which TCP's handshake does not carry")
    }

    fn credits(p: &Params) -> Option<CreditQueue> {
        Some(CreditQueue { credit: p.mean_credit() as u32, burst: p.credit_burst, limit: p.credit_queue })
    }

    fn acks_once_per_rtt(_: &Params) -> bool {
        true
    }

    fn symmetric_routes(_: &Params) -> Option<&'static str> {
        Some("credits make room for data on the links that they cross, so data has to come back over the same links")
    }

    fn check(p: &Params) -> Result<(), &'static str> {
        let share = |x: f64| x > 0.0 && x <= 1.0;
        require([
            (p.target_loss > 0.0 && p.target_loss < 1.0, "target_loss must be above 0 and below 1"),
            (share(p.initial_rate), "initial_rate must be above 0 and at most 1"),
            (share(p.w_min) && p.w_min <= p.w_max, "w_min must be above 0 and at most w_max"),
            (share(p.w_max), "w_max must be above 0 and at most 1"),
            (p.w_init >= p.w_min && p.w_init <= p.w_max, "w_init must be between w_min and w_max"),
            ((0.0..1.0).contains(&p.jitter), "jitter must be at least 0 and below 1"),
            (p.credit_least > 0, "credit_least must be at least 1 B"),
            (p.credit_most >= p.credit_least, "credit_most must be at least credit_least"),
            (p.credit_queue >= p.credit_most as u32, "credit_queue must hold a credit of credit_most bytes"),
            (p.credit_burst >= 1, "credit_burst must be at least 1 B"),
            (p.request_timeout >= Time::from_us(1), "request_timeout must be at least 1 us"),
            (p.stop_timeout >= Time::from_us(1), "stop_timeout must be at least 1 us"),
            (p.longest_gap == Time::ZERO || p.longest_gap >= Time::from_ns(1), "longest_gap must be at least 1 ns"),
        ])
    }
}

/// What a sender has told its receiver last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
enum Told {
    /// Nothing yet.
    #[default]
    Nothing,
    /// To stop.
    Stop,
    /// To stop although data is left, for which credits are on their way.
    EarlyStop,
    /// That it needs credits, of which none has come yet.
    Request,
    /// That it needs credits, and they come.
    Receiving,
}

/// A flow at its sender.
#[derive(Clone, Debug, Default)]
pub struct Flow {
    told: Told,
    /// Numbers of the credits not used yet.
    credits: VecDeque<u32>,
    /// Payload bytes not sent yet.
    left: u64,
    /// Requests in a row without a credit, which double the time to the next one.
    asked: u32,
    /// Whether the time of `wake_at` has come.
    due: bool,
    wake_at: Time,
    /// When the last stop was sent.
    stopped_at: Time,
    /// Credits since the time behind, and whether those of a round trip were more than enough: for the early stop.
    counted: (u32, Time),
    enough: bool,
    line: Rate,
    base_rtt: Time,
    payload: u32,
}

/// What a request says that asks the receiver to stop; any other number is the packets that the sender has.
const STOP: u32 = 0;

impl Flow {
    fn packets(&self) -> u32 {
        self.left.div_ceil(self.payload as u64).min(u32::MAX as u64) as u32
    }

    fn ask(&mut self, cx: &mut Cx<'_, Params>) -> Option<u32> {
        cx.count(Action::CreditRequest);
        self.told = Told::Request;
        self.wait(cx);
        self.asked = (self.asked + 1).min(6);
        Some(self.packets())
    }

    fn stop(&mut self, told: Told, cx: &mut Cx<'_, Params>) -> Option<u32> {
        cx.count(Action::CreditStop);
        (self.told, self.stopped_at) = (told, cx.now);
        Some(STOP)
    }

    /// Sets the time after which it asks again.
    fn wait(&mut self, cx: &Cx<'_, Params>) {
        let timeout = cx.params.request_timeout.max(self.base_rtt.saturating_mul(2));
        self.wake_at = cx.now.saturating_add(timeout.saturating_mul(1 << self.asked));
    }
}

impl Sender for Flow {
    type Params = Params;
    type Shared = ();

    fn open(path: &PathInfo, cx: &mut Cx<'_, Params>) -> Self {
        let mut flow = Self {
            told: Told::Nothing,
            wake_at: Time::NEVER,
            stopped_at: cx.now,
            counted: (0, cx.now),
            line: path.line_rate,
            base_rtt: path.base_rtt.max(Time::from_ns(1)),
            payload: path.payload.max(1),
            ..Self::default()
        };
        flow.wait(cx);
        flow
    }

    #[inline(always)]
    fn control(&self, _: &Cx<'_, Params>) -> Control {
        let rate = if self.credits.is_empty() { Rate::ZERO } else { self.line };
        Control { wake_at: self.wake_at, ..Control::rate(rate) }
    }

    fn on_send(&mut self, sent: &Sent, cx: &mut Cx<'_, Params>) -> u32 {
        let number = self.credits.pop_front();
        debug_assert!(number.is_some(), "nothing is sent without a credit");
        self.left = sent.left;
        if self.left == 0 {
            self.credits.clear();
            (self.wake_at, self.due) = (Time::NEVER, false);
            match self.told {
                Told::EarlyStop | Told::Stop => self.told = Told::Stop,
                // A stop follows the last packet.
                _ => self.wake_at = cx.now.saturating_add(self.line.tx_time(sent.wire as u64)),
            }
        }
        number.unwrap_or(0)
    }

    fn on_notice(&mut self, notice: Notice, cx: &mut Cx<'_, Params>) {
        let Notice::Credit(number) = notice else { return };
        if self.left == 0 {
            cx.count(Action::CreditWasted);
            self.due |= self.told == Told::Stop
                && cx.now.saturating_sub(self.stopped_at) >= cx.params.stop_timeout.max(self.base_rtt);
            return;
        }
        self.credits.push_back(number);
        self.asked = 0;
        match self.told {
            Told::Request => (self.told, self.counted) = (Told::Receiving, (0, cx.now)),
            Told::Receiving => {}
            Told::Nothing | Told::EarlyStop | Told::Stop => return,
        }
        self.wait(cx);
        self.counted.0 += 1;
        // ns-2 code: at the end of a round trip, early stop if its credits were twice what is left.
        if cx.params.early_stop && cx.now.saturating_sub(self.counted.1) >= self.base_rtt {
            self.enough = self.counted.0 as u64 >= 2 * self.packets() as u64;
            self.counted = (0, cx.now);
        }
    }

    fn on_timer(&mut self, cx: &mut Cx<'_, Params>) {
        if self.wake_at <= cx.now {
            self.due = true;
            self.wake_at = Time::NEVER;
            if self.left > 0 {
                self.wait(cx);
            }
        }
    }

    fn poll_request(&mut self, left: u64, cx: &mut Cx<'_, Params>) -> Option<u32> {
        self.left = left;
        let (due, enough) = (core::mem::take(&mut self.due), core::mem::take(&mut self.enough));
        match (self.told, left > 0) {
            (Told::Nothing | Told::Stop, true) => self.ask(cx),
            (_, true) if due => self.ask(cx),
            (Told::Receiving, true) if enough => {
                self.wake_at = cx.now.saturating_add(self.base_rtt.saturating_mul(2));
                self.stop(Told::EarlyStop, cx)
            }
            (Told::Nothing, false) => None,
            (_, false) if due => self.stop(Told::Stop, cx),
            _ => None,
        }
    }
}

/// A flow at its receiver.
#[derive(Clone, Debug, Default)]
struct Granted {
    flow: ReceiverFlow,
    id: MessageId,
    /// Whether it gets credits.
    on: bool,
    /// Bytes of credits per second.
    rate: f64,
    w: f64,
    /// Whether the last update was an increase.
    rose: bool,
    next_at: Time,
    /// Number of the next credit.
    number: u32,
    /// The number that data echoes next if no credit is lost; since the last update, the credits that were lost and
    /// those that came back.
    expected: u32,
    lost: u32,
    seen: u32,
    updated_at: Time,
    /// From a credit to its data.
    rtt: Time,
    measured: bool,
    /// The credit that measures it now, and when it was sent.
    timed: Option<(u32, Time)>,
    /// When the last ACK went out, and whether data has arrived since.
    acked_at: Time,
    owes_ack: bool,
}

/// The place of a flow in its receiver's list.
#[derive(Clone, Copy, Debug, Default)]
pub struct Place(u32);

/// The receiver of a host: paces the credits of its flows and adapts their rates.
pub struct Crediter {
    /// C in bytes per second.
    most: f64,
    random: u64,
    first_rtt: Time,
    flows: Vec<Granted>,
    free: Vec<u32>,
    /// When flows send their next credits, and ACKs that are due before, with the number of their message and their
    /// place. Those of flows that have ended or were stopped are removed as they become due.
    next: BinaryHeap<Reverse<(Time, MessageId, u32)>>,
    ready: VecDeque<Emit>,
}

impl Receiver for Crediter {
    type Params = Params;
    type Flow = Place;

    fn new(p: &Params, nic: &NicInfo) -> Self {
        let (credit, line) = (p.mean_credit(), nic.line_rate.as_bps() as f64 / 8.0);
        Self {
            most: line * credit / (credit + nic.wire as f64),
            random: nic.seed,
            first_rtt: nic.network_rtt.max(Time::from_ns(1)),
            flows: Vec::new(),
            free: Vec::new(),
            next: BinaryHeap::new(),
            ready: VecDeque::new(),
        }
    }

    fn on_open(&mut self, info: &FlowInfo, place: &mut Place, cx: &mut Cx<'_, Params>) {
        let new = Granted {
            flow: info.flow,
            id: info.id,
            next_at: Time::NEVER,
            updated_at: cx.now,
            rtt: self.first_rtt,
            ..Granted::default()
        };
        match self.free.pop() {
            Some(at) => {
                self.flows[at as usize] = new;
                place.0 = at;
            }
            None => {
                place.0 = self.flows.len() as u32;
                self.flows.push(new);
            }
        }
    }

    fn on_request(&mut self, request: &Data, place: &mut Place, cx: &mut Cx<'_, Params>) -> Option<AckFields> {
        let flow = &mut self.flows[place.0 as usize];
        match (request.cc_tag, flow.on) {
            (STOP, _) => flow.on = false,
            (packets, false) => {
                flow.start(self.most, packets, cx);
                self.grant(place.0, cx);
            }
            (_, true) => {}
        }
        // An ACK that is held goes out at once with a stop; and so does one that a sender seems to have missed.
        let flow = &mut self.flows[place.0 as usize];
        let due = flow.owes_ack && !flow.on || request.seq < request.acked_to;
        due.then(|| flow.acks(cx.now))
    }

    fn on_data(&mut self, data: &Data, place: &mut Place, cx: &mut Cx<'_, Params>) -> AckPlan {
        let longest = self.first_rtt;
        let flow = &mut self.flows[place.0 as usize];
        flow.see(data.cc_tag, cx.now);
        let late = flow.ack_is_late(longest, cx.now);
        let now = data.ack_due && (late || data.end || !data.in_order || !flow.on);
        if data.ack_due && !now && !flow.owes_ack {
            // It goes out with the next credit, or without one where that is late.
            flow.owes_ack = true;
            if let Some(due) = flow.ack_before_credit(longest) {
                self.next.push(Reverse((due.max(cx.now), flow.id, place.0)));
            }
        }
        AckPlan { before: None, now: now.then(|| flow.acks(cx.now)) }
    }

    fn on_close(&mut self, _: ReceiverFlow, place: &mut Place, _: &mut Cx<'_, Params>) {
        let flow = &mut self.flows[place.0 as usize];
        (flow.on, flow.id) = (false, MessageId::NONE);
        self.free.push(place.0);
    }

    fn on_timer(&mut self, _: u64, cx: &mut Cx<'_, Params>) {
        while let Some(&Reverse((at, id, place))) = self.next.peek()
            && at <= cx.now
        {
            self.next.pop();
            let longest = self.first_rtt;
            let flow = &mut self.flows[place as usize];
            if flow.id != id || !flow.on {
                continue;
            }
            if flow.next_at == at {
                self.grant(place, cx);
            } else if flow.owes_ack && flow.ack_is_late(longest, cx.now) {
                self.ready.push_back(Emit::Ack(flow.flow, flow.acks(cx.now)));
            }
        }
    }

    fn poll_transmit(&mut self, _: &mut Cx<'_, Params>) -> Option<Emit> {
        self.ready.pop_front()
    }

    fn wake_at(&self) -> Time {
        self.next.peek().map_or(Time::NEVER, |Reverse((at, ..))| *at)
    }

    fn watch(&self, see: &mut dyn FnMut(&'static str, f64)) {
        let on = || self.flows.iter().filter(|flow| flow.on);
        see("credited_flows", on().count() as f64);
        see("credit_rate_share", on().map(|flow| flow.rate).sum::<f64>() / self.most);
    }
}

impl Crediter {
    /// A random number, at least 0 and below 1 (Steele and Vigna's splitmix64).
    fn chance(&mut self) -> f64 {
        self.random = self.random.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.random;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Sends a credit of a flow, with the update of its rate before it, and sets the time of the next one.
    fn grant(&mut self, place: u32, cx: &mut Cx<'_, Params>) {
        let p = cx.params;
        let spread = (p.credit_most - p.credit_least) as f64 + 1.0;
        let wire = p.credit_least as u32 + if spread > 1.0 { (self.chance() * spread) as u32 } else { 0 };
        let vary = 1.0 + p.jitter * (2.0 * self.chance() - 1.0);
        let (most, longest) = (self.most, self.first_rtt);
        let flow = &mut self.flows[place as usize];
        flow.update(most, cx);
        if flow.owes_ack && flow.ack_is_late(longest, cx.now) {
            self.ready.push_back(Emit::Ack(flow.flow, flow.acks(cx.now)));
        }
        cx.count(Action::CreditSent);
        self.ready.push_back(Emit::Credit { flow: flow.flow, number: flow.number, wire });
        flow.timed.get_or_insert((flow.number, cx.now));
        flow.number = flow.number.wrapping_add(1);
        let gap = p.mean_credit() / flow.rate * vary * 1e12;
        flow.next_at = cx.now.saturating_add(Time::from_ps((gap as u64).max(1)));
        self.next.push(Reverse((flow.next_at, flow.id, place)));
        if let Some(due) = flow.ack_before_credit(longest) {
            self.next.push(Reverse((due, flow.id, place)));
        }
    }
}

impl Granted {
    /// Credits begin, for a sender with so many packets.
    fn start(&mut self, most: f64, packets: u32, cx: &Cx<'_, Params>) {
        let p = cx.params;
        let of_small = packets as f64 / (p.full_rate_packets.max(1)) as f64;
        let part = if p.full_rate_packets == 0 { 1.0 } else { of_small.min(1.0) };
        self.rate = self.within(p.initial_rate * most * part, most, p);
        (self.w, self.rose) = (p.w_init, false);
        // Credits of before that were not used are not lost.
        (self.on, self.expected, self.lost, self.seen) = (true, self.number, 0, 0);
        (self.updated_at, self.timed) = (cx.now, None);
    }

    /// The least rate.
    fn least(&self, p: &Params) -> f64 {
        let gap = if p.longest_gap == Time::ZERO { self.rtt } else { p.longest_gap };
        p.mean_credit() / gap.as_ps() as f64 * 1e12
    }

    /// A rate of at least the least one, and at most the largest: the round-trip time may be shorter than the time
    /// between two credits.
    fn within(&self, rate: f64, most: f64, p: &Params) -> f64 {
        rate.max(self.least(p)).min(most * (1.0 + p.target_loss))
    }

    /// Data came back with the number of its credit.
    fn see(&mut self, number: u32, now: Time) {
        if let Some((timed, sent_at)) = self.timed
            && number.wrapping_sub(timed) < 1 << 31
        {
            if number == timed {
                let sample = now.saturating_sub(sent_at).max(Time::from_ns(1));
                // ns-2 code: rtt = 0.8 rtt + 0.2 sample
                let mean = (4 * self.rtt.as_ps() as u128 + sample.as_ps() as u128) / 5;
                self.rtt = if self.measured { Time::from_ps(mean as u64) } else { sample };
                self.measured = true;
            }
            self.timed = None;
        }
        let gap = number.wrapping_sub(self.expected);
        if gap < 1 << 31 {
            self.lost = self.lost.saturating_add(gap);
            self.seen += 1;
            self.expected = number.wrapping_add(1);
        }
    }

    /// The feedback, once per round-trip time in which data came back.
    fn update(&mut self, most: f64, cx: &mut Cx<'_, Params>) {
        let p = cx.params;
        let elapsed = cx.now.saturating_sub(self.updated_at);
        if elapsed < self.rtt || self.seen == 0 {
            return;
        }
        let loss = self.lost as f64 / (self.lost as f64 + self.seen as f64);
        let before = self.rate;
        let rises = match p.form {
            Form::Paper => self.update_by_paper(loss, most, p),
            Form::Ns2 => {
                let back = p.mean_credit() * self.seen as f64 / elapsed.as_ps() as f64 * 1e12;
                self.update_by_ns2(loss, back, most, p)
            }
        };
        self.rate = self.within(self.rate, most, p);
        if self.rate != before {
            cx.count(if self.rate < before { Action::Cut } else { Action::Increase });
        }
        self.rose = rises;
        (self.lost, self.seen, self.updated_at) = (0, 0, cx.now);
    }

    /// ExpressPass, Alg. 1.
    fn update_by_paper(&mut self, loss: f64, most: f64, p: &Params) -> bool {
        if loss <= p.target_loss {
            if self.rose {
                self.w = (self.w + p.w_max) / 2.0;
            }
            self.rate = (1.0 - self.w) * self.rate + self.w * most * (1.0 + p.target_loss);
            return true;
        }
        self.rate *= (1.0 - loss) * (1.0 + p.target_loss);
        self.w = (self.w / 2.0).max(p.w_min);
        false
    }

    /// The ns-2 code: credit_feedback_control of xpass.cc. `back` is the rate of credits that came back.
    fn update_by_ns2(&mut self, loss: f64, back: f64, most: f64, p: &Params) -> bool {
        let target = (1.0 - self.rate / most) * p.target_loss;
        if loss <= target {
            if self.rose {
                self.w = (self.w + 0.05).min(p.w_max);
            }
            self.rate = (self.w * most + (1.0 - self.w) * self.rate).min(most);
            return true;
        }
        self.rate = (back * (1.0 + target)).min(self.rate);
        self.w = (self.w / 2.0).max(p.w_min);
        false
    }

    /// Whether the last ACK went out a round-trip time ago, or the longest of the network: the measured one grows when
    /// a sender may not use its credits at once, which ACKs held for as long would never end.
    fn ack_is_late(&self, longest: Time, now: Time) -> bool {
        now.saturating_sub(self.acked_at) >= self.rtt.min(longest)
    }

    /// When an ACK that is held is due, if that is before the next credit.
    fn ack_before_credit(&self, longest: Time) -> Option<Time> {
        let due = self.acked_at.saturating_add(self.rtt.min(longest));
        (self.owes_ack && due < self.next_at).then_some(due)
    }

    /// An ACK goes out.
    fn acks(&mut self, now: Time) -> AckFields {
        (self.acked_at, self.owes_ack) = (now, false);
        AckFields::default()
    }
}
