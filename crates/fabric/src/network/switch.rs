//! The switch pipeline: a packet arrives, is routed, admitted, queued and served.

use super::Network;
use super::pause_state::PauseFrame;
use crate::buffers::{Admission, Request};
use crate::config::Release;
use crate::packet::{Packet, PacketIx};
use crate::path::FlowPath;
use crate::plan::FarEnd;
use crate::port::PortIx;
use crate::results::DropCause;
use fanin_cc::Header;
use fanin_engine::EventQueue;
use fanin_units::{NodeId, PortId};

/// The part of an event that concerns a host.
pub(crate) enum AtHost {
    /// A packet arrived at a host: the host, its row, and the packet.
    Packet(NodeId, u32, PacketIx),
    /// Its NIC may have a packet to send: PFC resumed a class, or the port is free.
    Nic(u32),
}

impl<Q: EventQueue> Network<Q> {
    /// A packet's last bit reached the other end of its link.
    #[inline(always)]
    pub fn arrive(&mut self, link: PortId, ix: PacketIx) -> Option<AtHost> {
        let FarEnd { node, home, ingress, .. } = self.wiring.far_ends[link.ix()];
        if self.modes.inspects
            && let Some(cause) = self.inspect(link, node, ingress, ix)
        {
            self.drop_arriving(node, ingress, ix, cause);
            return None;
        }
        let packet = self.core.arrive(node, ix);
        let Packet { head: Header { kind, src, dst, class, wire, hops, .. }, path, next_hop, .. } = *packet;
        if kind.is_of_link() {
            return self.pause_arrives(ingress, ix);
        }
        if node.0 < self.wiring.host_count {
            if self.modes.slow_hosts && !self.receive_slowly(ingress, ix) {
                return None;
            }
            return Some(AtHost::Packet(node, home, ix));
        }
        let out = if self.modes.routes_changed || path.source_route == FlowPath::NO_ROUTE {
            match self.routes.next_at(node, (src, dst), path.key) {
                PortId::NONE => PortIx::NONE,
                port => self.wiring.plan.layout.row(port),
            }
        } else {
            let out = next_hop.port();
            let next = self.routes.routed(self.wiring.first_ports[out.ix()], path.source_route, hops);
            packet.next_hop.set_port(next);
            out
        };
        self.receive(node, home, ingress, ix, (class, wire), out);
        None
    }

    /// A packet arrived at a switch by `ingress`; its next hop is `out`.
    #[inline(always)]
    fn receive(
        &mut self,
        node: NodeId,
        switch: u32,
        ingress: PortIx,
        ix: PacketIx,
        (mut class, mut wire): (u8, u16),
        mut out: PortIx,
    ) {
        // It holds buffer of the class that the link behind it is paused by, whatever lane it leaves in.
        let mut ingress_class = class;
        if out == PortIx::NONE {
            self.on_lost(ingress, ix);
            self.drop_arriving(node, ingress, ix, DropCause::NoRoute);
            self.free_credits(ingress, ingress_class as usize, wire as u64);
            return;
        }
        if self.modes.redirects {
            if self.links.blocks(&self.core.packets[ix]) {
                self.on_lost(ingress, ix);
                self.egress.drop_packet(&mut self.core, node, out, ix, DropCause::Blocked);
                self.free_credits(ingress, ingress_class as usize, wire as u64);
                return;
            }
            match self.run_programs(switch, ingress, out, ix) {
                Some(port) => out = port,
                None => {
                    self.egress.drop_packet(&mut self.core, node, out, ix, DropCause::Program);
                    self.free_credits(ingress, ingress_class as usize, wire as u64);
                    return;
                }
            }
            let head = &self.core.packets[ix].head;
            (class, wire) = (head.class, head.wire);
            if class == 0 {
                ingress_class = 0; // a queue discipline may have trimmed it
            }
            if self.watchdog_drops(out, class) {
                self.on_lost(ingress, ix);
                self.egress.drop_packet(&mut self.core, node, out, ix, DropCause::Watchdog);
                return;
            }
        }
        self.flush(out);
        if self.core.probes.traces() {
            self.trace_hop(Some(out), node, ix);
        }
        let now = self.core.clock.now();
        if self.modes.at_once & 1 << class != 0 && self.egress.is_idle(out, class, now) {
            // It leaves at once without queueing, so it takes no buffer.
            self.egress.pass(&mut self.core, out, ix);
            self.egress.transmit(&mut self.core, now, out, ix, wire);
            return;
        }
        if self.modes.buffered & 1 << class != 0 {
            let (class, leaves_in) = (ingress_class as usize, class as usize);
            let request = Request { switch, ingress, class, wire: wire as u64, out, leaves_in };
            if let Err(cause) = self.admit(&request) {
                if cause != DropCause::Buffer || !self.trim(switch, out, ix) {
                    self.egress.drop_packet(&mut self.core, node, out, ix, cause);
                    return;
                }
                ingress_class = 0;
            }
        } else if class != 0 {
            self.egress.enqueue_shaped(&mut self.core, node, out, ix);
            self.serve(out);
            return;
        }
        self.egress.enqueue(&mut self.core, out, ix, (ingress, ingress_class));
        let port = self.egress.port(out);
        if port.up() && port.busy_until > now {
            let at = port.serve_at();
            self.egress.wake(&mut self.core, out, at);
        } else {
            self.serve(out);
        }
    }

