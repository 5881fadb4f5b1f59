//! Configurations of the ns-3 HPCC simulator: read, run on its own network model, and returned like any other run, with
//! the files that its users' scripts read.

pub(crate) mod convert;
pub mod generate;
pub mod ordinary;
mod results;
#[cfg(test)]
mod tests;

use self::results::{hand_over, hops_of, placed, traced_as};
use crate::error::why_unread;
use crate::run::{Outcome, Progress};
use fanin_formats::hpcc::{self, Config, Flow, Topology};
use fanin_formats::{Error, Warning};
use fanin_ns3::{Network, files, law};
use fanin_record::{Spool, SpoolWriter};
use fanin_units::Time;
use std::io::{self, Write};
use std::path::Path;
use std::time::{Duration, Instant};

/// Limit of nodes times hosts, so that the routing tables stay below about a gigabyte.
const MOST_ROUTES: usize = 1 << 25;
/// Simulated time between two checks of the clock, ns.
const SLICE: u64 = 20_000;
const LOOK_EVERY: Duration = Duration::from_millis(100);
/// Largest size of a trace in bytes: records beyond are counted and left out.
pub const TRACE_LIMIT: u64 = 1 << 30;

/// A configuration with all files that it names, validated.
#[derive(Clone, Debug)]
pub struct Setup {
    /// The configuration.
    pub config: Config,
    /// Its topology.
    pub topology: Topology,
    /// Its flows.
    pub flows: Vec<Flow>,
    /// Nodes to trace.
    pub traced: Vec<u32>,
    /// Warnings about the files.
    pub warnings: Vec<Warning>,
    /// Whether switches serve ACKs before data, which no configuration key sets.
    pub acks_first: bool,
    settings: fanin_cc::Settings,
    name: String,
    text: String,
    /// The configuration's file, and the folder where its paths start, as absolute paths.
    origin: [String; 2],
}

fn read(base: &Path, file: &str, from: &str, key: &str) -> Result<Vec<u8>, Error> {
    std::fs::read(base.join(file)).map_err(|e| Error {
        file: from.to_string(),
        line: 0,
        what: format!("{key} names {file}, which cannot be read from {}: {}", base.display(), why_unread(&e)),
    })
}

impl Setup {
    /// Reads a configuration and the files that it names. Paths in it start at `base`, as that simulator's start at its
    /// working directory.
    ///
    /// # Errors
    /// The problem with file, line and correction.
    pub fn read(file: &str, base: &Path) -> Result<Self, Error> {
        let setup = Self::files(file, base)?;
        let fail = |what: String| Error { file: file.to_string(), line: 0, what };
        let hosts = setup.topology.is_switch.iter().filter(|s| !**s).count();
        if setup.settings.header_overhead().telemetry && hosts > 1 {
            let crossed = most_switches(&setup.topology, setup.config.payload);
            if crossed > fanin_cc::Telemetry::MOST {
                return Err(fail(format!(
                    "CC_MODE 3 on a network with {crossed} switches between two hosts: the simulator's telemetry has \
                     room for {}, and its behaviour beyond is undefined",
                    fanin_cc::Telemetry::MOST
                )));
            }
        }
        Ok(setup)
    }

