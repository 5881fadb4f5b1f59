//! Long flows.

use crate::hosts::{Pairs, in_order};
use crate::{Draws, ENDLESS, Expected, Flow, Hosts, Load, LoadBase, NO_GROUP, Places, SizeDistribution, WorkloadError};
use fanin_units::Time;

/// A fixed set of long flows (row E15 of Dart's setting): each from a different sender to a random other host, or to a
/// fixed one. Their load is set by their number and not by their sizes: each is assumed to use the rate of its sender.
#[derive(Clone, PartialEq, Debug)]
pub struct Long {
    /// Possible senders and receivers. If the load is a share of ToR uplinks, pairs cross racks unless
    /// `inter_rack_only` is false.
    pub hosts: Hosts,
    /// Size of each flow; `Fixed(ENDLESS)` for flows that never end.
    pub size: SizeDistribution,
    /// Their number.
    pub amount: LongFlows,
    /// Start times are uniform over this time, so that the flows are not in lockstep.
    pub spread: Time,
}

/// Number of long flows.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum LongFlows {
    /// The load divided by the mean rate of a sender, rounded to the nearest, at least 1.
    Load(Load),
    /// This number.
    Count(u32),
    /// One from each sender, to the receiver with the same index.
    OneToOne,
}

impl Long {
    /// The one-to-one pairs.
    fn one_to_one(&self, places: &Places) -> Result<Vec<(u32, u32)>, WorkloadError> {
        self.size.check()?;
        let senders = in_order("pattern.senders", self.hosts.senders.as_deref(), places)?;
        let receivers = in_order("pattern.receivers", self.hosts.receivers.as_deref(), places)?;
        let refuse = |problem, right| Err(WorkloadError::key("pattern.receivers", problem, right));
        if senders.len() != receivers.len() {
            let problem = format!("{} receivers for {} senders", receivers.len(), senders.len());
            return refuse(problem, "with one-to-one pairs each sender needs its own receiver");
        }
        let pairs: Vec<(u32, u32)> = senders.into_iter().zip(receivers).collect();
        match pairs.iter().find(|(src, dst)| src == dst) {
            Some((host, _)) => {
                refuse(format!("host {host} would send to itself"), "change its position in one of the lists")
            }
            None => Ok(pairs),
        }
    }

    /// The random pairs, and the number of flows.
    fn drawn(&self, places: &Places) -> Result<(Pairs, usize), WorkloadError> {
        self.size.check()?;
        let on_uplinks = matches!(self.amount, LongFlows::Load(Load { of: LoadBase::TorUplinks, .. }));
        let pairs = self.hosts.sender_first(places, on_uplinks)?;
        let (key, count) = match &self.amount {
            LongFlows::Load(load) => {
                let bps = load.payload_bps(places, pairs.inter_rack(), places.nic_bps(pairs.candidates()))?;
                let sender = mean_bps(pairs.choosing_hosts(), places);
                ("load.share", libm::round(bps / sender).max(1.0))
            }
            LongFlows::Count(count) => ("pattern.count", f64::from(*count)),
            LongFlows::OneToOne => ("pattern.count", pairs.choosers() as f64),
        };
        if count < 1.0 || count > pairs.choosers() as f64 {
            let problem =
                format!("{count} long flows from different senders, but there are {} senders", pairs.choosers());
            return Err(WorkloadError::key(key, problem, format!("it is 1 to {} here", pairs.choosers())));
        }
        Ok((pairs, count as usize))
    }

    pub(crate) fn expected(&self, places: &Places, span: Time) -> Result<Expected, WorkloadError> {
        let (count, inter_rack, sender_bps) = if self.amount == LongFlows::OneToOne {
            let pairs = self.one_to_one(places)?;
            let crossing = pairs.iter().filter(|(src, dst)| places.crosses_racks(*src, *dst)).count();
            let sender_bps = mean_bps(pairs.iter().map(|(src, _)| *src), places);
            (pairs.len(), crossing as f64 / pairs.len() as f64, sender_bps)
        } else {
            let (pairs, count) = self.drawn(places)?;
            (count, pairs.inter_rack(), mean_bps(pairs.choosing_hosts(), places))
        };
        // Expected number of the uniform starts before the end.
        let begun = if self.spread > span { span.as_ps() as f64 / self.spread.as_ps() as f64 } else { 1.0 };
        let flows = if span > Time::ZERO { count as f64 * begun } else { 0.0 };
        let endless = self.size.mean() >= ENDLESS as f64;
        let payload_bps = endless.then_some(count as f64 * sender_bps);
        Ok(Expected { payload_bps, ..Expected::once(flows, self.size.mean(), inter_rack) })
    }

    pub(crate) fn flows(
        &self,
        places: &Places,
        draws: &mut Draws,
        span: Time,
    ) -> Result<impl Iterator<Item = Flow> + Send + use<>, WorkloadError> {
        let mut flow = |src, dst| Flow {
            start: Time::from_ps(draws.jitter.below(self.spread.as_ps())),
            src,
            dst,
            bytes: self.size.sample(&mut draws.sizes),
            group: NO_GROUP,
            ..Flow::default()
        };
        // At most one per host, so the list is as small as the network.
        let mut flows: Vec<Flow> = if self.amount == LongFlows::OneToOne {
            self.one_to_one(places)?.into_iter().map(|(src, dst)| flow(src, dst)).collect()
        } else {
            let (pairs, count) = self.drawn(places)?;
            let senders = pairs.distinct_choosers(count, &mut draws.hosts);
            senders.into_iter().map(|(number, src)| flow(src, pairs.partner(number, &mut draws.hosts))).collect()
        };
        flows.retain(|flow| flow.start < span);
        flows.sort_by_key(|flow| flow.start);
        Ok(flows.into_iter())
    }
}

/// The mean rate of these hosts in bits per second.
fn mean_bps(hosts: impl Iterator<Item = u32> + Clone, places: &Places) -> f64 {
    places.nic_bps(hosts.clone()) / hosts.count() as f64
}
