//! Groups of senders to one receiver.

use super::{check_every, check_overlap, offset};
use crate::bursts::{Bursts, Times, events_in};
use crate::hosts::Pairs;
use crate::{Draws, Expected, Flow, Hosts, Load, Places, SizeDistribution, WorkloadError};
use fanin_units::Time;
use std::sync::Arc;

/// Incasts (rows E13 and E14 of Dart's setting): at each event a random receiver and `degree` distinct random senders
/// other than the receiver, each of which sends it one flow. The number of the event is the flows' group.
#[derive(Clone, PartialEq, Debug)]
pub struct Incast {
    /// Possible senders and receivers; a single receiver receives all events.
    pub hosts: Hosts,
    /// Number of senders per event.
    pub degree: u32,
    /// Each sender starts after a random delay, uniform from 0 to this.
    pub jitter: Time,
    /// Size of the flows.
    pub size: SizeDistribution,
    /// Whether each sender draws its own size. Otherwise all flows of an event have the same size.
    pub size_per_sender: bool,
    /// Times of the events.
    pub arrivals: Arrivals,
}

/// Times of incasts.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Arrivals {
    /// As a Poisson process that offers this load.
    Load(Load),
    /// Periodic with this interval, from the start on.
    Every(Time),
    /// Once, at the start.
    Once,
}

impl Incast {
    /// The pairs, and the events per second; 0 for a single event.
    fn plan(&self, places: &Places) -> Result<(Pairs, f64), WorkloadError> {
        self.size.check()?;
        let pairs = self.hosts.receiver_first(places)?;
        let (receiver, senders) = pairs.fewest_partners();
        if self.degree == 0 || self.degree as usize > senders {
            let problem = format!("{} different senders, but host {receiver} has {senders} possible ones", self.degree);
            return Err(WorkloadError::key("pattern.degree", problem, format!("it is 1 to {senders} here")));
        }
        let per_second = match &self.arrivals {
            Arrivals::Load(load) => {
                let bps = load.payload_bps(places, pairs.inter_rack(), places.nic_bps(pairs.choosing_hosts()))?;
                bps / (8.0 * self.size.mean() * f64::from(self.degree))
            }
            Arrivals::Every(every) => {
                check_every(*every)?;
                1.0 / every.as_secs_f64()
            }
            Arrivals::Once => 0.0,
        };
        check_overlap(self.jitter, per_second * f64::from(self.degree))?;
        Ok((pairs, per_second))
    }

    pub(crate) fn expected(&self, places: &Places, span: Time) -> Result<Expected, WorkloadError> {
        let (pairs, per_second) = self.plan(places)?;
        let degree = f64::from(self.degree);
        let steady = Expected::steady(per_second * degree, self.size.mean(), pairs.inter_rack(), span);
        Ok(match self.arrivals {
            Arrivals::Load(_) => steady,
            Arrivals::Every(every) => Expected { flows: degree * events_in(span, every), ..steady },
            Arrivals::Once => {
                let events = if span > Time::ZERO { degree } else { 0.0 };
                Expected::once(events, self.size.mean(), pairs.inter_rack())
            }
        })
    }

    pub(crate) fn flows(
        &self,
        places: &Places,
        draws: Draws,
        span: Time,
    ) -> Result<impl Iterator<Item = Flow> + Send + use<>, WorkloadError> {
        let (mut pairs, per_second) = self.plan(places)?;
        let Draws { arrivals, mut hosts, mut sizes, mut jitter, .. } = draws;
        let times = match self.arrivals {
            Arrivals::Load(_) => Times::poisson(per_second, arrivals),
            Arrivals::Every(every) => Times::every(every),
            Arrivals::Once => Times::once(),
        };
        let (degree, max_offset, per_sender) = (self.degree as usize, self.jitter, self.size_per_sender);
        let size = self.size.clone();
        Ok(Bursts::new(times, span, move |event, group, flows| {
            let (chooser, dst) = pairs.chooser(&mut hosts);
            let mut bytes = size.sample(&mut sizes);
            pairs.distinct_partners(chooser, degree, &mut hosts, |src| {
                if per_sender && !flows.is_empty() {
                    bytes = size.sample(&mut sizes);
                }
                let start = event.saturating_add(offset(max_offset, &mut jitter));
                flows.push(Flow { start, src, dst, bytes, group, ..Flow::default() });
            });
            let mut senders: Vec<u32> = flows.iter().map(|flow| flow.src).collect();
            senders.sort_unstable();
            let senders: Arc<[u32]> = senders.into();
            flows.iter_mut().for_each(|flow| flow.senders = Some(senders.clone()));
        }))
    }
}
