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
mod modes;
mod parts;
mod pause_state;
mod pauses;
mod program_set;
mod programs;
pub(crate) mod switch;
mod trimming;

use self::modes::Modes;
use self::parts::{Switch, Wiring, on_links, ports_of, switches_of};
use self::pause_state::PauseTimers;
use self::program_set::Programs;
use crate::buffers::Buffers;
use crate::clock::Clock;
use crate::config::NetworkConfig;
use crate::core::Core;
use crate::credit_table::Credits;
use crate::cyclic::CycleSearch;
use crate::egress::Egress;
use crate::layout::Share;
use crate::links::LinkStates;
use crate::packet::Slab;
use crate::partition::Outbox;
use crate::plan::Plan;
use crate::port::PortIx;
use crate::probes::Probes;
use crate::results::{BufferUse, Ledger, Totals};
use crate::routing::Routes;
use fanin_cc::{Instance, Settings};
use fanin_engine::EventQueue;
use fanin_units::PortId;
use std::sync::Arc;

/// The links, switches and ports of a partition.
pub(crate) struct Network<Q> {
    core: Core<Q>,
    wiring: Wiring,
    /// Those of the plan, until links go down.
    routes: Arc<Routes>,
    modes: Modes,
    egress: Egress,
    buffers: Buffers,
    links: LinkStates,
    /// Where flow control is by credits.
    credits: Option<Box<Credits>>,
    switches: Vec<Switch>,
    programs: Programs,
    /// Timers of pauses and faulty hosts, where there are any.
    pauses: Option<Box<PauseTimers>>,
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
        let programs = Programs::new(schemes, &plan, share, &ports, &switches);
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
            modes: Modes::new(config, &programs, &links, credits.as_deref(), pauses.as_deref()),
            routes: plan.routes.clone(),
            buffers,
            links,
            credits,
            switches,
            programs,
            pauses,
            cycles: CycleSearch::default(),
            wiring: Wiring::new(plan, share, port_number),
        };
        if net.wiring.plan.config.pauses.record {
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
        &self.wiring.plan
    }

    /// The network as configured.
    pub fn config(&self) -> &NetworkConfig {
        &self.wiring.plan.config
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
        &self.programs.schemes[scheme as usize]
    }

    /// The same, to change it, and the telemetry of packets.
    #[inline(always)]
    pub fn scheme_and_packets(&mut self, scheme: u16) -> (&mut Instance, &Slab) {
        (&mut self.programs.schemes[scheme as usize], &self.core.packets)
    }

    /// Whether a scheme has a switch program.
    pub fn has_programs(&self) -> bool {
        !self.programs.active.is_empty()
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
            circular_waits: probes.incidents().seen.circular_waits,
            ..probes.totals.clone()
        }
    }

    /// The port of a number, where it is one of this partition.
    pub fn row(&self, port: PortId) -> PortIx {
        self.wiring.plan.layout.row(port)
    }
}
