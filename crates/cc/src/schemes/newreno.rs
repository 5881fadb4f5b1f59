//! # newreno: the window of TCP
//!
//! ## Idea
//! A window in bytes that doubles each round trip up to a threshold (slow start), then grows by one segment a round
//! trip (congestion avoidance), and is halved by a loss. The baseline of the papers on TCP, and the window under
//! `dctcp`, which changes only the reaction to marked ACKs.
//!
//! ## Signals
//! * ACKs, losses and timeouts, all from the endpoint. The endpoint decides which bytes are lost and what it
//!   retransmits (RFC 6675 or RFC 6582), and inflates the window of a recovery that counts duplicate ACKs.
//! * With `ecn`: marked packets. The receiver echoes a mark on every ACK until a data packet announces that the window
//!   has been reduced (CWR).
//!
//! ## Control law
//! A segment may leave if it fits into cwnd. MSS is the largest payload of a packet. There is no pacing.
//!
//! * Open: cwnd = `initial_window` MSS, ssthresh = `initial_ssthresh`.
//! * ACK, cwnd < ssthresh: cwnd += min(bytes acknowledged, `growth_limit` MSS); one MSS in the slow start after a
//!   timeout.
//! * ACK, else: cwnd += MSS each time that cwnd bytes have been acknowledged.
//! * No growth by an ACK that echoes a mark, nor from a loss until its repair is acknowledged, nor, with
//!   `grow_only_if_used`, by an ACK for a window that was not used. A window was used if, at some time in the last
//!   window of data, it was full (not one MSS more would have fitted, nor, with segmentation offload, the burst that
//!   waits for it) or, in slow start, more than half full.
//! * Loss: ssthresh = max(in flight / 2, `min_window` MSS), cwnd = ssthresh.
//! * Timeout: ssthresh as by a loss, but unchanged if the same byte timed out before; cwnd = 1 MSS.
//! * First packet after more than `restart_after` without one, nothing in flight: cwnd = min(cwnd, `initial_window`
//!   MSS). The same with each request on an open connection, where the spec has `tcp.restart = "request"`.
//! * Echoed mark (`ecn`): ssthresh = max(cwnd / 2, `min_window` MSS), cwnd = min(cwnd, ssthresh), once for each window
//!   of data: not again before a byte is acknowledged that was sent after the last reduction. A loss of data sent
//!   before such a cut, and not retransmitted since, changes nothing. The first new packet after any reduction carries
//!   CWR.
//!
//! Presets: `newreno` without ECN (its packets are never marked), `newreno-ecn` with it.
//!
//! ## Parameters
//! In a spec: `parameters = { initial_window = 2, restart_after = "10 ms" }`.
//!
//! | name | unit | default | source |
//! |---|---|---|---|
//! | `initial_window` | segments | 10 | RFC 6928 (at an MSS up to 1460 bytes); DCTCP's authors count 2 |
//! | `initial_ssthresh` | bytes or `unlimited` | unlimited | RFC 5681 3.1: arbitrarily high |
//! | `growth_limit` | segments an ACK | 1 | RFC 5681 3.1 (2); RFC 3465 allows 2 |
//! | `min_window` | segments | 2 | RFC 5681 3.1 (4) |
//! | `grow_only_if_used` | true or false | true | RFC 7661 in spirit; the rule is Linux's |
//! | `restart_after` | time, zero is never | 200 ms | RFC 5681 4.1 has the RTO; this is a common minimum RTO |
//! | `ecn` | true or false | false | RFC 3168; true in `newreno-ecn` |
//!
//! ## Where we differ from the paper and why
//! * Congestion avoidance counts bytes, so that delayed ACKs do not slow it (RFC 5681 3.1 recommends this).
//! * The window may exceed the threshold by less than `growth_limit` MSS, as in the RFC; Linux stops at the threshold.
//! * The ACK that ends a repair does not grow the window: it acknowledges data sent before the loss.
//! * A receiver ignores marks on data that it has already acknowledged (RFC 3168 6.1.5).
//!
//! Fairness needs losses or marks. Where neither comes, because pauses keep packets waiting, windows never shrink and a
//! flow that joins waits behind them: Jain's index of four flows is 0.79 after 1,000 round trips of the idle path
//! (`fabric/tests/theory/joining.rs`).
//!
//! ## References
//! * RFC 5681 (TCP congestion control), RFC 6582 (NewReno), RFC 6928 (initial window), RFC 3465 (byte counting).
//! * RFC 3168 (ECN), RFC 7661 (windows that are not used).

