//! The critical paths of jobs and of their collectives, split into what their time was spent on.
//!
//! A message is split by its FCT in an empty network: propagation is the delay of the links on the shortest path
//! between its hosts, serialisation the rest of the ideal FCT, and queueing what remains: waiting at ports and at its
//! own host, pauses, pacing, and retransmission. The parts of a piece add up to it exactly.

use crate::Run;
use fanin_fabric::topology::{Adjacency, Graph};
use fanin_graph::critical::{Past, Piece, Ran, Spent};
use fanin_units::NodeId;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::{HashMap, VecDeque};

/// The parts of a critical path. They add up to the time of the job.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct CriticalSummary {
    /// Computations, in microseconds.
    pub compute_us: f64,
    /// Putting the messages on the wire, as in an empty network, in microseconds.
    pub serialisation_us: f64,
    /// Delays of links, of messages and ACKs, in microseconds.
    pub propagation_us: f64,
    /// What messages and ACKs took beyond that, in microseconds: queues, pacing, pauses, retransmission.
    pub queueing_us: f64,
    /// Waiting for a slot of the rank, in microseconds.
    pub waiting_us: f64,
    /// Messages on it.
    pub messages: u64,
}

/// The same of a piece, in picoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Parts {
    pub compute: u64,
    pub serialisation: u64,
    pub propagation: u64,
    pub queueing: u64,
    pub waiting: u64,
}

/// A kind of piece.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum What {
    Compute,
    Message,
    Ack,
    Slot,
    Late,
}

impl What {
    pub const ALL: [Self; 5] = [Self::Compute, Self::Message, Self::Ack, Self::Slot, Self::Late];

    pub fn name(self) -> &'static str {
        match self {
            Self::Compute => "compute",
            Self::Message => "message",
            Self::Ack => "ack",
            Self::Slot => "slot",
            Self::Late => "late",
        }
    }
}

/// A piece of the path of a job, or of one of its collectives.
pub(crate) struct Row {
    pub job: u32,
    pub path_of: Option<u32>,
    pub what: What,
    pub piece: Piece,
    /// The message, by its number in the table of flows.
    pub flow: Option<u32>,
    pub parts: Parts,
}

/// Pieces of all paths that are kept. The paths of jobs are kept in any case.
const KEPT: usize = 2_000_000;

/// The path of each job, then those of its collectives, and how many pieces of those are left out.
pub(crate) fn paths(run: &Run) -> (Vec<Row>, usize) {
    let (mut rows, mut left_out) = (Vec::new(), 0);
    for job in 0..run.jobs.len() as u32 {
        let ran = run.graphs.past_of(job);
        let Some(past) = past(run, job, &ran) else { continue };
        let mut split = Split::new(run, job);
        past.path().into_iter().flatten().for_each(|piece| split.add(piece, None, &mut rows));
        for (number, path) in (0..).zip(past.paths_of_collectives()) {
            for piece in path.into_iter().flatten() {
                match rows.len() < KEPT {
                    true => split.add(piece, Some(number), &mut rows),
                    false => left_out += 1,
                }
            }
        }
    }
    (rows, left_out)
}

/// The path of a job in numbers, if all its nodes have ended.
pub(crate) fn summary(run: &Run, job: u32) -> Option<CriticalSummary> {
    let path = past(run, job, &run.graphs.past_of(job))?.path()?;
    let (mut rows, mut split) = (Vec::new(), Split::new(run, job));
    path.into_iter().for_each(|piece| split.add(piece, None, &mut rows));
    let us = |of: fn(&Parts) -> u64| rows.iter().map(|row| u128::from(of(&row.parts))).sum::<u128>() as f64 / 1e6;
    Some(CriticalSummary {
        compute_us: us(|parts| parts.compute),
        serialisation_us: us(|parts| parts.serialisation),
        propagation_us: us(|parts| parts.propagation),
        queueing_us: us(|parts| parts.queueing),
        waiting_us: us(|parts| parts.waiting),
        messages: rows.iter().filter(|row| row.what == What::Message).count() as u64,
    })
}

/// A job with the times of its nodes; none where another engine ran it, which does not know them.
fn past<'a>(run: &'a Run, job: u32, ran: &'a [&'a [Ran]]) -> Option<Past<'a>> {
    let placed = &run.jobs[job as usize];
    let known = ran.len() == placed.job.ranks.len();
    known.then(|| Past { job: &placed.job, ran, begin: placed.start.as_ps() })
}

/// No message.
const NONE: u32 = u32::MAX;

/// Splits the pieces of a job's paths.
struct Split<'a> {
    run: &'a Run,
    job: u32,
    /// Of each rank, the nodes that send, in their order, with the number of the message in the traffic.
    sends: Vec<Vec<(u32, u32)>>,
    /// Of each message, by that number, its row in the table of flows, or [`NONE`].
    flows: Vec<u32>,
    delays: Delays<'a>,
}

