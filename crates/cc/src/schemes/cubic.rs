//! # cubic: TCP as today's hosts have it
//!
//! ## Idea
//! After a reduction the window follows a cubic function of time: fast at first, slowly near the window at which the
//! reduction came, and fast again beyond it. Growth does not depend on the round-trip time, so that long fast paths are
//! filled. Where Reno would be faster, as in networks with short round trips, the window grows as Reno's would.
//!
//! ## Signals
//! * ACKs, losses and timeouts, all from the endpoint, which decides what is lost and repairs it.
//! * The smoothed round-trip time (RFC 6298), from the time that each ACK reports.
//! * With `ecn`: marked packets, echoed until the sender announces that it has reduced its window (CWR).
//!
//! ## Control law
//! Windows are in bytes, times in seconds; MSS is the largest payload of a packet. A reduction saves the window before
//! it: cwnd_prior = cwnd, and W_max = cwnd, or W_max = cwnd (1 + `beta`) / 2 if cwnd < W_max (`fast_convergence`).
//!
//! * Slow start, use of the window, restart after a pause: as in `newreno`, whose manual has the rules.
//! * A stage of congestion avoidance begins with the first ACK that may grow the window at or above ssthresh, after a
//!   reduction, a slow start or a restart. There cwnd_epoch = W_est = cwnd, t = 0 and K = cbrt((W_max - cwnd_epoch) /
//!   (`c` MSS)). If W_max is not above cwnd, or a timeout came last, W_max = cwnd and K = 0.
//! * t does not run while the window is not used (`grow_only_if_used`), nor while nothing is in flight.
//! * ACK for b bytes, b at most cwnd: W_est += alpha MSS b / cwnd, where alpha = 3 (1 - `beta`) / (1 + `beta`), and 1
//!   once W_est is at or above cwnd_prior. W(t) = `c` MSS (t - K)^3 + W_max.
//!   * W(t) < W_est (Reno-friendly region): cwnd = max(cwnd, W_est).
//!   * Else (concave region below W_max, convex region above): cwnd += (target - cwnd) b / cwnd, where target is
//!     W(t + round-trip time), at least cwnd and at most 1.5 cwnd.
//! * Loss: ssthresh = cwnd = max(`beta` F, `min_window` MSS), where F is what is in flight, at most cwnd.
//! * Timeout: ssthresh so, but unchanged, with cwnd_prior, if the same byte timed out before; cwnd = 1 MSS.
//! * Echoed mark (`ecn`), once a window of data as in `newreno`: ssthresh = max(`beta` F, `min_window` MSS), cwnd =
//!   max(`beta` F, 1 MSS) if that is less. Marks and losses of one window of data reduce it once.
//!
//! Presets: `cubic` without ECN (its packets are never marked), `cubic-ecn` with it.
//!
//! ## Parameters
//! In a spec: `parameters = { fast_convergence = false, initial_window = 2 }`.
//!
//! | name | unit | default | source |
//! |---|---|---|---|
//! | `c` | segments per second^3 | 0.4 | RFC 9438 5.1 |
//! | `beta` | factor of a reduction | 0.7 | RFC 9438 4.6 |
//! | `fast_convergence` | true or false | true | RFC 9438 4.7; false for a flow that is alone |
//! | `initial_window` | segments | 10 | RFC 6928; as in `newreno` |
//! | `initial_ssthresh` | bytes or `unlimited` | unlimited | as in `newreno` |
//! | `growth_limit` | segments an ACK | 1 | as in `newreno`, in slow start only |
//! | `min_window` | segments | 2 | RFC 9438 4.6; a mark may reduce cwnd to 1 segment |
//! | `grow_only_if_used` | true or false | true | RFC 9438 5.8; the measure of use is Linux's |
//! | `restart_after` | time, zero is never | 200 ms | as in `newreno` |
//! | `ecn` | true or false | false | RFC 3168; true in `cubic-ecn` |
//!
//! ## Where we differ from the paper and why
//! The paper is RFC 9438. Without losses and marks it is no fairer than `newreno`, whose manual says how fair.
//!
//! * Growth outside the Reno-friendly region counts bytes: an ACK for two segments grows the window as two ACKs would.
//!   The RFC adds (target - cwnd) / cwnd for an ACK of any size, so that delayed ACKs would not reach the target within
//!   a round trip. For an ACK of one segment the two are the same.
//! * Bytes in flight beyond cwnd do not count in a reduction. RFC 5681's flight size, which the RFC takes, counts what
//!   arrived behind a loss until the loss is repaired: with SACK it can be more than cwnd / `beta` after a timeout, and
//!   a reduction would raise cwnd. (The RFC allows cwnd instead if only a used window grows.)
//! * In the Reno-friendly region cwnd never falls to W_est: an ACK does not reduce the window.
//! * cwnd = ssthresh is congestion avoidance, as in `newreno`; the RFC has slow start "when cwnd is no more than
//!   ssthresh", by which the first ACK after each reduction would be one of slow start.
//! * A stage begins after the repair of a loss, not with its detection: in between the window must not change.
//! * A loss in the slow start after a timeout sets W_max = cwnd whatever W_max was: the stage that follows a timeout
//!   forgets it (RFC 9438 4.8).
//! * Slow start is Reno's, which RFC 9438 4.10 allows; HyStart++ (RFC 9406) is left out.
//! * Spurious losses and timeouts (RFC 9438 4.9, optional) are not undone: the endpoint does not detect them.
//! * Marks at a window of 1 MSS do not slow the sender further (RFC 9438 4.6): the endpoint has no timer for it. Slow
//!   start leads from there back to ssthresh.
//! * K is computed by Newton's method from additions, multiplications and divisions alone, so that it has the same bits
//!   on every machine.
//!
//! ## References
//! * RFC 9438 (CUBIC), RFC 5681 (TCP congestion control), RFC 3168 (ECN), RFC 6298 (smoothed round-trip time).
//! * Ha, Rhee, Xu, CUBIC: A New TCP-Friendly High-Speed TCP Variant, SIGOPS Operating Systems Review 42(5), 2008.

