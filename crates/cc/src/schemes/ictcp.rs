//! # ictcp: the receiver shares its spare bandwidth among its senders
//!
//! ## Idea
//! A receiver sees all traffic into its link. It measures what is left of the link and lets a flow's window grow only
//! as far as that covers it; a flow that does not use its window loses a part of it. The windows travel in TCP's own
//! window field, so that an ordinary sender obeys them.
//!
//! ## Signals
//! * Receiver: the bytes that enter the host, and those of each flow; the round-trip time by the data that an ACK asked
//!   for last (as in `rcc`). No marks, and no support by switches.
//! * Sender: the advertised window.
//!
//! ## Control law
//! C is the rate of the host's link, a segment (MSS) the largest payload of a packet, rwnd the window of a flow.
//!
//! * Quota: BW_A = max(0, `alpha` C - BW_T), where BW_T is all that enters the host.
//! * Time is cut into slots of two halves of length T, the mean RTT of all flows weighted by their bytes. In the first
//!   half BW_T is measured and no window grows; in the second windows may grow while BW_A lasts.
//! * Each RTT of a flow: b_s is its rate since the last time; b_m = max(b_s, `beta` b_m + (1 - `beta`) b_s); b_e =
//!   max(b_m, rwnd/RTT); d = (b_e - b_m)/b_e.
//! * d <= `gamma1`, or d <= MSS/rwnd: the flow uses its window, which may grow, at most once in two RTTs. In slow start
//!   it doubles if BW_A covers that; otherwise the flow leaves slow start for good. Then it grows by one MSS, if BW_A
//!   covers that. What is granted is taken from BW_A.
//! * d > `gamma2` in three RTTs in a row: rwnd falls by one MSS.
//! * Fairness: with BW_A < `spare` C, flows whose rwnd is above the mean lose one MSS, once in a slot.
//! * rwnd starts at and never falls below `min_window` MSS.
//!
//! ## Parameters
//! In a spec: `parameters = { beta = 0.2 }`.
//!
//! | name | unit | default | source |
//! |---|---|---|---|
//! | `alpha` | share of the line | 0.9 | ICTCP 4.1 |
//! | `gamma1` | share of a flow's rate | 0.1 | ICTCP 4.3 |
//! | `gamma2` | share of a flow's rate | 0.5 | ICTCP 4.3 |
//! | `beta` | weight of the old b_m | 0.9 | not known of the paper; RCC's authors 0.9, a Linux module 0.2 |
//! | `spare` | share of the line | 0.2 | ICTCP 4.4 |
//! | `min_window` | segments | 2 | ICTCP 4.3 |
//! | `min_slot` | time | 100 us | the Linux module: least half of a slot |
//! | `newreno` | table | as there | the sender's own window |
//!
//! ## Where we differ from the paper and why
//! * We know the paper through digests and two programs. Where these differ from the digests (RCC's authors let slow
//!   start add one MSS and let flows return to it; the Linux module cuts at the first d above `gamma2`), the digests
//!   stand.
//! * The window is told with half an MSS more, as in the Linux module. TCP tells windows in whole units (RFC 7323); one
//!   of two segments would be told as less, only one segment would fit, and its ACK would wait for a second one until
//!   `ack_delay`: the flow would stay at one segment in that time.
//! * Slots and RTTs end with the first packet behind their end, and rates are measured over the time that really
//!   passed: a receiver without packets has no ACK to put a window on, and needs no timer.
//! * Until a flow has an RTT it counts with the largest of the network.
//! * The smaller of rwnd and the sender's own window counts, as in every TCP.
//! * A flow joins the mean with its first data. A flow that ends leaves it with its connection.
//!
//! ## References
//! * Wu et al., ICTCP: Incast Congestion Control for TCP in Data Center Networks, CoNEXT 2010.
//! * The RCC paper, sections 2, 6.1 and 6.3, and its authors' code.

use super::newreno;
use super::rcc::window::RoundTrip;
use crate::Action;
use crate::roles::*;
use fanin_units::Time;

/// The scheme.
pub struct Ictcp;

