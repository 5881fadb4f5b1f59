//! # swift: a window from one target of the round-trip time, down to a thousandth of a packet
//!
//! ## Idea
//! A sender compares each round-trip time with a target: below it the window grows by a packet a round trip, above it
//! the window is cut by how far above, at most once a round trip. The target is higher for small windows, so that many
//! flows on one link, each with a small window, have room for their queue and come to equal shares. Below one packet
//! the window becomes a gap between packets, so that thousands of senders to one host still fit.
//!
//! ## Signals
//! * Switch: nothing.
//! * Receiver: an ACK for each packet.
//! * Sender: the round-trip time of each packet; losses and timeouts.
//!
//! ## Control law
//! w is the window in packets, d the round-trip time of an ACK's packet, n the packets that it acknowledges.
//!
//! * Target: t = `base_target` + min(max(a/sqrt(w) + b, 0), `flow_range`), where a and b make the second term
//!   `flow_range` at w = `flow_min` and 0 at w = `flow_max`.
//! * d < t: w += `additive_increase` n/w, and below one packet `additive_increase` n.
//! * Else, if the last cut is d ago: w = w max(1 - `beta` (d - t)/d, 1 - `max_cut`).
//! * A loss, and a timeout: w = w (1 - `max_cut`), if the last cut is a round-trip time ago. After `reset_after`
//!   timeouts without an ACK: w = `min_window`.
//! * w is between `min_window` and `max_window`. From one packet on a packet leaves while fewer than w are in flight.
//!   Below, one is in flight, and packets leave d/w apart, at most `longest_gap`.
//!
//! ## Parameters
//! | name | unit | default | source |
//! |---|---|---|---|
//! | `base_target` | time, 0 is `target_slack` above the idle round-trip time | 0 ps | uet-htsim: 20 us for its network |
//! | `target_slack` | time | 25 us | Xue's Swift for RoCEv2 |
//! | `flow_range` | time | 100 us | uet-htsim: 5 times the base target |
//! | `flow_min` | packets | 0.1 | uet-htsim, Xue |
//! | `flow_max` | packets | 100.0 | uet-htsim |
//! | `additive_increase` | packets a round trip | 1 | uet-htsim; Xue: 0.005 bandwidth-delay products |
//! | `beta` | factor | 0.8 | uet-htsim, Xue |
//! | `max_cut` | share of the window | 0.5 | uet-htsim; Xue 0.4 |
//! | `initial_window` | packets, 0 is the bandwidth-delay product of the path | 0.0 | ours: as others over RDMA; uet-htsim 12 |
//! | `min_window` | packets | 0.001 | paper, from memory; uet-htsim 10 bytes |
//! | `longest_gap` | time | 50 ms | ours: one long round-trip time does not stop a flow |
//! | `max_window` | packets | 1000.0 | uet-htsim |
//! | `reset_after` | timeouts | 5 | uet-htsim |
//!
//! ## Where we differ from the paper and why
//! * The paper was not at hand. The rules are those that uet-htsim's `swift.cpp` and Xue's RoCEv2 module of ns-3 agree
//!   on; of the paper, from memory: the least window, and that a loss cuts when it is found.
//! * The paper's target has a term for each hop. No sender knows its hops here; the idle round-trip time has their
//!   delay.
//! * The paper has a second window for the delay inside the receiving host, and takes the smaller. Hosts have no such
//!   delay here but what `host.cpu_time` adds to round-trip times.
//! * uet-htsim divides windows by whole packets before the square root, and waits a smoothed round-trip time between
//!   cuts; here neither is so.
//! * A window grows only if it was used: if there was no room for one more packet before the ACK.
//! * A change of path after some round trips above the target (PLB) is not part of it.
//!
//! ## References
//! * Kumar et al., Swift: Delay is Simple and Effective for Congestion Control in the Datacenter, SIGCOMM 2020.
//! * uet-htsim, `swift.cpp`: https://github.com/ultraethernet/uet-htsim
//! * Xue, RoCEv2 with Swift for ns-3.

use crate::Action;
use crate::roles::*;
use fanin_units::{Rate, Time};

/// The scheme.
pub struct Swift;

