//! What every port does, of a switch or of a host: turns of classes, token buckets of shaped classes, and the time that
//! a packet takes to leave.

use fanin_units::{Rate, Time};

/// Picoseconds per byte of a rate, where that is a whole number of 32 bits, else 0.
pub fn ps_per_byte(rate: Rate) -> u32 {
    rate.whole_ps_per_byte().and_then(|ps| u32::try_from(ps).ok()).unwrap_or(0)
}

/// Transmission time of a packet at a rate, given its [`ps_per_byte`].
#[inline(always)]
pub fn tx_time(ps_per_byte: u32, rate: Rate, wire: u32) -> Time {
    if ps_per_byte != 0 { Time::from_ps(ps_per_byte as u64 * wire as u64) } else { rate.tx_time(wire as u64) }
}

/// The next class of `classes` (a bit set without control) in turn after the one served last; those of `urgent` first.
#[inline(always)]
pub fn next_class(classes: u8, urgent: u8, last: u8) -> u8 {
    let classes = if classes & urgent != 0 { classes & urgent } else { classes };
    let after = classes & (0xFEu8.checked_shl(last as u32).unwrap_or(0));
    (if after != 0 { after } else { classes }).trailing_zeros() as u8
}

/// What a class may send at each port.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Shaper {
    /// Share of the link's rate.
    pub share: f64,
    /// Bytes that may leave at once after a pause.
    pub burst: u32,
    /// Most bytes in a queue; what would exceed it is dropped.
    pub limit: u64,
}

/// The token bucket of a class at a port.
#[derive(Clone, Debug)]
pub struct Bucket {
    rate: Rate,
    ps_per_byte: u32,
    /// Time in which the bucket fills.
    depth: Time,
    /// When the bucket is full.
    full_at: Time,
    /// Most bytes in the queue.
    limit: u64,
    /// The one valid event; never while no packet has to wait.
    pub due: Time,
}

impl Bucket {
    /// A full one, at a link of this rate.
    pub fn new(link: Rate, of: Shaper) -> Self {
        let rate = Rate::from_bps(((link.as_bps() as f64 * of.share) as u64).max(1));
        let ps_per_byte = ps_per_byte(rate);
        let depth = tx_time(ps_per_byte, rate, of.burst);
        Self { rate, ps_per_byte, depth, full_at: Time::ZERO, limit: of.limit, due: Time::NEVER }
    }

    fn time_of(&self, wire: u32) -> Time {
        tx_time(self.ps_per_byte, self.rate, wire)
    }

    /// When a packet of so many bytes may leave. A bucket smaller than the packet has to be full.
    pub fn opens_at(&self, wire: u32) -> Time {
        self.full_at.saturating_sub(self.depth.saturating_sub(self.time_of(wire)))
    }

    /// A packet leaves.
    pub fn spend(&mut self, now: Time, wire: u32) {
        self.full_at = self.full_at.max(now).saturating_add(self.time_of(wire));
    }

    /// Whether a queue of so many bytes takes this packet.
    pub fn takes(&self, queued: u64, wire: u16) -> bool {
        queued + wire as u64 <= self.limit
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    /// 1 byte per ns, and room for two packets of 84 bytes.
    fn shaper(burst: u32) -> Bucket {
        Bucket::new(Rate::from_gbps(80), Shaper { share: 0.1, burst, limit: 672 })
    }

    #[test]
    fn a_burst_leaves_at_once_and_then_packets_leave_at_the_rate() {
        let mut bucket = shaper(168);
        let mut now = Time::from_us(1);
        let mut gone = Vec::new();
        for _ in 0..5 {
            now = now.max(bucket.opens_at(84));
            bucket.spend(now, 84);
            gone.push(now.as_ps() / 1000);
        }
        assert_eq!(gone, [1000, 1000, 1084, 1168, 1252]);
        // A long pause fills the bucket and no more.
        now = Time::from_us(50);
        assert!(bucket.opens_at(84) < now);
        bucket.spend(now, 84);
        bucket.spend(now, 84);
        assert_eq!(bucket.opens_at(84), now + Time::from_ns(84));
        // A smaller packet needs fewer tokens.
        assert_eq!(bucket.opens_at(60), now + Time::from_ns(60));
    }

    #[test]
    fn a_packet_larger_than_the_bucket_leaves_when_that_is_full() {
        let mut bucket = shaper(50);
        assert_eq!(bucket.opens_at(84), Time::ZERO);
        bucket.spend(Time::ZERO, 84);
        assert_eq!(bucket.opens_at(84), Time::from_ns(84));
    }

    #[test]
    fn its_queue_holds_so_many_bytes() {
        let bucket = shaper(168);
        assert_eq!([bucket.takes(588, 84), bucket.takes(589, 84)], [true, false]);
    }
}
