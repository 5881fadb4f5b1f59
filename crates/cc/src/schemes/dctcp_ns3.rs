//! # dctcp-ns3: DCTCP as HPCC's public simulator runs it
//!
//! ## Idea
//! The DCTCP of the simulator that HPCC's authors published (ns-3, CC_MODE 8), exactly: a rate without slow start, with
//! the same types and rounding. The same events give bit-identical results. See `dctcp` for the paper's scheme and
//! `dctcp-rate` for the same law without this one's errors.
//!
//! ## Signals
//! * Switch: marks above K, with HPCC's authors 300 KB at 100 Gb/s.
//! * Receiver: each ACK echoes its packet's mark.
//! * Sender: ACKs, one for each packet.
//!
//! ## Control law
//! R is the rate, C the rate of the sender's NIC. A flow starts at R = C with alpha = 1. On an ACK, in this order:
//!
//! * A marked ACK is counted. An ACK whose number is above the batch limit ends a batch: alpha = (1 - g) alpha + g F,
//!   where F = min(1, marked ACKs / packets of the batch); the count starts anew, the batch limit becomes the next byte
//!   to send, and the new batch has (next byte to send - number)/payload + 1 packets. The first batch to end only sets
//!   the limit: it neither changes alpha nor clears the count of marked ACKs, and the next has (next byte to
//!   send)/payload + 1 packets.
//! * A cut is forgotten by an ACK whose number is above the next byte to send at the cut.
//! * Cut: a marked ACK while no cut is remembered sets R = max(`min_rate`, R (1 - alpha/2)).
//! * Increase: an ACK that ended a batch, while no cut is remembered, sets R = min(C, R + `dctcp_rate_ai`).
//! * R is whole bits per second, truncated.
//! * `window`: bytes in flight < W_max, or with `var_win` < max(1, floor(W_max R/C)), in 64 bits that wrap around.
//!   W_max is the network's largest bandwidth-delay product.
//!
//! Presets: `dctcp-ns3` with the values of that simulator's `run.py` at 100 Gb/s, which has the window;
//! `dctcp-ns3-nowin` without it.
//!
//! ## Parameters
//! Names in capitals are the keys of that simulator's configuration.
//!
//! | name | unit | default | source |
//! |---|---|---|---|
//! | `g` | gain of alpha | 0.0625 | EWMA_GAIN |
//! | `dctcp_rate_ai` | rate | 615 Mbps | DCTCP_RATE_AI, a packet of 1000 B for each round trip of 13 us |
//! | `min_rate` | rate | 1 Gbps | MIN_RATE |
//! | `window` | true or false | true | HAS_WIN |
//! | `var_win` | true or false | true | VAR_WIN |
//! | `rate_bound` | true or false | true | RATE_BOUND; off: packets leave at C, and the rate sets only the window |
//!
//! ## Where we differ from the paper and why
//! * All of it is that simulator's form: a rate, no slow start, marked ACKs over packets and not over bytes, and the
//!   first ACK's mark counted again in the batch after it.
//! * After going back in its stream a sender there may receive ACKs for more than it has retransmitted. Its size of a
//!   batch then wraps around in 64 bits, of which 32 are kept; the same happens here.
//!
//! ## References
//! * Li et al., HPCC: High Precision Congestion Control, SIGCOMM 2019, section 5.1, and its simulator.
//! * Alizadeh et al., Data Center TCP (DCTCP), SIGCOMM 2010, section 3.

use crate::Action;
use crate::ns3_rate::{FlowRate, Limits};
use crate::roles::*;
use fanin_units::Rate;

/// The scheme.
pub struct DctcpNs3;

