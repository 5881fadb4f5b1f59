//! Hosts: flows that send, flows that receive, and the NIC that takes turns between them.

use crate::routing::Course;
use fanin_cc::SendOptions;
use fanin_endpoint::{Pacer, rc};
use fanin_units::{MessageId, NodeId, PortId, Time};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// No slot.
pub const NO_SLOT: u32 = u32::MAX;

/// Where a sending flow stands with its NIC.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Turn {
    /// Nothing to send, or not allowed to.
    #[default]
    Idle,
    /// In the ring of flows that may send now.
    Ready,
    /// In the heap of flows that wait for their time.
    Paced,
}

/// A channel at its sender.
pub struct SendFlow {
    /// The channel's number (its first message); `NONE` when the slot is free.
    pub flow: MessageId,
    /// What to send.
    pub half: rc::SendHalf,
    /// When.
    pub pacer: Pacer,
    /// Its slot in the scheme's pool.
    pub cc: u32,
    /// Its scheme.
    pub scheme: u16,
    /// Its traffic.
    pub traffic: u16,
    /// The NIC port it uses.
    pub port: PortId,
    /// Its receiver.
    pub to: NodeId,
    /// Which way its packets go.
    pub course: Course,
    /// The message that its next packet belongs to.
    pub message: MessageId,
    /// How that message sets out.
    pub options: SendOptions,
    /// The class of its packets.
    pub class: u8,
    /// Dense number of the (host, receiver) pair, or [`NO_SLOT`] where its scheme shares nothing within a pair.
    pub pair: u32,
    /// Its place with the NIC.
    pub turn: Turn,
    /// Closed while it stood in the ring.
    pub dead: bool,
    /// The next flow in the ring.
    pub next_ready: u32,
    /// When it is due in the heap.
    pub paced_at: Time,
    /// Decides between flows of a NIC that are due at the same time. A flow goes by its number; one that shares something with
    /// others of its pair (Dart's bucket) by when it had its last turn, so that these take turns packet by packet.
    pub order: u32,
    /// When the scheme wants to be woken.
    pub timer_at: Time,
    /// The one timer event that counts.
    pub timer_event: Time,
    /// When the retransmission timer runs out.
    pub deadline: Time,
    /// Its place in the host's list of flows.
    pub at_host: u32,
    /// Data packets sent.
    pub sent: u32,
    /// Data packets sent again.
    pub resent: u32,
    /// How often the channel started over.
    pub attempt: u16,
    /// Its end of a TCP connection, or [`NO_SLOT`].
    pub tcp: u32,
    /// The end of a TCP connection that waited for the SYN.
    pub passive: bool,
}

/// A channel at its receiver.
#[derive(Clone, Copy)]
pub struct RecvFlow {
    /// The channel's number.
    pub flow: MessageId,
    /// What has arrived.
    pub half: rc::ReceiveHalf,
    /// Its sender.
    pub from: NodeId,
    /// Which way its ACKs go back.
    pub course: Course,
    /// Data packets that arrived.
    pub arrived: u32,
    /// Of those, marked.
    pub marked: u32,
    /// Its traffic.
    pub traffic: u16,
    /// Its scheme.
    pub scheme: u16,
    /// When the data packet that an ACK answers left its sender.
    pub last_sent_at: Time,
    /// The attempt that arrives, and the offset behind its furthest packet.
    pub attempt: u16,
    /// See `attempt`.
    pub furthest: u64,
    /// Data packets that arrived behind a later one of their attempt.
    pub reordered: u32,
    /// The sending slot of its end of a TCP connection, or [`NO_SLOT`].
    pub tcp: u32,
}

impl Default for RecvFlow {
    fn default() -> Self {
        Self {
            flow: MessageId::NONE,
            half: rc::ReceiveHalf::default(),
            from: NodeId::NONE,
            course: Course::default(),
            arrived: 0,
            marked: 0,
            traffic: 0,
            scheme: 0,
            last_sent_at: Time::ZERO,
            attempt: 0,
            furthest: 0,
            reordered: 0,
            tcp: NO_SLOT,
        }
    }
}

/// Puts an item into a table with free places and returns its slot.
pub fn place<T>(table: &mut Vec<T>, free: &mut Vec<u32>, item: T) -> u32 {
    match free.pop() {
        Some(slot) => {
            table[slot as usize] = item;
            slot
        }
        None => {
            table.push(item);
            table.len() as u32 - 1
        }
    }
}

/// A ring of sending flows through [`SendFlow::next_ready`].
#[derive(Clone, Copy)]
pub struct Ring {
    head: u32,
    tail: u32,
}

