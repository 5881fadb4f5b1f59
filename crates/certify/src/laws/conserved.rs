//! Nothing comes from nowhere, and nothing leaves before it has arrived.

use crate::event::{Begin, Hop};
use crate::law::Law;
use crate::net::Net;
use crate::report::Tally;

pub struct Conserved;

impl Law for Conserved {
    fn hop(&mut self, _: &Hop<'_>, _: &Net, tally: &mut Tally) {
        tally.holds();
    }

    fn stranger(&mut self, begin: &Begin<'_>, net: &Net, tally: &mut Tally) {
        let packet = begin.packet;
        tally.broken(begin.time, &net.at(begin.port).name, || {
            format!(
                "{:?} {} of connection {} with {} B leaves, and no such packet has arrived whole by then",
                packet.kind, packet.seq, packet.channel, packet.wire
            )
        });
    }
}
