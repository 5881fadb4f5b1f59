//! Errors in specs: the problem, its place, and a correction.

use fanin_formats::{Error, Errors};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::io;

/// One error.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The file as it was named, or the option that set the value.
    pub file: String,
    /// The line, from 1, in formats with meaningful lines (TOML, not JSON).
    pub line: Option<u32>,
    /// The key as a path: `network.topology.hosts`, `traffic[1].size`. Empty for the whole file.
    pub key: String,
    /// The problem.
    pub problem: String,
    /// The correction.
    pub right: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&shown(&self.file))?;
        if let Some(line) = self.line {
            write!(f, ":{line}")?;
        }
        if !self.key.is_empty() {
            write!(f, ": {}", shown(&self.key))?;
        }
        write!(f, ": {}", shown(&self.problem))?;
        if !self.right.is_empty() {
            write!(f, "; {}", shown(&self.right))?;
        }
        Ok(())
    }
}

/// Most characters of each field of a problem.
const LONGEST: usize = 1000;

/// A text on one line and of limited length: parts of it may come from a file that is not a spec.
fn shown(text: &str) -> Cow<'_, str> {
    if text.len() <= LONGEST && !text.contains(char::is_control) {
        return Cow::Borrowed(text);
    }
    let mut line = String::with_capacity(LONGEST);
    for (number, letter) in text.chars().enumerate() {
        if number == LONGEST {
            line.push_str("...");
            break;
        }
        if letter.is_control() {
            line.extend(letter.escape_default());
        } else {
            line.push(letter);
        }
    }
    Cow::Owned(line)
}

/// Why a file cannot be read, in words and without the system's error number.
pub(crate) fn why_unread(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound => "there is no such file".into(),
        io::ErrorKind::PermissionDenied => "you may not read it".into(),
        io::ErrorKind::IsADirectory => "it is a folder".into(),
        io::ErrorKind::InvalidData => "it is not UTF-8 text".into(),
        _ => {
            let text = error.to_string();
            text.split(" (os error").next().unwrap_or(&text).to_string()
        }
    }
}

/// Most problems of one kind that are listed: those of keys that differ in the numbers of lists alone.
const LISTED: usize = 20;

/// All errors found in a spec, in the order of its lines; never empty. Of many of one kind the first are listed.
/// Displayed as one line per problem.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problems(Vec<Problem>);

impl Problems {
    /// `None` when there is no problem.
    pub(crate) fn new(mut problems: Vec<Problem>) -> Option<Self> {
        problems.sort_by_key(|p| p.line);
        (!problems.is_empty()).then(|| Self(fewer(problems)))
    }

    /// The same problems, each changed by `tell`.
    pub(crate) fn map(self, tell: impl FnMut(Problem) -> Problem) -> Self {
        Self(self.0.into_iter().map(tell).collect())
    }

    /// The problems.
    pub fn iter(&self) -> impl Iterator<Item = &Problem> {
        self.0.iter()
    }
}

/// The first problems of each kind, and the number of the others.
fn fewer(problems: Vec<Problem>) -> Vec<Problem> {
    let mut counts: BTreeMap<(String, String), usize> = BTreeMap::new();
    let kind = |problem: &Problem| (without_numbers(&problem.key), problem.right.clone());
    let mut kept = Vec::new();
    for problem in problems {
        let count = counts.entry(kind(&problem)).or_default();
        *count += 1;
        if *count <= LISTED {
            kept.push(problem);
        }
    }
    for ((key, right), count) in counts.into_iter().filter(|(_, count)| *count > LISTED) {
        let of = |problem: &&Problem| problem.right == right && without_numbers(&problem.key) == key;
        let Some(file) = kept.iter().find(of).map(|first| first.file.clone()) else { continue };
        let problem = format!("and {} more problems of this kind", count - LISTED);
        kept.push(Problem { file, line: None, key, problem, right: String::new() });
    }
    kept
}

/// A key without the numbers in its brackets.
fn without_numbers(key: &str) -> String {
    let mut inside = false;
    let keep = |letter: &char| {
        inside = (inside || *letter == '[') && *letter != ']';
        !inside || *letter == '['
    };
    key.chars().filter(keep).collect()
}

impl Problems {
    /// Problems in an order of their own, of several files; there is one at least.
    pub(crate) fn in_order(problems: Vec<Problem>) -> Self {
        Self(problems)
    }
}

impl IntoIterator for Problems {
    type Item = Problem;
    type IntoIter = std::vec::IntoIter<Problem>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

impl From<Errors> for Problems {
    fn from(errors: Errors) -> Self {
        let (kept, more) = errors.kept();
        let mut problems: Vec<Problem> = kept.iter().cloned().map(Problem::from).collect();
        if let Some(last) = kept.last().filter(|_| more > 0) {
            problems.push(Error { file: last.file.clone(), line: 0, what: format!("and {more} more mistakes") }.into());
        }
        Self(problems)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_many_problems_of_one_kind_the_first_are_listed() {
        let of = |number: u32, key: &str, right: &str| Problem {
            file: "x.toml".into(),
            line: Some(number),
            key: format!("traffic[{number}].{key}"),
            problem: "it is missing".into(),
            right: right.into(),
        };
        let many = (0..1000).flat_map(|n| [of(n, "scheme", "write one"), of(n, "size", "write a size")]).collect();
        let told: Vec<Problem> = Problems::new(many).unwrap().into_iter().collect();
        assert_eq!(told.len(), 2 * LISTED + 2);
        assert_eq!(told[39].key, "traffic[19].size");
        assert_eq!(told[40].to_string(), "x.toml: traffic[].scheme: and 980 more problems of this kind");
        let few: Vec<Problem> = (0..20).map(|n| of(n, "scheme", "write one")).collect();
        assert_eq!(Problems::new(few.clone()).unwrap().0, few);
    }

    #[test]
    fn a_problem_is_one_line_whatever_the_file_says() {
        let problem = |text: &str| Problem {
            file: "x.toml".into(),
            line: Some(3),
            key: text.into(),
            problem: format!("\"{text}\" is not known"),
            right: "known: a, b".into(),
        };
        assert_eq!(
            problem("k\n\r\0").to_string(),
            "x.toml:3: k\\n\\r\\u{0}: \"k\\n\\r\\u{0}\" is not known; known: a, b"
        );
        assert!(problem(&"x".repeat(100_000)).to_string().len() < 3 * LONGEST);
        assert_eq!(problem("über").to_string(), "x.toml:3: über: \"über\" is not known; known: a, b");
    }
}
