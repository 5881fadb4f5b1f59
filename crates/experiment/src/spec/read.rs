//! Reads specs, and changes single keys of them.

use super::document::{self, Document};
use super::rdma::LossPolicy;
use super::scheme::SchemeChoice;
use super::source::{self, Source};
use super::{shape, traffic};
use crate::error::{Problem, Problems, why_unread};
use crate::loaded;
use serde_json::Value;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

/// A spec that was read: every key is known and every value has the right type. Only [`Spec::check`] finds out whether
/// they make sense together.
#[derive(Clone, Debug)]
pub struct Spec {
    pub(super) document: Document,
    pub(super) source: Source,
}

/// The key of the file of a configuration, in what an exact run of it leaves.
const CONFIGURATION: &str = "hpcc_file";

impl PartialEq for Spec {
    fn eq(&self, other: &Self) -> bool {
        self.document == other.document
    }
}

/// Whether a key is that of a parameter of a scheme, of load balancing or of a queue discipline.
fn is_parameter(key: &str) -> bool {
    key.contains(".scheme.") || key.starts_with("network.balancing.") || key.starts_with("network.discipline.")
}

impl Spec {
    /// Reads a file: JSON where its name ends in .json, TOML otherwise. Relative paths in it are relative to its
    /// folder.
    ///
    /// # Errors
    /// All syntax errors, with file, line and key.
    pub fn read(path: &Path) -> Result<Self, Problems> {
        let name = path.display().to_string();
        let folder = path.parent().unwrap_or(Path::new(""));
        let text = fanin_formats::input::read_text(path).map_err(|error| {
            Source::new(&name, folder).problem("", format!("cannot be read: {}", why_unread(&error)), "")
        })?;
        if path.extension().is_some_and(|end| end.eq_ignore_ascii_case("json")) {
            Self::from_json(&text, &name, folder)
        } else {
            Self::from_toml(&text, &name, folder)
        }
    }

    /// Reads TOML. `name` is the file name in errors; relative paths in the text are relative to `folder`.
    ///
    /// # Errors
    /// All syntax errors, with line and key.
    pub fn from_toml(text: &str, name: &str, folder: &Path) -> Result<Self, Problems> {
        let mut source = Source::new(name, folder);
        let value = source.read_toml(text)?;
        Self::from_value(value, source)
    }

    /// Reads JSON; otherwise as [`Spec::from_toml`].
    ///
    /// # Errors
    /// All syntax errors, with key.
    pub fn from_json(text: &str, name: &str, folder: &Path) -> Result<Self, Problems> {
        let mut source = Source::new(name, folder);
        let value = source.read_json(text)?;
        Self::from_value(value, source)
    }

    fn from_value(value: Value, source: Source) -> Result<Self, Problems> {
        if let Some(file) = value.get(CONFIGURATION) {
            let [file, folder] =
                [Some(file), value.get("hpcc_folder")].map(|v| v.and_then(Value::as_str).unwrap_or("?"));
            let problem = "this is a configuration of the ns-3 HPCC simulator as a run of it left it, and no spec";
            let right = format!("run it again from {folder}, where it ran: fanin run --hpcc {file}");
            return Err(source.problem("", problem, right).into());
        }
        let misfits = shape::misfits(&value, &schema_value());
        let problems = misfits.into_iter().map(|m| source.problem(&m.path, m.problem, m.right)).collect();
        if let Some(problems) = Problems::new(problems) {
            return Err(problems);
        }
        match serde_json::from_value(value) {
            Ok(document) => Ok(Self { document, source }),
            // The schema is generated from the types, so this reports what a schema cannot express.
            Err(error) => Err(source.problem("", error.to_string(), "").into()),
        }
    }

    /// The spec as it was read, with fixed defaults filled in.
    pub fn document(&self) -> &Document {
        &self.document
    }

