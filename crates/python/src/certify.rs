//! The second program that checks captures of runs.

use crate::errors::SpecError;
use fanin_certify::{Facts, LAWS, folder, trace};
use pyo3::prelude::*;
use std::path::PathBuf;

/// Holds the capture of a run folder against its spec and `facts` of its tables; the result as JSON.
#[pyfunction]
pub fn certify(py: Python<'_>, path: PathBuf, facts: &str) -> PyResult<String> {
    py.detach(|| {
        let facts = Facts::read(facts).map_err(SpecError::new_err)?;
        folder(&path, facts).map(|report| report.to_json().to_string()).map_err(SpecError::new_err)
    })
}

/// Holds a trace of the ns-3 HPCC simulator against the configuration of its run; the result as JSON.
#[pyfunction]
pub fn certify_trace(py: Python<'_>, path: PathBuf, config: PathBuf) -> PyResult<String> {
    py.detach(|| trace::file(&path, &config).map(|report| report.to_json().to_string()).map_err(SpecError::new_err))
}

/// The name of each law, and what it says.
#[pyfunction]
pub fn certify_laws() -> Vec<(&'static str, &'static str)> {
    LAWS.iter().map(|law| (law.name, law.says)).collect()
}
