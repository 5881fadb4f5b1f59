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

/// The ranks of a partition.
pub(crate) struct Graphs {
    jobs: Vec<Placed>,
    /// Job of each traffic, or [`NONE`].
    of_traffic: Vec<u32>,
    /// By job and rank: its place in `ranks`, or [`NONE`] elsewhere.
    place_of: Vec<Vec<u32>>,
    ranks: Vec<Rank>,
    /// The messages that leave or arrive here, by the numbers by which they are known.
    sent: Vec<Sent>,
    /// Delays under way, by end, rank and node, and jobs that have yet to begin, as node [`NONE`].
    timers: BinaryHeap<Reverse<(Time, u32, u32)>>,
    /// Ranks with something new at the instant `due_at`.
    due: Vec<u32>,
    due_at: Time,
    /// Messages to post at this instant.
    posts: Vec<u32>,
    /// No node starts any more.
    stopped: bool,
    /// Ranks with unfinished nodes.
    open: usize,
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
    /// When its nodes ran, by number.
    ran: Vec<Ran>,
    /// Nodes that have not ended.
    left: usize,
    is_due: bool,
    /// Its nodes, but the parts of collectives.
    host: Host,
    /// Of a node of its own that is under way, the place in the host; of one that sends, before that, the message.
    known: Vec<u32>,
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
        let mut graphs = Self {
            of_traffic: vec![NONE; traffics],
            place_of: Vec::new(),
            ranks: Vec::new(),
            sent: Vec::new(),
            timers: BinaryHeap::new(),
            due: Vec::new(),
            due_at: Time::NEVER,
            posts: Vec::new(),
            stopped: false,
            open: 0,
            jobs: Vec::new(),
        };
        for (number, placed) in (0..).zip(&jobs) {
            graphs.of_traffic[usize::from(placed.traffic)] = number;
            let mut places = Vec::with_capacity(placed.hosts.len());
            for (rank, host) in (0..).zip(&*placed.hosts) {
                places.push(if is_here(*host) { graphs.ranks.len() as u32 } else { NONE });
                if is_here(*host) {
                    let rank = Rank::new(placed, number, rank);
                    graphs.open += usize::from(rank.left > 0);
                    graphs.timers.push(Reverse((placed.start, graphs.ranks.len() as u32, NONE)));
                    graphs.ranks.push(rank);
                }
            }
            graphs.place_of.push(places);
        }
        graphs.jobs = jobs;
        graphs
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
            rank.known[node as usize] = message;
        }
        let step = self.jobs[job as usize].job.step(rank, node);
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
            rank.part_arrives(collective, there, (from, node), now, &self.jobs)
        } else {
            let Kind::Send { bytes, tag, .. } = self.jobs[job as usize].job.step(from, node).kind else { return };
            rank.arrive(Message { from, tag, bytes, token: u64::from(node) }, now, &self.jobs)
        };
        self.open -= usize::from(done);
        self.make_due(place, now);
        if self.jobs[job as usize].job.send_ends == SendEnds::Arrived {
            self.send_ended(number, now);
        }
    }

    /// The sender of a message that was [loaded](Self::load) knows that it has arrived.
    pub fn acked(&mut self, number: u32, now: Time) {
        if self.jobs[self.sent[number as usize].job as usize].job.send_ends == SendEnds::Acked {
            self.send_ended(number, now);
        }
    }

    fn send_ended(&mut self, number: u32, now: Time) {
        let sent = self.sent[number as usize];
        let Sent { job, from: (rank, node), collective, .. } = sent;
        let place = self.place_of[job as usize][rank as usize];
        let rank = &mut self.ranks[place as usize];
        let done = match sent.is_part() {
            true => rank.part_over(collective, node, now, &self.jobs),
            false => rank.end(node, now, &self.jobs),
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
        match self.timers.peek() {
            _ if self.stopped => Time::NEVER,
            _ if !self.due.is_empty() => self.due_at,
            Some(Reverse((at, ..))) => *at,
            None => Time::NEVER,
        }
    }

    /// Ends the delays that are over and starts what is ready, at [`Self::next_at`]. The messages to post now are
    /// [taken](Self::next_post) then.
    pub fn step(&mut self, now: Time) {
        while let Some(Reverse((at, place, node))) = self.timers.peek().copied()
            && at <= now
        {
            self.timers.pop();
            if node != NONE {
                self.open -= usize::from(self.ranks[place as usize].end(node, now, &self.jobs));
            }
            self.make_due(place, now);
        }
        let mut due = core::mem::take(&mut self.due);
        due.sort_unstable();
        for place in due.drain(..) {
            let rank = &mut self.ranks[place as usize];
            rank.is_due = false;
            let done = rank.run(now, place, &self.jobs, &mut self.timers, &mut self.posts);
            self.open -= usize::from(done);
        }
        self.due = due;
        // The first to be posted is the last in the list.
        self.posts.reverse();
    }

    /// The next message to post at this instant.
    pub fn next_post(&mut self) -> Option<u32> {
        self.posts.pop()
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
        for mut rank in self.ranks.drain(..) {
            if rank.left > 0 {
                rank.pass(now);
            }
            into.hosts.push(rank.unfinished(&self.jobs));
            into.ran.push(rank.ran);
            into.collectives.extend(rank.collectives);
            into.ranks.push(RankRecord { unfinished: rank.left as u64, ..rank.record });
        }
    }
}

