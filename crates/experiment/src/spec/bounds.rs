//! The bounds of keys. They are declared at the key, as keywords of its schema, and checked from there.
//!
//! Numbers have JSON schema's own keywords. Values with units are text, and theirs are `least`, `most` and `above`.
//! `wrong` is the error outside of them: the problem, a semicolon and the correction, with `{}` for the value.

use super::checker::Checker;
use super::read::schema_value;
use fanin_units::{Bytes, Time};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;
use std::cmp::Ordering;

impl Checker<'_> {
    /// Whether all keys of the table at `path` are within their bounds. Adds a problem for each that is not.
    pub fn bounds<T: Serialize + JsonSchema>(&mut self, path: &str, table: &T) -> bool {
        let values = serde_json::to_value(table).unwrap_or_default();
        let before = self.problems.len();
        for (key, value) in values.as_object().into_iter().flatten() {
            self.within(&T::schema_name(), values.get("kind"), &format!("{path}.{key}"), value);
        }
        self.problems.len() == before
    }

    /// The same for a single key of a table of the type `T`, whose other keys are checked elsewhere.
    pub fn bound<T: JsonSchema>(&mut self, path: &str, value: impl Serialize) -> bool {
        self.within(&T::schema_name(), None, path, &serde_json::to_value(value).unwrap_or_default())
    }

    /// The same for the key at `path`, of the table or kind of table with this definition.
    fn within(&mut self, table: &str, kind: Option<&Value>, path: &str, value: &Value) -> bool {
        let root = schema_value();
        let table = root["$defs"].get(table).unwrap_or(&root);
        let kinds = table["oneOf"].as_array().into_iter().flatten();
        let table = kinds.into_iter().find(|one| Some(&one["properties"]["kind"]["const"]) == kind).unwrap_or(table);
        let declared = &table["properties"][path.rsplit('.').next().unwrap_or(path)];
        let Some(wrong) = declared["wrong"].as_str().filter(|_| !fits(value, declared)) else { return true };
        let wrong = wrong.replace("{}", &shown(value));
        let (problem, right) = wrong.split_once("; ").unwrap_or((&wrong, ""));
        self.fail(path, problem, right);
        false
    }
}

/// Whether a value is within the bounds of a schema. One that cannot be compared with them, like "off", is.
fn fits(value: &Value, declared: &Value) -> bool {
    let holds = |keyword: &str, fits: fn(Ordering) -> bool| {
        declared.get(keyword).and_then(|limit| compared(value, limit)).is_none_or(fits)
    };
    holds("minimum", Ordering::is_ge)
        && holds("exclusiveMinimum", Ordering::is_gt)
        && holds("maximum", Ordering::is_le)
        && holds("exclusiveMaximum", Ordering::is_lt)
        && holds("least", Ordering::is_ge)
        && holds("above", Ordering::is_gt)
        && holds("most", Ordering::is_le)
}

/// How a value compares to a limit of its kind.
fn compared(value: &Value, limit: &Value) -> Option<Ordering> {
    match (value, limit) {
        (Value::String(value), Value::String(limit)) => match limit.parse::<Time>() {
            Ok(limit) => Some(value.parse::<Time>().ok()?.cmp(&limit)),
            Err(_) => Some(value.parse::<Bytes>().ok()?.cmp(&limit.parse().ok()?)),
        },
        _ => match (value.as_u64(), limit.as_u64()) {
            (Some(value), Some(limit)) => Some(value.cmp(&limit)),
            _ => value.as_f64()?.partial_cmp(&limit.as_f64()?),
        },
    }
}

/// A value as errors show it.
fn shown(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Number(number) if number.is_f64() => number.as_f64().unwrap_or_default().to_string(),
        other => other.to_string(),
    }
}