use crate::Action;
use crate::roles::*;
use fanin_units::{Bytes, Rate, Time};

/// The scheme.
pub struct NewReno;

/// The value of a threshold that does not limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "spec", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
#[cfg_attr(feature = "spec", serde(rename_all = "kebab-case"))]
pub enum Unlimited {
    /// No limit.
    Unlimited,
}

/// The end of slow start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "spec", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
#[cfg_attr(feature = "spec", serde(untagged, expecting = "expected bytes like \"64 KB\", or \"unlimited\""))]
pub enum Threshold {
    /// At the first loss or mark.
    Unlimited(Unlimited),
    /// At this window.
    Bytes(Bytes),
}

/// Parameters of TCP's window; the manual above gives their sources.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "spec", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
pub struct WindowParams {
    /// Window at the start, and upper bound after a pause, in segments.
    pub initial_window: u32,
    /// The end of the first slow start.
    pub initial_ssthresh: Threshold,
    /// Largest growth by one ACK in slow start, in segments.
    pub growth_limit: u32,
    /// Lower bound of the window after a loss or mark, in segments.
    pub min_window: u32,
    /// Whether only a used window grows.
    pub grow_only_if_used: bool,
    /// Time without a packet after which the window restarts; zero is never.
    pub restart_after: Time,
}

impl Default for WindowParams {
    fn default() -> Self {
        Self {
            initial_window: 10,
            initial_ssthresh: Threshold::Unlimited(Unlimited::Unlimited),
            growth_limit: 1,
            min_window: 2,
            grow_only_if_used: true,
            restart_after: Time::from_ms(200),
        }
    }
}

impl WindowParams {
    /// Refuses impossible parameters.
    pub(super) fn check(&self) -> Result<(), &'static str> {
        require([
            (self.initial_window > 0, "initial_window must be at least 1 segment: a window of 0 never sends"),
            (self.growth_limit > 0, "growth_limit must be at least 1 segment, or slow start never grows"),
            (self.min_window > 0, "min_window must be at least 1 segment: a window of 0 never sends"),
        ])
    }
}

/// Its parameters; the manual above gives their sources.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "spec", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
#[cfg_attr(feature = "spec", schemars(rename = "Newreno", extend("additionalProperties" = false)))]
pub struct Params {
    /// TCP's window.
    #[cfg_attr(feature = "spec", serde(flatten))]
    pub window: WindowParams,
    /// Whether packets may be marked instead of dropped (RFC 3168).
    pub ecn: bool,
}

impl Scheme for NewReno {
    type Params = Params;
    type Sender = Flow;
    type Receiver = Echo;
    type Switch = NoSwitch<Params>;
    fn transport(_: &Params) -> Transport {
        Transport::Tcp
    }
    const PRESETS: &'static [&'static str] = &["newreno", "newreno-ecn"];

    fn preset(id: &str) -> Params {
        Params { window: WindowParams::default(), ecn: id.ends_with("-ecn") }
    }

    fn needs_marks(params: &Params) -> bool {
        Self::wants_ecn(params)
    }

    fn wants_ecn(params: &Params) -> bool {
        params.ecn
    }

    fn check(params: &Params) -> Result<(), &'static str> {
        params.window.check()
    }
}

/// The window of RFC 5681, for schemes that differ from TCP only in their reaction to marks.
#[derive(Clone, Debug, Default)]
pub(crate) struct Reno {
    mss: u64,
    cwnd: u64,
    ssthresh: u64,
    /// Bytes acknowledged in congestion avoidance since the last growth.
    counted: u64,
    /// Most bytes in flight in the last window of data, whether they filled the window, and the end of that window of
    /// data.
    used: u64,
    filled: bool,
    used_to: u64,
    /// Whether a loss was unrepaired after the last ACK.
    recovering: bool,
    /// Whether this is the slow start after a timeout.
    after_timeout: bool,
    /// Next byte to send at the last reduction, until everything before it is acknowledged.
    reduced_to: Option<u64>,
    /// Whether that reduction was for a mark.
    by_mark: bool,
    acked_to: u64,
    last_sent: Time,
    line_rate: Rate,
}

