//! Lists of individual flows.

use crate::{Dependency, ENDLESS, Expected, Flow, Places, WorkloadError};
use fanin_units::Time;
use std::sync::Arc;

/// One flow of a list.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ListedFlow {
    /// Start time, relative to the start of the traffic.
    pub start: Time,
    /// Sending host.
    pub src: u32,
    /// Receiving host.
    pub dst: u32,
    /// Payload in bytes.
    pub bytes: u64,
    /// Number of its incast or collective, or [`crate::NO_GROUP`].
    pub group: u32,
}

impl ListedFlow {
    /// Whether it is possible on a network with this number of hosts.
    ///
    /// # Errors
    /// The problem and the correction.
    pub fn check(&self, hosts: u32) -> Result<(), (String, String)> {
        for host in [self.src, self.dst] {
            if host >= hosts {
                return Err((format!("there is no host {host}"), format!("hosts are 0 to {}", i64::from(hosts) - 1)));
            }
        }
        if self.src == self.dst {
            return Err((format!("host {} sends to itself", self.src), "src and dst differ".into()));
        }
        if !(1..=ENDLESS).contains(&self.bytes) {
            return Err((format!("{} B is not a possible flow size", self.bytes), "sizes are 1 B to 2^60 B".into()));
        }
        Ok(())
    }
}

/// Individual flows in order of start times; flows with equal starts stay in the given order.
#[derive(Clone, PartialEq, Debug)]
pub struct FlowList {
    flows: Arc<[ListedFlow]>,
    /// Their dependencies; empty if there are none.
    dependencies: Arc<[Dependency]>,
}

impl FlowList {
    /// From flows in any order.
    pub fn new(mut flows: Vec<ListedFlow>) -> Self {
        flows.sort_by_key(|flow| flow.start);
        Self { flows: flows.into(), dependencies: Arc::default() }
    }

    /// From flows in any order, each with its dependencies.
    pub fn with_dependencies(mut flows: Vec<(ListedFlow, Dependency)>) -> Self {
        flows.sort_by_key(|(flow, _)| flow.start);
        let (flows, dependencies): (Vec<_>, Vec<_>) = flows.into_iter().unzip();
        Self { flows: flows.into(), dependencies: dependencies.into() }
    }

    /// Whether some of them wait for others, which may be of other hosts.
    pub fn has_triggers(&self) -> bool {
        self.dependencies.iter().any(|d| d.after.is_some())
    }

    /// The flows in order of their start.
    pub fn flows_in_order(&self) -> &[ListedFlow] {
        &self.flows
    }

    /// The first and the last start of those that have an end; `None` if there are none, or if some wait for others.
    pub(crate) fn starts(&self) -> Option<(Time, Time)> {
        if self.has_triggers() {
            return None;
        }
        let delay = |i: usize| self.dependencies.get(i).map_or(Time::ZERO, |d| d.delay);
        let with_end = self.flows.iter().enumerate().filter(|(_, flow)| flow.bytes < ENDLESS);
        with_end.fold(None, |known: Option<(Time, Time)>, (i, flow)| {
            let start = flow.start.saturating_add(delay(i));
            Some(known.map_or((start, start), |(first, last)| (first.min(start), last.max(start))))
        })
    }

    fn check(&self, places: &Places) -> Result<(), WorkloadError> {
        self.flows.iter().enumerate().try_for_each(|(i, flow)| {
            flow.check(places.hosts()).map_err(|(problem, right)| {
                WorkloadError::key("pattern.flows", format!("flow {} in order of start: {problem}", i + 1), right)
            })
        })
    }

    fn count(&self, span: Time) -> usize {
        self.flows.partition_point(|flow| flow.start < span)
    }

    pub(crate) fn flows(
        &self,
        places: &Places,
        span: Time,
    ) -> Result<impl Iterator<Item = Flow> + Send + use<>, WorkloadError> {
        self.check(places)?;
        let (flows, dependencies) = (self.flows.clone(), self.dependencies.clone());
        Ok((0..self.count(span)).map(move |i| {
            let ListedFlow { start, src, dst, bytes, group } = flows[i];
            let dependency = dependencies.get(i).copied().unwrap_or_default();
            Flow { start, src, dst, bytes, group, dependency, ..Flow::default() }
        }))
    }

    pub(crate) fn expected(&self, places: &Places, span: Time) -> Result<Expected, WorkloadError> {
        self.check(places)?;
        let flows = &self.flows[..self.count(span)];
        let total: f64 = flows.iter().map(|f| f.bytes as f64).sum();
        let crossing: f64 = flows.iter().filter(|f| places.crosses_racks(f.src, f.dst)).map(|f| f.bytes as f64).sum();
        let count = flows.len() as f64;
        Ok(Expected::once(count, total / count.max(1.0), if total > 0.0 { crossing / total } else { 0.0 }))
    }
}
