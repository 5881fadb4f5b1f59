//! # rccc: Ultra Ethernet's credit, which a receiver grants at the rate of its own link
//!
//! ## Idea
//! Each packet of data tells its receiver how much more its sender wants to send. The receiver pulls: it grants credit
//! to its senders in turn, a little below the rate of its link, so that what arrives after the first round trip fits,
//! however many send. In the first round trip a sender sends without a grant.
//!
//! ## Signals
//! * Sender: credits, whose number counts all quanta of 256 bytes granted so far, so that a lost one heals with the
//!   next. The first feedback of any kind ends sending without a grant.
//! * Receiver: the pull target of each packet, request and trimmed header.
//! * Switch: nothing, or marks if links inside the network are oversubscribed; the payload of packets is cut when a
//!   queue is full.
//!
//! ## Control law
//! * Sender: a packet may leave while credit is above 0, and takes its size from it. Credit starts at C = 1.5
//!   bandwidth-delay products and is cut to 0 by the first feedback; a credit adds what its number is above the highest
//!   so far, up to C. The pull target is that number plus what is to be sent, at most C, less the credit that is left.
//! * Receiver: flows whose target is above what they were granted are in a list, and each in turn gets 64 quanta, or
//!   what is missing to its target. A flow that has all moves to a second list, served while the first is empty, and
//!   gets 64 quanta in turn until it has C more than it asked for. Time between credits: that of the granted quanta at
//!   0.99 of the line rate, or of 4 quanta for a credit that repeats a number.
//! * A trimmed packet's flow joins the list, since its sender needs credit again.
//! * `oversubscription` above 1: the rate is multiplied by a share, from 0.9/`oversubscription` to 1. At random times,
//!   1.1 to 1.9 round-trip times apart: g = g/2 + f/2, where f is the share of packets with a mark. If g is above 0.3,
//!   the share is multiplied by 1 - (g - 0.3)/2; else it grows by 0.01, or without any mark by 0.01 times 2 to the
//!   number of adjustments since the last cut.
//!
//! ## Parameters
//! | name | unit | default | source |
//! |---|---|---|---|
//! | `credit_size` | bytes on the wire | 64 | uet-htsim: control packets |
//! | `request_timeout` | time | 200 us | ours: a sender without credit for so long asks again |
//! | `oversubscription` | ratio, 1 is none | 1 | uet-htsim: `-oversubscribed_cc`, the ratio of the topology |
//!
//! ## Where we differ from the paper and why
//! * The text of Ultra Ethernet 1.0 leaves numbers open, and was not at hand: the rules are those of uet-htsim (commit
//!   40ccb052), whose every recorded credit this code repeats in the network of `crates/uet`.
//! * uet-htsim asks for credit only when its retransmission timer expires. Here a sender that wants more than it has
//!   told does so when it has no credit, once a round trip of the network, and after `request_timeout`.
//! * There the target of a sender is divided by the number of senders that wait at its NIC, which it lists as open;
//!   here it is not.
//! * A receiver does not know where a packet was trimmed. All trims count as those in front of it, which it deals with
//!   by granting; in uet-htsim those elsewhere reduce the share too.
//! * Credits share the class of ACKs and are not limited by switches, as there.
//!
//! ## References
//! * Ultra Ethernet Specification 1.0, section 3.6.14 (RCCC).
//! * uet-htsim, `uec.cpp` and `oversubscribed_cc.cpp`: https://github.com/ultraethernet/uet-htsim

mod credit;
mod granter;
mod params;

pub use credit::{Credit, Demand, Demands, FIRST_PULL, PULL, Pacer, Pull, QUANTUM, Share, Wanted};
pub use granter::{Granter, Place};
pub use params::{CreditParams, HasCredit};

use super::nscc::most;
use crate::Action;
use crate::roles::*;
use fanin_units::{Rate, Time};

/// The scheme.
pub struct Rccc;

/// Its parameters; the manual above gives their sources.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "spec", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
#[cfg_attr(feature = "spec", schemars(rename = "Rccc", extend("additionalProperties" = false)))]
pub struct Params {
    /// Those of credit.
    #[cfg_attr(feature = "spec", serde(flatten))]
    pub credit: CreditParams,
}

