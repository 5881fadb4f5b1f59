//! The fabric: links, ports, the switch pipeline, routing and topologies, driven by one event queue; its hosts are
//! those of [`fanin_endpoint::host`].
//!
//! Read in this order: [`port`] and `egress.rs` (queues and the link), `buffers.rs` (who may enter), `network.rs` (what
//! there is), `switch.rs` (a packet's way: arrive, route, admit, egress), `lazy.rs` (departures without events),
//! `world.rs` (what the hosts see of it), [`sim`] (the events), `query.rs` (what can be asked of it). [`parallel`]: one
//! run on many threads. [`tap`]: what others may see while it runs. `trace.rs`: messages followed packet by packet.
//! Deadlock: [`deadlock`] (what cannot happen), `cyclic.rs` (what does).
#![forbid(unsafe_code)]

mod buffers;
mod clock;
pub mod config;
mod core;
mod cyclic;
pub mod deadlock;
mod departure;
pub mod ecn;
mod egress;
mod failure;
mod flows;
mod layout;
mod lazy;
mod links;
mod message;
mod messages;
mod network;
mod packet;
pub mod parallel;
mod partition;
mod path;
pub mod pfc;
pub mod port;
mod probes;
mod programs;
mod query;
mod queue;
pub mod results;
mod routing;
pub mod shared_buffer;
pub mod sim;
mod switch;
pub mod switches;
mod table;
pub mod tap;
pub mod topology;
mod trace;
mod world;

pub use config::{
    BufferPolicy, ClassConfig, Dependency, EndpointConfig, HostFifo, MarkAt, Marking, Message, NetworkConfig,
    PacketSizes, Pfc, Release, TcpConfig, TrafficConfig,
};
pub use flows::Flows;
pub use parallel::ParallelSimulation;
pub use results::{
    BufferUse, Cause, ClassCounters, DropCause, Drops, FlowRecord, Hop, HostWait, Incident, Incidents, Ledger,
    PortCounters, Totals, TrafficCounters, What,
};
pub use routing::{route_bytes, route_entries};
pub use sim::Simulation;
pub use switches::SwitchFabric;
