//! Checks a value against a JSON schema. Unlike a deserialiser, this finds all errors at once, and names each by its
//! path. It supports the part of JSON schema that the schema of specs uses.

use super::source::key_in;
use fanin_units::{Bytes, Rate, Time};
use serde_json::{Map, Value};

/// A mismatch between value and schema.
#[derive(Clone, Debug)]
pub struct Misfit {
    /// The path of the value.
    pub path: String,
    /// The problem.
    pub problem: String,
    /// The correction.
    pub right: String,
}

/// All mismatches between `value` and the schema `root`.
pub fn misfits(value: &Value, root: &Value) -> Vec<Misfit> {
    let mut walk = Walk { definitions: root.get("$defs").and_then(Value::as_object), found: Vec::new() };
    walk.value(value, root, "");
    walk.found
}

/// The problem with an unknown key.
pub const NO_KEY: &str = "unknown key";

/// Keys that were renamed, by their path without indices, with the present name.
const RENAMED: [(&str, &str); 7] = [
    ("network.buffer.resume_gap", "xon_offset"),
    ("traffic.pattern.pause", "think_time"),
    ("traffic.pattern.think", "service_time"),
    ("traffic.rdma.connection", "persistent"),
    ("measure.capture.file", "max_size"),
    ("measure.capture.snap", "snaplen"),
    ("measure.perfetto.file", "max_size"),
];

/// The present name of a renamed key.
fn renamed(path: &str) -> Option<&'static str> {
    let plain: String = path.split('[').map(|part| part.split_once(']').map_or(part, |(_, rest)| rest)).collect();
    RENAMED.iter().find(|(old, _)| *old == plain).map(|(_, new)| *new)
}

/// Keys that may also name what was loaded, and how that is done.
const LOADABLE: [&str; 2] = ["network.balancing", "network.discipline"];
const LOADING: &str = "; one of your own is loaded first, by --load FILE.py:CLASS or fanin.load_scheme";

/// Keys of a table that one of its other keys excludes: the path of the table, the key, the other one, and why.
const EXCLUDED: [(&str, &str, &str, &str); 5] = [
    ("network.buffer", "headroom", "credits", "credits need none: a packet is sent only where it fits"),
    ("network.buffer", "xon_offset", "credits", "it is PFC's, and with credits nothing is paused"),
    (
        "network.buffer",
        "alpha",
        "credits",
        "a dynamic threshold is that of a pool; with credits each class has its own",
    ),
    ("network.buffer", "pfc_alpha", "credits", "it is PFC's, and with credits nothing is paused"),
    ("network.buffer", "policy", "credits", "with credits no class loses packets for lack of buffer"),
];

/// Most names that an unknown one is compared with.
const MOST_COMPARED: usize = 10_000;

/// "did you mean ...", if one of `known` is similar to `word`; otherwise the list of all.
pub fn advice<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    let mut known: Vec<&str> = known.into_iter().collect();
    // A comparison costs the product of both lengths, and a short name is not a misspelling of a long one.
    let alike = |k: &&&str| k.len().abs_diff(word.len()) <= 1 + k.len() / 4;
    let near = known.iter().filter(alike).take(MOST_COMPARED).map(|k| (strsim::damerau_levenshtein(word, k), *k)).min();
    if let Some((distance, name)) = near
        && distance <= 1 + name.chars().count() / 4
    {
        return format!("did you mean \"{name}\"?");
    }
    let count = known.len();
    if count > 80 {
        // Of very many, only the first ones are put in order.
        known.select_nth_unstable(10);
        known.truncate(10);
    }
    known.sort_unstable();
    match count {
        0 => "leave it out".to_string(),
        1..=80 => format!("known: {}", known.join(", ")),
        n => format!("known: {}, ... ({n} in all)", known.join(", ")),
    }
}

/// A value in an error message.
fn show(value: &Value) -> String {
    match value {
        Value::Null => "nothing".into(),
        Value::Bool(_) | Value::Number(_) => value.to_string(),
        Value::String(text) if text.chars().count() > 60 => {
            format!("{:?}...", text.chars().take(60).collect::<String>())
        }
        Value::String(text) => format!("{text:?}"),
        Value::Array(_) => "a list".into(),
        Value::Object(_) => "a table".into(),
    }
}

struct Walk<'a> {
    definitions: Option<&'a Map<String, Value>>,
    found: Vec<Misfit>,
}

impl<'a> Walk<'a> {
    fn miss(&mut self, path: &str, problem: impl Into<String>, right: impl Into<String>) {
        self.found.push(Misfit { path: path.to_string(), problem: problem.into(), right: right.into() });
    }