impl<'a> Split<'a> {
    fn new(run: &'a Run, job: u32) -> Self {
        let placed = &run.jobs[job as usize];
        let mut sends: Vec<Vec<(u32, u32)>> = vec![Vec::new(); placed.job.ranks.len()];
        for (number, (rank, node, ..)) in (0..).zip(placed.job.sends()) {
            sends[rank as usize].push((node, number));
        }
        let mut flows = vec![NONE; sends.iter().map(Vec::len).sum()];
        for ((flow, record), number) in (0..).zip(run.flows.iter()).zip(&run.numbers) {
            if let Some(known) = flows.get_mut(*number as usize).filter(|_| record.traffic == placed.traffic) {
                *known = flow;
            }
        }
        Self { run, job, sends, flows, delays: Delays::new(&run.graph) }
    }

    fn flow_of(&self, rank: u32, node: u32) -> Option<u32> {
        let of = &self.sends[rank as usize];
        let (_, number) = of[of.binary_search_by_key(&node, |(node, _)| *node).ok()?];
        Some(self.flows[number as usize]).filter(|flow| *flow != NONE)
    }

    fn add(&mut self, piece: Piece, path_of: Option<u32>, rows: &mut Vec<Row>) {
        let took = piece.end - piece.start;
        let mut add = |what, piece, flow, parts| rows.push(Row { job: self.job, path_of, what, piece, flow, parts });
        match piece.spent {
            Spent::Computing => add(What::Compute, piece, None, Parts { compute: took, ..Parts::default() }),
            Spent::Slot => add(What::Slot, piece, None, Parts { waiting: took, ..Parts::default() }),
            Spent::Late => add(What::Late, piece, None, Parts { waiting: took, ..Parts::default() }),
            Spent::Message | Spent::Acked => {
                let flow = self.flow_of(piece.rank, piece.node);
                let record = flow.and_then(|flow| self.run.flows.get(flow as usize));
                let Some(record) = record else {
                    return add(What::Message, piece, None, Parts { queueing: took, ..Parts::default() });
                };
                let delay = self.delays.between(record.src, record.dst);
                let arrived = match piece.spent {
                    Spent::Acked => record.finished.as_ps().clamp(piece.start, piece.end),
                    _ => piece.end,
                };
                let message = Piece { end: arrived, ..piece };
                let took = arrived - piece.start;
                let propagation = delay.min(took);
                let ideal = if record.ideal.is_some() { record.ideal.as_ps() } else { propagation };
                let serialisation = ideal.saturating_sub(propagation).min(took - propagation);
                let queueing = took - propagation - serialisation;
                add(What::Message, message, flow, Parts { serialisation, propagation, queueing, ..Parts::default() });
                if arrived < piece.end {
                    let took = piece.end - arrived;
                    let propagation = delay.min(took);
                    let parts = Parts { propagation, queueing: took - propagation, ..Parts::default() };
                    add(What::Ack, Piece { start: arrived, ..piece }, flow, parts);
                }
            }
        }
    }
}

/// The delays of links on shortest paths.
struct Delays<'a> {
    graph: &'a Graph,
    ports: Adjacency,
    /// How each node was reached: in which search, over how many links, and with which delay.
    reached: Vec<(u32, u32, u64)>,
    searches: u32,
    known: HashMap<(u32, u32), u64>,
}

impl<'a> Delays<'a> {
    fn new(graph: &'a Graph) -> Self {
        let reached = vec![(0, 0, 0); graph.names.len()];
        Self { graph, ports: graph.adjacency(), reached, searches: 0, known: HashMap::new() }
    }

    /// The sum of delays from host to host over as few links as possible, the lowest of several.
    fn between(&mut self, from: u32, to: u32) -> u64 {
        if let Some(known) = self.known.get(&(from, to)) {
            return *known;
        }
        let found = self.search(from, to);
        self.known.insert((from, to), found);
        found
    }

    fn search(&mut self, from: u32, to: u32) -> u64 {
        self.searches += 1;
        self.reached[from as usize] = (self.searches, 0, 0);
        let mut next = VecDeque::from([from]);
        while let Some(node) = next.pop_front() {
            let (_, links, delay) = self.reached[node as usize];
            if node == to {
                return delay;
            }
            // Hosts do not relay.
            if node != from && node < self.graph.hosts {
                continue;
            }
            for (port, other) in self.ports.of(NodeId(node)) {
                let way = (self.searches, links + 1, delay + self.graph.links[port.ix() / 2].delay.as_ps());
                let known = &mut self.reached[other.ix()];
                if known.0 != self.searches {
                    *known = way;
                    next.push_back(other.0);
                }
                *known = way.min(*known);
            }
        }
        0
    }
}

#[cfg(test)]
mod tests;
