//! # timely: a rate from the change of the round-trip time
//!
//! ## Idea
//! The NIC measures round-trip times to the microsecond, so a sender sees how long queues are, and from the difference
//! of two measurements whether they grow. It lowers its rate while they grow and raises it while they shrink. Switches
//! do nothing.
//!
//! ## Signals
//! * Switch: nothing.
//! * Receiver: an ACK for each packet.
//! * Sender: the round-trip time r of a segment: from its last packet's leaving to that packet's ACK.
//!
//! ## Control law
//! R is the rate, C the line rate of the sender's NIC. A flow starts at R = C. A decision takes r, with D = (1 -
//! `ewma`) D + `ewma` (r - that of the last decision) and gradient = D / `min_rtt`; at the first decision D = 0. In
//! this order:
//!
//! * r < `t_low`: R = R + `additive_increase`.
//! * r > `t_high`: R = R (1 - `beta` (1 - `t_high`/r)).
//! * gradient <= 0: R = R + N `additive_increase`, with N = 1, and from the fifth such decision in a row N = `hai`
//!   (hyperactive increase). Every cut begins the count anew, and r < `t_low` leaves it as it is.
//! * Else R = R (1 - `beta` gradient).
//! * `law = "patched"` instead of the last two: R = R (1 - `beta` w (r - `t_low`)/`t_low`) + (1 - w)
//!   `additive_increase`, where w rises from 0 at gradient -1/4 to 1 at 1/4.
//! * R stays between `min_rate` and C.
//!
//! `decide` sets when there is a decision, and how packets leave:
//!
//! * `segment`: with the ACK that completes a segment of `segment` bytes. r is then without the time that the packet
//!   itself takes at rate C.
//! * `round-trip`: with the first ACK for what was sent after the last decision. r is the whole time. The first such
//!   ACK of a flow only stores r.
//! * `bursts`: a segment leaves at C, and the next one begins a time segment/R after it began. Otherwise packets are
//!   paced at R.
//! * `window = "bdp"`: bytes in flight < W_max R/C, where W_max is the network's largest bandwidth-delay product.
//! * `window = "rtt"`: bytes in flight < R r, at least a packet, without pacing.
//!
//! Presets: `timely` is the paper's. `timely-patched` is the form of Zhu et al. with a fixed point. `timely-hpcc` is
//! the form that HPCC is compared with, `timely-win` the same with a window (HPCC's TIMELY+win). `timely-dart` is the
//! form that Dart is compared with.
//!
//! ## Parameters
//! A rate is written as such ("10 Mbps") or as a share of the line rate C (0.001).
//!
//! | name | unit | default | source |
//! |---|---|---|---|
//! | `law` | `gradient` or `patched` | gradient | TIMELY 4.3; Zhu et al., ECN or Delay, CoNEXT 2016 |
//! | `ewma` | weight of the newest | 0.875 | HPCC's simulator and others; the paper gives none, its authors' code 0.02 |
//! | `beta` | factor | 0.8 | TIMELY 5; 0.008 in the patched form |
//! | `t_low` | time | 50 us | TIMELY 5 |
//! | `t_high` | time | 500 us | TIMELY 5 |
//! | `min_rtt` | time, 0 is that of the idle path | 20 us | TIMELY 5; `timely-dart` has 0 |
//! | `additive_increase` | rate or share of C | 0.001 | TIMELY 5: 10 Mb/s at 10 Gb/s; Dart VI-A: 1 Mb/s |
//! | `hai` | factor N | 5 | TIMELY 4.3 |
//! | `hai_counts` | `gradient` or `increases` | gradient | TIMELY 4.3; HPCC's simulator counts every increase |
//! | `min_rate` | rate or share of C | 0.01 | HPCC's simulator, 1 Gb/s at 100 Gb/s; the paper gives none |
//! | `decide` | `segment` or `round-trip` | segment | TIMELY 4.1; HPCC's simulator |
//! | `segment` | bytes | 64 KB | TIMELY 5: 16 to 64 KB; Zhu et al.: 16 KB; Dart VI-A: a packet |
//! | `bursts` | true or false | true | TIMELY 5 |
//! | `window` | `none`, `bdp` or `rtt` | none | HPCC 5.1: `bdp`; Dart VI-A: `rtt` |
//! | `timestamps` | true or false | false | HPCC's simulator: 8 bytes in each packet and ACK |
//!
//! ## Where we differ from the paper and why
//! * The paper takes r from a segment's first byte to its completion, less its size / C. That is the time of its last
//!   packet wherever the burst is not interrupted; we take that, so that what else the NIC sends is not counted.
//! * Dart's text sets one decision for nothing; here it is one per round trip, as in HPCC's simulator. Its step of 1
//!   Mb/s is a tenth of the paper's, and is kept: a slower sender favours Dart, so try `additive_increase = "10 Mbps"`.
//! * The authors' code, which the paper does not describe, makes steps smaller where decisions come faster than
//!   `min_rtt`, and never halves a rate at once. Neither is here.
//! * By gradients there is no fixed point: between `t_low` and `t_high` unequal rates stay unequal, and the queue
//!   drifts (Zhu et al.; `cc/tests/theory/timely.rs`). The patched form has one. In packets, with four flows at 10
//!   Gb/s, the forms with a decision per round trip are fair all the same; `timely` itself falls to `min_rate`, 0.45
//!   Gb/s together, as one burst of 64 KB that meets another is a gradient above 1 (`fabric/tests/theory/joining.rs`).
//!   Shorter segments and a smaller `ewma` get more.
//! * The patched form's reference time is `t_low`, as in eRPC.
//! * R is whole bits per second, rounded to the nearest (halves up).
//! * `timely-ns3` is the form of HPCC's simulator to the bit.
//!
//! ## References
//! * Mittal et al., TIMELY: RTT-based Congestion Control for the Datacenter, SIGCOMM 2015.
//! * Zhu et al., ECN or Delay: Lessons Learnt from Analysis of DCQCN and TIMELY, CoNEXT 2016.
//! * Xue et al., Dart, IEEE/ACM Transactions on Networking 2020, section VI-A.
//! * Li et al., HPCC: High Precision Congestion Control, SIGCOMM 2019, section 5.1, and its simulator.

