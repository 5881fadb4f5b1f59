//! Jobs of many ranks: what is measured in them, by nccl-tests' and ASTRA-sim's definitions.

use crate::Run;
use crate::critical::{self, CriticalSummary};
use fanin_fabric::CollectiveRecord;
use fanin_graph::collectives::bus_factor;
use fanin_graph::{Kind, Problem};
use fanin_units::Time;
use schemars::JsonSchema;
use serde::Serialize;

/// A job of a traffic: a repeated collective, a GOAL schedule, or Chakra traces.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct JobSummary {
    /// Ranks.
    pub ranks: u64,
    /// Of those, ranks with nodes that did not end.
    pub unfinished: u64,
    /// From its start to the end of its last node, in microseconds; `None` while nodes are unfinished.
    pub time_us: Option<f64>,
    /// Time with a computation under way, the mean over ranks, in microseconds.
    pub compute_us: f64,
    /// Exposed communication as ASTRA-sim counts it: time of a rank from start to finish less computation; the mean
    /// over ranks, in microseconds.
    pub exposed_us: f64,
    /// Time with communication and no computation under way, the mean over ranks, in microseconds.
    pub waiting_us: f64,
    /// Collectives that all their ranks finished.
    pub collectives: u64,
    /// Bytes of these over the sum of their times, as nccl-tests counts both (algbw), in GB/s.
    pub algbw_gbytes: Option<f64>,
    /// The same times the factor of each operation (busbw), in GB/s.
    pub busbw_gbytes: Option<f64>,
    /// How long after the first rank the last one entered a collective, the mean over these, in microseconds.
    pub late_us: Option<f64>,
    /// Its critical path; `None` while nodes are unfinished.
    pub critical: Option<CriticalSummary>,
}

/// A collective over all its ranks.
pub(crate) struct Whole {
    pub job: u32,
    pub collective: u32,
    /// When the first rank entered it.
    pub start: Time,
    /// When the last rank ended it; none while one has not.
    pub end: Option<Time>,
    /// The last rank to enter, and how long after the first.
    pub last: u32,
    pub late: Time,
}

/// The collectives of a run in the order of their jobs.
pub(crate) fn collectives(run: &Run) -> Vec<Whole> {
    let same = |a: &CollectiveRecord, b: &CollectiveRecord| (a.job, a.collective) == (b.job, b.collective);
    let of = |records: &[CollectiveRecord]| {
        let (job, collective) = (records[0].job, records[0].collective);
        let start = records.iter().map(|one| one.start).min().unwrap_or_default();
        let last = records.iter().max_by_key(|one| (one.start, std::cmp::Reverse(one.rank)));
        let (last, entered) = last.map_or((0, start), |one| (one.rank, one.start));
        let members = run.jobs[job as usize].job.collectives[collective as usize].members.len();
        let end = records.iter().map(|one| one.end).max().filter(|_| records.len() == members);
        Whole { job, collective, start, end, last, late: entered.saturating_sub(start) }
    };
    run.graphs.collectives.chunk_by(same).map(of).collect()
}

/// Bytes over a time in GB/s, which are 10^9 bytes a second.
fn rate(bytes: u64, time: Time) -> Option<f64> {
    (time > Time::ZERO).then(|| bytes as f64 * 1e3 / time.as_ps() as f64)
}

impl Whole {
    /// Its time, if it has ended.
    pub fn time(&self) -> Option<Time> {
        self.end.map(|end| end.saturating_sub(self.start))
    }

    /// algbw and busbw in GB/s: S over the time from the first post to the last end, and that times the factor.
    pub fn bandwidths(&self, run: &Run) -> Option<(f64, f64)> {
        let what = &run.jobs[self.job as usize].job.collectives[self.collective as usize];
        let algbw = rate(what.bytes, self.time()?)?;
        Some((algbw, algbw * bus_factor(what.operation, what.members.len() as u32)))
    }
}

