//! A host on a wire: the host code of [`fanin_endpoint::host`], which the simulator runs too, with whole RoCEv2 frames
//! at its ports.
//!
//! [`Station`] is a host: it has the state of [`fanin_endpoint::host::Hosts`], the ports of its NICs, a queue of
//! timers and a table of the messages that it sends and receives. It has no sockets and no clock of its own. Its
//! owner gives it frames ([`Station::on_frame`]) and connections that others set up ([`Station::on_control`]), lets it
//! act until a time ([`Station::step`]), and takes what it sends ([`Station::take_out`]). [`frame`] has frames as
//! bytes, [`SetUp`] the connection set-up. `io.rs` is the interface to the host code. [`Endpoint`] is a station with
//! a socket and a clock, for applications.
#![deny(unsafe_code)]

mod config;
mod directory;
pub mod endpoint;
mod exchange;
pub mod frame;
mod io;
mod messages;
#[allow(unsafe_code)]
pub mod os;
mod path;
mod port;
mod setup;
mod station;
mod world;

pub use config::{Class, Config};
pub use directory::{Directory, Known};
pub use endpoint::Endpoint;
pub use exchange::{Leaving, Left, Notice, Out, Post, Sent, Totals};
pub use fanin_wire::layouts;
pub use frame::{Carried, Formats};
pub use messages::{Incident, What};
pub use path::Path;
pub use port::{ClassState, LinkConfig};
pub use setup::{Control, SetUp, TearDown};
pub use station::Station;