/// A collective at a rank, which ends with its parts: these meet those of other ranks, not the collective itself.
fn alone(mut step: Step<'_>) -> Step<'_> {
    if let Kind::Collective { .. } = step.kind {
        step.kind = Kind::Delay { ns: 0 };
    }
    step
}

impl Rank {
    fn new(placed: &Placed, job: u32, rank: u32) -> Self {
        let nodes = placed.job.ranks[rank as usize].len();
        let mut host = Host::new(placed.job.rules(), usize::MAX);
        placed.job.own_steps(rank).for_each(|step| host.add_step(&alone(step)));
        Self {
            host,
            ran: vec![Ran::NOT; nodes],
            known: vec![NONE; nodes],
            left: nodes,
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
    fn run(
        &mut self,
        now: Time,
        place: u32,
        jobs: &[Placed],
        timers: &mut BinaryHeap<Reverse<(Time, u32, u32)>>,
        posts: &mut Vec<u32>,
    ) -> bool {
        let mut done = false;
        let mut over = Vec::new();
        loop {
            while let Some(next) = self.host.take_next() {
                let job = &jobs[self.record.job as usize].job;
                let at = match next {
                    Next::Node(at) => at,
                    Next::Queued(node) => {
                        done |= self.start_part(node, now, posts, jobs);
                        continue;
                    }
                };
                let node = self.host.node(at).id as u32;
                let step = job.step(self.record.rank, node);
                self.begin(&step, now);
                let message = self.host.start(at);
                let message_to_send = core::mem::replace(&mut self.known[node as usize], at);
                match step.kind {
                    Kind::Delay { ns: 0 } => over.push(node),
                    Kind::Delay { ns } => {
                        let end = now.saturating_add(Time::from_ps(ns.saturating_mul(1000)));
                        timers.push(Reverse((end, place, node)));
                    }
                    Kind::Send { .. } => posts.extend(Some(message_to_send).filter(|message| *message != NONE)),
                    Kind::Recv { .. } => {
                        done |= message.is_some_and(|message| self.received(node, message, now, jobs));
                    }
                    Kind::Collective { .. } if self.enter(&step, now, job) => over.push(node),
                    Kind::Collective { .. } => {}
                }
            }
            if over.is_empty() {
                return done;
            }
            for node in over.drain(..) {
                done |= self.end(node, now, jobs);
            }
        }
    }

    /// A collective starts: its receives start, and what can be done now is queued. Returns whether it has no parts.
    fn enter(&mut self, step: &Step<'_>, now: Time, job: &Job) -> bool {
        let Some(parts) = job.parts(self.record.rank, step.number) else { return true };
        let (one, first) = (UnderWay::new(&parts), step.number + 1);
        let early = self.early.remove(&step.collective).unwrap_or_default();
        for (part, rank, node) in early {
            self.ran[(first + part) as usize].from = (rank, node);
            self.host.queue(first + part);
        }
        for part in 0..parts.len() {
            let (sends, _) = parts.waits(part);
            if !sends {
                self.ran[(first + part) as usize].start = now.as_ps();
            } else if one.is_free(part) {
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
    fn start_part(&mut self, node: u32, now: Time, posts: &mut Vec<u32>, jobs: &[Placed]) -> bool {
        let start = &mut self.ran[node as usize].start;
        // Receives have started with their collective.
        if *start != NEVER {
            let step = jobs[self.record.job as usize].job.step(self.record.rank, node);
            return self.part_over(step.collective, node, now, jobs);
        }
        *start = now.as_ps();
        posts.extend(Some(self.known[node as usize]).filter(|message| *message != NONE));
        false
    }

    /// Where a collective is among those under way.
    fn place_of(&self, collective: u32) -> Option<usize> {
        self.under_way.binary_search_by_key(&collective, |(number, _)| *number).ok()
    }

    /// The node of a part under way has ended. Returns whether it was the last of all nodes.
    fn part_over(&mut self, collective: u32, node: u32, now: Time, jobs: &[Placed]) -> bool {
        let Some(at) = self.place_of(collective) else { return false };
        let part = node - self.under_way[at].1.node - 1;
        self.part_ended(at, part, now, jobs)
    }

    /// The message of a part has arrived from this node of another rank. Returns whether the last node ended.
    fn part_arrives(&mut self, collective: u32, part: u32, from: (u32, u32), now: Time, jobs: &[Placed]) -> bool {
        let Some(at) = self.place_of(collective) else {
            self.early.entry(collective).or_default().push((part, from.0, from.1));
            return false;
        };
        self.ran[(self.under_way[at].1.node + 1 + part) as usize].from = from;
        self.part_ended(at, part, now, jobs)
    }

    /// A part of a collective under way has ended: queues what waited for it alone. Returns whether it was the last of
    /// all nodes.
    fn part_ended(&mut self, at: usize, part: u32, now: Time, jobs: &[Placed]) -> bool {
        self.left -= 1;
        let one = &mut self.under_way[at].1;
        let (node, first) = (one.node, one.node + 1);
        self.ran[(first + part) as usize].end = now.as_ps();
        let job = &jobs[self.record.job as usize].job;
        let ended = one.end(part, job, |part| self.host.queue(first + part));
        if one.is_over() {
            self.under_way.remove(at);
        }
        if ended {
            self.end(node, now, jobs);
        }
        self.left == 0
    }

    /// The rank as it stopped, with all parts that have not ended as nodes; nothing of one that has done all.
    fn unfinished(&mut self, jobs: &[Placed]) -> Host {
        let job = &jobs[self.record.job as usize].job;
        if self.left == 0 {
            return Host::new(job.rules(), 0);
        }
        let waiting = self.host.unfinished().into_iter().map(|waiting| waiting.id as u32);
        let not_started = waiting.filter(|node| self.ran[*node as usize].start == NEVER);
        let nodes: Vec<u32> = not_started.chain(self.under_way.iter().map(|(_, one)| one.node)).collect();
        for part in nodes.into_iter().filter_map(|node| job.parts(self.record.rank, node)).flat_map(PartsAt::steps) {
            match self.ran[part.number as usize].has_ended() {
                true => self.host.ended_before(part.number),
                false => self.host.add_step(&part),
            }
        }
        while let Some(next) = self.host.take_next() {
            if let Next::Node(at) = next
                && self.ran[self.host.node(at).id as usize].start != NEVER
            {
                self.host.start(at);
            }
        }
        std::mem::replace(&mut self.host, Host::new(job.rules(), 0))
    }

    fn begin(&mut self, step: &Step<'_>, now: Time) {
        self.ran[step.number as usize].start = now.as_ps();
        self.count(step, now, 1);
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
    fn end(&mut self, node: u32, now: Time, jobs: &[Placed]) -> bool {
        let step = jobs[self.record.job as usize].job.step(self.record.rank, node);
        self.host.end(self.known[node as usize]);
        self.ended(&step, now)
    }

    /// As above, where the host knows it.
    fn ended(&mut self, step: &Step<'_>, now: Time) -> bool {
        self.count(step, now, -1);
        self.record.finish = now;
        self.left -= 1;
        let ran = &mut self.ran[step.number as usize];
        ran.end = now.as_ps();
        let (job, rank, start) = (self.record.job, self.record.rank, Time::from_ps(ran.start));
        if let Kind::Collective { .. } = step.kind {
            self.collectives.push(CollectiveRecord { job, collective: step.collective, rank, start, end: now });
        }
        self.left == 0
    }

    fn arrive(&mut self, message: Message, now: Time, jobs: &[Placed]) -> bool {
        self.host.arrive(message).is_some_and(|(node, _)| self.received(node as u32, message, now, jobs))
    }

    /// A receive has ended with this message.
    fn received(&mut self, node: u32, message: Message, now: Time, jobs: &[Placed]) -> bool {
        self.ran[node as usize].from = (message.from, message.token as u32);
        self.ended(&jobs[self.record.job as usize].job.step(self.record.rank, node), now)
    }
}
