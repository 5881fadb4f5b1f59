//! The checks of schemes, load balancing and queue disciplines with random events.

use super::network;
use fanin_cc::SettingsError;
use fanin_check::{Checked, Parameters, Plan, Subject};
use fanin_experiment::loaded;
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use serde_json::json;

/// Checks the scheme of this id, with `parameters` (a JSON object) in all cases where it is given; see
/// `fanin.scheme_check`. `go_on(cases, shortening)` returns whether to go on.
#[pyfunction]
pub fn check_scheme(
    py: Python<'_>,
    scheme: &str,
    parameters: Option<&str>,
    cases: u32,
    seed: u64,
    go_on: Py<PyAny>,
) -> PyResult<String> {
    let set: Option<Parameters> = parameters.map(serde_json::from_str).transpose().map_err(wrong)?;
    // A scheme that was loaded does nothing any more after a failure, so each run has one of its own.
    let make = |changes: &Parameters| {
        loaded::settings(scheme, changes).map_err(|error| match error {
            SettingsError::UnknownScheme(_) => format!("there is no scheme \"{scheme}\""),
            SettingsError::UnknownParameter(name, known) if known.is_empty() => {
                format!("{scheme} has no parameter \"{name}\": it has none")
            }
            SettingsError::UnknownParameter(name, known) => {
                format!("{scheme} has no parameter \"{name}\"; it has {}", known.join(", "))
            }
            SettingsError::Value(problem) => format!("{scheme}: {problem}"),
        })
    };
    let interpreted = loaded::preset(scheme).and_then(|made| Some(made.loaded()?.interpreted())).unwrap_or(false);
    told(&go_on, |go_on| {
        let check = || fanin_check::check(&Subject { make: &make, set }, Plan { cases, seed, go_on });
        if interpreted { check() } else { py.detach(check) }
    })
}

/// Checks what `make` makes for each switch: load balancing, or else a queue discipline.
#[pyfunction]
pub fn check_policy(
    py: Python<'_>,
    make: Py<PyAny>,
    balancing: bool,
    cases: u32,
    seed: u64,
    go_on: Py<PyAny>,
) -> PyResult<String> {
    told(&go_on, |go_on| {
        let plan = Plan { cases, seed, go_on };
        Ok(if balancing {
            fanin_check::check_balancer(&|| network::balancer(make.clone_ref(py)), plan)
        } else {
            fanin_check::check_discipline(&|| network::discipline(make.clone_ref(py)), plan)
        })
    })
}

/// A table of parameters as JSON, of texts like `KEY=VALUE`. Raises `ValueError`, as the checks do.
#[pyfunction]
pub fn parameters_of(changes: Vec<String>) -> PyResult<String> {
    let pair = |change: &'_ String| {
        let pair = change.split_once('=').map(|(key, value)| (key.trim().to_string(), value.trim().to_string()));
        pair.ok_or_else(|| wrong(format!("--set \"{change}\": no \"=\"; write it like --set \"g=0.0625\"")))
    };
    let pairs = changes.iter().map(pair).collect::<PyResult<Vec<_>>>()?;
    let table = fanin_experiment::table(&pairs).map_err(wrong)?;
    serde_json::to_string(&table).map_err(wrong)
}

fn wrong(error: impl std::fmt::Display) -> PyErr {
    PyValueError::new_err(error.to_string())
}

/// The result of a check as JSON. An exception of `go_on` ends the check.
fn told(
    go_on: &Py<PyAny>,
    check: impl FnOnce(&mut (dyn FnMut(u32, bool) -> bool + Send)) -> Result<Checked, String>,
) -> PyResult<String> {
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
    let checked = check(&mut ask).map_err(wrong);
    if let Some(error) = failed {
        return Err(error);
    }
    let checked = checked?;
    let found = checked.found.map(|found| {
        let events: Vec<_> = found.events.iter().map(|(at, said)| json!([at.as_ps(), said])).collect();
        json!({
            "rule": found.broken.rule,
            "detail": found.broken.detail,
            "at_ps": found.broken.at.as_ps(),
            "events": events,
            "parameters": found.parameters,
        })
    });
    serde_json::to_string(&json!({ "cases": checked.cases, "stopped": checked.stopped, "found": found }))
        .map_err(|error| PyRuntimeError::new_err(error.to_string()))
}
