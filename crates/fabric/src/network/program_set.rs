//! The programs at the switches of a partition: those of schemes, load balancing and queue disciplines.

use super::balance::Balance;
use super::parts::{Switch, with_info};
use crate::layout::Share;
use crate::plan::Plan;
use crate::port::Port;
use fanin_cc::{Discipline, Instance, NicInfo, Settings};
use fanin_units::Rate;

/// The code of schemes and users that runs at switches.
pub(super) struct Programs {
    /// The state of each scheme, at hosts too.
    pub schemes: Vec<Instance>,
    /// Schemes with a switch program.
    pub active: Vec<u16>,
    /// Which of equal paths packets take, where that is not by flow.
    pub balance: Option<Box<Balance>>,
    /// The queue disciplines of switches, where they have one.
    pub disciplines: Vec<Box<dyn Discipline>>,
    /// Whether a program or discipline watches all queues.
    pub watch: bool,
    /// Whether one of them looks at the queue of each packet's class.
    pub see_lanes: bool,
}

impl Programs {
    /// Those of the switches of a partition.
    pub fn new(schemes: &[Settings], plan: &Plan, share: &Share, ports: &[Port], switches: &[Switch]) -> Self {
        let schemes: Vec<Instance> =
            schemes.iter().map(|settings| instance(settings, plan, share, ports, switches)).collect();
        let balance = Balance::new(plan, ports, switches);
        let disciplines = disciplines_of(plan, ports, switches);
        let watches = |scheme: &Instance| scheme.switch_watches();
        Self {
            active: (0..schemes.len() as u16).filter(|i| schemes[*i as usize].switch_active()).collect(),
            watch: schemes.iter().any(watches) || !disciplines.is_empty(),
            see_lanes: schemes.iter().any(|s| watches(s) && s.switch_lanes()) || !disciplines.is_empty(),
            schemes,
            balance,
            disciplines,
        }
    }
}

/// The queue discipline of one's own at each switch of a partition, if the network has one.
fn disciplines_of(plan: &Plan, ports: &[Port], switches: &[Switch]) -> Vec<Box<dyn Discipline>> {
    let Some(program) = &plan.config.discipline else { return Vec::new() };
    let of = |switch: &Switch| with_info(plan, ports, switch, "discipline", |info| program.build(info));
    switches.iter().map(of).collect()
}

/// The state of a scheme at the hosts and switches of a partition.
fn instance(settings: &Settings, plan: &Plan, share: &Share, ports: &[Port], switches: &[Switch]) -> Instance {
    let mut scheme = settings.build();
    let mut line_rates = vec![Rate::ZERO; share.hosts.len()];
    for port in ports.iter().filter(|port| port.of_host()) {
        let line = &mut line_rates[port.home as usize];
        *line = (*line).max(port.rate);
    }
    for (host, line_rate) in share.hosts.iter().zip(line_rates) {
        scheme.add_host(&NicInfo {
            seed: plan.streams.word("receiver", *host as u64),
            ..NicInfo::new(line_rate, plan.routes.network_rtt, plan.config.packet.payload as u32, plan.largest)
        });
    }
    for switch in switches {
        with_info(plan, ports, switch, "program", |info| scheme.add_switch(info));
    }
    scheme
}