use super::dcqcn::{RateOrShare, round, scaled_window};
use crate::Action;
use crate::roles::*;
use fanin_units::{Bytes, Rate, Time};

/// The scheme.
pub struct Timely;

/// The rule between the two thresholds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "spec", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
#[cfg_attr(feature = "spec", serde(rename_all = "kebab-case"))]
pub enum Law {
    /// By the gradient alone, with hyperactive increase.
    Gradient,
    /// Weighed with the distance from a reference time, so that there is a fixed point.
    Patched,
}

/// What counts towards hyperactive increase.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "spec", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
#[cfg_attr(feature = "spec", serde(rename_all = "kebab-case"))]
pub enum HaiCounts {
    /// Increases by the gradient.
    Gradient,
    /// Every increase.
    Increases,
}

/// When there is a decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "spec", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
#[cfg_attr(feature = "spec", serde(rename_all = "kebab-case"))]
pub enum Decide {
    /// Once per segment.
    Segment,
    /// Once per round trip.
    RoundTrip,
}

/// The window beside the rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "spec", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
#[cfg_attr(feature = "spec", serde(rename_all = "kebab-case"))]
pub enum Window {
    /// None.
    None,
    /// The network's bandwidth-delay product times R/C.
    Bdp,
    /// R times the last round-trip time, instead of pacing.
    Rtt,
}

/// Its parameters; the manual above gives their sources.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "spec", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
#[cfg_attr(feature = "spec", serde(deny_unknown_fields))]
pub struct Params {
    /// The rule between the two thresholds.
    pub law: Law,
    /// Weight of the newest difference in D.
    pub ewma: f64,
    /// Factor of a cut.
    pub beta: f64,
    /// Below it the rate rises whatever the gradient.
    pub t_low: Time,
    /// Above it the rate falls whatever the gradient.
    pub t_high: Time,
    /// Unit of the gradient; zero is the round-trip time of the idle path.
    pub min_rtt: Time,
    /// Step of the rate.
    pub additive_increase: RateOrShare,
    /// Steps at once in hyperactive increase (N); 1 disables it.
    pub hai: u32,
    /// What counts towards hyperactive increase.
    pub hai_counts: HaiCounts,
    /// Lower bound of the rate.
    pub min_rate: RateOrShare,
    /// When there is a decision.
    pub decide: Decide,
    /// Payload of a segment.
    pub segment: Bytes,
    /// Whether a segment leaves at line rate.
    pub bursts: bool,
    /// The window beside the rate.
    pub window: Window,
    /// Whether packets and ACKs are 8 bytes longer, for the time of sending.
    pub timestamps: bool,
}

