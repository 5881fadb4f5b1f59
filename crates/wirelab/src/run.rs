//! A run of an experiment on a wire, with the results of a run in the simulator.

use crate::options::{Clock, Link, Options};
use crate::pace::{Timing, rejected};
use crate::processes::Processes;
use crate::refuse::reasons;
use crate::report::Reports;
use crate::veth;
use fanin_cc::own::Failure;
use fanin_experiment::built::Measure;
use fanin_experiment::{CAPTURE, CheckedSpec, Engine, Outcome, Progress, run_on};
use fanin_fabric::{ClassCounters, Flows, Incidents, NetworkConfig, PortCounters, Totals, TrafficCounters};
use fanin_record::{Spool, SpoolWriter, WirePart, WireRun, WireTiming};
use fanin_transport::os;
use fanin_units::{PortId, Time};
use std::borrow::Cow;
use std::cell::Cell;
use std::ffi::OsString;
use std::hash::{BuildHasher, RandomState};
use std::net::TcpListener;
use std::time::{Duration, Instant};

/// Why there are no results.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WireError {
    /// The experiment cannot run on a wire; nothing was started.
    Refused(Vec<String>),
    /// A process failed.
    Failed(String),
    /// The machine was too slow for real time: there are no results.
    Rejected(String),
}

impl std::fmt::Display for WireError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Refused(reasons) => f.write_str(&reasons.join("\n")),
            Self::Rejected(reason) => f.write_str(reason),
            Self::Failed(problem) => write!(f, "the run on the wire failed: {problem}"),
        }
    }
}

impl std::error::Error for WireError {}

/// Real time of a piece of a run in virtual time, between two of which it can be stopped.
const PIECE: Duration = Duration::from_millis(50);
/// The same in real time, where the clock stops between two of them.
const LONGEST: Duration = Duration::from_millis(500);

/// A network on a wire, as the loop of a run sees it.
struct Wire<'a> {
    processes: Processes,
    config: NetworkConfig,
    /// How many times slower it is, or 0 in virtual time.
    slowdown: u64,
    /// By traffic.
    schemes: Vec<u16>,
    now: Time,
    /// Time that took about [`PIECE`]; in real time that of [`LONGEST`].
    piece: Time,
    latest: Reports,
    /// Where the capture is written, if there is one.
    capture: Option<Spool>,
    /// The first thing that went wrong; nothing runs any more then.
    failed: Option<String>,
    /// Whether there is such a thing.
    stop: &'a Cell<bool>,
}

impl Wire<'_> {
    /// Does something with the processes, and asks how far they are.
    fn act(&mut self, act: impl FnOnce(&mut Processes) -> Result<(), String>, full: bool) {
        if self.failed.is_some() {
            return;
        }
        let done = act(&mut self.processes).and_then(|()| self.processes.reports(full));
        match done {
            Ok(reports) => self.latest = reports,
            Err(problem) => {
                self.failed = Some(problem);
                self.stop.set(true);
            }
        }
    }
}

impl Engine for Wire<'_> {
    fn run_until(&mut self, until: Time, _budget: u64) -> bool {
        let (began, to) = (Instant::now(), until.min(self.now.saturating_add(self.piece)));
        self.act(|processes| processes.run_until(to), false);
        let took = began.elapsed();
        if self.slowdown == 0 && took < PIECE / 2 && to < until {
            self.piece = Time::from_ps(self.piece.as_ps().saturating_mul(2));
        } else if self.slowdown == 0 && took > PIECE * 2 {
            self.piece = Time::from_ps((self.piece.as_ps() / 2).max(1));
        }
        self.now = to;
        to >= until
    }

    fn now(&self) -> Time {
        self.now
    }

    fn config(&self) -> &NetworkConfig {
        &self.config
    }

    fn packet_hops(&self) -> u64 {
        self.latest.packet_hops()
    }

    fn started(&self) -> u64 {
        self.latest.counted(|of| of.started)
    }

    fn finished(&self) -> u64 {
        self.latest.counted(|of| of.finished)
    }

    fn open_messages(&self) -> u64 {
        if self.failed.is_some() { 0 } else { self.latest.open() }
    }

    fn failure(&self) -> Option<Failure> {
        self.latest.failure()
    }

    fn nothing_to_come(&mut self) -> bool {
        self.failed.is_some() || self.latest.nothing_to_come()
    }

    fn all_known(&mut self) -> bool {
        self.act(|_| Ok(()), true);
        let flows = self.latest.flows(self.config.graph.hosts as usize);
        flows.iter().all(|flow| flow.finished.is_some() <= flow.acked.is_some())
    }

    fn stop_posting(&mut self) {
        self.act(Processes::stop_posting, false);
    }

    fn delivered(&self) -> Vec<[u64; 2]> {
        if self.latest.0.is_empty() { vec![[0; 2]; self.schemes.len()] } else { self.latest.delivered() }
    }

    fn queued(&self, port: PortId) -> u64 {
        self.latest.queued(port)
    }

    fn watch_port(&self, port: PortId) -> [(&'static str, f64); 2] {
        let (sent, paused) = self.latest.sent_and_paused(port);
        [("sent_bytes", sent as f64), ("paused_us", paused.as_ps() as f64 / 1e6)]
    }

    fn watch_traffic(&self, traffic: u16) -> [(&'static str, f64); 2] {
        let of = self.latest.of_traffic(traffic);
        [("delivered_bytes", of.delivered as f64), ("open_messages", of.started.saturating_sub(of.finished) as f64)]
    }

    fn port_counters(&self) -> Vec<PortCounters> {
        if self.latest.0.is_empty() {
            return vec![PortCounters::default(); 2 * self.config.graph.links.len()];
        }
        self.latest.port_counters()
    }

    fn class_counters(&self) -> Vec<ClassCounters> {
        self.latest.class_counters()
    }

    fn take_flows(&mut self) -> Flows {
        self.act(|_| Ok(()), true);
        self.latest.flows(self.config.graph.hosts as usize).into()
    }

    fn traffic_counters(&self) -> Vec<TrafficCounters> {
        self.latest.traffic_counters(&self.schemes)
    }

    fn totals(&self) -> Totals {
        self.latest.totals()
    }

    fn incidents(&self) -> Cow<'_, Incidents> {
        Cow::Owned(self.latest.incidents(self.config.seed))
    }

    fn take_traces(&mut self) -> (Vec<Spool>, Vec<String>) {
        let Some(spool) = self.capture.take().filter(|_| self.failed.is_none()) else { return Default::default() };
        match self.processes.end_capture() {
            Ok(Ok(warning)) => (vec![spool], warning.into_iter().collect()),
            Ok(Err(problem)) | Err(problem) => (Vec::new(), vec![format!("{CAPTURE} is missing: {problem}")]),
        }
    }

    fn table_peak(&self, traffic: u16) -> Option<u64> {
        let scheme = usize::from(self.schemes[usize::from(traffic)]);
        self.latest.0.first()?.table_peaks.get(scheme).copied()?
    }
}

