//! A sender skips nothing.

use crate::event::{Begin, Kind};
use crate::law::Law;
use crate::map::Map;
use crate::net::Net;
use crate::report::Tally;

const NUMBERS: u32 = 1 << 24;

#[derive(Default)]
pub struct Sequence {
    /// By flow: the number after the highest that was sent.
    next: Map<u64, u32>,
}

impl Law for Sequence {
    fn begin(&mut self, begin: &Begin<'_>, net: &Net, tally: &mut Tally) {
        let packet = begin.packet;
        if packet.kind != Kind::Data || !net.at(begin.port).hosts.0 {
            return;
        }
        let Some(next) = self.next.get_mut(&packet.flow) else {
            self.next.insert(packet.flow, (packet.seq + packet.span) % NUMBERS);
            let of = packet.seq;
            return tally.check(of == 0, begin.time, &net.at(begin.port).name, || {
                format!("connection {} begins with packet {of}", packet.channel)
            });
        };
        let ahead = packet.seq.wrapping_sub(*next) % NUMBERS;
        if ahead == 0 {
            *next = (packet.seq + packet.span) % NUMBERS;
        }
        // Behind is a packet that is sent again.
        tally.check(ahead == 0 || ahead > NUMBERS / 2, begin.time, &net.at(begin.port).name, || {
            format!("packet {} of connection {} is sent, and the next is {next}", packet.seq, packet.channel)
        });
        if ahead < NUMBERS / 2 {
            *next = (packet.seq + packet.span) % NUMBERS;
        }
    }
}
