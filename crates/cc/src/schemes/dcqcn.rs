//! # dcqcn: rate control by congestion notification packets
//!
//! ## Idea
//! Switches mark packets early, the receiver turns marks into congestion notification packets (CNPs) at a limited rate,
//! and the sender cuts its rate by an estimate of the congestion on its path. It then recovers: halfway towards the
//! previous rate, then in small steps, then in growing ones. It needs no ACKs, so it fits into a NIC.
//!
//! ## Signals
//! * Congestion point (switch): RED or step marking of the instantaneous egress queue. The network's `marking` sets it;
//!   step marking is the case of equal thresholds and probability 1.
//! * Notification point (receiver): a CNP in the control class, at most one per `cnp_interval` and flow.
//! * Reaction point (sender): CNPs, bytes sent and timers. ACKs and losses do not change the rate.
//!
//! ## Control law
//! RC is the rate, RT its target, alpha the congestion estimate. A flow starts at RC = RT = C, without a timer until
//! its first CNP.
//!
//! * CNP: RT = RC, RC = max(floor, RC (1 - alpha/2)), then alpha = (1 - g) alpha + g; T = BC = 0 and all timers
//!   restart.
//! * Each `alpha_timer` without a CNP: alpha = (1 - g) alpha.
//! * Each `increase_timer`: T += 1 and increase. Each `byte_counter` bytes sent: BC += 1 and increase.
//! * Increase: fast recovery while max(T, BC) < F; hyper, RT += (min(T, BC) - F) R_HAI, once min(T, BC) > F; else
//!   additive, RT += R_AI. Then RT = min(RT, C) and RC = (RT + RC)/2.
//! * A timer due at the instant of a CNP acts before it.
//! * `window`: bytes in flight < max(1, floor(W_max RC/C)), where W_max is the network's largest bandwidth-delay
//!   product.
//!
//! Presets: `dcqcn` is the paper's with the values that Dart states; `dcqcn-win` has `window` on; `dcqcn-priq` is Dart
//! VI-C's Pri-Q: messages up to `urgent_up_to` use a lane of their class that is served before all others.
//!
//! ## Parameters
//! A rate is written as such ("40 Mbps") or as a share of C, the line rate of the sender's NIC (0.001).
//!
//! | name | unit | default | source |
//! |---|---|---|---|
//! | `cnp` | `at-once` or `interval-end` | `at-once` | ours: both readings of DCQCN 3.1 obey Dart VI-A |
//! | `cnp_interval` | time | 50 us | N: DCQCN 3.1, Dart VI-A |
//! | `g` | gain of alpha | 1/256 | Dart VI-A |
//! | `initial_alpha` | 0 to 1 | 1 | common simulators (others start at 0.5) |
//! | `alpha_timer` | time | 55 us | K: DCQCN 3.1; above N, or alpha would decay between CNPs |
//! | `increase_timer` | time | 55 us | DCQCN 3.1, Dart VI-A |
//! | `byte_counter` | bytes on the wire | 10 MB | B: DCQCN 3.1, Dart VI-A |
//! | `fast_recovery_steps` | steps | 5 | F: DCQCN 3.1 |
//! | `fast_recovery_while` | `below` or `up-to` | `below` | DCQCN 3.1: max(T, BC) < F, 4 steps; QCN: <= F, 5 steps |
//! | `additive_increase` | rate or share of C | 0.001 | R_AI: 40 Mb/s at 40 Gb/s in DCQCN; the share is our scaling |
//! | `hyper_increase` | rate or share of C | 0.01 | R_HAI: not printed anywhere; ours, 10 R_AI |
//! | `min_rate` | rate or share of C | 0.001 | not printed; ours, 10 Mb/s at 10 Gb/s |
//! | `clamp_target` | true or false | true | DCQCN 3.1: a CNP before any increase step sets RT too |
//! | `window` | true or false | false | HPCC 5.1 ("DCQCN+win") |
//! | `urgent_up_to` | bytes | 0 B | Dart VI-C, Pri-Q; 0 is no such lane, 8 KB in `dcqcn-priq` |
//!
//! ## Where we differ from the paper and why
//! * RC and RT are whole bits per second, rounded to the nearest (halves up), so that a flow returns to exactly C and
//!   its timers can stop: from there on only alpha changes, and its decays are computed at the next CNP, one by one.
//! * Every flow starts at C. The paper says so for a host without other active flows; with others the NIC's round robin
//!   divides the line.
//! * The paper allows two readings of when the CNP of a window leaves: `at-once` sends it with the first mark after N
//!   has passed, `interval-end` at the end of each N in which a packet was marked (the first mark always at once).
//! * At 10 Gb/s the byte counter needs 8 ms, so hyper increase is out of reach there: recovery is by timer.
//! * Four flows at 10 Gb/s have a Jain's index of 0.95 and more 600 round trips after the last has joined, but with
//!   `window` still 0.91 after 1,000 where marks begin at about what the windows let wait, as few are marked
//!   (`fabric/tests/theory/joining.rs`).
//!
//! ## References
//! * Zhu et al., Congestion Control for Large-Scale RDMA Deployments, SIGCOMM 2015 (DCQCN).
//! * Li et al., HPCC: High Precision Congestion Control, SIGCOMM 2019, section 5.1 (window).
//! * Xue et al., Dart: Divide and Specialize for Fast Response to Congestion in RDMA-based Datacenter Networks,
//!   section VI-A.

