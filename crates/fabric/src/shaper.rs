//! Shapers: a class may send at most a share of each link's rate, and its queue has a limit of its own.
//!
//! The bucket of a class at a port fills with tokens at the class's rate up to its burst, and a packet leaves when the
//! bucket has tokens for all its bytes. It is kept as the time at which it is full: a packet of `s` bytes moves that
//! time by `s` at the rate, and the next one may leave once the tokens still missing leave it enough. While the first
//! packet of its queue has to wait, the class does not count as waiting at its port, and an event lets it count again.
//! So ports have nothing to do for it per packet of other classes.

use crate::config::{ClassConfig, NetworkConfig};
use crate::port::{Port, PortIx, ps_per_byte, tx_time};
use fanin_units::{Rate, Time};

/// The shapers of all ports of a partition.
pub(crate) struct Shapers {
    /// Bit c: class c has one.
    pub classes: u8,
    /// By port, one per such class.
    rows: Vec<Shaper>,
}

/// The token bucket of a class at a port.
#[derive(Clone, Debug)]
pub(crate) struct Shaper {
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

impl Shaper {
    fn new(link: Rate, class: &ClassConfig) -> Option<Self> {
        let of = class.shaper?;
        let rate = Rate::from_bps(((link.as_bps() as f64 * of.share) as u64).max(1));
        let ps_per_byte = ps_per_byte(rate);
        let depth = tx_time(ps_per_byte, rate, of.burst);
        Some(Self { rate, ps_per_byte, depth, full_at: Time::ZERO, limit: of.limit, due: Time::NEVER })
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

impl Shapers {
    /// Those of a network's ports.
    pub fn new(config: &NetworkConfig, ports: &[Port]) -> Self {
        let row = |port: &Port| {
            let rate = port.rate;
            config.classes.iter().filter_map(move |class| Shaper::new(rate, class))
        };
        Self {
            classes: config.classes_with(|class| class.shaper.is_some()),
            rows: ports.iter().flat_map(row).collect(),
        }
    }

    /// Whether a class has one.
    #[inline(always)]
    pub fn has(&self, class: u8) -> bool {
        self.classes & 1 << class != 0
    }

    /// That of a class that has one.
    pub fn of(&mut self, out: PortIx, class: u8) -> &mut Shaper {
        let before = (self.classes & ((1 << class) - 1)).count_ones();
        &mut self.rows[out.ix() * self.classes.count_ones() as usize + before as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Marking, Shaper as Config};

    /// 1 byte per ns, and room for two packets of 84 bytes.
    fn shaper(burst: u32) -> Shaper {
        let class = ClassConfig {
            name: "credit".into(),
            lossless: false,
            marking: Marking::Off,
            marking_by_rate: Vec::new(),
            share: None,
            alpha: None,
            sibling_vl: None,
            urgent: true,
            shaper: Some(Config { share: 0.1, burst, limit: 672 }),
        };
        Shaper::new(Rate::from_gbps(80), &class).expect("the class has a shaper")
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
