//! # dcqcn-vendor: DCQCN as the vendor's NIC has it
//!
//! ## Idea
//! The DCQCN of deployed RDMA NICs, which differs from the paper's in ways that change results: alpha is updated every
//! microsecond, the sender and not the receiver limits how often the rate is cut, and increase is by timer alone.
//! HPCC's authors compare with this form; see `dcqcn` for the paper's.
//!
//! ## Signals
//! * Switch: RED marking, in HPCC's comparison 400 KB / 1600 KB / 0.2 at 100 Gb/s.
//! * Receiver: one CNP per marked packet.
//! * Sender: CNPs and timers. ACKs, losses and bytes sent do not change the rate.
//!
//! ## Control law
//! RC is the rate, RT its target, alpha the congestion estimate. A flow starts at RC = RT = C without a timer. The
//! first CNP starts the alpha and cut timers, which then run until the flow ends; it requests a cut but no raise of
//! alpha. Every later CNP requests both.
//!
//! * Every `alpha_timer`: alpha = (1 - g) alpha, plus g if a raise was requested since the last time.
//! * Every `cut_interval`, if a cut was requested since the last time: RC = max(floor, RC (1 - alpha/2)), the increase
//!   timer restarts and the stage returns to 0. RT = RC before the cut, unless no increase step came since the last
//!   cut.
//! * Every `increase_timer`: the first F steps are fast recovery, the next adds R_AI to RT, all later ones R_HAI. Then
//!   RT = min(RT, C) and RC = (RT + RC)/2.
//! * Timers due at one instant act in the order increase, alpha, cut; one due at the instant of a CNP acts before it.
//! * `window`: bytes in flight < max(1, floor(W_max RC/C)), where W_max is the network's largest bandwidth-delay
//!   product.
//!
//! Presets: `dcqcn-vendor` with the settings of HPCC's authors; `dcqcn-vendor-win` has `window` on.
//!
//! ## Parameters
//! A rate is written as such ("20 Mbps") or as a share of C, the line rate of the sender's NIC (0.0002).
//!
//! | name | unit | default | source |
//! |---|---|---|---|
//! | `g` | gain of alpha | 1/256 | HPCC's simulator |
//! | `initial_alpha` | 0 to 1 | 1 | HPCC's simulator |
//! | `alpha_timer` | time | 1 us | HPCC's simulator |
//! | `cut_interval` | time | 4 us | HPCC 2.3; default of the NIC (rate reduce monitor period) |
//! | `increase_timer` | time | 300 us | HPCC 2.3 |
//! | `fast_recovery_steps` | steps | 1 | F: HPCC's simulator |
//! | `additive_increase` | rate or share of C | 0.0002 | R_AI: HPCC's simulator, 20 Mb/s at 100 Gb/s |
//! | `hyper_increase` | rate or share of C | 0.002 | R_HAI: HPCC's simulator, 200 Mb/s at 100 Gb/s |
//! | `min_rate` | rate or share of C | 0.01 | HPCC's simulator, 1 Gb/s at 100 Gb/s |
//! | `clamp_target` | true or false | false | HPCC's simulator |
//! | `window` | true or false | false | HPCC 5.1 ("DCQCN+win") |
//!
//! ## Where we differ from the paper and why
//! * HPCC's simulator has no CNP packets: each ACK echoes its packet's mark. Here each marked packet causes a CNP,
//!   which carries the same information in the control class.
//! * Its floor is 1 Gb/s at every line rate; ours is that at 100 Gb/s and scales, so that it means the same at 10 Gb/s.
//! * RC and RT are whole bits per second, rounded to the nearest (halves up), so that a flow returns to exactly C and
//!   its timers can stop. The updates of alpha that they skip are computed at the next cut, one by one.
//!
//! ## References
//! * Li et al., HPCC: High Precision Congestion Control, SIGCOMM 2019, sections 2.3 and 5.1, and its simulator.
//! * Zhu et al., Congestion Control for Large-Scale RDMA Deployments, SIGCOMM 2015 (DCQCN).

use super::dcqcn::{RateOrShare, cut, decayed, halfway, scaled_window};
use crate::Action;
use crate::roles::*;
use core::cmp::Ordering;
use fanin_units::{Rate, Time};

/// The scheme.
pub struct DcqcnVendor;

