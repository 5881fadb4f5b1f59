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
        let mut spec = match &*self.format {
            "toml" => Spec::from_toml(&self.text, &self.name, folder).map_err(refused)?,
            "json" => Spec::from_json(&self.text, &self.name, folder).map_err(refused)?,
            other => return Err(PyValueError::new_err(format!("format is \"toml\" or \"json\", not \"{other}\""))),
        };
        let changes = self.overrides.iter().map(|change| split_change(change)).collect::<PyResult<Vec<_>>>()?;
        // Parameters are set last: they are those of the scheme and the policies that other changes choose.
        let (parameters, others): (Vec<_>, Vec<_>) = changes.into_iter().partition(|(key, _)| is_parameter(key));
        for (key, value) in others {
            spec = spec.set(key, value).map_err(refused)?;
        }
        if let Some(scheme) = &self.scheme {
            spec = spec.with_scheme(scheme);
        }
        for (key, value) in parameters {
            spec = spec.set(key, value).map_err(refused)?;
        }
        if let Some(seed) = self.seed {
            spec = spec.with_seed(seed);
        }
        Ok(spec)
    }

    pub fn check(&self) -> PyResult<CheckedSpec> {
        self.read()?.check().map_err(refused)
    }
}

/// Whether a key is that of a parameter of a scheme, of load balancing or of a queue discipline.
pub fn is_parameter(key: &str) -> bool {
    key.contains(".scheme.") || key.starts_with("network.balancing.") || key.starts_with("network.discipline.")
}

pub fn split_change(change: &str) -> PyResult<(&str, &str)> {
    let (key, value) = change.split_once('=').ok_or_else(|| {
        SpecError::new_err(format!("--set \"{change}\": no \"=\"; write it like --set \"measure.window=10 ms\""))
    })?;
    Ok((key.trim(), value.trim()))
}
