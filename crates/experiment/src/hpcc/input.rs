//! A configuration and the files that it names: found, read, and checked for one of the two networks.

use crate::error::why_unread;
use crate::{Problem, Problems};
use fanin_formats::hpcc::{self, Config, ConfigFile, Dialect, Flow, Header, Topology};
use fanin_formats::{Error, Errors, Warning};
use std::path::{Path, PathBuf};

/// Limit of nodes times hosts, so that the routing tables stay below about a gigabyte.
const MOST_ROUTES: usize = 1 << 25;
/// Most keys that a reason names.
const MOST_NAMED: usize = 4;

/// How the files of a configuration are to be read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reading {
    /// The dialect that they are in. Default: the one that they show.
    pub dialect: Option<Dialect>,
    /// The topology instead of the one of `TOPOLOGY_FILE`.
    pub topology: Option<String>,
    /// Whether that simulator's own network skips keys that nobody knows, as a run under a scheme does.
    pub skip_unknown_keys: bool,
}

impl Reading {
    /// The options of the command line that say so, each with a space before it.
    fn options(&self) -> String {
        let topology = self.topology.as_ref().map_or(String::new(), |file| format!(" --topology {}", word(file)));
        let dialect = self.dialect.map_or(String::new(), |dialect| format!(" --dialect {}", dialect.facts().name));
        topology + &dialect
    }
}

/// A path as one word of a command line.
fn word(path: &str) -> String {
    if path.contains(char::is_whitespace) { format!("\"{path}\"") } else { path.to_string() }
}

/// The network that files are read for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum For {
    /// That simulator's own.
    Exact,
    /// The ordinary one, under a scheme.
    Ordinary,
    /// The ordinary one with other messages than those of the flow file.
    OtherFlows,
}

/// All that is read.
#[derive(Clone, Debug)]
pub struct Files {
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
    /// Keys that a run under a scheme does not take.
    pub not_taken: Vec<String>,
    /// The configuration's file name, without its ending.
    pub name: String,
    /// The configuration as it was read.
    pub text: String,
    /// The configuration's file, and the folder where its paths start, as absolute paths.
    pub origin: [String; 2],
}

/// Where files are looked for.
struct Folders<'a> {
    /// The configuration as it was named.
    config: &'a str,
    /// The folder in which that simulator would be started.
    base: &'a Path,
}

impl Folders<'_> {
    /// The bytes of a file of the configuration with the name that leads there from `base`, and a warning if that is
    /// not the name in the configuration. `missing` is advice for a file that is nowhere.
    fn read(&self, key: &str, name: &str, missing: &str) -> Result<(Vec<u8>, String, Option<Warning>), Error> {
        let beside = Path::new(self.config).parent().unwrap_or(Path::new(""));
        let last = Path::new(name).file_name().map_or(PathBuf::from(name), PathBuf::from);
        // In that simulator paths start at its working folder: of a fork often its root, which is not here.
        let mut places = vec![PathBuf::from(name), beside.join(name), beside.join(last)];
        places.dedup();
        let error = |what: String| Error { file: self.config.to_string(), line: 0, what };
        let Some(place) = places.iter().find(|place| self.base.join(place).exists()) else {
            let tried: Vec<String> = places.iter().map(|place| place.display().to_string()).collect();
            let from = self.base.display();
            return Err(error(format!(
                "{key} names {name}, which cannot be read from {from}: there is no such file (looked for {}){missing}",
                tried.join(", ")
            )));
        };
        let shown = place.display().to_string();
        let bytes = fanin_formats::input::read(&self.base.join(place)).map_err(|e| {
            let from = self.base.display();
            error(format!("{key} names {name}, which cannot be read from {from}: {}", why_unread(&e)))
        })?;
        let elsewhere = (shown != name).then(|| Warning {
            file: self.config.to_string(),
            line: 0,
            what: format!("{key} {name} is not there; {shown} is taken"),
        });
        Ok((bytes, shown, elsewhere))
    }
}

