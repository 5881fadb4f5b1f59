//! What ranks of graphs did in a run.

use fanin_graph::critical::Ran;
use fanin_graph::{Host, Problem, stuck};
use fanin_units::Time;

/// A rank. Its times add up: from start to finish it computes, waits for communication, or is idle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RankRecord {
    /// Its job, in the order in which they were given.
    pub job: u32,
    /// Its number.
    pub rank: u32,
    /// When its job began.
    pub start: Time,
    /// When its last node ended, without the ACKs of a collective's messages.
    pub finish: Time,
    /// Time with a computation under way.
    pub computing: Time,
    /// Time with a send, a receive or a collective under way.
    pub communicating: Time,
    /// The part of it without a computation under way.
    pub waiting: Time,
    /// Nodes that did not end.
    pub unfinished: u64,
}

impl RankRecord {
    pub(crate) fn new(job: u32, rank: u32, start: Time) -> Self {
        let none = Time::ZERO;
        Self { job, rank, start, finish: start, computing: none, communicating: none, waiting: none, unfinished: 0 }
    }
}

/// A collective at a rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CollectiveRecord {
    /// Its job.
    pub job: u32,
    /// Its number in the job.
    pub collective: u32,
    /// The rank.
    pub rank: u32,
    /// When the rank entered it.
    pub start: Time,
    /// When the last of its receives ended there, or of its sends where it has no receives.
    pub end: Time,
}

/// What all ranks did.
#[derive(Clone, Debug, Default)]
pub struct GraphRecords {
    /// By job and rank.
    pub ranks: Vec<RankRecord>,
    /// When the nodes of each rank ran, in the order of `ranks`, by number.
    pub ran: Vec<Vec<Ran>>,
    /// By job, number and rank.
    pub collectives: Vec<CollectiveRecord>,
    /// The ranks as they stopped, in the order of `ranks`.
    pub(crate) hosts: Vec<Host>,
}

impl GraphRecords {
    /// Brings the records of partitions into the order of a whole network.
    pub(crate) fn sort(&mut self) {
        self.collectives.sort_by_key(|one| (one.job, one.collective, one.rank));
        let of_rank = self.ran.drain(..).zip(self.hosts.drain(..));
        let mut all: Vec<(RankRecord, (Vec<Ran>, Host))> = self.ranks.drain(..).zip(of_rank).collect();
        all.sort_by_key(|(record, _)| (record.job, record.rank));
        (self.ranks, (self.ran, self.hosts)) = all.into_iter().unzip();
    }

    /// Whether all nodes have ended.
    pub fn all_ended(&self) -> bool {
        self.ranks.iter().all(|rank| rank.unfinished == 0)
    }

    /// The nodes of a job as they ran, by rank.
    pub fn past_of(&self, job: u32) -> Vec<&[Ran]> {
        let of_job = self.ranks.iter().zip(&self.ran).filter(|(rank, _)| rank.job == job);
        of_job.map(|(_, ran)| ran.as_slice()).collect()
    }

    /// What keeps the unfinished nodes of a job from ending.
    pub fn stuck(&self, job: u32) -> Vec<Problem> {
        let of_job = self.ranks.iter().zip(&self.hosts).filter(|(rank, _)| rank.job == job);
        stuck(&of_job.map(|(_, host)| host.clone()).collect::<Vec<Host>>())
    }
}
