//! A pause is obeyed.

use crate::event::{Arrival, Begin, Kind, Port};
use crate::law::Law;
use crate::map::Map;
use crate::net::Net;
use crate::report::Tally;
use fanin_units::Time;
use std::collections::VecDeque;

#[derive(Default)]
pub struct Obeyed {
    /// By port and class.
    paused: Map<Port, [Pauses; 8]>,
}

/// The pauses of a class.
#[derive(Default)]
struct Pauses {
    /// Since when it is paused.
    since: Option<Time>,
    /// Frames that have not taken effect: when they do, and whether they pause.
    coming: VecDeque<(Time, bool)>,
}

impl Law for Obeyed {
    fn arrival(&mut self, arrival: &Arrival<'_>, net: &Net, _: &mut Tally) {
        let Kind::Pause { told, paused } = arrival.packet.kind else { return };
        let classes = self.paused.entry(arrival.at).or_default();
        for class in (0..8).filter(|class| told >> class & 1 == 1) {
            let pauses = paused >> class & 1 == 1;
            classes[class].coming.push_back((arrival.time + net.setup.response, pauses));
        }
    }

    fn begin(&mut self, begin: &Begin<'_>, net: &Net, tally: &mut Tally) {
        let class = begin.packet.class;
        if class == 0 || begin.packet.is_of_link() {
            return;
        }
        let mut since = None;
        if let Some(of) = self.paused.get_mut(&begin.port).map(|all| &mut all[usize::from(class & 7)]) {
            while let Some((at, pauses)) = of.coming.front().copied().filter(|(at, _)| *at < begin.time) {
                of.coming.pop_front();
                of.since = pauses.then(|| of.since.unwrap_or(at));
            }
            // At the picosecond of a frame either may come first.
            let resumes = |(at, pauses): &(Time, bool)| !pauses && *at <= begin.time + net.setup.tick;
            since = of
                .since
                .filter(|since| since.saturating_add(net.setup.tick) < begin.time && !of.coming.iter().any(resumes));
        }
        tally.check(since.is_none(), begin.time, &net.at(begin.port).name, || {
            format!("a packet of class {class} begins, which is paused since {}", since.unwrap_or_default())
        });
    }
}
