//! Credit flow control where a port sends: what it may, and what it tells its peer. A port whose credits do not cover
//! the first packet of a class must not send that class, as if it were paused.

use super::Network;
use crate::clock::{kind, source};
use crate::credits::{FCP, Sending, blocks, decode, encode, refresh};
use crate::packet::{Packet, PacketIx};
use crate::path::FlowPath;
use crate::port::PortIx;
use crate::queue::Queued;
use fanin_cc::{Header, Kind};
use fanin_engine::EventQueue;
use fanin_units::PortId;

impl<Q: EventQueue> Network<Q> {
    /// The FCP of the next class whose credits have changed.
    pub(super) fn fcp(&mut self, out: PortIx) -> Option<Queued> {
        let credits = self.credits.as_mut()?;
        let class = self.egress.take_one_pending(out);
        let at = credits.at(out, class);
        let port = self.egress.port(out);
        credits.told_at[at] = self.core.clock.now();
        let head = Header {
            src: port.node,
            dst: port.peer,
            cc_tag: encode(credits.sending[at].sent, class as u8, credits.receiving[at].limit()),
            wire: FCP,
            kind: Kind::FlowControl,
            ..Header::default()
        };
        let ix = self.core.new_packet(&Packet { epoch: port.epoch, ..Packet::new(head, FlowPath::default()) });
        Some(Queued::new(ix, u32::MAX, FCP, 0, 0, false))
    }

    /// A data packet starts to leave by a port.
    #[inline(never)]
    pub fn spend(&mut self, out: PortIx, class: usize, wire: u64) {
        let Some(credits) = &mut self.credits else { return };
        if class != 0 {
            let at = credits.at(out, class);
            credits.sending[at].count(blocks(wire));
            self.gate(out, class);
        }
    }

    /// Stops or starts a class of a port by whether its credits cover the next packet.
    pub(super) fn gate(&mut self, out: PortIx, class: usize) {
        let Some(credits) = &self.credits else { return };
        let wanted = credits.wanted(&self.egress, out, class);
        let lacks = wanted > 0 && !credits.sending[credits.at(out, class)].covers(wanted);
        let search = credits.may_lock;
        if self.egress.set_lacking(&mut self.core, out, class, lacks) && lacks && search {
            self.count_cycles(out, 1 << class);
        }
    }

    /// A packet of this size is about to join a queue of a switch.
    pub(super) fn gate_first(&mut self, out: PortIx, class: usize, wire: u64) {
        let Some(credits) = &self.credits else { return };
        if self.egress.queue(out, class).is_empty() {
            let lacks = !credits.sending[credits.at(out, class)].covers(blocks(wire));
            self.egress.set_lacking(&mut self.core, out, class, lacks);
        }
    }

    /// A packet leaves the buffer of an ingress, whose peer is to be told. Returns whether the port is to be served.
    pub(super) fn take_back(&mut self, ingress: PortIx, class: usize, wire: u64) -> bool {
        let Some(credits) = &mut self.credits else { return false };
        if class == 0 {
            return false;
        }
        let at = credits.at(ingress, class);
        credits.receiving[at].frees(blocks(wire));
        self.egress.announce(ingress, class);
        true
    }

    /// The link of a port comes up: both its ends know the free buffer of the other.
    pub(super) fn restart_credits(&mut self, port: PortIx) {
        for class in 1..self.egress.classes() {
            let Some(credits) = &mut self.credits else { return };
            let (here, there) = (credits.at(port, class), credits.at(port.reverse(), class));
            credits.receiving[there].restart();
            credits.sending[here] = Sending { sent: 0, limit: credits.receiving[there].limit() };
            self.gate(port, class);
        }
    }

    /// A link has lost a packet of this port. Its next FCP repairs that: it tells what the port has sent, and what it
    /// can receive. One is due in any case after 65,536 symbol times. An FCP that only repeats what the peer knows
    /// changes nothing, so no others are simulated for want of changes.
    pub(super) fn repeat(&mut self, port: PortId, ix: PacketIx) {
        let Some(credits) = &mut self.credits else { return };
        let out = self.wiring.plan.layout.row(port);
        let head = &self.core.packets[ix].head;
        let class = if head.kind == Kind::FlowControl { decode(head.cc_tag).1 } else { head.class };
        let at = credits.at(out, class as usize);
        if class == 0 || std::mem::replace(&mut credits.repeats[at], true) {
            return;
        }
        let (now, period) = (self.core.clock.now(), refresh(self.egress.port(out).rate));
        let passed = (now - credits.told_at[at]).as_ps() / period.as_ps().max(1);
        let due = credits.told_at[at].saturating_add(period.saturating_mul(passed + 1));
        let number = self.links.len() as u32 + 8 * out.0 + u32::from(class);
        self.core.clock.schedule(due, source(kind::LINK, number), out.0);
    }

    /// The FCP that is due after a loss: the port that is to be served for it. `number` is that of the event; `None` if
    /// it is a link's own.
    pub fn repeats_credits(&mut self, number: u32) -> Option<PortIx> {
        let which = number.checked_sub(self.links.len() as u32)?;
        let (port, class) = (PortIx(which / 8), (which % 8) as usize);
        let credits = self.credits.as_mut()?;
        let at = credits.at(port, class);
        credits.repeats[at] = false;
        self.egress.announce(port, class);
        Some(port)
    }
}