use crate::Action;
use crate::roles::*;
use alloc::collections::{BTreeSet, VecDeque};
use fanin_units::{Bytes, Rate, Time};

/// The scheme.
pub struct Dcqcn;

/// The time at which the receiver sends the CNP of a window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "spec", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
#[cfg_attr(feature = "spec", serde(rename_all = "kebab-case"))]
pub enum CnpTiming {
    /// With the first marked packet after `cnp_interval` has passed.
    AtOnce,
    /// At the end of each `cnp_interval` in which a packet was marked.
    IntervalEnd,
}

/// The end of fast recovery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "spec", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
#[cfg_attr(feature = "spec", serde(rename_all = "kebab-case"))]
pub enum FastRecoveryWhile {
    /// While max(T, BC) < F.
    Below,
    /// While max(T, BC) <= F.
    UpTo,
}

/// A rate, or a share of the line rate.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "spec", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
#[cfg_attr(
    feature = "spec",
    serde(untagged, expecting = "expected a rate like \"40 Mbps\" or a share of the line rate like 0.001")
)]
pub enum RateOrShare {
    /// This share of the line rate.
    Share(f64),
    /// This rate at any line rate.
    Rate(Rate),
}

impl RateOrShare {
    /// In bits per second at line rate `line`, never above it.
    pub(super) fn at(self, line: u64) -> u64 {
        match self {
            Self::Share(share) => round(share * line as f64),
            Self::Rate(rate) => rate.as_bps(),
        }
        .min(line)
    }

    pub(super) fn is_possible(self, least: u64) -> bool {
        match self {
            Self::Share(share) => (0.0..=1.0).contains(&share) && (share > 0.0 || least == 0),
            Self::Rate(rate) => rate.as_bps() >= least,
        }
    }
}

/// Its parameters; the manual above gives their sources.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "spec", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
#[cfg_attr(feature = "spec", serde(deny_unknown_fields), schemars(rename = "Dcqcn"))]
pub struct Params {
    /// The time at which the receiver sends the CNP of a window.
    pub cnp: CnpTiming,
    /// Least time between two CNPs of a flow (N).
    pub cnp_interval: Time,
    /// Gain of alpha.
    pub g: f64,
    /// Alpha at the first CNP.
    pub initial_alpha: f64,
    /// Time without a CNP after which alpha decays (K).
    pub alpha_timer: Time,
    /// Time between increase steps.
    pub increase_timer: Time,
    /// Bytes on the wire between increase steps.
    pub byte_counter: Bytes,
    /// Steps that bound fast recovery (F).
    pub fast_recovery_steps: u32,
    /// Whether step F itself is still fast recovery.
    pub fast_recovery_while: FastRecoveryWhile,
    /// Additive step of the target (R_AI).
    pub additive_increase: RateOrShare,
    /// Hyper step of the target (R_HAI).
    pub hyper_increase: RateOrShare,
    /// Lower bound of the rate.
    pub min_rate: RateOrShare,
    /// Whether a CNP sets the target to the rate even without an increase step since the last cut.
    pub clamp_target: bool,
    /// Whether a window of the network's bandwidth-delay product times RC/C applies as well.
    pub window: bool,
    /// Messages up to this size are served before all others; 0 disables this.
    pub urgent_up_to: Bytes,
}