impl HasCredit for Params {
    fn credit(&self) -> &CreditParams {
        &self.credit
    }
}

/// Why TCP cannot carry flows with credit.
pub(super) const RDMA_ONLY: &str = "sends against credits of the receiver, which TCP does not carry";

/// Bytes that credit adds to packets: the pull target.
pub(super) const OVERHEAD: HeaderOverhead = HeaderOverhead::new(4, 0);

impl Scheme for Rccc {
    type Params = Params;
    type Sender = Flow;
    type Receiver = Granter<Params>;
    type Switch = NoSwitch<Params>;
    const PRESETS: &'static [&'static str] = &["rccc"];

    fn preset(_: &str) -> Params {
        Params { credit: CreditParams::DEFAULT }
    }

    fn wants_ecn(p: &Params) -> bool {
        p.credit.oversubscription > 1.0
    }

    fn header_overhead(_: &Params) -> HeaderOverhead {
        OVERHEAD
    }

    fn rdma_only(_: &Params) -> Option<&'static str> {
        Some(RDMA_ONLY)
    }

    fn check(p: &Params) -> Result<(), &'static str> {
        p.credit.check()
    }
}

/// A flow's credit at its sender, in the units of an endpoint.
#[derive(Clone, Debug)]
pub(super) struct Credited {
    credit: Credit,
    /// The most credit.
    most: i64,
    /// Payload bytes not sent yet.
    left: u64,
    /// Bytes on the wire to send again.
    again: i64,
    /// The highest pull target that the receiver was told.
    told: u64,
    /// When the last request left, and when the next one is due.
    asked: Option<Time>,
    pub(super) wake_at: Time,
    due: bool,
    path: PathInfo,
}

impl Credited {
    pub(super) fn new(path: &PathInfo, p: &CreditParams, now: Time) -> Self {
        let wire = i64::from(path.wire.max(1));
        let most = most(path.network_rtt.as_ps().clamp(1000, 1 << 50), path.line_rate.as_bps().max(8)).max(wire);
        let mut credited = Self {
            credit: Credit::new(most),
            most,
            left: 0,
            again: 0,
            told: 0,
            asked: None,
            wake_at: Time::NEVER,
            due: false,
            path: *path,
        };
        credited.wait(p, now);
        credited
    }

    /// The line rate while there is credit, and nothing without.
    #[inline(always)]
    pub(super) fn rate(&self) -> Rate {
        if self.credit.bytes > 0 { self.path.line_rate } else { Rate::ZERO }
    }

    fn wait(&mut self, p: &CreditParams, now: Time) {
        self.wake_at = now.saturating_add(p.request_timeout.max(self.path.base_rtt.saturating_mul(2)));
    }

    /// Computes the pull target.
    fn demand(&mut self, window: Option<i64>) {
        let (payload, wire) = (u64::from(self.path.payload.max(1)), i64::from(self.path.wire.max(1)));
        let packets = self.left.div_ceil(payload).min(1 << 30) as i64;
        let headers = (wire - payload as i64).max(0) * packets;
        let backlog = self.left.min(1 << 50) as i64 + headers;
        self.credit.demand(&Wanted { backlog, again: self.again, window, mtu: wire, sharers: 1 }, self.most);
    }

    /// A packet left; returns its `cc_tag`: the low bits of its pull target.
    #[inline]
    pub(super) fn on_send(&mut self, sent: &Sent, window: Option<i64>) -> u32 {
        self.left = sent.left;
        self.credit.bytes -= i64::from(sent.wire);
        if sent.retransmitted {
            self.again = (self.again - i64::from(sent.wire)).max(0);
        }
        self.demand(window);
        self.told = self.told.max(self.credit.target);
        self.credit.target as u32
    }

    pub(super) fn on_ack(&mut self) {
        self.credit.stop_speculating();
    }

    /// Bytes on the wire have to be sent again.
    pub(super) fn on_lost(&mut self, wire: u32) {
        self.again = (self.again + i64::from(wire)).min(self.most.max(i64::from(wire)));
        self.credit.stop_speculating();
    }

