//! The window of a scheme that has a fixed one.

use crate::event::{Arrival, Begin, Kind};
use crate::law::Law;
use crate::map::Map;
use crate::net::Net;
use crate::report::Tally;

const NUMBERS: u32 = 1 << 24;

#[derive(Default)]
pub struct Window {
    /// By connection and its ends: the first packet that is not acknowledged.
    acked: Map<(u32, u32, u32), u32>,
}

impl Law for Window {
    fn arrival(&mut self, arrival: &Arrival<'_>, net: &Net, _: &mut Tally) {
        let packet = arrival.packet;
        if packet.kind == Kind::Ack && net.at(arrival.from).hosts.1 {
            let acked = self.acked.entry((packet.channel, packet.ends.1, packet.ends.0)).or_default();
            if (packet.seq + 1).wrapping_sub(*acked) % NUMBERS < NUMBERS / 2 {
                *acked = (packet.seq + 1) % NUMBERS;
            }
        }
    }

    fn begin(&mut self, begin: &Begin<'_>, net: &Net, tally: &mut Tally) {
        let (packet, Some(window)) = (begin.packet, net.setup.window) else { return };
        if packet.kind != Kind::Data || !net.at(begin.port).hosts.0 {
            return;
        }
        let acked = self.acked.get(&(packet.channel, packet.ends.0, packet.ends.1)).copied().unwrap_or(0);
        // Whole packets before this one, and itself.
        let ahead = packet.seq.wrapping_sub(acked) % NUMBERS;
        let flying = u64::from(ahead) * net.setup.sizes.payload + packet.payload;
        tally.check(ahead > NUMBERS / 2 || flying <= window, begin.time, &net.at(begin.port).name, || {
            format!("connection {} has {flying} B in flight, and its window is {window} B", packet.channel)
        });
    }
}
