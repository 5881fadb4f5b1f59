//! Networks in separate files, which are converted to graphs so that a resolved spec does not depend on the file.

use super::checker::Checker;
use super::document::{GraphLink, LinkChange, Topology, TopologyFormat};
use crate::error::{Problem, Problems};
use crate::{hpcc::convert, htsim};
use fanin_fabric::topology::{Graph, TopologyError};
use fanin_formats::hpcc::{Dialect, Header};
use fanin_formats::simai::Cluster;
use fanin_formats::tables::{LinkRow, LinkTable};
use fanin_formats::{Error, astra_sim};

const FILE: &str = "network.topology.file";
const NODES: &str = "network.topology.nodes";

/// The contents of a file.
struct Network {
    topology: Topology,
    losses: Vec<LinkChange>,
    warnings: Vec<String>,
    /// The line of each link, if known.
    lines: Vec<u32>,
}

/// The graph of a file; `None` after adding a problem. The topology is replaced by the graph, and losses of links that
/// the spec does not change are added to `changes`.
pub fn read(
    topology: &mut Topology,
    changes: &mut Vec<LinkChange>,
    build: impl Fn(&mut Topology) -> Result<Graph, TopologyError>,
    checker: &mut Checker<'_>,
) -> Option<Graph> {
    let Topology::File(about) = &*topology else { return None };
    let nodes = about.nodes.clone();
    let (text, path) = checker.read(FILE, &about.file, "")?;
    let file = path.display().to_string();
    let Some(format) = about.format.or_else(|| looks_like(&text)) else {
        let problem = format!("{file} is not in a known topology format");
        let right = "give a topology file of ns-3 HPCC, a fork or SimAI (counts first), a .topo file of htsim (Nodes, \
                     Tiers, Podsize first), a network of ASTRA-sim (topology: [ ... ] first), or a table of links \
                     whose first line is a,b,rate,delay";
        checker.fail(FILE, problem, right);
        return None;
    };
    let nodes = match (nodes, format) {
        (Some(nodes), TopologyFormat::Links) => Some(checker.read(NODES, &nodes, "")?),
        (Some(_), _) => {
            let problem = "only a table of links can have a table of nodes";
            checker.fail(NODES, problem, format!("leave it out: {file} says which nodes are hosts"));
            return None;
        }
        (None, _) => None,
    };
    let nodes = nodes.map(|(text, path)| (path.display().to_string(), text));
    let network = match network_of(format, &file, &text, nodes.as_ref().map(|(file, text)| (&**file, &**text))) {
        Ok(network) => network,
        Err(problems) => {
            checker.problems.extend(problems);
            return None;
        }
    };
    checker.warnings.extend(network.warnings);
    *topology = network.topology;
    match build(topology) {
        Ok(graph) => {
            let replaced = |loss: &LinkChange| {
                let Some([a, b]) = &loss.between else { return false };
                let names = |node: &String| node == a || node == b;
                changes.iter().any(|change| {
                    change.at.as_ref().is_some_and(names) || change.between.iter().any(|ends| ends.iter().all(names))
                })
            };
            let losses: Vec<LinkChange> = network.losses.into_iter().filter(|loss| !replaced(loss)).collect();
            changes.extend(losses);
            Some(graph)
        }
        Err(error) => {
            checker.problems.push(explain(&error, file, &network.lines, nodes.is_none()));
            None
        }
    }
}

/// The format of a text, by its first line, without comments.
fn looks_like(text: &str) -> Option<TopologyFormat> {
    let lines = text.trim_start_matches('\u{feff}').lines();
    let line = lines.map(str::trim).find(|line| !line.is_empty() && !line.starts_with('#'))?;
    let word = line.split_whitespace().next()?.to_ascii_lowercase();
    match &*word {
        _ if astra_sim::is_line(line) || line == "---" => Some(TopologyFormat::AstraSim),
        _ if Cluster::is_one(text.as_bytes()) => Some(TopologyFormat::Simai),
        _ if line.contains(',') => Some(TopologyFormat::Links),
        "nodes" | "tiers" | "podsize" | "tier" => Some(TopologyFormat::Htsim),
        number if number.bytes().all(|byte| byte.is_ascii_digit()) => Some(TopologyFormat::Ns3),
        _ => None,
    }
}

