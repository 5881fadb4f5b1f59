//! The parts of a network, as they are at time zero.

use crate::config::NetworkConfig;
use crate::layout::{Layout, Share};
use crate::plan::{FarEnd, Plan};
use crate::port::{Port, PortIx};
use fanin_cc::{Balancing, PortView, SwitchInfo};
use fanin_units::{NodeId, PortId, Time};
use std::sync::Arc;

/// A switch program's ports.
pub(super) struct Switch {
    pub node: NodeId,
    pub ports: Vec<PortIx>,
    /// Number of pairs of ingress and class whose peer it pauses.
    pub pausing: u32,
    pub timer_event: Time,
}

/// What follows from the graph and its division into partitions, and never changes.
pub(super) struct Wiring {
    pub plan: Arc<Plan>,
    /// Of the plan: the far ends of links by port.
    pub far_ends: Arc<[FarEnd]>,
    /// By row of a port: [`FarEnd::first_port`] of its link.
    pub first_ports: Vec<u32>,
    /// By row of a port: its number at its switch.
    pub port_number: Vec<u16>,
    /// By row of a host: its number in the whole network.
    pub hosts: Vec<u32>,
    /// Hosts are nodes below this number.
    pub host_count: u32,
}

impl Wiring {
    /// That of a partition.
    pub fn new(plan: Arc<Plan>, share: &Share, port_number: Vec<u16>) -> Self {
        Self {
            far_ends: plan.far_ends.clone(),
            first_ports: share.ports.iter().map(|port| plan.far_ends[port.ix()].first_port).collect(),
            port_number,
            hosts: share.hosts.clone(),
            host_count: plan.config.graph.hosts,
            plan,
        }
    }
}

/// Approximate number of packets on busy links at the same time.
pub(super) fn on_links(ports: &[Port]) -> usize {
    let of = |port: &Port| (port.rate.bytes_in(port.delay) / 1024).min(64) + 2;
    ports.iter().map(of).sum::<u64>() as usize
}

/// The ports of a partition.
pub(super) fn ports_of(config: &NetworkConfig, layout: &Layout, share: &Share) -> Vec<Port> {
    let port = |id: &PortId| {
        let link = &config.graph.links[id.ix() / 2];
        let (node, peer) = if id.ix().is_multiple_of(2) { (link.a, link.b) } else { (link.b, link.a) };
        let mut port = Port::new(*id, node, peer, link.rate, link.delay);
        port.home = layout.home(node);
        let partition = layout.partition(peer);
        if partition != share.number {
            port.set_remote(partition);
        }
        port
    };
    share.ports.iter().map(port).collect()
}

/// The switches of a partition with their ports, and each port's number at its switch. The ports of hosts get NICs.
pub(super) fn switches_of(
    config: &NetworkConfig,
    share: &Share,
    ports: &mut [Port],
    mut nics: impl FnMut(u32, PortIx) -> u32,
) -> (Vec<Switch>, Vec<u16>) {
    let idle = |node: &u32| Switch { node: NodeId(*node), ports: Vec::new(), pausing: 0, timer_event: Time::NEVER };
    let mut switches: Vec<Switch> = share.switches.iter().map(idle).collect();
    let mut number = vec![0; ports.len()];
    for (i, port) in ports.iter_mut().enumerate() {
        let row = PortIx(i as u32);
        if config.graph.is_host(port.node) {
            port.set_nic(nics(port.home, row));
        } else {
            let of_switch = &mut switches[port.home as usize].ports;
            number[i] = of_switch.len() as u16;
            of_switch.push(row);
        }
    }
    (switches, number)
}

/// What programs learn of a switch that comes up; `purpose` names their random draws.
pub(super) fn with_info<R>(
    plan: &Plan,
    ports: &[Port],
    switch: &Switch,
    purpose: &str,
    act: impl FnOnce(&SwitchInfo<'_>) -> R,
) -> R {
    let hosts = plan.config.graph.hosts;
    let view = |port: &PortIx| {
        let port = &ports[port.ix()];
        PortView { to_switch: port.peer.0 >= hosts, ..PortView::new(port.rate) }
    };
    let views: Vec<PortView> = switch.ports.iter().map(view).collect();
    let seed = plan.streams.word(purpose, switch.node.0 as u64);
    let numbered_paths = matches!(plan.config.balancing, Balancing::Senders(_));
    let network_rtt = plan.routes.network_rtt;
    act(&SwitchInfo { seed, network_rtt, numbered_paths, ..SwitchInfo::new(switch.node, &views) })
}
