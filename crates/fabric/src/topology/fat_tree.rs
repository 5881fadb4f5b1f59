//! k-ary fat tree.

use super::draft::check_size;
use super::{Cable, Clos, Graph, TopologyError};

/// k pods of k/2 ToRs with k/2 hosts each and k/2 aggregation switches, joined by (k/2)^2 core switches: every switch
/// has k ports, and every tier has the capacity of all hosts (Al-Fares et al., SIGCOMM 2008). Names and order as in
/// [`Clos`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FatTree {
    /// Ports per switch, even and at least 2. The tree has k^3/4 hosts: 128 for 8, 1,024 for 16.
    pub k: u32,
    /// Every link.
    pub link: Cable,
}

impl FatTree {
    /// The network, or the invalid parameter.
    pub fn build(&self) -> Result<Graph, TopologyError> {
        let k = u64::from(self.k);
        if k < 2 || !k.is_multiple_of(2) {
            return Err(TopologyError::new("k", format!("is {k}; use an even number of at least 2, such as 8 or 16")));
        }
        self.link.check("link")?;
        // Checked here too, so that the error names k, and half * half below fits.
        let hosts = k.saturating_mul(k).saturating_mul(k) / 4;
        check_size("k", hosts.saturating_add((k * k / 4).saturating_mul(5)), hosts.saturating_mul(3))?;
        let half = self.k / 2;
        let clos = Clos {
            pods: self.k,
            tors: half,
            hosts: half,
            uplinks: half,
            aggs: half,
            agg_uplinks: half,
            cores: half * half,
            host_link: self.link,
            tor_link: self.link,
            core_link: self.link,
        };
        clos.build()
    }
}