fn network_of(
    format: TopologyFormat,
    file: &str,
    text: &str,
    nodes: Option<(&str, &str)>,
) -> Result<Network, Problems> {
    let (topology, losses, warnings, lines) = match format {
        TopologyFormat::Ns3 => {
            let (topology, losses, mut warnings) = convert::topology(text, file)?;
            let since = || format!("its first line has {}", Header::of(text.as_bytes()).names());
            warnings.extend(of_a_fork(file, Dialect::of_topology(text.as_bytes()), since));
            (topology, losses, warnings, Vec::new())
        }
        TopologyFormat::Htsim => {
            let (topology, warnings) = htsim::topology(text, file)?;
            (topology, Vec::new(), warnings, Vec::new())
        }
        TopologyFormat::Simai => {
            let cluster = Cluster::read(file, text.as_bytes())?;
            let name = |id: u32| cluster.names[id as usize].clone();
            let losses = convert::losses(&cluster.network, file, name)?;
            let warnings = cluster.warnings.iter().map(ToString::to_string).collect();
            (convert::named_graph(&cluster.network, name), losses, warnings, Vec::new())
        }
        TopologyFormat::AstraSim => of_table(astra_sim::Network::read(file, text).map_err(Problem::from)?.table()),
        TopologyFormat::Links => of_table(LinkTable::read(file, text, nodes).map_err(Problem::from)?),
    };
    Ok(Network { topology, losses, warnings, lines })
}

/// A table as a graph without losses, with its warnings and the line of each link.
fn of_table(table: LinkTable) -> (Topology, Vec<LinkChange>, Vec<String>, Vec<u32>) {
    let LinkTable { hosts, switches, links, warnings } = table;
    let lines = links.iter().map(|link| link.line).collect();
    let link = |l: LinkRow| GraphLink { between: [l.a, l.b], rate: l.rate, delay: l.delay };
    let links = links.into_iter().map(link).collect();
    let warnings = warnings.iter().map(ToString::to_string).collect();
    (Topology::Graph { hosts, switches, links }, Vec::new(), warnings, lines)
}

/// A warning that a file is read in the dialect of a fork of ns-3 HPCC, if it is in one.
pub fn of_a_fork(file: &str, dialect: Option<Dialect>, since: impl Fn() -> String) -> Option<String> {
    let facts = dialect?.facts();
    Some(format!("{file} is read in the dialect of {} ({}), since {}", facts.title, facts.name, since()))
}

/// Why the network of a file is impossible, with the line if there is one.
fn explain(error: &TopologyError, file: String, lines: &[u32], by_links: bool) -> Problem {
    let parameter = &error.parameter;
    let (problem, right) = error.problem.split_once("; ").unwrap_or((&error.problem, ""));
    let link = parameter.strip_prefix("links[").and_then(|rest| rest.split_once(']'));
    let link = link.and_then(|(number, key)| Some((number.parse::<usize>().ok()?, key.trim_start_matches('.'))));
    let (line, problem) = match link {
        Some((number, key)) => {
            let which = if lines.is_empty() { format!("link {}: ", number + 1) } else { String::new() };
            let problem = format!("{which}{key} {problem}");
            (lines.get(number).copied().unwrap_or(0), problem.trim().to_string())
        }
        None if parameter == "hosts" && by_links && !lines.is_empty() => {
            let problem = "fewer than 2 nodes have a single neighbour, and only those count as hosts";
            let what = format!("{problem}; name the hosts in a table of nodes, with the key nodes");
            return Error { file, line: 0, what }.into();
        }
        None => (0, problem.to_string()),
    };
    Error { file, line, what: format!("{problem}; {right}") }.into()
}
