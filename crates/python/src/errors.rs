//! The exceptions of the native module.

use pyo3::exceptions::PyValueError;

pyo3::create_exception!(_core, SpecError, PyValueError, "A spec that cannot run.");

pyo3::create_exception!(_core, LimitError, SpecError, "A run that would take more memory or time than it may.");
