//! What traffics need to know of their network.

use super::host_names::HostNames;
use super::one::One;
use super::shape::advice;
use fanin_fabric::NetworkConfig;
use fanin_workload::Places;
use std::cell::OnceCell;
use std::collections::HashMap;

/// The properties of the network that traffics need.
pub(super) struct Setting<'a> {
    pub(super) places: Places,
    pub(super) hosts: u32,
    pub(super) seed: u64,
    pub(super) names: &'a [String],
    host_names: OnceCell<HostNames>,
}

impl<'a> Setting<'a> {
    pub(super) fn new(network: &'a NetworkConfig) -> Self {
        let graph = &network.graph;
        let (host_links, tor_uplinks) = graph.capacities();
        let places = Places { rack_of: graph.rack_of(), nic_rate: graph.nic_rate(), host_links, tor_uplinks };
        let names = &graph.names[..graph.hosts as usize];
        Self { places, hosts: graph.hosts, seed: network.seed, names, host_names: OnceCell::new() }
    }

    /// The hosts by name; built only if a traffic names hosts.
    pub(super) fn host_names(&self) -> &HostNames {
        self.host_names.get_or_init(|| HostNames::new(self.names))
    }

    pub(super) fn number_of(&self) -> &HashMap<String, u32> {
        self.host_names().number_of()
    }
}

impl One<'_, '_> {
    /// The numbers of named hosts; the outer `None` after adding a problem.
    pub(super) fn hosts(
        &mut self,
        key: &str,
        names: &Option<Vec<String>>,
        setting: &Setting<'_>,
    ) -> Option<Option<Vec<u32>>> {
        let Some(names) = names else { return Some(None) };
        let path = format!("{}.{key}", self.path);
        let numbers = self.checker.named(names, &path, |name| match setting.number_of().get(name) {
            Some(number) => Ok(*number),
            None => {
                let right = advice(name, setting.number_of().keys().map(String::as_str));
                Err((format!("there is no host \"{name}\""), right))
            }
        });
        (numbers.len() == names.len()).then_some(Some(numbers))
    }
}
