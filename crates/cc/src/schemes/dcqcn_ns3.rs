//! # dcqcn-ns3: DCQCN as HPCC's public simulator runs it
//!
//! ## Idea
//! The DCQCN of the simulator that HPCC's authors published (ns-3, CC_MODE 1), exactly: the same types, the same
//! rounding, the same order of events within a nanosecond. The same events give bit-identical results. See `dcqcn` for
//! the paper's scheme and `dcqcn-vendor` for the same law without this rounding.
//!
//! ## Signals
//! * Switch: RED marking.
//! * Receiver: each ACK echoes its packet's mark.
//! * Sender: every ACK with an echo counts as a CNP, in that simulator's terms; timers do the rest.
//!
//! ## Control law
//! R is the rate, RT its target, C the rate of the sender's NIC. A flow starts at R = RT = C with no timer. The first
//! CNP sets alpha = 1, requests a cut and starts two timers that run until the flow ends: of alpha, and of cuts, whose
//! first tick comes 1 ns late so that alpha is updated first. Every later CNP requests a raise of alpha and a cut.
//!
//! * Every `alpha_timer`: alpha = (1 - g) alpha, plus g if a raise was requested since the last tick.
//! * Every `cut_interval`, if a cut was requested: RT = R if an increase came since the last cut or `clamp_target`; R =
//!   max(`min_rate`, R (1 - alpha/2)); the stage returns to 0 and the increase timer restarts.
//! * Every `increase_timer`: below stage F nothing, at stage F RT += `rate_ai`, above it RT += `rate_hai`; RT = min(RT,
//!   C); R = R/2 + RT/2; the stage rises by one.
//! * R and RT are whole bits per second. R (1 - alpha/2), R/2 and RT/2 are each truncated, so that R climbs to C - 1
//!   and stays there.
//! * A cut and an increase due in the same nanosecond act in the order in which their timers were started.
//! * `window`: bytes in flight < W_max, or with `var_win` < max(1, floor(W_max R/C)), in 64 bits that wrap around.
//!   W_max is the network's largest bandwidth-delay product.
//!
//! Presets: `dcqcn-ns3` with the values of that simulator's `run.py` at 100 Gb/s; `dcqcn-ns3-win` with `window` and
//! `var_win` on, its `dcqcn_vwin`.
//!
//! ## Parameters
//! Names in capitals are the keys of that simulator's configuration. Timers are truncated to whole microseconds, as
//! there.
//!
//! | name | unit | default | source |
//! |---|---|---|---|
//! | `g` | gain of alpha | 1/256 | EWMA_GAIN |
//! | `alpha_timer` | time | 1 us | ALPHA_RESUME_INTERVAL |
//! | `cut_interval` | time | 4 us | RATE_DECREASE_INTERVAL |
//! | `increase_timer` | time | 300 us | RP_TIMER |
//! | `fast_recovery_times` | steps | 1 | F: FAST_RECOVERY_TIMES |
//! | `rate_ai` | rate | 20 Mbps | RATE_AI, 5 Mb/s for each 25 Gb/s |
//! | `rate_hai` | rate | 200 Mbps | RATE_HAI, 50 Mb/s for each 25 Gb/s |
//! | `min_rate` | rate | 1 Gbps | MIN_RATE |
//! | `clamp_target` | true or false | false | CLAMP_TARGET_RATE |
//! | `window` | true or false | false | HAS_WIN |
//! | `var_win` | true or false | false | VAR_WIN |
//! | `rate_bound` | true or false | true | RATE_BOUND; off: packets leave at C, and the rate sets only the window |
//!
//! ## Where we differ from the paper and why
//! * All of it is that simulator's form; the paper's is `dcqcn`. Alpha is updated by a timer of its own, CNPs are as
//!   frequent as marked packets, there is no byte counter, and the first CNP cuts only one `cut_interval` later.
//! * Whether an ACK or a tick of alpha comes first in the same nanosecond depends on the network's order of events.
//!   Here the ACK comes first unless the network requests otherwise.
//! * Ticks without a visible effect (of alpha; of cuts with none requested; of increase at R = C - 1) are not
//!   scheduled; their effects are computed later, one by one.
//!
//! ## References
//! * Li et al., HPCC: High Precision Congestion Control, SIGCOMM 2019, section 5.1, and its simulator.
//! * Zhu et al., Congestion Control for Large-Scale RDMA Deployments, SIGCOMM 2015 (DCQCN).

use super::dcqcn::decayed;
use crate::Action;
use crate::ns3_rate::{FlowRate, Limits};
use crate::roles::*;
use core::cmp::Ordering;
use fanin_units::{Rate, Time};

/// The scheme.
pub struct DcqcnNs3;