/// Its parameters; the manual above gives their sources.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "spec", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
#[cfg_attr(feature = "spec", schemars(extend("additionalProperties" = false)))]
pub struct Params {
    /// The share of the line that flows may use.
    pub alpha: f64,
    /// A flow uses its window if it falls short by at most this share.
    pub gamma1: f64,
    /// A flow does not use its window if it falls short by more than this share.
    pub gamma2: f64,
    /// Weight of the old value in the mean of a flow's rate.
    pub beta: f64,
    /// Below this share of the line left, large windows shrink.
    pub spare: f64,
    /// Window at the start, and its lower bound, in segments.
    pub min_window: u32,
    /// Least half of a slot.
    pub min_slot: Time,
    /// The sender's own window.
    pub newreno: newreno::Params,
}

impl Scheme for Ictcp {
    type Params = Params;
    type Sender = Flow;
    type Receiver = Host;
    type Switch = NoSwitch<Params>;
    fn transport(_: &Params) -> Transport {
        Transport::Tcp
    }
    const PRESETS: &'static [&'static str] = &["ictcp"];

    fn preset(_: &str) -> Params {
        Params {
            alpha: 0.9,
            gamma1: 0.1,
            gamma2: 0.5,
            beta: 0.9,
            spare: 0.2,
            min_window: 2,
            min_slot: Time::from_us(100),
            newreno: newreno::NewReno::preset("newreno"),
        }
    }

    fn needs_marks(params: &Params) -> bool {
        Self::wants_ecn(params)
    }

    fn tcp_only(_: &Params) -> Option<&'static str> {
        Some("assigns TCP's receive windows, which RDMA has not")
    }

    fn wants_ecn(p: &Params) -> bool {
        p.newreno.ecn
    }

    fn check(p: &Params) -> Result<(), &'static str> {
        require([
            (p.alpha > 0.0 && p.alpha <= 1.0, "alpha must be above 0 and at most 1, or no window ever grows"),
            (p.gamma1 >= 0.0 && p.gamma1 <= p.gamma2, "gamma1 must be 0 or more and at most gamma2"),
            (p.gamma2 <= 1.0, "gamma2 must be at most 1"),
            ((0.0..1.0).contains(&p.beta), "beta must be 0 or more and below 1"),
            ((0.0..=1.0).contains(&p.spare), "spare must be 0 to 1"),
            (p.min_window > 0, "min_window must be at least 1 segment: a window of 0 never sends"),
            (p.min_slot > Time::ZERO, "min_slot must be above 0"),
        ])?;
        newreno::NewReno::check(&p.newreno)
    }
}

/// A flow at its sender: TCP.
#[derive(Clone, Debug)]
pub struct Flow(newreno::Flow);

impl Sender for Flow {
    type Params = Params;
    type Shared = ();

    fn open(path: &PathInfo, cx: &mut Cx<'_, Params>) -> Self {
        let p = cx.params;
        Self(newreno::Flow::open(path, &mut cx.inner(&p.newreno, &mut ())))
    }

    #[inline(always)]
    fn control(&self, _: &Cx<'_, Params>) -> Control {
        self.0.allowed()
    }

    fn on_send(&mut self, sent: &Sent, cx: &mut Cx<'_, Params>) -> u32 {
        let p = cx.params;
        self.0.on_send(sent, &mut cx.inner(&p.newreno, &mut ()))
    }

    fn on_ack(&mut self, ack: &Ack<'_>, cx: &mut Cx<'_, Params>) {
        let p = cx.params;
        self.0.on_ack(ack, &mut cx.inner(&p.newreno, &mut ()));
    }

    fn on_loss(&mut self, loss: &Loss, cx: &mut Cx<'_, Params>) {
        let p = cx.params;
        self.0.on_loss(loss, &mut cx.inner(&p.newreno, &mut ()));
    }

    fn on_timeout(&mut self, loss: &Loss, cx: &mut Cx<'_, Params>) {
        let p = cx.params;
        self.0.on_timeout(loss, &mut cx.inner(&p.newreno, &mut ()));
    }

    fn on_idle(&mut self, cx: &mut Cx<'_, Params>) {
        let p = cx.params;
        self.0.on_idle(&mut cx.inner(&p.newreno, &mut ()));
    }
}

