//! Sizes of flows.

use crate::cdf::Cdf;
use crate::{ENDLESS, WorkloadError};
use fanin_engine::Stream;

/// A distribution of flow sizes in bytes. [`SizeDistribution::check`] validates it.
#[derive(Clone, PartialEq, Debug)]
pub enum SizeDistribution {
    /// Always this size.
    Fixed(u64),
    /// One of these sizes, each equally likely.
    UniformOf(Vec<u64>),
    /// Each whole number of bytes from `min` to `max`, both included, equally likely.
    Uniform {
        /// Smallest size.
        min: u64,
        /// Largest size.
        max: u64,
    },
    /// Pareto: sizes above x are `(x_min / x)^shape` of all.
    Pareto {
        /// Mean before the cap, in bytes; `x_min = mean * (shape - 1) / shape`.
        mean: u64,
        /// Tail index, above 1.
        shape: f64,
        /// Larger sizes are reduced to this.
        cap: Option<u64>,
    },
    /// Given by points of its cumulative distribution.
    Cdf(Cdf),
}

impl SizeDistribution {
    /// Whether all parameters are possible.
    ///
    /// # Errors
    /// The key and a correction.
    pub fn check(&self) -> Result<(), WorkloadError> {
        match self {
            Self::Fixed(bytes) => check_size("size.fixed", *bytes),
            Self::UniformOf(sizes) if sizes.is_empty() => Err(WorkloadError::key(
                "size.uniform_of",
                "the list is empty",
                "give at least one size, like [\"2 KB\"]",
            )),
            Self::UniformOf(sizes) => sizes.iter().try_for_each(|bytes| check_size("size.uniform_of", *bytes)),
            Self::Uniform { min, max } => {
                check_size("size.uniform.min", *min)?;
                check_size("size.uniform.max", *max)?;
                if min > max {
                    let problem = format!("the largest size {max} B is below the smallest size {min} B");
                    return Err(WorkloadError::key("size.uniform.max", problem, "swap min and max"));
                }
                Ok(())
            }
            Self::Pareto { mean, shape, cap } => {
                check_size("size.pareto.mean", *mean)?;
                if !(*shape > 1.0 && shape.is_finite()) {
                    let right = "the mean is finite only above 1, like 1.05 or 1.2";
                    return Err(WorkloadError::key("size.pareto.shape", format!("{shape} has no finite mean"), right));
                }
                let smallest = pareto_min(*mean, *shape);
                if smallest < 1.0 {
                    let problem = format!("the smallest size would be {smallest} B, below 1 B");
                    return Err(WorkloadError::key("size.pareto.mean", problem, "raise the mean or the shape"));
                }
                if let Some(cap) = cap {
                    check_size("size.pareto.cap", *cap)?;
                    if (*cap as f64) <= smallest {
                        let problem = format!("{cap} B is not above the smallest size {smallest} B");
                        return Err(WorkloadError::key("size.pareto.cap", problem, "raise it or leave it out"));
                    }
                }
                Ok(())
            }
            // A Cdf is always valid.
            Self::Cdf(_) => Ok(()),
        }
    }

    /// The exact mean of the sizes drawn by [`SizeDistribution::sample`], in bytes.
    pub fn mean(&self) -> f64 {
        match self {
            Self::Fixed(bytes) => *bytes as f64,
            Self::UniformOf(sizes) => sizes.iter().map(|s| *s as f64).sum::<f64>() / sizes.len().max(1) as f64,
            Self::Uniform { min, max } => (*min as f64 + *max as f64) / 2.0,
            Self::Pareto { mean, shape, cap } => {
                let cap = cap.unwrap_or(ENDLESS) as f64;
                let smallest = pareto_min(*mean, *shape);
                // E[min(X, cap)] = E[X] less the tail's excess over the cap.
                *mean as f64 - smallest / (shape - 1.0) * libm::pow(smallest / cap, shape - 1.0)
            }
            Self::Cdf(cdf) => cdf.mean(),
        }
    }

    /// Draws one size, at least 1 byte.
    pub fn sample(&self, stream: &mut Stream) -> u64 {
        let bytes = match self {
            Self::Fixed(bytes) => *bytes,
            Self::UniformOf(sizes) => sizes.get(stream.below(sizes.len() as u64) as usize).copied().unwrap_or(1),
            Self::Uniform { min, max } => min + stream.below(max.saturating_sub(*min).saturating_add(1)),
            Self::Pareto { mean, shape, cap } => {
                // 1 - unit() is in (0, 1], so the power is finite.
                let x = pareto_min(*mean, *shape) * libm::pow(1.0 - stream.unit(), -1.0 / shape);
                let x = x.min(cap.unwrap_or(ENDLESS) as f64);
                let whole = libm::floor(x);
                // The fraction is rounded up with a probability equal to its value, which keeps the mean exact.
                whole as u64 + u64::from(stream.chance(x - whole))
            }
            Self::Cdf(cdf) => cdf.sample(stream),
        };
        bytes.max(1)
    }
}

fn pareto_min(mean: u64, shape: f64) -> f64 {
    mean as f64 * (shape - 1.0) / shape
}

