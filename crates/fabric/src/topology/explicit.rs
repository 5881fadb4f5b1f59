//! Any graph, written out.

use super::draft::{Cable, check_size};
use super::reach::unreachable_pair;
use super::{Graph, Link, TopologyError};
use fanin_units::{NodeId, Rate, Time};
use std::collections::HashMap;

/// Any graph, as named nodes and links. Hosts may have several links (NICs) and may be joined directly; two nodes may
/// have several links in parallel. Hosts never forward, so every two hosts need a path through switches or a direct
/// link.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Explicit {
    /// Names of the hosts, at least 2. They get the first node numbers, in this order.
    pub hosts: Vec<String>,
    /// Names of the switches.
    pub switches: Vec<String>,
    /// Links. A node's ports are in this order.
    pub links: Vec<NamedLink>,
}

/// One full-duplex link between named nodes.
#[derive(Clone, Debug, PartialEq)]
pub struct NamedLink {
    /// Name of one end.
    pub a: String,
    /// Name of the other end.
    pub b: String,
    /// Rate of each direction, above 0.
    pub rate: Rate,
    /// Propagation delay of each direction, at most [`super::MAX_DELAY`].
    pub delay: Time,
    /// Probability that a packet is lost on it, per direction and packet; 0 or more, below 1.
    pub error_rate: f64,
    /// When it is down: from (inclusive), to (exclusive), in order of time, with time between them.
    pub outages: Vec<(Time, Time)>,
}

impl NamedLink {
    /// A link without errors or outages.
    pub fn new(a: impl Into<String>, b: impl Into<String>, rate: Rate, delay: Time) -> Self {
        Self { a: a.into(), b: b.into(), rate, delay, error_rate: 0.0, outages: Vec::new() }
    }
}

impl Explicit {
    /// The network, or the invalid parameter.
    pub fn build(&self) -> Result<Graph, TopologyError> {
        let nodes = self.hosts.len() as u64 + self.switches.len() as u64;
        check_size("hosts, switches, links", nodes, self.links.len() as u64)?;
        if self.hosts.len() < 2 {
            let problem = format!("has {} entries; a network needs at least 2 hosts", self.hosts.len());
            return Err(TopologyError::new("hosts", problem));
        }
        let numbers = self.numbers()?;
        let mut links = Vec::with_capacity(self.links.len());
        for (i, link) in self.links.iter().enumerate() {
            links.push(link.resolve(&format!("links[{i}]"), &numbers)?);
        }
        let names = self.hosts.iter().chain(&self.switches).cloned().collect();
        let graph = Graph { hosts: self.hosts.len() as u32, names, links };
        self.check_reach(&graph)?;
        Ok(graph)
    }

    /// The number of each name.
    fn numbers(&self) -> Result<HashMap<&str, u32>, TopologyError> {
        let mut numbers: HashMap<&str, u32> = HashMap::with_capacity(self.hosts.len() + self.switches.len());
        for (number, name) in self.hosts.iter().chain(&self.switches).enumerate() {
            if name.is_empty() {
                return Err(TopologyError::new(self.place(number), "is empty; give the node a name"));
            }
            if let Some(other) = numbers.insert(name, number as u32) {
                let problem = format!(
                    "\"{name}\" is also the name of {}; give every node a name of its own",
                    self.place(other as usize)
                );
                return Err(TopologyError::new(self.place(number), problem));
            }
        }
        Ok(numbers)
    }

    /// The path of a node in the parameters.
    fn place(&self, number: usize) -> String {
        match number.checked_sub(self.hosts.len()) {
            None => format!("hosts[{number}]"),
            Some(switch) => format!("switches[{switch}]"),
        }
    }

    /// Every node has a link, and every two hosts can reach each other.
    fn check_reach(&self, graph: &Graph) -> Result<(), TopologyError> {
        let adjacency = graph.adjacency();
        if let Some(alone) = (0..graph.node_count()).find(|&n| adjacency.of(NodeId(n)).is_empty()) {
            let name = &graph.names[alone as usize];
            let problem = format!("\"{name}\" has no link; give it one under links, or leave it out");
            return Err(TopologyError::new(self.place(alone as usize), problem));
        }
        if let Some((one, other)) = unreachable_pair(graph, &adjacency) {
            let problem = format!(
                "no way leads from host \"{}\" to host \"{}\"; join them through switches or directly (hosts do not \
                 forward)",
                graph.names[one as usize], graph.names[other as usize]
            );
            return Err(TopologyError::new("links", problem));
        }
        Ok(())
    }
}

impl NamedLink {
    /// `place` is the path of the link in the parameters.
    fn resolve(&self, place: &str, numbers: &HashMap<&str, u32>) -> Result<Link, TopologyError> {
        let node = |end: &str, name: &str| {
            numbers.get(name).map(|n| NodeId(*n)).ok_or_else(|| {
                let problem = format!("there is no node \"{name}\"; add it to hosts or switches, or correct the name");
                TopologyError::new(format!("{place}.{end}"), problem)
            })
        };
        let (a, b) = (node("a", &self.a)?, node("b", &self.b)?);
        if a == b {
            let problem = format!("both ends are \"{}\"; join two different nodes", self.a);
            return Err(TopologyError::new(place, problem));
        }
        Cable::new(self.rate, self.delay).check(place)?;
        if !(0.0..1.0).contains(&self.error_rate) {
            let problem = format!("is {}; use a probability of 0 or more and below 1", self.error_rate);
            return Err(TopologyError::new(format!("{place}.error_rate"), problem));
        }
        for (i, &(from, to)) in self.outages.iter().enumerate() {
            let fail = |problem: String| Err(TopologyError::new(format!("{place}.outages[{i}]"), problem));
            if from >= to {
                return fail(format!("goes from {from} to {to}; its end must be later than its start"));
            }
            if i > 0 && from <= self.outages[i - 1].1 {
                return fail(format!(
                    "starts at {from}, but the one before ends at {}; list outages in order of time, with time \
                     between them",
                    self.outages[i - 1].1
                ));
            }
        }
        let (rate, delay, error_rate) = (self.rate, self.delay, self.error_rate);
        Ok(Link { a, b, rate, delay, error_rate, outages: self.outages.clone() })
    }
}
