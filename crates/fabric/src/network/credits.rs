//! Credit flow control: buffers at the receiving ends of links, credits at their sending ends, and the packets between
//! them. A port whose credits do not cover the first packet of a class must not send that class, as if it were paused.

use super::Network;
use super::switch::AtHost;
use crate::clock::{kind, source};
use crate::config::{BufferPolicy, NetworkConfig};
use crate::credits::{FCP, Receiving, Sending, blocks, buffer_for, decode, encode, refresh};
use crate::deadlock::{Entry, prove};
use crate::egress::Egress;
use crate::packet::{Packet, PacketIx};
use crate::path::FlowPath;
use crate::port::{Port, PortIx};
use crate::queue::Queued;
use crate::results::{BufferUse, DropCause};
use fanin_cc::{Header, Kind};
use fanin_engine::EventQueue;
use fanin_units::{NodeId, PortId, Time};

/// Credits of a network, by port and class.
pub(crate) struct Credits {
    classes: usize,
    sending: Vec<Sending>,
    /// Of the peer's packets.
    receiving: Vec<Receiving>,
    /// When the last FCP left.
    told_at: Vec<Time>,
    /// Whether one will leave because the link has lost something.
    repeats: Vec<bool>,
    /// Blocks of the largest packet: a host starts a packet only if any would be covered.
    largest: u32,
    /// Whether classes may wait for each other in a circle.
    pub may_lock: bool,
}

impl Credits {
    /// The credits of a network that has any. All ends know those of empty buffers.
    pub fn new(config: &NetworkConfig, ports: &[Port], largest: u32) -> Option<Box<Self>> {
        let BufferPolicy::Credits { bytes } = config.buffer else { return None };
        let lanes = config.classes.len() as u64;
        let classes = config.classes.len() + 1;
        let size = |port: &Port| {
            let bytes = bytes.unwrap_or_else(|| buffer_for(port.rate, port.delay, largest as u64, lanes));
            (bytes / crate::credits::BLOCK).min(u32::MAX as u64) as u32
        };
        // Both ends of a link compute the same, since its rate and delay are those of both directions.
        let of = |port: &Port| std::iter::repeat_n(Receiving::new(size(port)), classes);
        let receiving: Vec<Receiving> = ports.iter().flat_map(of).collect();
        let sending = receiving.iter().map(|end| Sending { sent: 0, limit: end.limit() }).collect();
        Some(Box::new(Self {
            classes,
            sending,
            told_at: vec![Time::ZERO; receiving.len()],
            repeats: vec![false; receiving.len()],
            receiving,
            largest: blocks(largest as u64),
            may_lock: !prove(&config.graph, Entry::AfterLastMisroute).holds()
                || config.classes.iter().any(|class| class.sibling_vl.is_some()),
        }))
    }

    fn at(&self, port: PortIx, class: usize) -> usize {
        port.ix() * self.classes + class
    }

    /// Bytes of the buffer of a class at a port.
    pub fn size(&self, port: PortIx, class: usize) -> u64 {
        u64::from(self.receiving[self.at(port, class)].size()) * crate::credits::BLOCK
    }

    /// Blocks of the packet that a port would send next in a class; 0 for none.
    fn wanted(&self, egress: &Egress, port: PortIx, class: usize) -> u32 {
        match egress.port(port).of_host() {
            true => self.largest,
            false => egress.first_wire(port, class).map_or(0, |wire| blocks(wire as u64)),
        }
    }

    /// Whether a class of a port would still lack credits if it knew all there are. In a network of one partition.
    pub fn stopped(&self, egress: &Egress, port: PortIx, class: usize) -> bool {
        let limit = self.receiving[self.at(port.reverse(), class)].limit();
        let known = Sending { limit, ..self.sending[self.at(port, class)] };
        !known.covers(self.wanted(egress, port, class))
    }

    /// Each buffer by its account and by the packets that it holds: the queues of its switch, and at a host nothing.
    pub fn check(&self, egress: &Egress, leaving: impl Iterator<Item = Queued>) -> Vec<BufferUse> {
        let of = |end: &Receiving| BufferUse { counted: u64::from(end.used()) * crate::credits::BLOCK, held: 0 };
        let mut uses: Vec<BufferUse> = self.receiving.iter().map(of).collect();
        let ports = (0..egress.ports().len() as u32).map(PortIx).filter(|port| !egress.port(*port).of_host());
        let queued = ports.flat_map(|port| (1..self.classes).flat_map(move |class| egress.waiting(port, class)));
        for packet in queued.copied().chain(leaving) {
            let at = self.at(PortIx(packet.ingress()), packet.ingress_class());
            uses[at].held += u64::from(blocks(packet.wire() as u64)) * crate::credits::BLOCK;
        }
        for (at, end) in self.receiving.iter().enumerate() {
            assert!(end.peak() <= end.size(), "the buffer of port {} overflowed", at / self.classes);
        }
        uses
    }
}

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
        if node.0 < self.host_count {
            // A host takes it out of the buffer at once.
            self.free_credits(ingress, class, wire);
        }
        None
    }

    /// A packet leaves the buffer of an ingress, which tells its peer.
    pub fn free_credits(&mut self, ingress: PortIx, class: usize, wire: u64) {
        let Some(credits) = &mut self.credits else { return };
        if class == 0 {
            return;
        }
        let at = credits.at(ingress, class);
        credits.receiving[at].frees(blocks(wire));
        self.tell_credits(ingress, class);
    }

    /// Sends an FCP by a port, ahead of everything but the packet on the wire.
    fn tell_credits(&mut self, port: PortIx, class: usize) {
        self.egress.announce(port, class);
        if !self.egress.port(port).of_host() {
            return self.serve(port);
        }
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

    /// An FCP from the peer of a port.
    pub(super) fn fcp_arrives(&mut self, port: PortIx, ix: PacketIx) -> Option<AtHost> {
        let (sent, class, limit) = decode(self.core.packets[ix].head.cc_tag);
        self.core.consume(ix);
        let class = class as usize;
        let credits = self.credits.as_mut()?;
        let at = credits.at(port, class);
        credits.sending[at].limit = limit;
        if credits.receiving[at].learn(sent) {
            self.egress.announce(port, class);
        }
        self.gate(port, class);
        if let Some(nic) = self.egress.port(port).nic() {
            return Some(AtHost::Nic(nic));
        }
        self.serve(port);
        None
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
    fn gate(&mut self, out: PortIx, class: usize) {
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
    fn repeat(&mut self, port: PortId, ix: PacketIx) {
        let Some(credits) = &mut self.credits else { return };
        let out = self.plan.layout.row(port);
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

    /// The FCP that is due after a loss. `number` is that of the event. False if the event is a link's own.
    pub fn repeats_credits(&mut self, number: u32) -> bool {
        let Some(which) = number.checked_sub(self.links.len() as u32) else { return false };
        let (port, class) = (PortIx(which / 8), (which % 8) as usize);
        if let Some(credits) = &mut self.credits {
            let at = credits.at(port, class);
            credits.repeats[at] = false;
            self.tell_credits(port, class);
        }
        true
    }
}
