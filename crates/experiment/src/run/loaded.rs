//! Schemes, load balancing and queue disciplines of one's own, whose hooks may fail in a run.

use super::Engine;
use fanin_cc::OwnBalancing;
use fanin_cc::own::Failure;
use fanin_fabric::{NetworkConfig, TrafficConfig};
use fanin_units::Time;

/// Packet-hops between two checks whether a loaded program has failed, roughly, and the least and most time.
const HOPS_PER_CHECK: u64 = 5_000;
const CHECKS: [Time; 2] = [Time::from_ns(100), Time::from_us(100)];

/// Asks a program of one's own whether it has failed.
type Fallible = Box<dyn Fn() -> Option<Failure>>;

/// The loaded programs of a run, which may fail. They are asked at times that do not depend on the number of threads,
/// and what comes between a failure and the next of these is in the results.
pub struct OwnPrograms {
    programs: Vec<Fallible>,
    step: Time,
    /// Packet-hops at the last check.
    hops: u64,
}

impl Default for OwnPrograms {
    fn default() -> Self {
        Self { programs: Vec::new(), step: CHECKS[0], hops: 0 }
    }
}

/// The earliest of some failures.
pub fn earliest(failures: impl Iterator<Item = Failure>) -> Option<Failure> {
    failures.min_by(|a, b| (a.at, &a.problem).cmp(&(b.at, &b.problem)))
}

impl OwnPrograms {
    /// Those of a network and its traffics.
    pub fn of(network: &NetworkConfig, traffics: &[TrafficConfig]) -> Self {
        let mut loaded = Self::default();
        for program in traffics.iter().filter_map(|traffic| traffic.scheme.loaded().cloned()) {
            loaded.programs.push(Box::new(move || program.failure()));
        }
        match network.balancing.own() {
            Some(OwnBalancing::Switches(program)) => loaded.programs.push(Box::new(move || program.failure())),
            Some(OwnBalancing::Senders(program)) => loaded.programs.push(Box::new(move || program.failure())),
            None => {}
        }
        if let Some(program) = network.discipline.clone() {
            loaded.programs.push(Box::new(move || program.failure()));
        }
        loaded
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.programs.is_empty()
    }

    /// When to check them, after a check at `now`.
    pub fn next_check(&self, now: Time) -> Time {
        if self.is_empty() { Time::NEVER } else { now.saturating_add(self.step) }
    }

    /// The earliest failure, if there was one.
    pub fn check(&mut self, sim: &dyn Engine) -> Option<Failure> {
        if self.is_empty() {
            return None;
        }
        let hops = sim.packet_hops();
        let ran = hops - std::mem::replace(&mut self.hops, hops);
        let [least, most] = CHECKS;
        if ran < HOPS_PER_CHECK / 2 {
            self.step = self.step.saturating_mul(2).min(most);
        } else if ran > HOPS_PER_CHECK * 2 {
            self.step = Time::from_ps(self.step.as_ps() / 2).max(least);
        }
        self.failure().or_else(|| sim.failure())
    }

    /// The earliest failure in this process.
    pub fn failure(&self) -> Option<Failure> {
        earliest(self.programs.iter().filter_map(|failure| failure()))
    }
}