impl Default for Ring {
    fn default() -> Self {
        Self { head: NO_SLOT, tail: NO_SLOT }
    }
}

impl Ring {
    /// Whether no flow stands in it.
    #[inline(always)]
    pub fn is_empty(&self) -> bool {
        self.head == NO_SLOT
    }

    /// Adds a flow at the end.
    #[inline(always)]
    pub fn push(&mut self, flows: &mut [SendFlow], slot: u32) {
        flows[slot as usize].next_ready = NO_SLOT;
        if self.head == NO_SLOT {
            self.head = slot;
        } else {
            flows[self.tail as usize].next_ready = slot;
        }
        self.tail = slot;
    }

    /// Takes out a flow, wherever it stands: walks along the ring.
    pub fn remove(&mut self, flows: &mut [SendFlow], slot: u32) {
        let mut at = core::mem::take(self).head;
        while at != NO_SLOT {
            let next = flows[at as usize].next_ready;
            if at != slot {
                self.push(flows, at);
            }
            at = next;
        }
    }

    /// Takes the first flow.
    #[inline(always)]
    pub fn pop(&mut self, flows: &[SendFlow]) -> Option<u32> {
        if self.head == NO_SLOT {
            return None;
        }
        let slot = self.head;
        self.head = flows[slot as usize].next_ready;
        Some(slot)
    }
}

/// One NIC port of a host.
#[repr(C, align(64))]
pub struct Nic {
    /// When the first flow in the heap is due, so that the heap is left alone until then.
    due: Time,
    /// The port.
    pub port: PortId,
    /// Bit c: class c has flows in its ring.
    pub ready_mask: u8,
    /// Flows that may send now, per data class from 1 (index 0 is not used).
    pub ready: [Ring; 8],
    /// Flows that wait for their time: when it comes, [`SendFlow::order`] and slot.
    paced: BinaryHeap<Reverse<(Time, u32, u32)>>,
    /// Turns so far of flows that share something with others of their pair.
    pub turns: u32,
}

impl Nic {
    /// One without flows.
    pub fn new(port: PortId) -> Self {
        let paced = BinaryHeap::new();
        Self { due: Time::NEVER, port, ready_mask: 0, ready: [Ring::default(); 8], paced, turns: 0 }
    }

    /// When the first of the flows that wait for their time is due.
    #[inline(always)]
    pub fn due(&self) -> Time {
        self.due
    }

    /// Lets a flow wait until `at`; the least order goes first of flows that are due at the same time.
    #[inline(always)]
    pub fn pace(&mut self, at: Time, order: u32, slot: u32) {
        self.due = self.due.min(at);
        self.paced.push(Reverse((at, order, slot)));
    }

    /// Takes the first flow whose time has come: since when, its order and its slot.
    #[inline(always)]
    pub fn take_due(&mut self, now: Time) -> Option<(Time, u32, u32)> {
        if self.due > now {
            return None;
        }
        let Reverse(first) = self.paced.pop()?;
        self.due = self.paced.peek().map_or(Time::NEVER, |Reverse((at, ..))| *at);
        Some(first)
    }

    /// No flow stands with it any more.
    pub fn forget_paced(&mut self) {
        self.due = Time::NEVER;
        self.paced.clear();
    }
}

/// One host.
#[derive(Default)]
pub struct Host {
    /// Slots of the flows it sends.
    pub flows: Vec<u32>,
    /// The one retransmission timer event that counts.
    pub timer_event: Time,
    /// Bytes on the wire that have entered it.
    pub received: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_nic_gives_flows_back_when_they_are_due_and_in_order() {
        let mut nic = Nic::new(PortId(0));
        assert_eq!((nic.due(), nic.take_due(Time::NEVER)), (Time::NEVER, None));
        let at = |us, order| (Time::from_us(us), order, order + 10);
        for (time, order, slot) in [at(5, 1), at(3, 4), at(3, 3), at(7, 2)] {
            nic.pace(time, order, slot);
        }
        assert_eq!((nic.due(), nic.take_due(Time::from_us(2))), (Time::from_us(3), None));
        let taken = |nic: &mut Nic, now| std::iter::from_fn(|| nic.take_due(Time::from_us(now))).collect::<Vec<_>>();
        assert_eq!(taken(&mut nic, 5), [at(3, 3), at(3, 4), at(5, 1)]);
        assert_eq!(nic.due(), Time::from_us(7));
        nic.forget_paced();
        assert_eq!((nic.due(), nic.take_due(Time::NEVER)), (Time::NEVER, None));
    }
}