    /// The schema itself, or the referenced one with its name.
    fn resolve(&self, schema: &'a Value) -> (&'a Value, &'a str) {
        let name = schema.get("$ref").and_then(Value::as_str).and_then(|path| path.strip_prefix("#/$defs/"));
        let found = name.and_then(|name| Some((self.definitions?.get(name)?, name)));
        found.unwrap_or((schema, ""))
    }

    fn value(&mut self, value: &Value, schema: &'a Value, path: &str) {
        let (schema, name) = self.resolve(schema);
        let unit_error = match (name, value) {
            ("Time", Value::String(text)) => text.parse::<Time>().err(),
            ("Rate", Value::String(text)) => text.parse::<Rate>().err(),
            ("Bytes", Value::String(text)) => text.parse::<Bytes>().err(),
            _ => None,
        };
        if let Some(error) = unit_error {
            // Its text is "problem; correction".
            let text = error.to_string();
            let (problem, right) = text.rsplit_once("; ").unwrap_or((&text, ""));
            return self.miss(path, problem, right);
        }
        if let Some(words) = self.words(schema) {
            return self.word(value, &words, path);
        }
        if branches(schema).is_some() {
            let mut flat = Vec::new();
            self.flatten(schema, &mut flat);
            return self.branch(value, &flat, path);
        }
        let types = types(schema);
        if !types.is_empty() && !types.iter().any(|t| is_type(value, t)) {
            let problem = format!("{} is not valid here", show(value));
            return self.miss(path, problem, self.wanted(&[schema]));
        }
        match value {
            Value::Object(values) => self.object(values, schema, path),
            Value::Array(items) => self.array(items, schema, path),
            Value::Number(number) => self.number(number, schema, path),
            _ => {}
        }
    }

    /// All branches of a schema, including those of nested branches.
    fn flatten(&self, schema: &'a Value, flat: &mut Vec<&'a Value>) {
        for branch in branches(schema).unwrap_or_default() {
            let inner = self.resolve(branch).0;
            if branches(inner).is_some() && self.words(inner).is_none() {
                self.flatten(inner, flat);
            } else {
                flat.push(branch);
            }
        }
    }

