//! The SACK scoreboard: ranges reported as received out of order, and the losses inferred from them (RFC 6675 section
//! 4).

use alloc::vec::Vec;

/// RFC 6675's DupThresh.
pub(super) const DUP_THRESH: u32 = 3;

/// Ranges of numbers that were selectively acknowledged: sorted, not adjacent, all above the cumulative ACK.
#[derive(Clone, Debug, Default)]
pub(super) struct Scoreboard {
    runs: Vec<(u64, u64)>,
    /// Numbers in all ranges.
    sacked: u64,
}

impl Scoreboard {
    #[inline(always)]
    pub(super) fn is_empty(&self) -> bool {
        self.runs.is_empty()
    }

    /// Adds a range; returns how many of its numbers are new.
    pub(super) fn add(&mut self, from: u64, to: u64) -> u64 {
        // Ranges that overlap it or touch it.
        let first = self.runs.partition_point(|run| run.1 < from);
        let behind = self.runs.partition_point(|run| run.0 <= to);
        let new = if first >= behind {
            self.runs.insert(first, (from, to));
            to - from
        } else {
            let all = (from.min(self.runs[first].0), to.max(self.runs[behind - 1].1));
            let known: u64 = self.runs[first..behind].iter().map(|run| run.1 - run.0).sum();
            self.runs[first] = all;
            self.runs.drain(first + 1..behind);
            all.1 - all.0 - known
        };
        self.sacked += new;
        new
    }

    /// The cumulative ACK moved. A range that begins at it contradicts it, and is removed.
    #[inline]
    pub(super) fn advance(&mut self, una: u64) {
        if self.runs.first().is_some_and(|run| run.0 <= una) {
            let gone = self.runs.partition_point(|run| run.0 <= una);
            self.sacked -= self.runs.drain(..gone).map(|run| run.1 - run.0).sum::<u64>();
        }
    }

    /// How many numbers below `number` are in ranges.
    fn below(&self, number: u64) -> u64 {
        if self.runs.last().is_none_or(|run| run.1 <= number) {
            return self.sacked;
        }
        self.runs.iter().take_while(|run| run.0 < number).map(|run| run.1.min(number) - run.0).sum()
    }

    /// How many of `from..to` are in no range.
    #[inline]
    pub(super) fn missing(&self, from: u64, to: u64) -> u64 {
        let all = to.saturating_sub(from);
        if self.runs.is_empty() || all == 0 { all } else { all - (self.below(to) - self.below(from)) }
    }

    /// RFC 6675 section 4, IsLost, with its 2-SMSS rule: every missing number below this one is lost, none above it is.
    /// A number is lost with three ranges above it, or with more than (DupThresh - 1) * SMSS numbers in ranges above
    /// it.
    pub(super) fn lost_to(&self, mss: u64) -> u64 {
        let mut above = 0;
        for (run, count) in self.runs.iter().rev().zip(1..) {
            above += run.1 - run.0;
            if count >= DUP_THRESH || above > (DUP_THRESH as u64 - 1) * mss {
                return run.0;
            }
        }
        0
    }

    /// The first missing number from `at` on, and the range above it where there is one.
    pub(super) fn hole_from(&self, at: u64) -> (u64, Option<u64>) {
        let mut next = self.runs.partition_point(|run| run.1 <= at);
        let mut from = at;
        if let Some(run) = self.runs.get(next).filter(|run| run.0 <= at) {
            from = run.1;
            next += 1;
        }
        (from, self.runs.get(next).map(|run| run.0))
    }

    /// The highest hole below `to`, where `una` is missing and is below `to`.
    pub(super) fn last_hole(&self, una: u64, to: u64) -> (u64, u64) {
        match self.runs.as_slice() {
            [] => (una, to),
            [.., top] if top.1 < to => (top.1, to),
            [only] => (una, only.0),
            [.., below, top] => (below.1, top.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;
    use proptest::prelude::*;

    fn of(runs: &[(u64, u64)]) -> Scoreboard {
        let mut board = Scoreboard::default();
        for run in runs {
            board.add(run.0, run.1);
        }
        board
    }

    #[test]
    fn lost_is_what_has_three_runs_or_more_than_two_segments_above() {
        // RFC 6675 section 4, corrected: more than (DupThresh - 1) * SMSS.
        assert_eq!(of(&[(1000, 3000)]).lost_to(1000), 0, "exactly two segments above are not enough");
        assert_eq!(of(&[(1000, 3001)]).lost_to(1000), 1000);
        assert_eq!(of(&[(1000, 1010), (2000, 2010)]).lost_to(1000), 0);
        assert_eq!(of(&[(1000, 1010), (2000, 2010), (3000, 3010)]).lost_to(1000), 1000);
        assert_eq!(of(&[(1000, 2000), (3000, 4000), (5000, 6000)]).lost_to(1000), 1000, "by the number of runs");
        assert_eq!(of(&[(1000, 2000), (3000, 4000), (5000, 6001)]).lost_to(1000), 3000, "by their bytes");
    }

    #[test]
    fn a_run_at_the_cumulative_ack_is_forgotten() {
        let mut board = of(&[(10, 20), (30, 40)]);
        board.advance(15);
        assert_eq!((board.runs.clone(), board.sacked), (vec![(30, 40)], 10));
        board.advance(29);
        assert_eq!(board.sacked, 10);
        board.advance(30);
        assert!(board.is_empty() && board.sacked == 0);
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

        /// Compares with one bit per number.
        #[test]
        fn it_is_a_set_of_numbers(ops in prop::collection::vec((1u64..100, 1u64..20), 1..40), at in 0u64..120) {
            let mut board = Scoreboard::default();
            let mut set = [false; 130];
            for &(from, len) in &ops {
                let new = (from..from + len).filter(|&n| !set[n as usize]).count() as u64;
                set[from as usize..(from + len) as usize].fill(true);
                prop_assert_eq!(board.add(from, from + len), new);
            }
            prop_assert_eq!(board.sacked, set.iter().filter(|b| **b).count() as u64);
            prop_assert!(board.runs.windows(2).all(|w| w[0].1 < w[1].0));
            prop_assert_eq!(board.missing(at, 125), (at..125).filter(|&n| !set[n as usize]).count() as u64);
            let first = (at..130).find(|&n| !set[n as usize]).unwrap();
            let above = (first..130).find(|&n| set[n as usize]);
            prop_assert_eq!(board.hole_from(at), (first, above));
            let top = (0..125).rev().find(|&n| !set[n as usize]).unwrap();
            prop_assert_eq!(board.last_hole(0, 125).1, top + 1);
        }
    }
}
