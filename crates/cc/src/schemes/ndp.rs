//! # ndp: packets sent at once, cut where queues are full, and pulled by the receiver ever after
//!
//! ## Idea
//! A sender begins without asking, with a whole window at line rate. Switches keep very short queues: a packet without
//! room loses its payload, and its header goes ahead of all data, so that the receiver knows within a fraction of a
//! round trip what every sender has. From then on the receiver alone decides: each packet or header that arrives earns
//! its sender one more packet, and the receiver gives these leaves out, in turn, at the rate of its own link. After the
//! first round trip data arrives just as fast as the link takes it, however many send.
//!
//! ## Signals
//! * Switch: trimmed packets (`network.trimming`), which it needs. Packets are meant to take all paths
//!   (`network.balancing = "oblivious"`, or `"random"`) and to arrive in any order
//!   (`traffic.rdma.recovery = "unordered"`).
//! * Sender: pulls, whose number counts all packets granted so far, so that a lost or overtaken one heals with the
//!   next. A NACK names a packet that was cut: it is the next one to be sent, but only when it is pulled.
//! * Receiver: each packet and header carries the number of packets that its sender has sent so far.
//!
//! ## Control law
//! * Sender: packets may leave, at line rate, while fewer have been sent than `initial_window` plus the number of the
//!   latest pull. What was cut goes before what is new.
//! * Receiver: a flow whose packets show a higher number than it was pulled up to waits in one queue of the host. The
//!   first of the queue gets a pull for one packet and goes to its end, if it still waits.
//! * Time between two pulls of a host: that of a full packet at `pull_rate` times the rate of its link.
//! * When a message is complete, pulls for it that have not left are dropped.
//! * A timeout lets one packet leave without a pull.
//!
//! What follows from that: of a flow never more than `initial_window` packets are under way; flows into one host share
//! its link evenly; and after the first round trip only as many packets are cut as a short queue needs to absorb the
//! unevenness of paths.
//!
//! ## Parameters
//! | name | unit | default | source |
//! |---|---|---|---|
//! | `initial_window` | packets, 0 is the larger of 30 and a bandwidth-delay product | 0 | paper: 30; htsim: 15 |
//! | `pull_rate` | share of the link, above 0 up to 1 | 1 | paper: all of it; htsim: its option allows less |
//! | `pull_size` | bytes on the wire | 64 | paper; htsim: headers |
//! | `request_timeout` | time | 200 us | ours: a sender without a pull for so long asks for it again |
//!
//! ## Where we differ from the paper and why
//! * Written without the text of the paper at hand. From memory of it: the window of about 30 packets, one pull per
//!   packet at the rate of the link, headers of 64 bytes, queues of eight packets. From its authors' simulator htsim
//!   (`ndp.cpp`): the cumulative number of pulls, the order in which packets are sent again, the single pacer of a
//!   host, and that a complete message drops its pulls.
//! * The window covers a bandwidth-delay product, because fewer packets than that never fill the path, as the paper's
//!   30 packets of 9 KB do in its network.
//! * There a receiver counts arrivals; here it goes by the number that a packet carries. Without losses that is the
//!   same. A packet that is lost whole would otherwise make the window of its flow smaller for good.
//! * There a pull that finds nothing to send is spent. Here it is kept, so that a NACK that a pull has overtaken is
//!   not left without one; the window bounds how many are kept.
//! * Pulls are packets of their own, which follow the ACK or NACK. There a receiver whose pacer is idle pulls with the
//!   ACK or NACK itself.
//! * There is no return to sender: a header that finds no room is dropped, and its packet waits for the timeout.
//!   Receivers prefer no message over another, and senders choose paths by `network.balancing`, not by scores of NDP.
//! * Pulls share the class of ACKs, and go before data.
//!
//! ## References
//! * M. Handley et al.: Re-architecting datacenter networks and stacks for low latency and high performance.
//!   SIGCOMM 2017.
//! * htsim, `ndp.cpp`, `compositequeue.cpp`: https://github.com/ultraethernet/uet-htsim

use crate::Action;
use crate::roles::*;
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use fanin_units::{Rate, Time};

/// The scheme.
pub struct Ndp;

/// Its parameters; the manual above gives their sources.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "spec", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
#[cfg_attr(feature = "spec", schemars(rename = "Ndp", extend("additionalProperties" = false)))]
pub struct Params {
    /// Packets that a flow sends without a pull; 0 is the larger of 30 and a bandwidth-delay product of the network.
    pub initial_window: u32,
    /// The rate of pulled packets, as a share of the receiver's link.
    pub pull_rate: f64,
    /// Bytes of a pull on the wire.
    pub pull_size: u16,
    /// Time without a pull after which a sender asks again.
    pub request_timeout: Time,
}

/// The paper's window in packets (from memory).
const WINDOW: u32 = 30;

