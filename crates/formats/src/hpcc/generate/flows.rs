//! Flows: Poisson arrivals to a load, permutations, incasts.

use crate::hpcc::{Flow, SizeCdf};
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// Most flows of a file, so that it is generated in acceptable time.
const MAX_FLOWS: f64 = 1e8;

/// Queue and port of background traffic there.
const PG: u8 = 3;
const BACKGROUND: u16 = 100;
const INCAST: u16 = 200;

/// Background traffic as in that simulator's `traffic_gen.py`: flows leave each host with exponential gaps, to a
/// uniformly random other host, with sizes of a distribution. The mean gap is chosen such that the payload (without
/// headers) is the share `load` of a host's link.
///
/// The differences are intended. The script writes an estimate of the count and overwrites it in place, so that digits
/// of a longer estimate remain; here the count is right. It drops a host's flow once it sees that the host's *next* one
/// comes too late, so every host lacks its last flow; here all flows that start in time are included. It cannot be
/// seeded; here each host draws from its own stream, by seed and host. It truncates each gap to whole nanoseconds; here
/// the sum is truncated.
#[derive(Clone, Debug, PartialEq)]
pub struct Poisson<'a> {
    /// Hosts 0 to this (exclusive).
    pub hosts: u32,
    /// Share of a host's link.
    pub load: f64,
    /// Bits per second of a host's link.
    pub rate: u64,
    /// Sizes.
    pub sizes: &'a SizeCdf,
    /// Start of the traffic, ns; by convention 2 s in that simulator.
    pub start: u64,
    /// Length of the traffic, ns.
    pub duration: u64,
    /// Seed of the random draws.
    pub seed: u64,
}

impl Poisson<'_> {
    /// The flows, ascending in start, then in source.
    ///
    /// # Errors
    /// If the parameters are impossible.
    pub fn flows(&self) -> Result<Vec<Flow>, String> {
        let Self { hosts, load, rate, sizes, start, duration, seed } = *self;
        two(hosts)?;
        if !(load > 0.0 && load <= 1000.0) || rate == 0 {
            return Err(format!("a load of {load} at {rate} b/s; both are above 0, and a load of 1 is a full link"));
        }
        // Nanoseconds between flows of a host: mean bits over their share of the rate.
        let gap = sizes.mean() * 8e9 / (rate as f64 * load);
        if gap <= 0.0 {
            return Err("sizes with a mean of 0 bytes".into());
        }
        let expected = hosts as f64 * (duration as f64 / gap);
        if expected > MAX_FLOWS {
            return Err(format!("about {expected:.0} flows; shorten the traffic to at most {MAX_FLOWS:.0}"));
        }
        if start.checked_add(duration).is_none_or(|end| end > i64::MAX as u64) {
            return Err(format!("traffic until {start} + {duration} ns, beyond the range of the clock"));
        }
        let mut arrivals = Vec::with_capacity(expected as usize);
        for src in 0..hosts {
            let mut draws = Draws::new(seed, src as u64);
            let mut at = draws.exponential(gap);
            while at <= duration as f64 {
                let other = draws.below(hosts as u64 - 1) as u32;
                let dst = other + u32::from(other >= src);
                let bytes = (sizes.quantile(draws.unit()) as u64).max(1);
                arrivals.push((start + at as u64, src, dst, bytes));
                at += draws.exponential(gap);
            }
        }
        arrivals.sort_unstable_by_key(|(at, src, ..)| (*at, *src));
        let flow = |(at, src, dst, bytes)| background(src, dst, bytes, at);
        Ok(arrivals.into_iter().map(flow).collect())
    }
}

/// Every host sends one flow and receives one, all at `start` (ns): hosts are in a random cycle, each sending to the
/// next. Flows are listed in random order.
///
/// # Errors
/// If the parameters are impossible.
pub fn permutation(hosts: u32, bytes: u64, start: u64, seed: u64) -> Result<Vec<Flow>, String> {
    two(hosts)?;
    check_bytes(bytes)?;
    let circle = Draws::new(seed, u64::MAX).shuffled(hosts);
    let next = circle.iter().cycle().skip(1);
    Ok(circle.iter().zip(next).map(|(src, dst)| background(*src, *dst, bytes, start)).collect())
}

/// `senders` random hosts send to `receiver`, one flow each, all at `start` (ns).
///
/// # Errors
/// If the parameters are impossible.
pub fn incast(hosts: u32, receiver: u32, senders: u32, bytes: u64, start: u64, seed: u64) -> Result<Vec<Flow>, String> {
    two(hosts)?;
    check_bytes(bytes)?;
    if receiver >= hosts || senders == 0 || senders >= hosts {
        return Err(format!("{senders} senders to host {receiver}; of {hosts} hosts 1 to {} can send", hosts - 1));
    }
    let others = Draws::new(seed, u64::MAX).shuffled(hosts - 1).into_iter().map(|at| at + u32::from(at >= receiver));
    let flow = |src| Flow { dport: INCAST, ..background(src, receiver, bytes, start) };
    Ok(others.take(senders as usize).map(flow).collect())
}

fn background(src: u32, dst: u32, bytes: u64, at: u64) -> Flow {
    // The nearest number to the nine decimals in the file.
    Flow { src, dst, pg: PG, dport: BACKGROUND, bytes, start: at as f64 / 1e9 }
}

fn two(hosts: u32) -> Result<(), String> {
    match hosts {
        2..=65_536 => Ok(()),
        _ => Err(format!("{hosts} hosts; flows are for 2 to 65536")),
    }
}

fn check_bytes(bytes: u64) -> Result<(), String> {
    if bytes == 0 { Err("flows of 0 bytes; they have at least 1".into()) } else { Ok(()) }
}

/// A random stream of one entity and seed.
struct Draws(Xoshiro256PlusPlus);

impl Draws {
    fn new(seed: u64, entity: u64) -> Self {
        // SplitMix64's finaliser, so that streams of neighbouring entities are independent.
        let mut z = seed ^ entity.wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        Self(Xoshiro256PlusPlus::seed_from_u64(z ^ (z >> 31)))
    }

    /// Uniform in [0, 1), a multiple of 2^-53.
    fn unit(&mut self) -> f64 {
        (self.0.next_u64() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
    }

    /// Exponentially distributed with this mean.
    fn exponential(&mut self, mean: f64) -> f64 {
        -mean * libm::log(1.0 - self.unit())
    }

    /// Uniform in 0..n for n from 1, without bias (Lemire).
    fn below(&mut self, n: u64) -> u64 {
        let reject_below = n.wrapping_neg() % n;
        loop {
            let product = self.0.next_u64() as u128 * n as u128;
            if product as u64 >= reject_below {
                return (product >> 64) as u64;
            }
        }
    }

    /// 0..n in random order (Fisher-Yates).
    fn shuffled(&mut self, n: u32) -> Vec<u32> {
        let mut all: Vec<u32> = (0..n).collect();
        for i in (1..all.len()).rev() {
            all.swap(i, self.below(i as u64 + 1) as usize);
        }
        all
    }
}
