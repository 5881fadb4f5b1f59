//! Quantities in text: "10 Gbps", "22.5 KB", "5 us". Exact decimal arithmetic, no floats.

use crate::{Bytes, Rate, Time};
use alloc::format;
use alloc::string::String;
use core::fmt;
use core::str::FromStr;

/// Why a text is not a quantity. Its message includes a correction.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct UnitError(String);

impl fmt::Display for UnitError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
impl core::error::Error for UnitError {}

/// Unit names with their size in the base unit; the first that divides a value is used to show it.
type Units = &'static [(&'static str, u64)];

/// The text form of one of the three quantities.
struct Kind {
    what: &'static str,
    example: &'static str,
    /// Names for displayed values, which error messages list.
    units: Units,
    /// The size of a unit under another name, if it is unambiguous.
    other_name: fn(&str) -> Option<u64>,
    /// The correction of a unit that is close to a valid one or ambiguous, given the number and the unit.
    instead: fn(&str, &str) -> Option<String>,
}

const TIME: Kind = Kind {
    what: "a time",
    example: "5 us",
    units: &[("s", 1_000_000_000_000), ("ms", 1_000_000_000), ("us", 1_000_000), ("ns", 1_000), ("ps", 1)],
    other_name: |unit| match unit {
        "sec" => Some(1_000_000_000_000),
        "msec" => Some(1_000_000_000),
        // The micro sign, and the Greek letter that looks the same.
        "usec" | "\u{b5}s" | "\u{3bc}s" => Some(1_000_000),
        "nsec" => Some(1_000),
        "psec" => Some(1),
        _ => None,
    },
    instead: |number, unit| {
        let small = unit.to_ascii_lowercase();
        match small.as_str() {
            "m" => Some(format!("m could be minutes or milliseconds; write \"{number} ms\" for the latter")),
            "min" | "h" => Some("simulated times are short; write it in s, ms or us".into()),
            "s" | "ms" | "us" | "ns" | "ps" => Some(format!("write \"{number} {small}\"")),
            _ => None,
        }
    },
};

const RATE: Kind = Kind {
    what: "a rate",
    example: "10 Gbps",
    units: &[("Tbps", 1_000_000_000_000), ("Gbps", 1_000_000_000), ("Mbps", 1_000_000), ("Kbps", 1_000), ("bps", 1)],
    other_name: |unit| {
        let per_second = ["bps", "b/s", "bit/s"].iter().find_map(|end| unit.strip_suffix(end))?;
        // No rate is in thousandths of a bit, so a small m means the same as a capital M.
        thousands(per_second).or_else(|| thousands(&per_second.to_ascii_uppercase()))
    },
    instead: |number, unit| {
        let amount = unit.trim_end_matches("bit").trim_end_matches('b').to_ascii_uppercase();
        if thousands(&amount).is_some() {
            return Some(format!("write \"{number} {amount}bps\""));
        }
        let prefix = ["Bps", "B/s", "BPS", "byte/s", "bytes/s"].iter().find_map(|end| unit.strip_suffix(end))?;
        let prefix = prefix.to_ascii_uppercase();
        thousands(&prefix)?;
        Some(match number.parse::<u32>() {
            Ok(number) => format!(
                "a large B is a byte and rates are in bits; write \"{} {prefix}bps\" for {number} {prefix}B a second, \
                 or \"{number} {prefix}bps\" if you meant bits",
                u64::from(number) * 8
            ),
            Err(_) => format!("a large B is a byte and rates are in bits; write it in {prefix}bps"),
        })
    },
};

const SIZE: Kind = Kind {
    what: "a size",
    example: "225 KB",
    units: &[
        ("TB", 1_000_000_000_000),
        ("GB", 1_000_000_000),
        ("MB", 1_000_000),
        ("KB", 1_000),
        ("B", 1),
        ("TiB", 1 << 40),
        ("GiB", 1 << 30),
        ("MiB", 1 << 20),
        ("KiB", 1 << 10),
    ],
    other_name: |unit| match unit {
        "kB" => Some(1_000),
        "kiB" => Some(1 << 10),
        "byte" | "bytes" => Some(1),
        _ => None,
    },
    instead: |number, unit| {
        let prefix = unit.to_ascii_uppercase();
        let prefix = ["IBIT", "BIT", "IB", "B"].iter().find_map(|end| prefix.strip_suffix(end)).unwrap_or(&prefix);
        thousands(prefix)?;
        if unit.ends_with(['b', 't']) {
            return Some(format!("a small b is a bit and sizes are in bytes; write \"{number} {prefix}B\""));
        }
        // A prefix alone.
        (!unit.ends_with('B') && !prefix.is_empty()).then(|| {
            format!("write \"{number} {prefix}B\" for powers of 1000 or \"{number} {prefix}iB\" for powers of 1024")
        })
    },
};

/// The factor of a prefix; without a prefix, 1.
fn thousands(prefix: &str) -> Option<u64> {
    match prefix {
        "" => Some(1),
        "k" | "K" => Some(1_000),
        "M" => Some(1_000_000),
        "G" => Some(1_000_000_000),
        "T" => Some(1_000_000_000_000),
        _ => None,
    }
}