impl Scheme for Ndp {
    type Params = Params;
    type Sender = Flow;
    type Receiver = Puller;
    type Switch = NoSwitch<Params>;
    const PRESETS: &'static [&'static str] = &["ndp"];

    fn preset(_: &str) -> Params {
        Params { initial_window: 0, pull_rate: 1.0, pull_size: 64, request_timeout: Time::from_us(200) }
    }

    fn wants_ecn(_: &Params) -> bool {
        false
    }

    fn header_overhead(_: &Params) -> HeaderOverhead {
        HeaderOverhead::new(4, 0)
    }

    fn rdma_only(_: &Params) -> Option<&'static str> {
        Some("sends against pulls of the receiver, which TCP does not carry")
    }

    fn needs_trimming(_: &Params) -> Option<&'static str> {
        Some("goes by the headers of packets that switches trim")
    }

    fn check(p: &Params) -> Result<(), &'static str> {
        require([
            (p.initial_window <= 1 << 20, "initial_window must be at most 1048576 packets, or 0 for what fills a path"),
            (p.pull_rate > 0.0 && p.pull_rate <= 1.0, "pull_rate must be above 0 and at most 1, the whole link"),
            ((1..=9000).contains(&p.pull_size), "pull_size must be 1 to 9000 bytes, like 64"),
            (p.request_timeout >= Time::from_us(1), "request_timeout must be at least 1 us"),
        ])
    }
}

/// By how much a number of 32 bits that has wrapped around is above another one; below 0 if it is older.
fn above(number: u32, than: u32) -> i32 {
    number.wrapping_sub(than) as i32
}

/// A flow at its sender.
#[derive(Clone, Debug)]
pub struct Flow {
    line_rate: Rate,
    /// Packets that may leave: the window and all pulls, less what was sent.
    credit: i64,
    /// The highest number of a pull.
    pulled: u32,
    /// Packets sent, each time counted.
    sent: u32,
    /// A timeout lets a packet leave without credit.
    urgent: bool,
    /// Payload bytes not sent yet.
    left: u64,
    /// Whether something that was sent is not acknowledged.
    unacked: bool,
    /// How long it waits for a pull.
    patience: Time,
    wake_at: Time,
    /// It has waited for so long.
    due: bool,
}

impl Flow {
    fn may_send(&self) -> bool {
        self.credit > 0 || self.urgent
    }

    fn has_work(&self) -> bool {
        self.left > 0 || self.unacked
    }
}

impl Sender for Flow {
    type Params = Params;
    type Shared = ();

    fn open(path: &PathInfo, cx: &mut Cx<'_, Params>) -> Self {
        let window = match cx.params.initial_window {
            0 => path.network_bdp.div_ceil(path.wire.max(1).into()).min(1 << 20).max(WINDOW.into()) as i64,
            packets => packets.into(),
        };
        let patience = cx.params.request_timeout.max(path.base_rtt.saturating_mul(2));
        Self {
            line_rate: path.line_rate,
            credit: window,
            pulled: 0,
            sent: 0,
            urgent: false,
            left: 0,
            unacked: false,
            patience,
            wake_at: cx.now.saturating_add(patience),
            due: false,
        }
    }

    #[inline(always)]
    fn control(&self, _: &Cx<'_, Params>) -> Control {
        let rate = if self.may_send() { self.line_rate } else { Rate::ZERO };
        Control { wake_at: self.wake_at, ..Control::rate(rate) }
    }

    #[inline(always)]
    fn on_send(&mut self, sent: &Sent, _: &mut Cx<'_, Params>) -> u32 {
        // NDP 3.2: one pull releases one packet. A packet without credit is paid for by a later pull.
        self.credit -= 1;
        self.urgent = false;
        self.sent = self.sent.wrapping_add(1);
        (self.left, self.unacked) = (sent.left, true);
        self.sent
    }

    fn on_ack(&mut self, ack: &Ack<'_>, _: &mut Cx<'_, Params>) {
        self.unacked = ack.acked_to < ack.sent_to;
    }

    fn on_notice(&mut self, notice: Notice, cx: &mut Cx<'_, Params>) {
        let Notice::Credit(number) = notice else { return };
        // htsim, `pull_packets`: the number is cumulative, so that what lost pulls granted comes with the next.
        let granted = above(number, self.pulled);
        if granted > 0 {
            self.pulled = number;
            self.credit += i64::from(granted);
        }
        if !self.has_work() {
            cx.count(Action::CreditWasted);
        }
        self.wake_at = cx.now.saturating_add(self.patience);
    }

    fn on_timeout(&mut self, _: &Loss, _: &mut Cx<'_, Params>) {
        // Nothing is under way whose arrival would be pulled for.
        self.urgent = self.credit <= 0;
    }

