//! Graphs of work in a partition: the ranks whose hosts are here, driven by what arrives, by ACKs, and by time.
//!
//! At an instant of a host, what the network delivers comes first, in the network's order, then delays that end, by
//! number of node, and then everything that is ready is started, by number, until nothing is: sends are posted in this
//! order. A send ends with its last ACK, a receive when it is posted and its message has arrived completely, and a
//! collective at a rank with the last of its receives there, or of its sends where it has no receives. Nothing here
//! acts on another host, so a network may be cut; but where sends end as their messages arrive.

use crate::graph_records::{CollectiveRecord, GraphRecords, RankRecord};
use fanin_graph::critical::{NEVER, Ran};
use fanin_graph::job::{PartsAt, SendEnds, Step};
use fanin_graph::{Host, Job, Kind, Message, Next, UnderWay};
use fanin_units::Time;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::sync::Arc;

/// A job in a network.
#[derive(Clone, Debug)]
pub struct Placed {
    /// The traffic to which its messages belong: all those with [`crate::Message::sent_by`].
    pub traffic: u16,
    /// When it begins.
    pub start: Time,
    /// What it does.
    pub job: Arc<Job>,
    /// The host of each rank. Ranks that exchange messages have different hosts.
    pub hosts: Arc<[u32]>,
}

/// No rank, message or place.
const NONE: u32 = u32::MAX;
/// Ranks whose nodes are read together at the end, a few lines of the cache at a time.
const TOGETHER: usize = 16;

/// The ranks of a partition.
pub(crate) struct Graphs {
    shared: Shared,
    /// Job of each traffic, or [`NONE`].
    of_traffic: Vec<u32>,
    /// By job and rank: its place in `ranks`, or [`NONE`] elsewhere.
    place_of: Vec<Vec<u32>>,
    ranks: Vec<Rank>,
    /// The messages that leave or arrive here, by the numbers by which they are known.
    sent: Vec<Sent>,
    /// Ranks with something new at the instant `due_at`.
    due: Vec<u32>,
    due_at: Time,
    /// No node starts any more.
    stopped: bool,
    /// Ranks with unfinished nodes.
    open: usize,
}

/// What the ranks have in common.
struct Shared {
    jobs: Vec<Placed>,
    /// The nodes of all ranks, each where its rank [has it](Nodes::at).
    nodes: Vec<NodeState>,
    /// Delays under way, by end, rank and node, and jobs that have yet to begin, as node [`NONE`].
    timers: BinaryHeap<Reverse<(Time, u32, u32)>>,
    /// Messages to post at this instant.
    posts: Vec<u32>,
}

/// A node. Two share a line of the cache.
#[derive(Clone, Copy)]
#[repr(align(32))]
struct NodeState {
    ran: Ran,
    /// Of a node of its own that is under way, the place in the host; of one that sends, before that, the message.
    known: u32,
}

/// Where the nodes of a rank are.
#[derive(Clone, Copy)]
struct Nodes {
    first: usize,
    apart: usize,
    len: usize,
}

impl Nodes {
    /// Those of ranks of so many nodes, from a place on. Ranks advance together, so the nodes of one number lie side by
    /// side, unless most ranks have far fewer than one. Returns the end of all, too.
    fn of(lens: &[usize], begin: usize) -> (Vec<Self>, usize) {
        let (most, total) = (lens.iter().copied().max().unwrap_or(0), lens.iter().sum::<usize>());
        let (ranks, mut next) = (lens.len(), begin);
        let even = ranks * most <= 2 * total;
        let place = |len: &usize| {
            let one = Self { first: next, apart: if even { ranks } else { 1 }, len: *len };
            next += if even { 1 } else { *len };
            one
        };
        let places = lens.iter().map(place).collect();
        (places, begin + if even { ranks * most } else { total })
    }

    fn at(self, node: u32) -> usize {
        self.first + node as usize * self.apart
    }
}

