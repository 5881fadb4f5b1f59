//! Star.

use super::draft::{Draft, at_least};
use super::{Cable, Graph, TopologyError};

/// Hosts around one switch, "sw0".
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Star {
    /// Number of hosts, at least 2.
    pub hosts: u32,
    /// Host to switch.
    pub host_link: Cable,
}

impl Star {
    /// The network, or the invalid parameter.
    pub fn build(&self) -> Result<Graph, TopologyError> {
        at_least(2, "hosts", self.hosts)?;
        self.host_link.check("host_link")?;
        let mut draft = Draft::new("hosts", self.hosts.into(), 1, self.hosts.into())?;
        let switch = draft.switch("sw0");
        draft.racks(self.hosts, switch, self.host_link);
        Ok(draft.finish())
    }
}
