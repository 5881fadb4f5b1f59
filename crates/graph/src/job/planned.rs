//! Collectives of a job while it is built, and the plans that they share.

use crate::collectives::{MOST_MESSAGES, Method, Plan, algorithm, plan};
use crate::{Kind, Node, Operation};
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

/// Tags from here on are those of collectives.
pub(super) const TAGS: u32 = 1 << 31;

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
    pub members: Arc<[u32]>,
    /// Its plan.
    pub(super) plan: u32,
    /// The tag of its first message.
    pub(super) tags: u32,
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
    pub(super) fn node(rank: u32, id: u64, what: impl Into<String>) -> Self {
        Self::Node { rank, id, what: what.into() }
    }
}

/// The messages of a plan as nodes of its places: a place's sends and receives in the order of the plan.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Parts {
    /// Where the parts of each place begin, and where the last ones end.
    places: Vec<u32>,
    parts: Vec<Part>,
    /// What the parts wait for, by the numbers of parts of their place.
    waits: Vec<u32>,
    /// The same from the other side: what waits for the parts, which a run reads. Places advance together, so here the
    /// parts of one number lie side by side if all places have as many: those of a place are so far apart.
    apart: u32,
    ends: Vec<Ended>,
    frees: Vec<u32>,
}

/// What happens when a part has ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Ended {
    /// Where what waited for it ends; it begins where that of the one before it ends.
    frees: u32,
    sends: bool,
}

/// A message at the place that sends it, or that receives it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Part {
    pub bytes: u64,
    /// The other place.
    pub peer: u32,
    /// The message's number in the plan.
    pub transfer: u32,
    /// The message's number among the parts of the other place.
    pub there: u32,
    /// Where its waits end; they begin where those of the part before it end.
    waits: u32,
    pub sends: bool,
}

impl Parts {
    fn new(plan: &Plan, places: usize) -> Self {
        let mut of = Self { places: vec![0; places + 1], ..Self::default() };
        let ends = |transfer: &crate::collectives::Transfer| [transfer.from as usize, transfer.to as usize];
        for place in plan.transfers.iter().flat_map(ends) {
            of.places[place + 1] += 1;
        }
        for place in 0..places {
            of.places[place + 1] += of.places[place];
        }
        let mut next = of.places.clone();
        of.parts = vec![Part::default(); 2 * plan.transfers.len()];
        // Where each transfer is among the parts of its receiver.
        let mut received = Vec::with_capacity(plan.transfers.len());
        for (transfer, one) in (0..).zip(&plan.transfers) {
            let mut number = |place: u32| {
                next[place as usize] += 1;
                next[place as usize] - 1 - of.places[place as usize]
            };
            let (sent, arrived) = (number(one.from), number(one.to));
            let sender =
                Part { bytes: one.bytes, peer: one.to, transfer, there: arrived, sends: true, ..Part::default() };
            let receiver = Part { peer: one.from, there: sent, sends: false, ..sender };
            for (place, at, part) in [(one.from, sent, sender), (one.to, arrived, receiver)] {
                of.parts[(of.places[place as usize] + at) as usize] = part;
            }
            received.push(arrived);
        }
        for part in &mut of.parts {
            if part.sends {
                let after = plan.after(part.transfer as usize);
                of.waits.extend(after.iter().map(|after| received[*after as usize]));
            }
            part.waits = of.waits.len() as u32;
        }
        of.turn_waits();
        of
    }

