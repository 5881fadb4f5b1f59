//! Files of other simulators: runs of them, their warnings and explanations, and generated ones.

use crate::errors::{SpecError, failed, refused, too_much, wrong};
use crate::given::split_change;
use crate::results::{RunResult, left_by, left_by_spec, look, of_cost};
use fanin_experiment::{Limits, hpcc, htsim, uet};
use fanin_record::SizeRange;
use fanin_units::Time;
use pyo3::exceptions::{PyOSError, PyValueError};
use pyo3::prelude::*;
use std::path::{Path, PathBuf};

/// The dialect of a configuration's files, its topology, and whether unknown keys are skipped.
pub type HowToRead = (Option<String>, Option<String>, bool);

pub fn reading_of((dialect, topology, skip_unknown_keys): HowToRead) -> PyResult<hpcc::Reading> {
    let dialect = dialect.map(|name| hpcc::Dialect::of(&name)).transpose().map_err(wrong)?;
    Ok(hpcc::Reading { dialect, topology, skip_unknown_keys })
}

/// Runs a configuration of the ns-3 HPCC simulator without the GIL. Paths in it start at `folder`.
#[pyfunction]
#[pyo3(signature = (
    config, folder, reading, trace, acks_first, progress, max_memory_bytes=None, max_wall_s=None, follow=None,
    series=None
))]
#[allow(clippy::too_many_arguments)]
pub fn run_hpcc(
    py: Python<'_>,
    config: &str,
    folder: &str,
    reading: HowToRead,
    trace: bool,
    acks_first: bool,
    progress: Option<Py<PyAny>>,
    max_memory_bytes: Option<u64>,
    max_wall_s: Option<f64>,
    follow: Option<u32>,
    series: Option<&str>,
) -> PyResult<RunResult> {
    let mut setup = hpcc::Setup::read(config, Path::new(folder), &reading_of(reading)?).map_err(refused)?;
    setup.acks_first = acks_first;
    if let Some(every) = series {
        let time = every.parse::<Time>();
        let time = time.map_err(|e| wrong(format!("--series {every}: {e}; write a time, like \"10 us\"")))?;
        setup.sample(time).map_err(wrong)?;
    }
    let limits = Limits { memory_bytes: max_memory_bytes, wall_s: max_wall_s };
    let expected = py.detach(|| limits.check_hpcc(&setup)).map_err(too_much)?.map(|cost| [cost.packet_hops, 0.0]);
    let mut watch = |state: &fanin_experiment::Progress| look(progress.as_ref(), expected, state);
    let outcome = py.detach(|| match follow {
        None => hpcc::run(&setup, trace, &mut watch),
        Some(flow) => hpcc::follow(&setup, flow, &mut watch),
    });
    let outcome = outcome.map_err(|e| PyOSError::new_err(e.to_string()))?;
    let left = py.detach(|| left_by(outcome, SizeRange::ALL, false, setup.name(), 0, setup.document()));
    Ok(RunResult { exact: true, ..left })
}

/// Runs a configuration of that simulator under a scheme of the ordinary network, without the GIL.
#[pyfunction]
#[pyo3(signature = (
    config, folder, reading, scheme, overrides, seed, progress, max_memory_bytes=None, max_wall_s=None, threads=1
))]
#[allow(clippy::too_many_arguments)]
pub fn run_hpcc_under(
    py: Python<'_>,
    config: &str,
    folder: &str,
    reading: HowToRead,
    scheme: &str,
    overrides: Vec<String>,
    seed: Option<u64>,
    progress: Option<Py<PyAny>>,
    max_memory_bytes: Option<u64>,
    max_wall_s: Option<f64>,
    threads: usize,
) -> PyResult<RunResult> {
    let changes = overrides.iter().map(|change| split_change(change)).collect::<PyResult<Vec<_>>>()?;
    let reading = reading_of(reading)?;
    let ordinary = hpcc::ordinary::Ordinary::read(config, Path::new(folder), &reading, scheme, &changes, seed);
    let ordinary = ordinary.map_err(refused)?;
    let limits = Limits { memory_bytes: max_memory_bytes, wall_s: max_wall_s };
    let expected = py.detach(|| limits.check(ordinary.checked(), &[])).map_err(too_much)?.map(of_cost);
    let outcome = py.detach(|| ordinary.run(threads, &mut |state| look(progress.as_ref(), expected, state)));
    let outcome = outcome.map_err(|e| PyOSError::new_err(e.to_string()))?;
    Ok(py.detach(|| left_by_spec(outcome, ordinary.checked())))
}

