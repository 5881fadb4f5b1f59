//! A job: the work of all its ranks, in which each collective consists of the messages of its algorithm.

use crate::collectives::{MOST_MESSAGES, Method, algorithm, plan};
use crate::{Holds, Kind, Node, Operation, Rules, Source};
use std::collections::{BTreeMap, HashMap};
use std::convert::Infallible;
use std::sync::Arc;

/// No collective.
pub const NONE: u32 = u32::MAX;

/// Tags from here on are those of collectives.
const TAGS: u32 = 1 << 31;

/// The work of all ranks, ready to run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Job {
    /// How the nodes of a rank share its slots.
    pub rules: Holding,
    /// When a send ends.
    pub send_ends: SendEnds,
    /// The ranks in order.
    pub ranks: Vec<Program>,
    /// The collectives, in the order in which ranks name them.
    pub collectives: Vec<Collective>,
}

/// When a send ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SendEnds {
    /// As the last ACK of its message arrives.
    #[default]
    Acked,
    /// As its message has arrived completely, which its rank then knows at once.
    Arrived,
}

/// Rules that can be compared.
type Holding = (Holds, bool);

/// A collective of a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Collective {
    /// The operation.
    pub operation: Operation,
    /// Its algorithm.
    pub algorithm: &'static str,
    /// Bytes by nccl-tests' counting, as [`crate::collectives::Shape::bytes`].
    pub bytes: u64,
    /// The ranks that take part, by place.
    pub members: Vec<u32>,
}

/// The nodes of a rank; the number of each is its place in the list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Program {
    /// The nodes.
    pub steps: Vec<Step>,
}

/// A node of a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// The node.
    pub node: Node,
    /// The collective that it is, or whose message it sends or receives, or [`NONE`].
    pub collective: u32,
    /// The node of the rank that is this collective; its own number for others.
    pub within: u32,
    /// The node's number in the file; of a part of a collective, that of the collective.
    pub origin: u64,
}

/// Why there is no job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Wrong<E> {
    /// A source cannot be read.
    Source(E),
    /// A node cannot be carried out.
    Node {
        /// Its rank.
        rank: u32,
        /// Its number.
        id: u64,
        /// What is wrong.
        what: String,
    },
}

impl<E> Wrong<E> {
    fn node(rank: u32, id: u64, what: impl Into<String>) -> Self {
        Self::Node { rank, id, what: what.into() }
    }
}

/// Ranks of groups, by number.
pub type Groups = BTreeMap<u32, Vec<u32>>;

/// The nodes of a rank in memory, one by one.
#[derive(Clone, Debug)]
pub struct Listed {
    nodes: std::vec::IntoIter<Node>,
    groups: Arc<Groups>,
}

impl Listed {
    /// These nodes.
    pub fn new(nodes: Vec<Node>) -> Self {
        Self::with_groups(nodes, Arc::default())
    }

    /// These nodes, of which collectives name groups.
    pub fn with_groups(nodes: Vec<Node>, groups: Arc<Groups>) -> Self {
        Self { nodes: nodes.into_iter(), groups }
    }
}

impl Source for Listed {
    type Error = Infallible;

    fn next(&mut self, node: &mut Node) -> Result<bool, Infallible> {
        let next = self.nodes.next();
        let any = next.is_some();
        next.into_iter().for_each(|next| *node = next);
        Ok(any)
    }

    fn members(&self, group: u32) -> Option<&[u32]> {
        self.groups.get(&group).map(Vec::as_slice)
    }
}