use super::newreno::{CWR, Latch, Reno, WindowParams};
use crate::roles::*;
use fanin_units::Time;

/// The scheme.
pub struct Cubic;

/// Its parameters; the manual above gives their sources.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "spec", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
#[cfg_attr(feature = "spec", schemars(rename = "Cubic", extend("additionalProperties" = false)))]
pub struct Params {
    /// C, in segments per second^3.
    pub c: f64,
    /// What remains of the window after a reduction.
    pub beta: f64,
    /// Whether a reduction below the previous maximum lowers the next maximum further.
    pub fast_convergence: bool,
    /// TCP's window.
    #[cfg_attr(feature = "spec", serde(flatten))]
    pub window: WindowParams,
    /// Whether packets may be marked instead of dropped (RFC 3168).
    pub ecn: bool,
}

impl Scheme for Cubic {
    type Params = Params;
    type Sender = Flow;
    type Receiver = Echo;
    type Switch = NoSwitch<Params>;
    fn transport(_: &Params) -> Transport {
        Transport::Tcp
    }
    const PRESETS: &'static [&'static str] = &["cubic", "cubic-ecn"];

    fn preset(id: &str) -> Params {
        Params { c: 0.4, beta: 0.7, fast_convergence: true, window: WindowParams::default(), ecn: id.ends_with("-ecn") }
    }

    fn needs_marks(params: &Params) -> bool {
        Self::wants_ecn(params)
    }

    fn wants_ecn(params: &Params) -> bool {
        params.ecn
    }

    fn check(p: &Params) -> Result<(), &'static str> {
        if !(p.c > 0.0 && p.c <= 1e9) {
            Err("c must be above 0 and at most 1e9 segments per second^3, like 0.4")
        } else if !(p.beta > 0.0 && p.beta < 1.0) {
            Err("beta must be above 0 and below 1, like 0.7")
        } else {
            p.window.check()
        }
    }
}

impl Params {
    /// RFC 9438 section 4.3: alpha_cubic, in segments a round trip.
    fn alpha(&self) -> f64 {
        3.0 * (1.0 - self.beta) / (1.0 + self.beta)
    }
}

/// The cube root, for numbers above 0 and not subnormal; the same bits on every machine.
fn cube_root(x: f64) -> f64 {
    if x <= 0.0 {
        return 0.0;
    }
    // A third of the exponent, and of what it is offset by: within 6 %. Newton's method squares the relative error.
    let mut root = f64::from_bits(x.to_bits() / 3 + (0x2A9F_7893 << 32));
    for _ in 0..5 {
        root -= (root - x / (root * root)) / 3.0;
    }
    root
}

