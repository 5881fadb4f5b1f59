//! Credit flow control where packets arrive: at the end of a link.

use super::Network;
use crate::credits::{blocks, decode};
use crate::packet::PacketIx;
use crate::port::PortIx;
use crate::results::DropCause;
use fanin_engine::EventQueue;
use fanin_units::{NodeId, PortId};

impl<Q: EventQueue> Network<Q> {
    /// A packet arrives at a link's end, in a network with credits or with links that lose packets. Returns why it is
    /// lost, if it is.
    #[inline(never)]
    pub fn inspect(&mut self, link: PortId, node: NodeId, ingress: PortIx, ix: PacketIx) -> Option<DropCause> {
        if self.links.can_fail()
            && let Some(cause) = self.links.loses(link, &self.core.packets[ix])
        {
            self.repeat(link, ix);
            return Some(cause);
        }
        let credits = self.credits.as_mut()?;
        let head = &self.core.packets[ix].head;
        let (class, wire) = (head.class as usize, head.wire as u64);
        if class == 0 {
            return None;
        }
        let at = credits.at(ingress, class);
        if !credits.receiving[at].arrives(blocks(wire)) {
            return Some(DropCause::Lossless);
        }
        if node.0 < self.wiring.host_count && !self.is_slow(ingress) {
            self.take_at_host(ingress, class, wire);
        }
        None
    }

    /// A host takes a packet out of the buffer: at once, unless its NIC is slow.
    pub(super) fn take_at_host(&mut self, port: PortIx, class: usize, wire: u64) {
        if self.take_back(port, class, wire) {
            self.tell_host(port);
        }
    }

    /// Whether data that arrives at a host's port now waits there.
    fn is_slow(&self, port: PortIx) -> bool {
        self.pauses.as_ref().is_some_and(|pauses| pauses.is_slow(port))
    }

    /// Sends the FCPs of a host's port, ahead of everything but the packet on the wire.
    fn tell_host(&mut self, port: PortIx) {
        if !self.egress.port(port).up() {
            return;
        }
        if self.egress.port(port).busy_until <= self.core.clock.now() {
            self.send_queued(port);
        }
        if self.egress.port(port).ready() != 0 {
            let at = self.egress.port(port).busy_until;
            self.egress.wake(&mut self.core, port, at);
        }
    }

    /// An FCP from the peer of a port, which is to be served.
    pub(super) fn learn_credits(&mut self, port: PortIx, ix: PacketIx) {
        let (sent, class, limit) = decode(self.core.packets[ix].head.cc_tag);
        self.core.consume(ix);
        let class = class as usize;
        let Some(credits) = &mut self.credits else { return };
        let at = credits.at(port, class);
        credits.sending[at].limit = limit;
        if credits.receiving[at].learn(sent) {
            self.egress.announce(port, class);
        }
        self.gate(port, class);
    }
}
