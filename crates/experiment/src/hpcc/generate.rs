//! Generates files in the format of the ns-3 HPCC simulator. Quantities are given as text; an error is one line with a
//! correction.

use crate::error::why_unread;
use fanin_formats::hpcc::generate::{FatTree, Law, Poisson, incast, permutation, star};
use fanin_formats::hpcc::{Config, Flow, SizeCdf, Topology, flows_to_text, read_flows};
use fanin_units::{Bytes, Rate, Time, UnitError};
use fanin_workload::{Cdf, ENDLESS};
use std::path::Path;
use std::str::FromStr;

/// A fat tree of switches with `k` ports.
///
/// # Errors
/// If the parameters are impossible.
pub fn fat_tree(k: u32, rate: &str, delay: &str) -> Result<String, String> {
    let topology = FatTree::k_ary(k, link_rate(rate)?, link_delay(delay)?).topology();
    let topology = topology.map_err(|what| format!("--k {k}: {what}; k is even and at least 2"))?;
    readable(&topology)
}

/// The network of HPCC section 5.1, as that simulator's `fat.txt` has it.
///
/// # Errors
/// Never.
pub fn hpcc_320() -> Result<String, String> {
    readable(&FatTree::HPCC.topology()?)
}

/// Hosts around one switch.
///
/// # Errors
/// If the parameters are impossible.
pub fn around_one_switch(hosts: u32, rate: &str, delay: &str) -> Result<String, String> {
    if hosts < 2 {
        return Err(format!("--hosts {hosts}: a star has at least 2 hosts"));
    }
    readable(&star(hosts, link_rate(rate)?, link_delay(delay)?)?)
}

/// The file, which has limits for what a link may be.
fn readable(topology: &Topology) -> Result<String, String> {
    let text = topology.to_text();
    Topology::read("the topology", text.as_bytes()).map(|_| text).map_err(|error| error.to_string())
}

/// Hosts that send and receive, and the rate of their links.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hosts {
    ids: Vec<u32>,
    /// Bits per second, if known and the same for all.
    rate: Option<u64>,
}

impl Hosts {
    /// Hosts 0 to `count` (exclusive); or those of a topology file.
    ///
    /// # Errors
    /// For an error in the file, or if neither or both are given.
    pub fn new(count: Option<u32>, topology: Option<&Path>) -> Result<Self, String> {
        match (count, topology) {
            (Some(count @ 2..=65_536), None) => Ok(Self { ids: (0..count).collect(), rate: None }),
            (Some(count), None) => Err(format!("--hosts {count}: flows are for 2 to 65536 hosts")),
            (None, Some(file)) => {
                let topology = topology_of(file)?;
                let mut rates = rates_of_hosts(&topology);
                let first = rates.next();
                let rate = first.filter(|first| rates.all(|rate| rate == *first));
                Ok(Self { ids: topology.hosts().collect(), rate })
            }
            (None, None) => {
                Err("the hosts are missing; give their number, like --hosts 16, or a topology, like --topology \
                     topology.txt"
                    .into())
            }
            (Some(_), Some(_)) => {
                Err("--hosts and --topology: the topology says how many hosts there are; leave --hosts out".into())
            }
        }
    }

    fn count(&self) -> u32 {
        self.ids.len() as u32
    }

    /// The flows as a file, with the ids of hosts instead of their numbers.
    fn file(&self, flows: Vec<Flow>) -> String {
        let id = |number: u32| self.ids[number as usize];
        let flows: Vec<Flow> =
            flows.into_iter().map(|flow| Flow { src: id(flow.src), dst: id(flow.dst), ..flow }).collect();
        flows_to_text(&flows)
    }

    /// Poisson arrivals with a load over a time. The default bandwidth is that of the topology's hosts.
    ///
    /// # Errors
    /// If the parameters are impossible.
    pub fn poisson(
        &self,
        sizes: &SizeCdf,
        load: f64,
        bandwidth: Option<&str>,
        time: &str,
        start: &str,
        seed: u64,
    ) -> Result<String, String> {
        let rate = match (bandwidth, self.rate) {
            (Some(bandwidth), _) => quantity::<Rate>("--bandwidth", bandwidth)?.as_bps(),
            (None, Some(rate)) => rate,
            (None, None) => {
                return Err(
                    "--load: the bandwidth is missing; give that of a host's link, like --bandwidth 100Gbps".into()
                );
            }
        };
        let poisson = Poisson {
            hosts: self.count(),
            load,
            rate,
            sizes,
            start: whole_ns("--start", start)?,
            duration: whole_ns("--time", time)?,
            seed,
        };
        Ok(self.file(poisson.flows()?))
    }

    /// Every host sends one flow and receives one.
    ///
    /// # Errors
    /// If the parameters are impossible.
    pub fn permutation(&self, bytes: &str, start: &str, seed: u64) -> Result<String, String> {
        Ok(self.file(permutation(self.count(), flow_bytes(bytes)?, whole_ns("--start", start)?, seed)?))
    }

    /// Random hosts send to one host, given by its id.
    ///
    /// # Errors
    /// If the parameters are impossible.
    pub fn incast(&self, receiver: u32, senders: u32, bytes: &str, start: &str, seed: u64) -> Result<String, String> {
        let Ok(number) = self.ids.binary_search(&receiver) else {
            return Err(format!(
                "--receiver {receiver}: there is no such host; hosts are {} to {}",
                self.ids[0],
                self.ids.last().unwrap_or(&0)
            ));
        };
        let (bytes, start) = (flow_bytes(bytes)?, whole_ns("--start", start)?);
        Ok(self.file(incast(self.count(), number as u32, senders, bytes, start, seed)?))
    }
}

