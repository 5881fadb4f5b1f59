//! Graphs of work: GOAL schedules, Chakra traces, workloads of SimAI, algorithms of MSCCL and flow
//! tables of SimCCL.

use crate::errors::SpecError;
use fanin_experiment::explain::longest;
use fanin_formats::graphs::{self, Graphs};
use fanin_graph::collectives::Method;
use fanin_graph::loggp::Parameters;
use pyo3::prelude::*;
use serde_json::json;
use std::path::{Path, PathBuf};

fn refused(error: impl std::fmt::Display) -> PyErr {
    SpecError::new_err(error.to_string())
}

/// The graphs of a file, and of the process groups in a second one.
fn open(path: &Path, groups: Option<&Path>) -> PyResult<Graphs> {
    let graphs = Graphs::open(path).map_err(refused)?;
    groups.map_or(Ok(graphs.clone()), |groups| graphs.with_groups(groups)).map_err(refused)
}

/// The kind of a file of graphs: "goal", "chakra", "simai", "msccl" or "simccl"; None for others.
#[pyfunction]
pub fn graphs_kind(path: PathBuf) -> Option<&'static str> {
    graphs::kind_of(&path)
}

/// The keys network, and seed where it is given, of the spec in a file, or around a topology, as JSON.
#[pyfunction]
pub fn network_of(path: PathBuf) -> PyResult<String> {
    let keys = fanin_experiment::network_of(&path).map_err(refused)?;
    Ok(serde_json::Value::Object(keys).to_string())
}

/// Checks a schedule, or the traces of all ranks by the one of any; returns how many ranks there are, and warnings.
#[pyfunction]
#[pyo3(signature = (path, groups=None))]
pub fn graphs_check(py: Python<'_>, path: PathBuf, groups: Option<PathBuf>) -> PyResult<(usize, Vec<String>)> {
    py.detach(|| {
        let graphs = open(&path, groups.as_deref())?;
        let warnings = graphs.check().map_err(refused)?;
        Ok((graphs.ranks(), warnings.iter().map(ToString::to_string).collect()))
    })
}

/// Writes a schedule, or the traces of all ranks by the one of any, in the format that the name of `out` says, with
/// collectives as messages; returns the files.
#[pyfunction]
#[pyo3(signature = (path, out, groups=None))]
pub fn graphs_write(py: Python<'_>, path: PathBuf, out: PathBuf, groups: Option<PathBuf>) -> PyResult<Vec<PathBuf>> {
    py.detach(|| {
        let graphs = open(&path, groups.as_deref())?;
        graphs.check().map_err(refused)?;
        let job = graphs.job(graphs.rules(), &Method::default()).map_err(refused)?;
        graphs::write(&job, &out).map_err(refused)
    })
}

/// What a schedule or traces do, as JSON. `parameters` are those of LogGOPS, by which a message alone takes its time;
/// without them it takes none.
#[pyfunction]
#[pyo3(signature = (path, parameters=None, groups=None))]
pub fn graphs_overview(
    py: Python<'_>,
    path: PathBuf,
    parameters: Option<&str>,
    groups: Option<PathBuf>,
) -> PyResult<String> {
    let parameters = parameters.map(Parameters::parse).transpose();
    let parameters = parameters.map_err(|what| refused(format!("--loggp: {what}")))?;
    py.detach(|| {
        let graphs = open(&path, groups.as_deref())?;
        graphs.check().map_err(refused)?;
        let job = graphs.job(graphs.rules(), &Method::default()).map_err(refused)?;
        let of = Graphs::overview(&job);
        let path = longest(job, |bytes| parameters.map_or(0, |parameters| parameters.alone(bytes)));
        let groups = of.groups.iter().map(|group| {
            json!({
                "ranks": group.ranks,
                "operation": group.operation,
                "algorithm": group.algorithm,
                "collectives": group.collectives,
                "bytes": group.bytes,
            })
        });
        Ok(json!({
            "ranks": of.ranks,
            "nodes": of.nodes,
            "messages": of.messages,
            "bytes": of.bytes,
            "computations": of.computations,
            "computing_ns": of.computing_ns,
            "groups": groups.collect::<Vec<_>>(),
            "critical_path": path,
            "memory_bytes": of.messages * MESSAGE + of.nodes * NODE,
        })
        .to_string())
    })
}

/// Bytes of memory that a message and a node take in a run.
const MESSAGE: u64 = 500;
const NODE: u64 = 200;

/// When each rank has finished by LogGOPS, in nanoseconds, with parameters such as `L=1000,o=0,g=0,G=1,O=0,S=65535`.
#[pyfunction]
pub fn graphs_finish(py: Python<'_>, path: PathBuf, parameters: &str) -> PyResult<Vec<u64>> {
    let parameters = Parameters::parse(parameters).map_err(|what| refused(format!("--loggp: {what}")))?;
    py.detach(|| Graphs::open(&path).map_err(refused)?.finish(parameters).map_err(refused))
}
