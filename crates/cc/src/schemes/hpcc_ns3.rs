//! # hpcc-ns3: HPCC as its public simulator runs it
//!
//! ## Idea
//! The HPCC of the simulator that its authors published (ns-3, CC_MODE 3), exactly: the same types, the same rounding,
//! the same fields in the telemetry. The same events give bit-identical results.
//!
//! ## Signals
//! * Switch: telemetry (INT) as a data packet leaves: line rate, time, bytes sent, queue length.
//! * Receiver: each ACK carries its packet's telemetry back.
//! * Sender: ACKs. Marks and losses change nothing.
//!
//! ## Control law
//! R is the rate, Rc the reference rate, C the rate of the sender's NIC, T the network's largest round-trip time in
//! whole nanoseconds, W_max its largest bandwidth-delay product. A flow starts at R = Rc = C with U = 1.
//!
//! * A hop's record has the time mod 2^24 ns; bytes sent in units of 128 `int_multi` bytes, mod 2^20; the queue in
//!   units of 80 `int_multi` bytes, mod 2^17; the line rate as one of 25, 50, 100, 200, 400 Gb/s, any other as 25.
//!   Differences of time and bytes are corrected for one wrap-around.
//! * An ACK whose number is above the update limit is a full update, any other one a fast one, if `fast_react`. While
//!   the limit is 0 an ACK only stores its telemetry and sets the limit to the next byte to send.
//! * An update computes for each hop u = txRate/B + min(q, q before) C / (B W_max), txRate = bytes 8 / tau over the
//!   time tau since the previous ACK, and stores its record. A fast one with `sample_feedback` leaves out hops without
//!   queue.
//! * U = (U (T - tau) + u tau)/T with the largest u and its tau, at most T. c = U/`u_target`. If c >= 1, or after
//!   `mi_thresh` additive steps: R = Rc/c + `rate_ai`, else R = Rc + `rate_ai`; R is kept between `min_rate` and C.
//! * A full update sets Rc = R, counts the additive step or clears the count, and raises the limit to the next byte to
//!   send.
//! * `multi_rate`: all of this is done per hop, and R is the smallest of the hops' rates.
//! * R is whole bits per second, Rc/c is truncated. A change of R moves a packet that already waits for its time.
//! * `window`: bytes in flight < W_max, or with `var_win` < max(1, floor(W_max R/C)), in 64 bits that wrap around.
//!
//! Presets: `hpcc-ns3` with the values of that simulator's `run.py` at 100 Gb/s; `hpcc-ns3-nowin` without the window.
//!
//! ## Parameters
//! Names in capitals are the keys of that simulator's configuration.
//!
//! | name | unit | default | source |
//! |---|---|---|---|
//! | `u_target` | share of a link | 0.95 | U_TARGET |
//! | `mi_thresh` | additive steps | 0 | MI_THRESH; the paper's maxStage is 5 |
//! | `rate_ai` | rate | 40 Mbps | RATE_AI, 10 Mb/s for each 25 Gb/s |
//! | `min_rate` | rate | 1 Gbps | MIN_RATE |
//! | `int_multi` | factor | 4 | INT_MULTI, 1 for each 25 Gb/s |
//! | `fast_react` | true or false | true | FAST_REACT |
//! | `multi_rate` | true or false | false | MULTI_RATE |
//! | `sample_feedback` | true or false | false | SAMPLE_FEEDBACK |
//! | `window` | true or false | true | HAS_WIN |
//! | `var_win` | true or false | true | VAR_WIN |
//! | `rate_bound` | true or false | true | RATE_BOUND; off: packets leave at C, and the rate sets only the window |
//!
//! ## Where we differ from the paper and why
//! * All of it is that simulator's form: it computes rates and not windows, always by multiplication with `mi_thresh`
//!   0, with a minimum rate, and ignores the path's number.
//! * With `window` off that code divides by W_max = 0: u is NaN, or infinite where a queue waits. The same happens
//!   here, and such a value becomes a rate as on x86-64: U stays 1 until a queue waits, and R falls to `min_rate`; then
//!   U is infinite; and from the first ACK that comes T or more after the previous one, U is NaN and R = C.
//! * On a path of more than five switches the first ACK stores five records and no later one changes the rate, as in
//!   that code without assertions. A caller that runs that simulator's network should refuse such a path.
//! * A line rate that has no number leaves the field's old value there, which in a fresh packet is that of 25 Gb/s.
//! * Without `rate_bound` that code still moves a waiting packet as if it were paced. Here it is not moved.
//!
//! ## References
//! * Li et al., HPCC: High Precision Congestion Control, SIGCOMM 2019, sections 3 and 4, and its simulator.

use crate::ns3_rate::{FlowRate, Limits, whole};
use crate::roles::*;
use crate::{IntHop, Telemetry};
use fanin_units::Rate;

/// The scheme.
pub struct HpccNs3;

