//! Tests of papers' claims report what they measured: rows of the table of claims, as the experiments' rows in Python.
//!
//! With `FANIN_CLAIMS=DIR` a test that passes leaves the file `CLAIM--TEST.jsonl` there, a row a line; without it,
//! nothing. The file depends on the test alone, whatever runs beside it. `make test` compares all of them with
//! `papers/fanin_papers/claims/tested.json`, and `make tested` renews that.
#![forbid(unsafe_code)]

mod verdict;

use std::fmt::Write;
use std::path::{Path, PathBuf};

pub use verdict::{Verdict, band, gain_band, order, strict};

/// The rows that the calling test measures of a claim: `let mut rows = claim!("dart-fig2-fairshare");`. Where a claim
/// is measured under several settings, as `"hpcc-fig8-nic (no credit)"`, all its rows must hold under one.
#[macro_export]
macro_rules! claim {
    ($id:expr) => {{
        fn here() {}
        $crate::Rows::new($id, file!(), std::any::type_name_of_val(&here))
    }};
}

/// The rows of one claim by one test. They are written when it goes out of scope, unless the test fails.
pub struct Rows {
    claim: &'static str,
    test: String,
    folder: Option<PathBuf>,
    lines: String,
}

impl Rows {
    /// Of the test in `file`, whose name is in the path `function::here`; use [`claim!`].
    #[doc(hidden)]
    pub fn new(claim: &'static str, file: &str, function: &str) -> Self {
        let path = function.trim_end_matches("::here").trim_end_matches("::{{closure}}");
        let name = path.rsplit("::").next().unwrap_or(path);
        let folder = std::env::var_os("FANIN_CLAIMS").map(PathBuf::from);
        Rows { claim, test: format!("{file}::{name}"), folder, lines: String::new() }
    }

    /// A row: what was measured, the paper's result and ours in short, and when it counts as holding.
    pub fn row(&mut self, what: impl AsRef<str>, paper: &str, ours: impl AsRef<str>, accept: &str, verdict: Verdict) {
        self.line(what.as_ref(), paper, ours.as_ref(), accept, verdict, true);
    }

    /// A row beside the claim, which does not state it: it decides nothing.
    pub fn shown(&mut self, what: impl AsRef<str>, paper: &str, ours: impl AsRef<str>, accept: &str, verdict: Verdict) {
        self.line(what.as_ref(), paper, ours.as_ref(), accept, verdict, false);
    }

    /// What the assertions of the test decide: it holds, or the test fails and there is no row.
    pub fn asserted(&mut self, what: impl AsRef<str>, paper: &str, ours: impl AsRef<str>) {
        self.row(what, paper, ours, "all assertions of the test", Verdict::Holds);
    }

    /// A ratio or positive quantity between two bounds, with so many digits after the point.
    pub fn within(&mut self, what: impl AsRef<str>, paper: &str, (value, digits): (f64, usize), low: f64, high: f64) {
        self.row(what, paper, format!("{value:.digits$}"), &format!("{low} to {high}"), band(value, low, high));
    }

    fn line(&mut self, what: &str, paper: &str, ours: &str, accept: &str, verdict: Verdict, judged: bool) {
        let texts = [
            ("claim", self.claim),
            ("what", what),
            ("paper", paper),
            ("ours", ours),
            ("accept", accept),
            ("verdict", verdict.name()),
            ("test", &self.test),
        ];
        self.lines.push('{');
        for (key, text) in texts {
            let _ = write!(self.lines, "\"{key}\": \"{}\", ", escaped(text));
        }
        let _ = writeln!(self.lines, "\"judged\": {judged}}}");
    }

    fn write_to(&self, folder: &Path) -> std::io::Result<()> {
        std::fs::create_dir_all(folder)?;
        let test = self.test.replace(['/', ':'], "-");
        // A claim may be followed by the setting of its rows, in parentheses.
        let claim = self.claim.replace(|c: char| !c.is_ascii_alphanumeric(), "-");
        std::fs::write(folder.join(format!("{claim}--{test}.jsonl")), &self.lines)
    }
}

impl Drop for Rows {
    fn drop(&mut self) {
        let kept = !self.lines.is_empty() && !std::thread::panicking();
        if let Some(folder) = self.folder.as_ref().filter(|_| kept) {
            self.write_to(folder).expect("FANIN_CLAIMS is a folder that can be written to");
        }
    }
}

/// A text inside the quotes of JSON.
fn escaped(text: &str) -> String {
    let mut out = String::new();
    for character in text.chars() {
        match character {
            '"' | '\\' => out.extend(['\\', character]),
            control if u32::from(control) < 0x20 => {
                let _ = write!(out, "\\u{:04x}", u32::from(control));
            }
            other => out.push(other),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_name_the_test_also_from_a_closure() {
        let mut rows = claim!("dart-x");
        let inner = || claim!("dart-x").test.clone();
        assert_eq!(inner(), rows.test);
        assert!(rows.test.ends_with("claims/src/lib.rs::rows_name_the_test_also_from_a_closure"), "{}", rows.test);
        rows.within("a \"ratio\"", "2", (2.24, 1), 1.0, 2.0);
        let test = &rows.test;
        let start = r#"{"claim": "dart-x", "what": "a \"ratio\"", "paper": "2", "ours": "2.2", "accept": "1 to 2", "#;
        let end = format!("\"verdict\": \"close\", \"test\": \"{test}\", \"judged\": true}}\n");
        assert_eq!(rows.lines, format!("{start}{end}"));
        // Nothing of it is to be in the table.
        rows.folder = None;
    }

    #[test]
    fn a_test_that_fails_leaves_nothing() {
        let folder = std::env::temp_dir().join(format!("fanin-claims-{}", std::process::id()));
        for (claim, fails) in [("dart-passes", false), ("dart-fails", true)] {
            let mut rows = Rows::new(claim, "f.rs", "t::here");
            rows.folder = Some(folder.clone());
            let ended = std::thread::spawn(move || {
                rows.asserted("all of it", "-", "1");
                assert!(!fails, "on purpose");
            });
            assert_eq!(ended.join().is_err(), fails);
        }
        let left: Vec<_> = std::fs::read_dir(&folder).unwrap().map(|file| file.unwrap().file_name()).collect();
        assert_eq!(left, ["dart-passes--f.rs--t.jsonl"]);
        std::fs::remove_dir_all(folder).unwrap();
    }
}
