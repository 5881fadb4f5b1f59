//! A job: the work of all its ranks, in which each collective consists of the messages of its algorithm.

mod planned;
mod program;

pub use planned::{Collective, Wrong};
pub use program::{NONE, PartsAt, Program, Step};

use crate::collectives::Method;
use crate::{Holds, Kind, Node, Rules, Source};
use planned::{Collectives, Parts, TAGS};
use program::Own;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::convert::Infallible;
use std::sync::Arc;

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
    /// What collectives consist of. Those of the same operation, bytes and number of ranks share a plan.
    plans: Vec<Parts>,
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
        let mut groups: BTreeMap<u32, Arc<[u32]>> = BTreeMap::new();
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
                    groups.entry(group).or_insert_with(|| members.into());
                }
            }
            ranks.push(nodes);
        }
        groups.entry(0).or_insert_with(|| (0..sources.len() as u32).collect());
        let mut collectives = Collectives::new(method, groups, sources.iter().any(S::all_gather_of_all));
        let of_ranks: Vec<Vec<(u64, u32, u32)>> =
            ranks.iter().zip(0..).map(|(nodes, rank)| collectives.of_rank(rank, nodes)).collect::<Result<_, _>>()?;
        collectives.complete()?;
        for (rank, nodes) in (0..).zip(&ranks) {
            if let Some(node) = collectives.tagged(nodes) {
                let what = format!("has a tag from {TAGS} on, which beside collectives are those of their messages");
                return Err(Wrong::node(rank, node.id, what));
            }
        }
        let mut programs = Vec::with_capacity(ranks.len());
        for ((rank, nodes), of) in (0..).zip(ranks).zip(of_ranks) {
            programs.push(program(rank, &nodes, &of, &collectives)?);
        }
        let (collectives, plans) = collectives.into_parts();
        let rules = (rules.holds, rules.first_ready);
        Ok(Self { rules, send_ends: SendEnds::default(), ranks: programs, collectives, plans })
    }

    /// How the nodes of a rank share its slots.
    pub fn rules(&self) -> Rules {
        Rules { holds: self.rules.0, first_ready: self.rules.1 }
    }

    /// The same job with another end of sends.
    #[must_use]
    pub fn with_sends(self, send_ends: SendEnds) -> Self {
        Self { send_ends, ..self }
    }

    /// The same job where no node needs a slot.
    #[must_use]
    pub fn without_slots(mut self) -> Self {
        self.ranks.iter_mut().flat_map(Program::own_mut).for_each(|node| node.slot = None);
        self
    }

    /// The same job where the computations of these ranks take `factor` times as long, to the nearest nanosecond.
    #[must_use]
    pub fn slowed(mut self, ranks: &[u32], factor: f64) -> Self {
        for rank in ranks {
            for node in self.ranks.get_mut(*rank as usize).into_iter().flat_map(Program::own_mut) {
                if let Kind::Delay { ns } = &mut node.kind {
                    *ns = ((*ns as f64 * factor + 0.5) as u64).min(crate::LONGEST);
                }
            }
        }
        self
    }

    /// What a node is called: by its number in the file, and where it is a message of a collective, by that.
    pub fn name(&self, rank: u32, number: u64) -> String {
        match self.ranks.get(rank as usize) {
            Some(program) if number < program.len() as u64 => {
                let step = self.step(rank, number as u32);
                if step.is_part() {
                    let named = self.collectives[step.collective as usize].operation.name();
                    return format!("a message of node {} ({named})", step.origin);
                }
                format!("node {}", step.origin)
            }
            _ => format!("node {number}"),
        }
    }

    /// Nodes of all ranks.
    pub fn nodes(&self) -> usize {
        self.ranks.iter().map(Program::len).sum()
    }

    /// The messages in the order of their numbers, as rank, number of the node that sends it, receiving rank and bytes.
    pub fn sends(&self) -> impl Iterator<Item = (u32, u32, u32, u64)> + '_ {
        let mut sends = Sends::new(self);
        std::iter::from_fn(move || {
            let (rank, step) = sends.next(self)?;
            let Kind::Send { to, bytes, .. } = step.kind else { unreachable!("it sends") };
            Some((rank, step.number, to, bytes))
        })
    }

    /// The nodes of each rank, numbered as here, with collectives as their messages: for tools that know none.
    pub fn messages_only(&self) -> Vec<Listed> {
        (0..self.ranks.len() as u32).map(|rank| self.messages_of(rank)).collect()
    }

    /// A collective becomes two delays of no time: one at its start, with its number, and one at its end, which is that
    /// of the last receive (of the last send, where the rank receives nothing).
    fn messages_of(&self, rank: u32) -> Listed {
        let len = self.ranks[rank as usize].len() as u64;
        let starts: BTreeSet<u64> = self
            .own_steps(rank)
            .filter(|step| matches!(step.kind, Kind::Collective { .. }))
            .map(|step| step.number.into())
            .collect();
        let end_of = |id: u64| if starts.contains(&id) { len + id } else { id };
        // Those ends, and the sends before each.
        let mut ends: BTreeMap<u32, (Node, Vec<u64>)> = BTreeMap::new();
        let mut nodes = Vec::with_capacity(len as usize);
        for step in self.steps(rank) {
            let (number, mut node) = (step.number, step.node());
            node.after_end.iter_mut().for_each(|id| *id = end_of(*id));
            if let Kind::Collective { .. } = node.kind {
                node.kind = Kind::Delay { ns: 0 };
                node.slot = None;
                let end = Node { id: end_of(number.into()), after_end: vec![number.into()], ..Node::default() };
                ends.insert(number, (end, Vec::new()));
            } else if step.is_part()
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

impl Job {
    fn parts_at(&self, own: &Own) -> Option<PartsAt<'_>> {
        let Own { collective, place, number: node, origin, .. } = *own;
        let of = self.collectives.get(collective as usize)?;
        Some(PartsAt { of, parts: &self.plans[of.plan as usize], place, collective, node, origin })
    }

    fn parts_of(&self, own: &Own) -> impl Iterator<Item = Step<'_>> + Clone {
        self.parts_at(own).into_iter().flat_map(PartsAt::steps)
    }

    /// A node of a rank by number.
    ///
    /// # Panics
    /// There is none.
    pub fn step(&self, rank: u32, number: u32) -> Step<'_> {
        let program = &self.ranks[rank as usize];
        assert!((number as usize) < program.len(), "there is a node of this number");
        let at = program.place_of(number);
        let own = &program.own[at];
        match number - own.number {
            0 => program.own_step(at),
            part => self.parts_at(own).expect("only a collective has parts").step(part - 1),
        }
    }

    /// Whether a part of a [plan](PartsAt::plan) sends, and the parts that wait for it.
    pub(crate) fn frees(&self, (plan, place): (u32, u32), part: u32) -> (bool, &[u32]) {
        self.plans[plan as usize].frees(place, part)
    }

    /// The nodes of a rank, by number.
    pub fn steps(&self, rank: u32) -> impl Iterator<Item = Step<'_>> {
        let program = &self.ranks[rank as usize];
        (0..program.own.len())
            .flat_map(move |at| std::iter::once(program.own_step(at)).chain(self.parts_of(&program.own[at])))
    }

    /// The nodes of a rank without the parts of collectives.
    pub fn own_steps(&self, rank: u32) -> impl Iterator<Item = Step<'_>> {
        let program = &self.ranks[rank as usize];
        (0..program.own.len()).map(move |at| program.own_step(at))
    }

    /// The parts of the collective that is this node of a rank; none of another node.
    pub fn parts(&self, rank: u32, number: u32) -> Option<PartsAt<'_>> {
        let program = &self.ranks[rank as usize];
        let own = program.own.get(program.place_of(number)).filter(|own| own.number == number)?;
        self.parts_at(own)
    }
}

