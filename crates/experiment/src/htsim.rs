//! htsim's files as specs: a fat tree becomes a graph, a connection matrix the pattern `htsim`. `docs/htsim.md` lists
//! the mapping of each word.

use crate::error::why_unread;
use crate::spec::document::{GraphLink, Topology};
use crate::{Problem, Problems};
use fanin_cc::Transport;
use fanin_fabric::Message;
use fanin_formats::Error;
use fanin_formats::htsim::{Connection, Dialect, Failure, Link, Matrix, Node, Start, Tier, Topo, TriggerKind};
use fanin_units::{Bytes, Rate, Time};
use fanin_workload::{Dependency, FlowList, ListedFlow};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::path::Path;

/// Limits of hosts and links: a file of a few bytes may ask for many more.
const MOST_HOSTS: u32 = 100_000;
const MOST_LINKS: u64 = 1_000_000;
/// Payload of a packet: the default of csg-htsim's programs.
const PACKET: u64 = 9000;
/// Buffer of a port without a size in the tree; htsim's programs take it from the command line.
const QUEUE: u64 = 100 * PACKET;
/// Marking threshold: the 15 packets of htsim's ECN queue.
const MARK_ABOVE: u64 = 15 * PACKET;
/// Window for flows that never end: htsim's default end of a run.
const ENDLESS_WINDOW: Time = Time::from_ms(1);
/// Spare time of a run beyond the time that all its bytes need.
const SPARE: Time = Time::from_s(1);
/// Longest window, below the longest run of a spec.
const LONGEST_WINDOW: Time = Time::from_s(800_000);

/// A spec made from files.
#[derive(Clone, Debug, PartialEq)]
pub struct Made {
    /// The spec as JSON.
    pub spec: Value,
    /// Warnings about contents of the files without a counterpart here.
    pub warnings: Vec<String>,
}

impl From<Error> for Problem {
    fn from(error: Error) -> Self {
        let (problem, right) = error.what.rsplit_once("; ").unwrap_or((&error.what, ""));
        let (problem, right) = (problem.to_string(), right.to_string());
        Self { file: error.file, line: (error.line > 0).then_some(error.line), key: String::new(), problem, right }
    }
}

/// The dialects by the words that name them.
const DIALECTS: [(&str, Dialect); 3] = [("ndp", Dialect::Ndp), ("swift", Dialect::Swift), ("uec", Dialect::Uec)];

/// The dialect of this name.
///
/// # Errors
/// The known names.
pub fn dialect(name: &str) -> Result<Dialect, String> {
    let found = DIALECTS.iter().find(|(word, _)| *word == name).map(|(_, dialect)| *dialect);
    found.ok_or_else(|| format!("there is no dialect \"{name}\"; there are uec, swift and ndp, for all other programs"))
}

fn name_of(dialect: Dialect) -> &'static str {
    DIALECTS.iter().find(|(_, of)| *of == dialect).map_or("", |(word, _)| word)
}

/// The dialect that was assumed, and why.
fn assumption(matrix: &Matrix, file: &str) -> Option<String> {
    let why = matrix.assumed.as_ref()?;
    let (unit, other) = match matrix.dialect {
        Dialect::Ndp => ("picoseconds", "its Swift and UEC programs read microseconds: dialect swift or uec"),
        Dialect::Swift | Dialect::Uec => ("microseconds", "most of its other programs read picoseconds: dialect ndp"),
    };
    let name = name_of(matrix.dialect);
    Some(format!("{file}: start is read as {unit}, htsim's dialect {name}, since {why}; {other}"))
}

