//! A pause is obeyed.

use crate::event::{Arrival, Begin, Kind, Port};
use crate::law::Law;
use crate::map::Map;
use crate::net::Net;
use crate::report::Tally;
use fanin_units::Time;

#[derive(Default)]
pub struct Obeyed {
    /// By port: since when each class is paused, and a resume that has not taken effect.
    paused: Map<Port, [(Option<Time>, Time); 8]>,
}

impl Law for Obeyed {
    fn arrival(&mut self, arrival: &Arrival<'_>, net: &Net, _: &mut Tally) {
        let Kind::Pause { told, paused } = arrival.packet.kind else { return };
        let classes = self.paused.entry(arrival.at).or_default();
        for class in (0..8).filter(|class| told >> class & 1 == 1) {
            let (since, until) = &mut classes[class];
            let at = arrival.time + net.setup.response;
            if paused >> class & 1 == 1 {
                if since.is_none() || *until <= arrival.time {
                    *since = since.filter(|_| *until > arrival.time).or(Some(at));
                }
                *until = Time::NEVER;
            } else if since.is_some() {
                *until = at;
            }
        }
    }

    fn begin(&mut self, begin: &Begin<'_>, net: &Net, tally: &mut Tally) {
        let class = begin.packet.class;
        if class == 0 || begin.packet.is_of_link() {
            return;
        }
        let (since, until) = self.paused.get(&begin.port).map_or((None, Time::ZERO), |all| all[usize::from(class & 7)]);
        // At the picosecond of a pause or resume either may come first.
        let obeys =
            since.is_none_or(|since| begin.time <= since + net.setup.tick || begin.time + net.setup.tick >= until);
        tally.check(obeys, begin.time, &net.at(begin.port).name, || {
            format!("a packet of class {class} begins, which is paused since {}", since.unwrap_or_default())
        });
    }
}