    /// The same, for any network.
    fn files(file: &str, base: &Path) -> Result<Self, Error> {
        let fail = |what: String| Error { file: file.to_string(), line: 0, what };
        let text = std::fs::read(base.join(file)).map_err(|e| fail(format!("cannot be read: {}", why_unread(&e))))?;
        let (config, mut warnings) = Config::read(file, &text)?;
        let (topology, more) =
            Topology::read(&config.topology_file, &read(base, &config.topology_file, file, "TOPOLOGY_FILE")?)?;
        warnings.extend(more);
        let flows = read(base, &config.flow_file, file, "FLOW_FILE")?;
        let (flows, more) = hpcc::read_flows(&config.flow_file, &flows, Some(&topology))?;
        warnings.extend(more);
        let mut traced = Vec::new();
        if config.enable_trace && !config.trace_file.is_empty() {
            let nodes = read(base, &config.trace_file, file, "TRACE_FILE")?;
            let more;
            (traced, more) = hpcc::read_trace_nodes(&config.trace_file, &nodes, topology.is_switch.len() as u32)?;
            warnings.extend(more);
        }
        warnings.extend(hpcc::check(file, &config, &topology, &flows)?);
        let hosts = topology.is_switch.iter().filter(|s| !**s).count();
        if hosts * topology.is_switch.len() > MOST_ROUTES {
            return Err(fail(format!(
                "{} nodes with {hosts} hosts: its routing tables here hold up to {MOST_ROUTES} pairs of them; run \
                 the topology from a spec instead",
                topology.is_switch.len()
            )));
        }
        let settings = law::settings(&config).map_err(fail)?;
        let name = Path::new(file).file_stem().map_or("hpcc".into(), |stem| stem.to_string_lossy().into_owned());
        let text = String::from_utf8_lossy(&text).into_owned();
        let whole =
            |path: &Path| std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf()).display().to_string();
        let origin = [whole(&base.join(file)), whole(base)];
        Ok(Self { config, topology, flows, traced, warnings, acks_first: false, settings, name, text, origin })
    }

    /// The configuration's file name, without its ending.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The id of its control law among the schemes.
    pub fn scheme(&self) -> &'static str {
        self.settings.id()
    }

    /// The specification in a run's folder: the names in the tables, and the configuration as it was read.
    pub fn document(&self) -> String {
        let quote = |text: &str| serde_json::to_string(text).unwrap_or_default();
        let switches = self.topology.is_switch.iter().filter(|s| **s).count();
        let hosts = self.topology.is_switch.len() - switches;
        format!(
            "# A configuration of the ns-3 HPCC simulator, run on its own network; not a spec.\nname = {}\nhpcc_config \
             = {}\nhpcc_file = {}\nhpcc_folder = {}\nacks_first = {}\n\n[network.topology]\n\
             kind = {}\nhosts = {hosts}\n\
             switches = {switches}\n\n[measure]\nwarm_up = \"0 s\"\nwindow = \"{} ns\"\n\
             slowdown = \"the formula of the ns-3 HPCC simulator\"\n\n[[traffic]]\nname = \
             \"all\"\nscheme = {}\n",
            quote(&self.name),
            quote(&self.text),
            quote(&self.origin[0]),
            quote(&self.origin[1]),
            self.acks_first,
            quote(&self.config.topology_file),
            (self.config.stop * 1e9) as u64,
            quote(self.scheme()),
        )
    }
}

/// The traffic name of a destination port: that simulator's generators and scripts use two of them.
fn traffic_name(dport: u16) -> String {
    match dport {
        100 => "background".to_string(),
        200 => "incast".to_string(),
        other => format!("dport-{other}"),
    }
}

/// Most switches between two hosts.
fn most_switches(topology: &Topology, payload: u32) -> usize {
    let wiring = fanin_ns3::wiring::Wiring::new(topology, payload);
    let Some(&first) = wiring.hosts.first() else { return 0 };
    // All shortest paths of a pair have the same number of switches, and each host's farthest pair bounds the others by
    // half.
    let hosts = wiring
        .hosts
        .iter()
        .flat_map(|a| [(first, *a), (*a, first)])
        .chain(wiring.hosts.iter().zip(wiring.hosts.iter().rev()).map(|(a, b)| (*a, *b)));
    hosts.filter(|(a, b)| a != b).map(|(a, b)| wiring.path(a, b, 0, 0).len().saturating_sub(2)).max().unwrap_or(0)
}

/// The files that its users' scripts read.
struct Outputs {
    fct: SpoolWriter,
    pfc: SpoolWriter,
    qlen: SpoolWriter,
    trace: Option<SpoolWriter>,
    left: u64,
    left_out: u64,
}

impl Outputs {
    fn new(network: &Network, trace: bool, limit: u64) -> io::Result<Self> {
        let mut outputs = Self {
            fct: Spool::create("fct.txt")?,
            pfc: Spool::create("pfc.txt")?,
            qlen: Spool::create("qlen.txt")?,
            trace: if trace { Some(Spool::create("trace.tr")?) } else { None },
            left: limit,
            left_out: 0,
        };
        if let Some(trace) = &mut outputs.trace {
            let header = network.trace_header().to_bytes();
            outputs.left = outputs.left.saturating_sub(header.len() as u64);
            trace.write_all(&header)?;
        }
        Ok(outputs)
    }

