//! # hpcc: high precision congestion control
//!
//! ## Idea
//! Switches report the load of each link to the senders. A sender computes the bytes in flight on the busiest link of
//! its path, queued and propagating, and sets its window so that they are slightly fewer than the link carries in a
//! round trip. Links are well used and queues stay near zero.
//!
//! ## Signals
//! * Switch: writes into each data packet, as it leaves, the rate of its egress link, the time, the bytes that the port
//!   has sent before, and the bytes that wait there (3.1). No marks.
//! * Receiver: every data packet has an ACK (with fewer ACKs, small windows wait for timers), and every ACK carries
//!   back the telemetry of the data packet that it answers.
//! * Sender: the difference between two ACKs gives each link's rate, the smaller of two queues its queue. The path's
//!   number (XOR of its switches) shows whether two ACKs describe the same links.
//! * Losses are no signal. NACKs, and ACKs that repeat the end of a message, carry no telemetry and are ignored.
//!
//! ## Control law
//! B is the rate of a link, T the base round-trip time, W the window, W_c the reference window, `a` the additive
//! increase.
//!
//! * A flow starts with W = W_c = W_init = B_NIC T, so at line rate (3.2).
//! * On an ACK (Algorithm 1, lines 1 to 10), for each link u' = min(qlen, last qlen)/(B T) + txRate/B. The link with
//!   the largest u' counts: u is its u', tau the time between its two records, at most T. U = (1 - tau/T) U + (tau/T)
//!   u.
//! * Lines 11 to 20: with U >= `eta`, or after `max_stage` increases, W = W_c/(U/eta) + a; else W = W_c + a.
//! * Once per round trip W_c = W, and the count of increases rises by one after an additive step and returns to 0 after
//!   a multiplicative one: on the first ACK for a byte sent after the last such update (line 22). The ACKs in between
//!   compute W from the same W_c, so that the reactions of many ACKs to one queue do not accumulate.
//! * Rate: R = W/T. A change also moves a packet that already waits for its time.
//! * After a loss the sequence number goes back, and with it the byte after which W_c is next updated.
//!
//! Presets: `hpcc` is the whole scheme; `hpcc-per-ack` updates W_c with every ACK and so overreacts (3.2, Fig. 5, Fig.
//! 13); `hpcc-per-rtt` reacts only to the ACKs that update W_c (Fig. 13); `hpcc-rxrate` takes the arrival rate as a
//! link's rate, which counts a queue twice (3.4, Fig. 6).
//!
//! ## Parameters
//! | name | unit | default | source |
//! |---|---|---|---|
//! | `eta` | share of the line | 0.95 | 3.3, 5.1 |
//! | `max_stage` | additive steps | 5 | 3.3, 5.1 |
//! | `additive_increase` | bytes | 80 B | 5.1: for 100 flows at 100 Gb/s |
//! | `expected_flows` | flows on a link | 0 | 3.3: a = W_init (1 - eta)/N; 0 takes `additive_increase` as it is |
//! | `base_rtt` | time | 0 ps | T: 9 us (testbed) or 13 us (simulation) in 5.1; 0 is the network's largest |
//! | `reaction` | `reference`, `per-ack` or `per-rtt` | `reference` | 3.2, 5.4 |
//! | `link_rate` | `sent` or `arrived` | `sent` | 3.4: txRate or rxRate |
//! | `telemetry` | `exact` or `wire` | `exact` | 4.1: `wire` keeps what the fields of Fig. 7 can say |
//! | `wire_unit` | factor | 1 | 4.1: units of 128 B for bytes sent and 80 B for queues, times this |
//! | `wire_gap` | time | 2 ms | ours: after a longer gap between ACKs the fields may have wrapped |
//! | `division` | `exact` or `table` | `exact` | 4.3: `table` multiplies with a stored 1/n |
//! | `min_window` | bytes | 0 B | not in the paper; 0 is no floor |
//!
//! ## Where we differ from the paper and why
//! * Bytes in flight are payload, as the sequence numbers count them; pacing counts bytes on the wire. So the rate and
//!   not the window limits a flow that has no queue.
//! * The first ACK has no earlier one to compare with: it only stores its records and does line 24; so does the first
//!   one of a new path. The paper starts with an unknown L.
//! * The first u after that becomes U; the paper names no first U.
//! * W is at most W_init: B_NIC is the most that a NIC can send, and a flow limited elsewhere would raise W without
//!   bound. It has no floor but `a`, which every step adds; a window below a packet lets one packet leave at a time,
//!   paced.
//! * A link with two records of the same time (or the later one first) is left out of that ACK. Without any link U
//!   stays.
//! * A path has changed when pathID or the number of switches has; pathID alone, 12 bits, is the same for two paths in
//!   4,096. U, measured on the old path, is discarded with its records; W and W_c stay.
//! * Paths have five records at most, as Fig. 7 has room for; switches beyond them are not seen.
//! * `wire`: TS counts nanoseconds (4.1 names no unit) modulo 2^24, bytes sent wrap at 2^20 units, a queue saturates at
//!   2^16 - 1 units. Differences are computed modulo those. B has 4 bits: 0 is none, 1 to 15 are 10 and 100 Mb/s, 1,
//!   2.5, 5, 10, 25, 40, 50, 100, 200, 400 and 800 Gb/s, 1.6 and 3.2 Tb/s. A rate between them is written as the next
//!   lower one, so that such a link is underused and not overrun; one below them all as 10 Mb/s.
//! * `arrived`: switches send no such counter; it is computed as bytes sent plus bytes queued, which differs only by
//!   the packets that the port dropped.
//! * `per-rtt` also measures only between those ACKs.
//! * `per-ack` never settles: four flows use half of a link, with a Jain's index that varies from 0.7 to 1
//!   (`fabric/tests/theory/joining.rs`).
//! * Over several busy links a flow gets less than its max-min fair rate, as A.3 expects of noise: beside one flow on
//!   each link 94 % of theirs with W_AI for the flows that there are, and half of theirs with a tenth of that W_AI
//!   (`fabric/tests/theory/max_min.rs`).
//! * `table`: U/eta in units of 1/16,384 is the integer n of 1/n, at most 2^22, so U/eta is at most 256. From 2^22
//!   downwards a value is stored wherever 1/n has grown by 0.42 % (the paper gives no number for epsilon): 2,470 values
//!   of 4 bytes each.
//!
//! ## References
//! * Li et al., HPCC: High Precision Congestion Control, SIGCOMM 2019.