    /// The same spec with one scheme, with default parameters, for all traffics. A transport that was the default of
    /// the old scheme becomes the default of the new one; any other was chosen on purpose and stays. `+` and the name
    /// of a [`LossPolicy`] behind the scheme, as in `dcqcn+irn`, changes how network and RDMA deal with losses.
    pub fn with_scheme(&self, id: &str) -> Self {
        let mut spec = self.clone();
        let id = match id.split_once('+').and_then(|(id, variant)| Some((id, LossPolicy::of(variant)?))) {
            Some((id, policy)) => {
                policy.apply(&mut spec.document);
                id
            }
            None => id,
        };
        for (i, traffic) in spec.document.traffic.iter_mut().enumerate() {
            if traffic.transport == traffic::own_transport(traffic.scheme.id()) {
                traffic.transport = None;
            }
            traffic.scheme = SchemeChoice::preset(id);
            spec.source.changed(&format!("traffic[{i}].scheme"), format!("scheme \"{id}\""));
        }
        spec
    }

    /// The same spec with another seed.
    pub fn with_seed(&self, seed: u64) -> Self {
        let mut spec = self.clone();
        spec.document.seed = seed;
        spec.source.changed("seed", format!("seed {seed}"));
        spec
    }

    /// The same spec with these keys set, each as by [`Spec::set`], and one scheme and seed for all, where given.
    ///
    /// # Errors
    /// As [`Spec::set`].
    pub fn with(&self, changes: &[(&str, &str)], scheme: Option<&str>, seed: Option<u64>) -> Result<Self, Problems> {
        let mut spec = self.clone();
        // Parameters are set last: they are those of the scheme and the policies that other changes choose.
        let (parameters, others): (Vec<_>, Vec<_>) = changes.iter().partition(|(key, _)| is_parameter(key));
        for (key, value) in others {
            spec = spec.set(key, value)?;
        }
        if let Some(scheme) = scheme {
            spec = spec.with_scheme(scheme);
        }
        for (key, value) in parameters {
            spec = spec.set(key, value)?;
        }
        Ok(seed.map_or(spec.clone(), |seed| spec.with_seed(seed)))
    }

    /// The same spec with one key set: `set("network.topology.pods", "4")`. A traffic is given by its number or its
    /// name: `traffic[0].load.share` or `traffic.queries.load.share`. The value is in TOML syntax; quotes around text
    /// are optional. A parameter of a scheme, like `traffic[0].scheme.g`, may be set where the spec has the id alone.
    ///
    /// # Errors
    /// If the key is unknown or the value invalid.
    pub fn set(&self, key: &str, value: &str) -> Result<Self, Problems> {
        let option = format!("--set \"{}={}\"", key.trim(), value.trim());
        let mut source = self.source.clone();
        let refuse = |problem: String, right: String| Problem {
            file: option.clone(),
            line: None,
            key: key.trim().to_string(),
            problem,
            right,
        };
        let value = source::read_value(value).map_err(|e| refuse(e, "write it as in TOML".into()))?;
        let mut root = self.document.to_json().map_err(|e| refuse(e.to_string(), String::new()))?;
        let path = place(&mut root, key.trim(), value).map_err(|(problem, right)| refuse(problem, right))?;
        source.changed(&path, option.clone());
        Self::from_value(root, source).map_err(|problems| self.with_nearest_key(key.trim(), problems))
    }

    /// The same problems; for an unknown key, with suggestions of keys elsewhere in the spec that end in the same word.
    fn with_nearest_key(&self, key: &str, problems: Problems) -> Problems {
        let word = key.rsplit('.').next().unwrap_or(key);
        let mut known = Vec::new();
        if let Ok(root) = self.document.to_json() {
            keys_of(&root, "", &mut known);
        }
        let near: Vec<String> = known.into_iter().filter(|known| known.rsplit('.').next() == Some(word)).collect();
        problems.map(|mut problem| {
            let of_key = key.starts_with(&problem.key) && problem.problem == shape::NO_KEY;
            if of_key && !near.is_empty() && !problem.right.starts_with("did you mean") {
                problem.right = format!("did you mean \"{}\"?", near[..near.len().min(3)].join("\" or \""));
            }
            problem
        })
    }
}

