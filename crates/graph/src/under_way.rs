//! A collective under way at a rank: which of its messages still wait, without a node for each.

use crate::job::{Job, PartsAt};

/// The parts of a collective at a rank, from its start there to the end of the last one.
#[derive(Clone, Debug)]
pub struct UnderWay {
    /// The node that is the collective.
    pub node: u32,
    plan: (u32, u32),
    /// Of each part, how many of those that it waits for have not ended; empty where each waits for one at most.
    open: Box<[u32]>,
    /// Parts that have not ended, and those for which the collective waits: its receives, or its sends without any.
    left: u32,
    awaited: u32,
    receives: bool,
}

impl UnderWay {
    /// The collective starts. Its receives do, too, and sends that wait for none are ready; if there is no part at all,
    /// it [`has_ended`](Self::has_ended).
    pub fn new(parts: &PartsAt<'_>) -> Self {
        let of = || (0..parts.len()).map(|part| parts.waits(part));
        let receives = of().filter(|(sends, _)| !sends).count() as u32;
        let left = parts.len();
        let (awaited, receives) = (if receives > 0 { receives } else { left }, receives > 0);
        let open =
            if of().any(|(_, waits)| waits > 1) { of().map(|(_, waits)| waits).collect() } else { Box::default() };
        Self { node: parts.node, plan: parts.plan(), open, left, awaited, receives }
    }

    /// A part has ended. Calls `ready` for each that waits for nothing more. Returns whether the collective ended now.
    pub fn end(&mut self, part: u32, job: &Job, mut ready: impl FnMut(u32)) -> bool {
        let (sends, waiting) = job.frees(self.plan, part);
        for after in waiting {
            let last = self.open.get_mut(*after as usize).is_none_or(|open| {
                *open -= 1;
                *open == 0
            });
            if last {
                ready(*after);
            }
        }
        self.left -= 1;
        if sends == self.receives {
            return false;
        }
        self.awaited -= 1;
        self.awaited == 0
    }

    /// Whether the collective has ended.
    pub fn has_ended(&self) -> bool {
        self.awaited == 0
    }

    /// Whether all parts have.
    pub fn is_over(&self) -> bool {
        self.left == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::collectives::Method;
    use crate::job::Listed;
    use crate::{Job, Kind, Node, Operation, Rules};

    /// The parts of a broadcast in a tree over four ranks at the root, in the middle and at a leaf.
    #[test]
    fn a_collective_ends_with_its_receives_and_is_over_with_its_sends() {
        let kind = Kind::Collective { operation: Operation::Broadcast, bytes: 4096, group: 0 };
        let mut sources: Vec<Listed> = (0..4).map(|_| Listed::new(vec![Node { kind, ..Node::default() }])).collect();
        let method = Method { algorithm: Some("tree"), ..Method::default() };
        let job = Job::new(&mut sources, Rules { holds: crate::Holds::Work, first_ready: false }, &method).unwrap();
        let mut seen = [0; 3];
        for rank in 0..4 {
            let parts = job.parts(rank, 0).unwrap();
            let mut one = UnderWay::new(&parts);
            let (receives, sends): (Vec<u32>, Vec<u32>) = (0..parts.len()).partition(|part| !parts.waits(*part).0);
            seen[receives.len() + usize::from(receives.len() == 1 && sends.is_empty())] += 1;
            assert!(sends.iter().all(|part| (parts.waits(*part).1 == 0) == receives.is_empty()));
            let mut ready = Vec::new();
            for part in &receives {
                assert!(one.end(*part, &job, |part| ready.push(part)) && one.has_ended());
            }
            assert!(ready == sends || receives.is_empty());
            for (count, part) in (1..).zip(&sends) {
                assert!(!one.is_over());
                let last = receives.is_empty() && count == sends.len();
                assert_eq!(one.end(*part, &job, |_| unreachable!("nothing waits for a send")), last);
            }
            assert!(one.is_over() && one.has_ended());
        }
        assert!(seen.iter().all(|count| *count > 0), "a root, a rank in the middle and a leaf: {seen:?}");
    }
}
