//! What a scheme answers, and the promises that its answers break.

use fanin_cc::{AckPlan, Control, Emit};
use fanin_units::Time;

/// A promise that was not kept.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Broken {
    /// The promise.
    pub rule: &'static str,
    /// What happened instead.
    pub detail: String,
    /// When.
    pub at: Time,
}

/// An output of the scheme; two runs must have the same outputs.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Answer {
    /// A sender's.
    Control(Time, u32, Control),
    /// A receiver's about a packet.
    Plan(Time, AckPlan),
    /// A packet of a receiver.
    Emit(Time, Emit),
}

impl Answer {
    /// When it was given.
    pub fn at(&self) -> Time {
        match self {
            Self::Control(at, ..) | Self::Plan(at, _) | Self::Emit(at, _) => *at,
        }
    }

    /// In words.
    pub fn told(&self) -> String {
        match self {
            Self::Control(_, flow, control) => format!("flow {flow} has {}", told(control)),
            Self::Plan(_, plan) => format!("the receiver answers {plan:?}"),
            Self::Emit(_, emit) => format!("the receiver sends {emit:?}"),
        }
    }
}

/// What a sender allows, in words.
pub fn told(control: &Control) -> String {
    let window = if control.window == u64::MAX { "no window".into() } else { format!("window {} B", control.window) };
    let wake = if control.wake_at == Time::NEVER { "no timer".into() } else { format!("timer at {}", control.wake_at) };
    let before = if control.not_before > Time::ZERO {
        format!(", nothing before {}", control.not_before)
    } else {
        String::new()
    };
    format!("{window}, rate {}, {wake}{before}", control.rate)
}
