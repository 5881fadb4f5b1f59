//! Tables of jobs: ranks, collectives, nodes, critical paths.

use super::column::{Column, PIECE, batch, few, host_names, labels, u32s, u64s};
use crate::critical::{Row, What, paths};
use crate::jobs::{Whole, collectives as whole};
use crate::{RecordError, Run};
use arrow_array::{Float64Array, RecordBatch, UInt32Array, UInt64Array};
use fanin_fabric::RankRecord;
use fanin_graph::critical::Ran;
use fanin_graph::job::{NONE, Step};
use fanin_graph::{Job, Kind};
use fanin_units::Time;
use std::collections::HashMap;
use std::sync::Arc;

/// Names of the traffics of jobs, and the number of each job there.
fn traffics(run: &Run) -> (Vec<&str>, impl Fn(u32) -> usize + '_) {
    let names = run.traffics.iter().map(|traffic| traffic.name.as_str()).collect();
    (names, |job: u32| usize::from(run.jobs[job as usize].traffic))
}

/// One row per rank.
///
/// # Errors
/// When the columns do not fit together.
pub(super) fn ranks(run: &Run) -> Result<RecordBatch, RecordError> {
    let all = || run.graphs.ranks.iter();
    let (names, traffic) = traffics(run);
    let host = |rank: &RankRecord| run.jobs[rank.job as usize].hosts[rank.rank as usize];
    let lasts = |rank: &RankRecord| rank.finish.saturating_sub(rank.start);
    let idle = |rank: &RankRecord| lasts(rank).saturating_sub(rank.computing).saturating_sub(rank.waiting);
    let mut late: HashMap<(u32, u32), (u32, u64)> = HashMap::new();
    for one in whole(run).iter().filter(|one| one.late > Time::ZERO) {
        let (count, sum) = late.entry((one.job, one.last)).or_default();
        (*count, *sum) = (*count + 1, *sum + one.late.as_ps());
    }
    let late = |rank: &RankRecord| late.get(&(rank.job, rank.rank)).copied().unwrap_or_default();
    let columns: Vec<Column> = vec![
        ("traffic", false, labels("ranks", &names, all().map(|rank| traffic(rank.job)))?),
        ("rank", false, u32s(all().map(|rank| rank.rank))),
        ("host", false, host_names(run, all().map(host))?),
        ("start_ps", false, u64s(all().map(|rank| rank.start.as_ps()))),
        ("finish_ps", false, u64s(all().map(|rank| rank.finish.as_ps()))),
        ("compute_ps", false, u64s(all().map(|rank| rank.computing.as_ps()))),
        ("communication_ps", false, u64s(all().map(|rank| rank.communicating.as_ps()))),
        ("exposed_ps", false, u64s(all().map(|rank| lasts(rank).saturating_sub(rank.computing).as_ps()))),
        ("waiting_ps", false, u64s(all().map(|rank| rank.waiting.as_ps()))),
        ("idle_ps", false, u64s(all().map(|rank| idle(rank).as_ps()))),
        ("unfinished", false, u64s(all().map(|rank| rank.unfinished))),
        ("late_collectives", false, u32s(all().map(|rank| late(rank).0))),
        ("late_ps", false, u64s(all().map(|rank| late(rank).1))),
    ];
    batch("ranks", columns, HashMap::new())
}

