//! What is wrong with a file, and where.

use core::fmt;

/// A file that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    /// The file as it was named.
    pub file: String,
    /// The line, from 1; 0 when the file as a whole is meant.
    pub line: u32,
    /// What is wrong, and what would be right.
    pub what: String,
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            0 => write!(f, "{}: {}", self.file, self.what),
            line => write!(f, "{}:{line}: {}", self.file, self.what),
        }
    }
}

impl std::error::Error for Error {}