impl Job {
    /// The job of these sources. Nodes are numbered anew, in the order of their numbers. The k-th collective of a group
    /// at one rank is the k-th at each other.
    ///
    /// # Errors
    /// A source cannot be read, or a collective cannot be carried out: its kind has no such algorithm, its ranks differ
    /// about it, or it has too few bytes.
    pub fn new<S: Source>(sources: &mut [S], rules: Rules, method: &Method) -> Result<Self, Wrong<S::Error>> {
        let mut ranks = Vec::with_capacity(sources.len());
        let mut groups = BTreeMap::new();
        for (rank, source) in (0..).zip(&mut *sources) {
            let (mut nodes, mut node) = (Vec::new(), Node::default());
            while source.next(&mut node).map_err(Wrong::Source)? {
                nodes.push(node.clone());
            }
            nodes.sort_by_key(|node: &Node| node.id);
            if let Some(pair) = nodes.windows(2).find(|pair| pair[0].id == pair[1].id) {
                return Err(Wrong::node(rank, pair[0].id, "has the number of another node"));
            }
            for node in &nodes {
                if let Kind::Collective { group, .. } = node.kind
                    && let Some(members) = source.members(group)
                {
                    groups.entry(group).or_insert_with(|| members.to_vec());
                }
            }
            ranks.push(nodes);
        }
        groups.entry(0).or_insert_with(|| (0..sources.len() as u32).collect());
        let of_all = sources.iter().any(S::all_gather_of_all);
        let mut collectives =
            Collectives { method, groups, of_all, all: Vec::new(), numbers: HashMap::new(), used: 0, messages: 0 };
        let counts: Vec<BTreeMap<u64, u32>> =
            ranks.iter().zip(0..).map(|(nodes, rank)| collectives.of_rank(rank, nodes)).collect::<Result<_, _>>()?;
        collectives.complete()?;
        let tagged = |node: &&Node| match node.kind {
            Kind::Send { tag, .. } | Kind::Recv { tag, .. } => tag >= TAGS && tag != crate::ANY,
            _ => false,
        };
        if !collectives.all.is_empty() {
            for (rank, nodes) in (0..).zip(&ranks) {
                if let Some(node) = nodes.iter().find(tagged) {
                    let what =
                        format!("has a tag from {TAGS} on, which beside collectives are those of their messages");
                    return Err(Wrong::node(rank, node.id, what));
                }
            }
        }
        let mut programs = Vec::with_capacity(ranks.len());
        for ((rank, nodes), of) in (0..).zip(ranks).zip(counts) {
            programs.push(program(rank, nodes, &of, &collectives)?);
        }
        let all = collectives.all.into_iter().map(|one| one.what).collect();
        let rules = (rules.holds, rules.first_ready);
        Ok(Self { rules, send_ends: SendEnds::default(), ranks: programs, collectives: all })
    }

    /// How the nodes of a rank share its slots.
    pub fn rules(&self) -> Rules {
        Rules { holds: self.rules.0, first_ready: self.rules.1 }
    }

    /// The same job where no node needs a slot.
    #[must_use]
    pub fn without_slots(mut self) -> Self {
        self.ranks.iter_mut().flat_map(|rank| &mut rank.steps).for_each(|step| step.node.slot = None);
        self
    }

    /// The same job where the computations of these ranks take `factor` times as long, to the nearest nanosecond.
    #[must_use]
    pub fn slowed(mut self, ranks: &[u32], factor: f64) -> Self {
        for rank in ranks {
            let steps = self.ranks.get_mut(*rank as usize).map(|program| program.steps.iter_mut());
            for step in steps.into_iter().flatten() {
                if let Kind::Delay { ns } = &mut step.node.kind {
                    *ns = ((*ns as f64 * factor + 0.5) as u64).min(crate::LONGEST);
                }
            }
        }
        self
    }

    /// What a node is called: by its number in the file, and where it is a message of a collective, by that.
    pub fn name(&self, rank: u32, number: u64) -> String {
        let step = self.ranks.get(rank as usize).and_then(|program| program.steps.get(number as usize));
        match step {
            Some(step) if u64::from(step.within) != number => {
                let named = self.collectives.get(step.collective as usize).map_or("", |one| one.operation.name());
                format!("a message of node {} ({named})", step.origin)
            }
            Some(step) => format!("node {}", step.origin),
            None => format!("node {number}"),
        }
    }

    /// Nodes of all ranks.
    pub fn nodes(&self) -> usize {
        self.ranks.iter().map(|rank| rank.steps.len()).sum()
    }

    /// The messages, as rank, number of the node that sends it, receiving rank and bytes: by rank, then by number.
    pub fn sends(&self) -> impl Iterator<Item = (u32, u32, u32, u64)> + '_ {
        (0..).zip(&self.ranks).flat_map(|(rank, program)| {
            (0..).zip(&program.steps).filter_map(move |(number, step)| match step.node.kind {
                Kind::Send { to, bytes, .. } => Some((rank, number, to, bytes)),
                _ => None,
            })
        })
    }

    /// The nodes of each rank, numbered as here, with collectives as their messages: for tools that know none.
    pub fn messages_only(&self) -> Vec<Listed> {
        self.ranks.iter().map(Program::messages_only).collect()
    }
}

