//! The topology of a spec: fills in defaults, builds its graph, and applies what the spec changes of its links.

use super::checker::Checker;
use super::document::{self, LinkChange, Network, Topology};
use super::shape::advice;
use super::topology_file;
use fanin_fabric::topology::{
    Cable, Clos, Dumbbell, Explicit, FatTree, Graph, LeafSpine, Link, NamedLink, ParkingLot, Rails, Star, TopologyError,
};
use fanin_units::{NodeId, Rate, Time};
use std::collections::HashMap;

/// Longest time of a packet and its ACK over all links of a network together: 10 days, so that sums of times cannot
/// overflow.
const LONGEST_WAY: Time = Time::from_s(864_000);
/// Most entries of the route table: 1 GiB.
const MAX_ROUTES: u64 = 1 << 28;

/// The graph of a network, before its links are changed, or `None` after adding problems.
pub fn check_topology(network: &mut Network, checker: &mut Checker<'_>) -> Option<Graph> {
    match &mut network.topology {
        file @ Topology::File(_) => topology_file::read(file, &mut network.links, build_topology, checker),
        topology => {
            let built = build_topology(topology).map_err(|error| {
                let (path, problem, right) = explain(topology, &error);
                checker.fail(&path, problem, right);
            });
            built.ok()
        }
    }
}

/// Whether the simulator can have a network of this size. Packets have `wire` bytes, and ACKs `ack`.
pub fn check_extent(graph: &Graph, wire: u64, ack: u64, checker: &mut Checker<'_>) -> bool {
    // No path crosses a link twice, so no round-trip time is longer.
    let sum = |sum: Time, link: &Link| {
        let tx = link.rate.tx_time(wire).saturating_add(link.rate.tx_time(ack));
        sum.saturating_add(tx).saturating_add(link.delay).saturating_add(link.delay)
    };
    if graph.links.iter().fold(Time::ZERO, sum) > LONGEST_WAY {
        let problem = "a packet and its ACK over each of its links, one after the other, take longer than any run";
        let right = format!("together they take at most {LONGEST_WAY}; use faster links, or fewer");
        checker.fail("network.topology", problem, right);
        return false;
    }
    let entries = fanin_fabric::route_entries(graph);
    if entries > MAX_ROUTES {
        let nodes = graph.names.len();
        let problem = format!(
            "its routing table would have {entries} entries: {nodes} nodes, and few of its hosts share a switch"
        );
        let right = format!("at most {MAX_ROUTES} are possible; put more hosts on each switch");
        checker.fail("network.topology", problem, right);
        return false;
    }
    true
}

