//! What a drawing of a network needs: its nodes by kind, and the links between kinds.

use fanin_fabric::topology::Graph;
use serde::Serialize;
use std::collections::{BTreeMap, VecDeque};

/// Most kinds by the names of nodes; of more there are hosts, and switches by their level.
const MOST: usize = 16;

/// Nodes of one kind: those whose names begin with the same letters, at the same level.
#[derive(Clone, Debug, Serialize)]
pub struct NodeKind {
    /// The letters.
    pub name: String,
    /// Their number.
    pub nodes: u64,
    /// Links to the nearest host; 0 of hosts, and -1 of switches that join hosts alone while others lead further.
    pub level: i32,
}

/// Links of one rate and delay between two kinds.
#[derive(Clone, Debug, Serialize)]
pub struct LinkKind {
    /// Places of both in the list of kinds, the lower first.
    pub between: [usize; 2],
    /// Their number.
    pub links: u64,
    /// Their rate.
    pub rate_bps: u64,
    /// Their delay.
    pub delay_ps: u64,
}

/// Kinds of nodes, in order of level and name, and links between them.
pub fn kinds(graph: &Graph) -> (Vec<NodeKind>, Vec<LinkKind>) {
    let levels = levels(graph);
    let letters = |name: &str| name.chars().take_while(|letter| !letter.is_ascii_digit()).collect::<String>();
    let named = |node: usize| (levels[node], letters(&graph.names[node]));
    let mut of: Vec<(i32, String)> = (0..graph.names.len()).map(named).collect();
    let count = |of: &[(i32, String)]| {
        let mut found: BTreeMap<(i32, String), u64> = BTreeMap::new();
        of.iter().for_each(|kind| *found.entry(kind.clone()).or_default() += 1);
        found
    };
    let mut found = count(&of);
    if found.len() > MOST {
        let plain = |level: i32| if level == 0 { "host" } else { "switch" };
        of.iter_mut().for_each(|(level, name)| *name = plain(*level).to_string());
        found = count(&of);
    }
    let places: BTreeMap<&(i32, String), usize> = found.keys().zip(0..).collect();
    let mut links: BTreeMap<([usize; 2], u64, u64), u64> = BTreeMap::new();
    for link in &graph.links {
        let mut between = [link.a, link.b].map(|node| places[&of[node.0 as usize]]);
        between.sort_unstable();
        *links.entry((between, link.rate.as_bps(), link.delay.as_ps())).or_default() += 1;
    }
    let links =
        links.into_iter().map(|((between, rate_bps, delay_ps), links)| LinkKind { between, links, rate_bps, delay_ps });
    let links = links.collect();
    let nodes = found.into_iter().map(|((level, name), nodes)| {
        let name = name.trim_end_matches(['-', '_', '.']).to_string();
        NodeKind { name, nodes, level }
    });
    (nodes.collect(), links)
}

/// The level of each node.
fn levels(graph: &Graph) -> Vec<i32> {
    let hosts = graph.hosts as usize;
    let mut near = vec![Vec::new(); graph.names.len()];
    for link in &graph.links {
        near[link.a.0 as usize].push(link.b.0 as usize);
        near[link.b.0 as usize].push(link.a.0 as usize);
    }
    let mut levels = vec![i32::MAX; near.len()];
    levels[..hosts].fill(0);
    let mut next: VecDeque<usize> = (0..hosts).collect();
    while let Some(node) = next.pop_front() {
        for other in &near[node] {
            if levels[*other] == i32::MAX {
                levels[*other] = levels[node] + 1;
                next.push_back(*other);
            }
        }
    }
    let joins_hosts = |node: usize| near[node].iter().all(|other| *other < hosts);
    let further = (hosts..near.len()).any(|node| !joins_hosts(node));
    for node in (hosts..near.len()).filter(|node| further && joins_hosts(*node)) {
        levels[node] = -1;
    }
    levels
}