/// Its parameters; the manual above gives their sources.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "spec", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
#[cfg_attr(feature = "spec", serde(deny_unknown_fields))]
#[cfg_attr(feature = "spec", schemars(rename = "Swift"))]
pub struct Params {
    /// Target of a large window; zero is `target_slack` above the idle round-trip time.
    pub base_target: Time,
    /// What that target is above the idle round-trip time.
    pub target_slack: Time,
    /// The most that a small window adds to the target.
    pub flow_range: Time,
    /// The window in packets up to which it adds all of that.
    pub flow_min: f64,
    /// The window in packets from which it adds nothing.
    pub flow_max: f64,
    /// Packets that a window grows by in a round trip.
    pub additive_increase: f64,
    /// Gain of a cut.
    pub beta: f64,
    /// The largest share of a window that one cut takes.
    pub max_cut: f64,
    /// First window in packets; 0 is the bandwidth-delay product of the path.
    pub initial_window: f64,
    /// Least window in packets.
    pub min_window: f64,
    /// Longest time between two packets of a window below one.
    pub longest_gap: Time,
    /// Largest window in packets.
    pub max_window: f64,
    /// Timeouts in a row that lead to the least window.
    pub reset_after: u32,
}

impl Params {
    /// The target of a window of `packets`, above the base, in picoseconds.
    fn of_flows(&self, packets: f64) -> f64 {
        let (least, most) = (1.0 / libm::sqrt(self.flow_min), 1.0 / libm::sqrt(self.flow_max));
        let range = self.flow_range.as_ps() as f64;
        let a = range / (least - most);
        (a / libm::sqrt(packets) - a * most).clamp(0.0, range)
    }

    /// The target of a window of `packets` on a path with this idle round-trip time.
    pub fn target(&self, packets: f64, idle: Time) -> Time {
        let base = match self.base_target {
            Time::ZERO => idle.saturating_add(self.target_slack),
            base => base,
        };
        base.saturating_add(Time::from_ps(self.of_flows(packets) as u64))
    }
}

impl Scheme for Swift {
    type Params = Params;
    type Sender = Flow;
    type Receiver = NoReceiver<Params>;
    type Switch = NoSwitch<Params>;
    const PRESETS: &'static [&'static str] = &["swift"];

    fn preset(_: &str) -> Params {
        Params {
            base_target: Time::ZERO,
            target_slack: Time::from_us(25),
            flow_range: Time::from_us(100),
            flow_min: 0.1,
            flow_max: 100.0,
            additive_increase: 1.0,
            beta: 0.8,
            max_cut: 0.5,
            initial_window: 0.0,
            min_window: 0.001,
            longest_gap: Time::from_ms(50),
            max_window: 1000.0,
            reset_after: 5,
        }
    }

    fn wants_ecn(_: &Params) -> bool {
        false
    }

    fn rdma_only(_: &Params) -> Option<&'static str> {
        Some("paces windows below a packet, which TCP's window cannot be")
    }

    fn check(p: &Params) -> Result<(), &'static str> {
        let share = |x: f64| x > 0.0 && x <= 1.0;
        require([
            (p.flow_min > 0.0 && p.flow_min <= 1e6, "flow_min must be above 0, like 0.1 packets"),
            (p.flow_max > p.flow_min && p.flow_max <= 1e9, "flow_max must be above flow_min, like 100 packets"),
            (
                p.additive_increase > 0.0 && p.additive_increase <= 1e6,
                "additive_increase must be above 0, or flows never become fair",
            ),
            (share(p.beta), "beta must be above 0 and at most 1"),
            (p.max_cut > 0.0 && p.max_cut < 1.0, "max_cut must be above 0 and below 1, like 0.5"),
            (p.min_window >= 1e-6 && p.min_window <= 1.0, "min_window must be 0.000001 to 1 packet"),
            (p.max_window >= 1.0 && p.max_window <= 1e9, "max_window must be at least 1 packet"),
            (
                (0.0..=1e9).contains(&p.initial_window),
                "initial_window must be at least 0, which is the bandwidth-delay product",
            ),
            (p.longest_gap >= Time::from_us(1), "longest_gap must be at least 1 us"),
            (p.reset_after > 0, "reset_after must be at least 1 timeout"),
        ])
    }
}

