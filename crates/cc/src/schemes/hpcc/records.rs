//! The load of a link from the records of two ACKs, exact or in the fields of Fig. 7.

use super::params::{LinkRate, Params, Precision};
use crate::telemetry::{IntFields, IntHop};
use fanin_units::{Rate, Time};

/// A link between two records.
struct Link {
    rate: Rate,
    tau: Time,
    /// Bytes sent between them.
    sent: u64,
    queued: u64,
    /// The queue of the earlier record.
    queued_before: u64,
}

impl Link {
    /// `None` if the records are not in order of time.
    fn exact(new: &IntHop, old: &IntHop) -> Option<Self> {
        let tau = Time::from_ps(new.time.as_ps().checked_sub(old.time.as_ps())?);
        let sent = new.sent.checked_sub(old.sent)?;
        Some(Self { rate: new.rate, tau, sent, queued: new.queued, queued_before: old.queued })
    }

    fn wire(new: &IntHop, old: &IntHop, unit: u32) -> Self {
        let (new, old) = (IntFields::of(new, unit), IntFields::of(old, unit));
        let apart = |new: u32, old: u32, bits: u32| (new.wrapping_sub(old) & ((1 << bits) - 1)) as u64;
        let queued = |units: u16| units as u64 * IntFields::QUEUED_UNIT * unit as u64;
        Self {
            rate: IntFields::SPEEDS[new.speed as usize],
            tau: Time::from_ns(apart(new.time, old.time, IntFields::TIME_BITS)),
            sent: apart(new.sent, old.sent, IntFields::SENT_BITS) * IntFields::SENT_UNIT * unit as u64,
            queued: queued(new.queued),
            queued_before: queued(old.queued),
        }
    }

    /// u' (Algorithm 1 lines 4 and 5, eq. (2)): utilisation, 1 being as much as the link carries in `rtt`.
    fn load(&self, rtt: Time, of: LinkRate) -> f64 {
        let rate = self.rate.as_bps() as f64;
        let bytes = match of {
            LinkRate::Sent => self.sent as f64,
            // 3.4: bytes that arrived are bytes that left plus growth of the queue
            LinkRate::Arrived => (self.sent as f64 + self.queued as f64 - self.queued_before as f64).max(0.0),
        };
        let queued = self.queued.min(self.queued_before) as f64;
        queued * 8e12 / (rate * rtt.as_ps() as f64) + bytes * 8e12 / (rate * self.tau.as_ps() as f64)
    }
}

/// u' of a link by the rate at which it sends, and the time between its two records; `None` without such a time.
pub(in crate::schemes) fn load(new: &IntHop, old: &IntHop, rtt: Time) -> Option<(f64, Time)> {
    let link = Link::exact(new, old).filter(|link| link.tau > Time::ZERO)?;
    Some((link.load(rtt, LinkRate::Sent), link.tau))
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