impl Files {
    /// Reads all files for a network. Paths in the configuration start at `base`, as that simulator's start at its
    /// working directory, or else at the configuration's folder.
    pub fn read(file: &str, base: &Path, reading: &Reading, network: For) -> Result<Self, Problems> {
        let unread = |e: &std::io::Error| Error {
            file: file.to_string(),
            line: 0,
            what: format!("cannot be read: {}", why_unread(e)),
        };
        let text = fanin_formats::input::read(&base.join(file)).map_err(|e| Problem::from(unread(&e)))?;
        let mut found = ConfigFile::read(file, &text);
        let by_keys = found.dialect();
        if let Some(topology) = &reading.topology {
            found = found.with_topology(topology);
        }
        let mut problems: Vec<Problem> = Vec::new();
        let mut add = |errors: Errors| problems.extend(Problems::from(errors));
        let mut config = found.config.clone();
        let command = format!("fanin run --hpcc {}{} --scheme dcqcn", word(file), reading.options());
        let read = match network {
            For::Exact => found.exact(reading.skip_unknown_keys, &command).map(|(_, warnings)| (warnings, Vec::new())),
            For::Ordinary | For::OtherFlows => found.ordinary().map(|(_, warnings, names)| (warnings, names)),
        };
        let (mut warnings, not_taken) = read.unwrap_or_else(|errors| {
            add(errors);
            Default::default()
        });
        let folders = Folders { config: file, base };
        let mut open = |key: &str, name: &mut String, missing: &str| {
            if name.is_empty() {
                return Vec::new();
            }
            match folders.read(key, name, missing) {
                Ok((bytes, shown, elsewhere)) => {
                    *name = shown;
                    warnings.extend(elsewhere);
                    bytes
                }
                Err(error) => {
                    add(error.into());
                    name.clear();
                    Vec::new()
                }
            }
        };
        if network == For::OtherFlows {
            config.flow_file.clear();
        }
        let key = if reading.topology.is_some() { "--topology" } else { "TOPOLOGY_FILE" };
        let of_links = open(key, &mut config.topology_file, "");
        let asked = reading.dialect.or(by_keys.as_ref().map(|(dialect, _)| *dialect));
        let likely = asked.or(Dialect::of_topology(&of_links)).unwrap_or(Dialect::Original);
        let of_flows = open("FLOW_FILE", &mut config.flow_file, &no_flows(likely));
        let traces = network == For::Exact && config.enable_trace && !config.trace_file.is_empty();
        let of_traces = if traces { open("TRACE_FILE", &mut config.trace_file, "") } else { Vec::new() };
        let topology = (!config.topology_file.is_empty()).then(|| Topology::read(&config.topology_file, &of_links));
        let topology = topology.and_then(|read| match read {
            Ok((topology, more)) => {
                warnings.extend(more);
                Some(topology)
            }
            Err(errors) => {
                add(errors);
                None
            }
        });
        let read_flows = if network == For::Exact { hpcc::read_exact_flows } else { hpcc::read_flows };
        let flows = (!config.flow_file.is_empty()).then(|| read_flows(&config.flow_file, &of_flows, topology.as_ref()));
        let none = (network == For::OtherFlows).then(Vec::new);
        let flows = flows.and_then(|read| match read {
            Ok((flows, more)) => {
                warnings.extend(more);
                Some(flows)
            }
            Err(errors) => {
                add(errors);
                None
            }
        });
        let flows = flows.or(none);
        let files = [(&*config.topology_file, &*of_links), (&*config.flow_file, &*of_flows)];
        if let Some(dialect) = reading.dialect {
            add(unlike(dialect, files));
        }
        let (Some(topology), Some(flows), true) = (topology, flows, problems.is_empty()) else {
            return Err(Problems::in_order(problems));
        };
        let mut traced = Vec::new();
        if traces {
            let nodes = topology.is_switch.len() as u32;
            let more;
            (traced, more) = hpcc::read_trace_nodes(&config.trace_file, &of_traces, nodes).map_err(Problem::from)?;
            warnings.extend(more);
        }
        let check = if network == For::Exact { hpcc::check } else { hpcc::check_any };
        warnings.extend(check(file, &config, &topology, &flows)?);
        warnings.extend(dialect_of(file, reading, by_keys, files).map(|(dialect, why)| {
            let facts = dialect.facts();
            let runs = if network == For::Exact { "; it runs as the original simulator would run it" } else { "" };
            let what = format!("read in the dialect of {} ({}), {why}{runs}", facts.title, facts.name);
            Warning { file: file.to_string(), line: 0, what }
        }));
        let name = Path::new(file).file_stem().map_or("hpcc".into(), |stem| stem.to_string_lossy().into_owned());
        let text = String::from_utf8_lossy(&text).into_owned();
        let whole =
            |path: &Path| std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf()).display().to_string();
        let origin = [whole(&base.join(file)), whole(base)];
        Ok(Self { config, topology, flows, traced, warnings, not_taken, name, text, origin })
    }

    /// The nodes and hosts of a network whose routing tables would be too large; none if they are not.
    pub fn too_many_routes(&self) -> Option<(usize, usize)> {
        let nodes = self.topology.is_switch.len();
        let hosts = self.topology.is_switch.iter().filter(|s| !**s).count();
        (hosts * nodes > MOST_ROUTES).then_some((nodes, hosts))
    }
}

