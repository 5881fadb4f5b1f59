//! Results of a run: finished flows, pauses, drops, queue lengths, and packets at traced nodes.

use crate::packet::Packet;
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
    /// Narrowest link on its path, bits per second.
    pub narrowest: u64,
}

/// A device was paused or resumed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pause {
    /// When, ns.
    pub at: u64,
    /// The paused or resumed node.
    pub node: u32,
    /// Whether it is a switch.
    pub is_switch: bool,
    /// Its device.
    pub device: u16,
    /// Whether it is paused.
    pub pause: bool,
}

/// Why a packet was lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Drop {
    /// Neither headroom nor shared buffer had room.
    Full,
    /// Its link was down.
    LinkDown,
    /// A link error.
    Error,
    /// There is no path.
    NoRoute,
    /// It arrived at a host that is not its destination.
    WrongHost,
}

/// An event of a packet at a traced node.
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
    /// Its device.
    pub device: u16,
    /// Whether the node is a switch.
    pub is_switch: bool,
    /// The queue.
    pub queue: u8,
    /// Bytes in that queue: before it joined, or after it left.
    pub queued: u64,
    /// The event.
    pub seen: Seen,
    /// The packet.
    pub packet: Packet,
}

/// Histogram of the queue lengths of one device at one instant.
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

/// Records since they were last taken.
#[derive(Clone, Debug, Default)]
pub struct Happened {
    /// Flows that finished.
    pub finished: Vec<Finished>,
    /// Pauses and resumes.
    pub pauses: Vec<Pause>,
    /// Lost packets: time, node, cause. Only the first thousand.
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
/// Samples are written at multiples of this, ns.
pub const DUMP: u64 = 100_000_000;

/// Histograms of queue lengths. That simulator samples all queues every 100 ns. Here the sample is an event too, for
/// its order among those of its nanosecond, but a queue's samples are counted when it changes, and there are no sample
/// events at all if nothing would be written.
pub struct QueueLengths {
    start: u64,
    /// The last sample: the first one not before the configuration's end.
    last: u64,
    /// Number of samples so far.
    taken: u64,
    ports: usize,
    /// Samples counted for each queue, and their histogram.
    seen: Vec<(u64, Vec<u32>)>,
}

impl QueueLengths {
    /// Whether samples from `start` to `end` are ever written, in a simulation that stops at `stop`; all in ns.
    pub fn are_written(start: u64, end: u64, stop: u64) -> bool {
        start.is_multiple_of(SAMPLE) && start.div_ceil(DUMP) * DUMP < (Self::last(start, end) + 1).min(stop)
    }

    /// Time of the last sample: the first one not before the end.
    fn last(start: u64, end: u64) -> u64 {
        start + end.saturating_sub(start).div_ceil(SAMPLE) * SAMPLE
    }

    pub(crate) fn new(start: u64, end: u64, stop: u64, switches: usize, ports: usize) -> Self {
        let last = Self::last(start, end);
        let queues = if Self::are_written(start, end, stop) { switches * ports } else { 0 };
        Self { start, last, taken: 0, ports, seen: vec![(0, Vec::new()); queues] }
    }

    /// Time of the first sample, if there is one.
    pub(crate) fn first(&self) -> Option<u64> {
        (!self.seen.is_empty()).then_some(self.start)
    }

    /// A queue that holds `bytes` is about to change.
    #[inline]
    pub(crate) fn changes(&mut self, switch: usize, port: usize, bytes: u32) {
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

    /// Takes a sample and returns the time of the next, if there is one: if no other event is pending, that of the next
    /// output.
    pub(crate) fn look(
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