    /// Decides the admission of a data packet, counts it, and pauses its sender if necessary.
    #[inline(always)]
    fn admit(&mut self, request: &Request) -> Result<(), DropCause> {
        let mut admission = self.buffers.admit(&self.egress, request, false);
        if let Admission::Inexact = admission {
            self.flush_switch(request.switch);
            admission = self.buffers.admit(&self.egress, request, true);
        }
        match admission {
            Admission::Dropped(cause) => return Err(cause),
            Admission::AdmittedPausing => {
                if self.core.probes.pauses().is_some() {
                    let Request { ingress, class, wire, out, leaves_in, .. } = *request;
                    self.note_full_ingress(ingress, class, wire, (out, leaves_in));
                }
                self.begin_pause(request.switch);
                self.announce(request.ingress, request.class);
            }
            Admission::Credited => self.gate_first(request.out, request.leaves_in, request.wire),
            Admission::Admitted | Admission::Inexact => {}
        }
        Ok(())
    }

    /// Sends the pause state of a class to the peer of an ingress, ahead of all packets.
    fn announce(&mut self, ingress: PortIx, class: usize) {
        self.egress.announce(ingress, class);
        self.serve(ingress);
    }

    /// Releases buffer, and resumes the peer of an ingress if that frees enough.
    #[inline(always)]
    pub fn release_buffer(&mut self, packet: &crate::queue::Queued) {
        if let Some((ingress, class)) = self.buffers.release(packet) {
            if self.credits.is_some() {
                return self.free_credits(ingress, class, packet.wire() as u64);
            }
            let switch = self.egress.port(ingress).home;
            self.end_pause(switch);
            self.announce(ingress, class);
        }
    }

    /// The wake-up of a port.
    #[inline(always)]
    pub fn port_wakes(&mut self, out: PortIx) -> Option<AtHost> {
        let (counts, lazy) = self.egress.woken(out, self.core.clock.now());
        if let Some(nic) = self.egress.port(out).nic() {
            return counts.then_some(AtHost::Nic(nic));
        }
        // The number of wake-ups of a switch depends on how the network is cut, so they are not counted as events.
        self.core.probes.totals.events -= 1;
        if counts {
            if lazy {
                self.flush(out);
            }
            self.serve(out);
        }
        None
    }

    /// The shaper of a port has tokens for the packet that waits for them.
    #[inline(never)]
    pub fn refill(&mut self, out: PortIx) -> Option<AtHost> {
        self.egress.refill(&mut self.core, out);
        if let Some(nic) = self.egress.port(out).nic() {
            return Some(AtHost::Nic(nic));
        }
        self.serve(out);
        None
    }

