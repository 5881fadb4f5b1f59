//! Division by multiplication with a stored 1/n (4.3).

/// The largest n: the table is for 1 to 2^22.
pub const MOST_N: u32 = 1 << 22;
/// Epsilon, in millionths.
const EPSILON: u64 = 4_200;
/// n of a divisor of 1.
const ONE: f64 = 16_384.0;

static TABLE: [f32; entries(EPSILON)] = fill(EPSILON);

/// The n stored after `n`, downwards: the first whose 1/n is larger by the factor 1 + epsilon (4.3).
const fn next(n: u64, epsilon: u64) -> u64 {
    let n_next = n * 1_000_000 / (1_000_000 + epsilon);
    if n_next < n { n_next } else { n - 1 }
}

/// Number of values stored with this epsilon, in millionths.
pub const fn entries(epsilon: u64) -> usize {
    let (mut n, mut count) = (MOST_N as u64, 0);
    while n > 0 {
        n = next(n, epsilon);
        count += 1;
    }
    count
}

/// The table of [`entries`] values, 1/n rising from 1/2^22 to 1: 4 bytes each.
pub const fn fill<const N: usize>(epsilon: u64) -> [f32; N] {
    let mut table = [0.0; N];
    let (mut n, mut at) = (MOST_N as u64, 0);
    while at < N {
        table[at] = 1.0 / n as f32;
        n = next(n, epsilon);
        at += 1;
    }
    table
}

/// A table's value for 1/n: the largest that is not above it.
pub fn lookup(table: &[f32], n: u32) -> f64 {
    // The value for n itself may be above 1/n by its last bit.
    const LAST_BIT: f64 = 1.0 / (1 << 22) as f64;
    let above = table.partition_point(|value| *value as f64 * n as f64 <= 1.0 + LAST_BIT);
    table[above.max(1) - 1] as f64
}

/// 1/k by the table.
pub fn reciprocal(k: f64) -> f64 {
    let n = (k * ONE + 0.5).clamp(1.0, MOST_N as f64) as u32;
    lookup(&TABLE, n) * ONE
}
