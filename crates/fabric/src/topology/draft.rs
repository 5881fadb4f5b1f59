//! Shared by all builders: limits, errors, and a graph under construction.

use super::{Graph, Link};
use fanin_units::{NodeId, Rate, Time};
use std::fmt;

/// Most nodes of a network.
pub const MAX_NODES: u64 = 1_000_000;
/// Most links of a network.
pub const MAX_LINKS: u64 = 4_000_000;
/// Longest propagation delay of a link. It keeps the sum of all delays of a path far below the largest [`Time`].
pub const MAX_DELAY: Time = Time::from_s(1);

/// Why parameters are invalid.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TopologyError {
    /// The invalid parameter, as a path of field names: `uplinks`, `host_link.rate`, `links[3].a`.
    pub parameter: String,
    /// The error and the valid range.
    pub problem: String,
}

impl TopologyError {
    pub(super) fn new(parameter: impl Into<String>, problem: impl Into<String>) -> Self {
        Self { parameter: parameter.into(), problem: problem.into() }
    }
}

impl fmt::Display for TopologyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.parameter, self.problem)
    }
}
impl std::error::Error for TopologyError {}

/// Common parameters of all links of one kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cable {
    /// Rate of each direction, above 0.
    pub rate: Rate,
    /// Propagation delay of each direction, at most [`MAX_DELAY`].
    pub delay: Time,
}

impl Cable {
    /// A cable of this rate and delay.
    pub const fn new(rate: Rate, delay: Time) -> Self {
        Self { rate, delay }
    }

    /// `parameter` is the path of the cable in its builder.
    pub(super) fn check(self, parameter: &str) -> Result<(), TopologyError> {
        if self.rate == Rate::ZERO {
            let problem = "is 0, so it never sends; use a rate above 0, such as 10 Gbps";
            return Err(TopologyError::new(format!("{parameter}.rate"), problem));
        }
        if self.delay > MAX_DELAY {
            let problem = format!("is {}; use at most {MAX_DELAY}", self.delay);
            return Err(TopologyError::new(format!("{parameter}.delay"), problem));
        }
        Ok(())
    }
}

/// Rejects a count that is too small.
pub(super) fn at_least(min: u32, parameter: &str, value: u32) -> Result<(), TopologyError> {
    if value < min {
        return Err(TopologyError::new(parameter, format!("is {value}; use at least {min}")));
    }
    Ok(())
}

/// Rejects a network that is too large, before anything is allocated for it. `parameters` names the fields that
/// determine its size.
pub(super) fn check_size(parameters: &str, nodes: u64, links: u64) -> Result<(), TopologyError> {
    for (count, max, what) in [(nodes, MAX_NODES, "nodes"), (links, MAX_LINKS, "links")] {
        if count > max {
            let count = if count == u64::MAX { "2^64 or more".to_string() } else { count.to_string() };
            let problem =
                format!("together they make {count} {what}; make them smaller, at most {max} {what} are possible");
            return Err(TopologyError::new(parameters, problem));
        }
    }
    Ok(())
}

/// The product, or `u64::MAX` when it is larger.
pub(super) fn product(factors: &[u32]) -> u64 {
    factors.iter().fold(1, |p: u64, &f| p.saturating_mul(f.into()))
}

/// The sum, or `u64::MAX` when it is larger.
pub(super) fn total(terms: &[u64]) -> u64 {
    terms.iter().fold(0, |t: u64, &x| t.saturating_add(x))
}

/// A regular graph under construction: first all hosts, then switches and links.
pub(super) struct Draft(Graph);

impl Draft {
    /// Hosts "h0", "h1" and so on; rejects a network of fewer than two. `parameters` as in [`check_size`]. The counts
    /// are those of the finished network.
    pub(super) fn new(parameters: &str, hosts: u64, switches: u64, links: u64) -> Result<Self, TopologyError> {
        let nodes = total(&[hosts, switches]);
        check_size(parameters, nodes, links)?;
        if hosts < 2 {
            let problem = format!("the network has {hosts} host; make them larger, it needs at least 2 hosts");
            return Err(TopologyError::new(parameters, problem));
        }
        let mut names = Vec::with_capacity(nodes as usize);
        names.extend((0..hosts).map(|i| format!("h{i}")));
        Ok(Self(Graph { hosts: hosts as u32, names, links: Vec::with_capacity(links as usize) }))
    }

    /// Gives the hosts other names.
    pub(super) fn name_hosts(&mut self, name: impl Fn(u32) -> String) {
        for (host, named) in (0..).zip(&mut self.0.names) {
            *named = name(host);
        }
    }

    /// Adds a switch and returns its node.
    pub(super) fn switch(&mut self, name: &str) -> u32 {
        self.0.names.push(name.to_string());
        self.0.names.len() as u32 - 1
    }

    /// Adds `count` switches, named by the tier and a number from 0, and returns the first one's node.
    pub(super) fn tier(&mut self, tier: &str, count: u32) -> u32 {
        let first = self.0.names.len() as u32;
        self.0.names.extend((0..count).map(|i| format!("{tier}{i}")));
        first
    }

    /// Adds a link.
    pub(super) fn link(&mut self, a: u32, b: u32, cable: Cable) {
        self.0.links.push(Link::new(NodeId(a), NodeId(b), cable.rate, cable.delay));
    }

    /// Links all hosts, `per_switch` in turn to each switch from `first_switch` on.
    pub(super) fn racks(&mut self, per_switch: u32, first_switch: u32, cable: Cable) {
        for host in 0..self.0.hosts {
            self.link(host, first_switch + host / per_switch, cable);
        }
    }

    pub(super) fn finish(self) -> Graph {
        self.0
    }
}
