//! What is wrong with the graphs of a run, in words.

use crate::{ANY, Kind, Operation};

/// A node: its rank and its number.
pub type Place = (u32, u64);

/// Something that a run could not do, or did not do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Problem {
    /// These wait for each other, each for the one before it.
    Cycle(Vec<Place>),
    /// A node waits for a number that no node of its rank has.
    Absent {
        /// The node that waits.
        node: Place,
        /// The number.
        wanted: u64,
    },
    /// Two nodes of a rank have this number.
    Duplicate(Place),
    /// A receive that no send fits.
    NoSend {
        /// The receive.
        node: Place,
        /// Its source, or [`ANY`].
        from: u32,
        /// Its tag, or [`ANY`].
        tag: u32,
        /// Its size.
        bytes: u64,
    },
    /// A send that no receive takes. The message is carried all the same.
    NoReceive {
        /// The send.
        node: Place,
        /// Its destination.
        to: u32,
        /// Its tag.
        tag: u32,
        /// Its size.
        bytes: u64,
    },
    /// A send and its receive have different sizes.
    Sizes {
        /// The send.
        send: Place,
        /// Its size.
        sent: u64,
        /// The receive.
        receive: Place,
        /// Its size.
        expected: u64,
    },
    /// A node sends to, or receives from, a rank that is not there.
    NoRank {
        /// The node.
        node: Place,
        /// The rank that it names.
        peer: u32,
        /// How many ranks there are.
        ranks: u32,
    },
    /// A node sends to its own rank, or receives from it.
    ToItself(Place),
    /// A collective of a group that is not defined at this rank.
    NoGroup {
        /// The node.
        node: Place,
        /// The group.
        group: u32,
    },
    /// A rank takes part in a collective of a group that it does not belong to.
    NotInGroup {
        /// The node.
        node: Place,
        /// The group.
        group: u32,
    },
    /// A rank that belongs to a group never takes part in one of its collectives.
    Missing {
        /// A node that takes part.
        node: Place,
        /// How many collectives of the group came before.
        number: u64,
        /// The group.
        group: u32,
        /// The rank that does not.
        rank: u32,
    },
    /// Two ranks of a group do different things in what is the same collective by order.
    Differ {
        /// How many collectives of the group came before.
        number: u64,
        /// The group.
        group: u32,
        /// Node, operation and size at two ranks.
        sides: [(Place, Operation, u64); 2],
    },
    /// A node that started and did not end.
    Unended {
        /// The node.
        node: Place,
        /// What it does.
        kind: Kind,
    },
}

/// A number with a comma between groups of three digits.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

fn of_group(group: u32) -> String {
    if group == 0 { "the group of all ranks".into() } else { format!("process group {group}") }
}

fn tagged(tag: u32) -> String {
    if tag == ANY { "any tag".into() } else { format!("tag {tag}") }
}

impl Problem {
    /// Whether the graphs can run nevertheless.
    pub fn is_warning(&self) -> bool {
        matches!(self, Self::NoReceive { .. })
    }

    /// The node by which the place in a file is found.
    pub fn place(&self) -> Place {
        match self {
            Self::Cycle(nodes) => nodes[0],
            Self::Sizes { receive, .. } => *receive,
            Self::Differ { sides, .. } => sides[1].0,
            Self::Duplicate(node) | Self::ToItself(node) => *node,
            Self::Absent { node, .. }
            | Self::NoSend { node, .. }
            | Self::NoReceive { node, .. }
            | Self::NoRank { node, .. }
            | Self::NoGroup { node, .. }
            | Self::NotInGroup { node, .. }
            | Self::Missing { node, .. }
            | Self::Unended { node, .. } => *node,
        }
    }

    /// The problem as a sentence; `name` says how a file calls a node, such as "node 3".
    pub fn text(&self, name: &dyn Fn(u32, u64) -> String) -> String {
        let at = |(rank, id): Place| format!("rank {rank}: {}", name(rank, id));
        match self {
            Self::Cycle(nodes) => cycle(nodes, name),
            Self::Absent { node, wanted } => {
                format!("{} waits for node {wanted}, which is not there", at(*node))
            }
            Self::Duplicate((rank, id)) => {
                format!("rank {rank}: two nodes have id {id}; the first is {}", name(*rank, *id))
            }
            Self::NoSend { node, from, tag, bytes } => {
                let source = match *from {
                    ANY => "any rank, and none".into(),
                    rank => format!("rank {rank}, which"),
                };
                format!(
                    "{} receives {} B with {} from {source} never sends that",
                    at(*node),
                    grouped(*bytes),
                    tagged(*tag)
                )
            }
            Self::NoReceive { node, to, tag, bytes } => {
                let sends = format!("{} sends {} B to rank {to} with {}", at(*node), grouped(*bytes), tagged(*tag));
                format!("{sends}; nobody receives that")
            }
            Self::Sizes { send, sent, receive, expected } => {
                let (sent, expected) = (grouped(*sent), grouped(*expected));
                format!(
                    "{} expects {expected} B, and rank {}: {} sends {sent} B",
                    at(*receive),
                    send.0,
                    name(send.0, send.1)
                )
            }
            Self::NoRank { node, peer, ranks } => {
                format!("{} names rank {peer} of {ranks}; the first rank is 0", at(*node))
            }
            Self::ToItself(node) => format!("{} sends to itself or receives from itself", at(*node)),
            Self::NoGroup { node, group } => format!("{}: process group {group} is not defined", at(*node)),
            Self::NotInGroup { node, group } => {
                format!("{}: rank {} does not belong to process group {group}", at(*node), node.0)
            }
            Self::Missing { node, number, group, rank } => {
                let which = format!("collective {number} of {}", of_group(*group));
                format!("{} takes part in {which}, and rank {rank} never does", at(*node))
            }
            Self::Differ { number, group, sides: [one, other] } => {
                let side = |((rank, id), operation, bytes): &(Place, Operation, u64)| {
                    format!("{} of {} B at rank {rank} ({})", operation.name(), grouped(*bytes), name(*rank, *id))
                };
                format!("collective {number} of {} is {} and {}", of_group(*group), side(one), side(other))
            }
            Self::Unended { node, kind } => {
                let waits = match kind {
                    Kind::Send { to, .. } => format!("rank {to} to have its message"),
                    Kind::Recv { from: ANY, .. } => "a message that is under way".into(),
                    Kind::Recv { from, .. } => format!("a message from rank {from} that is under way"),
                    Kind::Delay { ns } => format!("its {} ns to pass", grouped(*ns)),
                    Kind::Collective { operation, .. } => format!("the {} of its group", operation.name()),
                };
                format!("{} started and never ended; it waits for {waits}", at(*node))
            }
        }
    }
}

fn cycle(nodes: &[Place], name: &dyn Fn(u32, u64) -> String) -> String {
    let rank = nodes[0].0;
    if let [(rank, id)] = nodes {
        return format!("rank {rank}: {} waits for itself", name(*rank, *id));
    }
    let one_rank = nodes.iter().all(|node| node.0 == rank);
    let called = |(rank, id): &Place| match one_rank {
        true => name(*rank, *id),
        false => format!("rank {rank} {}", name(*rank, *id)),
    };
    let shown: Vec<String> = nodes.iter().take(20).map(called).collect();
    let names = match nodes.len() - shown.len() {
        0 => format!("{} and {}", shown[..shown.len() - 1].join(", "), shown[shown.len() - 1]),
        more => format!("{} and {more} more", shown.join(", ")),
    };
    match one_rank {
        true => format!("rank {rank}: {names} wait for each other"),
        false => format!("{names} wait for each other through messages or collectives"),
    }
}