fn parse(text: &str, kind: &Kind) -> Result<u64, UnitError> {
    let Kind { what, example, units, .. } = kind;
    let fail = |why: &str| Err(UnitError(format!("\"{text}\" is not {what}: {why}; write it like \"{example}\"")));
    let trimmed = text.trim();
    let split = trimmed.find(|c: char| !(c.is_ascii_digit() || c == '.' || c == '_')).unwrap_or(trimmed.len());
    let (number, unit) = (&trimmed[..split], trimmed[split..].trim());
    if number.is_empty() {
        return fail("it does not start with a number");
    }
    if unit.is_empty() {
        return fail("the unit is missing");
    }
    let named = units.iter().find(|(name, _)| *name == unit).map(|(_, scale)| *scale);
    let Some(scale) = named.or_else(|| (kind.other_name)(unit)) else {
        if let Some(instead) = (kind.instead)(number, unit) {
            return Err(UnitError(format!("\"{text}\" is not {what}: unknown unit \"{unit}\"; {instead}")));
        }
        let names: alloc::vec::Vec<&str> = units.iter().map(|(name, _)| *name).collect();
        return fail(&format!("unknown unit \"{unit}\" (known: {})", names.join(", ")));
    };
    let mut value: u128 = 0;
    let mut divisor: u128 = 1;
    let mut seen_point = false;
    let mut digits = 0;
    for c in number.chars() {
        match c {
            '.' if seen_point => return fail("it has two decimal points"),
            '.' => seen_point = true,
            '_' => {}
            _ => {
                digits += 1;
                if digits > 24 {
                    return fail("it has more than 24 digits");
                }
                value = value * 10 + (c as u8 - b'0') as u128;
                if seen_point {
                    divisor *= 10;
                }
            }
        }
    }
    if digits == 0 {
        return fail("it has no digits");
    }
    let scaled = value * scale as u128;
    if !scaled.is_multiple_of(divisor) {
        return fail(&format!("it is not a whole number of {}", units.iter().find(|u| u.1 == 1).map_or("", |u| u.0)));
    }
    match u64::try_from(scaled / divisor) {
        Ok(v) if v != u64::MAX => Ok(v),
        _ => fail("it is too large"),
    }
}

fn show(value: u64, units: Units, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    // At most three decimals in the largest unit that shows the value exactly.
    for &(name, scale) in units {
        if scale == 1 {
            break;
        }
        if value >= scale && (value as u128 * 1000).is_multiple_of(scale as u128) && !name.contains('i') {
            let thousandths = (value as u128 * 1000 / scale as u128) as u64;
            let (whole, part) = (thousandths / 1000, thousandths % 1000);
            if part == 0 {
                return write!(f, "{whole} {name}");
            }
            let digits = format!("{part:03}");
            return write!(f, "{whole}.{} {name}", digits.trim_end_matches('0'));
        }
    }
    let base = units.iter().find(|u| u.1 == 1).map_or("", |u| u.0);
    write!(f, "{value} {base}")
}

macro_rules! text {
    ($type:ty, $kind:expr, $what:literal, $example:literal, $get:expr, $make:expr) => {
        impl FromStr for $type {
            type Err = UnitError;
            fn from_str(text: &str) -> Result<Self, UnitError> {
                parse(text, &$kind).map($make)
            }
        }
        impl fmt::Display for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                let get: fn(&$type) -> u64 = $get;
                show(get(self), $kind.units, f)
            }
        }
        impl fmt::Debug for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(self, f)
            }
        }
        #[cfg(feature = "spec")]
        impl serde::Serialize for $type {
            fn serialize<S: serde::Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
                s.collect_str(self)
            }
        }
        #[cfg(feature = "spec")]
        impl<'de> serde::Deserialize<'de> for $type {
            fn deserialize<D: serde::Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
                struct Text;
                impl serde::de::Visitor<'_> for Text {
                    type Value = $type;
                    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                        f.write_str(concat!($what, " with its unit, like \"", $example, "\""))
                    }
                    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<$type, E> {
                        text.parse().map_err(E::custom)
                    }
                }
                d.deserialize_str(Text)
            }
        }
        #[cfg(feature = "spec")]
        impl schemars::JsonSchema for $type {
            fn schema_name() -> alloc::borrow::Cow<'static, str> {
                stringify!($type).into()
            }
            fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
                schemars::json_schema!({
                    "type": "string",
                    "description": concat!($what, " with its unit, like \"", $example, "\""),
                    "pattern": r"^\s*[0-9][0-9_]*(\.[0-9]+)?\s*[A-Za-z/\u00b5\u03bc]+\s*$",
                })
            }
        }
    };
}

