//! A network on a wire: each host is a process, and so are the switches; they exchange frames over UDP, or over virtual
//! Ethernet interfaces, in virtual time or in real time.
//!
//! [`HostNode`] is a host ([`fanin_transport::Station`]) with the applications of an experiment; [`SwitchNode`] are the
//! switches of the simulator ([`fanin_fabric::outside::Switches`]), with frames at the ports that lead to hosts.
//! [`member`] is the process of one of them, [`run_with`] starts all and has the results of a run.
#![forbid(unsafe_code)]

mod by_hand;
pub mod carry;
mod channel;
pub mod ensemble;
pub mod member;
pub mod node;
mod options;
pub mod pace;
mod processes;
mod refuse;
pub mod report;
mod run;
mod tapped;
mod timed;
pub mod veth;
pub mod words;

pub use by_hand::join;
pub use node::{HostNode, Item, Node, SwitchNode, lookahead};
pub use options::{Clock, Link, Options, Stall};
pub use processes::Processes;
pub use refuse::{MOST_HOSTS, reasons};
pub use report::{Report, Reports};
pub use run::{OnWire, WireError, run_by_hand, run_unjudged, run_with};
