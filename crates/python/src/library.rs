//! Schemes in shared libraries.

use crate::SpecError;
use pyo3::prelude::*;
use std::path::PathBuf;

/// Loads a shared library that implements `fanin_scheme.h`, and returns the id of its scheme.
#[pyfunction]
fn load_library(path: PathBuf) -> PyResult<&'static str> {
    fanin_own::load(&path).map_err(|e| SpecError::new_err(e.to_string()))
}

/// The text of `fanin_scheme.h`.
#[pyfunction]
fn scheme_header() -> &'static str {
    fanin_own::HEADER
}

/// Adds these functions.
pub fn add_to(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(load_library, module)?)?;
    module.add_function(wrap_pyfunction!(scheme_header, module)?)
}
