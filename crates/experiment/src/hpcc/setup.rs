//! A configuration with the files that it names: read and validated.

use super::series;
use crate::checks;
use crate::error::why_unread;
use fanin_formats::hpcc::{self, Config, Flow, Topology};
use fanin_formats::{Error, Warning};
use fanin_ns3::law;
use fanin_units::Time;
use std::collections::BTreeMap;
use std::path::Path;

/// Limit of nodes times hosts, so that the routing tables stay below about a gigabyte.
const MOST_ROUTES: usize = 1 << 25;

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
    /// Time between samples of its queues and flows, ns.
    series: Option<u64>,
    pub(super) settings: fanin_cc::Settings,
    pub(super) name: String,
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
        let mut setup = Self::files(file, base)?;
        let Self { config, topology, settings, .. } = &setup;
        let known = checks::of_configuration(&checks::Exact { file, config, topology, law: settings });
        setup.warnings.extend(known);
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
    pub(super) fn files(file: &str, base: &Path) -> Result<Self, Error> {
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
        Ok(Self {
            config,
            topology,
            flows,
            traced,
            warnings,
            acks_first: false,
            series: None,
            settings,
            name,
            text,
            origin,
        })
    }

    /// The configuration's file name, without its ending.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Samples the queues of switches, and the flows, so often from the first flow on.
    ///
    /// # Errors
    /// If that is too often.
    pub fn sample(&mut self, every: Time) -> Result<(), String> {
        let [first, stop] = self.sampled();
        self.series = Some(series::check(every, first, stop)?);
        Ok(())
    }

    /// Time between samples, ns.
    pub fn series(&self) -> Option<u64> {
        self.series
    }

    /// From when to when samples are taken, ns.
    fn sampled(&self) -> [u64; 2] {
        [self.flows.first().map_or(0.0, |flow| flow.start), self.config.stop].map(fanin_ns3::time::seconds)
    }

    /// The window of a run's measurements, with its series, in its file.
    fn measured(&self) -> String {
        let stop = (self.config.stop * 1e9) as u64;
        let Some(every) = self.series else { return format!("warm_up = \"0 s\"\nwindow = \"{stop} ns\"\n") };
        let [first, stop] = self.sampled();
        let mut next: BTreeMap<u16, u32> = BTreeMap::new();
        let names = self.flows.iter().take(series::MOST_FLOWS).map(|flow| {
            let number = next.entry(flow.dport).or_default();
            *number += 1;
            format!("\"{}:{}\"", traffic_name(flow.dport), *number - 1)
        });
        format!(
            "warm_up = \"{first} ns\"\nwindow = \"{} ns\"\nseries = [{{ what = \"queue\", where = \"switch-ports\", \
             every = \"{every} ns\" }}, {{ what = \"flow\", where = [{}], every = \"{every} ns\" }}]\n",
            stop.saturating_sub(first),
            names.collect::<Vec<_>>().join(", ")
        )
    }

    /// Its control law, with its parameters.
    pub fn settings(&self) -> &fanin_cc::Settings {
        &self.settings
    }

    /// The id of its control law among the schemes.
    pub fn scheme(&self) -> &'static str {
        self.settings.id()
    }

    /// What ran, in a run's folder: the names in the tables, and the configuration as it was read.
    pub fn document(&self) -> String {
        let quote = |text: &str| serde_json::to_string(text).unwrap_or_default();
        let switches = self.topology.is_switch.iter().filter(|s| **s).count();
        let hosts = self.topology.is_switch.len() - switches;
        format!(
            "# A configuration of the ns-3 HPCC simulator, run on its own network; not a spec.\nname = {}\nhpcc_config \
             = {}\nhpcc_file = {}\nhpcc_folder = {}\nacks_first = {}\n\n[network.topology]\n\
             kind = {}\nhosts = {hosts}\n\
             switches = {switches}\n\n[measure]\n{}\
             slowdown = \"the formula of the ns-3 HPCC simulator\"\n\n[[traffic]]\nname = \
             \"all\"\nscheme = {}\n",
            quote(&self.name),
            quote(&self.text),
            quote(&self.origin[0]),
            quote(&self.origin[1]),
            self.acks_first,
            quote(&self.config.topology_file),
            self.measured(),
            quote(self.scheme()),
        )
    }
}

/// The traffic name of a destination port: that simulator's generators and scripts use two of them.
pub fn traffic_name(dport: u16) -> String {
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
