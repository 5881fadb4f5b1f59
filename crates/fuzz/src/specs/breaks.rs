//! Mutates specs: their text and their values.

use super::corpus::corpus;
use crate::Mutator;
use toml::{Table, Value};

/// Numbers without a unit.
const WHOLE: &[i64] = &[
    0,
    1,
    2,
    3,
    -1,
    7,
    64,
    255,
    256,
    1000,
    65_535,
    65_536,
    1_000_000,
    100_000_000,
    1 << 31,
    1 << 32,
    i64::MAX,
    i64::MIN,
];
const FRACTIONS: &[f64] =
    &[0.0, -0.0, 0.5, 1.0, -1.0, 1e-300, 1e-9, 20.0, 1e9, 1e300, f64::NAN, f64::INFINITY, f64::NEG_INFINITY];
/// Numbers in front of units, and units.
const NUMBERS: &[&str] = &[
    "0",
    "1",
    "2",
    "3",
    "10",
    "64",
    "100",
    "1000",
    "65536",
    "999999999",
    "18446744073709551615",
    "0.001",
    "-1",
    "1e3",
    "",
];
const UNITS: &[&str] = &[
    "s", "ms", "us", "ns", "ps", "Tbps", "Gbps", "Mbps", "Kbps", "bps", "GB", "MB", "KB", "B", "KiB", "", "h",
    "parsecs",
];
const TEXTS: &[&str] = &[
    "",
    "off",
    "h0",
    "sw0",
    "sw0>h0",
    "last-hop",
    "tor-uplinks",
    "nowhere",
    "flows.csv",
    "links.csv",
    "topology.txt",
    "tree.topo",
    "sizes.txt",
    "trace.txt",
    "matrix.cm",
    "/dev/null",
    "..",
    "x:0",
    "\u{0}\n\r",
    "WebSearch",
    "computed",
];

/// A broken spec.
pub fn text(mutator: &mut Mutator) -> String {
    let corpus = corpus();
    let of = |mutator: &mut Mutator| mutator.below(corpus.len());
    let base = &corpus[of(mutator)];
    // A few are mutated as text only, like files edited by mistake.
    if mutator.one_in(8) {
        let seeds: Vec<Vec<u8>> = corpus.iter().map(|(text, _)| text.clone().into_bytes()).collect();
        return String::from_utf8_lossy(&mutator.input_of(base.0.as_bytes(), &seeds)).into_owned();
    }
    let mut root = Value::Table(base.1.clone());
    // Mostly one thing, so that many still run.
    let changes = if mutator.one_in(2) { 1 } else { 1 + mutator.below(4) };
    for _ in 0..changes {
        let other = Value::Table(corpus[of(mutator)].1.clone());
        change(&mut root, &other, mutator);
    }
    let written = toml::to_string(&root).unwrap_or_default();
    if mutator.one_in(12) {
        let seeds = [base.0.clone().into_bytes()];
        return String::from_utf8_lossy(&mutator.input_of(written.as_bytes(), &seeds)).into_owned();
    }
    written
}

/// A path in a document.
#[derive(Clone, Debug, PartialEq)]
enum Step {
    Key(String),
    Place(usize),
}

fn paths(value: &Value, at: &mut Vec<Step>, found: &mut Vec<Vec<Step>>) {
    if !at.is_empty() {
        found.push(at.clone());
    }
    let mut inside = |step: Step, value: &Value| {
        at.push(step);
        paths(value, at, found);
        at.pop();
    };
    match value {
        Value::Table(table) => table.iter().for_each(|(key, value)| inside(Step::Key(key.clone()), value)),
        Value::Array(items) => items.iter().enumerate().for_each(|(i, value)| inside(Step::Place(i), value)),
        _ => {}
    }
}

fn get<'v>(root: &'v mut Value, path: &[Step]) -> Option<&'v mut Value> {
    path.iter().try_fold(root, |value, step| match (value, step) {
        (Value::Table(table), Step::Key(key)) => table.get_mut(key),
        (Value::Array(items), Step::Place(i)) => items.get_mut(*i),
        _ => None,
    })
}

fn remove(root: &mut Value, path: &[Step]) {
    let Some((last, parent)) = path.split_last() else { return };
    match (get(root, parent), last) {
        (Some(Value::Table(table)), Step::Key(key)) => {
            table.remove(key);
        }
        (Some(Value::Array(items)), Step::Place(i)) if *i < items.len() => {
            items.remove(*i);
        }
        _ => {}
    }
}