impl Scheme for Dcqcn {
    type Params = Params;
    type Sender = Flow;
    type Receiver = NotificationPoint;
    type Switch = NoSwitch<Params>;
    const PRESETS: &'static [&'static str] = &["dcqcn", "dcqcn-win", "dcqcn-priq"];

    fn preset(id: &str) -> Params {
        Params {
            cnp: CnpTiming::AtOnce,
            cnp_interval: Time::from_us(50),
            g: 1.0 / 256.0,
            initial_alpha: 1.0,
            alpha_timer: Time::from_us(55),
            increase_timer: Time::from_us(55),
            byte_counter: Bytes(10_000_000),
            fast_recovery_steps: 5,
            fast_recovery_while: FastRecoveryWhile::Below,
            additive_increase: RateOrShare::Share(0.001),
            hyper_increase: RateOrShare::Share(0.01),
            min_rate: RateOrShare::Share(0.001),
            clamp_target: true,
            window: id.ends_with("-win"),
            urgent_up_to: Bytes(if id.ends_with("-priq") { 8000 } else { 0 }),
        }
    }

    fn needs_marks(_: &Params) -> bool {
        true
    }

    fn lanes(p: &Params) -> Lanes {
        if p.urgent_up_to.get() > 0 { Lanes::Strict } else { Lanes::One }
    }

    fn send_options(p: &Params, bytes: u64, _senders: usize, _connection: bool) -> SendOptions {
        // Dart VI-C: two priority levels, short messages over long ones
        SendOptions { lane: (bytes <= p.urgent_up_to.get()) as u8, ..SendOptions::default() }
    }

    fn check(p: &Params) -> Result<(), &'static str> {
        require([
            (p.g > 0.0 && p.g <= 1.0, "g must be above 0 and at most 1, like 0.00390625 (1/256)"),
            (p.initial_alpha > 0.0 && p.initial_alpha <= 1.0, "initial_alpha must be above 0 and at most 1"),
            (p.alpha_timer > Time::ZERO, "alpha_timer must be above 0, like \"55 us\""),
            (p.increase_timer > Time::ZERO, "increase_timer must be above 0, like \"55 us\""),
            (p.byte_counter.get() > 0, "byte_counter must be above 0, like \"10 MB\""),
            (
                p.cnp == CnpTiming::AtOnce || p.cnp_interval > Time::ZERO,
                "cnp_interval must be above 0 when cnp is \"interval-end\"",
            ),
            (p.additive_increase.is_possible(0), "additive_increase must be a rate or a share of 0 to 1"),
            (p.hyper_increase.is_possible(0), "hyper_increase must be a rate or a share of 0 to 1"),
            (p.min_rate.is_possible(1), "min_rate must be above 0: a flow at rate 0 never sends again"),
        ])
    }
}

/// To the nearest whole number, halves up.
pub(super) fn round(rate: f64) -> u64 {
    (rate + 0.5) as u64
}

/// DCQCN 3.1: RC (1 - alpha/2), not below the floor.
pub(super) fn cut<P>(rate: u64, alpha: f64, floor: u64, cx: &mut Cx<'_, P>) -> u64 {
    let lower = round(rate as f64 * (1.0 - alpha / 2.0)).max(floor).min(rate);
    if lower < rate {
        cx.count(Action::Cut);
    }
    lower
}

/// DCQCN 3.1: halfway to the target.
pub(super) fn halfway<P>(rate: u64, target: u64, stage: Action, cx: &mut Cx<'_, P>) -> u64 {
    cx.count(stage);
    let higher = (rate + target).div_ceil(2);
    if higher > rate {
        cx.count(Action::Increase);
    }
    higher
}

/// Alpha after `times` decays, with the same floating-point rounding as one timer per decay.
pub(super) fn decayed(mut alpha: f64, g: f64, times: u64) -> f64 {
    for _ in 0..times {
        // DCQCN 3.1: alpha = (1 - g) alpha
        let next = (1.0 - g) * alpha;
        if next == alpha {
            break;
        }
        alpha = next;
    }
    alpha
}

/// HPCC 5.1: W = max(1, floor(W_max RC/C)).
pub(super) fn scaled_window(largest: u64, rate: u64, line: u64) -> u64 {
    let window = largest as u128 * rate as u128 / line.max(1) as u128;
    (window as u64).max(1)
}

