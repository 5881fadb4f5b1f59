//! What a host is configured with.

use crate::frame::Formats;
use crate::port::LinkConfig;
use fanin_cc::Instance;
use fanin_endpoint::host::{HostFifo, PacketSizes, Traffic};
use fanin_endpoint::scheduler::Precedence;
use fanin_endpoint::shaper::Shaper;
use fanin_units::{NodeId, Time};

/// A class of packets.
#[derive(Clone, Copy, Debug, Default)]
pub struct Class {
    /// Which classes it is served before, and how much of it.
    pub precedence: Precedence,
    /// What it may send.
    pub shaper: Option<Shaper>,
    /// The other virtual lane, or 0.
    pub sibling: u8,
}

/// A host.
pub struct Config {
    /// Its number among all hosts.
    pub node: NodeId,
    /// How many hosts there are.
    pub hosts: u32,
    /// The seed of the order of simultaneous events.
    pub seed: u64,
    /// From which the CPU time of its answers is drawn.
    pub cpu_word: u64,
    /// From which the tokens of its connections are drawn.
    pub token_word: u64,
    /// The time between consecutive events, and how far ahead most are scheduled.
    pub spacing: (Time, Time),
    /// Sizes of packets.
    pub sizes: PacketSizes,
    /// The queue between its pacers and its links.
    pub host_fifo: Option<HostFifo>,
    /// Largest data packet on the wire.
    pub largest: u32,
    /// The data classes, from 1.
    pub classes: Vec<Class>,
    /// Its links.
    pub links: Vec<LinkConfig>,
    /// The traffics of the network.
    pub traffics: Vec<Traffic>,
    /// The schemes, with their state at this host.
    pub schemes: Vec<Instance>,
    /// What frames look like.
    pub formats: Formats,
}
