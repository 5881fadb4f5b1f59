//! Specs around a network: of its file, and with a traffic whose messages a program posts.

use super::document::Pattern;
use super::source::Source;
use super::{CheckedSpec, Spec};
use crate::error::{Problem, Problems, why_unread};
use crate::hpcc::ordinary;
use crate::run::Online;
use serde_json::{Map, Value, json};
use std::path::{Path, absolute};

/// The window of a run that ends when nothing is left to do.
const LONGEST: &str = "100 s";

/// The keys network, and seed where it is given, of the spec in a `.toml` or `.json` file. Any other file is a topology
/// of SimAI, ASTRA-sim, ns-3 or htsim or a table of links, whose switches have buffers without limit. Files that a
/// topology names have absolute paths.
///
/// # Errors
/// The file cannot be read, or has no network.
pub fn network_of(place: &Path) -> Result<Map<String, Value>, Problems> {
    let name = place.display().to_string();
    let wrong = |problem: String, right: &str| Problem {
        file: name.clone(),
        line: None,
        key: String::new(),
        problem,
        right: right.to_string(),
    };
    if !place.is_file() {
        return Err(wrong("there is no such file".to_string(), "give a spec, or a topology file").into());
    }
    let whole = |file: &Path| absolute(file).unwrap_or_else(|_| file.to_path_buf()).display().to_string();
    let Some(value) = document(place)? else {
        let network = json!({ "topology": { "file": whole(place) }, "buffer": { "policy": "unlimited" } });
        return Ok(Map::from_iter([("network".to_string(), network)]));
    };
    let Some(Value::Object(network)) = value.get("network") else {
        let right = "give a spec, or a file with [network]";
        return Err(wrong("it has no table network".to_string(), right).into());
    };
    let mut network = network.clone();
    let folder = place.parent().unwrap_or(Path::new(""));
    if let Some(topology) = network.get_mut("topology")
        && topology.get("file").is_some_and(Value::is_string)
    {
        for key in ["file", "nodes"] {
            if let Some(Value::String(file)) = topology.get_mut(key) {
                *file = whole(&folder.join(&*file));
            }
        }
    }
    let seed = value.get("seed").map(|seed| ("seed".to_string(), seed.clone()));
    Ok([("network".to_string(), Value::Object(network))].into_iter().chain(seed).collect())
}

/// The document in a `.toml` or `.json` file; `None` for others.
fn document(place: &Path) -> Result<Option<Value>, Problems> {
    let is = |end: &str| place.extension().is_some_and(|found| found.eq_ignore_ascii_case(end));
    if !is("toml") && !is("json") {
        return Ok(None);
    }
    let mut source = Source::new(&place.display().to_string(), place.parent().unwrap_or(Path::new("")));
    let text = fanin_formats::input::read_text(place)
        .map_err(|error| source.problem("", format!("cannot be read: {}", why_unread(&error)), ""))?;
    if is("json") { source.read_json(&text) } else { source.read_toml(&text) }.map(Some)
}

/// Whether a file is a configuration of the ns-3 HPCC simulator.
fn is_configuration(place: &Path) -> bool {
    let text = fanin_formats::input::read_text(place).unwrap_or_default();
    text.lines().any(|line| line.split_whitespace().next() == Some("TOPOLOGY_FILE"))
}

impl Spec {
    /// The spec of a run whose messages a program posts ([`CheckedSpec::online`]). A spec with a traffic of the pattern
    /// "posted" is taken as it is; of any other its network and seed. The file may also be a configuration of the ns-3
    /// HPCC simulator, whose topology, buffers and thresholds count, or a topology as for [`network_of`]. `scheme` is
    /// that of all messages; a spec that is taken as it is has one, and others have none without it.
    ///
    /// # Errors
    /// All problems with file, line and key.
    pub fn posted(place: &Path, scheme: Option<&str>) -> Result<Self, Problems> {
        let kind = |traffic: &Value| traffic["pattern"]["kind"] == "posted";
        let value = document(place)?;
        if value.is_some_and(|value| value["traffic"].as_array().is_some_and(|all| all.iter().any(kind))) {
            let spec = Self::read(place)?;
            return Ok(scheme.map_or(spec.clone(), |id| spec.with_scheme(id)));
        }
        let name = place.file_stem().map_or("posted".into(), |stem| stem.to_string_lossy());
        let mut spec = match is_configuration(place) {
            true => ordinary::network(place, scheme.unwrap_or("none"))?,
            false => network_of(place)?,
        };
        spec.entry("name").or_insert(json!(name));
        spec.insert("spec_version".to_string(), json!(super::document::SPEC_VERSION));
        let traffic = json!({ "name": "posted", "scheme": scheme.unwrap_or("none"), "pattern": { "kind": "posted" } });
        spec.insert("traffic".to_string(), json!([traffic]));
        spec.insert("measure".to_string(), json!({ "window": LONGEST, "stop_when_done": true }));
        let folder = place.parent().unwrap_or(Path::new(""));
        Self::from_json(&Value::Object(spec).to_string(), &place.display().to_string(), folder)
    }
}

impl CheckedSpec {
    /// A problem if the messages of a traffic are posted by a program, so that the spec does not run by itself.
    pub fn posted_elsewhere(&self) -> Option<Problem> {
        let number = self.document.traffic.iter().position(|traffic| matches!(traffic.pattern, Pattern::Posted {}))?;
        let problem = "its messages are posted by a program while the run goes on";
        let right = "run that program, which opens this spec through libfanin, or give the traffic another pattern";
        Some(self.problem(&format!("traffic[{number}].pattern"), problem, right))
    }

    /// The run in which a program posts the messages.
    ///
    /// # Errors
    /// No traffic of the spec is posted by a program.
    pub fn online(&self) -> Result<Online, Problem> {
        if self.posted_elsewhere().is_none() {
            let right = "write pattern = { kind = \"posted\" }";
            return Err(self.problem("traffic[0].pattern", "no program posts its messages", right));
        }
        Ok(Online::new(self.build()))
    }
}
