//! In-network telemetry: what switches write into data packets, and ACKs carry back.

use fanin_units::{NodeId, Rate, Time};

/// What one egress port writes into a packet that leaves it (HPCC 4.1). Exact values; what the 64 bits of Fig. 7 keep of
/// them is the business of the scheme that reads them and of `wire`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct IntHop {
    /// Rate of the link behind the port (B).
    pub rate: Rate,
    /// When the packet was taken from its queue (TS).
    pub time: Time,
    /// Bytes on the wire that the port had sent before this packet, since it came up (txBytes).
    pub sent: u64,
    /// Bytes of all classes that waited at the port once the packet was taken out (qLen).
    pub queued: u64,
}

/// The telemetry of a packet: a record per switch on its way, in order.
#[derive(Clone, Copy, Debug, Default)]
pub struct Telemetry {
    hops: [IntHop; Self::MOST],
    count: u8,
    path: u16,
}

impl PartialEq for Telemetry {
    fn eq(&self, other: &Self) -> bool {
        (self.count, self.path, self.hops()) == (other.count, other.path, other.hops())
    }
}

impl Eq for Telemetry {}

impl Telemetry {
    /// Records that a packet has room for: 42 bytes hold five (HPCC 4.1).
    pub const MOST: usize = 5;

    /// Forgets all records. They are not overwritten, which would be most of the work for a new packet.
    #[inline]
    pub fn clear(&mut self) {
        (self.count, self.path) = (0, 0);
    }

    /// A switch writes its record. Beyond [`Self::MOST`] switches only the count and the path go on.
    #[inline]
    pub fn push(&mut self, switch: NodeId, hop: IntHop) {
        if let Some(free) = self.hops.get_mut(self.count as usize) {
            *free = hop;
        }
        self.count = self.count.saturating_add(1);
        // HPCC 4.1: pathID is the XOR of all switch ids, 12 bits each
        self.path ^= (switch.0 & 0xFFF) as u16;
    }

    /// The records, first switch first.
    #[inline]
    pub fn hops(&self) -> &[IntHop] {
        &self.hops[..(self.count as usize).min(Self::MOST)]
    }

    /// Switches that wrote or would have written one (nHop).
    pub fn count(&self) -> u8 {
        self.count
    }

    /// XOR of the switches' ids, 12 bits (pathID).
    #[inline]
    pub fn path(&self) -> u16 {
        self.path
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sixth_switch_is_counted_and_not_written() {
        let mut telemetry = Telemetry::default();
        for switch in 1..=6 {
            telemetry.push(NodeId(switch), IntHop { sent: switch as u64, ..IntHop::default() });
        }
        assert_eq!(telemetry.hops().iter().map(|h| h.sent).collect::<alloc::vec::Vec<_>>(), [1, 2, 3, 4, 5]);
        assert_eq!((telemetry.count(), telemetry.path()), (6, 7));
        telemetry.clear();
        assert_eq!(telemetry, Telemetry::default(), "what was there before is not seen");
    }
}