impl Reno {
    pub(crate) fn open(path: &PathInfo, p: &WindowParams) -> Self {
        let mss = path.payload as u64;
        Self {
            mss,
            // RFC 6928
            cwnd: p.initial_window as u64 * mss,
            ssthresh: match p.initial_ssthresh {
                Threshold::Unlimited(_) => u64::MAX,
                Threshold::Bytes(bytes) => bytes.get(),
            },
            last_sent: Time::NEVER,
            line_rate: path.line_rate,
            ..Self::default()
        }
    }

    #[inline(always)]
    pub(crate) fn control(&self) -> Control {
        Control { window: self.cwnd, ..Control::rate(self.line_rate) }
    }

    pub(crate) fn cwnd(&self) -> u64 {
        self.cwnd
    }

    pub(crate) fn ssthresh(&self) -> u64 {
        self.ssthresh
    }

    pub(super) fn floor(&self, p: &WindowParams) -> u64 {
        p.min_window as u64 * self.mss
    }

    /// Whether nothing before this packet is in flight.
    #[inline(always)]
    pub(super) fn is_alone(&self, sent: &Sent) -> bool {
        sent.sent_to.saturating_sub(sent.payload as u64) <= self.acked_to
    }

    pub(crate) fn on_send<P>(&mut self, sent: &Sent, p: &WindowParams, cx: &mut Cx<'_, P>) {
        let alone = self.is_alone(sent);
        let pause = cx.now.saturating_sub(self.last_sent);
        if alone && p.restart_after > Time::ZERO && pause > p.restart_after {
            // RFC 5681 section 4.1: after a pause at most the initial window. Its first segment fits in either.
            self.restart(p, cx);
        }
        self.last_sent = cx.now;
    }

    /// Reduces a larger window to the initial one.
    pub(crate) fn restart<P>(&mut self, p: &WindowParams, cx: &mut Cx<'_, P>) {
        let restart = p.initial_window as u64 * self.mss;
        if restart < self.cwnd {
            self.cwnd = restart;
            self.counted = 0;
            cx.count(Action::IdleRestart);
        }
    }

    /// Linux's measure of a window's use: the maximum in flight within a window of data counts, because bytes in flight
    /// fall below a full window while ACKs arrive faster than packets can leave.
    fn note_use(&mut self, ack: &Ack<'_>) {
        // RFC 5681: a segment leaves if it fits whole. Linux's tcp_tso_should_defer: a burst, or a third of the window;
        // a sender that waits for that room is limited by its window.
        let least = ack.burst.min((self.cwnd / 3).max(self.mss)).max(self.mss);
        let filled = ack.in_flight + least > self.cwnd;
        if filled || ack.acked_to > self.used_to || (!self.filled && ack.in_flight > self.used) {
            self.used = ack.in_flight;
            self.filled = filled;
            self.used_to = ack.sent_to;
        }
    }

    /// Grows the window by one ACK, unless it is `marked`.
    #[inline]
    pub(crate) fn on_ack<P>(&mut self, ack: &Ack<'_>, marked: bool, p: &WindowParams, cx: &mut Cx<'_, P>) {
        if self.note(ack, marked) && !self.slow_start(ack, p, cx) && self.is_used(p) {
            // RFC 5681 section 3.1: one MSS for each cwnd bytes acknowledged
            self.counted += ack.newly_acked.min(self.cwnd);
            if self.counted >= self.cwnd {
                self.counted -= self.cwnd;
                self.grow(self.mss, cx);
            }
        }
    }

    /// Takes note of an ACK. Returns whether it may grow the window.
    #[inline(always)]
    pub(super) fn note(&mut self, ack: &Ack<'_>, marked: bool) -> bool {
        self.acked_to = ack.acked_to;
        self.note_use(ack);
        let repairing = self.recovering | ack.recovering;
        self.recovering = ack.recovering;
        // RFC 3168 section 6.1.2: no growth by a marked ACK. RFC 6675 section 5: nor during recovery.
        !(marked || repairing || ack.newly_acked == 0)
    }

    /// Grows the window by one ACK of slow start. Returns false in congestion avoidance.
    #[inline(always)]
    pub(super) fn slow_start<P>(&mut self, ack: &Ack<'_>, p: &WindowParams, cx: &mut Cx<'_, P>) -> bool {
        if self.cwnd >= self.ssthresh {
            self.after_timeout = false;
            return false;
        }
        if !p.grow_only_if_used || self.cwnd < 2 * self.used {
            // RFC 5681 (2); RFC 3465 section 2.3: L = 1 after a timeout
            let limit = if self.after_timeout { 1 } else { p.growth_limit as u64 };
            self.grow(ack.newly_acked.min(limit * self.mss), cx);
        }
        true
    }