/// A stage of congestion avoidance. Windows in bytes.
#[derive(Clone, Debug)]
struct Stage {
    /// The window, with the part of a byte that it is above what may be sent.
    cwnd: f64,
    /// Reno's window.
    w_est: f64,
    /// In seconds.
    k: f64,
    /// How long the window has been growing.
    t: Time,
    /// When `t` was last brought up to date.
    at: Time,
}

/// A flow at its sender.
#[derive(Clone, Debug, Default)]
pub struct Flow {
    reno: Reno,
    stage: Option<Stage>,
    /// Windows in bytes, zero before the first reduction: where the cubic function is flat, and the window before the
    /// last reduction.
    w_max: f64,
    cwnd_prior: f64,
    /// Smoothed, zero before the first sample.
    rtt: Time,
    mss: f64,
    /// Whether the next new packet has to announce a reduction.
    announce: bool,
}

impl Flow {
    /// Where slow start ends, in bytes.
    pub fn ssthresh(&self) -> u64 {
        self.reno.ssthresh()
    }

    /// How much it may send, for a scheme that is built on it.
    #[inline(always)]
    pub(super) fn allowed(&self) -> Control {
        self.reno.control()
    }

    /// W_max in bytes, zero before it is known.
    pub fn w_max(&self) -> f64 {
        self.w_max
    }

    /// W_est in bytes and K in seconds, in congestion avoidance.
    pub fn stage(&self) -> Option<(f64, f64)> {
        self.stage.as_ref().map(|stage| (stage.w_est, stage.k))
    }

    /// RFC 6298 (2.2), (2.3): gain 1/8.
    #[inline]
    fn sample(&mut self, rtt: Time) {
        let (old, new) = (self.rtt.as_ps(), rtt.as_ps());
        self.rtt = if old == 0 { rtt } else { Time::from_ps(old - old / 8 + new / 8) };
    }

    /// RFC 9438 section 4.2: a stage of congestion avoidance begins.
    fn begin(&mut self, now: Time, p: &Params) -> Stage {
        let cwnd = self.reno.cwnd() as f64;
        // RFC 9438 sections 4.8 and 4.10: K = 0 and W_max = cwnd after a timeout or a slow start without a loss
        self.w_max = self.w_max.max(cwnd);
        // RFC 9438 Figure 2
        let k = cube_root((self.w_max - cwnd) / (p.c * self.mss));
        Stage { cwnd, w_est: cwnd, k, t: Time::ZERO, at: now }
    }

    /// An ACK of congestion avoidance.
    fn avoid(&mut self, ack: &Ack<'_>, cx: &mut Cx<'_, Params>) {
        let p = cx.params;
        // The window is another one after a restart.
        let stage = self.stage.take().filter(|stage| stage.cwnd as u64 == self.reno.cwnd());
        if !self.reno.is_used(&p.window) {
            // RFC 9438 section 4.2: t excludes times at which the application limits the flow
            self.stage = stage.map(|stage| Stage { at: cx.now, ..stage });
            return;
        }
        let mut stage = stage.unwrap_or_else(|| self.begin(cx.now, p));
        stage.t = stage.t.saturating_add(cx.now.saturating_sub(stage.at));
        stage.at = cx.now;

        let acked = ack.newly_acked as f64;
        let acked = acked.min(stage.cwnd) / stage.cwnd;
        // RFC 9438 section 4.3, Figure 4 and below
        let alpha = if stage.w_est >= self.cwnd_prior { 1.0 } else { p.alpha() };
        stage.w_est += alpha * self.mss * acked;
        // RFC 9438 Figure 1
        let w_cubic = |t: f64| {
            let from_k = t - stage.k;
            p.c * self.mss * (from_k * from_k * from_k) + self.w_max
        };
        let t = stage.t.as_secs_f64();
        if w_cubic(t) < stage.w_est {
            stage.cwnd = stage.cwnd.max(stage.w_est);
        } else {
            // RFC 9438 section 4.2, target; sections 4.4 and 4.5
            let target = w_cubic(t + self.rtt.as_secs_f64()).max(stage.cwnd).min(1.5 * stage.cwnd);
            stage.cwnd += (target - stage.cwnd) * acked;
        }
        let grown = stage.cwnd as u64 - self.reno.cwnd();
        if grown > 0 {
            self.reno.grow(grown, cx);
        }
        self.stage = Some(stage);
    }

