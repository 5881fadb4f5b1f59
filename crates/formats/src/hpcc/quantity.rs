//! Rates, delays and times as the ns-3 core reads and rounds them.

use crate::text::real;

/// A delay of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Delay {
    /// As that simulator has it: nanoseconds, rounded down twice (see [`nanoseconds`]).
    pub ns: u64,
    /// As the file has it: picoseconds, to the nearest.
    pub ps: u64,
}

impl Delay {
    /// Whole nanoseconds, which are the same for both.
    pub const fn from_ns(ns: u64) -> Self {
        Self { ns, ps: ns * 1000 }
    }
}

/// Units of a rate, and their values in bits per second.
const RATES: &[(&str, f64)] = &[
    ("bps", 1.0),
    ("b/s", 1.0),
    ("Bps", 8.0),
    ("B/s", 8.0),
    ("kbps", 1e3),
    ("kb/s", 1e3),
    ("Kbps", 1e3),
    ("Kb/s", 1e3),
    ("kBps", 8e3),
    ("kB/s", 8e3),
    ("KBps", 8e3),
    ("KB/s", 8e3),
    ("Kib/s", 1024.0),
    ("KiB/s", 8192.0),
    ("Mbps", 1e6),
    ("Mb/s", 1e6),
    ("MBps", 8e6),
    ("MB/s", 8e6),
    ("Mib/s", 1048576.0),
    ("MiB/s", 8388608.0),
    ("Gbps", 1e9),
    ("Gb/s", 1e9),
    ("GBps", 8e9),
    ("GB/s", 8e9),
    ("Gib/s", 1073741824.0),
    ("GiB/s", 8589934592.0),
];

/// Largest rate in bits per second: far above any link, and far below an overflow of 64-bit products.
const MAX_RATE: f64 = 1e15;

/// Ten seconds in nanoseconds, the largest delay of a link.
const MAX_DELAY: u64 = 10_000_000_000;

/// Bits per second of a rate like `100Gbps`, `50Mb/s` or `1000000`.
///
/// # Errors
/// The problem and the correction.
pub fn rate(word: &str) -> Result<u64, String> {
    // ns-3: digits and dots, then the unit; no unit is bits per second.
    let end = word.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(word.len());
    let (number, unit) = word.split_at(end);
    let bits = match (real(number.as_bytes()), unit) {
        (Some(value), "") => Some(value),
        (Some(value), unit) => RATES.iter().find(|(name, _)| *name == unit).map(|(_, bits)| value * bits),
        (None, _) => None,
    };
    match bits {
        Some(bits) if bits <= MAX_RATE => Ok(bits as u64),
        Some(_) => Err("more than 10^15 bits per second".into()),
        None => Err("no rate; one is like 100Gbps, 50Mb/s or 1000000000bps".into()),
    }
}

/// A delay like `1000ns`, `0.001ms` or `1us`; without a unit it is in seconds.
///
/// # Errors
/// The problem and the correction.
pub fn delay(word: &str) -> Result<Delay, String> {
    const WRONG: &str = "no delay; one is like 1000ns, 1us or 0.001ms";
    let end = word.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(word.len());
    let (number, unit) = word.split_at(end);
    let value = real(number.as_bytes()).ok_or(WRONG)?;
    // What that simulator reads, and picoseconds of the unit.
    let (ns, ps) = match unit {
        "" | "s" => (scaled(value, 1_000_000_000), 1e12),
        "ms" => (scaled(value, 1_000_000), 1e9),
        "us" => (scaled(value, 1000), 1e6),
        "ns" => (scaled(value, 1), 1e3),
        "ps" => (scaled(value, 1).map(|ps| ps / 1000), 1.0),
        "fs" => (scaled(value, 1).map(|fs| fs / 1_000_000), 1e-3),
        _ => return Err(WRONG.into()),
    };
    let hint = if unit.is_empty() { " (without a unit it is in seconds)" } else { "" };
    let ns = ns.filter(|ns| *ns <= MAX_DELAY).ok_or_else(|| format!("more than 10 s{hint}; {}", &WRONG[10..]))?;
    // Below 2^53, where every whole number has its own value.
    Ok(Delay { ns, ps: (value * ps).round() as u64 })
}

/// A time in seconds as whole nanoseconds in that simulator; `None` if it is out of range.
///
/// It stores seconds as a fixed-point number with 64 binary digits after the point and rounds down twice, so that
/// 2.000040 s is 2,000,039,999 ns.
pub fn nanoseconds(seconds: f64) -> Option<u64> {
    scaled(seconds, 1_000_000_000)
}

/// `value` times `factor`, rounded down as in [`nanoseconds`].
fn scaled(value: f64, factor: u64) -> Option<u64> {
    if !(0.0..9.2e18).contains(&value) {
        return None;
    }
    let whole = value as u64;
    // Exact: the remainder has fewer digits than the value, and 2^64 changes only the exponent.
    let fraction = ((value - whole as f64) * 18_446_744_073_709_551_616.0) as u64;
    let below = (fraction as u128 * factor as u128) >> 64;
    whole.checked_mul(factor)?.checked_add(below as u64).filter(|ns| *ns <= i64::MAX as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_those_of_ns3() {
        for (word, bits) in [
            ("100Gbps", 100_000_000_000),
            ("50Mb/s", 50_000_000),
            ("1000Mb/s", 1_000_000_000),
            ("2.5Gbps", 2_500_000_000),
            ("1MBps", 8_000_000),
            ("1KiB/s", 8192),
            ("1GiB/s", 8_589_934_592),
            ("12", 12),
            ("0bps", 0),
            ("1.9bps", 1),
        ] {
            assert_eq!(rate(word), Ok(bits), "{word}");
        }
        for word in ["", "fast", "100", "Gbps", "1e9bps", "-5Mbps", "10gbps", "1.2.3Gbps", "10000000Gbps", "1 Gbps"] {
            assert_eq!(rate(word).is_ok(), word == "100", "{word}");
        }
    }

    #[test]
    fn delays_and_times_are_rounded_down_twice() {
        for (word, ns) in [
            ("1000ns", 1000),
            ("0.001ms", 1000),
            ("1us", 1000),
            ("1.5us", 1500),
            ("2000ps", 2),
            ("0", 0),
            ("0.000001", 999),
            ("0.000001s", 999),
            ("1.9ns", 1),
            ("0.000025ms", 24),
            ("0.00033ms", 329),
        ] {
            assert_eq!(delay(word).map(|delay| delay.ns), Ok(ns), "{word}");
        }
        for (word, ps) in [
            ("0.000025ms", 25_000),
            ("0.00033ms", 330_000),
            ("0.000001s", 1_000_000),
            ("0.0005ms", 500_000),
            ("1.9ns", 1900),
            ("2000ps", 2000),
            ("1500fs", 2),
            ("10s", 10_000_000_000_000),
        ] {
            assert_eq!(delay(word).map(|delay| delay.ps), Ok(ps), "{word}");
        }
        for word in ["", "1000", "us", "1e3ns", "-1us", "11s", "1usec", "99999999999999999999999s"] {
            assert!(delay(word).is_err(), "{word}");
        }
        assert!(delay("1000").unwrap_err().contains("without a unit"));
        // Observed in runs of that simulator.
        assert_eq!(nanoseconds(2.000040), Some(2_000_039_999));
        assert_eq!(nanoseconds(2.000020), Some(2_000_020_000));
        assert_eq!([nanoseconds(-1.0), nanoseconds(f64::NAN), nanoseconds(1e10), nanoseconds(1e300)], [None; 4]);
    }
}