/// Its parameters; the manual above gives their sources.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "spec", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
#[cfg_attr(feature = "spec", serde(deny_unknown_fields))]
pub struct Params {
    /// Gain of alpha.
    pub g: f64,
    /// Alpha at the first CNP.
    pub initial_alpha: f64,
    /// Time between updates of alpha.
    pub alpha_timer: Time,
    /// Least time between two cuts.
    pub cut_interval: Time,
    /// Time between increase steps.
    pub increase_timer: Time,
    /// Steps of fast recovery (F).
    pub fast_recovery_steps: u32,
    /// Additive step of the target (R_AI).
    pub additive_increase: RateOrShare,
    /// Hyper step of the target (R_HAI).
    pub hyper_increase: RateOrShare,
    /// Lower bound of the rate.
    pub min_rate: RateOrShare,
    /// Whether a cut sets the target to the rate even without an increase step since the last one.
    pub clamp_target: bool,
    /// Whether a window of the network's bandwidth-delay product times RC/C applies as well.
    pub window: bool,
}

impl Scheme for DcqcnVendor {
    type Params = Params;
    type Sender = Flow;
    type Receiver = NotificationPoint;
    type Switch = NoSwitch<Params>;
    const PRESETS: &'static [&'static str] = &["dcqcn-vendor", "dcqcn-vendor-win"];

    fn preset(id: &str) -> Params {
        Params {
            g: 1.0 / 256.0,
            initial_alpha: 1.0,
            alpha_timer: Time::from_us(1),
            cut_interval: Time::from_us(4),
            increase_timer: Time::from_us(300),
            fast_recovery_steps: 1,
            additive_increase: RateOrShare::Share(0.0002),
            hyper_increase: RateOrShare::Share(0.002),
            min_rate: RateOrShare::Share(0.01),
            clamp_target: false,
            window: id.ends_with("-win"),
        }
    }

    fn needs_marks(_: &Params) -> bool {
        true
    }

    fn check(p: &Params) -> Result<(), &'static str> {
        require([
            (p.g > 0.0 && p.g <= 1.0, "g must be above 0 and at most 1, like 0.00390625 (1/256)"),
            (p.initial_alpha > 0.0 && p.initial_alpha <= 1.0, "initial_alpha must be above 0 and at most 1"),
            (p.alpha_timer > Time::ZERO, "alpha_timer must be above 0, like \"1 us\""),
            (p.cut_interval > Time::ZERO, "cut_interval must be above 0, like \"4 us\""),
            (p.increase_timer > Time::ZERO, "increase_timer must be above 0, like \"300 us\""),
            (p.additive_increase.is_possible(0), "additive_increase must be a rate or a share of 0 to 1"),
            (p.hyper_increase.is_possible(0), "hyper_increase must be a rate or a share of 0 to 1"),
            (p.min_rate.is_possible(1), "min_rate must be above 0: a flow at rate 0 never sends again"),
        ])
    }
}

/// A flow at its sender: the reaction point.
#[derive(Clone, Debug)]
pub struct Flow {
    rate: u64,
    target: u64,
    alpha: f64,
    /// Next update of alpha, [`Time::NEVER`] before the first CNP.
    alpha_at: Time,
    raise_alpha: bool,
    /// Next time at which the rate may be cut.
    cut_at: Time,
    cut_requested: bool,
    stage: u32,
    increase_at: Time,
    window: u64,
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
        let mut later = self.clone();
        later.update_alpha(now, p);
        later.alpha
    }

    /// Computes all updates of alpha that are due.
    fn update_alpha(&mut self, now: Time, p: &Params) {
        if self.alpha_at > now {
            return;
        }
        // HPCC's simulator: alpha = (1 - g) alpha, plus g if a CNP came since the last time
        self.alpha = (1.0 - p.g) * self.alpha + if self.raise_alpha { p.g } else { 0.0 };
        self.raise_alpha = false;
        let more = (now - self.alpha_at).as_ps() / p.alpha_timer.as_ps();
        self.alpha = decayed(self.alpha, p.g, more);
        self.alpha_at = self.alpha_at.saturating_add(p.alpha_timer.saturating_mul(more + 1));
    }

    /// Skips the times of cuts up to now.
    fn skip_cuts(&mut self, now: Time, p: &Params) {
        if self.cut_at <= now {
            let passed = (now - self.cut_at).as_ps() / p.cut_interval.as_ps() + 1;
            self.cut_at = self.cut_at.saturating_add(p.cut_interval.saturating_mul(passed));
        }
    }

    fn on_cnp(&mut self, cx: &mut Cx<'_, Params>) {
        let p = cx.params;
        if self.alpha_at.is_some() {
            self.on_timer(cx);
            self.update_alpha(cx.now, p);
            self.skip_cuts(cx.now, p);
            self.raise_alpha = true;
        } else {
            // HPCC's simulator: the first CNP only starts timers; the cut comes 1 ns after alpha's update at that time
            self.alpha_at = cx.now.saturating_add(p.alpha_timer);
            self.cut_at = cx.now.saturating_add(p.cut_interval).saturating_add(Time::from_ns(1));
        }
        self.cut_requested = true;
    }

    fn increase(&mut self, cx: &mut Cx<'_, Params>) {
        let p = cx.params;
        // HPCC's simulator: F steps of fast recovery, one additive, then hyper by a constant step
        let (stage, step) = match self.stage.cmp(&p.fast_recovery_steps) {
            Ordering::Less => (Action::FastRecovery, 0),
            Ordering::Equal => (Action::AdditiveIncrease, p.additive_increase.at(self.line)),
            Ordering::Greater => (Action::HyperIncrease, p.hyper_increase.at(self.line)),
        };
        self.target = self.target.saturating_add(step).min(self.line);
        self.rate = halfway(self.rate, self.target, stage, cx);
        self.stage = self.stage.saturating_add(1);
    }

    fn cut(&mut self, cx: &mut Cx<'_, Params>) {
        let p = cx.params;
        self.update_alpha(cx.now, p);
        // HPCC's simulator: the target is kept without an increase step since the last cut, unless clamped
        if p.clamp_target || self.stage != 0 {
            self.target = self.rate;
        }
        self.rate = cut(self.rate, self.alpha, p.min_rate.at(self.line), cx);
        self.stage = 0;
        self.cut_requested = false;
        self.skip_cuts(cx.now, p);
    }

    fn set_window(&mut self, p: &Params) {
        self.window = if p.window { scaled_window(self.largest_window, self.rate, self.line) } else { u64::MAX };
    }
}