    /// A packet that was cut waits for its pull, which its header has asked for.
    fn on_trim(&mut self, _: &Trim, _: &mut Cx<'_, Params>) {}

    fn on_timer(&mut self, cx: &mut Cx<'_, Params>) {
        if self.wake_at <= cx.now {
            self.due = true;
            self.wake_at = if self.has_work() { cx.now.saturating_add(self.patience) } else { Time::NEVER };
        }
    }

    fn poll_request(&mut self, left: u64, cx: &mut Cx<'_, Params>) -> Option<u32> {
        self.left = left;
        let due = core::mem::take(&mut self.due);
        if self.has_work() && self.wake_at == Time::NEVER {
            self.wake_at = cx.now.saturating_add(self.patience);
        }
        if !due || self.may_send() || !self.has_work() {
            return None;
        }
        cx.count(Action::CreditRequest);
        Some(self.sent)
    }

    fn watch(&self, see: &mut dyn FnMut(&'static str, f64)) {
        see("credit_packets", self.credit as f64);
    }
}

/// The place of a flow in its receiver's list.
#[derive(Clone, Copy, Debug, Default)]
pub struct Place(u32);

/// A flow at its receiver.
#[derive(Clone, Copy, Debug)]
struct Source {
    flow: ReceiverFlow,
    /// The highest number of packets sent that came.
    sent: u32,
    /// The number of its latest pull.
    pulled: u32,
    /// Whether it waits in the queue.
    waits: bool,
}

/// The receiver: one queue and one pacer of pulls for all flows of the host.
pub struct Puller {
    sources: Vec<Source>,
    free: Vec<u32>,
    /// Those that wait for a pull, by place.
    queue: VecDeque<u32>,
    /// Time between two pulls.
    gap: Time,
    /// When the next pull may leave.
    free_at: Time,
    ready: VecDeque<Emit>,
}

impl Puller {
    /// A packet, header or request told how many packets its sender has sent.
    #[inline]
    fn told(&mut self, sent: u32, place: Place, cx: &mut Cx<'_, Params>) {
        let source = &mut self.sources[place.0 as usize];
        if above(sent, source.sent) > 0 {
            source.sent = sent;
        }
        if above(source.sent, source.pulled) > 0 {
            self.wait(place, cx);
        }
    }

    /// A flow joins the queue, if it is not in it.
    fn wait(&mut self, place: Place, cx: &mut Cx<'_, Params>) {
        let source = &mut self.sources[place.0 as usize];
        if !source.waits {
            source.waits = true;
            self.queue.push_back(place.0);
            if self.free_at <= cx.now {
                self.pull(cx);
            }
        }
    }

    /// Pulls one packet from the flow that has waited longest.
    ///
    /// NDP 3.2: one queue of pulls per host, in turn over its senders, at the rate of its link.
    fn pull(&mut self, cx: &mut Cx<'_, Params>) {
        let Some(place) = self.queue.pop_front() else { return };
        let source = &mut self.sources[place as usize];
        // A flow that asks without anything owed to it has lost a pull, and gets its number again.
        if above(source.sent, source.pulled) > 0 {
            source.pulled = source.pulled.wrapping_add(1);
        }
        source.waits = above(source.sent, source.pulled) > 0;
        if source.waits {
            self.queue.push_back(place);
        }
        cx.count(Action::CreditSent);
        let (flow, number, wire) = (source.flow, source.pulled, cx.params.pull_size.into());
        self.ready.push_back(Emit::Credit { flow, number, wire });
        self.free_at = cx.now.saturating_add(self.gap);
    }
}

impl Receiver for Puller {
    type Params = Params;
    type Flow = Place;

    fn new(p: &Params, nic: &NicInfo) -> Self {
        let packet = nic.line_rate.tx_time(nic.wire.max(1).into()).as_ps();
        let gap = Time::from_ps((packet as f64 / p.pull_rate) as u64).max(Time::from_ps(1));
        Self {
            sources: Vec::new(),
            free: Vec::new(),
            queue: VecDeque::new(),
            gap,
            free_at: Time::ZERO,
            ready: VecDeque::new(),
        }
    }

    fn on_open(&mut self, info: &FlowInfo, place: &mut Place, _: &mut Cx<'_, Params>) {
        let new = Source { flow: info.flow, sent: 0, pulled: 0, waits: false };
        place.0 = self.free.pop().unwrap_or(self.sources.len() as u32);
        match self.sources.get_mut(place.0 as usize) {
            Some(old) => *old = new,
            None => self.sources.push(new),
        }
    }

    #[inline]
    fn on_data(&mut self, data: &Data, place: &mut Place, cx: &mut Cx<'_, Params>) -> AckPlan {
        self.told(data.cc_tag, *place, cx);
        data.due()
    }

    fn on_request(&mut self, request: &Data, place: &mut Place, cx: &mut Cx<'_, Params>) -> Option<AckFields> {
        self.told(request.cc_tag, *place, cx);
        self.wait(*place, cx);
        None
    }

    fn on_trim(&mut self, data: &Data, place: &mut Place, cx: &mut Cx<'_, Params>) {
        self.told(data.cc_tag, *place, cx);
    }

    fn on_close(&mut self, _: ReceiverFlow, place: &mut Place, _: &mut Cx<'_, Params>) {
        // htsim, `release_pulls`
        self.queue.retain(|&other| other != place.0);
        self.free.push(place.0);
    }

    fn on_timer(&mut self, _: u64, cx: &mut Cx<'_, Params>) {
        if self.free_at <= cx.now {
            self.pull(cx);
        }
    }

    fn poll_transmit(&mut self, _: &mut Cx<'_, Params>) -> Option<Emit> {
        self.ready.pop_front()
    }

    fn wake_at(&self) -> Time {
        if self.queue.is_empty() { Time::NEVER } else { self.free_at }
    }
}
