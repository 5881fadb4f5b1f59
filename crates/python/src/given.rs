//! Specs as Python gives them.

use crate::errors::{SpecError, refused};
use fanin_experiment::{CheckedSpec, Spec};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use std::path::Path;

/// A spec: a Python object with these attributes, such as a `Job`.
#[derive(FromPyObject)]
pub struct Given {
    text: String,
    name: String,
    format: String,
    folder: String,
    overrides: Vec<String>,
    scheme: Option<String>,
    seed: Option<u64>,
}

impl Given {
    fn read(&self) -> PyResult<Spec> {
        let folder = Path::new(&self.folder);
        let spec = match &*self.format {
            "toml" => Spec::from_toml(&self.text, &self.name, folder).map_err(refused)?,
            "json" => Spec::from_json(&self.text, &self.name, folder).map_err(refused)?,
            other => return Err(PyValueError::new_err(format!("format is \"toml\" or \"json\", not \"{other}\""))),
        };
        let changes = self.overrides.iter().map(|change| split_change(change)).collect::<PyResult<Vec<_>>>()?;
        spec.with(&changes, self.scheme.as_deref(), self.seed).map_err(refused)
    }

    pub fn check(&self) -> PyResult<CheckedSpec> {
        self.read()?.check().map_err(refused)
    }

    /// The same of one that is to run now.
    pub fn check_to_run(&self) -> PyResult<CheckedSpec> {
        let checked = self.check()?;
        checked.posted_elsewhere().map_or(Ok(checked), |problem| Err(refused(problem.into())))
    }
}

pub fn split_change(change: &str) -> PyResult<(&str, &str)> {
    let (key, value) = change.split_once('=').ok_or_else(|| {
        SpecError::new_err(format!("--set \"{change}\": no \"=\"; write it like --set \"measure.window=10 ms\""))
    })?;
    Ok((key.trim(), value.trim()))
}