impl Program {
    /// A collective becomes two delays of no time: one at its start, with its number, and one at its end, which is that
    /// of the last receive (of the last send, where the rank receives nothing).
    fn messages_only(&self) -> Listed {
        let end_of = |id: u64| match self.steps.get(id as usize).map(|step| step.node.kind) {
            Some(Kind::Collective { .. }) => self.steps.len() as u64 + id,
            _ => id,
        };
        // Those ends, and the sends before each.
        let mut ends: BTreeMap<u32, (Node, Vec<u64>)> = BTreeMap::new();
        let mut nodes = Vec::with_capacity(self.steps.len());
        for (number, step) in (0..).zip(&self.steps) {
            let mut node = step.node.clone();
            node.after_end.iter_mut().for_each(|id| *id = end_of(*id));
            if let Kind::Collective { .. } = node.kind {
                node.kind = Kind::Delay { ns: 0 };
                node.slot = None;
                let end = Node { id: end_of(number.into()), after_end: vec![number.into()], ..Node::default() };
                ends.insert(number, (end, Vec::new()));
            } else if step.within != number
                && let Some((end, sends)) = ends.get_mut(&step.within)
            {
                // A trace knows waits for ends alone; the start of a collective takes no time.
                node.after_end.append(&mut node.after_start);
                let sent = matches!(node.kind, Kind::Send { .. });
                (if sent { sends } else { &mut end.after_end }).push(number.into());
            }
            nodes.push(node);
        }
        nodes.extend(ends.into_values().map(|(mut end, mut sends)| {
            // It waits for its start, and for nothing more without receives.
            if end.after_end.len() == 1 {
                end.after_end.append(&mut sends);
            }
            end
        }));
        Listed::new(nodes)
    }
}

/// A collective while its job is built.
struct Planned {
    what: Collective,
    group: u32,
    first: (u32, u64),
    bytes: u64,
    /// Ranks that have come.
    here: u32,
    /// Nodes of each place: whether it sends, the peer's place, bytes, tag, and the nodes of the place that it waits
    /// for.
    parts: Vec<Vec<Part>>,
}

struct Part {
    sends: bool,
    peer: u32,
    bytes: u64,
    tag: u32,
    after: Vec<u32>,
}

struct Collectives<'a> {
    method: &'a Method<'a>,
    groups: BTreeMap<u32, Vec<u32>>,
    /// What the bytes of an all-gather are: [`Source::all_gather_of_all`].
    of_all: bool,
    all: Vec<Planned>,
    /// By group and the number of collectives before.
    numbers: HashMap<(u32, u32), u32>,
    /// Tags so far.
    used: u32,
    /// Messages so far.
    messages: u64,
}

impl Collectives<'_> {
    /// The collective of each such node of a rank.
    fn of_rank<E>(&mut self, rank: u32, nodes: &[Node]) -> Result<BTreeMap<u64, u32>, Wrong<E>> {
        let mut counts: HashMap<u32, u32> = HashMap::new();
        let mut of = BTreeMap::new();
        for node in nodes {
            let Kind::Collective { operation, bytes, group } = node.kind else { continue };
            let wrong = |what: String| Wrong::node(rank, node.id, what);
            let members = self.groups.get(&group);
            let members = members.ok_or_else(|| wrong(format!("names process group {group}, which is not defined")))?;
            if !members.contains(&rank) {
                return Err(wrong(format!("names process group {group}, to which rank {rank} does not belong")));
            }
            let count = counts.entry(group).or_default();
            let key = (group, *count);
            *count += 1;
            let number = match self.numbers.get(&key) {
                Some(number) => *number,
                None => {
                    let first = (rank, node.id);
                    let planned = self.planned(operation, bytes, group, first).map_err(wrong)?;
                    self.all.push(planned);
                    let number = self.all.len() as u32 - 1;
                    self.numbers.insert(key, number);
                    number
                }
            };
            let planned = &mut self.all[number as usize];
            let Planned { first, bytes: same, .. } = *planned;
            if (planned.what.operation, same) != (plain(operation), bytes) {
                let (other, id) = first;
                let what = format!("is another operation or size than node {id} of rank {other}, its counterpart");
                return Err(wrong(what));
            }
            planned.here += 1;
            of.insert(node.id, number);
        }
        Ok(of)
    }

    fn planned(&mut self, operation: Operation, bytes: u64, group: u32, first: (u32, u64)) -> Result<Planned, String> {
        let operation = plain(operation);
        let members = self.groups[&group].clone();
        let ranks = members.len() as u32;
        // A trace counts what a rank contributes to an all-gather.
        let of_one = operation == Operation::AllGather && !self.of_all;
        let total = if of_one { bytes.saturating_mul(ranks.into()) } else { bytes };
        // A trace has several operations, and the name may be that of another one's algorithm.
        let fits = self.method.algorithm.filter(|name| algorithm(operation, Some(name)).is_ok());
        let name = algorithm(operation, fits)?.name;
        // So may a window or sizes be meant for others.
        let window = self.method.window.filter(|_| name == "direct");
        let sizes = self.method.sizes.filter(|_| operation == Operation::AllToAll);
        let method = Method { algorithm: fits, window, sizes, ..*self.method };
        let plan = plan(operation, ranks, total, &method)?;
        self.messages += plan.transfers.len() as u64;
        if self.messages > MOST_MESSAGES {
            return Err(format!("is the one whose messages make more than {MOST_MESSAGES}, the most of a job"));
        }
        let mut parts: Vec<Vec<Part>> = members.iter().map(|_| Vec::new()).collect();
        // The number of each transfer among the nodes of its receiver.
        let mut received = Vec::with_capacity(plan.transfers.len());
        for transfer in plan.transfers {
            let tag = TAGS + self.used % (TAGS - 1);
            self.used = self.used.wrapping_add(1);
            let (from, to, bytes) = (transfer.from, transfer.to, transfer.bytes);
            let after = transfer.after.iter().map(|after| received[*after as usize]).collect();
            parts[from as usize].push(Part { sends: true, peer: to, bytes, tag, after });
            received.push(parts[to as usize].len() as u32);
            parts[to as usize].push(Part { sends: false, peer: from, bytes, tag, after: Vec::new() });
        }
        let what = Collective { operation, algorithm: name, bytes: total, members };
        Ok(Planned { what, group, first, bytes, here: 0, parts })
    }

    /// The members of a collective, and the nodes of a rank in it; none of none.
    fn of(&self, number: Option<&u32>, rank: u32) -> (&[u32], &[Part]) {
        let Some(planned) = number.and_then(|number| self.all.get(*number as usize)) else { return (&[], &[]) };
        let members = &planned.what.members;
        let place = members.iter().position(|of| *of == rank);
        (members, place.map_or(&[], |place| &planned.parts[place]))
    }

    /// Whether all ranks have come.
    fn complete<E>(&self) -> Result<(), Wrong<E>> {
        let missing = self.all.iter().find(|one| one.here as usize != one.what.members.len());
        missing.map_or(Ok(()), |one| {
            let (rank, id) = one.first;
            let (here, all) = (one.here, one.what.members.len());
            let what = format!("takes part in a collective of group {} to which {here} of {all} ranks come", one.group);
            Err(Wrong::node(rank, id, what))
        })
    }
}

