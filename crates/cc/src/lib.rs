//! Congestion control, pure: no clock, no sockets, no simulator, no allocation per packet.
//!
//! A scheme is up to three roles, in one file of [`schemes`]:
//!
//! * [`Sender`] (required): what a flow may send. Hooks tell it what happened; [`Sender::control`] answers with a
//!   window, a rate and the next time it wants to be woken.
//! * [`Receiver`]: what a host remembers about all flows into it. It may hold ACKs back, put fields on them, and emit
//!   packets of its own (CNPs, credits).
//! * [`SwitchProgram`]: what runs in a switch, per switch and per port.
//!
//! Who decides what: the `endpoint` crate decides WHAT to send (sequence space, loss, retransmission); this crate
//! decides HOW MUCH. Outputs are polled, never called back. The registry at the end of `registry.rs` lists every
//! scheme once and makes the rest: ids, parameters, dispatch, docs rows and the tests that each scheme must pass.
#![cfg_attr(not(feature = "spec"), no_std)]
#![forbid(unsafe_code)]

extern crate alloc;

mod actions;
pub mod aqm;
mod packet;
mod pool;
mod registry;
mod roles;
pub mod schemes;
mod telemetry;

pub use actions::{Action, Actions};
pub use packet::{Header, Kind, flags};
pub use pool::{Opened, Pool};
pub use registry::{Instance, SchemeRow, Settings, rows};
#[cfg(feature = "spec")]
pub use registry::{SettingsError, schemas, settings};
pub use roles::{
    Ack, AckFields, AckPlan, Control, Cx, Data, Emit, FlowInfo, HeaderOverhead, Incast, Lanes, Loss, MessageStart,
    NicInfo, NoReceiver, NoSwitch, Notice, PathInfo, PortView, Ports, Receiver, ReceiverFlow, Scheme, SendOptions,
    Sender, Sent, SwitchInfo, SwitchProgram, Transport, Verdict,
};
pub use telemetry::{IntHop, Telemetry};
