//! Three-tier Clos, with Dart's and HPCC's networks.

use super::draft::{Draft, at_least, product, total};
use super::{Cable, Graph, TopologyError};
use fanin_units::{Rate, Time};

/// Pods of ToR ("tor0") and aggregation switches ("agg0"), joined by core switches ("core0"). Numbers run through all
/// pods; the hosts of a ToR and the switches of a pod have consecutive numbers.
///
/// Uplink u of each ToR goes to aggregation switch `u mod aggs` of its pod. Uplink u of the j-th aggregation switch of
/// each pod goes to core `(j * agg_uplinks + u) mod cores`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Clos {
    /// Number of pods, at least 1.
    pub pods: u32,
    /// ToRs per pod, at least 1.
    pub tors: u32,
    /// Hosts per ToR, at least 1.
    pub hosts: u32,
    /// Uplinks per ToR, a multiple of `aggs`, so that a ToR has equally many links to each.
    pub uplinks: u32,
    /// Aggregation switches per pod, at least 1.
    pub aggs: u32,
    /// Uplinks per aggregation switch. `aggs * agg_uplinks` is a multiple of `cores`, so that a pod has equally many
    /// links to each.
    pub agg_uplinks: u32,
    /// Number of core switches, at least 1.
    pub cores: u32,
    /// Host to ToR.
    pub host_link: Cable,
    /// ToR to aggregation switch.
    pub tor_link: Cable,
    /// Aggregation to core switch.
    pub core_link: Cable,
}

impl Clos {
    /// Dart's network: 1,024 hosts at 10 Gb/s, 4:1 oversubscribed at the ToRs, 5 us a link. Dart section VI-A gives
    /// hosts, ratio and mean path of 5.8 links; the tiers are our reading.
    pub const fn dart() -> Self {
        let cable = Cable::new(Rate::from_gbps(10), Time::from_us(5));
        Self {
            pods: 16,
            tors: 4,
            hosts: 16,
            uplinks: 4,
            aggs: 4,
            agg_uplinks: 4,
            cores: 16,
            host_link: cable,
            tor_link: cable,
            core_link: cable,
        }
    }

    /// HPCC's network: 320 hosts at 100 Gb/s, 20 ToRs, 20 aggregation and 16 core switches at 400 Gb/s, 1 us a link.
    /// HPCC section 5.1; nodes and links have the numbers of that paper's simulator.
    pub const fn hpcc() -> Self {
        let fabric_link = Cable::new(Rate::from_gbps(400), Time::from_us(1));
        Self {
            pods: 5,
            tors: 4,
            hosts: 16,
            uplinks: 4,
            aggs: 4,
            agg_uplinks: 4,
            cores: 16,
            host_link: Cable::new(Rate::from_gbps(100), Time::from_us(1)),
            tor_link: fabric_link,
            core_link: fabric_link,
        }
    }

    fn check(&self) -> Result<(), TopologyError> {
        let counts = [
            ("pods", self.pods),
            ("tors", self.tors),
            ("hosts", self.hosts),
            ("uplinks", self.uplinks),
            ("aggs", self.aggs),
            ("agg_uplinks", self.agg_uplinks),
            ("cores", self.cores),
        ];
        for (parameter, value) in counts {
            at_least(1, parameter, value)?;
        }
        for (parameter, cable) in
            [("host_link", self.host_link), ("tor_link", self.tor_link), ("core_link", self.core_link)]
        {
            cable.check(parameter)?;
        }
        if !self.uplinks.is_multiple_of(self.aggs) {
            let problem = format!(
                "is {}; use a multiple of aggs ({}), so that a ToR has equally many links to each aggregation switch",
                self.uplinks, self.aggs
            );
            return Err(TopologyError::new("uplinks", problem));
        }
        let pod_uplinks = product(&[self.aggs, self.agg_uplinks]);
        if !pod_uplinks.is_multiple_of(self.cores.into()) {
            let problem = format!(
                "a pod has aggs * agg_uplinks = {} * {} = {pod_uplinks} links to the core; make that a multiple of \
                 cores ({}), so that a pod has equally many links to each core switch",
                self.aggs, self.agg_uplinks, self.cores
            );
            return Err(TopologyError::new("agg_uplinks", problem));
        }
        Ok(())
    }

    /// The network, or the invalid parameter.
    pub fn build(&self) -> Result<Graph, TopologyError> {
        self.check()?;
        let hosts = product(&[self.pods, self.tors, self.hosts]);
        let switches = total(&[product(&[self.pods, self.tors]), product(&[self.pods, self.aggs]), self.cores.into()]);
        let links = total(&[
            hosts,
            product(&[self.pods, self.tors, self.uplinks]),
            product(&[self.pods, self.aggs, self.agg_uplinks]),
        ]);
        let parameters = "pods, tors, hosts, uplinks, aggs, agg_uplinks, cores";
        let mut draft = Draft::new(parameters, hosts, switches, links)?;
        let tors = draft.tier("tor", self.pods * self.tors);
        let aggs = draft.tier("agg", self.pods * self.aggs);
        let cores = draft.tier("core", self.cores);
        draft.racks(self.hosts, tors, self.host_link);
        for tor in 0..self.pods * self.tors {
            let pod_aggs = aggs + tor / self.tors * self.aggs;
            for uplink in 0..self.uplinks {
                draft.link(tors + tor, pod_aggs + uplink % self.aggs, self.tor_link);
            }
        }
        for agg in 0..self.pods * self.aggs {
            let first = agg % self.aggs * self.agg_uplinks;
            for uplink in first..first + self.agg_uplinks {
                draft.link(aggs + agg, cores + uplink % self.cores, self.core_link);
            }
        }
        Ok(draft.finish())
    }
}
