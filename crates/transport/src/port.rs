//! The port of a NIC: its queues, what is paused, and the link behind it. The rules are those of a host's port in the
//! simulator.

use fanin_cc::{Header, flags};
use fanin_endpoint::scheduler::{Scheduler, Turns};
use fanin_endpoint::shaper::{Bucket, Shaper, next_class};
use fanin_units::{PortId, Rate, Time};
use std::collections::VecDeque;

/// A packet of the station.
pub(crate) type PacketIx = u32;

/// The link behind a port.
#[derive(Clone, Copy, Debug)]
pub struct LinkConfig {
    /// The number of the port in the network.
    pub port: PortId,
    /// Its rate.
    pub rate: Rate,
    /// Its delay.
    pub delay: Time,
}

/// Counters of a class at a port.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ClassState {
    /// Packets marked as they left the queue.
    pub marked: u64,
    /// Packets dropped because the queue of a shaped class was full.
    pub dropped: u64,
    /// Most bytes ever queued.
    pub peak: u64,
    /// Time for which the peer paused it.
    pub paused: Time,
    /// PAUSE frames received for it.
    pub pauses: u64,
}

/// A packet in a queue.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Queued {
    pub ix: PacketIx,
    wire: u16,
    markable: bool,
}

#[derive(Debug, Default)]
struct Queue {
    packets: VecDeque<Queued>,
    bytes: u64,
}

/// The port of a NIC.
#[derive(Debug)]
pub(crate) struct Port {
    pub link: LinkConfig,
    pub busy_until: Time,
    /// The one valid event.
    pub wake_at: Time,
    /// Bit c: class c is paused.
    pub paused: u8,
    /// The data class served last.
    pub turn: u8,
    /// Packets and bytes sent.
    pub packets: u64,
    pub bytes: u64,
    /// Most data bytes ever queued.
    pub peak: u64,
    /// Bit c: class c has packets that may leave.
    waiting: u8,
    queued: u64,
    queues: Vec<Queue>,
    buckets: Vec<Option<Bucket>>,
    counters: Vec<ClassState>,
    paused_since: Vec<Time>,
    urgent: u8,
    /// Where classes have weights or priorities, with the turns of the port.
    scheduler: Option<Scheduler>,
    turns: Turns,
    mark_above: Option<u64>,
    /// The other virtual lane of each class, or 0.
    siblings: Vec<u8>,
}

impl Port {
    /// An idle port. Class c + 1 has the shaper `shapers[c]` and the sibling `siblings[c]`.
    pub fn new(
        link: LinkConfig,
        (urgent, scheduler): (u8, Option<Scheduler>),
        shapers: &[Option<Shaper>],
        siblings: &[u8],
        mark_above: Option<u64>,
    ) -> Self {
        let classes = shapers.len() + 1;
        let bucket = |shaper: &Option<Shaper>| shaper.map(|shaper| Bucket::new(link.rate, shaper));
        Self {
            link,
            busy_until: Time::ZERO,
            wake_at: Time::NEVER,
            paused: 0,
            turn: 0,
            packets: 0,
            bytes: 0,
            peak: 0,
            waiting: 0,
            queued: 0,
            queues: (0..classes).map(|_| Queue::default()).collect(),
            buckets: core::iter::once(None).chain(shapers.iter().map(bucket)).collect(),
            counters: vec![ClassState::default(); classes],
            paused_since: vec![Time::NEVER; classes],
            urgent,
            scheduler,
            turns: Turns::default(),
            mark_above,
            siblings: core::iter::once(0).chain(siblings.iter().copied()).collect(),
        }
    }

    /// Transmission time of a packet.
    pub fn tx_time(&self, wire: u32) -> Time {
        self.link.rate.tx_time(u64::from(wire))
    }

    /// Whether it has packets that it may send.
    pub fn is_ready(&self) -> bool {
        self.waiting & !(self.paused & 0xFE) != 0
    }

    /// Bytes queued of a class.
    pub fn queued(&self, class: u8) -> u64 {
        self.queues[class as usize].bytes
    }

    /// Which of these data classes sends next.
    pub fn choose(&self, classes: u8) -> u8 {
        match &self.scheduler {
            None => next_class(classes, self.urgent, self.turn),
            Some(scheduler) => scheduler.choose(&self.turns, classes),
        }
    }

    /// A packet of a class counts in its turn.
    pub fn count_sent(&mut self, class: u8, wire: u16) {
        if let Some(scheduler) = &self.scheduler
            && class != 0
        {
            scheduler.sends(&mut self.turns, class, wire);
        }
    }

