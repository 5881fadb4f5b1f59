//! Generators of flows: senders, receivers, sizes and times.
//!
//! A [`Traffic`] is one pattern with its sizes and its load. [`Traffic::flows`] converts it to an iterator of [`Flow`]s
//! in order of start times, generated during the run: memory grows with hosts and with overlapping bursts, never with
//! the length of the run. [`merge`] joins several traffics. [`Traffic::expected`] computes its expected load.
//!
//! Each traffic draws from its own random streams, one per purpose (arrivals, hosts, sizes, jitter, service times), so
//! another traffic or another size distribution does not change any other draw.
#![forbid(unsafe_code)]

mod bursts;
mod cdf;
mod error;
mod expected;
mod hosts;
mod list;
mod load;
mod merge;
mod patterns;
mod size;

pub use cdf::{Cdf, MAX_CDF_POINTS};
pub use error::WorkloadError;
pub use expected::Expected;
pub use hosts::Hosts;
pub use list::{FlowList, ListedFlow};
pub use load::{Load, LoadBase, Places};
pub use merge::{Merge, merge};
pub use patterns::{AllToAll, Arrivals, Incast, Long, LongFlows, Permutation, Poisson, Query, Response};
pub use size::SizeDistribution;

use fanin_engine::{Stream, Streams};
use fanin_units::Time;
use std::sync::Arc;

/// The size of a flow that never ends, in bytes: 10^11 seconds at 100 Gb/s.
pub const ENDLESS: u64 = 1 << 60;

/// [`Flow::group`] of a flow that belongs to no group.
pub const NO_GROUP: u32 = u32::MAX;

/// One message or long transfer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Flow {
    /// Time of its post at the sender, unless its `dependency` says otherwise.
    pub start: Time,
    /// Sending host.
    pub src: u32,
    /// Receiving host, never the sender.
    pub dst: u32,
    /// Payload, at least 1 byte; [`ENDLESS`] for a flow that never ends.
    pub bytes: u64,
    /// Number of its traffic.
    pub traffic: u16,
    /// Number of its incast, round or collective within the traffic, or [`NO_GROUP`].
    pub group: u32,
    /// All senders of its incast, in order, if the application knows them in advance (Dart III-D).
    pub senders: Option<Arc<[u32]>>,
    /// Flows that it waits for, and that wait for it.
    pub dependency: Dependency,
}

/// The triggers that a flow waits for and activates. Triggers are numbered within a traffic. All flows of a trigger
/// have the same start. In patterns, all flows that count towards a trigger go to one host, and all that wait for it
/// leave from that host; only a list may have triggers between hosts. A waiting flow counts as started only when it is
/// posted.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Dependency {
    /// The trigger that it waits for: it is posted when all events that count towards the trigger have happened.
    pub after: Option<u32>,
    /// Whether the trigger releases one waiting flow per event, in order, instead of all after the last event. The same
    /// for all flows that wait for it.
    pub in_turn: bool,
    /// Delay after the trigger; without a trigger, after its start.
    pub delay: Time,
    /// Whether it is sent on the connection of the flow that activated its trigger, in the opposite direction.
    pub answers: bool,
    /// The trigger that its arrival counts towards.
    pub counts: Option<u32>,
    /// The trigger that its last ACK counts towards: when its sender knows that all of it arrived.
    pub counts_acked: Option<u32>,
}

/// Flows in order of their start.
pub type Flows = Box<dyn Iterator<Item = Flow> + Send>;

/// One traffic.
#[derive(Clone, PartialEq, Debug)]
pub struct Traffic {
    /// Start time; all times of the pattern are relative to it.
    pub start: Time,
    /// Senders, receivers, sizes and times.
    pub pattern: Pattern,
}

/// The pattern of a traffic.
#[derive(Clone, PartialEq, Debug)]
pub enum Pattern {
    /// Independent flows between random hosts.
    Poisson(Poisson),
    /// Groups of senders to one receiver.
    Incast(Incast),
    /// Each host sends to one host and receives from one.
    Permutation(Permutation),
    /// Each host sends to each other host.
    AllToAll(AllToAll),
    /// Long flows.
    Long(Long),
    /// Clients that send requests to servers, wait for all answers, and send the next requests.
    Query(Query),
    /// Individual flows.
    List(FlowList),
}