/// The results of a run on a wire.
#[derive(Clone, Debug)]
pub struct OnWire {
    /// As in the simulator.
    pub outcome: Outcome,
    /// How it ran.
    pub options: Options,
    /// In real time, how late the switches and each host were; empty in virtual time.
    pub timing: Vec<Timing>,
    /// Why its results do not count.
    pub rejected: Option<String>,
}

impl OnWire {
    /// How it ran, for the manifest.
    pub fn described(&self) -> WireRun {
        let timing = (!self.timing.is_empty()).then(|| described(&self.timing));
        WireRun { clock: self.options.clock.to_string(), link: self.options.link.name().to_string(), timing }
    }
}

fn described(timing: &[Timing]) -> WireTiming {
    let us = |ps: u64| ps as f64 / 1e6;
    let mut all = Timing::default();
    timing.iter().for_each(|part| all.merge(part));
    let part = |(number, of): (usize, &Timing)| WirePart {
        name: number.checked_sub(1).map_or("switches".to_string(), |host| host.to_string()),
        behind_p99_us: us(of.behind.quantile(0.99)),
        behind_max_us: us(of.behind.largest()),
        gap_max_us: us(of.gap.as_ps()),
    };
    let frames = all.lateness.count();
    WireTiming {
        frames,
        lateness_p50_us: us(all.lateness.quantile(0.5)),
        lateness_p99_us: us(all.lateness.quantile(0.99)),
        lateness_max_us: us(all.lateness.largest()),
        late_share: all.late as f64 / frames.max(1) as f64,
        moved: all.moved,
        parts: timing.iter().enumerate().map(part).collect(),
    }
}

/// What else this clock and these links need.
fn needs(spec: &CheckedSpec, options: &Options) -> Vec<String> {
    let mut missing = Vec::new();
    let graph = &spec.network().graph;
    let mut to_hosts = graph.links.iter().filter(|link| graph.is_host(link.a) || graph.is_host(link.b));
    if options.clock != Clock::Lockstep && to_hosts.any(|link| link.delay == Time::ZERO) {
        missing.push(format!("links to hosts without a delay leave no time for --clock {}", options.clock));
    }
    if options.link == Link::Veth {
        missing.extend(veth::permitted().err());
    }
    missing
}

/// How long this machine has been suspended.
fn suspended() -> Duration {
    os::since_boot().saturating_sub(os::monotonic())
}

/// Runs an experiment on a wire, until its end or until `progress` returns false. `program` with its arguments is a
/// process that calls [`crate::member::serve`].
///
/// # Errors
/// What cannot run on a wire, before anything starts; a process that failed; in real time, a machine that was too slow.
pub fn run_with(
    spec: &CheckedSpec,
    options: &Options,
    program: &[OsString],
    progress: &mut dyn FnMut(&Progress) -> bool,
) -> Result<OnWire, WireError> {
    let of = run_unjudged(spec, options, program, progress)?;
    of.rejected.clone().map_or(Ok(of), |reason| Err(WireError::Rejected(reason)))
}

