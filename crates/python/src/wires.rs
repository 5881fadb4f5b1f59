//! Runs on a wire.

use crate::errors::{SpecError, failed};
use crate::given::Given;
use crate::results::{RunResult, left_by_spec, look};
use fanin_transport::layouts::{self, Header};
use fanin_units::PortId;
use fanin_wirelab::carry::Watch;
use fanin_wirelab::{Clock, Link, Options, WireError};
use pyo3::prelude::*;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::net::TcpListener;

fn wire_options(clock: &str, link: &str) -> PyResult<Options> {
    let clock = Clock::parse(clock).map_err(SpecError::new_err)?;
    Ok(Options { clock, link: Link::parse(link).map_err(SpecError::new_err)?, ..Options::default() })
}

/// Raises an error for a clock or a link that there is not.
#[pyfunction]
pub fn check_wire(clock: &str, link: &str) -> PyResult<()> {
    wire_options(clock, link).map(drop)
}

/// Runs a spec on a wire, in processes that `program` starts, without the GIL.
#[pyfunction]
#[allow(clippy::too_many_arguments)]
pub fn run_wire(
    py: Python<'_>,
    spec: Given,
    program: Vec<OsString>,
    progress: Option<Py<PyAny>>,
    clock: &str,
    link: &str,
    by_hand: Option<(String, u64)>,
) -> PyResult<RunResult> {
    let options = wire_options(clock, link)?;
    let (checked, of) = py.detach(|| {
        let checked = spec.check_to_run()?;
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

/// Takes part in a run as a host, until it ends; this process then ends too.
#[pyfunction]
pub fn wire_host(py: Python<'_>, switches: &str, token: u64, host: u32) -> PyResult<()> {
    let switches = switches.parse().map_err(|_| failed(format!("{switches}: an address is like 192.0.2.1:4790")))?;
    py.detach(|| fanin_wirelab::join(switches, token, host)).map_err(failed)
}

/// A header: its name, what it is, whether numbers begin with their lowest byte, and its fields: name, bits, meaning.
pub type Layout = (&'static str, &'static str, bool, Vec<(&'static str, u32, &'static str)>);

/// The layouts of the headers that no standard has.
#[pyfunction]
pub fn wire_layouts() -> Vec<Layout> {
    let fields = |of: &Header| of.fields.iter().map(|field| (field.name, field.bits, field.about)).collect();
    layouts::ALL.iter().map(|of| (of.key, of.about, of.little_endian, fields(of))).collect()
}

/// Why links of virtual Ethernet interfaces are not permitted here; nothing where they are.
#[pyfunction]
pub fn wire_veth_refused(py: Python<'_>) -> Option<String> {
    py.detach(|| fanin_wirelab::veth::permitted().err())
}

/// Samples of a queue, as seconds and bytes, and counts by name.
pub type Carried = (Vec<(f64, u64)>, BTreeMap<&'static str, f64>);

/// Carries IPv4 frames between processes with network namespaces of their own through the switches of a spec, in real
/// time, without the GIL.
#[pyfunction]
#[allow(clippy::too_many_arguments)]
pub fn wire_carry(
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
        let checked = spec.check_to_run()?;
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
pub fn wire_member(py: Python<'_>) {
    py.detach(|| fanin_wirelab::member::serve(std::io::stdin(), std::io::stdout()));
}
