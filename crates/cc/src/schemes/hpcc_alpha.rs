//! # hpcc-alpha: HPCC with a register for each link, and alpha-fair rates
//!
//! ## Idea
//! HPCC follows the busiest link of a path alone, and so its rates are nearly max-min fair. Its appendix A.3 sketches
//! an alternative: a sender keeps a rate for each link of its path, as if the path had no other, and combines these
//! rates by a parameter alpha. The larger it is, the less a flow over many busy links has to give way to flows over
//! few.
//!
//! ## Signals
//! Those of `hpcc`: telemetry of each link in data packets, carried back by ACKs.
//!
//! ## Control law
//! T is the base round-trip time, U_i the utilisation of link i, R_i its register, `a` the additive increase. Rates are
//! kept as windows: W_i = R_i T, W = R T.
//!
//! * A flow starts with W = W_init = B_NIC T, at line rate.
//! * On an ACK each link has its own U_i, measured as HPCC measures that of the busiest one: u' = min(qlen, last
//!   qlen)/(B T) + txRate/B, U_i = (1 - tau/T) U_i + (tau/T) u'.
//! * Each link: W_i = W_i,c `eta`/U_i + a (A.3). Once per round trip W_i,c = W_i, on the first ACK for a byte sent
//!   after the last such update, as in HPCC's Algorithm 1. There are no purely additive steps.
//! * W = (sum of W_i^-`alpha`)^(-1/`alpha`) (eq. (7)), at most W_init and at least `a`.
//!
//! At rest R_i = a/(1 - `eta`/U_i), the same for all flows of a link. `alpha` = 1 is proportional fairness: between two
//! flows of one link, one with a second link as busy has half the rate of the other. With a large `alpha` rates are
//! max-min fair, the least of the registers. With a small one the sum of all rates is largest, and flows over several
//! busy links get next to nothing.
//!
//! ## Parameters
//! | name | unit | default | source |
//! |---|---|---|---|
//! | `alpha` | number above 0 | 1 | A.3: any; 1 is proportional fairness |
//! | `eta` | share of the line | 0.95 | U_target: A.3, 5.1 |
//! | `additive_increase` | bytes | 80 B | 5.1: for 100 flows at 100 Gb/s |
//! | `expected_flows` | flows on a link | 0 | 3.3: a = W_init (1 - eta)/N; 0 takes `additive_increase` as it is |
//! | `base_rtt` | time | 0 ps | T: 9 us (testbed) or 13 us (simulation) in 5.1; 0 is the network's largest |
//! | `idle_cost` | share | 0.01 | ours: the most that links without congestion take off a rate |
//!
//! ## Where we differ from the paper and why
//! * The paper sketches this form in a paragraph and never ran it. What A.3 does not say is as in Algorithm 1: windows
//!   instead of rates, a reference per round trip, reactions to every ACK, `a` without stages.
//! * A register starts with its first record, at W n^(1/alpha) for n links, so that eq. (7) gives the window that the
//!   flow has. So it does after a change of the path, as the links are others then.
//! * The register of a link that is below `eta` grows without end, and would come back late when the link fills. It is
//!   at most such that one link decides and the others, at their bound, lower the rate by `idle_cost`: W_init ((n -
//!   1)/((1 - `idle_cost`)^-`alpha` - 1))^(1/`alpha`), or W_init n^(1/`alpha`) if that is more. With `alpha` = 1 and
//!   five links this is 396 W_init, nine round trips of twice the load away; with 0.1 it is 10^36 W_init. A small
//!   `alpha` therefore reacts late to a link that has had no congestion.
//! * W is at least `a`: below it eq. (7) may ask for a rate at which no ACKs come back to tell of a change.
//! * R depends on the small difference of `eta` and U_i. Where `a` is small, two flows that read a link at slightly
//!   different times have rates that differ by up to a sixth, for long; so in `hpcc`.
//! * As in `hpcc`, the first ACK of a path only stores its records, a link with two records of the same time keeps its
//!   U_i, and paths have five records at most. Telemetry is exact.
//!
//! ## References
//! * Li et al., HPCC: High Precision Congestion Control, SIGCOMM 2019, appendix A.3.
//! * Mo and Walrand, Fair End-to-End Window-Based Congestion Control, IEEE/ACM Transactions on Networking 2000.

