//! Links, switches and the ports of hosts: the elements of a packet's path from one host to another. What happens there
//! is in the modules below; only they see the fields.

mod balance;
mod credit_arrivals;
mod credits;
mod cycles;
mod departure;
mod equal_paths;
mod events;
pub(crate) mod failure;
mod faults;
mod hosts;
mod lazy;
mod parts;
mod pause_state;
mod pauses;
mod programs;
pub(crate) mod switch;

use self::balance::Balance;
use self::parts::{Switch, disciplines_of, instance, on_links, ports_of, switches_of};
use self::pause_state::PauseTimers;
use crate::buffers::Buffers;
use crate::clock::Clock;
use crate::config::{NetworkConfig, Release};
use crate::core::Core;
use crate::credit_table::Credits;
use crate::cyclic::CycleSearch;
use crate::egress::Egress;
use crate::layout::Share;
use crate::links::LinkStates;
use crate::packet::Slab;
use crate::partition::Outbox;
use crate::plan::{FarEnd, Plan};
use crate::port::PortIx;
use crate::probes::Probes;
use crate::results::{BufferUse, Ledger, Totals};
use crate::routing::Routes;
use fanin_cc::{Discipline, Instance, Settings};
use fanin_engine::EventQueue;
use fanin_units::PortId;
use std::sync::Arc;

/// The links, switches and ports of a partition.
pub(crate) struct Network<Q> {
    core: Core<Q>,
    plan: Arc<Plan>,
    /// Of the plan: the far ends of links by port, hosts are nodes below this number, when buffers are released.
    far_ends: Arc<[FarEnd]>,
    /// By row of a port: [`FarEnd::first_port`] of its link.
    first_ports: Vec<u32>,
    host_count: u32,
    release: Release,
    /// Those of the plan, until links go down.
    routes: Arc<Routes>,
    /// Whether routes have changed since the start: source routes are invalid then.
    routes_changed: bool,
    egress: Egress,
    buffers: Buffers,
    links: LinkStates,
    /// Where flow control is by credits.
    credits: Option<Box<Credits>>,
    /// Whether arriving packets, and packets that leave a switch's queue, concern more than their queues.
    inspects: bool,
    observes: bool,
    /// Hosts by their row: their numbers in the whole network.
    hosts: Vec<u32>,
    switches: Vec<Switch>,
    /// Number of each port within its switch.
    port_number: Vec<u16>,
    /// The state of each scheme, at hosts too.
    schemes: Vec<Instance>,
    /// Schemes with a switch program.
    programs: Vec<u16>,
    /// Whether one of them watches all queues.
    programs_watch: bool,
    /// Whether one of them looks at the queue of each packet's class.
    programs_see_lanes: bool,
    /// Which of equal paths packets take, where that is not by flow; and the queue disciplines of switches, where they
    /// have one.
    balance: Option<Box<Balance>>,
    disciplines: Vec<Box<dyn Discipline>>,
    /// Whether packets may be redirected or dropped at a switch: by programs, load balancing, failures or the watchdog
    /// of pauses.
    redirects: bool,
    /// Timers of pauses and faulty hosts, where there are any, and whether some host's NIC may be slow.
    pauses: Option<Box<PauseTimers>>,
    slow_hosts: bool,
    /// Bit c: a packet of class c that finds its egress idle leaves at once.
    at_once: u8,
    /// Bit c: packets of class c take room in buffers.
    buffered: u8,
    /// Whether departures may ever be lazy, and whether they are now.
    lazy_allowed: bool,
    lazy: bool,
    cycles: CycleSearch,
}

