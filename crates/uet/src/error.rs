//! Why a run is refused.

use std::fmt;

/// The input that an error or a warning is about. A line counts from 1, and 0 is the whole text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// The options.
    Options,
    /// A line of the matrix.
    Matrix(u32),
    /// A line of the topology.
    Topology(u32),
}

/// What is wrong with an input and, after a semicolon, what would be right.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    /// Where.
    pub place: Place,
    /// In words.
    pub what: String,
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.place {
            Place::Options => f.write_str("options"),
            Place::Matrix(0) => f.write_str("matrix"),
            Place::Matrix(line) => write!(f, "matrix:{line}"),
            Place::Topology(0) => f.write_str("topology"),
            Place::Topology(line) => write!(f, "topology:{line}"),
        }?;
        write!(f, ": {}", self.what)
    }
}

impl std::error::Error for Error {}

/// An error of these words.
pub(crate) fn error<T>(place: Place, what: impl Into<String>) -> Result<T, Error> {
    Err(Error { place, what: what.into() })
}