    /// Whether the window was used as congestion avoidance requires for its growth.
    #[inline(always)]
    pub(super) fn is_used(&self, p: &WindowParams) -> bool {
        !p.grow_only_if_used || self.filled
    }

    pub(super) fn grow<P>(&mut self, bytes: u64, cx: &mut Cx<'_, P>) {
        self.cwnd = self.cwnd.saturating_add(bytes);
        cx.count(Action::Increase);
    }

    /// Whether the window has not been reduced within the window of data of this ACK.
    #[inline]
    pub(crate) fn may_cut(&mut self, ack: &Ack<'_>) -> bool {
        // RFC 3168 section 6.1.2, DCTCP note 5: once per window of data. An ACK up to `reduced_to` covers only packets
        // that were sent before the reduction.
        if self.reduced_to.is_some_and(|to| ack.acked_to > to) {
            self.reduced_to = None;
        }
        self.reduced_to.is_none()
    }

    /// Reduces the window to `to` because of a mark.
    pub(crate) fn cut<P>(&mut self, to: u64, sent_to: u64, p: &WindowParams, cx: &mut Cx<'_, P>) {
        let floor = self.floor(p);
        self.cut_above(to, floor, floor, sent_to, cx);
    }

    /// So, with lower bounds of the window and of the threshold.
    pub(super) fn cut_above<P>(&mut self, to: u64, window: u64, threshold: u64, sent_to: u64, cx: &mut Cx<'_, P>) {
        self.ssthresh = to.max(threshold);
        let to = to.max(window);
        if to < self.cwnd {
            self.cwnd = to;
            cx.count(Action::Cut);
        }
        self.reduced(sent_to, true);
    }

    fn reduced(&mut self, sent_to: u64, by_mark: bool) {
        self.counted = 0;
        self.reduced_to = Some(sent_to);
        self.by_mark = by_mark;
    }

    /// Whether the lost data was sent before the last reduction, and that reduction was for a mark.
    pub(crate) fn was_cut_for(&self, loss: &Loss) -> bool {
        self.by_mark && self.reduced_to.is_some_and(|to| loss.from < to) && !loss.retransmitted
    }

    pub(crate) fn on_loss<P>(&mut self, loss: &Loss, p: &WindowParams, cx: &mut Cx<'_, P>) {
        // RFC 5681 (4)
        self.lost(loss, loss.in_flight / 2, p, cx);
    }

    /// A loss, upon which the window is `to`.
    pub(super) fn lost<P>(&mut self, loss: &Loss, to: u64, p: &WindowParams, cx: &mut Cx<'_, P>) {
        self.ssthresh = to.max(self.floor(p));
        // RFC 6675 section 5 (4.2): the window of recovery is ssthresh
        self.cwnd = self.ssthresh;
        self.recovering = true;
        self.reduced(loss.sent_to, false);
        cx.count(Action::LossReaction);
    }

    pub(crate) fn on_timeout<P>(&mut self, loss: &Loss, p: &WindowParams, cx: &mut Cx<'_, P>) {
        // RFC 5681 (4)
        self.timed_out(loss, loss.in_flight / 2, p, cx);
    }

    /// A timeout, after which slow start ends at `to`.
    pub(super) fn timed_out<P>(&mut self, loss: &Loss, to: u64, p: &WindowParams, cx: &mut Cx<'_, P>) {
        // RFC 5681 section 3.1: ssthresh is held when the same segment times out again
        if !loss.retransmitted {
            self.ssthresh = to.max(self.floor(p));
        }
        // RFC 5681 section 3.1: the loss window
        self.cwnd = self.mss;
        self.recovering = false;
        self.after_timeout = true;
        self.reduced(loss.sent_to, false);
        cx.count(Action::Timeout);
    }
}

/// The `cc_tag` of a data packet whose sender has reduced its window.
pub const CWR: u32 = 1;

/// A flow at its sender.
#[derive(Clone, Debug)]
pub struct Flow {
    reno: Reno,
    /// Whether the next new packet has to announce a reduction.
    announce: bool,
}