/// Sizes of flows: a built-in distribution by its name (letter case and `_` do not matter), or a file of `bytes
/// percent`.
///
/// # Errors
/// Says what is wrong with the file.
pub fn sizes(name: &str) -> Result<SizeCdf, String> {
    if let Some(name) = Cdf::name(name) {
        let points = Cdf::built_in(name).map_err(|error| error.to_string())?;
        let text: String = points.points().iter().map(|(bytes, percent)| format!("{bytes} {percent}\n")).collect();
        return SizeCdf::read(name, text.as_bytes()).map_err(|error| error.to_string());
    }
    let text = fanin_formats::input::read(Path::new(name)).map_err(|error| {
        format!(
            "--cdf {name}: cannot be read: {}; sizes are a file of \"bytes percent\", or {}",
            why_unread(&error),
            Cdf::BUILT_IN.join(", ")
        )
    })?;
    SizeCdf::read(name, &text).map_err(|error| error.to_string())
}

/// Settings of a configuration that `run.py` does not derive from the control law and the topology.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Wishes<'a> {
    /// SIMULATOR_STOP_TIME, seconds. Default: 4.
    pub stop: Option<f64>,
    /// RATE_AI, like `50Mbps`. Default: that of `run.py`.
    pub rate_ai: Option<&'a str>,
    /// TRACE_FILE. Default: none.
    pub trace_file: Option<&'a str>,
}

/// A configuration for a topology and flows, as `run.py` would write it for the rate of the hosts' links. The files are
/// read to validate the configuration; their paths are written as given.
///
/// # Errors
/// For an error in a file or an invalid name.
pub fn config(law: &str, topology_file: &str, flow_file: &str, wishes: Wishes<'_>) -> Result<String, String> {
    let Some(law) = Law::of(law) else {
        let known: Vec<&str> = Law::NAMES.iter().map(|(name, ..)| *name).collect();
        return Err(format!("--cc {law}: unknown control law; known: {}", known.join(", ")));
    };
    let topology = topology_of(Path::new(topology_file))?;
    let rates: Vec<u64> = topology.links.iter().map(|link| link.rate).collect();
    let mut config = law.config(rates_of_hosts(&topology).max().unwrap_or(0), &rates);
    config.topology_file = topology_file.into();
    config.flow_file = flow_file.into();
    if let Some(stop) = wishes.stop {
        config.stop = stop;
    }
    if let Some(rate) = wishes.rate_ai {
        config.rate_ai = quantity::<Rate>("--rate-ai", rate)?.as_bps();
    }
    if let Some(file) = wishes.trace_file {
        config.trace_file = file.into();
        config.enable_trace = true;
    }
    let flows = fanin_formats::input::read(Path::new(flow_file))
        .map_err(|error| format!("{flow_file}: cannot be read: {}", why_unread(&error)))?;
    let (flows, _) = read_flows(flow_file, &flows, Some(&topology)).map_err(|error| error.to_string())?;
    let text = config.to_text();
    let read = Config::read("the configuration", text.as_bytes());
    let paths = |c: &Config| [c.topology_file.clone(), c.flow_file.clone(), c.trace_file.clone()];
    // A path with a space, or one that looks like a comment, would be read as something else.
    if let Some(path) =
        paths(&config).iter().find(|path| path.contains(char::is_whitespace) || path.starts_with(['#', '{']))
    {
        return Err(format!("{path}: paths in that format have no spaces; rename the file"));
    }
    let (read, _) = read.map_err(|error| error.to_string())?;
    if paths(&read) != paths(&config) {
        return Err("paths in that format must not begin with //, which begins a comment".into());
    }
    fanin_formats::hpcc::check_any("the configuration", &read, &topology, &flows).map_err(|error| error.to_string())?;
    Ok(text)
}

fn topology_of(file: &Path) -> Result<Topology, String> {
    let name = file.display().to_string();
    let text = fanin_formats::input::read(Path::new(file))
        .map_err(|error| format!("{name}: cannot be read: {}", why_unread(&error)))?;
    Ok(Topology::read(&name, &text).map_err(|error| error.to_string())?.0)
}

fn rates_of_hosts(topology: &Topology) -> impl Iterator<Item = u64> {
    topology.links.iter().filter(|l| topology.is_host(l.a) || topology.is_host(l.b)).map(|link| link.rate)
}

fn quantity<T: FromStr<Err = UnitError>>(name: &str, text: &str) -> Result<T, String> {
    text.parse().map_err(|error| format!("{name}: {error}"))
}

fn link_rate(text: &str) -> Result<u64, String> {
    match quantity::<Rate>("--rate", text)?.as_bps() {
        0 => Err("--rate 0: rates are above 0 bps".into()),
        rate => Ok(rate),
    }
}

fn whole_ns(name: &str, text: &str) -> Result<u64, String> {
    let ps = quantity::<Time>(name, text)?.as_ps();
    if ps.is_multiple_of(1000) { Ok(ps / 1000) } else { Err(format!("{name} {text}: it is not a whole number of ns")) }
}

fn link_delay(text: &str) -> Result<u64, String> {
    whole_ns("--delay", text)
}

fn flow_bytes(text: &str) -> Result<u64, String> {
    match quantity::<Bytes>("--size", text)?.get() {
        bytes if bytes < ENDLESS => Ok(bytes),
        _ => Err(format!("--size {text}: flows have less than 2^60 B")),
    }
}