/// Advice for a flow file that is nowhere.
fn no_flows(dialect: Dialect) -> String {
    let facts = dialect.facts();
    if !facts.front_end {
        return String::new();
    }
    format!(
        "; the flows of {} are posted by its front end while it runs: write them into a file, their number and then \
         src dst priority port bytes start of each, and name it by FLOW_FILE",
        facts.title
    )
}

/// What a topology and a flow file have that a dialect does not.
fn unlike(dialect: Dialect, [(topology, links), (list, flows)]: [(&str, &[u8]); 2]) -> Errors {
    let facts = dialect.facts();
    let mut errors = Errors::default();
    let header = Header::of(links);
    // A header of three numbers may have any lines.
    if !topology.is_empty() && header != facts.header {
        let what = format!(
            "the first line is not that of {} (--dialect {}), which has {}; this is {}",
            facts.title,
            facts.name,
            facts.header.names(),
            if header == Header::Three { "another one" } else { header.names() }
        );
        errors.push(Error { file: topology.to_string(), line: 1, what });
    }
    if !list.is_empty() && Dialect::of_flows(flows).is_some() == facts.port {
        let (has, here) = if facts.port { ("six", "five") } else { ("five", "another number") };
        let what = format!("flows of {} (--dialect {}) have {has} columns, and these {here}", facts.title, facts.name);
        errors.push(Error { file: list.to_string(), line: 2, what });
    }
    errors
}

/// The dialect, and why it is assumed; none for the original if it was not asked for.
fn dialect_of(
    file: &str,
    reading: &Reading,
    by_keys: Option<(Dialect, Vec<&'static str>)>,
    [(topology, links), (list, flows)]: [(&str, &[u8]); 2],
) -> Option<(Dialect, String)> {
    if let Some(dialect) = reading.dialect {
        return Some((dialect, "as asked for".into()));
    }
    if let Some((dialect, keys)) = by_keys {
        let more = keys.len().saturating_sub(MOST_NAMED);
        let named = keys[..keys.len() - more].join(", ");
        let rest = if more > 0 { format!(" and {more} more keys") } else { String::new() };
        return Some((dialect, format!("since {file} has {named}{rest}")));
    }
    let by_flows = Dialect::of_flows(flows).map(|dialect| (dialect, format!("since flows in {list} have no port")));
    let header = Header::of(links).names();
    by_flows.or_else(|| Some((Dialect::of_topology(links)?, format!("since {topology} begins with {header}"))))
}
