//! Quantities as people write them: "10 Gbps", "22.5 KB", "5 us". Exact decimal arithmetic, no floats.

use crate::{Bytes, Rate, Time};
use alloc::format;
use alloc::string::String;
use core::fmt;
use core::str::FromStr;

/// Why a text is no quantity. Its display names what would be right.
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

const TIME: Units = &[("s", 1_000_000_000_000), ("ms", 1_000_000_000), ("us", 1_000_000), ("ns", 1_000), ("ps", 1)];
const RATE: Units = &[
    ("Tbps", 1_000_000_000_000),
    ("Gbps", 1_000_000_000),
    ("Mbps", 1_000_000),
    ("Kbps", 1_000),
    ("bps", 1),
    ("Tb/s", 1_000_000_000_000),
    ("Gb/s", 1_000_000_000),
    ("Mb/s", 1_000_000),
    ("Kb/s", 1_000),
    ("b/s", 1),
];
const SIZE: Units = &[
    ("GB", 1_000_000_000),
    ("MB", 1_000_000),
    ("KB", 1_000),
    ("B", 1),
    ("GiB", 1 << 30),
    ("MiB", 1 << 20),
    ("KiB", 1 << 10),
];

fn parse(text: &str, units: Units, what: &str, example: &str) -> Result<u64, UnitError> {
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
    let Some(&(_, scale)) = units.iter().find(|(name, _)| *name == unit) else {
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
    ($type:ty, $units:expr, $what:literal, $example:literal, $get:expr, $make:expr) => {
        impl FromStr for $type {
            type Err = UnitError;
            fn from_str(text: &str) -> Result<Self, UnitError> {
                parse(text, $units, $what, $example).map($make)
            }
        }
        impl fmt::Display for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                let get: fn(&$type) -> u64 = $get;
                show(get(self), $units, f)
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
                    "pattern": r"^\s*[0-9][0-9_]*(\.[0-9]+)?\s*[A-Za-z/]+\s*$",
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