/// Its parameters; the manual above gives their sources.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "spec", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
#[cfg_attr(feature = "spec", serde(deny_unknown_fields))]
pub struct Params {
    /// Gain of alpha.
    pub g: f64,
    /// Time between updates of alpha.
    pub alpha_timer: Time,
    /// Time between possible cuts.
    pub cut_interval: Time,
    /// Time between increase steps.
    pub increase_timer: Time,
    /// Steps of fast recovery (F).
    pub fast_recovery_times: u32,
    /// Step of the target at stage F.
    pub rate_ai: Rate,
    /// Step of the target above stage F.
    pub rate_hai: Rate,
    /// Lower bound of the rate.
    pub min_rate: Rate,
    /// Whether a cut sets the target to the rate even without an increase step since the last one.
    pub clamp_target: bool,
    /// Whether a window applies as well.
    pub window: bool,
    /// Whether that window shrinks with the rate.
    pub var_win: bool,
    /// Whether packets are paced at the rate, or at the NIC's.
    pub rate_bound: bool,
}

impl Scheme for DcqcnNs3 {
    type Params = Params;
    type Sender = Flow;
    type Receiver = NoReceiver<Params>;
    type Switch = NoSwitch<Params>;
    const PRESETS: &'static [&'static str] = &["dcqcn-ns3", "dcqcn-ns3-win"];

    fn preset(id: &str) -> Params {
        let window = id.ends_with("-win");
        Params {
            g: 1.0 / 256.0,
            alpha_timer: Time::from_us(1),
            cut_interval: Time::from_us(4),
            increase_timer: Time::from_us(300),
            fast_recovery_times: 1,
            rate_ai: Rate::from_mbps(20),
            rate_hai: Rate::from_mbps(200),
            min_rate: Rate::from_gbps(1),
            clamp_target: false,
            window,
            var_win: window,
            rate_bound: true,
        }
    }

    fn needs_marks(_: &Params) -> bool {
        true
    }

    fn check(p: &Params) -> Result<(), &'static str> {
        let least = Time::from_us(1);
        require([
            ((0.0..=1.0).contains(&p.g), "g must be 0 to 1, like 0.00390625 (1/256)"),
            (p.alpha_timer >= least, "alpha_timer must be at least 1 us: that simulator truncates it to whole ones"),
            (p.cut_interval >= least, "cut_interval must be at least 1 us: that simulator truncates it to whole ones"),
            (
                p.increase_timer >= least,
                "increase_timer must be at least 1 us: that simulator truncates it to whole ones",
            ),
            (p.min_rate > Rate::ZERO, "min_rate must be above 0: a flow at rate 0 never sends again"),
        ])
    }
}

impl Params {
    fn limits(&self) -> Limits {
        let Self { min_rate, window, var_win, rate_bound, .. } = *self;
        Limits { min_rate, window, var_win, rate_bound }
    }
}

/// A periodic timer.
#[derive(Clone, Copy, Debug)]
struct Timer {
    /// Its next tick.
    at: Time,
    /// When it was started for that tick.
    armed: Time,
    /// Time between ticks, whole microseconds.
    every: Time,
}

impl Timer {
    fn new(every: Time) -> Self {
        // MicroSeconds() takes whole ones
        Self { at: Time::NEVER, armed: Time::NEVER, every: Time::from_us(every.as_ps() / 1_000_000) }
    }
    fn start(&mut self, now: Time) {
        self.armed = now;
        self.at = now.saturating_add(self.every);
    }
    fn next(&mut self) {
        self.start(self.at);
    }
    /// Skips the ticks before `now` and returns their number.
    fn skip(&mut self, now: Time) -> u64 {
        if self.at >= now {
            return 0;
        }
        let ticks = ((now - self.at).as_ps() - 1) / self.every.as_ps() + 1;
        self.start(self.at + Time::from_ps((ticks - 1) * self.every.as_ps()));
        ticks
    }
    /// When it is started for a tick at `at`, if there is one.
    fn armed_for(&self, at: Time) -> Option<Time> {
        if at == self.at {
            return Some(self.armed);
        }
        let hits = at > self.at && (at - self.at).as_ps().is_multiple_of(self.every.as_ps());
        hits.then(|| at - self.every)
    }
}

/// A flow at its sender.
#[derive(Clone, Debug)]
pub struct Flow {
    rate: FlowRate,
    target: u64,
    alpha: f64,
    alpha_timer: Timer,
    raise_alpha: bool,
    cut_timer: Timer,
    cut_requested: bool,
    increase_timer: Timer,
    stage: u32,
}

impl Flow {
    /// The target rate RT.
    pub fn target(&self) -> Rate {
        Rate::from_bps(self.target)
    }

    /// The congestion estimate after the ticks before `now`.
    pub fn alpha(&self, now: Time, p: &Params) -> f64 {
        let mut later = self.clone();
        later.run_hidden_ticks(now, p);
        later.alpha
    }

    fn update_alpha(&mut self, ticks: u64, p: &Params) {
        if ticks > 0 {
            // UpdateAlphaMlx
            self.alpha = if self.raise_alpha { (1.0 - p.g) * self.alpha + p.g } else { (1.0 - p.g) * self.alpha };
            self.raise_alpha = false;
            self.alpha = decayed(self.alpha, p.g, ticks - 1);
        }
    }

