//! Receivers demand credit, and the pacer of their host grants it, by the law of `cc`.
//!
//! Source: Ultra Ethernet 1.0, receiver credit congestion control; uet-htsim's pull pacer and oversubscription control.

use fanin_cc::uet::{Demand, Demands, Pull};

use crate::events::Event;
use crate::network::Network;
use crate::packet::{Packet, Type};
use crate::receiver::Receiver;
use crate::settings::HEADER;

/// What is demanded of each receiver.
struct Of<'a>(&'a mut [Receiver]);

impl Demands for Of<'_> {
    fn of(&mut self, flow: u32) -> &mut Demand {
        &mut self.0[flow as usize].demand
    }
}

impl Network<'_> {
    /// A packet tells its sender's pull target.
    pub(crate) fn demand(&mut self, connection: u32, target: u64) {
        if self.settings.rccc {
            let host = self.receivers[connection as usize].host;
            if self.pacers[host as usize].demand(connection, target, &mut Of(&mut self.receivers)) {
                self.events.after(0, Event::Pull(host));
            }
        }
    }

    /// A receiver joins the pacer's list, if it is not in it.
    pub(crate) fn join(&mut self, connection: u32) {
        if self.settings.rccc {
            let host = self.receivers[connection as usize].host;
            if self.pacers[host as usize].join(connection, &mut Of(&mut self.receivers)) {
                self.events.after(0, Event::Pull(host));
            }
        }
    }

    /// A pacer may send a pull.
    pub(crate) fn pull(&mut self, host: u32) {
        let share = self.shares.get(host as usize).map_or(1.0, |share| share.share);
        let pull = self.pacers[host as usize].pull(self.first_window, share, &mut Of(&mut self.receivers));
        if let Some(pull) = pull {
            self.send_pull(host, &pull);
            self.events.after(pull.gap, Event::Pull(host));
        }
    }

    fn send_pull(&mut self, host: u32, pull: &Pull) {
        let connection = pull.flow;
        let receiver = &mut self.receivers[connection as usize];
        receiver.pulls = (receiver.pulls + 1) & 0x7F;
        let packet = Packet {
            of: Type::Pull,
            connection,
            flow: receiver.flow,
            to: receiver.sender_host,
            entropy: receiver.pulls,
            size: HEADER as u16,
            header: true,
            flag: pull.slow,
            pull: pull.number,
            ..Packet::default()
        };
        let at = self.packets.add(packet);
        self.send_control(host, at);
    }

    /// Counts a packet that came to a host.
    pub(crate) fn count_for_share(&mut self, packet: &Packet) {
        if let Some(share) = self.shares.get_mut(packet.to as usize) {
            share.packets += 1;
            if packet.of == Type::Data && packet.header {
                *if packet.last_hop { &mut share.last_hop } else { &mut share.trimmed } += 1;
            } else if packet.marked {
                share.marked += 1;
            }
        }
    }

    /// A host adjusts its share.
    pub(crate) fn adjust_share(&mut self, host: u32) {
        self.shares[host as usize].adjust();
        self.next_share(host);
    }
}