impl Scheme for Timely {
    type Params = Params;
    type Sender = Flow;
    type Receiver = NoReceiver<Params>;
    type Switch = NoSwitch<Params>;
    const PRESETS: &'static [&'static str] = &["timely", "timely-patched", "timely-hpcc", "timely-win", "timely-dart"];

    fn preset(id: &str) -> Params {
        let paper = Params {
            law: Law::Gradient,
            ewma: 0.875,
            beta: 0.8,
            t_low: Time::from_us(50),
            t_high: Time::from_us(500),
            min_rtt: Time::from_us(20),
            additive_increase: RateOrShare::Share(0.001),
            hai: 5,
            hai_counts: HaiCounts::Gradient,
            min_rate: RateOrShare::Share(0.01),
            decide: Decide::Segment,
            segment: Bytes(64_000),
            bursts: true,
            window: Window::None,
            timestamps: false,
        };
        let hpcc = Params {
            hai_counts: HaiCounts::Increases,
            decide: Decide::RoundTrip,
            bursts: false,
            timestamps: true,
            ..paper.clone()
        };
        match id {
            // Zhu et al.: segments of 16 KB, packets paced.
            "timely-patched" => {
                Params { law: Law::Patched, beta: 0.008, segment: Bytes(16_000), bursts: false, ..paper }
            }
            "timely-hpcc" => hpcc,
            "timely-win" => Params { window: Window::Bdp, ..hpcc },
            "timely-dart" => Params {
                min_rtt: Time::ZERO,
                additive_increase: RateOrShare::Rate(Rate::from_mbps(1)),
                decide: Decide::RoundTrip,
                bursts: false,
                window: Window::Rtt,
                ..paper
            },
            _ => paper,
        }
    }

    fn wants_ecn(_: &Params) -> bool {
        false
    }

    fn header_overhead(p: &Params) -> HeaderOverhead {
        if p.timestamps { HeaderOverhead::new(8, 8) } else { HeaderOverhead::default() }
    }

    fn check(p: &Params) -> Result<(), &'static str> {
        require([
            ((0.0..=1.0).contains(&p.ewma), "ewma must be 0 to 1"),
            ((0.0..=1.0).contains(&p.beta), "beta must be 0 to 1"),
            (p.t_low <= p.t_high, "t_low must be at most t_high"),
            (p.t_low > Time::ZERO || p.law == Law::Gradient, "t_low must be above 0: the patched law divides by it"),
            (p.additive_increase.is_possible(1), "additive_increase must be above 0, or no flow ever speeds up"),
            (p.hai >= 1, "hai must be at least 1, which is a single step"),
            (p.min_rate.is_possible(1), "min_rate must be above 0: a flow at rate 0 never sends again"),
            (p.segment.0 >= 1, "segment must be at least 1 B"),
            (
                !p.bursts || p.window != Window::Rtt,
                "window = \"rtt\" takes the place of pacing, so bursts must be false",
            ),
        ])
    }
}

/// The factor by which a round-trip time cuts the rate; `None` for an increase (TIMELY 4.3, algorithm 1). All times in
/// one unit.
pub(super) fn cut(rtt: u64, low: u64, high: u64, gradient: f64, beta: f64) -> Option<f64> {
    if rtt < low {
        None
    } else if rtt > high {
        Some(1.0 - beta * (1.0 - high as f64 / rtt as f64))
    } else if gradient <= 0.0 {
        None
    } else {
        let factor = 1.0 - beta * gradient;
        Some(if factor < 0.0 { 0.0 } else { factor })
    }
}

/// A flow at its sender.
#[derive(Clone, Debug, Default)]
pub struct Flow {
    rate: u64,
    line: u64,
    largest_window: u64,
    /// An ACK decides only at or above this offset.
    decide_at: u64,
    /// The round-trip time of the last decision, if there was one.
    last_rtt: Option<Time>,
    /// D in picoseconds.
    difference: f64,
    /// Increases in a row that count towards hyperactive increase.
    in_a_row: u32,
    /// Unit of the gradient.
    unit: Time,
    /// The time that a full packet takes at the rate of the NIC.
    packet: Time,
    least_window: u64,
    window: u64,
    /// The last segment that began to leave: when, its bytes on the wire so far, and the payload still to leave.
    began: Time,
    wire: u64,
    left: u64,
    /// When the next segment may leave.
    next_at: Time,
}

impl Flow {
    /// The rate R in bits per second.
    pub fn rate(&self) -> u64 {
        self.rate
    }

    /// A decision by the round-trip time `rtt`.
    fn decide(&mut self, rtt: Time, cx: &mut Cx<'_, Params>) {
        let p = cx.params;
        let last = self.last_rtt.replace(rtt);
        if last.is_none() && p.decide == Decide::RoundTrip {
            return;
        }
        let change = rtt.as_ps() as f64 - last.unwrap_or(rtt).as_ps() as f64;
        self.difference = (1.0 - p.ewma) * self.difference + p.ewma * change;
        let gradient = self.difference / self.unit.as_ps() as f64;
        let (r, low, high) = (rtt.as_ps(), p.t_low.as_ps(), p.t_high.as_ps());
        let step = p.additive_increase.at(self.line);
        let before = self.rate;
        let rate = before as f64;
        self.rate = if p.law == Law::Patched && (low..=high).contains(&r) {
            // Zhu et al., algorithm 2
            let w = (2.0 * gradient + 0.5).clamp(0.0, 1.0);
            let error = (r as f64 - low as f64) / low as f64;
            round((rate * (1.0 - p.beta * w * error)).max(0.0) + step as f64 * (1.0 - w))
        } else if let Some(factor) = cut(r, low, high, gradient, p.beta) {
            self.in_a_row = 0;
            round(rate * factor)
        } else {
            before.saturating_add(step.saturating_mul(self.steps(r >= low, p)))
        };
        self.rate = self.rate.max(p.min_rate.at(self.line)).min(self.line);
        match self.rate.cmp(&before) {
            core::cmp::Ordering::Less => cx.count(Action::Cut),
            core::cmp::Ordering::Greater => cx.count(Action::Increase),
            core::cmp::Ordering::Equal => {}
        }
    }

