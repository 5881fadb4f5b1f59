//! Flow control protects its classes, and control is never dropped.

use crate::event::{Hop, Lost};
use crate::law::Law;
use crate::net::Net;
use crate::report::Tally;

pub struct Lossless;

impl Law for Lossless {
    fn hop(&mut self, _: &Hop<'_>, _: &Net, tally: &mut Tally) {
        tally.holds();
    }

    fn lost(&mut self, lost: &Lost<'_>, net: &Net, tally: &mut Tally) {
        let class = net.setup.classes.get(usize::from(lost.packet.class));
        if lost.packet.class == 0 || class.is_some_and(|class| class.lossless) {
            tally.broken(lost.arrived, &net.at(lost.by).name, || {
                let packet = lost.packet;
                let name = class.map_or("?", |class| class.name.as_str());
                format!(
                    "{:?} {} of connection {}, class {name:?}, {} B, arrived and never left the switch",
                    packet.kind, packet.seq, packet.channel, packet.wire
                )
            });
        }
    }
}
