//! # timely-ns3: TIMELY as HPCC's public simulator runs it
//!
//! ## Idea
//! The TIMELY of the simulator that HPCC's authors published (ns-3, CC_MODE 7), exactly: the same types, the same
//! rounding. The same events give bit-identical results.
//!
//! ## Signals
//! * Switch: nothing.
//! * Receiver: each ACK carries back the time at which its packet left the sender.
//! * Sender: the round-trip time of each ACK in whole nanoseconds, including the transmission times of packet and ACK.
//!
//! ## Control law
//! R is the rate, C the rate of the sender's NIC. A flow starts at R = C. An ACK counts only if its number is above the
//! decision limit; the limit then rises to the next byte to send. So there is about one decision per round trip. The
//! first one only stores the round-trip time.
//!
//! * rtt is now minus the time of sending; D = (1 - `ewma`) D + `ewma` (rtt - that of the last decision); gradient = D
//!   / `min_rtt`. D starts at 0.
//! * rtt < `t_low`, or rtt <= `t_high` and gradient <= 0: R = min(C, R + `rate_ai`); after five such decisions in a row
//!   R + `rate_hai`.
//! * rtt > `t_high`: R = max(`min_rate`, R (1 - `beta` (1 - `t_high`/rtt))).
//! * Else R = max(`min_rate`, R max(0, 1 - `beta` gradient)).
//! * R is whole bits per second, truncated. The last decision's rtt is stored only if the limit rose.
//! * `window`: bytes in flight < W_max, or with `var_win` < max(1, floor(W_max R/C)), in 64 bits that wrap around.
//!   W_max is the network's largest bandwidth-delay product.
//!
//! Presets: `timely-ns3` with the values of that simulator's `run.py` at 100 Gb/s; `timely-ns3-win` with `window` and
//! `var_win` on, its `timely_vwin`.
//!
//! ## Parameters
//! Names in capitals are the keys of that simulator's configuration; the others are fixed in its code. Times are
//! truncated to whole nanoseconds.
//!
//! | name | unit | default | source |
//! |---|---|---|---|
//! | `ewma` | weight of the newest | 0.875 | rdma-hw.cc, TimelyAlpha |
//! | `beta` | factor | 0.8 | rdma-hw.cc, TimelyBeta; TIMELY 5 |
//! | `t_low` | time | 50 us | rdma-hw.cc, TimelyTLow; TIMELY 5 |
//! | `t_high` | time | 500 us | rdma-hw.cc, TimelyTHigh; TIMELY 5 |
//! | `min_rtt` | time | 20 us | rdma-hw.cc, TimelyMinRtt |
//! | `rate_ai` | rate | 100 Mbps | RATE_AI, 10 Mb/s for each 10 Gb/s |
//! | `rate_hai` | rate | 500 Mbps | RATE_HAI, 50 Mb/s for each 10 Gb/s |
//! | `min_rate` | rate | 1 Gbps | MIN_RATE |
//! | `window` | true or false | false | HAS_WIN |
//! | `var_win` | true or false | false | VAR_WIN |
//! | `rate_bound` | true or false | true | RATE_BOUND; off: packets leave at C, and the rate sets only the window |
//!
//! ## Where we differ from the paper and why
//! * All of it is that simulator's form. The paper subtracts the serialisation time from a sample, decides for each
//!   completed segment of 16 to 64 KB, and counts for its faster increase only decisions by gradient.
//! * Packets and ACKs are 8 bytes longer, for the time of sending. In that simulator an ACK is padded to 60 bytes and
//!   so no longer than another scheme's; here it is.
//!
//! ## References
//! * Li et al., HPCC: High Precision Congestion Control, SIGCOMM 2019, section 5.1, and its simulator.
//! * Mittal et al., TIMELY: RTT-based Congestion Control for the Datacenter, SIGCOMM 2015.

use super::timely::cut;
use crate::ns3_rate::{FlowRate, Limits};
use crate::roles::*;
use fanin_units::{Rate, Time};

/// The scheme.
pub struct TimelyNs3;

