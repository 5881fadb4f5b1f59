//! RCCC: receivers grant credit by pulls, which each host's pacer sends in turn.
//!
//! Source: Ultra Ethernet 1.0, receiver credit congestion control; uet-htsim, uec.cpp and oversubscribed_cc.cpp.

use std::collections::VecDeque;

use crate::events::Event;
use crate::network::Network;
use crate::packet::{Packet, Type};
use crate::settings::HEADER;

/// Bytes of a quantum of credit.
pub const QUANTUM: i64 = 256;
/// Where pull targets and pull numbers begin.
pub const FIRST_PULL: u64 = 100_000_000;
/// Quanta of credit in a pull.
const PULL: u64 = 64;

/// What a receiver knows of the demand of its sender.
pub struct Demand {
    highest: u64,
    latest: u64,
    in_list: bool,
    slow: bool,
    count: u16,
}

impl Default for Demand {
    fn default() -> Self {
        Self { highest: FIRST_PULL, latest: FIRST_PULL, in_list: false, slow: false, count: 0 }
    }
}

/// The pull pacer of a host. The lists have receivers with demand and those without.
pub struct Pacer {
    active: VecDeque<u32>,
    idle: VecDeque<u32>,
    running: bool,
    quantum: u64,
}

/// The control of oversubscription of a host: the share of its rate that it grants.
pub struct Share {
    share: f64,
    congestion: f64,
    rounds: u32,
    least: f64,
    packets: u64,
    marked: u64,
    last_hop: u64,
    trimmed: u64,
}

impl Pacer {
    /// A pacer at a rate in bits per second.
    pub fn new(rate: u64) -> Self {
        let quantum = ((8.0 * QUANTUM as f64 * 1e12 / rate as f64) / 0.99) as u64;
        Self { active: VecDeque::new(), idle: VecDeque::new(), running: false, quantum }
    }
}

impl Share {
    /// The whole rate, behind links oversubscribed by a ratio.
    pub fn new(ratio: f64) -> Self {
        Self {
            share: 1.0,
            congestion: 0.0,
            rounds: 0,
            least: (0.9 / ratio).max(0.01),
            packets: 0,
            marked: 0,
            last_hop: 0,
            trimmed: 0,
        }
    }

    fn adjust(&mut self) {
        let (all, trimmed) = (self.packets, self.trimmed);
        let whole = all - self.last_hop - trimmed;
        let marked = if whole > 0 { self.marked as f64 / whole as f64 } else { 0.0 };
        let mut cut = false;
        if trimmed > 0 {
            self.share -= trimmed as f64 / all as f64;
            cut = true;
        }
        self.congestion = 0.5 * self.congestion + 0.5 * marked;
        if self.congestion > 0.3 {
            self.share *= 1.0 - (self.congestion - 0.3) * 0.5;
            cut = true;
        }
        if cut {
            self.rounds = 0;
        } else {
            self.share += if self.marked == 0 { 0.01 * f64::from(1u32 << self.rounds.min(30)) } else { 0.01 };
            self.rounds += 1;
        }
        self.share = self.share.min(1.0).max(self.least);
        (self.packets, self.marked, self.last_hop, self.trimmed) = (0, 0, 0, 0);
    }
}

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

    /// Inserts the next adjustment of a host's share, at a random time.
    pub(crate) fn next_share(&mut self, host: u32) {
        let delay = (0.75 + self.random.fraction() / 2.0) * 1.5 * self.settings.rtt as f64;
        self.events.after(delay as u64, Event::Share(host));
    }

    /// A host adjusts its share.
    pub(crate) fn adjust_share(&mut self, host: u32) {
        self.shares[host as usize].adjust();
        self.next_share(host);
    }
}