/// Its parameters; the manual above gives their sources.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "spec", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
#[cfg_attr(feature = "spec", serde(deny_unknown_fields))]
pub struct Params {
    /// Target utilisation (eta).
    pub u_target: f64,
    /// Additive steps before a multiplicative one.
    pub mi_thresh: u32,
    /// Additive step of the rate.
    pub rate_ai: Rate,
    /// Lower bound of the rate.
    pub min_rate: Rate,
    /// Factor of the units of the telemetry.
    pub int_multi: u32,
    /// Whether ACKs between full updates change the rate.
    pub fast_react: bool,
    /// Whether each hop has a rate of its own.
    pub multi_rate: bool,
    /// Whether ACKs between full updates use only hops with a queue.
    pub sample_feedback: bool,
    /// Whether a window applies as well.
    pub window: bool,
    /// Whether that window shrinks with the rate.
    pub var_win: bool,
    /// Whether packets are paced at the rate, or at the NIC's.
    pub rate_bound: bool,
}

impl Scheme for HpccNs3 {
    type Params = Params;
    type Sender = Flow;
    type Receiver = NoReceiver<Params>;
    type Switch = NoSwitch<Params>;
    const PRESETS: &'static [&'static str] = &["hpcc-ns3", "hpcc-ns3-nowin"];

    fn telemetry_rates(_: &Params) -> Option<&'static [u64]> {
        Some(&[25, 50, 100, 200, 400])
    }

    fn preset(id: &str) -> Params {
        let window = !id.ends_with("-nowin");
        Params {
            u_target: 0.95,
            mi_thresh: 0,
            rate_ai: Rate::from_mbps(40),
            min_rate: Rate::from_gbps(1),
            int_multi: 4,
            fast_react: true,
            multi_rate: false,
            sample_feedback: false,
            window,
            var_win: window,
            rate_bound: true,
        }
    }

    fn wants_ecn(_: &Params) -> bool {
        false
    }

    fn wire_format(_: &Params) -> WireFormat {
        WireFormat::Int { unit: 1 }
    }

    fn header_overhead(_: &Params) -> HeaderOverhead {
        // HPCC 4.1: two bytes and five records of eight
        HeaderOverhead { telemetry: true, ..HeaderOverhead::new(42, 42) }
    }

    fn check(p: &Params) -> Result<(), &'static str> {
        require([
            (p.u_target > 0.0 && p.u_target <= 1.0, "u_target must be above 0 and at most 1, like 0.95"),
            ((1..=1_000_000).contains(&p.int_multi), "int_multi must be 1 to 1000000"),
            (p.min_rate > Rate::ZERO, "min_rate must be above 0: a flow at rate 0 never sends again"),
        ])
    }
}

/// That simulator's record of a hop (int-header.h).
#[derive(Clone, Copy, Debug, Default)]
struct Record {
    line: u64,
    time: u32,
    bytes: u32,
    queued: u32,
}

impl Record {
    const TIME: u32 = 24;
    const BYTES: u32 = 20;
    const QUEUED: u32 = 17;

    fn new(hop: &IntHop, multi: u32) -> Self {
        let low = |value: u64, bits: u32| (value & ((1 << bits) - 1)) as u32;
        let line = match hop.rate.as_bps() / 1_000_000_000 {
            known @ (50 | 100 | 200 | 400) if hop.rate == Rate::from_gbps(known) => known,
            _ => 25,
        };
        Self {
            line: line * 1_000_000_000,
            time: low(hop.time.as_ps() / 1000, Self::TIME),
            bytes: low(hop.sent / (128 * multi) as u64, Self::BYTES),
            queued: low((hop.queued as u32 / (80 * multi)) as u64, Self::QUEUED),
        }
    }
    fn ns_since(&self, old: &Self) -> u64 {
        (self.time.wrapping_sub(old.time) & ((1 << Self::TIME) - 1)) as u64
    }
    fn bytes_since(&self, old: &Self, multi: u32) -> u64 {
        let units = self.bytes.wrapping_sub(old.bytes) & ((1 << Self::BYTES) - 1);
        // 32 bits there
        units.wrapping_mul(128).wrapping_mul(multi) as u64
    }
    fn queued(&self, multi: u32) -> u32 {
        self.queued.wrapping_mul(80).wrapping_mul(multi)
    }
}

/// A reference rate with its estimate: one for a flow, or one for each hop.
#[derive(Clone, Copy, Debug)]
struct Reference {
    /// U.
    used: f64,
    /// Rc.
    rate: u64,
    stage: u32,
}

impl Reference {
    /// U = (U (T - tau) + u tau)/T.
    fn measure(&mut self, used: f64, tau: u64, round_trip: u64) {
        let tau = tau.min(round_trip);
        self.used = (self.used * (round_trip - tau) as f64 + used * tau as f64) / round_trip as f64;
    }

