//! # nscc-rccc: Ultra Ethernet's window and its credit together
//!
//! ## Idea
//! A packet leaves only if both laws let it: the window of `nscc`, which answers what happens inside the network, and
//! the credit of `rccc`, with which the receiver divides its own link. Neither alone does both: credit does not see
//! links inside the network, and a window has to guess at how many others send to the receiver.
//!
//! ## Signals
//! Those of `nscc` and of `rccc`. In uet-htsim's runs of both, switches do not mark in front of hosts: credit deals
//! with that queue.
//!
//! ## Control law
//! Each as in its manual, with two changes:
//!
//! * The pull target asks for no more than the window and a packet.
//! * A packet that was trimmed in front of the receiver leaves the window as it is, unless quick adaptation acts.
//!
//! ## Parameters
//! | name | unit | default | source |
//! |---|---|---|---|
//! | `law` | `nscc`, `dctcp` or `constant` | nscc | as in `nscc` |
//! | `target_delay` | time, zero is `target_share` | 0 ps | as in `nscc` |
//! | `target_share` | share of the network's round-trip time | 0.75 | as in `nscc` |
//! | `gate` | power of 2 | 3 | as in `nscc` |
//! | `initial_window` | packets, 0 is 1.5 bandwidth-delay products | 0 | as in `nscc` |
//! | `base_rtt` | time, zero is the network's largest | 0 ps | as in `nscc`, for the window alone |
//! | `accurate_rtt` | true or false | false | as in `nscc` |
//! | `credit_size` | bytes on the wire | 64 | as in `rccc` |
//! | `request_timeout` | time | 200 us | as in `rccc` |
//! | `oversubscription` | ratio, 1 is none | 1 | as in `rccc`; uet-htsim has it without a window only |
//!
//! ## Where we differ from the paper and why
//! As in `nscc` and `rccc`.
//!
//! ## References
//! * Ultra Ethernet Specification 1.0, sections 3.6.13 (NSCC) and 3.6.14 (RCCC).
//! * uet-htsim, `uec.cpp`, options `-sender_cc -receiver_cc`: https://github.com/ultraethernet/uet-htsim

use super::nscc::{WindowParams, Windowed};
use super::rccc::{CreditParams, Credited, Granter, HasCredit, OVERHEAD, RDMA_ONLY};
use crate::roles::*;

/// The scheme.
pub struct NsccRccc;

/// Its parameters; the manual above gives their sources.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "spec", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
#[cfg_attr(feature = "spec", schemars(rename = "NsccRccc", extend("additionalProperties" = false)))]
pub struct Params {
    /// Those of the window.
    #[cfg_attr(feature = "spec", serde(flatten))]
    pub window: WindowParams,
    /// Those of credit.
    #[cfg_attr(feature = "spec", serde(flatten))]
    pub credit: CreditParams,
}

impl HasCredit for Params {
    fn credit(&self) -> &CreditParams {
        &self.credit
    }
}

impl Scheme for NsccRccc {
    type Params = Params;
    type Sender = Flow;
    type Receiver = Granter<Params>;
    type Switch = NoSwitch<Params>;
    const PRESETS: &'static [&'static str] = &["nscc-rccc"];

    fn preset(_: &str) -> Params {
        Params { window: WindowParams::DEFAULT, credit: CreditParams::DEFAULT }
    }

    fn needs_marks(_: &Params) -> bool {
        true
    }

    fn header_overhead(_: &Params) -> HeaderOverhead {
        OVERHEAD
    }

    fn rdma_only(_: &Params) -> Option<&'static str> {
        Some(RDMA_ONLY)
    }

    fn check(p: &Params) -> Result<(), &'static str> {
        p.window.check()?;
        p.credit.check()
    }
}

/// A flow at its sender.
#[derive(Clone, Debug)]
pub struct Flow {
    window: Windowed,
    credit: Credited,
}

impl Sender for Flow {
    type Params = Params;
    type Shared = ();

    fn open(path: &PathInfo, cx: &mut Cx<'_, Params>) -> Self {
        let p = cx.params;
        Self { window: Windowed::new(path, &p.window), credit: Credited::new(path, &p.credit, cx.now) }
    }

    #[inline(always)]
    fn control(&self, _: &Cx<'_, Params>) -> Control {
        let window = self.window.allowed();
        Control { window, wake_at: self.credit.wake_at, ..Control::rate(self.credit.rate()) }
    }

    fn on_send(&mut self, sent: &Sent, _: &mut Cx<'_, Params>) -> u32 {
        self.credit.on_send(sent, Some(self.window.bytes()))
    }

    fn on_ack(&mut self, ack: &Ack<'_>, cx: &mut Cx<'_, Params>) {
        self.window.on_ack(ack, cx);
        self.credit.on_ack();
    }

    fn on_notice(&mut self, notice: Notice, cx: &mut Cx<'_, Params>) {
        self.credit.on_notice(notice, cx);
    }

    fn on_loss(&mut self, loss: &Loss, cx: &mut Cx<'_, Params>) {
        self.window.on_loss(loss, cx);
        self.credit.on_loss();
    }

    fn on_timeout(&mut self, _: &Loss, cx: &mut Cx<'_, Params>) {
        self.window.on_timeout(cx);
        self.credit.on_loss();
    }

    fn on_trim(&mut self, trim: &Trim, cx: &mut Cx<'_, Params>) {
        self.window.on_trim(trim, trim.last_hop, cx);
        self.credit.on_lost(trim.wire);
    }

    fn on_timer(&mut self, cx: &mut Cx<'_, Params>) {
        self.credit.on_timer(cx);
    }

    fn poll_request(&mut self, left: u64, cx: &mut Cx<'_, Params>) -> Option<u32> {
        self.credit.poll_request(left, Some(self.window.bytes()), cx)
    }

    fn watch(&self, see: &mut dyn FnMut(&'static str, f64)) {
        self.window.watch(see);
        self.credit.watch(see);
    }
}
