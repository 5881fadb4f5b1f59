//! State used by all elements of a network: the clock, the packets, the probes, and the outbox to other partitions.

use crate::clock::Clock;
use crate::packet::{Packet, PacketIx, Slab};
use crate::partition::Outbox;
use crate::probes::Probes;
use crate::results::{DropCause, What};
use fanin_cc::Header;
use fanin_engine::mix;
use fanin_units::{NodeId, PortId, Time};

/// The clock, the packets, the probes and the outbox of a partition.
pub(crate) struct Core<Q> {
    pub clock: Clock<Q>,
    pub packets: Slab,
    pub probes: Probes,
    pub outbox: Outbox,
}

/// One fact of the model as the event hash adds it: addition commutes, so the order of unrelated facts does not matter.
#[inline(always)]
pub(crate) fn fact(now: Time, node: NodeId, head: &Header, action: u64) -> u64 {
    let what = (head.flow.0 as u64) << 32 | (node.0 as u64) << 8 | action << 5 | head.kind as u64;
    let state = head.seq << 8 | head.flags as u64;
    mix(what ^ now.as_ps().rotate_left(24), state)
}

impl<Q> Core<Q> {
    /// A packet arrived at a node.
    #[inline(always)]
    pub fn arrive(&mut self, node: NodeId, ix: PacketIx) -> &mut Packet {
        let packet = &mut self.packets[ix];
        packet.head.hops = packet.head.hops.saturating_add(1);
        let hash = &mut self.probes.totals.event_hash;
        *hash = hash.wrapping_add(fact(self.clock.now(), node, &packet.head, 1));
        packet
    }

    /// Creates a packet.
    #[inline(always)]
    pub fn new_packet(&mut self, packet: &Packet) -> PacketIx {
        self.probes.totals.ledger.sent += packet.head.wire as u64;
        self.packets.add(packet)
    }

    /// A packet has reached its destination.
    #[inline(always)]
    pub fn consume(&mut self, ix: PacketIx) {
        self.probes.totals.ledger.delivered += self.packets[ix].head.wire as u64;
        self.packets.remove(ix);
    }

    /// A packet is dropped.
    pub fn lose(&mut self, node: NodeId, ix: PacketIx, cause: DropCause) {
        let hash = &mut self.probes.totals.event_hash;
        *hash = hash.wrapping_add(fact(self.clock.now(), node, &self.packets[ix].head, 2));
        self.probes.totals.drops.count(cause);
        let packet = &self.packets[ix];
        self.probes.totals.ledger.dropped += packet.head.wire as u64;
        // Credits beyond a queue are a signal and no loss.
        if !packet.head.kind.is_of_link() && cause != DropCause::Shaper {
            let of = packet.scheme as usize;
            if self.probes.dropped_by_scheme.len() <= of {
                self.probes.dropped_by_scheme.resize(of + 1, 0);
            }
            self.probes.dropped_by_scheme[of] += 1;
        }
        self.packets.remove(ix);
    }

    /// Records an incident at a port.
    pub fn incident(&mut self, port: PortId, what: What) {
        self.probes.incident(self.clock.now(), port, what, self.clock.cause());
    }
}