    /// RFC 9438 section 4.6: what remains of so many bytes in flight, to the nearest whole number, halves up. What is
    /// in flight beyond cwnd has left the network, and is only not yet acknowledged cumulatively.
    fn reduced(&self, in_flight: u64, p: &Params) -> u64 {
        (in_flight.min(self.reno.cwnd()) as f64 * p.beta + 0.5) as u64
    }

    /// RFC 9438 sections 4.6 and 4.7: what is remembered at a congestion event, before the reduction.
    fn remember(&mut self, p: &Params) {
        let cwnd = self.reno.cwnd() as f64;
        let lower = p.fast_convergence && cwnd < self.w_max;
        self.w_max = if lower { cwnd * (1.0 + p.beta) / 2.0 } else { cwnd };
        self.cwnd_prior = cwnd;
        self.stage = None;
        self.announce = p.ecn;
    }
}

impl Sender for Flow {
    type Params = Params;
    type Shared = ();

    fn open(path: &PathInfo, cx: &mut Cx<'_, Params>) -> Self {
        Self { reno: Reno::open(path, &cx.params.window), mss: path.payload as f64, ..Self::default() }
    }

    #[inline(always)]
    fn control(&self, _: &Cx<'_, Params>) -> Control {
        self.reno.control()
    }

    fn on_send(&mut self, sent: &Sent, cx: &mut Cx<'_, Params>) -> u32 {
        let p = cx.params;
        if self.reno.is_alone(sent)
            && let Some(stage) = &mut self.stage
        {
            // RFC 9438 section 5.8: t excludes idle times
            stage.at = cx.now;
        }
        self.reno.on_send(sent, &p.window, cx);
        // RFC 3168 section 6.1.2: CWR on the first new data after a reduction for any reason
        let announce = self.announce && !sent.retransmitted;
        self.announce &= !announce;
        if announce { CWR } else { 0 }
    }

    fn on_ack(&mut self, ack: &Ack<'_>, cx: &mut Cx<'_, Params>) {
        let p = cx.params;
        if ack.newly_acked > 0 {
            self.sample(ack.rtt);
        }
        let marked = p.ecn && ack.ecn_echo;
        if self.reno.may_cut(ack) && marked {
            self.remember(p);
            // RFC 9438 Figure 5: on ECE, cwnd at least 1 MSS and ssthresh at least 2 MSS
            let to = self.reduced(ack.in_flight, p);
            self.reno.cut_above(to, self.mss as u64, self.reno.floor(&p.window), ack.sent_to, cx);
        }
        if self.reno.note(ack, marked) {
            if self.reno.slow_start(ack, &p.window, cx) {
                self.stage = None;
            } else {
                self.avoid(ack, cx);
            }
        }
    }

    fn on_loss(&mut self, loss: &Loss, cx: &mut Cx<'_, Params>) {
        let p = cx.params;
        // RFC 3168 section 6.1.2: one reduction for all drops and marks of a window of data
        if !self.reno.was_cut_for(loss) {
            self.remember(p);
            // RFC 9438 Figure 5
            let to = self.reduced(loss.in_flight, p);
            self.reno.lost(loss, to, &p.window, cx);
        }
    }

    fn on_timeout(&mut self, loss: &Loss, cx: &mut Cx<'_, Params>) {
        let p = cx.params;
        let prior = self.cwnd_prior;
        self.remember(p);
        if loss.retransmitted {
            // RFC 9438 section 4.1.2: cwnd when ssthresh was set, which is held
            self.cwnd_prior = prior;
        }
        // RFC 9438 section 4.8: the next stage starts at W_max
        self.w_max = 0.0;
        let to = self.reduced(loss.in_flight, p);
        self.reno.timed_out(loss, to, &p.window, cx);
    }

    fn on_idle(&mut self, cx: &mut Cx<'_, Params>) {
        // A stage ends with the window that it had.
        let p = cx.params;
        self.reno.restart(&p.window, cx);
    }

    fn watch(&self, see: &mut dyn FnMut(&'static str, f64)) {
        see("w_max", self.w_max);
    }
}

/// The receiver: that of `newreno`.
#[derive(Debug)]
pub struct Echo;

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
