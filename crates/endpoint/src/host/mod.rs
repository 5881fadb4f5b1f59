//! Everything that a host does between its congestion control and its packets: messages are posted, queue pairs and TCP
//! connections take turns at the NIC, packets are made, ACKs, NACKs, CNPs and credits go back, timers run.
//!
//! [`Hosts`] owns the state of one or many hosts. It accesses everything outside a host through an [`Io`]: the time,
//! timers, the link behind each NIC, paths, and the table of messages. The simulator is one implementation; a transport
//! on a wire is another, and both use this code.
//!
//! Read `qp.rs` and `nic.rs` (the state), then `send.rs` (packets leave), `ack.rs` (feedback to senders), `receive.rs`,
//! `keep.rs` and `sender.rs` (packets arrive), `stream.rs` and `connection.rs` (TCP), `post.rs` (messages begin),
//! `hold.rs` (answers that wait for the CPU),
//! `events.rs` (the entry points).

mod ack;
mod config;
mod connection;
mod cpu;
mod events;
mod hold;
mod inspect;
mod io;
mod nic;
mod post;
mod qp;
mod receive;
mod records;
mod send;
mod sender;
mod state;
mod stream;

pub use ack::ARRIVED_BYTES;
pub use config::{
    ENDLESS, EndpointConfig, HostFifo, PacketSizes, Recovery, Restart, TcpConfig, Traffic, TrafficConfig,
};
pub use cpu::CpuTime;
pub use io::{AckBitmap, Beside, Io, Needs, PathQuery, Route, Timer, names};
pub use nic::{Nic, Ring};
pub use qp::{Carrier, Incoming, RecvQp, SendQp, Turn};
pub use receive::announced_incast;
pub use records::{Ends, FlowRecord, HostTotals, TrafficCounters};
pub use state::{Host, Hosts};
pub use stream::TcpEnd;

/// No slot of a table.
pub const NO_SLOT: u32 = u32::MAX;
/// The slot of a remote end: in another partition of a simulated network, or at the other end of a wire.
pub const REMOTE: u32 = u32::MAX - 1;
