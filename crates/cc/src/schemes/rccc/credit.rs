//! The law itself: what senders demand, whom a host's pacer serves, and the share of its rate that it grants. The
//! scheme drives it, and so does the network of uet-htsim (`crates/uet`).
//!
//! Source: Ultra Ethernet 1.0, receiver credit congestion control; uet-htsim's pull pacer and oversubscription control.

use alloc::collections::VecDeque;

/// Bytes of a quantum of credit.
pub const QUANTUM: i64 = 256;
/// Where pull targets and pull numbers begin.
pub const FIRST_PULL: u64 = 100_000_000;
/// Quanta of credit in a pull.
pub const PULL: u64 = 64;

/// The credit of a sender.
#[derive(Clone, Debug)]
pub struct Credit {
    /// Bytes that it may send. A packet may leave while it is above zero.
    pub bytes: i64,
    /// The highest pull number that came.
    pub pull: u64,
    /// The pull target that its packets tell.
    pub target: u64,
    /// Whether it still sends without a grant.
    pub speculating: bool,
}

/// What a sender wants credit for.
#[derive(Clone, Copy, Debug)]
pub struct Wanted {
    /// Bytes not sent yet.
    pub backlog: i64,
    /// Bytes to send again.
    pub again: i64,
    /// The window, where one limits what may be sent.
    pub window: Option<i64>,
    /// Bytes of a full packet.
    pub mtu: i64,
    /// How many senders of its host share the demand.
    pub sharers: i64,
}

impl Credit {
    /// That of a sender that has not started.
    pub const fn new(bytes: i64) -> Self {
        Self { bytes, pull: FIRST_PULL, target: 0, speculating: true }
    }

    /// The first feedback ends sending without a grant.
    pub fn stop_speculating(&mut self) {
        if self.speculating {
            self.speculating = false;
            self.bytes = self.bytes.min(0);
        }
    }

    /// A pull arrived. There is never more credit than `most`.
    pub fn on_pull(&mut self, number: u64, most: i64) {
        self.stop_speculating();
        if number > self.pull {
            let granted = (number - self.pull) as i64 * QUANTUM;
            self.bytes = (self.bytes + granted).min(most);
            self.pull = number;
        }
    }

    /// Computes the pull target, in quanta: what is to be sent and has no credit yet.
    pub fn demand(&mut self, wanted: &Wanted, most: i64) {
        let mut bytes = wanted.backlog + wanted.again;
        if let Some(window) = wanted.window {
            bytes = bytes.min(window + wanted.mtu);
        }
        bytes = bytes.min(most) - self.bytes;
        if self.speculating && bytes < wanted.mtu && wanted.backlog > 0 {
            bytes = wanted.mtu;
        }
        if wanted.sharers > 1 {
            bytes /= wanted.sharers;
        }
        self.target = ((bytes + QUANTUM * self.pull as i64 + QUANTUM - 1) / QUANTUM) as u64;
    }
}

/// What a receiver knows of the demand of its sender.
#[derive(Clone, Debug)]
pub struct Demand {
    /// The highest pull target that came.
    pub highest: u64,
    /// The number of the latest pull.
    pub latest: u64,
    in_list: bool,
    slow: bool,
}

impl Default for Demand {
    fn default() -> Self {
        Self { highest: FIRST_PULL, latest: FIRST_PULL, in_list: false, slow: false }
    }
}

/// Where a pacer finds what is demanded of a flow.
pub trait Demands {
    /// That of this flow.
    fn of(&mut self, flow: u32) -> &mut Demand;
}

/// The pull pacer of a host. The lists have flows with demand and those without.
#[derive(Clone, Debug)]
pub struct Pacer {
    active: VecDeque<u32>,
    idle: VecDeque<u32>,
    running: bool,
    quantum: u64,
}

/// A pull to send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pull {
    /// To the sender of this flow.
    pub flow: u32,
    /// Its number.
    pub number: u64,
    /// Whether its sender has not asked for it.
    pub slow: bool,
    /// Picoseconds until the next pull of the host.
    pub gap: u64,
}

/// The control of oversubscription of a host: the share of its rate that it grants.
#[derive(Clone, Debug)]
pub struct Share {
    /// The share, at most 1.
    pub share: f64,
    congestion: f64,
    rounds: u32,
    least: f64,
    /// Packets that arrived since the last adjustment, of any kind that senders send.
    pub packets: u64,
    /// Those with a mark.
    pub marked: u64,
    /// Those that were trimmed in front of the host.
    pub last_hop: u64,
    /// Those that were trimmed elsewhere.
    pub trimmed: u64,
}

impl Pacer {
    /// A pacer at a rate in bits per second.
    pub fn new(rate: u64) -> Self {
        let quantum = ((8.0 * QUANTUM as f64 * 1e12 / rate as f64) / 0.99) as u64;
        Self { active: VecDeque::new(), idle: VecDeque::new(), running: false, quantum }
    }

    /// A packet told a pull target. Tells whether the pacer has to start.
    pub fn demand(&mut self, flow: u32, target: u64, demands: &mut impl Demands) -> bool {
        let demand = demands.of(flow);
        if target <= demand.highest {
            return false;
        }
        demand.highest = target;
        self.join(flow, demands)
    }

    /// A flow joins the list, if it is not in it. Tells whether the pacer has to start.
    pub fn join(&mut self, flow: u32, demands: &mut impl Demands) -> bool {
        let demand = demands.of(flow);
        if demand.in_list {
            return false;
        }
        demand.in_list = true;
        self.active.push_back(flow);
        !core::mem::replace(&mut self.running, true)
    }

    /// A flow ends.
    pub fn leave(&mut self, flow: u32) {
        self.active.retain(|&other| other != flow);
        self.idle.retain(|&other| other != flow);
    }

    /// The next pull at its time; `None` if there is nobody to pull, and the pacer stops. Nobody gets more than `most`
    /// bytes of credit that were not asked for. `share` is that of [`Share`].
    pub fn pull(&mut self, most: i64, share: f64, demands: &mut impl Demands) -> Option<Pull> {
        let (flow, extra, slow) = if let Some(flow) = self.active.pop_front() {
            let demand = demands.of(flow);
            let latest = (demand.latest + PULL).min(demand.highest.max(demand.latest));
            let extra = latest - demand.latest;
            demand.latest = latest;
            if demand.highest > latest {
                self.active.push_back(flow);
            } else {
                self.idle.push_back(flow);
                demand.in_list = false;
                demand.slow = true;
            }
            (flow, extra, false)
        } else if let Some(flow) = self.idle.pop_front() {
            let demand = demands.of(flow);
            if !demand.slow {
                demand.in_list = false;
                demand.slow = true;
            }
            demand.latest += PULL;
            let most = (most / QUANTUM) as u64;
            if demand.highest <= demand.latest && demand.latest - demand.highest < most {
                self.idle.push_back(flow);
            } else {
                demand.in_list = false;
                demand.slow = false;
            }
            (flow, PULL, true)
        } else {
            self.running = false;
            return None;
        };
        let quantum = (self.quantum as f64 / share.min(1.0)) as u64;
        let gap = quantum * if extra == 0 { 4 } else { extra };
        Some(Pull { flow, number: demands.of(flow).latest, slow, gap })
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

    /// Adjusts the share by what was counted, and begins to count anew.
    pub fn adjust(&mut self) {
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