fn check_size(key: &'static str, bytes: u64) -> Result<(), WorkloadError> {
    if (1..=ENDLESS).contains(&bytes) {
        return Ok(());
    }
    Err(WorkloadError::key(key, format!("{bytes} B is not a possible flow size"), "sizes are 1 B to 2^60 B"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use fanin_engine::Streams;

    fn empirical(sizes: &SizeDistribution, n: u32) -> f64 {
        let mut stream = Streams::new(11).stream("test", 0);
        (0..n).map(|_| sizes.sample(&mut stream) as f64).sum::<f64>() / f64::from(n)
    }

    #[test]
    fn means_are_those_of_what_is_drawn() {
        let cdf = |name| SizeDistribution::Cdf(Cdf::built_in(name).unwrap());
        // Relative tolerances are 4 standard errors of the mean of 400,000 draws or more.
        for (sizes, mean, within) in [
            (SizeDistribution::Fixed(4000), 4000.0, 1e-12),
            (SizeDistribution::UniformOf(vec![2000, 4000, 8000]), 14000.0 / 3.0, 4e-3),
            (SizeDistribution::Uniform { min: 1, max: 2 }, 1.5, 2.5e-3),
            (SizeDistribution::Uniform { min: 10, max: 1000 }, 505.0, 4e-3),
            (SizeDistribution::Pareto { mean: 3, shape: 4.0, cap: None }, 3.0, 3e-3),
            // E[min(X, 40)] with x_min = 10: 10 + 10^1.5 * (10^-0.5 - 40^-0.5) / 0.5 = 20.
            (SizeDistribution::Pareto { mean: 30, shape: 1.5, cap: Some(40) }, 20.0, 4e-3),
            // Whole numbers from each point to the next, equally likely, 0 counted as 1.
            (cdf("WebSearch"), 1_711_249.500015, 2e-2),
            (cdf("FB_Hadoop"), 120420.2501, 3e-2),
            (cdf("AliStorage"), 40869.300057325, 2e-2),
        ] {
            sizes.check().unwrap();
            assert!((sizes.mean() / mean - 1.0).abs() < 1e-9, "{sizes:?}: {} is not {mean}", sizes.mean());
            let drawn = empirical(&sizes, 400_000);
            assert!((drawn / sizes.mean() - 1.0).abs() < within, "{sizes:?}: drew {drawn}, mean {}", sizes.mean());
        }
    }

    #[test]
    fn each_listed_size_is_drawn_equally_often() {
        let sizes = SizeDistribution::UniformOf(vec![2000, 4000, 8000]);
        let mut stream = Streams::new(5).stream("test", 0);
        let mut counts = [0u32; 3];
        for _ in 0..30_000 {
            let drawn = sizes.sample(&mut stream);
            counts[[2000, 4000, 8000].iter().position(|s| *s == drawn).unwrap()] += 1;
        }
        assert!(counts.iter().all(|c| c.abs_diff(10_000) < 350), "{counts:?}");
    }

    #[test]
    fn the_cap_is_the_largest_draw_and_the_tail_has_its_weight() {
        let sizes = SizeDistribution::Pareto { mean: 30_000, shape: 1.5, cap: Some(40_000) };
        let mut stream = Streams::new(5).stream("test", 0);
        let drawn: Vec<u64> = (0..100_000).map(|_| sizes.sample(&mut stream)).collect();
        assert!(drawn.iter().all(|s| (10_000..=40_000).contains(s)));
        // P(X > 40,000) = (1 / 4)^1.5 = 1 / 8.
        let capped = drawn.iter().filter(|s| **s == 40_000).count();
        assert!(capped.abs_diff(12_500) < 420, "{capped}");
    }

    #[test]
    fn unsound_parameters_are_named() {
        for (sizes, key) in [
            (SizeDistribution::Fixed(0), "size.fixed"),
            (SizeDistribution::Fixed(ENDLESS + 1), "size.fixed"),
            (SizeDistribution::UniformOf(vec![]), "size.uniform_of"),
            (SizeDistribution::UniformOf(vec![5, 0]), "size.uniform_of"),
            (SizeDistribution::Uniform { min: 0, max: 9 }, "size.uniform.min"),
            (SizeDistribution::Uniform { min: 10, max: 9 }, "size.uniform.max"),
            (SizeDistribution::Pareto { mean: 100, shape: 1.0, cap: None }, "size.pareto.shape"),
            (SizeDistribution::Pareto { mean: 100, shape: f64::NAN, cap: None }, "size.pareto.shape"),
            (SizeDistribution::Pareto { mean: 100, shape: f64::INFINITY, cap: None }, "size.pareto.shape"),
            (SizeDistribution::Pareto { mean: 10, shape: 1.01, cap: None }, "size.pareto.mean"),
            (SizeDistribution::Pareto { mean: 100, shape: 2.0, cap: Some(50) }, "size.pareto.cap"),
        ] {
            let error = sizes.check().unwrap_err();
            assert!(matches!(error, WorkloadError::Key { key: k, .. } if k == key), "{sizes:?}: {error}");
        }
    }
}
