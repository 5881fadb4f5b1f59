//! One table of a spec, as it is checked: a traffic, or the network.

use super::checker::Checker;
use super::shape::advice;
use fanin_cc::SettingsError;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};

/// One table, with its path.
pub struct One<'a, 'b> {
    /// Its key, like `traffic[0]`.
    pub path: String,
    /// Where problems go.
    pub checker: &'a mut Checker<'b>,
}

impl One<'_, '_> {
    /// Adds a problem with one of its keys.
    pub fn fail(&mut self, key: &str, problem: impl Into<String>, right: impl Into<String>) {
        let path = format!("{}.{key}", self.path);
        self.checker.fail(&path, problem, right);
    }

    /// [`Checker::bounds`] for the table at `key`.
    pub fn bounds<T: Serialize + JsonSchema>(&mut self, key: &str, table: &T) -> bool {
        self.checker.bounds(&format!("{}.{key}", self.path), table)
    }

    /// [`Checker::bound`] for `key`.
    pub fn bound<T: JsonSchema>(&mut self, key: &str, value: impl Serialize) -> bool {
        self.checker.bound::<T>(&format!("{}.{key}", self.path), value)
    }

    /// Adds the problem with the scheme or policy `id` at `key`, which has these parameters changed. `fits` is whether
    /// it could be made with these alone.
    pub fn refuse(
        &mut self,
        key: &str,
        (id, changes): (&str, &Map<String, Value>),
        error: SettingsError,
        fits: impl Fn(&Map<String, Value>) -> bool,
    ) {
        match error {
            SettingsError::UnknownScheme(known) => {
                self.fail(key, format!("there is no scheme \"{id}\""), advice(id, known));
            }
            SettingsError::UnknownParameter(name, known) => {
                let right = advice(&name, known.iter().map(String::as_str));
                self.fail(&format!("{key}.{name}"), format!("{id} has no such parameter"), right);
            }
            SettingsError::Value(problem) => {
                // The invalid parameter is the one that is also invalid by itself; otherwise it is a combination.
                let alone = |name: &String, value: &Value| !fits(&Map::from_iter([(name.clone(), value.clone())]));
                let name = changes.iter().find(|(name, value)| alone(name, value)).map(|(name, _)| name);
                let at = name.map_or(key.to_string(), |name| format!("{key}.{name}"));
                let (problem, right) = problem.split_once(": ").unwrap_or((&problem, ""));
                self.fail(&at, problem, right);
            }
        }
    }
}
