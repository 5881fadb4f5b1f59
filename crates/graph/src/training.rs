//! Training of a model over tensor, data, pipeline and expert parallelism: who is in which group, and what each rank
//! does in a step.

use crate::job::{Groups, Listed};
use crate::pipeline::{Pipeline, Point};
use crate::{Kind, Operation};
use std::sync::Arc;

/// A way of dividing the work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the usual names")]
pub enum Axis {
    Tensor,
    Data,
    Pipeline,
}

/// Training of a model. Ranks are numbered along the axes of `order`, the first of them fastest. The ranks of the data
/// axis form groups of `expert` neighbours, which share experts.
///
/// Before each computation a rank takes part in an all-to-all of its expert group, which brings tokens to experts, and
/// after it in one that brings them back (Lepikhin et al., GShard, ICLR 2021, section 2). In between, after the
/// computation, its tensor group forms a sum (Shoeybi et al., Megatron-LM, 2019, section 3). A step ends with the
/// all-reduce of gradients in the data group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Training {
    /// Stages, their computations, and what they send to each other.
    pub pipeline: Pipeline,
    /// Ranks of a tensor group.
    pub tensor: u32,
    /// Ranks of a data group.
    pub data: u32,
    /// Ranks of an expert group, a divisor of `data`.
    pub expert: u32,
    /// Bytes of the all-reduce of a tensor group after each computation.
    pub tensor_bytes: u64,
    /// Bytes of the all-reduce of a data group at the end of a step.
    pub data_bytes: u64,
    /// Bytes that a rank has for its whole expert group, before each computation and after it.
    pub expert_bytes: u64,
    /// The axes, beginning with the one along which neighbours lie.
    pub order: [Axis; 3],
}

impl Training {
    /// How many ranks there are.
    pub fn ranks(&self) -> u64 {
        self.order.iter().map(|axis| u64::from(self.extent(*axis))).product()
    }

    fn extent(&self, axis: Axis) -> u32 {
        match axis {
            Axis::Tensor => self.tensor,
            Axis::Data => self.data,
            Axis::Pipeline => self.pipeline.stages,
        }
    }

    /// The place of a rank on an axis, and the distance between the ranks of neighbouring places.
    fn place(&self, rank: u32, axis: Axis) -> (u32, u32) {
        let before = self.order.iter().take_while(|other| **other != axis);
        let distance = before.map(|axis| self.extent(*axis)).product();
        (rank / distance % self.extent(axis), distance)
    }

    /// The groups of more than one rank, each with what it is: tensor groups first, then expert and data groups, in the
    /// order of their first ranks. Their numbers begin with 1.
    pub fn groups(&self) -> Vec<(&'static str, Vec<u32>)> {
        let kinds = [
            ("tensor", Axis::Tensor, self.tensor),
            ("expert", Axis::Data, self.expert),
            ("data", Axis::Data, self.data),
        ];
        let mut groups = Vec::new();
        for (name, axis, size) in kinds.into_iter().filter(|(.., size)| *size > 1) {
            for rank in 0..self.ranks() as u32 {
                let (place, distance) = self.place(rank, axis);
                if place % size == 0 {
                    groups.push((name, (0..size).map(|member| rank + member * distance).collect()));
                }
            }
        }
        groups
    }