    /// Computes the ticks before `now` that had no visible effect.
    fn run_hidden_ticks(&mut self, now: Time, p: &Params) {
        let ticks = self.alpha_timer.skip(now);
        self.update_alpha(ticks, p);
        if !self.cut_requested {
            self.cut_timer.skip(now);
        }
    }

    /// Whether the cut timer's next tick comes before the increase timer's; it does if both were started at one time.
    fn cut_is_first(&self) -> bool {
        (self.cut_timer.at, self.cut_timer.armed) <= (self.increase_timer.at, self.increase_timer.armed)
    }

    /// The next timer that changes the rate.
    fn next_timer(&self) -> &Timer {
        if self.cut_requested && self.cut_is_first() { &self.cut_timer } else { &self.increase_timer }
    }

    /// CheckRateDecreaseMlx.
    fn cut(&mut self, cx: &mut Cx<'_, Params>) {
        let (p, now) = (cx.params, self.cut_timer.at);
        self.cut_timer.next();
        if !self.cut_requested {
            return;
        }
        if p.clamp_target || self.stage != 0 {
            self.target = self.rate.get();
        }
        self.rate.change(self.rate.scaled(1.0 - self.alpha / 2.0), cx);
        self.stage = 0;
        self.cut_requested = false;
        self.increase_timer.start(now);
    }

    /// RateIncEventTimerMlx.
    fn increase(&mut self, cx: &mut Cx<'_, Params>) {
        let p = cx.params;
        self.increase_timer.next();
        let (stage, step) = match self.stage.cmp(&p.fast_recovery_times) {
            Ordering::Less => (Action::FastRecovery, Rate::ZERO),
            Ordering::Equal => (Action::AdditiveIncrease, p.rate_ai),
            Ordering::Greater => (Action::HyperIncrease, p.rate_hai),
        };
        cx.count(stage);
        if stage != Action::FastRecovery {
            self.target = self.rate.raised(self.target, step);
        }
        let (before, half) = (self.rate.get(), self.target / 2);
        let rate = before / 2 + half;
        // Truncation may lose a bit per second, which is no cut.
        if rate > before {
            cx.count(Action::Increase);
        }
        self.rate.set(rate);
        self.stage = self.stage.wrapping_add(1);
        if self.target == self.rate.line() && rate / 2 + half == rate {
            // Later steps change only state that the next cut resets.
            self.increase_timer.at = Time::NEVER;
        }
    }
}

impl TimerOrder for Flow {
    fn armed_at(&self) -> Time {
        self.next_timer().armed
    }

    fn hidden_tick(&self, at: Time) -> Time {
        let cut = if self.cut_requested { None } else { self.cut_timer.armed_for(at) };
        self.alpha_timer.armed_for(at).or(cut).unwrap_or(Time::NEVER)
    }
}

impl Sender for Flow {
    type Params = Params;
    type Shared = ();

    fn open(path: &PathInfo, cx: &mut Cx<'_, Params>) -> Self {
        let p = cx.params;
        Self {
            rate: FlowRate::new(path, p.limits()),
            target: path.line_rate.as_bps(),
            alpha: 1.0,
            alpha_timer: Timer::new(p.alpha_timer),
            raise_alpha: false,
            cut_timer: Timer::new(p.cut_interval),
            cut_requested: false,
            increase_timer: Timer::new(p.increase_timer),
            stage: 0,
        }
    }

    #[inline(always)]
    fn control(&self, cx: &Cx<'_, Params>) -> Control {
        // Another timer that is due in this nanosecond still runs within it.
        let wake_at = self.next_timer().at.max(cx.now.saturating_add(Time::from_ps(1)));
        Control { wake_at, ..self.rate.control() }
    }

    fn on_ack(&mut self, ack: &Ack<'_>, cx: &mut Cx<'_, Params>) {
        if !ack.ecn_echo {
            return;
        }
        // cnp_received_mlx
        cx.count(Action::CnpReceived);
        self.run_hidden_ticks(cx.now, cx.params);
        self.cut_requested = true;
        if self.alpha_timer.at.is_some() {
            self.raise_alpha = true;
        } else {
            let now = Time::from_ns(cx.now.as_ps() / 1000);
            self.alpha = 1.0;
            self.alpha_timer.start(now);
            self.cut_timer.start(now);
            self.cut_timer.at = self.cut_timer.at.saturating_add(Time::from_ns(1));
        }
    }

    /// One tick per call, because a network that orders the events of one instant may have others in between.
    fn on_timer(&mut self, cx: &mut Cx<'_, Params>) {
        let now = cx.now;
        self.run_hidden_ticks(now, cx.params);
        if self.alpha_timer.at <= now {
            self.alpha_timer.next();
            self.update_alpha(1, cx.params);
        } else if self.cut_timer.at <= now && self.cut_is_first() {
            self.cut(cx);
        } else if self.increase_timer.at <= now {
            self.increase(cx);
        }
    }

    fn watch(&self, see: &mut dyn FnMut(&'static str, f64)) {
        see("target", self.target as f64);
    }
}