/// A message of a job.
#[derive(Clone, Copy)]
struct Sent {
    job: u32,
    /// The rank and the node that send it.
    from: (u32, u32),
    /// The rank that receives it.
    to: u32,
    /// The collective of which it is a part, and its number among the parts of the receiver; of others, [`NONE`].
    collective: u32,
    there: u32,
}

impl Sent {
    fn is_part(self) -> bool {
        self.there != NONE
    }
}

/// What most events need comes first.
#[repr(C)]
struct Rank {
    /// The collectives that have started and of which parts have not ended, in the order of their numbers.
    under_way: Vec<(u32, UnderWay)>,
    nodes: Nodes,
    /// Nodes that have not ended.
    left: usize,
    is_due: bool,
    /// Its nodes, but the parts of collectives.
    host: Host,
    /// Parts whose messages arrived before their collective started here, with the rank and the node that sent them, by
    /// collective.
    early: BTreeMap<u32, Vec<(u32, u32, u32)>>,
    /// Computations, and sends, receives and collectives under way, and since when.
    computing: u32,
    communicating: u32,
    since: Time,
    record: RankRecord,
    collectives: Vec<CollectiveRecord>,
}

impl Graphs {
    /// The ranks of these jobs whose hosts are here.
    pub fn new(jobs: Vec<Placed>, is_here: impl Fn(u32) -> bool) -> Self {
        let traffics = jobs.iter().map(|placed| usize::from(placed.traffic) + 1).max().unwrap_or(0);
        let (mut of_traffic, mut place_of) = (vec![NONE; traffics], Vec::new());
        let (mut ranks, mut timers, mut nodes) = (Vec::new(), BinaryHeap::new(), 0);
        for (number, placed) in (0..).zip(&jobs) {
            of_traffic[usize::from(placed.traffic)] = number;
            let mut places = vec![NONE; placed.hosts.len()];
            let here = (0..).zip(&*placed.hosts).filter(|(_, host)| is_here(**host)).map(|(rank, _)| rank);
            let here: Vec<u32> = here.collect();
            let lens: Vec<usize> = here.iter().map(|rank| placed.job.ranks[*rank as usize].len()).collect();
            let (of_ranks, end) = Nodes::of(&lens, nodes);
            nodes = end;
            for (rank, of_rank) in here.into_iter().zip(of_ranks) {
                let place = ranks.len() as u32;
                places[rank as usize] = place;
                timers.push(Reverse((placed.start, place, NONE)));
                ranks.push(Rank::new(placed, number, rank, of_rank));
            }
            place_of.push(places);
        }
        let nodes = vec![NodeState { ran: Ran::NOT, known: NONE }; nodes];
        Self {
            shared: Shared { jobs, nodes, timers, posts: Vec::new() },
            of_traffic,
            place_of,
            open: ranks.iter().filter(|rank| rank.left > 0).count(),
            ranks,
            sent: Vec::new(),
            due: Vec::new(),
            due_at: Time::NEVER,
            stopped: false,
        }
    }

    /// Whether the messages of a traffic are sent by nodes.
    pub fn has(&self, traffic: u16) -> bool {
        self.of_traffic.get(usize::from(traffic)).is_some_and(|job| *job != NONE)
    }

    /// A message of a traffic has been loaded, which this rank's node sends. Returns by which number it is known here.
    pub fn load(&mut self, message: u32, traffic: u16, (rank, node): (u32, u32)) -> u32 {
        let job = self.of_traffic[usize::from(traffic)];
        let place = self.place_of[job as usize][rank as usize];
        if let Some(rank) = self.ranks.get_mut(place as usize) {
            self.shared.nodes[rank.nodes.at(node)].known = message;
        }
        let step = self.shared.jobs[job as usize].job.step(rank, node);
        let Kind::Send { to, .. } = step.kind else { unreachable!("only sends have messages") };
        self.sent.push(Sent { job, from: (rank, node), to, collective: step.collective, there: step.there });
        self.sent.len() as u32 - 1
    }