    /// The nodes of all ranks.
    pub fn sources(&self) -> Vec<Listed> {
        let named = self.groups();
        let mut group_of = vec![[0; 3]; self.ranks() as usize];
        for (number, (name, members)) in (1..).zip(&named) {
            let kind = ["tensor", "expert", "data"].iter().position(|kind| kind == name).unwrap_or(0);
            members.iter().for_each(|rank| group_of[*rank as usize][kind] = number);
        }
        let groups: Arc<Groups> = Arc::new((1..).zip(named).map(|(number, (_, members))| (number, members)).collect());
        let nodes = (0..).zip(group_of).map(|(rank, [tensor, expert, data])| {
            let (stage, distance) = self.place(rank, Axis::Pipeline);
            let first = rank - stage * distance;
            let exchange = (expert, Operation::AllToAll, self.expert_bytes);
            let sum = (tensor, Operation::AllReduce, self.tensor_bytes);
            let gradients = (data, Operation::AllReduce, self.data_bytes);
            let mut more = |point, add: &mut dyn FnMut(Kind)| {
                let parts = match point {
                    Point::Before => &[exchange][..],
                    Point::After => &[sum, exchange],
                    Point::Step => &[gradients],
                };
                for (group, operation, bytes) in parts.iter().copied().filter(|(group, ..)| *group > 0) {
                    add(Kind::Collective { operation, bytes, group });
                }
            };
            let nodes = self.pipeline.nodes_among(stage, |stage| first + stage * distance, &mut more);
            Listed::with_groups(nodes, Arc::clone(&groups))
        });
        nodes.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::collectives::Method;
    use crate::job::Job;
    use crate::pipeline::Schedule;
    use crate::{Holds, Rules, WINDOW, check};

    fn training(tensor: u32, data: u32, stages: u32, expert: u32, order: [Axis; 3]) -> Training {
        let schedule = Schedule::OneForwardOneBackward;
        let (forward_ns, backward_ns) = (5, 9);
        let pipeline = Pipeline { schedule, stages, micro_batches: 3, forward_ns, backward_ns, bytes: 100, steps: 2 };
        let (tensor_bytes, data_bytes, expert_bytes) = (1000, 4000, 800);
        Training { pipeline, tensor, data, expert, tensor_bytes, data_bytes, expert_bytes, order }
    }

    const INNER: [Axis; 3] = [Axis::Tensor, Axis::Data, Axis::Pipeline];
    const OUTER: [Axis; 3] = [Axis::Tensor, Axis::Pipeline, Axis::Data];

    #[test]
    fn groups_lie_along_the_axes() {
        let of = |training: Training, kind: &str| -> Vec<Vec<u32>> {
            training.groups().into_iter().filter(|(name, _)| *name == kind).map(|(_, members)| members).collect()
        };
        let inner = training(2, 4, 2, 2, INNER);
        assert_eq!(of(inner, "tensor")[..2], [[0, 1], [2, 3]]);
        assert_eq!(of(inner, "data"), [[0, 2, 4, 6], [1, 3, 5, 7], [8, 10, 12, 14], [9, 11, 13, 15]]);
        assert_eq!(of(inner, "expert")[..3], [[0, 2], [1, 3], [4, 6]]);
        // SimAI's order has the data axis outermost: rank i has i + j N / DP in its data group (MockNcclGroup.cc).
        let outer = training(2, 4, 2, 1, OUTER);
        assert_eq!(of(outer, "data"), [[0, 4, 8, 12], [1, 5, 9, 13], [2, 6, 10, 14], [3, 7, 11, 15]]);
        assert_eq!(of(outer, "expert"), [[0; 0]; 0]);
    }

    #[test]
    fn every_rank_does_its_part_of_a_step() {
        let rules = Rules { holds: Holds::Work, first_ready: false };
        for (order, expert) in [(INNER, 1), (INNER, 4), (OUTER, 2)] {
            let training = training(2, 4, 3, expert, order);
            assert_eq!(check(&mut training.sources(), rules, WINDOW), Ok(Vec::new()));
            let job = Job::new(&mut training.sources(), rules, &Method::default()).unwrap();
            assert_eq!(job.ranks.len(), 24);
            let count = |operation, members: usize| {
                let of = |one: &&crate::job::Collective| (one.operation, one.members.len()) == (operation, members);
                job.collectives.iter().filter(of).count() as u32
            };
            // Two steps of three micro-batches forwards and back: a sum in each of 12 tensor groups, two exchanges in
            // each expert group; and in each step the gradients of 6 data groups.
            assert_eq!(count(Operation::AllReduce, 2), 12 * 12);
            assert_eq!(count(Operation::AllReduce, 4), 2 * 6);
            let exchanges = if expert > 1 { 24 / expert * 12 * 2 } else { 0 };
            assert_eq!(count(Operation::AllToAll, expert as usize), exchanges);
        }
    }

    #[test]
    fn a_rank_computes_between_its_exchanges() {
        let training = training(2, 2, 1, 2, INNER);
        let mut source = training.sources().swap_remove(3);
        let (mut node, mut kinds) = (crate::Node::default(), Vec::new());
        while crate::Source::next(&mut source, &mut node).unwrap() {
            assert_eq!(node.after_end, node.id.checked_sub(1).into_iter().collect::<Vec<u64>>());
            kinds.push(match node.kind {
                Kind::Delay { ns } => format!("{ns} ns"),
                Kind::Collective { operation, bytes, group } => format!("{} {bytes} {group}", operation.name()),
                other => format!("{other:?}"),
            });
        }
        // Tensor groups are 1 and 2, expert groups 3 and 4, data groups 5 and 6; one stage computes 3 forwards and 3
        // backwards in turn.
        let part = |ns: &str| ["all-to-all 800 4", ns, "all-reduce 1000 2", "all-to-all 800 4"].map(String::from);
        assert_eq!(kinds[..8], [part("5 ns"), part("9 ns")].concat());
        assert_eq!((kinds.len(), kinds[24].as_str()), (2 * (6 * 4 + 1), "all-reduce 4000 6"));
    }
}