/// The spec of a connection matrix on a fat tree, under a scheme. Without a tree, it is the one that htsim's programs
/// use for the number of nodes. Without a dialect, it is the one that the matrix tells.
///
/// # Errors
/// The error in a file, with its line.
pub fn spec(matrix: &Path, topo: Option<&Path>, scheme: &str, dialect: Option<Dialect>) -> Result<Made, Problems> {
    let matrix_name = matrix.display().to_string();
    let matrix_error = |line: u32, what: String| Problem::from(Error { file: matrix_name.clone(), line, what });
    let connections = Matrix::read(&read(matrix)?, &matrix_name, dialect).map_err(Problem::from)?;
    let (topo, topo_name) = match topo {
        Some(path) => {
            let name = path.display().to_string();
            (Topo::read(&read(path)?, &name).map_err(Problem::from)?, name)
        }
        None => {
            let made = Topo::of_nodes(connections.nodes).ok_or_else(|| {
                let what = format!("no fat tree has {} hosts", connections.nodes);
                matrix_error(0, what + "; k^3/4 are possible for even k, like 128 or 1024, or give a .topo file")
            })?;
            (made, matrix_name.clone())
        }
    };
    check_size(&topo, &topo_name)?;
    if topo.nodes != connections.nodes {
        let what = format!("it is about {} hosts and the tree has {}; make them equal", connections.nodes, topo.nodes);
        return Err(matrix_error(0, what).into());
    }
    let mut warnings = Vec::from_iter(assumption(&connections, &matrix_name));
    let links = links(&topo, &connections.failures).map_err(|(line, what)| matrix_error(line, what))?;
    let lossless = crate::loaded::preset(scheme).is_none_or(|scheme| scheme.transport() == Transport::Rdma);
    let queue = queue(&topo, lossless, &mut warnings);
    let stem = matrix.file_stem().map_or_else(String::new, |stem| stem.to_string_lossy().into_owned());
    let absolute = std::path::absolute(matrix).ok().and_then(|path| path.into_os_string().into_string().ok());
    let endless = connections.connections.iter().all(|c| c.bytes == 0);
    warnings.extend(above_the_top(&topo, &topo_name));
    let mut spec = json!({
        "spec_version": 1,
        "name": format!("htsim {stem}"),
        "network": {
            "topology": graph(&topo, links),
            "packet": { "payload": Bytes(PACKET).to_string() },
            "buffer": {
                "per_port": Bytes(queue).to_string(),
                "policy": if lossless { "lossless" } else { "lossy" },
            },
            "marking": { "kind": "step", "above": Bytes(MARK_ABOVE.min(queue / 2)).to_string() },
        },
        "traffic": [{
            "name": "htsim",
            "scheme": scheme,
            "pattern": {
                "kind": "htsim",
                "file": absolute.unwrap_or(matrix_name),
                "dialect": name_of(connections.dialect),
            },
        }],
        "measure": {
            "window": window(&topo, &connections).to_string(),
            "stop_when_done": !endless,
        },
    });
    if connections.reuses_connections() {
        // For both transports, so that the spec can be compared under schemes of either.
        for transport in ["rdma", "tcp"] {
            spec["traffic"][0][transport] = json!({ "persistent": true });
        }
    }
    Ok(Made { spec, warnings })
}

/// The network of a tree, and warnings about its contents without a counterpart.
pub(crate) fn topology(text: &str, file: &str) -> Result<(Topology, Vec<String>), Problem> {
    let topo = Topo::read(text.as_bytes(), file)?;
    check_size(&topo, file)?;
    let links =
        links(&topo, &[]).map_err(|(line, what)| Problem::from(Error { file: file.to_string(), line, what }))?;
    let mut warnings = Vec::from_iter(above_the_top(&topo, file));
    if topo.tiers.iter().any(|tier| tier.queue_down.or(tier.queue_up).is_some()) {
        let said = "Queue_Down and Queue_Up are not used";
        warnings.push(format!("{file}: {said}; network.buffer of the spec sets the size of queues"));
    }
    Ok((graph(&topo, links), warnings))
}

fn check_size(topo: &Topo, file: &str) -> Result<(), Problem> {
    if topo.nodes > MOST_HOSTS || topo.link_count() > MOST_LINKS {
        let what = format!("it asks for {} hosts and {} links; at most", topo.nodes, topo.link_count());
        let what = format!("{what} {MOST_HOSTS} and {MOST_LINKS} are possible");
        return Err(Error { file: file.to_string(), line: 0, what }.into());
    }
    Ok(())
}

fn above_the_top(topo: &Topo, file: &str) -> Option<String> {
    let given = topo.tiers.last().is_some_and(|tier| tier.radix_up > 0);
    given.then(|| format!("{file}: Radix_Up of the top tier is not used"))
}

