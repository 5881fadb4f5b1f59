//! Links, switches and the ports of hosts: the elements of a packet's path from one host to another.

use crate::buffers::Buffers;
use crate::clock::Clock;
use crate::config::{NetworkConfig, Release};
use crate::core::Core;
use crate::cyclic::CycleSearch;
use crate::egress::Egress;
use crate::layout::{Layout, Share};
use crate::links::LinkStates;
use crate::packet::{PacketIx, Slab};
use crate::partition::Outbox;
use crate::plan::{FarEnd, Plan};
use crate::port::{Port, PortIx};
use crate::probes::Probes;
use crate::results::{Ledger, Totals};
use crate::routing::Routes;
use fanin_cc::{Instance, NicInfo, PortView, Settings, SwitchInfo};
use fanin_engine::EventQueue;
use fanin_units::{NodeId, PortId, Rate, Time};
use std::sync::Arc;

/// A switch program's ports.
pub(crate) struct Switch {
    pub node: NodeId,
    pub ports: Vec<PortIx>,
    /// Number of pairs of ingress and class whose peer it pauses.
    pub pausing: u32,
    pub timer_event: Time,
}

/// The links, switches and ports of a partition.
pub(crate) struct Network<Q> {
    pub core: Core<Q>,
    pub plan: Arc<Plan>,
    /// Of the plan: the far ends of links by port, hosts are nodes below this number, when buffers are released.
    pub far_ends: Arc<[FarEnd]>,
    /// By row of a port: [`FarEnd::first_port`] of its link.
    pub first_ports: Vec<u32>,
    pub host_count: u32,
    pub release: Release,
    /// Those of the plan, until links go down.
    pub routes: Arc<Routes>,
    /// Whether routes have changed since the start: source routes are invalid then.
    pub routes_changed: bool,
    pub egress: Egress,
    pub buffers: Buffers,
    pub links: LinkStates,
    /// Hosts by their row: their numbers in the whole network.
    pub hosts: Vec<u32>,
    pub switches: Vec<Switch>,
    /// Number of each port within its switch.
    pub port_number: Vec<u16>,
    /// The state of each scheme, at hosts too.
    pub schemes: Vec<Instance>,
    /// Schemes with a switch program.
    pub programs: Vec<u16>,
    /// Whether one of them watches all queues.
    pub programs_watch: bool,
    /// Bit c: a packet of class c that finds its egress idle leaves at once.
    pub at_once: u8,
    /// Whether departures may ever be lazy, and whether they are now.
    pub lazy_allowed: bool,
    pub lazy: bool,
    pub cycles: CycleSearch,
}