mod division;
mod params;
mod records;

use crate::Action;
use crate::roles::*;
use crate::telemetry::Telemetry;
use fanin_units::{Bytes, Rate, Time};

pub use division::{MOST_N, entries, fill, lookup, reciprocal};
pub use params::{Division, LinkRate, Params, Precision, Reaction};
pub(super) use records::load;

/// Telemetry in packets (Fig. 7, 5.1): 42 bytes, room for five switches, on data and ACKs alike.
pub const HEADER_OVERHEAD: HeaderOverhead = HeaderOverhead { telemetry: true, ..HeaderOverhead::new(42, 42) };

/// The scheme.
pub struct Hpcc;

impl Scheme for Hpcc {
    type Params = Params;
    type Sender = Flow;
    type Receiver = NoReceiver<Params>;
    type Switch = NoSwitch<Params>;
    const PRESETS: &'static [&'static str] = &["hpcc", "hpcc-per-ack", "hpcc-per-rtt", "hpcc-rxrate"];

    fn preset(id: &str) -> Params {
        Params {
            eta: 0.95,
            max_stage: 5,
            additive_increase: Bytes(80),
            expected_flows: 0,
            base_rtt: Time::ZERO,
            reaction: match id {
                "hpcc-per-ack" => Reaction::PerAck,
                "hpcc-per-rtt" => Reaction::PerRtt,
                _ => Reaction::Reference,
            },
            link_rate: if id == "hpcc-rxrate" { LinkRate::Arrived } else { LinkRate::Sent },
            telemetry: Precision::Exact,
            wire_unit: 1,
            wire_gap: Time::from_ms(2),
            division: Division::Exact,
            min_window: Bytes(0),
        }
    }

    fn wants_ecn(_: &Params) -> bool {
        false
    }

    fn wire_format(p: &Params) -> WireFormat {
        WireFormat::Int { unit: p.wire_unit }
    }

    fn header_overhead(_: &Params) -> HeaderOverhead {
        HEADER_OVERHEAD
    }

    fn check(p: &Params) -> Result<(), &'static str> {
        require([
            (p.eta > 0.0 && p.eta <= 1.0, "eta must be above 0 and at most 1, like 0.95"),
            (
                p.expected_flows > 0 || p.additive_increase.get() > 0,
                "additive_increase must be above 0, or flows never become fair",
            ),
            (
                p.expected_flows == 0 || p.eta < 1.0,
                "expected_flows shares out 1 - eta, so eta must be below 1, like 0.95",
            ),
            ((1..=1024).contains(&p.wire_unit), "wire_unit must be 1 to 1024"),
            (p.wire_gap > Time::ZERO, "wire_gap must be above 0, like \"2 ms\""),
        ])
    }
}