/// One row per collective that a rank has ended.
///
/// # Errors
/// When the columns do not fit together.
pub(super) fn collectives(run: &Run) -> Result<RecordBatch, RecordError> {
    let rows = whole(run);
    let all = || rows.iter();
    let (names, traffic) = traffics(run);
    let what = |row: &Whole| &run.jobs[row.job as usize].job.collectives[row.collective as usize];
    let (operations, operation) = few(all().map(|row| what(row).operation.name()), |name| *name);
    let (algorithms, algorithm) = few(all().map(|row| what(row).algorithm), |name| *name);
    let bandwidth =
        |which: fn((f64, f64)) -> f64| all().map(|row| row.bandwidths(run).map(which)).collect::<Float64Array>();
    let columns: Vec<Column> = vec![
        ("traffic", false, labels("collectives", &names, all().map(|row| traffic(row.job)))?),
        ("collective", false, u32s(all().map(|row| row.collective))),
        ("operation", false, labels("collectives", &operations, operation.into_iter())?),
        ("algorithm", false, labels("collectives", &algorithms, algorithm.into_iter())?),
        ("ranks", false, u32s(all().map(|row| what(row).members.len() as u32))),
        ("bytes", false, u64s(all().map(|row| what(row).bytes))),
        ("start_ps", false, u64s(all().map(|row| row.start.as_ps()))),
        ("time_ps", true, Arc::new(all().map(|row| row.time().map(|time| time.as_ps())).collect::<UInt64Array>())),
        ("algbw_gbytes", true, Arc::new(bandwidth(|(algbw, _)| algbw))),
        ("busbw_gbytes", true, Arc::new(bandwidth(|(_, busbw)| busbw))),
        ("last_rank", false, u32s(all().map(|row| row.last))),
        ("late_ps", false, u64s(all().map(|row| row.late.as_ps()))),
    ];
    batch("collectives", columns, HashMap::new())
}

/// A node that ended.
struct Ended<'a> {
    of: &'a Job,
    job: u32,
    rank: u32,
    node: u32,
    ran: Ran,
}

impl<'a> Ended<'a> {
    fn step(&self) -> Step<'a> {
        self.of.step(self.rank, self.node)
    }
}

/// Nodes of all ranks that are in the table.
const KEPT: usize = 4_000_000;

/// Most nodes of a rank that are in the table.
fn most_of_rank(run: &Run) -> usize {
    (KEPT / run.graphs.ranks.len().max(1)).max(16)
}

/// The nodes of a rank that ended, by number.
fn all_ended(run: &Run, at: usize) -> impl Iterator<Item = Ended<'_>> {
    let RankRecord { job, rank, .. } = run.graphs.ranks[at];
    let of = &*run.jobs[job as usize].job;
    let took_part = |(step, ran): &(Step<'_>, &Ran)| ran.has_ended() && step.kind != Kind::Delay { ns: 0 };
    let steps = of.steps(rank).zip(&run.graphs.ran[at]).filter(took_part);
    steps.map(move |(step, ran)| Ended { of, job, rank, node: step.number, ran: *ran })
}

/// Those of them that are in the table, by end.
fn ended(run: &Run, at: usize) -> Vec<Ended<'_>> {
    let mut ended: Vec<Ended<'_>> = all_ended(run, at).collect();
    ended.sort_by_key(|node| node.ran.end);
    ended.truncate(most_of_rank(run));
    ended
}

/// Nodes that ended and are not in the table.
fn left_out(run: &Run) -> usize {
    (0..run.graphs.ran.len()).map(|at| all_ended(run, at).count().saturating_sub(most_of_rank(run))).sum()
}

/// One row per node that ended, by job and rank, then by end.
///
/// # Errors
/// When the columns do not fit together.
pub(super) fn nodes(run: &Run) -> Result<RecordBatch, RecordError> {
    let rows: Vec<Ended<'_>> = (0..run.graphs.ran.len()).flat_map(|at| ended(run, at)).collect();
    nodes_of(run, &rows, left_out(run))
}

/// The table of [`nodes`] in pieces, at least one.
pub(super) fn nodes_in_pieces(run: &Run) -> impl Iterator<Item = Result<RecordBatch, RecordError>> + '_ {
    let (mut ranks, mut first, left_out) = (0..run.graphs.ran.len(), true, left_out(run));
    std::iter::from_fn(move || {
        let mut rows = Vec::new();
        while rows.len() < PIECE
            && let Some(at) = ranks.next()
        {
            rows.append(&mut ended(run, at));
        }
        (std::mem::take(&mut first) || !rows.is_empty()).then(|| nodes_of(run, &rows, left_out))
    })
}

/// What a node may have done.
const KINDS: [&str; 4] = ["send", "recv", "compute", "collective"];

