//! One traffic of a spec, as it is checked.

use super::checker::Checker;

/// One traffic, with its path.
pub struct One<'a, 'b> {
    /// Its key, like `traffic[0]`.
    pub path: String,
    /// Where problems go.
    pub checker: &'a mut Checker<'b>,
}

impl One<'_, '_> {
    /// Adds a problem with one of its keys.
    pub fn fail(&mut self, key: &str, problem: impl Into<String>, right: impl Into<String>) {
        let path = format!("{}.{key}", self.path);
        self.checker.fail(&path, problem, right);
    }
}