    /// A full packet has to be sent again.
    pub(super) fn on_loss(&mut self) {
        self.on_lost(self.path.wire);
    }

    pub(super) fn on_notice<P: HasCredit>(&mut self, notice: Notice, cx: &mut Cx<'_, P>) {
        let Notice::Credit(number) = notice else { return };
        // The number has 32 bits; it is the nearest one to the highest so far.
        let number =
            self.credit.pull.wrapping_add_signed(i64::from(number.wrapping_sub(self.credit.pull as u32) as i32));
        if self.left == 0 && self.again == 0 {
            cx.count(Action::CreditWasted);
        }
        self.credit.on_pull(number, self.most);
        self.wait(cx.params.credit(), cx.now);
    }

    pub(super) fn on_timer<P: HasCredit>(&mut self, cx: &mut Cx<'_, P>) {
        if self.wake_at <= cx.now {
            self.due = true;
            self.wake_at = Time::NEVER;
            if self.left > 0 || self.again > 0 {
                self.wait(cx.params.credit(), cx.now);
            }
        }
    }

    pub(super) fn poll_request<P: HasCredit>(
        &mut self,
        left: u64,
        window: Option<i64>,
        cx: &mut Cx<'_, P>,
    ) -> Option<u32> {
        self.left = left;
        let due = core::mem::take(&mut self.due);
        if left == 0 {
            // What was lost has been sent again, whatever size it was taken for.
            self.again = 0;
            return None;
        }
        if self.wake_at == Time::NEVER {
            self.wait(cx.params.credit(), cx.now);
        }
        if self.credit.bytes > 0 {
            return None;
        }
        self.demand(window);
        // uet-htsim: not within a round-trip time of the network
        let early = self.asked.is_some_and(|at| cx.now.saturating_sub(at) < self.path.network_rtt);
        if !due && (early || self.credit.target <= self.told) {
            return None;
        }
        cx.count(Action::CreditRequest);
        (self.asked, self.told) = (Some(cx.now), self.told.max(self.credit.target));
        Some(self.credit.target as u32)
    }

    pub(super) fn watch(&self, see: &mut dyn FnMut(&'static str, f64)) {
        see("credit_bytes", self.credit.bytes as f64);
    }
}

/// A flow at its sender.
#[derive(Clone, Debug)]
pub struct Flow(Credited);

impl Sender for Flow {
    type Params = Params;
    type Shared = ();

    fn open(path: &PathInfo, cx: &mut Cx<'_, Params>) -> Self {
        Self(Credited::new(path, &cx.params.credit, cx.now))
    }

    #[inline(always)]
    fn control(&self, _: &Cx<'_, Params>) -> Control {
        Control { wake_at: self.0.wake_at, ..Control::rate(self.0.rate()) }
    }

    fn on_send(&mut self, sent: &Sent, _: &mut Cx<'_, Params>) -> u32 {
        self.0.on_send(sent, None)
    }

    fn on_ack(&mut self, _: &Ack<'_>, _: &mut Cx<'_, Params>) {
        self.0.on_ack();
    }

    fn on_notice(&mut self, notice: Notice, cx: &mut Cx<'_, Params>) {
        self.0.on_notice(notice, cx);
    }

    fn on_loss(&mut self, _: &Loss, _: &mut Cx<'_, Params>) {
        self.0.on_loss();
    }

    fn on_timeout(&mut self, _: &Loss, _: &mut Cx<'_, Params>) {
        self.0.on_loss();
    }

    fn on_trim(&mut self, trim: &Trim, _: &mut Cx<'_, Params>) {
        self.0.on_lost(trim.wire);
    }

    fn on_timer(&mut self, cx: &mut Cx<'_, Params>) {
        self.0.on_timer(cx);
    }

    fn poll_request(&mut self, left: u64, cx: &mut Cx<'_, Params>) -> Option<u32> {
        self.0.poll_request(left, None, cx)
    }

    fn watch(&self, see: &mut dyn FnMut(&'static str, f64)) {
        self.0.watch(see);
    }
}