/// The graph of a topology, whose defaults are then filled in.
fn build_topology(topology: &mut Topology) -> Result<Graph, TopologyError> {
    let cable = |rate: &Rate, delay: &Time| Cable::new(*rate, *delay);
    // A link between switches is like that of a host unless the spec says otherwise.
    let inner = |host: Cable, rate: &mut Option<Rate>, delay: &mut Option<Time>| {
        Cable::new(*rate.get_or_insert(host.rate), *delay.get_or_insert(host.delay))
    };
    match topology {
        Topology::Star { hosts, link, delay } => Star { hosts: *hosts, host_link: cable(link, delay) }.build(),
        Topology::Dumbbell { left, right, link, delay, bottleneck, bottleneck_delay } => {
            let host_link = cable(link, delay);
            let bottleneck = inner(host_link, bottleneck, bottleneck_delay);
            Dumbbell { left: *left, right: *right, host_link, bottleneck }.build()
        }
        Topology::ParkingLot { switches, hosts, link, delay, chain_link, chain_delay } => {
            let host_link = cable(link, delay);
            let chain_link = inner(host_link, chain_link, chain_delay);
            ParkingLot { switches: *switches, hosts: *hosts, host_link, chain_link }.build()
        }
        Topology::LeafSpine { leaves, hosts, spines, link, delay, fabric_link, fabric_delay } => {
            let host_link = cable(link, delay);
            let fabric_link = inner(host_link, fabric_link, fabric_delay);
            LeafSpine { leaves: *leaves, hosts: *hosts, spines: *spines, host_link, fabric_link }.build()
        }
        Topology::Rails {
            servers,
            gpus,
            rails,
            segment,
            planes,
            tors,
            spines,
            link,
            delay,
            fabric_link,
            fabric_delay,
            nvlink,
            nvlink_delay,
        } => {
            let nic = cable(link, delay);
            let of_server = Time::from_ns(25);
            Rails {
                servers: *servers,
                gpus: *gpus,
                rails: *rails.get_or_insert(*gpus),
                segment: *segment.get_or_insert((*servers).max(1)),
                planes: *planes.get_or_insert(1),
                tors: *tors.get_or_insert(1),
                spines: *spines,
                nvlink: nvlink.map(|rate| Cable::new(rate, *nvlink_delay.get_or_insert(of_server))),
                nic,
                fabric_link: inner(nic, fabric_link, fabric_delay),
            }
            .build()
        }
        Topology::FatTree { k, link, delay } => FatTree { k: *k, link: cable(link, delay) }.build(),
        Topology::HpccFatTree {} => Clos::hpcc().build(),
        Topology::Clos {
            pods,
            tors,
            hosts,
            uplinks,
            aggs,
            agg_uplinks,
            cores,
            link,
            delay,
            fabric_link,
            fabric_delay,
        } => {
            let aggs = *aggs.get_or_insert(*uplinks);
            let agg_uplinks = *agg_uplinks.get_or_insert(tors.saturating_mul(*uplinks) / aggs.max(1));
            let cores = *cores.get_or_insert(aggs.saturating_mul(agg_uplinks));
            let host_link = cable(link, delay);
            let fabric = inner(host_link, fabric_link, fabric_delay);
            let (pods, tors, hosts, uplinks) = (*pods, *tors, *hosts, *uplinks);
            Clos {
                pods,
                tors,
                hosts,
                uplinks,
                aggs,
                agg_uplinks,
                cores,
                host_link,
                tor_link: fabric,
                core_link: fabric,
            }
            .build()
        }
        Topology::RccTree {} => LeafSpine::rcc().build(),
        Topology::Graph { hosts, switches, links } => {
            let named = |l: &document::GraphLink| NamedLink::new(&l.between[0], &l.between[1], l.rate, l.delay);
            let links = links.iter().map(named).collect();
            Explicit { hosts: hosts.clone(), switches: switches.clone(), links }.build()
        }
        // Files were converted to graphs before.
        Topology::File(file) => {
            Err(TopologyError { parameter: "file".into(), problem: format!("{} is not read", file.file) })
        }
    }
}

/// A builder's error in terms of the spec: path, problem, correction.
fn explain(topology: &Topology, error: &TopologyError) -> (String, String, String) {
    let parameter = error.parameter.as_str();
    let (first, rest) = parameter.split_once('.').unwrap_or((parameter, ""));
    let between = matches!(topology, Topology::Graph { .. });
    let key = match (first, rest) {
        // Several keys together.
        (several, _) if several.contains(", ") => String::new(),
        (link, "a") if between => format!("{link}.between[0]"),
        (link, "b") if between => format!("{link}.between[1]"),
        ("host_link" | "link" | "nic", "rate") => "link".into(),
        ("host_link" | "link" | "nic", "delay") => "delay".into(),
        ("nvlink", "rate") => "nvlink".into(),
        ("nvlink", "delay") => "nvlink_delay".into(),
        ("bottleneck", "rate") => "bottleneck".into(),
        ("bottleneck", "delay") => "bottleneck_delay".into(),
        ("chain_link", "rate") => "chain_link".into(),
        ("chain_link", "delay") => "chain_delay".into(),
        ("fabric_link" | "tor_link" | "core_link", "rate") => "fabric_link".into(),
        ("fabric_link" | "tor_link" | "core_link", "delay") => "fabric_delay".into(),
        _ => parameter.to_string(),
    };
    let path = if key.is_empty() { "network.topology".into() } else { format!("network.topology.{key}") };
    let (problem, right) = error.problem.split_once("; ").unwrap_or((&error.problem, ""));
    let problem = if key.is_empty() { format!("{parameter}: {problem}") } else { problem.to_string() };
    (path, problem, right.to_string())
}

