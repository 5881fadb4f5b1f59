//! An endpoint of messages between hosts, for `fanin.wire`.

use fanin_transport::Endpoint;
use fanin_transport::endpoint::{Config, Event, PeerId};
use fanin_units::{Rate, Time};
use pyo3::exceptions::{PyOSError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// An endpoint. Calls from several threads take turns.
#[pyclass(frozen)]
pub struct WireEndpoint(Mutex<Option<Endpoint>>);

fn wrong(error: impl std::fmt::Display) -> PyErr {
    PyValueError::new_err(error.to_string())
}

fn broken(error: std::io::Error) -> PyErr {
    match error.kind() {
        std::io::ErrorKind::InvalidInput => wrong(error),
        _ => PyOSError::new_err(error.to_string()),
    }
}

fn time(seconds: f64) -> PyResult<Time> {
    if !(0.0..1e6).contains(&seconds) {
        return Err(wrong(format!("{seconds} is no time in seconds from 0 to 1e6")));
    }
    Ok(Time::from_ps((seconds * 1e12) as u64))
}

/// (what, connection, message, content, what else there is to say: an address, or why)
type Told<'py> = (&'static str, u32, u32, Option<Bound<'py, PyBytes>>, String);

fn told(py: Python<'_>, event: Event) -> Told<'_> {
    match event {
        Event::Connected { peer } => ("connected", peer.0, 0, None, String::new()),
        Event::Accepted { peer, address, .. } => ("accepted", peer.0, 0, None, address.to_string()),
        Event::Arrived { peer, message, content } => {
            ("arrived", peer.0, message, Some(PyBytes::new(py, &content)), String::new())
        }
        Event::Sent { peer, message } => ("sent", peer.0, message, None, String::new()),
        Event::Failed { peer, message, reason } => ("failed", peer.0, message, None, reason.to_string()),
        Event::Lost { peer, reason } => ("lost", peer.0, 0, None, reason.to_string()),
    }
}

impl WireEndpoint {
    fn with<T: Send>(&self, py: Python<'_>, act: impl FnOnce(&mut Endpoint) -> PyResult<T> + Send) -> PyResult<T> {
        py.detach(|| {
            let mut guard = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            act(guard.as_mut().ok_or_else(|| wrong("the endpoint is closed"))?)
        })
    }
}

#[pymethods]
impl WireEndpoint {
    #[new]
    #[allow(clippy::too_many_arguments)]
    fn new(
        address: &str,
        port: u16,
        scheme: &str,
        parameters: &str,
        recovery: &str,
        rate: &str,
        payload: u16,
        rtt: Option<f64>,
        timeout: f64,
        quiet: f64,
        host: Option<u16>,
        secret: (u64, u64),
    ) -> PyResult<Self> {
        let parameters = serde_json::from_str(parameters).map_err(wrong)?;
        let scheme = fanin_cc::settings(scheme, &parameters).map_err(|error| match error {
            fanin_cc::SettingsError::UnknownScheme(_) => wrong(format!("there is no scheme \"{scheme}\"")),
            fanin_cc::SettingsError::UnknownParameter(name, known) => {
                wrong(format!("{scheme} has no parameter \"{name}\"; it has {}", known.join(", ")))
            }
            fanin_cc::SettingsError::Value(problem) => wrong(problem),
        })?;
        let mut config = Config::new(scheme);
        config.rate = rate.parse::<Rate>().map_err(wrong)?;
        config.endpoint.timeout = time(timeout)?;
        (config.payload, config.host, config.secret) = (payload, host, [secret.0, secret.1]);
        config.limits.quiet = time(quiet)?;
        if let Some(rtt) = rtt {
            (config.rtt, config.measure_rtt) = (time(rtt)?, false);
        }
        let config = config.with_recovery(recovery).map_err(wrong)?;
        Ok(Self(Mutex::new(Some(Endpoint::bind((address, port), config).map_err(broken)?))))
    }

    /// Its address and port.
    fn address(&self, py: Python<'_>) -> PyResult<(String, u16)> {
        let of = self.with(py, |endpoint| endpoint.address().map_err(broken))?;
        Ok((of.ip().to_string(), of.port()))
    }

    /// Begins a connection. Returns its number.
    fn connect(&self, py: Python<'_>, address: &str, port: u16) -> PyResult<u32> {
        self.with(py, |endpoint| Ok(endpoint.connect((address, port)).map_err(broken)?.0))
    }

    /// Posts a message. Returns its number.
    fn post(
        &self,
        py: Python<'_>,
        connection: u32,
        content: &[u8],
        incast: u32,
        senders: Option<Vec<u16>>,
    ) -> PyResult<u32> {
        self.with(py, |endpoint| {
            let incast = senders.as_deref().map(|senders| (incast, senders));
            endpoint.post(PeerId(connection), content, incast).map_err(wrong)
        })
    }

    /// Sends and receives until something has happened, a signal came, or so many seconds are over.
    fn poll<'py>(&self, py: Python<'py>, seconds: f64) -> PyResult<Vec<Told<'py>>> {
        let wait = Duration::try_from_secs_f64(seconds).map_err(wrong)?;
        let events = self.with(py, |endpoint| endpoint.poll(wait).map_err(broken))?;
        Ok(events.into_iter().map(|event| told(py, event)).collect())
    }

    /// Ends a connection.
    fn end(&self, py: Python<'_>, connection: u32) -> PyResult<()> {
        self.with(py, |endpoint| {
            endpoint.close(PeerId(connection));
            Ok(())
        })
    }

    /// Ends all connections and gives the port back.
    fn close(&self, py: Python<'_>) {
        let endpoint = py.detach(|| self.0.lock().unwrap_or_else(PoisonError::into_inner).take());
        drop(endpoint);
    }

    /// Least round-trip time measured to a peer in seconds, or None.
    fn rtt(&self, py: Python<'_>, connection: u32) -> PyResult<Option<f64>> {
        self.with(py, |endpoint| Ok(endpoint.core().rtt(PeerId(connection)).map(Time::as_secs_f64)))
    }

    /// Counts by name.
    fn counts(&self, py: Python<'_>) -> PyResult<Vec<(&'static str, u64)>> {
        self.with(py, |endpoint| {
            let (of, host) = (endpoint.core().counts(), endpoint.core().totals().host);
            Ok(vec![
                ("arrived", of.arrived),
                ("malformed", of.malformed),
                ("unknown", of.unknown),
                ("forged", of.forged),
                ("replayed", of.replayed),
                ("without_cookie", of.without_cookie),
                ("refused", of.refused),
                ("out_of_place", of.out_of_place),
                ("marked", of.marked),
                ("unsent", endpoint.unsent()),
                ("timeouts", host.timeouts),
                ("nacks", host.nacks),
                ("cnps", host.cnps),
                ("duplicates", host.duplicates),
            ])
        })
    }
}