/// The table that pairs of a key and the text of its value make. Both are written as in [`Spec::set`].
///
/// # Errors
/// What is wrong with a pair.
pub fn table(changes: &[(String, String)]) -> Result<serde_json::Map<String, Value>, String> {
    let mut root = Value::Object(serde_json::Map::new());
    for (key, text) in changes {
        let refuse = |problem: String| format!("--set \"{key}={text}\": {problem}");
        let value = source::read_value(text).map_err(refuse)?;
        place(&mut root, key, value).map_err(|(problem, right)| refuse(format!("{problem}; {right}")))?;
    }
    match root {
        Value::Object(table) => Ok(table),
        _ => Ok(serde_json::Map::new()),
    }
}

/// The paths of all keys below `value`; a table with a name in a list is referred to by the name.
fn keys_of(value: &Value, path: &str, keys: &mut Vec<String>) {
    match value {
        Value::Object(values) => {
            for (key, value) in values {
                let inner = source::key_in(path, key);
                keys_of(value, &inner, keys);
                keys.push(inner);
            }
        }
        Value::Array(items) => {
            for item in items {
                if let Some(name) = item.get("name").and_then(Value::as_str) {
                    keys_of(item, &source::key_in(path, name), keys);
                }
            }
        }
        _ => {}
    }
}

/// Sets the key at `key` to `value` and returns its path in the document.
fn place(root: &mut Value, key: &str, value: Value) -> Result<String, (String, String)> {
    let example = || "write it like network.topology.pods or traffic[0].size".to_string();
    let mut at = root;
    let mut path = String::new();
    for word in key.split('.') {
        let (name, indices) = word.split_once('[').map_or((word, ""), |(name, rest)| (name, rest));
        if name.is_empty() {
            return Err(("this is not a key".into(), example()));
        }
        if let Value::String(id) = &*at
            && (path.ends_with(".scheme") || ["network.balancing", "network.discipline"].contains(&&*path))
        {
            // An id alone is short for a table without parameters.
            *at = serde_json::json!({ "id": id });
        }
        at = match at {
            Value::Array(items) => {
                // An entry of a list of named tables, such as traffics.
                let named = |item: &Value| item.get("name").and_then(Value::as_str) == Some(name);
                let Some(i) = items.iter().position(named) else {
                    let known: Vec<&str> = items.iter().filter_map(|i| i.get("name").and_then(Value::as_str)).collect();
                    return Err((format!("{path} has no entry \"{name}\""), shape::advice(name, known)));
                };
                path.push_str(&format!("[{i}]"));
                &mut items[i]
            }
            Value::Object(values) => {
                path = source::key_in(&path, name);
                values.entry(name).or_insert_with(|| Value::Object(serde_json::Map::new()))
            }
            _ => return Err((format!("{path} is not a table"), format!("set {path} itself"))),
        };
        for index in indices.split_terminator('[') {
            let Some(i) = index.strip_suffix(']').and_then(|i| i.parse::<usize>().ok()) else {
                return Err((format!("\"{word}\" is not a key"), example()));
            };
            let count = at.as_array().map_or(0, Vec::len);
            path.push_str(&format!("[{i}]"));
            at = match at.get_mut(i) {
                Some(item) => item,
                None => return Err((format!("there is no entry {i}"), format!("there are {count}, numbered from 0"))),
            };
        }
    }
    *at = value;
    Ok(path)
}

/// The JSON schema of specs.
pub fn schema() -> Value {
    (*schema_value()).clone()
}

pub(super) fn schema_value() -> Arc<Value> {
    /// With the number of loads before it.
    static SCHEMA: Mutex<Option<(u64, Arc<Value>)>> = Mutex::new(None);
    let now = loaded::loads();
    let mut known = SCHEMA.lock().unwrap_or_else(PoisonError::into_inner);
    match &*known {
        Some((then, schema)) if *then == now => schema.clone(),
        _ => {
            let mut schema = schemars::schema_for!(Document).to_value();
            document::drop_nulls(&mut schema);
            let schema = Arc::new(schema);
            *known = Some((now, schema.clone()));
            schema
        }
    }
}
