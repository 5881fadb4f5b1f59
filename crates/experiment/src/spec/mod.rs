//! Specs: reading, validation, and conversion to the objects of a run.
//!
//! [`document`] is the only definition of specs; its JSON schema is generated from those types and used for reading
//! (`shape.rs`), so that all syntax errors are found at once. `check.rs` finds semantic errors and fills in defaults.

pub mod built;
mod check;
pub mod document;
mod host_names;
mod lanes;
mod network;
mod scheme;
mod shape;
mod source;
#[cfg(test)]
mod tests;
mod topology_file;
mod traffic;

use crate::error::{Problem, Problems, why_unread};
use built::{Built, Measure};
use document::Document;
use fanin_engine::Streams;
use fanin_fabric::{Message, NetworkConfig, TrafficConfig};
use fanin_units::Time;
use fanin_workload::{Expected, FlowList, ListedFlow, Pattern, Places, merge};
pub use host_names::HostNames;
use scheme::SchemeChoice;
use serde_json::Value;
use source::Source;
use std::path::Path;
use std::sync::OnceLock;

/// A spec that was read: every key is known and every value has the right type. Only [`Spec::check`] finds out whether
/// they make sense together.
#[derive(Clone, Debug)]
pub struct Spec {
    document: Document,
    source: Source,
}

