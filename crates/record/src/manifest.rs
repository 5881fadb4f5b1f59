//! Metadata of a run.

use crate::Run;
use schemars::JsonSchema;
use serde::Serialize;

/// The machine a run was made on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Machine {
    /// Operating system.
    pub os: &'static str,
    /// Instruction set.
    pub arch: &'static str,
    /// Processor model, if the system reports it.
    pub cpu: Option<String>,
    /// Cores available to this process.
    pub cores: usize,
}

impl Machine {
    /// This machine.
    pub fn here() -> Self {
        let cpu = std::fs::read_to_string("/proc/cpuinfo").ok().and_then(|text| {
            let line = text.lines().find(|line| line.starts_with("model name"))?;
            Some(line.split_once(':')?.1.trim().to_string())
        });
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        Self { os: std::env::consts::OS, arch: std::env::consts::ARCH, cpu, cores }
    }
}

/// How one part of a network on a wire kept up with real time.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct WirePart {
    /// `switches`, or the number of the host.
    pub name: String,
    /// 99 % of the times at which it handled events were no further behind the clock, in us of network time.
    pub behind_p99_us: f64,
    /// The furthest, in us of network time.
    pub behind_max_us: f64,
    /// The longest time by which the machine woke it too late, in us of network time.
    pub gap_max_us: f64,
}

/// How a run on a wire kept up with real time. A frame's lateness is the time from when its last bit left its sender
/// until its receiver had it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct WireTiming {
    /// Frames that arrived over the links between hosts and switches.
    pub frames: u64,
    /// Median of their lateness, in us of network time.
    pub lateness_p50_us: f64,
    /// 99th percentile of it.
    pub lateness_p99_us: f64,
    /// Largest of it.
    pub lateness_max_us: f64,
    /// Share of frames that came later than the delay of their link; a run with more than 0.01 is rejected.
    pub late_share: f64,
    /// Frames that came after what had to follow them, and were handled later than they should have been.
    pub moved: u64,
    /// The switches, then the hosts.
    pub parts: Vec<WirePart>,
}

/// How a run on a wire ran.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct WireRun {
    /// `lockstep`, `slowed:N` or `real`.
    pub clock: String,
    /// What carried frames: `udp` or `veth`.
    pub link: String,
    /// How it kept up with real time; null in lockstep, where time is virtual.
    pub timing: Option<WireTiming>,
}

/// Metadata and speed of a run.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Manifest {
    /// Version of the program.
    pub version: &'static str,
    /// Name of the spec.
    pub name: String,
    /// Root seed.
    pub seed: u64,
    /// Threads the run used. The result does not depend on it.
    pub threads: usize,
    /// Why the run used fewer threads than allowed; null if it used them all.
    pub threads_reason: Option<String>,
    /// How it ran on a wire; null in the simulator.
    pub wire: Option<WireRun>,
    /// The machine.
    pub machine: Machine,
    /// Whether the run was stopped before its end.
    pub cancelled: bool,
    /// Whether the run reached its end; otherwise all results cover only the simulated time until it stopped.
    pub complete: bool,
    /// Wall-clock time of the run in seconds.
    pub wall_s: f64,
    /// Simulated time in picoseconds.
    pub simulated_ps: u64,
    /// Packets sent over one link each.
    pub packet_hops: u64,
    /// The same per second of wall-clock time.
    pub packet_hops_per_second: f64,
    /// Events processed. A switch checking its ports is not counted, since their number depends on the number of
    /// threads.
    pub events: u64,
    /// The event hash as 16 hexadecimal digits.
    pub event_hash: String,
}

impl Manifest {
    /// Of a run that took `wall_s` seconds on one thread of this machine.
    pub fn new(name: &str, seed: u64, run: &Run, wall_s: f64, cancelled: bool) -> Self {
        let packet_hops = run.totals.packet_hops;
        Self {
            version: env!("CARGO_PKG_VERSION"),
            name: name.to_string(),
            seed,
            threads: 1,
            threads_reason: None,
            wire: None,
            machine: Machine::here(),
            cancelled,
            complete: !cancelled,
            wall_s,
            simulated_ps: run.stopped.as_ps(),
            packet_hops,
            packet_hops_per_second: if wall_s > 0.0 { packet_hops as f64 / wall_s } else { 0.0 },
            events: run.totals.events,
            event_hash: format!("{:016x}", run.totals.event_hash),
        }
    }
}
