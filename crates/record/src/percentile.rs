//! Exact percentiles by nearest rank.

use schemars::JsonSchema;
use serde::Serialize;

/// A share of all values, in thousandths, so that ranks are computed in whole numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quantile {
    per_mille: u32,
}

impl Quantile {
    /// The median.
    pub const P50: Self = Self { per_mille: 500 };
    /// The 99th percentile.
    pub const P99: Self = Self { per_mille: 990 };
    /// The 99.9th percentile.
    pub const P999: Self = Self { per_mille: 999 };
}

/// The percentile of sorted values by nearest rank: the smallest value such that at least the share `quantile` of all
/// values is at or below it. It is always one of the values; the 0th percentile is the smallest. `None` without values.
pub fn nearest_rank<T: Copy>(sorted: &[T], quantile: Quantile) -> Option<T> {
    let rank = (sorted.len() as u64 * u64::from(quantile.per_mille)).div_ceil(1000).max(1);
    sorted.get(rank as usize - 1).copied()
}

/// The percentiles in every table, by nearest rank, of finished flows only: compare with the number of unfinished ones.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct Percentiles {
    /// Number of values.
    pub count: u64,
    /// The median.
    pub p50: Option<f64>,
    /// The 99th percentile.
    pub p99: Option<f64>,
    /// The 99.9th percentile.
    pub p999: Option<f64>,
    /// The mean.
    pub mean: Option<f64>,
    /// The largest.
    pub max: Option<f64>,
}

impl Percentiles {
    /// Of these values, in any order.
    pub fn of(mut values: Vec<f64>) -> Self {
        values.sort_unstable_by(f64::total_cmp);
        Self {
            count: values.len() as u64,
            p50: nearest_rank(&values, Quantile::P50),
            p99: nearest_rank(&values, Quantile::P99),
            p999: nearest_rank(&values, Quantile::P999),
            mean: (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64),
            max: values.last().copied(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn textbook_ranks() {
        let values = [15, 20, 35, 40, 50];
        for (per_mille, value) in [(0, 15), (50, 15), (300, 20), (400, 20), (401, 35), (500, 35), (1000, 50)] {
            assert_eq!(nearest_rank(&values, Quantile { per_mille }), Some(value), "{per_mille}");
        }
        assert_eq!(nearest_rank::<u8>(&[], Quantile::P50), None);
        let thousand: Vec<u32> = (1..=1000).collect();
        assert_eq!(nearest_rank(&thousand, Quantile::P999), Some(999));
        assert_eq!(nearest_rank(&thousand, Quantile::P99), Some(990));
    }

    proptest! {
        #![proptest_config(crate::tests::cases())]
        #[test]
        fn agrees_with_the_definition(mut values in prop::collection::vec(0u32..50, 1..300), per_mille in 1u32..=1000) {
            values.sort_unstable();
            // The definition, by counting: the smallest value with enough values at or below it.
            let naive = values.iter().copied().find(|v| {
                let at_or_below = values.iter().filter(|w| *w <= v).count() as u64;
                at_or_below * 1000 >= values.len() as u64 * u64::from(per_mille)
            });
            prop_assert_eq!(nearest_rank(&values, Quantile { per_mille }), naive);
        }
    }
}