    /// Whether a packet fits into the queue of its class. One that does not is counted as dropped.
    pub fn takes(&mut self, class: u8, wire: u16) -> bool {
        let queued = self.queued(class);
        let takes = self.buckets[class as usize].as_ref().is_none_or(|bucket| bucket.takes(queued, wire));
        self.counters[class as usize].dropped += u64::from(!takes);
        takes
    }

    /// A packet joins the queue of its class. Returns the time at which its shaper is to be looked at, if it waits for
    /// tokens.
    pub fn enqueue(&mut self, now: Time, ix: PacketIx, head: &Header) -> Option<Time> {
        let class = head.class as usize;
        let markable = head.flags & (flags::ECT | flags::CE) == flags::ECT;
        let queue = &mut self.queues[class];
        queue.packets.push_back(Queued { ix, wire: head.wire, markable });
        queue.bytes += u64::from(head.wire);
        self.counters[class].peak = self.counters[class].peak.max(queue.bytes);
        self.waiting |= 1 << class;
        if class != 0 {
            self.queued += u64::from(head.wire);
            self.peak = self.peak.max(self.queued);
        }
        self.hold(now, head.class)
    }

    /// Takes the packet that leaves next, if one may: control, then the data classes by their priorities and
    /// weights, or in turn. Also returns whether it is marked, and the time at which its shaper is to be looked at.
    pub fn next(&mut self, now: Time) -> Option<(Queued, bool, Option<Time>)> {
        let class = if self.waiting & 1 != 0 {
            0
        } else {
            let ready = self.waiting & !self.paused;
            if ready == 0 {
                return None;
            }
            self.turn = self.choose(ready);
            self.turn
        };
        let queue = &mut self.queues[class as usize];
        let next = queue.packets.pop_front()?;
        queue.bytes -= u64::from(next.wire);
        if queue.packets.is_empty() {
            self.waiting &= !(1 << class);
        }
        if class == 0 {
            return Some((next, false, None));
        }
        self.count_sent(class, next.wire);
        self.queued -= u64::from(next.wire);
        if let Some(bucket) = &mut self.buckets[class as usize] {
            bucket.spend(now, u32::from(next.wire));
            return Some((next, false, self.hold(now, class)));
        }
        let sibling = self.siblings[class as usize];
        let behind = self.queued(class) + if sibling == 0 { 0 } else { self.queued(sibling) };
        let marks = next.markable && self.mark_above.is_some_and(|above| behind > above);
        self.counters[class as usize].marked += u64::from(marks);
        Some((next, marks, None))
    }

    /// Lets a shaped class count as waiting, or says when it does.
    fn hold(&mut self, now: Time, class: u8) -> Option<Time> {
        let bucket = self.buckets[class as usize].as_mut()?;
        let first = self.queues[class as usize].packets.front()?;
        let at = bucket.opens_at(u32::from(first.wire));
        if at <= now {
            self.waiting |= 1 << class;
            return None;
        }
        self.waiting &= !(1 << class);
        if bucket.due == at {
            return None;
        }
        bucket.due = at;
        Some(at)
    }

    /// The shapers have the tokens that packets waited for. Calls `again` with the times at which to look again.
    pub fn refill(&mut self, now: Time, mut again: impl FnMut(Time)) {
        for class in 1..self.queues.len() as u8 {
            if let Some(bucket) = &mut self.buckets[class as usize]
                && bucket.due == now
            {
                bucket.due = Time::NEVER;
                self.hold(now, class).into_iter().for_each(&mut again);
            }
        }
    }

    /// The peer paused or resumed a class.
    pub fn set_paused(&mut self, now: Time, class: u8, paused: bool) {
        let (counters, since) = (&mut self.counters[class as usize], &mut self.paused_since[class as usize]);
        if paused {
            self.paused |= 1 << class;
            counters.pauses += 1;
            if *since == Time::NEVER {
                *since = now;
            }
        } else {
            self.paused &= !(1 << class);
            if *since != Time::NEVER {
                counters.paused += now - *since;
                *since = Time::NEVER;
            }
        }
    }

    /// How many classes it has, control included.
    pub fn classes(&self) -> u8 {
        self.queues.len() as u8
    }

    /// Counters of each class, up to now.
    pub fn counters(&self, now: Time) -> impl Iterator<Item = ClassState> {
        self.counters.iter().zip(&self.paused_since).map(move |(counters, since)| {
            let lasting = if *since == Time::NEVER { Time::ZERO } else { now.saturating_sub(*since) };
            ClassState { paused: counters.paused + lasting, ..*counters }
        })
    }
}
