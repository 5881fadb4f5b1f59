//! What two ACKs say of a link, from exact numbers or from the fields of Fig. 7.

use super::{LinkRate, Params, Precision};
use crate::telemetry::IntHop;
use fanin_units::{Rate, Time};

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

/// A switch's record as 64 bits hold it (Fig. 7).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Fields {
    /// B: the number of the link's rate in [`SPEEDS`]; below 2^4.
    pub speed: u8,
    /// TS: nanoseconds modulo 2^24.
    pub time: u32,
    /// txBytes: units of 128 B modulo 2^20.
    pub sent: u32,
    /// qLen: units of 80 B, at most 2^16 - 1.
    pub queued: u16,
}

impl Fields {
    /// Bits of TS.
    pub const TIME_BITS: u32 = 24;
    /// Bits of txBytes.
    pub const SENT_BITS: u32 = 20;
    /// Bytes of one unit of txBytes.
    pub const SENT_UNIT: u64 = 128;
    /// Bytes of one unit of qLen.
    pub const QUEUED_UNIT: u64 = 80;

    /// What is left of exact numbers. `unit` multiplies both units of bytes.
    pub fn of(hop: &IntHop, unit: u32) -> Self {
        let unit = unit as u64;
        // The first of them is what a link slower than all is said to be.
        let speed = SPEEDS.iter().rposition(|speed| *speed <= hop.rate).unwrap_or(1).max(1);
        Self {
            speed: speed as u8,
            time: (hop.time.as_ps() / 1000) as u32 & ((1 << Self::TIME_BITS) - 1),
            sent: (hop.sent / (Self::SENT_UNIT * unit)) as u32 & ((1 << Self::SENT_BITS) - 1),
            queued: (hop.queued / (Self::QUEUED_UNIT * unit)).min(u16::MAX as u64) as u16,
        }
    }
}

/// What two records say of a link.
struct Link {
    rate: Rate,
    tau: Time,
    /// Bytes sent in that time.
    sent: u64,
    queued: u64,
    /// The queue of the earlier record.
    queued_before: u64,
}

impl Link {
    /// None where the two do not follow each other.
    fn exact(new: &IntHop, old: &IntHop) -> Option<Self> {
        let tau = Time::from_ps(new.time.as_ps().checked_sub(old.time.as_ps())?);
        let sent = new.sent.checked_sub(old.sent)?;
        Some(Self { rate: new.rate, tau, sent, queued: new.queued, queued_before: old.queued })
    }

    fn wire(new: &IntHop, old: &IntHop, unit: u32) -> Self {
        let (new, old) = (Fields::of(new, unit), Fields::of(old, unit));
        let apart = |new: u32, old: u32, bits: u32| (new.wrapping_sub(old) & ((1 << bits) - 1)) as u64;
        let queued = |units: u16| units as u64 * Fields::QUEUED_UNIT * unit as u64;
        Self {
            rate: SPEEDS[new.speed as usize],
            tau: Time::from_ns(apart(new.time, old.time, Fields::TIME_BITS)),
            sent: apart(new.sent, old.sent, Fields::SENT_BITS) * Fields::SENT_UNIT * unit as u64,
            queued: queued(new.queued),
            queued_before: queued(old.queued),
        }
    }

    /// u' (Algorithm 1 lines 4 and 5, eq. (2)): how full the link is, 1 being what it carries in `rtt`.
    fn load(&self, rtt: Time, of: LinkRate) -> f64 {
        let rate = self.rate.as_bps() as f64;
        let bytes = match of {
            LinkRate::Sent => self.sent as f64,
            // 3.4: what came is what left and what the queue grew by
            LinkRate::Arrived => (self.sent as f64 + self.queued as f64 - self.queued_before as f64).max(0.0),
        };
        let queued = self.queued.min(self.queued_before) as f64;
        queued * 8e12 / (rate * rtt.as_ps() as f64) + bytes * 8e12 / (rate * self.tau.as_ps() as f64)
    }
}

/// The largest u' of a path and the time between its two records (lines 3 to 7).
pub(super) fn busiest(new: &[IntHop], old: &[IntHop], rtt: Time, p: &Params) -> Option<(f64, Time)> {
    let mut most: Option<(f64, Time)> = None;
    for (new, old) in new.iter().zip(old) {
        let link = match p.telemetry {
            Precision::Exact => Link::exact(new, old),
            Precision::Wire => Some(Link::wire(new, old, p.wire_unit)),
        };
        let Some(link) = link.filter(|link| link.tau > Time::ZERO) else { continue };
        let load = link.load(rtt, p.link_rate);
        if most.is_none_or(|(most, _)| load > most) {
            most = Some((load, link.tau));
        }
    }
    most
}
