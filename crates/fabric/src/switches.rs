//! The switches and links of a network alone, with hosts outside the simulation.

use crate::clock::{kind, kind_of, number_of, source};
use crate::config::NetworkConfig;
use crate::layout::Layout;
use crate::network::Network;
use crate::network::switch::AtHost;
use crate::packet::{Packet, PacketIx};
use crate::path::{FlowPath, key};
use crate::plan::Plan;
use crate::port::PortIx;
use crate::results::{DropCause, Incidents, Totals};
use fanin_cc::{Header, Settings};
use fanin_engine::{CalendarQueue, Event};
use fanin_units::{NodeId, PortId, Time};
use std::sync::Arc;

/// A packet that leaves the network.
#[derive(Clone, Copy, Debug)]
pub struct Exit {
    /// When its last bit reached the host.
    pub time: Time,
    /// The host.
    pub host: NodeId,
    /// What it says of itself, with the marks of its path.
    pub header: Header,
}

/// The switches and links of a network, with the port of each host's NIC, without the hosts: these are in a test, in
/// another program, or on a wire. Packets enter at hosts with [`SwitchFabric::enter`] and leave as [`Exit`]s. PFC stops
/// the ports of hosts, where packets then wait: [`SwitchFabric::is_paused`].
pub struct SwitchFabric {
    net: Network<CalendarQueue>,
    /// The port of each NIC.
    nics: Vec<PortIx>,
    entered: u32,
    exits: Vec<Exit>,
}

impl SwitchFabric {
    /// A network at time zero. Its switches run the programs of these schemes; a packet of any says with `scheme` in
    /// [`SwitchFabric::enter`] which it is.
    ///
    /// # Errors
    /// Where links go down: senders have to be told, and they are elsewhere.
    pub fn new(config: NetworkConfig, schemes: &[Settings]) -> Result<Self, &'static str> {
        if config.graph.links.iter().any(|link| !link.outages.is_empty()) {
            return Err("links that go down change what senders do, and those are outside the simulation");
        }
        let (spacing, horizon) = config.event_spacing(1);
        let queue = CalendarQueue::new(config.seed, spacing, horizon);
        let layout = Layout::whole(&config.graph);
        let share = layout.share(&config.graph, 0);
        let plan = Arc::new(Plan::new(config, layout, schemes));
        let mut nics = Vec::new();
        let mut net = Network::new(plan, &share, schemes, queue, |_, port| {
            nics.push(port);
            nics.len() as u32 - 1
        });
        net.allow_lazy();
        net.start_programs();
        net.schedule_faults();
        Ok(Self { net, nics, entered: 0, exits: Vec::new() })
    }

    /// A packet enters the NIC of its source, now or at a later time: it waits there while the link is busy or its
    /// class is paused. Equal-cost paths are chosen by its flow. `scheme` is an index into the list of schemes given at
    /// construction.
    ///
    /// # Panics
    /// Where the time has passed, or source or destination is no host.
    pub fn enter(&mut self, at: Time, header: Header, scheme: u16) {
        assert!(at >= self.now(), "a packet enters at a time that has not passed");
        assert!(self.net.is_host(header.src) && self.net.is_host(header.dst), "packets go from host to host");
        let key = key(self.net.plan().streams.seed(), header.flow.0 as u64);
        let path = self.net.routes().path(header.src, header.dst, key);
        let ix = self.net.core_mut().new_packet(&Packet { scheme, ..Packet::new(header, path) });
        // Sources of simultaneous events differ.
        self.entered = number_of(self.entered.wrapping_add(1));
        self.net.core_mut().clock.schedule(at, source(kind::START, self.entered), ix);
    }

    /// Runs all events before `until`.
    pub fn run_until(&mut self, until: Time) {
        while let Some(event) = self.net.core_mut().clock.next(until) {
            self.net.core_mut().probes.totals.events += 1;
            self.handle(event);
        }
        self.net.core_mut().clock.advance_to(until);
        self.net.flush_all();
    }

    fn handle(&mut self, event: Event) {
        let at_host = match kind_of(event.source) {
            kind::START => self.depart(event.arg),
            _ => self.net.handle(event),
        };
        match at_host {
            Some(AtHost::Packet(host, _, ix)) => {
                let (time, header) = (self.now(), self.net.core().packets[ix].head);
                self.net.core_mut().consume(ix);
                self.exits.push(Exit { time, host, header });
            }
            Some(AtHost::Nic(nic)) => self.serve(self.nics[nic as usize]),
            None => {}
        }
    }

    /// A packet joins the queue of its host's link.
    fn depart(&mut self, ix: PacketIx) -> Option<AtHost> {
        let Packet { head, path: FlowPath { key, .. }, .. } = self.net.core().packets[ix];
        let Some(port) = self.net.routes().out_of_host(head.src, head.dst, key) else {
            self.net.core_mut().lose(head.src, ix, DropCause::NoRoute);
            return None;
        };
        let out = self.net.row(port);
        self.net.set_next_hop(ix, out);
        self.net.enqueue(out, ix, head.class);
        self.net.egress().port(out).nic().map(AtHost::Nic)
    }

    /// Sends what waits at a host's port, if it is free.
    fn serve(&mut self, out: PortIx) {
        if self.net.egress().port(out).busy_until <= self.now() {
            self.net.send_queued(out);
        }
        let port = self.net.egress().port(out);
        if port.ready() != 0 {
            let at = port.busy_until;
            self.net.wake(out, at);
        }
    }

    /// Everything before this time has happened.
    pub fn now(&self) -> Time {
        self.net.core().clock.now()
    }

    /// When something happens next, or [`Time::NEVER`].
    pub fn next_at(&self) -> Time {
        self.net.core().clock.first_at()
    }

    /// Packets that have left the network since the last call, in order of time. `into` is emptied first and its memory
    /// used again.
    pub fn take_exits(&mut self, into: &mut Vec<Exit>) {
        into.clear();
        core::mem::swap(into, &mut self.exits);
    }

    /// Whether PFC pauses a class at a host's port.
    pub fn is_paused(&self, port: PortId, class: u8) -> bool {
        self.net.egress().port(self.net.row(port)).paused & 1 << class != 0
    }

    /// Totals so far; those of hosts are zero.
    pub fn totals(&self) -> Totals {
        self.net.totals()
    }

    /// Drops and pauses, the first ones with time and place.
    pub fn incidents(&self) -> &Incidents {
        self.net.core().probes.incidents()
    }
}