/// A receiver's state of a flow. Rates are in bytes of payload per second.
#[derive(Clone, Debug, Default)]
pub struct Share {
    /// rwnd in bytes; 0 before the flow opens.
    rwnd: u64,
    trip: RoundTrip,
    /// Whether it counts in the mean.
    joined: bool,
    avoiding: bool,
    /// b_m.
    measured: f64,
    /// Since when `bytes` are counted, and when rwnd last changed.
    since: Time,
    bytes: u64,
    changed: Time,
    /// RTTs in a row with d above gamma2.
    short: u32,
    /// The last slot in which fairness was checked.
    slot: u64,
    echo: newreno::Latch,
}

impl Share {
    /// rwnd in bytes.
    pub fn rwnd(&self) -> u64 {
        self.rwnd
    }

    /// b_m in bytes per second.
    pub fn measured(&self) -> f64 {
        self.measured
    }
}

/// The state of a host.
#[derive(Debug, Default)]
pub struct Host {
    mss: u64,
    /// C in bytes on the wire per second, and bytes on the wire per byte of payload.
    line: f64,
    overhead: f64,
    first_rtt: Time,
    /// Number of the slot from 1, whether it is in its second half, when this half ends and began.
    slot: u64,
    growing: bool,
    half_end: Time,
    half_start: Time,
    /// [`Data::received`] when this half began.
    received: u64,
    /// BW_A in bytes on the wire per second.
    quota: f64,
    /// Bytes of this half, and their sum weighted by RTT in picoseconds.
    bytes: f64,
    weighted: f64,
    /// The sum of rwnd over flows, and their number.
    windows: u64,
    flows: u64,
}

/// Bytes per second.
fn rate(bytes: f64, span: Time) -> f64 {
    bytes / span.max(Time::from_ps(1)).as_secs_f64()
}

impl Host {
    /// BW_A as a share of the line.
    pub fn quota(&self) -> f64 {
        self.quota / self.line
    }

    /// Whether windows may grow now.
    pub fn growing(&self) -> bool {
        self.growing
    }

    fn rtt(&self, share: &Share) -> Time {
        share.trip.mean().unwrap_or(self.first_rtt)
    }

    /// The half of the slot that a packet arrives in.
    fn advance(&mut self, now: Time, received: u64, p: &Params) {
        if now < self.half_end {
            return;
        }
        // T: the mean RTT, weighted by traffic
        let mean = if self.bytes > 0.0 { Time::from_ps((self.weighted / self.bytes) as u64) } else { self.first_rtt };
        let half = mean.max(p.min_slot);
        // A pause of more than a slot starts anew.
        let stale = self.slot == 0 || now.saturating_sub(self.half_end) > half.saturating_mul(2);
        if !stale && !self.growing {
            // ICTCP 4.1: BW_A = max(0, alpha C - BW_T)
            let total = rate(received.saturating_sub(self.received) as f64, now - self.half_start);
            self.quota = (p.alpha * self.line - total).max(0.0);
            self.growing = true;
        } else {
            self.growing = false;
            self.slot += 1;
        }
        (self.half_start, self.half_end, self.received) = (now, now + half, received);
        (self.bytes, self.weighted) = (0.0, 0.0);
    }

    fn set(&mut self, share: &mut Share, to: u64, now: Time) {
        self.windows = self.windows - share.rwnd + to;
        share.rwnd = to;
        share.changed = now;
    }

    fn shrink(&mut self, share: &mut Share, cx: &mut Cx<'_, Params>) {
        let to = share.rwnd.saturating_sub(self.mss).max(cx.params.min_window as u64 * self.mss);
        if to < share.rwnd {
            self.set(share, to, cx.now);
            cx.count(Action::Cut);
        }
    }

    /// ICTCP 4.4, once a slot, when its quota is known.
    fn be_fair(&mut self, share: &mut Share, cx: &mut Cx<'_, Params>) {
        if !self.growing || share.slot == self.slot {
            return;
        }
        share.slot = self.slot;
        let above = self.flows > 1 && share.rwnd * self.flows > self.windows;
        if self.quota < cx.params.spare * self.line && above {
            self.shrink(share, cx);
        }
    }