/// A flow at its sender.
#[derive(Clone, Debug)]
pub struct Flow {
    /// w in packets.
    window: f64,
    /// The last cut.
    cut_at: Option<Time>,
    /// Timeouts since the last ACK.
    timeouts: u32,
    /// The last round-trip time.
    rtt: Time,
    idle: Time,
    payload: f64,
    wire: f64,
    line: Rate,
    /// The window in bytes and the rate that follow.
    control: (u64, Rate),
}

impl Flow {
    /// w in packets.
    pub fn window(&self) -> f64 {
        self.window
    }

    /// Whether the last cut is so long ago.
    fn may_cut(&self, rtt: Time, now: Time) -> bool {
        self.cut_at.is_none_or(|at| now.saturating_sub(at) >= rtt)
    }

    fn change(&mut self, to: f64, cx: &mut Cx<'_, Params>) {
        let (p, before) = (cx.params, self.window);
        self.window = to.clamp(p.min_window, p.max_window);
        if self.window < before {
            self.cut_at = Some(cx.now);
            cx.count(Action::Cut);
        } else if self.window > before {
            cx.count(Action::Increase);
        }
        self.set_control(p);
    }

    fn set_control(&mut self, p: &Params) {
        self.control = if self.window >= 1.0 {
            (libm::ceil(self.window * self.payload) as u64, self.line)
        } else {
            // A packet each d/w.
            let gap = (self.rtt.as_ps() as f64 / self.window).clamp(1.0, p.longest_gap.as_ps() as f64);
            let rate = self.wire * 8e12 / gap;
            (1, Rate::from_bps((rate as u64).clamp(1, self.line.as_bps().max(1))))
        };
    }
}

impl Sender for Flow {
    type Params = Params;
    type Shared = ();

    fn open(path: &PathInfo, cx: &mut Cx<'_, Params>) -> Self {
        let p = cx.params;
        let payload = f64::from(path.payload.max(1));
        let bdp = path.line_rate.bytes_in(path.base_rtt) as f64 / payload;
        let window = if p.initial_window > 0.0 { p.initial_window } else { bdp };
        let mut flow = Self {
            window: window.clamp(p.min_window, p.max_window),
            cut_at: None,
            timeouts: 0,
            rtt: path.base_rtt,
            idle: path.base_rtt,
            payload,
            wire: f64::from(path.wire.max(1)),
            line: path.line_rate,
            control: (0, Rate::ZERO),
        };
        flow.set_control(p);
        flow
    }

    #[inline(always)]
    fn control(&self, _: &Cx<'_, Params>) -> Control {
        let (window, rate) = self.control;
        Control { window, retime: true, ..Control::rate(rate) }
    }

    fn on_ack(&mut self, ack: &Ack<'_>, cx: &mut Cx<'_, Params>) {
        let p = cx.params;
        let (w, delay) = (self.window, ack.rtt);
        (self.timeouts, self.rtt) = (0, delay);
        let target = p.target(w, self.idle);
        let to = if delay < target {
            // Only a window that held a packet back says that more would fit.
            let used = ack.in_flight as f64 + self.payload > w * self.payload;
            let packets = if used { ack.newly_acked as f64 / self.payload } else { 0.0 };
            w + p.additive_increase * packets / w.max(1.0)
        } else if self.may_cut(delay, cx.now) {
            let above = (delay - target).as_ps() as f64 / delay.as_ps().max(1) as f64;
            w * (1.0 - p.beta * above).max(1.0 - p.max_cut)
        } else {
            w
        };
        self.change(to, cx);
    }

    fn on_loss(&mut self, _: &Loss, cx: &mut Cx<'_, Params>) {
        let p = cx.params;
        if self.may_cut(self.rtt, cx.now) {
            cx.count(Action::LossReaction);
            self.change(self.window * (1.0 - p.max_cut), cx);
        }
    }

    fn on_timeout(&mut self, _: &Loss, cx: &mut Cx<'_, Params>) {
        let p = cx.params;
        self.timeouts = self.timeouts.saturating_add(1);
        if self.timeouts >= p.reset_after {
            cx.count(Action::Timeout);
            self.change(p.min_window, cx);
        } else if self.may_cut(self.rtt, cx.now) {
            cx.count(Action::Timeout);
            self.change(self.window * (1.0 - p.max_cut), cx);
        }
    }

    fn watch(&self, see: &mut dyn FnMut(&'static str, f64)) {
        see("window_packets", self.window);
    }
}
