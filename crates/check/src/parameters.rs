//! Random parameters of a scheme: numbers are scaled, and a value is kept if the scheme itself accepts it.

use fanin_cc::Settings;
use fanin_units::{Bytes, Rate, Time};
use proptest::prelude::*;
use serde_json::{Map, Value};

/// A table of parameters.
pub type Parameters = Map<String, Value>;

/// Factors as fractions, the mildest first.
const FACTORS: [(u64, u64); 12] =
    [(11, 10), (9, 10), (5, 4), (3, 4), (4, 3), (2, 3), (3, 2), (1, 2), (2, 1), (1, 3), (3, 1), (1, 4)];

/// One of the scheme's parameters is scaled by one of [`FACTORS`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Scaled {
    which: u16,
    factor: u8,
}

impl Scaled {
    /// The same parameter with a milder factor, if there is one.
    pub fn milder(self) -> Option<Self> {
        Some(Self { factor: self.factor.checked_sub(1)?, ..self })
    }
}

/// None in three of four cases, else up to three.
pub fn draws() -> impl Strategy<Value = Vec<Scaled>> {
    let one = (any::<u16>(), 0..FACTORS.len() as u8).prop_map(|(which, factor)| Scaled { which, factor });
    prop_oneof![3 => Just(Vec::new()), 1 => prop::collection::vec(one, 1..4)]
}

/// A scheme to check.
pub struct Subject<'a> {
    /// Makes it anew, with some of its parameters changed.
    pub make: &'a dyn Fn(&Parameters) -> Result<Settings, String>,
    /// Parameters that all cases have. Without these, all cases have the defaults, except that a quarter of the cases
    /// scale some.
    pub set: Option<Parameters>,
}

impl Subject<'_> {
    /// The parameters whose values can be scaled.
    ///
    /// # Errors
    /// Why it cannot be made.
    pub fn scalable(&self) -> Result<Vec<Vec<String>>, String> {
        let mut found = Vec::new();
        let made = (self.make)(self.set.as_ref().unwrap_or(&Map::new()))?;
        if self.set.is_none() {
            paths(&made.to_json(), &mut Vec::new(), &mut found);
        }
        Ok(found)
    }

    /// The changes that these draws make; those that the scheme does not accept are left out.
    pub fn changes(&self, scalable: &[Vec<String>], draws: &[Scaled]) -> Parameters {
        let mut changes = self.set.clone().unwrap_or_default();
        if scalable.is_empty() || draws.is_empty() {
            return changes;
        }
        let Ok(defaults) = (self.make)(&changes).map(|made| made.to_json()) else { return changes };
        for draw in draws {
            let path = &scalable[draw.which as usize % scalable.len()];
            let old = path.iter().try_fold(&defaults, |table, key| table.get(key));
            let Some(new) = old.and_then(|old| scaled(old, FACTORS[draw.factor as usize % FACTORS.len()])) else {
                continue;
            };
            let mut tried = changes.clone();
            put(&mut tried, path, new);
            if (self.make)(&tried).is_ok() {
                changes = tried;
            }
        }
        changes
    }
}

/// The paths of all values that can be scaled.
fn paths(value: &Value, path: &mut Vec<String>, found: &mut Vec<Vec<String>>) {
    if let Value::Object(table) = value {
        for (key, value) in table {
            path.push(key.clone());
            paths(value, path, found);
            path.pop();
        }
    } else if scaled(value, (2, 1)).is_some() {
        found.push(path.clone());
    }
}

fn put(table: &mut Parameters, path: &[String], value: Value) {
    match path {
        [] => {}
        [key] => {
            table.insert(key.clone(), value);
        }
        [key, rest @ ..] => {
            let inner = table.entry(key.clone()).or_insert_with(|| Value::Object(Map::new()));
            if let Value::Object(inner) = inner {
                put(inner, rest, value);
            }
        }
    }
}

/// A number, a time, a rate or a number of bytes times a factor; `None` for what is none of these, or the same then.
fn scaled(value: &Value, (times, by): (u64, u64)) -> Option<Value> {
    let whole = |n: u64| n.checked_mul(times).map(|n| n / by);
    let new = match value {
        Value::Number(n) if n.is_u64() => Value::from(whole(n.as_u64()?)?),
        Value::Number(n) if n.is_i64() => Value::from(n.as_i64()?.checked_mul(times as i64)? / by as i64),
        Value::Number(n) => Value::from(n.as_f64()? * times as f64 / by as f64),
        Value::String(text) => {
            let time = text.parse::<Time>().ok().map(|t| whole(t.as_ps()).map(|ps| Time::from_ps(ps).to_string()));
            let rate = || text.parse::<Rate>().ok().map(|r| whole(r.as_bps()).map(|n| Rate::from_bps(n).to_string()));
            let size = || text.parse::<Bytes>().ok().map(|b| whole(b.0).map(|n| Bytes(n).to_string()));
            Value::from(time.or_else(rate).or_else(size)??)
        }
        _ => return None,
    };
    (new != *value).then_some(new)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn numbers_and_texts_with_units_are_scaled_and_other_values_are_not() {
        let half = |value: Value| scaled(&value, (1, 2));
        assert_eq!(half(json!(7)), Some(json!(3)));
        assert_eq!(half(json!(-8)), Some(json!(-4)));
        assert_eq!(half(json!(0.25)), Some(json!(0.125)));
        assert_eq!(half(json!("55 us")), Some(json!("27.5 us")));
        assert_eq!(half(json!("40 Gbps")), Some(json!("20 Gbps")));
        assert_eq!(half(json!("3 KB")), Some(json!("1.5 KB")));
        for same in [json!(0), json!(true), json!("interval-end"), json!(null), json!([1])] {
            assert_eq!(half(same.clone()), None, "{same}");
        }
    }

    #[test]
    fn a_value_that_the_scheme_refuses_is_left_out() {
        let make = |changes: &Parameters| match changes.get("g").and_then(Value::as_f64) {
            Some(g) if g > 0.1 => Err("g is too large".to_string()),
            _ => fanin_cc::settings("dctcp", changes).map_err(|error| format!("{error:?}")),
        };
        let subject = Subject { make: &make, set: None };
        let scalable = subject.scalable().expect("it can be made");
        let g = scalable.iter().position(|path| *path == ["g"]).expect("it has a g") as u16;
        let factor = |times| FACTORS.iter().position(|factor| *factor == (times, 1)).expect("there is one") as u8;
        let changes = |times| subject.changes(&scalable, &[Scaled { which: g, factor: factor(times) }]);
        assert!(changes(3).is_empty(), "3/16 is more than 0.1");
        let mild = Scaled { which: g, factor: 0 };
        assert_eq!(Value::Object(subject.changes(&scalable, &[mild])), json!({ "g": 0.06875 }));
    }

    #[test]
    fn what_is_set_is_not_scaled() {
        let make = |changes: &Parameters| fanin_cc::settings("dctcp", changes).map_err(|error| format!("{error:?}"));
        let set: Parameters = [("g".to_string(), json!(0.5))].into_iter().collect();
        let subject = Subject { make: &make, set: Some(set.clone()) };
        assert!(subject.scalable().expect("it can be made").is_empty());
        assert_eq!(subject.changes(&[], &[Scaled { which: 0, factor: 0 }]), set);
    }
}