/// Runs a connection matrix on the network of uet-htsim, without the GIL.
#[pyfunction]
pub fn run_uec(
    py: Python<'_>,
    matrix: &str,
    topology: Option<&str>,
    options: &str,
    progress: Option<Py<PyAny>>,
    max_memory_bytes: Option<u64>,
    max_wall_s: Option<f64>,
) -> PyResult<RunResult> {
    let setup = py.detach(|| uet::Setup::read(matrix, topology, options)).map_err(refused)?;
    let limits = Limits { memory_bytes: max_memory_bytes, wall_s: max_wall_s };
    // It usually ends long before its last instant, so the packets tell how far it is.
    let expected = py.detach(|| limits.check_uet(&setup)).map_err(too_much)?.map(|cost| [cost.packet_hops, 0.0]);
    let outcome = py.detach(|| uet::run(&setup, &mut |state| look(progress.as_ref(), expected, state)));
    let outcome = outcome.map_err(|e| PyOSError::new_err(e.to_string()))?;
    let left = py.detach(|| left_by(outcome, SizeRange::ALL, false, &setup.name(), setup.seed(), setup.document()));
    Ok(RunResult { exact: true, ..left })
}

/// The explanation of such a matrix as JSON.
#[pyfunction]
pub fn uec_explain(py: Python<'_>, matrix: &str, topology: Option<&str>, options: &str) -> PyResult<String> {
    let explained = py.detach(|| {
        let setup = uet::Setup::read(matrix, topology, options).map_err(refused)?;
        Ok::<_, PyErr>(fanin_experiment::explain::explain_uec(&setup))
    })?;
    serde_json::to_string(&explained).map_err(failed)
}

/// The warnings of such a matrix that are known before it runs.
#[pyfunction]
pub fn uec_warnings(py: Python<'_>, matrix: &str, topology: Option<&str>, options: &str) -> PyResult<Vec<String>> {
    Ok(py.detach(|| uet::Setup::read(matrix, topology, options)).map_err(refused)?.warnings())
}

/// A topology in the format of the ns-3 HPCC simulator: "fat-tree" of `size` ports, "star" of `size` hosts, "hpcc-320".
#[pyfunction]
pub fn hpcc_topology(kind: &str, size: u32, rate: &str, delay: &str) -> PyResult<String> {
    match kind {
        "fat-tree" => hpcc::generate::fat_tree(size, rate, delay),
        "star" => hpcc::generate::around_one_switch(size, rate, delay),
        "hpcc-320" => hpcc::generate::hpcc_320(),
        other => return Err(PyValueError::new_err(format!("no kind of topology \"{other}\""))),
    }
    .map_err(wrong)
}

/// Flows in its format: Poisson arrivals with a load.
#[pyfunction]
#[allow(clippy::too_many_arguments)]
pub fn hpcc_poisson(
    hosts: Option<u32>,
    topology: Option<PathBuf>,
    sizes: &str,
    load: f64,
    bandwidth: Option<&str>,
    time: &str,
    start: &str,
    seed: u64,
) -> PyResult<String> {
    let hosts = hpcc::generate::Hosts::new(hosts, topology.as_deref()).map_err(wrong)?;
    let sizes = hpcc::generate::sizes(sizes).map_err(wrong)?;
    hosts.poisson(&sizes, load, bandwidth, time, start, seed).map_err(wrong)
}

/// Flows in its format: each host sends one and receives one.
#[pyfunction]
pub fn hpcc_permutation(
    hosts: Option<u32>,
    topology: Option<PathBuf>,
    size: &str,
    start: &str,
    seed: u64,
) -> PyResult<String> {
    let hosts = hpcc::generate::Hosts::new(hosts, topology.as_deref()).map_err(wrong)?;
    hosts.permutation(size, start, seed).map_err(wrong)
}

