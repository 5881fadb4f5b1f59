//! Messages of the nodes of a job, whose times depend on the run.

use crate::{Expected, Flow, NO_GROUP, Places, WorkloadError};
use fanin_graph::job::{NONE, SendEnds};
use fanin_graph::{Job, Kind};
use fanin_units::Time;
use std::collections::BTreeMap;
use std::sync::Arc;

/// A job on some hosts.
#[derive(Clone, PartialEq, Debug)]
pub struct Graph {
    /// What the ranks do.
    pub job: Arc<Job>,
    /// The host of each rank.
    pub hosts: Arc<[u32]>,
}

impl Graph {
    /// Whether something at a host acts on another at once: then a network must not be cut between them.
    pub fn acts_at_once(&self) -> bool {
        self.job.send_ends == SendEnds::Arrived
    }

    /// Each host is there, each rank has one, and two ranks that exchange messages have two.
    fn check(&self, places: &Places) -> Result<(), WorkloadError> {
        let (ranks, hosts) = (self.job.ranks.len(), self.hosts.len());
        if hosts != ranks {
            let right = format!("name {ranks} hosts, or a network that has them");
            return Err(WorkloadError::key("pattern.hosts", format!("{ranks} ranks have {hosts} hosts"), right));
        }
        if let Some(host) = self.hosts.iter().find(|host| **host >= places.hosts()) {
            let right = format!("hosts are 0 to {}", i64::from(places.hosts()) - 1);
            return Err(WorkloadError::key("pattern.hosts", format!("there is no host {host}"), right));
        }
        let mut ranks: BTreeMap<u32, u32> = BTreeMap::new();
        for (rank, host) in (0..).zip(&*self.hosts) {
            if let Some(other) = ranks.insert(*host, rank) {
                let problem = format!("ranks {other} and {rank} have one host");
                return Err(WorkloadError::key("pattern.hosts", problem, "name each host once"));
            }
        }
        Ok(())
    }

    pub(crate) fn flows(
        &self,
        places: &Places,
        span: Time,
    ) -> Result<impl Iterator<Item = Flow> + Send + use<>, WorkloadError> {
        self.check(places)?;
        let Self { job, hosts } = self.clone();
        let ranks = if span > Time::ZERO { job.ranks.len() as u32 } else { 0 };
        Ok((0..ranks).flat_map(move |rank| {
            let (job, hosts) = (job.clone(), hosts.clone());
            (0..job.ranks[rank as usize].len() as u32).filter_map(move |number| {
                let step = job.step(rank, number);
                let Kind::Send { to, bytes, .. } = step.kind else { return None };
                Some(Flow {
                    src: hosts[rank as usize],
                    dst: hosts[to as usize],
                    // A message without content is a packet with one byte.
                    bytes: bytes.max(1),
                    group: if step.collective == NONE { NO_GROUP } else { step.collective },
                    sent_by: Some((rank, number)),
                    ..Flow::default()
                })
            })
        }))
    }

    pub(crate) fn expected(&self, places: &Places, span: Time) -> Result<Expected, WorkloadError> {
        let (mut count, mut total, mut crossing) = (0.0, 0.0, 0.0);
        for flow in self.flows(places, span)? {
            let bytes = flow.bytes as f64;
            count += 1.0;
            total += bytes;
            crossing += if places.crosses_racks(flow.src, flow.dst) { bytes } else { 0.0 };
        }
        let share = if total > 0.0 { crossing / total } else { 0.0 };
        Ok(Expected::once(count, if count > 0.0 { total / count } else { 0.0 }, share))
    }
}
