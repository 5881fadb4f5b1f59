//! What hosts do at their ports.

use super::Network;
use crate::clock::{kind, kind_of, number_of, source};
use crate::packet::{Packet, PacketIx};
use crate::port::PortIx;
use crate::results::DropCause;
use fanin_cc::Telemetry;
use fanin_engine::{Event, EventQueue};
use fanin_units::{NodeId, PortId, Time};

impl<Q: EventQueue> Network<Q> {
    /// The number of a host in the whole network, from its row.
    #[inline(always)]
    pub fn host_number(&self, row: u32) -> u32 {
        self.wiring.hosts[row as usize]
    }

    /// An arriving packet ends here: counts it at the sending port, which may belong to another partition.
    #[cold]
    pub fn drop_arriving(&mut self, node: NodeId, ingress: PortIx, ix: PacketIx, cause: DropCause) {
        let port = self.egress.port(ingress);
        let from = port.id.reverse();
        let row = port.remote().is_none().then(|| self.wiring.plan.layout.row(from));
        self.egress.drop_from(&mut self.core, node, (from, row), ix, cause);
    }

    /// Sets the port by which a packet leaves the next node, when it leaves this one by `out`.
    #[inline(always)]
    pub fn set_next_hop(&mut self, ix: PacketIx, out: PortIx) {
        let packet = &mut self.core.packets[ix];
        let next = self.routes.routed(self.wiring.first_ports[out.ix()], packet.path.source_route, packet.head.hops);
        packet.next_hop.set_port(next);
    }

    /// A packet is on its way over a link from a host that is no part of this network, and arrives at this time.
    pub fn expect(&mut self, at: Time, link: PortId, packet: &Packet, telemetry: Option<&Telemetry>) {
        let ix = self.core.packets.add(packet);
        if let Some(telemetry) = telemetry {
            self.core.packets.set_telemetry(ix, telemetry);
        }
        let first_port = self.wiring.far_ends[link.ix()].first_port;
        let next = self.routes.routed(first_port, packet.path.source_route, packet.head.hops);
        self.core.packets[ix].next_hop.set_port(next);
        self.core.clock.push(Event { at, source: source(kind::ARRIVE, link.0), arg: ix });
    }

    /// A host's packet joins the queue of its port.
    #[inline(always)]
    pub fn enqueue(&mut self, out: PortIx, ix: PacketIx, class: u8) {
        if self.modes.buffered & 1 << class == 0 && class != 0 {
            let host = self.egress.port(out).node;
            self.egress.enqueue_shaped(&mut self.core, host, out, ix);
            return;
        }
        self.egress.enqueue(&mut self.core, out, ix, (PortIx::NONE, class));
    }

    /// A host sends a packet by its port, which is free, past the queue.
    #[inline(always)]
    pub fn send(&mut self, out: PortIx, ix: PacketIx) {
        self.egress.stamp_epoch(&mut self.core, out, ix);
        let (now, wire) = (self.core.clock.now(), self.core.packets[ix].head.wire);
        self.egress.transmit(&mut self.core, now, out, ix, wire);
        if self.egress.counts_sent() {
            self.egress.count_sent(out, self.core.packets[ix].head.class, wire);
        }
        if self.credits.is_some() {
            let class = self.core.packets[ix].head.class;
            self.spend(out, class as usize, wire as u64);
        }
    }

    /// Has a port served at this time.
    #[inline(always)]
    pub fn wake(&mut self, out: PortIx, at: Time) {
        self.egress.wake(&mut self.core, out, at);
    }

    /// Sets the class from which a port takes its turns.
    #[inline(always)]
    pub fn set_turn(&mut self, out: PortIx, class: u8) {
        self.egress.set_turn(out, class);
    }

    /// Prefetches the memory of upcoming events, and calls `at_host` with the row of a host that may receive a packet.
    /// Most of them are arriving packets; a wrong prefetch is harmless and cheaper than a branch.
    #[inline(always)]
    pub fn prefetch_upcoming(&self, at_host: impl FnOnce(u32)) {
        let clock = &self.core.clock;
        if let Some(&Event { source, arg: ix, .. }) = clock.ahead(1)
            && let Some(packet) = self.core.packets.get(ix)
        {
            let class = packet.head.class as usize;
            if let Some(far_end) = self.wiring.far_ends.get(number_of(source) as usize) {
                // At a switch, some other host.
                at_host(far_end.home);
                if self.buffers.any_lossless() {
                    self.buffers.prefetch(far_end.ingress, class);
                }
            }
            // At a host, the port is that of the packet's ACK.
            let out = packet.next_hop.port();
            self.egress.prefetch(out);
            self.egress.prefetch_queue(out, class);
        }
        if let Some(next) = clock.ahead(5) {
            self.core.packets.prefetch(next.arg);
            // The packet's egress port, whose number is in the cache.
            let is_port = kind_of(next.source) == kind::PORT;
            self.egress.prefetch(PortIx(if is_port { next.arg } else { 0 }));
        }
    }
}