    /// Steps of an increase; `by_gradient` or by a short round-trip time.
    fn steps(&mut self, by_gradient: bool, p: &Params) -> u64 {
        if p.hai_counts == HaiCounts::Gradient && (!by_gradient || p.law == Law::Patched) {
            return 1;
        }
        self.in_a_row = self.in_a_row.saturating_add(1);
        // The simulator's counter is raised after its use, the paper's before it.
        let faster_from = if p.hai_counts == HaiCounts::Gradient { 5 } else { 6 };
        if self.in_a_row >= faster_from { p.hai as u64 } else { 1 }
    }

    fn rate_changed(&mut self, rtt: Time, p: &Params) {
        self.window = match p.window {
            Window::None => u64::MAX,
            Window::Bdp => scaled_window(self.largest_window, self.rate, self.line),
            // Dart VI-A: the window that gives the desired rate
            Window::Rtt => Rate::from_bps(self.rate).bytes_in(rtt).max(self.least_window),
        };
        self.space();
    }

    /// Sets the time of the next segment, if one has left completely.
    fn space(&mut self) {
        if self.left == 0 {
            self.next_at = self.began.saturating_add(Rate::from_bps(self.rate).tx_time(self.wire));
        }
    }
}

impl Sender for Flow {
    type Params = Params;
    type Shared = ();

    fn open(path: &PathInfo, cx: &mut Cx<'_, Params>) -> Self {
        let p = cx.params;
        let line = path.line_rate.as_bps();
        let mut flow = Self {
            rate: line,
            line,
            largest_window: path.network_bdp,
            decide_at: if p.decide == Decide::Segment { p.segment.0 } else { 1 },
            unit: if p.min_rtt == Time::ZERO { path.base_rtt.max(Time::from_ps(1)) } else { p.min_rtt },
            packet: path.line_rate.tx_time(path.wire as u64),
            least_window: path.payload as u64,
            window: u64::MAX,
            ..Self::default()
        };
        flow.rate_changed(path.base_rtt, p);
        flow
    }

    #[inline(always)]
    fn control(&self, cx: &Cx<'_, Params>) -> Control {
        let p = cx.params;
        let paced = !p.bursts && p.window != Window::Rtt;
        let rate = Rate::from_bps(if paced { self.rate } else { self.line });
        Control { window: self.window, not_before: self.next_at, ..Control::rate(rate) }
    }

    #[inline(always)]
    fn on_send(&mut self, sent: &Sent, cx: &mut Cx<'_, Params>) -> u32 {
        let p = cx.params;
        if !p.bursts {
            return 0;
        }
        if self.left == 0 {
            (self.began, self.wire, self.left) = (cx.now, 0, p.segment.0);
        }
        self.wire += sent.wire as u64;
        self.left = self.left.saturating_sub(sent.payload as u64);
        self.space();
        0
    }

    fn on_ack(&mut self, ack: &Ack<'_>, cx: &mut Cx<'_, Params>) {
        let p = cx.params;
        if ack.seq < self.decide_at {
            return;
        }
        let rtt = match p.decide {
            // TIMELY 4.1: less the time of serialisation
            Decide::Segment => {
                self.decide_at = (ack.seq - ack.seq % p.segment.0).saturating_add(p.segment.0);
                ack.rtt.saturating_sub(self.packet)
            }
            Decide::RoundTrip => {
                self.decide_at = ack.sent_to.max(ack.seq).saturating_add(1);
                ack.rtt
            }
        };
        self.decide(rtt, cx);
        self.rate_changed(rtt, p);
    }

    fn watch(&self, see: &mut dyn FnMut(&'static str, f64)) {
        see("rtt_us", self.last_rtt.map_or(0.0, |rtt| rtt.as_ps() as f64 / 1e6));
        see("gradient", self.difference / self.unit.as_ps() as f64);
        // R: bursts and windows hide it.
        see("paced_rate_bps", self.rate as f64);
    }
}