/// Applies `network.links`.
pub fn change_links(changes: &[LinkChange], graph: &mut Graph, checker: &mut Checker<'_>) {
    if changes.is_empty() {
        return;
    }
    let mut links_of: HashMap<(NodeId, NodeId), Vec<usize>> = HashMap::new();
    for (i, link) in graph.links.iter().enumerate() {
        links_of.entry((link.a.min(link.b), link.a.max(link.b))).or_default().push(i);
    }
    let node_of: HashMap<String, NodeId> = graph.names.iter().cloned().zip((0..).map(NodeId)).collect();
    // By link, the number of its change.
    let mut seen: HashMap<usize, usize> = HashMap::new();
    for (i, change) in changes.iter().enumerate() {
        if checker.has_enough() {
            break;
        }
        let path = format!("network.links[{i}]");
        checker.bounds(&path, change);
        check_outages(&change.down, &path, checker);
        let mut node = |key: &str, name: &String| {
            let node = node_of.get(name).copied();
            if node.is_none() {
                let right = advice(name, graph.names.iter().map(String::as_str));
                checker.fail(&format!("{path}.{key}"), format!("there is no node \"{name}\""), right);
            }
            node
        };
        let (key, which, links) = match (&change.between, &change.at) {
            (Some([one, other]), None) => {
                let (Some(a), Some(b)) = (node("between[0]", one), node("between[1]", other)) else { continue };
                let Some(links) = links_of.get(&(a.min(b), a.max(b))) else {
                    let problem = format!("there is no link between \"{one}\" and \"{other}\"");
                    checker.fail(&format!("{path}.between"), problem, "name two nodes that share a link");
                    continue;
                };
                ("between", format!("the links between \"{one}\" and \"{other}\""), links.clone())
            }
            (None, Some(name)) => {
                let Some(node) = node("at", name) else { continue };
                let of = |(_, link): &(usize, &Link)| link.a == node || link.b == node;
                let links = graph.links.iter().enumerate().filter(of).map(|(at, _)| at).collect();
                ("at", format!("links of \"{name}\""), links)
            }
            (both, _) => {
                let problem = if both.is_some() { "it has both `between` and `at`" } else { "it names no link" };
                let right = "write between = [\"leaf0\", \"spine1\"] for the links of two nodes, or at = \"spine1\" \
                             for all links of one";
                checker.fail(&path, problem, right);
                continue;
            }
        };
        let twice = links.iter().find_map(|link| seen.insert(*link, i));
        if let Some(before) = twice {
            let problem = format!("{which} are also changed in network.links[{before}]");
            checker.fail(&format!("{path}.{key}"), problem, "change each link in one entry alone");
        }
        for link in links {
            let link = &mut graph.links[link];
            if change.speed < 1.0 {
                link.rate = Rate::from_bps(((link.rate.as_bps() as f64 * change.speed).round() as u64).max(1));
            }
            link.error_rate = change.error_rate;
            link.outages = change.down.iter().map(|[from, to]| (*from, *to)).collect();
        }
    }
}

fn check_outages(down: &[[Time; 2]], path: &str, checker: &mut Checker<'_>) {
    for (i, [from, to]) in down.iter().enumerate() {
        let path = format!("{path}.down[{i}]");
        if from >= to {
            checker.fail(&path, format!("it goes from {from} to {to}"), "its end is later than its start");
        } else if i > 0 && *from <= down[i - 1][1] {
            let problem = format!("it starts at {from}, but the one before ends at {}", down[i - 1][1]);
            checker.fail(&path, problem, "list them in order, with time between them");
        }
    }
}
