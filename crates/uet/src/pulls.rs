//! Receivers demand credit, and the pacer of their host grants it.
//!
//! Source: Ultra Ethernet 1.0, receiver credit congestion control; uet-htsim's pull pacer and oversubscription control.

use crate::events::Event;
use crate::network::Network;
use crate::packet::{Packet, Type};
use crate::rccc::{PULL, QUANTUM};
use crate::settings::HEADER;

impl Network<'_> {
    /// A packet tells its sender's pull target.
    pub(crate) fn demand(&mut self, connection: u32, target: u64) {
        let demand = &mut self.receivers[connection as usize].demand;
        if self.settings.rccc && target > demand.highest {
            demand.highest = target;
            self.join(connection);
        }
    }

    /// A receiver joins the pacer's list, if it is not in it.
    pub(crate) fn join(&mut self, connection: u32) {
        let receiver = &mut self.receivers[connection as usize];
        if !self.settings.rccc || receiver.demand.in_list {
            return;
        }
        receiver.demand.in_list = true;
        let host = receiver.host;
        let pacer = &mut self.pacers[host as usize];
        pacer.active.push_back(connection);
        if !pacer.running {
            pacer.running = true;
            self.events.after(0, Event::Pull(host));
        }
    }

    /// A pacer may send a pull.
    pub(crate) fn pull(&mut self, host: u32) {
        let pacer = &mut self.pacers[host as usize];
        let (connection, extra, slow) = if let Some(connection) = pacer.active.pop_front() {
            let demand = &mut self.receivers[connection as usize].demand;
            let latest = (demand.latest + PULL).min(demand.highest.max(demand.latest));
            let extra = latest - demand.latest;
            demand.latest = latest;
            if demand.highest > latest {
                pacer.active.push_back(connection);
            } else {
                pacer.idle.push_back(connection);
                demand.in_list = false;
                demand.slow = true;
            }
            (connection, extra, false)
        } else if let Some(connection) = pacer.idle.pop_front() {
            let demand = &mut self.receivers[connection as usize].demand;
            if !demand.slow {
                demand.in_list = false;
                demand.slow = true;
            }
            demand.latest += PULL;
            let most = (self.first_window / QUANTUM) as u64;
            if demand.highest <= demand.latest && demand.latest - demand.highest < most {
                pacer.idle.push_back(connection);
            } else {
                demand.in_list = false;
                demand.slow = false;
            }
            (connection, PULL, true)
        } else {
            pacer.running = false;
            return;
        };
        self.send_pull(host, connection, slow);
        let pacer = &self.pacers[host as usize];
        let share = self.shares.get(host as usize).map_or(1.0, |share| share.share);
        let quantum = (pacer.quantum as f64 / share.min(1.0)) as u64;
        self.events.after(quantum * if extra == 0 { 4 } else { extra }, Event::Pull(host));
    }

    fn send_pull(&mut self, host: u32, connection: u32, slow: bool) {
        let receiver = &mut self.receivers[connection as usize];
        receiver.demand.count = (receiver.demand.count + 1) & 0x7F;
        let pull = Packet {
            of: Type::Pull,
            connection,
            flow: receiver.flow,
            to: receiver.sender_host,
            entropy: receiver.demand.count,
            size: HEADER as u32,
            header: true,
            flag: slow,
            pull: receiver.demand.latest,
            ..Packet::default()
        };
        let at = self.packets.add(pull);
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
