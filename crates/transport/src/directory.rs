//! What a host knows of the network around it.

use crate::path::Path;
use fanin_cc::{Header, HeaderOverhead, PathInfo};
use fanin_units::{NodeId, PortId, Time};

/// A path, and what is known of it.
#[derive(Clone, Copy, Debug)]
pub struct Known {
    /// The port by which it leaves its host; `None` where there is no path.
    pub link: Option<PortId>,
    /// The path.
    pub path: Path,
    /// The information for a scheme's sender.
    pub info: PathInfo,
    /// Completion time of the message alone on it.
    pub ideal: Time,
    /// Links on it.
    pub hops: u16,
}

/// What a host knows of the network around it.
pub trait Directory {
    /// The hash key of a path: `name` is that of its message, or of its pair of hosts, and `back` the direction.
    fn key(&self, name: u64, back: bool) -> u32;
    /// The path of a key.
    fn path(&self, from: NodeId, to: NodeId, key: u32) -> Path;
    /// The path of a key that every switch looks up.
    fn path_by_hash(&self, key: u32) -> Path;
    /// A path with its properties, for a message of so many bytes.
    fn walk(&self, from: NodeId, to: NodeId, key: u32, overhead: HeaderOverhead, bytes: u64) -> Known;
    /// The port by which a path leaves this host.
    fn link(&self, from: NodeId, to: NodeId, key: u32) -> Option<PortId>;
    /// The node at the other end of a port.
    fn peer(&self, port: PortId) -> NodeId;
    /// The round-trip time of an idle network.
    fn network_rtt(&self) -> Time;
    /// A packet has arrived, or was lost at this host.
    fn note(&mut self, _now: Time, _node: NodeId, _head: &Header, _lost: bool) {}
}
