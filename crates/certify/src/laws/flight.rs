//! Store-and-forward: the time from the first bit at one end of a link to the last at the other.

use crate::event::Arrival;
use crate::law::Law;
use crate::net::Net;
use crate::report::Tally;

pub struct Flight;

impl Law for Flight {
    fn arrival(&mut self, arrival: &Arrival<'_>, net: &Net, tally: &mut Tally) {
        let Some((due, missing)) = arrival.due else { return };
        let (tick, name) = (net.setup.tick, &net.at(arrival.from).name);
        let in_time = arrival.time <= due + tick && due <= arrival.time + tick;
        tally.check(in_time && missing == 0, arrival.time, name, || {
            format!(
                "a packet of {} B arrives that is due at {due}; {missing} before it are missing",
                arrival.packet.wire
            )
        });
    }
}
