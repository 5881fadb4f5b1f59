//! A configuration with the files that it names: read and validated.

use super::input::{Files, For, Reading};
use super::series;
use crate::{Problem, Problems, checks};
use fanin_formats::hpcc::{Config, Flow, Topology};
use fanin_formats::{Error, Warning};
use fanin_ns3::law;
use fanin_units::Time;
use std::collections::BTreeMap;
use std::path::Path;

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
    reading: Reading,
}

impl Setup {
    /// Reads a configuration and the files that it names. Paths in it start at `base`, as that simulator's start at its
    /// working directory, or else at the configuration's folder.
    ///
    /// # Errors
    /// All problems with file, line and correction.
    pub fn read(file: &str, base: &Path, reading: &Reading) -> Result<Self, Problems> {
        let files = Files::read(file, base, reading, For::Exact)?;
        let fail = |what: String| Problem::from(Error { file: file.to_string(), line: 0, what });
        if let Some((nodes, hosts)) = files.too_many_routes() {
            return Err(fail(format!(
                "{nodes} nodes with {hosts} hosts are more than that simulator's routing tables hold here; --scheme \
                 runs them on the ordinary network"
            ))
            .into());
        }
        let settings = law::settings(&files.config).map_err(fail)?;
        let Files { config, topology, flows, traced, mut warnings, name, text, origin, .. } = files;
        let exact = checks::Exact { file, config: &config, topology: &topology, law: &settings };
        warnings.extend(checks::of_configuration(&exact));
        let hosts = topology.is_switch.iter().filter(|s| !**s).count();
        if settings.header_overhead().telemetry && hosts > 1 {
            let crossed = most_switches(&topology, config.payload);
            if crossed > fanin_cc::Telemetry::MOST {
                return Err(fail(format!(
                    "CC_MODE 3 on a network with {crossed} switches between two hosts: the simulator's telemetry has \
                     room for {}, and its behaviour beyond is undefined",
                    fanin_cc::Telemetry::MOST
                ))
                .into());
            }
        }
        let reading = reading.clone();
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
            reading,
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
             = {}\nhpcc_file = {}\nhpcc_folder = {}\nhpcc_dialect = {}\n\
             hpcc_topology = {}\nskip_unknown_keys = {}\nacks_first = {}\n\n[network.topology]\n\
             kind = {}\nhosts = {hosts}\n\
             switches = {switches}\n\n[measure]\n{}\
             slowdown = \"the formula of the ns-3 HPCC simulator\"\n\n[[traffic]]\nname = \
             \"all\"\nscheme = {}\n",
            quote(&self.name),
            quote(&self.text),
            quote(&self.origin[0]),
            quote(&self.origin[1]),
            quote(self.reading.dialect.map_or("", |dialect| dialect.facts().name)),
            quote(self.reading.topology.as_deref().unwrap_or("")),
            self.reading.skip_unknown_keys,
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