impl PartialEq for Spec {
    fn eq(&self, other: &Self) -> bool {
        self.document == other.document
    }
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
        let text = std::fs::read_to_string(path).map_err(|error| {
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
        let misfits = shape::misfits(&value, schema_value());
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
    /// the old scheme becomes the default of the new one; any other was chosen on purpose and stays.
    pub fn with_scheme(&self, id: &str) -> Self {
        let mut spec = self.clone();
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

    /// The same spec with one key set: `set("network.topology.pods", "4")`. A traffic is given by its number or its
    /// name: `traffic[0].load.share` or `traffic.queries.load.share`. The value is in TOML syntax; quotes around text
    /// are optional.
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
        let mut root = serde_json::to_value(&self.document).map_err(|e| refuse(e.to_string(), String::new()))?;
        let path = place(&mut root, key.trim(), value).map_err(|(problem, right)| refuse(problem, right))?;
        source.changed(&path, option.clone());
        Self::from_value(root, source).map_err(|problems| self.with_nearest_key(key.trim(), problems))
    }

    /// The same problems; for an unknown key, with suggestions of keys elsewhere in the spec that end in the same word.
    fn with_nearest_key(&self, key: &str, problems: Problems) -> Problems {
        let word = key.rsplit('.').next().unwrap_or(key);
        let mut known = Vec::new();
        if let Ok(root) = serde_json::to_value(&self.document) {
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

    /// Validates the spec and fills in defaults. Files that it names are read.
    ///
    /// # Errors
    /// All problems that can be found at once, with file, line and key.
    pub fn check(&self) -> Result<CheckedSpec, Problems> {
        check::check(self)
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

/// A validated spec with all defaults filled in. Only [`Spec::check`] creates one.
#[derive(Clone, Debug)]
pub struct CheckedSpec {
    document: Document,
    source: Source,
    network: NetworkConfig,
    traffics: Vec<TrafficConfig>,
    workloads: Vec<fanin_workload::Traffic>,
    places: Places,
    measure: Measure,
    warnings: Vec<String>,
}

impl PartialEq for CheckedSpec {
    fn eq(&self, other: &Self) -> bool {
        self.document == other.document
    }
}

impl CheckedSpec {
    /// The spec with all defaults filled in.
    pub fn document(&self) -> &Document {
        &self.document
    }

    /// The network it describes.
    pub fn network(&self) -> &NetworkConfig {
        &self.network
    }

    /// Its measurements.
    pub fn measure(&self) -> &Measure {
        &self.measure
    }

    /// Its hosts, by name and by number.
    pub fn host_names(&self) -> HostNames {
        HostNames::new(&self.network.graph.names[..self.network.graph.hosts as usize])
    }

    /// Warnings for the results.
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// The same, with a warning if no message will fall into the measured window, as far as a short examination shows.
    pub fn foreseen(&self) -> Vec<String> {
        self.warnings.iter().cloned().chain(crate::unmeasured::foreseen(self)).collect()
    }

    /// Adds a warning for the results.
    pub(crate) fn warn(&mut self, warning: String) {
        self.warnings.push(warning);
    }

    /// The resolved spec as TOML. It reads back as an equal checked spec, from any folder.
    pub fn to_toml(&self) -> String {
        toml::to_string(&self.document).expect("a document that was read has only values that TOML has")
    }

    /// The resolved spec as JSON.
    pub fn to_json(&self) -> Value {
        serde_json::to_value(&self.document).expect("a document that was read has only values that JSON has")
    }

    /// The objects of the run.
    pub fn build(&self) -> Built {
        self.build_with(Vec::new()).expect("without flows of the caller's there is nothing left to check")
    }

    /// The objects of the run, with flows of the caller added. They belong to the first traffic.
    ///
    /// # Errors
    /// When a flow does not fit the network.
    pub fn build_with(&self, flows: Vec<ListedFlow>) -> Result<Built, Problems> {
        let messages = self.messages(flows)?;
        let triggers = |workload: &fanin_workload::Traffic| matches!(&workload.pattern, Pattern::List(list) if list.has_triggers());
        let one_thread = self.workloads.iter().any(triggers).then_some("htsim's triggers act between hosts at once");
        Ok(Built {
            network: self.network.clone(),
            traffics: self.traffics.clone(),
            messages,
            measure: self.measure.clone(),
            warnings: self.warnings.clone(),
            threads: 1,
            one_thread,
        })
    }

    /// The messages of a run in order of start times, with flows of the caller added; the same ones for every call.
    ///
    /// # Errors
    /// As [`CheckedSpec::build_with`].
    pub(crate) fn messages(
        &self,
        flows: Vec<ListedFlow>,
    ) -> Result<Box<dyn Iterator<Item = Message> + Send>, Problems> {
        let streams = Streams::new(self.network.seed);
        let until = self.messages_until();
        let mut sources = Vec::with_capacity(self.workloads.len() + 1);
        for (number, workload) in self.workloads.iter().enumerate() {
            let flows = workload.flows(&self.places, &streams, number as u16, until);
            sources.push(flows.expect("a checked spec's workloads have been planned before"));
        }
        if !flows.is_empty() {
            let given = fanin_workload::Traffic { start: Time::ZERO, pattern: Pattern::List(FlowList::new(flows)) };
            let given = given.flows(&self.places, &streams, 0, until);
            sources.push(given.map_err(|error| self.source.problem("", format!("the given flows: {error}"), ""))?);
        }
        let message = |flow: fanin_workload::Flow| Message {
            start: flow.start,
            src: flow.src,
            dst: flow.dst,
            bytes: flow.bytes,
            traffic: flow.traffic,
            group: flow.group,
            senders: flow.senders,
            chain: fanin_fabric::Chain {
                after: flow.dependency.after,
                in_turn: flow.dependency.in_turn,
                delay: flow.dependency.delay,
                answers: flow.dependency.answers,
                counts: flow.dependency.counts,
                counts_acked: flow.dependency.counts_acked,
            },
        };
        Ok(Box::new(merge(sources).map(message)))
    }

    /// The expected load of each traffic, without flows of a caller.
    pub(crate) fn expected(&self) -> Vec<Expected> {
        let until = self.messages_until();
        let of = |workload: &fanin_workload::Traffic| workload.expected(&self.places, until);
        self.workloads.iter().map(|w| of(w).expect("a checked spec's workloads have been planned before")).collect()
    }

    /// Its traffics, by number.
    pub fn traffics(&self) -> &[TrafficConfig] {
        &self.traffics
    }

    /// The end of the measured window, after which no new messages are posted.
    fn messages_until(&self) -> Time {
        self.measure.warm_up.saturating_add(self.measure.window)
    }
}

/// The JSON schema of specs.
pub fn schema() -> Value {
    schema_value().clone()
}

fn schema_value() -> &'static Value {
    static SCHEMA: OnceLock<Value> = OnceLock::new();
    SCHEMA.get_or_init(|| schemars::schema_for!(Document).to_value())
}
