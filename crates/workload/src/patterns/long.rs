//! Long flows between random hosts.

use crate::hosts::Pairs;
use crate::{
    Chain, Draws, ENDLESS, Expected, Flow, Hosts, Load, LoadBase, NO_GROUP, Places, SizeDistribution, WorkloadError,
};
use fanin_units::Time;

/// A standing set of long flows (row E15 of Dart's setting): each from a sender of its own to a uniform other host.
/// Their sizes do not set their load, their number does: each is taken to use the rate of its sender.
#[derive(Clone, PartialEq, Debug)]
pub struct Long {
    /// Who takes part. When the load is a share of ToR uplinks, pairs cross racks unless `inter_rack_only` is false.
    pub hosts: Hosts,
    /// Size of each flow; `Fixed(ENDLESS)` for flows that never end.
    pub size: SizeDistribution,
    /// How many.
    pub amount: LongFlows,
    /// Starts are uniform over this time from the traffic's start, so that the flows are not in lockstep.
    pub spread: Time,
}

/// How many long flows.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum LongFlows {
    /// The load divided by the mean rate of a sender, rounded to the nearest, at least 1.
    Load(Load),
    /// So many.
    Count(u32),
}

impl Long {
    /// The pairs, and how many flows.
    fn plan(&self, places: &Places) -> Result<(Pairs, usize), WorkloadError> {
        self.size.check()?;
        let on_uplinks = matches!(self.amount, LongFlows::Load(Load { of: LoadBase::TorUplinks, .. }));
        let pairs = self.hosts.sender_first(places, on_uplinks)?;
        let (key, count) = match &self.amount {
            LongFlows::Count(count) => ("pattern.count", f64::from(*count)),
            LongFlows::Load(load) => {
                let bps = load.payload_bps(places, pairs.inter_rack(), places.nic_bps(pairs.candidates()))?;
                ("load.share", libm::round(bps / sender_bps(&pairs, places)).max(1.0))
            }
        };
        if count < 1.0 || count > pairs.choosers() as f64 {
            let problem = format!("{count} long flows from different senders, of which there are {}", pairs.choosers());
            return Err(WorkloadError::key(key, problem, format!("at least 1 and at most {} fit", pairs.choosers())));
        }
        Ok((pairs, count as usize))
    }

    pub(crate) fn expected(&self, places: &Places, span: Time) -> Result<Expected, WorkloadError> {
        let (pairs, count) = self.plan(places)?;
        // Of starts that are uniform over the spread, so many are before the end.
        let begun = if self.spread > span { span.as_ps() as f64 / self.spread.as_ps() as f64 } else { 1.0 };
        let flows = if span > Time::ZERO { count as f64 * begun } else { 0.0 };
        let endless = self.size.mean() >= ENDLESS as f64;
        let payload_bps = endless.then(|| count as f64 * sender_bps(&pairs, places));
        Ok(Expected { payload_bps, ..Expected::once(flows, self.size.mean(), pairs.inter_rack()) })
    }

    pub(crate) fn flows(
        &self,
        places: &Places,
        draws: &mut Draws,
        span: Time,
    ) -> Result<impl Iterator<Item = Flow> + Send + use<>, WorkloadError> {
        let (pairs, count) = self.plan(places)?;
        // At most one per host, so the list is as small as the network.
        let mut flows: Vec<Flow> = pairs
            .distinct_choosers(count, &mut draws.hosts)
            .into_iter()
            .map(|(chooser, src)| Flow {
                start: Time::from_ps(draws.jitter.below(self.spread.as_ps())),
                src,
                dst: pairs.partner(chooser, &mut draws.hosts),
                bytes: self.size.sample(&mut draws.sizes),
                traffic: 0,
                group: NO_GROUP,
                chain: Chain::default(),
            })
            .filter(|flow| flow.start < span)
            .collect();
        flows.sort_by_key(|flow| flow.start);
        Ok(flows.into_iter())
    }
}

/// The mean rate of a sender in bits per second.
fn sender_bps(pairs: &Pairs, places: &Places) -> f64 {
    places.nic_bps(pairs.choosing_hosts()) / pairs.choosers() as f64
}