/// A flow at its sender: the reaction point.
#[derive(Clone, Debug)]
pub struct Flow {
    rate: u64,
    target: u64,
    window: u64,
    increase_at: Time,
    bytes_left: u64,
    timer_steps: u32,
    byte_steps: u32,
    alpha: f64,
    /// When alpha's timer was started, [`Time::NEVER`] before the first CNP.
    last_cnp: Time,
    line: u64,
    largest_window: u64,
}

impl Flow {
    /// The target rate RT.
    pub fn target(&self) -> Rate {
        Rate::from_bps(self.target)
    }

    /// The congestion estimate alpha at time `now`.
    pub fn alpha(&self, now: Time, p: &Params) -> f64 {
        // DCQCN 3.1: one decay per K without a CNP; before the first CNP no timer runs.
        decayed(self.alpha, p.g, now.saturating_sub(self.last_cnp).as_ps() / p.alpha_timer.as_ps())
    }

    /// How much it may send now.
    #[inline(always)]
    pub(super) fn allowed(&self) -> Control {
        let rate = Rate::from_bps(self.rate);
        Control { window: self.window, wake_at: self.increase_at, ..Control::rate(rate) }
    }

    fn on_cnp(&mut self, cx: &mut Cx<'_, Params>) {
        let p = cx.params;
        self.on_timer(cx);
        let alpha = self.alpha(cx.now, p);
        // DCQCN 3.1: RT = RC, RC = RC (1 - alpha/2), alpha = (1 - g) alpha + g, in this order
        if p.clamp_target || self.timer_steps > 0 || self.byte_steps > 0 {
            self.target = self.rate;
        }
        self.rate = cut(self.rate, alpha, p.min_rate.at(self.line), cx);
        self.alpha = (1.0 - p.g) * alpha + p.g;
        // DCQCN 3.1: a cut resets T, BC and the byte counter, and restarts both timers
        self.timer_steps = 0;
        self.byte_steps = 0;
        self.bytes_left = p.byte_counter.get();
        self.last_cnp = cx.now;
        self.increase_at = cx.now.saturating_add(p.increase_timer);
        self.rate_changed(p);
    }

    #[cold]
    fn count_bytes(&mut self, mut wire: u64, cx: &mut Cx<'_, Params>) {
        // DCQCN 3.1: an increase step each B bytes
        while wire >= self.bytes_left {
            wire -= self.bytes_left;
            self.bytes_left = cx.params.byte_counter.get();
            self.byte_steps = self.byte_steps.saturating_add(1);
            self.increase(cx);
        }
        self.bytes_left -= wire;
    }

    fn increase(&mut self, cx: &mut Cx<'_, Params>) {
        let p = cx.params;
        let f = p.fast_recovery_steps;
        let (most, least) = (self.timer_steps.max(self.byte_steps), self.timer_steps.min(self.byte_steps));
        let fast = match p.fast_recovery_while {
            FastRecoveryWhile::Below => most < f,
            FastRecoveryWhile::UpTo => most <= f,
        };
        // DCQCN 3.1: fast recovery, then hyper increase when both counters are past F, else additive increase
        let (stage, step) = if fast {
            (Action::FastRecovery, 0)
        } else if least > f {
            (Action::HyperIncrease, p.hyper_increase.at(self.line).saturating_mul((least - f) as u64))
        } else {
            (Action::AdditiveIncrease, p.additive_increase.at(self.line))
        };
        self.target = self.target.saturating_add(step).min(self.line);
        self.rate = halfway(self.rate, self.target, stage, cx);
        self.rate_changed(p);
    }

    fn rate_changed(&mut self, p: &Params) {
        if self.rate == self.line && self.target == self.line {
            // At RC = RT = C a step changes only state that the next cut resets, so no timer is needed.
            self.increase_at = Time::NEVER;
            self.bytes_left = u64::MAX;
        }
        self.window = if p.window { scaled_window(self.largest_window, self.rate, self.line) } else { u64::MAX };
    }
}

impl Sender for Flow {
    type Params = Params;
    type Shared = ();

    fn open(path: &PathInfo, cx: &mut Cx<'_, Params>) -> Self {
        let line = path.line_rate.as_bps();
        let mut flow = Self {
            // DCQCN 3.1: line-rate start, no slow start
            rate: line,
            target: line,
            window: u64::MAX,
            increase_at: Time::NEVER,
            bytes_left: u64::MAX,
            timer_steps: 0,
            byte_steps: 0,
            alpha: cx.params.initial_alpha,
            last_cnp: Time::NEVER,
            line,
            largest_window: path.network_bdp,
        };
        flow.rate_changed(cx.params);
        flow
    }

