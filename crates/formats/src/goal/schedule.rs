//! A schedule in memory, whichever form its file has.

use crate::Error;
use fanin_graph::{ANY, Kind, LARGEST, LONGEST, Node, Source};
use std::collections::HashMap;

/// A schedule: what each rank does.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Goal {
    /// The ranks in order.
    pub ranks: Vec<Rank>,
}

/// The nodes of a rank, numbered in the order of the file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rank {
    pub(super) nodes: Vec<Operation>,
    /// A node, whether it waits for a start, and the node that it waits for; in this order.
    pub(super) edges: Vec<(u32, bool, u32)>,
    /// Label and line of each node, if the file has them.
    pub(super) places: Vec<(Box<str>, u32)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Operation {
    pub(super) kind: Kind,
    pub(super) cpu: u8,
    pub(super) nic: u8,
}

/// Which host a rank and a network interface are. A file does not say it; files of both kinds exist.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// A rank is a host, with all its interfaces.
    Ranks,
    /// A rank is a server, and each of its interfaces is a host.
    Interfaces,
}

impl Goal {
    /// The schedule of these sources. Nodes get new numbers, in order.
    ///
    /// # Errors
    /// Of a source, and of a node that GOAL cannot express.
    pub fn from_sources<S: Source<Error = Error>>(sources: &mut [S], file: &str) -> Result<Self, Error> {
        let ranks = sources.iter_mut().enumerate().map(|(rank, source)| {
            Rank::from_source(source).map_err(|what| match what {
                Wrong::Source(error) => error,
                Wrong::Node(what) => error(file, 0, format!("rank {rank}: {what}")),
            })
        });
        Ok(Self { ranks: ranks.collect::<Result<_, _>>()? })
    }

    /// How many network interfaces a rank has.
    pub fn interfaces(&self) -> u32 {
        1 + self.ranks.iter().flat_map(|rank| &rank.nodes).map(|node| u32::from(node.nic)).max().unwrap_or(0)
    }

    /// The host of a rank's interface.
    ///
    /// # Errors
    /// The layout matters and is not known.
    pub fn host(&self, layout: Option<Layout>, rank: u32, nic: u8) -> Result<u32, String> {
        match (self.interfaces(), layout) {
            (1, _) | (_, Some(Layout::Ranks)) => Ok(rank),
            (interfaces, Some(Layout::Interfaces)) => Ok(rank * interfaces + u32::from(nic)),
            (interfaces, None) => Err(format!(
                "ranks have {interfaces} network interfaces, and the file does not say whether a rank is one host or \
                 {interfaces}; say which"
            )),
        }
    }

    /// The rank's nodes.
    pub fn source(&self, rank: usize) -> Nodes<'_> {
        Nodes { rank: &self.ranks[rank], node: 0, edge: 0 }
    }

    /// All ranks' nodes.
    pub fn sources(&self) -> Vec<Nodes<'_>> {
        (0..self.ranks.len()).map(|rank| self.source(rank)).collect()
    }

    /// How the file calls a node.
    pub fn name(&self, rank: u32, id: u64) -> String {
        match self.ranks.get(rank as usize).and_then(|rank| rank.places.get(id as usize)) {
            Some((label, line)) if label.is_empty() => format!("node {id} (line {line})"),
            Some((label, line)) => format!("{label} (line {line})"),
            None => format!("node {id}"),
        }
    }

    /// The line of a node, if the file is text.
    pub fn line(&self, rank: u32, id: u64) -> u32 {
        self.ranks.get(rank as usize).and_then(|rank| rank.places.get(id as usize)).map_or(0, |(_, line)| *line)
    }
}

enum Wrong {
    Source(Error),
    Node(String),
}

impl Rank {
    fn from_source<S: Source<Error = Error>>(source: &mut S) -> Result<Self, Wrong> {
        let (mut rank, mut node) = (Self::default(), Node::default());
        let mut numbers = HashMap::new();
        let mut waits = Vec::new();
        while source.next(&mut node).map_err(Wrong::Source)? {
            if let Kind::Collective { operation, .. } = node.kind {
                let what = format!("node {} is a collective ({}), which GOAL does not have", node.id, operation.name());
                return Err(Wrong::Node(what));
            }
            let number = rank.nodes.len() as u32;
            if numbers.insert(node.id, number).is_some() {
                return Err(Wrong::Node(format!("two nodes have id {}", node.id)));
            }
            waits.extend(node.after_end.iter().map(|id| (number, false, *id)));
            waits.extend(node.after_start.iter().map(|id| (number, true, *id)));
            // A receive without a slot of its own waits for nothing that others hold.
            let cpu = node.slot.unwrap_or(if matches!(node.kind, Kind::Recv { .. }) { RECEIVES } else { 0 });
            rank.nodes.push(Operation { kind: node.kind, cpu, nic: node.nic });
        }
        for (node, start, id) in waits {
            let absent = || Wrong::Node(format!("a node waits for node {id}, which is not there"));
            rank.edges.push((node, start, *numbers.get(&id).ok_or_else(absent)?));
        }
        rank.edges.sort_unstable();
        Ok(rank)
    }
}

/// The processor of receives that need none.
const RECEIVES: u8 = 3;

/// The nodes of a rank, one by one.
#[derive(Clone, Debug)]
pub struct Nodes<'a> {
    rank: &'a Rank,
    node: usize,
    edge: usize,
}

impl Source for Nodes<'_> {
    type Error = Error;

    fn next(&mut self, node: &mut Node) -> Result<bool, Error> {
        let Some(Operation { kind, cpu, nic }) = self.rank.nodes.get(self.node).copied() else { return Ok(false) };
        (node.id, node.kind, node.slot, node.nic) = (self.node as u64, kind, Some(cpu), nic);
        node.after_end.clear();
        node.after_start.clear();
        while let Some((_, start, before)) = self.rank.edges.get(self.edge).filter(|edge| edge.0 as usize == self.node)
        {
            if *start { &mut node.after_start } else { &mut node.after_end }.push(u64::from(*before));
            self.edge += 1;
        }
        self.node += 1;
        Ok(true)
    }
}

pub(super) fn error(file: &str, line: u32, what: impl Into<String>) -> Error {
    Error { file: file.into(), line, what: what.into() }
}

/// Checks what both forms have in common.
pub(super) fn checked(kind: Kind, ranks: u32) -> Result<Kind, String> {
    match kind {
        Kind::Send { to: peer, .. } | Kind::Recv { from: peer, .. } if peer >= ranks && peer != ANY => {
            Err(format!("rank {peer} of {ranks}; the first rank is 0"))
        }
        Kind::Send { to: ANY, .. } => Err("a send to any rank; name one".into()),
        Kind::Send { bytes, .. } | Kind::Recv { bytes, .. } if bytes > LARGEST => {
            Err(format!("a message of {bytes} B; the largest has {LARGEST} B"))
        }
        Kind::Delay { ns } if ns > LONGEST => Err(format!("a calculation of {ns} ns; the longest takes {LONGEST} ns")),
        kind => Ok(kind),
    }
}
