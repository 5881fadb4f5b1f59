//! Why a run is refused or cannot go on.

use std::fmt;

/// A reason, in words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error(pub String);

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Error {}

/// An error of these words.
pub(crate) fn error<T>(words: impl Into<String>) -> Result<T, Error> {
    Err(Error(words.into()))
}
