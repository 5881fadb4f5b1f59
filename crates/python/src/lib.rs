//! The native module of the Python package: specs in, Arrow columns out, no logic of its own. Its Python signatures are
//! in `python/fanin/_core.pyi`.

mod arrow;
mod certify;
mod endpoint;
mod errors;
mod given;
mod graphs;
mod others;
mod own;
mod results;
mod wires;

use arrow::FlowTable;
use errors::{SpecError, failed, refused, too_much};
use fanin_cc::own::Program;
use fanin_cc::{DisciplineProgram, OwnBalancing};
use fanin_experiment::built::Built;
use fanin_experiment::loaded::{self, Kind};
use fanin_experiment::{Limits, Spec, bench, ideal};
use fanin_record::{SizeRange, Spool};
use given::Given;
use pyo3::exceptions::{PyOSError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use results::{RunResult, left_by, left_by_spec, look, of_cost};
use std::collections::BTreeMap;
use std::io::Write;
use std::path::PathBuf;

/// The checked spec with all defaults filled in, as JSON.
#[pyfunction]
fn resolve(py: Python<'_>, spec: Given) -> PyResult<String> {
    py.detach(|| Ok(spec.check()?.to_json().to_string()))
}

/// Writes the job of a traffic of a spec, by default of the first that has one, in the format that the name of `out`
/// says; returns the files.
#[pyfunction]
#[pyo3(signature = (spec, out, traffic=None))]
fn job_write(py: Python<'_>, spec: Given, out: PathBuf, traffic: Option<&str>) -> PyResult<Vec<PathBuf>> {
    py.detach(|| spec.check()?.write_job(traffic, &out).map_err(SpecError::new_err))
}

/// The warnings of a spec that are known before it runs.
#[pyfunction]
fn warnings(py: Python<'_>, spec: Given) -> PyResult<Vec<String>> {
    py.detach(|| Ok(spec.check()?.foreseen()))
}

/// The explanation of a spec as JSON.
#[pyfunction]
fn explain(py: Python<'_>, spec: Given) -> PyResult<String> {
    py.detach(|| serde_json::to_string(&fanin_experiment::explain(&spec.check()?)).map_err(failed))
}

/// Whether a program of the run is in Python.
fn interpreted(built: &Built) -> bool {
    let mut schemes = built.traffics.iter().filter_map(|traffic| traffic.scheme.loaded());
    let balances = built.network.balancing.own().is_some_and(|program| program.interpreted());
    let queues = built.network.discipline.as_ref().is_some_and(|program| program.interpreted());
    balances || queues || schemes.any(|program| program.interpreted())
}

/// Runs a spec without the GIL.
#[pyfunction]
#[pyo3(signature = (
    spec, flows, progress, max_memory_bytes=None, max_wall_s=None, threads=1
))]
#[allow(clippy::too_many_arguments)]
fn run(
    py: Python<'_>,
    spec: Given,
    flows: Option<&Bound<'_, PyAny>>,
    progress: Option<Py<PyAny>>,
    max_memory_bytes: Option<u64>,
    max_wall_s: Option<f64>,
    threads: usize,
) -> PyResult<RunResult> {
    let table = flows.map(FlowTable::read).transpose()?;
    let limits = Limits { memory_bytes: max_memory_bytes, wall_s: max_wall_s };
    let (checked, built, listed, expected) = py.detach(|| {
        let checked = spec.check_to_run()?;
        let given = table.map(|table| table.flows(&checked.host_names())).transpose()?;
        let (listed, ignored) = given.unwrap_or_default();
        let expected = limits.check(&checked, &listed).map_err(too_much)?.map(of_cost);
        let mut built = Built { threads, ..checked.build_with(listed.clone()).map_err(refused)? };
        built.warnings.extend(ignored);
        Ok::<_, PyErr>((checked, built, listed, expected))
    })?;
    let interpreted = interpreted(&built);
    let go = || fanin_experiment::run(built, &mut |state| look(progress.as_ref(), expected, state));
    // One thread that calls Python all the time keeps the GIL; Python's own switching lets other threads in.
    let mut outcome = if interpreted && threads == 1 { go() } else { py.detach(go) };
    py.detach(|| {
        let names = &outcome.run.graph.names;
        let kept = (!listed.is_empty()).then(|| given_flows(&listed, names)).transpose();
        let kept = kept.map_err(|error| PyOSError::new_err(error.to_string()))?;
        outcome.run.files.extend(kept);
        if !outcome.cancelled {
            ideal::apply(&checked, listed, &mut outcome.run, &mut signals);
        }
        Ok::<_, PyErr>(())
    })?;
    Ok(py.detach(|| left_by_spec(outcome, &checked)))
}