/// The same, with the results even where the machine was too slow, for tests.
///
/// # Errors
/// What cannot run on a wire, before anything starts; a process that failed.
pub fn run_unjudged(
    spec: &CheckedSpec,
    options: &Options,
    program: &[OsString],
    progress: &mut dyn FnMut(&Progress) -> bool,
) -> Result<OnWire, WireError> {
    let mut refused = reasons(spec);
    refused.extend(needs(spec, options));
    if !refused.is_empty() {
        return Err(WireError::Refused(refused));
    }
    let token = token();
    let hosts = spec.network().graph.hosts;
    let (slept, slowdown) = (suspended(), options.clock.slowdown());
    let processes = Processes::start(&spec.to_toml(), hosts, options, token, program).map_err(WireError::Failed)?;
    let (outcome, mut processes) = go(spec, processes, slowdown, progress)?;
    if slowdown == 0 {
        return Ok(OnWire { outcome, options: *options, timing: Vec::new(), rejected: None });
    }
    let timing = processes.timing().map_err(WireError::Failed)?;
    // Less than a millisecond is between two readings of two clocks.
    let slept = suspended().saturating_sub(slept);
    let slept = if slept < Duration::from_millis(1) { Duration::ZERO } else { slept };
    let rejected = rejected(&timing, slowdown, slept);
    Ok(OnWire { outcome, options: *options, timing, rejected })
}

/// A number that datagrams of another run, or of anything else, do not have.
pub fn token() -> u64 {
    RandomState::new().hash_one(std::process::id())
}

/// Runs an experiment on a wire in virtual time, with hosts that were started by hand and connect to this listener with
/// the token; see [`crate::join`]. `progress` is called while it waits for them, too.
///
/// # Errors
/// As for [`run_with`].
pub fn run_by_hand(
    spec: &CheckedSpec,
    listener: &TcpListener,
    token: u64,
    program: &[OsString],
    progress: &mut dyn FnMut(&Progress) -> bool,
) -> Result<OnWire, WireError> {
    let refused = reasons(spec);
    if !refused.is_empty() {
        return Err(WireError::Refused(refused));
    }
    let hosts = spec.network().graph.hosts;
    let began = Instant::now();
    let mut waiting = |_: usize| {
        let (simulated, wall, end) = (Time::ZERO, began.elapsed(), spec.measure().window);
        progress(&Progress { simulated, end, packet_hops: 0, wall, started: 0, finished: 0 })
    };
    let processes = Processes::by_hand(&spec.to_toml(), hosts, listener, token, program, &mut waiting);
    let Some(processes) = processes.map_err(WireError::Failed)? else {
        return Err(WireError::Failed("it was stopped before all hosts were there".to_string()));
    };
    let (outcome, _) = go(spec, processes, 0, progress)?;
    Ok(OnWire { outcome, options: Options::default(), timing: Vec::new(), rejected: None })
}

/// Lets the switches write the capture that an experiment asks for.
fn begin_capture(measure: &Measure, processes: &mut Processes) -> Result<Option<Spool>, String> {
    if measure.capture.is_none() {
        return Ok(None);
    }
    // Another process writes it.
    let spool = Spool::create(CAPTURE).and_then(SpoolWriter::finish).map_err(|error| error.to_string())?;
    processes.begin_capture(spool.path()).map(|()| Some(spool))
}

/// Runs an experiment with these processes.
fn go(
    spec: &CheckedSpec,
    mut processes: Processes,
    slowdown: u64,
    progress: &mut dyn FnMut(&Progress) -> bool,
) -> Result<(Outcome, Processes), WireError> {
    let built = spec.build();
    let (config, schemes) = (built.network.clone(), fanin_fabric::outside::schemes_of(&built.traffics));
    let stop = Cell::new(false);
    let piece = match slowdown {
        0 => Time::from_us(10),
        _ => Time::from_ps((LONGEST.as_nanos() as u64 * 1000 / slowdown).max(1)),
    };
    let capture = begin_capture(&built.measure, &mut processes).map_err(WireError::Failed)?;
    let mut wire = Wire {
        processes,
        config,
        slowdown,
        schemes,
        now: Time::ZERO,
        piece,
        latest: Reports::default(),
        capture,
        failed: None,
        stop: &stop,
    };
    let outcome = run_on(built, &mut wire, &mut |state| !stop.get() && progress(state));
    let refused: u64 = wire.latest.0.iter().map(|report| report.refused).sum();
    if let Some((number, timing)) = wire.processes.late.take() {
        let mut parts = vec![Timing::default(); number];
        parts.push(timing);
        let reason = rejected(&parts, slowdown, Duration::ZERO);
        return Err(WireError::Rejected(reason.unwrap_or_else(|| "a part was too late".to_string())));
    }
    if let Some(problem) = wire.failed {
        return Err(WireError::Failed(problem));
    }
    if refused > 0 {
        return Err(WireError::Failed(format!("{refused} frames were refused")));
    }
    Ok((outcome, wire.processes))
}