/// The job of a traffic, if it has one.
pub(crate) fn summary(run: &Run, traffic: u16) -> Option<JobSummary> {
    let number = run.jobs.iter().position(|placed| placed.traffic == traffic)? as u32;
    let ranks: Vec<_> = run.graphs.ranks.iter().filter(|rank| rank.job == number).collect();
    let unfinished = ranks.iter().filter(|rank| rank.unfinished > 0).count();
    let start = run.jobs[number as usize].start;
    let finish = ranks.iter().map(|rank| rank.finish).max().unwrap_or(start);
    let us = |ps: u128| ps as f64 / 1e6;
    let mean = |sum: u128| us(sum) / ranks.len().max(1) as f64;
    let whole = collectives(run);
    let whole: Vec<&Whole> = whole.iter().filter(|one| one.job == number && one.end.is_some()).collect();
    let mut sums = [0.0; 3];
    for one in &whole {
        let what = &run.jobs[number as usize].job.collectives[one.collective as usize];
        let factor = bus_factor(what.operation, what.members.len() as u32);
        sums[0] += what.bytes as f64 * 1e3;
        sums[1] += what.bytes as f64 * 1e3 * factor;
        sums[2] += one.time().map_or(0.0, |time| time.as_ps() as f64);
    }
    let over = |sum: f64| (sums[2] > 0.0).then(|| sum / sums[2]);
    let exposed =
        |finish: Time, computing: Time| u128::from(finish.saturating_sub(start).saturating_sub(computing).as_ps());
    Some(JobSummary {
        ranks: ranks.len() as u64,
        unfinished: unfinished as u64,
        time_us: (unfinished == 0).then(|| us(finish.saturating_sub(start).as_ps().into())),
        compute_us: mean(ranks.iter().map(|rank| u128::from(rank.computing.as_ps())).sum()),
        exposed_us: mean(ranks.iter().map(|rank| exposed(rank.finish, rank.computing)).sum()),
        waiting_us: mean(ranks.iter().map(|rank| u128::from(rank.waiting.as_ps())).sum()),
        collectives: whole.len() as u64,
        algbw_gbytes: over(sums[0]),
        busbw_gbytes: over(sums[1]),
        late_us: (!whole.is_empty())
            .then(|| us(whole.iter().map(|one| u128::from(one.late.as_ps())).sum()) / whole.len() as f64),
        critical: critical::summary(run, number),
    })
}

/// Unfinished nodes that are named for each job.
const NAMED: usize = 3;

/// What did not end in each job, and what it waits for.
pub(crate) fn unfinished(run: &Run) -> Vec<String> {
    let mut errors = Vec::new();
    for (number, placed) in (0..).zip(&run.jobs) {
        let ranks = run.graphs.ranks.iter().filter(|rank| rank.job == number && rank.unfinished > 0);
        let (count, nodes) = ranks.fold((0u64, 0), |(count, nodes), rank| (count + 1, nodes + rank.unfinished));
        if count == 0 {
            continue;
        }
        let mut problems = run.graphs.stuck(number);
        // Messages that wait say more than the collective that waits for them, and than a computation.
        let waits = |problem: &Problem| !matches!(problem, Problem::Unended { kind: Kind::Delay { .. }, .. });
        if problems.iter().any(waits) {
            problems.retain(waits);
        }
        let texts = problems.iter().take(NAMED).map(|problem| problem.text(&|rank, id| placed.job.name(rank, id)));
        let mut text = texts.collect::<Vec<_>>().join("; ");
        if problems.len() > NAMED {
            text += &format!("; and {} more", problems.len() - NAMED);
        }
        let name = run.traffics.get(usize::from(placed.traffic)).map_or("", |traffic| &traffic.name);
        let stopped = run.stopped;
        errors.push(format!(
            "the job of traffic \"{name}\" did not end: {nodes} nodes of {count} ranks are unfinished after {stopped}, \
             when the run stopped; {text}"
        ));
    }
    errors
}
