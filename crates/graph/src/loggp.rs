//! LogGOPS: finishing times without packets, equal to those of the public simulator LogGOPSim.
//!
//! A message costs overhead `o` and `O` a further byte at the processor, occupies the network interface for `g` and `G`
//! a further byte, and travels for `L`. One larger than `S` is a rendezvous: its send ends when a receive has it.
//! Processors and interfaces are busy with messages that arrive, too, so their time is kept here; the slots of the
//! graph are not used. As in LogGOPSim, what waits for a node is offered to its processor as soon as the node is taken
//! up: a node that waits for one on another processor of its rank can then begin too early.

use crate::{Holds, Host, Kind, Message, Node, Problem, Rules, Source, Waiting, stuck};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// The parameters, in nanoseconds, and bytes for `s`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parameters {
    /// `L`, the latency.
    pub latency: u64,
    /// `o`, the overhead of a message at a processor.
    pub overhead: u64,
    /// `g`, the gap between two messages of an interface.
    pub gap: u64,
    /// `G`, the gap of each byte after the first.
    pub gap_per_byte: u64,
    /// `O`, the overhead of each byte after the first.
    pub overhead_per_byte: u64,
    /// `S`, the largest message that is sent without a rendezvous.
    pub eager: u64,
}

impl Parameters {
    /// Reads `L=1000,o=0,g=0,G=1,O=0,S=65535`.
    ///
    /// # Errors
    /// One is missing, unknown, there twice, or no whole number.
    pub fn parse(text: &str) -> Result<Self, String> {
        const NAMES: [&str; 6] = ["L", "o", "g", "G", "O", "S"];
        let form = "write all six, as L=1000,o=0,g=0,G=1,O=0,S=65535";
        let mut values = [None; 6];
        for part in text.split(',') {
            let (name, value) = part.trim().split_once('=').ok_or(format!("{part:?} is no parameter; {form}"))?;
            let at = NAMES.iter().position(|known| *known == name).ok_or(format!("{name:?} is not known; {form}"))?;
            let value =
                value.parse().map_err(|_| format!("{name} is {value:?}; it is a whole number of ns or bytes"))?;
            if values[at].replace(value).is_some() {
                return Err(format!("{name} is there twice; {form}"));
            }
        }
        let value = |at: usize| values[at].ok_or(format!("{} is missing; {form}", NAMES[at]));
        Ok(Self {
            latency: value(0)?,
            overhead: value(1)?,
            gap: value(2)?,
            gap_per_byte: value(3)?,
            overhead_per_byte: value(4)?,
            eager: value(5)?,
        })
    }

    /// The time of a message alone, from the start of its send to the end of its receive: both overheads, the latency,
    /// and the gap of each further byte.
    pub fn alone(&self, bytes: u64) -> u64 {
        let per_byte = self.gap_per_byte.max(self.overhead_per_byte);
        Self::cost(self.overhead.saturating_mul(2).saturating_add(self.latency), per_byte, bytes)
    }

    /// What a message costs at its beginning and for each byte after the first.
    fn cost(first: u64, per_byte: u64, bytes: u64) -> u64 {
        first.saturating_add(per_byte.saturating_mul(bytes.saturating_sub(1)))
    }
}

/// When each rank has finished, in nanoseconds, and what has not ended.
///
/// # Errors
/// Of a source.
pub fn finish<S: Source>(
    sources: &mut [S],
    p: Parameters,
    window: usize,
) -> Result<(Vec<u64>, Vec<Problem>), S::Error> {
    let rules = Rules { holds: Holds::Nothing, first_ready: true };
    let rank = |_: &S| Rank {
        host: Host::new(rules, window),
        processor: Vec::new(),
        sending: Vec::new(),
        receiving: Vec::new(),
    };
    let ranks = sources.iter().map(rank).collect();
    let mut run = Run { p, ranks, queue: BinaryHeap::new(), count: 0, ready: Vec::new() };
    let (mut node, mut touched) = (Node::default(), Vec::new());
    let mut refill: Vec<usize> = (0..sources.len()).collect();
    loop {
        for rank in refill.drain(..) {
            if let Some(id) = run.ranks[rank].host.fill(&mut sources[rank], &mut node)? {
                return Ok((Vec::new(), vec![Problem::Duplicate((rank as u32, id))]));
            }
            run.offer(rank);
        }
        let Some(Reverse((time, number, event))) = run.queue.pop() else {
            let widened = (0..run.ranks.len()).filter(|rank| run.ranks[*rank].host.widen());
            refill.extend(widened.collect::<Vec<_>>());
            if refill.is_empty() {
                break;
            }
            continue;
        };
        run.handle(time, number, event, &mut touched);
        touched.sort_unstable();
        touched.dedup();
        refill.append(&mut touched);
    }
    let finished = run.ranks.iter().map(|rank| rank.processor.iter().copied().max().unwrap_or(0)).collect();
    let hosts: Vec<Host> = run.ranks.into_iter().map(|rank| rank.host).collect();
    Ok((finished, stuck(&hosts)))
}

