//! No link sends above its rate.

use crate::event::Begin;
use crate::law::Law;
use crate::net::Net;
use crate::report::Tally;

pub struct Rates;

impl Law for Rates {
    fn begin(&mut self, begin: &Begin<'_>, net: &Net, tally: &mut Tally) {
        let port = net.at(begin.port);
        tally.check(begin.time + net.setup.tick >= begin.free, begin.time, &port.name, || {
            let early = begin.free.saturating_sub(begin.time);
            format!(
                "a packet of {} B begins {early} before the last bit of the one before, at {}",
                begin.packet.wire, port.rate
            )
        });
    }
}