impl Flow {
    /// How much it may send, for a scheme that is built on it.
    #[inline(always)]
    pub(super) fn allowed(&self) -> Control {
        self.reno.control()
    }

    /// Where slow start ends, in bytes.
    pub fn ssthresh(&self) -> u64 {
        self.reno.ssthresh()
    }
}

impl Sender for Flow {
    type Params = Params;
    type Shared = ();

    fn open(path: &PathInfo, cx: &mut Cx<'_, Params>) -> Self {
        Self { reno: Reno::open(path, &cx.params.window), announce: false }
    }

    #[inline(always)]
    fn control(&self, _: &Cx<'_, Params>) -> Control {
        self.allowed()
    }

    fn on_send(&mut self, sent: &Sent, cx: &mut Cx<'_, Params>) -> u32 {
        let p = cx.params;
        self.reno.on_send(sent, &p.window, cx);
        // RFC 3168 section 6.1.2: CWR on the first new data after a reduction for any reason
        let announce = self.announce && !sent.retransmitted;
        self.announce &= !announce;
        if announce { CWR } else { 0 }
    }

    fn on_ack(&mut self, ack: &Ack<'_>, cx: &mut Cx<'_, Params>) {
        let p = cx.params;
        let marked = p.ecn && ack.ecn_echo;
        if self.reno.may_cut(ack) && marked {
            // RFC 3168 section 6.1.2: as by a loss
            self.reno.cut(self.reno.cwnd() / 2, ack.sent_to, &p.window, cx);
            self.announce = true;
        }
        self.reno.on_ack(ack, marked, &p.window, cx);
    }

    fn on_loss(&mut self, loss: &Loss, cx: &mut Cx<'_, Params>) {
        let p = cx.params;
        // RFC 3168 section 6.1.2: one reduction for all drops and marks of a window of data
        if !self.reno.was_cut_for(loss) {
            self.reno.on_loss(loss, &p.window, cx);
            self.announce = p.ecn;
        }
    }

    fn on_timeout(&mut self, loss: &Loss, cx: &mut Cx<'_, Params>) {
        let p = cx.params;
        self.reno.on_timeout(loss, &p.window, cx);
        self.announce = p.ecn;
    }

    fn on_idle(&mut self, cx: &mut Cx<'_, Params>) {
        let p = cx.params;
        self.reno.restart(&p.window, cx);
    }
}

/// Whether all of the data had arrived before.
pub(super) fn is_old(data: &Data) -> bool {
    !data.in_order && data.seq + data.payload as u64 <= data.acked_to
}

/// A receiver's state of a flow.
#[derive(Clone, Copy, Debug, Default)]
pub struct Latch {
    /// Whether ACKs echo a mark.
    marked: bool,
}

/// The receiver: echoes a mark until the sender announces that it has reduced its window.
#[derive(Debug)]
pub struct Echo;

impl Latch {
    /// Data arrived, at the receiver of a sender that reacts to marks with `ecn`.
    pub(super) fn on_data(&mut self, data: &Data, ecn: bool) {
        // RFC 3168 section 6.1.3: ECE from a mark until CWR; a marked packet with CWR starts anew
        self.marked &= data.cc_tag & CWR == 0;
        // RFC 3168 section 6.1.5: marks outside of the receiver's window do not count
        self.marked |= data.ce && ecn && !is_old(data);
    }

    pub(super) fn fields(self) -> AckFields {
        AckFields { ecn_echo: self.marked, ..AckFields::default() }
    }

    /// Takes a data packet; without `ecn` marks do not count. The ACK that it causes.
    #[inline]
    pub(super) fn take<P>(&mut self, data: &Data, ecn: bool, cx: &mut Cx<'_, P>) -> AckPlan {
        if data.ce {
            cx.count(Action::MarkSeen);
        }
        self.on_data(data, ecn);
        AckPlan { before: None, now: data.ack_due.then_some(self.fields()) }
    }
}

impl Receiver for Echo {
    type Params = Params;
    type Flow = Latch;

    fn new(_: &Params, _: &NicInfo) -> Self {
        Self
    }

    fn on_data(&mut self, data: &Data, state: &mut Latch, cx: &mut Cx<'_, Params>) -> AckPlan {
        state.take(data, cx.params.ecn, cx)
    }

    fn ack_fields(&mut self, _: ReceiverFlow, state: &mut Latch, _: &mut Cx<'_, Params>) -> AckFields {
        state.fields()
    }
}
