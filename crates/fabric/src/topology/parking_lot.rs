//! Parking lot.

use super::draft::{Draft, at_least, product};
use super::{Cable, Graph, TopologyError};

/// A chain of switches "sw0", "sw1" and so on with equally many hosts each. The hosts of a switch have consecutive
/// numbers, those of "sw0" the first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ParkingLot {
    /// Switches in the chain, at least 2.
    pub switches: u32,
    /// Hosts per switch, at least 1.
    pub hosts: u32,
    /// Host to its switch.
    pub host_link: Cable,
    /// Switch to the next switch.
    pub chain_link: Cable,
}

impl ParkingLot {
    /// The network, or the invalid parameter.
    pub fn build(&self) -> Result<Graph, TopologyError> {
        at_least(2, "switches", self.switches)?;
        at_least(1, "hosts", self.hosts)?;
        self.host_link.check("host_link")?;
        self.chain_link.check("chain_link")?;
        let hosts = product(&[self.switches, self.hosts]);
        let links = hosts.saturating_add(u64::from(self.switches) - 1);
        let mut draft = Draft::new("switches, hosts", hosts, self.switches.into(), links)?;
        let first = draft.tier("sw", self.switches);
        draft.racks(self.hosts, first, self.host_link);
        for switch in first + 1..first + self.switches {
            draft.link(switch - 1, switch, self.chain_link);
        }
        Ok(draft.finish())
    }
}
