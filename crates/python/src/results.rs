//! What a run leaves, and its progress.

use crate::arrow::ArrowTable;
use crate::errors::failed;
use fanin_experiment::explain::Cost;
use fanin_experiment::{CheckedSpec, Outcome};
use fanin_record::{Manifest, Ran, RecordError, RunFiles, SizeRange, Summary, tables, write_folder};
use pyo3::exceptions::{PyFileExistsError, PyOSError, PyValueError};
use pyo3::prelude::*;
use std::path::PathBuf;

/// Progress of a run.
#[pyclass(frozen, get_all)]
pub struct Progress {
    simulated_s: f64,
    end_s: f64,
    packet_hops: u64,
    wall_s: f64,
    started: u64,
    finished: u64,
    expected_packet_hops: Option<f64>,
    expected_s: Option<f64>,
}

/// The results of a run.
#[pyclass(frozen)]
pub struct RunResult {
    pub outcome: Outcome,
    pub summary: Summary,
    pub manifest: Manifest,
    pub spec_toml: String,
    /// Whether it ran another simulator's files as they are, and `spec_toml` is not a spec.
    pub exact: bool,
}

#[pymethods]
impl RunResult {
    #[getter]
    fn summary_json(&self) -> PyResult<String> {
        serde_json::to_string(&self.summary).map_err(failed)
    }
    #[getter]
    fn manifest_json(&self) -> PyResult<String> {
        serde_json::to_string(&self.manifest).map_err(failed)
    }
    #[getter]
    fn resolved_toml(&self) -> &str {
        &self.spec_toml
    }
    #[getter]
    fn cancelled(&self) -> bool {
        self.outcome.cancelled
    }
    #[getter]
    fn failure(&self) -> Option<&str> {
        self.outcome.failure.as_ref().map(|failure| &*failure.problem)
    }
    #[pyo3(signature = (name, columns=None))]
    fn table(&self, name: &str, columns: Option<Vec<String>>) -> PyResult<ArrowTable> {
        if name == "flows" {
            let pieces = tables::flows_with(&self.outcome.run, columns.as_deref());
            return pieces.map(ArrowTable::new).map_err(failed);
        }
        let made = tables::ALL.iter().find(|(table, _)| *table == name);
        let (_, make) = made.ok_or_else(|| PyValueError::new_err(format!("{name}: there is no such table")))?;
        make(&self.outcome.run).map(|table| ArrowTable::new(vec![table])).map_err(failed)
    }
    fn write(&self, py: Python<'_>, folder: PathBuf, overwrite: bool) -> PyResult<()> {
        let files = RunFiles {
            ran: if self.exact { Ran::Configuration(&self.spec_toml) } else { Ran::Spec(&self.spec_toml) },
            manifest: &self.manifest,
            run: &self.outcome.run,
            summary: &self.summary,
        };
        py.detach(|| write_folder(&folder, &files, overwrite)).map_err(not_written)
    }
}

pub fn not_written(error: RecordError) -> PyErr {
    match error {
        RecordError::Exists(_) => PyFileExistsError::new_err(error.to_string()),
        _ => PyOSError::new_err(error.to_string()),
    }
}

/// Moves a whole run folder to its place. Returns whether there was one already, which then has the other's name.
#[pyfunction]
pub fn put_folder(new: PathBuf, target: PathBuf, overwrite: bool) -> PyResult<bool> {
    fanin_record::put_folder(&new, &target, overwrite).map_err(not_written)
}

/// What a run of a spec leaves.
pub fn left_by_spec(outcome: Outcome, checked: &CheckedSpec) -> RunResult {
    let (summary, manifest) = fanin_experiment::left_by_spec(&outcome, checked);
    RunResult { outcome, summary, manifest, spec_toml: checked.to_toml(), exact: false }
}

/// The same of any run.
pub fn left_by(
    outcome: Outcome,
    sizes: SizeRange,
    allow_drops: bool,
    name: &str,
    seed: u64,
    spec_toml: String,
) -> RunResult {
    let (summary, manifest) = fanin_experiment::left_by(&outcome, sizes, allow_drops, (name, seed));
    RunResult { outcome, summary, manifest, spec_toml, exact: false }
}

/// What a display of progress needs of an estimate.
pub fn of_cost(cost: Cost) -> [f64; 2] {
    [cost.packet_hops, cost.simulated_s]
}

/// Reports progress to Python, which returns whether to continue. `expected` is an estimate of all packet-hops
/// and of the simulated time in seconds, 0 if that is unknown.
pub fn look(progress: Option<&Py<PyAny>>, expected: Option<[f64; 2]>, state: &fanin_experiment::Progress) -> bool {
    let Some(callback) = progress else { return true };
    // The interpreter may be waiting to deliver a signal: an exception raised here stops the run like an answer
    // of False does, and what has been measured so far is returned.
    Python::attach(|py| {
        let state = Progress {
            simulated_s: state.simulated.as_secs_f64(),
            end_s: state.end.as_secs_f64(),
            packet_hops: state.packet_hops,
            wall_s: state.wall.as_secs_f64(),
            started: state.started,
            finished: state.finished,
            expected_packet_hops: expected.map(|[hops, _]| hops),
            expected_s: expected.and_then(|[_, end]| (end > 0.0).then_some(end)),
        };
        let answer = callback.call1(py, (state,)).and_then(|answer| answer.is_truthy(py));
        answer.unwrap_or(false) && py.check_signals().is_ok()
    })
}
