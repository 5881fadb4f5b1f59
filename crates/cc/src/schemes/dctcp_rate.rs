//! # dctcp-rate: DCTCP as a rate that starts at line rate
//!
//! ## Idea
//! DCTCP without slow start, for RDMA: HPCC's authors compare with it so that all schemes start alike. The rate takes
//! the place of the window: cut in proportion to the marked fraction, raised by a constant each round trip.
//!
//! ## Signals
//! * Switch: marks on arrival above K, with HPCC's authors 30 KB at 10 Gb/s and in proportion at other rates.
//! * Receiver: each ACK echoes the mark of the packet that it answers. If an ACK covers more than one packet, the marks
//!   of the others are lost, so it is meant for an ACK per packet.
//! * Sender: ACKs. Losses do not change the rate.
//!
//! ## Control law
//! R is the rate, C the line rate of the sender's NIC. A flow starts at R = C with alpha = `initial_alpha`. On an ACK,
//! in this order:
//!
//! * alpha: once for each window of data, alpha = (1 - g) alpha + g F, as in `dctcp`.
//! * Cut: a marked ACK sets R = max(`min_rate`, R (1 - alpha/2)), not again before a byte is acknowledged that was sent
//!   after the cut.
//! * Increase: an ACK that ends a window of data, if no cut is that recent, sets R = min(C, R + `additive_increase`).
//! * `window`: bytes in flight < max(1, floor(W_max R/C)), where W_max is the network's largest bandwidth-delay
//!   product.
//!
//! ## Parameters
//! A rate is written as such ("615 Mbps") or as a share of the line rate C (0.00615). In a spec: `parameters = {
//! additive_increase = "615 Mbps", window = false }`.
//!
//! | name | unit | default | source |
//! |---|---|---|---|
//! | `g` | gain of alpha | 0.0625 | 1/16: DCTCP 4, HPCC's simulator |
//! | `initial_alpha` | 0 to 1 | 1 | HPCC's simulator |
//! | `additive_increase` | rate or share of C | 0.00615 | HPCC's simulator: 615 Mb/s at 100 Gb/s, a packet per 13 us |
//! | `min_rate` | rate or share of C | 0.01 | HPCC's simulator, 1 Gb/s at 100 Gb/s; the share is our scaling |
//! | `window` | true or false | true | HPCC 5.1: the same window for all schemes |
//!
//! ## Where we differ from the paper and why
//! * HPCC's paper says only that it removes slow start; the rest is taken from its simulator, without two errors. There
//!   the first ACK only begins a window of data, and its mark is counted once more in it; here, as in RFC 8257, the
//!   first ACK is a window of its own. F there is marked ACKs over the packets in flight when the window began, at most
//!   1; here it is marked over acknowledged bytes.
//! * `dctcp-ns3` is that simulator's scheme with its errors.
//! * R is whole bits per second, rounded to the nearest (halves up).
//!
//! ## References
//! * Li et al., HPCC: High Precision Congestion Control, SIGCOMM 2019, section 5.1, and its simulator.
//! * Alizadeh et al., Data Center TCP (DCTCP), SIGCOMM 2010, section 3.

use super::dcqcn::{RateOrShare, scaled_window};
use super::dctcp::{Estimate, check_estimate};
use crate::Action;
use crate::roles::*;
use fanin_units::Rate;

/// The scheme.
pub struct DctcpRate;

/// Its parameters; the manual above gives their sources.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "spec", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
#[cfg_attr(feature = "spec", serde(deny_unknown_fields))]
pub struct Params {
    /// Gain of alpha.
    pub g: f64,
    /// Alpha before the first ACK.
    pub initial_alpha: f64,
    /// Step of the rate, once per window of data.
    pub additive_increase: RateOrShare,
    /// Lower bound of the rate.
    pub min_rate: RateOrShare,
    /// Whether a window of the network's bandwidth-delay product times R/C applies as well.
    pub window: bool,
}

impl Scheme for DctcpRate {
    type Params = Params;
    type Sender = Flow;
    type Receiver = NoReceiver<Params>;
    type Switch = NoSwitch<Params>;
    const PRESETS: &'static [&'static str] = &["dctcp-rate"];

    fn preset(_: &str) -> Params {
        Params {
            g: 1.0 / 16.0,
            initial_alpha: 1.0,
            additive_increase: RateOrShare::Share(0.00615),
            min_rate: RateOrShare::Share(0.01),
            window: true,
        }
    }

    fn needs_marks(_: &Params) -> bool {
        true
    }

    fn check(p: &Params) -> Result<(), &'static str> {
        check_estimate(p.g, p.initial_alpha)?;
        if !p.additive_increase.is_possible(1) {
            Err("additive_increase must be a rate or a share above 0 and at most 1, or no flow ever speeds up")
        } else if !p.min_rate.is_possible(1) {
            Err("min_rate must be above 0: a flow at rate 0 never sends again")
        } else {
            Ok(())
        }
    }
}

/// A flow at its sender.
#[derive(Clone, Debug)]
pub struct Flow {
    rate: u64,
    window: u64,
    estimate: Estimate,
    /// Next byte to send at the last cut, until everything before it is acknowledged.
    cut_to: Option<u64>,
    line: u64,
    largest_window: u64,
}

impl Flow {
    /// The estimate alpha.
    pub fn alpha(&self) -> f64 {
        self.estimate.alpha
    }

    fn rate_changed(&mut self, p: &Params) {
        self.window = if p.window { scaled_window(self.largest_window, self.rate, self.line) } else { u64::MAX };
    }
}

impl Sender for Flow {
    type Params = Params;
    type Shared = ();

    fn open(path: &PathInfo, cx: &mut Cx<'_, Params>) -> Self {
        let line = path.line_rate.as_bps();
        let mut flow = Self {
            // HPCC 5.1: no slow start
            rate: line,
            window: u64::MAX,
            estimate: Estimate::new(cx.params.initial_alpha),
            cut_to: None,
            line,
            largest_window: path.network_bdp,
        };
        flow.rate_changed(cx.params);
        flow
    }

    #[inline(always)]
    fn control(&self, _: &Cx<'_, Params>) -> Control {
        Control { window: self.window, ..Control::rate(Rate::from_bps(self.rate)) }
    }

    fn on_ack(&mut self, ack: &Ack<'_>, cx: &mut Cx<'_, Params>) {
        let p = cx.params;
        let window_ended = self.estimate.on_ack(ack, p.g, cx);
        if self.cut_to.is_some_and(|to| ack.acked_to > to) {
            self.cut_to = None;
        }
        if self.cut_to.is_some() {
            return;
        }
        let before = self.rate;
        if ack.ecn_echo {
            // DCTCP eq. (2) on the rate, note 5: at most once per window of data
            self.rate = self.estimate.cut(self.rate).max(p.min_rate.at(self.line)).min(self.rate);
            self.cut_to = Some(ack.sent_to);
            if self.rate < before {
                cx.count(Action::Cut);
            }
        } else if window_ended {
            self.rate = (self.rate + p.additive_increase.at(self.line)).min(self.line);
            if self.rate > before {
                cx.count(Action::Increase);
            }
        }
        if self.rate != before {
            self.rate_changed(p);
        }
    }
}
