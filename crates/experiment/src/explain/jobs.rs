//! Jobs in an empty network: their time where no message waits for another, and their critical path then.

use crate::CheckedSpec;
use fanin_fabric::outside::Paths;
use fanin_fabric::{Placed, alone};
use fanin_graph::critical::{Past, Spent};
use fanin_units::{NodeId, Time};
use serde::Serialize;

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
    let numbers: std::collections::HashMap<(u32, u32), usize> =
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
