//! The state of RCCC: what senders demand, whom a host's pacer serves, and the share of its rate that it grants.
//!
//! Source: Ultra Ethernet 1.0, receiver credit congestion control; uet-htsim's pull pacer and oversubscription control.

use std::collections::VecDeque;

/// Bytes of a quantum of credit.
pub const QUANTUM: i64 = 256;
/// Where pull targets and pull numbers begin.
pub const FIRST_PULL: u64 = 100_000_000;
/// Quanta of credit in a pull.
pub const PULL: u64 = 64;

/// What a receiver knows of the demand of its sender.
pub struct Demand {
    pub(crate) highest: u64,
    pub(crate) latest: u64,
    pub(crate) in_list: bool,
    pub(crate) slow: bool,
    pub(crate) count: u16,
}

impl Default for Demand {
    fn default() -> Self {
        Self { highest: FIRST_PULL, latest: FIRST_PULL, in_list: false, slow: false, count: 0 }
    }
}

/// The pull pacer of a host. The lists have receivers with demand and those without.
pub struct Pacer {
    pub(crate) active: VecDeque<u32>,
    pub(crate) idle: VecDeque<u32>,
    pub(crate) running: bool,
    pub(crate) quantum: u64,
}

/// The control of oversubscription of a host: the share of its rate that it grants.
pub struct Share {
    pub(crate) share: f64,
    pub(crate) congestion: f64,
    pub(crate) rounds: u32,
    pub(crate) least: f64,
    pub(crate) packets: u64,
    pub(crate) marked: u64,
    pub(crate) last_hop: u64,
    pub(crate) trimmed: u64,
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

    pub(crate) fn adjust(&mut self) {
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
