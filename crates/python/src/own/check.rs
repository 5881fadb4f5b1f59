//! The check of a scheme, built in or loaded, with random events.

use fanin_experiment::loaded;
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use serde_json::{Map, json};

/// Checks the scheme of this id; see `fanin.checking`. `go_on(cases, shortening)` returns whether to go on.
#[pyfunction]
pub fn check_scheme(py: Python<'_>, scheme: &str, cases: u32, seed: u64, go_on: Py<PyAny>) -> PyResult<String> {
    let Some(first) = loaded::preset(scheme) else {
        return Err(PyValueError::new_err(format!("there is no scheme \"{scheme}\"")));
    };
    // A scheme that was loaded does nothing any more after a failure, so each run has one of its own.
    let make = || match first.loaded() {
        Some(_) => loaded::settings(scheme, &Map::new()).unwrap_or_else(|_| first.clone()),
        None => first.clone(),
    };
    let mut failed = None;
    let mut ask = |done: u32, shortening: bool| {
        Python::attach(|py| {
            let answer = go_on.call1(py, (done, shortening)).and_then(|answer| answer.is_truthy(py));
            answer.unwrap_or_else(|error| {
                failed = Some(error);
                false
            })
        })
    };
    let checked = if first.loaded().is_some_and(|program| program.interpreted()) {
        fanin_check::check(&make, cases, seed, &mut ask)
    } else {
        py.detach(|| fanin_check::check(&make, cases, seed, &mut ask))
    };
    if let Some(error) = failed {
        return Err(error);
    }
    let found = checked.found.map(|found| {
        let events: Vec<_> = found.events.iter().map(|(at, said)| json!([at.as_ps(), said])).collect();
        json!({
            "rule": found.broken.rule,
            "detail": found.broken.detail,
            "at_ps": found.broken.at.as_ps(),
            "events": events,
        })
    });
    serde_json::to_string(&json!({ "cases": checked.cases, "stopped": checked.stopped, "found": found }))
        .map_err(|error| PyRuntimeError::new_err(error.to_string()))
}
