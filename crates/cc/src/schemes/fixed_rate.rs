//! # fixed-rate: a constant rate that nothing changes
//!
//! ## Idea
//! Each flow sends at a constant rate from its first byte to its last, whatever the network says: background traffic
//! that does not give way, a load of exactly known size, or the "unresponsive" flow beside which a scheme is tried.
//!
//! ## Signals
//! None.
//!
//! ## Control law
//! Window: none. Rate: `rate`, or the line rate if that is lower. It counts bytes on the wire, headers included, as all
//! rates of schemes do: at a rate R the packets of a flow leave one every (bytes on the wire)/R, so that its goodput is
//! R times the payload's part of a packet. Two flows of one host have the rate each. What a flow could not send in
//! time, because others of its host sent or a pause held it, it makes up for, two packets at most
//! (`rdma.pacing_credit`).
//!
//! Over TCP, whose windows are its own, the rate is an upper limit. What is lost is sent again at the same rate.
//!
//! ## Parameters
//! A rate is written as such ("10 Gbps") or as a share of the line rate C (0.25).
//!
//! | name | unit | default | source |
//! |---|---|---|---|
//! | `rate` | rate or share of C | 1 | ours: as `none`, until it is set |
//!
//! ## Where we differ from the paper and why
//! There is no paper.
//!
//! ## References
//! None.

use super::dcqcn::RateOrShare;
use crate::roles::{Control, Cx, NoReceiver, NoSwitch, PathInfo, Scheme, Sender};
use fanin_units::Rate;

/// The scheme.
pub struct FixedRate;

/// Its parameters.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "spec", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
#[cfg_attr(feature = "spec", serde(deny_unknown_fields), schemars(rename = "FixedRate"))]
pub struct Params {
    /// Rate of each flow in wire bytes.
    pub rate: RateOrShare,
}

/// A flow at its rate.
pub struct Constant(Rate);

impl Scheme for FixedRate {
    type Params = Params;
    type Sender = Constant;
    type Receiver = NoReceiver<Params>;
    type Switch = NoSwitch<Params>;
    const PRESETS: &'static [&'static str] = &["fixed-rate"];
    fn preset(_: &str) -> Params {
        Params { rate: RateOrShare::Share(1.0) }
    }
    fn check(params: &Params) -> Result<(), &'static str> {
        if params.rate.is_possible(1) {
            return Ok(());
        }
        Err("rate must be above 0: a rate, or a share of the line rate of at most 1")
    }
}

impl Sender for Constant {
    type Params = Params;
    type Shared = ();
    fn open(path: &PathInfo, cx: &mut Cx<'_, Params>) -> Self {
        // A share so small that it rounds to nothing still sends.
        Self(Rate::from_bps(cx.params.rate.at(path.line_rate.as_bps()).max(1)))
    }
    fn control(&self, _: &Cx<'_, Params>) -> Control {
        Control::rate(self.0)
    }
}
