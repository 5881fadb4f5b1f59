//! Parses text to values, and records the line of each key.

use crate::error::{Problem, Problems};
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use toml::de::{DeTable, DeValue};

/// The origin of a spec, and the lines of its keys.
#[derive(Clone, Debug, Default)]
pub struct Source {
    /// The file as it was named.
    file: String,
    /// The folder of relative paths in the spec.
    pub folder: PathBuf,
    /// Lines of keys by path.
    lines: BTreeMap<String, u32>,
    /// Origin of changed values, by path: the option as it was written.
    changes: BTreeMap<String, String>,
}

impl Source {
    pub fn new(file: &str, folder: &Path) -> Self {
        Self { file: file.to_string(), folder: folder.to_path_buf(), ..Self::default() }
    }

    /// Records that the value of a key comes from an option with this text instead of the file.
    pub fn changed(&mut self, path: &str, option: String) {
        self.changes.insert(path.to_string(), option);
    }

    /// The option that a key comes from: one that set it or a table around it, or that created the table by a key in
    /// it.
    fn change_of(&self, path: &str) -> Option<&String> {
        let within = |changed: &str| changed.strip_prefix(path).is_some_and(|rest| rest.starts_with(['.', '[']));
        let made = || self.changes.iter().find(|(changed, _)| within(changed)).map(|(_, option)| option);
        let set = around(path).find_map(|path| self.changes.get(path));
        set.or_else(|| if path.is_empty() || self.lines.contains_key(path) { None } else { made() })
    }

    /// A problem with the key at `path`. Its line is that of the nearest enclosing key in the file.
    pub fn problem(&self, path: &str, problem: impl Into<String>, right: impl Into<String>) -> Problem {
        let (file, line) = match self.change_of(path) {
            Some(option) => (option.clone(), None),
            None => (self.file.clone(), around(path).find_map(|path| self.lines.get(path)).copied()),
        };
        Problem { file, line, key: path.to_string(), problem: problem.into(), right: right.into() }
    }

    /// Reads TOML, with the lines of keys for [`Source::problem`].
    pub fn read_toml(&mut self, text: &str) -> Result<Value, Problems> {
        let (table, errors) = DeTable::parse_recoverable(text);
        let starts = line_starts(text);
        let line = |offset: usize| starts.partition_point(|start| *start <= offset) as u32;
        if !errors.is_empty() {
            let problem = |error: &toml::de::Error| Problem {
                file: self.file.clone(),
                line: error.span().map(|span| line(span.start)),
                key: String::new(),
                problem: format!("this is not valid TOML: {}", error.message().trim().replace('\n', ", ")),
                right: String::new(),
            };
            let problems = Problems::new(errors.iter().map(problem).collect());
            return Err(problems.unwrap_or_else(|| self.problem("", "this is not valid TOML", "").into()));
        }
        let mut reader = Reader { line: &line, lines: BTreeMap::new(), wrong: Vec::new() };
        let value = reader.table(table.get_ref(), "");
        let (lines, wrong) = (reader.lines, reader.wrong);
        self.lines = lines;
        let problems = wrong.into_iter().map(|(path, problem, right)| self.problem(&path, problem, right)).collect();
        match Problems::new(problems) {
            Some(problems) => Err(problems),
            None => Ok(value),
        }
    }

    /// Reads JSON.
    pub fn read_json(&mut self, text: &str) -> Result<Value, Problems> {
        serde_json::from_str(text).map_err(|error| {
            let what = error.to_string();
            let what = what.rsplit_once(" at line ").map_or(what.as_str(), |(what, _)| what);
            let what = if error.is_eof() { "it ends in the middle" } else { what };
            Problem {
                file: self.file.clone(),
                line: u32::try_from(error.line()).ok(),
                key: String::new(),
                problem: format!("this is not valid JSON: {what}, in column {}", error.column()),
                right: String::new(),
            }
            .into()
        })
    }
}

/// Reads one TOML value, as on the right of an equals sign. Text without quotes is a string, so that `5 us` and `dcqcn`
/// need none.
pub fn read_value(text: &str) -> Result<Value, String> {
    let text = text.trim();
    let nowhere = |_| 0;
    match DeValue::parse(text) {
        Ok(value) => {
            let mut reader = Reader { line: &nowhere, lines: BTreeMap::new(), wrong: Vec::new() };
            let value = reader.value(value.get_ref(), "");
            match reader.wrong.into_iter().next() {
                Some((_, problem, right)) => Err(format!("{problem}; {right}")),
                None => Ok(value),
            }
        }
        Err(error) if text.is_empty() || text.starts_with(['[', '{', '"', '\'']) => {
            Err(format!("{text:?} is not a TOML value: {}", error.message().trim().replace('\n', ", ")))
        }
        Err(_) => Ok(Value::String(text.to_string())),
    }
}

/// `a.b[1].c`, then `a.b[1]`, `a.b`, `a` and the empty path.
fn around(path: &str) -> impl Iterator<Item = &str> {
    std::iter::successors(Some(path), |path| (!path.is_empty()).then(|| &path[..path.rfind(['.', '[']).unwrap_or(0)]))
}

/// The path of a key in the table at `path`.
pub fn key_in(path: &str, key: &str) -> String {
    if path.is_empty() { key.to_string() } else { format!("{path}.{key}") }
}

fn line_starts(text: &str) -> Vec<usize> {
    std::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at + 1)).collect()
}

struct Reader<'a> {
    line: &'a dyn Fn(usize) -> u32,
    lines: BTreeMap<String, u32>,
    /// Path, problem, correction.
    wrong: Vec<(String, String, String)>,
}

impl Reader<'_> {
    fn table(&mut self, table: &DeTable<'_>, path: &str) -> Value {
        let mut values = Map::new();
        for (key, value) in table {
            let inner = key_in(path, key.get_ref());
            self.lines.insert(inner.clone(), (self.line)(key.span().start));
            values.insert(key.get_ref().to_string(), self.value(value.get_ref(), &inner));
        }
        Value::Object(values)
    }

    fn value(&mut self, value: &DeValue<'_>, path: &str) -> Value {
        match value {
            DeValue::String(text) => Value::String(text.to_string()),
            DeValue::Boolean(value) => Value::Bool(*value),
            DeValue::Table(table) => self.table(table, path),
            DeValue::Array(array) => {
                let mut values = Vec::with_capacity(array.len());
                for (i, item) in array.iter().enumerate() {
                    let inner = format!("{path}[{i}]");
                    self.lines.insert(inner.clone(), (self.line)(item.span().start));
                    values.push(self.value(item.get_ref(), &inner));
                }
                Value::Array(values)
            }
            DeValue::Integer(number) => {
                let value = i64::from_str_radix(number.as_str(), number.radix());
                value.map(Value::from).unwrap_or_else(|_| {
                    self.refuse(path, format!("{number} is too large"), "whole numbers have up to 63 bits")
                })
            }
            DeValue::Float(number) => {
                let value = number.as_str().parse().ok().and_then(serde_json::Number::from_f64);
                value.map(Value::Number).unwrap_or_else(|| {
                    self.refuse(path, format!("{} is not a finite number", number.as_str()), "write it like 0.4")
                })
            }
            DeValue::Datetime(_) => self.refuse(
                path,
                "a date is not allowed here".into(),
                "a time span is text with its unit, like \"5 us\"",
            ),
        }
    }

    fn refuse(&mut self, path: &str, problem: String, right: &str) -> Value {
        self.wrong.push((path.to_string(), problem, right.to_string()));
        Value::Null
    }
}