    /// The next rate and stage.
    fn next(&self, p: &Params, line: u64) -> (u64, u32) {
        let c = self.used / p.u_target;
        let (rate, stage) = if c >= 1.0 || self.stage >= p.mi_thresh {
            (whole(self.rate as f64 / c), 0)
        } else {
            (self.rate, self.stage.wrapping_add(1))
        };
        (rate.wrapping_add(p.rate_ai.as_bps()).max(p.min_rate.as_bps()).min(line), stage)
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
    /// An ACK is a full update only above this offset.
    updated_to: u64,
    /// Whether the last ACK computed a rate.
    changed: bool,
    seen: [Record; Telemetry::MOST],
    whole_path: Reference,
    per_hop: [Reference; Telemetry::MOST],
    /// T in nanoseconds.
    round_trip: u64,
}

impl Flow {
    /// The reference rate Rc.
    pub fn reference(&self) -> Rate {
        Rate::from_bps(self.whole_path.rate)
    }

    /// The estimate U.
    pub fn utilisation(&self) -> f64 {
        self.whole_path.used
    }

    /// UpdateRateHp after the first ACK, on a path of at most five switches.
    fn update(&mut self, hops: &[IntHop], fast: bool, cx: &mut Cx<'_, Params>) {
        let p = cx.params;
        let line = self.rate.line();
        let (mut most_used, mut its_tau) = (0.0, 0);
        let mut taken = [false; Telemetry::MOST];
        for (i, hop) in hops.iter().enumerate() {
            let new = Record::new(hop, p.int_multi);
            if p.sample_feedback && fast && new.queued(p.int_multi) == 0 {
                continue;
            }
            taken[i] = true;
            let old = core::mem::replace(&mut self.seen[i], new);
            let tau = new.ns_since(&old);
            let duration = tau as f64 * 1e-9;
            let tx_rate = (new.bytes_since(&old, p.int_multi) * 8) as f64 / duration;
            let queue = new.queued(p.int_multi).min(old.queued(p.int_multi));
            // HPCC eq. (2), in that code's order of operations
            let used =
                tx_rate / new.line as f64 + queue as f64 * line as f64 / new.line as f64 / self.rate.most() as f64;
            if p.multi_rate {
                self.per_hop[i].measure(used, tau, self.round_trip);
            } else if used > most_used {
                (most_used, its_tau) = (used, tau);
            }
        }
        if !taken.contains(&true) {
            return;
        }
        let mut rate = line;
        if p.multi_rate {
            for (reference, taken) in self.per_hop.iter_mut().zip(taken).take(hops.len()) {
                if !taken {
                    rate = rate.min(reference.rate);
                    continue;
                }
                let (next, stage) = reference.next(p, line);
                rate = rate.min(next);
                if !fast {
                    (reference.rate, reference.stage) = (next, stage);
                }
            }
        } else {
            self.whole_path.measure(most_used, its_tau, self.round_trip);
            let (next, stage) = self.whole_path.next(p, line);
            rate = next;
            if !fast {
                self.whole_path.stage = stage;
            }
        }
        if !fast {
            self.whole_path.rate = rate;
        }
        self.rate.change(rate, cx);
        self.changed = true;
    }
}

impl Sender for Flow {
    type Params = Params;
    type Shared = ();

    fn open(path: &PathInfo, cx: &mut Cx<'_, Params>) -> Self {
        let line = path.line_rate.as_bps();
        let start = Reference { used: 1.0, rate: line, stage: 0 };
        Self {
            rate: FlowRate::new(path, cx.params.limits()),
            updated_to: 0,
            changed: false,
            seen: [Record::default(); Telemetry::MOST],
            whole_path: start,
            per_hop: [start; Telemetry::MOST],
            round_trip: path.network_rtt.as_ps() / 1000,
        }
    }

    #[inline(always)]
    fn control(&self, _: &Cx<'_, Params>) -> Control {
        // ChangeRate reschedules the waiting packet and the NIC also when the rate stays the same.
        Control { retime: self.changed, ..self.rate.control() }
    }

    /// HandleAckHp.
    fn on_ack(&mut self, ack: &Ack<'_>, cx: &mut Cx<'_, Params>) {
        self.changed = false;
        let fast = ack.seq <= self.updated_to;
        if fast && !cx.params.fast_react {
            return;
        }
        let (hops, count) = ack.telemetry.map_or((&[][..], 0), |t| (t.hops(), t.count()));
        if self.updated_to == 0 {
            self.updated_to = ack.sent_to;
            for (seen, hop) in self.seen.iter_mut().zip(hops) {
                *seen = Record::new(hop, cx.params.int_multi);
            }
            return;
        }
        if count as usize <= Telemetry::MOST {
            self.update(hops, fast, cx);
        }
        if !fast {
            self.updated_to = self.updated_to.max(ack.sent_to);
        }
    }

    fn watch(&self, see: &mut dyn FnMut(&'static str, f64)) {
        see("u", self.whole_path.used);
    }
}
