//! A rank as it runs: which nodes wait, are ready, hold a slot, or are under way.

use crate::ended::Ended;
use crate::job::Step;
use crate::matching::{Matcher, Message};
use crate::{Holds, Kind, Node, Rules, Source};
use ahash::{HashMap, HashMapExt};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

const NONE: u32 = u32::MAX;

/// How far a node has come. One that has ended is forgotten.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// Another node waits for it, and it has not been read.
    Unread,
    /// It waits for other nodes.
    Blocked,
    /// It waits for its turn.
    Ready,
    /// It is under way, or posted.
    Started,
}

/// An unfinished node.
#[derive(Clone, Copy, Debug)]
pub struct Waiting {
    /// Its place in the host.
    pub at: u32,
    /// Its number.
    pub id: u64,
    /// What it does.
    pub kind: Kind,
    /// The slot that it needs.
    pub slot: Option<u8>,
    /// The network interface that its message uses.
    pub nic: u8,
    /// How far it has come.
    pub state: State,
}

#[derive(Clone, Copy, Debug)]
struct Live {
    id: u64,
    kind: Kind,
    slot: Option<u8>,
    nic: u8,
    state: State,
    /// Conditions that are not met.
    open: u32,
    /// First links to the nodes that wait for its end, and for its start.
    after: [u32; 2],
}

/// A node that waits, in the list of the node that it waits for.
#[derive(Clone, Copy, Debug)]
struct Link {
    node: u32,
    next: u32,
}

const END: usize = 0;
const START: usize = 1;

/// When a node's turn is: the round in which it became ready, if that counts, then its number; and its place.
type Turn = Reverse<(u64, u64, u32)>;

/// What has its turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// The node at this place.
    Node(u32),
    /// What was [queued](Host::queue) under this number.
    Queued(u32),
}

/// The unfinished nodes of a rank. Its owner adds nodes while it [`wants`](Self::wants) them, [`takes`](Self::take)
/// those whose turn it is, [`starts`](Self::start) them, and says when they [`end`](Self::end) and what
/// [`arrives`](Self::arrive). Time is the owner's: within an instant it first reports what the network delivered, then
/// which delays ended, and then takes nodes until there is none.
#[derive(Clone, Debug)]
pub struct Host {
    rules: Rules,
    window: usize,
    all_read: bool,
    live: Vec<Live>,
    free: Vec<u32>,
    links: Vec<Link>,
    free_links: u32,
    index: HashMap<u64, u32>,
    ended: Ended,
    ready: BinaryHeap<Turn>,
    slots: Vec<Slot>,
    matcher: Matcher,
    round: u64,
}

#[derive(Clone, Debug)]
struct Slot {
    holder: u32,
    waiting: BinaryHeap<Turn>,
}

impl Host {
    /// A rank of which at most `window` unfinished nodes are seen.
    pub fn new(rules: Rules, window: usize) -> Self {
        Self {
            rules,
            window,
            all_read: false,
            live: Vec::new(),
            free: Vec::new(),
            links: Vec::new(),
            free_links: NONE,
            index: HashMap::new(),
            ended: Ended::default(),
            ready: BinaryHeap::new(),
            slots: Vec::new(),
            matcher: Matcher::new(),
            round: 0,
        }
    }

    /// Whether there is room for another node.
    pub fn wants(&self) -> bool {
        !self.all_read && self.index.len() < self.window
    }

    /// Doubles the window, and returns whether more nodes may come. A run that stands still calls this: what it waits
    /// for may lie beyond the window.
    pub fn widen(&mut self) -> bool {
        self.window = self.window.max(self.index.len()).saturating_mul(2);
        !self.all_read
    }

    /// Adds nodes until the window is full or there are no more; returns the number of a node that was there before.
    ///
    /// # Errors
    /// Of the source.
    pub fn fill<S: Source>(&mut self, source: &mut S, node: &mut Node) -> Result<Option<u64>, S::Error> {
        while self.wants() {
            if !source.next(node)? {
                self.all_read = true;
            } else if !self.add(node) {
                return Ok(Some(node.id));
            }
        }
        Ok(None)
    }

