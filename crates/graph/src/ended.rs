//! The numbers of nodes that have ended.

use std::collections::BTreeMap;

/// A set of numbers, kept as ranges: nodes end nearly in order, so there are few.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ended {
    /// First and last number of each range; two ranges never touch.
    ranges: BTreeMap<u64, u64>,
}

impl Ended {
    pub(crate) fn contains(&self, id: u64) -> bool {
        self.ranges.range(..=id).next_back().is_some_and(|(_, last)| id <= *last)
    }

    /// Adds a number that is not in the set.
    pub(crate) fn insert(&mut self, id: u64) {
        let last = id.checked_add(1).and_then(|next| self.ranges.remove(&next)).unwrap_or(id);
        match self.ranges.range_mut(..id).next_back() {
            Some((_, before)) if *before + 1 == id => *before = last,
            _ => {
                self.ranges.insert(id, last);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_join_into_ranges() {
        let mut ended = Ended::default();
        for id in [5, 3, 0, u64::MAX, 4, 1] {
            assert!(!ended.contains(id));
            ended.insert(id);
            assert!(ended.contains(id));
        }
        assert!(!ended.contains(2) && !ended.contains(6));
        assert_eq!(ended.ranges.into_iter().collect::<Vec<_>>(), [(0, 1), (3, 5), (u64::MAX, u64::MAX)]);
    }
}
