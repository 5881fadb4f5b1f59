//! Comma-separated tables written by hand or exported: flows, links and nodes.
//!
//! The first line names the columns, in any order. Fields may be in double quotes, as some programs write them; a field
//! contains no comma. Empty lines are skipped.

mod flows;
mod links;

pub use flows::{FlowRow, FlowTable};
pub use links::{LinkRow, LinkTable};

use crate::text::quote;
use crate::{Error, Warning};

/// Most column names listed in a message.
const MOST_SHOWN: usize = 20;

/// A table whose first line has been read.
#[derive(Clone, Debug)]
struct Csv<'a> {
    file: &'a str,
    text: &'a str,
    /// The line that names the columns.
    line: u32,
    columns: Vec<&'a str>,
}

impl<'a> Csv<'a> {
    /// `needs` describes the required columns.
    fn read(file: &'a str, text: &'a str, needs: &str) -> Result<Self, Error> {
        let text = text.trim_start_matches('\u{feff}');
        let Some((line, header)) = lines(text).next() else {
            return Err(Error { file: file.into(), line: 1, what: format!("the file is empty; it needs {needs}") });
        };
        Ok(Self { file, text, line, columns: fields(header).collect() })
    }

    fn error(&self, line: u32, what: impl Into<String>) -> Error {
        Error { file: self.file.into(), line, what: what.into() }
    }

    /// Index of a column; `None` if there is none of this name.
    fn find(&self, name: &str) -> Option<usize> {
        self.columns.iter().position(|column| *column == name)
    }

    /// Indices of required columns. `needs` as in [`Csv::read`].
    fn need<const N: usize>(&self, names: [&str; N], needs: &str) -> Result<[usize; N], Error> {
        let missing: Vec<&str> = names.iter().copied().filter(|name| self.find(name).is_none()).collect();
        match missing[..] {
            [] => Ok(names.map(|name| self.find(name).unwrap_or(0))),
            [one] => Err(self.lacks(&format!("column {one} is missing"), needs)),
            _ => Err(self.lacks(&format!("columns {} are missing", missing.join(", ")), needs)),
        }
    }

    /// An error about the first line, with its columns and the required ones.
    fn lacks(&self, problem: &str, needs: &str) -> Error {
        let separated = match self.columns[..] {
            [only] if only.contains([';', '\t', '|']) => ", and columns are separated by commas",
            _ => "",
        };
        self.error(self.line, format!("{problem}: the file has {}; it needs {needs}{separated}", list(&self.columns)))
    }

    /// Refuses a duplicate among the `known` columns; others are ignored.
    fn check_twice(&self, known: &[&str]) -> Result<(), Error> {
        let twice = |name: &&&str| self.columns.iter().filter(|column| *column == *name).count() > 1;
        match known.iter().find(twice) {
            Some(name) => Err(self.error(self.line, format!("column {name} is listed twice; leave one out"))),
            None => Ok(()),
        }
    }

    /// A warning about columns other than the `known` ones, which are ignored.
    fn ignored(&self, known: &[&str]) -> Option<Warning> {
        let others: Vec<&str> = self.columns.iter().copied().filter(|column| !known.contains(column)).collect();
        let what = match others.len() {
            0 => return None,
            1 => format!("column {} is not used", list(&others)),
            _ => format!("columns {} are not used", list(&others)),
        };
        Some(Warning { file: self.file.into(), line: self.line, what })
    }

    /// The lines after the first, each with its number and a field for each column.
    fn rows(&self) -> impl Iterator<Item = Result<(u32, Vec<&'a str>), Error>> {
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

/// For fuzzing: any bytes are a table of flows or an error with a place.
pub fn fuzz_flows(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let read = FlowTable::read("f", &text).and_then(|table| {
        table.ignored();
        table.rows().collect::<Result<Vec<_>, _>>()
    });
    match read {
        Ok(rows) => assert!(rows.iter().all(|row| row.line > 1)),
        Err(error) => assert!(error.file == "f" && error.line > 0 && error.what.contains("; ")),
    }
}

/// For fuzzing: any bytes are a table of links or an error with a place. The bytes after the first null byte are the
/// table of nodes.
pub fn fuzz_links(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let (links, nodes) = text.split_once('\0').map_or((&*text, None), |(links, nodes)| (links, Some(nodes)));
    match LinkTable::read("f", links, nodes.map(|nodes| ("n", nodes))) {
        Ok(table) => {
            let known = |name: &String| table.hosts.contains(name) != table.switches.contains(name);
            assert!(table.links.iter().take(100).all(|link| link.a != link.b && known(&link.a) && known(&link.b)));
        }
        Err(error) => assert!(["f", "n"].contains(&&*error.file) && error.what.contains("; ")),
    }
}
