//! Tables of flows.

use super::csv::Csv;
use crate::text::quote;
use crate::{Error, Warning};
use fanin_units::Time;

/// The column of the start, and its unit.
const STARTS: [(&str, &str); 5] =
    [("start_ps", "ps"), ("start_ns", "ns"), ("start_us", "us"), ("start_ms", "ms"), ("start_s", "s")];
/// All known columns.
const KNOWN: [&str; 9] = ["src", "dst", "bytes", "group", "start_ps", "start_ns", "start_us", "start_ms", "start_s"];
const NEEDS: &str = "src, dst, bytes and a start as start_us (or _ps, _ns, _ms, _s), and may have group";

/// A table of flows with its columns found.
#[derive(Clone, Debug)]
pub struct FlowTable<'a> {
    csv: Csv<'a>,
    src: usize,
    dst: usize,
    bytes: usize,
    start: (usize, &'static str),
    group: Option<usize>,
}

/// One flow, with its hosts as in the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlowRow<'a> {
    /// Its line in the file.
    pub line: u32,
    /// Sending host: a name or a number.
    pub src: &'a str,
    /// Receiving host: a name or a number.
    pub dst: &'a str,
    /// Payload in bytes.
    pub bytes: u64,
    /// Start time.
    pub start: Time,
    /// Number of its incast or collective.
    pub group: Option<u32>,
}

impl<'a> FlowTable<'a> {
    /// Finds the columns: `src`, `dst`, `bytes`, the start as `start_ps`, `start_ns`, `start_us`, `start_ms` or
    /// `start_s` (decimals allowed, exact to the picosecond), and optionally `group` (empty for none).
    ///
    /// # Errors
    /// The missing columns, the columns of the file, and the required ones.
    pub fn read(file: &'a str, text: &'a str) -> Result<Self, Error> {
        let csv = Csv::read(file, text, NEEDS)?;
        csv.check_twice(&KNOWN)?;
        let [src, dst, bytes] = csv.need(["src", "dst", "bytes"], NEEDS)?;
        let mut starts = STARTS.iter().filter_map(|(name, unit)| csv.find(name).map(|at| (at, *unit)));
        let start = starts.next().ok_or_else(|| csv.lacks("the column of the start is missing", NEEDS))?;
        if starts.next().is_some() {
            return Err(csv.error(csv.line, "there are two columns of starts; leave one out"));
        }
        let group = csv.find("group");
        Ok(Self { src, dst, bytes, start, group, csv })
    }

    /// A warning about ignored columns.
    pub fn ignored(&self) -> Option<Warning> {
        self.csv.ignored(&KNOWN)
    }

    /// The flows in the order of the file.
    pub fn rows(&self) -> impl Iterator<Item = Result<FlowRow<'a>, Error>> {
        self.csv.rows().map(|row| row.and_then(|(line, fields)| self.row(line, &fields)))
    }

    fn row(&self, line: u32, fields: &[&'a str]) -> Result<FlowRow<'a>, Error> {
        let wrong = |what: String| self.csv.error(line, what);
        let shown = |at: usize| quote(fields[at].as_bytes());
        let bytes = fields[self.bytes].parse().map_err(|_| {
            wrong(format!("bytes {} is not a whole number; write the size in bytes, like 8000", shown(self.bytes)))
        })?;
        let (at, unit) = self.start;
        let start = format!("{} {unit}", fields[at]).parse().map_err(|_| {
            wrong(format!("start {} is not a time in {unit}; write it like 12.5, with whole picoseconds", shown(at)))
        })?;
        let group = match self.group {
            Some(at) if !fields[at].is_empty() => Some(fields[at].parse().map_err(|_| {
                wrong(format!("group {} is not a number; write it like 3, or leave it empty", shown(at)))
            })?),
            _ => None,
        };
        Ok(FlowRow { line, src: fields[self.src], dst: fields[self.dst], bytes, start, group })
    }
}
