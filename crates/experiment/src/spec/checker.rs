//! The problems of a spec, as its validation finds them.

use super::source::Source;
use crate::error::{Problem, why_unread};
use std::path::{Path, PathBuf};

/// Number of problems after which lists of names are not checked further.
const ENOUGH_PROBLEMS: usize = 50;
/// Largest file that a spec may name, in bytes: enough for as many flows as a run may have.
const LARGEST_NAMED: u64 = 1 << 30;

/// Collects problems, so that many are reported at once.
pub struct Checker<'a> {
    pub source: &'a Source,
    pub problems: Vec<Problem>,
    pub warnings: Vec<String>,
}

impl Checker<'_> {
    /// Adds a problem.
    pub fn fail(&mut self, path: &str, problem: impl Into<String>, right: impl Into<String>) {
        self.problems.push(self.source.problem(path, problem, right));
    }

    /// The text of a file named at `key`, and its path; `None` after adding a problem.
    pub fn read(&mut self, key: &str, name: &str, or: &str) -> Option<(String, PathBuf)> {
        let path = self.source.folder.join(name);
        match text_of(&path) {
            Ok(text) => Some((text, path)),
            Err(error) => {
                let right = format!("name a file, relative to the spec's folder{or}");
                self.fail(key, format!("{} cannot be read: {error}", path.display()), right);
                None
            }
        }
    }

    /// What each name of the list at `path` stands for. For one that stands for nothing, `of` returns the problem and
    /// its correction. After enough problems the other names are not looked at.
    pub fn named<T>(
        &mut self,
        names: &[String],
        path: &str,
        of: impl Fn(&str) -> Result<T, (String, String)>,
    ) -> Vec<T> {
        let mut found = Vec::with_capacity(names.len());
        for (i, name) in names.iter().enumerate() {
            if self.has_enough() {
                break;
            }
            match of(name) {
                Ok(one) => found.push(one),
                Err((problem, right)) => self.fail(&format!("{path}[{i}]"), problem, right),
            }
        }
        found
    }

    /// Whether there are enough problems: long lists of names are then not checked further.
    pub fn has_enough(&self) -> bool {
        self.problems.len() >= ENOUGH_PROBLEMS
    }
}

/// The text of a regular file that is not too large. Others, such as pipes and devices, may never end.
fn text_of(path: &Path) -> Result<String, String> {
    let about = std::fs::metadata(path).map_err(|error| why_unread(&error))?;
    if !about.is_file() {
        return Err(if about.is_dir() { "it is a folder" } else { "it is not a regular file" }.into());
    }
    if about.len() > LARGEST_NAMED {
        return Err(format!("it has {} bytes; at most {LARGEST_NAMED} are possible", about.len()));
    }
    std::fs::read_to_string(path).map_err(|error| why_unread(&error))
}