/// The operation whose messages it has.
fn plain(operation: Operation) -> Operation {
    match operation {
        Operation::ReduceScatterBlock => Operation::ReduceScatter,
        other => other,
    }
}

/// The nodes of a rank, with the parts of each collective behind it.
fn program<E>(
    rank: u32,
    nodes: Vec<Node>,
    of: &BTreeMap<u64, u32>,
    collectives: &Collectives<'_>,
) -> Result<Program, Wrong<E>> {
    // By place in the file's order of numbers: the number of each node, and the one here.
    let mut numbers: Vec<(u64, u64)> = Vec::with_capacity(nodes.len());
    let mut next = 0;
    for node in &nodes {
        numbers.push((node.id, next));
        let (_, parts) = collectives.of(of.get(&node.id), rank);
        next += 1 + parts.len() as u64;
    }
    let first = numbers.first().map_or(0, |(id, _)| *id);
    let number_of = |id: u64| {
        // Most files number without gaps.
        let guess = id.checked_sub(first).and_then(|place| numbers.get(usize::try_from(place).ok()?));
        match guess {
            Some((found, number)) if *found == id => Some(*number),
            _ => numbers.binary_search_by_key(&id, |(id, _)| *id).ok().map(|place| numbers[place].1),
        }
    };
    let mut steps = Vec::with_capacity(next as usize);
    for mut node in nodes {
        let (origin, own) = (node.id, steps.len() as u32);
        node.id = u64::from(own);
        for id in node.after_end.iter_mut().chain(&mut node.after_start) {
            let absent = || Wrong::node(rank, origin, format!("waits for node {id}, which is not there"));
            *id = number_of(*id).ok_or_else(absent)?;
        }
        let (members, parts) = collectives.of(of.get(&origin), rank);
        let collective = of.get(&origin).copied().unwrap_or(NONE);
        steps.push(Step { node, collective, within: own, origin });
        let first = own + 1;
        for part in parts {
            let peer = members[part.peer as usize];
            let (bytes, tag) = (part.bytes, part.tag);
            let kind = match part.sends {
                true => Kind::Send { to: peer, bytes, tag },
                false => Kind::Recv { from: peer, bytes, tag },
            };
            let after_end: Vec<u64> = part.after.iter().map(|number| u64::from(first + number)).collect();
            let after_start = if after_end.is_empty() { vec![u64::from(own)] } else { Vec::new() };
            let id = steps.len() as u64;
            let node = Node { id, kind, slot: None, nic: 0, after_end, after_start };
            steps.push(Step { node, collective, within: own, origin });
        }
    }
    Ok(Program { steps })
}

#[cfg(test)]
mod tests;