/// Runs a spec with messages that start up to `most_ps` later, as member `draw` of an ensemble, without the GIL.
#[pyfunction]
#[allow(clippy::too_many_arguments)]
fn run_moved(py: Python<'_>, spec: Given, most_ps: u64, draw: u64) -> PyResult<RunResult> {
    py.detach(|| {
        let checked = spec.check_to_run()?;
        let built = fanin_wirelab::ensemble::moved(checked.build(), most_ps, draw);
        let outcome = fanin_experiment::run(built, &mut |_| true);
        let (measure, document) = (checked.measure(), checked.document());
        Ok(left_by(outcome, SizeRange::ALL, measure.allow_drops, &document.name, document.seed, checked.to_toml()))
    })
}

/// The flows of a caller's table as a file of the run's folder, with which the run can be repeated.
fn given_flows(flows: &[fanin_experiment::ListedFlow], names: &[String]) -> std::io::Result<Spool> {
    let mut file = Spool::create(GIVEN)?;
    writeln!(file, "src,dst,bytes,start_ps,group")?;
    for flow in flows {
        let group = if flow.group == u32::MAX { String::new() } else { flow.group.to_string() };
        let [src, dst] = [flow.src, flow.dst].map(|host| &names[host as usize]);
        writeln!(file, "{src},{dst},{},{},{group}", flow.bytes, flow.start.as_ps())?;
    }
    file.finish()
}

/// Its name.
const GIVEN: &str = "given_flows.csv";

/// Whether no signal waits for the interpreter, such as Ctrl-C.
fn signals() -> bool {
    Python::attach(|py| py.check_signals().is_ok())
}

/// The ideals of messages of a spec in picoseconds, by another definition than the one that it ran with; none where
/// there is none. `wanted` has the number of each message's traffic and its number there.
#[pyfunction]
fn ideals(
    py: Python<'_>,
    spec: &str,
    name: &str,
    folder: PathBuf,
    flows: Option<&Bound<'_, PyAny>>,
    ideal: &str,
    wanted: Vec<(u16, u32)>,
) -> PyResult<Vec<Option<u64>>> {
    let table = flows.map(FlowTable::read).transpose()?;
    py.detach(|| {
        let spec = Spec::from_json(spec, name, &folder).and_then(|spec| spec.set("measure.slowdown", ideal));
        let checked = spec.and_then(|spec| spec.check()).map_err(refused)?;
        let listed = table.map(|table| table.flows(&checked.host_names())).transpose()?.unwrap_or_default().0;
        let ideal = checked.document().measure.slowdown;
        let found = ideal::ideals(&checked, listed, ideal, &wanted, &mut signals).map_err(refused)?;
        Python::attach(|py| py.check_signals())?;
        Ok(found.into_iter().map(|time| time.is_some().then(|| time.as_ps())).collect())
    })
}

/// Runs one case of the benchmark.
#[pyfunction]
#[pyo3(name = "bench", signature = (case, threads, scale, scheme=None))]
fn run_bench(py: Python<'_>, case: &str, threads: usize, scale: f64, scheme: Option<&str>) -> PyResult<String> {
    let result = py.detach(|| bench::run_with(case, scheme, threads, scale)).map_err(PyValueError::new_err)?;
    serde_json::to_string(&result).map_err(failed)
}

/// The cases of the benchmark with a line about each.
#[pyfunction]
fn bench_cases() -> Vec<(&'static str, &'static str)> {
    bench::CASES.iter().map(|case| (case.id, case.about)).collect()
}

