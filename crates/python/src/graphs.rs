//! Graphs of work: GOAL schedules and Chakra traces.

use crate::errors::SpecError;
use fanin_formats::graphs::{self, Graphs};
use fanin_graph::collectives::Method;
use fanin_graph::loggp::Parameters;
use pyo3::prelude::*;
use std::path::PathBuf;

fn refused(error: impl std::fmt::Display) -> PyErr {
    SpecError::new_err(error.to_string())
}

/// Checks a schedule, or the traces of all ranks by the one of any; returns how many ranks there are, and warnings.
#[pyfunction]
pub fn graphs_check(py: Python<'_>, path: PathBuf) -> PyResult<(usize, Vec<String>)> {
    py.detach(|| {
        let graphs = Graphs::open(&path).map_err(refused)?;
        let warnings = graphs.check().map_err(refused)?;
        Ok((graphs.ranks(), warnings.iter().map(ToString::to_string).collect()))
    })
}

/// Writes a schedule, or the traces of all ranks by the one of any, in the format that the name of `out` says, with
/// collectives as messages; returns the files.
#[pyfunction]
pub fn graphs_write(py: Python<'_>, path: PathBuf, out: PathBuf) -> PyResult<Vec<PathBuf>> {
    py.detach(|| {
        let graphs = Graphs::open(&path).map_err(refused)?;
        graphs.check().map_err(refused)?;
        let job = graphs.job(graphs.rules(), &Method::default()).map_err(refused)?;
        graphs::write(&job, &out).map_err(refused)
    })
}

/// When each rank has finished by LogGOPS, in nanoseconds, with parameters such as `L=1000,o=0,g=0,G=1,O=0,S=65535`.
#[pyfunction]
pub fn graphs_finish(py: Python<'_>, path: PathBuf, parameters: &str) -> PyResult<Vec<u64>> {
    let parameters = Parameters::parse(parameters).map_err(|what| refused(format!("--loggp: {what}")))?;
    py.detach(|| Graphs::open(&path).map_err(refused)?.finish(parameters).map_err(refused))
}