impl Traffic {
    /// All flows of this traffic that start before `until`, in order of start times. `number` is this traffic's number
    /// in the run; it selects the random streams and is stored in each flow. If the jitter of an incast crosses
    /// `until`, its flows before are kept.
    ///
    /// # Errors
    /// The key that is inconsistent with the network or other keys, and a correction.
    pub fn flows(&self, places: &Places, streams: &Streams, number: u16, until: Time) -> Result<Flows, WorkloadError> {
        places.check()?;
        let mut draws = Draws::new(streams, number);
        let span = until.saturating_sub(self.start);
        let flows: Flows = match &self.pattern {
            Pattern::Poisson(p) => Box::new(p.flows(places, draws, span)?),
            Pattern::Incast(p) => Box::new(p.flows(places, draws, span)?),
            Pattern::Permutation(p) => Box::new(p.flows(places, draws, span)?),
            Pattern::AllToAll(p) => Box::new(p.flows(places, draws, span)?),
            Pattern::Long(p) => Box::new(p.flows(places, &mut draws, span)?),
            Pattern::Query(p) => Box::new(p.flows(places, draws, span)?),
            Pattern::List(p) => Box::new(p.flows(places, span)?),
        };
        let start = self.start;
        // Each start is below `until - start`, so the sum cannot overflow.
        Ok(Box::new(flows.map(move |flow| Flow { start: flow.start + start, traffic: number, ..flow })))
    }

    /// The first and last start of its flows, if known before a run: for lists, and for patterns that happen once.
    /// Endless flows do not count. `None` if it is continuous, depends on the run, or has no such flow.
    pub fn starts(&self) -> Option<(Time, Time)> {
        let (first, last) = match &self.pattern {
            Pattern::Incast(Incast { arrivals: Arrivals::Once, jitter, size, .. })
            | Pattern::Permutation(Permutation { every: None, jitter, size, .. })
            | Pattern::Long(Long { spread: jitter, size, .. })
                if *size != SizeDistribution::Fixed(ENDLESS) =>
            {
                (Time::ZERO, *jitter)
            }
            Pattern::AllToAll(AllToAll { size, .. }) if *size != SizeDistribution::Fixed(ENDLESS) => {
                (Time::ZERO, Time::ZERO)
            }
            Pattern::List(list) => list.starts()?,
            _ => return None,
        };
        Some((self.start.saturating_add(first), self.start.saturating_add(last)))
    }

    /// The expected load of this traffic before `until`.
    ///
    /// # Errors
    /// The same as [`Traffic::flows`].
    pub fn expected(&self, places: &Places, until: Time) -> Result<Expected, WorkloadError> {
        places.check()?;
        let span = until.saturating_sub(self.start);
        match &self.pattern {
            Pattern::Poisson(p) => p.expected(places, span),
            Pattern::Incast(p) => p.expected(places, span),
            Pattern::Permutation(p) => p.expected(places, span),
            Pattern::AllToAll(p) => p.expected(places, span),
            Pattern::Long(p) => p.expected(places, span),
            Pattern::Query(p) => p.expected(places, span),
            Pattern::List(p) => p.expected(places, span),
        }
    }
}

/// The random streams of one traffic.
pub(crate) struct Draws {
    /// Gaps between arrivals.
    pub arrivals: Stream,
    /// Senders and receivers.
    pub hosts: Stream,
    /// Sizes.
    pub sizes: Stream,
    /// Offsets of starts.
    pub jitter: Stream,
    /// Service times of servers.
    pub service_time: Stream,
}

impl Draws {
    fn new(streams: &Streams, number: u16) -> Self {
        let stream = |purpose| streams.stream(purpose, u64::from(number));
        Self {
            arrivals: stream("traffic arrivals"),
            hosts: stream("traffic hosts"),
            sizes: stream("traffic sizes"),
            jitter: stream("traffic jitter"),
            service_time: stream("traffic think"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_purposes_or_traffics_share_a_stream() {
        let streams = Streams::new(1);
        let mut firsts: Vec<u64> = (0..3)
            .flat_map(|number| {
                let Draws { mut arrivals, mut hosts, mut sizes, mut jitter, mut service_time } =
                    Draws::new(&streams, number);
                [arrivals.bits(), hosts.bits(), sizes.bits(), jitter.bits(), service_time.bits()]
            })
            .collect();
        firsts.sort_unstable();
        firsts.dedup();
        assert_eq!(firsts.len(), 15);
    }
}