/// The messages of a job in the order of their numbers: the first of each rank, by rank, then the second. Ranks advance
/// together, so those under way at a time are neighbours in every table.
#[derive(Clone, Debug)]
pub struct Sends {
    /// Ranks with more to send, and the nodes from which on.
    next: VecDeque<(u32, u32)>,
}

impl Sends {
    /// All messages of a job.
    pub fn new(job: &Job) -> Self {
        Self { next: (0..job.ranks.len() as u32).map(|rank| (rank, 0)).collect() }
    }

    /// The next node of this job that sends, and its rank.
    pub fn next<'a>(&mut self, job: &'a Job) -> Option<(u32, Step<'a>)> {
        while let Some((rank, first)) = self.next.pop_front() {
            let mut steps = (first..job.ranks[rank as usize].len() as u32).map(|number| job.step(rank, number));
            if let Some(step) = steps.find(|step| matches!(step.kind, Kind::Send { .. })) {
                self.next.push_back((rank, step.number + 1));
                return Some((rank, step));
            }
        }
        None
    }
}

/// The nodes of a rank, with the parts of each collective behind it. `of` has the collective of each such node, in
/// their order, and the rank's place there.
fn program<E>(
    rank: u32,
    nodes: &[Node],
    of: &[(u64, u32, u32)],
    collectives: &Collectives<'_>,
) -> Result<Program, Wrong<E>> {
    // Of each node: its collective, its place there, and how many parts follow.
    let parts_of = |node: &Node, of: &mut std::slice::Iter<'_, (u64, u32, u32)>| match node.kind {
        Kind::Collective { .. } => {
            let (_, number, place) = of.next().copied().expect("each collective of the rank has been planned");
            (number, place, collectives.parts(number, place))
        }
        _ => (NONE, 0, 0),
    };
    // By place in the file's order of numbers: the number of each node, and the one here.
    let mut numbers: Vec<(u64, u32)> = Vec::with_capacity(nodes.len());
    let (mut next, mut each) = (0, of.iter());
    for node in nodes {
        numbers.push((node.id, next));
        next += 1 + parts_of(node, &mut each).2;
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
    let (mut program, mut each) = (Program::with_capacity(nodes.len()), of.iter());
    let mut waits: [Vec<u32>; 2] = Default::default();
    for node in nodes {
        for (ids, waits) in [&node.after_end, &node.after_start].into_iter().zip(&mut waits) {
            waits.clear();
            for id in ids {
                let absent = || Wrong::node(rank, node.id, format!("waits for node {id}, which is not there"));
                waits.push(number_of(*id).ok_or_else(absent)?);
            }
        }
        program.push(node, [&waits[0], &waits[1]], parts_of(node, &mut each));
    }
    Ok(program)
}

#[cfg(test)]
mod tests;
