//! What a run tells: finished flows, pauses, drops, queue lengths, and packets at traced nodes.

use crate::network::Packet;
use crate::wiring::Wiring;

/// A flow whose last byte is acknowledged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Finished {
    /// Sending host.
    pub src: u32,
    /// Receiving host.
    pub dst: u32,
    /// Source port.
    pub sport: u16,
    /// Destination port.
    pub dport: u16,
    /// Bytes.
    pub bytes: u64,
    /// Start, ns.
    pub start: u64,
    /// Completion time at the sender, ns.
    pub took: u64,
    /// Base round-trip time of its pair, ns.
    pub round_trip: u64,
    /// Narrowest link of its way, bits per second.
    pub narrowest: u64,
}

/// A device was told to stop or to go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pause {
    /// When, ns.
    pub at: u64,
    /// The node that was told.
    pub node: u32,
    /// Whether that is a switch.
    pub is_switch: bool,
    /// Which of its devices.
    pub device: u16,
    /// Stop, or go on.
    pub pause: bool,
}

/// Why a packet ended before its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Drop {
    /// Neither headroom nor shared buffer had room.
    Full,
    /// Its link was down.
    LinkDown,
    /// A link error.
    Error,
    /// No way leads on.
    NoRoute,
    /// It came to a host that it was not for.
    WrongHost,
}

/// What a traced node did with a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Seen {
    /// It arrived.
    Received,
    /// It joins a queue.
    Enqueued,
    /// It leaves a queue.
    Dequeued,
    /// It is lost.
    Dropped,
}

/// A packet at a traced node.
#[derive(Clone, Copy, Debug)]
pub struct Record {
    /// When, ns.
    pub at: u64,
    /// The node.
    pub node: u32,
    /// Which of its devices.
    pub device: u16,
    /// Whether the node is a switch.
    pub is_switch: bool,
    /// The queue.
    pub queue: u8,
    /// Bytes that wait in that queue: before it joined, or after it left.
    pub queued: u64,
    /// What happened.
    pub seen: Seen,
    /// The packet.
    pub packet: Packet,
}

/// Queue lengths of one device at one instant: how often each was seen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lengths {
    /// When, ns.
    pub at: u64,
    /// Number of the switch among the switches.
    pub switch: usize,
    /// Number of the device, from 0.
    pub device: usize,
    /// Samples with a length in [k, k+1) KB of 1000 bytes.
    pub counts: Vec<u32>,
}

/// What happened since it was last taken.
#[derive(Clone, Debug, Default)]
pub struct Happened {
    /// Flows that finished.
    pub finished: Vec<Finished>,
    /// Pauses and resumes.
    pub pauses: Vec<Pause>,
    /// Packets lost: when, at which node, why. Only the first thousand.
    pub drops: Vec<(u64, u32, Drop)>,
    /// Packets at traced nodes.
    pub records: Vec<Record>,
    /// Dumps of queue lengths.
    pub lengths: Vec<Lengths>,
}

impl Happened {
    #[allow(clippy::too_many_arguments)]
    pub(crate) fn record(
        &mut self,
        at: u64,
        wiring: &Wiring,
        device: u32,
        queue: u8,
        queued: u64,
        packet: &Packet,
        seen: Seen,
    ) {
        let wire = &wiring.devices[device as usize];
        let is_switch = wiring.is_switch[wire.node as usize];
        let device = wire.number;
        self.records.push(Record { at, node: wire.node, device, is_switch, queue, queued, seen, packet: *packet });
    }

    pub(crate) fn drop(&mut self, at: u64, node: u32, why: Drop) {
        if self.drops.len() < 1000 {
            self.drops.push((at, node, why));
        }
    }
}

/// Time between two samples of all queues, ns.
const SAMPLE: u64 = 100;
/// Samples are written out at multiples of this, ns.
const DUMP: u64 = 100_000_000;

/// How long each queue was how long. That simulator looks at all queues every 100 ns. Here the look is an event too,
/// for its place among those of its nanosecond, but a queue's samples are counted when it changes, and there are no
/// looks at all when nothing would be written.
pub(crate) struct QueueLengths {
    start: u64,
    /// The last look: the first one that is not before the configuration's end.
    last: u64,
    /// Looks so far.
    taken: u64,
    ports: usize,
    /// Looks at each queue that are counted, and what was counted.
    seen: Vec<(u64, Vec<u32>)>,
}

impl QueueLengths {
    pub fn new(start: u64, end: u64, stop: u64, switches: usize, ports: usize) -> Self {
        let last = start + end.saturating_sub(start).div_ceil(SAMPLE) * SAMPLE;
        let dumps = start.is_multiple_of(SAMPLE) && start.div_ceil(DUMP) * DUMP < (last + 1).min(stop);
        let queues = if dumps { switches * ports } else { 0 };
        Self { start, last, taken: 0, ports, seen: vec![(0, Vec::new()); queues] }
    }

    /// When the first look is, if there is one.
    pub fn first(&self) -> Option<u64> {
        (!self.seen.is_empty()).then_some(self.start)
    }

    /// A queue that holds `bytes` is about to change.
    #[inline]
    pub fn changes(&mut self, switch: usize, port: usize, bytes: u32) {
        if !self.seen.is_empty() {
            self.count(switch * self.ports + port, bytes);
        }
    }

    fn count(&mut self, place: usize, bytes: u32) {
        let (counted, counts) = &mut self.seen[place];
        if *counted < self.taken {
            let kb = (bytes / 1000) as usize;
            if counts.len() <= kb {
                counts.resize(kb + 1, 0);
            }
            counts[kb] += (self.taken - *counted) as u32;
            *counted = self.taken;
        }
    }

    /// A look, and when the next one is, if there is one: where nothing else will happen, the next one that is written
    /// out.
    pub fn look(
        &mut self,
        now: u64,
        quiet: bool,
        out: &mut Vec<Lengths>,
        queued: impl Fn(usize, usize) -> u32,
    ) -> Option<u64> {
        self.taken = (now - self.start) / SAMPLE + 1;
        if now.is_multiple_of(DUMP) {
            for place in 0..self.seen.len() {
                let (switch, device) = (place / self.ports, place % self.ports);
                self.count(place, queued(switch, device));
                out.push(Lengths { at: now, switch, device, counts: self.seen[place].1.clone() });
            }
        }
        let next = if quiet { ((now / DUMP + 1) * DUMP).min(self.last) } else { now + SAMPLE };
        (now < self.last).then_some(next)
    }
}
