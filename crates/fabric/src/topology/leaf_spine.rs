//! Leaf-spine, with RCC's tree.

use super::draft::{Draft, at_least, product, total};
use super::{Cable, Graph, TopologyError};
use fanin_units::{Rate, Time};

/// Two tiers of switches, "leaf0" and so on with the hosts and "spine0" and so on; each leaf has one link to each
/// spine. The hosts of a leaf have consecutive numbers. With one spine it is a tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LeafSpine {
    /// Number of leaves, at least 1.
    pub leaves: u32,
    /// Hosts per leaf, at least 1.
    pub hosts: u32,
    /// Number of spines, at least 1.
    pub spines: u32,
    /// Host to leaf.
    pub host_link: Cable,
    /// Leaf to spine.
    pub fabric_link: Cable,
}

impl LeafSpine {
    /// RCC's tree of 1,000 hosts: 40 racks of 25 hosts at 1 Gb/s, each with 25 Gb/s to the one core switch, 40 us a
    /// link. RCC section 6.2.
    pub const fn rcc() -> Self {
        let delay = Time::from_us(40);
        Self {
            leaves: 40,
            hosts: 25,
            spines: 1,
            host_link: Cable::new(Rate::from_gbps(1), delay),
            fabric_link: Cable::new(Rate::from_gbps(25), delay),
        }
    }

    /// The network, or the invalid parameter.
    pub fn build(&self) -> Result<Graph, TopologyError> {
        at_least(1, "leaves", self.leaves)?;
        at_least(1, "hosts", self.hosts)?;
        at_least(1, "spines", self.spines)?;
        self.host_link.check("host_link")?;
        self.fabric_link.check("fabric_link")?;
        let hosts = product(&[self.leaves, self.hosts]);
        let switches = total(&[self.leaves.into(), self.spines.into()]);
        let links = total(&[hosts, product(&[self.leaves, self.spines])]);
        let mut draft = Draft::new("leaves, hosts, spines", hosts, switches, links)?;
        let leaves = draft.tier("leaf", self.leaves);
        let spines = draft.tier("spine", self.spines);
        draft.racks(self.hosts, leaves, self.host_link);
        for leaf in leaves..leaves + self.leaves {
            for spine in spines..spines + self.spines {
                draft.link(leaf, spine, self.fabric_link);
            }
        }
        Ok(draft.finish())
    }
}