    /// The values of a schema with fixed string values.
    fn words(&self, schema: &'a Value) -> Option<Vec<&'a str>> {
        if let Some(word) = schema.get("const").and_then(Value::as_str) {
            return Some(vec![word]);
        }
        if let Some(words) = schema.get("enum").and_then(Value::as_array) {
            return words.iter().map(Value::as_str).collect();
        }
        let branches = branches(schema)?;
        let words: Option<Vec<Vec<&str>>> = branches.iter().map(|b| self.words(self.resolve(b).0)).collect();
        words.map(|words| words.concat())
    }

    /// The only value that a key of a table may have.
    fn constant(&self, table: &'a Value, key: &str) -> Option<&'a str> {
        match self.words(self.resolve(table.get("properties")?.get(key)?).0)?.as_slice() {
            [word] => Some(word),
            _ => None,
        }
    }

    fn word(&mut self, value: &Value, words: &[&str], path: &str) {
        match value.as_str() {
            Some(word) if words.contains(&word) => {}
            Some(word) => {
                let mut right = advice(word, words.iter().copied());
                if LOADABLE.contains(&path.trim_end_matches(".id")) {
                    right.push_str(LOADING);
                }
                self.miss(path, format!("\"{word}\" is not known"), right);
            }
            None => {
                let right = format!("write one of \"{}\"", words.join("\", \""));
                self.miss(path, format!("{} is not valid here", show(value)), right);
            }
        }
    }

    fn branch(&mut self, value: &Value, branches: &[&'a Value], path: &str) {
        let all: Vec<&Value> = branches.iter().map(|b| self.resolve(b).0).collect();
        if let Value::Object(values) = value {
            let tables: Vec<&Value> = all.iter().copied().filter(|b| b.get("properties").is_some()).collect();
            if !tables.is_empty() {
                return self.table_branch(values, &tables, path);
            }
        }
        // Of several branches for text, the last one without fixed values has the best message.
        let mut best: Option<Vec<Misfit>> = None;
        for branch in branches {
            let mut inner = Walk { definitions: self.definitions, found: Vec::new() };
            inner.value(value, branch, path);
            if inner.found.is_empty() {
                return;
            }
            let schema = self.resolve(branch).0;
            if self.words(schema).is_none() && types(schema).iter().any(|t| is_type(value, t)) {
                best = Some(inner.found);
            }
        }
        let words: Vec<&str> = all.iter().filter_map(|b| self.words(b)).flatten().collect();
        match best {
            Some(mut found) => {
                if let (false, Some(last)) = (words.is_empty(), found.last_mut()) {
                    last.right.push_str(&format!(", or \"{}\"", words.join("\", \"")));
                }
                self.found.append(&mut found);
            }
            None if value.is_string() && !words.is_empty() => self.word(value, &words, path),
            None => {
                let problem = format!("{} is not valid here", show(value));
                self.miss(path, problem, self.wanted(branches));
            }
        }
    }

    /// The correction for any of these schemas.
    fn wanted(&self, schemas: &[&'a Value]) -> String {
        let words: Vec<&str> = schemas.iter().filter_map(|s| self.words(self.resolve(s).0)).flatten().collect();
        let mut ways: Vec<String> = Vec::new();
        if !words.is_empty() {
            ways.push(format!("one of \"{}\"", words.join("\", \"")));
        }
        for schema in schemas.iter().map(|s| self.resolve(s).0).filter(|s| self.words(s).is_none()) {
            let way = wanted(schema);
            if !way.is_empty() && !ways.contains(&way) {
                ways.push(way);
            }
        }
        if ways.is_empty() { String::new() } else { format!("write {}", ways.join(", or ")) }
    }

    /// Chooses among tables, by a tag or by a key that only one of them has.
    fn table_branch(&mut self, values: &Map<String, Value>, tables: &[&'a Value], path: &str) {
        let constant = |table: &'a Value, key: &str| self.constant(table, key);
        // A table without the tag is chosen by its own key.
        let is_tag = |tag: &&str| {
            let fits = |t: &&'a Value| constant(t, tag).is_some() || properties(t).all(|(key, _)| key != *tag);
            tables.iter().filter(|t| constant(t, tag).is_some()).count() > 1 && tables.iter().all(fits)
        };
        let tag = properties(tables[0]).map(|(key, _)| key).find(is_tag);
        if let Some(tag) = tag {
            let without = |t: &&&'a Value| constant(t, tag).is_none();
            let own: Vec<(&Value, &str)> =
                tables.iter().filter(without).filter_map(|t| own_key(t, tables).map(|key| (*t, key))).collect();
            if let Some((table, _)) = own.iter().find(|(_, key)| values.contains_key(*key)) {
                return self.object(values, table, path);
            }
            let known: Vec<&str> = tables.iter().filter_map(|t| constant(t, tag)).collect();
            let at = key_in(path, tag);
            let Some(choice) = values.get(tag) else {
                let or: String = own.iter().map(|(_, key)| format!(", or give the key {key} instead")).collect();
                let right = format!("write one of \"{}\"{or}", known.join("\", \""));
                return self.miss(&at, "this key is missing", right);
            };
            match tables.iter().find(|t| constant(t, tag) == choice.as_str() && choice.is_string()) {
                Some(table) => self.object(values, table, path),
                None => self.word(choice, &known, &at),
            }
            return;
        }
        let fits = |table: &&&'a Value| {
            let word = |key: &str| values.get(key).and_then(Value::as_str);
            properties(table).any(|(key, _)| word(key).is_some() && word(key) == constant(table, key))
        };
        let has_own_key = |table: &&&'a Value| own_key(table, tables).is_some_and(|key| values.contains_key(key));
        if let Some(table) = tables.iter().find(fits).or_else(|| tables.iter().find(has_own_key)) {
            return self.object(values, table, path);
        }
        if let [only] = tables {
            return self.object(values, only, path);
        }
        let own: Vec<&str> = tables.iter().filter_map(|t| own_key(t, tables)).collect();
        match values.keys().next() {
            // A table with one key, whose name is the choice: the key is wrong.
            Some(key) if values.len() == 1 && own.len() == tables.len() => {
                let at = key_in(path, key);
                self.miss(&at, NO_KEY, advice(key, own));
            }
            _ => self.miss(path, "its kind is missing", format!("give one of the keys {}", own.join(", "))),
        }
    }

    fn object(&mut self, values: &Map<String, Value>, schema: &'a Value, path: &str) {
        let known: Vec<&str> = properties(schema).map(|(key, _)| key).collect();
        let closed = schema.get("additionalProperties") == Some(&Value::Bool(false));
        for (key, value) in values {
            match schema.get("properties").and_then(|p| p.get(key)) {
                Some(inner) => self.value(value, inner, &key_in(path, key)),
                None if closed => {
                    let at = key_in(path, key);
                    let excluded = EXCLUDED.iter().find(|(of, own, other, _)| {
                        (*of, *own) == (path, key.as_str()) && known.contains(other) && values.contains_key(*other)
                    });
                    match (renamed(&at), excluded) {
                        (Some(new), _) => self.miss(&at, "this key was renamed", format!("write \"{new}\"")),
                        (_, Some((.., why))) => self.miss(&at, *why, "leave it out"),
                        _ => self.miss(&at, NO_KEY, advice(key, known.iter().copied())),
                    }
                }
                None => {}
            }
        }
        for key in schema.get("required").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str) {
            if !values.contains_key(key) {
                let mut flat = Vec::new();
                if let Some(inner) = schema.get("properties").and_then(|p| p.get(key)) {
                    self.flatten(self.resolve(inner).0, &mut flat);
                    if flat.is_empty() {
                        flat.push(inner);
                    }
                }
                let right = self.wanted(&flat);
                self.miss(&key_in(path, key), "this key is missing", right);
            }
        }
    }

    fn array(&mut self, items: &[Value], schema: &'a Value, path: &str) {
        let bound = |key: &str| schema.get(key).and_then(Value::as_u64);
        let (min, max) = (bound("minItems"), bound("maxItems"));
        let count = items.len() as u64;
        if min.is_some_and(|min| count < min) || max.is_some_and(|max| count > max) {
            let right = match (min, max) {
                (Some(min), Some(max)) if min == max => format!("it has {min}"),
                _ => format!("it has {} to {}", min.unwrap_or(0), max.map_or("any number".into(), |m| m.to_string())),
            };
            return self.miss(path, format!("the list has {count} entries"), right);
        }
        if let Some(inner) = schema.get("items") {
            for (i, item) in items.iter().enumerate() {
                self.value(item, inner, &format!("{path}[{i}]"));
            }
        }
    }

    fn number(&mut self, number: &serde_json::Number, schema: &'a Value, path: &str) {
        let max = match schema.get("format").and_then(Value::as_str) {
            Some("uint8") => u64::from(u8::MAX),
            Some("uint16") => u64::from(u16::MAX),
            Some("uint32") => u64::from(u32::MAX),
            Some("uint64") => u64::MAX,
            _ => return,
        };
        // Bounds with an error of their own are checked later (`bounds.rs`).
        let bound = |key: &str| schema.get(key).filter(|_| schema.get("wrong").is_none()).and_then(Value::as_u64);
        let (min, max) = (bound("minimum").unwrap_or(0), bound("maximum").map_or(max, |of| of.min(max)));
        if number.as_u64().is_none_or(|n| n < min || n > max) {
            self.miss(path, format!("{number} is out of range"), format!("write a whole number from {min} to {max}"));
        }
    }
}

fn branches(schema: &Value) -> Option<&[Value]> {
    let list = schema.get("oneOf").or_else(|| schema.get("anyOf"))?;
    list.as_array().map(Vec::as_slice)
}

fn properties(schema: &Value) -> impl Iterator<Item = (&str, &Value)> {
    schema.get("properties").and_then(Value::as_object).into_iter().flatten().map(|(k, v)| (k.as_str(), v))
}

/// A required key that none of the other tables has.
fn own_key<'s>(table: &'s Value, tables: &[&Value]) -> Option<&'s str> {
    let required = table.get("required").and_then(Value::as_array)?;
    let mut keys = required.iter().filter_map(Value::as_str);
    keys.find(|key| tables.iter().filter(|t| t.get("properties").is_some_and(|p| p.get(key).is_some())).count() == 1)
}

fn types(schema: &Value) -> Vec<&str> {
    match schema.get("type") {
        Some(Value::String(one)) => vec![one],
        Some(Value::Array(several)) => several.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    }
}

fn is_type(value: &Value, name: &str) -> bool {
    match name {
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        "string" => value.is_string(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        "number" => value.is_number(),
        "integer" => value.is_i64() || value.is_u64(),
        _ => true,
    }
}

/// The value that a schema without fixed values accepts, in words.
fn wanted(schema: &Value) -> String {
    // A quantity describes itself with an example.
    if schema.get("pattern").is_some()
        && let Some(description) = schema.get("description").and_then(Value::as_str)
    {
        return description.to_string();
    }
    let word = match types(schema).iter().find(|t| **t != "null") {
        Some(&"boolean") => "true or false",
        Some(&"string") => "a text in quotes",
        Some(&"array") => "a list, like [...]",
        Some(&"object") => "a table, like { key = value }",
        Some(&"number") => "a number",
        Some(&"integer") => "a whole number",
        _ => "",
    };
    word.to_string()
}