fn nodes_of(run: &Run, rows: &[Ended<'_>], left_out: usize) -> Result<RecordBatch, RecordError> {
    let all = || rows.iter();
    let (names, traffic) = traffics(run);
    let kind = |row: &Ended<'_>| match row.step().kind {
        Kind::Send { .. } => 0,
        Kind::Recv { .. } => 1,
        Kind::Delay { .. } => 2,
        Kind::Collective { .. } => 3,
    };
    let peer = |row: &Ended<'_>| match row.step().kind {
        Kind::Send { to, .. } => Some(to),
        Kind::Recv { .. } => Some(row.ran.from.0),
        _ => None,
    };
    let bytes = |row: &Ended<'_>| match row.step().kind {
        Kind::Send { bytes, .. } | Kind::Recv { bytes, .. } => Some(bytes),
        _ => None,
    };
    let columns: Vec<Column> = vec![
        ("traffic", false, labels("nodes", &names, all().map(|row| traffic(row.job)))?),
        ("rank", false, u32s(all().map(|row| row.rank))),
        ("node", false, u64s(all().map(|row| row.step().origin))),
        ("kind", false, labels("nodes", &KINDS, all().map(kind))?),
        ("peer", true, Arc::new(all().map(peer).collect::<UInt32Array>())),
        ("bytes", true, Arc::new(all().map(bytes).collect::<UInt64Array>())),
        ("collective", true, Arc::new(all().map(|row| number(row.step().collective)).collect::<UInt32Array>())),
        ("start_ps", false, u64s(all().map(|row| row.ran.start))),
        ("end_ps", false, u64s(all().map(|row| row.ran.end))),
    ];
    batch("nodes", columns, HashMap::from([("left_out".to_string(), left_out.to_string())]))
}

/// A number that is there.
fn number(of: u32) -> Option<u32> {
    Some(of).filter(|of| *of != NONE)
}

/// One row per piece of a critical path.
///
/// # Errors
/// When the columns do not fit together.
pub(super) fn critical(run: &Run) -> Result<RecordBatch, RecordError> {
    let (rows, left_out) = paths(run);
    let all = || rows.iter();
    let (names, traffic) = traffics(run);
    let step = |row: &Row| run.jobs[row.job as usize].job.step(row.piece.rank, row.piece.node);
    let peer = |row: &Row| match step(row).kind {
        Kind::Send { to, .. } => Some(to),
        _ => None,
    };
    let kinds: Vec<&str> = What::ALL.iter().map(|what| what.name()).collect();
    let part = |of: fn(&Row) -> u64| u64s(all().map(of));
    let columns: Vec<Column> = vec![
        ("traffic", false, labels("critical", &names, all().map(|row| traffic(row.job)))?),
        ("path_of", true, Arc::new(all().map(|row| row.path_of).collect::<UInt32Array>())),
        ("kind", false, labels("critical", &kinds, all().map(|row| row.what as usize))?),
        ("rank", false, u32s(all().map(|row| row.piece.rank))),
        ("peer", true, Arc::new(all().map(peer).collect::<UInt32Array>())),
        ("node", false, u64s(all().map(|row| step(row).origin))),
        ("collective", true, Arc::new(all().map(|row| number(step(row).collective)).collect::<UInt32Array>())),
        ("flow_id", true, Arc::new(all().map(|row| row.flow.map(u64::from)).collect::<UInt64Array>())),
        ("start_ps", false, part(|row| row.piece.start)),
        ("end_ps", false, part(|row| row.piece.end)),
        ("compute_ps", false, part(|row| row.parts.compute)),
        ("serialisation_ps", false, part(|row| row.parts.serialisation)),
        ("propagation_ps", false, part(|row| row.parts.propagation)),
        ("queueing_ps", false, part(|row| row.parts.queueing)),
        ("waiting_ps", false, part(|row| row.parts.waiting)),
    ];
    batch("critical", columns, HashMap::from([("left_out".to_string(), left_out.to_string())]))
}