/// A tree with these links as a topology of a spec.
fn graph(topo: &Topo, links: Vec<GraphLink>) -> Topology {
    let counts = topo.counts();
    let names = |of: fn(u32) -> Node, count: u32| (0..count).map(move |n| name(of(n)));
    let switches = names(Node::Tor, counts.pods * counts.tors)
        .chain(names(Node::Agg, counts.pods * counts.aggs))
        .chain(names(Node::Core, counts.cores));
    Topology::Graph { hosts: names(Node::Host, topo.nodes).collect(), switches: switches.collect(), links }
}

fn read(path: &Path) -> Result<Vec<u8>, Problem> {
    fanin_formats::input::read(path).map_err(|error| {
        let what = format!("cannot be read: {}", why_unread(&error));
        Problem::from(Error { file: path.display().to_string(), line: 0, what })
    })
}

fn name(node: Node) -> String {
    match node {
        Node::Host(n) => format!("h{n}"),
        Node::Tor(n) => format!("tor{n}"),
        Node::Agg(n) => format!("agg{n}"),
        Node::Core(n) => format!("core{n}"),
    }
}

/// The links of a spec's graph, without the failed ones; otherwise the line of a failure that names no link.
fn links(topo: &Topo, failures: &[Failure]) -> Result<Vec<GraphLink>, (u32, String)> {
    let counts = topo.counts();
    let mut failed = Vec::with_capacity(failures.len());
    for failure in failures {
        let place = failure.switch % counts.aggs;
        // htsim's number of the core, which is not always connected to this switch; htsim then stops.
        let core = u64::from(place) * u64::from(counts.aggs) + u64::from(failure.link);
        let core = u32::try_from(core).ok().filter(|core| *core < counts.cores && core % counts.aggs == place);
        let Some(core) = core.filter(|_| failure.switch < counts.pods * counts.aggs) else {
            let what = format!("htsim has no link {} of AGG {}", failure.link, failure.switch);
            let right =
                "the tree has cores (switch_id mod aggs) * aggs + link_id, and such a switch every aggs-th of them";
            return Err((failure.line, format!("{what}; {right}, with aggs = {}", counts.aggs)));
        };
        // Of a bundle, the first link fails.
        failed.push(Link { between: [Node::Agg(failure.switch), Node::Core(core)], of_bundle: 0 });
    }
    let tier_of = |node: Node| match node {
        Node::Host(_) => None,
        Node::Tor(_) => Some(&topo.tiers[0]),
        Node::Agg(_) => Some(&topo.tiers[1]),
        Node::Core(_) => Some(&topo.tiers[2]),
    };
    let link = |link: Link| {
        let [below, above] = link.between.map(tier_of);
        let Tier { speed_gbps, latency_ns, .. } = *above?;
        // Each link gets half of a switch's latency: every path enters the switch by one link and leaves it by another.
        let inside = |tier: Option<&Tier>| tier.map_or(0, |tier| u64::from(tier.switch_latency_ns) * 1000 / 2);
        let delay = Time::from_ps(u64::from(latency_ns) * 1000 + inside(below) + inside(above));
        Some(GraphLink { between: link.between.map(name), rate: Rate::from_gbps(speed_gbps.into()), delay })
    };
    Ok(topo.links().filter(|link| !failed.contains(link)).filter_map(link).collect())
}

/// Buffer of each port. A spec has one size for all ports, so the smallest is used.
fn queue(topo: &Topo, lossless: bool, warnings: &mut Vec<String>) -> u64 {
    let mut sizes: Vec<u64> = topo.tiers.iter().flat_map(|tier| [tier.queue_down, tier.queue_up]).flatten().collect();
    sizes.sort_unstable();
    sizes.dedup();
    if let [smallest, .., largest] = sizes[..] {
        let sizes = format!("the tree has queues of {} to {}", Bytes(smallest), Bytes(largest));
        warnings.push(format!("{sizes}, but all ports have the same here: {}", Bytes(smallest)));
    }
    let beside = topo.tiers.iter().map(|tier| {
        // The bytes in flight on the longest link, in both directions, fit twice in addition to the queue.
        let longest = u64::from(tier.latency_ns).saturating_add(tier.switch_latency_ns.into());
        4 * u64::from(tier.speed_gbps) * longest / 8
    });
    let beside = beside.max().filter(|_| lossless).unwrap_or(0);
    sizes.first().copied().unwrap_or(QUEUE + beside)
}

