//! A second program, which knows nothing of the simulator, checks what a run left: a capture of Fanin, or a trace of
//! another simulator.
//!
//! It reads the packets on each link, and from the spec the rates, delays, buffers and rules that they were asked to
//! follow. From those it knows when a packet arrives, how long it stays in a switch, what waits in each queue and what
//! each ingress holds, and holds that against a list of laws ([`LAWS`]). A law that a source cannot support is reported
//! as not checked, with the reason. The state is that of the network at one time, so captures may be of any length.
#![forbid(unsafe_code)]

pub mod capture;
mod event;
mod facts;
mod law;
mod laws;
mod map;
mod net;
mod registry;
mod report;
mod setup;
pub mod trace;
mod walk;

pub use capture::{folder, stream};
pub use facts::Facts;
pub use registry::LAWS;
pub use report::{LISTED, Outcome, Report, Tally, Violation};
pub use setup::Spec;
