//! How a network on a wire runs: its clock and its links.

use fanin_units::Time;
use std::time::Duration;

/// What time is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Clock {
    /// Virtual: each process waits for its neighbours' promises. Exact on any machine.
    Lockstep,
    /// Real time, in which the network is so many times slower than it would be.
    Slowed(u32),
}

/// Most times that a network is slower.
const MOST_SLOWED: u32 = 10_000_000;

impl Clock {
    /// Reads `lockstep`, `slowed:N` or `real`.
    ///
    /// # Errors
    /// For anything else.
    pub fn parse(text: &str) -> Result<Self, String> {
        let slowed = |n: &str| n.parse().ok().filter(|n| (1..=MOST_SLOWED).contains(n)).map(Self::Slowed);
        let known = match text {
            "lockstep" => Some(Self::Lockstep),
            "real" => Some(Self::Slowed(1)),
            _ => text.strip_prefix("slowed:").and_then(slowed),
        };
        known.ok_or_else(|| {
            format!(
                "--clock {text}: it is lockstep, slowed:N with N from 1 to {MOST_SLOWED}, or real, which is slowed:1"
            )
        })
    }

    /// The number of a network that is slower, or 0.
    pub(crate) fn slowdown(self) -> u64 {
        if let Self::Slowed(n) = self { n.into() } else { 0 }
    }
}

impl std::fmt::Display for Clock {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Lockstep => f.write_str("lockstep"),
            Self::Slowed(1) => f.write_str("real"),
            Self::Slowed(n) => write!(f, "slowed:{n}"),
        }
    }
}

/// What carries frames between processes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Link {
    /// UDP on loopback.
    Udp,
    /// Pairs of virtual Ethernet interfaces between network namespaces of the run.
    Veth,
}

impl Link {
    /// Reads `udp` or `veth`.
    ///
    /// # Errors
    /// For anything else.
    pub fn parse(text: &str) -> Result<Self, String> {
        match text {
            "udp" => Ok(Self::Udp),
            "veth" => Ok(Self::Veth),
            _ => Err(format!("--link {text}: it is udp or veth")),
        }
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Udp => "udp",
            Self::Veth => "veth",
        }
    }
}

/// A fault for tests: a part does nothing for a while.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stall {
    /// The part: 0 are the switches, 1 + n is host n.
    pub part: u32,
    /// When in network time.
    pub at: Time,
    /// How long in real time.
    pub lasts: Duration,
}

/// How a network on a wire runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// What time is.
    pub clock: Clock,
    /// What carries frames.
    pub link: Link,
    /// A fault, for tests.
    pub stall: Option<Stall>,
    /// Whether a run in real time ends early where it is hopeless.
    pub impatient: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self { clock: Clock::Lockstep, link: Link::Udp, stall: None, impatient: true }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clocks_are_read_and_nothing_else_is() {
        for (text, clock) in [("lockstep", Clock::Lockstep), ("real", Clock::Slowed(1)), ("slowed:7", Clock::Slowed(7))]
        {
            assert_eq!(Clock::parse(text), Ok(clock));
            assert_eq!(clock.to_string(), text);
        }
        for text in ["", "slowed", "slowed:", "slowed:0", "slowed:-1", "slowed:10000001", "Real", "slowed:1.5"] {
            assert!(Clock::parse(text).is_err(), "{text}");
        }
        assert!(Link::parse("tap").is_err());
    }
}
