//! That simulator's clock: whole nanoseconds, with every duration truncated separately.

/// Seconds as whole nanoseconds: the whole seconds exactly, the fraction through a fixed-point number of 64 fraction
/// bits and then truncated, so that a fraction which is a whole number of nanoseconds mostly comes out one short.
pub fn seconds(s: f64) -> u64 {
    let whole = s as u64;
    let fixed = ((s - whole as f64) * 18_446_744_073_709_551_616.0) as u64;
    whole * 1_000_000_000 + ((fixed as u128 * 1_000_000_000) >> 64) as u64
}

/// Transmission time of `bytes` at `rate` bits per second, in nanoseconds.
#[inline]
pub fn transmission(bytes: u32, rate: u64) -> u64 {
    seconds(bytes as f64 * 8.0 / rate as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_nanoseconds_come_out_one_short() {
        // exact 83.84, 21.8, 80, 8384
        assert_eq!(transmission(1048, 100_000_000_000), 83);
        assert_eq!(transmission(1090, 400_000_000_000), 21);
        assert_eq!(transmission(1000, 100_000_000_000), 79);
        assert_eq!(transmission(1048, 1_000_000_000), 8383);
        // exact 8,000: one of the few sizes that 1 Gb/s gets right is 513
        assert_eq!(transmission(1000, 1_000_000_000), 7999);
        assert_eq!(transmission(513, 1_000_000_000), 4104);
    }

    #[test]
    fn starts_keep_their_whole_seconds() {
        assert_eq!(seconds(2.0), 2_000_000_000);
        assert_eq!(seconds(2.000040), 2_000_039_999);
        assert_eq!(seconds(2.000020), 2_000_020_000);
    }
}