    #[inline(always)]
    fn control(&self, _: &Cx<'_, Params>) -> Control {
        self.allowed()
    }

    #[inline(always)]
    fn on_send(&mut self, sent: &Sent, cx: &mut Cx<'_, Params>) -> u32 {
        let wire = sent.wire as u64;
        if wire < self.bytes_left {
            self.bytes_left -= wire;
        } else {
            self.count_bytes(wire, cx);
        }
        0
    }

    fn on_notice(&mut self, notice: Notice, cx: &mut Cx<'_, Params>) {
        if notice == Notice::Cnp {
            cx.count(Action::CnpReceived);
            self.on_cnp(cx);
        }
    }

    fn on_timer(&mut self, cx: &mut Cx<'_, Params>) {
        if self.increase_at <= cx.now {
            // DCQCN 3.1: an increase step each time the timer expires
            self.increase_at = cx.now.saturating_add(cx.params.increase_timer);
            self.timer_steps = self.timer_steps.saturating_add(1);
            self.increase(cx);
        }
    }
}

/// A receiver's state of a flow.
#[derive(Clone, Copy, Debug, Default)]
pub struct Marks {
    /// End of the window that the last CNP began.
    window_end: Time,
    /// Whether a packet was marked in that window, so that a CNP is due at its end (`interval-end` only).
    marked: bool,
}

/// The receiver: turns marks into CNPs.
#[derive(Debug, Default)]
pub struct NotificationPoint {
    /// CNPs to send now.
    ready: VecDeque<ReceiverFlow>,
    /// CNPs to send at the end of their window.
    later: BTreeSet<(Time, ReceiverFlow)>,
}

impl Receiver for NotificationPoint {
    type Params = Params;
    type Flow = Marks;

    fn new(_: &Params, _: &NicInfo) -> Self {
        Self::default()
    }

    fn on_data(&mut self, data: &Data, state: &mut Marks, cx: &mut Cx<'_, Params>) -> AckPlan {
        if data.ce {
            self.on_mark(data.flow, state, cx);
        }
        AckPlan { before: None, now: data.ack_due.then_some(AckFields::default()) }
    }

    fn on_close(&mut self, flow: ReceiverFlow, state: &mut Marks, _: &mut Cx<'_, Params>) {
        if state.marked {
            self.later.remove(&(state.window_end, flow));
        }
    }

    fn on_timer(&mut self, _: u64, cx: &mut Cx<'_, Params>) {
        while let Some(&(end, flow)) = self.later.first()
            && end <= cx.now
        {
            self.later.pop_first();
            self.ready.push_back(flow);
        }
    }

    fn poll_transmit(&mut self, cx: &mut Cx<'_, Params>) -> Option<Emit> {
        let flow = self.ready.pop_front()?;
        cx.count(Action::CnpSent);
        Some(Emit::Cnp(flow))
    }

    fn wake_at(&self) -> Time {
        self.later.first().map_or(Time::NEVER, |&(end, _)| end)
    }
}

impl NotificationPoint {
    fn on_mark(&mut self, flow: ReceiverFlow, state: &mut Marks, cx: &mut Cx<'_, Params>) {
        cx.count(Action::MarkSeen);
        let interval = cx.params.cnp_interval;
        if state.marked && state.window_end <= cx.now {
            // The end of the window sent a CNP, which began the next one. At the very instant of the end the timer may
            // come behind this packet; the flow may close before it.
            if self.later.remove(&(state.window_end, flow)) {
                self.ready.push_back(flow);
            }
            state.window_end = state.window_end.saturating_add(interval);
            state.marked = false;
        }
        if state.window_end <= cx.now {
            // DCQCN 3.1, Dart VI-A: the first mark with no CNP in the last N sends one at once
            self.ready.push_back(flow);
            state.window_end = cx.now.saturating_add(interval);
        } else if cx.params.cnp == CnpTiming::IntervalEnd && !state.marked {
            // DCQCN 3.1: one CNP at the end of a window in which a packet was marked
            state.marked = true;
            self.later.insert((state.window_end, flow));
        }
    }
}