use super::hpcc::{HEADER_OVERHEAD, additive_increase, initial_window, load};
use crate::Action;
use crate::roles::*;
use crate::telemetry::Telemetry;
use fanin_units::{Bytes, Rate, Time};

/// The scheme.
pub struct HpccAlpha;

/// Its parameters; the manual above gives their sources.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "spec", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
#[cfg_attr(feature = "spec", serde(deny_unknown_fields))]
pub struct Params {
    /// The form of fairness.
    pub alpha: f64,
    /// Target utilisation of links.
    pub eta: f64,
    /// Bytes that every step adds (W_AI).
    pub additive_increase: Bytes,
    /// Flows on a link by which W_AI is computed; 0 takes `additive_increase`.
    pub expected_flows: u32,
    /// T; 0 is the network's largest base round-trip time.
    pub base_rtt: Time,
    /// Share of a rate that links without congestion take off it at most.
    pub idle_cost: f64,
}

impl Scheme for HpccAlpha {
    type Params = Params;
    type Sender = Flow;
    type Receiver = NoReceiver<Params>;
    type Switch = NoSwitch<Params>;
    const PRESETS: &'static [&'static str] = &["hpcc-alpha"];

    fn preset(_: &str) -> Params {
        Params {
            alpha: 1.0,
            eta: 0.95,
            additive_increase: Bytes(80),
            expected_flows: 0,
            base_rtt: Time::ZERO,
            idle_cost: 0.01,
        }
    }

    fn wants_ecn(_: &Params) -> bool {
        false
    }

    fn wire_format(_: &Params) -> WireFormat {
        WireFormat::Int { unit: 1 }
    }

    fn header_overhead(_: &Params) -> HeaderOverhead {
        HEADER_OVERHEAD
    }

    fn check(p: &Params) -> Result<(), &'static str> {
        require([
            (p.alpha > 0.0 && p.alpha <= 1000.0, "alpha must be above 0 and at most 1000, which is max-min fairness"),
            (p.eta > 0.0 && p.eta <= 1.0, "eta must be above 0 and at most 1, like 0.95"),
            (
                p.expected_flows > 0 || p.additive_increase.get() > 0,
                "additive_increase must be above 0, or flows never become fair",
            ),
            (
                p.expected_flows == 0 || p.eta < 1.0,
                "expected_flows shares out 1 - eta, so eta must be below 1, like 0.95",
            ),
            (p.idle_cost > 0.0 && p.idle_cost < 1.0, "idle_cost must be above 0 and below 1, like 0.01"),
        ])
    }
}

/// Eq. (7): the rate of a path whose links have these registers, at least one.
pub fn combine(registers: impl Iterator<Item = f64> + Clone, alpha: f64) -> f64 {
    // In units of the least: no power overflows.
    let least = registers.clone().fold(f64::INFINITY, f64::min);
    let sum: f64 = registers.map(|register| libm::pow(register / least, -alpha)).sum();
    least * libm::pow(sum, -1.0 / alpha)
}

/// The largest register of a path of so many links, in units of the flow's first window: links at it lower the rate by
/// `idle_cost` at most.
pub fn bound(links: usize, alpha: f64, idle_cost: f64) -> f64 {
    let others = (links - 1) as f64 / (libm::pow(1.0 - idle_cost, -alpha) - 1.0);
    // Finite, so that a register always comes back.
    libm::pow(others.max(links as f64), 1.0 / alpha).min(1e280)
}

/// A link of a flow's path.
#[derive(Clone, Copy, Debug, Default)]
struct Link {
    /// U_i, once there is one.
    used: Option<f64>,
    /// W_i,c in bytes.
    reference: f64,
    /// W_i.
    register: f64,
}

