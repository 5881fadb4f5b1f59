//! Errors in files, with their place.

use core::fmt;

/// A file that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    /// The file as it was named.
    pub file: String,
    /// The line, from 1; 0 for the whole file.
    pub line: u32,
    /// The problem and the correction.
    pub what: String,
}

/// Something in a file that is probably a mistake, though the file can be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Warning {
    /// The file as it was named.
    pub file: String,
    /// The line, from 1; 0 for the whole file.
    pub line: u32,
    /// The problem and its consequence.
    pub what: String,
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        place(f, &self.file, self.line, &self.what)
    }
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        place(f, &self.file, self.line, &self.what)
    }
}

fn place(f: &mut fmt::Formatter<'_>, file: &str, line: u32, what: &str) -> fmt::Result {
    match line {
        0 => write!(f, "{file}: {what}"),
        line => write!(f, "{file}:{line}: {what}"),
    }
}

impl std::error::Error for Error {}
