//! Each host sends to each other.

use super::permutation::{inter_rack, several};
use crate::{Draws, Expected, Flow, Places, SizeDistribution, WorkloadError};
use fanin_units::Time;

/// One flow from each host to each other host, all at the start. They are listed in rounds of a shift, so that at no
/// position in the list a receiver is ahead: first each host to its next one, then each to the one after.
#[derive(Clone, PartialEq, Debug)]
pub struct AllToAll {
    /// The hosts; all if none are given.
    pub hosts: Option<Vec<u32>>,
    /// Size of each flow.
    pub size: SizeDistribution,
}

impl AllToAll {
    fn plan(&self, places: &Places) -> Result<Vec<u32>, WorkloadError> {
        self.size.check()?;
        several("pattern.hosts", self.hosts.as_deref(), places)
    }

    pub(crate) fn expected(&self, places: &Places, span: Time) -> Result<Expected, WorkloadError> {
        let hosts = self.plan(places)?;
        let pairs = if span > Time::ZERO { hosts.len() as f64 * (hosts.len() - 1) as f64 } else { 0.0 };
        Ok(Expected::once(pairs, self.size.mean(), inter_rack(&hosts, places)))
    }

    pub(crate) fn flows(
        &self,
        places: &Places,
        mut draws: Draws,
        span: Time,
    ) -> Result<impl Iterator<Item = Flow> + Send + use<>, WorkloadError> {
        let hosts = self.plan(places)?;
        let size = self.size.clone();
        let count = hosts.len() as u64;
        let pairs = if span > Time::ZERO { count * (count - 1) } else { 0 };
        Ok((0..pairs).map(move |pair| {
            let (shift, from) = (pair / count + 1, pair % count);
            let (src, dst) = (hosts[from as usize], hosts[((from + shift) % count) as usize]);
            Flow { src, dst, bytes: size.sample(&mut draws.sizes), ..Flow::default() }
        }))
    }
}
