//! Messages of the nodes of a job, whose times depend on the run.

use crate::{Expected, Flow, NO_GROUP, Places, WorkloadError};
use fanin_graph::job::{NONE, SendEnds, Sends};
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
        let mut sends = Some(Sends::new(&job)).filter(|_| span > Time::ZERO);
        Ok(std::iter::from_fn(move || {
            let (rank, step) = sends.as_mut()?.next(&job)?;
            let Kind::Send { to, bytes, .. } = step.kind else { unreachable!("it sends") };
            Some(Flow {
                src: hosts[rank as usize],
                dst: hosts[to as usize],
                // A message without content is a packet with one byte.
                bytes: bytes.max(1),
                group: if step.collective == NONE { NO_GROUP } else { step.collective },
                sent_by: Some((rank, step.number)),
                ..Flow::default()
            })
        }))
    }

    pub(crate) fn expected(&self, places: &Places, span: Time) -> Result<Expected, WorkloadError> {
        self.check(places)?;
        let (mut count, mut total, mut crossing) = (0.0, 0.0, 0.0);
        let ranks = if span > Time::ZERO { self.job.ranks.len() as u32 } else { 0 };
        for (rank, step) in (0..ranks).flat_map(|rank| self.job.steps(rank).map(move |step| (rank, step))) {
            let Kind::Send { to, bytes, .. } = step.kind else { continue };
            let bytes = bytes.max(1) as f64;
            count += 1.0;
            total += bytes;
            let crosses = places.crosses_racks(self.hosts[rank as usize], self.hosts[to as usize]);
            crossing += if crosses { bytes } else { 0.0 };
        }
        let share = if total > 0.0 { crossing / total } else { 0.0 };
        Ok(Expected::once(count, if count > 0.0 { total / count } else { 0.0 }, share))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hosts::tests::racks;
    use fanin_graph::collectives::Method;
    use fanin_graph::job::Listed;
    use fanin_graph::{Holds, Node, Rules};

    #[test]
    fn the_first_messages_of_all_ranks_come_before_the_second_ones() {
        let send = |id| Node { id, kind: Kind::Send { to: 1, bytes: id, tag: 0 }, ..Node::default() };
        let wait = |id| Node { id, kind: Kind::Delay { ns: 5 }, ..Node::default() };
        let ranks = [vec![send(0), wait(1), send(2), send(3)], vec![wait(0)], vec![wait(0), send(1)]];
        let mut sources: Vec<Listed> = ranks.into_iter().map(Listed::new).collect();
        let rules = Rules { holds: Holds::Work, first_ready: false };
        let job = Arc::new(Job::new(&mut sources, rules, &Method::default()).unwrap());
        let graph = Graph { job, hosts: [4, 0, 2].into() };
        let places = racks(vec![0; 5]);
        let flows = graph.flows(&places, Time::from_us(1)).unwrap();
        let of: Vec<_> = flows.map(|flow| (flow.sent_by.unwrap(), flow.src, flow.bytes)).collect();
        assert_eq!(of, [((0, 0), 4, 1), ((2, 1), 2, 1), ((0, 2), 4, 2), ((0, 3), 4, 3)]);
        assert_eq!(graph.flows(&places, Time::ZERO).unwrap().count(), 0);
    }
}
