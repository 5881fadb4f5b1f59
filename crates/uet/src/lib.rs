//! The Ultra Ethernet network of the public simulator uet-htsim, event for event.
#![forbid(unsafe_code)]

mod error;
mod events;
mod feedback;
mod log;
pub mod matrix;
mod messages;
mod network;
mod nic;
pub mod nscc;
pub mod options;
mod packet;
mod paths;
mod port;
mod random;
mod rccc;
mod receiver;
mod run;
mod sender;
pub mod settings;
mod switches;
pub mod topology;
mod window;

pub use error::Error;
pub use options::Options;
pub use run::{Flow, Results, simulate};
pub use sender::Counters;