/// Every registered scheme, one row per preset.
#[pyfunction]
fn schemes(py: Python<'_>) -> PyResult<Bound<'_, PyList>> {
    let list = PyList::empty(py);
    let add = |id: &str, file: &str, presets: &[&str], manual: String| {
        let item = PyDict::new(py);
        item.set_item("id", id)?;
        item.set_item("file", file)?;
        item.set_item("presets", presets)?;
        item.set_item("manual", manual)?;
        list.append(item)
    };
    for row in fanin_cc::rows() {
        row.presets.iter().try_for_each(|preset| add(preset, row.file, row.presets, row.manual()))?;
    }
    for scheme in loaded::all::<dyn Program>() {
        add(scheme.id, scheme.id, &[scheme.id], scheme.manual.clone())?;
    }
    Ok(list)
}

/// The loaded policies of load balancing, or queue disciplines: their ids and manuals.
#[pyfunction]
fn policies(kind: &str) -> PyResult<Vec<(&'static str, String)>> {
    fn of<P: Kind + ?Sized>() -> Vec<(&'static str, String)> {
        loaded::all::<P>().iter().map(|loaded| (loaded.id, loaded.manual.clone())).collect()
    }
    match kind {
        "balancing" => Ok(of::<OwnBalancing>()),
        "discipline" => Ok(of::<dyn DisciplineProgram>()),
        other => Err(PyValueError::new_err(format!("kind is \"balancing\" or \"discipline\", not \"{other}\""))),
    }
}

/// Loads what a shared library has, and returns the ids by kind.
#[pyfunction]
fn load_library(path: PathBuf) -> PyResult<BTreeMap<&'static str, &'static str>> {
    let ids = fanin_own::load(&path).map_err(|error| SpecError::new_err(error.to_string()))?;
    let all = [("scheme", ids.scheme), ("balancing", ids.balancer), ("discipline", ids.discipline)];
    Ok(all.into_iter().filter_map(|(kind, id)| Some((kind, id?))).collect())
}

/// The text of `fanin_scheme.h`.
#[pyfunction]
fn scheme_header() -> &'static str {
    fanin_own::HEADER
}

/// Forgets all schemes and policies that were loaded.
#[pyfunction]
fn forget_schemes() {
    loaded::forget();
}

/// The JSON schema of a spec.
#[pyfunction]
fn schema() -> String {
    fanin_experiment::schema().to_string()
}

/// A TOML document as JSON; `None` for a text that is no TOML, or that has values that JSON lacks.
#[pyfunction]
fn toml_as_json(text: &str) -> Option<String> {
    fanin_experiment::toml_as_json(text)
}

/// The meaning of every table, column and field of a run folder, as sections of a Markdown page.
#[pyfunction]
fn columns() -> String {
    fanin_record::columns::markdown()
}

/// The native module.
#[pymodule]
mod _core {
    #[pymodule_export]
    use super::certify::{certify, certify_laws, certify_trace};
    #[pymodule_export]
    use super::endpoint::WireEndpoint;
    use super::errors::{LimitError, SpecError};
    #[pymodule_export]
    use super::graphs::{graphs_check, graphs_finish, graphs_kind, graphs_overview, graphs_write, network_of};
    #[pymodule_export]
    use super::others::{
        hpcc_config, hpcc_explain, hpcc_incast, hpcc_permutation, hpcc_poisson, hpcc_spec, hpcc_topology,
        hpcc_warnings, htsim_spec, run_hpcc, run_hpcc_under, run_uec, uec_explain, uec_warnings,
    };
    use super::own;
    #[pymodule_export]
    use super::results::{Progress, RunResult, put_folder};
    #[pymodule_export]
    use super::wires::{check_wire, run_wire, wire_carry, wire_host, wire_layouts, wire_member, wire_veth_refused};
    #[pymodule_export]
    use super::{
        bench_cases, columns, explain, forget_schemes, ideals, job_write, load_library, policies, resolve, run,
        run_bench, run_moved, schema, scheme_header, schemes, toml_as_json, warnings,
    };
    #[pymodule_export]
    use crate::arrow::ArrowTable;
    use pyo3::prelude::*;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))?;
        module.add("SpecError", module.py().get_type::<SpecError>())?;
        module.add("LimitError", module.py().get_type::<LimitError>())?;
        own::add_to(module)
    }
}
