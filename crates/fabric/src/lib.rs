//! The fabric: links, ports, the switch pipeline, routing and topologies, driven by one event queue; its hosts are
//! those of [`fanin_endpoint::host`].
//!
//! Read in this order: [`port`] and `egress.rs` (queues and the link), `buffers.rs` (admission), `network.rs` (the
//! elements of a network), and below it `switch.rs` (the pipeline: arrive, route, admit, egress) and `lazy.rs`
//! (departures without events), `world.rs` (the interface to hosts), [`sim`] (the events), `query.rs` (queries).
//! [`parallel`]: one run on many threads. [`tap`]: observation of a running network. `trace.rs`: messages traced packet
//! by packet. Faults of PFC: [`pauses`], `network/pauses.rs`, `network/faults.rs`, `receive.rs`, `pause_log.rs`.
//! Deadlock: [`deadlock`] (proof), `cyclic.rs` (detection at run time).
#![forbid(unsafe_code)]

mod alone;
mod buffers;
mod caller;
pub mod config;
mod core;
mod credit_table;
pub mod credits;
mod cyclic;
pub mod deadlock;
pub mod ecn;
mod egress;
mod failure;
mod flows;
mod graph_records;
mod graphs;
mod ideal;
mod layout;
mod links;
mod message;
mod messages;
mod network;
pub mod outside;
mod packet;
pub mod parallel;
mod partition;
mod path;
mod pause_log;
pub mod pauses;
pub mod pfc;
mod plan;
pub mod port;
mod posting;
mod probes;
mod query;
mod queue;
mod receive;
pub mod results;
mod routing;
mod shaper;
pub mod shared_buffer;
pub mod sim;
mod stuck;
mod table;
pub mod tap;
pub mod topology;
mod trace;
pub mod triggers;
mod world;

pub(crate) use fanin_engine::clock;

pub use alone::alone;
pub use caller::News;
pub use config::{
    Balancing, BufferPolicy, Cap, ClassConfig, CpuTime, Dependency, DisciplineProgram, EndpointConfig, HostFifo,
    MarkAt, Marking, Message, NetworkConfig, PacketSizes, Pfc, Precedence, Recovery, Release, Restart, Rules, Shaper,
    TcpConfig, TrafficConfig, Trimming,
};
pub use flows::Flows;
pub use graph_records::{CollectiveRecord, GraphRecords, RankRecord};
pub use graphs::Placed;
pub use parallel::ParallelSimulation;
pub use pause_log::{PauseCause, PauseRecord};
pub use results::{
    BufferUse, Cause, ClassCounters, DropCause, Drops, FlowRecord, Hop, HostTotals, HostWait, Incident, IncidentCounts,
    Incidents, Ledger, PortCounters, Totals, TrafficCounters, What,
};
pub use routing::{route_bytes, route_entries};
pub use sim::Simulation;
pub use stuck::Stuck;