/// W_init in bytes: the bytes that a NIC sends in T (3.2).
pub fn initial_window(nic: Rate, rtt: Time) -> f64 {
    // The product of integers is exact and rounded once.
    (nic.as_bps() as u128 * rtt.as_ps() as u128) as f64 / 8e12
}

/// W_AI in bytes for so many flows on a link (3.3): in a round trip together they add at most the share 1 - eta.
pub fn additive_increase(initial_window: f64, eta: f64, flows: u32) -> f64 {
    initial_window * (1.0 - eta) / flows as f64
}

/// A flow at its sender.
#[derive(Clone, Debug, Default)]
pub struct Flow {
    /// W, in bytes.
    window: f64,
    /// W_c.
    reference: f64,
    /// incStage.
    stage: u32,
    /// lastUpdateSeq.
    updated_to: u64,
    /// U, once there is one.
    utilisation: Option<f64>,
    /// L: the last ACK's records.
    seen: Telemetry,
    /// When that ACK arrived.
    seen_at: Time,
    most: f64,
    least: f64,
    step: f64,
    rtt: Time,
    /// W and R as integers.
    control: (u64, Rate),
    nic: Rate,
}

impl Flow {
    /// W in bytes.
    pub fn window(&self) -> f64 {
        self.window
    }
    /// W_c in bytes.
    pub fn reference(&self) -> f64 {
        self.reference
    }
    /// U; none before two ACKs of one path.
    pub fn utilisation(&self) -> Option<f64> {
        self.utilisation
    }
    /// incStage.
    pub fn stage(&self) -> u32 {
        self.stage
    }
    /// lastUpdateSeq.
    pub fn updated_to(&self) -> u64 {
        self.updated_to
    }

    fn set_control(&mut self) {
        // 3.2: a packet may leave while the bytes in flight are fewer than W, and these are whole
        let window = libm::ceil(self.window).max(1.0) as u64;
        // 3.2, Algorithm 1 line 27: R = W/T
        let rate = (self.window * 8e12 / self.rtt.as_ps() as f64 + 0.5) as u64;
        self.control = (window, Rate::from_bps(rate.clamp(1, self.nic.as_bps())));
    }

    /// Whether the last records describe the same links and are recent enough to compare.
    fn comparable(&mut self, telemetry: &Telemetry, cx: &mut Cx<'_, Params>) -> bool {
        if self.seen.count() == 0 {
            return false;
        }
        // 4.1: with another pathID the records are discarded
        if (telemetry.path(), telemetry.count()) != (self.seen.path(), self.seen.count()) {
            cx.count(Action::PathChange);
            self.utilisation = None;
            return false;
        }
        if cx.params.telemetry == Precision::Wire && cx.now.saturating_sub(self.seen_at) > cx.params.wire_gap {
            self.utilisation = None;
            return false;
        }
        true
    }