text!(Time, TIME, "a time", "5 us", |t| t.as_ps(), Time::from_ps);
text!(Rate, RATE, "a rate", "10 Gbps", |r| r.as_bps(), Rate::from_bps);
text!(Bytes, SIZE, "a size", "225 KB", |b| b.get(), Bytes);

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;
    use proptest::prelude::*;

    #[test]
    fn people_write_quantities_with_units() {
        assert_eq!("5 us".parse(), Ok(Time::from_us(5)));
        assert_eq!("0.5us".parse(), Ok(Time::from_ns(500)));
        assert_eq!("10 Gbps".parse(), Ok(Rate::from_gbps(10)));
        assert_eq!("40 Mb/s".parse(), Ok(Rate::from_mbps(40)));
        assert_eq!("22.5 KB".parse(), Ok(Bytes(22_500)));
        assert_eq!("4 KiB".parse(), Ok(Bytes(4096)));
        assert_eq!("1_000 B".parse(), Ok(Bytes(1000)));
    }

    #[test]
    fn errors_say_what_would_be_right() {
        let error = "10".parse::<Rate>().unwrap_err().to_string();
        assert!(error.contains("unit is missing") && error.contains("10 Gbps"), "{error}");
        let error = "3 parsecs".parse::<Time>().unwrap_err().to_string();
        assert!(error.contains("unknown unit \"parsecs\"") && error.contains("us"), "{error}");
        for bad in [
            "",
            "us",
            ".",
            ". us",
            "1.2.3 us",
            "-5 us",
            "0.0001 ns",
            "99999999999999999999 s",
            "1.0000000000000000000000000 s",
            "1e3 us",
        ] {
            assert!(bad.parse::<Time>().is_err(), "{bad}");
        }
    }

    #[test]
    fn units_have_the_names_that_people_give_them() {
        for us in
            ["5us", "5 \u{b5}s", "5 \u{3bc}s", "5 usec", "5000 nsec", "5_000_000 psec", "0.005 msec", "0.000005 sec"]
        {
            assert_eq!(us.parse(), Ok(Time::from_us(5)), "{us}");
        }
        for gbps in ["10Gbps", "10 Gb/s", "10 Gbit/s", "10 gbps", "10 gb/s", "10000 mbps", "10000 Mbit/s", "0.01 Tb/s"]
        {
            assert_eq!(gbps.parse(), Ok(Rate::from_gbps(10)), "{gbps}");
        }
        for bps in ["2000 bit/s", "2 kbps", "2 Kbps", "2 kb/s", "2 kbit/s"] {
            assert_eq!(bps.parse(), Ok(Rate::from_bps(2000)), "{bps}");
        }
        for bytes in ["64 kB", "64KB", "64000 bytes", "0.064 MB"] {
            assert_eq!(bytes.parse(), Ok(Bytes(64_000)), "{bytes}");
        }
        assert_eq!("64 kiB".parse(), Ok(Bytes(65_536)));
        assert_eq!("1 TiB".parse(), Ok(Bytes(1 << 40)));
    }

    #[test]
    fn units_that_could_mean_two_things_are_refused_with_what_would_be_right() {
        for (text, right) in [
            ("64 kb", "write \"64 KB\""),
            ("64 Mbit", "write \"64 MB\""),
            ("64 KIb", "write \"64 KB\""),
            ("64 K", "write \"64 KB\" for powers of 1000 or \"64 KiB\" for powers of 1024"),
            ("64 M", "write \"64 MB\" for powers of 1000"),
            ("64 m", "for powers of 1000"),
            ("64 Gbps", "known: TB, GB"),
        ] {
            let error = text.parse::<Bytes>().unwrap_err().to_string();
            assert!(error.contains(right), "{error}");
        }
        for (text, right) in [
            ("10 GB/s", "write \"80 Gbps\" for 10 GB a second, or \"10 Gbps\" if you meant bits"),
            ("10 GBps", "write \"80 Gbps\""),
            ("1.5 MB/s", "write it in Mbps"),
            ("10 GB", "known: Tbps"),
            ("10 G", "write \"10 Gbps\""),
            ("10 Gbit", "write \"10 Gbps\""),
            ("10 gb", "write \"10 Gbps\""),
        ] {
            let error = text.parse::<Rate>().unwrap_err().to_string();
            assert!(error.contains(right), "{error}");
        }
        for (text, right) in [
            ("5 m", "write \"5 ms\""),
            ("5 US", "write \"5 us\""),
            ("5 mS", "write \"5 ms\""),
            ("5 min", "in s, ms or us"),
            ("5 KB", "known: s, ms"),
        ] {
            let error = text.parse::<Time>().unwrap_err().to_string();
            assert!(error.contains(right), "{error}");
        }
    }

    proptest! {
        #[test]
        fn display_reads_back(v in 0u64..u64::MAX) {
            prop_assert_eq!(Time::from_ps(v).to_string().parse::<Time>(), Ok(Time::from_ps(v)));
            prop_assert_eq!(Rate::from_bps(v).to_string().parse::<Rate>(), Ok(Rate::from_bps(v)));
            prop_assert_eq!(Bytes(v).to_string().parse::<Bytes>(), Ok(Bytes(v)));
        }

        #[test]
        fn any_text_is_a_quantity_or_an_error(text in ".{0,40}") {
            let _ = text.parse::<Time>();
            let _ = text.parse::<Rate>();
            let _ = text.parse::<Bytes>();
        }
    }
}