    /// A message that was [loaded](Self::load) has arrived completely.
    pub fn arrived(&mut self, number: u32, now: Time) {
        let sent = self.sent[number as usize];
        let Sent { job, from: (from, node), to, collective, there } = sent;
        let place = self.place_of[job as usize][to as usize];
        let rank = &mut self.ranks[place as usize];
        let done = if sent.is_part() {
            rank.part_arrives(collective, there, (from, node), now, &mut self.shared)
        } else {
            let Kind::Send { bytes, tag, .. } = self.shared.jobs[job as usize].job.step(from, node).kind else {
                return;
            };
            rank.arrive(Message { from, tag, bytes, token: u64::from(node) }, now, &mut self.shared)
        };
        self.open -= usize::from(done);
        self.make_due(place, now);
        if self.shared.jobs[job as usize].job.send_ends == SendEnds::Arrived {
            self.send_ended(number, now);
        }
    }

    /// The sender of a message that was [loaded](Self::load) knows that it has arrived.
    pub fn acked(&mut self, number: u32, now: Time) {
        if self.shared.jobs[self.sent[number as usize].job as usize].job.send_ends == SendEnds::Acked {
            self.send_ended(number, now);
        }
    }

    fn send_ended(&mut self, number: u32, now: Time) {
        let sent = self.sent[number as usize];
        let Sent { job, from: (rank, node), collective, .. } = sent;
        let place = self.place_of[job as usize][rank as usize];
        let rank = &mut self.ranks[place as usize];
        let done = match sent.is_part() {
            true => rank.part_over(collective, node, now, &mut self.shared),
            false => rank.end(node, now, &mut self.shared),
        };
        self.open -= usize::from(done);
        self.make_due(place, now);
    }

    fn make_due(&mut self, place: u32, now: Time) {
        let rank = &mut self.ranks[place as usize];
        if !rank.is_due && !self.stopped {
            rank.is_due = true;
            self.due.push(place);
            self.due_at = now;
        }
    }

    /// When the next node may start or end by itself, once all that the network delivers at that instant is here.
    pub fn next_at(&self) -> Time {
        match self.shared.timers.peek() {
            _ if self.stopped => Time::NEVER,
            _ if !self.due.is_empty() => self.due_at,
            Some(Reverse((at, ..))) => *at,
            None => Time::NEVER,
        }
    }

    /// Ends the delays that are over and starts what is ready, at [`Self::next_at`]. The messages to post now are
    /// [taken](Self::next_post) then.
    pub fn step(&mut self, now: Time) {
        while let Some(Reverse((at, place, node))) = self.shared.timers.peek().copied()
            && at <= now
        {
            self.shared.timers.pop();
            if node != NONE {
                self.open -= usize::from(self.ranks[place as usize].end(node, now, &mut self.shared));
            }
            self.make_due(place, now);
        }
        let mut due = core::mem::take(&mut self.due);
        due.sort_unstable();
        for place in due.drain(..) {
            let rank = &mut self.ranks[place as usize];
            rank.is_due = false;
            let done = rank.run(now, place, &mut self.shared);
            self.open -= usize::from(done);
        }
        self.due = due;
        // The first to be posted is the last in the list.
        self.shared.posts.reverse();
    }

    /// The next message to post at this instant.
    pub fn next_post(&mut self) -> Option<u32> {
        self.shared.posts.pop()
    }

    /// From now on no node starts.
    pub fn stop(&mut self) {
        self.stopped = true;
        self.due.clear();
    }

    /// Whether all nodes of these ranks have ended.
    pub fn is_done(&self) -> bool {
        self.open == 0
    }

