//! In-band network telemetry (INT): switches write it into data packets, and ACKs carry it back.

use fanin_units::{NodeId, Rate, Time};

/// The record that an egress port writes into a packet (HPCC 4.1). Exact values; [`IntFields`] is
/// the form with 64 bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct IntHop {
    /// Rate of the link behind the port (B).
    pub rate: Rate,
    /// When the packet was taken from its queue (TS).
    pub time: Time,
    /// Bytes on the wire that the port sent before this packet, since it came up (txBytes).
    pub sent: u64,
    /// Bytes of all classes queued at the port behind the packet (qLen).
    pub queued: u64,
}

/// A switch's record as 64 bits hold it (HPCC Fig. 7).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct IntFields {
    /// B: the number of the link's rate in [`Self::SPEEDS`]; below 2^4.
    pub speed: u8,
    /// TS: nanoseconds modulo 2^24.
    pub time: u32,
    /// txBytes: units of 128 B modulo 2^20.
    pub sent: u32,
    /// qLen: units of 80 B, at most 2^16 - 1.
    pub queued: u16,
}

impl IntFields {
    /// The rates that the 4 bits of B can say, by their number; 0 is none.
    pub const SPEEDS: [Rate; 16] = [
        Rate::ZERO,
        Rate::from_mbps(10),
        Rate::from_mbps(100),
        Rate::from_gbps(1),
        Rate::from_mbps(2_500),
        Rate::from_gbps(5),
        Rate::from_gbps(10),
        Rate::from_gbps(25),
        Rate::from_gbps(40),
        Rate::from_gbps(50),
        Rate::from_gbps(100),
        Rate::from_gbps(200),
        Rate::from_gbps(400),
        Rate::from_gbps(800),
        Rate::from_gbps(1_600),
        Rate::from_gbps(3_200),
    ];
    /// Bits of TS.
    pub const TIME_BITS: u32 = 24;
    /// Bits of txBytes.
    pub const SENT_BITS: u32 = 20;
    /// Bytes of one unit of txBytes.
    pub const SENT_UNIT: u64 = 128;
    /// Bytes of one unit of qLen.
    pub const QUEUED_UNIT: u64 = 80;

    /// The fields for exact numbers. `unit` multiplies both units of bytes.
    pub fn of(hop: &IntHop, unit: u32) -> Self {
        let unit = unit as u64;
        // A link slower than all of them is given as the slowest.
        let speed = Self::SPEEDS.iter().rposition(|speed| *speed <= hop.rate).unwrap_or(1).max(1);
        Self {
            speed: speed as u8,
            time: (hop.time.as_ps() / 1000) as u32 & ((1 << Self::TIME_BITS) - 1),
            sent: (hop.sent / (Self::SENT_UNIT * unit)) as u32 & ((1 << Self::SENT_BITS) - 1),
            queued: (hop.queued / (Self::QUEUED_UNIT * unit)).min(u16::MAX as u64) as u16,
        }
    }
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
    /// Most records in a packet: 42 bytes hold five (HPCC 4.1).
    pub const MOST: usize = 5;

    /// Removes all records. They are not overwritten, which would be most of the cost of a new packet.
    #[inline]
    pub fn clear(&mut self) {
        (self.count, self.path) = (0, 0);
    }

    /// A switch writes its record. Beyond [`Self::MOST`] switches only the count and the path change.
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
