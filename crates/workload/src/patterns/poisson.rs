//! Independent flows.

use crate::bursts::Times;
use crate::hosts::Pairs;
use crate::{Draws, Expected, Flow, Hosts, Load, NO_GROUP, Places, SizeDistribution, WorkloadError};
use fanin_units::Time;

/// Flows that arrive as one Poisson process over the network: each has a random sender and a random other host as its
/// receiver. With equal hosts this is the sum of one Poisson process per host.
#[derive(Clone, PartialEq, Debug)]
pub struct Poisson {
    /// Possible senders and receivers.
    pub hosts: Hosts,
    /// Size of each flow.
    pub size: SizeDistribution,
    /// Offered load.
    pub load: Load,
}

impl Poisson {
    /// The pairs, and the arrivals per second.
    fn plan(&self, places: &Places) -> Result<(Pairs, f64), WorkloadError> {
        self.size.check()?;
        let pairs = self.hosts.sender_first(places, false)?;
        let bps = self.load.payload_bps(places, pairs.inter_rack(), places.nic_bps(pairs.candidates()))?;
        Ok((pairs, bps / (8.0 * self.size.mean())))
    }

    pub(crate) fn expected(&self, places: &Places, span: Time) -> Result<Expected, WorkloadError> {
        let (pairs, per_second) = self.plan(places)?;
        Ok(Expected::steady(per_second, self.size.mean(), pairs.inter_rack(), span))
    }

    pub(crate) fn flows(
        &self,
        places: &Places,
        mut draws: Draws,
        span: Time,
    ) -> Result<impl Iterator<Item = Flow> + Send + use<>, WorkloadError> {
        let (pairs, per_second) = self.plan(places)?;
        let size = self.size.clone();
        let mut times = Times::poisson(per_second, draws.arrivals);
        Ok(std::iter::from_fn(move || {
            let start = times.next_time().filter(|t| *t < span)?;
            let (chooser, src) = pairs.chooser(&mut draws.hosts);
            let dst = pairs.partner(chooser, &mut draws.hosts);
            Some(Flow { start, src, dst, bytes: size.sample(&mut draws.sizes), group: NO_GROUP, ..Flow::default() })
        })
        .fuse())
    }
}
