//! Jobs in an empty network: their time where no message waits for another, and their critical path then.

use crate::CheckedSpec;
use fanin_fabric::outside::Paths;
use fanin_fabric::{Placed, alone};
use fanin_graph::Job;
use fanin_graph::critical::{Past, Spent};
use fanin_graph::job::SendEnds;
use fanin_units::{NodeId, Time};
use serde::Serialize;
use std::collections::HashMap;
use std::sync::Arc;

/// A job where every message is alone: no run of it is faster. The parts of its critical path add up to its time.
#[derive(Clone, Debug, Serialize)]
pub struct JobOf {
    /// Its traffic.
    pub traffic: String,
    /// Its ranks.
    pub ranks: u64,
    /// From its start to its end, in microseconds.
    pub time_us: f64,
    /// Computations on its critical path, in microseconds.
    pub compute_us: f64,
    /// Serialisation of messages and ACKs on it, in microseconds.
    pub serialisation_us: f64,
    /// Delays of links on it, in microseconds.
    pub propagation_us: f64,
    /// Waiting for slots on it, in microseconds.
    pub waiting_us: f64,
    /// Messages on it.
    pub messages: u64,
}

/// Most nodes of a job that is examined: those of more take longer than people wait for an explanation.
const MOST: usize = 1_000_000;

/// The critical path of a job where every message travels alone and no node waits for a slot.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Longest {
    /// Its length in nanoseconds.
    pub ns: u64,
    /// Computations on it, in nanoseconds.
    pub computing_ns: u64,
    /// Messages on it.
    pub messages: u64,
    /// Their bytes.
    pub bytes: u64,
}

/// The critical path of a job whose messages take `cost` nanoseconds by their bytes, and whose sends take none; `None`
/// if some node never ends.
pub fn longest(job: Job, cost: impl Fn(u64) -> u64) -> Option<Longest> {
    let job = Arc::new(job.without_slots().with_sends(SendEnds::Acked));
    let sends: HashMap<(u32, u32), u64> = job.sends().map(|(rank, node, _, bytes)| ((rank, node), bytes)).collect();
    let takes: Vec<Time> = job.sends().map(|(.., bytes)| Time::from_ps(cost(bytes).saturating_mul(1000))).collect();
    let hosts = (0..job.ranks.len() as u32).collect();
    let placed = Placed { traffic: 0, start: Time::ZERO, job: job.clone(), hosts };
    let records = alone(placed, &mut |number| (takes[number as usize], Time::ZERO));
    let mut found = Longest::default();
    for piece in (Past { job: &job, ran: &records.past_of(0), begin: 0 }).path()? {
        let ns = (piece.end - piece.start) / 1000;
        found.ns += ns;
        match piece.spent {
            Spent::Computing => found.computing_ns += ns,
            Spent::Message | Spent::Acked => {
                found.messages += 1;
                found.bytes = found.bytes.saturating_add(sends[&(piece.rank, piece.node)]);
            }
            Spent::Slot | Spent::Late => {}
        }
    }
    Some(found)
}

/// The jobs of a spec that are not too large, and that end.
pub(super) fn jobs(checked: &CheckedSpec) -> Vec<JobOf> {
    let built = checked.build();
    if built.jobs.iter().map(|placed| placed.job.nodes()).sum::<usize>() > MOST || built.jobs.is_empty() {
        return Vec::new();
    }
    let Ok(paths) = Paths::new(built.network.clone(), &built.traffics) else { return Vec::new() };
    let ack = u64::from(built.network.packet.ack);
    let of = |placed: &Placed| job(placed, &built.traffics[usize::from(placed.traffic)].name, &paths, ack);
    built.jobs.iter().filter_map(of).collect()
}

/// The times of a message alone: the delays of its links, its FCT, and that with the last ACK.
struct Takes {
    delay: Time,
    arrives: Time,
    acked: Time,
}

