//! RCC's parameters.

use crate::schemes::newreno::Threshold;
use crate::schemes::{cubic, dctcp, newreno};
use fanin_units::{Bytes, Time};

/// What decides where the paper is silent or its authors' code differs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "spec", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
#[cfg_attr(feature = "spec", serde(rename_all = "kebab-case"))]
pub enum Follow {
    /// The text.
    Paper,
    /// The code.
    Code,
}

/// The priority of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "spec", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
#[cfg_attr(feature = "spec", serde(rename_all = "kebab-case"))]
pub enum Priority {
    /// 1 / its size.
    Size,
    /// 1 / what has not arrived of it.
    Remaining,
    /// The same for all: the queue of ACKs is first in, first out.
    None,
}

/// The window of the sender beside the one that the receiver advertises.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "spec", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
#[cfg_attr(feature = "spec", serde(rename_all = "kebab-case"))]
pub enum SenderKind {
    /// That of `newreno`.
    Newreno,
    /// That of `cubic`.
    Cubic,
    /// That of `dctcp`.
    Dctcp,
    /// None.
    Advertised,
}

/// Its parameters; the manual above gives their sources.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "spec", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
#[cfg_attr(feature = "spec", schemars(extend("additionalProperties" = false)))]
pub struct Params {
    /// Windows in flight over all flows into a host, in segments.
    pub queue_maxsize: u32,
    /// The priority of a flow.
    pub priority: Priority,
    /// Whether windows are assigned and ACKs wait (Algorithms 1 and 2).
    pub scheduler: bool,
    /// How often an ACK may be overtaken; 0 is C RTO_r/2.
    pub max_skips: u32,
    /// Skips with which an ACK starts that asks for a retransmission; 0 is C RTO_r/4.
    pub push_skips: u32,
    /// The receiver's retransmission timeout before it doubles.
    pub rto: Time,
    /// Whether that is only the least, and the RTT decides.
    pub rto_from_rtt: bool,
    /// Gain of the mean RTT and of its deviation.
    pub rtt_gain: f64,
    /// The RTT before it is known; zero is the largest of the network.
    pub first_rtt: Time,
    /// Whether marks cut the window.
    pub ecn: bool,
    /// Gain of alpha; 1 takes the last share as it is.
    pub g: f64,
    /// The end of the first slow start.
    pub initial_ssthresh: Threshold,
    /// Largest window that is advertised; zero is no limit.
    pub max_window: Bytes,
    /// What decides where the paper is silent or the code differs.
    pub follow: Follow,
    /// The sender.
    pub sender: SenderKind,
    /// The sender's parameters where it is `newreno`.
    pub newreno: newreno::Params,
    /// The sender's parameters where it is `cubic`.
    pub cubic: cubic::Params,
    /// The sender's parameters where it is `dctcp`.
    pub dctcp: dctcp::Params,
}