    /// Sends the next packet of a switch's port if it is free, and makes sure that it is served again if more waits.
    #[inline]
    pub fn serve(&mut self, out: PortIx) {
        let now = self.core.clock.now();
        let port = self.egress.port(out);
        if !port.up() {
            return;
        }
        if port.busy_until > now {
            // The packet on the wire may hold buffer to release, even if no packet is queued behind it.
            if port.waiting | port.pfc_pending != 0 || self.buffers.holds_for(out) {
                let at = port.serve_at();
                self.egress.wake(&mut self.core, out, at);
            }
            return;
        }
        if let Some(left) = self.buffers.take_left(out) {
            self.egress.depart(&mut self.core, out, &left);
            self.release_buffer(&left);
            if self.egress.port(out).busy_until > now {
                // Releasing this buffer resumed the peer of this port, which has sent a pause frame.
                return;
            }
        }
        let is_frame = self.egress.port(out).pfc_pending != 0;
        let Some(next) = self.next_to_send(now, out) else { return };
        if self.modes.observes && !is_frame {
            self.spend(out, next.class() as usize, next.wire() as u64);
            if self.programs.watch {
                self.on_dequeue(out, next.ix());
            }
        }
        if self.modes.release == Release::LastBit && next.class() != 0 {
            // The packet holds its buffer until its last bit has left, and the port has to be served then.
            let left = self.egress.occupy(&mut self.core, now, out, next.ix(), next.wire());
            self.buffers.hold_until_left(out, next);
            self.egress.wake(&mut self.core, out, left);
        } else {
            self.egress.transmit(&mut self.core, now, out, next.ix(), next.wire());
            // Only now that the port is busy: what this frees may make the port itself announce something.
            self.release_buffer(&next);
        }
        let port = self.egress.port(out);
        if port.ready() != 0 {
            let at = port.serve_at();
            self.egress.wake(&mut self.core, out, at);
        }
    }

    /// A pause frame, or one of credits, from the peer of a port.
    #[inline(never)]
    fn pause_arrives(&mut self, port: PortIx, ix: PacketIx) -> Option<AtHost> {
        if self.credits.is_some() {
            self.learn_credits(port, ix);
        } else {
            let classes = self.core.packets[ix].head.cc_tag;
            self.core.consume(ix);
            let frame = PauseFrame { changed: (classes >> 8) as u8, paused: classes as u8 };
            if self.obeys_later(port, frame) {
                return None;
            }
            self.obey(port, frame);
        }
        if let Some(nic) = self.egress.port(port).nic() {
            return Some(AtHost::Nic(nic));
        }
        self.serve(port);
        None
    }

    /// Stops and starts the classes of a port as a pause frame says.
    pub(super) fn obey(&mut self, port: PortIx, PauseFrame { changed, paused }: PauseFrame) {
        self.flush(port);
        let heeded = self.heed_pauses(port, changed, paused);
        for class in (1..self.egress.classes()).filter(|c| changed & 1 << c != 0) {
            let pauses = paused & 1 << class != 0;
            if pauses {
                self.egress.count_pause(&mut self.core, port, class);
            }
            if heeded & 1 << class != 0 {
                self.egress.set_paused(&mut self.core, port, class, pauses);
            }
        }
        self.count_cycles(port, paused);
    }

    /// A packet leaves the buffer of an ingress, where there are credits for it.
    fn free_credits(&mut self, ingress: PortIx, class: usize, wire: u64) {
        if self.take_back(ingress, class, wire) {
            self.serve(ingress);
        }
    }

    /// Records a hop of a traced packet: its egress at a switch, or its arrival at its host.
    #[cold]
    pub fn trace_hop(&mut self, out: Option<PortIx>, node: NodeId, ix: PacketIx) {
        let packet = &self.core.packets[ix];
        let (head, deflections) = (packet.head, packet.next_hop.deflections());
        let port = out.map(|out| (self.egress.port(out).id, self.egress.queue(out, head.class as usize).bytes));
        self.core.probes.add_hop(self.core.clock.now(), node, port, &head, deflections);
    }

    /// Drops the packets queued at a port, and the packet on its wire.
    pub fn drop_queued(&mut self, out: PortIx) {
        if let Some(left) = self.buffers.take_left(out) {
            self.egress.depart(&mut self.core, out, &left);
            self.release_buffer(&left);
        }
        for class in 0..self.egress.classes() {
            self.drop_class(out, class, DropCause::LinkDown);
        }
    }

    /// Drops the packets of a class queued at a port.
    pub fn drop_class(&mut self, out: PortIx, class: usize, cause: DropCause) {
        let (now, node) = (self.core.clock.now(), self.egress.port(out).node);
        while let Some(queued) = self.egress.take(&mut self.core, now, out, class) {
            self.release_buffer(&queued);
            self.on_lost(out, queued.ix());
            self.egress.drop_packet(&mut self.core, node, out, queued.ix(), cause);
        }
    }
}
