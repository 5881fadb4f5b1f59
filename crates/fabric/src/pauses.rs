//! Faults and options of PFC: pauses that expire, the storm watchdog of switches, and hosts whose NIC receives slowly
//! or sends pauses without end.

use fanin_units::{Rate, Time};

/// Options of PFC, and faulty hosts. All are off by default, and ports obey pauses at once.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PauseOptions {
    /// A pause lasts this many quanta unless it is refreshed; `None`: until it is revoked.
    pub quanta: Option<u16>,
    /// The storm watchdog of every port of a switch.
    pub watchdog: Option<Watchdog>,
    /// The time from the arrival of a pause frame, PAUSE or RESUME, until the port obeys it (IEEE 802.3 annex 31B).
    pub response: Time,
    /// Faulty hosts; faults of one kind at one host do not overlap.
    pub faults: Vec<HostFault>,
    /// Whether pauses and their causes are recorded: see [`crate::PauseRecord`].
    pub record: bool,
}

/// Bits of one quantum of a pause (IEEE 802.1Qbb, 802.3 annex 31B: the time of 512 bits at the rate of the link).
const QUANTUM_BYTES: u64 = 512 / 8;

impl PauseOptions {
    /// How long a pause lasts on a link of this rate unless it is refreshed.
    pub fn lasts(quanta: u16, rate: Rate) -> Time {
        rate.tx_time(QUANTUM_BYTES * quanta as u64)
    }

    /// Whether anything has to happen at certain times.
    pub(crate) fn any_timers(&self) -> bool {
        let late = self.response > Time::ZERO;
        self.quanta.is_some() || self.watchdog.is_some() || late || !self.faults.is_empty()
    }
}

/// The storm watchdog of a switch. It examines a class of a port when it has been paused for `detect`, and again after
/// each further `detect` of the same pause. If packets wait there, it acts, until the peer has sent no pause and none
/// has been in force for `restore`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Watchdog {
    /// How long a pause lasts until it is a storm.
    pub detect: Time,
    /// How long pauses have to be absent until it is over.
    pub restore: Time,
    /// What is done meanwhile.
    pub action: WatchdogAction,
}

/// What a watchdog does with the packets of a class that is paused by a storm.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WatchdogAction {
    /// It drops them: those that wait, and those that come.
    Drop,
    /// It sends them: pauses are ignored.
    Forward,
}

/// A faulty host.
#[derive(Clone, Debug, PartialEq)]
pub struct HostFault {
    /// The host.
    pub host: u32,
    /// It is faulty from here (inclusive) ...
    pub from: Time,
    /// ... to here (exclusive); [`Time::NEVER`]: to the end.
    pub to: Time,
    /// What is wrong with it.
    pub kind: FaultKind,
}

/// What is wrong with a host. Each of its NICs has the fault.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum FaultKind {
    /// Its NIC takes data packets from its receive buffer slowly, one after the other; control packets do not wait.
    /// The NIC pauses a lossless class when the buffer holds so much of it that only the headroom of its link is left.
    /// With credits its buffer is that of the link, and credits come back as packets are taken.
    SlowReceiver {
        /// How fast.
        drain: Drain,
        /// Bytes of the receive buffer, for each class; with credits the link has one.
        buffer: u64,
    },
    /// It pauses all lossless classes, and repeats that.
    PauseStorm {
        /// Time between two PAUSE frames; `None`: half of the time for which a pause lasts, or without expiry half of
        /// the longest time that a PAUSE frame can ask for.
        every: Option<Time>,
    },
}

/// The speed of a slow receiver.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Drain {
    /// This rate, or that of the link if it is lower.
    Rate(Rate),
    /// This share of the rate of the link, above 0 and at most 1.
    Share(f64),
}

impl Drain {
    /// The rate on a link of this rate.
    pub(crate) fn rate(self, line: Rate) -> Rate {
        match self {
            Self::Rate(rate) => rate.min(line),
            Self::Share(share) => Rate::from_bps(((line.as_bps() as f64 * share) as u64).clamp(1, line.as_bps())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quantum_is_512_bits() {
        // 802.1Qbb: 65,535 quanta are 3.355 ms at 10 Gb/s.
        assert_eq!(PauseOptions::lasts(65_535, Rate::from_gbps(10)), Time::from_ps(65_535 * 51_200));
        assert_eq!(PauseOptions::lasts(1, Rate::from_gbps(100)), Time::from_ps(5120));
    }

    #[test]
    fn a_slow_receiver_is_never_faster_than_its_link() {
        let line = Rate::from_gbps(10);
        assert_eq!(Drain::Rate(Rate::from_gbps(40)).rate(line), line);
        assert_eq!(Drain::Share(0.25).rate(line), Rate::from_mbps(2500));
        assert_eq!(Drain::Share(1e-300).rate(line), Rate::from_bps(1));
    }
}