    /// Adds a node; returns false if its number is taken.
    pub fn add(&mut self, node: &Node) -> bool {
        let Some(at) = self.read(node.id, node.kind, (node.slot, node.nic)) else { return false };
        node.after_end.iter().for_each(|id| self.wait(at, *id, END));
        node.after_start.iter().for_each(|id| self.wait(at, *id, START));
        self.blocked(at);
        true
    }

    /// Adds a node of a job, whose numbers are all different.
    pub fn add_step(&mut self, step: &Step<'_>) {
        let Some(at) = self.read(step.number.into(), step.kind, (step.slot, step.nic)) else { return };
        step.after_end().for_each(|id| self.wait(at, id.into(), END));
        step.after_start().for_each(|id| self.wait(at, id.into(), START));
        self.blocked(at);
    }

    /// A node of a job ended without being added.
    pub fn ended_before(&mut self, number: u32) {
        self.ended.insert(number.into());
    }

    /// The place of a node that has been read, if its number is not taken.
    fn read(&mut self, id: u64, kind: Kind, (slot, nic): (Option<u8>, u8)) -> Option<u32> {
        if self.ended.contains(id) {
            return None;
        }
        let at = self.place(id);
        let live = &mut self.live[at as usize];
        if live.state != State::Unread {
            return None;
        }
        *live = Live { kind, slot, nic, state: State::Blocked, ..*live };
        Some(at)
    }

    /// A node waits for the end, or for the start, of another one.
    fn wait(&mut self, at: u32, id: u64, list: usize) {
        if self.ended.contains(id) {
            return;
        }
        let before = self.place(id);
        if list == END || self.live[before as usize].state != State::Started {
            self.link(before, list, at);
            self.live[at as usize].open += 1;
        }
    }

    /// All waits of a node are known.
    fn blocked(&mut self, at: u32) {
        if self.live[at as usize].open == 0 {
            self.make_ready(at);
        }
    }

    /// The place of a node, new if it has none.
    fn place(&mut self, id: u64) -> u32 {
        *self.index.entry(id).or_insert_with(|| {
            let kind = Kind::Delay { ns: 0 };
            let live = Live { id, kind, slot: None, nic: 0, state: State::Unread, open: 0, after: [NONE; 2] };
            match self.free.pop() {
                Some(at) => {
                    self.live[at as usize] = live;
                    at
                }
                None => {
                    self.live.push(live);
                    self.live.len() as u32 - 1
                }
            }
        })
    }

    fn link(&mut self, before: u32, list: usize, node: u32) {
        let first = &mut self.live[before as usize].after[list];
        let link = Link { node, next: *first };
        if self.free_links == NONE {
            *first = self.links.len() as u32;
            self.links.push(link);
        } else {
            *first = self.free_links;
            self.free_links = self.links[*first as usize].next;
            self.links[*first as usize] = link;
        }
    }

    /// Meets one condition of each node in a list.
    fn release(&mut self, at: u32, list: usize) {
        let mut link = core::mem::replace(&mut self.live[at as usize].after[list], NONE);
        while link != NONE {
            let Link { node, next } = self.links[link as usize];
            self.links[link as usize].next = self.free_links;
            self.free_links = link;
            link = next;
            let live = &mut self.live[node as usize];
            live.open -= 1;
            if live.open == 0 && live.state == State::Blocked {
                self.make_ready(node);
            }
        }
    }

    fn make_ready(&mut self, at: u32) {
        let live = &mut self.live[at as usize];
        live.state = State::Ready;
        let round = if self.rules.first_ready { self.round } else { 0 };
        self.ready.push(Reverse((round, live.id, at)));
    }

    /// Queues something of the owner's, which is ready now, among the nodes, under a number that no node has.
    pub fn queue(&mut self, number: u32) {
        let round = if self.rules.first_ready { self.round } else { 0 };
        self.ready.push(Reverse((round, number.into(), NONE)));
    }

    /// The next node whose turn it is, of an owner that queues nothing.
    pub fn take(&mut self) -> Option<u32> {
        self.take_next().map(|next| match next {
            Next::Node(at) => at,
            Next::Queued(number) => unreachable!("nothing queued {number}"),
        })
    }