fn job(placed: &Placed, name: &str, paths: &Paths, ack: u64) -> Option<JobOf> {
    let of = |(number, (rank, _, to, bytes)): (u64, (u32, u32, u32, u64))| {
        let key = paths.key(u64::from(placed.traffic) << 32 | number, false);
        let (from, to) = (NodeId(placed.hosts[rank as usize]), NodeId(placed.hosts[to as usize]));
        let ports = paths.ports(from, to, key);
        let links = || ports.iter().map(|port| paths.link(*port));
        let delay = links().fold(Time::ZERO, |sum, (_, delay)| sum.saturating_add(delay));
        let back = links().fold(delay, |sum, (rate, _)| sum.saturating_add(rate.tx_time(ack)));
        let arrives = paths.ideal(&ports, to, bytes);
        Takes { delay, arrives, acked: arrives.saturating_add(back) }
    };
    let all: Vec<Takes> = (0..).zip(placed.job.sends()).map(of).collect();
    let records = alone(placed.clone(), &mut |number| {
        let takes = &all[number as usize];
        (takes.arrives, takes.acked)
    });
    let ran = records.past_of(0);
    let path = Past { job: &placed.job, ran: &ran, begin: placed.start.as_ps() }.path()?;
    let numbers: HashMap<(u32, u32), usize> =
        (0..).zip(placed.job.sends()).map(|(number, (rank, node, ..))| ((rank, node), number)).collect();
    let mut parts = [0u64; 4];
    let mut messages = 0;
    for piece in &path {
        let took = piece.end - piece.start;
        match piece.spent {
            Spent::Computing => parts[0] += took,
            Spent::Slot | Spent::Late => parts[3] += took,
            Spent::Message | Spent::Acked => {
                let one_way = all[numbers[&(piece.rank, piece.node)]].delay.as_ps();
                let delay = if piece.spent == Spent::Acked { 2 * one_way } else { one_way };
                parts[1] += took - delay;
                parts[2] += delay;
                messages += 1;
            }
        }
    }
    let us = |ps: u64| ps as f64 / 1e6;
    Some(JobOf {
        traffic: name.to_string(),
        ranks: placed.job.ranks.len() as u64,
        time_us: us(parts.iter().sum()),
        compute_us: us(parts[0]),
        serialisation_us: us(parts[1]),
        propagation_us: us(parts[2]),
        waiting_us: us(parts[3]),
        messages,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use fanin_graph::collectives::Method;
    use fanin_graph::job::Listed;
    use fanin_graph::pipeline::{Pipeline, Schedule};
    use fanin_graph::{Holds, Kind, Node, Operation, Rules};

    fn job(ranks: Vec<Vec<Node>>) -> Job {
        let rules = Rules { holds: Holds::Work, first_ready: false };
        let mut sources: Vec<Listed> = ranks.into_iter().map(Listed::new).collect();
        Job::new(&mut sources, rules, &Method::default()).unwrap()
    }

    #[test]
    fn a_ring_is_as_long_as_its_steps() {
        let kinds = [Kind::Delay { ns: 50 }, Kind::Collective { operation: Operation::AllReduce, bytes: 80, group: 0 }];
        let node = |id: u64| {
            let after_end = id.checked_sub(1).into_iter().collect();
            Node { id, kind: kinds[id as usize % 2], after_end, ..Node::default() }
        };
        let ranks = (0..4).map(|_| (0..3).map(node).collect()).collect();
        // Two computations; 2 (4 - 1) steps with a quarter each.
        let expected = Longest { ns: 100 + 6 * 1020, computing_ns: 100, messages: 6, bytes: 120 };
        assert_eq!(longest(job(ranks), |bytes| 1000 + bytes), Some(expected));
    }

    #[test]
    fn a_pipeline_fills_and_drains() {
        let (schedule, micro_batches) = (Schedule::GPipe, 1);
        let of = Pipeline { schedule, stages: 3, micro_batches, forward_ns: 5, backward_ns: 9, bytes: 7, steps: 1 };
        let ranks = (0..3).map(|stage| of.nodes(stage)).collect();
        let expected = Longest { ns: 3 * 14 + 4 * 107, computing_ns: 3 * 14, messages: 4, bytes: 28 };
        assert_eq!(longest(job(ranks), |bytes| 100 + bytes), Some(expected));
    }

    #[test]
    fn there_is_none_where_a_node_never_ends() {
        let waits = vec![Node { kind: Kind::Recv { from: 1, bytes: 1, tag: 4 }, ..Node::default() }];
        assert_eq!(longest(job(vec![waits, Vec::new()]), |_| 10), None);
    }
}
