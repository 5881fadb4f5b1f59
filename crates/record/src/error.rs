//! Why a record could not be made or written.

use arrow_schema::ArrowError;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// Why a record could not be made or written.
#[derive(Debug)]
pub enum RecordError {
    /// The target exists and overwriting was not asked for.
    Exists(PathBuf),
    /// The target exists, overwriting was asked for, and it does not look like a run folder.
    NotARunFolder(PathBuf),
    /// A file operation failed.
    Io {
        /// The operation: "write", "rename".
        doing: &'static str,
        /// The file.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// The columns of a table do not fit together.
    Table {
        /// The table.
        table: &'static str,
        /// The cause.
        source: ArrowError,
    },
    /// The pieces of a run are inconsistent, such as a flow of a traffic that does not exist.
    Inconsistent(String),
}

impl RecordError {
    pub(crate) fn io(doing: &'static str, path: &Path, source: io::Error) -> Self {
        Self::Io { doing, path: path.to_path_buf(), source }
    }

    /// The same error for a file in the folder `from`, named as a file in the folder `to`.
    pub(crate) fn moved(self, from: &Path, to: &Path) -> Self {
        match self {
            Self::Io { doing, path, source } => {
                let path = path.strip_prefix(from).map_or_else(|_| path.clone(), |file| to.join(file));
                Self::Io { doing, path, source }
            }
            other => other,
        }
    }
}

impl fmt::Display for RecordError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exists(path) => {
                write!(f, "{} exists; give another place, or ask for it to be overwritten", path.display())
            }
            Self::NotARunFolder(path) => write!(
                f,
                "{} exists and is not a run folder (it has no manifest.json), so it is not overwritten; give another \
                 place",
                path.display()
            ),
            Self::Io { doing, path, source } => {
                // Without the system error number.
                let why = source.to_string();
                write!(f, "cannot {doing} {}: {}", path.display(), why.split(" (os error").next().unwrap_or(&why))
            }
            Self::Table { table, source } => write!(f, "cannot make the {table} table: {source}"),
            Self::Inconsistent(problem) => write!(f, "the run's record is inconsistent: {problem}"),
        }
    }
}

impl std::error::Error for RecordError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Io { source, .. } => Some(source),
            Self::Table { source, .. } => Some(source),
            _ => None,
        }
    }
}
