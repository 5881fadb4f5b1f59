//! Errors in traffics: the problem, its place, and a correction.

use std::fmt;

/// Why a traffic cannot run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum WorkloadError {
    /// A key of the traffic.
    Key {
        /// The key within the traffic: "load.share".
        key: &'static str,
        /// The problem.
        problem: String,
        /// The correction.
        right: String,
    },
    /// A line of a file.
    Line {
        /// The name of the file as it was given.
        file: String,
        /// The line, from 1.
        line: usize,
        /// The problem.
        problem: String,
        /// The correction.
        right: String,
    },
}

impl WorkloadError {
    pub(crate) fn key(key: &'static str, problem: impl Into<String>, right: impl Into<String>) -> Self {
        Self::Key { key, problem: problem.into(), right: right.into() }
    }
    pub(crate) fn line(file: &str, line: usize, problem: impl Into<String>, right: impl Into<String>) -> Self {
        Self::Line { file: file.into(), line, problem: problem.into(), right: right.into() }
    }
}

impl fmt::Display for WorkloadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Key { key, problem, right } => write!(f, "{key}: {problem}; {right}"),
            Self::Line { file, line, problem, right } => write!(f, "{file}:{line}: {problem}; {right}"),
        }
    }
}
impl std::error::Error for WorkloadError {}

/// An excerpt of a file for a message, truncated if it is long.
pub(crate) fn quote(text: &str) -> String {
    let mut short: String = text.chars().take(40).collect();
    if short.len() < text.len() {
        short.push_str("...");
    }
    format!("{short:?}")
}