impl<Q: EventQueue> Network<Q> {
    /// One partition of a network at time zero. `nics` is called with the host and the port of each NIC, in order.
    pub fn new(
        plan: Arc<Plan>,
        share: &Share,
        schemes: &[Settings],
        queue: Q,
        nics: impl FnMut(u32, PortIx) -> u32,
    ) -> Self {
        let (config, layout, streams) = (&plan.config, &plan.layout, &plan.streams);
        let mut ports = ports_of(config, layout, share);
        let (switches, port_number) = switches_of(config, share, &mut ports, nics);
        let of_switches: Vec<Vec<PortIx>> = switches.iter().map(|switch| switch.ports.clone()).collect();
        let buffers = Buffers::new(config, &ports, &of_switches, plan.largest);
        let deflects = schemes.iter().any(|settings| settings.deflection().is_some());
        let credits = Credits::new(config, &ports, plan.largest, deflects);
        let links = LinkStates::new(&config.graph, streams);
        let telemetry = schemes.iter().any(|settings| settings.header_overhead().telemetry);
        let schemes: Vec<Instance> =
            schemes.iter().map(|settings| instance(settings, &plan, share, &ports, &switches)).collect();
        let programs: Vec<u16> = (0..schemes.len() as u16).filter(|i| schemes[*i as usize].switch_active()).collect();
        let programs_empty = programs.is_empty();
        let balance = Balance::new(&plan, &ports, &switches);
        let disciplines = disciplines_of(&plan, &ports, &switches);
        let programs_watch = schemes.iter().any(|s| s.switch_watches()) || !disciplines.is_empty();
        let shaped = config.classes_with(|class| class.shaper.is_some());
        let programs_see_lanes =
            schemes.iter().any(|s| s.switch_watches() && s.switch_lanes()) || !disciplines.is_empty();
        let lossless = config.classes_with(|class| class.lossless);
        let pauses = PauseTimers::new(&config.pauses, &ports, lossless, (plan.largest, config.packet.pause));
        let mut net = Self {
            core: Core {
                clock: Clock::new(config.seed, queue),
                packets: Slab::with_capacity(on_links(&ports)),
                probes: Probes::new(telemetry, layout.is_cut()),
                outbox: Outbox::new(plan.layout.clone(), share.number),
            },
            egress: Egress::new(config, ports, streams, plan.largest),
            buffers,
            inspects: links.can_fail() || credits.is_some(),
            observes: programs_watch || credits.is_some(),
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
            at_once: match config.release == Release::Dequeue && !programs_watch {
                true if credits.is_some() => 1,
                true => !shaped,
                false => 0,
            },
            buffered: !shaped & !1,
            credits,
            schemes,
            programs,
            programs_watch,
            programs_see_lanes,
            lazy_allowed: false,
            lazy: false,
            cycles: CycleSearch::default(),
            redirects: !programs_empty || balance.is_some() || !disciplines.is_empty(),
            balance,
            disciplines,
            slow_hosts: pauses.as_ref().is_some_and(|pauses| pauses.any_slow()),
            pauses,
            plan,
        };
        if net.plan.config.pauses.record {
            net.core.probes.log_pauses();
        }
        net
    }

    /// The clock, the packets, the probes and the outbox.
    #[inline(always)]
    pub fn core(&self) -> &Core<Q> {
        &self.core
    }

    /// The same, to change them.
    #[inline(always)]
    pub fn core_mut(&mut self) -> &mut Core<Q> {
        &mut self.core
    }

    /// What all partitions share.
    #[inline(always)]
    pub fn plan(&self) -> &Arc<Plan> {
        &self.plan
    }

    /// The network as configured.
    pub fn config(&self) -> &NetworkConfig {
        &self.plan.config
    }

    /// The routes as far as senders know them now.
    #[inline(always)]
    pub fn routes(&self) -> &Routes {
        &self.routes
    }

    /// The ports and their queues.
    #[inline(always)]
    pub fn egress(&self) -> &Egress {
        &self.egress
    }

    /// The state of a scheme.
    #[inline(always)]
    pub fn scheme(&self, scheme: u16) -> &Instance {
        &self.schemes[scheme as usize]
    }

    /// The same, to change it, and the telemetry of packets.
    #[inline(always)]
    pub fn scheme_and_packets(&mut self, scheme: u16) -> (&mut Instance, &Slab) {
        (&mut self.schemes[scheme as usize], &self.core.packets)
    }

    /// Whether a scheme has a switch program.
    pub fn has_programs(&self) -> bool {
        !self.programs.is_empty()
    }

    /// The value of each account of the buffers and its expected value: every pool, then every ingress and class.
    pub fn buffer_use(&self) -> Vec<BufferUse> {
        let received = || self.pauses.iter().flat_map(|pauses| pauses.waiting());
        let credits = self.credits.iter().flat_map(|c| c.check(&self.egress, self.buffers.leaving(), received()));
        self.buffers.check(&self.egress).into_iter().chain(credits).collect()
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
}
