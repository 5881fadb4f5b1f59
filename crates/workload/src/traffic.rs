//! One kind of traffic, as a pattern of flows.

use crate::{
    AllToAll, Arrivals, Draws, ENDLESS, Expected, Flow, FlowList, Flows, Graph, Incast, Long, Permutation, Places,
    Poisson, Query, SizeDistribution, WorkloadError,
};
use fanin_engine::Streams;
use fanin_units::Time;

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
    /// Messages of the nodes of a job.
    Graph(Graph),
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
            Pattern::Graph(p) => Box::new(p.flows(places, span)?),
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
            Pattern::Graph(p) => p.expected(places, span),
        }
    }
}