/// Until all messages have arrived: the transmission time of all bytes over the slowest link, twice, and a second.
fn window(topo: &Topo, matrix: &Matrix) -> Time {
    let start = |start: Start| if let Start::At(ps) = start { ps } else { 0 };
    let last = Time::from_ps(matrix.connections.iter().map(|c| start(c.start)).max().unwrap_or(0));
    let bytes = matrix.connections.iter().fold(0u64, |sum, c| sum.saturating_add(c.bytes));
    if bytes == 0 {
        return last + ENDLESS_WINDOW;
    }
    let slowest = topo.tiers.iter().map(|tier| tier.speed_gbps).min().unwrap_or(1);
    let takes = Rate::from_gbps(slowest.into()).tx_time(bytes).saturating_mul(2);
    last.saturating_add(takes).saturating_add(SPARE).min(LONGEST_WINDOW)
}

/// The messages of a connection matrix, and warnings about words without a counterpart. The group of each is its id.
/// `persistent` says whether connections stay open, as its messages of one connection need.
pub(crate) fn messages(
    text: &str,
    file: &str,
    hosts: u32,
    dialect: Option<Dialect>,
    persistent: bool,
) -> Result<(FlowList, Vec<String>), Problem> {
    let matrix = Matrix::read(text.as_bytes(), file, dialect)?;
    if matrix.nodes != hosts {
        let what = format!("it is about {} hosts and the network has {hosts}; make them equal", matrix.nodes);
        return Err(Error { file: file.into(), line: 0, what }.into());
    }
    let gate_of = matrix.places();
    let gate = |id: u32| Some(gate_of[&id]);
    let in_turn = |id: u32| matrix.triggers[gate_of[&id] as usize].kind == TriggerKind::Multishot;
    let flows = matrix.connections.iter().map(|c| {
        let at = |start: Time| ListedFlow {
            start,
            src: c.src,
            dst: c.dst,
            bytes: if c.bytes == 0 { Message::ENDLESS } else { c.bytes },
            group: c.id,
        };
        let does = Dependency {
            counts: c.recv_done.and_then(gate),
            counts_acked: c.send_done.and_then(gate),
            ..Dependency::default()
        };
        // All messages of a trigger are known from the start: a message that activates it must not finish before those
        // that wait for it are loaded.
        match c.start {
            Start::Trigger(id) => (at(Time::ZERO), Dependency { after: gate(id), in_turn: in_turn(id), ..does }),
            Start::At(ps) if does != Dependency::default() => {
                (at(Time::ZERO), Dependency { delay: Time::from_ps(ps), ..does })
            }
            Start::At(ps) => (at(Time::from_ps(ps)), does),
        }
    });
    let list = FlowList::with_dependencies(flows.collect());
    let mut warnings = Vec::from_iter(assumption(&matrix, file));
    if matrix.reuses_connections() {
        warnings.extend(of_reuse(&matrix, file, persistent));
    }
    let with_priority = matrix.connections.iter().filter(|c| c.priority.is_some()).count();
    if with_priority > 0 {
        warnings.push(format!(
            "{file}: prio of {with_priority} connections is not used: there is no receiver-driven transport"
        ));
    }
    Ok((list, warnings))
}

/// Where messages on open connections differ from htsim's.
fn of_reuse(matrix: &Matrix, file: &str, persistent: bool) -> Vec<String> {
    let mut warnings = Vec::new();
    if !persistent {
        let right = "write persistent = true in the table rdma or tcp of the traffic";
        warnings.push(format!("{file}: its connections carry several messages, and here each has its own; {right}"));
    }
    let of_pair = |c: &Connection| ((c.src, c.dst), c.id);
    let ids: BTreeSet<((u32, u32), u32)> = matrix.connections.iter().map(of_pair).collect();
    let pairs: BTreeSet<(u32, u32)> = ids.iter().map(|(pair, _)| *pair).collect();
    if persistent && pairs.len() < ids.len() {
        let (ids, pairs) = (ids.len(), pairs.len());
        warnings.push(format!("{file}: its {ids} connections are between {pairs} pairs of hosts, which have one each"));
    }
    let early = matrix.connections.iter().filter(|c| c.message.is_some() && c.send_done.is_some()).count();
    if early > 0 {
        let htsim = "htsim activates it when the last packet has been sent";
        warnings.push(format!("{file}: send_done_trigger of {early} messages acts at the last ACK; {htsim}"));
    }
    warnings
}