/// Changes one thing.
fn change(root: &mut Value, other: &Value, mutator: &mut Mutator) {
    let mut known = Vec::new();
    paths(root, &mut Vec::new(), &mut known);
    if known.is_empty() {
        return;
    }
    let path = known[mutator.below(known.len())].clone();
    match mutator.below(24) {
        0 | 14 => remove(root, &path),
        1 => {
            // Two values change places.
            let second = known[mutator.below(known.len())].clone();
            let values = (get(root, &path).cloned(), get(root, &second).cloned());
            if let (Some(one), Some(two)) = values {
                put(root, &path, two);
                put(root, &second, one);
            }
        }
        2 => {
            // One value twice.
            let second = known[mutator.below(known.len())].clone();
            if let Some(value) = get(root, &second).cloned() {
                put(root, &path, value);
            }
        }
        3 | 10..=13 => {
            // The value of another spec under the same key, anywhere in it.
            let mut theirs = Vec::new();
            let mut other = other.clone();
            paths(&other, &mut Vec::new(), &mut theirs);
            let alike: Vec<_> = theirs.into_iter().filter(|their| their.last() == path.last()).collect();
            if !alike.is_empty()
                && let Some(value) = get(&mut other, &alike[mutator.below(alike.len())]).cloned()
            {
                put(root, &path, value);
            }
        }
        4 => {
            if let Some(Value::Table(table)) = get(root, &path[..path.len() - 1]) {
                let key = ["unknown", "kind", "size", "start", "every", "share", "hosts", ""][mutator.below(8)];
                let value = odd(mutator);
                table.insert(key.to_string(), value);
            }
        }
        5 => {
            // Lists with the same entry many times.
            if let Some(Value::Array(items)) = get(root, &path)
                && let Some(first) = items.first().cloned()
            {
                let times = [1, 2, 10, 100][mutator.below(4)];
                for number in 0..times {
                    let mut again = first.clone();
                    if let Value::Table(table) = &mut again
                        && table.contains_key("name")
                    {
                        table.insert("name".into(), Value::String(format!("again{number}")));
                    }
                    items.push(again);
                }
            }
        }
        6 => {
            let deep = (0..[1, 3, 60][mutator.below(3)]).fold(odd(mutator), |inner, _| Value::Array(vec![inner]));
            put(root, &path, deep);
        }
        7 => {
            let value = odd(mutator);
            put(root, &path, value);
        }
        8 | 9 => {
            let schemes = [
                "dcqcn",
                "dcqcn-win",
                "dctcp",
                "newreno",
                "cubic",
                "rcc",
                "ictcp",
                "hpcc",
                "hpcc-alpha",
                "timely",
                "expresspass",
                "dart",
                "infiniband",
                "none",
                "dctcp-rate",
            ];
            let scheme = schemes[mutator.below(schemes.len())];
            put(root, &[Step::Key("traffic".into()), Step::Place(0), Step::Key("scheme".into())], scheme.into());
        }
        _ => {
            // The same kind, another value.
            if let Some(value) = get(root, &path) {
                *value = like(value, mutator);
            }
        }
    }
}

fn put(root: &mut Value, path: &[Step], value: Value) {
    if let Some(at) = get(root, path) {
        *at = value;
    }
}

fn quantity(mutator: &mut Mutator, unit: &str) -> Value {
    let most = if mutator.one_in(3) { NUMBERS.len() } else { 10 };
    let number = NUMBERS[mutator.below(most)];
    let unit = if mutator.one_in(4) { UNITS[mutator.below(UNITS.len())] } else { unit };
    Value::String(format!("{number} {unit}"))
}

/// A value of the same kind.
fn like(value: &Value, mutator: &mut Mutator) -> Value {
    match value {
        Value::Integer(number) => Value::Integer(match mutator.below(4) {
            0 => number.wrapping_add(1),
            1 => number.wrapping_mul(2),
            _ => WHOLE[mutator.below(WHOLE.len())],
        }),
        Value::Float(number) => Value::Float(match mutator.below(4) {
            0 => number * 2.0,
            1 => number / 10.0,
            _ => FRACTIONS[mutator.below(FRACTIONS.len())],
        }),
        Value::Boolean(value) => Value::Boolean(!value),
        Value::String(text) => match text.trim().rsplit_once(' ') {
            Some((number, unit)) if number.starts_with(|c: char| c.is_ascii_digit()) => quantity(mutator, unit),
            _ => Value::String(TEXTS[mutator.below(TEXTS.len())].to_string()),
        },
        Value::Array(items) => {
            let keep = mutator.below(items.len() + 1);
            Value::Array(items[..keep].to_vec())
        }
        Value::Table(table) => {
            let keep = mutator.below(table.len() + 1);
            Value::Table(table.clone().into_iter().take(keep).collect())
        }
        Value::Datetime(_) => odd(mutator),
    }
}

/// Any value.
fn odd(mutator: &mut Mutator) -> Value {
    match mutator.below(8) {
        0 => Value::Integer(WHOLE[mutator.below(WHOLE.len())]),
        1 => Value::Float(FRACTIONS[mutator.below(FRACTIONS.len())]),
        2 => Value::Boolean(mutator.one_in(2)),
        3 => Value::String(TEXTS[mutator.below(TEXTS.len())].to_string()),
        4 => quantity(mutator, "us"),
        5 => Value::Array(Vec::new()),
        6 => Value::Table(Table::new()),
        _ => Value::String("x".repeat([1, 100, 20_000][mutator.below(3)])),
    }
}
