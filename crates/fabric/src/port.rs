//! Egress ports: class queues, the choice between them, and the link behind.

use crate::packet::{NIL, PacketIx, Slab};
use fanin_units::{NodeId, Rate, Time};

/// One direction of a link and the port that feeds it.
#[derive(Clone, Debug)]
pub struct Port {
    /// When the last bit of the packet being sent leaves.
    pub busy_until: Time,
    /// The one wake-up that counts; events of this port at other times are stale.
    pub wake_at: Time,
    /// Picoseconds per byte where that is a whole number, else 0.
    ps_per_byte: u64,
    /// Propagation delay.
    pub delay: Time,
    /// Rate.
    pub rate: Rate,
    /// Packets sent.
    pub packets: u64,
    /// Bytes sent.
    pub bytes: u64,
    /// The node that sends.
    pub node: NodeId,
    /// The node that receives.
    pub peer: NodeId,
    /// How often the link changed state.
    pub epoch: u32,
    /// The host's NIC this is, or `u32::MAX` at a switch.
    pub nic: u32,
    /// Bit c: class c has packets. Bit 0 is control.
    pub waiting: u8,
    /// Bit c: the peer paused class c.
    pub paused: u8,
    /// Bit c: the peer has yet to be told whether class c is paused.
    pub pfc_pending: u8,
    /// The data class served last.
    pub turn: u8,
    /// Whether the link is up.
    pub up: bool,
    /// Whether packets can be lost on it.
    pub lossy: bool,
}

impl Port {
    /// An idle port.
    pub fn new(node: NodeId, peer: NodeId, rate: Rate, delay: Time, lossy: bool) -> Self {
        let byte = rate.tx_time(1);
        let whole = rate.tx_time(1000) == byte.saturating_mul(1000);
        Self {
            busy_until: Time::ZERO,
            wake_at: Time::NEVER,
            ps_per_byte: if whole { byte.as_ps() } else { 0 },
            delay,
            rate,
            packets: 0,
            bytes: 0,
            node,
            peer,
            epoch: 0,
            nic: u32::MAX,
            waiting: 0,
            paused: 0,
            pfc_pending: 0,
            turn: 0,
            up: true,
            lossy,
        }
    }

    /// How long a packet of `wire` bytes takes to leave.
    #[inline(always)]
    pub fn tx_time(&self, wire: u32) -> Time {
        if self.ps_per_byte != 0 {
            Time::from_ps(self.ps_per_byte * wire as u64)
        } else {
            self.rate.tx_time(wire as u64)
        }
    }

    /// The next class of `classes` (a bit set without control) in turn after the one served last.
    #[inline(always)]
    pub fn choose(&self, classes: u8) -> u8 {
        let after = classes & (0xFEu8.checked_shl(self.turn as u32).unwrap_or(0));
        (if after != 0 { after } else { classes }).trailing_zeros() as u8
    }
}

/// A first-in first-out queue of packets.
#[derive(Clone, Copy, Debug)]
pub struct Queue {
    head: PacketIx,
    tail: PacketIx,
    /// Bytes in it.
    pub bytes: u64,
}

impl Default for Queue {
    fn default() -> Self {
        Self {
            head: NIL,
            tail: NIL,
            bytes: 0,
        }
    }
}

impl Queue {
    /// Whether it holds nothing.
    #[inline(always)]
    pub fn is_empty(&self) -> bool {
        self.head == NIL
    }

    /// Adds a packet at the end.
    #[inline(always)]
    pub fn push(&mut self, packets: &mut Slab, ix: PacketIx) {
        packets[ix].next = NIL;
        self.bytes += packets[ix].head.wire as u64;
        if self.head == NIL {
            self.head = ix;
        } else {
            packets[self.tail].next = ix;
        }
        self.tail = ix;
    }

    /// Takes the first packet.
    #[inline(always)]
    pub fn pop(&mut self, packets: &Slab) -> Option<PacketIx> {
        if self.head == NIL {
            return None;
        }
        let ix = self.head;
        self.head = packets[ix].next;
        self.bytes -= packets[ix].head.wire as u64;
        Some(ix)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_take_turns() {
        let mut port = Port::new(NodeId(0), NodeId(1), Rate::from_gbps(10), Time::ZERO, false);
        let mut order = Vec::new();
        for _ in 0..6 {
            port.turn = port.choose(0b1000_1010);
            order.push(port.turn);
        }
        assert_eq!(order, [1, 3, 7, 1, 3, 7]);
    }

    #[test]
    fn transmission_times_agree_with_the_one_rule() {
        for bps in [1_000_000_000, 10_000_000_000, 3_333_333_333, 400_000_000_000, 7] {
            let port = Port::new(NodeId(0), NodeId(1), Rate::from_bps(bps), Time::ZERO, false);
            for wire in [1, 64, 1499, 1500, 9000] {
                assert_eq!(
                    port.tx_time(wire),
                    Rate::from_bps(bps).tx_time(wire as u64),
                    "{bps} {wire}"
                );
            }
        }
    }
}