impl<Q: EventQueue> Network<Q> {
    /// One partition of a network at time zero. `nics` is called with the host and the port of each NIC, in order.
    pub fn new(
        plan: Arc<Plan>,
        share: &Share,
        schemes: &[Settings],
        queue: Q,
        mut nics: impl FnMut(u32, PortIx) -> u32,
    ) -> Self {
        let (config, layout, streams) = (&plan.config, &plan.layout, &plan.streams);
        let mut ports = ports_of(config, layout, share);
        let mut switches: Vec<Switch> = share
            .switches
            .iter()
            .map(|node| Switch { node: NodeId(*node), ports: Vec::new(), pausing: 0, timer_event: Time::NEVER })
            .collect();
        let mut port_number = vec![0; ports.len()];
        for (i, port) in ports.iter_mut().enumerate() {
            let row = PortIx(i as u32);
            if config.graph.is_host(port.node) {
                port.set_nic(nics(port.home, row));
            } else {
                let of_switch = &mut switches[port.home as usize].ports;
                port_number[i] = of_switch.len() as u16;
                of_switch.push(row);
            }
        }
        let of_switches: Vec<Vec<PortIx>> = switches.iter().map(|switch| switch.ports.clone()).collect();
        let buffers = Buffers::new(config, &ports, &of_switches, plan.largest);
        let links = LinkStates::new(&config.graph, streams);
        let telemetry = schemes.iter().any(|settings| settings.header_overhead().telemetry);
        let schemes: Vec<Instance> =
            schemes.iter().map(|settings| instance(settings, &plan, share, &ports, &switches)).collect();
        let programs: Vec<u16> = (0..schemes.len() as u16).filter(|i| schemes[*i as usize].switch_active()).collect();
        let programs_watch = schemes.iter().any(|s| s.switch_watches());
        Self {
            core: Core {
                clock: Clock::new(config.seed, queue),
                packets: Slab::with_capacity(on_links(&ports)),
                probes: Probes::new(telemetry, layout.is_cut()),
                outbox: Outbox::new(plan.layout.clone(), share.number),
            },
            egress: Egress::new(config, ports, streams),
            buffers,
            links,
            far_ends: plan.far_ends.clone(),
            first_ports: share.ports.iter().map(|port| plan.far_ends[port.ix()].first_port).collect(),
            host_count: config.graph.hosts,
            release: config.release,
            routes: plan.routes.clone(),
            routes_changed: false,
            hosts: share.hosts.clone(),
            switches,
            port_number,
            at_once: if config.release == Release::Dequeue && !programs_watch { u8::MAX } else { 0 },
            schemes,
            programs,
            programs_watch,
            lazy_allowed: false,
            lazy: false,
            cycles: CycleSearch::default(),
            plan,
        }
    }

    /// The network as configured.
    pub fn config(&self) -> &NetworkConfig {
        &self.plan.config
    }

    /// Whether a node is a host.
    #[inline(always)]
    pub fn is_host(&self, node: NodeId) -> bool {
        self.plan.config.graph.is_host(node)
    }

    /// Totals so far, but for those of hosts. Walks over all packets to fill in the ledger.
    pub fn totals(&self) -> Totals {
        let probes = &self.core.probes;
        Totals {
            packet_hops: self.egress.packet_hops(),
            ledger: Ledger { in_flight: self.core.packets.live_bytes(), ..probes.totals.ledger },
            circular_waits: probes.incidents().circular_waits,
            ..probes.totals.clone()
        }
    }

    /// The port of a number, where it is one of this partition.
    pub fn row(&self, port: PortId) -> PortIx {
        self.plan.layout.row(port)
    }

    /// Sets the port by which a packet leaves the next node, when it leaves this one by `out`.
    #[inline(always)]
    pub fn set_next_hop(&mut self, ix: PacketIx, out: PortIx) {
        let packet = &mut self.core.packets[ix];
        let next = self.routes.routed(self.first_ports[out.ix()], packet.path.source_route, packet.head.hops);
        packet.next_hop.set_port(next);
    }
}

/// Approximate number of packets on busy links at the same time.
fn on_links(ports: &[Port]) -> usize {
    let of = |port: &Port| (port.rate.bytes_in(port.delay) / 1024).min(64) + 2;
    ports.iter().map(of).sum::<u64>() as usize
}

/// The ports of a partition.
fn ports_of(config: &NetworkConfig, layout: &Layout, share: &Share) -> Vec<Port> {
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

/// The state of a scheme at the hosts and switches of a partition.
fn instance(settings: &Settings, plan: &Plan, share: &Share, ports: &[Port], switches: &[Switch]) -> Instance {
    let mut scheme = settings.build();
    let hosts = plan.config.graph.hosts;
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
        let view = |port: &PortIx| {
            let port = &ports[port.ix()];
            PortView { to_switch: port.peer.0 >= hosts, ..PortView::new(port.rate) }
        };
        let views: Vec<PortView> = switch.ports.iter().map(view).collect();
        let seed = plan.streams.word("program", switch.node.0 as u64);
        scheme.add_switch(&SwitchInfo { seed, ..SwitchInfo::new(switch.node, &views) });
    }
    scheme
}
