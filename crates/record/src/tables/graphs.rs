//! Tables of jobs: ranks, collectives, nodes.

use super::column::{Column, batch, few, host_names, labels, u32s, u64s};
use crate::jobs::{Whole, collectives as whole};
use crate::{RecordError, Run};
use arrow_array::{Float64Array, RecordBatch, UInt32Array, UInt64Array};
use fanin_fabric::{NodeRecord, RankRecord};
use fanin_graph::Kind;
use fanin_graph::job::{NONE, Step};
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

/// One row per node that ended.
///
/// # Errors
/// When the columns do not fit together.
pub(super) fn nodes(run: &Run) -> Result<RecordBatch, RecordError> {
    let all = || run.graphs.nodes.iter();
    let (names, traffic) = traffics(run);
    let step = |node: &NodeRecord| -> &Step {
        &run.jobs[node.job as usize].job.ranks[node.rank as usize].steps[node.node as usize]
    };
    let kind = |node: &NodeRecord| match step(node).node.kind {
        Kind::Send { .. } => "send",
        Kind::Recv { .. } => "recv",
        Kind::Delay { .. } => "compute",
        Kind::Collective { .. } => "collective",
    };
    let peer = |node: &NodeRecord| match step(node).node.kind {
        Kind::Send { to, .. } => Some(to),
        Kind::Recv { from, .. } => Some(from).filter(|from| *from != NONE),
        _ => None,
    };
    let bytes = |node: &NodeRecord| match step(node).node.kind {
        Kind::Send { bytes, .. } | Kind::Recv { bytes, .. } => Some(bytes),
        _ => None,
    };
    let collective = |node: &NodeRecord| Some(step(node).collective).filter(|number| *number != NONE);
    let (kinds, kind) = few(all().map(kind), |kind| *kind);
    let columns: Vec<Column> = vec![
        ("traffic", false, labels("nodes", &names, all().map(|node| traffic(node.job)))?),
        ("rank", false, u32s(all().map(|node| node.rank))),
        ("node", false, u64s(all().map(|node| step(node).origin))),
        ("kind", false, labels("nodes", &kinds, kind.into_iter())?),
        ("peer", true, Arc::new(all().map(peer).collect::<UInt32Array>())),
        ("bytes", true, Arc::new(all().map(bytes).collect::<UInt64Array>())),
        ("collective", true, Arc::new(all().map(collective).collect::<UInt32Array>())),
        ("start_ps", false, u64s(all().map(|node| node.start.as_ps()))),
        ("end_ps", false, u64s(all().map(|node| node.end.as_ps()))),
    ];
    let left_out = HashMap::from([("left_out".to_string(), run.graphs.left_out.to_string())]);
    batch("nodes", columns, left_out)
}
