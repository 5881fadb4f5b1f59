//! What has not arrived is not acknowledged.

use crate::event::{Arrival, Begin, Kind};
use crate::law::Law;
use crate::map::Map;
use crate::net::Net;
use crate::report::Tally;

const NUMBERS: u32 = 1 << 24;

#[derive(Default)]
pub struct Acks {
    /// By connection, receiver and sender: the number after the highest that has arrived.
    arrived: Map<(u32, u32, u32), u32>,
}

impl Law for Acks {
    fn arrival(&mut self, arrival: &Arrival<'_>, net: &Net, _: &mut Tally) {
        let packet = arrival.packet;
        if packet.kind == Kind::Data && net.at(arrival.from).hosts.1 {
            let next = self.arrived.entry((packet.channel, packet.ends.1, packet.ends.0)).or_default();
            if (packet.seq + packet.span).wrapping_sub(*next) % NUMBERS < NUMBERS / 2 {
                *next = (packet.seq + packet.span) % NUMBERS;
            }
        }
    }

    fn begin(&mut self, begin: &Begin<'_>, net: &Net, tally: &mut Tally) {
        let packet = begin.packet;
        if packet.kind != Kind::Ack || !net.at(begin.port).hosts.0 {
            return;
        }
        let next = self.arrived.get(&(packet.channel, packet.ends.0, packet.ends.1)).copied().unwrap_or(0);
        let ahead = (packet.seq + 1).wrapping_sub(next) % NUMBERS;
        tally.check(ahead == 0 || ahead > NUMBERS / 2, begin.time, &net.at(begin.port).name, || {
            format!(
                "packet {} of connection {} is acknowledged, and {next} has not arrived",
                packet.seq, packet.channel
            )
        });
    }
}
