//! Checks before a run: the graphs run once without time, where nodes end at once and messages arrive at once.

use crate::problem::Place;
use crate::{Host, Kind, Message, Node, Operation, Problem, Rules, Source, Waiting, stuck};
use std::collections::{BTreeMap, HashMap};

/// What is wrong with the graphs of these ranks. What ends here ends in every network, since a network only delays it;
/// which of two concurrent sends of a pair with one tag comes first may differ, so their sizes should not.
///
/// # Errors
/// Of a source.
pub fn check<S: Source>(sources: &mut [S], rules: Rules, window: usize) -> Result<Vec<Problem>, S::Error> {
    let hosts = sources.iter().map(|_| Host::new(rules, window)).collect();
    let work = (0..sources.len()).rev().collect();
    let mut run = Run { hosts, work, problems: Vec::new(), counts: HashMap::new(), meetings: BTreeMap::new() };
    let mut node = Node::default();
    loop {
        while let Some(rank) = run.work.pop() {
            if let Some(id) = run.hosts[rank].fill(&mut sources[rank], &mut node)? {
                return Ok(vec![Problem::Duplicate((rank as u32, id))]);
            }
            let Some(at) = run.hosts[rank].take() else { continue };
            run.work.push(rank);
            run.go(rank, at, sources);
        }
        let mut more = false;
        for (rank, host) in run.hosts.iter_mut().enumerate() {
            if host.widen() {
                more = true;
                run.work.push(rank);
            }
        }
        if !more {
            break;
        }
    }
    run.missing();
    run.unreceived();
    // A problem that was found on the way is the reason for what is stuck behind it.
    if run.problems.iter().all(Problem::is_warning) {
        run.problems.extend(stuck(&run.hosts));
    }
    Ok(run.problems)
}

/// A collective of which some ranks have come.
struct Meeting {
    members: Vec<u32>,
    /// By rank: the place in its host, and its node.
    here: BTreeMap<u32, (u32, u64)>,
    first: (Place, Operation, u64),
}

struct Run {
    hosts: Vec<Host>,
    /// Ranks that may have something to do.
    work: Vec<usize>,
    problems: Vec<Problem>,
    /// Collectives so far, by rank and group.
    counts: HashMap<(u32, u32), u64>,
    /// By group and number.
    meetings: BTreeMap<(u32, u64), Meeting>,
}

impl Run {
    /// Starts a node and ends it, unless it waits for other ranks.
    fn go<S: Source>(&mut self, rank: usize, at: u32, sources: &[S]) {
        let ranks = self.hosts.len() as u32;
        let Waiting { id, kind, .. } = self.hosts[rank].node(at);
        let node = (rank as u32, id);
        if let Kind::Send { to: peer, .. } | Kind::Recv { from: peer, .. } = kind {
            if peer == node.0 {
                self.problems.push(Problem::ToItself(node));
            } else if peer >= ranks && peer != crate::ANY {
                self.problems.push(Problem::NoRank { node, peer, ranks });
            }
        }
        let message = self.hosts[rank].start(at);
        match kind {
            Kind::Delay { .. } => self.hosts[rank].end(at),
            Kind::Send { to, bytes, tag } => {
                self.hosts[rank].end(at);
                let Some(host) = self.hosts.get_mut(to as usize) else { return };
                if let Some((receive, expected)) = host.arrive(Message { from: node.0, tag, bytes, token: id }) {
                    self.sizes(node, bytes, (to, receive), expected);
                    self.work.push(to as usize);
                }
            }
            Kind::Recv { bytes, .. } => {
                if let Some(message) = message {
                    self.sizes((message.from, message.token), message.bytes, node, bytes);
                }
            }
            Kind::Collective { operation, bytes, group } => {
                self.meet(node, at, (operation, bytes, group), sources[rank].members(group));
            }
        }
    }

    fn sizes(&mut self, send: Place, sent: u64, receive: Place, expected: u64) {
        if sent != expected {
            self.problems.push(Problem::Sizes { send, sent, receive, expected });
        }
    }

    fn meet(&mut self, node: Place, at: u32, what: (Operation, u64, u32), members: Option<&[u32]>) {
        let (rank, (operation, bytes, group)) = (node.0, what);
        let members = match (group, members) {
            (0, None) => (0..self.hosts.len() as u32).collect(),
            (_, Some(members)) => members.to_vec(),
            (_, None) => return self.problems.push(Problem::NoGroup { node, group }),
        };
        if !members.contains(&rank) {
            return self.problems.push(Problem::NotInGroup { node, group });
        }
        let count = self.counts.entry((rank, group)).or_default();
        let number = *count;
        *count += 1;
        let first = (node, operation, bytes);
        let new = || Meeting { members, here: BTreeMap::new(), first };
        let meeting = self.meetings.entry((group, number)).or_insert_with(new);
        if (meeting.first.1, meeting.first.2) != (operation, bytes) {
            self.problems.push(Problem::Differ { number, group, sides: [meeting.first, first] });
        }
        meeting.here.insert(rank, (at, node.1));
        if meeting.here.len() == meeting.members.len() {
            for (rank, (at, _)) in core::mem::take(&mut meeting.here) {
                self.hosts[rank as usize].end(at);
                self.work.push(rank as usize);
            }
            self.meetings.remove(&(group, number));
        }
    }

    /// Collectives to which a rank never comes.
    fn missing(&mut self) {
        for ((group, number), meeting) in &self.meetings {
            let comes = |rank: &u32| match self.hosts.get(*rank as usize) {
                Some(host) => {
                    host.unfinished().iter().any(|n| matches!(n.kind, Kind::Collective { group: g, .. } if g == *group))
                }
                None => false,
            };
            let absent = meeting.members.iter().find(|rank| !meeting.here.contains_key(rank) && !comes(rank));
            let (node, group, number) = (meeting.first.0, *group, *number);
            self.problems.extend(absent.map(|rank| Problem::Missing { node, number, group, rank: *rank }));
        }
    }

    /// Messages that no receive took.
    fn unreceived(&mut self) {
        for (to, host) in self.hosts.iter().enumerate() {
            let unreceived = |Message { from, tag, bytes, token }: Message| Problem::NoReceive {
                node: (from, token),
                to: to as u32,
                tag,
                bytes,
            };
            // Those for a receive that has not been posted are no problem of their own.
            let waits = host.unfinished().iter().any(|node| matches!(node.kind, Kind::Recv { .. }));
            if !waits {
                self.problems.extend(host.early().into_iter().map(unreceived));
            }
        }
    }
}