    /// What the ranks did up to now, and their unfinished nodes.
    pub fn take_records(&mut self, now: Time, into: &mut GraphRecords) {
        let nodes = std::mem::take(&mut self.shared.nodes);
        let first = into.ran.len();
        into.ran.extend(self.ranks.chunks(TOGETHER).flat_map(|ranks| ran_of(ranks, &nodes)));
        drop(nodes);
        for (mut rank, ran) in self.ranks.drain(..).zip(&into.ran[first..]) {
            if rank.left > 0 {
                rank.pass(now);
            }
            into.hosts.push(rank.unfinished(ran, &self.shared.jobs[rank.record.job as usize].job));
            into.collectives.extend(rank.collectives);
            into.ranks.push(RankRecord { unfinished: rank.left as u64, ..rank.record });
        }
    }
}

/// When the nodes of some ranks ran.
fn ran_of(ranks: &[Rank], nodes: &[NodeState]) -> Vec<Vec<Ran>> {
    let mut ran: Vec<Vec<Ran>> = ranks.iter().map(|rank| Vec::with_capacity(rank.nodes.len)).collect();
    for node in 0..ranks.iter().map(|rank| rank.nodes.len).max().unwrap_or(0) {
        for (rank, ran) in ranks.iter().zip(&mut ran).filter(|(rank, _)| node < rank.nodes.len) {
            ran.push(nodes[rank.nodes.at(node as u32)].ran);
        }
    }
    ran
}

