//! The bounds of keys. They are declared at the key, as keywords of its schema, and checked from there.
//!
//! Numbers have JSON schema's own keywords. Values with units are text, and theirs are `least`, `above`, `most` and
//! `below`. `wrong` is the error outside of them: the problem, a semicolon and the correction, with `{}` for the value.

use super::checker::Checker;
use super::read::schema_value;
use super::source::key_in;
use fanin_units::{Bytes, Time};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Value, json};
use std::cmp::Ordering;

/// Whether a value that compares to a bound like this is within it.
type Within = fn(Ordering) -> bool;

/// The keywords of bounds.
const KEYWORDS: [(&str, Within); 8] = [
    ("minimum", Ordering::is_ge),
    ("exclusiveMinimum", Ordering::is_gt),
    ("maximum", Ordering::is_le),
    ("exclusiveMaximum", Ordering::is_lt),
    ("least", Ordering::is_ge),
    ("above", Ordering::is_gt),
    ("most", Ordering::is_le),
    ("below", Ordering::is_lt),
];

impl Checker<'_> {
    /// Whether all keys of the table at `path` are within their bounds. Adds a problem for each that is not.
    pub fn bounds<T: Serialize + JsonSchema>(&mut self, path: &str, table: &T) -> bool {
        self.within::<T>(path, &json!(table))
    }

    /// The same for the key at `path`, where the other keys of its table, which is of the type `T`, do not count.
    pub fn bound<T: JsonSchema>(&mut self, path: &str, value: impl Serialize) -> bool {
        let (table, key) = path.rsplit_once('.').unwrap_or(("", path));
        self.within::<T>(table, &json!({ key: value }))
    }

    fn within<T: JsonSchema>(&mut self, path: &str, keys: &Value) -> bool {
        let found = outside(keys, &T::schema_name(), &schema_value());
        for (key, wrong) in &found {
            let (problem, right) = wrong.split_once("; ").unwrap_or((wrong, ""));
            self.fail(&key_in(path, key), problem, right);
        }
        found.is_empty()
    }
}

/// The keys that are outside of their bounds, each with its error. `table` names the definition in the schema `root`.
pub(super) fn outside(keys: &Value, table: &str, root: &Value) -> Vec<(String, String)> {
    let mut table = root["$defs"].get(table).unwrap_or(root);
    let is_kind = |kind: &&Value| kind["properties"]["kind"]["const"] == keys["kind"];
    table = table["oneOf"].as_array().and_then(|kinds| kinds.iter().find(is_kind)).unwrap_or(table);
    let mut found = Vec::new();
    for (key, value) in keys.as_object().into_iter().flatten() {
        let declared = &table["properties"][key];
        // A value that cannot be compared with a limit, like "off", is within it.
        let compared = |keyword| declared.get(keyword).and_then(|limit| compared(value, limit));
        if let Some(wrong) = declared["wrong"].as_str()
            && KEYWORDS.iter().any(|(keyword, within)| compared(*keyword).is_some_and(|order| !within(order)))
        {
            found.push((key.clone(), wrong.replace("{}", &shown(value))));
        }
    }
    found
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
