//! # dctcp: TCP that reacts to the fraction of marked packets
//!
//! ## Idea
//! Switches mark each packet that meets a queue above a low threshold. The receiver reports to the sender exactly which
//! bytes were marked; the sender keeps a running estimate alpha of the marked fraction and cuts its window in
//! proportion to it: slightly for a few marks, by half when all bytes are marked. Queues stay short and links full.
//!
//! ## Signals
//! * Switch: marks on arrival when the queue is above K: step marking in the network's `marking` (low = high = K,
//!   instantaneous queue). DCTCP 3.1 has K = 20 packets at 1 Gb/s and 65 at 10 Gb/s.
//! * Receiver: which bytes were marked, by the flag on the ACKs that cover them (`echo`).
//! * Sender: ACKs with that flag; losses and timeouts as in TCP.
//!
//! ## Control law
//! The window is that of `newreno` (its manual has the rules), except for marked ACKs. Each ACK first updates alpha,
//! then cuts the window.
//!
//! * alpha: once for each window of data, alpha = (1 - g) alpha + g F, where F is the fraction of the bytes
//!   acknowledged since the last update whose ACK was marked. A window of data ends with the first ACK above the next
//!   byte to send at the end of the previous window; the first window ends with the first ACK.
//! * Cut: a marked ACK sets ssthresh = max(cwnd (1 - alpha/2), `min_window` MSS) and cwnd = min(cwnd, ssthresh), unless
//!   the window was reduced (by a mark, loss or timeout) since the last byte that it acknowledges was sent. So slow
//!   start ends with the first mark.
//! * Marked ACKs do not grow the window, unless `grow_when_marked`. The rest is TCP's: slow start, growth, loss,
//!   timeout. A loss halves the window even right after a cut.
//!
//! Receiver, by `echo`:
//!
//! * `two-state`: the state is whether the last packet was marked. Each ACK carries the state as its flag. When a
//!   packet changes it, an ACK with the old state goes out at once for the earlier packets that no ACK has covered, if
//!   any; the endpoint's rules then apply to the packet itself (an ACK for every m packets, or after a delay).
//! * `per-packet`: an ACK at once for each packet, with its own mark, whatever the endpoint's rules.
//! * `rcc`: as RCC's authors read the figure: the packet that changes the state is acknowledged at once, itself
//!   included, with the old state.
//!
//! ## Parameters
//! In a spec: `parameters = { g = 0.0625, initial_alpha = 0, echo = "per-packet" }`.
//!
//! | name | unit | default | source |
//! |---|---|---|---|
//! | `g` | gain of alpha | 0.0625 | 1/16: DCTCP 4, below the bound of eq. (7) |
//! | `initial_alpha` | 0 to 1 | 1 | RFC 8257 4.2; the paper is silent; from 0 the first marks hardly cut |
//! | `echo` | `two-state`, `per-packet` or `rcc` | two-state | DCTCP 3.1 (2), Fig. 11; RCC 3.2, footnote 3 |
//! | `grow_when_marked` | true or false | false | RFC 3168 6.1.2; in DCTCP 3.3 windows grow in every round trip |
//! | `initial_window` | segments | 10 | RFC 6928; DCTCP's authors count 2 |
//! | `initial_ssthresh` | bytes or `unlimited` | unlimited | as in `newreno` |
//! | `growth_limit` | segments an ACK | 1 | as in `newreno` |
//! | `min_window` | segments | 2 | RFC 5681 3.1 (4), for marks as well |
//! | `grow_only_if_used` | true or false | true | as in `newreno` |
//! | `restart_after` | time, zero is never | 200 ms | as in `newreno` |
//!
//! ## Where we differ from the paper and why
//! * The paper says "once for every window of data"; the bounds of a window are RFC 8257's, whose first window is the
//!   first ACK. F counts bytes, not packets.
//! * alpha is a real number that never decays to zero; kernels keep ten bits of it and need a rule to reach zero.
//! * The window grows again by unmarked ACKs of the window of data that was cut, as in the paper and RFC 8257; Linux
//!   holds it until that window has passed. The cut is at once, not spread over a round trip.
//! * The immediate ACK of Fig. 11 leaves out the packet that changed the state, as the paper's "exactly reconstruct"
//!   requires. It goes out only if there is something to acknowledge.
//! * Packets that arrive out of order are acknowledged at once with their own mark, but their bytes are covered later,
//!   by an ACK with the mark of the packet that fills the gap: cumulative ACKs cannot express more. Marks on data that
//!   has been acknowledged before are ignored (RFC 3168 6.1.5).
//! * The sender sends no CWR: DCTCP receivers do not use it.
//!
//! ## References
//! * Alizadeh et al., Data Center TCP (DCTCP), SIGCOMM 2010, section 3.
//! * RFC 8257 (DCTCP), RFC 5681 (TCP congestion control), RFC 3168 (ECN).
//! * The RCC paper (receiver-oriented congestion control for heavy incast), section 3.2.

