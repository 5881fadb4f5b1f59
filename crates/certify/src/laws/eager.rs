//! A port that may send sends: store-and-forward to the picosecond.

use crate::event::{Arrival, Hop, Kind, Port};
use crate::law::Law;
use crate::map::Map;
use crate::net::Net;
use crate::report::Tally;
use fanin_units::Time;

#[derive(Default)]
pub struct Eager {
    /// By port and class.
    pauses: Map<Port, [Pauses; 8]>,
}

/// The pauses of a class.
#[derive(Clone, Copy, Default)]
struct Pauses {
    /// Since when it is paused.
    since: Option<Time>,
    /// When it was resumed last.
    resumed: Time,
}

impl Law for Eager {
    fn arrival(&mut self, arrival: &Arrival<'_>, net: &Net, _: &mut Tally) {
        if let Kind::Pause { told, paused } = arrival.packet.kind {
            let classes = self.pauses.entry(arrival.at).or_default();
            let at = arrival.time + net.setup.response;
            for class in (0..8).filter(|class| told >> class & 1 == 1) {
                let of = &mut classes[class];
                match paused >> class & 1 == 1 {
                    true => of.since = of.since.or(Some(at)),
                    false if of.since.take().is_some() => of.resumed = at,
                    false => {}
                }
            }
        }
    }

    fn hop(&mut self, hop: &Hop<'_>, net: &Net, tally: &mut Tally) {
        if !hop.certain {
            return;
        }
        let class = usize::from(hop.after.class & 7);
        let Pauses { since, resumed } = self.pauses.get(&hop.out).map_or_else(Pauses::default, |all| all[class]);
        if since.is_some_and(|since| since < hop.left) || hop.left < resumed {
            // It leaves while its class is paused: the law "pfc-obeyed" has that.
            return;
        }
        let due = hop.arrived.max(hop.free).max(resumed);
        tally.check(hop.left <= due + net.setup.tick, hop.left, &net.at(hop.out).name, || {
            let (late, wire) = (hop.left.saturating_sub(due), hop.after.wire);
            format!("a packet of {wire} B that came at {} could leave at {due}, and leaves {late} later", hop.arrived)
        });
    }
}
