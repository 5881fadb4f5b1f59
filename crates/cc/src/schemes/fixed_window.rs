//! # fixed-window: a constant number of packets in flight
//!
//! ## Idea
//! Each flow keeps at most a constant number of packets unacknowledged and is otherwise paced by its ACKs. It has no
//! feedback, so two runs differ only by the network: the reference of the speed benchmark and of fabric tests.
//!
//! ## Signals
//! ACKs, as a clock only.
//!
//! ## Control law
//! A packet may leave while bytes in flight < `packets` x payload. Rate: the line rate of the sender's NIC.
//!
//! ## Parameters
//! | name | unit | default | source |
//! |---|---|---|---|
//! | `packets` | full-size packets | 50 | ours: about one bandwidth-delay product of a three-tier 10 Gb/s tree |
//!
//! ## Where we differ from the paper and why
//! There is no paper.
//!
//! ## References
//! None.

use crate::Action;
use crate::roles::{Ack, Control, Cx, NoReceiver, NoSwitch, PathInfo, Scheme, Sender, Sent};
use fanin_units::Rate;

/// The scheme.
pub struct FixedWindow;

/// Its parameters.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "spec", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
#[cfg_attr(feature = "spec", serde(deny_unknown_fields))]
pub struct Params {
    /// Full-size packets in flight.
    pub packets: u32,
}

/// A flow.
pub struct Window {
    window: u64,
    rate: Rate,
    sent_to: u64,
    acked_to: u64,
}

impl Scheme for FixedWindow {
    type Params = Params;
    type Sender = Window;
    type Receiver = NoReceiver<Params>;
    type Switch = NoSwitch<Params>;
    const PRESETS: &'static [&'static str] = &["fixed-window"];
    fn preset(_: &str) -> Params {
        Params { packets: 50 }
    }
    fn check(params: &Params) -> Result<(), &'static str> {
        if params.packets == 0 { Err("packets must be at least 1: a window of 0 never sends") } else { Ok(()) }
    }
}

impl Sender for Window {
    type Params = Params;
    type Shared = ();
    fn open(path: &PathInfo, cx: &mut Cx<'_, Params>) -> Self {
        Self { window: cx.params.packets as u64 * path.payload as u64, rate: path.line_rate, sent_to: 0, acked_to: 0 }
    }
    fn control(&self, _: &Cx<'_, Params>) -> Control {
        Control { window: self.window, ..Control::rate(self.rate) }
    }
    fn on_send(&mut self, sent: &Sent, cx: &mut Cx<'_, Params>) -> u32 {
        self.sent_to = sent.sent_to;
        if self.sent_to - self.acked_to.min(self.sent_to) >= self.window {
            cx.count(Action::WindowLimited);
        }
        0
    }
    fn on_ack(&mut self, ack: &Ack<'_>, _: &mut Cx<'_, Params>) {
        self.acked_to = ack.acked_to;
    }
}
