//! What traffics need to know of their network.

use super::host_names::HostNames;
use super::one::One;
use super::shape::advice;
use fanin_engine::Streams;
use fanin_fabric::NetworkConfig;
use fanin_fabric::topology::Reach;
use fanin_units::Time;
use fanin_workload::{self as workload, Places};
use std::cell::OnceCell;
use std::collections::HashMap;

/// What is right where no way leads from one host to another.
pub(crate) const NO_WAY: &str = "hosts do not forward: join them through switches, as spines do, or have messages \
                                 passed on, as collectives with pxn = true do";

/// The properties of the network that traffics need.
pub(super) struct Setting<'a> {
    pub(super) places: Places,
    pub(super) hosts: u32,
    pub(super) seed: u64,
    pub(super) names: &'a [String],
    /// Which hosts reach each other, where some may not.
    reach: Option<Reach>,
    host_names: OnceCell<HostNames>,
}

impl<'a> Setting<'a> {
    /// `may_part`: some hosts may not reach others.
    pub(super) fn new(network: &'a NetworkConfig, may_part: bool) -> Self {
        let graph = &network.graph;
        let (host_links, tor_uplinks) = graph.capacities();
        let places = Places { rack_of: graph.rack_of(), nic_rate: graph.nic_rate(), host_links, tor_uplinks };
        let names = &graph.names[..graph.hosts as usize];
        let reach = may_part.then(|| Reach::of(graph)).flatten();
        Self { places, hosts: graph.hosts, seed: network.seed, names, reach, host_names: OnceCell::new() }
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
    /// A way leads from the sender of each message to its receiver.
    pub(super) fn check_reach(&mut self, of: &workload::Traffic, number: u16, setting: &Setting<'_>, until: Time) {
        let Some(reach) = &setting.reach else { return };
        let flows = of.flows(&setting.places, &Streams::new(setting.seed), number, until);
        let apart = flows.into_iter().flatten().find(|flow| !reach.joins(flow.src, flow.dst));
        if let Some(flow) = apart {
            let [from, to] = [flow.src, flow.dst].map(|host| &setting.names[host as usize]);
            self.fail("pattern", format!("no way leads from host \"{from}\" to host \"{to}\""), NO_WAY);
        }
    }

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