    /// Finds what waits for each part.
    fn turn_waits(&mut self) {
        let places = self.places.len() as u32 - 1;
        let even = self.places.windows(3).all(|ends| ends[1] - ends[0] == ends[2] - ends[1]);
        self.apart = if even { places } else { 1 };
        self.ends = vec![Ended::default(); self.parts.len()];
        for place in 0..places {
            for number in 0..self.len(place) {
                let at = self.ended_at(place, number);
                self.ends[at].sends = self.parts[(self.places[place as usize] + number) as usize].sends;
            }
        }
        // Each wait: the part that is waited for, and the number of the one that waits.
        let of: &Self = self;
        let pairs = || {
            let parts = (0..places).flat_map(|place| (0..of.len(place)).map(move |number| (place, number)));
            parts.flat_map(|(place, number)| {
                let waits = of.waits_of(of.places[place as usize] + number);
                waits.iter().map(move |wait| (of.ended_at(place, *wait), number))
            })
        };
        let mut ends = vec![0; of.parts.len()];
        pairs().for_each(|(before, _)| ends[before] += 1);
        let mut begin = 0;
        for end in &mut ends {
            (*end, begin) = (begin, begin + *end);
        }
        let mut frees = vec![0; of.waits.len()];
        for (before, after) in pairs() {
            frees[ends[before] as usize] = after;
            ends[before] += 1;
        }
        self.ends.iter_mut().zip(ends).for_each(|(ended, end)| ended.frees = end);
        self.frees = frees;
    }

    /// Parts of a place.
    pub fn len(&self, place: u32) -> u32 {
        self.places[place as usize + 1] - self.places[place as usize]
    }

    /// A part of a place, and those of this place that it waits for.
    pub fn get(&self, place: u32, number: u32) -> (Part, &[u32]) {
        let at = self.places[place as usize] + number;
        (self.parts[at as usize], self.waits_of(at))
    }

    fn waits_of(&self, at: u32) -> &[u32] {
        let begin = at.checked_sub(1).map_or(0, |before| self.parts[before as usize].waits);
        &self.waits[begin as usize..self.parts[at as usize].waits as usize]
    }

    fn ended_at(&self, place: u32, number: u32) -> usize {
        let first = if self.apart == 1 { self.places[place as usize] } else { place };
        (first + number * self.apart) as usize
    }

    /// Whether a part of a place sends, and those of this place that wait for it.
    pub fn frees(&self, place: u32, number: u32) -> (bool, &[u32]) {
        let at = self.ended_at(place, number);
        let begin = at.checked_sub(1).map_or(0, |before| self.ends[before].frees);
        let Ended { frees: end, sends } = self.ends[at];
        (sends, &self.frees[begin as usize..end as usize])
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
}

pub(super) struct Collectives<'a> {
    method: &'a Method<'a>,
    /// The members of groups, by place.
    groups: BTreeMap<u32, Arc<[u32]>>,
    /// What the bytes of an all-gather are: [`crate::Source::all_gather_of_all`].
    of_all: bool,
    all: Vec<Planned>,
    /// By group and the number of collectives before.
    numbers: HashMap<(u32, u32), u32>,
    plans: Vec<Parts>,
    /// The plan of an operation with so many ranks and bytes.
    known: HashMap<(Operation, u32, u64, bool), u32>,
    /// Tags so far.
    used: u32,
    /// Messages so far.
    messages: u64,
}

impl<'a> Collectives<'a> {
    pub fn new(method: &'a Method<'a>, groups: BTreeMap<u32, Arc<[u32]>>, of_all: bool) -> Self {
        Self {
            method,
            groups,
            of_all,
            all: Vec::new(),
            numbers: HashMap::new(),
            plans: Vec::new(),
            known: HashMap::new(),
            used: 0,
            messages: 0,
        }
    }

