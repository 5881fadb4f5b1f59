//! # none: line rate, no control
//!
//! ## Idea
//! Every flow sends at line rate from its first byte to its last. The baseline of every comparison and of every test:
//! what the network does when nobody controls it.
//!
//! ## Signals
//! None.
//!
//! ## Control law
//! Window: none. Rate: the line rate of the sender's NIC.
//!
//! Flows that share a port share it as their packets arrive and as pauses hold them back, and not by a rule: with four
//! of them (`fabric/tests/theory/joining.rs`) Jain's index over 100 round trips is 0.75 to 1.
//!
//! ## Parameters
//! None.
//!
//! ## Where we differ from the paper and why
//! There is no paper.
//!
//! ## References
//! None.

use crate::roles::{Control, Cx, NoReceiver, NoSwitch, PathInfo, Scheme, Sender};
use fanin_units::Rate;

/// The scheme.
pub struct None;

/// It has no parameters.
#[derive(Clone, Debug, PartialEq, Default)]
#[cfg_attr(feature = "spec", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
#[cfg_attr(feature = "spec", serde(deny_unknown_fields))]
pub struct Params {}

/// A flow at line rate.
pub struct LineRate(Rate);

impl Scheme for None {
    type Params = Params;
    type Sender = LineRate;
    type Receiver = NoReceiver<Params>;
    type Switch = NoSwitch<Params>;
    const PRESETS: &'static [&'static str] = &["none"];
    fn preset(_: &str) -> Params {
        Params {}
    }
}

impl Sender for LineRate {
    type Params = Params;
    type Shared = ();
    fn open(path: &PathInfo, _: &mut Cx<'_, Params>) -> Self {
        Self(path.line_rate)
    }
    fn control(&self, _: &Cx<'_, Params>) -> Control {
        Control::rate(self.0)
    }
}