    /// Writes the records since the last call, except those that the run itself keeps.
    fn take(&mut self, network: &mut Network, payload: u32) -> io::Result<()> {
        let happened = core::mem::take(&mut network.happened);
        for finished in &happened.finished {
            writeln!(self.fct, "{}", files::fct(finished, payload))?;
        }
        for pause in &happened.pauses {
            writeln!(self.pfc, "{}", files::pfc(pause))?;
        }
        for dump in network.dumps(happened.lengths) {
            write!(self.qlen, "{dump}")?;
        }
        if let Some(trace) = &mut self.trace {
            for record in &happened.records {
                let bytes = network.trace_record(record).to_bytes();
                if self.left >= bytes.len() as u64 {
                    self.left -= bytes.len() as u64;
                    trace.write_all(&bytes)?;
                } else {
                    self.left_out += 1;
                }
            }
        }
        network.happened.drops = happened.drops;
        Ok(())
    }

    fn close(self) -> io::Result<Vec<Spool>> {
        let mut spools = vec![self.fct.finish()?, self.pfc.finish()?, self.qlen.finish()?];
        if let Some(trace) = self.trace {
            spools.push(trace.finish()?);
        }
        Ok(spools)
    }
}

/// Runs a configuration to its end, or until `progress` returns false. `trace` enables its binary trace of the nodes in
/// its TRACE_FILE.
///
/// # Errors
/// If a file cannot be written.
pub fn run(setup: &Setup, trace: bool, progress: &mut dyn FnMut(&Progress) -> bool) -> io::Result<Outcome> {
    run_within(setup, trace, None, TRACE_LIMIT, progress)
}

/// The same, with the packets of a flow at every node, as [`Run::hops`]. `flow` is its number among the messages.
///
/// # Errors
/// If a file cannot be written.
pub fn follow(setup: &Setup, flow: u32, progress: &mut dyn FnMut(&Progress) -> bool) -> io::Result<Outcome> {
    run_within(setup, false, Some(flow), TRACE_LIMIT, progress)
}

/// The same with another limit for the trace, in bytes.
fn run_within(
    setup: &Setup,
    trace: bool,
    followed: Option<u32>,
    limit: u64,
    progress: &mut dyn FnMut(&Progress) -> bool,
) -> io::Result<Outcome> {
    let begin = Instant::now();
    let Setup { config, topology, flows, settings, .. } = setup;
    let all: Vec<u32>;
    let traced: &[u32] = match followed {
        Some(_) => {
            all = (0..topology.is_switch.len() as u32).collect();
            &all
        }
        None if trace => &setup.traced,
        None => &[],
    };
    let enable_trace = config.enable_trace || followed.is_some();
    let config = &Config { enable_trace, ..config.clone() };
    let mut network = Network::new(config.clone(), topology, flows.clone(), traced, settings);
    if setup.acks_first {
        network.let_acks_pass();
    }
    let mut outputs = Outputs::new(&network, trace, limit)?;
    let mut hops = Vec::new();
    let first = flows.first().map_or(0, |flow| fanin_ns3::time::seconds(flow.start));
    let last = flows.last().map_or(0, |flow| fanin_ns3::time::seconds(flow.start)).min(network.stop());
    let (mut looked, mut cancelled) = (Instant::now(), false);
    while !network.is_over() && !cancelled {
        let from = network.next_at().unwrap_or(0).max(network.now());
        network.run_until(from.saturating_add(SLICE));
        hops.extend(followed.into_iter().flat_map(|flow| hops_of(&network, flow)));
        outputs.take(&mut network, config.payload)?;
        if looked.elapsed() >= LOOK_EVERY {
            looked = Instant::now();
            let (started, finished) = network.opened();
            // Flows end some time after the last one starts; the end is not known in advance.
            let end = last.max(network.now()) + (last - first) / 20;
            cancelled = !progress(&Progress {
                simulated: Time::from_ns(network.now().saturating_sub(first)),
                end: Time::from_ns(end.min(network.stop()).saturating_sub(first)),
                packet_hops: network.packet_hops(),
                wall: begin.elapsed(),
                started: started as u64,
                finished: finished as u64,
            });
        }
    }
    if !cancelled {
        network.run_until(u64::MAX);
    }
    hops.extend(followed.into_iter().flat_map(|flow| hops_of(&network, flow)));
    outputs.take(&mut network, config.payload)?;
    let left_out = outputs.left_out;
    let spools = outputs.close()?;
    let mut run = hand_over(setup, &network, (left_out, limit), spools);
    if let Some(flow) = followed {
        (run.traced, run.hops) = (vec![traced_as(&run, flow)], placed(&run, hops));
    }
    Ok(Outcome {
        run,
        cancelled,
        wall: begin.elapsed(),
        threads: 1,
        threads_reason: Some("that simulator's network model runs on one thread".into()),
        failure: None,
    })
}
