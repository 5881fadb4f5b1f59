//! Runs of uet-htsim that were recorded: every line that it printed and, where its event log was recorded, every event.
//!
//! The folder that the environment variable `FANIN_GOLDEN_UEC` names has many: `cases.jsonl` with options and names of
//! files, in which texts may be compressed with xz. `FANIN_GOLDEN_UEC_ONLY` selects those whose tag contains it, and
//! `FANIN_GOLDEN_UEC_LINES` skips the event logs.

use std::io::Write;
use std::path::Path;
use std::process::Command;
use std::time::Instant;

use fanin_uet::{Options, Setup};
use serde_json::Value;

fn text(path: &Path) -> String {
    let bytes = if path.extension().is_some_and(|end| end == "xz") {
        Command::new("xz").arg("-dc").arg(path).output().expect("xz runs").stdout
    } else {
        std::fs::read(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
    };
    String::from_utf8(bytes).expect("text")
}

/// Compares lines as they come with those that are expected.
struct Comparison<'a> {
    expected: std::str::Lines<'a>,
    count: usize,
    difference: Option<String>,
}

impl<'a> Comparison<'a> {
    fn new(expected: &'a str) -> Self {
        Self { expected: expected.lines(), count: 0, difference: None }
    }

    fn line(&mut self, line: &str) {
        self.count += 1;
        if self.difference.is_none() {
            let expected = self.expected.next().unwrap_or("(the end)");
            if expected != line {
                self.difference = Some(format!("line {}\n  expected {expected}\n  got      {line}", self.count));
            }
        }
    }

    fn end(mut self) -> Result<(), String> {
        match (self.difference, self.expected.next()) {
            (Some(difference), _) => Err(difference),
            (None, Some(more)) => Err(format!("line {}\n  expected {more}\n  got      (the end)", self.count + 1)),
            (None, None) => Ok(()),
        }
    }
}

/// The seconds that a run took here.
fn compared(folder: &Path, case: &Value, events: bool) -> Result<f64, String> {
    let file = |key: &str| case[key].as_str().map(|name| text(&folder.join(name)));
    let options = case["options"].as_str().unwrap_or_default();
    let options = Options::parse(options.split_whitespace()).map_err(|e| e.to_string())?;
    let (matrix, topology) = (file("matrix").expect("a matrix"), file("topo"));
    let log = file("trace").filter(|_| events);
    let expected = file("flows").unwrap_or_default();
    let mut lines = Comparison::new(&expected);
    let mut records = Comparison::new(log.as_deref().unwrap_or_default());
    let started = Instant::now();
    let mut output = |line: &str| lines.line(line);
    let mut record = |line: &str| records.line(line);
    let record: Option<&mut dyn FnMut(&str)> = if log.is_some() { Some(&mut record) } else { None };
    let setup = Setup::new(options, &matrix, topology.as_deref()).map_err(|e| e.to_string())?;
    let results = setup.run(&mut output, record, &mut |_| true);
    let seconds = started.elapsed().as_secs_f64();
    let tag = case["tag"].as_str().unwrap_or_default();
    println!("{tag}: {seconds:.2} s, {:.2} million packets of ports a second", results.hops as f64 / seconds / 1e6);
    if log.is_some() {
        records.end().map_err(|d| format!("event log, {d}"))?;
    }
    lines.end().map(|()| seconds)
}

#[test]
fn recorded_runs_are_equal() {
    let Some(folder) = std::env::var_os("FANIN_GOLDEN_UEC") else {
        // Past the harness, which would keep it to itself.
        let _ = writeln!(std::io::stderr(), "SKIPPED: FANIN_GOLDEN_UEC names no folder with recorded runs");
        return;
    };
    let only = std::env::var("FANIN_GOLDEN_UEC_ONLY").unwrap_or_default();
    let events = std::env::var_os("FANIN_GOLDEN_UEC_LINES").is_none();
    let folder = Path::new(&folder);
    let (mut equal, mut different) = (0, 0);
    let (mut long, mut theirs, mut ours) = (0, 0.0, 0.0);
    for line in text(&folder.join("cases.jsonl")).lines() {
        let case: Value = serde_json::from_str(line).expect("a JSON object");
        let tag = case["tag"].as_str().expect("a tag");
        if case["flows"].is_null() || !only.split(',').any(|part| tag.contains(part)) {
            continue;
        }
        match compared(folder, &case, events) {
            Ok(seconds) => {
                equal += 1;
                if let Some(recorded) = case["user_s"].as_f64().filter(|recorded| *recorded >= 1.0) {
                    (long, theirs, ours) = (long + 1, theirs + recorded, ours + seconds);
                }
            }
            Err(difference) => {
                different += 1;
                println!("DIFFERENT {tag}: {difference}");
            }
        }
    }
    println!("{equal} equal, {different} different");
    println!("the {long} whose recorded CPU time is a second or more: {theirs:.1} s recorded, {ours:.1} s here");
    assert!(equal > 0 && different == 0, "{different} of {} recorded runs differ", equal + different);
}
