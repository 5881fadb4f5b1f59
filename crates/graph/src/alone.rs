//! The longest way through a job when every message travels alone: without queues, and where no node waits for a slot.

use crate::job::{Job, NONE};
use crate::{ANY, Kind};
use std::collections::{HashMap, VecDeque};

/// The way that ends last.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Path {
    /// When it ends, in ns after the start of the job.
    pub ns: u64,
    /// The part of it that is computation, in ns.
    pub computing_ns: u64,
    /// Messages on it.
    pub messages: u64,
    /// Their bytes.
    pub bytes: u64,
}

impl Path {
    /// The one of two that ends later; of equal ones the first.
    fn later(self, other: Self) -> Self {
        if other.ns > self.ns { other } else { self }
    }
}

/// A node while ways are followed.
#[derive(Clone, Copy, Default)]
struct Way {
    /// Conditions of its start that are not met.
    open: u32,
    /// Parts that have not ended, and itself until it has started: of a collective.
    parts: u32,
    /// The latest of the conditions so far, then the start.
    start: Path,
    /// The latest of what its end needs so far.
    end: Path,
}

/// The critical path of a job, where a message of so many bytes takes `cost` ns from its send to its receive; `None` if
/// it depends on the run which message a receive gets, or if some node never ends.
pub fn longest(job: &Job, cost: impl Fn(u64) -> u64) -> Option<Path> {
    let first: Vec<usize> = job
        .ranks
        .iter()
        .scan(0, |sum, rank| {
            let first = *sum;
            *sum += rank.steps.len();
            Some(first)
        })
        .collect();
    let of_rank = |rank: u32| Some((*first.get(rank as usize)?, job.ranks.get(rank as usize)?));
    let mut ways = vec![Way::default(); job.nodes()];
    // Who waits for the end of a node, and who for its start.
    let mut after: Vec<[Vec<u32>; 2]> = vec![Default::default(); ways.len()];
    let mut receives: HashMap<(u32, u32, u32), VecDeque<usize>> = HashMap::new();
    for (rank, program) in (0..).zip(&job.ranks) {
        let (base, _) = of_rank(rank)?;
        for (number, step) in program.steps.iter().enumerate() {
            let at = base + number;
            for (list, ids) in [&step.node.after_end, &step.node.after_start].into_iter().enumerate() {
                ids.iter().for_each(|id| after[base + *id as usize][list].push(at as u32));
                ways[at].open += ids.len() as u32;
            }
            if step.within as usize != number {
                ways[base + step.within as usize].parts += 1;
            }
            ways[at].parts += 1;
            match step.node.kind {
                Kind::Recv { from, tag, .. } if from == ANY || tag == ANY => return None,
                Kind::Recv { from, tag, .. } => {
                    // Its message is what its end needs besides.
                    ways[at].parts += 1;
                    receives.entry((from, rank, tag)).or_default().push_back(at);
                }
                _ => {}
            }
        }
    }
    let mut receive_of = vec![usize::MAX; ways.len()];
    for (rank, number, to, _) in job.sends() {
        let (base, program) = of_rank(rank)?;
        let Kind::Send { tag, .. } = program.steps[number as usize].node.kind else { continue };
        if let Some(receive) = receives.get_mut(&(rank, to, tag)).and_then(VecDeque::pop_front) {
            receive_of[base + number as usize] = receive;
        }
    }
    let steps: Vec<_> =
        job.ranks.iter().zip(&first).flat_map(|(rank, base)| rank.steps.iter().map(|s| (s, *base))).collect();
    let mut ready: Vec<usize> = (0..ways.len()).filter(|at| ways[*at].open == 0).collect();
    let (mut ended, mut last) = (0, Path::default());
    while let Some(at) = ready.pop() {
        let (step, _) = steps[at];
        let start = ways[at].start;
        let mut own = start;
        // Ends, one part of which is met: node and the way there.
        let mut met: Vec<(usize, Path)> = Vec::with_capacity(2);
        match step.node.kind {
            Kind::Delay { ns } => {
                own.ns = own.ns.saturating_add(ns);
                own.computing_ns = own.computing_ns.saturating_add(ns);
            }
            Kind::Send { bytes, .. } if receive_of[at] != usize::MAX => {
                let ns = start.ns.saturating_add(cost(bytes));
                let (messages, bytes) = (start.messages + 1, start.bytes.saturating_add(bytes));
                met.push((receive_of[at], Path { ns, messages, bytes, ..start }));
            }
            _ => {}
        }
        met.push((at, own));
        let mut release = |at: usize, way: Path, list: usize, ways: &mut [Way]| {
            for next in &after[at][list] {
                let next = *next as usize;
                ways[next].start = ways[next].start.later(way);
                ways[next].open -= 1;
                if ways[next].open == 0 {
                    ready.push(next);
                }
            }
        };
        release(at, start, 1, &mut ways);
        while let Some((at, way)) = met.pop() {
            ways[at].end = ways[at].end.later(way);
            ways[at].parts -= 1;
            if ways[at].parts > 0 {
                continue;
            }
            let end = ways[at].end;
            ended += 1;
            last = last.later(end);
            release(at, end, 0, &mut ways);
            let (step, base) = steps[at];
            let whole = base + step.within as usize;
            if whole != at && step.collective != NONE {
                met.push((whole, end));
            }
        }
    }
    (ended == ways.len()).then_some(last)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::collectives::Method;
    use crate::job::Listed;
    use crate::pipeline::{Pipeline, Schedule};
    use crate::{Holds, Node, Operation, Rules};

    const RULES: Rules = Rules { holds: Holds::Work, first_ready: false };

    fn job(ranks: Vec<Vec<Node>>, algorithm: Option<&str>) -> Job {
        let mut sources: Vec<Listed> = ranks.into_iter().map(Listed::new).collect();
        Job::new(&mut sources, RULES, &Method { algorithm, ..Method::default() }).unwrap()
    }

    #[test]
    fn a_ring_is_as_long_as_its_steps() {
        let rank = || {
            let kinds =
                [Kind::Delay { ns: 50 }, Kind::Collective { operation: Operation::AllReduce, bytes: 80, group: 0 }];
            let node = |(id, kind): (u64, Kind)| Node {
                id,
                kind,
                after_end: id.checked_sub(1).into_iter().collect(),
                ..Node::default()
            };
            (0..).zip([kinds[0], kinds[1], kinds[0]]).map(node).collect::<Vec<_>>()
        };
        let of = |algorithm| longest(&job(vec![rank(), rank(), rank(), rank()], Some(algorithm)), |bytes| 1000 + bytes);
        let (ns, computing_ns) = (100 + 6 * 1020, 100);
        assert_eq!(of("ring"), Some(Path { ns, computing_ns, messages: 6, bytes: 120 }));
        // Halves and quarters, and back.
        let ns = 100 + 2 * (1040 + 1020);
        assert_eq!(of("halving-doubling"), Some(Path { ns, computing_ns, messages: 4, bytes: 120 }));
    }

    #[test]
    fn a_pipeline_fills_and_drains() {
        let (schedule, micro_batches) = (Schedule::GPipe, 1);
        let of = Pipeline { schedule, stages: 3, micro_batches, forward_ns: 5, backward_ns: 9, bytes: 7, steps: 1 };
        let job = job((0..3).map(|stage| of.nodes(stage)).collect(), None);
        let (ns, computing_ns) = (3 * 14 + 4 * 107, 3 * 14);
        assert_eq!(longest(&job, |bytes| 100 + bytes), Some(Path { ns, computing_ns, messages: 4, bytes: 28 }));
    }

    #[test]
    fn there_is_none_where_the_run_decides_or_nothing_ends() {
        let recv = |from, tag| vec![Node { kind: Kind::Recv { from, bytes: 1, tag }, ..Node::default() }];
        let send = vec![Node { kind: Kind::Send { to: 0, bytes: 1, tag: 3 }, ..Node::default() }];
        let of = |receive| longest(&job(vec![receive, send.clone()], None), |_| 10);
        assert_eq!(of(recv(1, 3)), Some(Path { ns: 10, computing_ns: 0, messages: 1, bytes: 1 }));
        assert_eq!((of(recv(1, ANY)), of(recv(1, 4))), (None, None));
        let early = Node { id: 1, kind: Kind::Delay { ns: 4 }, after_start: vec![0], ..Node::default() };
        let late = Node { kind: Kind::Delay { ns: 9 }, ..Node::default() };
        assert_eq!(longest(&job(vec![vec![late, early]], None), |_| 0).map(|path| path.ns), Some(9));
    }
}
