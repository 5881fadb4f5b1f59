//! The checks of schemes, load balancing and queue disciplines with random events.

use fanin_cc::{DisciplineProgram, OwnBalancing, SettingsError};
use fanin_check::{Checked, Parameters, Plan, Subject};
use fanin_experiment::loaded::{self, Kind};
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use serde_json::json;
use std::sync::Arc;

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
    // A scheme that was loaded keeps its failure, so each run has one of its own.
    let make = |changes: &Parameters| loaded::settings(scheme, changes).map_err(|error| refused(scheme, error));
    let interpreted = loaded::preset(scheme).and_then(|made| Some(made.loaded()?.interpreted())).unwrap_or(false);
    told(&go_on, |go_on| {
        let check = || fanin_check::check(&Subject { make: &make, set }, Plan { cases, seed, go_on });
        if interpreted { check() } else { py.detach(check) }
    })
}

/// Checks the loaded load balancing of this id (`kind` = "balancing"), or else the queue discipline, with `parameters`
/// (a JSON object) where they are given.
#[pyfunction]
pub fn check_policy(
    py: Python<'_>,
    kind: &str,
    policy: &str,
    parameters: Option<&str>,
    cases: u32,
    seed: u64,
    go_on: Py<PyAny>,
) -> PyResult<String> {
    let set: Parameters = parameters.map(serde_json::from_str).transpose().map_err(wrong)?.unwrap_or_default();
    if kind == "balancing" {
        let (make, interpreted) = maker::<OwnBalancing>(policy, &set)?;
        let interpreted = interpreted.interpreted();
        told(&go_on, |go_on| {
            let mut check = || fanin_check::check_balancing(&make, Plan { cases, seed, go_on });
            Ok(if interpreted { check() } else { py.detach(check) })
        })
    } else {
        let (make, interpreted) = maker::<dyn DisciplineProgram>(policy, &set)?;
        let interpreted = interpreted.interpreted();
        told(&go_on, |go_on| {
            let mut check = || fanin_check::check_discipline(&make, Plan { cases, seed, go_on });
            Ok(if interpreted { check() } else { py.detach(check) })
        })
    }
}

/// What makes a loaded policy with these parameters, and one of them.
fn maker<P: Kind + ?Sized>(policy: &str, set: &Parameters) -> PyResult<(impl Fn() -> Arc<P>, Arc<P>)> {
    let made = || loaded::made::<P>(policy, set);
    let first = made().map_err(|error| wrong(refused(policy, error)))?;
    let first = first.ok_or_else(|| wrong(format!("there is no loaded {} \"{policy}\"", P::NAME)))?.program;
    // One keeps its failure, so each run has one of its own.
    let other = first.clone();
    Ok((move || made().ok().flatten().map_or_else(|| other.clone(), |made| made.program), first))
}

/// Why parameters are refused.
fn refused(id: &str, error: SettingsError) -> String {
    match error {
        SettingsError::UnknownScheme(_) => format!("there is no scheme \"{id}\""),
        SettingsError::UnknownParameter(name, known) if known.is_empty() => {
            format!("{id} has no parameter \"{name}\": it has none")
        }
        SettingsError::UnknownParameter(name, known) => {
            format!("{id} has no parameter \"{name}\"; it has {}", known.join(", "))
        }
        SettingsError::Value(problem) => format!("{id}: {problem}"),
    }
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