/// A flow at its sender.
#[derive(Clone, Debug)]
pub struct Flow {
    /// W, in bytes.
    window: f64,
    links: [Link; Telemetry::MOST],
    /// Largest register.
    bound: f64,
    /// lastUpdateSeq.
    updated_to: u64,
    /// The last ACK's records.
    seen: Telemetry,
    /// W_init.
    most: f64,
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

    /// The registers W_i of the path's links, in bytes; none before the first telemetry.
    pub fn registers(&self) -> impl Iterator<Item = f64> + Clone + '_ {
        self.links[..self.seen.hops().len()].iter().map(|link| link.register)
    }

    fn set_control(&mut self) {
        // A packet may leave while the bytes in flight are fewer than W, and these are whole
        let window = libm::ceil(self.window).max(1.0) as u64;
        // Algorithm 1 line 27: R = W/T
        let rate = (self.window * 8e12 / self.rtt.as_ps() as f64 + 0.5) as u64;
        self.control = (window, Rate::from_bps(rate.clamp(1, self.nic.as_bps())));
    }

    /// Registers for the links of a new path, by which the window stays as it is.
    fn begin(&mut self, links: usize, p: &Params) {
        self.bound = self.most * bound(links, p.alpha, p.idle_cost);
        let register = (self.window * libm::pow(links as f64, 1.0 / p.alpha)).min(self.bound);
        self.links = [Link { used: None, reference: register, register }; Telemetry::MOST];
    }

    /// U_i of each link (Algorithm 1 lines 2 to 9, without the choice of the busiest).
    fn measure(&mut self, telemetry: &Telemetry) {
        for ((link, new), old) in self.links.iter_mut().zip(telemetry.hops()).zip(self.seen.hops()) {
            if let Some((u, tau)) = load(new, old, self.rtt) {
                let weight = tau.min(self.rtt).as_ps() as f64 / self.rtt.as_ps() as f64;
                link.used = Some(link.used.map_or(u, |before| (1.0 - weight) * before + weight * u));
            }
        }
    }

    fn compute(&mut self, links: usize, update: bool, cx: &mut Cx<'_, Params>) {
        let p = cx.params;
        for link in &mut self.links[..links] {
            // A.3: R_i = R_i U_target/U_i + a
            if let Some(used) = link.used {
                link.register = (link.reference * p.eta / used + self.step).min(self.bound);
            }
            if update {
                link.reference = link.register;
            }
        }
        if update {
            cx.count(Action::ReferenceUpdate);
        }
        let before = self.window;
        self.window = combine(self.registers(), p.alpha).min(self.most).max(self.step);
        if self.window != before {
            cx.count(if self.window < before { Action::Cut } else { Action::Increase });
            self.set_control();
        }
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
            links: Default::default(),
            bound: most,
            updated_to: 0,
            seen: Telemetry::default(),
            most,
            step: step.min(most),
            rtt,
            control: (0, Rate::ZERO),
            nic: path.line_rate,
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
        let update = ack.acked_to > self.updated_to;
        let links = telemetry.hops().len();
        // 4.1: with another pathID the records are discarded
        if (telemetry.path(), telemetry.count()) != (self.seen.path(), self.seen.count()) {
            if self.seen.count() > 0 {
                cx.count(Action::PathChange);
            }
            self.begin(links, cx.params);
        } else {
            self.measure(telemetry);
            if self.links[..links].iter().any(|link| link.used.is_some()) {
                self.compute(links, update, cx);
            }
        }
        if update {
            // Line 24
            self.updated_to = ack.sent_to;
        }
        self.seen = *telemetry;
    }

    fn on_loss(&mut self, loss: &Loss, _: &mut Cx<'_, Params>) {
        // What is sent again is newer than the last update.
        self.updated_to = self.updated_to.min(loss.from);
    }

    fn on_timeout(&mut self, loss: &Loss, cx: &mut Cx<'_, Params>) {
        self.on_loss(loss, cx);
    }

    fn watch(&self, see: &mut dyn FnMut(&'static str, f64)) {
        let used = self.links.iter().filter_map(|link| link.used);
        see("utilisation", used.fold(0.0, f64::max));
        see("least_register", self.registers().fold(f64::INFINITY, f64::min).min(self.bound));
    }
}