/// A rank, and until when each of its processors and interfaces is busy.
struct Rank {
    host: Host,
    processor: Vec<u64>,
    sending: Vec<u64>,
    receiving: Vec<u64>,
}

/// The entry of a processor or interface.
fn busy(times: &mut Vec<u64>, number: u8) -> &mut u64 {
    if times.len() <= usize::from(number) {
        times.resize(usize::from(number) + 1, 0);
    }
    &mut times[usize::from(number)]
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum What {
    /// A node, by its place, begins.
    Node(u32),
    /// A message's first byte arrives.
    Message { from: u32, tag: u32, bytes: u64, send: u32 },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Event {
    rank: usize,
    processor: u8,
    nic: u8,
    what: What,
}

struct Run {
    p: Parameters,
    ranks: Vec<Rank>,
    /// Time, order of events of one time, event.
    queue: BinaryHeap<Reverse<(u64, u64, Event)>>,
    count: u64,
    ready: Vec<Waiting>,
}

impl Run {
    /// Queues the nodes of a rank that have become ready: sends, then receives, then delays.
    fn offer(&mut self, rank: usize) {
        let Rank { host, processor, sending, .. } = &mut self.ranks[rank];
        while let Some(at) = host.take() {
            self.ready.push(host.node(at));
        }
        self.ready.sort_by_key(|node| match node.kind {
            Kind::Send { .. } => 1,
            Kind::Recv { .. } => 2,
            _ => 3,
        });
        for node in self.ready.drain(..) {
            let event = Event { rank, processor: node.slot.unwrap_or(0), nic: node.nic, what: What::Node(node.at) };
            let mut time = *busy(processor, event.processor);
            if let Kind::Send { .. } = node.kind {
                time = time.max(*busy(sending, event.nic));
            }
            self.queue.push(Reverse((time, self.count, event)));
            self.count += 1;
        }
    }

    /// Handles an event, or puts it off until its processor and interface are free; adds the ranks where a node may
    /// have become ready.
    fn handle(&mut self, time: u64, number: u64, event: Event, touched: &mut Vec<usize>) {
        let Event { rank, processor, nic, what } = event;
        let Rank { host, processor: processors, sending, receiving } = &mut self.ranks[rank];
        let free = busy(processors, processor);
        let (at, kind) = match what {
            What::Node(at) => (at, Some(host.node(at).kind)),
            What::Message { .. } => (0, None),
        };
        let until = match kind {
            Some(Kind::Delay { .. } | Kind::Collective { .. }) => *free,
            Some(Kind::Send { .. }) => (*free).max(*busy(sending, nic)),
            Some(Kind::Recv { .. }) => 0,
            None => (*free).max(*busy(receiving, nic)),
        };
        if until > time {
            return self.queue.push(Reverse((until, number, event)));
        }
        let p = self.p;
        let message = kind.and_then(|_| host.start(at));
        touched.push(rank);
        match (kind, what) {
            (Some(Kind::Delay { ns }), _) => {
                *free = time.saturating_add(ns);
                host.end(at);
            }
            (Some(Kind::Send { to, bytes, tag }), _) => {
                *free = time.saturating_add(Parameters::cost(p.overhead, p.overhead_per_byte, bytes));
                *busy(sending, nic) = time.saturating_add(Parameters::cost(p.gap, p.gap_per_byte, bytes));
                if bytes <= p.eager {
                    host.end(at);
                }
                if (to as usize) < self.ranks.len() {
                    let what = What::Message { from: rank as u32, tag, bytes, send: at };
                    let event = Event { rank: to as usize, what, ..event };
                    let arrives = time.saturating_add(p.overhead).saturating_add(p.latency);
                    self.queue.push(Reverse((arrives, self.count, event)));
                    self.count += 1;
                }
            }
            (Some(Kind::Recv { .. }), _) => {
                if let Some(message) = message.filter(|message| message.bytes > p.eager) {
                    self.release(message.from as usize, message.token as u32, time, event, touched);
                }
            }
            (None, What::Message { from, tag, bytes, send }) => {
                let per_byte = p.overhead_per_byte.max(p.gap_per_byte);
                *free = time.saturating_add(Parameters::cost(p.overhead, per_byte, bytes));
                *busy(receiving, nic) = time.saturating_add(Parameters::cost(p.gap, p.gap_per_byte, bytes));
                let received = host.arrive(Message { from, tag, bytes, token: u64::from(send) });
                if received.is_some() && bytes > p.eager {
                    self.release(from as usize, send, time, event, touched);
                }
            }
            // A collective is not played here, and stays unended.
            _ => {}
        }
    }

    /// Ends the send of a rendezvous, whose rank does nothing earlier than now.
    fn release(&mut self, rank: usize, send: u32, time: u64, event: Event, touched: &mut Vec<usize>) {
        let Rank { host, processor, sending, .. } = &mut self.ranks[rank];
        host.end(send);
        for free in [busy(processor, event.processor), busy(sending, event.nic)] {
            *free = time.max(*free);
        }
        touched.push(rank);
    }
}