impl Sender for Flow {
    type Params = Params;
    type Shared = ();

    fn open(path: &PathInfo, cx: &mut Cx<'_, Params>) -> Self {
        let line = path.line_rate.as_bps();
        let mut flow = Self {
            rate: line,
            target: line,
            alpha: cx.params.initial_alpha,
            alpha_at: Time::NEVER,
            raise_alpha: false,
            cut_at: Time::NEVER,
            cut_requested: false,
            stage: 0,
            increase_at: Time::NEVER,
            window: u64::MAX,
            line,
            largest_window: path.network_bdp,
        };
        flow.set_window(cx.params);
        flow
    }

    #[inline(always)]
    fn control(&self, _: &Cx<'_, Params>) -> Control {
        let wake_at = if self.cut_requested { self.cut_at.min(self.increase_at) } else { self.increase_at };
        Control { window: self.window, wake_at, ..Control::rate(Rate::from_bps(self.rate)) }
    }

    fn on_notice(&mut self, notice: Notice, cx: &mut Cx<'_, Params>) {
        if notice == Notice::Cnp {
            cx.count(Action::CnpReceived);
            self.on_cnp(cx);
        }
    }

    fn on_timer(&mut self, cx: &mut Cx<'_, Params>) {
        let p = cx.params;
        if self.increase_at <= cx.now {
            self.increase(cx);
            self.increase_at = cx.now.saturating_add(p.increase_timer);
        }
        if self.cut_requested && self.cut_at <= cx.now {
            self.cut(cx);
            self.increase_at = cx.now.saturating_add(p.increase_timer);
        }
        if self.rate == self.line && self.target == self.line {
            // A step changes only state that the next cut resets, so no timer is needed.
            self.increase_at = Time::NEVER;
        }
        self.set_window(p);
    }
}

/// The receiver: one CNP per marked packet, the NIC's default (no minimum time between CNPs).
#[derive(Debug, Default)]
pub struct NotificationPoint {
    ready: Option<ReceiverFlow>,
}

impl Receiver for NotificationPoint {
    type Params = Params;
    type Flow = ();

    fn new(_: &Params, _: &NicInfo) -> Self {
        Self::default()
    }

    fn on_data(&mut self, data: &Data, _: &mut (), cx: &mut Cx<'_, Params>) -> AckPlan {
        if data.ce {
            cx.count(Action::MarkSeen);
            self.ready = Some(data.flow);
        }
        AckPlan { before: None, now: data.ack_due.then_some(AckFields::default()) }
    }

    fn poll_transmit(&mut self, cx: &mut Cx<'_, Params>) -> Option<Emit> {
        let flow = self.ready.take()?;
        cx.count(Action::CnpSent);
        Some(Emit::Cnp(flow))
    }
}
