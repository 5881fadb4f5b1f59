//! Messages end when their last byte has arrived, and have the bytes that were asked for.

use crate::event::{Arrival, Kind};
use crate::law::Law;
use crate::map::Map;
use crate::net::Net;
use crate::report::Tally;
use fanin_units::Time;

#[derive(Default)]
pub struct Messages {
    /// By flow: the next packet, bytes before it, and whether all have come in order so far.
    flows: Map<u64, (u32, u64, bool)>,
}

impl Law for Messages {
    fn arrival(&mut self, arrival: &Arrival<'_>, net: &Net, tally: &mut Tally) {
        let (packet, info) = (arrival.packet, net.at(arrival.from));
        if packet.kind != Kind::Data || !info.hosts.1 {
            return;
        }
        let (next, bytes, in_order) = self.flows.entry(packet.flow).or_insert((0, 0, true));
        if packet.seq == *next {
            *next += 1;
            *bytes += packet.payload;
        } else if packet.seq > *next {
            // What a receiver keeps of these is its own law.
            *in_order = false;
        }
        let Some([size, end]) = net.facts.messages.get(&packet.channel).filter(|_| packet.last && *in_order) else {
            return;
        };
        if packet.seq + 1 != *next {
            return;
        }
        let place = &info.name;
        tally.check(bytes == size, arrival.time, place, || {
            format!("connection {} brings {bytes} B, and its message has {size} B", packet.channel)
        });
        tally.check(arrival.time == Time::from_ps(*end), arrival.time, place, || {
            format!(
                "the last byte of connection {} arrives now, and its message ends at {}",
                packet.channel,
                Time::from_ps(*end)
            )
        });
        *in_order = false;
    }
}
