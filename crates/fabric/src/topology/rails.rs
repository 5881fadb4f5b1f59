//! Clusters of GPU servers: NVLink inside a server, and a network between them in rails.

use super::draft::{Draft, at_least, product, total};
use super::{Cable, Graph, TopologyError};

/// Servers with GPUs "gpu0.0", "gpu0.1" and so on (server, place), which are the hosts. Place g of each server is on
/// rail g modulo `rails`. The servers are divided into segments; in each, a rail has a leaf for each set of leaves,
/// called "leaf0.1.2" (set, rail, segment). A GPU has a link to its rail's leaf in each set. Sets are planes, each with
/// spines of its own ("spine0.0": plane, number), times the leaves of a GPU in a plane. A server may have an NV switch,
/// "nv0", with a link to each of its GPUs; it leads nowhere else.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rails {
    /// Number of servers, at least 1.
    pub servers: u32,
    /// GPUs of a server, at least 1.
    pub gpus: u32,
    /// Rails; a divisor of `gpus`.
    pub rails: u32,
    /// Servers of a segment, which share its leaves, at least 1.
    pub segment: u32,
    /// Planes: networks that have no link in common, at least 1.
    pub planes: u32,
    /// Leaves of a GPU in each plane, at least 1: 2 is called dual ToR.
    pub tors: u32,
    /// Spines of each plane. Without them only GPUs of the same leaf, or of the same server, reach each other.
    pub spines: u32,
    /// GPU to NV switch; without it servers have none.
    pub nvlink: Option<Cable>,
    /// GPU to each of its leaves.
    pub nic: Cable,
    /// Leaf to each spine of its plane.
    pub fabric_link: Cable,
}

impl Rails {
    /// The network, or the invalid parameter.
    pub fn build(&self) -> Result<Graph, TopologyError> {
        let Self { servers, gpus, rails, segment, planes, tors, spines, .. } = *self;
        let counts = [("servers", servers), ("gpus", gpus), ("rails", rails), ("segment", segment)];
        for (name, value) in counts.into_iter().chain([("planes", planes), ("tors", tors)]) {
            at_least(1, name, value)?;
        }
        if !gpus.is_multiple_of(rails) {
            let problem = format!("is {rails}; use a divisor of gpus ({gpus}), so that all rails have as many");
            return Err(TopologyError::new("rails", problem));
        }
        self.nic.check("nic")?;
        self.fabric_link.check("fabric_link")?;
        self.nvlink.map_or(Ok(()), |cable| cable.check("nvlink"))?;
        let segments = servers.div_ceil(segment);
        let leaves = product(&[planes, tors, rails, segments]);
        let hosts = product(&[servers, gpus]);
        let own = if self.nvlink.is_some() { (u64::from(servers), hosts) } else { (0, 0) };
        let switches = total(&[leaves, product(&[planes, spines]), own.0]);
        let links =
            total(&[hosts.saturating_mul(product(&[planes, tors])), leaves.saturating_mul(spines.into()), own.1]);
        let sizes = "servers, gpus, planes, tors, spines";
        let mut draft = Draft::new(sizes, hosts, switches, links)?;
        draft.name_hosts(|host| format!("gpu{}.{}", host / gpus, host % gpus));
        let sets = planes * tors;
        let mut first_leaf = 0;
        for set in 0..sets {
            for rail in 0..rails {
                for part in 0..segments {
                    let leaf = draft.switch(&format!("leaf{set}.{rail}.{part}"));
                    first_leaf = if (set, rail, part) == (0, 0, 0) { leaf } else { first_leaf };
                }
            }
        }
        let leaf = |set: u32, rail: u32, part: u32| first_leaf + (set * rails + rail) * segments + part;
        for host in 0..servers * gpus {
            for set in 0..sets {
                draft.link(host, leaf(set, host % gpus % rails, host / gpus / segment), self.nic);
            }
        }
        for plane in 0..planes {
            for number in 0..spines {
                let spine = draft.switch(&format!("spine{plane}.{number}"));
                for below in leaf(plane * tors, 0, 0)..leaf((plane + 1) * tors, 0, 0) {
                    draft.link(below, spine, self.fabric_link);
                }
            }
        }
        if let Some(cable) = self.nvlink {
            let first = draft.tier("nv", servers);
            for host in 0..servers * gpus {
                draft.link(host, first + host / gpus, cable);
            }
        }
        Ok(draft.finish())
    }
}
