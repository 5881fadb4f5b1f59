//! Named random streams: one per purpose and entity, so that adding a component shifts no other draw.

use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// Mixes two words into one; a bijection in each when the other is fixed (the finaliser of SplitMix64).
#[inline(always)]
pub const fn mix(a: u64, b: u64) -> u64 {
    let mut z = a ^ b.wrapping_mul(0x9E37_79B9_7F4A_7C15);
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

/// The root of all randomness of a run.
#[derive(Clone, Copy, Debug)]
pub struct Streams {
    seed: u64,
}

impl Streams {
    /// All streams of a run with this root seed.
    pub const fn new(seed: u64) -> Self {
        Self { seed }
    }

    /// The root seed.
    pub const fn seed(&self) -> u64 {
        self.seed
    }

    /// The word that seeds a stream: hash(root seed, purpose, entity).
    pub fn word(&self, purpose: &str, entity: u64) -> u64 {
        // FNV-1a over the name, then two rounds of mixing.
        let name =
            purpose.bytes().fold(0xCBF2_9CE4_8422_2325_u64, |h, b| (h ^ b as u64).wrapping_mul(0x0000_0100_0000_01B3));
        mix(mix(self.seed, name), entity)
    }

    /// The stream of one purpose and entity (a port, a host, a traffic).
    pub fn stream(&self, purpose: &str, entity: u64) -> Stream {
        Stream(Xoshiro256PlusPlus::seed_from_u64(self.word(purpose, entity)))
    }
}

/// One stream of draws: xoshiro256++.
#[derive(Clone, Debug)]
pub struct Stream(Xoshiro256PlusPlus);

impl Stream {
    /// 64 random bits.
    #[inline]
    pub fn bits(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// Uniform in [0, 1), a multiple of 2^-53.
    #[inline]
    pub fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
    }

    /// Uniform in 0..n without bias; 0 when n is 0.
    #[inline]
    pub fn below(&mut self, n: u64) -> u64 {
        if n == 0 {
            return 0;
        }
        // Lemire's method: the high word of a product, with the few biased low words drawn again.
        let reject_below = n.wrapping_neg() % n;
        loop {
            let product = self.bits() as u128 * n as u128;
            if product as u64 >= reject_below {
                return (product >> 64) as u64;
            }
        }
    }

    /// True with probability p.
    #[inline]
    pub fn chance(&mut self, p: f64) -> bool {
        self.unit() < p
    }

    /// Exponentially distributed with this mean.
    pub fn exponential(&mut self, mean: f64) -> f64 {
        // 1 - unit() is in (0, 1], so the logarithm is finite.
        -mean * libm::log(1.0 - self.unit())
    }

    /// Puts a slice into random order (Fisher-Yates).
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for i in (1..items.len()).rev() {
            items.swap(i, self.below(i as u64 + 1) as usize);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_are_named_and_repeat() {
        let a = Streams::new(1);
        assert_eq!(a.stream("ecn", 3).bits(), a.stream("ecn", 3).bits());
        assert_ne!(a.stream("ecn", 3).bits(), a.stream("ecn", 4).bits());
        assert_ne!(a.stream("ecn", 3).bits(), a.stream("loss", 3).bits());
        assert_ne!(a.stream("ecn", 3).bits(), Streams::new(2).stream("ecn", 3).bits());
    }

    #[test]
    fn draws_have_the_right_mean() {
        let mut s = Streams::new(7).stream("test", 0);
        let n = 200_000;
        let unit: f64 = (0..n).map(|_| s.unit()).sum::<f64>() / n as f64;
        assert!((unit - 0.5).abs() < 0.005, "{unit}");
        let exponential: f64 = (0..n).map(|_| s.exponential(3.0)).sum::<f64>() / n as f64;
        assert!((exponential - 3.0).abs() < 0.05, "{exponential}");
        let mut counts = [0u32; 7];
        for _ in 0..n {
            counts[s.below(7) as usize] += 1;
        }
        assert!(counts.iter().all(|c| (*c as f64 - n as f64 / 7.0).abs() < 0.03 * n as f64 / 7.0), "{counts:?}");
        assert_eq!(s.below(0), 0);
        assert_eq!(s.below(1), 0);
    }
}
