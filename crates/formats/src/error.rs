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

/// All errors of a file: the first [`Errors::MOST`] of them, and how many more there are. Shown one a line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Errors {
    kept: Vec<Error>,
    more: usize,
}

impl Errors {
    /// Most errors that are kept.
    pub const MOST: usize = 20;

    /// Adds an error, or counts it.
    pub fn push(&mut self, error: Error) {
        if self.kept.len() < Self::MOST {
            self.kept.push(error);
        } else {
            self.more += 1;
        }
    }

    /// Adds the errors of another file, or of another check of it.
    pub fn extend(&mut self, others: Errors) {
        self.more += others.more;
        others.kept.into_iter().for_each(|error| self.push(error));
    }

    /// Counts more errors, which are not kept.
    pub(crate) fn more_by(&mut self, more: usize) {
        self.more += more;
    }

    /// The errors that are kept, and how many more there are.
    pub fn kept(&self) -> (&[Error], usize) {
        (&self.kept, self.more)
    }

    /// The first error; there is one wherever these are returned.
    pub fn first(&self) -> Option<&Error> {
        self.kept.first()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.kept.is_empty()
    }

    /// `value`, if there is no error; otherwise the errors, in the order of their lines.
    ///
    /// # Errors
    /// These.
    pub fn or<T>(mut self, value: T) -> Result<T, Self> {
        if self.is_empty() {
            return Ok(value);
        }
        self.kept.sort_by_key(|error| error.line);
        Err(self)
    }
}

impl From<Error> for Errors {
    fn from(error: Error) -> Self {
        Self { kept: vec![error], more: 0 }
    }
}

impl fmt::Display for Errors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, error) in self.kept.iter().enumerate() {
            write!(f, "{}{error}", if at > 0 { "\n" } else { "" })?;
        }
        match self.more {
            0 => Ok(()),
            more => write!(f, "\nand {more} more mistakes"),
        }
    }
}

impl std::error::Error for Errors {}

fn place(f: &mut fmt::Formatter<'_>, file: &str, line: u32, what: &str) -> fmt::Result {
    match line {
        0 => write!(f, "{file}: {what}"),
        line => write!(f, "{file}:{line}: {what}"),
    }
}

impl std::error::Error for Error {}
