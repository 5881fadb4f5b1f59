//! What is wrong with a spec, where, and what would be right.

use std::fmt;

/// One thing that is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The file as it was named, or the change that brought the value in.
    pub file: String,
    /// The line, from 1, where the file has lines that mean something (TOML, not JSON).
    pub line: Option<u32>,
    /// The key as a path: `network.topology.hosts`, `traffic[1].size`. Empty for the whole file.
    pub key: String,
    /// What is wrong.
    pub problem: String,
    /// What would be right.
    pub right: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.file)?;
        if let Some(line) = self.line {
            write!(f, ":{line}")?;
        }
        if !self.key.is_empty() {
            write!(f, ": {}", self.key)?;
        }
        write!(f, ": {}", self.problem)?;
        if !self.right.is_empty() {
            write!(f, "; {}", self.right)?;
        }
        Ok(())
    }
}

/// Everything found wrong with a spec, in the order of its lines; never empty. Shown as one line per problem.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problems(Vec<Problem>);

impl Problems {
    /// `None` when there is no problem.
    pub(crate) fn new(mut problems: Vec<Problem>) -> Option<Self> {
        problems.sort_by_key(|p| p.line);
        (!problems.is_empty()).then_some(Self(problems))
    }

    /// The problems.
    pub fn iter(&self) -> impl Iterator<Item = &Problem> {
        self.0.iter()
    }
}

impl From<Problem> for Problems {
    fn from(problem: Problem) -> Self {
        Self(vec![problem])
    }
}

impl fmt::Display for Problems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, problem) in self.0.iter().enumerate() {
            if i > 0 {
                f.write_str("\n")?;
            }
            problem.fmt(f)?;
        }
        Ok(())
    }
}

impl std::error::Error for Problems {}
