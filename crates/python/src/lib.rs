//! The native module of the Python package: specs in, Arrow columns out, no logic of its own. Its Python signatures are
//! in `python/fanin/_core.pyi`.

mod arrow;
mod certify;
mod endpoint;
mod errors;
mod graphs;
mod own;

use arrow::{ArrowTable, FlowTable};
use errors::{LimitError, SpecError};
use fanin_cc::own::Program;
use fanin_cc::{DisciplineProgram, OwnBalancing};
use fanin_experiment::built::Built;
use fanin_experiment::explain::Cost;
use fanin_experiment::loaded::{self, Kind};
use fanin_experiment::{CheckedSpec, Exceeded, Limits, Outcome, Problems, Spec, bench, hpcc, htsim, ideal, uet};
use fanin_record::{Manifest, Ran, RecordError, RunFiles, SizeRange, Spool, Summary, summarise, tables, write_folder};
use fanin_units::{PortId, Time};
use fanin_wirelab::carry::Watch;
use fanin_wirelab::{Clock, Link, Options, WireError};
use pyo3::exceptions::{PyFileExistsError, PyOSError, PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::Write;
use std::net::TcpListener;
use std::path::{Path, PathBuf};

fn too_much(exceeded: Box<Exceeded>) -> PyErr {
    LimitError::new_err(exceeded.to_string())
}

fn refused(errors: Problems) -> PyErr {
    SpecError::new_err(errors.to_string())
}

fn failed(error: impl std::fmt::Display) -> PyErr {
    PyRuntimeError::new_err(error.to_string())
}

/// A spec: a Python object with these attributes, such as a `Job`.
#[derive(FromPyObject)]
struct Given {
    text: String,
    name: String,
    format: String,
    folder: String,
    overrides: Vec<String>,
    scheme: Option<String>,
    seed: Option<u64>,
}

impl Given {
    fn read(&self) -> PyResult<Spec> {
        let folder = Path::new(&self.folder);
        let mut spec = match &*self.format {
            "toml" => Spec::from_toml(&self.text, &self.name, folder).map_err(refused)?,
            "json" => Spec::from_json(&self.text, &self.name, folder).map_err(refused)?,
            other => return Err(PyValueError::new_err(format!("format is \"toml\" or \"json\", not \"{other}\""))),
        };
        let changes = self.overrides.iter().map(|change| split_change(change)).collect::<PyResult<Vec<_>>>()?;
        // Parameters are set last: they are those of the scheme and the policies that other changes choose.
        let (parameters, others): (Vec<_>, Vec<_>) = changes.into_iter().partition(|(key, _)| is_parameter(key));
        for (key, value) in others {
            spec = spec.set(key, value).map_err(refused)?;
        }
        if let Some(scheme) = &self.scheme {
            spec = spec.with_scheme(scheme);
        }
        for (key, value) in parameters {
            spec = spec.set(key, value).map_err(refused)?;
        }
        if let Some(seed) = self.seed {
            spec = spec.with_seed(seed);
        }
        Ok(spec)
    }

    fn check(&self) -> PyResult<CheckedSpec> {
        self.read()?.check().map_err(refused)
    }
}

/// Whether a key is that of a parameter of a scheme, of load balancing or of a queue discipline.
fn is_parameter(key: &str) -> bool {
    key.contains(".scheme.") || key.starts_with("network.balancing.") || key.starts_with("network.discipline.")
}

fn split_change(change: &str) -> PyResult<(&str, &str)> {
    let (key, value) = change.split_once('=').ok_or_else(|| {
        SpecError::new_err(format!("--set \"{change}\": no \"=\"; write it like --set \"measure.window=10 ms\""))
    })?;
    Ok((key.trim(), value.trim()))
}

/// Progress of a run.
#[pyclass(frozen, get_all)]
struct Progress {
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
struct RunResult {
    outcome: Outcome,
    summary: Summary,
    manifest: Manifest,
    spec_toml: String,
    /// Whether it ran another simulator's files as they are, and `spec_toml` is not a spec.
    exact: bool,
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
    fn table(&self, name: &str) -> PyResult<ArrowTable> {
        let made = tables::ALL.iter().find(|(table, _)| *table == name);
        let (_, make) = made.ok_or_else(|| PyValueError::new_err(format!("{name}: there is no such table")))?;
        make(&self.outcome.run).map(ArrowTable::new).map_err(failed)
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

fn not_written(error: RecordError) -> PyErr {
    match error {
        RecordError::Exists(_) => PyFileExistsError::new_err(error.to_string()),
        _ => PyOSError::new_err(error.to_string()),
    }
}

/// Moves a whole run folder to its place. Returns whether there was one already, which then has the other's name.
#[pyfunction]
fn put_folder(new: PathBuf, target: PathBuf, overwrite: bool) -> PyResult<bool> {
    fanin_record::put_folder(&new, &target, overwrite).map_err(not_written)
}

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
        let checked = spec.check()?;
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

/// Runs a spec on a wire, in processes that `program` starts, without the GIL.
#[pyfunction]
#[allow(clippy::too_many_arguments)]
fn run_wire(
    py: Python<'_>,
    spec: Given,
    program: Vec<OsString>,
    progress: Option<Py<PyAny>>,
    clock: &str,
    link: &str,
    by_hand: Option<(String, u64)>,
) -> PyResult<RunResult> {
    let wrong = |problem: String| SpecError::new_err(problem);
    let clock = Clock::parse(clock).map_err(wrong)?;
    let options = Options { clock, link: Link::parse(link).map_err(wrong)?, ..Options::default() };
    let (checked, of) = py.detach(|| {
        let checked = spec.check()?;
        let mut progress = |state: &fanin_experiment::Progress| look(progress.as_ref(), None, state);
        let of = match by_hand {
            None => fanin_wirelab::run_with(&checked, &options, &program, &mut progress),
            Some((listen, token)) => {
                let listener = TcpListener::bind(&listen).map_err(|error| failed(format!("{listen}: {error}")))?;
                if listener.local_addr().is_ok_and(|address| address.is_ipv6()) {
                    return Err(failed(format!(
                        "{listen}: hosts connect over IPv4, to an address like 192.0.2.1:4790"
                    )));
                }
                fanin_wirelab::run_by_hand(&checked, &listener, token, &program, &mut progress)
            }
        };
        let of = of.map_err(|error| match error {
            WireError::Refused(_) => SpecError::new_err(error.to_string()),
            WireError::Failed(_) | WireError::Rejected(_) => failed(error),
        })?;
        Ok::<_, PyErr>((checked, of))
    })?;
    let wire = of.described();
    let mut left = py.detach(|| left_by_spec(of.outcome, &checked));
    left.manifest.wire = Some(wire);
    Ok(left)
}

/// Runs a spec with messages that start up to `most_ps` later, as member `draw` of an ensemble, without the GIL.
#[pyfunction]
#[allow(clippy::too_many_arguments)]
fn run_moved(py: Python<'_>, spec: Given, most_ps: u64, draw: u64) -> PyResult<RunResult> {
    py.detach(|| {
        let checked = spec.check()?;
        let built = fanin_wirelab::ensemble::moved(checked.build(), most_ps, draw);
        let outcome = fanin_experiment::run(built, &mut |_| true);
        let (measure, document) = (checked.measure(), checked.document());
        Ok(left_by(outcome, SizeRange::ALL, measure.allow_drops, &document.name, document.seed, checked.to_toml()))
    })
}

/// Takes part in a run as a host, until it ends; this process then ends too.
#[pyfunction]
fn wire_host(py: Python<'_>, switches: &str, token: u64, host: u32) -> PyResult<()> {
    let switches = switches.parse().map_err(|_| failed(format!("{switches}: an address is like 192.0.2.1:4790")))?;
    py.detach(|| fanin_wirelab::join(switches, token, host)).map_err(failed)
}

/// Why links of virtual Ethernet interfaces are not permitted here; nothing where they are.
#[pyfunction]
fn wire_veth_refused(py: Python<'_>) -> Option<String> {
    py.detach(|| fanin_wirelab::veth::permitted().err())
}

/// Samples of a queue, as seconds and bytes, and counts by name.
type Carried = (Vec<(f64, u64)>, BTreeMap<&'static str, f64>);

/// Carries IPv4 frames between processes with network namespaces of their own through the switches of a spec, in real
/// time, without the GIL.
#[pyfunction]
#[allow(clippy::too_many_arguments)]
fn wire_carry(
    py: Python<'_>,
    spec: Given,
    processes: Vec<u64>,
    port: &str,
    every_s: f64,
    lasts_s: f64,
    ready: Py<PyAny>,
    go_on: Py<PyAny>,
) -> PyResult<Carried> {
    let found = py.detach(|| {
        let checked = spec.check()?;
        let names = fanin_record::port_names(&checked.network().graph);
        let number = names.iter().position(|of| of == port);
        let number = number.ok_or_else(|| SpecError::new_err(format!("{port}: there is no such port")))?;
        let seconds =
            |s: f64| std::time::Duration::try_from_secs_f64(s).map_err(|error| failed(format!("{s}: {error}")));
        let watch = Watch { port: PortId(number as u32), every: seconds(every_s)?, lasts: seconds(lasts_s)? };
        let run = u64::from(std::process::id());
        let ready = || Python::attach(|py| ready.call0(py).map(drop).unwrap_or_else(|error| error.print(py)));
        let go_on = || Python::attach(|py| go_on.call0(py).and_then(|said| said.extract(py)).unwrap_or(false));
        fanin_wirelab::carry::carry(&checked, run, &processes, &watch, ready, go_on).map_err(failed)
    })?;
    let counts = [
        ("passed", found.passed as f64),
        ("marked", found.marked as f64),
        ("dropped", found.dropped as f64),
        ("refused", found.refused as f64),
        ("late_p50_us", found.late_us[0]),
        ("late_p99_us", found.late_us[1]),
        ("late_max_us", found.late_us[2]),
    ];
    Ok((found.queue, counts.into()))
}

/// Is one of these processes: does what the one that started it says over its standard input, until that ends.
#[pyfunction]
fn wire_member(py: Python<'_>) {
    py.detach(|| fanin_wirelab::member::serve(std::io::stdin(), std::io::stdout()));
}

/// The dialect of a configuration's files, its topology, and whether unknown keys are skipped.
type HowToRead = (Option<String>, Option<String>, bool);

fn reading_of((dialect, topology, skip_unknown_keys): HowToRead) -> PyResult<hpcc::Reading> {
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
fn run_hpcc(
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
fn run_hpcc_under(
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
fn run_uec(
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
fn uec_explain(py: Python<'_>, matrix: &str, topology: Option<&str>, options: &str) -> PyResult<String> {
    let explained = py.detach(|| {
        let setup = uet::Setup::read(matrix, topology, options).map_err(refused)?;
        Ok::<_, PyErr>(fanin_experiment::explain::explain_uec(&setup))
    })?;
    serde_json::to_string(&explained).map_err(failed)
}

/// The warnings of such a matrix that are known before it runs.
#[pyfunction]
fn uec_warnings(py: Python<'_>, matrix: &str, topology: Option<&str>, options: &str) -> PyResult<Vec<String>> {
    Ok(py.detach(|| uet::Setup::read(matrix, topology, options)).map_err(refused)?.warnings())
}

fn wrong(what: String) -> PyErr {
    SpecError::new_err(what)
}

/// A topology in the format of the ns-3 HPCC simulator: "fat-tree" of `size` ports, "star" of `size` hosts, "hpcc-320".
#[pyfunction]
fn hpcc_topology(kind: &str, size: u32, rate: &str, delay: &str) -> PyResult<String> {
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
fn hpcc_poisson(
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
fn hpcc_permutation(
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
fn hpcc_incast(
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
fn hpcc_config(
    law: &str,
    topology: &str,
    flows: &str,
    stop: Option<f64>,
    rate_ai: Option<&str>,
    trace_file: Option<&str>,
) -> PyResult<String> {
    hpcc::generate::config(law, topology, flows, hpcc::generate::Wishes { stop, rate_ai, trace_file }).map_err(wrong)
}

/// What a run of a spec leaves.
fn left_by_spec(outcome: Outcome, checked: &CheckedSpec) -> RunResult {
    let (measure, document) = (checked.measure(), checked.document());
    let sizes = measure.report_size.map_or(SizeRange::ALL, SizeRange::only);
    left_by(outcome, sizes, measure.allow_drops, &document.name, document.seed, checked.to_toml())
}

/// The same of any run.
fn left_by(
    outcome: Outcome,
    sizes: SizeRange,
    allow_drops: bool,
    name: &str,
    seed: u64,
    spec_toml: String,
) -> RunResult {
    let mut summary = summarise(&outcome.run, sizes, allow_drops);
    summary.errors.extend(outcome.failure.iter().map(|failure| failure.problem.clone()));
    let wall_s = outcome.wall.as_secs_f64();
    let manifest = Manifest {
        threads: outcome.threads,
        threads_reason: outcome.threads_reason.clone(),
        ..Manifest::new(name, seed, &outcome.run, wall_s, outcome.cancelled)
    };
    RunResult { outcome, summary, manifest, spec_toml, exact: false }
}

/// What a display of progress needs of an estimate.
fn of_cost(cost: Cost) -> [f64; 2] {
    [cost.packet_hops, cost.simulated_s]
}

/// Reports progress to Python, which returns whether to continue. `expected` is an estimate of all packet-hops
/// and of the simulated time in seconds, 0 if that is unknown.
fn look(progress: Option<&Py<PyAny>>, expected: Option<[f64; 2]>, state: &fanin_experiment::Progress) -> bool {
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

/// The checked spec that a configuration of the ns-3 HPCC simulator runs as under a scheme, as JSON, and its warnings.
#[pyfunction]
fn hpcc_spec(
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
fn hpcc_warnings(py: Python<'_>, config: &str, folder: &str, reading: HowToRead) -> PyResult<Vec<String>> {
    let reading = reading_of(reading)?;
    let setup = py.detach(|| hpcc::Setup::read(config, Path::new(folder), &reading)).map_err(refused)?;
    Ok(setup.warnings.iter().map(ToString::to_string).collect())
}

/// The explanation of one as JSON: on its own network, or under a scheme.
#[pyfunction]
fn hpcc_explain(
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
fn htsim_spec(
    matrix: PathBuf,
    topo: Option<PathBuf>,
    scheme: &str,
    dialect: Option<&str>,
) -> PyResult<(String, Vec<String>)> {
    let dialect = dialect.map(htsim::dialect).transpose().map_err(SpecError::new_err)?;
    let made = htsim::spec(&matrix, topo.as_deref(), scheme, dialect).map_err(refused)?;
    Ok((made.spec.to_string(), made.warnings))
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
    use super::graphs::{graphs_check, graphs_finish, graphs_kind, graphs_overview, graphs_write};
    use super::own;
    #[pymodule_export]
    use super::{
        ArrowTable, Progress, RunResult, bench_cases, columns, explain, forget_schemes, hpcc_config, hpcc_explain,
        hpcc_incast, hpcc_permutation, hpcc_poisson, hpcc_spec, hpcc_topology, hpcc_warnings, htsim_spec, ideals,
        job_write, load_library, policies, put_folder, resolve, run, run_bench, run_hpcc, run_hpcc_under, run_moved,
        run_uec, run_wire, schema, scheme_header, schemes, toml_as_json, uec_explain, uec_warnings, warnings,
        wire_carry, wire_host, wire_member, wire_veth_refused,
    };
    use pyo3::prelude::*;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))?;
        module.add("SpecError", module.py().get_type::<SpecError>())?;
        module.add("LimitError", module.py().get_type::<LimitError>())?;
        own::add_to(module)
    }
}