/// Flows in its format: random hosts send to one.
#[pyfunction]
pub fn hpcc_incast(
    hosts: Option<u32>,
    topology: Option<PathBuf>,
    receiver: u32,
    senders: u32,
    size: &str,
    start: &str,
    seed: u64,
) -> PyResult<String> {
    let hosts = hpcc::generate::Hosts::new(hosts, topology.as_deref()).map_err(wrong)?;
    hosts.incast(receiver, senders, size, start, seed).map_err(wrong)
}

/// A configuration in its format, for a topology and flows.
#[pyfunction]
pub fn hpcc_config(
    law: &str,
    topology: &str,
    flows: &str,
    stop: Option<f64>,
    rate_ai: Option<&str>,
    trace_file: Option<&str>,
) -> PyResult<String> {
    hpcc::generate::config(law, topology, flows, hpcc::generate::Wishes { stop, rate_ai, trace_file }).map_err(wrong)
}

/// The checked spec that a configuration of the ns-3 HPCC simulator runs as under a scheme, as JSON, and its warnings.
#[pyfunction]
pub fn hpcc_spec(
    py: Python<'_>,
    config: &str,
    folder: &str,
    reading: HowToRead,
    scheme: &str,
    overrides: Vec<String>,
    seed: Option<u64>,
) -> PyResult<(String, Vec<String>)> {
    let changes = overrides.iter().map(|change| split_change(change)).collect::<PyResult<Vec<_>>>()?;
    let reading = reading_of(reading)?;
    py.detach(|| {
        let ordinary = hpcc::ordinary::Ordinary::read(config, Path::new(folder), &reading, scheme, &changes, seed);
        let ordinary = ordinary.map_err(refused)?;
        Ok((ordinary.checked().to_json().to_string(), ordinary.checked().foreseen()))
    })
}

/// The warnings of a configuration of the ns-3 HPCC simulator on its own network, known before it runs.
#[pyfunction]
pub fn hpcc_warnings(py: Python<'_>, config: &str, folder: &str, reading: HowToRead) -> PyResult<Vec<String>> {
    let reading = reading_of(reading)?;
    let setup = py.detach(|| hpcc::Setup::read(config, Path::new(folder), &reading)).map_err(refused)?;
    Ok(setup.warnings.iter().map(ToString::to_string).collect())
}

/// The explanation of one as JSON: on its own network, or under a scheme.
#[pyfunction]
pub fn hpcc_explain(
    py: Python<'_>,
    config: &str,
    folder: &str,
    reading: HowToRead,
    scheme: Option<&str>,
    overrides: Vec<String>,
    seed: Option<u64>,
) -> PyResult<String> {
    let changes = overrides.iter().map(|change| split_change(change)).collect::<PyResult<Vec<_>>>()?;
    let reading = reading_of(reading)?;
    let explained = py.detach(|| match scheme {
        None => {
            let setup = hpcc::Setup::read(config, Path::new(folder), &reading).map_err(refused)?;
            Ok::<_, PyErr>(fanin_experiment::explain::explain_exactly(&setup))
        }
        Some(scheme) => {
            let ordinary = hpcc::ordinary::Ordinary::read(config, Path::new(folder), &reading, scheme, &changes, seed);
            Ok(fanin_experiment::explain::explain_under(&ordinary.map_err(refused)?))
        }
    })?;
    serde_json::to_string(&explained).map_err(failed)
}

/// The spec of htsim's files as JSON, and warnings about contents without a counterpart.
#[pyfunction]
pub fn htsim_spec(
    matrix: PathBuf,
    topo: Option<PathBuf>,
    scheme: &str,
    dialect: Option<&str>,
) -> PyResult<(String, Vec<String>)> {
    let dialect = dialect.map(htsim::dialect).transpose().map_err(SpecError::new_err)?;
    let made = htsim::spec(&matrix, topo.as_deref(), scheme, dialect).map_err(refused)?;
    Ok((made.spec.to_string(), made.warnings))
}
