//! Each host sends to one and receives from one.

use super::{check_every, check_overlap, offset};
use crate::bursts::{Bursts, Times, events_in};
use crate::hosts::resolve;
use crate::{Draws, Expected, Flow, Places, SizeDistribution, WorkloadError};
use fanin_units::Time;

/// A random permutation of hosts without fixed points: one flow from each host and one to each. Each round of a
/// repeated pattern draws a new one; the number of the round is the flows' group.
#[derive(Clone, PartialEq, Debug)]
pub struct Permutation {
    /// The hosts; all if none are given.
    pub hosts: Option<Vec<u32>>,
    /// Size of each flow.
    pub size: SizeDistribution,
    /// Each flow starts after a random delay, uniform from 0 to this.
    pub jitter: Time,
    /// Interval of rounds; a single one when not given.
    pub every: Option<Time>,
}

impl Permutation {
    fn plan(&self, places: &Places) -> Result<Vec<u32>, WorkloadError> {
        self.size.check()?;
        let hosts = several("pattern.hosts", self.hosts.as_deref(), places)?;
        if let Some(every) = self.every {
            check_every(every)?;
            check_overlap(self.jitter, hosts.len() as f64 / every.as_secs_f64())?;
        }
        Ok(hosts)
    }

    pub(crate) fn expected(&self, places: &Places, span: Time) -> Result<Expected, WorkloadError> {
        let hosts = self.plan(places)?;
        let count = hosts.len() as f64;
        let inter_rack = inter_rack(&hosts, places);
        let mean = self.size.mean();
        Ok(match self.every {
            None => Expected::once(if span > Time::ZERO { count } else { 0.0 }, mean, inter_rack),
            Some(every) => Expected {
                flows: count * events_in(span, every),
                ..Expected::steady(count / every.as_secs_f64(), mean, inter_rack, span)
            },
        })
    }

    pub(crate) fn flows(
        &self,
        places: &Places,
        mut draws: Draws,
        span: Time,
    ) -> Result<impl Iterator<Item = Flow> + Send + use<>, WorkloadError> {
        let hosts = self.plan(places)?;
        let times = self.every.map_or_else(Times::once, Times::every);
        let (size, jitter) = (self.size.clone(), self.jitter);
        let mut receivers = hosts.clone();
        Ok(Bursts::new(times, span, move |round, group, flows| {
            // Drawn again until no host is its own receiver: 2.7 tries on average, and all such permutations are
            // equally likely.
            loop {
                draws.hosts.shuffle(&mut receivers);
                if hosts.iter().zip(&receivers).all(|(src, dst)| src != dst) {
                    break;
                }
            }
            for (src, dst) in hosts.iter().zip(&receivers) {
                let start = round.saturating_add(offset(jitter, &mut draws.jitter));
                let bytes = size.sample(&mut draws.sizes);
                flows.push(Flow { start, src: *src, dst: *dst, bytes, group, ..Flow::default() });
            }
        }))
    }
}

/// The named hosts or all, at least two.
pub(super) fn several(key: &'static str, hosts: Option<&[u32]>, places: &Places) -> Result<Vec<u32>, WorkloadError> {
    let hosts = resolve(key, hosts, places)?;
    if hosts.len() < 2 {
        return Err(WorkloadError::key(key, "a single host cannot send", "name at least two"));
    }
    Ok(hosts)
}

/// The share of ordered pairs of different hosts that crosses racks.
pub(super) fn inter_rack(hosts: &[u32], places: &Places) -> f64 {
    let mut racks: Vec<u32> = hosts.iter().map(|host| places.rack_of[*host as usize]).collect();
    racks.sort_unstable();
    let inside: f64 = racks.chunk_by(|a, b| a == b).map(|rack| rack.len() as f64 * (rack.len() - 1) as f64).sum();
    1.0 - inside / (hosts.len() as f64 * (hosts.len() - 1) as f64)
}