/// Its parameters; the manual above gives their sources.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "spec", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
#[cfg_attr(feature = "spec", serde(deny_unknown_fields))]
pub struct Params {
    /// Gain of alpha.
    pub g: f64,
    /// Step of the rate, once per batch.
    pub dctcp_rate_ai: Rate,
    /// Lower bound of the rate.
    pub min_rate: Rate,
    /// Whether a window applies as well.
    pub window: bool,
    /// Whether that window shrinks with the rate.
    pub var_win: bool,
    /// Whether packets are paced at the rate, or at the NIC's.
    pub rate_bound: bool,
}

impl Scheme for DctcpNs3 {
    type Params = Params;
    type Sender = Flow;
    type Receiver = NoReceiver<Params>;
    type Switch = NoSwitch<Params>;
    const PRESETS: &'static [&'static str] = &["dctcp-ns3", "dctcp-ns3-nowin"];

    fn preset(id: &str) -> Params {
        let window = !id.ends_with("-nowin");
        Params {
            g: 1.0 / 16.0,
            dctcp_rate_ai: Rate::from_mbps(615),
            min_rate: Rate::from_gbps(1),
            window,
            var_win: window,
            rate_bound: true,
        }
    }

    fn needs_marks(_: &Params) -> bool {
        true
    }

    fn check(p: &Params) -> Result<(), &'static str> {
        require([
            ((0.0..=1.0).contains(&p.g), "g must be 0 to 1, like 0.0625 (1/16)"),
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
    alpha: f64,
    /// An ACK ends a batch only above this offset.
    batch_to: u64,
    /// Packets of the batch.
    batch: u32,
    marked: u32,
    /// Next byte to send at the cut that is remembered.
    cut_to: Option<u64>,
    payload: u32,
}

impl Flow {
    /// The estimate alpha.
    pub fn alpha(&self) -> f64 {
        self.alpha
    }

    fn batch_ended(&mut self, ack: &Ack<'_>, p: &Params) {
        let payload = self.payload.max(1) as u64;
        if self.batch_to == 0 {
            self.batch = (ack.sent_to / payload + 1) as u32;
        } else {
            let marked = self.marked as f64 / self.batch as f64;
            // std::min(1.0, x) is x only below 1
            let marked = if marked < 1.0 { marked } else { 1.0 };
            self.alpha = (1.0 - p.g) * self.alpha + p.g * marked;
            self.marked = 0;
            self.batch = (ack.sent_to.wrapping_sub(ack.seq) / payload + 1) as u32;
        }
        self.batch_to = ack.sent_to;
    }
}

impl Sender for Flow {
    type Params = Params;
    type Shared = ();

    fn open(path: &PathInfo, cx: &mut Cx<'_, Params>) -> Self {
        Self {
            rate: FlowRate::new(path, cx.params.limits()),
            alpha: 1.0,
            batch_to: 0,
            batch: 0,
            marked: 0,
            cut_to: None,
            payload: path.payload,
        }
    }

    #[inline(always)]
    fn control(&self, _: &Cx<'_, Params>) -> Control {
        self.rate.control()
    }

    /// HandleAckDctcp.
    fn on_ack(&mut self, ack: &Ack<'_>, cx: &mut Cx<'_, Params>) {
        let p = cx.params;
        if ack.ecn_echo {
            self.marked = self.marked.wrapping_add(1);
        }
        let ended = ack.seq > self.batch_to;
        if ended {
            if self.marked > 0 && self.batch_to != 0 {
                cx.count(Action::MarkedWindow);
            }
            self.batch_ended(ack, p);
        }
        if self.cut_to.is_some_and(|to| ack.seq > to) {
            self.cut_to = None;
        }
        if self.cut_to.is_some() {
            return;
        }
        if ack.ecn_echo {
            self.rate.change(self.rate.scaled(1.0 - self.alpha / 2.0), cx);
            self.cut_to = Some(ack.sent_to);
        } else if ended {
            self.rate.change(self.rate.raised(self.rate.get(), p.dctcp_rate_ai), cx);
        }
    }

    fn watch(&self, see: &mut dyn FnMut(&'static str, f64)) {
        see("alpha", self.alpha);
    }
}
