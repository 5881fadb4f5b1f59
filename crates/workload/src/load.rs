//! Loads, and the properties of the network that they need.

use crate::WorkloadError;
use fanin_units::Rate;
use std::fmt;

/// Racks and rates of the network's hosts.
#[derive(Clone, PartialEq, Debug)]
pub struct Places {
    /// For each host, the number of its rack, that is, of its switch.
    pub rack_of: Vec<u32>,
    /// For each host, the rate of all its links together.
    pub nic_rate: Vec<Rate>,
    /// Sum of the rates of all host links, one direction.
    pub host_links: Rate,
    /// Sum of the rates of all links from switches with hosts to other switches, one direction.
    pub tor_uplinks: Rate,
}

impl Places {
    pub(crate) fn hosts(&self) -> u32 {
        self.rack_of.len().min(u32::MAX as usize) as u32
    }

    /// Sum of the rates of these hosts, in bits per second.
    pub(crate) fn nic_bps(&self, hosts: impl Iterator<Item = u32>) -> f64 {
        hosts.map(|host| self.nic_rate.get(host as usize).map_or(0.0, |rate| rate.as_bps() as f64)).sum()
    }

    pub(crate) fn crosses_racks(&self, a: u32, b: u32) -> bool {
        self.rack_of.get(a as usize) != self.rack_of.get(b as usize)
    }

    pub(crate) fn check(&self) -> Result<(), WorkloadError> {
        if self.rack_of.len() != self.nic_rate.len() {
            let problem = format!("{} racks and {} NIC rates of hosts", self.rack_of.len(), self.nic_rate.len());
            return Err(WorkloadError::key("network", problem, "each host needs both"));
        }
        if self.rack_of.len() < 2 {
            let problem = format!("{} hosts", self.rack_of.len());
            return Err(WorkloadError::key("network", problem, "a flow needs two hosts"));
        }
        if let Some(host) = self.nic_rate.iter().position(|rate| *rate == Rate::ZERO) {
            return Err(WorkloadError::key(
                "network",
                format!("host {host} has no rate"),
                "connect it or leave it out",
            ));
        }
        Ok(())
    }
}

/// The capacity that a load is a share of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LoadBase {
    /// The links of all hosts together; all payload counts.
    HostLinks,
    /// The uplinks of all switches with hosts together; only payload between racks counts (row E11 of Dart's setting:
    /// 2.56 Tb/s of 1,024 hosts at 10 Gb/s, 4 to 1 oversubscribed).
    TorUplinks,
    /// The links of the possible receivers, each on average; all payload counts.
    ReceiverLink,
}

impl fmt::Display for LoadBase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::HostLinks => "host-links",
            Self::TorUplinks => "tor-uplinks",
            Self::ReceiverLink => "receiver-link",
        })
    }
}

/// Offered load: payload bits per second as a share of a capacity, without headers.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Load {
    /// The share: 0.4 is 40 %.
    pub share: f64,
    /// The capacity.
    pub of: LoadBase,
}

impl Load {
    /// The payload of the whole traffic in bits per second, within and between racks, if a share `inter_rack` of it
    /// crosses racks and its receivers' links add up to `receivers_bps`.
    pub(crate) fn payload_bps(
        &self,
        places: &Places,
        inter_rack: f64,
        receivers_bps: f64,
    ) -> Result<f64, WorkloadError> {
        // Far above any oversubscription in use: a share of 40 is 40 % written as a percentage.
        const MAX_SHARE: f64 = 20.0;
        if !(self.share > 0.0 && self.share <= MAX_SHARE) {
            let right = format!("a share is above 0 and at most {MAX_SHARE}; write 0.4 for 40 %");
            return Err(WorkloadError::key("load.share", format!("{} is not a possible share", self.share), right));
        }
        let capacity = match self.of {
            LoadBase::HostLinks => places.host_links.as_bps() as f64,
            LoadBase::ReceiverLink => receivers_bps,
            LoadBase::TorUplinks => {
                if inter_rack <= 0.0 {
                    let problem = "no flow of this pattern crosses racks, so ToR uplinks are unused";
                    return Err(WorkloadError::key("load.of", problem, "use \"host-links\" or other hosts"));
                }
                places.tor_uplinks.as_bps() as f64 / inter_rack
            }
        };
        if capacity <= 0.0 {
            let problem = format!("this network has no {}", self.of);
            return Err(WorkloadError::key("load.of", problem, "use \"host-links\""));
        }
        Ok(capacity * self.share)
    }
}
