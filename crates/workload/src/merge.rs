//! Several traffics as one.

use crate::{Flow, Flows};
use std::cmp::Ordering;
use std::collections::BinaryHeap;

/// A flow in a heap ordered by start, and among equal starts by `order`.
pub(crate) struct Queued {
    pub flow: Flow,
    pub order: u64,
}

impl Ord for Queued {
    fn cmp(&self, other: &Self) -> Ordering {
        (other.flow.start, other.order).cmp(&(self.flow.start, self.order))
    }
}
impl PartialOrd for Queued {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
impl PartialEq for Queued {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}
impl Eq for Queued {}

/// Flows of several traffics, made by [`merge`].
pub struct Merge {
    sources: Vec<Flows>,
    /// The next flow of each source; `order` is its traffic's number, then the source.
    heads: BinaryHeap<Queued>,
}

/// All flows of these traffics, ordered by start, then by the number of their traffic, then as in their traffic. Each
/// source must be in order of start, as [`crate::Traffic::flows`] is.
pub fn merge(sources: Vec<Flows>) -> Merge {
    let mut merged = Merge { sources, heads: BinaryHeap::new() };
    for source in 0..merged.sources.len() {
        merged.pull(source);
    }
    merged
}

impl Merge {
    fn pull(&mut self, source: usize) {
        if let Some(flow) = self.sources[source].next() {
            let order = (u64::from(flow.traffic) << 32) | source as u64;
            self.heads.push(Queued { flow, order });
        }
    }
}

impl Iterator for Merge {
    type Item = Flow;

    fn next(&mut self) -> Option<Flow> {
        let first = self.heads.pop()?;
        self.pull((first.order & u64::from(u32::MAX)) as usize);
        Some(first.flow)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::NO_GROUP;
    use crate::hosts::tests::cases;
    use fanin_units::Time;
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(cases())]
        #[test]
        fn merged_flows_are_those_of_one_stable_sort(
            traffics in prop::collection::vec(prop::collection::vec(0u64..20, 0..30), 0..5),
        ) {
            let flow = |traffic: usize, start: u64, number: usize| Flow {
                start: Time::from_ps(start),
                src: 0,
                dst: 1,
                bytes: number as u64,
                traffic: traffic as u16,
                group: NO_GROUP,
                senders: None,
                dependency: Default::default(),
                sent_by: None,
            };
            let sources: Vec<Vec<Flow>> = traffics.iter().enumerate().map(|(t, starts)| {
                let mut starts = starts.clone();
                starts.sort_unstable();
                starts.iter().enumerate().map(|(n, s)| flow(t, *s, n)).collect()
            }).collect();
            let mut expected: Vec<Flow> = sources.concat();
            expected.sort_by_key(|f| (f.start, f.traffic, f.bytes));
            // The order of the sources does not matter.
            let boxed = sources.into_iter().rev().map(|s| Box::new(s.into_iter()) as Flows).collect();
            prop_assert_eq!(merge(boxed).collect::<Vec<_>>(), expected);
        }
    }
}