use super::newreno::{Reno, WindowParams, is_old};
use crate::Action;
use crate::roles::*;

/// The scheme.
pub struct Dctcp;

/// How the receiver reports which packets were marked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "spec", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
#[cfg_attr(feature = "spec", serde(rename_all = "kebab-case"))]
pub enum EchoMode {
    /// By the two states of Fig. 11: exact, with delayed ACKs.
    TwoState,
    /// By an ACK for each packet.
    PerPacket,
    /// By two states as RCC's authors read them: the ACK at a change covers the packet that changed the state.
    Rcc,
}

/// Its parameters; the manual above gives their sources.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "spec", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
#[cfg_attr(feature = "spec", schemars(rename = "Dctcp", extend("additionalProperties" = false)))]
pub struct Params {
    /// Gain of alpha.
    pub g: f64,
    /// Alpha before the first ACK.
    pub initial_alpha: f64,
    /// How the receiver reports which packets were marked.
    pub echo: EchoMode,
    /// Whether ACKs that echo a mark still grow the window.
    pub grow_when_marked: bool,
    /// TCP's window.
    #[cfg_attr(feature = "spec", serde(flatten))]
    pub window: WindowParams,
}

impl Scheme for Dctcp {
    type Params = Params;
    type Sender = Flow;
    type Receiver = Echo;
    type Switch = NoSwitch<Params>;
    fn transport(_: &Params) -> Transport {
        Transport::Tcp
    }
    const PRESETS: &'static [&'static str] = &["dctcp"];

    fn preset(_: &str) -> Params {
        Params {
            g: 1.0 / 16.0,
            initial_alpha: 1.0,
            echo: EchoMode::TwoState,
            grow_when_marked: false,
            window: WindowParams::default(),
        }
    }

    fn needs_marks(_: &Params) -> bool {
        true
    }

    fn check(p: &Params) -> Result<(), &'static str> {
        check_estimate(p.g, p.initial_alpha)?;
        p.window.check()
    }
}

/// Refuses an impossible gain or start of alpha.
pub(super) fn check_estimate(g: f64, initial_alpha: f64) -> Result<(), &'static str> {
    if !(g > 0.0 && g <= 1.0) {
        Err("g must be above 0 and at most 1, like 0.0625 (1/16)")
    } else if !(0.0..=1.0).contains(&initial_alpha) {
        Err("initial_alpha must be 0 to 1")
    } else {
        Ok(())
    }
}

/// The running estimate of the marked fraction.
#[derive(Clone, Debug)]
pub(super) struct Estimate {
    pub(super) alpha: f64,
    acked: u64,
    marked: u64,
    window_end: u64,
}

impl Estimate {
    pub(super) fn new(initial_alpha: f64) -> Self {
        // RFC 8257 section 3.3: WindowEnd starts at SND.UNA
        Self { alpha: initial_alpha, acked: 0, marked: 0, window_end: 0 }
    }

    /// Counts an ACK. Returns whether it ended a window of data.
    #[inline]
    pub(super) fn on_ack<P>(&mut self, ack: &Ack<'_>, g: f64, cx: &mut Cx<'_, P>) -> bool {
        self.acked += ack.newly_acked;
        if ack.ecn_echo {
            self.marked += ack.newly_acked;
        }
        // RFC 8257 section 3.3: a window ends with the first ACK above WindowEnd, then WindowEnd = SND.NXT
        if ack.acked_to <= self.window_end || self.acked == 0 {
            return false;
        }
        let fraction = self.marked as f64 / self.acked as f64;
        // DCTCP eq. (1)
        self.alpha = (1.0 - g) * self.alpha + g * fraction;
        if self.marked > 0 {
            cx.count(Action::MarkedWindow);
        }
        self.acked = 0;
        self.marked = 0;
        self.window_end = ack.sent_to;
        true
    }

