//! Congestion control, pure: no clock, no sockets, no simulator, no allocation per packet.
//!
//! A scheme is up to three roles, in one file of [`schemes`]:
//!
//! * [`Sender`] (required): controls how much a flow may send. Events call its hooks; [`Sender::control`] returns a
//!   window, a rate and the time of its next timer.
//! * [`Receiver`]: the state of a host about all flows into it. It may hold ACKs back, put fields on them, and emit
//!   packets of its own (CNPs, credits).
//! * [`SwitchProgram`]: runs in a switch, per switch and per port.
//!
//! The `endpoint` crate decides WHAT to send (sequence space, loss, retransmission); this crate decides HOW MUCH.
//! Outputs are polled; there are no callbacks. The registry in `registry.rs` lists every scheme once and generates the
//! rest: ids, parameters, dispatch, documentation and the tests that each scheme must pass. No other crate names a
//! scheme.
#![cfg_attr(not(feature = "spec"), no_std)]
#![forbid(unsafe_code)]

extern crate alloc;

mod actions;
pub mod aqm;
pub mod balancing;
pub mod discipline;
mod dispatch;
pub mod ns3;
mod ns3_rate;
mod packet;
pub mod paths;
mod pool;
mod random;
mod registry;
mod roles;
pub mod schemes;
mod summary;
mod telemetry;
pub mod uet;

pub use actions::{Acted, Action, Actions};
pub use balancing::{Balancer, BalancerProgram, Balancing, Choice, OwnBalancing};
pub use discipline::{Discipline, DisciplineProgram};
pub use packet::{Header, Kind, flags};
pub use pool::{Opened, Pool};
pub use registry::{Instance, SchemeRow, Settings, rows};
#[cfg(feature = "spec")]
pub use registry::{SettingsError, schemas, settings};
pub use roles::{
    Ack, AckFields, AckPlan, Control, CreditQueue, Cx, Data, Deflection, Emit, EscapeEntry, FlowInfo, HeaderOverhead,
    Incast, LaneView, Lanes, Loss, MessageStart, NicInfo, NoReceiver, NoSwitch, Notice, PathInfo, PortView, Ports,
    Queued, Receiver, ReceiverFlow, Scheme, SendOptions, Sender, Sent, Sharing, SwitchInfo, SwitchProgram, Transport,
    Trim, Verdict, WireFormat,
};
pub use schemes::own;
pub use summary::SchemeSummaries;
pub use telemetry::{IntFields, IntHop, Telemetry};