    /// ICTCP 4.3, once an RTT of the flow.
    fn decide(&mut self, share: &mut Share, rtt: Time, cx: &mut Cx<'_, Params>) {
        let p = cx.params;
        let sample = rate(share.bytes as f64, cx.now.saturating_sub(share.since));
        (share.since, share.bytes) = (cx.now, 0);
        // ICTCP 4.3: b_m = max(b_s, beta b_m + (1 - beta) b_s), b_e = max(b_m, rwnd/RTT), d = (b_e - b_m)/b_e
        share.measured = sample.max(p.beta * share.measured + (1.0 - p.beta) * sample);
        let expected = share.measured.max(rate(share.rwnd as f64, rtt));
        let d = (expected - share.measured) / expected;
        if d <= p.gamma1 || d <= self.mss as f64 / share.rwnd as f64 {
            share.short = 0;
            self.grow(share, rtt, cx);
        } else if d > p.gamma2 {
            share.short += 1;
            if share.short == 3 {
                share.short = 0;
                self.shrink(share, cx);
            }
        } else {
            share.short = 0;
        }
    }

    fn grow(&mut self, share: &mut Share, rtt: Time, cx: &mut Cx<'_, Params>) {
        if !self.growing || cx.now.saturating_sub(share.changed) < rtt.saturating_mul(2) {
            return;
        }
        let cost = |bytes: u64| rate(bytes as f64, rtt) * self.overhead;
        let double = share.rwnd;
        share.avoiding |= cost(double) > self.quota;
        let more = if share.avoiding { self.mss } else { double };
        if cost(more) > self.quota {
            return;
        }
        self.quota -= cost(more);
        // RFC 7323: no larger window can be told
        let to = (share.rwnd + more).min(1 << 30);
        self.set(share, to, cx.now);
        cx.count(Action::Increase);
    }

    /// Half an MSS more, as in the Linux module: TCP tells a window in whole units (RFC 7323), and when that takes the
    /// last segment out of the smallest window, each ACK waits for the next segment until `ack_delay`.
    fn fields(&self, share: &Share) -> AckFields {
        let told = (share.rwnd + self.mss / 2).min(u32::MAX as u64) as u32;
        let window = (share.rwnd > 0).then_some(told);
        AckFields { window, ..share.echo.fields() }
    }
}

impl Receiver for Host {
    type Params = Params;
    type Flow = Share;

    fn new(_: &Params, nic: &NicInfo) -> Self {
        let mss = nic.payload.max(1) as u64;
        Self {
            mss,
            line: nic.line_rate.as_bps() as f64 / 8.0,
            overhead: nic.wire as f64 / mss as f64,
            first_rtt: nic.network_rtt,
            ..Self::default()
        }
    }

    fn on_open(&mut self, _: &FlowInfo, share: &mut Share, cx: &mut Cx<'_, Params>) {
        share.rwnd = cx.params.min_window as u64 * self.mss;
    }

    fn on_data(&mut self, data: &Data, share: &mut Share, cx: &mut Cx<'_, Params>) -> AckPlan {
        if !share.joined {
            share.joined = true;
            self.flows += 1;
            self.windows += share.rwnd;
            (share.since, share.changed) = (cx.now, cx.now);
        }
        share.trip.on_data(cx.now, data.seq, data.acked_to, Time::NEVER, true, 0.125);
        self.advance(cx.now, data.received, cx.params);
        let rtt = self.rtt(share);
        self.bytes += data.wire as f64;
        self.weighted += data.wire as f64 * rtt.as_ps() as f64;
        share.bytes += data.payload as u64;
        self.be_fair(share, cx);
        if cx.now.saturating_sub(share.since) >= rtt {
            self.decide(share, rtt, cx);
        }
        share.echo.on_data(data, cx.params.newreno.ecn);
        let now = data.ack_due.then(|| self.fields(share));
        if now.is_some() {
            let end = (data.acked_to + share.rwnd).saturating_sub(self.mss);
            share.trip.on_ack_left(cx.now, end, Time::from_ms(100));
        }
        AckPlan { before: None, now }
    }

    fn ack_fields(&mut self, _: ReceiverFlow, share: &mut Share, _: &mut Cx<'_, Params>) -> AckFields {
        self.fields(share)
    }

    fn on_close(&mut self, _: ReceiverFlow, share: &mut Share, _: &mut Cx<'_, Params>) {
        if share.joined {
            self.flows -= 1;
            self.windows -= share.rwnd;
            share.joined = false;
        }
    }

    fn watch(&self, see: &mut dyn FnMut(&'static str, f64)) {
        see("quota", self.quota());
        see("windows", self.windows as f64);
    }
}