    /// ComputeWind (Algorithm 1 lines 11 to 20).
    fn compute(&mut self, u: f64, update: bool, cx: &mut Cx<'_, Params>) {
        let p = cx.params;
        let before = self.window;
        let multiplicative = u >= p.eta || self.stage >= p.max_stage;
        let base = if multiplicative { divide(self.reference, u / p.eta, p.division) } else { self.reference };
        self.window = (base + self.step).min(self.most).max(self.least);
        if update {
            self.stage = if multiplicative { 0 } else { self.stage + 1 };
            self.reference = self.window;
            cx.count(Action::ReferenceUpdate);
            if !multiplicative {
                cx.count(Action::AdditiveIncrease);
            }
        }
        if self.window != before {
            cx.count(if self.window < before { Action::Cut } else { Action::Increase });
            self.set_control();
        }
    }
}

/// The first term of eq. (4), W_c/k. For k = 0, below the resolution of Fig. 7, the window becomes the largest
/// possible.
fn divide(reference: f64, k: f64, division: Division) -> f64 {
    match division {
        Division::Exact => reference / k,
        Division::Table => reference * reciprocal(k),
    }
}

impl Sender for Flow {
    type Params = Params;
    type Shared = ();

    fn open(path: &PathInfo, cx: &mut Cx<'_, Params>) -> Self {
        let p = cx.params;
        let rtt = if p.base_rtt > Time::ZERO { p.base_rtt } else { path.network_rtt.max(Time::from_ps(1)) };
        let most = initial_window(path.line_rate, rtt);
        let step = match p.expected_flows {
            0 => p.additive_increase.get() as f64,
            flows => additive_increase(most, p.eta, flows),
        };
        let mut flow = Self {
            window: most,
            reference: most,
            most,
            least: (p.min_window.get() as f64).min(most),
            step,
            rtt,
            control: (0, Rate::ZERO),
            nic: path.line_rate,
            ..Self::default()
        };
        flow.set_control();
        flow
    }

    #[inline(always)]
    fn control(&self, _: &Cx<'_, Params>) -> Control {
        let (window, rate) = self.control;
        Control { window, retime: true, ..Control::rate(rate) }
    }

    fn on_ack(&mut self, ack: &Ack<'_>, cx: &mut Cx<'_, Params>) {
        let Some(telemetry) = ack.telemetry.filter(|telemetry| telemetry.count() > 0) else {
            return;
        };
        // Algorithm 1 line 22
        let first_after_update = ack.acked_to > self.updated_to;
        let update = match cx.params.reaction {
            Reaction::Reference => first_after_update,
            Reaction::PerAck => true,
            Reaction::PerRtt if first_after_update => true,
            Reaction::PerRtt => return,
        };
        if self.comparable(telemetry, cx) {
            if let Some((u, tau)) = records::busiest(telemetry.hops(), self.seen.hops(), self.rtt, cx.params) {
                // Lines 8 and 9
                let weight = tau.min(self.rtt).as_ps() as f64 / self.rtt.as_ps() as f64;
                self.utilisation = Some(self.utilisation.map_or(u, |old| (1.0 - weight) * old + weight * u));
            }
            if let Some(u) = self.utilisation {
                self.compute(u, update, cx);
            }
        }
        if update {
            // Line 24
            self.updated_to = ack.sent_to;
        }
        // Line 27
        self.seen = *telemetry;
        self.seen_at = cx.now;
    }

    fn on_loss(&mut self, loss: &Loss, _: &mut Cx<'_, Params>) {
        // Go-back-N retransmits from here on, and those packets are newer than the last update.
        self.updated_to = self.updated_to.min(loss.from);
    }

    fn on_timeout(&mut self, loss: &Loss, cx: &mut Cx<'_, Params>) {
        self.on_loss(loss, cx);
    }

    fn watch(&self, see: &mut dyn FnMut(&'static str, f64)) {
        see("utilisation", self.utilisation.unwrap_or(0.0));
        see("reference_window", self.reference);
        see("increase_stage", self.stage as f64);
    }
}
