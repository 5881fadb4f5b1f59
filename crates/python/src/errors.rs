//! The exceptions of the native module.

use fanin_experiment::{Exceeded, Problems};
use pyo3::PyErr;
use pyo3::exceptions::{PyRuntimeError, PyValueError};

pyo3::create_exception!(_core, SpecError, PyValueError, "A spec that cannot run.");

pyo3::create_exception!(_core, LimitError, SpecError, "A run that would take more memory or time than it may.");

pub fn too_much(exceeded: Box<Exceeded>) -> PyErr {
    LimitError::new_err(exceeded.to_string())
}

pub fn refused(errors: Problems) -> PyErr {
    SpecError::new_err(errors.to_string())
}

pub fn failed(error: impl std::fmt::Display) -> PyErr {
    PyRuntimeError::new_err(error.to_string())
}

pub fn wrong(what: String) -> PyErr {
    SpecError::new_err(what)
}