    /// Of each node of a rank that is a collective: the node, which collective, and the rank's place in it.
    pub fn of_rank<E>(&mut self, rank: u32, nodes: &[Node]) -> Result<Vec<(u64, u32, u32)>, Wrong<E>> {
        let mut counts: HashMap<u32, u32> = HashMap::new();
        let mut places: HashMap<u32, u32> = HashMap::new();
        let mut of = Vec::new();
        for node in nodes {
            let Kind::Collective { operation, bytes, group } = node.kind else { continue };
            let wrong = |what: String| Wrong::node(rank, node.id, what);
            let members = self.groups.get(&group);
            let members = members.ok_or_else(|| wrong(format!("names process group {group}, which is not defined")))?;
            let place = match places.get(&group) {
                Some(place) => *place,
                // In the group of all, each rank is at its own place.
                None if members.get(rank as usize) == Some(&rank) => *places.entry(group).or_insert(rank),
                None => {
                    let place = members.iter().position(|of| *of == rank).ok_or_else(|| {
                        wrong(format!("names process group {group}, to which rank {rank} does not belong"))
                    })?;
                    *places.entry(group).or_insert(place as u32)
                }
            };
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
            of.push((node.id, number, place));
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
        let key = (operation, ranks, total, self.method.pxn && self.has_whole_servers(&members));
        let number = match self.known.get(&key) {
            Some(number) => *number,
            None => {
                // So may a window or sizes be meant for others.
                let window = self.method.window.filter(|_| name == "direct");
                let sizes = self.method.sizes.filter(|_| operation == Operation::AllToAll);
                let method = Method { algorithm: fits, window, sizes, pxn: key.3, ..*self.method };
                self.plans.push(Parts::new(&plan(operation, ranks, total, &method)?, members.len()));
                *self.known.entry(key).or_insert(self.plans.len() as u32 - 1)
            }
        };
        let messages = self.plans[number as usize].parts.len() / 2;
        self.messages += messages as u64;
        if self.messages > MOST_MESSAGES {
            return Err(format!("is the one whose messages make more than {MOST_MESSAGES}, the most of a job"));
        }
        let tags = self.used;
        self.used = self.used.wrapping_add(messages as u32);
        let what = Collective { operation, algorithm: name, bytes: total, members, plan: number, tags };
        Ok(Planned { what, group, first, bytes, here: 0 })
    }

    /// Whether a group has all ranks of each of its servers, in order: only such a rank is there to pass messages on.
    fn has_whole_servers(&self, members: &[u32]) -> bool {
        let Some(server) = self.method.server.filter(|server| *server > 1) else { return false };
        let whole = |servers: &[u32]| {
            let first = servers[0];
            first.is_multiple_of(server) && (first..first + server).eq(servers.iter().copied())
        };
        members.len().is_multiple_of(server as usize) && members.chunks(server as usize).all(whole)
    }

    /// How many parts a collective has at a place.
    pub fn parts(&self, number: u32, place: u32) -> u32 {
        self.plans[self.all[number as usize].what.plan as usize].len(place)
    }

    /// Whether all ranks have come.
    pub fn complete<E>(&self) -> Result<(), Wrong<E>> {
        let missing = self.all.iter().find(|one| one.here as usize != one.what.members.len());
        missing.map_or(Ok(()), |one| {
            let (rank, id) = one.first;
            let (here, all) = (one.here, one.what.members.len());
            let what = format!("takes part in a collective of group {} to which {here} of {all} ranks come", one.group);
            Err(Wrong::node(rank, id, what))
        })
    }

    /// The first of these nodes whose tag may be that of a collective's message.
    pub fn tagged<'n>(&self, nodes: &'n [Node]) -> Option<&'n Node> {
        let tagged = |node: &&Node| match node.kind {
            Kind::Send { tag, .. } | Kind::Recv { tag, .. } => tag >= TAGS && tag != crate::ANY,
            _ => false,
        };
        nodes.iter().find(tagged).filter(|_| !self.all.is_empty())
    }

    /// The collectives, and the plans that they name.
    pub fn into_parts(self) -> (Vec<Collective>, Vec<Parts>) {
        (self.all.into_iter().map(|one| one.what).collect(), self.plans)
    }
}

/// The operation whose messages it has.
fn plain(operation: Operation) -> Operation {
    match operation {
        Operation::ReduceScatterBlock => Operation::ReduceScatter,
        other => other,
    }
}