/// Its parameters; the manual above gives their sources.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "spec", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
#[cfg_attr(feature = "spec", serde(deny_unknown_fields))]
pub struct Params {
    /// Weight of the newest difference in D.
    pub ewma: f64,
    /// Factor of a cut.
    pub beta: f64,
    /// Below it the rate rises whatever the gradient.
    pub t_low: Time,
    /// Above it the rate falls whatever the gradient.
    pub t_high: Time,
    /// Unit of the gradient.
    pub min_rtt: Time,
    /// Step of the rate.
    pub rate_ai: Rate,
    /// Step of the rate after five in a row.
    pub rate_hai: Rate,
    /// Lower bound of the rate.
    pub min_rate: Rate,
    /// Whether a window applies as well.
    pub window: bool,
    /// Whether that window shrinks with the rate.
    pub var_win: bool,
    /// Whether packets are paced at the rate, or at the NIC's.
    pub rate_bound: bool,
}

impl Scheme for TimelyNs3 {
    type Params = Params;
    type Sender = Flow;
    type Receiver = NoReceiver<Params>;
    type Switch = NoSwitch<Params>;
    const PRESETS: &'static [&'static str] = &["timely-ns3", "timely-ns3-win"];

    fn preset(id: &str) -> Params {
        let window = id.ends_with("-win");
        Params {
            ewma: 0.875,
            beta: 0.8,
            t_low: Time::from_us(50),
            t_high: Time::from_us(500),
            min_rtt: Time::from_us(20),
            rate_ai: Rate::from_mbps(100),
            rate_hai: Rate::from_mbps(500),
            min_rate: Rate::from_gbps(1),
            window,
            var_win: window,
            rate_bound: true,
        }
    }

    fn wants_ecn(_: &Params) -> bool {
        false
    }

    fn header_overhead(_: &Params) -> HeaderOverhead {
        HeaderOverhead::new(8, 8)
    }

    fn check(p: &Params) -> Result<(), &'static str> {
        require([
            ((0.0..=1.0).contains(&p.ewma), "ewma must be 0 to 1"),
            ((0.0..=1.0).contains(&p.beta), "beta must be 0 to 1"),
            (p.min_rtt >= Time::from_ns(1), "min_rtt must be at least 1 ns"),
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

/// A flow at its sender.
#[derive(Clone, Debug)]
pub struct Flow {
    rate: FlowRate,
    /// An ACK decides only above this offset.
    decided_to: u64,
    /// Increases in a row.
    stage: u32,
    last_rtt: u64,
    /// D in nanoseconds.
    difference: f64,
}

impl Flow {
    /// UpdateRateTimely without its first decision.
    fn decide(&mut self, rtt: u64, cx: &mut Cx<'_, Params>) {
        let p = cx.params;
        let ns = |t: Time| t.as_ps() / 1000;
        let change = rtt as i64 - self.last_rtt as i64;
        let difference = (1.0 - p.ewma) * self.difference + p.ewma * change as f64;
        let gradient = difference / ns(p.min_rtt) as f64;
        self.difference = difference;
        let (rate, stage) = match cut(rtt, ns(p.t_low), ns(p.t_high), gradient, p.beta) {
            Some(factor) => (self.rate.scaled(factor), 0),
            None => {
                let step = if self.stage < 5 { p.rate_ai } else { p.rate_hai };
                (self.rate.raised(self.rate.get(), step), self.stage.wrapping_add(1))
            }
        };
        self.stage = stage;
        self.rate.change(rate, cx);
    }
}

impl Sender for Flow {
    type Params = Params;
    type Shared = ();

    fn open(path: &PathInfo, cx: &mut Cx<'_, Params>) -> Self {
        Self { rate: FlowRate::new(path, cx.params.limits()), decided_to: 0, stage: 0, last_rtt: 0, difference: 0.0 }
    }

    #[inline(always)]
    fn control(&self, _: &Cx<'_, Params>) -> Control {
        self.rate.control()
    }

    fn on_ack(&mut self, ack: &Ack<'_>, cx: &mut Cx<'_, Params>) {
        // HandleAckTimely
        if ack.seq <= self.decided_to {
            return;
        }
        let rtt = ack.rtt.as_ps() / 1000;
        if self.decided_to != 0 {
            self.decide(rtt, cx);
        }
        if ack.sent_to > self.decided_to {
            self.decided_to = ack.sent_to;
            self.last_rtt = rtt;
        }
    }
}
