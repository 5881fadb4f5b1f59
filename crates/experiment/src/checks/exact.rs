//! A configuration of the ns-3 HPCC simulator as its checks see it.

use fanin_cc::Settings;
use fanin_formats::Warning;
use fanin_formats::hpcc::{Config, Topology};
use fanin_ns3::mmu::Mmu;
use fanin_ns3::packet::HEADERS;

/// What a configuration says, and its control law.
pub struct Exact<'a> {
    pub file: &'a str,
    pub config: &'a Config,
    pub topology: &'a Topology,
    pub law: &'a Settings,
}

impl Exact<'_> {
    /// A warning about the configuration's file.
    pub fn warning(&self, what: String) -> Warning {
        Warning { file: self.file.to_string(), line: 0, what }
    }

    /// A warning about the topology's file.
    pub fn of_topology(&self, what: String) -> Warning {
        Warning { file: self.config.topology_file.clone(), line: 0, what }
    }

    /// The rates of links that `is` holds for, each once, the lowest first.
    pub fn rates(&self, is: impl Fn(u64) -> bool) -> Vec<u64> {
        let mut rates: Vec<u64> = self.topology.links.iter().map(|link| link.rate).filter(|rate| is(*rate)).collect();
        rates.sort_unstable();
        rates.dedup();
        rates
    }

    /// Bytes of a full data packet on the wire.
    pub fn packet(&self) -> u32 {
        self.config.payload + HEADERS + u32::from(self.law.header_overhead().data)
    }

    /// The buffer of each switch, with the rates of its devices in order.
    pub fn switches(&self) -> Vec<(Mmu, Vec<u64>)> {
        let mut devices: Vec<Vec<(u64, u64)>> = vec![Vec::new(); self.topology.is_switch.len()];
        for link in &self.topology.links {
            for node in [link.a, link.b] {
                devices[node as usize].push((link.rate, link.delay.ns));
            }
        }
        let first_host = self.topology.is_switch.iter().position(|is_switch| !is_switch);
        let host_rate = first_host.and_then(|host| devices[host].first()).map_or(0, |(rate, _)| *rate);
        let switches = devices.into_iter().zip(&self.topology.is_switch).filter(|(_, is_switch)| **is_switch);
        let switch = |(devices, _): (Vec<(u64, u64)>, &bool)| {
            let rates = devices.iter().map(|(rate, _)| *rate).collect();
            (Mmu::new(self.config, &devices, host_rate), rates)
        };
        switches.map(switch).collect()
    }
}
