//! Pipelines: a model in stages, each on a rank, through which the micro-batches of a step pass forwards and back.

use crate::{Kind, Node};

/// In which order a stage computes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Schedule {
    /// All micro-batches forwards, then all backwards, the last one first (Huang et al., GPipe, NeurIPS 2019).
    GPipe,
    /// As many forwards as stages follow, then one forwards and one backwards in turn, so that a stage keeps the
    /// activations of few (Narayanan et al., PipeDream-Flush, SC 2021).
    OneForwardOneBackward,
}

/// A pipeline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pipeline {
    /// The order of computations.
    pub schedule: Schedule,
    /// Stages, a rank each.
    pub stages: u32,
    /// Micro-batches of a step.
    pub micro_batches: u32,
    /// Time of a stage for a micro-batch forwards, in ns.
    pub forward_ns: u64,
    /// The same backwards, in ns.
    pub backward_ns: u64,
    /// Bytes of a micro-batch's activations between two stages, and of its gradients.
    pub bytes: u64,
    /// Steps, one after another.
    pub steps: u32,
}

impl Pipeline {
    /// The computations of a stage in a step: whether backwards, and the micro-batch.
    pub(crate) fn order(&self, stage: u32) -> Vec<(bool, u32)> {
        let all = self.micro_batches;
        match self.schedule {
            Schedule::GPipe => (0..all).map(|k| (false, k)).chain((0..all).rev().map(|k| (true, k))).collect(),
            Schedule::OneForwardOneBackward => {
                let ahead = (self.stages - 1 - stage).min(all);
                let first = (0..ahead).map(|k| (false, k));
                let turns = (ahead..all).flat_map(|k| [(false, k), (true, k - ahead)]);
                first.chain(turns).chain((all - ahead..all).map(|k| (true, k))).collect()
            }
        }
    }

    /// The nodes of a stage. What it computes waits for what it computed before and for the message that it needs,
    /// which has the micro-batch as tag, gradients after all activations.
    pub fn nodes(&self, stage: u32) -> Vec<Node> {
        self.nodes_among(stage, |stage| stage, &mut |_, _| {})
    }

    /// The same with the ranks of stages, and with more nodes at [`Point`]s, each of which waits for the one before.
    pub(crate) fn nodes_among(
        &self,
        stage: u32,
        rank: impl Fn(u32) -> u32,
        more: &mut impl FnMut(Point, &mut dyn FnMut(Kind)),
    ) -> Vec<Node> {
        let mut nodes: Vec<Node> = Vec::new();
        let mut add = |kind, after_end| {
            let id = nodes.len() as u64;
            nodes.push(Node { id, kind, after_end, ..Node::default() });
            id
        };
        let mut before: Option<u64> = None;
        for _ in 0..self.steps {
            for (backward, k) in self.order(stage) {
                let tag = k + if backward { self.micro_batches } else { 0 };
                let (up, down) = (stage.checked_sub(1), Some(stage + 1).filter(|next| *next < self.stages));
                let (from, to) = if backward { (down, up) } else { (up, down) };
                let bytes = self.bytes;
                let arrives = from.map(|from| add(Kind::Recv { from: rank(from), bytes, tag }, Vec::new()));
                let mut waits: Vec<u64> = before.into_iter().chain(arrives).collect();
                more(Point::Before, &mut |kind| waits = vec![add(kind, std::mem::take(&mut waits))]);
                let ns = if backward { self.backward_ns } else { self.forward_ns };
                waits = vec![add(Kind::Delay { ns }, waits)];
                more(Point::After, &mut |kind| waits = vec![add(kind, std::mem::take(&mut waits))]);
                if let Some(to) = to {
                    add(Kind::Send { to: rank(to), bytes, tag }, waits.clone());
                }
                before = waits.first().copied();
            }
            more(Point::Step, &mut |kind| before = Some(add(kind, before.into_iter().collect())));
        }
        nodes
    }
}

/// Where a stage does more than its computations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Point {
    /// Before a computation, when its message is there.
    Before,
    /// After a computation, before its result is sent.
    After,
    /// At the end of a step.
    Step,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::job::Listed;
    use crate::{Holds, Rules, WINDOW, check};

    #[test]
    fn a_stage_keeps_what_its_schedule_says_and_every_message_is_received() {
        for (schedule, stages, micro_batches) in [
            (Schedule::GPipe, 4, 6),
            (Schedule::OneForwardOneBackward, 4, 6),
            (Schedule::OneForwardOneBackward, 5, 2),
            (Schedule::OneForwardOneBackward, 1, 3),
        ] {
            let pipeline =
                Pipeline { schedule, stages, micro_batches, forward_ns: 5, backward_ns: 9, bytes: 100, steps: 2 };
            let mut sources = Vec::new();
            for stage in 0..stages {
                let order = pipeline.order(stage);
                assert_eq!(order.len() as u32, 2 * micro_batches);
                let mut kept = 0;
                let most = order.iter().map(|(backward, _)| {
                    kept += if *backward { -1 } else { 1 };
                    kept
                });
                let expected = match schedule {
                    Schedule::GPipe => micro_batches,
                    Schedule::OneForwardOneBackward => (stages - stage).min(micro_batches),
                };
                assert_eq!((most.max(), kept), (Some(expected as i32), 0));
                sources.push(Listed::new(pipeline.nodes(stage)));
            }
            let rules = Rules { holds: Holds::Work, first_ready: false };
            assert_eq!(check(&mut sources, rules, WINDOW), Ok(Vec::new()));
        }
    }
}