/// A collective at a rank, which ends with its parts: these meet those of other ranks, not the collective itself.
fn alone(mut step: Step<'_>) -> Step<'_> {
    if let Kind::Collective { .. } = step.kind {
        step.kind = Kind::Delay { ns: 0 };
    }
    step
}

impl Rank {
    fn new(placed: &Placed, job: u32, rank: u32, nodes: Nodes) -> Self {
        let mut host = Host::new(placed.job.rules(), usize::MAX);
        placed.job.own_steps(rank).for_each(|step| host.add_step(&alone(step)));
        Self {
            host,
            nodes,
            left: nodes.len,
            under_way: Vec::new(),
            early: BTreeMap::new(),
            is_due: false,
            computing: 0,
            communicating: 0,
            since: placed.start,
            record: RankRecord::new(job, rank, placed.start),
            collectives: Vec::new(),
        }
    }

    /// Starts what is ready until nothing is. Returns whether the last node ended.
    fn run(&mut self, now: Time, place: u32, shared: &mut Shared) -> bool {
        let mut done = false;
        let mut over = Vec::new();
        loop {
            while let Some(next) = self.host.take_next() {
                let at = match next {
                    Next::Node(at) => at,
                    Next::Queued(node) => {
                        done |= self.start_part(node, now, shared);
                        continue;
                    }
                };
                let node = self.host.node(at).id as u32;
                let Shared { jobs, nodes, timers, posts } = &mut *shared;
                let job = &jobs[self.record.job as usize].job;
                let step = job.step(self.record.rank, node);
                self.count(&step, now, 1);
                let state = &mut nodes[self.nodes.at(node)];
                state.ran.start = now.as_ps();
                let message_to_send = core::mem::replace(&mut state.known, at);
                let message = self.host.start(at);
                match step.kind {
                    Kind::Delay { ns: 0 } => over.push(node),
                    Kind::Delay { ns } => {
                        let end = now.saturating_add(Time::from_ps(ns.saturating_mul(1000)));
                        timers.push(Reverse((end, place, node)));
                    }
                    Kind::Send { .. } => posts.extend(Some(message_to_send).filter(|message| *message != NONE)),
                    Kind::Recv { .. } => {
                        done |= message.is_some_and(|message| self.received(node, message, now, shared));
                    }
                    Kind::Collective { .. } if self.enter(&step, now, job, nodes) => over.push(node),
                    Kind::Collective { .. } => {}
                }
            }
            if over.is_empty() {
                return done;
            }
            for node in over.drain(..) {
                done |= self.end(node, now, shared);
            }
        }
    }

    /// A collective starts: its receives start, and what can be done now is queued. Returns whether it has no parts.
    fn enter(&mut self, step: &Step<'_>, now: Time, job: &Job, nodes: &mut [NodeState]) -> bool {
        let Some(parts) = job.parts(self.record.rank, step.number) else { return true };
        let (one, first) = (UnderWay::new(&parts), step.number + 1);
        let early = self.early.remove(&step.collective).unwrap_or_default();
        for (part, rank, node) in early {
            nodes[self.nodes.at(first + part)].ran.from = (rank, node);
            self.host.queue(first + part);
        }
        for part in 0..parts.len() {
            let (sends, waits) = parts.waits(part);
            if !sends {
                nodes[self.nodes.at(first + part)].ran.start = now.as_ps();
            } else if waits == 0 {
                self.host.queue(first + part);
            }
        }
        let none = one.has_ended();
        if !none {
            let at = self.under_way.partition_point(|(collective, _)| *collective < step.collective);
            self.under_way.insert(at, (step.collective, one));
        }
        none
    }

    /// A part's turn is: a send's message is posted, and a receive's is here already.
    fn start_part(&mut self, node: u32, now: Time, shared: &mut Shared) -> bool {
        let state = &mut shared.nodes[self.nodes.at(node)];
        // Receives have started with their collective.
        if state.ran.start != NEVER {
            let collective = shared.jobs[self.record.job as usize].job.step(self.record.rank, node).collective;
            return self.part_over(collective, node, now, shared);
        }
        state.ran.start = now.as_ps();
        shared.posts.extend(Some(state.known).filter(|message| *message != NONE));
        false
    }

    /// Where a collective is among those under way.
    fn place_of(&self, collective: u32) -> Option<usize> {
        self.under_way.binary_search_by_key(&collective, |(number, _)| *number).ok()
    }

    /// The node of a part under way has ended. Returns whether it was the last of all nodes.
    fn part_over(&mut self, collective: u32, node: u32, now: Time, shared: &mut Shared) -> bool {
        let Some(at) = self.place_of(collective) else { return false };
        let part = node - self.under_way[at].1.node - 1;
        self.part_ended(at, part, now, shared)
    }

    /// The message of a part has arrived from this node of another rank. Returns whether the last node ended.
    fn part_arrives(&mut self, collective: u32, part: u32, from: (u32, u32), now: Time, shared: &mut Shared) -> bool {
        let Some(at) = self.place_of(collective) else {
            self.early.entry(collective).or_default().push((part, from.0, from.1));
            return false;
        };
        shared.nodes[self.nodes.at(self.under_way[at].1.node + 1 + part)].ran.from = from;
        self.part_ended(at, part, now, shared)
    }

    /// A part of a collective under way has ended: queues what waited for it alone. Returns whether it was the last of
    /// all nodes.
    fn part_ended(&mut self, at: usize, part: u32, now: Time, shared: &mut Shared) -> bool {
        self.left -= 1;
        let one = &mut self.under_way[at].1;
        let (node, first) = (one.node, one.node + 1);
        shared.nodes[self.nodes.at(first + part)].ran.end = now.as_ps();
        let job = &shared.jobs[self.record.job as usize].job;
        let ended = one.end(part, job, |part| self.host.queue(first + part));
        if one.is_over() {
            self.under_way.remove(at);
        }
        if ended {
            self.end(node, now, shared);
        }
        self.left == 0
    }

    /// The rank as it stopped, with all parts that have not ended as nodes; nothing of one that has done all.
    fn unfinished(&mut self, ran: &[Ran], job: &Job) -> Host {
        if self.left == 0 {
            return Host::new(job.rules(), 0);
        }
        let waiting = self.host.unfinished().into_iter().map(|waiting| waiting.id as u32);
        let not_started = waiting.filter(|node| ran[*node as usize].start == NEVER);
        let nodes: Vec<u32> = not_started.chain(self.under_way.iter().map(|(_, one)| one.node)).collect();
        for part in nodes.into_iter().filter_map(|node| job.parts(self.record.rank, node)).flat_map(PartsAt::steps) {
            match ran[part.number as usize].has_ended() {
                true => self.host.ended_before(part.number),
                false => self.host.add_step(&part),
            }
        }
        while let Some(next) = self.host.take_next() {
            if let Next::Node(at) = next
                && ran[self.host.node(at).id as usize].start != NEVER
            {
                self.host.start(at);
            }
        }
        std::mem::replace(&mut self.host, Host::new(job.rules(), 0))
    }

    /// Accounts for the time since the last change, then for a node that starts or ends.
    fn count(&mut self, step: &Step<'_>, now: Time, change: i32) {
        self.pass(now);
        let counted = match step.kind {
            Kind::Delay { ns: 0 } => return,
            Kind::Delay { .. } => &mut self.computing,
            _ => &mut self.communicating,
        };
        *counted = counted.wrapping_add_signed(change);
    }

    /// Accounts for the time since the last change.
    fn pass(&mut self, now: Time) {
        let passed = now.saturating_sub(self.since);
        self.since = now;
        let record = &mut self.record;
        if self.computing > 0 {
            record.computing += passed;
        }
        if self.communicating > 0 {
            record.communicating += passed;
        }
        if self.communicating > 0 && self.computing == 0 {
            record.waiting += passed;
        }
    }

    /// A node of its own that is under way has ended. Returns whether it was the last.
    fn end(&mut self, node: u32, now: Time, shared: &mut Shared) -> bool {
        self.host.end(shared.nodes[self.nodes.at(node)].known);
        self.ended(node, now, shared)
    }

    /// As above, where the host knows it.
    fn ended(&mut self, node: u32, now: Time, shared: &mut Shared) -> bool {
        let (job, rank) = (self.record.job, self.record.rank);
        let step = shared.jobs[job as usize].job.step(rank, node);
        self.count(&step, now, -1);
        self.record.finish = now;
        self.left -= 1;
        let ran = &mut shared.nodes[self.nodes.at(node)].ran;
        ran.end = now.as_ps();
        let start = Time::from_ps(ran.start);
        if let Kind::Collective { .. } = step.kind {
            self.collectives.push(CollectiveRecord { job, collective: step.collective, rank, start, end: now });
        }
        self.left == 0
    }

    fn arrive(&mut self, message: Message, now: Time, shared: &mut Shared) -> bool {
        self.host.arrive(message).is_some_and(|(node, _)| self.received(node as u32, message, now, shared))
    }

    /// A receive has ended with this message.
    fn received(&mut self, node: u32, message: Message, now: Time, shared: &mut Shared) -> bool {
        shared.nodes[self.nodes.at(node)].ran.from = (message.from, message.token as u32);
        self.ended(node, now, shared)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The place of each node, by rank and number; all lie between `begin` and the end, which is returned.
    fn places(lens: &[usize], begin: usize) -> (Vec<Vec<usize>>, usize) {
        let (ranks, end) = Nodes::of(lens, begin);
        let all: Vec<Vec<usize>> =
            ranks.iter().map(|of| (0..of.len as u32).map(|node| of.at(node)).collect()).collect();
        let mut seen: Vec<usize> = all.concat();
        seen.sort_unstable();
        seen.dedup();
        assert_eq!(seen.len(), lens.iter().sum::<usize>(), "no two nodes at one place");
        assert!(seen.iter().all(|place| (begin..end).contains(place)));
        (all, end)
    }

    #[test]
    fn nodes_of_one_number_lie_side_by_side_unless_that_takes_twice_the_room() {
        assert_eq!(places(&[3, 2, 3], 10), (vec![vec![10, 13, 16], vec![11, 14], vec![12, 15, 18]], 19));
        assert_eq!(places(&[1, 5, 1], 10), (vec![vec![10], vec![11, 12, 13, 14, 15], vec![16]], 17));
        assert_eq!(places(&[0, 0], 10), (vec![vec![], vec![]], 10));
        assert_eq!(places(&[], 10), (vec![], 10));
    }
}