    /// The next whose turn it is; a node has its slot now. [`start`](Self::start) comes next, at once or later.
    pub fn take_next(&mut self) -> Option<Next> {
        while let Some(Reverse(turn)) = self.ready.pop() {
            let at = turn.2;
            if at == NONE {
                return Some(Next::Queued(turn.1 as u32));
            }
            let Some(slot) = self.live[at as usize].slot.map(usize::from) else { return Some(Next::Node(at)) };
            while self.slots.len() <= slot {
                self.slots.push(Slot { holder: NONE, waiting: BinaryHeap::new() });
            }
            if self.slots[slot].holder == NONE {
                if self.holds(at) {
                    self.slots[slot].holder = at;
                } else {
                    self.ready.extend(self.slots[slot].waiting.pop());
                }
                return Some(Next::Node(at));
            }
            self.slots[slot].waiting.push(Reverse(turn));
        }
        self.round += 1;
        None
    }

    fn holds(&self, at: u32) -> bool {
        match self.live[at as usize].kind {
            Kind::Delay { .. } | Kind::Collective { .. } => self.rules.holds != Holds::Nothing,
            Kind::Send { .. } => self.rules.holds == Holds::WorkAndSends,
            Kind::Recv { .. } => false,
        }
    }

    /// Starts a node. A receive is posted; if its message is there, the receive has ended and the message is returned.
    pub fn start(&mut self, at: u32) -> Option<Message> {
        self.live[at as usize].state = State::Started;
        self.release(at, START);
        let Kind::Recv { from, tag, .. } = self.live[at as usize].kind else { return None };
        let message = self.matcher.post(from, tag, at)?;
        self.end(at);
        Some(message)
    }

    /// A delay, a send or a collective that was started has ended.
    pub fn end(&mut self, at: u32) {
        self.release(at, END);
        let Live { id, slot, .. } = self.live[at as usize];
        if let Some(slot) = slot.and_then(|slot| self.slots.get_mut(usize::from(slot))).filter(|s| s.holder == at) {
            slot.holder = NONE;
            self.ready.extend(slot.waiting.pop());
        }
        self.index.remove(&id);
        self.ended.insert(id);
        self.free.push(at);
    }

    /// A message has arrived. If a receive waits for it, that has ended: its number and size are returned.
    pub fn arrive(&mut self, message: Message) -> Option<(u64, u64)> {
        let at = self.matcher.arrive(message)?;
        let Live { id, kind: Kind::Recv { bytes, .. }, .. } = self.live[at as usize] else { unreachable!("a receive") };
        self.end(at);
        Some((id, bytes))
    }

    /// An unfinished node.
    pub fn node(&self, at: u32) -> Waiting {
        let Live { id, kind, slot, nic, state, .. } = self.live[at as usize];
        Waiting { at, id, kind, slot, nic, state }
    }

    /// All unfinished nodes, by number.
    pub fn unfinished(&self) -> Vec<Waiting> {
        let mut all: Vec<Waiting> = self.index.values().map(|at| self.node(*at)).collect();
        all.sort_by_key(|node| node.id);
        all
    }

    /// Places of an unfinished node and of one that waits for it, once for each such pair.
    pub fn edges(&self) -> Vec<(u32, u32)> {
        let mut found = Vec::new();
        for (at, list) in self.index.values().flat_map(|at| [(*at, END), (*at, START)]) {
            let mut link = self.live[at as usize].after[list];
            while link != NONE {
                found.push((at, self.links[link as usize].node));
                link = self.links[link as usize].next;
            }
        }
        for slot in self.slots.iter().filter(|slot| slot.holder != NONE) {
            found.extend(slot.waiting.iter().map(|Reverse(turn)| (slot.holder, turn.2)));
        }
        found.sort_unstable();
        found
    }

    /// Places of receives that wait for a message, in the order in which they were posted.
    pub fn posted(&self) -> Vec<u32> {
        self.matcher.posted().collect()
    }

    /// Messages for which no receive was posted, in order of arrival.
    pub fn early(&self) -> Vec<Message> {
        self.matcher.early().collect()
    }
}
