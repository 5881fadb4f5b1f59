//! The fabric: links, ports, the switch pipeline, NICs, routing and topologies, driven by one event queue.
//!
//! Read in this order: [`port`] (queues and the link), `switch.rs` (route, admit, mark, queue, serve), `nic.rs` and
//! `receive.rs` (the two halves of a host), `tcp.rs` (its TCP connections), `chain.rs` (messages that wait for others), [`sim`] (state and events), `query.rs` (what can be asked of it). One file per generic switch feature: [`ecn`],
//! [`pfc`], [`shared_buffer`], [`failure`]. `late.rs`: how ports do without events. [`tap`]: what others may see while it runs. `trace.rs`: messages followed packet by packet. Deadlock: [`deadlock`] (what cannot happen), `circular.rs` (what does). [`parallel`]: one run on many threads.
#![forbid(unsafe_code)]

mod chain;
mod circular;
pub mod config;
pub mod deadlock;
pub mod ecn;
pub mod failure;
mod flows;
mod host;
mod late;
mod messages;
mod nic;
mod opening;
mod packet;
pub mod parallel;
pub mod pfc;
pub mod port;
mod query;
mod queue;
mod receive;
pub mod results;
mod routing;
pub mod shared_buffer;
pub mod sim;
mod switch;
pub mod tap;
mod tcp;
pub mod topology;
mod trace;

pub use config::{
    BufferPolicy, Chain, ClassConfig, EndpointConfig, HostFifo, MarkAt, Marking, Message, NetworkConfig, PacketSizes,
    Pfc, Release, TcpConfig, TrafficConfig,
};
pub use flows::Flows;
pub use parallel::Parts;
pub use results::{
    BufferUse, Cause, ClassCounters, DropCause, Drops, FlowRecord, Hop, HostWait, Incident, Incidents, Ledger,
    PortCounters, Totals, TrafficCounters, What,
};
pub use routing::{route_bytes, route_entries};
pub use sim::Simulation;