    /// DCTCP eq. (2), to the nearest whole number, halves up.
    #[inline]
    pub(super) fn cut(&self, value: u64) -> u64 {
        (value as f64 * (1.0 - self.alpha / 2.0) + 0.5) as u64
    }
}

/// A flow at its sender.
#[derive(Clone, Debug)]
pub struct Flow {
    reno: Reno,
    estimate: Estimate,
}

impl Flow {
    /// The estimate alpha.
    pub fn alpha(&self) -> f64 {
        self.estimate.alpha
    }

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
        Self { reno: Reno::open(path, &cx.params.window), estimate: Estimate::new(cx.params.initial_alpha) }
    }

    #[inline(always)]
    fn control(&self, _: &Cx<'_, Params>) -> Control {
        self.allowed()
    }

    fn on_send(&mut self, sent: &Sent, cx: &mut Cx<'_, Params>) -> u32 {
        let p = cx.params;
        self.reno.on_send(sent, &p.window, cx);
        0
    }

    fn on_ack(&mut self, ack: &Ack<'_>, cx: &mut Cx<'_, Params>) {
        let p = cx.params;
        self.estimate.on_ack(ack, p.g, cx);
        // DCTCP note 5: at most once per window of data
        if self.reno.may_cut(ack) && ack.ecn_echo {
            let to = self.estimate.cut(self.reno.cwnd());
            self.reno.cut(to, ack.sent_to, &p.window, cx);
        }
        self.reno.on_ack(ack, ack.ecn_echo && !p.grow_when_marked, &p.window, cx);
    }

    fn watch(&self, see: &mut dyn FnMut(&'static str, f64)) {
        see("alpha", self.estimate.alpha);
    }

    // DCTCP 3.1 (3), RFC 8257 section 3.5: losses are TCP's

    fn on_loss(&mut self, loss: &Loss, cx: &mut Cx<'_, Params>) {
        let p = cx.params;
        self.reno.on_loss(loss, &p.window, cx);
    }

    fn on_timeout(&mut self, loss: &Loss, cx: &mut Cx<'_, Params>) {
        let p = cx.params;
        self.reno.on_timeout(loss, &p.window, cx);
    }

    fn on_idle(&mut self, cx: &mut Cx<'_, Params>) {
        let p = cx.params;
        self.reno.restart(&p.window, cx);
    }
}

/// A receiver's state of a flow: whether the last packet was marked.
#[derive(Clone, Copy, Debug, Default)]
pub struct LastMark(bool);

impl LastMark {
    fn fields(self) -> AckFields {
        AckFields { ecn_echo: self.0, ..AckFields::default() }
    }
}

/// The receiver: reports exactly which bytes were marked.
#[derive(Debug)]
pub struct Echo;

impl Receiver for Echo {
    type Params = Params;
    type Flow = LastMark;

    fn new(_: &Params, _: &NicInfo) -> Self {
        Self
    }

    fn on_data(&mut self, data: &Data, state: &mut LastMark, cx: &mut Cx<'_, Params>) -> AckPlan {
        if data.ce {
            cx.count(Action::MarkSeen);
        }
        let old = *state;
        let changed = data.ce != old.0 && !is_old(data);
        if changed {
            state.0 = data.ce;
            cx.count(Action::EchoFlip);
        }
        let (before, now) = match cx.params.echo {
            // DCTCP 3.1 (2): an ACK for each packet
            EchoMode::PerPacket => (None, Some(*state)),
            // DCTCP Fig. 11: the packets before the change are acknowledged with the old state
            EchoMode::TwoState if changed && data.pending => (Some(old), data.due_alone.then_some(*state)),
            // RCC 3.2, footnote 3: the packet that changed the state is acknowledged with the old state too
            EchoMode::Rcc if changed => (None, Some(old)),
            _ => (None, data.ack_due.then_some(*state)),
        };
        AckPlan { before: before.map(LastMark::fields), now: now.map(LastMark::fields) }
    }

    fn ack_fields(&mut self, _: ReceiverFlow, state: &mut LastMark, _: &mut Cx<'_, Params>) -> AckFields {
        state.fields()
    }
}
