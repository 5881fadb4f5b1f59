//! Comma-separated tables: the columns of the first line, and a row for each further line.

use crate::text::quote;
use crate::{Error, Warning};

/// Most column names listed in a message.
const MOST_SHOWN: usize = 20;

/// A table whose first line has been read.
#[derive(Clone, Debug)]
pub struct Csv<'a> {
    pub file: &'a str,
    pub text: &'a str,
    /// The line that names the columns.
    pub line: u32,
    pub columns: Vec<&'a str>,
}

impl<'a> Csv<'a> {
    /// `needs` describes the required columns.
    pub fn read(file: &'a str, text: &'a str, needs: &str) -> Result<Self, Error> {
        let text = text.trim_start_matches('\u{feff}');
        let Some((line, header)) = lines(text).next() else {
            return Err(Error { file: file.into(), line: 1, what: format!("the file is empty; it needs {needs}") });
        };
        Ok(Self { file, text, line, columns: fields(header).collect() })
    }

    pub fn error(&self, line: u32, what: impl Into<String>) -> Error {
        Error { file: self.file.into(), line, what: what.into() }
    }

    /// Index of a column; `None` if there is none of this name.
    pub fn find(&self, name: &str) -> Option<usize> {
        self.columns.iter().position(|column| *column == name)
    }

    /// Indices of required columns. `needs` as in [`Csv::read`].
    pub fn need<const N: usize>(&self, names: [&str; N], needs: &str) -> Result<[usize; N], Error> {
        let missing: Vec<&str> = names.iter().copied().filter(|name| self.find(name).is_none()).collect();
        match missing[..] {
            [] => Ok(names.map(|name| self.find(name).unwrap_or(0))),
            [one] => Err(self.lacks(&format!("column {one} is missing"), needs)),
            _ => Err(self.lacks(&format!("columns {} are missing", missing.join(", ")), needs)),
        }
    }

    /// An error about the first line, with its columns and the required ones.
    pub fn lacks(&self, problem: &str, needs: &str) -> Error {
        let separated = match self.columns[..] {
            [only] if only.contains([';', '\t', '|']) => ", and columns are separated by commas",
            _ => "",
        };
        self.error(self.line, format!("{problem}: the file has {}; it needs {needs}{separated}", list(&self.columns)))
    }

    /// Refuses a duplicate among the `known` columns; others are ignored.
    pub fn check_twice(&self, known: &[&str]) -> Result<(), Error> {
        let twice = |name: &&&str| self.columns.iter().filter(|column| *column == *name).count() > 1;
        match known.iter().find(twice) {
            Some(name) => Err(self.error(self.line, format!("column {name} is listed twice; leave one out"))),
            None => Ok(()),
        }
    }

    /// A warning about columns other than the `known` ones, which are ignored.
    pub fn ignored(&self, known: &[&str]) -> Option<Warning> {
        let others: Vec<&str> = self.columns.iter().copied().filter(|column| !known.contains(column)).collect();
        let what = match others.len() {
            0 => return None,
            1 => format!("column {} is not used", list(&others)),
            _ => format!("columns {} are not used", list(&others)),
        };
        Some(Warning { file: self.file.into(), line: self.line, what })
    }

    /// The lines after the first, each with its number and a field for each column.
    pub fn rows(&self) -> impl Iterator<Item = Result<(u32, Vec<&'a str>), Error>> {
        lines(self.text).skip(1).map(|(number, line)| {
            // At most one field more than expected: enough to detect a wrong line.
            let found: Vec<&str> = fields(line).take(self.columns.len() + 1).collect();
            if found.len() == self.columns.len() {
                return Ok((number, found));
            }
            let problem = format!("{} does not have {} fields", quote(line.trim().as_bytes()), self.columns.len());
            Err(self.error(number, problem + "; each line has one field for each column of the first line"))
        })
    }
}

/// Lines that are not empty, with their numbers.
fn lines(text: &str) -> impl Iterator<Item = (u32, &str)> {
    (1..).zip(text.lines()).filter(|(_, line)| !line.trim().is_empty())
}

fn fields(line: &str) -> impl Iterator<Item = &str> {
    line.split(',').map(|field| {
        let field = field.trim();
        field.strip_prefix('"').and_then(|field| field.strip_suffix('"')).unwrap_or(field)
    })
}

/// Names for a message; those of an index column written by a program may be empty.
fn list(names: &[&str]) -> String {
    let shown = |name: &&str| if name.is_empty() { "\"\"".to_string() } else { name.chars().take(40).collect() };
    let mut listed: Vec<String> = names.iter().take(MOST_SHOWN).map(shown).collect();
    if names.len() > MOST_SHOWN {
        listed.push("...".into());
    }
    listed.join(", ")
}
