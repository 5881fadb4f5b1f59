//! What the host of an endpoint knows of the network: the round-trip time to each peer.

use crate::directory::{Directory, Known};
use crate::path::Path;
use fanin_cc::{HeaderOverhead, PathInfo};
use fanin_units::{NodeId, PortId, Rate, Time};
use std::collections::BTreeMap;

/// The one port.
pub(super) const PORT: PortId = PortId(0);
const PATH: Path = Path { key: 0, route: 0 };

pub(super) struct Around {
    pub rate: Rate,
    /// Where nothing else is known.
    pub rtt: Time,
    pub payload: u32,
    /// Bytes of the largest packet.
    pub wire: u32,
    /// Measured, by node.
    pub rtts: BTreeMap<u32, Time>,
}

impl Directory for Around {
    fn key(&self, _name: u64, _back: bool) -> u32 {
        0
    }

    fn path(&self, _from: NodeId, _to: NodeId, _key: u32) -> Path {
        PATH
    }

    fn path_by_hash(&self, _key: u32) -> Path {
        PATH
    }

    fn walk(&self, _from: NodeId, to: NodeId, _key: u32, _overhead: HeaderOverhead, bytes: u64) -> Known {
        let rtt = self.rtts.get(&to.0).copied().unwrap_or(self.rtt);
        let info = PathInfo::new(self.rate, rtt, self.payload, self.wire);
        let ideal = self.rate.tx_time(bytes).saturating_add(rtt);
        Known { link: Some(PORT), path: PATH, info, ideal, hops: 1 }
    }

    fn link(&self, _from: NodeId, _to: NodeId, _key: u32) -> Option<PortId> {
        Some(PORT)
    }

    fn peer(&self, _port: PortId) -> NodeId {
        NodeId(0)
    }

    fn network_rtt(&self) -> Time {
        self.rtt
    }
}
