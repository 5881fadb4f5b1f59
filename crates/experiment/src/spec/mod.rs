//! Specs: read, checked, built.
//!
//! [`document`] defines what a spec is, once; its JSON schema is made from those types and drives the reading
//! (`shape.rs`), so that all faults of shape are found at once. `check.rs` finds what is possible in shape but not in
//! meaning, and fills in what was left out.

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

/// A spec that was read: every key is known and every value is of its kind. Whether they make sense together only
/// [`Spec::check`] tells.
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
    /// All faults of shape, with file, line and key.
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

    /// Reads TOML. `name` stands in errors; relative paths in the text are relative to `folder`.
    ///
    /// # Errors
    /// All faults of shape, with line and key.
    pub fn from_toml(text: &str, name: &str, folder: &Path) -> Result<Self, Problems> {
        let mut source = Source::new(name, folder);
        let value = source.read_toml(text)?;
        Self::from_value(value, source)
    }

    /// Reads JSON; otherwise as [`Spec::from_toml`].
    ///
    /// # Errors
    /// All faults of shape, with key.
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
            // The schema is made from the types, so this says what it could not.
            Err(error) => Err(source.problem("", error.to_string(), "").into()),
        }
    }

    /// The spec as it was read; keys that were left out and have a fixed default are filled in.
    pub fn document(&self) -> &Document {
        &self.document
    }

    /// The same spec with one scheme, as it is, for all traffics. A transport that was the old scheme's own becomes the
    /// new one's own; any other was chosen on purpose and stays.
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
    /// name: `traffic[0].load.share` or `traffic.queries.load.share`. The value is written as in TOML; a text may go
    /// without quotes.
    ///
    /// # Errors
    /// When unknown key or the value does not fit it.
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

    /// The same problems; where unknown key, with the keys elsewhere in the spec that end in its last word.
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

    /// Finds out whether the spec makes sense, and fills in what was left out. Files that it names are read.
    ///
    /// # Errors
    /// All problems that can be found at once, with file, line and key.
    pub fn check(&self) -> Result<CheckedSpec, Problems> {
        check::check(self)
    }
}

/// The paths of all keys below `value`; a table of a list that has a name goes by it.
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

/// Puts `value` where `key` says and returns the key as a path of the document.
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
                // One of a list of tables with names, such as traffics.
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

/// A spec that makes sense, with every default shown. Only [`Spec::check`] makes one.
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
    /// The spec with every default shown.
    pub fn document(&self) -> &Document {
        &self.document
    }

    /// The network it describes.
    pub fn network(&self) -> &NetworkConfig {
        &self.network
    }

    /// What it measures.
    pub fn measure(&self) -> &Measure {
        &self.measure
    }

    /// Its hosts, by name and by number.
    pub fn host_names(&self) -> HostNames {
        HostNames::new(&self.network.graph.names[..self.network.graph.hosts as usize])
    }

    /// What a reader of the results should know.
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// The same, and whether no message will fall into the measured window, as far as a short look tells.
    pub fn foreseen(&self) -> Vec<String> {
        self.warnings.iter().cloned().chain(crate::unmeasured::foreseen(self)).collect()
    }

    /// One more thing that a reader of the results should know.
    pub(crate) fn warn(&mut self, warning: String) {
        self.warnings.push(warning);
    }

    /// The resolved spec as TOML. It reads back to an equal checked spec, from any folder.
    pub fn to_toml(&self) -> String {
        toml::to_string(&self.document).expect("a document that was read has only values that TOML has")
    }

    /// The resolved spec as JSON.
    pub fn to_json(&self) -> Value {
        serde_json::to_value(&self.document).expect("a document that was read has only values that JSON has")
    }

    /// What runs.
    pub fn build(&self) -> Built {
        self.build_with(Vec::new()).expect("without flows of the caller's there is nothing left to check")
    }

    /// What runs, with flows of the caller's added. They belong to the first traffic.
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

    /// The messages of a run in order of their start, with flows of the caller's added; the same ones each time.
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

    /// What each traffic is expected to bring, without flows of a caller's.
    pub(crate) fn expected(&self) -> Vec<Expected> {
        let until = self.messages_until();
        let of = |workload: &fanin_workload::Traffic| workload.expected(&self.places, until);
        self.workloads.iter().map(|w| of(w).expect("a checked spec's workloads have been planned before")).collect()
    }

    /// Its traffics, by number.
    pub fn traffics(&self) -> &[TrafficConfig] {
        &self.traffics
    }

    /// The end of the measured window: from here on nothing new is posted.
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
